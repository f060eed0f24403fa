/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a random sequence, the same struct on host and device. This header includes nothing, so that kernels
 * compiled at run time can use it: a 64-bit seed is `unsigned long long`, the type behind uint64_t wherever CUDA
 * compiles.
 */
#ifndef WARPMATH_RANDOM_KEY_H
#define WARPMATH_RANDOM_KEY_H

/** Names one sequence of 2^64 elements; equal keys give equal values. A plain value: copy it freely. */
typedef struct wmRandomKey {
    unsigned long long seed;
    unsigned int substream;
} wmRandomKey;

/** Where a sequence stands, in the place's memory: a draw that reads it can be replayed by a captured graph and go on.
 */
typedef struct wmRandomState {
    wmRandomKey key;
    unsigned long long offset; /* in elements */
} wmRandomState;

#endif
