/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a cut: twiddles, and for Rader and Bluestein the spectrum of the other factor; exact, rounded once. */
#include "fft_cut.h"
#include "reference/fft_roots.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };

static size_t place(size_t *bytes, size_t size) {
    size_t at = *bytes;
    *bytes = (at + size + ALIGN - 1) / ALIGN * ALIGN;
    return size ? at : SIZE_MAX;
}

static void put(const wm_fft_cut *c, void *table, int64_t at, wm_root w) {
    if (c->f64) {
        ((double *)table)[2 * at] = (double)w.re;
        ((double *)table)[2 * at + 1] = (double)w.im;
    } else {
        ((float *)table)[2 * at] = (float)w.re;
        ((float *)table)[2 * at + 1] = (float)w.im;
    }
}

static int64_t twiddle_count(const wm_fft_cut *c) {
    int64_t count = 0;
    for (int p = 0, weight = c->n; p < c->passes; p++) {
        weight /= c->radix[p];
        if (p + 1 < c->passes) count += (int64_t)(c->radix[p] - 1) * weight;
    }
    return count;
}

static void make_twiddles(const wm_fft_cut *c, const wm_roots *roots, void *table) {
    int64_t at = 0;
    for (int p = 0, weight = c->n, turn = 1; p + 1 < c->passes; p++) {
        weight /= c->radix[p]; /* w is the root of weight · radix = n / turn points */
        for (int k = 1; k < c->radix[p]; k++)
            for (int low = 0; low < weight; low++) put(c, table, at++, wm_roots_get(roots, (int64_t)low * k * turn));
        turn *= c->radix[p];
    }
}

/** x[0], x[step], … of n values to its transform, by the smallest prime factor. */
static int transform(const wm_root *x, int64_t step, int64_t n, const wm_roots *roots, wm_root *y) {
    int64_t p = 2, circle = roots->n;
    while (n > 1 && n % p) p++;
    if (n == 1) {
        y[0] = x[0];
        return 0;
    }
    int64_t m = n / p, turn = circle / n;
    wm_root *parts = (wm_root *)malloc((size_t)n * sizeof *parts);
    if (!parts) return -1;
    int failed = 0;
    for (int64_t i = 0; i < p && !failed; i++) failed = transform(x + i * step, step * p, m, roots, parts + i * m);
    for (int64_t k = 0; k < n && !failed; k++) {
        wm_root sum = {0, 0};
        for (int64_t i = 0, at = 0; i < p; i++, at = (at + k) % n) {
            wm_root a = parts[i * m + k % m], b = wm_roots_get(roots, at * turn);
            sum.re += a.re * b.re - a.im * b.im;
            sum.im += a.re * b.im + a.im * b.re;
        }
        y[k] = sum;
    }
    free(parts);
    return failed;
}

/** The logarithms of 1 … p - 1 to a generator of the prime p. */
static void make_order(int p, int *order) {
    for (int g = 2;; g++) {
        int64_t power = 1;
        int count = 0;
        do {
            order[power] = count++;
            power = power * g % p;
        } while (power != 1);
        if (count == p - 1) break;
    }
    order[0] = 0;
}

/** The sequence that the data are convolved with, over n. */
static void make_sequence(const wm_fft_cut *c, const wm_roots *circle, const int *order, wm_root *b) {
    memset(b, 0, (size_t)c->n * sizeof *b);
    if (c->core == WM_FFT_RADER) {
        for (int k = 1; k < c->length; k++) b[(c->n - order[k]) % c->n] = wm_roots_get(circle, k);
        return;
    }
    for (int64_t k = 0; k < c->length; k++) { /* the conjugate chirp, on both sides of 0 */
        wm_root w = wm_roots_get(circle, k * k % circle->n);
        w.im = -w.im;
        b[k] = w;
        if (k) b[c->n - k] = w;
    }
}

static int make_spectrum(const wm_fft_cut *c, const wm_roots *roots, const wm_roots *circle, const int *order,
                         void *table) {
    wm_root *b = (wm_root *)malloc(2 * (size_t)c->n * sizeof *b);
    if (!b) return -1;
    make_sequence(c, circle, order, b);
    int failed = transform(b, 1, c->n, roots, b + c->n);
    for (int k = 0; k < c->n && !failed; k++) {
        wm_root w = b[c->n + k];
        put(c, table, k, (wm_root){w.re / c->n, w.im / c->n}); /* the way back does not divide */
    }
    free(b);
    return failed;
}

static int fill(const wm_fft_cut *c, const wm_fft_tables *t) {
    wm_roots roots = {0}, circle = {0}; /* of n; of length (RADER) or 2 length */
    char *data = (char *)t->data;
    int failed =
        wm_roots_make(&roots, c->n) || wm_roots_make(&circle, (c->core == WM_FFT_RADER ? 1LL : 2LL) * c->length);
    int *order = t->order == SIZE_MAX ? NULL : (int *)(void *)(data + t->order);
    if (!failed) make_twiddles(c, &roots, data + (t->twiddles == SIZE_MAX ? 0 : t->twiddles));
    if (order) make_order(c->length, order);
    if (!failed && t->spectrum != SIZE_MAX) failed = make_spectrum(c, &roots, &circle, order, data + t->spectrum);
    for (int64_t k = 0; k < c->length && t->chirp != SIZE_MAX && !failed; k++)
        put(c, data + t->chirp, k, wm_roots_get(&circle, k * k % circle.n));
    wm_roots_drop(&circle);
    if (!failed && t->half != SIZE_MAX) {
        wm_roots half = {0};
        failed = wm_roots_make(&half, 2LL * c->length);
        for (int64_t k = 0; k <= c->length && !failed; k++) put(c, data + t->half, k, wm_roots_get(&half, k));
        wm_roots_drop(&half);
    }
    wm_roots_drop(&roots);
    return failed;
}

wmStatus wm_fft_cut_tables(const wm_fft_cut *c, wm_fft_tables *t) {
    size_t size = c->f64 ? 16 : 8, length = (size_t)c->length;
    *t = (wm_fft_tables){.data = NULL};
    t->twiddles = place(&t->bytes, (size_t)twiddle_count(c) * size);
    t->spectrum = place(&t->bytes, c->core == WM_FFT_PLAIN ? 0 : (size_t)c->n * size);
    t->chirp = place(&t->bytes, c->core == WM_FFT_BLUESTEIN ? length * size : 0);
    t->order = place(&t->bytes, c->core == WM_FFT_RADER ? length * sizeof(int) : 0);
    t->half = place(&t->bytes, c->form == WM_FFT_REAL_EVEN || c->form == WM_FFT_HALF_EVEN ? (length + 1) * size : 0);
    if (!t->bytes) return WM_OK;
    t->data = calloc(1, t->bytes);
    if (t->data && fill(c, t) == 0) return WM_OK;
    free(t->data);
    t->data = NULL;
    return wm_fail(WM_ERR_MEMORY, "out of host memory for the tables of a transform of %d points", c->length);
}
