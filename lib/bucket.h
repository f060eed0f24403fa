/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape buckets: sizes that change from call to call. A bucket lies between two neighbouring powers of two; where the
 * same solver and knobs were measured to win at both ends, they are taken in between without a measurement.
 */
#ifndef WM_LIB_BUCKET_H
#define WM_LIB_BUCKET_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sizes of a problem string that may change: m, n, k and the batch, or the count of a random draw. */
enum { WM_BUCKET_SIZES = 5 };

/** "m", "n", "k", "batch", "count". */
const char *wm_bucket_name(int which);

/**
 * The two problems at the ends of the bucket that a canonical problem string is in by its size number `which`; 0 if it
 * has no such size, or the size is a power of two itself.
 */
int wm_bucket_ends(const char *problem, int which, char *low, char *high, size_t room);

#ifdef __cplusplus
}
#endif

#endif
