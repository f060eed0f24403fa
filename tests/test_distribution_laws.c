/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the distributions follow their laws? Chi-square in cells of known probability and moments, through the public
 * calls on the CPU place. Seeds are fixed, so each p-value is a fixed number: bounds of 1e-6 fail for a fault, not by
 * bad luck.
 */
#include "reference/number.h"

#include <warpmath/device/distributions.h>
#include <warpmath/warpmath.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1 << 20, CELLS = 1024 };
static int most = MOST, N = MOST; /* draws of a law, at most and now */
static const double LEAST = 1e-6;
static wmContext *context;
static const char *generator = ""; /* what problems end in */

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

static wmPlan *plan_of(const char *problem) {
    wmPlan *plan = NULL;
    char text[200];
    snprintf(text, sizeof text, "%s%s", problem, generator);
    if (wmPlanCreate(&plan, context, text, NULL) != WM_OK) fail_msg("%s: %s", text, wmLastError());
    return plan;
}

/* N elements of the problem as doubles. */
static double *draws(const char *problem, wmRandomArgs args) {
    wmPlan *plan = plan_of(problem);
    void *out = malloc(8 * (size_t)MOST);
    double *x = malloc(MOST * sizeof *x);
    assert_non_null(out);
    assert_non_null(x);
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

/* ---- Distribution functions by series and continued fractions (Abramowitz and Stegun 6.5.29, 6.5.31, 26.5.8) ---- */

static double gamma_cdf_of(double a, double x) {
    double scale = exp(a * log(x) - x - lgamma(a));
    if (x <= 0) return 0;
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int n = 1; n < 10000 && term > sum * 1e-17; n++) sum += term *= x / (a + n);
        return sum * scale;
    }
    double f = 0;
    for (int n = 500; n >= 1; n--) f = n * (n - a) / (2 * n + 1 + x - a - f);
    return 1 - scale / (x + 1 - a - f);
}

static double beta_cdf_of(double a, double b, double x) {
    if (x <= 0 || x >= 1) return x >= 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta_cdf_of(b, a, 1 - x);
    double f = 1;
    for (int m = 500; m >= 1; m--) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1));
        f = 1 + odd / (1 + even / f);
    }
    return exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)) / (a * f);
}

static double gamma_cdf(double x, const wmRandomArgs *a) {
    return gamma_cdf_of(a->shape, x / a->scale);
}
static double chi_square_cdf(double x, const wmRandomArgs *a) {
    return gamma_cdf_of(a->shape / 2, x / 2);
}
static double beta_cdf(double x, const wmRandomArgs *a) {
    return beta_cdf_of(a->shape, a->shape2, x);
}
static double student_cdf(double x, const wmRandomArgs *a) {
    double tail = 0.5 * beta_cdf_of(a->shape / 2, 0.5, a->shape / (a->shape + x * x));
    return x > 0 ? 1 - tail : tail;
}
static double truncated_cdf(double x, const wmRandomArgs *a) {
    double m = a->mean, s = a->std * 1.4142135623730951;
    /* From the side of the nearer tail, which keeps the digits. */
    if (a->low > m) {
        double low = erfc((a->low - m) / s), high = erfc((a->high - m) / s);
        return (low - erfc((x - m) / s)) / (low - high);
    }
    double low = erfc((m - a->low) / s), high = erfc((m - a->high) / s);
    return (erfc((m - x) / s) - low) / (high - low);
}
static double standard(double x, const wmRandomArgs *a) {
    return (x - a->location) / a->scale;
}
static double laplace_cdf(double x, const wmRandomArgs *a) {
    double z = standard(x, a);
    return z < 0 ? 0.5 * exp(z) : 1 - 0.5 * exp(-z);
}
static double logistic_cdf(double x, const wmRandomArgs *a) {
    return 1 / (1 + exp(-standard(x, a)));
}
static double cauchy_cdf(double x, const wmRandomArgs *a) {
    return 0.5 + atan(standard(x, a)) * 0.31830988618379067;
}
static double gumbel_cdf(double x, const wmRandomArgs *a) {
    return exp(-exp(-standard(x, a)));
}
static double weibull_cdf(double x, const wmRandomArgs *a) {
    return -expm1(-pow(x / a->scale, a->shape));
}

