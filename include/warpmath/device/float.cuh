/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrow floating-point types as bits, and their conversions from and to f32.
 *
 * Rounding is to nearest, ties to even, subnormals included; nothing is flushed to zero. Out of range:
 *   f16, bf16    infinity of the same sign
 *   e4m3, e5m2   the largest finite value of the same sign (448, 57344), infinities too: "satfinite"
 * A NaN gives the canonical NaN, sign 0: 0x7fff for f16 and bf16, 0x7f for both 8-bit types. Widening is exact.
 *
 * Where the device has an instruction (f16 and bf16 from sm_80, fp8 from sm_89) it is used; elsewhere, and in the
 * emulation, portable integer code gives the same bits.
 */
#ifndef WARPMATH_DEVICE_FLOAT_CUH
#define WARPMATH_DEVICE_FLOAT_CUH

#include <warpmath/device/base.cuh> /* which includes this file too: either may come first */

/** IEEE binary16. */
typedef struct wm_f16 {
    wm_u16 bits;
} wm_f16;

/** The upper half of an f32. */
typedef struct wm_bf16 {
    wm_u16 bits;
} wm_bf16;

/** 4 exponent bits, bias 7, 3 mantissa bits; no infinity, one NaN a sign. */
typedef struct wm_e4m3 {
    wm_u8 bits;
} wm_e4m3;

/** The upper half of an f16. */
typedef struct wm_e5m2 {
    wm_u8 bits;
} wm_e5m2;

/** The bits of a float, and the float of the bits. */
WM_DEVICE wm_u32 wm_f32_bits(float x) {
    return __float_as_uint(x);
}
WM_DEVICE float wm_f32_of(wm_u32 bits) {
    return __uint_as_float(bits);
}

#if !defined(WM_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define WM_HAS_CVT_16 1
#endif
#if !defined(WM_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define WM_HAS_CVT_8 1
#endif

/* ---- Portable ---- */

/**
 * Rounds |x|, given as f32 bits below infinity's, to a format with the given mantissa bits and exponent bias. The
 * result counts up past the format's largest value where |x| is too large: the caller clamps.
 */
WM_DEVICE wm_u32 wm_round_magnitude(wm_u32 magnitude, int mantissa, int bias) {
    int exponent = (int)(magnitude >> 23) - 127 + bias;
    int shift = 23 - mantissa + (exponent > 0 ? 0 : 1 - exponent);
    if (shift > 24) return 0; /* under half of the smallest subnormal; f32's own subnormals are among these */
    wm_u32 fraction = (magnitude & 0x7fffffu) | 0x800000u;
    wm_u32 rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
    wm_u32 kept = fraction >> shift;
    kept += rest > half || (rest == half && (kept & 1));
    return exponent > 0 ? ((wm_u32)(exponent - 1) << mantissa) + kept : kept;
}

/** The same, clamped to `largest`, with sign at bit `sign` and NaN as `nan`. */
WM_DEVICE wm_u32 wm_round_bits(wm_u32 bits, int mantissa, int bias, wm_u32 largest, int sign, wm_u32 nan) {
    wm_u32 magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return nan;
    wm_u32 rounded = wm_round_magnitude(magnitude, mantissa, bias);
    return (rounded < largest ? rounded : largest) | ((bits >> 31) << sign);
}

/** |x| as f32 of a finite value with the given mantissa bits and bias. */
WM_DEVICE float wm_widen_magnitude(wm_u32 magnitude, int mantissa, int bias) {
    wm_u32 shifted = magnitude << (23 - mantissa);
    if (magnitude >> mantissa) return wm_f32_of(shifted + ((wm_u32)(127 - bias) << 23));
    /* Subnormal: the fraction as an integer, times the exact power of two 2^(1 - bias - mantissa). */
    return (float)magnitude * wm_f32_of((wm_u32)(128 - bias - mantissa) << 23);
}

