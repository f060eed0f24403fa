/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that scales a transform's output, for vendor libraries that do not; plain C, for host/ to launch it. */
#ifndef WM_DEVICE_FFT_SCALE_H
#define WM_DEVICE_FFT_SCALE_H

enum { WM_FFT_SCALE_DIMS = 7 }; /* three loops, three axes, real and imaginary part */

typedef struct wm_fft_scale_job {
    void *x;
    double by;
    int f64, dims;
    long long count;                                           /* reals */
    long long n[WM_FFT_SCALE_DIMS], stride[WM_FFT_SCALE_DIMS]; /* innermost first, in reals */
} wm_fft_scale_job;

#endif