static void gammas(void **unused) {
    static const double shape[] = {0.1, 0.75, 1, 2.5, 40, 1e5}, other[] = {2.5, 40, 0.75, 1, 2.5};
    (void)unused;
    N = most / 8;
    for (int k = 0; k < 6; k++) {
        wmRandomArgs a = none();
        a.shape = shape[k], a.scale = 2;
        continuous("random gamma f64", a, gamma_cdf);
        if (k > 0 && k < 5) continuous("random chi_square f32", a, chi_square_cdf);
        if (k == 5) continue;
        a.shape2 = other[k];
        continuous("random beta f64", a, beta_cdf);
        if (k > 0) continuous("random student_t f64", a, student_cdf);
    }
}

static void truncated_normals(void **unused) {
    static const double low[] = {-1, -0.5, 2, 5, -INFINITY, 8, 1, -3.5},
                        high[] = {3, 0.25, INFINITY, 5.1, 0.5, INFINITY, 1.0009765625, -3};
    (void)unused;
    N = most / 8;
    for (int k = 0; k < 8; k++) {
        wmRandomArgs a = none();
        a.std = k % 2 ? 1 : 1.5, a.mean = k % 3 ? 0 : 0.25;
        a.low = low[k], a.high = high[k];
        continuous("random truncated_normal f64", a, truncated_cdf);
        if (k == 6) continue; /* no two bf16 */
        double *x = draws("random truncated_normal bf16", a);
        for (int i = 0; i < N; i++) assert_true(x[i] >= low[k] - 0.005 && x[i] <= high[k] + 0.01);
        free(x);
    }
}

static void transforms(void **unused) {
    wmRandomArgs a = none();
    (void)unused;
    N = most / 8;
    a.location = -1.5, a.scale = 3, a.shape = 1.75;
    continuous("random laplace f32", a, laplace_cdf);
    continuous("random logistic f64", a, logistic_cdf);
    continuous("random cauchy f32", a, cauchy_cdf);
    continuous("random gumbel f64", a, gumbel_cdf);
    continuous("random weibull f64", a, weibull_cdf);
}

/* ---- Counts ---- */

static double poisson_pmf(double k, const wmRandomArgs *a) {
    return k < 0 ? 0 : exp(k * log(a->rate) - a->rate - lgamma(k + 1));
}
static double binomial_pmf(double k, const wmRandomArgs *a) {
    double n = (double)a->trials;
    return k < 0 || k > n
               ? 0
               : exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(a->p) + (n - k) * log1p(-a->p));
}
static double geometric_pmf(double k, const wmRandomArgs *a) {
    return k < 0 ? 0 : a->p * exp(k * log1p(-a->p));
}

/* Cells around the mean, what is beyond them in the ends. */
static void counts(const char *problem, wmRandomArgs a, double mean, double variance,
                   double (*pmf)(double, const wmRandomArgs *)) {
    double reach = floor(8 * sqrt(variance) + 10), low = fmax(0, floor(mean) - reach);
    discrete(problem, a, low, (int)(floor(mean) + reach - low), pmf);
}

static void poissons(void **unused) {
    static const double rate[] = {0.01, 1, 10, 100, 2001, 5000, 16384, 16385, 1e6};
    (void)unused;
    N = most / 2;
    for (int k = 0; k < 9; k++) {
        wmRandomArgs a = none();
        a.rate = rate[k];
        counts(k % 2 ? "random poisson u32" : "random poisson i64", a, a.rate, a.rate, poisson_pmf);
        double *x = draws("random poisson u32", a), cubes = 0; /* the third moment is the rate's: no rounded normal */
        for (int i = 0; i < N; i++) cubes += pow((x[i] - a.rate) / sqrt(a.rate), 3);
        double skewness = cubes / N, spread = sqrt((15 + 25 / a.rate + 1 / (a.rate * a.rate) - 1 / a.rate) / N);
        if (a.rate >= 10) good("Poisson's skewness", 2 * normal_cdf(-fabs(skewness - 1 / sqrt(a.rate)) / spread));
        if (a.rate == 2001 && most == MOST) assert_true(skewness > 5 * spread);
        free(x);
    }
}