WM_DEVICE float wm_f16_to_f32_portable(wm_f16 x) {
    wm_u32 sign = (wm_u32)(x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return wm_f32_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    return wm_f32_of(sign | wm_f32_bits(wm_widen_magnitude(magnitude, 10, 15)));
}

WM_DEVICE wm_f16 wm_f32_to_f16_portable(float x) {
    wm_f16 r = {(wm_u16)wm_round_bits(wm_f32_bits(x), 10, 15, 0x7c00u, 15, 0x7fffu)};
    return r;
}

WM_DEVICE wm_bf16 wm_f32_to_bf16_portable(float x) {
    wm_u32 bits = wm_f32_bits(x);
    wm_bf16 nan = {0x7fffu};
    if ((bits & 0x7fffffffu) > 0x7f800000u) return nan;
    wm_bf16 r = {(wm_u16)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
    return r;
}

WM_DEVICE float wm_e4m3_to_f32_portable(wm_e4m3 x) {
    wm_u32 sign = (wm_u32)(x.bits & 0x80u) << 24, magnitude = x.bits & 0x7fu;
    if (magnitude == 0x7fu) return wm_f32_of(0x7fffffffu);
    return wm_f32_of(sign | wm_f32_bits(wm_widen_magnitude(magnitude, 3, 7)));
}

WM_DEVICE wm_e4m3 wm_f32_to_e4m3_portable(float x) {
    wm_e4m3 r = {(wm_u8)wm_round_bits(wm_f32_bits(x), 3, 7, 0x7eu, 7, 0x7fu)};
    return r;
}

WM_DEVICE wm_e5m2 wm_f32_to_e5m2_portable(float x) {
    wm_e5m2 r = {(wm_u8)wm_round_bits(wm_f32_bits(x), 2, 15, 0x7bu, 7, 0x7fu)};
    return r;
}

/* ---- By the instruction where there is one ---- */

/** f16 to f32, exact. */
WM_DEVICE float wm_f16_to_f32(wm_f16 x) {
#ifdef WM_HAS_CVT_16
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
    return r;
#else
    return wm_f16_to_f32_portable(x);
#endif
}

/** f32 to f16. */
WM_DEVICE wm_f16 wm_f32_to_f16(float x) {
#ifdef WM_HAS_CVT_16
    wm_f16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
#else
    return wm_f32_to_f16_portable(x);
#endif
}

/** bf16 to f32, exact. */
WM_DEVICE float wm_bf16_to_f32(wm_bf16 x) {
    return wm_f32_of((wm_u32)x.bits << 16);
}

/** f32 to bf16. */
WM_DEVICE wm_bf16 wm_f32_to_bf16(float x) {
#ifdef WM_HAS_CVT_16
    wm_bf16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
#else
    return wm_f32_to_bf16_portable(x);
#endif
}

/** e4m3 to f32, exact. */
WM_DEVICE float wm_e4m3_to_f32(wm_e4m3 x) {
#ifdef WM_HAS_CVT_8
    wm_u32 pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((wm_u16)x.bits));
    wm_f16 low = {(wm_u16)pair};
    return wm_f16_to_f32(low);
#else
    return wm_e4m3_to_f32_portable(x);
#endif
}

/** f32 to e4m3. */
WM_DEVICE wm_e4m3 wm_f32_to_e4m3(float x) {
#ifdef WM_HAS_CVT_8
    wm_u16 pair; /* the first source lands in the upper byte */
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    wm_e4m3 r = {(wm_u8)pair};
    return r;
#else
    return wm_f32_to_e4m3_portable(x);
#endif
}

/** e5m2 to f32, exact. */
WM_DEVICE float wm_e5m2_to_f32(wm_e5m2 x) {
    wm_f16 wide = {(wm_u16)((wm_u32)x.bits << 8)};
    return wm_f16_to_f32(wide);
}

/** f32 to e5m2. */
WM_DEVICE wm_e5m2 wm_f32_to_e5m2(float x) {
#ifdef WM_HAS_CVT_8
    wm_u16 pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    wm_e5m2 r = {(wm_u8)pair};
    return r;
#else
    return wm_f32_to_e5m2_portable(x);
#endif
}

/* ---- One name for every type, so that a kernel written once serves them all ---- */

/** Any of the types as f32; an f64 is rounded to nearest even. */
WM_DEVICE float wm_to_f32(float x) {
    return x;
}
WM_DEVICE float wm_to_f32(double x) {
    return __double2float_rn(x);
}
WM_DEVICE float wm_to_f32(wm_f16 x) {
    return wm_f16_to_f32(x);
}
WM_DEVICE float wm_to_f32(wm_bf16 x) {
    return wm_bf16_to_f32(x);
}
WM_DEVICE float wm_to_f32(wm_e4m3 x) {
    return wm_e4m3_to_f32(x);
}
WM_DEVICE float wm_to_f32(wm_e5m2 x) {
    return wm_e5m2_to_f32(x);
}

/** Rounds x to the type of *to and stores it there. */
WM_DEVICE void wm_put_f32(float *to, float x) {
    *to = x;
}
WM_DEVICE void wm_put_f32(double *to, float x) {
    *to = (double)x;
}
WM_DEVICE void wm_put_f32(wm_f16 *to, float x) {
    *to = wm_f32_to_f16(x);
}
WM_DEVICE void wm_put_f32(wm_bf16 *to, float x) {
    *to = wm_f32_to_bf16(x);
}
WM_DEVICE void wm_put_f32(wm_e4m3 *to, float x) {
    *to = wm_f32_to_e4m3(x);
}
WM_DEVICE void wm_put_f32(wm_e5m2 *to, float x) {
    *to = wm_f32_to_e5m2(x);
}

#endif
