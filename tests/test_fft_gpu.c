/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accuracy of our one-block transforms on the GPU place, length by length: the L2 error against a long double transform
 * stays within 0.9 u sqrt(log2 N) for smooth lengths and 1.6 with a prime factor above 31. Built twice: for the thread
 * emulation, and for a GPU, where every length is a kernel of its own that is compiled first.
 *   test_fft_gpu [first last [step [file [kinds]]]]
 * Without lengths a selection that has every core, form and radix; the file gets a row a length for
 * perf/plot_accuracy.py; `kinds` of the three are taken, C2C first.
 */
#include "fft_case.h"
#include "fft_slow.h"
#include "lib/context_internal.h"

#include <pthread.h>
#include <time.h>

#ifdef WM_TEST_SIMT
#include "simt_gpu.h"
#endif

extern const wm_solver wm_fft_block;
static const wm_solver *const kernels[] = {&wm_fft_block};

enum { WORKERS = 16 };

typedef struct work {
    int64_t first, last, step;
    _Atomic int64_t next;
    _Atomic int failures, checked, refused;
    int kinds;
    FILE *rows;
    pthread_mutex_t lock;
    double worst[6];
    int64_t worst_n[6];
} work;

static work now;
static const char *const kind_names[] = {"c2c", "r2c", "c2r"};

/** Short arrays are many, so that no few unlucky roundings decide. */
static int64_t arrays_of(int64_t n) {
    return n < 600 ? 1200 / n + 3 : 3;
}

static int is_selected(int64_t n) {
    static const int64_t more[] = {64, 81, 97, 121, 127, 243, 360, 509, 1000, 1009, 2048, 2187, 3388, 4093};
    if (now.step) return (n - now.first) % now.step == 0;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (n == more[i]) return 1;
    return n <= 36;
}

static wmContext *new_context(void **fake) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = "";
    options.place = WM_PLACE_GPU;
#ifdef WM_TEST_SIMT
    *fake = wm_simt_gpu_new();
    if (wm_context_create_with(&context, &options, wm_fake_gpu(*fake), kernels, 1, wm_clock_system()) != WM_OK)
        return NULL;
#else
    const char *why = NULL;
    *fake = NULL;
    if (wm_context_create_with(&context, &options, wm_gpu_cuda(&why), kernels, 1, wm_clock_system()) != WM_OK)
        return NULL;
#endif
    return context;
}

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

/** Squares of the error and of the result, of one array. */
typedef struct sums {
    long double error, size;
} sums;

static void judge_array(const wmFftDesc *d, const void *in, const void *out, int64_t array, const wm_root *w,
                        wm_root *x, sums *s) {
    int64_t n = d->dim[0].n, pairs = fft_pairs(d, 1), length = wm_fft_length(d, 0, 1);
    wm_root *y = x + n;
    unfold(d, in, array * d->loop[0].in_stride, x);
    slow_fft(x, 1, n, w, n, y);
    for (int64_t k = 0; k < length; k++) {
        int64_t at = (array * d->loop[0].out_stride + k) * pairs;
        long double re = (long double)fft_get(out, d->type, at) - y[k].re, im = 0;
        if (pairs == 2) im = (long double)fft_get(out, d->type, at + 1) - y[k].im;
        s->error += re * re + im * im;
        s->size += y[k].re * y[k].re + (pairs == 2 ? y[k].im * y[k].im : 0);
    }
}

/** The error as a fraction of the gate: of all arrays, or of the last one where that is long enough. */
static double judge(const wmFftDesc *d, const void *in, const void *out) {
    int64_t n = d->dim[0].n, arrays = d->loop[0].n;
    wm_root *w = calloc((size_t)n, sizeof *w), *x = calloc(2 * (size_t)n, sizeof *x);
    sums s = {0, 0};
    if (!w || !x) abort();
    for (int64_t k = 0; k < n; k++) {
        w[k] = wm_root_of(k, n);
        if (d->direction == WM_INVERSE) w[k].im = -w[k].im;
    }
    for (int64_t i = n < 600 ? 0 : arrays - 1; i < arrays; i++) judge_array(d, in, out, i, w, x, &s);
    free(w);
    free(x);
    return (double)sqrtl(s.error / s.size) / fft_gate(d);
}

