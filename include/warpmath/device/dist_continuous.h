/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gamma and what is made of it, the truncated normal, and the transforms of one number: all in f64, from 64-bit
 * elements and attempts, with correctly rounded operations only; f32 and narrower types are the f64 value rounded.
 * Plain C. docs/distributions.md is the bit-level specification.
 *
 *     double x = wmGamma(key, i, 2.5);             shape 2.5, scale 1: element i of "random gamma f64"
 *     double t = wmStudentT(key, i, 4.0);
 *     double c = wmCauchy(key, i);
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: docs/distributions.md.
 */
#ifndef WARPMATH_DEVICE_DIST_CONTINUOUS_H
#define WARPMATH_DEVICE_DIST_CONTINUOUS_H

#include <warpmath/device/dist_math.h>

/* ---- One number: location 0, scale 1 ---- */

/** An exponential: -ln u of the low 52 bits of z. */
WM_BOTH double wm_minus_log_u(wm_u64 z) {
    return wm_exact_mul64(wm_normal_square_f64(z), 0.5);
}

/** Laplace: an exponential whose sign is bit 63. Any thread; 16 registers; bits and source: see the top. */
WM_BOTH double wmLaplace(wmRandomKey key, wm_u64 i) {
    wm_u64 z = wmBitsU64(key, i);
    return wm_exact_f64(wm_exact_bits64(wm_minus_log_u(z)) | (z & 0x8000000000000000ull));
}

/** Logistic: ln(u / (1 - u)). Any thread; 18 registers; bits and source: see the top. */
WM_BOTH double wmLogistic(wmRandomKey key, wm_u64 i) {
    wm_u64 z = wmBitsU64(key, i);
    return wm_exact_add64(wm_minus_log_u(~z), -wm_minus_log_u(z));
}

/** Gumbel, of maxima: -ln(-ln u). Any thread; 14 registers; bits and source: see the top. */
WM_BOTH double wmGumbel(wmRandomKey key, wm_u64 i) {
    return -wm_exact_log64(wm_minus_log_u(wmBitsU64(key, i)));
}

/** Weibull of this shape: the power 1 / shape of an exponential. Any thread; 27 registers; bits and source: see the
 * top. */
WM_BOTH double wmWeibull(wmRandomKey key, wm_u64 i, double shape) {
    return wm_exact_exp64(wm_exact_div64(wm_exact_log64(wm_minus_log_u(wmBitsU64(key, i))), shape));
}

/** Cauchy: tan(pi x), x in (-1/2, 1/2), as the ratio of the sine and cosine that make normals. Any thread; 26
 * registers; bits and source: see the top. */
WM_BOTH double wmCauchy(wmRandomKey key, wm_u64 i) {
    double c = 0.0, s = 0.0;
    wm_normal_f64(0, wmBitsU64(key, i), &c, &s);
    return wm_exact_div64(s, c);
}

/* ---- Gamma: Marsaglia and Tsang, ACM TOMS 26(3), 2000 ---- */

/* A second and a third draw of one element take their attempts from here on. */
#define WM_ATTEMPTS_SECOND (1u << 22)
#define WM_ATTEMPTS_THIRD (1u << 23)

/** d and c of a shape: for shapes below 1 those of shape + 1, whose draw is then reduced. */
typedef struct wmGammaShape {
    double shape, d, c;
} wmGammaShape;

/** Constants of a shape, above 0. Any thread; 20 registers; bits and source: see the top. */
WM_BOTH wmGammaShape wmGammaShapeMake(double shape) {
    wmGammaShape s;
    s.shape = shape;
    s.d = wm_exact_add64(shape < 1.0 ? wm_exact_add64(shape, 1.0) : shape, -0.3333333333333333);
    s.c = wm_exact_div64(1.0, wm_exact_root64(wm_exact_mul64(9.0, s.d)));
    return s;
}

