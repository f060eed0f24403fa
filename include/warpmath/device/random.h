/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions over Philox blocks: element i is a pure function of the key and i, with the same bits on every GPU and
 * CPU, and the same bits that wmRandom writes to out[i - offset] on either place. docs/random.md is the bit-level
 * specification. Plain C, for host and device alike.
 *
 *     float z = wmNormalF32(key, i);          one value: a whole Philox block is computed for it
 *     wmF32x4 z = wmNormalF32x4(key, block);  elements 4 block … 4 block + 3: four values at that price
 *
 * Two distributions drawn from one key share their words: fold the key (wmRandomKeyFold) for each.
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU; normals within 6 roundings of their type. Source: docs/random.md.
 */
#ifndef WARPMATH_DEVICE_RANDOM_H
#define WARPMATH_DEVICE_RANDOM_H

#include <warpmath/device/philox.h>

/** The values of one block: four f32 or two f64 of consecutive elements. */
typedef struct wmF32x4 {
    float v[4];
} wmF32x4;
typedef struct wmF64x2 {
    double v[2];
} wmF64x2;

/* ---- Integers to floating point, exactly: where a GPU may read an integer as a subnormal, that saves a conversion
 * ---- */

/** k · 2^-24 for k < 2^24. */
WM_BOTH float wm_random_fraction32(wm_u32 k) {
#ifdef __CUDA_ARCH__
    return wm_exact_fma32(wm_exact_f32(k), 4.2535296e+37f, 0.0f);
#else
    return (float)(wm_i32)k * 5.9604645e-08f;
#endif
}

/** k · 2^-53 for k < 2^53. */
WM_BOTH double wm_random_fraction64(wm_u64 k) {
#ifdef __CUDA_ARCH__
    return wm_exact_mul64(wm_exact_f64(k), 2.247116418577895e+307);
#else
    double high = wm_exact_f64(0x4530000000000000ull | k >> 32) - 1.9342813118337666e+25;
    return (high + wm_exact_f64(0x4330000000000000ull | (k & 0xffffffffull))) * 1.1102230246251565e-16;
#endif
}

/** (k + 1/2) · 2^-24 - 1/2 for k < 2^24: odd multiples of 2^-25, never 0. */
WM_BOTH float wm_random_centred32(wm_u32 k) {
#ifdef __CUDA_ARCH__
    return wm_exact_fma32(wm_exact_f32(k), 4.2535296e+37f, -0.49999997f);
#else
    return wm_exact_fma32((float)(wm_i32)k, 5.9604645e-08f, -0.49999997f);
#endif
}

/** (k + 1/2) · 2^-52 + shift for k < 2^52 and a shift of 0 or -1/2. */
WM_BOTH double wm_random_shifted64(wm_u64 k, double shift) {
#ifdef __CUDA_ARCH__
    return wm_exact_fma64(wm_exact_f64(k), 4.49423283715579e+307, shift + 1.1102230246251565e-16);
#else
    return (wm_exact_f64(0x3ff0000000000000ull | k) - (1.0 - shift)) + 1.1102230246251565e-16;
#endif
}

/* ---- Uniform ---- */

/** The first 24 bits of a word as a fraction: k · 2^-24 in [0, 1). Exact; about 2 instructions. */
WM_BOTH float wm_uniform_f32(wm_u32 word) {
    return wm_random_fraction32(word >> 8);
}

/** The first 53 bits of a 64-bit element as a fraction: k · 2^-53 in [0, 1). Exact. */
WM_BOTH double wm_uniform_f64(wm_u32 low, wm_u32 high) {
    return wm_random_fraction64((wm_u64)high << 21 | low >> 11);
}

/** Elements 4 block … 4 block + 3, uniform on [0, 1) in steps of 2^-24. Any thread; 16 registers; bits and source: see
 * the top. */
WM_BOTH wmF32x4 wmUniformF32x4(wmRandomKey key, unsigned long long block) {
    wmWords w = wmRandomBlock(key, block);
    wmF32x4 u = {
        {wm_uniform_f32(w.w[0]), wm_uniform_f32(w.w[1]), wm_uniform_f32(w.w[2]), wm_uniform_f32(w.w[3])}
    };
    return u;
}

/** Elements 2 block and 2 block + 1, uniform on [0, 1) in steps of 2^-53. Any thread; 16 registers; bits and source:
 * see the top. */
