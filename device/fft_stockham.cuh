/* SPDX-License-Identifier: Apache-2.0 */
/* What the one-pass transform kernels are told by their host code. */
#ifndef WM_DEVICE_FFT_STOCKHAM_CUH
#define WM_DEVICE_FFT_STOCKHAM_CUH

#include <warpmath/device/base.cuh>

/** One launch; strides count complex elements. */
typedef struct wm_fft_job {
    const void *in;
    void *out;
    wm_i64 in_stride, out_stride;              /* along a transform */
    wm_i64 count;                              /* transforms */
    int loops;                                 /* of which the last one counts on to `count` */
    wm_i64 loop_n[3], loop_in[3], loop_out[3]; /* innermost first */
    double sign; /* of imaginary parts on the way in: -1 turns a forward transform into an inverse one */
    double scale;
    int packed; /* both sides: transforms without gaps, one behind the other */
    int spread; /* neighbouring threads belong to neighbouring transforms, not to one */
    int slab;   /* shared complex elements a transform */
} wm_fft_job;

#endif