static void binomials(void **unused) {
    static const double p[] = {0.3, 0.3, 0.9, 0.5, 0.97, 1e-5};
    static const uint64_t trials[] = {10, 1000, 100000, 1000000, 1000000, 4000000000u};
    (void)unused;
    N = most / 4;
    for (int k = 0; k < 6; k++) {
        wmRandomArgs a = none();
        a.p = p[k], a.trials = trials[k];
        counts("random binomial u32", a, (double)a.trials * a.p, (double)a.trials * a.p * (1 - a.p), binomial_pmf);
    }
    for (int k = 0; k < 2; k++) {
        wmRandomArgs a = none();
        a.p = k ? 0.01 : 0.3;
        discrete("random geometric u32", a, 0, k ? 2500 : 60, geometric_pmf);
        a.p = k, a.trials = 77;
        double *x = draws("random binomial u32", a);
        for (int i = 0; i < N; i++) assert_true(x[i] == 77 * k);
        free(x);
    }
}

/* ---- Choices ---- */

static const double weights[7] = {1, 0, 3.5, 0.001, 2, 1e-9, 7};

static double category_pmf(double k, const wmRandomArgs *a) {
    double sum = 0;
    (void)a;
    for (int i = 0; i < 7; i++) sum += weights[i];
    return k < 7 ? weights[(int)k] / sum : 0;
}

static void categories(void **unused) {
    (void)unused;
    static uint64_t table[7];
    wmRandomArgs a = none();
    N = most;
    assert_int_equal(wmRandomAliasBuild(table, weights, 7), WM_OK);
    a.table = table, a.dimension = 7;
    discrete("random categorical u32", a, 0, 8, category_pmf);
}

/* All orders of up to six equally often, over keys; larger ones a bijection, with places unrelated. */
static void permutations(void **unused) {
    (void)unused;
    for (uint64_t n = 1; n <= 6; n++) {
        static double count[720], expected[720];
        int orders = 1;
        for (int k = 2; k <= (int)n; k++) orders *= k;
        memset(count, 0, sizeof count);
        for (uint32_t t = 0; t < 36000; t++) {
            wmPermutation p = wmPermutationMake((wmRandomKey){77, t}, n);
            unsigned seen = 0, number = 0;
            for (uint64_t i = 0; i < n; i++) {
                unsigned v = (unsigned)wmPermute(&p, i), smaller = 0;
                assert_true(v < n && !(seen >> v & 1));
                for (unsigned u = 0; u < v; u++) smaller += !(seen >> u & 1);
                seen |= 1u << v;
                number = number * (unsigned)(n - i) + smaller;
            }
            count[number]++;
        }
        for (int k = 0; k < orders; k++) expected[k] = 36000.0 / orders;
        good_counts("orders of a few", count, expected, orders);
    }
    for (uint64_t n = 21; n < 70000; n = n * 3 + 1) {
        unsigned char *hit = calloc(n, 1);
        wmPermutation p = wmPermutationMake((wmRandomKey){n, 5}, n);
        double fixed = 0, rising = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v = wmPermute(&p, i);
            assert_true(v < n && !hit[v]);
            hit[v] = 1;
            fixed += v == i, rising += i > 0 && v > wmPermute(&p, i - 1);
        }
        good("rises", 2 * normal_cdf(-fabs(rising - ((double)n - 1) / 2) / sqrt(((double)n + 1) / 12)));
        assert_true(fixed < 15);
        free(hit);
    }
    static double pairs[30 * 30], due[30 * 30]; /* where 3 and 4 go to */
    for (uint32_t t = 0; t < 100000; t++) {
        wmPermutation p = wmPermutationMake((wmRandomKey){t, 0}, 30);
        pairs[wmPermute(&p, 3) * 30 + wmPermute(&p, 4)]++;
    }
    for (int k = 0; k < 900; k++) due[k] = k % 31 == 0 ? 0 : 100000.0 / (30 * 29);
    good_counts("two places of thirty", pairs, due, 900);
}

/* ---- Rows, rounding ---- */

