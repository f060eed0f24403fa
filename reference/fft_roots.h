/* SPDX-License-Identifier: Apache-2.0 */
/* Roots of unity, exact to the last bit of f64, for every table of the CPU transform and of the GPU kernels. */
#ifndef WM_REFERENCE_FFT_ROOTS_H
#define WM_REFERENCE_FFT_ROOTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_root {
    long double re, im;
} wm_root;

/** exp(-2 pi i k / n) for 0 <= k < n, by reducing the angle to the first octant in integers. n < 2^59. */
wm_root wm_root_of(int64_t k, int64_t n);

/**
 * A table that makes many roots of one n quickly: two levels of about sqrt(n) roots, multiplied in long double, whose
 * error of about 2^-63 vanishes when the result is rounded to f64.
 */
typedef struct wm_roots {
    int64_t n;
    int shift; /* the low level holds 2^shift roots */
    wm_root *low, *high;
} wm_roots;

/** Returns 0, or -1 where memory ran out. */
int wm_roots_make(wm_roots *out, int64_t n);
void wm_roots_drop(wm_roots *roots);
/** exp(-2 pi i k / n), 0 <= k < n. */
wm_root wm_roots_get(const wm_roots *roots, int64_t k);

#ifdef __cplusplus
}
#endif

#endif
