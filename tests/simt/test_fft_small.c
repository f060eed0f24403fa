/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms by clusters under the emulation's race and bounds checks, under several orders of threads, in the sizes of
 * fft_small.cu; the walk over the real sizes takes too long there.
 */
#include "reference/fft_roots.h"
#include "simt_test.h"

#include <math.h>
#include <stdio.h>

typedef struct cluster_job { /* wm_fft_cluster_job */
    const void *in;
    void *out;
    const void *base, *step;
    long long count;
    int loops;
    long long loop_n[3], loop_in[3], loop_out[3];
    double sign, scale;
} cluster_job;

typedef struct lines_job { /* wm_fft_lines_job */
    const void *in;
    void *out;
    long long in_stride, out_stride, in_next, out_next, lines;
    int in_lanes, out_lanes, loops;
    long long loop_n[4], loop_in[4], loop_out[4];
    double sign_in, sign_out, scale;
    const void *low, *high;
    int shift;
    unsigned mask;
} lines_job;

typedef struct box_job { /* wm_fft_box_job */
    const void *in;
    void *out;
    long long in_stride[3], out_stride[3];
    int loops;
    long long loop_n[3], loop_in[3], loop_out[3];
    double sign, scale;
} box_job;

void wm_small_box_f32(const void *p);
void wm_small_box_f64(const void *p);
void wm_small_cluster_f32(const void *p);
void wm_small_cluster_f64(const void *p);
void wm_small_cluster_wide(const void *p);
void wm_small_plane_f32(const void *p);
void wm_small_plane_f64(const void *p);
void wm_small_lines_f32(const void *p);
void wm_small_lines_f64(const void *p);
void wm_small_lines_wide(const void *p);

