/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What distributions are made of: quotient, logarithm and exponential in correctly rounded steps only, so with the same
 * bits on every GPU and CPU; conversions to 16-bit floats; products of 64-bit integers; the words of an attempt. Plain
 * C.
 */
#ifndef WARPMATH_DEVICE_DIST_MATH_H
#define WARPMATH_DEVICE_DIST_MATH_H

#include <warpmath/device/random.h>

/* ---- Words of attempts: a distribution that may reject draws attempt L >= 1 of an element from a lane of its own ----
 */

/* How wide elements are is part of the lane, so that ranges of one cursor share no words, whatever their types. */
#define WM_LANE_32 0u
#define WM_LANE_64 (1u << 24)
#define WM_LANE_16 (2u << 24)
#define WM_LANE_PLANE (4u << 24)

/** The words of attempt `attempt` of element `element`; `width` is one of the lanes above. */
WM_BOTH wmWords wm_attempt_words(wmRandomKey key, wm_u64 element, wm_u32 width, wm_u32 attempt) {
    return wm_random_words(key, element, width + attempt);
}

/** A 64-bit number of two words, the low one first. */
WM_BOTH wm_u64 wm_pair_u64(wm_u32 low, wm_u32 high) {
    return low | (wm_u64)high << 32;
}

/* ---- Integers ---- */

/** The 128-bit product of two 64-bit integers: its high half, and the low one through *low. */
WM_BOTH wm_u64 wm_product_u64(wm_u64 a, wm_u64 b, wm_u64 *low) {
    *low = a * b;
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    wm_u64 a0 = (wm_u32)a, a1 = a >> 32, b0 = (wm_u32)b, b1 = b >> 32;
    wm_u64 mid = a1 * b0 + (a0 * b0 >> 32), cross = (mid & 0xffffffffu) + a0 * b1;
    return a1 * b1 + (mid >> 32) + (cross >> 32);
#endif
}

/* ---- Correctly rounded ---- */

/** The largest integer not above x. */
WM_BOTH double wm_exact_floor64(double x) {
#ifdef __CUDA_ARCH__
    return floor(x);
#else
    return __builtin_floor(x);
#endif
}

/** The root of any x >= 0; wm_exact_sqrt64 is faster where the range is known. */
WM_BOTH double wm_exact_root64(double x) {
#ifdef __CUDA_ARCH__
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}

/* ---- Logarithm and exponential, a few ulp, the same bits everywhere ---- */

/** ln x for finite, positive, normal x: within 2^-52 absolute for |ln x| < 1, 2 ulp beyond. The series is the normal's.
 */
