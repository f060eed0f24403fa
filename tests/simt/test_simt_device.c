/* SPDX-License-Identifier: Apache-2.0 */
/* The device API's tile products, reductions, scans and small transforms, under the emulation. */
#include "device.h"
#include "simt_test.h"

#include <math.h>
#include <stdio.h>

#define KERNEL(name) void wm_device_##name##_kernel(const void *p)
KERNEL(fma_f32);
KERNEL(fma_f64);
KERNEL(fma_bf16_made);
KERNEL(fma_e4m3);
KERNEL(fma_i8);
KERNEL(mma_f16);
KERNEL(mma_f16_warp);
KERNEL(mma_bf16_made);
KERNEL(mma_tf32);
KERNEL(mma_tf32_made);
KERNEL(mma_f64);
KERNEL(mma_f64_made);
KERNEL(mma_i8);
KERNEL(wgmma_bf16);
KERNEL(wgmma_f16);
KERNEL(sums);
KERNEL(sums_warp);
KERNEL(fft_thread);
KERNEL(fft_warp);
KERNEL(fft_bulk);

typedef struct product_case {
    const char *name;
    void (*kernel)(const void *);
    int m, n, k, threads, bytes; /* of an element */
} product_case;

/* clang-format off */
static const product_case products[] = {
    {"fma f32", wm_device_fma_f32_kernel, 64, 32, 64, 64, 4},
    {"fma f64", wm_device_fma_f64_kernel, 64, 32, 64, 64, 8},
    {"fma bf16, B made", wm_device_fma_bf16_made_kernel, 64, 32, 64, 64, 2},
    {"fma e4m3", wm_device_fma_e4m3_kernel, 64, 32, 128, 64, 1},
    {"fma i8", wm_device_fma_i8_kernel, 64, 32, 128, 64, 1},
    {"mma f16", wm_device_mma_f16_kernel, 64, 32, 64, 64, 2},
    {"mma f16, a warp", wm_device_mma_f16_warp_kernel, 64, 32, 64, 32, 2},
    {"mma bf16, B made", wm_device_mma_bf16_made_kernel, 64, 32, 64, 64, 2},
    {"mma tf32", wm_device_mma_tf32_kernel, 64, 32, 64, 64, 4},
    {"mma tf32, B made", wm_device_mma_tf32_made_kernel, 64, 32, 64, 64, 4},
    {"mma f64", wm_device_mma_f64_kernel, 64, 32, 64, 64, 8},
    {"mma f64, B made", wm_device_mma_f64_made_kernel, 64, 32, 64, 64, 8},
    {"mma i8", wm_device_mma_i8_kernel, 64, 32, 128, 64, 1},
    {"wgmma bf16", wm_device_wgmma_bf16_kernel, 64, 64, 128, 128, 2},
    {"wgmma f16", wm_device_wgmma_f16_kernel, 128, 64, 64, 256, 2},
};
/* clang-format on */

/* Integers up to 8 in size: all types have them, and f32 their sums. */
static double number(int i) {
    return (double)((i * 29 + i / 32 * 7) % 17 - 8);
}

static void tile_product(void **state) {
    const product_case *c = *state;
    int na = c->m * c->k, nb = c->k * c->n, nd = c->m * c->n;
    double *a = malloc(sizeof *a * (size_t)na), *b = malloc(sizeof *b * (size_t)nb);
    for (int i = 0; i < na; i++) a[i] = number(i);
    for (int i = 0; i < nb; i++) b[i] = number(i + 3);
    for (unsigned seed = 0; seed < 3; seed++) {
        wm_device_product p = {to_device(a, sizeof *a * (size_t)na), to_device(b, sizeof *b * (size_t)nb),
                               wm_area_new(sizeof *a * (size_t)nd)};
        size_t shared = (size_t)(na + nb) * (size_t)c->bytes;
        wm_simt_seed(seed);
        assert_int_equal(launch(c->kernel, 1, 0, (unsigned)c->threads, shared, &p, sizeof p), 0);
        assert_string_equal(wm_simt_faults(), "");
        for (int i = 0; i < nd; i++) {
            double sum = 0;
            for (int k = 0; k < c->k; k++) sum += a[i / c->n * c->k + k] * b[k * c->n + i % c->n];
            if (!(p.d[i] == sum)) fail_msg("D(%d, %d) is %g, should be %g", i / c->n, i % c->n, p.d[i], sum);
        }
        wm_area_end((void *)(uintptr_t)p.a);
        wm_area_end((void *)(uintptr_t)p.b);
        wm_area_end(p.d);
    }
    free(a);
    free(b);
}