/** A generator of its own for each case, so that threads do not share one. */
static void fill(void *at, wmType type, int64_t reals, uint64_t seed) {
    for (int64_t i = 0; i < reals; i++) {
        uint64_t x = (seed + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        fft_put(at, type, i, (double)(int64_t)(x ^ x >> 31) * 0x1p-63);
    }
}

/** Runs the problem on fresh data; 0 where a call failed, the sentence in wmLastError(). */
static int run(wmContext *context, const wm_problem *problem, const wm_offer *offer, void *in, void *out) {
    const wmFftDesc *d = &problem->u.fft;
    size_t in_bytes = fft_bytes(d, 0), out_bytes = fft_bytes(d, 1);
    void *device_in = NULL, *device_out = NULL, *state = NULL;
    int good = wm_fft_block.make(context, problem, offer, &state) == WM_OK &&
               wmAlloc(&device_in, context, in_bytes) == WM_OK && wmAlloc(&device_out, context, out_bytes) == WM_OK &&
               wmCopy(context, device_in, in, in_bytes, NULL) == WM_OK &&
               wmCopy(context, device_out, out, out_bytes, NULL) == WM_OK;
    wm_args args = {.fft = wmFftArgsDefault(device_in, device_out)};
    wm_run r = {context, problem, offer, state, &args, NULL, NULL};
    good = good && wm_fft_block.run(&r) == WM_OK && wmCopy(context, out, device_out, out_bytes, NULL) == WM_OK &&
           wmSynchronize(context, NULL) == WM_OK;
    wmFree(context, device_in);
    wmFree(context, device_out);
    wm_fft_block.drop(context, state);
    return good;
}

static void check(wmContext *context, int64_t n, int kind, int f64) {
    wmFftDesc d = wmFftDescPacked((wmFftKind)kind, f64 ? WM_F64 : WM_F32, 1, &n, arrays_of(n));
    if (kind == WM_FFT_C2C && n % 2) d.direction = WM_INVERSE;
    wm_problem problem;
    wm_offer offer = {0};
    wm_why why = {""};
    if (wm_problem_from_fft(&problem, &d, WM_PLACE_GPU) != WM_OK) abort();
    if (wm_fft_block.offer(context, &problem, &offer, 1, &why) != 1) {
        now.refused++;
        if (n > 1 && n <= 4096) {
            printf("FAIL n = %lld, kind %d, f%d: %s\n", (long long)n, kind, f64 ? 64 : 32, why.text);
            now.failures++;
        }
        return;
    }
    size_t in_bytes = fft_bytes(&d, 0), out_bytes = fft_bytes(&d, 1);
    void *in = malloc(in_bytes), *out = malloc(out_bytes);
    if (!in || !out) abort();
    fill(in, d.type, (int64_t)(in_bytes / wmTypeSize(d.type)), fft_seed + (uint64_t)(n * 8 + kind * 2 + f64));
    memset(out, 0xff, out_bytes);
    int ran = run(context, &problem, &offer, in, out), i = 2 * kind + f64;
    double error = ran ? judge(&d, in, out) : INFINITY;
    pthread_mutex_lock(&now.lock);
    if (!(error <= 1)) {
        printf("FAIL n = %lld, kind %d, f%d: error is %g of the gate (%s)\n", (long long)n, kind, f64 ? 64 : 32, error,
               ran ? "computed" : wmLastError());
        now.failures++;
    }
    if (now.rows)
        fprintf(now.rows, "%s,f%d,%lld,%.4f\n", kind_names[kind], f64 ? 64 : 32, (long long)n,
                error * fft_gate(&d) / ((f64 ? 0x1p-53 : 0x1p-24) * sqrt(log2((double)n))));
    if (error > now.worst[i]) now.worst[i] = error, now.worst_n[i] = n;
    now.checked++;
    pthread_mutex_unlock(&now.lock);
    free(in);
    free(out);
}

static void *worker(void *user) {
    (void)user;
    void *fake = NULL;
    wmContext *context = new_context(&fake);
    if (!context) {
        printf("FAIL no context: %s\n", wmLastError());
        now.failures++;
        return NULL;
    }
    for (int64_t n; (n = now.next++) <= now.last;) {
        if (!is_selected(n)) continue;
        for (int kind = 0; kind < now.kinds; kind++)
            for (int f64 = 0; f64 < 2; f64++) check(context, n, kind, f64);
    }
    wmContextDestroy(context);
#ifdef WM_TEST_SIMT
    wm_fake_end(fake);
#endif
    return NULL;
}

int main(int argc, char **argv) {
    const char *seed = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    pthread_t threads[WORKERS];
    int workers = WORKERS;
    fft_seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)fft_seed);
    now.first = argc > 2 ? strtoll(argv[1], NULL, 10) : 2;
    now.last = argc > 2 ? strtoll(argv[2], NULL, 10) : 4096;
    now.step = argc > 3 ? strtoll(argv[3], NULL, 10) : argc > 2;
    now.next = now.first;
    now.kinds = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 3;
    now.rows = argc > 4 ? fopen(argv[4], "w") : NULL;
    if (argc > 4 && !now.rows) {
        printf("FAIL %s cannot be written\n", argv[4]);
        return 1;
    }
    if (now.rows) fprintf(now.rows, "kind,type,n,error\n");
    pthread_mutex_init(&now.lock, NULL);
#ifdef WM_TEST_SIMT
    workers = 1; /* the emulation runs one launch at a time */
#endif
    for (int i = 0; i < workers; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL) != 0) abort();
    for (int i = 0; i < workers; i++) pthread_join(threads[i], NULL);
#ifdef WM_TEST_SIMT
    if (wm_simt_fault_count()) printf("FAIL the emulation reports\n%s", wm_simt_faults());
    now.failures += wm_simt_fault_count();
#endif
    for (int i = 0; i < 6; i++)
        printf("%s f%d: worst error %.3f of the gate at n = %lld\n", kind_names[i / 2], i % 2 ? 64 : 32, now.worst[i],
               (long long)now.worst_n[i]);
    if (now.rows && fclose(now.rows) != 0) now.failures++;
    printf("%d checked, %d refused, %d failures\n", now.checked, now.refused, now.failures);
    return now.failures || now.checked == 0;
}
