/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points as values of any distribution that is an inverse distribution function of one number: so that points
 * keep their spread. A coordinate stands at the top of 64 bits. Plain C; docs/random.md is the specification.
 */
#ifndef WM_DEVICE_RANDOM_QUANTILE_H
#define WM_DEVICE_RANDOM_QUANTILE_H

#include <warpmath/device/sobol.h>

#include "device/random_element.h"

/** What to draw: the job's key scrambles. */
typedef struct wm_quantile_job {
    int wide;     /* points of 64 bits */
    int scramble; /* a wmScramble */
    long long dimensions;
    wm_element_job element;
} wm_quantile_job;

/** The coordinate of element i, from the direction numbers of wmSobolDirections. */
WM_BOTH wm_u64 wm_quantile_coordinate(const wm_quantile_job *job, const void *directions, wm_u64 i) {
    wm_u64 n = i / (wm_u64)job->dimensions, d = i - n * (wm_u64)job->dimensions;
    wm_u64 seed = job->scramble ? wmScrambleSeed(job->element.key, d) : 0;
    if (job->wide)
        return wmScramble64(job->scramble, wmSobol64((const wm_u64 *)directions + d, job->dimensions, n), seed);
    wm_u32 x = wmScramble32(job->scramble, wmSobol32((const wm_u32 *)directions + d, job->dimensions, n), seed);
    return (wm_u64)x << 32;
}

/* The inverse distribution functions that have a location and a scale, at (k + 1/2) / 2^52. */
WM_BOTH double wm_quantile_standard(const wm_element_job *job, wm_u64 k) {
    wm_u64 mirrored = ~k & 0xfffffffffffffull;
    double c = 0.0, s = 0.0;
    switch (job->distribution) {
    case WM_RANDOM_LAPLACE: /* twice the nearer half; decreasing exponentials */
        return k < mirrored ? -wm_minus_log_u(2 * k) : wm_minus_log_u(2 * mirrored);
    case WM_RANDOM_LOGISTIC:
        return wm_exact_add64(wm_minus_log_u(mirrored), -wm_minus_log_u(k));
    case WM_RANDOM_CAUCHY:
        wm_normal_f64(0, k, &c, &s);
        return wm_exact_div64(s, c);
    case WM_RANDOM_GUMBEL:
        return -wm_exact_log64(wm_minus_log_u(k));
    default:
        return wm_exact_exp64(wm_exact_div64(wm_exact_log64(wm_minus_log_u(mirrored)), job->exponent));
    }
}

WM_BOTH double wm_quantile_real(const wm_element_job *job, wm_u64 k) {
    if (job->distribution == WM_RANDOM_EXPONENTIAL)
        return wm_exact_mul64(wm_normal_square_f64(~k & 0xfffffffffffffull), job->half_scale64);
    if (job->distribution == WM_RANDOM_LOGNORMAL)
        return wm_exact_exp64(wm_exact_fma64(wm_sobol_normal(k), job->std, job->mean));
    return wm_exact_fma64(wm_quantile_standard(job, k), job->scale, job->location);
}

WM_BOTH void wm_quantile_uniform(const wm_element_job *job, wm_u64 x, void *out) {
    if (job->type == WM_F64)
        *(double *)out = wm_uniform_any_f64(x, &job->in64);
    else if (job->type == WM_F32)
        *(float *)out = wm_uniform_any_f32((wm_u32)(x >> 32), &job->in32);
    else
        wm_put_integer(out, 2, wm_uniform_any_16(job->type == WM_BF16, (wm_u32)(x >> 48), &job->in32));
}

WM_BOTH void wm_quantile_normal(const wm_element_job *job, wm_u64 k, void *out) {
    double z = wm_sobol_normal(k);
    if (job->type == WM_F64)
        *(double *)out = wm_exact_fma64(z, job->std, job->mean);
    else
        wm_put_from_f32(out, job->type, wm_exact_fma32((float)z, job->std32, job->mean32));
}

/** The value of coordinate x to *out; of 32 bits all but bits and uniforms take the middle of its step. */
WM_BOTH void wm_quantile_value(const wm_element_job *job, int wide, wm_u64 x, void *out) {
    wm_u64 middle = wide ? x : x | 0x80000000u, k = middle >> 12, low = 0, bits = x >> (64 - 8 * job->element);
    switch (job->distribution) {
    case WM_RANDOM_BITS:
        wm_put_integer(out, job->element, bits);
        break;
    case WM_RANDOM_UNIFORM:
        wm_quantile_uniform(job, x, out);
        break;
    case WM_RANDOM_NORMAL:
        wm_quantile_normal(job, k, out);
        break;
    case WM_RANDOM_INTEGERS:
        bits = job->range.span ? wm_product_u64(middle, job->range.span, &low) : bits;
        wm_put_integer(out, job->element, job->range.base + bits);
        break;
    case WM_RANDOM_GEOMETRIC:
        wm_put_integer(out, job->element,
                       (wm_u64)wm_exact_mul64(wm_minus_log_u(~k & 0xfffffffffffffull), job->geometric));
        break;
    default:
        wm_put_from_f64(out, job->type, wm_quantile_real(job, k));
        break;
    }
}

#endif
