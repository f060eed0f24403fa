/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle on what follows the activation. Errors go through it an operation at a time: a product y of a gate a with
 * error ea and a value v with error ev errs by |a| ev + |v| ea + ea ev and a rounding; a factor and a residual add a
 * rounding each; a sum of n results, the sum of their errors and gamma_n of their magnitudes; a largest value, the
 * largest of their errors.
 */
#include "reference/matmul_more.h"
#include "reference/oracle_matmul_parts.h"

#include <float.h>
#include <math.h>

/* A value with its certain and its probable bound. */
typedef struct estimate {
    long double x, hard, soft;
    int judged;
} estimate;

int wm_oracle_is_finished(const wmMatmulDesc *d) {
    int scaled = d->a.scale > WM_SCALE_TENSOR || d->b.scale > WM_SCALE_TENSOR || d->d.scale > WM_SCALE_TENSOR;
    int quantised = d->d.type == WM_I8 || (d->a.type == WM_I8 && d->d.type != WM_I32);
    return d->gate || d->r.type || d->z.type || d->reduction || d->dropout || scaled || quantised;
}

static estimate linear(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i, int64_t j) {
    wm_oracle_linear l = wm_oracle_linear_of(d, in, t, i, j);
    long double n = wm_oracle_roundings(d), top = d->compute == WM_COMPUTE_F64 ? DBL_MAX : FLT_MAX;
    estimate e = {l.x.x[0], wm_oracle_linear_error(d, &l, 0, n),
                  wm_oracle_linear_error(d, &l, 0, fminl(n, 3 * sqrtl(n))), 1};
    if (!l.finite || l.largest >= top) e.judged = 0;
    return e;
}

static estimate activated(const wmMatmulDesc *d, estimate z) {
    z.hard = wm_oracle_activation_error(d, z.x, z.hard);
    z.soft = wm_oracle_activation_error(d, z.x, z.soft);
    z.x = wm_oracle_activate(d->activation, z.x);
    return z;
}

static estimate gated(const wmMatmulDesc *d, estimate a, estimate v) {
    long double u = wm_oracle_unit(d);
    estimate y = {a.x * v.x, 0, 0, a.judged && v.judged};
    y.hard = fabsl(a.x) * v.hard + fabsl(v.x) * a.hard + a.hard * v.hard;
    y.soft = fabsl(a.x) * v.soft + fabsl(v.x) * a.soft + a.soft * v.soft;
    y.hard += u * (fabsl(y.x) + y.hard);
    y.soft += u * (fabsl(y.x) + y.soft);
    return y;
}

static estimate with_rounding(const wmMatmulDesc *d, estimate y) {
    long double least = d->compute == WM_COMPUTE_F64 ? 0x1p-1074L : 0x1p-149L;
    y.hard += wm_oracle_unit(d) * (fabsl(y.x) + y.hard) + least;
    y.soft += wm_oracle_unit(d) * (fabsl(y.x) + y.soft) + least;
    return y;
}

/* y(i, j), before it is divided by D's scale. */
static estimate result(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i, int64_t j) {
    int64_t columns = wm_matmul_columns(d);
    wm_dropping dropping = wm_dropping_of(d, in);
    estimate y = activated(d, linear(d, in, t, i, d->gate == WM_GATE_PAIRS ? 2 * j : j));
    if (d->gate) y = gated(d, y, linear(d, in, t, i, d->gate == WM_GATE_PAIRS ? 2 * j + 1 : columns + j));
    if (d->dropout && !wm_dropping_keeps(&dropping, (t * d->m + i) * columns + j)) {
        estimate zero = {0, 0, 0, 1};
        y = zero;
    } else if (d->dropout) { /* the factor is rounded, too */
        y.x *= dropping.factor, y.hard *= dropping.factor, y.soft *= dropping.factor;
        y = with_rounding(d, with_rounding(d, y));
    }
    if (d->r.type) {
        wm_view view = wm_view_of(&d->r);
        y.x += wm_number_load(d->r.type, wm_matrix_at(d, &d->r, in->r, t), i * view.row + j * view.col).re;
        y = with_rounding(d, y);
    }
    return y;
}

