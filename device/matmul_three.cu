/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c64 products of three real ones (Gauss, "3M"), where the desc allows it:
 *
 *     A = Ar + i Ai, B = Br + i Bi:     P = Ar Br,  Q = Ai Bi,  R = (Ar + Ai)(Br + Bi)
 *     A B = (P - Q) + i (R - P - Q)
 *
 * One pass spreads A, another B, into three planes of f32; whichever solver is fastest multiplies them as a batch of
 * three; a third pass joins the planes and does alpha, C and bias. Rows in memory are a block's, neighbours a thread's.
 * The error of real parts is that of four products; that of imaginary ones is bounded by the terms of P, Q and R, which
 * may be larger than their own (Higham, Stability of a method for multiplying complex matrices with three real matrix
 * multiplications, SIAM J. Matrix Anal. Appl. 13, 1992). Sums of parts overflow above half of f32's range.
 *
 * Refuses: k under 32, arrays of pointers, other types. Floor: three quarters of the time of four products and, of an
 * m × n × k product, 20 bytes for each element of A and B, 20 to 28 for each of D: at 4096 on an H200 2.3 ms + 0.25 ms,
 * where matmul_split's four take 2.95. Predicted 0.87 of its time at 4096, none gained under 2048. Not measured.
 */
#include "device/matmul_element.cuh"
#include "device/matmul_job.h"

#include "lib/inner.h"

#include <stdlib.h>

enum { THREADS = 256, MOST_ROWS = 65535, MOST_WIDE = 64, ALIGN = 256, GROUP = 4, LEAST_K = 32 };

/** Lines of elements that are neighbours in memory: `outer` of `inner` a matrix. */
typedef struct wm_three_spread {
    const float2 *from;
    float *to;
    wm_i64 inner, outer, batch;
    wm_i64 from_line, from_batch, to_line, plane; /* in elements; plane: from one of the three to the next */
    float sign;                                   /* of imaginary parts */
} wm_three_spread;

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_three_spread(WM_PARAMS(wm_three_spread)) {
    for (wm_i64 line = blockIdx.y; line < p.outer * p.batch; line += gridDim.y) {
        wm_i64 t = line / p.outer;
        const float2 *from = p.from + t * p.from_batch + (line - t * p.outer) * p.from_line;
        float *to = p.to + line * p.to_line;
        for (wm_i64 i = wm_grid_first(); i < p.inner; i += wm_grid_step()) {
            float2 x = from[i];
            x.y *= p.sign;
            to[i] = x.x;
            to[i + p.plane] = x.y;
            to[i + 2 * p.plane] = wm_add(x.x, x.y);
        }
    }
}

typedef struct wm_three_join {
    const float *from;
    wm_i64 inner, outer, batch, line, plane;
    int by_rows;
    wm_epilogue e;
} wm_three_join;

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_three_join(WM_PARAMS(wm_three_join)) {
    wm_ending<float2> ending = wm_ending_begin(p.e, float2{0, 0});
    for (wm_i64 line = blockIdx.y; line < p.outer * p.batch; line += gridDim.y) {
        wm_i64 t = line / p.outer, o = line - t * p.outer;
        const float *from = p.from + line * p.line;
        for (wm_i64 i = wm_grid_first(); i < p.inner; i += wm_grid_step()) {
            float re = from[i], im = from[i + p.plane], both = from[i + 2 * p.plane];
            float2 sum = {wm_sub(re, im), wm_sub(wm_sub(both, re), im)};
            wm_ending_store(p.e, ending, t, p.by_rows ? o : i, p.by_rows ? i : o, sum);
        }
    }
}

/* ---- The solver ---- */

typedef struct three_state {
    wm_inner inner;
    size_t bytes[3]; /* of the planes of A, B and the products */
} three_state;

static wmMatrixDesc planes_of(const wmMatmulDesc *d, const wmMatrixDesc *x, char which) {
    wm_shape shape = wm_matmul_shape(d, which);
    wmMatrixDesc made = *x;
    int64_t inner = x->order == WM_COL_MAJOR ? shape.rows : shape.cols;
    made.type = WM_F32;
    made.ld = (inner + GROUP - 1) / GROUP * GROUP;
    made.batch_stride = WM_PACKED;
    made.align = 0;
    return made;
}

static wmStatus take(const wmMatmulDesc *d, three_state *s) {
    wmMatmulDesc real = wmMatmulDescDefault(WM_F32, d->m, d->n, d->k);
    if (d->batch > INT64_MAX / 3 || d->n > INT64_MAX - GROUP || d->m > INT64_MAX - GROUP || d->k > INT64_MAX - GROUP)
        return wm_fail(WM_ERR_ARGUMENT, "the planes' bytes overflow 63 bits");
    real.place = d->place;
    real.a = planes_of(d, &d->a, 'a');
    real.b = planes_of(d, &d->b, 'b');
    real.d = planes_of(d, &d->d, 'd');
    real.batch = 3 * d->batch;
    real.compute = d->compute;
    real.determinism = d->determinism;
    s->inner.problem.op = WM_MATMUL;
    WM_TRY(wm_problem_from_matmul(&s->inner.problem, &real, d->place));
    const wmMatmulDesc *made = &s->inner.problem.u.matmul;
    const wmMatrixDesc *const all[3] = {&made->a, &made->b, &made->d};
    for (int i = 0; i < 3; i++) {
        int64_t bytes = wm_matrix_span(all[i], wm_matmul_shape(made, "abd"[i]), made->batch);
        if (bytes > INT64_MAX / 64) return wm_fail(WM_ERR_ARGUMENT, "the planes' bytes overflow 63 bits");
        s->bytes[i] = ((size_t)bytes * 4 + ALIGN - 1) / ALIGN * ALIGN;
    }
    return WM_OK;
}

