/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based generators beside Philox4x32-10, and the one function by which everything else asks for words:
 *
 *     wmWords w = wm_words(generator, key, lane, number);     four 32-bit words: block `number` of a lane of the key
 *
 * With a constant generator it folds to that cipher alone. Philox and Threefry: Salmon, Moraes, Dror, Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011; Threefry's rotations are Threefish's (Ferguson et al., "The Skein hash
 * function family", 2010). docs/random.md is the bit-level specification. Plain C, for host and device alike.
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: the two papers above.
 */
#ifndef WARPMATH_DEVICE_GENERATORS_H
#define WARPMATH_DEVICE_GENERATORS_H

#include <warpmath/device/philox.h>
#include <warpmath/random_generator.h>

/** Four 64-bit words: a counter, a key, or what a cipher makes of them. */
typedef struct wmWords64 {
    unsigned long long w[4];
} wmWords64;

/** Two 32-bit words. */
typedef struct wmWords2 {
    unsigned int w[2];
} wmWords2;

#if defined(__CUDA_ARCH__)
#define WM_ROUNDS _Pragma("unroll")
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define WM_ROUNDS _Pragma("GCC unroll 20")
#else
#define WM_ROUNDS
#endif

/** The upper half of a product of 64 by 64 bits. */
WM_BOTH wm_u64 wm_high64(wm_u64 a, wm_u64 b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#elif defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    return (wm_u64)((wide)a * b >> 64);
#else
    wm_u64 low = (a & 0xffffffffu) * (b & 0xffffffffu), first = (a >> 32) * (b & 0xffffffffu);
    wm_u64 second = (a & 0xffffffffu) * (b >> 32);
    wm_u64 middle = (low >> 32) + (first & 0xffffffffu) + (second & 0xffffffffu);
    return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32) + (middle >> 32);
#endif
}

WM_BOTH wm_u64 wm_rotate64(wm_u64 x, int by) {
    return x << by | x >> (64 - by);
}
WM_BOTH wm_u32 wm_rotate32(wm_u32 x, int by) {
    return x << by | x >> (32 - by);
}

