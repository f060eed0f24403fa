/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fused multiply-add of floats for CPUs without one, correctly rounded and without a call, so that loops over it are
 * vectorised: the product of two floats is exact in a double; the sum is rounded to odd there, which makes its second
 * rounding, to a float, the only one that shows (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
 * 2008). Included before the device headers, whose fused multiply-add it stands for.
 */
#ifndef WM_REFERENCE_RANDOM_FMA_H
#define WM_REFERENCE_RANDOM_FMA_H

#if !defined(__FMA__) && defined(__SSE2__)

static inline __attribute__((always_inline, unused)) float wm_fma_by_doubles(float a, float b, float c) {
    union {
        double value;
        long long bits;
    } sum;
    double product = (double)a * (double)b, error;
    sum.value = product + (double)c;
    double added = sum.value - product;
    error = (product - (sum.value - added)) + ((double)c - added); /* Knuth's: what the sum lost */
    /* Its last bit is set where anything was lost; a step towards zero first where the loss has the other sign. */
    long long lost = error != 0.0, other = (error < 0.0) != (sum.value < 0.0);
    sum.bits = (sum.bits - (lost & other)) | lost;
    return (float)sum.value;
}
#define __builtin_fmaf wm_fma_by_doubles // NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

#endif

#endif
