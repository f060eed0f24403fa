/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transform by its definition: literally for chosen elements; for whole arrays axis by axis and prime factor by
 * prime factor, which a test compares with the former. A stored half spectrum stands for the whole: each of its bins
 * counts twice, once for its mirror image, except DC and (even n) Nyquist of the last axis; the real part of the sum is
 * the result. So what the imaginary parts of these bins hold does not matter, as the API promises.
 */
#include "oracle_fft.h"

#include "number.h"

#include <math.h>
#include <stdlib.h>

int wm_oracle_fft_make(wm_oracle_fft *oracle, const wmFftDesc *desc) {
    *oracle = (wm_oracle_fft){
        .desc = *desc, .in = {1, 1, 1},
             .out = {1, 1, 1},
             .scale = 1
    };
    long double points = 1;
    for (int i = 0; i < desc->rank; i++) {
        int64_t n = desc->dim[i].n, half = n / 2 + 1;
        int last = i == desc->rank - 1;
        oracle->in[i] = last && desc->kind == WM_FFT_C2R ? half : n;
        oracle->out[i] = last && desc->kind == WM_FFT_R2C ? half : n;
        points *= (long double)n;
        oracle->roots[i] = malloc((size_t)n * sizeof(wm_root));
        if (!oracle->roots[i]) return -1;
        for (int64_t k = 0; k < n; k++) {
            oracle->roots[i][k] = wm_root_of(k, n);
            if (desc->direction == WM_INVERSE) oracle->roots[i][k].im = -oracle->roots[i][k].im;
        }
    }
    if (desc->scale == WM_FFT_SCALE_BY_N) oracle->scale = 1 / points;
    if (desc->scale == WM_FFT_SCALE_BY_SQRT_N) oracle->scale = 1 / sqrtl(points);
    return 0;
}

void wm_oracle_fft_drop(wm_oracle_fft *oracle) {
    for (int i = 0; i < WM_FFT_MAX_RANK; i++) free(oracle->roots[i]);
    *oracle = (wm_oracle_fft){0};
}

static int64_t product(const int64_t *n) {
    return n[0] * n[1] * n[2];
}

int64_t wm_oracle_fft_count(const wm_oracle_fft *oracle) {
    return product(oracle->out);
}

/** Points of the longest axis. */
static int64_t longest(const wmFftDesc *d) {
    int64_t n = 1;
    for (int i = 0; i < d->rank; i++) n = d->dim[i].n > n ? d->dim[i].n : n;
    return n;
}

int64_t wm_oracle_fft_scratch(const wm_oracle_fft *oracle) {
    int64_t in = product(oracle->in), out = product(oracle->out);
    return 2 * (in > out ? in : out) + 3 * longest(&oracle->desc);
}

int64_t wm_oracle_fft_offset(const wm_oracle_fft *oracle, const int64_t *index, const int64_t *element) {
    const wmFftDesc *d = &oracle->desc;
    int64_t offset = 0;
    for (int i = 0; i < d->rank; i++) offset += element[i] * d->dim[i].out_stride;
    for (int i = 0; i < d->loops; i++) offset += index[i] * d->loop[i].out_stride;
    return offset;
}

/** The input element number j (three indices), weighted for what a half spectrum stands for. */
static wm_root input_at(const wm_oracle_fft *oracle, const void *in, const int64_t *index, const int64_t *j) {
    const wmFftDesc *d = &oracle->desc;
    int last = d->rank - 1, pairs = d->kind != WM_FFT_R2C;
    int64_t at = 0;
    for (int i = 0; i < d->rank && i < WM_FFT_MAX_RANK; i++) at += j[i] * d->dim[i].in_stride;
    for (int i = 0; i < d->loops; i++) at += index[i] * d->loop[i].in_stride;
    if (pairs) at *= 2;
    wm_root x = {0, 0};
    if (d->type == WM_F64) {
        x.re = (long double)((const double *)in)[at];
        if (pairs) x.im = (long double)((const double *)in)[at + 1];
    } else if (d->type == WM_F32) {
        x.re = (long double)((const float *)in)[at];
        if (pairs) x.im = (long double)((const float *)in)[at + 1];
    } else { /* 16 bits */
        x.re = (long double)wm_number_load(d->type, in, at).re;
        if (pairs) x.im = (long double)wm_number_load(d->type, in, at + 1).re;
    }
    if (d->kind != WM_FFT_C2R) return x;
    int own_image = j[last] == 0 || 2 * j[last] == d->dim[last].n;
    if (!own_image) x.re *= 2, x.im *= 2;
    if (own_image && d->rank == 1) x.im = 0; /* whatever it holds, a NaN even */
    return x;
}

