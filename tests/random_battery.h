/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A battery of statistical tests over sequences of words and of normals, shared by the test that runs it on the CPU
 * (tests/test_random_battery.c) and the program that runs it on a GPU (perf/battery_random.cu): where each test looks,
 * which cell it counts, and what a count's probability is.
 *
 * A layout is an order in which n = 2^log words are read. Strides of powers of two meet the words of one block, of one
 * lane of a warp, of one tile; the order of reversed index bits is that of a Fourier transform or of a merge.
 */
#ifndef WM_TESTS_RANDOM_BATTERY_H
#define WM_TESTS_RANDOM_BATTERY_H

#include <warpmath/device/random.h>

#include <math.h>

enum { BATTERY_CELLS = 1 << 14, BATTERY_LAYOUTS = 6, BATTERY_TAILS = 5 };

/** Distance in the sequence of neighbours in a layout, as a power of two; the last layout reverses the index. */
static const int battery_stride[BATTERY_LAYOUTS] = {0, 1, 2, 9, 17, -1};

/** Index, in the sequence, of place i of a layout of 2^log words. */
WM_BOTH wm_u64 battery_index(int stride, int log, wm_u64 i) {
    wm_u64 all = (1ull << log) - 1, reversed = 0;
    if (stride >= 0) return ((i << stride) | (i >> (log - stride))) & all;
    for (int bit = 0; bit < log; bit++) reversed |= (i >> bit & 1) << (log - 1 - bit);
    return reversed;
}

/** Cell of two neighbours: the first seven bits of each, or the last. */
WM_BOTH wm_u32 battery_pair(int last, wm_u32 a, wm_u32 b) {
    return last ? (a & 127) << 7 | (b & 127) : (a >> 25) << 7 | b >> 25;
}

/** Cell of a probability. */
WM_BOTH wm_u32 battery_cell(double u, int cells) {
    int cell = (int)(u * cells);
    return (wm_u32)(cell < 0 ? 0 : cell < cells ? cell : cells - 1);
}

/** Bounds whose excess is counted: halves from 3 on; f32 normals are granular beyond. */
WM_BOTH double battery_tail(int k) {
    return 3.0 + 0.5 * k;
}

/* ---- Probabilities ---- */

/** That a standard normal lies further out than |z|. */
static inline double battery_two_sided(double z) {
    return erfc(fabs(z) * 0.70710678118654752440);
}

/** Of a chi-square at least this large: Wilson and Hilferty's cube root, good for many degrees of freedom. */
static inline double battery_chi_square(double x, double freedom) {
    double s = 2 / (9 * freedom);
    return 0.5 * erfc((cbrt(x / freedom) - 1 + s) / sqrt(s) * 0.70710678118654752440);
}

/** Of equiprobable cells: two-sided, as counts that fit too well are a fault as well. Gives chi-square. */
static inline double battery_counts(const wm_u64 *count, int cells, double each, double *p) {
    double x = 0;
    for (int i = 0; i < cells; i++) x += ((double)count[i] - each) * ((double)count[i] - each) / each;
    double upper = battery_chi_square(x, cells - 1);
    *p = 2 * fmin(upper, 1 - upper);
    return x;
}

/** Kolmogorov and Smirnov's largest distance at the cells' bounds, and its limiting probability. */
static inline double battery_distance(const wm_u64 *count, int cells, double n, double *p) {
    double below = 0, distance = 0, sum = 0;
    for (int i = 0; i < cells; i++) {
        below += (double)count[i];
        distance = fmax(distance, fabs(below / n - (i + 1.0) / cells));
    }
    double x = sqrt(n) * distance;
    for (int k = 1; k < 60; k++) sum += (k % 2 ? 2 : -2) * exp(-2 * k * k * x * x);
    *p = x < 0.3 ? 1 : sum;
    return distance;
}

/** Anderson and Darling's A² exceeding x, in the limit: Marsaglia and Marsaglia (J. Stat. Software 9, 2, 2004). */
static inline double battery_anderson_darling(double x) {
    double below =
        x < 2 ? exp(-1.2337141 / x) / sqrt(x) *
                    (2.00012 + (.247105 - (.0649821 - (.0347962 - (.011672 - .00168691 * x) * x) * x) * x) * x)
              : exp(-exp(1.0776 - (2.30695 - (.43424 - (.082433 - (.008056 - .0003146 * x) * x) * x) * x) * x));
    return 1 - below;
}

/** The k-th sample moment of n normals, k = 1 … 4, in its standard errors. */
static inline double battery_moment(int k, double sum, double n) {
    static const double mean[] = {1, 0, 1, 0, 3}, square[] = {1, 1, 3, 15, 105};
    return (sum / n - mean[k]) / sqrt((square[k] - mean[k] * mean[k]) / n);
}

#endif