static void sums_of(void (*kernel)(const void *), int threads) {
    float x[256], sum = 0, least = INFINITY, most = -INFINITY;
    for (int i = 0; i < threads; i++) {
        x[i] = (float)((i * 37 + 11) % 101 - 50);
        sum += x[i];
        least = fminf(least, x[i]);
        most = fmaxf(most, x[i]);
    }
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        wm_device_sums p = {to_device(x, sizeof(float) * (size_t)threads), wm_area_new(5 * sizeof x)};
        float scan = 0;
        wm_simt_seed(seed);
        assert_int_equal(launch(kernel, 1, 0, (unsigned)threads, 64, &p, sizeof p), 0);
        assert_string_equal(wm_simt_faults(), "");
        for (int i = 0; i < threads; i++) {
            scan += x[i];
            assert_true(p.out[i] == sum && p.out[256 + i] == least && p.out[512 + i] == most);
            assert_true(p.out[768 + i] == scan && p.out[1024 + i] == sum);
        }
        wm_area_end((void *)(uintptr_t)p.x);
        wm_area_end(p.out);
    }
}

static void sums(void **state) {
    (void)state;
    sums_of(wm_device_sums_kernel, 256);
    sums_of(wm_device_sums_warp_kernel, 32);
}

enum { POINTS = 1024 };

static void compare_transforms(const float *x, const float *forward, const float *back, int n) {
    for (int first = 0; first < POINTS; first += n)
        for (int k = 0; k < n; k++) {
            double re = 0, im = 0;
            for (int j = 0; j < n; j++) {
                double angle = -2 * 3.14159265358979323846 * (double)(j * k % n) / n;
                const float *z = x + 2 * (first + j);
                re += z[0] * cos(angle) - z[1] * sin(angle);
                im += z[0] * sin(angle) + z[1] * cos(angle);
            }
            int at = 2 * (first + k);
            double error = hypot(forward[at] - re, forward[at + 1] - im);
            assert_false(!(error <= 2e-6 * sqrt(n) * 4));
            assert_false(!(hypot((double)back[at] - x[at], (double)back[at + 1] - x[at + 1]) <= 1e-6));
        }
}

static void transforms_of(void (*kernel)(const void *), int n, int threads, size_t shared) {
    float x[2 * POINTS];
    for (int i = 0; i < 2 * POINTS; i++) x[i] = (float)((i * 7919) % 1000) / 500 - 1;
    wm_device_fft p = {to_device(x, sizeof x), wm_area_new(sizeof x)};
    wm_simt_seed(5);
    assert_int_equal(launch(kernel, 1, 0, (unsigned)threads, shared, &p, sizeof p), 0);
    assert_string_equal(wm_simt_faults(), "");
    compare_transforms(x, p.x, p.y, n);
    wm_area_end(p.x);
    wm_area_end(p.y);
}

/* 16 threads a block, half a warp: barriers of a part of one, too. */
static void bulk_transforms(void **state) {
    float x[2 * POINTS];
    (void)state;
    for (int i = 0; i < 2 * POINTS; i++) x[i] = (float)((i * 7919) % 1000) / 500 - 1;
    for (unsigned seed = 0; seed < 3; seed++) {
        wm_device_fft p = {to_device(x, sizeof x), wm_area_new(sizeof x)};
        wm_simt_seed(seed);
        assert_int_equal(launch(wm_device_fft_bulk_kernel, POINTS / 256, 0, 16, 256 * 8 + 272 * 8 + 8, &p, sizeof p),
                         0);
        assert_string_equal(wm_simt_faults(), "");
        compare_transforms(x, p.y, x, 256);
        wm_area_end(p.x);
        wm_area_end(p.y);
    }
}

static void transforms(void **state) {
    (void)state;
    transforms_of(wm_device_fft_thread_kernel, 16, POINTS / 16, 0);
    transforms_of(wm_device_fft_warp_kernel, 256, POINTS / 16, (size_t)(256 + 16) * 8 * 4);
}

int test_device(void) {
    enum { CASES = sizeof products / sizeof *products };
    struct CMUnitTest tests[CASES + 3];
    for (size_t i = 0; i < CASES; i++) {
        struct CMUnitTest t = {products[i].name, tile_product, NULL, NULL, (void *)(uintptr_t)&products[i]};
        tests[i] = t;
    }
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(sums);
    tests[CASES + 1] = (struct CMUnitTest)cmocka_unit_test(transforms);
    tests[CASES + 2] = (struct CMUnitTest)cmocka_unit_test(bulk_transforms);
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
