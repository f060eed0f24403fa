/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the spectrum Z of a complex line of h = n / 2 points (even samples + i odd samples) and the half spectrum X
 * of the real line of n = 2h points, w = exp(-2 pi i / n): X[k] = E[k] + w^k O[k],  E[k] = (Z[k] + conj Z[h - k]) / 2,
 * O[k] = (Z[k] - conj Z[h - k]) / 2i,  0 <= k <= h. Odd n has no such pairs: its line is complex with a zero imaginary
 * part. Typed code; included by fft_lines.h.
 */
#ifndef WM_REFERENCE_FFT_REAL_H
#define WM_REFERENCE_FFT_REAL_H

/** Z of h points (lanes) to X of h + 1 points. */
static void lanes_to_half(const wm_fft_axis *axis, const cvec *z, cvec *x) {
    int64_t h = axis->n / 2;
    const real *w = axis->half;
    for (int64_t k = 0; k <= h / 2; k++) {
        cvec a = z[k], b = z[k ? h - k : 0];
        cvec even = {(a.re + b.re) * (real)0.5, (a.im - b.im) * (real)0.5};
        cvec odd = {(a.im + b.im) * (real)0.5, (b.re - a.re) * (real)0.5};
        odd = mul_root(odd, w[2 * k], w[2 * k + 1]);
        cvec low = add(even, odd), high = {even.re - odd.re, odd.im - even.im};
        x[k] = low;
        if (2 * k != h) x[h - k] = high;
    }
}

/**
 * X of n / 2 + 1 points (lanes) to the line to transform: for even n, Z of h points with its parts swapped (an inverse
 * transform); for odd n, all n points of the conjugate spectrum. What X holds as imaginary parts of real bins is
 * ignored.
 */
static void lanes_from_half(const wm_fft_axis *axis, cvec *x, cvec *z) {
    int64_t n = axis->n, h = n / 2;
    const real *w = axis->half;
    const vec zero = {0};
    x[0].im = zero;
    if (!axis->inverse)
        for (int64_t k = 1; k <= h; k++) x[k].im = -x[k].im;
    if (n % 2) {
        z[0] = x[0];
        for (int64_t k = 1; k <= h; k++) {
            z[n - k] = x[k];
            z[k].re = x[k].re, z[k].im = -x[k].im;
        }
        return;
    }
    x[h].im = zero;
    for (int64_t k = 0; k <= h / 2; k++) {
        cvec a = x[k], b = x[h - k];
        cvec even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
        odd = mul_root(odd, w[2 * k], -w[2 * k + 1]);
        cvec low = {even.im + odd.re, even.re - odd.im}, high = {odd.re - even.im, even.re + odd.im};
        z[k] = low;
        if (k && 2 * k != h) z[h - k] = high;
    }
}

/** The same for one line: k from begin to end - 1, of n / 2 + 1. */
static void line_to_half(const wm_fft_axis *axis, const real *z, int64_t begin, int64_t end, view to) {
    int64_t h = axis->n / 2;
    const real *w = axis->half;
    real scale = (real)axis->scale, sign = axis->inverse ? -scale : scale;
    if (axis->n % 2) {
        for (int64_t k = begin; k < end; k++) {
            real *at = to.base + to.step * k;
            at[0] = z[2 * k] * scale, at[1] = z[2 * k + 1] * sign;
        }
        return;
    }
    scale *= (real)0.5, sign *= (real)0.5;
    for (int64_t k = begin; k < smaller(end, h / 2 + 1); k++) {
        const real *a = z + 2 * k, *b = z + 2 * (k ? h - k : 0);
        real even_re = a[0] + b[0], even_im = a[1] - b[1], p = a[1] + b[1], q = b[0] - a[0];
        real odd_re = p * w[2 * k] - q * w[2 * k + 1], odd_im = p * w[2 * k + 1] + q * w[2 * k];
        real *low = to.base + to.step * k, *high = to.base + to.step * (h - k);
        high[0] = (even_re - odd_re) * scale, high[1] = (odd_im - even_im) * sign;
        low[0] = (even_re + odd_re) * scale, low[1] = (even_im + odd_im) * sign;
    }
}

static void line_from_half(const wm_fft_axis *axis, view from, int64_t begin, int64_t end, real *z) {
    int64_t n = axis->n, h = n / 2;
    const real *w = axis->half;
    real sign = axis->inverse ? 1 : -1;
    for (int64_t k = begin; n % 2 && k < end; k++) {
        const real *a = from.base + from.step * k;
        real im = k ? a[1] * sign : 0;
        z[2 * k] = a[0], z[2 * k + 1] = -im;
        if (k) z[2 * (n - k)] = a[0], z[2 * (n - k) + 1] = im;
    }
    for (int64_t k = begin; n % 2 == 0 && k < smaller(end, h / 2 + 1); k++) {
        const real *a = from.base + from.step * k, *b = from.base + from.step * (h - k);
        real a_im = k ? a[1] * sign : 0, b_im = k ? b[1] * sign : 0;
        real even_re = a[0] + b[0], even_im = a_im - b_im, p = a[0] - b[0], q = a_im + b_im;
        real odd_re = p * w[2 * k] + q * w[2 * k + 1], odd_im = q * w[2 * k] - p * w[2 * k + 1];
        z[2 * k] = even_im + odd_re, z[2 * k + 1] = even_re - odd_im;
        if (k && 2 * k != h) z[2 * (h - k)] = odd_re - even_im, z[2 * (h - k) + 1] = even_re + odd_im;
    }
}

#endif
