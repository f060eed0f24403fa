/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts: Poisson and binomial by a table of their distribution function (inversion) where they are narrow, by
 * rejection (Hoermann's PTRS and BTRS) where they are wide, geometric by an exponential. Correctly rounded operations
 * only, tables included, so the same numbers on every GPU and CPU. Plain C; docs/distributions.md is the specification.
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: Hoermann, "The transformed rejection method for
 * generating Poisson random variables", 1993; docs/distributions.md.
 */
#ifndef WARPMATH_DEVICE_DIST_DISCRETE_H
#define WARPMATH_DEVICE_DIST_DISCRETE_H

#include <warpmath/device/dist_math.h>

/* ---- Tables ---- */

/** Variance up to which a law goes into a table: its values of probability 2^-64 and more are then under 2560. */
#define WM_COUNT_VARIANCE 16384.0
#define WM_COUNT_ENTRIES 2560
#define WM_COUNT_CELLS 2048

/**
 * value = first + the number of thresholds not above a 64-bit uniform. high and low are the thresholds' halves. A guide
 * cell (the uniform's first 11 bits): bits 20 to 31 count the thresholds below the cell; bits 0 to 18 are the next 19
 * bits of the cell's one threshold, all ones where there is none; bit 19 is set where there are several.
 */
typedef struct wmCountTable {
    unsigned int guide[WM_COUNT_CELLS], high[WM_COUNT_ENTRIES], low[WM_COUNT_ENTRIES];
    unsigned long long first;
    int entries;
} wmCountTable;

/** The value at 64-bit uniform word:more, from thresholds `at` on: `at` is at most the answer. */
WM_BOTH wm_u64 wm_count_search(const wmCountTable *t, int at, wm_u32 word, wmRandomKey key, wm_u64 i) {
    while (at < t->entries && t->high[at] < word) at++;
    if (at < t->entries && t->high[at] == word) { /* once in 2^32 / entries draws: 32 bits more decide */
        wm_u32 more = wm_attempt_words(key, i, WM_LANE_32, 1).w[0];
        while (at < t->entries && t->high[at] == word && t->low[at] <= more) at++;
    }
    return t->first + (wm_u64)at;
}

/** Element i by a table. Any thread; 22 registers; bits and source: see the top. *t aligned to 8 bytes. */
WM_BOTH wm_u64 wmCount(wmRandomKey key, wm_u64 i, const wmCountTable *t) {
    wm_u32 word = wmBitsU32(key, i);
    return wm_count_search(t, (int)(t->guide[word >> 21] >> 20), word, key, i);
}

/* ---- ln of probabilities, as Loader (2000) has them: no cancellation at any size ---- */

/** ln n! - (n + 1/2) ln n + n - ln sqrt(2 pi), for n of some hundreds and more. */
WM_BOTH double wm_stirling(double n) {
    double r = wm_exact_div64(1.0, n), s = wm_exact_mul64(r, r);
    double p = wm_exact_fma64(s, 0.0007936507936507937, -0.002777777777777778);
    return wm_exact_mul64(wm_exact_fma64(p, s, 0.08333333333333333), r);
}

/** k ln(k / m) + m - k. */
WM_BOTH double wm_deviance(double k, double m) {
    double v = wm_exact_div64(wm_exact_add64(k, -m), wm_exact_add64(k, m)), s = wm_exact_mul64(v, v);
    if (!(s < 0.01))
        return wm_exact_add64(wm_exact_mul64(k, wm_exact_log64(wm_exact_div64(k, m))), wm_exact_add64(m, -k));
    double p = 0.0; /* (k - m) v + 2 k v (s / 3 + s^2 / 5 + …) */
    for (int j = 9; j >= 1; j--) p = wm_exact_mul64(wm_exact_add64(p, wm_exact_div64(1.0, 2.0 * j + 1.0)), s);
    return wm_exact_fma64(wm_exact_mul64(2.0, wm_exact_mul64(k, v)), p, wm_exact_mul64(wm_exact_add64(k, -m), v));
}

/* ---- Rejection: transformed, with squeeze; W. Hoermann, Insurance: Math. and Econ. 12 (1993), J. Stat. Comp. Sim. 46
 * ---- */

typedef struct wmWideCount {
    int binomial, mirrored;                                 /* mirrored: trials minus the draw */
    double trials, mean, rest, a, b, centre, vr, log_scale; /* rest: mean of the failures */
    double log_top;                                         /* of the binomial's mode */
} wmWideCount;

/** ln of the probability of k, up to a constant of the law. */
WM_BOTH double wm_wide_log(const wmWideCount *c, double k) {
    double l = wm_exact_add64(-wm_stirling(k), -wm_deviance(k, c->mean)), n = c->trials;
    if (!c->binomial) return wm_exact_fma64(wm_exact_log64(wm_exact_mul64(k, 6.283185307179586)), -0.5, l);
    double f = wm_exact_add64(n, -k);
    l = wm_exact_add64(wm_exact_add64(l, -wm_stirling(f)), -wm_deviance(f, c->rest));
    return wm_exact_fma64(wm_exact_add64(wm_exact_log64(k), wm_exact_log64(wm_exact_div64(f, n))), -0.5, l);
}

/** Poisson of a rate above WM_COUNT_VARIANCE. Any thread; 32 registers; bits and source: see the top. */
WM_BOTH wmWideCount wmWidePoissonMake(double rate) {
    wmWideCount c;
    double root = wm_exact_root64(rate);
    c.binomial = c.mirrored = 0;
    c.trials = c.rest = c.log_top = 0.0;
    c.mean = rate;
    c.b = wm_exact_fma64(2.53, root, 0.931);
    c.a = wm_exact_fma64(0.02483, c.b, -0.059);
    c.centre = wm_exact_add64(rate, 0.43);
    c.vr = wm_exact_add64(0.9277, -wm_exact_div64(3.6224, wm_exact_add64(c.b, -2.0)));
    double scale = wm_exact_add64(1.1239, wm_exact_div64(1.1328, wm_exact_add64(c.b, -3.4)));
    c.log_scale = wm_exact_log64(scale);
    return c;
}

/** Binomial of a variance above WM_COUNT_VARIANCE. Any thread; 42 registers; bits and source: see the top. */
WM_BOTH wmWideCount wmWideBinomialMake(double trials, double p) {
    wmWideCount c;
    c.binomial = 1;
    c.mirrored = p > 0.5;
    double q = wm_exact_add64(1.0, -p);
    if (c.mirrored) {
        double other = p;
        p = q, q = other;
    }
    c.trials = trials;
    c.mean = wm_exact_mul64(trials, p);
    c.rest = wm_exact_mul64(trials, q);
    double root = wm_exact_root64(wm_exact_mul64(c.mean, q));
    c.b = wm_exact_fma64(2.53, root, 1.15);
    c.a = wm_exact_fma64(0.01, p, wm_exact_fma64(0.0248, c.b, -0.0873));
    c.centre = wm_exact_add64(c.mean, 0.5);
    c.vr = wm_exact_add64(0.92, -wm_exact_div64(4.2, c.b));
    double scale = wm_exact_mul64(wm_exact_add64(2.83, wm_exact_div64(5.1, c.b)), root);
    c.log_scale = wm_exact_log64(scale);
    c.log_top = wm_wide_log(&c, wm_exact_floor64(wm_exact_mul64(wm_exact_add64(trials, 1.0), p)));
    return c;
}

/** Element i: attempt L is the block of lane L, u of its first two words, v of the others. Any thread; 52 registers;
 * bits and source: see the top. *c aligned to 8 bytes. */
WM_BOTH wm_u64 wmWideCountDraw(wmRandomKey key, wm_u64 i, const wmWideCount *c) {
    for (wm_u32 attempt = 1;; attempt++) {
        wmWords w = wm_attempt_words(key, i, WM_LANE_32, attempt);
        wm_u64 half = 0xfffffffffffffull;
        double u = wm_random_shifted64(wm_pair_u64(w.w[0], w.w[1]) & half, -0.5), size = u < 0.0 ? -u : u;
        double v = wm_random_shifted64(wm_pair_u64(w.w[2], w.w[3]) & half, 0.0), us = wm_exact_add64(0.5, -size);
        double slope = wm_exact_add64(wm_exact_div64(wm_exact_mul64(2.0, c->a), us), c->b);
        double k = wm_exact_floor64(wm_exact_fma64(slope, u, c->centre));
        if (k < 1.0 || (c->binomial && k >= c->trials)) continue; /* of no probability, at these variances */
        if (!(us >= 0.07 && v <= c->vr)) {
            if (!c->binomial && us < 0.013 && v > us) continue;
            double spread = wm_exact_add64(wm_exact_div64(c->a, wm_exact_mul64(us, us)), c->b);
            double left = wm_exact_add64(wm_exact_add64(wm_exact_log64(v), c->log_scale), -wm_exact_log64(spread));
            if (!(left <= wm_exact_add64(wm_wide_log(c, k), -c->log_top))) continue;
        }
        return (wm_u64)(c->mirrored ? wm_exact_add64(c->trials, -k) : k);
    }
}

/* ---- Geometric ---- */

/** -1 / ln(1 - p), and 0 for p = 1. Any thread; 12 registers; bits and source: see the top. */
WM_BOTH double wmGeometricScale(double p) {
    if (p >= 1.0) return 0.0;
    if (p > 0.0009765625) return wm_exact_div64(-1.0, wm_exact_log64(wm_exact_add64(1.0, -p)));
    double s = 0.0;
    for (int j = 6; j >= 1; j--) s = wm_exact_mul64(wm_exact_add64(s, wm_exact_div64(1.0, j)), p);
    return wm_exact_div64(1.0, s);
}

/** Element i: failures before the first success, the integer part of an exponential times the scale. Any thread; 14
 * registers; bits and source: see the top. */
WM_BOTH wm_u64 wmGeometric(wmRandomKey key, wm_u64 i, double scale) {
    double e = wm_exact_mul64(wm_normal_square_f64(wmBitsU64(key, i)), 0.5);
    return (wm_u64)wm_exact_mul64(e, scale);
}

#endif
