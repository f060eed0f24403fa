/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to values: uniforms of 16-bit floats and of every interval, integers in a range, coin flips, exponential and
 * lognormal; and the fast forms by hardware functions. docs/random.md is the bit-level specification. Plain C.
 *
 *     wmIntegers die = wmIntegersMake(1, 6);
 *     unsigned int face = wmIntegersU32(key, i, die);      1 … 6, unbiased: the host's out[i] of "random integers u32"
 *     float x = wmExponentialF32(key, i, 1.0f);
 *     unsigned int keep = wmBernoulli(key, i, wmProbabilityMake(0.9));
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: docs/random.md; the integers, Lemire, ACM TOMACS 29(1),
 * 2019.
 */
#ifndef WARPMATH_DEVICE_DIST_BASIC_H
#define WARPMATH_DEVICE_DIST_BASIC_H

#include <warpmath/device/dist_math.h>
#include <warpmath/random_interval.h>

/* ---- Elements of 16 and 8 bits of a key's sequence: low half, low byte first ---- */

/** 16-bit element i: half i mod 8 of block i / 8. Any thread; 14 registers; bits and source: see the top. */
WM_BOTH wm_u32 wmBitsU16(wmRandomKey key, wm_u64 i) {
    return wmBitsU32(key, i >> 1) >> (i & 1) * 16 & 0xffffu;
}
/** 8-bit element i: byte i mod 16 of block i / 16. Any thread; 14 registers; bits and source: see the top. */
WM_BOTH wm_u32 wmBitsU8(wmRandomKey key, wm_u64 i) {
    return wmBitsU32(key, i >> 2) >> (i & 3) * 8 & 0xffu;
}

/* ---- Uniform of 16-bit floats ---- */

/** h / 2^16 for h < 2^16, and (h + 1/2) / 2^16 where `open`: exact. */
WM_BOTH float wm_fraction_16(wm_u32 h, wm_u32 open) {
    return open ? wm_random_fraction32(h << 8 | 128u) : wm_random_fraction32(h << 8);
}

/** Both halves of a word as uniforms on [0, 1): the largest f16 or bf16 not above h / 2^16. Two of them in a word. */
WM_BOTH wm_u32 wm_uniform_pair_16(int bf16, wm_u32 word) {
#ifdef __CUDA_ARCH__
    float low = wm_random_fraction32(__byte_perm(word, 0, 0x4104)), high = wm_random_fraction32(word >> 8 & 0xffff00u);
    if (bf16) return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x7632);
    wm_u32 both;
    asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    float low = wm_fraction_16(word & 0xffffu, 0), high = wm_fraction_16(word >> 16, 0);
    return bf16 ? wm_bf16_below(low) | wm_bf16_below(high) << 16 : wm_f16_below(low) | wm_f16_below(high) << 16;
#endif
}

/**
 * How a uniform of any interval is made: x = fma(u, width, low), u with its last bit set where `open`. For 16-bit
 * floats x is the largest value of the type not above that, and -x where `turned`; for f32 and f64 the turn is in the
 * signs of width and low.
 */
typedef struct wmInterval32 {
    float low, width;
    unsigned int open, turned;
} wmInterval32;
typedef struct wmInterval64 {
    double low, width;
    unsigned int open;
} wmInterval64;

/** Where the least value is not above `low` of an open interval, the interval starts at the next value above. Any
 * thread; 27 registers; bits and source: see the top. */
WM_BOTH wmInterval32 wmIntervalMakeF32(int interval, float low, float high) {
    int turned = interval == WM_OPEN_CLOSED, open = interval == WM_OPEN;
    wmRangeF32 r = turned ? wmRangeMakeF32(-high, -low) : wmRangeMakeF32(low, high);
    if (open && !(wm_exact_fma32(5.9604645e-08f, r.width, r.low) > low))
        r = wmRangeMakeF32(-wm_range_below_f32(-low), high);
    wmInterval32 in = {turned ? -r.low : r.low, turned ? -r.width : r.width, (wm_u32)open, 0};
    return in;
}

