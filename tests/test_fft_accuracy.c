/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accuracy of the CPU's transforms, length by length: the L2 error against a long double transform stays within
 * 0.9 u sqrt(log2 N) for smooth lengths and 1.6 with a prime factor above 31. `test_fft_accuracy all` takes every N
 * from 1 to 4096 and prints the worst; without it a subset that holds every method and radix.
 */
#include "fft_case.h"
#include "fft_slow.h"
#include "reference/fft_plan.h"

extern const wm_solver wm_fft_cpu;

/** The complex line behind one array's input: a real signal, or a half spectrum unfolded. */
static void unfold(const wmFftDesc *d, const void *in, int64_t first, wm_root *x) {
    int64_t n = d->dim[0].n;
    for (int64_t j = 0; j < n; j++) {
        int64_t k = d->kind == WM_FFT_C2R && j > n / 2 ? n - j : j, at = first + k;
        if (d->kind == WM_FFT_R2C) {
            x[j] = (wm_root){(long double)fft_get(in, d->type, at), 0};
            continue;
        }
        x[j] = (wm_root){(long double)fft_get(in, d->type, 2 * at), (long double)fft_get(in, d->type, 2 * at + 1)};
        if (k != j) x[j].im = -x[j].im;
        if (d->kind == WM_FFT_C2R && (k == 0 || 2 * k == n)) x[j].im = 0;
    }
}

static double error_of(wmContext *context, int64_t n, wmFftKind kind, wmType type) {
    int64_t batch = n < 4000 ? 4000 / n + 2 : 1;
    wmFftDesc d = wmFftDescPacked(kind, type, 1, &n, batch);
    fft_plan p = fft_make(context, &wm_fft_cpu, &d);
    fft_buffer in = fft_buffer_new(fft_bytes(&d, 0)), out = fft_buffer_new(fft_bytes(&d, 1));
    wm_root *w = calloc((size_t)n, sizeof *w), *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    assert_true(w && x && y);
    for (int64_t k = 0; k < n; k++) {
        w[k] = wm_root_of(k, n);
        if (kind == WM_FFT_C2R) w[k].im = -w[k].im;
    }
    fft_fill(&in, type);
    fft_run(&p, in.at, out.at);
    long double error = 0, size = 0;
    int64_t arrays = n > 600 ? 1 : batch, pairs = fft_pairs(&d, 1); /* the oracle takes its time */
    for (int64_t b = 0; b < arrays; b++) {
        unfold(&d, in.at, b * d.loop[0].in_stride, x);
        slow_fft(x, 1, n, w, n, y);
        for (int64_t k = 0; k < wm_fft_length(&d, 0, 1); k++) {
            int64_t at = (b * d.loop[0].out_stride + k) * pairs;
            long double re = (long double)fft_get(out.at, type, at) - y[k].re, im = 0;
            if (pairs == 2) im = (long double)fft_get(out.at, type, at + 1) - y[k].im;
            error += re * re + im * im;
            size += y[k].re * y[k].re + (pairs == 2 ? y[k].im * y[k].im : 0);
        }
    }
    double gate = fft_gate(&d);
    free(w);
    free(x);
    free(y);
    fft_buffer_end(&in);
    fft_buffer_end(&out);
    fft_drop(&p);
    if (n == 1) return error > 0 ? INFINITY : 0; /* nothing is to be computed */
    return (double)sqrtl(error / size) / gate;
}

static int every; /* length from 1 to 4096 */

static int wanted(int64_t n) {
    return every || n <= 160 || n % 512 == 0 || n % 127 == 1 || (n & (n - 1)) == 0 || (n > 4000 && n % 11 == 0);
}