/* What may be stored of it in the type. */
static wm_oracle_element stored(wmType type, estimate y) {
    wm_float_shape shape = wm_number_shape(type);
    wm_oracle_element e = {wm_oracle_clamped(shape, y.x), y.hard, y.soft, y.judged};
    if (type == WM_I8) {
        e.value = isnan(y.x) ? 0 : fminl(fmaxl(y.x, -128), 127);
        e.bound += 0.5L, e.probable += 0.5L;
    } else {
        e.bound += wm_oracle_half_ulp(shape, fabsl(e.value) + y.hard);
        e.probable += wm_oracle_half_ulp(shape, fabsl(e.value) + y.soft);
    }
    return e;
}

void wm_oracle_finished(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in, double got, int64_t t,
                        int64_t i, int64_t j) {
    estimate y = result(d, in, t, i, j);
    if (d->d.scale) {
        long double scale = wm_scale_at(d, &d->d, in->d_scale, t, d->d.scale == WM_SCALE_COLUMN ? j : i);
        y.x /= scale, y.hard /= fabsl(scale), y.soft /= fabsl(scale);
        y = with_rounding(d, y);
    }
    wm_oracle_element e = stored(d->d.type, y);
    wm_oracle_count(v, d->d.type, &e, got, t, i, j);
}

/* ---- Beside D ---- */

static void judge_kept(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in) {
    wm_view view = wm_view_of(&d->z);
    for (int64_t t = 0; t < d->batch; t++)
        for (int64_t i = 0; i < d->m; i++)
            for (int64_t j = 0; j < d->n; j++) {
                wm_oracle_element e = stored(d->z.type, linear(d, in, t, i, j));
                const void *z = wm_matrix_at(d, &d->z, in->z, t);
                double got = wm_number_load(d->z.type, z, i * view.row + j * view.col).re;
                wm_oracle_count(v, d->z.type, &e, got, t, i, j);
            }
}

static estimate met(const wmMatmulDesc *d, estimate sum, estimate y) {
    estimate more = {sum.x, fmaxl(sum.hard, y.hard), fmaxl(sum.soft, y.soft), sum.judged && y.judged};
    long double x = d->reduction == WM_REDUCE_ROW_MAX ? y.x : fabsl(y.x);
    if (d->reduction == WM_REDUCE_ROW_SUM) {
        more.x = sum.x + y.x;
        more.hard = sum.hard + y.hard;
        more.soft = sum.soft + y.soft;
    } else if (x > sum.x) {
        more.x = x;
    }
    return more;
}

static estimate reduced_row(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i) {
    estimate sum = {d->reduction == WM_REDUCE_ROW_MAX ? -INFINITY : 0, 0, 0, 1};
    long double size = 0, n = (long double)wm_matmul_columns(d), u = wm_oracle_unit(d);
    for (int64_t j = 0; j < wm_matmul_columns(d); j++) {
        estimate y = result(d, in, t, i, j);
        size += fabsl(y.x) + y.hard;
        sum = met(d, sum, y);
    }
    if (d->reduction == WM_REDUCE_ROW_SUM) {
        sum.hard += wm_oracle_gamma(n, u) * size;
        sum.soft += wm_oracle_gamma(fminl(n, 3 * sqrtl(n)), u) * size;
    }
    return sum;
}

static void judge_reduced(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in) {
    wmType type = d->a.type == WM_F64 ? WM_F64 : WM_F32;
    estimate all = {0, 0, 0, 1};
    for (int64_t t = 0; t < d->batch; t++)
        for (int64_t i = 0; i < d->m; i++) {
            estimate row = reduced_row(d, in, t, i);
            all = met(d, all, row);
            if (d->reduction == WM_REDUCE_ABSMAX) continue;
            wm_oracle_element e = stored(type, row);
            wm_oracle_count(v, type, &e, wm_number_load(type, in->reduced, t * d->m + i).re, t, i, -1);
        }
    if (d->reduction != WM_REDUCE_ABSMAX) return;
    wm_oracle_element e = stored(type, all);
    wm_oracle_count(v, type, &e, wm_number_load(type, in->reduced, 0).re, 0, -1, -1);
}

void wm_oracle_beside(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in, const wm_oracle_pick *pick) {
    if (pick->rows || pick->cols || pick->products) return; /* a sample of D is all that was asked for */
    if (d->z.type) judge_kept(v, d, in);
    if (d->reduction) judge_reduced(v, d, in);
}