/** The same in f64. Any thread; 26 registers; bits and source: see the top. */
WM_BOTH wmInterval64 wmIntervalMakeF64(int interval, double low, double high) {
    int turned = interval == WM_OPEN_CLOSED, open = interval == WM_OPEN;
    wmRangeF64 r = turned ? wmRangeMakeF64(-high, -low) : wmRangeMakeF64(low, high);
    if (open && !(wm_exact_fma64(1.1102230246251565e-16, r.width, r.low) > low))
        r = wmRangeMakeF64(-wm_range_below_f64(-low), high);
    wmInterval64 in = {turned ? -r.low : r.low, turned ? -r.width : r.width, (wm_u32)open};
    return in;
}
/** For f16 and bf16; low and high are values of the type. Any thread; 27 registers; bits and source: see the top. */
WM_BOTH wmInterval32 wmIntervalMake16(int bf16, int interval, float low, float high) {
    wmRangeF32 range = interval == WM_OPEN_CLOSED ? wmRangeMakeF32(-high, -low) : wmRangeMakeF32(low, high);
    wmInterval32 in = {range.low, range.width, interval == WM_OPEN, interval == WM_OPEN_CLOSED};
    float least = wm_exact_fma32(7.6293945e-06f, in.width, in.low);
    least = bf16 ? wm_f32_of_bf16(wm_bf16_below(least)) : wm_f32_of_f16(wm_f16_below(least));
    if (in.open && !(least > low)) {
        wm_u32 bits = bf16 ? wm_bf16_below(low) : wm_f16_below(low);
        bits = (bits & 0x7fffu) == 0 ? 1 : bits >> 15 ? bits - 1 : bits + 1;
        wmRangeF32 r = wmRangeMakeF32(bf16 ? wm_f32_of_bf16(bits) : wm_f32_of_f16(bits), high);
        in.low = r.low, in.width = r.width;
    }
    return in;
}

/** u of a word: 24 bits, 23 and a half where `open`. */
WM_BOTH float wm_uniform_any_f32(wm_u32 word, const wmInterval32 *in) {
    return wm_exact_fma32(wm_random_fraction32(word >> 8 | in->open), in->width, in->low);
}
WM_BOTH double wm_uniform_any_f64(wm_u64 z, const wmInterval64 *in) {
    return wm_exact_fma64(wm_random_fraction64(z >> 11 | in->open), in->width, in->low);
}
WM_BOTH wm_u32 wm_uniform_any_16(int bf16, wm_u32 h, const wmInterval32 *in) {
    float x = wm_exact_fma32(wm_fraction_16(h, in->open), in->width, in->low);
    wm_u32 bits = bf16 ? wm_bf16_below(x) : wm_f16_below(x);
    return in->turned ? bits ^ 0x8000u : bits;
}

/* ---- Integers in a range: multiply and reject (Lemire, ACM TOMACS 29(1), 2019) ---- */

/** Integers base … base + span - 1, all equally likely; span 0: all values of the type. */
typedef struct wmIntegers {
    unsigned long long base, span;
    unsigned long long least64; /* products whose low half is below are rejected: 2^64 mod span, 2^32 mod span, … */
    unsigned int least32, least16;
} wmIntegers;

/** base … base + span - 1; span 0: all values. Any thread; 24 registers; bits and source: see the top. */
WM_BOTH wmIntegers wmIntegersMake(long long base, unsigned long long span) {
    wmIntegers r = {(wm_u64)base, span, span ? (0 - span) % span : 0, span ? (wm_u32)(0x100000000ull % span) : 0,
                    span ? (wm_u32)(0x10000ull % span) : 0};
    return r;
}

/** One step of it by a word (16 of its bits): the value, and whether it stands. */
WM_BOTH wm_u32 wm_integer_32(wm_u32 word, const wmIntegers *r, wm_u32 *rejected) {
    wm_u64 product = (wm_u64)word * (wm_u32)r->span + (r->base << 32);
    *rejected = (wm_u32)product < r->least32;
    return (wm_u32)(product >> 32);
}
WM_BOTH wm_u32 wm_integer_16(wm_u32 half, const wmIntegers *r, wm_u32 *rejected) {
    wm_u32 product = half * (wm_u32)r->span + ((wm_u32)r->base << 16);
    *rejected = (product & 0xffffu) < r->least16;
    return product >> 16;
}

