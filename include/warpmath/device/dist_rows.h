/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of values that belong together: normal vectors of a given covariance, Dirichlet. A row of length n takes the
 * elements n · row … n · row + n - 1. Plain C; docs/distributions.md is the specification.
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: docs/distributions.md.
 */
#ifndef WARPMATH_DEVICE_DIST_ROWS_H
#define WARPMATH_DEVICE_DIST_ROWS_H

#include <warpmath/device/dist_continuous.h>

/** out = mean + L z, L lower triangular, n x n, row-major; mean NULL: 0. Each sum is a chain of fma, k ascending. Any
 * thread; 32 registers; bits and source: see the top. Arrays aligned to 4 bytes. */
WM_BOTH void wmNormalVectorF32(wmRandomKey key, wm_u64 row, int n, const float *lower, const float *mean, float *out) {
    for (int j = 0; j < n; j++) out[j] = wmNormalF32(key, row * (wm_u64)n + (wm_u64)j);
    for (int j = n - 1; j >= 0; j--) { /* from the end, as z_j is needed by the rows below alone */
        float sum = mean ? mean[j] : 0.0f;
        for (int k = 0; k <= j; k++) sum = wm_exact_fma32(lower[(wm_u64)j * (wm_u64)n + (wm_u64)k], out[k], sum);
        out[j] = sum;
    }
}

/** The same in f64. Any thread; 32 registers; bits and source: see the top. Arrays aligned to 8 bytes. */
WM_BOTH void wmNormalVectorF64(wmRandomKey key, wm_u64 row, int n, const double *lower, const double *mean,
                               double *out) {
    for (int j = 0; j < n; j++) out[j] = wmNormalF64(key, row * (wm_u64)n + (wm_u64)j);
    for (int j = n - 1; j >= 0; j--) {
        double sum = mean ? mean[j] : 0.0;
        for (int k = 0; k <= j; k++) sum = wm_exact_fma64(lower[(wm_u64)j * (wm_u64)n + (wm_u64)k], out[k], sum);
        out[j] = sum;
    }
}

/* ln of the gamma of element i, of a weight of the type. */
WM_BOTH double wm_dirichlet_log(wmRandomKey key, wm_u64 i, double weight) {
    return wm_log_gamma_draw(key, i, wmGammaShapeMake(weight), 0, wmBitsU64(key, i));
}

/** Gammas of the weights over their sum: through logarithms, less the largest, so that small weights do not vanish. Any
 * thread; 80 registers; bits and source: see the top. Arrays aligned to 8 bytes. */
WM_BOTH void wmDirichletF64(wmRandomKey key, wm_u64 row, int n, const double *weight, double *out) {
    double most = 0.0, sum = 0.0;
    for (int j = 0; j < n; j++) {
        out[j] = wm_dirichlet_log(key, row * (wm_u64)n + (wm_u64)j, weight[j]);
        most = j == 0 || out[j] > most ? out[j] : most;
    }
    for (int j = 0; j < n; j++) {
        out[j] = wm_exact_exp64(wm_exact_add64(out[j], -most));
        sum = wm_exact_add64(sum, out[j]);
    }
    for (int j = 0; j < n; j++) out[j] = wm_exact_div64(out[j], sum);
}
/** The same in f64 with f32 between the steps: differences of logarithms and shares are rounded to f32. Any thread; 79
 * registers; bits and source: see the top. Arrays aligned to 4 bytes. */
WM_BOTH void wmDirichletF32(wmRandomKey key, wm_u64 row, int n, const float *weight, float *out) {
    double most = 0.0, sum = 0.0;
    for (int j = 0; j < n; j++) {
        out[j] = (float)wm_dirichlet_log(key, row * (wm_u64)n + (wm_u64)j, (double)weight[j]);
        most = j == 0 || (double)out[j] > most ? (double)out[j] : most;
    }
    for (int j = 0; j < n; j++) {
        out[j] = (float)wm_exact_exp64(wm_exact_add64((double)out[j], -most));
        sum = wm_exact_add64(sum, (double)out[j]);
    }
    for (int j = 0; j < n; j++) out[j] = (float)wm_exact_div64((double)out[j], sum);
}

#endif
