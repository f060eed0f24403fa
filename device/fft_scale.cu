/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x *= factor over the output of a transform, whatever its strides: for cuFFT, which never scales. One read and one
 * write of the data, a real number a thread and step; gaps are not touched. No solver of its own.
 */
#include <warpmath/device/base.cuh>

#include "device/fft_scale.h"

WM_KERNEL __launch_bounds__(256) wm_fft_scale_kernel(WM_PARAMS(wm_fft_scale_job)) {
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        wm_i64 rest = i, at = 0;
        for (int k = 0; k + 1 < p.dims; k++) {
            wm_i64 next = rest / p.n[k];
            at += (rest - next * p.n[k]) * p.stride[k];
            rest = next;
        }
        at += rest * p.stride[p.dims - 1];
        if (p.f64) {
            static_cast<double *>(p.x)[at] *= p.by;
        } else {
            static_cast<float *>(p.x)[at] *= (float)p.by;
        }
    }
}