static void lengths_within_gates(void **state) {
    wmContext *context = fft_context(1);
    (void)state;
    for (int type = 0; type < 2; type++)
        for (int kind = 0; kind < 3; kind++) {
            double worst = 0;
            int64_t worst_n = 1;
            for (int64_t n = 1; n <= 4096; n++) {
                if (!wanted(n)) continue;
                double error = error_of(context, n, (wmFftKind)kind, type ? WM_F64 : WM_F32);
                if (error > worst) worst = error, worst_n = n;
                if (!(error <= 1))
                    fail_msg("n = %lld, kind %d, %s: error is %g of the gate", (long long)n, kind, type ? "f64" : "f32",
                             error);
            }
            printf("kind %d %s: worst error %.3f of the gate at n = %lld\n", kind, type ? "f64" : "f32", worst,
                   (long long)worst_n);
        }
    wmContextDestroy(context);
}

/** The code for any machine, which this machine may never choose: forward and inverse lines, short and long. */
static double plain_error(const wm_fft_code *code, int64_t n, int64_t lines, int inverse) {
    wmType type = code->real == 8 ? WM_F64 : WM_F32;
    int64_t bytes = 2 * n * lines * (int64_t)code->real;
    wm_fft_axis axis = {.n = n, .in = 2, .out = 2, .lines = lines, .loops = 1, .scale = 1, .inverse = inverse};
    axis.loop[0] = (wmFftDim){lines, 2 * n, 2 * n};
    wm_fft_axis_decide(&axis, code);
    assert_int_equal(wm_fft_axis_tables(&axis, code), 0);
    wm_fft_sizes sizes = wm_fft_axis_sizes(&axis, code);
    fft_buffer in = fft_buffer_new((size_t)bytes), out = fft_buffer_new((size_t)bytes),
               lane = fft_buffer_new(sizes.lane), middle = fft_buffer_new(sizes.middle),
               buffer = fft_buffer_new(sizes.buffer);
    wm_fft_scratch scratch = {lane.at, middle.at, buffer.at};
    fft_fill(&in, type);
    wm_fft_axis_run(&axis, code, in.at, out.at, &scratch);
    wm_root *w = calloc((size_t)n, sizeof *w), *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    assert_true(w && x && y);
    for (int64_t k = 0; k < n; k++) {
        w[k] = wm_root_of(k, n);
        if (inverse) w[k].im = -w[k].im;
    }
    wmFftDesc d = wmFftDescPacked(WM_FFT_C2C, type, 1, &n, lines);
    long double error = 0, size = 0;
    for (int64_t b = 0; b < lines; b++) {
        unfold(&d, in.at, b * n, x);
        slow_fft(x, 1, n, w, n, y);
        for (int64_t k = 0; k < n; k++) {
            long double re = (long double)fft_get(out.at, type, 2 * (b * n + k)) - y[k].re;
            long double im = (long double)fft_get(out.at, type, 2 * (b * n + k) + 1) - y[k].im;
            error += re * re + im * im;
            size += y[k].re * y[k].re + y[k].im * y[k].im;
        }
    }
    free(w);
    free(x);
    free(y);
    fft_buffer *all[] = {&in, &out, &lane, &middle, &buffer};
    for (int i = 0; i < 5; i++) fft_buffer_end(all[i]);
    wm_fft_axis_drop(&axis);
    return (double)sqrtl(error / size) / fft_gate(&d);
}

static void plain_code_within_gates(void **state) {
    static const int64_t n[] = {2,  3,  4,  5,   7,   8,   11,  13,   16,   17,   30,  37,
                                64, 67, 97, 128, 211, 360, 512, 1000, 1009, 1024, 4096};
    const wm_fft_code *codes[] = {&wm_fft_code_f32, &wm_fft_code_f64};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < (int)(sizeof n / sizeof *n); k++)
            for (int single = 0; single < 2; single++) {
                if (single && n[k] < 64) continue;
                double error = plain_error(codes[i], n[k], single ? 1 : 2000 / n[k] + 3, k % 2);
                if (!(error <= 1))
                    fail_msg("%s, n = %lld: error is %g of the gate", codes[i]->name, (long long)n[k], error);
            }
}

int main(int argc, char **argv) {
    const char *seed = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    if (seed) fft_seed = strtoull(seed, NULL, 10);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)fft_seed);
    every = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_within_gates),
                                       cmocka_unit_test(plain_code_within_gates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
