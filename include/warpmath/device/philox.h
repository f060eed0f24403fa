/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011), keys made from
 * keys, and raw bits: element i of a key's sequence is a pure function of the key and i. docs/random.md is the
 * bit-level specification. Plain C, for host and device alike; no state, nothing to initialise, nothing that fails.
 *
 *     unsigned int x = wmBitsU32(key, i);               the host's out[i] of wmRandom, bits, u32
 *     wmRandomKey mine = wmRandomKeyFold(key, rank);    an independent sequence for each rank
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: the paper above.
 */
#ifndef WARPMATH_DEVICE_PHILOX_H
#define WARPMATH_DEVICE_PHILOX_H

#include <warpmath/device/exact.h>
#include <warpmath/random_key.h>

/** Four words: a counter, or what Philox makes of it. */
typedef struct wmWords {
    unsigned int w[4];
} wmWords;

/* The third counter word tells apart what a block is for. Attempts of distributions that reject count up from 1. */
#define WM_LANE_ELEMENTS 0u
#define WM_LANE_FOLD 0xffffffffu

/** One round: two products of 32 by 32 bits, high halves mixed with the other half of the counter and with the key. */
WM_BOTH wmWords wm_philox_round(wmWords c, wm_u32 key0, wm_u32 key1) {
    wm_u64 p0 = 0xd2511f53ull * c.w[0], p1 = 0xcd9e8d57ull * c.w[2];
    wmWords next = {
        {(wm_u32)(p1 >> 32) ^ c.w[1] ^ key0, (wm_u32)p1, (wm_u32)(p0 >> 32) ^ c.w[3] ^ key1, (wm_u32)p0}
    };
    return next;
}

/**
 * The block cipher itself: ten rounds over `counter` under a key of two words, which grows by the golden ratio's and
 * sqrt(3) - 1's first 32 bits a round. About 45 instructions of a GPU, 20 of them 32 x 32 -> 64 bit products.
 * Any thread; 16 registers; bits and source: see the top.
 */
WM_BOTH wmWords wmPhilox4x32(wmWords counter, unsigned int key0, unsigned int key1) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#elif defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC unroll 10
#endif
    for (int round = 0; round < 10; round++) {
        counter = wm_philox_round(counter, key0, key1);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

/** The words of `number` in lane `lane` of the key: counter {number low, number high, lane, substream}, key = seed. */
WM_BOTH wmWords wm_random_words(wmRandomKey key, wm_u64 number, wm_u32 lane) {
    wmWords counter = {
        {(wm_u32)number, (wm_u32)(number >> 32), lane, key.substream}
    };
    return wmPhilox4x32(counter, (wm_u32)key.seed, (wm_u32)(key.seed >> 32));
}

/**
 * Block `block` of the key's sequence: the four 32-bit elements 4 block … 4 block + 3, or the two 64-bit elements
 * 2 block and 2 block + 1, low word first.
 * Any thread; 16 registers; bits and source: see the top.
 */
WM_BOTH wmWords wmRandomBlock(wmRandomKey key, unsigned long long block) {
    return wm_random_words(key, block, WM_LANE_ELEMENTS);
}

/** Word i of the key's sequence: 32 random bits. One Philox block; take wmRandomBlock for four at that price. Any
 * thread; 16 registers; bits and source: see the top. */
WM_BOTH unsigned int wmBitsU32(wmRandomKey key, unsigned long long i) {
    wmWords words = wmRandomBlock(key, i >> 2); /* chosen by selects: an index would move the array out of registers */
    wm_u32 even = i & 2 ? words.w[2] : words.w[0], odd = i & 2 ? words.w[3] : words.w[1];
    return i & 1 ? odd : even;
}

/** 64-bit element i of the key's sequence: words 2i (low) and 2i + 1 (high). One Philox block. Any thread; 16
 * registers; bits and source: see the top. */
WM_BOTH unsigned long long wmBitsU64(wmRandomKey key, unsigned long long i) {
    wmWords words = wmRandomBlock(key, i >> 1);
    wm_u64 even = words.w[0] | (wm_u64)words.w[1] << 32, odd = words.w[2] | (wm_u64)words.w[3] << 32;
    return i & 1 ? odd : even;
}

/**
 * An independent key made from a key and a number (a step, a layer, a rank): seed = words 0 and 1, substream = word 2
 * of the block of `number` in the lane kept for keys. Folds may be chained. Numbers from 2^63 on are
 * wmRandomKeySplit's.
 * Any thread; 16 registers; bits and source: see the top.
 */
WM_BOTH wmRandomKey wmRandomKeyFold(wmRandomKey key, unsigned long long number) {
    wmWords words = wm_random_words(key, number, WM_LANE_FOLD);
    wmRandomKey folded = {words.w[0] | (wm_u64)words.w[1] << 32, words.w[2]};
    return folded;
}

#endif
