/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's transforms on random shapes and layouts against the definition, and by the properties of the transform. */
#include "fft_case.h"

extern const wm_solver wm_fft_cpu, wm_fft_naive, wm_fftw;

/* ---- The oracle itself: whole arrays against single elements by the definition ---- */

static wmFftDesc random_desc(void);

static void oracle_agrees_with_definition(void **state) {
    (void)state;
    for (int i = 0; i < 60; i++) {
        wmFftDesc d = random_desc();
        d.placement = WM_OUT_OF_PLACE;
        wm_oracle_fft oracle;
        assert_int_equal(wm_oracle_fft_make(&oracle, &d), 0);
        fft_buffer in = fft_buffer_new(fft_bytes(&d, 0));
        wm_root *scratch = malloc((size_t)wm_oracle_fft_scratch(&oracle) * sizeof *scratch);
        assert_non_null(scratch);
        fft_fill(&in, d.type);
        int64_t index[3] = {0}, k[3] = {0};
        for (int l = 0; l < d.loops; l++) index[l] = fft_below(d.loop[l].n);
        const wm_root *all = wm_oracle_fft_array(&oracle, in.at, index, scratch);
        for (int s = 0; s < 20; s++) {
            for (int a = 0; a < 3; a++) k[a] = fft_below(oracle.out[a]);
            wm_root one = wm_oracle_fft_value(&oracle, in.at, index, k);
            wm_root same = all[(k[0] * oracle.out[1] + k[1]) * oracle.out[2] + k[2]];
            assert_true(fabsl(one.re - same.re) < 1e-15L * (long double)wm_fft_points(&d));
            if (d.kind != WM_FFT_C2R) assert_true(fabsl(one.im - same.im) < 1e-15L * (long double)wm_fft_points(&d));
        }
        free(scratch);
        fft_buffer_end(&in);
        wm_oracle_fft_drop(&oracle);
    }
}

/* ---- Random shapes ---- */

static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 12, 13,
                                  15, 16, 17, 20, 24, 31, 32, 37, 48, 64, 67, 100};

