/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of convolve_block.cuh is told by a launch. Plain C, also for NVRTC. */
#ifndef WM_DEVICE_CONVOLVE_BLOCK_H
#define WM_DEVICE_CONVOLVE_BLOCK_H

#include "device/fft_block.h"

/** The cut's `form` says what an array is. */
typedef enum wm_convolve_form {
    WM_CONVOLVE_COMPLEX = 0,
    WM_CONVOLVE_REAL = 1 /* imaginary parts are 0 */
} wm_convolve_form;

typedef struct wm_convolve_block_job {
    const void *in, *filter;
    void *out;
    const void *twiddles;
    long long arrays, in_stride, out_stride, filter_stride; /* in elements; of the filter in complex numbers */
    /* Arrays may be columns of planes, `columns` to a plane, whose elements are a step apart; rows: 1 and 1. */
    int columns, step;         /* step: also of the filter's rows */
    int given, first, results; /* elements of an array; the first result of the whole that is given, and how many */
    wm_fft_cut cut;            /* read by the emulation only */
} wm_convolve_block_job;

#endif
