/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direction of a Fourier transform, the same enum on host and device. This header includes nothing, so that kernels
 * compiled at run time can use it.
 */
#ifndef WARPMATH_FFT_DIRECTION_H
#define WARPMATH_FFT_DIRECTION_H

typedef enum wmDirection {
    WM_FORWARD = 0, /**< exp(-2 pi i j k / n) */
    WM_INVERSE = 1  /**< exp(+2 pi i j k / n) */
} wmDirection;

#endif
