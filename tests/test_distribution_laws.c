/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the distributions follow their laws? Chi-square in cells of known probability and moments, through the public
 * calls on the CPU place. Seeds are fixed, so each p-value is a fixed number: bounds of 1e-6 fail for a fault, not by
 * bad luck.
 */
#include "reference/number.h"

#include <warpmath/warpmath.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1 << 20, CELLS = 1024 };
static const double LEAST = 1e-6;
static wmContext *context;

/* ---- Laws ---- */

static double normal_cdf(double z) {
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

/* Upper tail of chi-square with many degrees of freedom: Wilson and Hilferty's cube root. */
static double chi_square_tail(double x, double freedom) {
    double s = 2 / (9 * freedom);
    return 1 - normal_cdf((cbrt(x / freedom) - 1 + s) / sqrt(s));
}

static void good(const char *what, double p) {
    if (!(p >= LEAST)) print_error("%s: p = %g\n", what, p);
    assert_true(p >= LEAST);
}

/* Both tails: counts that fit too well are a fault as well. Cells of few expected counts are put together. */
static void good_counts(const char *what, const double *count, const double *expected, int cells) {
    double x = 0, seen = 0, due = 0;
    int freedom = -1;
    for (int i = 0; i < cells; i++) {
        seen += count[i], due += expected[i];
        if (due < 25 && i + 1 < cells) continue;
        if (due > 0)
            x += (seen - due) * (seen - due) / due, freedom++;
        else
            assert_true(seen == 0);
        seen = due = 0;
    }
    if (freedom < 1) return;
    double p = chi_square_tail(x, freedom);
    good(what, fmin(p, 1 - p) * 2);
}

/* ---- Draws ---- */

/* N elements of the problem as doubles. */
static double *draws(const char *problem, wmRandomArgs args) {
    wmPlan *plan = NULL;
    void *out = malloc(8 * N);
    double *x = malloc(N * sizeof *x);
    assert_non_null(out);
    assert_non_null(x);
    assert_int_equal(wmPlanCreate(&plan, context, problem, NULL), WM_OK);
    args.out = out, args.count = N, args.key = (wmRandomKey){0x5eed5eed5eedull, 11};
    if (wmRandomExecute(plan, &args, NULL) != WM_OK) fail_msg("%s: %s", problem, wmLastError());
    char type[16];
    sscanf(problem, "random %*s %15s", type);
    for (int i = 0; i < N; i++) {
        if (strcmp(type, "u64") == 0)
            x[i] = (double)((uint64_t *)out)[i];
        else if (strcmp(type, "i64") == 0)
            x[i] = (double)((int64_t *)out)[i];
        else if (strcmp(type, "u32") == 0)
            x[i] = ((uint32_t *)out)[i];
        else if (strcmp(type, "i32") == 0)
            x[i] = ((int32_t *)out)[i];
        else if (strcmp(type, "u16") == 0)
            x[i] = ((uint16_t *)out)[i];
        else if (strcmp(type, "u8") == 0)
            x[i] = ((uint8_t *)out)[i];
        else if (strcmp(type, "i8") == 0)
            x[i] = ((int8_t *)out)[i];
        else
            x[i] = wm_number_load(strcmp(type, "f16") == 0    ? WM_F16
                                  : strcmp(type, "bf16") == 0 ? WM_BF16
                                  : strcmp(type, "f32") == 0  ? WM_F32
                                                              : WM_F64,
                                  out, i)
                       .re;
    }
    free(out);
    wmPlanDestroy(plan);
    return x;
}

static wmRandomArgs none(void) {
    return wmRandomArgsDefault(NULL, 0, wmRandomKeyMake(0));
}

/* Values in cells of equal probability by their distribution function. */
static void continuous(const char *problem, wmRandomArgs args, double (*cdf)(double x, const wmRandomArgs *args)) {
    static double count[CELLS], expected[CELLS];
    double *x = draws(problem, args);
    memset(count, 0, sizeof count);
    for (int i = 0; i < N; i++) {
        double u = cdf(x[i], &args);
        assert_true(u >= 0 && u <= 1);
        count[(int)fmin(u * CELLS, CELLS - 1)]++;
    }
    for (int i = 0; i < CELLS; i++) expected[i] = (double)N / CELLS;
    good_counts(problem, count, expected, CELLS);
    free(x);
}

/* Integers low … low + cells - 1, each of probability pmf(k), what is beyond put into the ends. */
static void discrete(const char *problem, wmRandomArgs args, double low, int cells,
                     double (*pmf)(double k, const wmRandomArgs *args)) {
    double *x = draws(problem, args), *count = calloc((size_t)cells, 8), *expected = calloc((size_t)cells, 8), rest = 1;
    for (int i = 0; i < N; i++) count[(int)fmax(0, fmin(x[i] - low, cells - 1))]++;
    for (int i = 0; i < cells; i++) expected[i] = N * pmf(low + i, &args), rest -= expected[i] / N;
    expected[cells - 1] += N * fmax(rest, 0);
    good_counts(problem, count, expected, cells);
    free(x), free(count), free(expected);
}

/* ---- The distributions ---- */

static double uniform_cdf(double x, const wmRandomArgs *a) {
    return (x - a->low) / (a->high - a->low);
}
static double exponential_cdf(double x, const wmRandomArgs *a) {
    return -expm1(-a->rate * x);
}
static double lognormal_cdf(double x, const wmRandomArgs *a) {
    return normal_cdf((log(x) - a->mean) / a->std);
}
static double integers_pmf(double k, const wmRandomArgs *a) {
    return k >= (double)a->base && k < (double)a->base + (double)a->span ? 1 / (double)a->span : 0;
}

static void uniforms(void **unused) {
    (void)unused;
    wmRandomArgs a = none();
    a.low = 0, a.high = 1;
    continuous("random uniform f32 interval=open", a, uniform_cdf);
    continuous("random uniform f64 interval=open_closed", a, uniform_cdf);
    a.low = -2.5, a.high = 7.25;
    continuous("random uniform f64 interval=open", a, uniform_cdf);
    /* In 16 bits: the means of the values, whose steps are 2^-16 and up. */
    static const char *const narrow[] = {"random uniform f16", "random uniform bf16",
                                         "random uniform bf16 interval=open_closed"};
    for (int k = 0; k < 3; k++) {
        double *x = draws(narrow[k], none()), below = 0;
        for (int i = 0; i < N; i++) below += x[i] < 0.375;
        double z = (below - 0.375 * N) / sqrt(N * 0.375 * 0.625);
        good(narrow[k], 2 * normal_cdf(-fabs(z)));
        free(x);
    }
}

static void exponentials(void **unused) {
    (void)unused;
    wmRandomArgs a = none();
    a.rate = 2.5;
    continuous("random exponential f32", a, exponential_cdf);
    continuous("random exponential f64", a, exponential_cdf);
    a.mean = 0.5, a.std = 0.75;
    continuous("random lognormal f32", a, lognormal_cdf);
    continuous("random lognormal f64", a, lognormal_cdf);
}

static void integers(void **unused) {
    (void)unused;
    wmRandomArgs a = none();
    a.base = 1, a.span = 6;
    discrete("random integers u8", a, 0, 8, integers_pmf);
    a.base = -100, a.span = 201;
    discrete("random integers i8", a, -100, 201, integers_pmf);
    a.base = 7, a.span = 1000;
    discrete("random integers u16", a, 7, 1000, integers_pmf);
    discrete("random integers u32", a, 7, 1000, integers_pmf);
    discrete("random integers i64", a, 7, 1000, integers_pmf);
    a.base = 0, a.span = 0x80000001u; /* every second draw is rejected */
    double *x = draws("random integers u32", a), count[CELLS] = {0}, expected[CELLS];
    for (int i = 0; i < N; i++) count[(int)(x[i] / (double)a.span * CELLS)]++;
    for (int i = 0; i < CELLS; i++) expected[i] = (double)N / CELLS;
    good_counts("rejecting integers", count, expected, CELLS);
    free(x);
}

static void coins(void **unused) {
    (void)unused;
    static const double p[] = {0.5, 0.3, 0.999, 1e-4};
    for (int k = 0; k < 4; k++) {
        wmRandomArgs a = none();
        a.p = p[k];
        double *x = draws("random bernoulli u8", a), ones = 0, pairs = 0, far = 0;
        for (int i = 0; i < N; i++) ones += x[i], pairs += x[i] * x[(i + 1) % N], far += x[i] * x[(i + 32) % N];
        double both = p[k] * p[k], spread = sqrt(N * both * (1 - both + 2 * p[k] * (1 - p[k])));
        good("Bernoulli", 2 * normal_cdf(-fabs(ones - N * p[k]) / sqrt(N * p[k] * (1 - p[k]))));
        if (N * both > 25) {
            good("Bernoulli, neighbours", 2 * normal_cdf(-fabs(pairs - N * both) / spread));
            good("Bernoulli, neighbouring masks", 2 * normal_cdf(-fabs(far - N * both) / spread));
        }
        free(x);
    }
}

static int set_up(void **unused) {
    wmContextOptions options = wmContextOptionsDefault();
    (void)unused;
    options.place = WM_PLACE_CPU, options.wisdom_path = "";
    return wmContextCreate(&context, &options) != WM_OK;
}

static int tear_down(void **unused) {
    (void)unused;
    wmContextDestroy(context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniforms),
        cmocka_unit_test(exponentials),
        cmocka_unit_test(integers),
        cmocka_unit_test(coins),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
