/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of cutting tell each other. */
#ifndef WM_HOST_FFT_CUT_INTERNAL_H
#define WM_HOST_FFT_CUT_INTERNAL_H

#include "fft_cut.h"

enum { WM_FFT_MOST_PASSES = 6 };

/** What is decided before the factors: n points are transformed for `length` of the problem's. */
typedef struct wm_fft_outline {
    int n, length, form, core, f64, spread;
} wm_fft_outline;

/** 0 with a reason where it does not fit. */
int wm_fft_outline_of(const wmFftDesc *d, wm_fft_outline *o, wm_why *why);

/** Chooses pads and slab by counting bank conflicts. */
void wm_fft_cut_pads(wm_fft_cut *c, int64_t shared);

/** A variant that a sweep found fastest: offered first. */
typedef struct wm_fft_measured {
    int form, f64, spread, n, radix[WM_FFT_MOST_PASSES], threads, batch, blocks;
} wm_fft_measured;
const wm_fft_measured *wm_fft_cut_measured(int *count);

#endif