/** Element i again, by attempts 1, 2, …, until one stands. */
WM_BOTH wm_u32 wm_integer_retry_32(wmRandomKey key, wm_u64 i, const wmIntegers *r) {
    wm_u32 rejected = 1, x = 0;
    for (wm_u32 attempt = 1; rejected; attempt++)
        x = wm_integer_32(wm_attempt_words(key, i, WM_LANE_32, attempt).w[0], r, &rejected);
    return x;
}
WM_BOTH wm_u32 wm_integer_retry_16(wmRandomKey key, wm_u64 i, const wmIntegers *r) {
    wm_u32 rejected = 1, x = 0;
    for (wm_u32 attempt = 1; rejected; attempt++)
        x = wm_integer_16(wm_attempt_words(key, i, WM_LANE_16, attempt).w[0] & 0xffffu, r, &rejected);
    return x;
}
WM_BOTH wm_u64 wm_integer_64(wm_u64 z, wmRandomKey key, wm_u64 i, const wmIntegers *r) {
    wm_u64 low, high = wm_product_u64(z, r->span, &low);
    for (wm_u32 attempt = 1; low < r->least64; attempt++) {
        wmWords w = wm_attempt_words(key, i, WM_LANE_64, attempt);
        high = wm_product_u64(wm_pair_u64(w.w[0], w.w[1]), r->span, &low);
    }
    return high + r->base;
}

/** Element i of the type: u8 and i8 take 16-bit elements of the sequence, the other narrow ones 32-bit elements. Any
 * thread; 21 registers; bits and source: see the top. */
WM_BOTH wm_u32 wmIntegersU8(wmRandomKey key, wm_u64 i, wmIntegers r) {
    wm_u32 rejected, h = wmBitsU16(key, i), x = wm_integer_16(h, &r, &rejected);
    if (r.span == 0) return (h + (wm_u32)r.base) & 0xffu;
    return (rejected ? wm_integer_retry_16(key, i, &r) : x) & 0xffu;
}

/** Element i, of 32 bits. Any thread; 21 registers; bits and source: see the top. */
WM_BOTH wm_u32 wmIntegersU32(wmRandomKey key, wm_u64 i, wmIntegers r) {
    wm_u32 rejected, w = wmBitsU32(key, i), x = wm_integer_32(w, &r, &rejected);
    if ((wm_u32)r.span == 0) return w + (wm_u32)r.base;
    return rejected ? wm_integer_retry_32(key, i, &r) : x;
}

/** 64-bit element i. Any thread; 20 registers; bits and source: see the top. */
WM_BOTH wm_u64 wmIntegersU64(wmRandomKey key, wm_u64 i, wmIntegers r) {
    wm_u64 z = wmBitsU64(key, i);
    return r.span == 0 ? z + r.base : wm_integer_64(z, key, i, &r);
}

/* ---- Coin flips: 32 at a time, bit by bit of the uniform, until none is undecided ---- */

/** p as a fraction of 2^64; `always`: p is 1. */
typedef struct wmProbability {
    unsigned long long bits;
    unsigned int always;
} wmProbability;

/** p in [0, 1], rounded down to a multiple of 2^-64: exact from 2^-11 on. Any thread; 12 registers; bits and source:
 * see the top. */
WM_BOTH wmProbability wmProbabilityMake(double p) {
    wmProbability r = {0, p >= 1.0};
    if (p > 0.0 && p < 1.0) r.bits = (wm_u64)(p * 18446744073709551616.0);
    return r;
}

/**
 * The masks of block `block`: bit j of mask m is draw 128 block + 32 m + j, 1 with probability p. Each draw compares a
 * uniform with p from the highest bit down; bit k of the uniforms is plane k, the words of lane WM_LANE_PLANE + k
 * (plane 0: lane 0, the sequence's own block). Undecided draws halve from plane to plane, so some 8 planes serve all.
 */
WM_BOTH wmWords wm_mask_words(wmRandomKey key, wm_u64 block, wmProbability p) {
    wmWords one = {
        {0, 0, 0, 0}
    };
    wm_u32 undecided[4] = {~0u, ~0u, ~0u, ~0u};
    wm_u64 rest = p.bits;
    for (wm_u32 k = 0; rest && (undecided[0] | undecided[1] | undecided[2] | undecided[3]); k++, rest <<= 1) {
        wmWords w = wm_random_words(key, block, k ? WM_LANE_PLANE + k : WM_LANE_ELEMENTS);
        for (int m = 0; m < 4; m++) {
            wm_u32 zeros = undecided[m] & ~w.w[m];
            if (rest >> 63)
                one.w[m] |= zeros, undecided[m] &= w.w[m];
            else
                undecided[m] = zeros;
        }
    }
    for (int m = 0; m < 4; m++)
        if (p.always) one.w[m] = ~0u;
    return one;
}

/** Mask i: draws 32 i … 32 i + 31, the lowest bit first. Any thread; 29 registers; bits and source: see the top. */
WM_BOTH unsigned int wmBernoulliMask(wmRandomKey key, wm_u64 i, wmProbability p) {
    wmWords one = wm_mask_words(key, i >> 2, p);
    wm_u32 even = i & 2 ? one.w[2] : one.w[0], odd = i & 2 ? one.w[3] : one.w[1];
    return i & 1 ? odd : even;
}
/** Draw i: 1 with probability p, else 0; bit i mod 32 of mask i / 32. Any thread; 29 registers; bits and source: see
 * the top. */
