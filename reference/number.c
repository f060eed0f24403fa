/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any type as numbers: decoding by table-free arithmetic, encoding by exact scaling. See number.h. */
#include "reference/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float f32_from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t f32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* |x| of a format with `fraction` stored bits and exponent bias `bias`: the fields move to an f32's places. Subnormals
 * go by way of integers, so that a caller's flush-to-zero mode does no harm. */
static float decode_magnitude(uint32_t bits, int fraction, int bias) {
    float normal = f32_from_bits((bits << (23 - fraction)) + ((uint32_t)(127 - bias) << 23));
    float subnormal = (float)bits * f32_from_bits((uint32_t)(128 - bias - fraction) << 23);
    return bits >> fraction ? normal : subnormal;
}

static float decode_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    uint32_t special = 0x7f800000u | rest << 13;
    return f32_from_bits(sign | (rest < 0x7c00 ? f32_bits(decode_magnitude(rest, 10, 15)) : special));
}

static float decode_bf16(uint16_t h) {
    return f32_from_bits((uint32_t)h << 16);
}

static float decode_e4m3(uint8_t b) {
    uint32_t sign = (uint32_t)(b & 0x80) << 24, rest = b & 0x7f;
    return f32_from_bits(sign | (rest == 0x7f ? 0x7fffffffu : f32_bits(decode_magnitude(rest, 3, 7))));
}

static float decode_e5m2(uint8_t b) {
    return decode_f16((uint16_t)(b << 8));
}

/* The bits of |x|, finite, rounded to `digits` significand bits with smallest normal exponent `least`; may count past
 * the format's largest value. Works on integers, so the processor's rounding mode plays no part. */
static uint32_t encode_magnitude(float x, int digits, int least) {
    uint32_t bits = f32_bits(x) & 0x7fffffffu;
    int exponent = (int)(bits >> 23) - 127;
    uint64_t significand = (bits & 0x7fffffu) | (bits >> 23 ? 0x800000u : 0);
    if (bits >> 23 == 0) exponent = -126;
    int drop = 24 - digits + (exponent < least ? least - exponent : 0);
    if (drop > 40) return 0;
    uint64_t kept = significand >> drop, rest = significand - (kept << drop),
             half = drop ? UINT64_C(1) << (drop - 1) : 0;
    if (drop && (rest > half || (rest == half && (kept & 1)))) kept++;
    if (exponent < least) return (uint32_t)kept;
    return ((uint32_t)(exponent - least) << (digits - 1)) + (uint32_t)kept;
}

static uint32_t encode(float x, int digits, int least, uint32_t largest, int sign_bit, uint32_t nan) {
    if (isnan(x)) return nan;
    uint32_t sign = (uint32_t)(signbit(x) != 0) << sign_bit;
    uint32_t magnitude = isinf(x) ? largest : encode_magnitude(x, digits, least);
    return sign | (magnitude < largest ? magnitude : largest);
}

static uint16_t encode_f16(float x) {
    return (uint16_t)encode(x, 11, -14, 0x7c00, 15, 0x7fff);
}

static uint16_t encode_bf16(float x) {
    return (uint16_t)encode(x, 8, -126, 0x7f80, 15, 0x7fff);
}

static uint8_t encode_e4m3(float x) {
    return (uint8_t)encode(x, 4, -6, 0x7e, 7, 0x7f);
}

static uint8_t encode_e5m2(float x) {
    return (uint8_t)encode(x, 3, -14, 0x7b, 7, 0x7f);
}

wm_number wm_number_load(wmType type, const void *array, int64_t index) {
    wm_number x = {0.0, 0.0};
    switch (type) {
    case WM_F16:
        x.re = (double)decode_f16(((const uint16_t *)array)[index]);
        break;
    case WM_BF16:
        x.re = (double)decode_bf16(((const uint16_t *)array)[index]);
        break;
    case WM_F8E4M3:
        x.re = (double)decode_e4m3(((const uint8_t *)array)[index]);
        break;
    case WM_F8E5M2:
        x.re = (double)decode_e5m2(((const uint8_t *)array)[index]);
        break;
    case WM_F32:
        x.re = (double)((const float *)array)[index];
        break;
    case WM_F64:
        x.re = ((const double *)array)[index];
        break;
    case WM_I8:
        x.re = ((const int8_t *)array)[index];
        break;
    case WM_U8:
        x.re = ((const uint8_t *)array)[index];
        break;
    case WM_I32:
        x.re = ((const int32_t *)array)[index];
        break;
    case WM_C32:
        x.re = (double)decode_f16(((const uint16_t *)array)[2 * index]);
        x.im = (double)decode_f16(((const uint16_t *)array)[2 * index + 1]);
        break;
    case WM_CBF16:
        x.re = (double)decode_bf16(((const uint16_t *)array)[2 * index]);
        x.im = (double)decode_bf16(((const uint16_t *)array)[2 * index + 1]);
        break;
    case WM_C64:
        x.re = (double)((const float *)array)[2 * index];
        x.im = (double)((const float *)array)[2 * index + 1];
        break;
    case WM_C128:
        x.re = ((const double *)array)[2 * index];
        x.im = ((const double *)array)[2 * index + 1];
        break;
    default:
        break;
    }
    return x;
}

