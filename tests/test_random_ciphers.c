/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions by other ciphers than the default, and of Sobol' points, through the public calls on the CPU place: the
 * vectors of an independent slow program; slices, threads and keys in memory; what is refused.
 */
#include "reference/number.h"

#include <warpmath/warpmath.h>

#include "cipher_vectors.h" /* of the header's names */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static wmContext *context;

static wmRandomDesc desc_of(wmDistribution distribution, wmType type, int generator) {
    wmRandomDesc desc = wmRandomDescDefault(distribution, type);
    desc.generator = (wmGenerator)generator;
    desc.interval = distribution == WM_RANDOM_UNIFORM ? WM_OPEN : WM_CLOSED_OPEN;
    return desc;
}

/* One element, as a double; integers through *whole. */
static double element_of(int generator, wmDistribution distribution, wmType type, wmRandomArgs args, uint64_t *whole) {
    wmRandomDesc desc = desc_of(distribution, type, generator);
    unsigned char out[8] = {0};
    args.out = out, args.count = 1;
    if (wmRandom(context, &desc, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
    if (whole) {
        *whole = 0;
        memcpy(whole, out, wmTypeSize(type));
        return 0;
    }
    return wm_number_load(type, out, 0).re;
}

/* Of a vector's key and generator. */
static double element(size_t k, wmDistribution distribution, wmType type, wmRandomArgs args, uint64_t *whole) {
    args.key = (wmRandomKey){cipher_vectors[k].seed, cipher_vectors[k].substream};
    return element_of(cipher_vectors[k].generator, distribution, type, args, whole);
}

static wmRandomArgs at(size_t k) {
    wmRandomArgs args = wmRandomArgsDefault(NULL, 1, wmRandomKeyMake(0));
    args.offset = cipher_vectors[k].i;
    args.low = -2.5, args.high = 7.25, args.mean = 1.5, args.std = 0.25;
    return args;
}

static void floats(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(cipher_vectors); k++) {
        wmRandomArgs args = at(k);
        assert_true(element(k, WM_RANDOM_UNIFORM, WM_BF16, args, NULL) == cipher_vectors[k].uniform16);
        assert_true(element(k, WM_RANDOM_LOGNORMAL, WM_F32, args, NULL) == cipher_vectors[k].lognormal32);
        assert_true(element(k, WM_RANDOM_LAPLACE, WM_F64, args, NULL) == cipher_vectors[k].laplace);
        assert_true(element(k, WM_RANDOM_CAUCHY, WM_F64, args, NULL) == cipher_vectors[k].cauchy);
        args.shape = 1.75;
        assert_true(element(k, WM_RANDOM_WEIBULL, WM_F64, args, NULL) == cipher_vectors[k].weibull);
        args.shape = 2.5;
        assert_true(element(k, WM_RANDOM_GAMMA, WM_F64, args, NULL) == cipher_vectors[k].gamma);
        args.shape = 0.25;
        assert_true(element(k, WM_RANDOM_GAMMA, WM_F64, args, NULL) == cipher_vectors[k].small_gamma);
        float x = 1.2345f;
        args.in = &x;
        assert_true(element(k, WM_RANDOM_ROUND, WM_BF16, args, NULL) == cipher_vectors[k].rounded);
    }
}

static void integers(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(cipher_vectors); k++) {
        wmRandomArgs args = at(k);
        uint64_t x = 0;
        args.span = ((uint64_t)1 << 63) + 1, element(k, WM_RANDOM_INTEGERS, WM_U64, args, &x);
        assert_true(x == cipher_vectors[k].integer);
        args.span = 200, element(k, WM_RANDOM_INTEGERS, WM_U8, args, &x);
        assert_true(x == cipher_vectors[k].small_integer);
        args.p = 0.3, element(k, WM_RANDOM_GEOMETRIC, WM_U32, args, &x);
        assert_true(x == cipher_vectors[k].geometric);
        for (unsigned j = 0; j < 16; j++) {
            args.offset = 16 * cipher_vectors[k].i + j, element(k, WM_RANDOM_BERNOULLI, WM_U8, args, &x);
            assert_int_equal(x, cipher_vectors[k].coins >> j & 1);
        }
        args.span = 20, args.offset = cipher_vectors[k].i % 20, element(k, WM_RANDOM_PERMUTATION, WM_U32, args, &x);
        assert_true(x == cipher_vectors[k].order);
        args.span = (uint64_t)1 << 33, args.offset = cipher_vectors[k].i % args.span;
        element(k, WM_RANDOM_PERMUTATION, WM_U64, args, &x);
        assert_true(x == cipher_vectors[k].place);
    }
}