/**
 * One line: n values x[0], x[step], … to y, by the definition for each prime factor of n: p transforms of n / p points,
 * then sums of p terms. w: the roots of `circle`, a multiple of n; spare: n values.
 */
static void transform_line(const wm_root *x, int64_t step, int64_t n, const wm_root *w, int64_t circle, wm_root *y,
                           wm_root *spare) {
    int64_t p = 2;
    while (n > 1 && n % p) p = p * p > n ? n : p + 1;
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    int64_t m = n / p, turn = circle / n;
    for (int64_t i = 0; i < p; i++) transform_line(x + i * step, step * p, m, w, circle, spare + i * m, y + i * m);
    for (int64_t k = 0; k < n; k++) {
        wm_root sum = {0, 0};
        for (int64_t i = 0, at = 0, from = k % m; i < p; i++, at = at + k < n ? at + k : at + k - n, from += m) {
            wm_root a = spare[from], b = w[at * turn];
            sum.re += a.re * b.re - a.im * b.im;
            sum.im += a.re * b.im + a.im * b.re;
        }
        y[k] = sum;
    }
}

/** x[outer][a][inner] to y[outer][b][inner]: b outputs from a inputs, the rest of n being 0. line: 3 n values. */
static void transform_axis(const wm_root *roots, int64_t n, int64_t a, int64_t b, int64_t outer, int64_t inner,
                           const wm_root *x, wm_root *y, wm_root *line) {
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t j = 0; j < n; j++) line[j] = j < a ? x[(o * a + j) * inner + i] : (wm_root){0, 0};
            transform_line(line, 1, n, roots, n, line + n, line + 2 * n);
            for (int64_t k = 0; k < b; k++) y[(o * b + k) * inner + i] = line[n + k];
        }
}

const wm_root *wm_oracle_fft_array(const wm_oracle_fft *oracle, const void *in, const int64_t *index,
                                   wm_root *scratch) {
    const int64_t *n = oracle->in;
    int64_t j[3] = {0, 0, 0}, at = 0, extent[3] = {n[0], n[1], n[2]};
    int64_t lines = 3 * longest(&oracle->desc);
    wm_root *x = scratch + lines, *y = x + (wm_oracle_fft_scratch(oracle) - lines) / 2;
    for (j[0] = 0; j[0] < n[0]; j[0]++)
        for (j[1] = 0; j[1] < n[1]; j[1]++)
            for (j[2] = 0; j[2] < n[2]; j[2]++) x[at++] = input_at(oracle, in, index, j);
    for (int i = 0; i < oracle->desc.rank; i++) {
        int64_t outer = 1, inner = 1;
        for (int k = 0; k < i; k++) outer *= extent[k];
        for (int k = i + 1; k < 3; k++) inner *= extent[k];
        transform_axis(oracle->roots[i], oracle->desc.dim[i].n, extent[i], oracle->out[i], outer, inner, x, y, scratch);
        extent[i] = oracle->out[i];
        wm_root *t = x;
        x = y, y = t;
    }
    for (int64_t k = 0; k < product(oracle->out); k++) x[k].re *= oracle->scale, x[k].im *= oracle->scale;
    return x;
}

static int64_t times(int64_t a, int64_t b, int64_t n) {
    return (int64_t)((unsigned __int128)a * (unsigned __int128)b % (unsigned __int128)n);
}

wm_root wm_oracle_fft_value(const wm_oracle_fft *oracle, const void *in, const int64_t *index, const int64_t *element) {
    const wmFftDesc *d = &oracle->desc;
    const int64_t *n = oracle->in;
    wm_root sum = {0, 0};
    int64_t j[3] = {0, 0, 0};
    for (j[0] = 0; j[0] < n[0]; j[0]++)
        for (j[1] = 0; j[1] < n[1]; j[1]++)
            for (j[2] = 0; j[2] < n[2]; j[2]++) {
                wm_root v = input_at(oracle, in, index, j);
                for (int i = 0; i < d->rank && i < WM_FFT_MAX_RANK; i++) {
                    wm_root w = oracle->roots[i][times(j[i], element[i], d->dim[i].n)];
                    v = (wm_root){v.re * w.re - v.im * w.im, v.re * w.im + v.im * w.re};
                }
                sum.re += v.re, sum.im += v.im;
            }
    sum.re *= oracle->scale, sum.im *= oracle->scale;
    return sum;
}