WM_BOTH unsigned int wmBernoulli(wmRandomKey key, wm_u64 i, wmProbability p) {
    return wmBernoulliMask(key, i >> 5, p) >> (i & 31) & 1;
}

/* ---- Exponential: half the square of a normal's radius ---- */

/** `half_scale` is 1 / (2 rate), rounded to the type. */
WM_BOTH float wm_exponential_f32(wm_u32 word, float half_scale) {
    return wm_exact_mul32(wm_normal_square_f32(word), half_scale);
}
WM_BOTH double wm_exponential_f64(wm_u64 z, double half_scale) {
    return wm_exact_mul64(wm_normal_square_f64(z), half_scale);
}
/** Element i of the key's sequence: above 0, at most 22.9 / rate in f32 and 36.8 / rate in f64. Any thread; 18
 * registers; bits and source: see the top. */
WM_BOTH float wmExponentialF32(wmRandomKey key, wm_u64 i, float rate) {
    return wm_exponential_f32(wmBitsU32(key, i), (float)(0.5 / rate));
}

/** 64-bit element i. Any thread; 24 registers; bits and source: see the top. */
WM_BOTH double wmExponentialF64(wmRandomKey key, wm_u64 i, double rate) {
    return wm_exponential_f64(wmBitsU64(key, i), 0.5 / rate);
}

/* ---- Lognormal ---- */

/** exp(mean + std · z), z element i of the standard normal. Any thread; 16 registers; bits and source: see the top. */
WM_BOTH float wmLognormalF32(wmRandomKey key, wm_u64 i, float mean, float std) {
    return wm_exact_exp32(wm_exact_fma32(wmNormalF32(key, i), std, mean));
}

/** The same of 64-bit elements. Any thread; 22 registers; bits and source: see the top. */
WM_BOTH double wmLognormalF64(wmRandomKey key, wm_u64 i, double mean, double std) {
    return wm_exact_exp64(wm_exact_fma64(wmNormalF64(key, i), std, mean));
}

/* ---- Fast: by hardware functions on a GPU, the exact form elsewhere; a bound, no bits ---- */

#ifdef __CUDA_ARCH__
WM_BOTH float wm_fast_log2(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
WM_BOTH float wm_dist_exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
WM_BOTH float wm_fast_root(float x) {
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
/** u of a word as the exact forms have it: (a + 1/2) / 2^32, at most 1 - 2^-24. */
WM_BOTH float wm_fast_uniform(wm_u32 a) {
    return fminf(__fmaf_rn((float)a, 2.3283064e-10f, 1.1641532e-10f), 0.99999994f);
}
#endif

/** Two normals of two words, within 2^-17 of wm_normal_f32's. */
WM_BOTH void wm_normal_fast_f32(wm_u32 a, wm_u32 b, float *first, float *second) {
#ifdef __CUDA_ARCH__
    float u = wm_fast_uniform(a), v = 1.0f - u; /* near 1 the hardware's logarithm has no relative accuracy left */
    float t = wm_fast_log2(u) * -1.3862944f, near = __fmaf_rn(v, v, v + v);
    float r = wm_fast_root(v < 0.0078125f ? near : t), s, c;
    r = __uint_as_float(__float_as_uint(r) ^ (b & 0x80000000u));
    float angle = __fmaf_rn(__uint_as_float(b & 0xffffffu), 1.3362858e+38f, -1.5707962f);
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(angle));
    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(c) : "f"(angle));
    *first = r * c;
    *second = r * s;
#else
    wm_normal_f32(a, b, first, second);
#endif
}

/** An exponential of a word, within 2^-21 (1 + x) / rate of wm_exponential_f32's. */
WM_BOTH float wm_exponential_fast_f32(wm_u32 word, float half_scale) {
#ifdef __CUDA_ARCH__
    return wm_fast_log2(wm_fast_uniform(word)) * (-1.3862944f * half_scale);
#else
    return wm_exponential_f32(word, half_scale);
#endif
}

/** exp x within 2^-21 (1 + |x|) of itself. */
WM_BOTH float wm_exp_fast_f32(float x) {
#ifdef __CUDA_ARCH__
    return wm_dist_exp2(x * 1.442695f);
#else
    return wm_exact_exp32(x);
#endif
}

#endif
