/* SPDX-License-Identifier: Apache-2.0 */
/* How packed transforms are cut for device/fft_tile.cuh. */
#ifndef WM_HOST_FFT_TILE_CUT_H
#define WM_HOST_FFT_TILE_CUT_H

#include "fft_cut.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A variant; `radices` as in wm_fft_knobs. */
typedef struct wm_fft_tile_knobs {
    int radices, threads, batch, blocks, stages, padded;
    double cost;
} wm_fft_tile_knobs;

/** Variants for n points, best first; 0: n has no such factors. */
int wm_fft_tile_variants(int n, int f64, wm_fft_tile_knobs out[WM_FFT_MOST_CUTS]);

void wm_fft_tile_cut(int n, int f64, const wm_fft_tile_knobs *knobs, wm_fft_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