/** d v of the first attempt that stands: attempt L takes a normal from lane 2 L - 1, an exponential from lane 2 L. */
WM_BOTH double wm_gamma_body(wmRandomKey key, wm_u64 i, wmGammaShape s, wm_u32 from) {
    for (wm_u32 attempt = 1;; attempt++) {
        wmWords w = wm_attempt_words(key, i, WM_LANE_64, from + 2 * attempt - 1);
        double x, ignored;
        wm_normal_f64(wm_pair_u64(w.w[0], w.w[1]), wm_pair_u64(w.w[2], w.w[3]), &x, &ignored);
        double v = wm_exact_fma64(s.c, x, 1.0);
        if (!(v > 1e-50)) continue;
        v = wm_exact_mul64(wm_exact_mul64(v, v), v);
        w = wm_attempt_words(key, i, WM_LANE_64, from + 2 * attempt);
        double e = wm_minus_log_u(wm_pair_u64(w.w[0], w.w[1]));
        double room = wm_exact_mul64(s.d, wm_exact_add64(wm_exact_add64(v, -1.0), -wm_exact_log64(v)));
        if (wm_exact_fma64(wm_exact_mul64(x, x), -0.5, room) <= e) return wm_exact_mul64(s.d, v);
    }
}

/** ln of a gamma draw, so that shapes near 0 do not end at 0; `boost` is the 64 bits that reduce shapes below 1. */
WM_BOTH double wm_log_gamma_draw(wmRandomKey key, wm_u64 i, wmGammaShape s, wm_u32 from, wm_u64 boost) {
    double log = wm_exact_log64(wm_gamma_body(key, i, s, from));
    return s.shape < 1.0 ? wm_exact_add64(log, -wm_exact_div64(wm_minus_log_u(boost), s.shape)) : log;
}

/** Gamma of scale 1: element i. Shapes below 1 use element i of lane 0 as well; from some 0.02 on down values reach 0.
 */
WM_BOTH double wm_gamma(wmRandomKey key, wm_u64 i, wmGammaShape s) {
    if (s.shape < 1.0) return wm_exact_exp64(wm_log_gamma_draw(key, i, s, 0, wmBitsU64(key, i)));
    return wm_gamma_body(key, i, s, 0);
}

/** Gamma of this shape and scale 1: element i. Any thread; 70 registers; bits and source: see the top. */
WM_BOTH double wmGamma(wmRandomKey key, wm_u64 i, double shape) {
    return wm_gamma(key, i, wmGammaShapeMake(shape));
}
/** Chi-square: twice a gamma of half the freedom. Any thread; 70 registers; bits and source: see the top. */
WM_BOTH double wmChiSquare(wmRandomKey key, wm_u64 i, double freedom) {
    return wm_exact_mul64(2.0, wmGamma(key, i, wm_exact_mul64(freedom, 0.5)));
}

/** Student's t from the shape freedom / 2: a normal over the root of a chi-square over its freedom. */
WM_BOTH double wm_student(wmRandomKey key, wm_u64 i, wmGammaShape half) {
    wmWords w = wm_attempt_words(key, i, WM_LANE_64, WM_ATTEMPTS_THIRD);
    double z, ignored;
    wm_normal_f64(wm_pair_u64(w.w[0], w.w[1]), wm_pair_u64(w.w[2], w.w[3]), &z, &ignored);
    /* sqrt(half / g), by logarithms where g might be 0 */
    double log = wm_log_gamma_draw(key, i, half, 0, wmBitsU64(key, i));
    double ratio = wm_exact_add64(wm_exact_log64(half.shape), -log);
    return wm_exact_mul64(z, wm_exact_exp64(wm_exact_mul64(ratio, 0.5)));
}

/** Student's t of this freedom: element i. Any thread; 75 registers; bits and source: see the top. */
WM_BOTH double wmStudentT(wmRandomKey key, wm_u64 i, double freedom) {
    return wm_student(key, i, wmGammaShapeMake(wm_exact_mul64(freedom, 0.5)));
}

/** Beta: a / (a + b) of two gammas, by their logarithms. */
WM_BOTH double wm_beta(wmRandomKey key, wm_u64 i, wmGammaShape a, wmGammaShape b) {
    wmWords w = wm_attempt_words(key, i, WM_LANE_64, WM_ATTEMPTS_THIRD);
    double log_a = wm_log_gamma_draw(key, i, a, 0, wm_pair_u64(w.w[0], w.w[1]));
    double log_b = wm_log_gamma_draw(key, i, b, WM_ATTEMPTS_SECOND, wm_pair_u64(w.w[2], w.w[3]));
    return wm_exact_div64(1.0, wm_exact_add64(1.0, wm_exact_exp64(wm_exact_add64(log_b, -log_a))));
}

