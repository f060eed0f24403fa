/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The battery of random_battery.h over 2^26 values of the default generator and 2^22 of each other one, on the CPU:
 * serial pairs in straight, strided and bit-reversed layouts, other keys beside each other, ones of each bit, moments,
 * tails, Kolmogorov-Smirnov, Anderson-Darling. Seeds are fixed, so that each p-value is a fixed number: the bound of
 * 1e-6 fails for a fault of a generator or of its layout, not by bad luck. perf/battery_random.cu does the same for
 * 2^36 on a GPU.
 */
#include "random_battery.h"

#include <warpmath/warpmath.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { LOG = 20, LOG_EACH = 20, LOG_FAR = 20, LOG_KEYS = 20 }; /* the same code, in seconds */
#else
enum { LOG = 26, LOG_EACH = 22, LOG_FAR = 22, LOG_KEYS = 24 };
#endif
static const double LEAST = 1e-6;
static const wmRandomKey KEY = {0xba77e12ull, 3};
static wmContext *context;
static double worst = 1;
static int tests;

static void good(const char *what, double p) {
    tests++;
    worst = fmin(worst, p);
    if (!(p >= LEAST)) printf("  %s: p = %g\n", what, p);
    assert_true(p >= LEAST);
}

static int open_context(void **unused) {
    (void)unused;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    return wmContextCreate(&context, &options) != WM_OK;
}

static int close_context(void **unused) {
    (void)unused;
    wmContextDestroy(context);
    printf("%d tests, smallest p-value %g\n", tests, worst);
    return 0;
}

static void *draw(wmDistribution distribution, wmType type, wmGenerator generator, wmRandomKey key, int log) {
    wmRandomDesc desc = wmRandomDescDefault(distribution, type);
    desc.generator = generator;
    int64_t count = (int64_t)1 << log;
    void *out = malloc((size_t)count * wmTypeSize(type));
    assert_non_null(out);
    wmRandomArgs args = wmRandomArgsDefault(out, count, key);
    assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
    return out;
}

/* ---- Words ---- */

static void pairs(const char *what, const unsigned *w, const unsigned *beside, int log) {
    static wm_u64 count[2][BATTERY_CELLS];
    for (int l = 0; l < (beside ? 1 : BATTERY_LAYOUTS); l++) {
        if (l == 1) log = log < LOG_KEYS ? log : LOG_KEYS;
        if (l == 3) log = log < LOG_FAR ? log : LOG_FAR; /* these layouts miss every cache */
        const wm_u64 n = 1ull << log;
        unsigned last = w[battery_index(battery_stride[l], log, n - 1)];
        double p = 0;
        memset(count, 0, sizeof count);
        for (wm_u64 i = 0; i < n; i++) {
            unsigned x = w[battery_index(battery_stride[l], log, i)];
            if (beside) last = beside[i];
            count[0][battery_pair(0, last, x)]++;
            count[1][battery_pair(1, last, x)]++;
            last = x;
        }
        for (int k = 0; k < 2; k++) {
            battery_counts(count[k], BATTERY_CELLS, (double)n / BATTERY_CELLS, &p);
            good(what, p);
        }
    }
}

/* Ones of each bit: bits k, k + 8, k + 16, k + 24 at a time, in sums of 16 bits. */
static void ones(const char *what, const unsigned *w, const unsigned *beside, int log) {
    wm_u64 sum[32] = {0}, all = 0;
    double n = ldexp(1, log);
    for (wm_u64 from = 0; from < 1ull << log; from += 32768) {
        wm_u64 part[8] = {0};
        for (wm_u64 i = from; i < from + 32768; i++) {
            wm_u64 x = beside ? w[i] ^ beside[i] : w[i];
            x = (x & 0xff) | (x & 0xff00) << 8 | (x & 0xff0000) << 16 | (x & 0xff000000) << 24;
            for (int k = 0; k < 8; k++) part[k] += x >> k & 0x0001000100010001ull;
        }
        for (int k = 0; k < 32; k++) sum[k] += part[k % 8] >> 16 * (k / 8) & 0xffff;
    }
    for (int k = 0; k < 32; k++) {
        good(what, battery_two_sided(((double)sum[k] - n / 2) / sqrt(n / 4)));
        all += sum[k];
    }
    good(what, battery_two_sided(((double)all - 16 * n) / sqrt(8 * n)));
}

static void words_of(wmGenerator generator, const char *name, int log) {
    wmRandomKey next = {KEY.seed, KEY.substream + 1}, seed = {KEY.seed + 1, KEY.substream};
    const wmRandomKey others[] = {next, seed, wmRandomKeyFold(KEY, 0)};
    int fewer = log < LOG_KEYS ? log : LOG_KEYS;
    unsigned *w = draw(WM_RANDOM_BITS, WM_U32, generator, KEY, log);
    pairs(name, w, NULL, log);
    ones(name, w, NULL, log);
    for (int i = 0; i < 3; i++) {
        unsigned *beside = draw(WM_RANDOM_BITS, WM_U32, generator, others[i], fewer);
        pairs(name, w, beside, fewer);
        ones(name, w, beside, fewer);
        free(beside);
    }
    free(w);
}

