/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a draw writes, for both places: a kind, a key, and the two numbers that stretch and shift a value. Every kind
 * makes 16 bytes of output from one Philox block, so all of them share one loop. Plain C over the public device
 * headers.
 */
#ifndef WM_DEVICE_RANDOM_DRAW_H
#define WM_DEVICE_RANDOM_DRAW_H

#include <warpmath/device/random.h>

typedef enum wm_random_kind {
    WM_DRAW_BITS, /* u32 and u64: the same memory, words in order, low word first */
    WM_DRAW_UNIFORM_F32,
    WM_DRAW_UNIFORM_F64,
    WM_DRAW_NORMAL_F32,
    WM_DRAW_NORMAL_F64,
    WM_DRAW_KINDS
} wm_random_kind;

/** Elements are fma(value, scale, shift): width and low of a uniform, std and mean of a normal. f32 uses the first two.
 */
typedef struct wm_random_line {
    float scale32, shift32;
    double scale64, shift64;
} wm_random_line;

/**
 * The 16 bytes of output, as words, of a block's words. `kind` and `plain` are constants where this is inlined; plain
 * leaves out the line, whose fma with 1 and 0 changes no bit: no value is -0.
 */
WM_BOTH wmWords wm_random_value(int kind, int plain, wmWords w, const wm_random_line *line) {
    float f[4];
    double d[2];
    wm_u64 a = w.w[0] | (wm_u64)w.w[1] << 32, b = w.w[2] | (wm_u64)w.w[3] << 32;
    if (kind == WM_DRAW_UNIFORM_F32) {
        for (int i = 0; i < 4; i++) f[i] = wm_uniform_f32(w.w[i]);
    } else if (kind == WM_DRAW_NORMAL_F32) {
        wm_normal_f32(w.w[0], w.w[1], &f[0], &f[1]);
        wm_normal_f32(w.w[2], w.w[3], &f[2], &f[3]);
    } else if (kind == WM_DRAW_UNIFORM_F64) {
        d[0] = wm_uniform_f64(w.w[0], w.w[1]);
        d[1] = wm_uniform_f64(w.w[2], w.w[3]);
    } else if (kind == WM_DRAW_NORMAL_F64) {
        wm_normal_f64(a, b, &d[0], &d[1]);
    }
    if (kind == WM_DRAW_UNIFORM_F32 || kind == WM_DRAW_NORMAL_F32)
        for (int i = 0; i < 4; i++)
            w.w[i] = wm_exact_bits32(plain ? f[i] : wm_exact_fma32(f[i], line->scale32, line->shift32));
    if (kind == WM_DRAW_UNIFORM_F64 || kind == WM_DRAW_NORMAL_F64)
        for (int i = 0; i < 2; i++) {
            wm_u64 bits = wm_exact_bits64(plain ? d[i] : wm_exact_fma64(d[i], line->scale64, line->shift64));
            w.w[2 * i] = (wm_u32)bits;
            w.w[2 * i + 1] = (wm_u32)(bits >> 32);
        }
    return w;
}

#endif
