/* SPDX-License-Identifier: Apache-2.0 */
/* The emulation runs right kernels rightly, under every order of threads, and finds nothing in them. */
#include "simt_test.h"

#include <math.h>
#include <stdio.h>

void wm_toy_sum_kernel(const void *p);
void wm_toy_transpose_kernel(const void *p);
void wm_toy_operations_kernel(const void *p);
void wm_toy_pipe_kernel(const void *p);
void wm_toy_reverse_kernel(const void *p);
void wm_toy_wide_kernel(const void *p);
void wm_toy_copy_kernel(const void *p);
void wm_toy_cluster_kernel(const void *p);
void wm_toy_floats_kernel(const void *p);

static void nothing_found(void) {
    assert_string_equal(wm_simt_faults(), "");
}

static void sums(void **state) {
    static const long long sizes[] = {0, 1, 31, 33, 1000, 4097};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        long long n = sizes[s];
        float zero = 0, expected = 0, *x = malloc((size_t)n * sizeof *x + 1);
        for (long long i = 0; i < n; i++) expected += x[i] = (float)(i * 7 % 100);
        for (unsigned seed = 0; seed < SEEDS; seed++) {
            wm_toy_sum p = {to_device(x, (size_t)n * sizeof *x), to_device(&zero, sizeof zero), n};
            wm_simt_seed(seed);
            assert_int_equal(launch(wm_toy_sum_kernel, 3, 0, 32 * (1 + seed), 128, &p, sizeof p), 0);
            nothing_found();
            assert_true(*p.out == expected);
            wm_area_end((void *)(uintptr_t)p.x);
            wm_area_end(p.out);
        }
        free(x);
    }
}

static void transpose(long long rows, long long columns, uint64_t seed) {
    size_t count = (size_t)(rows * columns), bytes = count * sizeof(uint16_t);
    uint16_t *x = malloc(bytes);
    for (size_t i = 0; i < count; i++) x[i] = (uint16_t)(i * 40503);
    wm_toy_transpose p = {to_device(x, bytes), wm_area_new(bytes), rows, columns};
    wm_launch l = {
        .kernel = (const void *)(uintptr_t)wm_toy_transpose_kernel, .block = {256, 1, 1}
    };
    l.grid = (wm_dim3){(unsigned)(columns + 31) / 32, (unsigned)(rows + 31) / 32, 1};
    l.shared = 32 * 33 * sizeof(uint16_t);
    l.params = &p;
    l.params_bytes = sizeof p;
    wm_simt_seed(seed);
    assert_int_equal(wm_simt_launch(&l), 0);
    nothing_found();
    for (long long i = 0; i < rows; i++)
        for (long long j = 0; j < columns; j++) assert_int_equal(p.out[j * rows + i], x[i * columns + j]);
    wm_area_end((void *)(uintptr_t)p.in);
    wm_area_end(p.out);
    free(x);
}

static void transposes(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        transpose(1, 1, seed);
        transpose(32, 32, seed);
        transpose(33, 65, seed);
        transpose(7, 101, seed);
    }
}

static void run_blocks(void (*kernel)(const void *), unsigned grid, unsigned cluster, unsigned block, size_t shared,
                       wm_toy_ints *p) {
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        wm_simt_seed(seed);
        assert_int_equal(launch(kernel, grid, cluster, block, shared, p, sizeof *p), 0);
        nothing_found();
    }
}

static void run_ints(void (*kernel)(const void *), unsigned block, size_t shared, wm_toy_ints *p) {
    run_blocks(kernel, 1, 0, block, shared, p);
}

static void operations(void **state) {
    int zero = 0;
    wm_toy_ints p = {to_device(&zero, sizeof zero), NULL, 0};
    (void)state;
    run_ints(wm_toy_operations_kernel, 96, 0, &p);
    assert_int_equal(*p.out, 0);
    wm_area_end(p.out);
}

/* 100 numbers through kernels that move them: what comes out where. */
static void movers(void **state) {
    int x[128];
    (void)state;
    for (int i = 0; i < 128; i++) x[i] = i * i;
    wm_toy_ints p = {wm_area_new(sizeof x), to_device(x, sizeof x), 100};
    run_ints(wm_toy_pipe_kernel, 64, 128, &p);
    for (int i = 0; i < 100; i++) assert_int_equal(p.out[i], 2 * x[i]);
    p.n = 128;
    run_ints(wm_toy_reverse_kernel, 64, 256, &p);
    for (int i = 0; i < 128; i++) assert_int_equal(p.out[i], x[i / 32 * 32 + 31 - i % 32]);
    run_ints(wm_toy_wide_kernel, 32, 512, &p);
    assert_memory_equal(p.out, x, sizeof x);
    for (p.n = 1; p.n <= 128; p.n += 42) {
        run_ints(wm_toy_copy_kernel, 32, 1024, &p);
        for (int i = 0; i < p.n; i++) assert_int_equal(p.out[i], x[i] + ((i + 32) % 128 < p.n ? x[(i + 32) % 128] : 0));
    }
    wm_area_end(p.out);
    wm_area_end((void *)(uintptr_t)p.in);
}

