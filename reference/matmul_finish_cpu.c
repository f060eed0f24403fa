/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that wmMatmulDesc lists beyond bias and activation, on the CPU: the plain product by the fastest solver that does
 * it (OpenBLAS where it is found), into the workspace, then a pass over it in double, a row of D at a time. A row is
 * one thread's, its sum runs over j ascending, and the magnitudes of rows meet in order, so the bits do not depend on
 * the number of threads.
 *
 * Refuses what needs no such pass: other solvers do it whole.
 */
#include "lib/matmul_apart.h"
#include "lib/parallel.h"
#include "reference/matmul_finish.h"
#include "reference/matmul_more.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pass {
    const wmMatmulDesc *desc;
    const wmMatmulArgs *args;
    const wmMatmulDesc *plain; /* its D holds the sums */
    const char *sums;
    double alpha, beta; /* alpha 0: the sums count for nothing */
    wm_dropping dropping;
    double *largest; /* of each row's magnitudes; the absmax of all is theirs */
} pass;

/* Element (i, j) of product t of a matrix of real numbers. */
static double at(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *arg, int64_t t, int64_t i, int64_t j) {
    wm_view view = wm_view_of(x);
    return wm_number_load(x->type, wm_matrix_at(d, x, arg, t), i * view.row + j * view.col).re;
}

static void put(const wmMatmulDesc *d, const wmMatrixDesc *x, void *arg, int64_t t, int64_t i, int64_t j, double y) {
    wm_view view = wm_view_of(x);
    if (x->type == WM_I8) y = isnan(y) ? 0.0 : rint(fmin(fmax(y, -128.0), 127.0));
    wm_number_store(x->type, (void *)wm_matrix_at(d, x, arg, t), i * view.row + j * view.col, (wm_number){y, 0.0});
}

/* z(i, j): column j of the product. */
static double linear(const pass *p, int64_t t, int64_t i, int64_t j) {
    const wmMatmulDesc *d = p->desc;
    double z = 0.0;
    if (p->alpha != 0.0) {
        z = at(p->plain, &p->plain->d, p->sums, t, i, j);
        if (d->a.type == WM_I8) z *= p->alpha;
        z *= wm_scale_at(d, &d->a, p->args->a_scale, t, i) * wm_scale_at(d, &d->b, p->args->b_scale, t, j);
    }
    if (p->beta != 0.0) z += p->beta * at(d, &d->c, p->args->c, t, i, j);
    if (d->bias) z += wm_number_load(d->bias_type, p->args->bias, d->bias == WM_BIAS_N ? j : i).re;
    if (d->z.type) put(d, &d->z, p->args->z, t, i, j, z);
    return z;
}

static double result(const pass *p, int64_t t, int64_t i, int64_t j) {
    const wmMatmulDesc *d = p->desc;
    int64_t columns = wm_matmul_columns(d);
    double y = wm_activation_f64(d->activation, linear(p, t, i, d->gate == WM_GATE_PAIRS ? 2 * j : j));
    if (d->gate) y *= linear(p, t, i, d->gate == WM_GATE_PAIRS ? 2 * j + 1 : columns + j);
    if (d->dropout) y = wm_dropping_keeps(&p->dropping, (t * d->m + i) * columns + j) ? y * p->dropping.factor : 0.0;
    if (d->r.type) y += at(d, &d->r, p->args->r, t, i, j);
    return d->functor.host ? d->functor.host(y, i, j, t, p->args->functor_user) : y;
}

static double reduced(wmReduction reduction, double sum, double y) {
    if (reduction == WM_REDUCE_ROW_SUM) return sum + y;
    if (reduction != WM_REDUCE_ROW_MAX) y = fabs(y);
    return y > sum || isnan(y) ? y : sum; /* a NaN stays: nothing is larger */
}

static void do_row(const pass *p, int64_t t, int64_t i) {
    const wmMatmulDesc *d = p->desc;
    double sum = d->reduction == WM_REDUCE_ROW_MAX ? -INFINITY : 0.0;
    for (int64_t j = 0; j < wm_matmul_columns(d); j++) {
        if (!wm_matmul_has(d, i, j)) continue;
        double y = result(p, t, i, j);
        if (d->reduction) sum = reduced(d->reduction, sum, y);
        if (d->d.scale) {
            int64_t line = d->d.scale == WM_SCALE_COLUMN ? j : i;
            y /= wm_scale_at(d, &d->d, p->args->d_scale, t, line);
        }
        put(d, &d->d, p->args->d, t, i, j, y);
    }
    if (d->reduction == WM_REDUCE_ABSMAX)
        p->largest[t * d->m + i] = sum;
    else if (d->reduction)
        wm_number_store(wm_reduced_type(d), p->args->reduced, t * d->m + i, (wm_number){sum, 0.0});
}