static double get(const void *x, int f64, long i) {
    return f64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void set(void *x, int f64, long i, double value) {
    if (f64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

static void set_root(void *x, int f64, long i, long k, long n) {
    wm_root root = wm_root_of(k % n, n);
    set(x, f64, 2 * i, (double)root.re);
    set(x, f64, 2 * i + 1, (double)root.im);
}

/* The twiddles of the exchange, as the host code lays them out: those of t, then those of e. */
static void *make_table(int f64, int a, int b, int points) {
    int threads = a / points, rows = threads + points;
    void *table = calloc((size_t)rows * (size_t)b, 16);
    assert_non_null(table);
    for (int row = 0; row < rows; row++)
        for (int j = 0; j < b; j++)
            set_root(table, f64, (long)row * b + j, (long)(row < threads ? row : (row - threads) * threads) * j,
                     (long)a * b);
    void *device = to_device(table, (size_t)rows * (size_t)b * (f64 ? 16 : 8));
    free(table);
    return device;
}

static void *random_data(int f64, long complex_count) {
    unsigned state = 12345;
    void *x = calloc((size_t)complex_count, 16);
    assert_non_null(x);
    for (long i = 0; i < 2 * complex_count; i++) {
        state = state * 1664525u + 1013904223u;
        set(x, f64, i, (double)(int)state * 0x1p-31);
    }
    return x;
}

/* L2 error of `out` [k stride] as the transform of in [j stride], in roundings; some of the outputs. */
static double error_of(int f64, const void *in, const void *out, long n, long in_stride, long out_stride, double sign,
                       double scale, long turn, long turns) {
    double error = 0, size = 0;
    for (long k = 1; k < n; k += n / 13) {
        long double re = 0, im = 0;
        for (long j = 0; j < n; j++) {
            wm_root w = wm_root_of(j * k % n, n);
            long double x = get(in, f64, 2 * j * in_stride), y = get(in, f64, 2 * j * in_stride + 1), wy = w.im * sign;
            re += x * w.re - y * wy;
            im += x * wy + y * w.re;
        }
        wm_root w = turns ? wm_root_of(turn * k % turns, turns) : (wm_root){1, 0};
        long double turned_re = (re * w.re - im * w.im) * scale, turned_im = (re * w.im + im * w.re) * scale;
        double dre = (double)(get(out, f64, 2 * k * out_stride) - turned_re);
        double dim = (double)(get(out, f64, 2 * k * out_stride + 1) - turned_im);
        error += dre * dre + dim * dim;
        size += (double)(turned_re * turned_re + turned_im * turned_im);
    }
    return sqrt(error / size) / ((f64 ? 0x1p-53 : 0x1p-24) * sqrt(log2((double)n)));
}

/* The same for a plane of a rows of b, by sums over all of it. */
static double plane_error_of(int f64, const void *in, const void *out, long a, long b, double sign, double scale) {
    double error = 0, size = 0;
    for (long at = 1; at < a * b; at += a * b / 13) {
        long k1 = at / b, k2 = at % b;
        long double re = 0, im = 0;
        for (long j = 0; j < a * b; j++) {
            wm_root w = wm_root_of((j / b * k1 * b + j % b * k2 * a) % (a * b), a * b);
            long double x = get(in, f64, 2 * j), y = get(in, f64, 2 * j + 1), wy = w.im * sign;
            re += x * w.re - y * wy;
            im += x * wy + y * w.re;
        }
        double dre = (double)(get(out, f64, 2 * at) - re * scale),
               dim = (double)(get(out, f64, 2 * at + 1) - im * scale);
        error += dre * dre + dim * dim;
        size += (double)(re * re + im * im) * scale * scale;
    }
    return sqrt(error / size) / ((f64 ? 0x1p-53 : 0x1p-24) * sqrt(log2((double)(a * b))));
}

typedef struct shape {
    const char *name;
    void (*kernel)(const void *);
    int plane, f64, a, b, blocks, points, lines, shared;
} shape;

static unsigned threads_of(const shape *s) {
    return (unsigned)(s->a * s->b * s->lines / s->blocks / s->points);
}

static void cluster(const shape *s, double sign) {
    enum { BATCH = 2 };
    long n = (long)s->a * s->b, gap = n + 3;
    size_t element = s->f64 ? 16 : 8, bytes = (size_t)(BATCH * gap) * element;
    void *host = random_data(s->f64, BATCH * gap), *table = make_table(s->f64, s->a, s->b, s->points);
    for (uint64_t seed = 0; seed < 3; seed++) {
        cluster_job job = {.count = BATCH, .loops = 1, .loop_n = {BATCH}, .loop_in = {gap}, .loop_out = {gap}};
        job.in = to_device(host, bytes);
        job.out = seed == 2 ? (void *)(uintptr_t)job.in : wm_area_new(bytes); /* in place, too */
        job.base = table;
        job.step = (const char *)table + (size_t)(s->a / s->points) * (size_t)s->b * element;
        job.sign = sign;
        job.scale = 0.25;
        wm_simt_seed(seed);
        assert_int_equal(launch(s->kernel, (unsigned)(BATCH * s->blocks), (unsigned)s->blocks, threads_of(s),
                                (size_t)s->shared, &job, sizeof job),
                         0);
        assert_string_equal(wm_simt_faults(), "");
        for (long i = 0; i < BATCH; i++) {
            char *x = (char *)host + (size_t)(i * gap) * element, *y = (char *)job.out + (size_t)(i * gap) * element;
            double error = s->plane ? plane_error_of(s->f64, x, y, s->a, s->b, sign, 0.25)
                                    : error_of(s->f64, x, y, n, 1, 1, sign, 0.25, 0, 0);
            if (!(error <= 0.9)) fail_msg("%s: error %g", s->name, error);
        }
    }
    free(host);
}

static void clusters(void **state) {
    (void)state;
    static const shape shapes[] = {
        {"32x32 f32 by 4",        wm_small_cluster_f32,  0, 0, 32,  32, 4, 8,  1, 0},
        {"32x64 f64 by 2",        wm_small_cluster_f64,  0, 1, 32,  64, 2, 16, 1, 0},
        {"512x32 f32 by 2",       wm_small_cluster_wide, 0, 0, 512, 32, 2, 32, 1, 0},
        {"plane 32x32 f32 by 4",  wm_small_plane_f32,    1, 0, 32,  32, 4, 8,  1, 0},
        {"plane 32x64 f64 alone", wm_small_plane_f64,    1, 1, 32,  64, 1, 16, 1, 0},
    };
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        shape s = shapes[i];
        int a = s.b / s.blocks * (s.a + s.a / 8 + 1), b = s.a / s.blocks * (s.b + s.b / 8 + 1); /* enough */
        s.shared = 16 + (s.f64 ? 16 : 8) * (a > b ? a : b);
        cluster(&s, i % 2 ? -1 : 1);
    }
}

/* Lines of a.n points: `rows` in memory, or columns; the second tile is not full. */
static void lines(const shape *s, int rows) {
    long n = s->a, count = s->lines + 1, turns = 1 << 14;
    size_t element = s->f64 ? 16 : 8, bytes = (size_t)(n * count) * element;
    void *host = random_data(s->f64, n * count), *roots = calloc(256, 16);
    assert_non_null(roots);
    for (int i = 0; i < 256; i++) set_root(roots, 1, i, i < 128 ? i : (long)(i - 128) * 128, turns);
    lines_job job = {.in = to_device(host, bytes), .lines = count, .sign_in = 1, .sign_out = 1, .scale = 2};
    job.out = wm_area_new(bytes);
    job.in_stride = rows ? 1 : count, job.in_next = rows ? n : 1, job.in_lanes = !rows;
    job.out_stride = count, job.out_next = 1, job.out_lanes = 1;
    job.low = to_device(roots, 256 * 16);
    job.high = (const char *)job.low + 128 * 16;
    job.shift = 7, job.mask = (unsigned)turns - 1;
    wm_simt_seed((uint64_t)rows + 7);
    assert_int_equal(launch(s->kernel, 2, 0, threads_of(s), (size_t)s->shared, &job, sizeof job), 0);
    assert_string_equal(wm_simt_faults(), "");
    for (long l = 0; l < count; l++) {
        double error = error_of(s->f64, (char *)host + (size_t)(l * job.in_next) * element,
                                (char *)job.out + (size_t)l * element, n, job.in_stride, count, 1, 2, l, turns);
        if (!(error <= 0.9)) fail_msg("%s, line %ld: error %g", s->name, l, error);
    }
    free(host);
    free(roots);
}

static void neighbours(void **state) {
    (void)state;
    static const shape shapes[] = {
        {"4 lines of 64 f32",   wm_small_lines_f32,  0, 0, 64,   1, 1, 8,  4, 0},
        {"2 lines of 128 f64",  wm_small_lines_f64,  0, 1, 128,  1, 1, 8,  2, 0},
        {"2 lines of 1024 f32", wm_small_lines_wide, 0, 0, 1024, 1, 1, 32, 2, 0},
    };
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        shape s = shapes[i];
        s.shared = (s.f64 ? 16 : 8) * s.lines * (s.a + s.a / 8 + 16);
        lines(&s, 0);
        lines(&s, 1);
    }
}

/* One value of a box of n³ by the definition; gives the squares of its error and its size. */
static void add_box_error(int f64, const void *in, const void *out, long n, long at, double sign, double *error,
                          double *size) {
    long double re = 0, im = 0;
    for (long j = 0; j < n * n * n; j++) {
        long turns = j / n / n * (at / n / n) + j / n % n * (at / n % n) + j % n * (at % n);
        wm_root w = wm_root_of(turns % n, n);
        long double x = get(in, f64, 2 * j), y = get(in, f64, 2 * j + 1), wy = w.im * sign;
        re += x * w.re - y * wy;
        im += x * wy + y * w.re;
    }
    double dre = (double)(get(out, f64, 2 * at) - re / 2), dim = (double)(get(out, f64, 2 * at + 1) - im / 2);
    *error += dre * dre + dim * dim;
    *size += (double)(re * re + im * im) / 4;
}

/* Two boxes with a gap between, out of place and in place, under three orders of threads. */
static void box(void (*kernel)(const void *), int f64, long n, int blocks, double sign) {
    long all = n * n * n, gap = all + 5;
    size_t element = f64 ? 16 : 8, bytes = (size_t)(2 * gap) * element;
    void *host = random_data(f64, 2 * gap);
    for (uint64_t seed = 0; seed < 3; seed++) {
        box_job job = {
            .in_stride = {n * n, n, 1},
              .out_stride = {n * n,    n, 1},
              .loops = 1, .loop_n = {2}
        };
        job.loop_in[0] = job.loop_out[0] = gap;
        job.in = to_device(host, bytes);
        job.out = seed == 2 ? (void *)(uintptr_t)job.in : wm_area_new(bytes);
        job.sign = sign, job.scale = 0.5;
        wm_simt_seed(seed);
        assert_int_equal(launch(kernel, 2 * (unsigned)blocks, blocks > 1 ? (unsigned)blocks : 0,
                                (unsigned)(n * n / blocks), 16 + element * (size_t)(n / blocks * n * (n + 1)), &job,
                                sizeof job),
                         0);
        assert_string_equal(wm_simt_faults(), "");
        for (long i = 0; i < 2; i++) {
            double error = 0, size = 0, u = f64 ? 0x1p-53 : 0x1p-24;
            char *x = (char *)host + (size_t)(i * gap) * element, *y = (char *)job.out + (size_t)(i * gap) * element;
            for (long at = 0; at < all; at += 1 + all / 40) add_box_error(f64, x, y, n, at, sign, &error, &size);
            error = sqrt(error / size) / (u * sqrt(log2((double)all)));
            if (!(error <= 0.9)) fail_msg("box of %ld by %d: error %g", n, blocks, error);
        }
    }
    free(host);
}

static void boxes(void **state) {
    (void)state;
    box(wm_small_box_f32, 0, 8, 4, 1);
    box(wm_small_box_f64, 1, 4, 1, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(clusters), cmocka_unit_test(neighbours),
                                       cmocka_unit_test(boxes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