WM_BOTH double wm_exact_log64(double x) {
    wm_u64 bits = wm_exact_bits64(x);
    double octaves = (double)((wm_i32)(bits >> 52) - 1022);
    double f = wm_exact_add64(2.0, -wm_exact_f64((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull));
    return wm_exact_fma64(octaves, 0.6931471805599453, wm_exact_mul64(wm_log_bend64(f), -0.5));
}

/** x · 2^n for |n| <= 2100, rounded once: also where the result is subnormal. */
WM_BOTH double wm_exact_scale64(double x, wm_i32 n) {
    wm_i32 half = n >> 1; /* two exact factors; only the last product can round */
    x = wm_exact_mul64(x, wm_exact_f64((wm_u64)(half + 1023) << 52));
    return wm_exact_mul64(x, wm_exact_f64((wm_u64)(n - half + 1023) << 52));
}
WM_BOTH float wm_exact_scale32(float x, wm_i32 n) {
    wm_i32 half = n >> 1;
    x = wm_exact_mul32(x, wm_exact_f32((wm_u32)(half + 127) << 23));
    return wm_exact_mul32(x, wm_exact_f32((wm_u32)(n - half + 127) << 23));
}

/** exp x, 1 ulp: 0 below -746, infinity above 710. */
WM_BOTH double wm_exact_exp64(double x) {
    x = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
    double shifted = wm_exact_fma64(x, 1.4426950408889634, 6755399441055744.0); /* 1.5 · 2^52: rounds to an integer */
    double n = wm_exact_add64(shifted, -6755399441055744.0);
    double r = wm_exact_fma64(n, -1.6465949582897082e-12, wm_exact_fma64(n, -0.6931471805582987, x));
    double q = 2.500006162553128e-08;
    q = wm_exact_fma64(q, r, 2.763024838532302e-07);
    q = wm_exact_fma64(q, r, 2.755758637378518e-06);
    q = wm_exact_fma64(q, r, 2.480149309888739e-05);
    q = wm_exact_fma64(q, r, 0.00019841269506578723);
    q = wm_exact_fma64(q, r, 0.0013888888943630134);
    q = wm_exact_fma64(q, r, 0.008333333333494461);
    q = wm_exact_fma64(q, r, 0.041666666666530155);
    q = wm_exact_fma64(q, r, 0.16666666666666413);
    q = wm_exact_fma64(q, r, 0.5000000000000011);
    q = wm_exact_fma64(wm_exact_mul64(q, r), r, r);
    return wm_exact_scale64(wm_exact_add64(q, 1.0), (wm_i32)n);
}

/** exp x, 1 ulp: 0 below -104, infinity above 89. */
WM_BOTH float wm_exact_exp32(float x) {
    x = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
    float shifted = wm_exact_fma32(x, 1.442695f, 12582912.0f);
    float n = wm_exact_add32(shifted, -12582912.0f);
    float r = wm_exact_fma32(n, -1.4286068e-06f, wm_exact_fma32(n, -0.69314575f, x));
    float q = 0.0013814599f;
    q = wm_exact_fma32(q, r, 0.008368717f);
    q = wm_exact_fma32(q, r, 0.04166839f);
    q = wm_exact_fma32(q, r, 0.16666521f);
    q = wm_exact_fma32(q, r, 0.49999994f);
    q = wm_exact_fma32(wm_exact_mul32(q, r), r, r);
    return wm_exact_scale32(wm_exact_add32(q, 1.0f), (wm_i32)n);
}

/* ---- 16-bit floats as bits ---- */

/** To nearest, ties to even; too large gives infinity; x is no NaN. */
WM_BOTH wm_u32 wm_bf16_nearest(float x) {
    wm_u32 bits = wm_exact_bits32(x);
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
WM_BOTH wm_u32 wm_f16_nearest(float x) {
    wm_u32 bits = wm_exact_bits32(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size >= 0x477ff000u) return sign | 0x7c00u;
    if (size < 0x38800000u) /* subnormal: 1/2 has their ulp */
        return sign | (wm_exact_bits32(wm_exact_add32(wm_exact_f32(size), 0.5f)) - 0x3f000000u);
    return sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
}

/** The largest value of the type not above x; x is finite and within the type's range. */
WM_BOTH wm_u32 wm_bf16_below(float x) {
    wm_u32 bits = wm_exact_bits32(x);
    return (bits >> 31 ? bits + 0xffffu : bits) >> 16;
}
WM_BOTH wm_u32 wm_f16_below(float x) {
#ifdef __CUDA_ARCH__
    unsigned short half;
    float back;
    asm("{.reg .f16 h; cvt.rz.f16.f32 h, %2; cvt.f32.f16 %1, h; mov.b16 %0, h;}" : "=h"(half), "=f"(back) : "f"(x));
    return back > x ? (half | 0x8000u) + 1u : half;
#else
    wm_u32 bits = wm_exact_bits32(x), sign = bits >> 31, size = bits & 0x7fffffffu, whole, rest;
    if (size < 0x38800000u) {
        float units = wm_exact_mul32(wm_exact_f32(size), 16777216.0f); /* of 2^-24, below 1024; exact unless tiny */
        whole = (wm_u32)units;
        rest = (float)whole < units || (units == 0.0f && size != 0);
    } else {
        whole = (size - 0x38000000u) >> 13;
        rest = (size & 0x1fffu) != 0;
    }
    return sign << 15 | (whole + (sign & rest));
#endif
}

/** Two of them in a word, the first in its low half; the float of each one's bits. */
WM_BOTH wm_u32 wm_pack_nearest(int bf16, float low, float high) {
#ifdef __CUDA_ARCH__
    wm_u32 both;
    if (bf16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    return bf16 ? wm_bf16_nearest(low) | wm_bf16_nearest(high) << 16 : wm_f16_nearest(low) | wm_f16_nearest(high) << 16;
#endif
}
WM_BOTH float wm_f32_of_bf16(wm_u32 bits) {
    return wm_exact_f32(bits << 16);
}
WM_BOTH float wm_f32_of_f16(wm_u32 bits) {
    wm_u32 size = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    if (size >= 0x7c00u) return wm_exact_f32(sign | 0x7f800000u | size << 13);
    if (size < 0x400u) return wm_exact_f32(sign | wm_exact_bits32((float)size * 5.9604645e-08f));
    return wm_exact_f32(sign | ((size << 13) + 0x38000000u));
}

#endif
