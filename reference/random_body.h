/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop over Philox blocks, compiled once an instruction set: random_base.c (SSE2, NEON), random_sse42.c,
 * random_avx2.c and random_avx512.c include it.
 *
 * Philox runs in 64-bit lanes of which the low half counts: the 32 x 32 -> 64 bit product ignores the upper halves, and
 * the product's own halves are one shift apart. Two vectors, of the even and of the odd blocks, interleave into one of
 * 32-bit lanes in natural order. Compilers do not find this by themselves, so the round is spelled here a second time;
 * everything after the words is the device header's code, vectorised by the compiler across blocks.
 */
#include "reference/random_fill.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
enum { CHUNK = 64 }; /* blocks at a time: 1 KiB, a multiple of 2 LANES */

typedef uint64_t lanes __attribute__((vector_size(LANES * 8)));
typedef struct counters {
    lanes w[4];
} counters;

INLINE lanes all(uint64_t x) {
    return x - (lanes){0};
}

/* Products of the low halves. */
INLINE lanes multiply(lanes a, lanes b) {
#if defined(__AVX512F__)
    return (lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (lanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__ARM_NEON)
    return (lanes)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

INLINE counters one_round(counters c, uint32_t key0, uint32_t key1) {
    lanes p0 = multiply(c.w[0], all(0xd2511f53u)), p1 = multiply(c.w[2], all(0xcd9e8d57u));
    counters next = {
        {(p1 >> 32) ^ c.w[1] ^ key0, p1, (p0 >> 32) ^ c.w[3] ^ key1, p0}
    };
    return next;
}

/* Ten or seven rounds of Philox4x32 over two vectors of counters. */
INLINE void encipher(int rounds, wmRandomKey key, counters *even, counters *odd) {
    uint32_t key0 = (uint32_t)key.seed, key1 = (uint32_t)(key.seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < rounds; round++) {
        *even = one_round(*even, key0, key1);
        *odd = one_round(*odd, key0, key1);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
}

INLINE counters counter_order(lanes block, wmRandomKey key) {
    counters c = {
        {block, block >> 32, all(WM_LANE_ELEMENTS), all(key.substream)}
    };
    return c;
}

/* wm_curand_counter, vectorised. */
INLINE counters curand_order(lanes block, int pairs) {
    lanes turn = pairs ? block >> 1 : block, step = pairs ? (turn >> 16) << 1 | (block & 1) : turn >> 16;
    counters c = {
        {step, step >> 32, turn & 0xffffu, all(0)}
    };
    return c;
}

/* Words of CHUNK blocks of Philox4x32: w[k][j] is word k of block `block` + j. */
INLINE void philox_words(int source, const wm_random_job *job, uint64_t block, uint32_t w[4][CHUNK]) {
    const int pairs = job->kind == WM_DRAW_CURAND_F64;
    lanes twice;
    for (uint64_t i = 0; i < LANES; i++) twice[i] = 2 * i;
    for (int j = 0; j < CHUNK; j += 2 * LANES) {
        lanes e = twice + (block + (uint64_t)j), o = e + 1;
        counters even = source == WM_SOURCE_CURAND ? curand_order(e, pairs) : counter_order(e, job->key);
        counters odd = source == WM_SOURCE_CURAND ? curand_order(o, pairs) : counter_order(o, job->key);
        encipher(source == WM_PHILOX4X32_7 ? 7 : 10, job->key, &even, &odd);
        for (int k = 0; k < 4; k++) {
            lanes both = (even.w[k] & 0xffffffffu) | odd.w[k] << 32;
            memcpy(&w[k][j], &both, sizeof both);
        }
    }
}

/* The same by the device header, two blocks a call of the cipher where it makes two: an odd first block goes alone. */
INLINE void cipher_words(int source, wmRandomKey key, uint64_t block, uint32_t w[4][CHUNK]) {
    int j = 0;
    if (block & 1) {
        wmWords x = wm_words(source, key, WM_LANE_ELEMENTS, block);
        for (int k = 0; k < 4; k++) w[k][0] = x.w[k];
        j = 1;
    }
    for (; j + 1 < CHUNK; j += 2) {
        wmWords even, odd;
        wm_words_pair(source, key, WM_LANE_ELEMENTS, (block + (uint64_t)j) >> 1, &even, &odd);
        for (int k = 0; k < 4; k++) w[k][j] = even.w[k], w[k][j + 1] = odd.w[k];
    }
    if (j == CHUNK) return;
    wmWords x = wm_words(source, key, WM_LANE_ELEMENTS, block + (uint64_t)j);
    for (int k = 0; k < 4; k++) w[k][j] = x.w[k];
}

/* Not inlined: one copy of each cipher, whatever is made of its words. */
static __attribute__((noinline)) void draw_words(const wm_random_job *job, uint64_t block, uint32_t w[4][CHUNK]) {
    switch (job->source) {
    case WM_PHILOX4X32_10:
        philox_words(WM_PHILOX4X32_10, job, block, w);
        break;
    case WM_PHILOX4X32_7:
        philox_words(WM_PHILOX4X32_7, job, block, w);
        break;
    case WM_SOURCE_CURAND:
        philox_words(WM_SOURCE_CURAND, job, block, w);
        break;
    case WM_PHILOX4X64_10:
        cipher_words(WM_PHILOX4X64_10, job->key, block, w);
        break;
    case WM_THREEFRY2X32_20:
        cipher_words(WM_THREEFRY2X32_20, job->key, block, w);
        break;
    default:
        cipher_words(WM_THREEFRY4X64_20, job->key, block, w);
        break;
    }
}

INLINE void draw_chunk(int kind, const wm_random_job *job, uint64_t block, uint32_t *restrict out) {
    uint32_t w[4][CHUNK];
    draw_words(job, block, w);
    wm_random_line line = job->line;
    for (int j = 0; j < CHUNK; j++) {
        wmWords x = {
            {w[0][j], w[1][j], w[2][j], w[3][j]}
        };
        x = wm_source_value(kind, x, &line);
        out[4 * j] = x.w[0];
        out[4 * j + 1] = x.w[1];
        out[4 * j + 2] = x.w[2];
        out[4 * j + 3] = x.w[3];
    }
}

INLINE void draw_blocks(int kind, const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out) {
    for (; blocks >= CHUNK; blocks -= CHUNK, block += CHUNK, out += 16 * (size_t)CHUNK)
        draw_chunk(kind, job, block, (uint32_t *)(void *)out);
    if (blocks == 0) return;
    uint32_t last[4 * CHUNK];
    draw_chunk(kind, job, block, last);
    memcpy(out, last, 16 * (size_t)blocks);
}

INLINE void draw(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out) {
    switch (job->kind) {
    case WM_DRAW_BITS:
        draw_blocks(WM_DRAW_BITS, job, block, blocks, out);
        break;
    case WM_DRAW_UNIFORM_F32:
        draw_blocks(WM_DRAW_UNIFORM_F32, job, block, blocks, out);
        break;
    case WM_DRAW_UNIFORM_F64:
        draw_blocks(WM_DRAW_UNIFORM_F64, job, block, blocks, out);
        break;
    case WM_DRAW_NORMAL_F32:
        draw_blocks(WM_DRAW_NORMAL_F32, job, block, blocks, out);
        break;
    case WM_DRAW_NORMAL_F64:
        draw_blocks(WM_DRAW_NORMAL_F64, job, block, blocks, out);
        break;
    case WM_DRAW_CURAND_F32:
        draw_blocks(WM_DRAW_CURAND_F32, job, block, blocks, out);
        break;
    default:
        draw_blocks(WM_DRAW_CURAND_F64, job, block, blocks, out);
        break;
    }
}