static void do_rows(void *user, int64_t from, int64_t to, int thread) {
    const pass *p = user;
    (void)thread;
    for (int64_t row = from; row < to; row++) do_row(p, row / p->desc->m, row % p->desc->m);
}

/* ---- A and B times their blocks' scales, in f32 ---- */

typedef struct widening {
    const wmMatmulDesc *desc;
    const wmMatrixDesc *from, *to;
    const void *x, *scale;
    float *out;
    int64_t lines;
} widening;

static void widen_lines(void *user, int64_t from, int64_t to, int thread) {
    const widening *w = user;
    int is_a = w->from == &w->desc->a;
    wm_view x = wm_view_of(w->from), y = wm_view_of(w->to);
    (void)thread;
    for (int64_t at = from; at < to; at++) {
        int64_t t = at / w->lines, line = at % w->lines;
        for (int64_t q = 0; q < w->desc->k; q++) {
            int64_t i = is_a ? line : q, j = is_a ? q : line;
            double value = wm_number_load(w->from->type, w->x, t * x.batch + i * x.row + j * x.col).re;
            value *= wm_block_scale_at(w->desc, w->from, w->scale, t, line, q);
            w->out[t * y.batch + i * y.row + j * y.col] = (float)value;
        }
    }
}

static void widen(const wm_run *run, const wm_apart *apart) {
    const wmMatmulDesc *d = &run->problem->u.matmul, *plain = &apart->inner.problem.u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    char *a = (char *)run->workspace + apart->sum_bytes;
    widening both[] = {
        {d, &d->a, &plain->a, args->a, args->a_scale, (float *)(void *)a,                    d->m},
        {d, &d->b, &plain->b, args->b, args->b_scale, (float *)(void *)(a + apart->a_bytes), d->n}
    };
    for (int x = 0; x < 2; x++) {
        int64_t products = both[x].to->batch_stride ? d->batch : 1;
        wm_parallel_for(wm_context_threads(run->context), products * both[x].lines, 1, widen_lines, &both[x]);
    }
}

static size_t room_of(const wmMatmulDesc *d) {
    return d->reduction == WM_REDUCE_ABSMAX ? (size_t)(d->m * d->batch) * sizeof(double) : 0;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    if (capacity < 1) return 0;
    if (!(wm_problem_features(problem) & WM_APART_BEYOND)) return wm_refuse(why, "others do all of it at once");
    memset(out, 0, sizeof *out);
    if (!wm_apart_offer(context, d, out, why)) return 0;
    /* About 15 ns an element and thread, more with an exponential. */
    double elements = (double)d->m * (double)d->n * (double)d->batch;
    out->seconds += 15e-9 * (d->activation > WM_ACT_RELU ? 2 : 1) * elements / wm_context_threads(context);
    out->workspace += room_of(d);
    out->capturable = 0;
    return 1;
}

static void drop(wmContext *context, void *state) {
    wm_apart *apart = state;
    if (apart) wm_inner_drop(context, &apart->inner);
    free(apart);
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offered, void **state) {
    wm_apart *apart = calloc(1, sizeof *apart);
    if (!apart) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = apart;
    wm_offer inner = *offered;
    inner.workspace -= room_of(&problem->u.matmul);
    return wm_apart_make(context, &problem->u.matmul, &inner, apart);
}

static wmStatus run(const wm_run *run) {
    const wm_apart *apart = run->state;
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    wm_finish finish = wm_finish_of(d, args);
    pass p = {.desc = d,
              .args = args,
              .plain = &apart->inner.problem.u.matmul,
              .sums = run->workspace,
              .alpha = d->k == 0 ? 0.0 : finish.unscaled,
              .beta = finish.beta.re,
              .dropping = wm_dropping_of(d, args),
              .largest = (double *)(void *)((char *)run->workspace + run->offer->workspace - room_of(d))};
    if (wm_apart_widens(d) && p.alpha != 0.0) widen(run, apart);
    WM_TRY(wm_apart_run(run, apart));
    wm_parallel_for(wm_context_threads(run->context), d->batch * d->m, 1, do_rows, &p);
    if (d->reduction != WM_REDUCE_ABSMAX) return WM_OK;
    double most = 0.0;
    for (int64_t row = 0; row < d->batch * d->m; row++) most = reduced(d->reduction, most, p.largest[row]);
    wm_number_store(wm_reduced_type(d), args->reduced, 0, (wm_number){most, 0.0});
    return WM_OK;
}

const wm_solver wm_matmul_finish_cpu = {
    .name = "matmul_finish_cpu",
    .op = WM_MATMUL,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 0,
    .features = WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_FP8 | WM_MM_I8 | WM_MM_MIXED | WM_MM_TRANSPOSE |
                WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT |
                WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED | WM_APART_BEYOND,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
