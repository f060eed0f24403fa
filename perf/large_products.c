/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose D has more than 2^31 elements, by every solver of the GPU place that takes them, two variants each. A
 * few lines of D, those about element 2^31 and the last among them, are compared whole with sums in f64; memory behind
 * D must stay as it was. It asks where elements go, so bounds are generous. Takes 30 GB of the GPU's memory.
 *
 *     large_products [SOLVER ["matmul …"]]
 */
#include "lib/context_internal.h"
#include "lib/fields.h"
#include "lib/matmul_view.h"
#include "lib/measure.h"
#include "perf/probe.h"
#include "reference/number.h"

#include <math.h>
#include <stdint.h>

static const char *const problems[] = {
    "matmul bf16 65536x40000x64 tb=t",
    "matmul bf16 65000x40001x40 ta=t bias=n act=relu align_d=2",
    "matmul f16 40000x65536x64 od=col",
    "matmul f32 50000x45000x64",
    "matmul f32 50000x45000x32 tb=t compute=tf32",
    "matmul i8 47000x47008x64 tb=t",
    "matmul e4m3 65536x40000x64 tb=t",
    "matmul f64 46500x46600x16",
    "matmul c64 46500x46600x32",
    "matmul bf16 65536x40000x64 tb=t act=silu",
    "matmul f32 46500x46500x64 tb=t triangle=lower",
    "matmul f32 4x4x4 batch=140000000 sa=0 sb=0",
};

enum { LINES = 12, GUARD = 4096 };

static uint64_t state = 1;

static double draw(void) {                                       /* -4 … 4 in halves */
    state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's, TAOCP vol. 2, 3.3.4 */
    return (double)((state >> 33) % 17) / 2 - 4;
}

/* One problem: A, B and a bias here and there, and what some lines of D should be. */
typedef struct large {
    wmContext *context;
    const wm_gpu *gpu;
    wm_problem problem;
    int64_t a_count, b_count, d_bytes, line[LINES], length;
    void *a, *b, *got;
    float *bias;
    wmMatmulArgs args;
    wm_number *want; /* [LINES][length] */
} large;

static void *make(large *x, wmType type, int64_t count, void **there) {
    void *here = malloc((size_t)count * wmTypeSize(type));
    for (int64_t i = 0; here && i < count; i++) {
        wm_number v = {draw(), draw()};
        wm_number_store(type, here, i, v);
    }
    if (here && wm_context_alloc(x->context, there, (size_t)count * wmTypeSize(type)) == WM_OK)
        x->gpu->copy(x->gpu->self, *there, here, (size_t)count * wmTypeSize(type), NULL);
    return here;
}

static wm_number sum_of(const large *x, int64_t t, int64_t i, int64_t j) {
    const wmMatmulDesc *d = &x->problem.u.matmul;
    wm_view a = wm_view_of(&d->a), b = wm_view_of(&d->b);
    wm_number sum = {0, 0};
    for (int64_t q = 0; q < d->k; q++) {
        wm_number u = wm_number_load(d->a.type, x->a, t * a.batch + i * a.row + q * a.col);
        wm_number v = wm_number_load(d->b.type, x->b, t * b.batch + q * b.row + j * b.col);
        sum.re += u.re * v.re - u.im * v.im;
        sum.im += u.re * v.im + u.im * v.re;
    }
    if (d->bias) sum.re += (double)x->bias[j];
    if (d->activation == WM_ACT_RELU) sum.re = fmax(sum.re, 0);
    if (d->activation == WM_ACT_SILU) sum.re = sum.re / (1 + exp(-sum.re));
    return sum;
}

