/* SPDX-License-Identifier: Apache-2.0 */
/* Direction numbers of Sobol' points, and what both places need to draw them. */
#ifndef WM_REFERENCE_SOBOL_H
#define WM_REFERENCE_SOBOL_H

#include <warpmath/random.h>

#include "device/random_points.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Direction numbers of dimensions 0 … dimensions - 1: out[bit · dimensions + d], 32 rows of 32 bits or 64 of 64.
 */
void wm_sobol_directions(void *out, int wide, int64_t dimensions);

/** Bytes of these. */
size_t wm_sobol_directions_bytes(int wide, int64_t dimensions);

/** What to make of the points of a checked desc and checked arguments. */
wm_points wm_points_make(const wmRandomDesc *desc, const wmRandomArgs *args);

#ifdef __cplusplus
}
#endif

#endif
