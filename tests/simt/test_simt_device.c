/* SPDX-License-Identifier: Apache-2.0 */
/* The device API's tile products, reductions, scans and small transforms, under the emulation. */
#include "device.h"
#include "simt_test.h"

#include <warpmath/device/random.h>

#include <math.h>
#include <stdio.h>

#define KERNEL(name) void wm_device_##name##_kernel(const void *p)
KERNEL(fma_f32);
KERNEL(fma_f64);
KERNEL(fma_bf16_made);
KERNEL(fma_e4m3);
KERNEL(fma_e5m2);
KERNEL(fma_i8);
KERNEL(fma_c64);
KERNEL(fma_c128);
KERNEL(mma_f16);
KERNEL(mma_f16_warp);
KERNEL(mma_f16_held);
KERNEL(mma_bf16_held);
KERNEL(mma_bf16_made);
KERNEL(mma_tf32);
KERNEL(mma_tf32_held);
KERNEL(mma_tf32_made);
KERNEL(mma_f64);
KERNEL(mma_f64_held);
KERNEL(mma_f64_made);
KERNEL(mma_e4m3);
KERNEL(mma_e5m2_held);
KERNEL(mma_i8);
KERNEL(mma_i8_held);
KERNEL(wgmma_bf16);
KERNEL(wgmma_f16);
KERNEL(wgmma_bf16_held);
KERNEL(wgmma_f16_held);
KERNEL(wgmma_tf32);
KERNEL(wgmma_e4m3);
KERNEL(wgmma_e5m2);
KERNEL(wgmma_i8);
KERNEL(sums);
KERNEL(sums_warp);
KERNEL(fft_thread);
KERNEL(fft_warp);
KERNEL(fft_bulk);
KERNEL(fft_8192);
KERNEL(fft_16384);
KERNEL(fft_16384_by_32);
KERNEL(fft_8192_f64);
KERNEL(cluster_16384);
KERNEL(cluster_32768);
KERNEL(cluster_8192_f64);
KERNEL(rounds);

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
    {"fma e5m2", wm_device_fma_e5m2_kernel, 64, 32, 128, 64, 1},
    {"fma i8", wm_device_fma_i8_kernel, 64, 32, 128, 64, 1},
    {"fma c64", wm_device_fma_c64_kernel, 32, 16, 32, 64, 8},
    {"fma c128", wm_device_fma_c128_kernel, 32, 16, 16, 32, 16},
    {"mma f16", wm_device_mma_f16_kernel, 64, 32, 64, 64, 2},
    {"mma f16, a warp", wm_device_mma_f16_warp_kernel, 64, 32, 64, 32, 2},
    {"mma f16, A held", wm_device_mma_f16_held_kernel, 64, 32, 64, 32, 2},
    {"mma bf16, A held by warps", wm_device_mma_bf16_held_kernel, 128, 32, 64, 64, 2},
    {"mma bf16, B made", wm_device_mma_bf16_made_kernel, 64, 32, 64, 64, 2},
    {"mma tf32", wm_device_mma_tf32_kernel, 64, 32, 64, 64, 4},
    {"mma tf32, A held", wm_device_mma_tf32_held_kernel, 32, 32, 32, 32, 4},
    {"mma tf32, B made", wm_device_mma_tf32_made_kernel, 64, 32, 64, 64, 4},
    {"mma f64", wm_device_mma_f64_kernel, 64, 32, 64, 64, 8},
    {"mma f64, A held", wm_device_mma_f64_held_kernel, 32, 32, 32, 32, 8},
    {"mma f64, B made", wm_device_mma_f64_made_kernel, 64, 32, 64, 64, 8},
    {"mma e4m3", wm_device_mma_e4m3_kernel, 64, 32, 128, 64, 1},
    {"mma e5m2, A held", wm_device_mma_e5m2_held_kernel, 32, 32, 128, 32, 1},
    {"mma i8", wm_device_mma_i8_kernel, 64, 32, 128, 64, 1},
    {"mma i8, A held", wm_device_mma_i8_held_kernel, 32, 32, 128, 32, 1},
    {"wgmma bf16", wm_device_wgmma_bf16_kernel, 64, 64, 128, 128, 2},
    {"wgmma f16", wm_device_wgmma_f16_kernel, 128, 64, 64, 256, 2},
    {"wgmma bf16, A held", wm_device_wgmma_bf16_held_kernel, 64, 64, 128, 128, 2},
    {"wgmma f16, A held", wm_device_wgmma_f16_held_kernel, 128, 128, 64, 256, 2},
    {"wgmma tf32", wm_device_wgmma_tf32_kernel, 64, 128, 64, 128, 4},
    {"wgmma e4m3", wm_device_wgmma_e4m3_kernel, 64, 128, 256, 128, 1},
    {"wgmma e5m2", wm_device_wgmma_e5m2_kernel, 64, 128, 128, 128, 1},
    {"wgmma i8", wm_device_wgmma_i8_kernel, 64, 128, 128, 128, 1},
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