static void words(void **unused) {
    (void)unused;
    words_of(WM_PHILOX4X32_10, "philox4x32-10", LOG);
    words_of(WM_PHILOX4X32_7, "philox4x32-7", LOG_EACH);
    words_of(WM_PHILOX4X64_10, "philox4x64-10", LOG_EACH);
    words_of(WM_THREEFRY2X32_20, "threefry2x32-20", LOG_EACH);
    words_of(WM_THREEFRY4X64_20, "threefry4x64-20", LOG_EACH);
}

/* ---- Values, put through their own distribution function ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A² of 2^18 of them; u may be 0, which the law of large n allows for by half a step. */
static void anderson_darling(const char *what, const double *u) {
    enum { M = 1 << 18 };
    double *s = malloc(M * sizeof *s), sum = 0;
    assert_non_null(s);
    memcpy(s, u, M * sizeof *s);
    qsort(s, M, sizeof *s, by_size);
    for (int i = 0; i < M; i++) s[i] = fmin(fmax(s[i], 0x1p-26), 1 - 0x1p-26);
    for (int i = 0; i < M; i++) sum += (2 * i + 1) * (log(s[i]) + log1p(-s[M - 1 - i]));
    good(what, battery_anderson_darling(-M - sum / M));
    free(s);
}

static void cells(const char *what, const double *u, int log) {
    static wm_u64 count[BATTERY_CELLS], joint[BATTERY_CELLS];
    const double n = ldexp(1, log);
    double p = 0;
    memset(count, 0, sizeof count);
    memset(joint, 0, sizeof joint);
    for (wm_u64 i = 0; i < 1ull << log; i++) {
        double last = u[(i + (1ull << log) - 1) & ((1ull << log) - 1)];
        count[battery_cell(u[i], BATTERY_CELLS)]++;
        joint[battery_cell(last, 128) << 7 | battery_cell(u[i], 128)]++;
    }
    battery_counts(count, BATTERY_CELLS, n / BATTERY_CELLS, &p);
    good(what, p);
    battery_distance(count, BATTERY_CELLS, n, &p);
    good(what, p);
    battery_counts(joint, BATTERY_CELLS, n / BATTERY_CELLS, &p);
    good(what, p);
    anderson_darling(what, u);
}

static void moments_and_tails(const char *what, const double *z, int log) {
    const double n = ldexp(1, log);
    double sum[5] = {0}, beyond[BATTERY_TAILS] = {0};
    for (wm_u64 i = 0; i < 1ull << log; i++) {
        double square = z[i] * z[i];
        sum[1] += z[i], sum[2] += square, sum[3] += square * z[i], sum[4] += square * square;
        if (square < 9) continue;
        for (int k = 0; k < BATTERY_TAILS; k++) beyond[k] += fabs(z[i]) > battery_tail(k);
    }
    for (int k = 1; k <= 4; k++) good(what, battery_two_sided(battery_moment(k, sum[k], n)));
    for (int k = 0; k < BATTERY_TAILS; k++) {
        double expected = n * battery_two_sided(battery_tail(k));
        if (expected > 20) good(what, battery_two_sided((beyond[k] - expected) / sqrt(expected)));
    }
}

static void normals_of(wmType type, const char *name, int log) {
    void *drawn = draw(WM_RANDOM_NORMAL, type, WM_PHILOX4X32_10, KEY, log);
    double *z = malloc(sizeof *z << log);
    assert_non_null(z);
    for (wm_u64 i = 0; i < 1ull << log; i++) z[i] = type == WM_F32 ? ((float *)drawn)[i] : ((double *)drawn)[i];
    free(drawn);
    moments_and_tails(name, z, log);
    for (wm_u64 i = 0; i < 1ull << log; i++) z[i] = 0.5 * erfc(-z[i] * 0.70710678118654752440);
    cells(name, z, log);
    free(z);
}

static void normals(void **unused) {
    (void)unused;
    normals_of(WM_F32, "normal f32", LOG);
    normals_of(WM_F64, "normal f64", LOG_KEYS);
}

static void uniforms(void **unused) {
    (void)unused;
    float *f = draw(WM_RANDOM_UNIFORM, WM_F32, WM_PHILOX4X32_10, KEY, LOG);
    double *u = draw(WM_RANDOM_UNIFORM, WM_F64, WM_PHILOX4X32_10, KEY, LOG);
    cells("uniform f64", u, LOG_KEYS);
    for (wm_u64 i = 0; i < 1ull << LOG; i++) u[i] = f[i];
    cells("uniform f32", u, LOG);
    free(f), free(u);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(words), cmocka_unit_test(uniforms), cmocka_unit_test(normals)};
    return cmocka_run_group_tests(all, open_context, close_context);
}
