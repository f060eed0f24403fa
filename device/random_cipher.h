/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution over the words of any cipher: the device headers' own code, with a key that knows its generator.
 * A file that includes this one draws by such keys alone, and includes it before any header of distributions.
 *
 * All that is drawn asks four functions for the words of a key. Here their names, and that of the key's type, stand for
 * others: a key laid out as the plain one, with the generator in the last bytes, which that one does not use. So jobs
 * are made as ever and then named (wm_cipher_name). A kernel compiled at run time has its generator as the constant
 * WM_CIPHER, and so one cipher in it. Plain C.
 */
#ifndef WM_DEVICE_RANDOM_CIPHER_H
#define WM_DEVICE_RANDOM_CIPHER_H

#include <warpmath/random.h>

typedef struct wm_cipher_key {
    unsigned long long seed;
    unsigned int substream;
    int generator; /* a wmGenerator; not Sobol's */
} wm_cipher_key;

/* A negative size where the two are laid out in different ways. */
typedef char wm_cipher_key_fits[sizeof(wm_cipher_key) == sizeof(wmRandomKey) ? 1 : -1];

/* With all ciphers in it, it is not to be inlined wherever words are drawn. */
#if defined(WM_CIPHER) || (defined(__CUDACC__) && !defined(WM_SIMT))
#define WM_CIPHER_WORDS WM_BOTH
#else
#define WM_CIPHER_WORDS static __attribute__((noinline, unused))
#endif

/** The words of `number` in lane `lane` of the key. */
WM_CIPHER_WORDS wmWords wm_cipher_words(wm_cipher_key key, wm_u64 number, wm_u32 lane) {
    wmRandomKey plain = {key.seed, key.substream};
#ifdef WM_CIPHER
    return wm_words(WM_CIPHER, plain, lane, number);
#else
    return wm_words(key.generator, plain, lane, number);
#endif
}

WM_BOTH wmWords wm_cipher_block(wm_cipher_key key, wm_u64 block) {
    return wm_cipher_words(key, block, WM_LANE_ELEMENTS);
}
WM_BOTH wm_u32 wm_cipher_bits32(wm_cipher_key key, wm_u64 i) {
    wmWords w = wm_cipher_block(key, i >> 2);
    wm_u32 even = i & 2 ? w.w[2] : w.w[0], odd = i & 2 ? w.w[3] : w.w[1];
    return i & 1 ? odd : even;
}
WM_BOTH wm_u64 wm_cipher_bits64(wm_cipher_key key, wm_u64 i) {
    wmWords w = wm_cipher_block(key, i >> 1);
    return i & 1 ? w.w[2] | (wm_u64)w.w[3] << 32 : w.w[0] | (wm_u64)w.w[1] << 32;
}

#define wmRandomKey wm_cipher_key
#define wm_random_words wm_cipher_words
#define wmRandomBlock wm_cipher_block
#define wmBitsU32 wm_cipher_bits32
#define wmBitsU64 wm_cipher_bits64

#include "device/random_element.h"

/** Gives a job of any parameters its generator: its key, and what was made of the key by another one. */
WM_BOTH void wm_cipher_name(wm_element_job *job, int generator, wm_u64 span) {
    job->key.generator = generator;
    if (job->distribution == WM_RANDOM_PERMUTATION) job->permutation = wmPermutationMake(job->key, span);
}

#endif