/* ---- Long transforms, against a plain one in f64 ---- */

typedef struct long_case {
    const char *name;
    void (*kernel)(const void *);
    int n, threads, blocks; /* of the cluster; 1: none */
    int bytes;              /* of a real number */
    size_t shared;
} long_case;

enum { SLAB_8192 = 8192 + 512, SLAB_16384 = 16384 + 1024, LINE_128 = 137, LINE_256 = 273, LINE_64 = 69 };

static const long_case longs[] = {
    {"block 8192 f32",             wm_device_fft_8192_kernel,         8192,  512,  1, 4, SLAB_8192 * 8                },
    {"cluster 32768 f32",          wm_device_cluster_32768_kernel,    32768, 256,  8, 4, 16 + 32 * LINE_128 * 8       },
#ifndef WM_SIMT_FEW
    {"block 16384 f32",            wm_device_fft_16384_kernel,        16384, 1024, 1, 4, SLAB_16384 * 8               },
    {"block 16384 f32, 32 points", wm_device_fft_16384_by_32_kernel,  16384, 512,  1, 4, SLAB_16384 * 8               },
    {"block 8192 f64",             wm_device_fft_8192_f64_kernel,     8192,  512,  1, 8, SLAB_8192 * 16               },
    {"cluster 16384 f32",          wm_device_cluster_16384_kernel,    16384, 128,  8, 4, 16 + 16 * LINE_128 * 8       },
    {"cluster 8192 f64",           wm_device_cluster_8192_f64_kernel, 8192,  128,  4, 8, 16 + 32 * LINE_64 * 16 + 1024},
#endif
};

/* x becomes its transform: radix 2, decimation in time; `step` elements lie between those of this half. */
static void plain(const double *x, double *out, int n, int step) {
    if (n == 1) {
        out[0] = x[0];
        out[1] = x[1];
        return;
    }
    plain(x, out, n / 2, 2 * step);
    plain(x + 2 * step, out + n, n / 2, 2 * step);
    for (int k = 0; k < n / 2; k++) {
        double c = cos(6.28318530717958648 * k / n), s = -sin(6.28318530717958648 * k / n);
        double *a = out + 2 * k, *b = out + n + 2 * k, re = b[0] * c - b[1] * s, im = b[0] * s + b[1] * c;
        double sum[2] = {a[0] + re, a[1] + im};
        b[0] = a[0] - re;
        b[1] = a[1] - im;
        memcpy(a, sum, sizeof sum);
    }
}

/* |got - want| / |want| in the 2-norm. */
static double distance(const void *got, const double *want, int n, int bytes) {
    double error = 0, size = 0;
    for (int i = 0; i < 2 * n; i++) {
        double x = bytes == 8 ? ((const double *)got)[i] : (double)((const float *)got)[i];
        error += (x - want[i]) * (x - want[i]);
        size += want[i] * want[i];
    }
    return sqrt(error / size);
}

