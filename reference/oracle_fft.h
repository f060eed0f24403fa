/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discrete Fourier transform by its definition, in long double: what every solver is judged by. Slow and obvious.
 */
#ifndef WM_REFERENCE_ORACLE_FFT_H
#define WM_REFERENCE_ORACLE_FFT_H

#include "fft_roots.h"

#include <warpmath/fft.h>

#include <stddef.h>

typedef struct wm_oracle_fft {
    wmFftDesc desc;
    wm_root *roots[WM_FFT_MAX_RANK]; /* roots[i][k] = exp(-+ 2 pi i k / n_i) */
    int64_t in[WM_FFT_MAX_RANK];     /* elements along each axis, halved where the side is */
    int64_t out[WM_FFT_MAX_RANK];
    long double scale;
} wm_oracle_fft;

/** desc: resolved. Returns 0, or -1 where memory ran out; drop takes either. */
int wm_oracle_fft_make(wm_oracle_fft *oracle, const wmFftDesc *desc);
void wm_oracle_fft_drop(wm_oracle_fft *oracle);

/** Values of one output array, packed: out[0] * out[1] * out[2]. */
int64_t wm_oracle_fft_count(const wm_oracle_fft *oracle);

/** How many wm_root's of scratch wm_oracle_fft_array takes. */
int64_t wm_oracle_fft_scratch(const wm_oracle_fft *oracle);

/**
 * Transforms one array of the batch: number index[i] of loop i. The result is packed row-major in scratch (real outputs
 * in .re). Work: elements times the sum of the axis lengths' prime factors.
 */
const wm_root *wm_oracle_fft_array(const wm_oracle_fft *oracle, const void *in, const int64_t *index, wm_root *scratch);

/** One output element of one array, straight from the definition, for sizes where whole arrays take too long. */
wm_root wm_oracle_fft_value(const wm_oracle_fft *oracle, const void *in, const int64_t *index, const int64_t *element);

/** Where an output element lies, counted in elements of the output side. */
int64_t wm_oracle_fft_offset(const wm_oracle_fft *oracle, const int64_t *index, const int64_t *element);

#endif