/** Beta: element i, from two gammas. Any thread; 77 registers; bits and source: see the top. */
WM_BOTH double wmBeta(wmRandomKey key, wm_u64 i, double a, double b) {
    return wm_beta(key, i, wmGammaShapeMake(a), wmGammaShapeMake(b));
}

/* ---- Truncated normal: Robert, Statistics and Computing 5, 1995 ---- */

typedef enum wmTruncation { WM_TRUNCATED_NORMAL, WM_TRUNCATED_UNIFORM, WM_TRUNCATED_EXPONENTIAL } wmTruncation;

/** How to draw a standard normal that lies in [a, b]: by a normal, a uniform, or the exponential of a tail. */
typedef struct wmTruncated {
    int method, mirrored; /* mirrored: of [-b, -a], and the sign turned */
    double a, b, nearest; /* nearest to 0 of the interval */
    double rate;          /* of the exponential */
    double mean, std, low, high;
} wmTruncated;

/** How to draw a normal of this mean and std that lies in [low, high]. Any thread; 30 registers; bits and source: see
 * the top. */
WM_BOTH wmTruncated wmTruncatedMake(double mean, double std, double low, double high) {
    wmTruncated t;
    double a = wm_exact_div64(wm_exact_add64(low, -mean), std), b = wm_exact_div64(wm_exact_add64(high, -mean), std);
    t.mirrored = b < 0.0 || (b == 0.0 && a < 0.0);
    t.a = t.mirrored ? -b : a;
    t.b = t.mirrored ? -a : b;
    t.mean = mean, t.std = std, t.low = low, t.high = high;
    t.nearest = t.a > 0.0 ? t.a : 0.0;
    double root = wm_exact_root64(wm_exact_fma64(t.nearest, t.nearest, 4.0));
    t.rate = wm_exact_mul64(wm_exact_add64(t.nearest, root), 0.5);
    double width = wm_exact_add64(t.b, -t.a);
    if (t.a <= 0.0)
        t.method = width < 2.5 ? WM_TRUNCATED_UNIFORM : WM_TRUNCATED_NORMAL;
    else
        t.method = wm_exact_mul64(width, t.rate) < 1.6 ? WM_TRUNCATED_UNIFORM : WM_TRUNCATED_EXPONENTIAL;
    return t;
}

/** One attempt from a block: the candidate; *stands says whether it is the draw. */
WM_BOTH double wm_truncated_attempt(const wmTruncated *t, wmWords w, int *stands) {
    wm_u64 p = wm_pair_u64(w.w[0], w.w[1]), q = wm_pair_u64(w.w[2], w.w[3]);
    double x, ignored;
    if (t->method == WM_TRUNCATED_NORMAL) {
        wm_normal_f64(p, q, &x, &ignored);
        *stands = x >= t->a && x <= t->b;
        return x;
    }
    double e = wm_minus_log_u(q);
    if (t->method == WM_TRUNCATED_UNIFORM) {
        x = wm_exact_fma64(wm_uniform_f64((wm_u32)p, (wm_u32)(p >> 32)), wm_exact_add64(t->b, -t->a), t->a);
        double over = wm_exact_fma64(x, x, -wm_exact_mul64(t->nearest, t->nearest));
        *stands = wm_exact_mul64(over, 0.5) <= e;
        return x;
    }
    x = wm_exact_add64(t->a, wm_exact_div64(wm_minus_log_u(p), t->rate));
    double off = wm_exact_add64(x, -t->rate);
    *stands = x <= t->b && wm_exact_mul64(wm_exact_mul64(off, off), 0.5) <= e;
    return x;
}

/** Element i: mean + std times it, never outside [low, high]. Any thread; 37 registers; bits and source: see the top.
 * *t aligned to 8 bytes. */
WM_BOTH double wmTruncatedNormal(wmRandomKey key, wm_u64 i, const wmTruncated *t) {
    double x = 0.0;
    int stands = 0;
    for (wm_u32 attempt = 1; !stands; attempt++)
        x = wm_truncated_attempt(t, wm_attempt_words(key, i, WM_LANE_64, attempt), &stands);
    x = wm_exact_fma64(t->mirrored ? -x : x, t->std, t->mean);
    return x < t->low ? t->low : x > t->high ? t->high : x;
}

#endif
