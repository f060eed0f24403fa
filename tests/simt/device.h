/* SPDX-License-Identifier: Apache-2.0 */
/* What device.cu and its test share: kernels that use the device API as a user would. */
#ifndef WM_TESTS_SIMT_DEVICE_KERNELS_H
#define WM_TESTS_SIMT_DEVICE_KERNELS_H

#include <warpmath/random_key.h>

#ifdef __cplusplus
extern "C" {
#endif

/* D (m × n) = A (m × k) · B (k × n), row-major, values that every type has exactly. */
typedef struct wm_device_product {
    const double *a, *b;
    double *d;
} wm_device_product;

/* Of each of 256 numbers: sum, least, most; scan, total. */
typedef struct wm_device_sums {
    const float *x;
    float *out; /* 5 × 256 */
} wm_device_sums;

/* Draws by rounds: of each kind 128 blocks from 0x1fffffff00 on. */
typedef struct wm_device_rounds {
    float *f32;  /* 512 uniforms, 512 normals */
    double *f64; /* 256, 256 */
    wmRandomKey key;
} wm_device_rounds;

/* Complex numbers, in place, one warp: 32 transforms of 16 by threads, or transforms of 256 by warps; then back. */
typedef struct wm_device_fft {
    float *x, *y; /* forward, and back */
} wm_device_fft;

#ifdef __cplusplus
}
#endif

#endif
