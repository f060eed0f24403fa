/* SPDX-License-Identifier: Apache-2.0 */
/* What planning believes of our transform kernels' speed, from measurements (perf/results). */
#ifndef WM_HOST_FFT_RATES_H
#define WM_HOST_FFT_RATES_H

#include "lib/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Estimated seconds of fft_stockham on a problem that it takes. */
double wm_fft_stockham_seconds(wmContext *context, const wm_problem *problem);

/** What cuFFT was measured to reach on this problem, as a fraction of the bandwidth; 0: it was not. */
double wm_fft_measured_cufft(const wmFftDesc *d);

/** Estimated seconds of fft_block. */
double wm_fft_block_seconds(wmContext *context, const wm_problem *problem);

/** Of fft_tile, by what a point costs an SM (host/fft_tile_cut.h). */
double wm_fft_tile_seconds(wmContext *context, const wm_problem *problem, double cost);

/** Of fft_cluster, by clusters of so many blocks. */
double wm_fft_cluster_seconds(wmContext *context, const wm_problem *problem, int blocks);

/** Fraction of the bandwidth that a pass of fft_lines reaches: lines that lie as columns, or are read as rows. */
double wm_fft_lines_fraction(wmType type, int64_t length, int rows);

/** The longest line that fft_lines takes in several passes. */
int64_t wm_fft_lines_most(wmType type);

/** Estimated seconds of cuFFT on the same problem where it was measured beside it; 0 elsewhere. */
double wm_fft_cufft_seconds(wmContext *context, const wm_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