static size_t room_of(const three_state *s) {
    return s->bytes[0] + s->bytes[1] + s->bytes[2];
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    three_state s = {};
    (void)capacity;
    if (!d->allow_3m) return wm_refuse(why, "allow_3m is not set");
    if (d->k < LEAST_K) return wm_refuse(why, "k is under %d", (int)LEAST_K);
    if (d->c.type != WM_C64) return wm_refuse(why, "C is not c64");
    if (take(d, &s) != WM_OK) return wm_refuse(why, "its planes are too large");
    if (!wm_inner_choose(context, &s.inner, SIZE_MAX, why)) return 0;
    *out = s.inner.offer;
    for (int &knob : out->knob) knob = 0;
    out->workspace += room_of(&s);
    double batch = (double)d->batch, k = (double)d->k;
    double bytes = batch * 20.0 * (((double)d->m + (double)d->n) * k + (double)d->m * (double)d->n);
    out->seconds += 9e-6 + bytes / (0.8 * wm_context_bandwidth(context));
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    three_state *s = static_cast<three_state *>(calloc(1, sizeof *s));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    WM_TRY(take(&problem->u.matmul, s));
    if (!wm_inner_choose(context, &s->inner, offer->workspace - room_of(s), nullptr))
        return wm_fail(WM_ERR_UNSUPPORTED, "no solver does the three products any more");
    WM_TRY(wm_prepare_kernel(context, "matmul_three", (const void *)wm_matmul_three_spread, 0));
    WM_TRY(wm_prepare_kernel(context, "matmul_three", (const void *)wm_matmul_three_join, 0));
    return wm_inner_make(context, &s->inner);
}

static wmStatus launch(const wm_run *run, const void *kernel, wm_i64 inner, wm_i64 lines, const void *params,
                       size_t bytes) {
    wm_launch l = {};
    l.kernel = kernel;
    l.grid.x = (unsigned)wm_min(wm_divide_up(inner, (wm_i64)THREADS), (wm_i64)MOST_WIDE);
    l.grid.y = (unsigned)wm_min(lines, (wm_i64)MOST_ROWS);
    l.block.x = THREADS;
    l.grid.z = l.block.y = l.block.z = 1;
    l.params = params;
    l.params_bytes = bytes;
    return wm_launch_kernel(run->context, "matmul_three", &l, run->stream);
}

static void sides(const wmMatmulDesc *d, const wmMatrixDesc *x, char which, wm_i64 *inner, wm_i64 *outer) {
    wm_shape shape = wm_matmul_shape(d, which);
    *inner = x->order == WM_COL_MAJOR ? shape.rows : shape.cols;
    *outer = x->order == WM_COL_MAJOR ? shape.cols : shape.rows;
}

static wmStatus spread(const wm_run *run, const wmMatrixDesc *x, char which, const void *from, char *to) {
    const three_state *s = static_cast<const three_state *>(run->state);
    const wmMatmulDesc *d = &run->problem->u.matmul, *real = &s->inner.problem.u.matmul;
    wm_three_spread job = {};
    sides(d, x, which, &job.inner, &job.outer);
    job.from = static_cast<const float2 *>(from);
    job.to = reinterpret_cast<float *>(to);
    job.batch = d->batch;
    job.from_line = x->ld;
    job.from_batch = x->batch_stride;
    job.to_line = which == 'a' ? real->a.ld : real->b.ld;
    job.plane = job.to_line * job.outer * job.batch;
    job.sign = x->op == WM_OP_CONJ_TRANSPOSE ? -1.0f : 1.0f;
    return launch(run, (const void *)wm_matmul_three_spread, job.inner, job.outer * job.batch, &job, sizeof job);
}

static wmStatus join(const wm_run *run, const char *sums) {
    const three_state *s = static_cast<const three_state *>(run->state);
    const wmMatmulDesc *d = &run->problem->u.matmul, *real = &s->inner.problem.u.matmul;
    wm_three_join job = {};
    sides(d, &d->d, 'd', &job.inner, &job.outer);
    job.from = reinterpret_cast<const float *>(sums);
    job.batch = d->batch;
    job.line = real->d.ld;
    job.plane = job.line * job.outer * job.batch;
    job.by_rows = d->d.order == WM_ROW_MAJOR;
    job.e = wm_matmul_job_of(d, &run->args->matmul, 1, 1).epilogue;
    return launch(run, (const void *)wm_matmul_three_join, job.inner, job.outer * job.batch, &job, sizeof job);
}

static wmStatus run(const wm_run *run) {
    const three_state *s = static_cast<const three_state *>(run->state);
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    char *a = static_cast<char *>(run->workspace), *b = a + s->bytes[0], *sums = b + s->bytes[1];
    wm_args plain;
    WM_TRY(spread(run, &d->a, 'a', args->a, a));
    WM_TRY(spread(run, &d->b, 'b', args->b, b));
    plain.matmul = wmMatmulArgsDefault(a, b, sums);
    plain.matmul.c = sums;
    plain.matmul.alpha = wmReal(1);
    plain.matmul.beta = wmReal(0);
    WM_TRY(wm_inner_run(run, &s->inner, &plain, sums + s->bytes[2]));
    return join(run, sums);
}

static void drop(wmContext *context, void *state) {
    three_state *s = static_cast<three_state *>(state);
    if (s) wm_inner_drop(context, &s->inner);
    free(s);
}

extern "C" const wm_solver wm_matmul_three = {
    "matmul_three",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_C64 | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_BIAS | WM_MM_C_LAYOUT |
        WM_MM_STRICT | WM_MM_UNALIGNED,
    {nullptr},
    offer,
    make,
    run,
    drop,
};