/* A line is a row of D, a column of a column-major one, or, of many small products, one of those. */
static void want_lines(large *x) {
    const wmMatmulDesc *d = &x->problem.u.matmul;
    int by_columns = d->d.order == WM_COL_MAJOR, small = d->batch > 1;
    int64_t count = small ? d->batch : by_columns ? d->n : d->m, beyond = ((int64_t)1 << 31) / x->length;
    const int64_t some[] = {0, 1, count / 2, beyond - 1, beyond, beyond + 1, count - 2, count - 1};
    for (int l = 0; l < LINES; l++) {
        int64_t at = l < 8 ? some[l] : (int64_t)((state = state * 6364136223846793005u + 1) >> 1) % count;
        x->line[l] = at < count ? at : count - 1;
        for (int64_t e = 0; e < x->length; e++) {
            int64_t t = small ? x->line[l] : 0, i = small ? e / d->n : by_columns ? e : x->line[l];
            x->want[l * x->length + e] = sum_of(x, t, i, small ? e % d->n : by_columns ? x->line[l] : e);
        }
    }
}

static int close_to(const wmMatmulDesc *d, wm_number got, wm_number want) {
    double least = wmTypeSize(d->a.type) >= 4 && d->compute != WM_COMPUTE_TF32 ? 1e-3 : 0.06;
    double part = wmTypeSize(d->d.type) >= 4 ? 1e-4 : 0x1p-7;
    return fabs(got.re - want.re) <= least + part * fabs(want.re) &&
           fabs(got.im - want.im) <= least + part * fabs(want.im);
}

/* 0: every line is as it should be, and the guard stands. */
static int wrong(large *x) {
    const wmMatmulDesc *d = &x->problem.u.matmul;
    size_t element = wmTypeSize(d->d.type), bytes = (size_t)x->length * element;
    int64_t stride = d->batch > 1 ? d->d.batch_stride : d->d.ld;
    unsigned char guard[GUARD];
    for (int l = 0; l < LINES; l++) {
        x->gpu->copy(x->gpu->self, x->got, (char *)x->args.d + (size_t)(x->line[l] * stride) * element, bytes, NULL);
        if (x->gpu->stream_wait(x->gpu->self, NULL)) return printf("  the run failed\n");
        for (int64_t e = 0; e < x->length; e++) {
            if (!wm_matmul_has(d, x->line[l], e)) continue;
            wm_number got = wm_number_load(d->d.type, x->got, e), want = x->want[l * x->length + e];
            if (!close_to(d, got, want))
                return printf("  line %lld, element %lld: %g, not %g\n", (long long)x->line[l], (long long)e, got.re,
                              want.re);
        }
    }
    x->gpu->copy(x->gpu->self, guard, (char *)x->args.d + x->d_bytes, GUARD, NULL);
    x->gpu->stream_wait(x->gpu->self, NULL);
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != 0xff) return printf("  byte %d behind D was written\n", i);
    return 0;
}

static int try_offer(large *x, const wm_solver *solver, const wm_offer *offer) {
    wm_args args;
    wm_run run = {x->context, &x->problem, offer, NULL, &args, NULL, NULL};
    char knobs[160];
    args.matmul = x->args;
    x->gpu->set(x->gpu->self, x->args.d, 0xff, (size_t)x->d_bytes + GUARD, NULL);
    wmStatus status = wm_context_alloc(x->context, &run.workspace, offer->workspace);
    if (status == WM_OK && solver->make) status = solver->make(x->context, &x->problem, offer, &run.state);
    if (status == WM_OK) status = solver->run(&run);
    wm_knobs_print(solver, offer, knobs, sizeof knobs);
    printf("  %s %s\n", solver->name, knobs);
    int bad = status != WM_OK ? printf("  %s\n", wmLastError()) : wrong(x);
    if (solver->drop) solver->drop(x->context, run.state);
    wm_context_free(x->context, run.workspace, offer->workspace);
    return bad != 0;
}