/* To an integer modulo 2^32; NaN and what is beyond 2^53 give 0. */
static uint32_t wrap(double x) {
    return fabs(x) <= 0x1p53 ? (uint32_t)(int64_t)x : 0;
}

/* An f32 from which narrower types round as they would from x: toward zero, and odd where that is not exact (S. Boldo
 * and G. Melquiond, Emulation of FMA and correctly rounded sums, IEEE Trans. Computers 57, 2008). */
static float odd(double x) {
    float near = (float)x;
    uint32_t bits = 0;
    if ((double)near == x || isnan(x)) return near;
    memcpy(&bits, &near, sizeof bits);
    if (fabs((double)near) > fabs(x)) bits--;
    bits |= 1;
    memcpy(&near, &bits, sizeof bits);
    return near;
}

void wm_number_store(wmType type, void *array, int64_t index, wm_number x) {
    switch (type) {
    case WM_F16:
        ((uint16_t *)array)[index] = encode_f16(odd(x.re));
        break;
    case WM_BF16:
        ((uint16_t *)array)[index] = encode_bf16(odd(x.re));
        break;
    case WM_F8E4M3:
        ((uint8_t *)array)[index] = encode_e4m3(odd(x.re));
        break;
    case WM_F8E5M2:
        ((uint8_t *)array)[index] = encode_e5m2(odd(x.re));
        break;
    case WM_F32:
        ((float *)array)[index] = (float)x.re;
        break;
    case WM_F64:
        ((double *)array)[index] = x.re;
        break;
    case WM_I8:
        ((int8_t *)array)[index] = (int8_t)wrap(x.re);
        break;
    case WM_U8:
        ((uint8_t *)array)[index] = (uint8_t)wrap(x.re);
        break;
    case WM_I32:
        ((int32_t *)array)[index] = (int32_t)wrap(x.re);
        break;
    case WM_C32:
        ((uint16_t *)array)[2 * index] = encode_f16(odd(x.re));
        ((uint16_t *)array)[2 * index + 1] = encode_f16(odd(x.im));
        break;
    case WM_CBF16:
        ((uint16_t *)array)[2 * index] = encode_bf16(odd(x.re));
        ((uint16_t *)array)[2 * index + 1] = encode_bf16(odd(x.im));
        break;
    case WM_C64:
        ((float *)array)[2 * index] = (float)x.re;
        ((float *)array)[2 * index + 1] = (float)x.im;
        break;
    case WM_C128:
        ((double *)array)[2 * index] = x.re;
        ((double *)array)[2 * index + 1] = x.im;
        break;
    default:
        break;
    }
}

wm_number wm_number_round(wmType type, wm_number x) {
    double room[2] = {0.0, 0.0};
    wm_number_store(type, room, 0, x);
    return wm_number_load(type, room, 0);
}

void wm_numbers_to_f32(wmType type, const void *from, float *to, int64_t count) {
    const uint16_t *half = (const uint16_t *)from;
    const uint8_t *byte = (const uint8_t *)from;
    if (type == WM_F16)
        for (int64_t i = 0; i < count; i++) to[i] = decode_f16(half[i]);
    else if (type == WM_BF16)
        for (int64_t i = 0; i < count; i++) to[i] = decode_bf16(half[i]);
    else if (type == WM_F8E4M3)
        for (int64_t i = 0; i < count; i++) to[i] = decode_e4m3(byte[i]);
    else if (type == WM_F8E5M2)
        for (int64_t i = 0; i < count; i++) to[i] = decode_e5m2(byte[i]);
    else
        memcpy(to, from, (size_t)count * sizeof *to);
}

void wm_numbers_from_f32(wmType type, const float *from, void *to, int64_t count) {
    uint16_t *half = (uint16_t *)to;
    uint8_t *byte = (uint8_t *)to;
    if (type == WM_F16)
        for (int64_t i = 0; i < count; i++) half[i] = encode_f16(from[i]);
    else if (type == WM_BF16)
        for (int64_t i = 0; i < count; i++) half[i] = encode_bf16(from[i]);
    else if (type == WM_F8E4M3)
        for (int64_t i = 0; i < count; i++) byte[i] = encode_e4m3(from[i]);
    else if (type == WM_F8E5M2)
        for (int64_t i = 0; i < count; i++) byte[i] = encode_e5m2(from[i]);
    else
        memcpy(to, from, (size_t)count * sizeof *from);
}

wm_float_shape wm_number_shape(wmType type) {
    static const wm_float_shape none = {0, 0, 0.0, 0}, f16 = {11, -14, 65504.0, 0}, bf16 = {8, -126, 0x1.fep127, 0},
                                f32 = {24, -126, 0x1.fffffep127, 0}, f64 = {53, -1022, DBL_MAX, 0},
                                e4m3 = {4, -6, 448.0, 1}, e5m2 = {3, -14, 57344.0, 1};
    switch (type) {
    case WM_F16:
    case WM_C32:
        return f16;
    case WM_BF16:
    case WM_CBF16:
        return bf16;
    case WM_F32:
    case WM_C64:
        return f32;
    case WM_F64:
    case WM_C128:
        return f64;
    case WM_F8E4M3:
        return e4m3;
    case WM_F8E5M2:
        return e5m2;
    default:
        return none;
    }
}