WM_BOTH wmF64x2 wmUniformF64x2(wmRandomKey key, unsigned long long block) {
    wmWords w = wmRandomBlock(key, block);
    wmF64x2 u = {
        {wm_uniform_f64(w.w[0], w.w[1]), wm_uniform_f64(w.w[2], w.w[3])}
    };
    return u;
}

/** Element i of the key's sequence, uniform on [0, 1) in steps of 2^-24; 0 has probability 2^-24, 1 never comes. Any
 * thread; 16 registers; bits and source: see the top. */
WM_BOTH float wmUniformF32(wmRandomKey key, unsigned long long i) {
    return wm_uniform_f32(wmBitsU32(key, i));
}

/** 64-bit element i of the key's sequence, uniform on [0, 1) in steps of 2^-53. Any thread; 14 registers; bits and
 * source: see the top. */
WM_BOTH double wmUniformF64(wmRandomKey key, unsigned long long i) {
    wm_u64 z = wmBitsU64(key, i);
    return wm_uniform_f64((wm_u32)z, (wm_u32)(z >> 32));
}

/** The largest value of the type below x, finite. */
WM_BOTH float wm_range_below_f32(float x) {
    wm_u32 bits = wm_exact_bits32(x == 0.0f ? -0.0f : x);
    return wm_exact_f32(bits >> 31 ? bits + 1 : bits - 1);
}
WM_BOTH double wm_range_below_f64(double x) {
    wm_u64 bits = wm_exact_bits64(x == 0.0 ? -0.0 : x);
    return wm_exact_f64(bits >> 63 ? bits + 1 : bits - 1);
}

/** The range of a uniform on [low, high), made by wmRangeMakeF32, wmRangeMakeF64. */
typedef struct wmRangeF32 {
    float low, width;
} wmRangeF32;
typedef struct wmRangeF64 {
    double low, width;
} wmRangeF64;

/**
 * The range [low, high): an element is fma(u, width, low) with u uniform on [0, 1). The width is (p - low) / u', p the
 * largest value below `high` and u' the largest u, made smaller where rounding would still carry u' past p: so `high`
 * is never reached, `low` is, and [0, 1) has width 1. low >= high gives the constant `low`.
 * Any thread; 24 registers; bits and source: see the top.
 */
WM_BOTH wmRangeF32 wmRangeMakeF32(float low, float high) {
    wmRangeF32 range = {low, 0.0f};
    if (!(low < high)) return range;
    float most = 1.0f - 5.9604645e-08f;
    range.width = (float)(((double)wm_range_below_f32(high) - (double)low) / (double)most);
    while (range.width > 0.0f && !(wm_exact_fma32(most, range.width, low) < high))
        range.width = wm_exact_f32(wm_exact_bits32(range.width) - 1);
    return range;
}

/** The same in f64. Any thread; 22 registers; bits and source: see the top. */
WM_BOTH wmRangeF64 wmRangeMakeF64(double low, double high) {
    wmRangeF64 range = {low, 0.0};
    if (!(low < high)) return range;
    double top = wm_range_below_f64(high), most = 1.0 - 1.1102230246251565e-16;
    double half = wm_exact_add64(wm_exact_mul64(top, 0.5), -wm_exact_mul64(low, 0.5)); /* the whole might overflow */
    range.width = wm_exact_mul64(half / most, 2.0);
    while (range.width > 0.0 && !(wm_exact_fma64(most, range.width, low) < high))
        range.width = wm_exact_f64(wm_exact_bits64(range.width) - 1);
    return range;
}

/** Element i of the key's sequence, uniform on the range: low <= x < high. Any thread; 16 registers; bits and source:
 * see the top. */
WM_BOTH float wmUniformInF32(wmRandomKey key, unsigned long long i, wmRangeF32 range) {
    return wm_exact_fma32(wmUniformF32(key, i), range.width, range.low);
}

/** 64-bit element i. Any thread; 14 registers; bits and source: see the top. */
WM_BOTH double wmUniformInF64(wmRandomKey key, unsigned long long i, wmRangeF64 range) {
    return wm_exact_fma64(wmUniformF64(key, i), range.width, range.low);
}

/* ---- Normal: Box and Muller's pairs, r cos and r sin, in correctly rounded operations only ---- */

/**
 * -2 ln u for u = (a + 1/2) / 2^32 rounded to f32, below 1: t in [1.2e-7, 45.8], to 1.8 · 2^-24 of itself.
 * The float's bits, read as an integer q relative to 1's, are log2 u apart from the bend within an octave, so
 * t = -2 ln 2 · q / 2^23 + f · p(f), f being the way down from the octave's upper end.
 */