static int try_solver(large *x, const wm_solver *solver) {
    wm_offer offers[WM_MAX_OFFERS];
    wm_why why = {""};
    if (solver->op != WM_MATMUL || solver->place != WM_PLACE_GPU) return 0;
    if (wm_problem_features(&x->problem) & ~solver->features) return 0;
    memset(offers, 0, sizeof offers);
    int count = solver->offer(x->context, &x->problem, offers, WM_MAX_OFFERS, &why);
    if (count <= 0) return 0;
    int bad = try_offer(x, solver, &offers[0]);
    return count > 1 ? bad + try_offer(x, solver, &offers[count - 1]) : bad;
}

static int try_problem(wmContext *context, const char *text, const char *only) {
    large x = {.context = context, .gpu = wm_context_gpu(context)};
    int count = 0, bad = 0;
    void *a = NULL, *b = NULL, *d = NULL, *bias = NULL;
    if (wm_problem_parse(&x.problem, text, WM_PLACE_GPU) != WM_OK) return printf("%s\n", wmLastError());
    const wmMatmulDesc *m = &x.problem.u.matmul;
    x.a_count = wm_matrix_span(&m->a, wm_matmul_shape(m, 'a'), m->batch);
    x.b_count = wm_matrix_span(&m->b, wm_matmul_shape(m, 'b'), m->batch);
    x.d_bytes = wm_matrix_span(&m->d, wm_matmul_shape(m, 'd'), m->batch) * (int64_t)wmTypeSize(m->d.type);
    x.length = m->batch > 1 ? m->m * m->n : m->d.order == WM_COL_MAJOR ? m->m : m->n;
    printf("%s: %.3g elements\n", text, (double)x.d_bytes / (double)wmTypeSize(m->d.type));
    x.a = make(&x, m->a.type, x.a_count, &a);
    x.b = make(&x, m->b.type, x.b_count, &b);
    wmType bias_type = m->bias ? m->bias_type : WM_F32;
    void *stored = make(&x, bias_type, m->n, &bias);
    x.bias = calloc((size_t)m->n, sizeof *x.bias);
    x.got = malloc((size_t)x.length * 16);
    x.want = malloc((size_t)x.length * LINES * sizeof *x.want);
    if (wm_context_alloc(context, &d, (size_t)x.d_bytes + GUARD) != WM_OK) bad = printf("%s\n", wmLastError());
    if (!bad && x.a && x.b && a && b && stored && bias && x.bias && x.got && x.want) {
        for (int64_t j = 0; j < m->n; j++) x.bias[j] = (float)wm_number_load(bias_type, stored, j).re;
        want_lines(&x);
        x.args = wmMatmulArgsDefault(a, b, d);
        x.args.c = d, x.args.bias = bias;
        x.args.alpha = wmReal(1), x.args.beta = wmReal(0);
        const wm_solver *const *all = wm_solvers(&count);
        for (int i = 0; i < count; i++)
            if (!only || strcmp(only, all[i]->name) == 0) bad += try_solver(&x, all[i]);
    } else {
        bad = printf("out of memory\n");
    }
    wm_context_free(context, a, (size_t)x.a_count * wmTypeSize(m->a.type));
    wm_context_free(context, b, (size_t)x.b_count * wmTypeSize(m->b.type));
    wm_context_free(context, bias, (size_t)m->n * wmTypeSize(bias_type));
    wm_context_free(context, d, (size_t)x.d_bytes + GUARD);
    void *const here[] = {x.a, x.b, stored, x.bias, x.got, x.want};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) free(here[i]);
    return bad;
}

int main(int argc, char **argv) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    int bad = 0;
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    if (wmContextCreate(&context, &options) != WM_OK) {
        printf("%s\n", wmLastError());
        return 77;
    }
    const char *only = argc > 1 && strcmp(argv[1], "any") != 0 ? argv[1] : NULL;
    if (argc > 2)
        bad = try_problem(context, argv[2], only);
    else
        for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) bad += try_problem(context, problems[i], only);
    wmContextDestroy(context);
    printf("%d wrong\n", bad);
    return bad != 0;
}