static void long_transform(void **state) {
    const long_case *c = *state;
    const wmRandomKey key = {5, 0};
    size_t bytes = 2 * (size_t)c->n * (size_t)c->bytes;
    double *x = calloc(2 * (size_t)c->n, sizeof *x), *want = calloc(2 * (size_t)c->n, sizeof *want);
    void *in = malloc(bytes);
    for (int i = 0; i < 2 * c->n; i++) {
        x[i] = (float)wmUniformF32(key, (unsigned)i) - 0.5F;
        if (c->bytes == 8)
            ((double *)in)[i] = x[i];
        else
            ((float *)in)[i] = (float)x[i];
    }
    plain(x, want, c->n, 1);
    wm_device_fft p = {to_device(in, bytes), wm_area_new(bytes)};
    wm_simt_seed(3);
    assert_int_equal(launch(c->kernel, (unsigned)c->blocks, c->blocks > 1 ? (unsigned)c->blocks : 0,
                            (unsigned)c->threads, c->shared, &p, sizeof p),
                     0);
    assert_string_equal(wm_simt_faults(), "");
    double there = distance(p.x, want, c->n, c->bytes), back = distance(p.y, x, c->n, c->bytes);
    print_message("%s: relative error %.2g, and back %.2g\n", c->name, there, back);
    assert_false(!(there <= (c->bytes == 8 ? 1e-15 : 3e-7)));
    assert_false(!(back <= (c->bytes == 8 ? 1e-15 : 4e-7)));
    wm_area_end(p.x);
    wm_area_end(p.y);
    free(x);
    free(want);
    free(in);
}

/* ---- Draws by rounds: the numbers of random.h ---- */

static void rounds(void **state) {
    (void)state;
    wm_device_rounds p = {
        wm_area_new(1024 * sizeof(float)), wm_area_new(512 * sizeof(double)), {0x123456789abcdef0, 7}
    };
    wm_simt_seed(1);
    assert_int_equal(launch(wm_device_rounds_kernel, 2, 0, 32, 0, &p, sizeof p), 0);
    assert_string_equal(wm_simt_faults(), "");
    for (int i = 0; i < 512; i++) {
        unsigned long long at = 4 * 0x1fffffff00ULL + (unsigned)i;
        assert_true(p.f32[i] == wmUniformF32(p.key, at) && p.f32[512 + i] == wmNormalF32(p.key, at));
    }
    for (int i = 0; i < 256; i++) {
        unsigned long long at = 2 * 0x1fffffff00ULL + (unsigned)i;
        assert_true(p.f64[i] == wmUniformF64(p.key, at) && p.f64[256 + i] == wmNormalF64(p.key, at));
    }
    wm_area_end(p.f32);
    wm_area_end(p.f64);
}

static struct CMUnitTest test_of(const char *name, CMUnitTestFunction function, const void *state) {
    struct CMUnitTest test = {name, function, NULL, NULL, (void *)(uintptr_t)state};
    return test;
}

int test_device(void) {
    enum { CASES = sizeof products / sizeof *products, LONGS = sizeof longs / sizeof *longs };
    struct CMUnitTest tests[CASES + LONGS + 4];
    size_t count = 0;
    for (size_t i = 0; i < CASES; i++) tests[count++] = test_of(products[i].name, tile_product, &products[i]);
    for (size_t i = 0; i < LONGS; i++) tests[count++] = test_of(longs[i].name, long_transform, &longs[i]);
    tests[count++] = test_of("sums", sums, NULL);
    tests[count++] = test_of("transforms", transforms, NULL);
    tests[count++] = test_of("bulk transforms", bulk_transforms, NULL);
    tests[count++] = test_of("draws by rounds", rounds, NULL);
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
