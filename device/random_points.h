/* SPDX-License-Identifier: Apache-2.0 */
/* What a draw of Sobol' points writes, for both places: a coordinate's bits, scrambled, as a value. */
#ifndef WM_DEVICE_RANDOM_POINTS_H
#define WM_DEVICE_RANDOM_POINTS_H

#include <warpmath/device/sobol.h>

#include "random_draw.h"

/** Everything but the range. */
typedef struct wm_points {
    int wide;     /* points of 64 bits */
    int kind;     /* a wm_random_kind */
    int element;  /* bytes: 4 or 8 */
    int scramble; /* a wmScramble */
    wmRandomKey key;
    long long dimensions;
    wm_random_line line;
} wm_points;

/** A coordinate's bits, at the top of 64, as an element's. `kind` and `wide` fold away where they are constant. */
WM_BOTH wm_u64 wm_point_value(int kind, int wide, wm_u64 x, const wm_random_line *line) {
    wm_u32 high = (wm_u32)(x >> 32);
    if (kind == WM_DRAW_UNIFORM_F32)
        return wm_exact_bits32(wm_exact_fma32(wm_uniform_f32(high), line->scale32, line->shift32));
    if (kind == WM_DRAW_UNIFORM_F64)
        return wm_exact_bits64(wm_exact_fma64(wm_uniform_f64((wm_u32)x, high), line->scale64, line->shift64));
    if (kind == WM_DRAW_BITS) return wide ? x : high;
    double z = wm_sobol_normal(wide ? wm_sobol_steps64(x) : wm_sobol_steps32(high));
    if (kind == WM_DRAW_NORMAL_F32) return wm_exact_bits32(wm_exact_fma32((float)z, line->scale32, line->shift32));
    return wm_exact_bits64(wm_exact_fma64(z, line->scale64, line->shift64));
}

#endif