static void points(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(sobol_vectors); k++) {
        wmRandomArgs args = wmRandomArgsDefault(NULL, 1, wmRandomKeyMake(1));
        int g = sobol_vectors[k].generator;
        uint64_t x = 0;
        args.offset = sobol_vectors[k].i, args.rate = 3, args.shape = 1.75, args.p = 0.3, args.span = 1000000000;
        assert_true(element_of(g, WM_RANDOM_EXPONENTIAL, WM_F64, args, NULL) == sobol_vectors[k].exponential);
        assert_true(element_of(g, WM_RANDOM_LAPLACE, WM_F64, args, NULL) == sobol_vectors[k].laplace);
        assert_true(element_of(g, WM_RANDOM_LOGISTIC, WM_F64, args, NULL) == sobol_vectors[k].logistic);
        assert_true(element_of(g, WM_RANDOM_CAUCHY, WM_F64, args, NULL) == sobol_vectors[k].cauchy);
        assert_true(element_of(g, WM_RANDOM_GUMBEL, WM_F64, args, NULL) == sobol_vectors[k].gumbel);
        assert_true(element_of(g, WM_RANDOM_WEIBULL, WM_F64, args, NULL) == sobol_vectors[k].weibull);
        element_of(g, WM_RANDOM_GEOMETRIC, WM_U32, args, &x);
        assert_true(x == sobol_vectors[k].geometric);
        element_of(g, WM_RANDOM_INTEGERS, WM_U32, args, &x);
        assert_true(x == sobol_vectors[k].integer);
    }
}

