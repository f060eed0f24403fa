/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generators of random numbers, for host and device. This header includes nothing, so that kernels compiled at run
 * time can use it.
 */
#ifndef WARPMATH_RANDOM_GENERATOR_H
#define WARPMATH_RANDOM_GENERATOR_H

/**
 * What makes words out of (key, index). Philox and Threefry (Salmon, Moraes, Dror, Shaw, SC 2011) are counter-based:
 * every order, distribution and place takes them.
 */
typedef enum wmGenerator {
    WM_PHILOX4X32_10 = 0, /**< the default, and the fastest on a GPU */
    WM_PHILOX4X32_7 = 1,  /**< fewest rounds that pass TestU01's BigCrush; its authors advise 10 */
    WM_PHILOX4X64_10 = 2, /**< NumPy's Philox */
    WM_THREEFRY2X32_20 = 3,
    WM_THREEFRY4X64_20 = 4 /**< no multiplications */
} wmGenerator;

#endif
