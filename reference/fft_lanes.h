/* SPDX-License-Identifier: Apache-2.0 */
/* Lane transforms: Stockham passes and Bluestein's algorithm on LANES lines at once. Typed code; see fft_core.h. */
#ifndef WM_REFERENCE_FFT_LANES_H
#define WM_REFERENCE_FFT_LANES_H

#include "fft_core.h"
#include "fft_type.h"

INLINE void butterfly4(cvec *a, cvec *b, cvec *c, cvec *d) {
    cvec s = add(*a, *c), t = sub(*a, *c), u = add(*b, *d), v = turn(sub(*b, *d));
    *a = add(s, u), *b = add(t, v), *c = sub(s, u), *d = sub(t, v);
}

INLINE void butterfly8(cvec *v) {
    const real half = (real)0.70710678118654752440084436210484903928;
    cvec a[4] = {v[0], v[2], v[4], v[6]}, b[4] = {v[1], v[3], v[5], v[7]};
    butterfly4(&a[0], &a[1], &a[2], &a[3]);
    butterfly4(&b[0], &b[1], &b[2], &b[3]);
    cvec b1 = {half * (b[1].re + b[1].im), half * (b[1].im - b[1].re)};
    cvec b2 = turn(b[2]);
    cvec b3 = {half * (b[3].im - b[3].re), -half * (b[3].re + b[3].im)};
    v[0] = add(a[0], b[0]), v[4] = sub(a[0], b[0]);
    v[1] = add(a[1], b1), v[5] = sub(a[1], b1);
    v[2] = add(a[2], b2), v[6] = sub(a[2], b2);
    v[3] = add(a[3], b3), v[7] = sub(a[3], b3);
}

/**
 * Odd radix: sums and differences of x[j] and x[r - j] make the cosine and the sine part of outputs k and r - k, at
 * (r - 1)^2 / 2 multiplications of a vector by a constant. roots: cosine, sine of 2 pi jk / r, row k, column j.
 */
INLINE void butterfly_odd(int r, cvec *v, const real *roots) {
    int half = (r - 1) / 2;
    cvec sum[WM_LINE_MAX_RADIX / 2], dif[WM_LINE_MAX_RADIX / 2], first = v[0], total = v[0];
    for (int j = 0; j < half; j++) {
        sum[j] = add(v[j + 1], v[r - 1 - j]);
        dif[j] = sub(v[j + 1], v[r - 1 - j]);
        total = add(total, sum[j]);
    }
    for (int k = 0; k < half; k++) {
        const real *w = roots + (int64_t)2 * half * k;
        cvec even = first, odd = {dif[0].re * w[1], dif[0].im * w[1]};
        for (int j = 0; j < half; j++) even.re += sum[j].re * w[2 * j], even.im += sum[j].im * w[2 * j];
        for (int j = 1; j < half; j++) odd.re += dif[j].re * w[2 * j + 1], odd.im += dif[j].im * w[2 * j + 1];
        v[k + 1] = add(even, turn(odd));
        v[r - 1 - k] = sub(even, turn(odd));
    }
    v[0] = total;
}

INLINE void butterfly(int r, cvec *v, const real *roots) {
    cvec t = v[0];
    if (r == 2) {
        v[0] = add(t, v[1]), v[1] = sub(t, v[1]);
    } else if (r == 4) {
        butterfly4(&v[0], &v[1], &v[2], &v[3]);
    } else if (r == 8) {
        butterfly8(v);
    } else {
        butterfly_odd(r, v, roots);
    }
}

INLINE void pass_row(int r, int64_t s, int64_t gap, const cvec *restrict x, cvec *restrict y, const real *w,
                     const real *roots) {
    for (int64_t q = 0; q < s; q++) {
        cvec v[WM_LINE_MAX_RADIX];
        v[0] = x[q];
        for (int k = 1; k < r; k++) v[k] = x[q + gap * k];
        butterfly(r, v, roots);
        y[q] = v[0];
        for (int k = 1; k < r; k++) y[q + s * k] = w ? mul_root(v[k], w[2 * k - 2], w[2 * k - 1]) : v[k];
    }
}

INLINE void pass_any(int r, const wm_fft_step *step, const real *table, const cvec *restrict x, cvec *restrict y) {
    int64_t m = step->m, s = step->s;
    const real *w = table + step->twiddle, *roots = table + step->roots;
    pass_row(r, s, s * m, x, y, NULL, roots); /* p = 0: all twiddles are 1 */
    for (int64_t p = 1; p < m; p++, w += 2 * (r - 1)) pass_row(r, s, s * m, x + s * p, y + s * r * p, w, roots);
}

static void pass(const wm_fft_step *step, const real *table, const cvec *x, cvec *y) {
    switch (step->radix) {
    case 2:
        pass_any(2, step, table, x, y);
        break;
    case 3:
        pass_any(3, step, table, x, y);
        break;
    case 4:
        pass_any(4, step, table, x, y);
        break;
    case 5:
        pass_any(5, step, table, x, y);
        break;
    case 7:
        pass_any(7, step, table, x, y);
        break;
    case 8:
        pass_any(8, step, table, x, y);
        break;
    case 11:
        pass_any(11, step, table, x, y);
        break;
    case 13:
        pass_any(13, step, table, x, y);
        break;
    default:
        pass_any(step->radix, step, table, x, y);
    }
}

/** All passes, to and fro between two buffers; returns the one that holds the result. */
static cvec *run_passes(const wm_fft_lane *lane, cvec *x, cvec *y) {
    for (int i = 0; i < lane->steps; i++) {
        pass(&lane->step[i], lane->table, x, y);
        cvec *t = x;
        x = y, y = t;
    }
    return x;
}

/**
 * The lane transform of x, length lane->n, through either buffer (lane->length long each). Bluestein: jk = (j^2 + k^2 -
 * (k - j)^2) / 2 makes the transform a convolution with a chirp. Its inverse transform is a forward one of the spectrum
 * with real and imaginary parts swapped, swapped back.
 */
static cvec *run_lane(const wm_fft_lane *lane, cvec *x, cvec *y) {
    if (lane->length == lane->n) return run_passes(lane, x, y);
    const real *table = lane->table, *chirp = table + lane->chirp, *spectrum = table + lane->spectrum;
    const cvec zero = {{0}, {0}};
    for (int64_t k = 0; k < lane->n; k++) x[k] = mul_root(x[k], chirp[2 * k], chirp[2 * k + 1]);
    for (int64_t k = lane->n; k < lane->length; k++) x[k] = zero;
    cvec *z = run_passes(lane, x, y);
    for (int64_t k = 0; k < lane->length; k++) {
        cvec t = mul_root(z[k], spectrum[2 * k], spectrum[2 * k + 1]);
        z[k].re = t.im, z[k].im = t.re;
    }
    z = run_passes(lane, z, z == x ? y : x);
    for (int64_t k = 0; k < lane->n; k++) {
        cvec t = {z[k].im, z[k].re};
        z[k] = mul_root(t, chirp[2 * k], chirp[2 * k + 1]);
    }
    return z;
}

#endif
