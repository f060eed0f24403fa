/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of fft_tile.cuh is told by a launch. Plain C, also for NVRTC. */
#ifndef WM_DEVICE_FFT_TILE_H
#define WM_DEVICE_FFT_TILE_H

#include "device/fft_block.h"

enum { WM_FFT_TILE_HEAD = 128, WM_FFT_TILE_STAGES = 4 }; /* bytes before the tiles, where the barriers lie; at most */

typedef struct wm_fft_tile_job {
    const void *in;
    void *out;
    const void *twiddles;
    long long count;    /* transforms */
    double sign, scale; /* as in wm_fft_block_job */
    int stages;         /* tiles in shared memory; a constant of a compiled kernel: WM_FFT_STAGES */
    wm_fft_cut cut;     /* read by the emulation only */
} wm_fft_tile_job;

#endif
