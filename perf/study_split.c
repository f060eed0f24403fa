/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How accurate f32 products by split f16 operands are, beside SGEMM (cuBLASLt's first choice) on the same data: the
 * root of the mean square of error / Σ|a||b| over D, against sums in f64. Four kinds of data:
 * - random: uniform in [-1, 1)
 * - ill-scaled: signs times e^(4 normal), rows and columns times 2^±30 besides
 * - cancelling: neighbouring products of opposite sign, 2^-10 apart
 * - positive: uniform in [0, 1)
 *
 * Usage: study_split [PROBLEMS [SEED]]. Prints for each kind the mean and the largest of split's over SGEMM's, and the
 * mean by powers of two of k.
 */
#include "lib/context_internal.h"
#include "lib/measure.h"
#include "perf/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4, DEEPEST = 13, MOST_SIDE = 192, MOST_K = 1 << DEEPEST };
static const char *const kind_names[KINDS] = {"random", "ill-scaled", "cancelling", "positive"};

static uint64_t state;

static double unit(void) { /* splitmix64: Steele, Lea and Flood, OOPSLA 2014; in [0, 1) */
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static double normal(void) {
    return sqrt(-2.0 * log(1.0 - unit())) * cos(6.283185307179586 * unit());
}

/* Rows of k: of A, or, `other`, columns of B. */
static void fill(float *x, int rows, int k, int kind, int other) {
    for (int i = 0; i < rows; i++) {
        double scale = kind == 1 ? ldexp(1.0, (int)(unit() * 61) - 30) : 1.0;
        for (int q = 0; q < k; q++) {
            double v = kind == 3 ? unit() : 2.0 * unit() - 1.0;
            if (kind == 1) v = (v < 0 ? -1.0 : 1.0) * exp(4.0 * normal()) * scale;
            if (kind == 2 && q % 2) v = x[(size_t)i * k + q - 1] * (other ? -1.0 - 0x1p-10 * unit() : 1.0);
            x[(size_t)i * k + q] = (float)v;
        }
    }
}

typedef struct bench {
    wmContext *context;
    wmStream stream;
    void *a, *b, *d; /* on the device */
    float *host_a, *host_b, *result;
    double *truth, *size;
} bench;

static wmStatus copy(const bench *x, void *to, const void *from, size_t bytes) {
    const wm_gpu *gpu = x->context->gpu;
    WM_TRY(wm_gpu_check(gpu, gpu->copy(gpu->self, to, from, bytes, x->stream), "cudaMemcpyAsync"));
    return wm_gpu_check(gpu, gpu->stream_wait(gpu->self, x->stream), "cudaStreamSynchronize");
}

/* The solver's first variant for the problem; D to `out`. */
static wmStatus multiply(const bench *x, const char *solver, const char *text, void *out, size_t bytes) {
    const wm_solver *s = probe_solver(solver);
    wm_problem problem;
    wm_offer offers[WM_MAX_OFFERS];
    wm_why why = {""};
    wm_args args = {0};
    WM_TRY(wm_problem_parse(&problem, text, WM_PLACE_GPU));
    if (!s || s->offer(x->context, &problem, offers, WM_MAX_OFFERS, &why) == 0)
        return wm_fail(WM_ERR_UNSUPPORTED, "%s: %s", solver, why.text);
    args.matmul = wmMatmulArgsDefault(x->a, x->b, x->d);
    args.matmul.c = x->d, args.matmul.alpha = wmReal(1), args.matmul.beta = wmReal(0);
    wm_run run = {x->context, &problem, &offers[0], NULL, &args, NULL, x->stream};
    WM_TRY(wm_context_alloc(x->context, &run.workspace, offers[0].workspace));
    wmStatus status = s->make ? s->make(x->context, &problem, &offers[0], &run.state) : WM_OK;
    if (status == WM_OK) status = s->run(&run);
    if (status == WM_OK) status = copy(x, out, x->d, bytes);
    if (s->drop) s->drop(x->context, run.state);
    wm_context_free(x->context, run.workspace, offers[0].workspace);
    return status;
}

static wmStatus send(const bench *x, size_t a, size_t b) {
    WM_TRY(copy(x, x->a, x->host_a, a * sizeof(float)));
    return copy(x, x->b, x->host_b, b * sizeof(float));
}

static double error_of(const bench *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double e = ((double)x->result[i] - x->truth[i]) / x->size[i];
        sum += e * e;
    }
    return sqrt(sum / (double)count);
}

/* Errors of the split and of SGEMM. */
static wmStatus study(const bench *x, int m, int n, int k, int kind, double *split, double *sgemm) {
    char single[96], wide[96];
    size_t a = (size_t)m * k, b = (size_t)n * k, d = (size_t)m * n;
    snprintf(single, sizeof single, "matmul f32 %dx%dx%d tb=t", m, n, k);
    snprintf(wide, sizeof wide, "matmul f32 %dx%dx%d tb=t d=f64", m, n, k);
    fill(x->host_a, m, k, kind, 0);
    fill(x->host_b, n, k, kind, 1);
    WM_TRY(send(x, a, b));
    WM_TRY(multiply(x, "matmul_naive", wide, x->truth, d * sizeof(double)));
    WM_TRY(multiply(x, "matmul_split", single, x->result, d * sizeof(float)));
    float *kept = (float *)malloc(d * sizeof(float));
    if (!kept) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    memcpy(kept, x->result, d * sizeof(float));
    wmStatus status = multiply(x, "cublaslt", single, x->result, d * sizeof(float));
    for (size_t i = 0; i < a; i++) x->host_a[i] = fabsf(x->host_a[i]);
    for (size_t i = 0; i < b; i++) x->host_b[i] = fabsf(x->host_b[i]);
    if (status == WM_OK) status = send(x, a, b);
    if (status == WM_OK) status = multiply(x, "matmul_naive", wide, x->size, d * sizeof(double));
    if (status == WM_OK) {
        *sgemm = error_of(x, d);
        memcpy(x->result, kept, d * sizeof(float));
        *split = error_of(x, d);
    }
    free(kept);
    return status;
}

/* Of one kind. */
typedef struct tally {
    long count;
    double split, sgemm, worst;  /* sums of errors; largest ratio */
    double by_k[DEEPEST + 1][2]; /* sums by the power of two below k */
} tally;

static wmStatus prepare(bench *x) {
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    WM_TRY(wmContextCreate(&x->context, &options));
    const wm_gpu *gpu = x->context->gpu;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_create(gpu->self, &x->stream), "cudaStreamCreate"));
    size_t side = (size_t)MOST_SIDE * MOST_K, out = (size_t)MOST_SIDE * MOST_SIDE;
    WM_TRY(wm_context_alloc(x->context, &x->a, side * sizeof(float)));
    WM_TRY(wm_context_alloc(x->context, &x->b, side * sizeof(float)));
    WM_TRY(wm_context_alloc(x->context, &x->d, out * sizeof(double)));
    x->host_a = (float *)malloc(side * sizeof(float));
    x->host_b = (float *)malloc(side * sizeof(float));
    x->result = (float *)calloc(out, sizeof(float));
    x->truth = (double *)calloc(out, sizeof(double));
    x->size = (double *)calloc(out, sizeof(double));
    int all = x->host_a && x->host_b && x->result && x->truth && x->size;
    return all ? WM_OK : wm_fail(WM_ERR_MEMORY, "out of host memory");
}

