/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the random numbers random? Chi-square against the exact law, Kolmogorov-Smirnov, moments, bit balance,
 * correlation between neighbours, halves of pairs, substreams and folded keys. Seeds are fixed, so each p-value is a
 * fixed number: bounds of 1e-6 fail for a fault of the generator or of its layout, not by bad luck.
 */
#include "reference/random_fill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1 << 22 };
static const double LEAST = 1e-6;
static const wmRandomKey KEY = {0x5eed5eed5eedull, 11};

/* ---- Laws ---- */

static double normal_cdf(double z) {
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

/* Probability that a standard normal lies further out than |z|. */
static double two_sided(double z) {
    return erfc(fabs(z) * 0.70710678118654752440);
}

/* Upper tail of chi-square with many degrees of freedom: Wilson and Hilferty's cube root. */
static double chi_square_tail(double x, double freedom) {
    double s = 2 / (9 * freedom);
    return 1 - normal_cdf((cbrt(x / freedom) - 1 + s) / sqrt(s));
}

/* Kolmogorov's limit for the largest distance d between an empirical and the true distribution. */
static double kolmogorov_tail(double d, double n) {
    double x = (sqrt(n) + 0.12 + 0.11 / sqrt(n)) * d, sum = 0;
    for (int k = 1; k < 60; k++) sum += (k % 2 ? 2 : -2) * exp(-2 * k * k * x * x);
    return x < 0.3 ? 1 : sum;
}

static void good(const char *what, double p) {
    if (!(p >= LEAST)) printf("%s: p = %g\n", what, p);
    assert_true(p >= LEAST);
}

/* Both tails: counts that fit too well are a fault as well. */
static void good_counts(const char *what, const double *count, int cells, double each) {
    double x = 0;
    for (int i = 0; i < cells; i++) x += (count[i] - each) * (count[i] - each) / each;
    double p = chi_square_tail(x, cells - 1);
    good(what, fmin(p, 1 - p) * 2);
}

/* ---- Draws ---- */

static void *draw(int kind, int element, wmRandomKey key, uint64_t offset, int64_t count) {
    wm_random_job job = {
        kind, element, key, {1, 0, 1, 0},
           WM_PHILOX4X32_10
    };
    wm_random_blocks bodies[WM_RANDOM_BODIES];
    void *out = malloc((size_t)(count * element));
    assert_non_null(out);
    wm_random_fill(&job, bodies[wm_random_bodies(bodies, NULL) - 1], offset, count, out);
    return out;
}

/* ---- Bits ---- */

static void bits_are_balanced(void **unused) {
    (void)unused;
    unsigned *w = draw(WM_DRAW_BITS, 4, KEY, 0, N);
    static double byte[4][256], pair[65536], ones[32], flips[32];
    for (int i = 0; i < N; i++) {
        unsigned change = w[i] ^ w[i ? i - 1 : N - 1];
        for (int k = 0; k < 4; k++) byte[k][w[i] >> 8 * k & 255]++;
        for (int k = 0; k < 32; k++) ones[k] += w[i] >> k & 1, flips[k] += change >> k & 1;
        pair[(w[i] & 255) << 8 | (w[i ? i - 1 : N - 1] >> 24)]++;
    }
    for (int k = 0; k < 4; k++) good_counts("bytes", byte[k], 256, N / 256.0);
    good_counts("first byte beside the last word's last", pair, 65536, N / 65536.0);
    for (int k = 0; k < 32; k++) {
        good("ones of a bit", two_sided((ones[k] - N / 2.0) / sqrt(N / 4.0)));
        good("changes of a bit", two_sided((flips[k] - N / 2.0) / sqrt(N / 4.0)));
    }
    free(w);
}

/* Agreement of every bit between two sequences of words. */
static void unrelated_words(const char *what, const unsigned *a, const unsigned *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += __builtin_popcount(a[i] ^ b[i]);
    good(what, two_sided((sum - 16.0 * n) / sqrt(8.0 * n)));
}

static void sequences_are_unrelated(void **unused) {
    (void)unused;
    enum { M = N / 4 };
    const struct {
        wmRandomKey key;
        uint64_t offset;
    } sequence[] = {
        {KEY,                           0          },
        {{KEY.seed, KEY.substream + 1}, 0          },
        {{KEY.seed + 1, KEY.substream}, 0          },
        {wmRandomKeyFold(KEY,           0),          0},
        {wmRandomKeyFold(KEY,                             1),                      0},
        {wmRandomKeyFold(KEY,                            1ull << 63),                  0},
        {KEY,M},
        {KEY,                           1ull << 34                                              },
        {KEY,                           1ull << 63 },
    };
    enum { SEQUENCES = sizeof sequence / sizeof *sequence };
    unsigned *words[SEQUENCES];
    for (int i = 0; i < SEQUENCES; i++) words[i] = draw(WM_DRAW_BITS, 4, sequence[i].key, sequence[i].offset, M);
    for (int i = 0; i < SEQUENCES; i++)
        for (int k = 0; k < i; k++) unrelated_words("two sequences", words[i], words[k], M);
    for (int i = 0; i < SEQUENCES; i++) free(words[i]);
}

/* ---- Floating point: cells of equal probability, largest distance, moments, neighbours ---- */

enum { CELLS = 4096, SIDE = 32 };

/* `u` are the values put through their own distribution function: uniform if that is theirs. */
static void uniform_cells(const char *what, const double *u, int n) {
    static double count[CELLS], joint[SIDE * SIDE];
    memset(count, 0, sizeof count);
    for (int i = 0; i < n; i++) {
        int cell = (int)(u[i] * CELLS);
        count[cell < CELLS ? cell : CELLS - 1]++;
    }
    good_counts(what, count, CELLS, (double)n / CELLS);
    double below = 0, distance = 0;
    for (int i = 0; i < CELLS; i++) {
        below += count[i];
        distance = fmax(distance, fabs(below / n - (i + 1.0) / CELLS));
    }
    good(what, kolmogorov_tail(distance, n));
    for (int lag = 1; lag <= 4; lag++) { /* lag 1 holds the halves of a pair and of a block */
        memset(joint, 0, sizeof joint);
        for (int i = 0; i < n; i++)
            joint[(int)fmin(u[i] * SIDE, SIDE - 1) * SIDE + (int)fmin(u[(i + lag) % n] * SIDE, SIDE - 1)]++;
        good_counts(what, joint, SIDE * SIDE, (double)n / (SIDE * SIDE));
    }
}

static void uniforms(void **unused) {
    (void)unused;
    float *f = draw(WM_DRAW_UNIFORM_F32, 4, KEY, 1, N);
    double *d = draw(WM_DRAW_UNIFORM_F64, 8, KEY, 1, N), *u = malloc(N * sizeof *u);
    assert_non_null(u);
    for (int i = 0; i < N; i++) {
        assert_true(f[i] >= 0 && f[i] < 1 && d[i] >= 0 && d[i] < 1);
        u[i] = f[i];
    }
    uniform_cells("uniform f32", u, N);
    uniform_cells("uniform f64", d, N);
    for (int i = 0; i < N; i++) u[i] = fmod(d[i] * 0x1p30, 1); /* the lower 23 bits */
    uniform_cells("uniform f64, lower bits", u, N);
    free(f), free(d), free(u);
}

/* Mean of z^k over its standard error, from the exact moments of a normal. */
static void moments(const char *what, const double *z, int n) {
    double sum[5] = {0};
    for (int i = 0; i < n; i++)
        for (int k = 1; k <= 4; k++) sum[k] += pow(z[i], k);
    static const double mean[] = {1, 0, 1, 0, 3}, square[] = {1, 1, 3, 15, 105};
    for (int k = 1; k <= 4; k++)
        good(what, two_sided((sum[k] / n - mean[k]) / sqrt((square[k] - mean[k] * mean[k]) / n)));
}

/* How many lie beyond t: binomial, few, so the exact Poisson tail on either side. */
static void tails(const char *what, const double *z, int n) {
    for (int half = 6; half <= 10; half++) {
        double t = 0.5 * half, expected = n * two_sided(t), seen = 0, term = exp(-expected), below = 0, at = 0;
        for (int i = 0; i < n; i++) seen += fabs(z[i]) > t;
        if (expected > 200) {
            good(what, two_sided((seen - expected) / sqrt(expected)));
            continue;
        }
        for (int k = 0; k <= seen; k++) {
            below += at, at = term;
            term *= expected / (k + 1);
        }
        good(what, fmin(1, 2 * fmin(below + at, 1 - below)));
    }
}

static void normals_of(const char *what, double *z, int n) {
    moments(what, z, n);
    tails(what, z, n);
    double *r = malloc((size_t)n / 2 * sizeof *r);
    assert_non_null(r);
    for (int i = 0; i + 1 < n; i += 2) r[i / 2] = exp(-0.5 * (z[i] * z[i] + z[i + 1] * z[i + 1]));
    uniform_cells(what, r, n / 2); /* the radius that a pair shares */
    for (int i = 0; i + 1 < n; i += 2) r[i / 2] = 0.5 + atan2(z[i], z[i + 1]) * 0.15915494309189533577;
    uniform_cells(what, r, n / 2); /* and its direction */
    for (int i = 0; i < n; i++) z[i] = normal_cdf(z[i]);
    uniform_cells(what, z, n);
    free(r);
}

static void normals(void **unused) {
    (void)unused;
    float *f = draw(WM_DRAW_NORMAL_F32, 4, KEY, 0, N);
    double *z = draw(WM_DRAW_NORMAL_F64, 8, KEY, 0, N);
    normals_of("normal f64", z, N);
    for (int i = 0; i < N; i++) z[i] = f[i];
    normals_of("normal f32", z, N);
    free(f), free(z);
}

/* The same element of many folded keys: what a simulation that folds its step into the key sees. */
static void across_keys(void **unused) {
    (void)unused;
    enum { M = 1 << 20 };
    double *u = malloc(M * sizeof *u);
    assert_non_null(u);
    for (int i = 0; i < M; i++) u[i] = wmUniformF64(wmRandomKeyFold(KEY, (unsigned)i), 5);
    uniform_cells("one element of many keys", u, M);
    for (int i = 0; i < M; i++) u[i] = wmUniformF64(wmRandomKeyMake((unsigned)i), 5);
    uniform_cells("one element of consecutive seeds", u, M);
    for (int i = 0; i < M; i++) {
        wmRandomKey key = {KEY.seed, (unsigned)i};
        u[i] = normal_cdf(wmNormalF64(key, 5));
    }
    uniform_cells("one element of consecutive substreams", u, M);
    free(u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_balanced), cmocka_unit_test(sequences_are_unrelated),
        cmocka_unit_test(uniforms),          cmocka_unit_test(normals),
        cmocka_unit_test(across_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