/** Philox4x32 of seven rounds. Any thread; 16 registers; bits and source: see the top. */
WM_BOTH wmWords wmPhilox4x32R7(wmWords counter, unsigned int key0, unsigned int key1) {
    WM_ROUNDS
    for (int round = 0; round < 7; round++) {
        counter = wm_philox_round(counter, key0, key1);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

/** Philox4x64-10. Any thread; 30 registers; bits and source: see the top. */
WM_BOTH wmWords64 wmPhilox4x64(wmWords64 c, unsigned long long key0, unsigned long long key1) {
    WM_ROUNDS
    for (int round = 0; round < 10; round++) {
        wm_u64 high0 = wm_high64(0xd2e7470ee14c6c93ull, c.w[0]), low0 = 0xd2e7470ee14c6c93ull * c.w[0];
        wm_u64 high1 = wm_high64(0xca5a826395121157ull, c.w[2]), low1 = 0xca5a826395121157ull * c.w[2];
        c.w[0] = high1 ^ c.w[1] ^ key0;
        c.w[1] = low1;
        c.w[2] = high0 ^ c.w[3] ^ key1;
        c.w[3] = low0;
        key0 += 0x9e3779b97f4a7c15ull;
        key1 += 0xbb67ae8584caa73bull;
    }
    return c;
}

/** Threefry2x32-20: rounds of add, rotate, exclusive or; the key comes in after every fourth. Any thread; 12 registers;
 * bits and source: see the top. */
WM_BOTH wmWords2 wmThreefry2x32(wmWords2 x, unsigned int key0, unsigned int key1) {
    const int turn[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const wm_u32 key[3] = {key0, key1, 0x1bd11bdau ^ key0 ^ key1};
    x.w[0] += key[0];
    x.w[1] += key[1];
    WM_ROUNDS
    for (int round = 0; round < 20; round++) {
        x.w[0] += x.w[1];
        x.w[1] = wm_rotate32(x.w[1], turn[round % 8]) ^ x.w[0];
        if (round % 4 == 3) {
            x.w[0] += key[(round / 4 + 1) % 3];
            x.w[1] += key[(round / 4 + 2) % 3] + (wm_u32)(round / 4 + 1);
        }
    }
    return x;
}

/** Threefry4x64-20. Any thread; 22 registers; bits and source: see the top. */
WM_BOTH wmWords64 wmThreefry4x64(wmWords64 x, wmWords64 k) {
    const int first[8] = {14, 52, 23, 5, 25, 46, 58, 32}, second[8] = {16, 57, 40, 37, 33, 12, 22, 32};
    const wm_u64 key[5] = {k.w[0], k.w[1], k.w[2], k.w[3], 0x1bd11bdaa9fc1a22ull ^ k.w[0] ^ k.w[1] ^ k.w[2] ^ k.w[3]};
    WM_ROUNDS
    for (int i = 0; i < 4; i++) x.w[i] += key[i];
    WM_ROUNDS
    for (int round = 0; round < 20; round++) {
        const int a = round % 2 ? 3 : 1, b = 4 - a; /* partners of words 0 and 2 */
        x.w[0] += x.w[a];
        x.w[a] = wm_rotate64(x.w[a], first[round % 8]) ^ x.w[0];
        x.w[2] += x.w[b];
        x.w[b] = wm_rotate64(x.w[b], second[round % 8]) ^ x.w[2];
        if (round % 4 == 3) {
            x.w[0] += key[(round / 4 + 1) % 5];
            x.w[1] += key[(round / 4 + 2) % 5];
            x.w[2] += key[(round / 4 + 3) % 5];
            x.w[3] += key[(round / 4 + 4) % 5] + (wm_u64)(round / 4 + 1);
        }
    }
    return x;
}

/* ---- Words of a lane of a key ---- */

/** Blocks 2 pair and 2 pair + 1 of a cipher of 4 x 64 bits, low words first: counter (pair, lane, 0, 0). */
WM_BOTH wmWords64 wm_words_wide(int generator, wmRandomKey key, wm_u32 lane, wm_u64 pair) {
    wmWords64 counter = {
        {pair, lane, 0, 0}
    };
    wmWords64 long_key = {
        {key.seed, key.substream, 0, 0}
    };
    return generator == WM_PHILOX4X64_10 ? wmPhilox4x64(counter, key.seed, key.substream)
                                         : wmThreefry4x64(counter, long_key);
}

WM_BOTH wmWords wm_words_of(wm_u64 first, wm_u64 second) {
    wmWords w = {
        {(wm_u32)first, (wm_u32)(first >> 32), (wm_u32)second, (wm_u32)(second >> 32)}
    };
    return w;
}

/*
 * Threefry2x32's counter is the block number alone. Lane and substream choose the key instead: both 0, it is the seed;
 * else the cipher of (lane, substream) under the complement of the seed.
 */
WM_BOTH wmWords2 wm_threefry_key(wmRandomKey key, wm_u32 lane) {
    wmWords2 k = {
        {(wm_u32)key.seed, (wm_u32)(key.seed >> 32)}
    };
    wmWords2 which = {
        {lane, key.substream}
    };
    return (lane | key.substream) == 0 ? k : wmThreefry2x32(which, ~k.w[0], ~k.w[1]);
}

/** Block `number`: the ciphers of the counters 2 number and 2 number + 1. */
WM_BOTH wmWords wm_threefry_words(wmWords2 k, wm_u64 number) {
    wm_u32 low = (wm_u32)number << 1, high = (wm_u32)(number >> 31);
    wmWords2 even = {
        {low, high}
    };
    wmWords2 odd = {
        {low | 1u, high}
    };
    even = wmThreefry2x32(even, k.w[0], k.w[1]);
    odd = wmThreefry2x32(odd, k.w[0], k.w[1]);
    wmWords w = {
        {even.w[0], even.w[1], odd.w[0], odd.w[1]}
    };
    return w;
}

/** The four 32-bit words of block `number` in `lane` of the key's sequence by this generator. */
WM_BOTH wmWords wm_words(int generator, wmRandomKey key, wm_u32 lane, wm_u64 number) {
    if (generator == WM_PHILOX4X32_10) return wm_random_words(key, number, lane);
    if (generator == WM_PHILOX4X32_7) {
        wmWords counter = {
            {(wm_u32)number, (wm_u32)(number >> 32), lane, key.substream}
        };
        return wmPhilox4x32R7(counter, (wm_u32)key.seed, (wm_u32)(key.seed >> 32));
    }
    if (generator == WM_THREEFRY2X32_20) return wm_threefry_words(wm_threefry_key(key, lane), number);
    wmWords64 c = wm_words_wide(generator, key, lane, number >> 1);
    return number & 1 ? wm_words_of(c.w[2], c.w[3]) : wm_words_of(c.w[0], c.w[1]);
}

/** Blocks 2 pair and 2 pair + 1 in `lane`: one call of a cipher of 4 x 64 bits for both. */
WM_BOTH void wm_words_pair(int generator, wmRandomKey key, wm_u32 lane, wm_u64 pair, wmWords *even, wmWords *odd) {
    if (generator == WM_PHILOX4X64_10 || generator == WM_THREEFRY4X64_20) {
        wmWords64 c = wm_words_wide(generator, key, lane, pair);
        *even = wm_words_of(c.w[0], c.w[1]);
        *odd = wm_words_of(c.w[2], c.w[3]);
    } else {
        *even = wm_words(generator, key, lane, 2 * pair);
        *odd = wm_words(generator, key, lane, 2 * pair + 1);
    }
}

#endif