WM_BOTH float wm_normal_square_f32(wm_u32 a) {
    wm_i32 q = (wm_i32)(wm_exact_bits32(wm_exact_add32((float)a, 0.5f)) - 0x4f800000u);
    q = q < -1 ? q : -1;
#ifdef __CUDA_ARCH__
    float f = wm_exact_fma32(wm_exact_f32(~(wm_u32)q & 0x7fffffu), 8.507059e+37f, 1.1920929e-07f);
#else
    float f = wm_exact_f32((~(wm_u32)q & 0x7fffffu) | 0x3f800000u) - 0.9999999f;
#endif
    float p = 0.005629344f;
    p = wm_exact_fma32(p, f, -0.013248608f);
    p = wm_exact_fma32(p, f, 0.019651216f);
    p = wm_exact_fma32(p, f, -0.0063606515f);
    p = wm_exact_fma32(p, f, 0.016850805f);
    p = wm_exact_fma32(p, f, 0.030350655f);
    p = wm_exact_fma32(p, f, 0.0834251f);
    p = wm_exact_fma32(p, f, 0.24999642f);
    p = wm_exact_fma32(p, f, -0.38629434f);
    return wm_exact_fma32((float)q, -1.6525917e-07f, wm_exact_mul32(p, f));
}

/**
 * Two normals of two words: r cos(pi x) and r sin(pi x), r = sqrt(-2 ln u) of the first word with bit 31 of the second
 * as sign, x in (-1/2, 1/2) of its bits 0 to 23. Both series are in t = 1/4 - x², a factor of the cosine: so both
 * values keep their relative accuracy where they vanish. About 37 instructions.
 */
WM_BOTH void wm_normal_f32(wm_u32 a, wm_u32 b, float *first, float *second) {
    float r = wm_exact_sqrt32(wm_normal_square_f32(a));
    r = wm_exact_f32(wm_exact_bits32(r) ^ (b & 0x80000000u));
    float x = wm_random_centred32(b & 0xffffffu), t = wm_exact_fma32(-x, x, 0.25f);
    float c = 0.023497833f, s = 0.07749015f;
    c = wm_exact_fma32(c, t, 0.20475815f);
    c = wm_exact_fma32(c, t, 1.1155022f);
    c = wm_exact_fma32(c, t, 3.141589f);
    c = wm_exact_fma32(c, t, 3.1415927f);
    s = wm_exact_fma32(s, t, 0.52072436f);
    s = wm_exact_fma32(s, t, 2.1304634f);
    s = wm_exact_fma32(s, t, 3.9999986f);
    s = wm_exact_fma32(s, t, 2.0f);
    *first = wm_exact_mul32(wm_exact_mul32(r, t), c);
    *second = wm_exact_mul32(wm_exact_mul32(r, x), s);
}

/** -2 ln(1 - f / 2) for f in (0, 1]: the way from an octave's upper end. */
WM_BOTH double wm_log_bend64(double f) {
    double p = 3.93650662272476e-05;
    p = wm_exact_fma64(p, f, -0.0003129481539021469);
    p = wm_exact_fma64(p, f, 0.0011807027762297413);
    p = wm_exact_fma64(p, f, -0.002757610864433513);
    p = wm_exact_fma64(p, f, 0.004449702737236163);
    p = wm_exact_fma64(p, f, -0.0052205515025304456);
    p = wm_exact_fma64(p, f, 0.004618614535624777);
    p = wm_exact_fma64(p, f, -0.0030892361894981255);
    p = wm_exact_fma64(p, f, 0.0016549740647090207);
    p = wm_exact_fma64(p, f, -0.0005580032227367681);
    p = wm_exact_fma64(p, f, 0.00039427581318516046);
    p = wm_exact_fma64(p, f, 0.0003875402162832726);
    p = wm_exact_fma64(p, f, 0.0009846671892317523);
    p = wm_exact_fma64(p, f, 0.002231116248856641);
    p = wm_exact_fma64(p, f, 0.0052084241873754);
    p = wm_exact_fma64(p, f, 0.012499994702796894);
    p = wm_exact_fma64(p, f, 0.0312500001851134);
    p = wm_exact_fma64(p, f, 0.08333333333010676);
    p = wm_exact_fma64(p, f, 0.2500000000000155);
    p = wm_exact_fma64(p, f, 1.0);
    return wm_exact_mul64(p, f);
}