/* Clusters of 4 in a grid of 12: neighbours' shared memory is reached, and only theirs. */
static void clusters(void **state) {
    int x[12];
    (void)state;
    for (int i = 0; i < 12; i++) x[i] = 7 * i;
    wm_toy_ints p = {wm_area_new(sizeof x), to_device(x, sizeof x), 12};
    run_blocks(wm_toy_cluster_kernel, 12, 4, 64, 8, &p);
    for (int i = 0; i < 12; i++) {
        int before = x[i / 4 * 4 + (i + 3) % 4];
        assert_int_equal(p.out[i], before + 1000 * (before + 1));
    }
    wm_area_end(p.out);
    wm_area_end((void *)(uintptr_t)p.in);
}

/* Equal seeds, equal runs; different ones reach different orders. */
static void seeds(void **state) {
    float partial[2][2];
    float x[64], zero = 0;
    (void)state;
    for (int i = 0; i < 64; i++) x[i] = i == 0 ? 1e8f : 1.0f; /* the order of the blocks' additions shows in the sum */
    for (int s = 0; s < 2; s++) {
        for (int again = 0; again < 2; again++) {
            wm_toy_sum p = {to_device(x, sizeof x), to_device(&zero, sizeof zero), 64};
            wm_simt_seed((uint64_t)s);
            assert_int_equal(launch(wm_toy_sum_kernel, 2, 0, 32, 128, &p, sizeof p), 0);
            partial[s][again] = *p.out;
            wm_area_end((void *)(uintptr_t)p.x);
            wm_area_end(p.out);
        }
        assert_memory_equal(&partial[s][0], &partial[s][1], sizeof(float));
    }
}

/* ---- Conversions: against arithmetic on the value itself, in double ---- */

typedef struct format {
    int mantissa, bias;
    double largest;
    int saturates;
    unsigned infinity, nan, sign; /* as bits; infinity of a saturating format: its largest value */
} format;

static const format f16 = {10, 15, 65504, 0, 0x7c00, 0x7fff, 0x8000};
static const format bf16 = {7, 127, 3.3895313892515355e38, 0, 0x7f80, 0x7fff, 0x8000};
static const format e4m3 = {3, 7, 448, 1, 0x7e, 0x7f, 0x80};
static const format e5m2 = {2, 15, 57344, 1, 0x7b, 0x7f, 0x80};

/* What the bits below infinity's are worth. */
static double worth(const format *f, unsigned magnitude) {
    unsigned exponent = magnitude >> f->mantissa, fraction = magnitude & ((1u << f->mantissa) - 1);
    if (!exponent) return ldexp(fraction, 1 - f->bias - f->mantissa);
    return ldexp((double)((1u << f->mantissa) + fraction), (int)exponent - f->bias - f->mantissa);
}

/* x rounded to nearest even by the definition: the spacing at x, then rint of a double, which is exact here. */
static unsigned rounded(const format *f, float x) {
    double a = fabs((double)x), step, r;
    unsigned sign = signbit(x) ? f->sign : 0;
    int e;
    if (isnan(x)) return f->nan;
    if (isinf(x)) return sign | f->infinity;
    frexp(a, &e); /* 2^(e-1) <= a < 2^e */
    step = ldexp(1.0, (e - 1 < 1 - f->bias ? 1 - f->bias : e - 1) - f->mantissa);
    r = rint(a / step) * step;
    if (r > f->largest) return sign | f->infinity;
    if (r < ldexp(1.0, 1 - f->bias)) return sign | (unsigned)ldexp(r, f->bias - 1 + f->mantissa);
    frexp(r, &e);
    unsigned fraction = (unsigned)ldexp(r, f->mantissa - (e - 1)) - (1u << f->mantissa);
    return sign | (unsigned)(e - 1 + f->bias) << f->mantissa | fraction;
}

