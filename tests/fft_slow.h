/* SPDX-License-Identifier: Apache-2.0 */
/* A transform in long double that is fast enough for thousands of lengths: by the smallest prime factor. */
#ifndef WM_TESTS_FFT_SLOW_H
#define WM_TESTS_FFT_SLOW_H

#include "reference/oracle_fft.h"

#include <stdlib.h>

/** x[0], x[step], … of n values to its transform, by the smallest prime factor; w: roots of `circle`, n divides it. */
static inline void slow_fft(const wm_root *x, int64_t step, int64_t n, const wm_root *w, int64_t circle, wm_root *y) {
    int64_t p = 2;
    while (n > 1 && n % p) p++;
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    int64_t m = n / p, turn = circle / n;
    wm_root *parts = (wm_root *)calloc((size_t)n, sizeof *parts);
    if (!parts) abort();
    for (int64_t i = 0; i < p; i++) slow_fft(x + i * step, step * p, m, w, circle, parts + i * m);
    for (int64_t k = 0; k < n; k++) {
        wm_root sum = {0, 0};
        for (int64_t i = 0, at = 0; i < p; i++, at = (at + k) % n) {
            wm_root a = parts[i * m + k % m], b = w[at * turn];
            sum.re += a.re * b.re - a.im * b.im;
            sum.im += a.re * b.im + a.im * b.re;
        }
        y[k] = sum;
    }
    free(parts);
}

#endif