/** -2 ln u for u = (k + 1/2) / 2^52, k = the low 52 bits of a. */
WM_BOTH double wm_normal_square_f64(wm_u64 a) {
    wm_u64 bits = wm_exact_bits64(wm_random_shifted64(a & 0xfffffffffffffull, 0.0));
    double octaves = wm_exact_add64(wm_exact_f64(0x4330000000000000ull | bits >> 52), -4503599627371518.0);
    double f = wm_exact_add64(2.0, -wm_exact_f64(bits | 0x3ff0000000000000ull));
    return wm_exact_fma64(octaves, -1.3862943611198906, wm_log_bend64(f));
}

/** Two normals of two 64-bit elements, as in f32: x of the second one's bits 0 to 51, the sign of its bit 63. */
WM_BOTH void wm_normal_f64(wm_u64 a, wm_u64 b, double *first, double *second) {
    double r = wm_exact_sqrt64(wm_normal_square_f64(a));
    r = wm_exact_f64(wm_exact_bits64(r) ^ (b & 0x8000000000000000ull));
    double x = wm_random_shifted64(b & 0xfffffffffffffull, -0.5), t = wm_exact_fma64(-x, x, 0.25);
    double c = 4.131827910681956e-06, s = 7.714008178724026e-07;
    c = wm_exact_fma64(c, t, 9.62845102406355e-05);
    c = wm_exact_fma64(c, t, 0.0017538199014711022);
    c = wm_exact_fma64(c, t, 0.023046168392450744);
    c = wm_exact_fma64(c, t, 0.2048249278802036);
    c = wm_exact_fma64(c, t, 1.1154725271271229);
    c = wm_exact_fma64(c, t, 3.1415926535898224);
    c = wm_exact_fma64(c, t, 3.141592653589793);
    s = wm_exact_fma64(s, t, 2.0362435583475894e-05);
    s = wm_exact_fma64(s, t, 0.00042931636890885356);
    s = wm_exact_fma64(s, t, 0.0066990554577848905);
    s = wm_exact_fma64(s, t, 0.0733582365412909);
    s = wm_exact_fma64(s, t, 0.5215823956402026);
    s = wm_exact_fma64(s, t, 2.130395598910697);
    s = wm_exact_fma64(s, t, 3.9999999999999996);
    s = wm_exact_fma64(s, t, 2.0);
    *first = wm_exact_mul64(wm_exact_mul64(r, t), c);
    *second = wm_exact_mul64(wm_exact_mul64(r, x), s);
}

/** Elements 4 block … 4 block + 3, standard normal; the pairs (0, 1) and (2, 3) are each made of their two words. Any
 * thread; 18 registers; bits and source: see the top. */
WM_BOTH wmF32x4 wmNormalF32x4(wmRandomKey key, unsigned long long block) {
    wmWords w = wmRandomBlock(key, block);
    wmF32x4 z;
    wm_normal_f32(w.w[0], w.w[1], &z.v[0], &z.v[1]);
    wm_normal_f32(w.w[2], w.w[3], &z.v[2], &z.v[3]);
    return z;
}

/** Elements 2 block and 2 block + 1, standard normal. Any thread; 24 registers; bits and source: see the top. */
WM_BOTH wmF64x2 wmNormalF64x2(wmRandomKey key, unsigned long long block) {
    wmWords w = wmRandomBlock(key, block);
    wmF64x2 z;
    wm_normal_f64(w.w[0] | (wm_u64)w.w[1] << 32, w.w[2] | (wm_u64)w.w[3] << 32, &z.v[0], &z.v[1]);
    return z;
}

/** Element i of the key's sequence, standard normal: |z| <= 6.77, never 0, infinite or NaN. Any thread; 16 registers;
 * bits and source: see the top. */
WM_BOTH float wmNormalF32(wmRandomKey key, unsigned long long i) {
    wmWords w = wmRandomBlock(key, i >> 2); /* the element's pair alone, by selects: nothing is indexed */
    float first = 0.0f, second = 0.0f;
    wm_normal_f32(i & 2 ? w.w[2] : w.w[0], i & 2 ? w.w[3] : w.w[1], &first, &second);
    return i & 1 ? second : first;
}

/** 64-bit element i of the key's sequence, standard normal: |z| <= 8.58, never 0, infinite or NaN. Any thread; 22
 * registers; bits and source: see the top. */
WM_BOTH double wmNormalF64(wmRandomKey key, unsigned long long i) {
    wmF64x2 pair = wmNormalF64x2(key, i >> 1);
    return i & 1 ? pair.v[1] : pair.v[0];
}

#endif
