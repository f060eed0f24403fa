/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices: categories by an alias table, permutations as functions of their index, rounding up or down at random. Plain
 * C; docs/distributions.md is the specification.
 *
 *     wmPermutation p = wmPermutationMake(key, n);
 *     unsigned long long j = wmPermute(&p, i);        each j < n for exactly one i < n: no memory, any part of it
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: Walker, "An efficient method for generating discrete
 * random variables with general distributions", 1977; docs/distributions.md.
 */
#ifndef WARPMATH_DEVICE_DIST_CHOICE_H
#define WARPMATH_DEVICE_DIST_CHOICE_H

#include <warpmath/device/dist_basic.h>

/* ---- Categories: Walker's alias method ---- */

/** Column k of the table: k with probability threshold / 2^32, else alias. wmRandomAliasBuild fills it. */
typedef struct wmAlias {
    unsigned int threshold, alias;
} wmAlias;

/** Element i: one of `categories`. The column is the high half of element · categories, the coin the next 32 bits. Any
 * thread; 14 registers; bits and source: see the top. `table` aligned to 4 bytes. */
WM_BOTH unsigned int wmCategorical(wmRandomKey key, wm_u64 i, const wmAlias *table, unsigned int categories) {
    wm_u64 low, column = wm_product_u64(wmBitsU64(key, i), categories, &low);
    wmAlias entry = table[column];
    return (wm_u32)(low >> 32) < entry.threshold ? (wm_u32)column : entry.alias;
}

/* ---- Permutations ---- */

#define WM_LANE_PERMUTATION (5u << 24)
#define WM_PERMUTATION_ROUNDS 16
#define WM_PERMUTATION_SMALL 20 /* up to here all orders are equally likely; 20! < 2^64 */

/** A permutation of 0 … span - 1. */
typedef struct wmPermutation {
    unsigned long long span, order; /* order: the number of a small one */
    unsigned int round[WM_PERMUTATION_ROUNDS];
    int left, right; /* bits of the two halves */
} wmPermutation;

/** The permutation of 0 … span - 1 that the key names. Any thread; 36 registers; bits and source: see the top. */
WM_BOTH wmPermutation wmPermutationMake(wmRandomKey key, wm_u64 span) {
    wmPermutation p;
    int bits = 2;
    while (bits < 64 && (span - 1) >> bits) bits++;
    p.span = span;
    p.left = bits / 2;
    p.right = bits - p.left;
    p.order = 0;
    if (span <= WM_PERMUTATION_SMALL) {
        wm_u64 orders = 1;
        for (wm_u64 k = 2; k <= span; k++) orders *= k;
        p.order = wmIntegersU64(key, 0, wmIntegersMake(0, orders));
    }
    for (wm_u32 k = 0; k < WM_PERMUTATION_ROUNDS / 4; k++) {
        wmWords w = wm_random_words(key, 4 * (wm_u64)bits + k, WM_LANE_PERMUTATION);
        p.round[4 * k] = w.w[0], p.round[4 * k + 1] = w.w[1], p.round[4 * k + 2] = w.w[2], p.round[4 * k + 3] = w.w[3];
    }
    return p;
}

