/* SPDX-License-Identifier: Apache-2.0 */
/* Planning of the CPU transform: factors, methods, tables and the size of scratch. */
#ifndef WM_REFERENCE_FFT_PLAN_H
#define WM_REFERENCE_FFT_PLAN_H

#include "fft_core.h"

/** The fastest code for this machine; bits is 32 or 64. */
const wm_fft_code *wm_fft_code_best(int bits);

/**
 * Decides how an axis is done whose kind, inverse, n, in, out, loop, loops, lines and scale are set. Allocates nothing;
 * sizes and seconds are known from here on.
 */
void wm_fft_axis_decide(wm_fft_axis *axis, const wm_fft_code *code);

/** Makes the tables of a decided axis. Returns 0, or -1 where memory ran out; the axis can be dropped either way. */
int wm_fft_axis_tables(wm_fft_axis *axis, const wm_fft_code *code);
void wm_fft_axis_drop(wm_fft_axis *axis);

/** Bytes of scratch, each a multiple of WM_LINE_ALIGN. */
typedef struct wm_fft_sizes {
    size_t lane, middle, buffer;
} wm_fft_sizes;
wm_fft_sizes wm_fft_axis_sizes(const wm_fft_axis *axis, const wm_fft_code *code);

/** Estimated seconds of one execution on one thread. */
double wm_fft_axis_seconds(const wm_fft_axis *axis, const wm_fft_code *code);

/** Runs all lines of an axis on this thread. */
void wm_fft_axis_run(const wm_fft_axis *axis, const wm_fft_code *code, const void *in, void *out,
                     const wm_fft_scratch *scratch);

/** Runs lines [begin, end) (LANES: groups of lines) on this thread. */
void wm_fft_axis_run_part(const wm_fft_axis *axis, const wm_fft_code *code, int64_t begin, int64_t end, const void *in,
                          void *out, const wm_fft_scratch *scratch);

#endif