static void print(const tally *t, const char *name) {
    printf("%-11s %5ld problems, split / SGEMM: mean %.3f, largest %.3f; by log2 k", name, t->count,
           t->split / t->sgemm, t->worst);
    for (int e = 6; e <= DEEPEST; e++)
        if (t->by_k[e][1] > 0) printf(" %d:%.2f", e, t->by_k[e][0] / t->by_k[e][1]);
    printf("; errors %.3g, %.3g\n", t->split / (double)t->count, t->sgemm / (double)t->count);
}

int main(int argc, char **argv) {
    static tally kinds[KINDS];
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    bench x = {0};
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    wmStatus status = prepare(&x);
    for (long i = 0; i < count && status == WM_OK; i++) {
        int m = 16 + (int)(unit() * (MOST_SIDE - 16)), n = 16 + (int)(unit() * (MOST_SIDE - 16));
        double depth = 6 + unit() * (DEEPEST - 6), split = 0, sgemm = 0;
        int k = (int)exp2(depth);
        tally *t = &kinds[i % KINDS];
        status = study(&x, m, n, k, (int)(i % KINDS), &split, &sgemm);
        t->count++, t->split += split, t->sgemm += sgemm;
        t->by_k[(int)depth][0] += split, t->by_k[(int)depth][1] += sgemm;
        if (split / sgemm > t->worst) t->worst = split / sgemm;
    }
    if (status != WM_OK) puts(wmLastError());
    for (int kind = 0; kind < KINDS; kind++)
        if (kinds[kind].count) print(&kinds[kind], kind_names[kind]);
    wmContextDestroy(x.context);
    return status != WM_OK;
}