/** Mixes 32 bits: two products and three shifts (the finaliser of MurmurHash3, A. Appleby, in the public domain). */
WM_BOTH wm_u32 wm_permutation_mix(wm_u32 x, wm_u32 key) {
    x = (x ^ key) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* A small one, from its number in the factorial system: the d-th of the values not yet taken, place after place. */
WM_BOTH wm_u64 wm_permute_small(const wmPermutation *p, wm_u64 i) {
    wm_u64 rest = p->order;
    wm_u32 taken = 0, value = 0;
    for (wm_u64 place = 0; place <= i; place++) {
        wm_u64 choices = p->span - place, skip = rest % choices;
        rest /= choices;
        for (value = 0; (taken >> value & 1) || skip > 0; value++) skip -= !(taken >> value & 1);
        taken |= 1u << value;
    }
    return value;
}

/** Place i < span of the permutation: a Feistel cipher over the next power of two, walked until it lands below span.
 * Any thread; 30 registers; bits and source: see the top. *p aligned to 8 bytes. */
WM_BOTH wm_u64 wmPermute(const wmPermutation *p, wm_u64 i) {
    if (p->span <= WM_PERMUTATION_SMALL) return wm_permute_small(p, i);
    wm_u32 left_mask = (wm_u32)((1ull << p->left) - 1), right_mask = (wm_u32)((1ull << p->right) - 1);
    wm_u64 x = i;
    do {
        wm_u32 left = (wm_u32)(x >> p->right), right = (wm_u32)x & right_mask;
        for (int r = 0; r < WM_PERMUTATION_ROUNDS; r += 2) {
            left ^= wm_permutation_mix(right, p->round[r]) & left_mask;
            right ^= wm_permutation_mix(left, p->round[r + 1]) & right_mask;
        }
        x = (wm_u64)left << p->right | right;
    } while (x >= p->span);
    return x;
}

/* ---- Rounding at random: up with the probability of the part cut off ---- */

/** A format: mantissa bits, exponent bias, the largest finite value's bits, and what is beyond it. */
typedef struct wmRounded {
    int mantissa, bias, bits;
    unsigned int largest, beyond, nan;
} wmRounded;

WM_BOTH wmRounded wm_rounded_format(int mantissa, int bias, int bits, wm_u32 largest, wm_u32 beyond, wm_u32 nan) {
    wmRounded f = {mantissa, bias, bits, largest, beyond, nan};
    return f;
}

/** bf16, for wmRoundAtRandom. Any thread; 18 registers; exact; source: see the top. */
WM_BOTH wmRounded wmRoundedBf16(void) {
    return wm_rounded_format(7, 127, 16, 0x7f7fu, 0x7f80u, 0x7fffu);
}

/** f16. Any thread; 18 registers; exact; source: see the top. */
WM_BOTH wmRounded wmRoundedF16(void) {
    return wm_rounded_format(10, 15, 16, 0x7bffu, 0x7c00u, 0x7fffu);
}

/** 8-bit floats of four bits of exponent. Any thread; 18 registers; exact; source: see the top. */
WM_BOTH wmRounded wmRoundedE4m3(void) {
    return wm_rounded_format(3, 7, 8, 0x7eu, 0x7eu, 0x7fu);
}

/** The same of five. Any thread; 18 registers; exact; source: see the top. */
WM_BOTH wmRounded wmRoundedE5m2(void) {
    return wm_rounded_format(2, 15, 8, 0x7bu, 0x7bu, 0x7fu);
}

/**
 * x as one of the two values of the format around it, the further from 0 with the probability by which x is nearer to
 * it, to 2^-32; `word` are the random bits (for bf16 the upper 16 of them decide, which is exact). Beyond the largest:
 * infinity in 16 bits, the largest value in 8.
 * Any thread; 10 registers; bits and source: see the top.
 */
WM_BOTH wm_u32 wmRoundAtRandom(float x, wm_u32 word, wmRounded f) {
    wm_u32 bits = wm_exact_bits32(x), size = bits & 0x7fffffffu, sign = bits >> 31 << (f.bits - 1);
    if (size > 0x7f800000u) return f.nan;
    if (size == 0x7f800000u) return sign | f.beyond;
    int exponent = (int)(size >> 23), up = exponent - 127 + f.bias; /* of the target; below 1: subnormal there */
    wm_u64 fraction = exponent ? (size & 0x7fffffu) | 0x800000u : size & 0x7fffffu;
    int shift = 23 - f.mantissa + (up > 0 ? 0 : 1 - up) - (exponent == 0);
    wm_u64 fixed = fraction << 32;
    wm_u64 kept = ((shift < 64 ? fixed >> shift : 0) + word) >> 32;
    wm_u32 result = up > 0 ? ((wm_u32)(up - 1) << f.mantissa) + (wm_u32)kept : (wm_u32)kept;
    return sign | (result > f.largest ? f.beyond : result);
}

#endif