static void vectors(void **unused) {
    static const double lower[9] = {2, 99, 99, -1, 0.5, 99, 0.25, 3, 1.5}, mean[3] = {1, -2, 0.5};
    (void)unused;
    wmRandomArgs a = none();
    N = most / 3 * 3;
    a.dimension = 3, a.table = lower, a.in = mean;
    double *x = draws("random normal_vectors f64", a), n = N / 3.0;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k <= j; k++) {
            double sum = 0, covariance = 0, of_j = 0, of_k = 0;
            for (int i = 0; i < N; i += 3) sum += (x[i + j] - mean[j]) * (x[i + k] - mean[k]);
            for (int m = 0; m < 3; m++) {
                double lj = m <= j ? lower[3 * j + m] : 0, lk = m <= k ? lower[3 * k + m] : 0;
                covariance += lj * lk, of_j += lj * lj, of_k += lk * lk;
            }
            double spread = sqrt((of_j * of_k + covariance * covariance) / n);
            good("covariance", 2 * normal_cdf(-fabs(sum / n - covariance) / spread));
        }
    free(x);
    static const double weight[3] = {0.4, 2, 1.5};
    a.table = weight;
    x = draws("random dirichlet f64", a);
    for (int j = 0; j < 3; j++) { /* each share is a beta */
        static double count[CELLS], expected[CELLS];
        memset(count, 0, sizeof count);
        for (int i = 0; i < N; i += 3) {
            assert_true(fabs(x[i] + x[i + 1] + x[i + 2] - 1) < 1e-15);
            count[(int)fmin(beta_cdf_of(weight[j], 3.9 - weight[j], x[i + j]) * CELLS, CELLS - 1)]++;
        }
        for (int i = 0; i < CELLS; i++) expected[i] = n / CELLS;
        good_counts("Dirichlet", count, expected, CELLS);
    }
    free(x);
}

static void roundings(void **unused) {
    static const float values[] = {1.00390625f / 3, -1.2345f, 3e-6f, 1e-41f, 300.7f, 0.0017f};
    static const char *const problems[] = {"random round bf16", "random round f16", "random round e4m3",
                                           "random round e5m2"};
    static const wmType types[] = {WM_BF16, WM_F16, WM_F8E4M3, WM_F8E5M2};
    static float in[1 << 18];
    (void)unused;
    N = most / 4;
    for (int v = 0; v < 6; v++)
        for (int k = 0; k < 4; k++) {
            wmPlan *plan = NULL;
            if (v == 3 && k > 0) continue; /* hardly ever rounded up */
            wmRandomArgs a = wmRandomArgsDefault(malloc(2 * (size_t)N), N, (wmRandomKey){99, (unsigned)v});
            for (int i = 0; i < N; i++) in[i] = values[v];
            a.in = in;
            plan = plan_of(problems[k]);
            assert_int_equal(wmRandomExecute(plan, &a, NULL), WM_OK);
            double low = INFINITY, high = -INFINITY, sum = 0;
            for (int i = 0; i < N; i++) {
                double x = wm_number_load(types[k], a.out, i).re;
                low = fmin(low, x), high = fmax(high, x), sum += x;
            }
            assert_true(low <= values[v] && high >= values[v]);
            double share = high > low ? (values[v] - low) / (high - low) : 0,
                   spread = (high - low) * sqrt(share * (1 - share) / N);
            if (share * N > 25 && (1 - share) * N > 25)
                good(problems[k], 2 * normal_cdf(-fabs(sum / N - values[v]) / spread));
            wmPlanDestroy(plan);
            free(a.out);
        }
}

/* The same laws by the other ciphers, of fewer draws; the permutations above are the device header's. */
static void ciphers(void **unused) {
    static const char *const generators[] = {" gen=philox4x32-7", " gen=philox4x64-10", " gen=threefry2x32-20",
                                             " gen=threefry4x64-20"};
    static void (*const laws[])(void **) = {uniforms,   exponentials, integers,  coins,      gammas,  truncated_normals,
                                            transforms, poissons,     binomials, categories, vectors, roundings};
    most = N = MOST / 16;
    for (size_t g = 0; g < sizeof generators / sizeof *generators; g++) {
        generator = generators[g];
        for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) laws[k](unused);
    }
    generator = "", N = MOST;
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
        cmocka_unit_test(uniforms),   cmocka_unit_test(exponentials), cmocka_unit_test(integers),
        cmocka_unit_test(coins),      cmocka_unit_test(gammas),       cmocka_unit_test(truncated_normals),
        cmocka_unit_test(transforms), cmocka_unit_test(poissons),     cmocka_unit_test(binomials),
        cmocka_unit_test(categories), cmocka_unit_test(permutations), cmocka_unit_test(vectors),
        cmocka_unit_test(roundings),  cmocka_unit_test(ciphers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