/** Nests axes and loops in a random order, with gaps; gives one side's strides. */
static void random_strides(const wmFftDesc *d, int output, int64_t *strides) {
    int sides = d->rank + d->loops, order[6] = {0, 1, 2, 3, 4, 5};
    for (int i = sides - 1; i > 0; i--) {
        int j = (int)fft_below(i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    int64_t stride = 1 + (fft_below(4) == 0);
    for (int i = 0; i < sides; i++) {
        int side = order[i];
        int64_t n = side < d->rank ? wm_fft_length(d, side, output) : d->loop[side - d->rank].n;
        strides[side] = stride;
        stride = stride * n + (fft_below(3) == 0 ? fft_below(4) : 0);
    }
}

static void random_layout(wmFftDesc *d) {
    int64_t in[6], out[6];
    random_strides(d, 0, in);
    random_strides(d, 1, out);
    if (d->placement == WM_IN_PLACE) memcpy(in, out, sizeof in);
    for (int i = 0; i < d->rank + d->loops; i++) {
        wmFftDim *dim = i < d->rank ? &d->dim[i] : &d->loop[i - d->rank];
        dim->in_stride = in[i];
        dim->out_stride = out[i];
    }
}

static wmFftDesc random_desc(void) {
    int64_t n[3], count = (int64_t)(sizeof lengths / sizeof *lengths);
    int rank = 1 + (int)fft_below(3), in_place = fft_below(3) == 0;
    for (int i = 0; i < rank; i++) n[i] = lengths[fft_below(rank == 1 ? count : rank == 2 ? 14 : 8)];
    wmFftKind kind = (wmFftKind)fft_below(3);
    wmType type = fft_below(2) ? WM_F32 : WM_F64;
    wmFftDesc d = in_place ? wmFftDescPackedInPlace(kind, type, rank, n, 1 + fft_below(20))
                           : wmFftDescPacked(kind, type, rank, n, 1 + fft_below(20));
    d.scale = (wmFftScale)fft_below(3);
    d.allow_input_overwrite = (int32_t)(fft_below(4) == 0);
    if (kind == WM_FFT_C2C) d.direction = (wmDirection)fft_below(2);
    if (fft_below(3) == 0 || (in_place && kind != WM_FFT_C2C)) return d;
    d.loops = (int32_t)fft_below(4);
    for (int i = 0; i < d.loops; i++) d.loop[i].n = 1 + fft_below(i ? 3 : 19);
    random_layout(&d);
    return d;
}

static void random_shapes(void **state) {
    const wm_solver *solvers[] = {&wm_fft_cpu, &wm_fftw, &wm_fft_naive};
    wmContext *contexts[] = {fft_context(1), fft_context(3)};
    (void)state;
    for (int i = 0; i < 1500; i++) {
        wmFftDesc d = random_desc();
        for (int s = 0; s < 3; s++) {
            if (s == 2 && i % 10) continue;
            fft_plan p = fft_make(contexts[i % 2], solvers[s], &d);
            if (!p.offered) {
                assert_true(s != 0);
                continue;
            }
            /* One small array can be unlucky; no error is more than a few roundings of each step. */
            double error = fft_check(&p), bound = wm_fft_points(&d) * wm_fft_batch(&p.problem.u.fft) < 64 ? 2 : 1.2;
            if (!(error <= bound)) fail_msg("%s, %s: error is %g of the gate", p.solver->name, p.text, error);
            fft_drop(&p);
        }
    }
    wmContextDestroy(contexts[0]);
    wmContextDestroy(contexts[1]);
}

/** Windows that overlap, and one array read by every round: the input must survive its own transform. */
static void overlapping_inputs(void **state) {
    wmContext *context = fft_context(2);
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int rank = 1; rank <= 2; rank++)
            for (int64_t hop = 0; hop <= 5; hop += 5) {
                int64_t n[2] = {20, 20};
                wmFftDesc d = wmFftDescPacked((wmFftKind)kind, WM_F32, rank, n, 30);
                d.loop[0].in_stride = hop;
                d.allow_input_overwrite = 1;
                fft_plan p = fft_make(context, &wm_fft_cpu, &d);
                assert_true(p.offered);
                double error = fft_check(&p);
                if (!(error <= (hop ? 1.2 : 2)))
                    fail_msg("%s: error is %g of the gate", p.text, error); /* hop 0: one array */
                fft_drop(&p);
            }
    wmContextDestroy(context);
}

/* ---- Long lines: every method, threads inside a line ---- */

static void long_lines(void **state) {
    static const int64_t n[] = {1024,  4096,  4099,   6000,      10007,   16384, 30030,
                                65536, 65537, 131072, 65521 * 2, 1 << 18, 500009};
    wmContext *context = fft_context(4);
    (void)state;
    for (int i = 0; i < (int)(sizeof n / sizeof *n); i++)
        for (int kind = 0; kind < 3; kind++) {
            wmFftDesc d = wmFftDescPacked((wmFftKind)kind, i % 2 ? WM_F64 : WM_F32, 1, &n[i], 1);
            fft_plan p = fft_make(context, &wm_fft_cpu, &d);
            fft_buffer in = fft_buffer_new(fft_bytes(&d, 0)), out = fft_buffer_new(fft_bytes(&d, 1));
            wm_oracle_fft oracle;
            assert_int_equal(wm_oracle_fft_make(&oracle, &d), 0);
            fft_fill(&in, d.type);
            fft_run(&p, in.at, out.at);
            double error = 0, size = 0;
            int64_t index[3] = {0};
            for (int s = 0; s < 40; s++) { /* a sample of the outputs, first and last included */
                int64_t k[3] = {s == 0 ? 0 : s == 1 ? oracle.out[0] - 1 : fft_below(oracle.out[0]), 0, 0};
                wm_root want = wm_oracle_fft_value(&oracle, in.at, index, k);
                int pairs = fft_pairs(&d, 1);
                long double re = (long double)fft_get(out.at, d.type, k[0] * pairs) - want.re, im = 0;
                if (pairs == 2) im = (long double)fft_get(out.at, d.type, k[0] * 2 + 1) - want.im;
                error += (double)(re * re + im * im);
                size += (double)(want.re * want.re) + (pairs == 2 ? (double)(want.im * want.im) : 0);
            }
            for (int64_t k = 0; k < oracle.out[0] * fft_pairs(&d, 1); k++)
                assert_false(isnan(fft_get(out.at, d.type, k)));
            error = sqrt(error / size) / fft_gate(&d);
            if (!(error <= 1.3)) fail_msg("%s: error is %g of the gate", p.text, error); /* 40 samples scatter */
            wm_oracle_fft_drop(&oracle);
            fft_buffer_end(&in);
            fft_buffer_end(&out);
            fft_drop(&p);
        }
    wmContextDestroy(context);
}

/* ---- Properties ---- */

static double largest(const double *x, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/** Transforms three arrays at once: a, b and a + 2 b; then an impulse, a constant, and a shifted copy. */
static void linearity_impulse_shift(void **state) {
    wmContext *context = fft_context(1);
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t n = 2 + fft_below(round < 40 ? 300 : 3000), shift = fft_below(n), at = fft_below(n);
        wmFftDesc d = wmFftDescPacked(WM_FFT_C2C, WM_F64, 1, &n, 5);
        d.direction = (wmDirection)(round % 2);
        double sign = round % 2 ? 1 : -1, *x = calloc((size_t)n, 5 * 16), *y = calloc((size_t)n, 5 * 16);
        assert_true(x && y);
        fft_buffer all = {(unsigned char *)x, (unsigned char *)x, (size_t)n * 5 * 16};
        fft_fill(&all, WM_F64);
        for (int64_t i = 0; i < 2 * n; i++) x[4 * n + i] = x[i] + 2 * x[2 * n + i];
        for (int64_t i = 0; i < 2 * n; i++) x[6 * n + i] = i == 2 * at;
        for (int64_t i = 0; i < n; i++) memcpy(&x[8 * n + 2 * i], &x[2 * ((i + shift) % n)], 16);
        fft_plan p = fft_make(context, &wm_fft_cpu, &d);
        fft_run(&p, x, y);
        double bound = 20 * 0x1p-53 * largest(y, 10 * n) * log2((double)n + 1);
        for (int64_t k = 0; k < n; k++) {
            double turn = sign * 6.283185307179586477 * (double)(at * k % n) / (double)n, c = cos(turn), s = sin(turn);
            assert_true(fabs(y[6 * n + 2 * k] - c) <= bound && fabs(y[6 * n + 2 * k + 1] - s) <= bound);
            turn = -sign * 6.283185307179586477 * (double)(shift * k % n) / (double)n, c = cos(turn), s = sin(turn);
            double re = y[2 * k] * c - y[2 * k + 1] * s, im = y[2 * k] * s + y[2 * k + 1] * c;
            assert_true(fabs(y[8 * n + 2 * k] - re) <= bound && fabs(y[8 * n + 2 * k + 1] - im) <= bound);
            for (int64_t i = 2 * k; i < 2 * k + 2; i++)
                assert_true(fabs(y[4 * n + i] - y[i] - 2 * y[2 * n + i]) <= bound);
        }
        free(x);
        free(y);
        fft_drop(&p);
    }
    wmContextDestroy(context);
}

static const int64_t probe_lengths[] = {1, 2, 5, 8, 30, 37, 64, 100, 128, 257, 1000, 1009, 1024, 2310, 4099};
enum { PROBES = sizeof probe_lengths / sizeof *probe_lengths };

/** Equal members of a batch give equal bits; a second and third run give them again; a NaN stays in its own member. */
static void bits_and_nans(void **state) {
    enum { BATCH = 19, BAD = 7 };
    wmContext *context = fft_context(3);
    (void)state;
    for (int i = 0; i < PROBES; i++)
        for (int kind = 0; kind < 3; kind++) {
            wmFftDesc d = wmFftDescPacked((wmFftKind)kind, WM_F32, 1, &probe_lengths[i], BATCH);
            size_t in_one = (size_t)d.loop[0].in_stride * 4 * (size_t)fft_pairs(&d, 0);
            size_t out_one = (size_t)d.loop[0].out_stride * 4 * (size_t)fft_pairs(&d, 1);
            fft_buffer in = fft_buffer_new(in_one * BATCH), out = fft_buffer_new(out_one * BATCH);
            fft_fill(&in, WM_F32);
            for (size_t b = 1; b < BATCH; b++) memcpy(in.at + b * in_one, in.at, in_one);
            fft_plan p = fft_make(context, &wm_fft_cpu, &d);
            unsigned char *first = malloc(out_one);
            assert_non_null(first);
            for (int run = 0; run < 3; run++) {
                if (run == 2) memset(in.at + BAD * in_one, 0xff, in_one);
                memset(out.at, 0xff, out.bytes);
                fft_run(&p, in.at, out.at);
                if (run == 0) memcpy(first, out.at, out_one);
                for (size_t b = 0; b < BATCH; b++)
                    if (run < 2 || b != BAD) assert_memory_equal(out.at + b * out_one, first, out_one);
            }
            free(first);
            fft_buffer_end(&in);
            fft_buffer_end(&out);
            fft_drop(&p);
        }
    wmContextDestroy(context);
}

/** C2R takes no notice of the imaginary parts of DC and Nyquist, NaNs even. */
static void ignored_parts(void **state) {
    const wm_solver *solvers[] = {&wm_fft_cpu, &wm_fft_naive};
    wmContext *context = fft_context(1);
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < PROBES; i++) {
            int64_t n = probe_lengths[i];
            wmFftDesc d = wmFftDescPacked(WM_FFT_C2R, WM_F32, 1, &n, 3);
            fft_buffer in = fft_buffer_new(fft_bytes(&d, 0)), out = fft_buffer_new(fft_bytes(&d, 1)),
                       again = fft_buffer_new(fft_bytes(&d, 1));
            fft_fill(&in, WM_F32);
            fft_plan p = fft_make(context, solvers[s], &d);
            fft_run(&p, in.at, out.at);
            for (int64_t b = 0; b < 3; b++) {
                float *x = (float *)in.at + b * 2 * (n / 2 + 1);
                x[1] = b == 1 ? NAN : 1e6f;
                if (n % 2 == 0) x[n + 1] = b == 1 ? NAN : -1e6f;
            }
            fft_run(&p, in.at, again.at);
            assert_memory_equal(out.at, again.at, out.bytes);
            fft_buffer_end(&in);
            fft_buffer_end(&out);
            fft_buffer_end(&again);
            fft_drop(&p);
        }
    wmContextDestroy(context);
}

int main(void) {
    const char *seed = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    if (seed) fft_seed = strtoull(seed, NULL, 10);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)fft_seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_agrees_with_definition),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(overlapping_inputs),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(linearity_impulse_shift),
        cmocka_unit_test(bits_and_nans),
        cmocka_unit_test(ignored_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
