/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of any type as numbers, on the host: what the reference solvers and the oracles read and write.
 * Independent of include/warpmath/device/float.cuh on purpose, so that each can judge the other.
 */
#ifndef WM_REFERENCE_NUMBER_H
#define WM_REFERENCE_NUMBER_H

#include <warpmath/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A real or complex number; every element type but i64 and u64 fits exactly. */
typedef struct wm_number {
    double re, im;
} wm_number;

/** Element `index` of an array; 0 for a type that has no arithmetic. */
wm_number wm_number_load(wmType type, const void *array, int64_t index);

/**
 * Stores x, rounded once, to nearest even. fp8 saturates at its largest value, integers wrap.
 */
void wm_number_store(wmType type, void *array, int64_t index, wm_number x);

/** x rounded to `type` and back. */
wm_number wm_number_round(wmType type, wm_number x);

/** count consecutive f16, bf16, fp8 or f32 values to f32, and back. */
void wm_numbers_to_f32(wmType type, const void *from, float *to, int64_t count);
void wm_numbers_from_f32(wmType type, const float *from, void *to, int64_t count);

/** The shape of a floating type (of one component, for complex types). */
typedef struct wm_float_shape {
    int digits;     /* significand bits, the hidden one included: 24 for f32 */
    int exponent;   /* of the smallest normal number, 2^exponent: -126 for f32 */
    double largest; /* finite */
    int saturates;  /* 1: too large becomes `largest`, not infinity */
} wm_float_shape;

/** digits 0 for a type that is not floating. */
wm_float_shape wm_number_shape(wmType type);

#ifdef __cplusplus
}
#endif

#endif
