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
    WM_THREEFRY4X64_20 = 4, /**< no multiplications */
    WM_SOBOL32 = 5, /**< low-discrepancy points, for integration; element i is dimension i mod dimensions of point
                         i / dimensions. 2^32 points */
    WM_SOBOL64 = 6, /**< the same with 64 bits and 2^64 points */
    WM_XORWOW = 7,  /**< this and the following through cuRAND, in its own order (WM_SEQ_CURAND), where it is there */
    WM_MRG32K3A = 8,
    WM_MT19937 = 9,
    WM_MTGP32 = 10
} wmGenerator;

/** How Sobol' points are randomised, each dimension by words of the key. */
typedef enum wmScramble {
    WM_SCRAMBLE_NONE = 0,
    WM_SCRAMBLE_OWEN = 1, /**< nested permutations of the binary digits, by a hash: keeps the points' balance */
    WM_SCRAMBLE_SHIFT = 2 /**< exclusive or with one word a dimension */
} wmScramble;

/** Most dimensions of Sobol' points. */
#define WM_SOBOL_DIMENSIONS 1111

#endif