/* Widening is exact, whatever the bits; a NaN stays one. */
static void check_widened(const format *f, unsigned bits, uint32_t wide) {
    unsigned magnitude = bits & (f->sign - 1);
    float x;
    memcpy(&x, &wide, 4);
    if (f->sign == 0x8000 || f->mantissa == 2) { /* these have an infinity, above the largest value */
        unsigned infinity = (unsigned)((1u << (f->sign == 0x80 ? 5 : f->mantissa == 7 ? 8 : 5)) - 1) << f->mantissa;
        if (magnitude > infinity) return assert_true(isnan(x));
        if (magnitude == infinity) return assert_true(isinf(x) && !signbit(x) == !(bits & f->sign));
    } else if (magnitude == f->nan) {
        return assert_true(isnan(x));
    }
    assert_true((double)fabsf(x) == worth(f, magnitude));
    assert_int_equal(!signbit(x), !(bits & f->sign));
}

static wm_toy_floats floats_on_device(const uint32_t *x, long long n) {
    wm_toy_floats p = {.n = n};
    p.f32_bits = to_device(x, (size_t)n * 4);
    p.f16_to_f32 = wm_area_new(65536 * 4);
    p.bf16_to_f32 = wm_area_new(65536 * 4);
    p.e4m3_to_f32 = wm_area_new(256 * 4);
    p.e5m2_to_f32 = wm_area_new(256 * 4);
    p.to_f16 = wm_area_new((size_t)n * 2);
    p.to_bf16 = wm_area_new((size_t)n * 2);
    p.to_e4m3 = wm_area_new((size_t)n);
    p.to_e5m2 = wm_area_new((size_t)n);
    return p;
}

static void check_all_widened(const wm_toy_floats *p) {
    for (unsigned i = 0; i < 65536; i++) {
        check_widened(&f16, i, p->f16_to_f32[i]);
        check_widened(&bf16, i, p->bf16_to_f32[i]);
        if (i < 256) check_widened(&e4m3, i, p->e4m3_to_f32[i]);
        if (i < 256) check_widened(&e5m2, i, p->e5m2_to_f32[i]);
    }
}

static void check_all_narrowed(const wm_toy_floats *p, const uint32_t *x) {
    for (long long i = 0; i < p->n; i++) {
        float v;
        memcpy(&v, &x[i], 4);
        if (p->to_f16[i] == rounded(&f16, v) && p->to_bf16[i] == rounded(&bf16, v) &&
            p->to_e4m3[i] == rounded(&e4m3, v) && p->to_e5m2[i] == rounded(&e5m2, v))
            continue;
        fail_msg("f32 %08x (%a): f16 %04x, want %04x; bf16 %04x, %04x; e4m3 %02x, %02x; e5m2 %02x, %02x", x[i], v,
                 p->to_f16[i], rounded(&f16, v), p->to_bf16[i], rounded(&bf16, v), p->to_e4m3[i], rounded(&e4m3, v),
                 p->to_e5m2[i], rounded(&e5m2, v));
    }
}

/*
 * Every 16-bit and 8-bit pattern is widened. Narrowing sees every f32 whose low 13 bits are a tie, next to one, or
 * zero, which is every case of rounding to any of the formats: their ties and their neighbours all have this form.
 */
static void conversions(void **state) {
    static const uint32_t low[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff};
    long long n = 6LL << 19;
    uint32_t *x = malloc((size_t)n * sizeof *x);
    (void)state;
    for (long long i = 0; i < n; i++) x[i] = (uint32_t)(i / 6) << 13 | low[i % 6];
    wm_toy_floats p = floats_on_device(x, n);
    wm_simt_seed(2);
    assert_int_equal(launch(wm_toy_floats_kernel, 16, 0, 128, 0, &p, sizeof p), 0);
    nothing_found();
    check_all_widened(&p);
    check_all_narrowed(&p, x);
    const void *areas[] = {p.f32_bits, p.f16_to_f32, p.bf16_to_f32, p.e4m3_to_f32, p.e5m2_to_f32,
                           p.to_f16,   p.to_bf16,    p.to_e4m3,     p.to_e5m2};
    for (int i = 0; i < 9; i++) wm_area_end((void *)(uintptr_t)areas[i]);
    free(x);
}

static int no_area_left(void **state) {
    (void)state;
    assert_int_equal(wm_area_count(), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),  cmocka_unit_test(transposes), cmocka_unit_test(operations),  cmocka_unit_test(movers),
        cmocka_unit_test(seeds), cmocka_unit_test(clusters),   cmocka_unit_test(conversions),
    };
    int failed = cmocka_run_group_tests_name("simt", tests, NULL, no_area_left);
    return failed + test_faults() + test_async() + test_device();
}