static double law_of(wmDistribution d, double x) {
    switch (d) {
    case WM_RANDOM_EXPONENTIAL:
        return -expm1(-x);
    case WM_RANDOM_LOGNORMAL:
        return 0.5 * erfc(-log(x) * sqrt(0.5));
    case WM_RANDOM_LAPLACE:
        return x < 0 ? exp(x) / 2 : 1 - exp(-x) / 2;
    case WM_RANDOM_LOGISTIC:
        return 1 / (1 + exp(-x));
    case WM_RANDOM_CAUCHY:
        return 0.5 + atan(x) / acos(-1);
    case WM_RANDOM_GUMBEL:
        return exp(-exp(-x));
    default:
        return -expm1(-pow(x, 1.75));
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of 2^m points one lies in each part of the law of probability 2^-m. */
static void points_keep_their_spread(void **unused) {
    enum { N = 1 << 12, DIMENSIONS = 3 };
    static double out[N * DIMENSIONS], one[N];
    static const wmDistribution laws[] = {WM_RANDOM_EXPONENTIAL, WM_RANDOM_LOGNORMAL, WM_RANDOM_LAPLACE,
                                          WM_RANDOM_LOGISTIC,    WM_RANDOM_CAUCHY,    WM_RANDOM_GUMBEL,
                                          WM_RANDOM_WEIBULL};
    (void)unused;
    for (int trial = 0; trial < 2 * (int)COUNT(laws); trial++) {
        wmRandomDesc desc = desc_of(laws[trial / 2], WM_F64, trial % 2 ? WM_SOBOL64 : WM_SOBOL32);
        wmRandomArgs args = wmRandomArgsDefault(out, (int64_t)N * DIMENSIONS, wmRandomKeyMake(5));
        desc.dimensions = DIMENSIONS, desc.scramble = trial % 2 ? WM_SCRAMBLE_OWEN : WM_SCRAMBLE_NONE;
        args.shape = 1.75;
        if (wmRandom(context, &desc, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
        for (int d = 0; d < DIMENSIONS; d++) {
            for (int i = 0; i < N; i++) one[i] = out[i * DIMENSIONS + d];
            qsort(one, N, sizeof *one, ascending);
            for (int i = 0; i < N; i++) {
                double u = law_of(laws[trial / 2], one[i]) * N;
                assert_true(u >= i - 1e-6 && u <= i + 1 + 1e-6);
            }
        }
    }
}

/* A permutation by a key in memory goes round: element i is that of i mod span. */
static void permutations_go_round(void **unused) {
    (void)unused;
    for (int generator = WM_PHILOX4X32_10; generator <= WM_THREEFRY4X64_20; generator++)
        for (uint64_t span = 5; span < 100; span += 37) {
            wmRandomDesc desc = desc_of(WM_RANDOM_PERMUTATION, WM_U32, generator);
            wmRandomState state = {
                {9, 2},
                0
            };
            wmRandomArgs args = wmRandomArgsDefault(NULL, (int64_t)span, state.key);
            uint32_t plain[100], first[100], second[100];
            args.span = span, args.out = plain;
            assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
            desc.key_source = WM_KEY_DEVICE, args.state = &state, args.advance = 1, args.key.seed = 0;
            args.out = first;
            assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
            args.out = second;
            assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
            assert_memory_equal(plain, first, 4 * span);
            assert_memory_equal(plain, second, 4 * span);
            assert_true(state.offset == 2 * span);
        }
}

/* Vectors in rows with gaps, by a key in memory, are those of one call without either. */
static void vectors_in_rows(void **unused) {
    enum { N = 4, VECTORS = 9, PER_ROW = 2, LD = 11 };
    static const wmDistribution kinds[] = {WM_RANDOM_NORMAL_VECTORS, WM_RANDOM_DIRICHLET};
    (void)unused;
    double table[N * N], plain[N * VECTORS], rows[LD * VECTORS];
    for (int k = 0; k < N * N; k++) table[k] = 0.5 + k % 3;
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int generator = WM_PHILOX4X32_10; generator <= WM_THREEFRY4X64_20; generator++) {
            wmRandomDesc desc = desc_of(kinds[k], WM_F64, generator);
            wmRandomState state = {
                {77, 1},
                N
            };
            wmRandomArgs args = wmRandomArgsDefault(plain, (int64_t)N * VECTORS, state.key);
            args.offset = (uint64_t)3 * N, args.dimension = N, args.table = table;
            assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
            for (int i = 0; i < LD * VECTORS; i++) rows[i] = -7;
            desc.columns = N * PER_ROW, desc.ld = LD, desc.key_source = WM_KEY_DEVICE;
            args.state = &state, args.offset = (uint64_t)2 * N, args.out = rows;
            if (wmRandom(context, &desc, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
            for (int i = 0; i < N * VECTORS; i++)
                assert_true(rows[i / (N * PER_ROW) * LD + i % (N * PER_ROW)] == plain[i]);
            for (int i = N * PER_ROW; i < LD; i++) assert_true(rows[i] == -7);
            args.dimension = 3, args.count = 3, args.offset = 0;
            assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_ERR_ARGUMENT);
            assert_non_null(strstr(wmLastError(), "args.dimension is 3"));
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
        cmocka_unit_test(floats),          cmocka_unit_test(integers), cmocka_unit_test(permutations_go_round),
        cmocka_unit_test(vectors_in_rows), cmocka_unit_test(points),   cmocka_unit_test(points_keep_their_spread),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
