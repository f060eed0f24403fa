/* SPDX-License-Identifier: Apache-2.0 */
/* Products taken apart. See matmul_apart.h. */
#include "matmul_apart.h"

enum { ALIGN = 256, GROUP = 4 }; /* rows of sums begin at multiples of 16 bytes */

static wmType sum_type(const wmMatmulDesc *d) {
    return d->a.type == WM_I8 ? WM_I32 : d->compute == WM_COMPUTE_F64 ? WM_F64 : WM_F32;
}

static size_t rounded(int64_t bytes) {
    return ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* A copy of x in f32, laid out as x; a matrix that serves the whole batch stays one. */
static void widen(wmMatrixDesc *x, int64_t inner) {
    x->type = WM_F32;
    x->ld = (inner + GROUP - 1) / GROUP * GROUP;
    if (x->batch_stride) x->batch_stride = WM_PACKED;
    x->align = 0;
}

static int64_t inner_of(const wmMatmulDesc *d, const wmMatrixDesc *x, char which) {
    wm_shape shape = wm_matmul_shape(d, which);
    return x->order == WM_COL_MAJOR ? shape.rows : shape.cols;
}

wmStatus wm_apart_take(const wmMatmulDesc *d, wm_apart *apart) {
    wmMatmulDesc plain = wmMatmulDescDefault(d->a.type, d->m, d->n, d->k);
    int64_t inner = d->d.order == WM_COL_MAJOR ? d->m : d->n;
    plain.place = d->place;
    plain.a = d->a;
    plain.b = d->b;
    plain.a.scale = plain.b.scale = WM_SCALE_NONE;
    if (wm_apart_widens(d)) {
        if (inner_of(d, &d->a, 'a') > INT64_MAX - GROUP || inner_of(d, &d->b, 'b') > INT64_MAX - GROUP)
            return wm_fail(WM_ERR_ARGUMENT, "the copies' bytes overflow 63 bits");
        widen(&plain.a, inner_of(d, &d->a, 'a'));
        widen(&plain.b, inner_of(d, &d->b, 'b'));
    }
    plain.d.type = sum_type(d);
    plain.d.order = d->d.order;
    if (inner > INT64_MAX - GROUP) return wm_fail(WM_ERR_ARGUMENT, "the sums' bytes overflow 63 bits");
    plain.d.ld = (inner + GROUP - 1) / GROUP * GROUP;
    plain.batch = d->batch;
    plain.compute = d->compute;
    plain.determinism = d->determinism;
    apart->inner.problem.op = WM_MATMUL;
    WM_TRY(wm_problem_from_matmul(&apart->inner.problem, &plain, d->place));
    const wmMatmulDesc *made = &apart->inner.problem.u.matmul;
    int64_t span = wm_matrix_span(&made->d, wm_matmul_shape(made, 'd'), made->batch);
    if (span > INT64_MAX / 16 - ALIGN) return wm_fail(WM_ERR_ARGUMENT, "the sums' bytes overflow 63 bits");
    apart->sum_bytes = rounded(span * (int64_t)wmTypeSize(made->d.type));
    apart->a_bytes = apart->b_bytes = 0;
    if (!wm_apart_widens(d)) return WM_OK;
    int64_t a = wm_matrix_span(&made->a, wm_matmul_shape(made, 'a'), made->batch);
    int64_t b = wm_matrix_span(&made->b, wm_matmul_shape(made, 'b'), made->batch);
    if (a > INT64_MAX / 64 || b > INT64_MAX / 64) return wm_fail(WM_ERR_ARGUMENT, "the copies' bytes overflow 63 bits");
    apart->a_bytes = rounded(a * 4);
    apart->b_bytes = rounded(b * 4);
    return WM_OK;
}

int wm_apart_offer(wmContext *context, const wmMatmulDesc *d, wm_offer *out, wm_why *why) {
    wm_apart apart = {0};
    if (wm_apart_take(d, &apart) != WM_OK) return wm_refuse(why, "its sums are too large");
    if (!wm_inner_choose(context, &apart.inner, SIZE_MAX, why)) return 0;
    out->seconds = apart.inner.offer.seconds;
    out->workspace = apart.sum_bytes + apart.a_bytes + apart.b_bytes + apart.inner.offer.workspace;
    out->capturable = apart.inner.offer.capturable;
    out->concurrent = apart.inner.offer.concurrent;
    return 1;
}

wmStatus wm_apart_make(wmContext *context, const wmMatmulDesc *d, const wm_offer *offer, wm_apart *apart) {
    WM_TRY(wm_apart_take(d, apart));
    if (!wm_inner_choose(context, &apart->inner, offer->workspace - apart->sum_bytes - apart->a_bytes - apart->b_bytes,
                         NULL))
        return wm_fail(WM_ERR_UNSUPPORTED, "no solver does the plain product any more");
    return wm_inner_make(context, &apart->inner);
}

wmStatus wm_apart_run(const wm_run *run, const wm_apart *apart) {
    const wmMatmulArgs *args = &run->args->matmul;
    char *sums = (char *)run->workspace;
    wm_args plain;
    char *a = sums + apart->sum_bytes, *b = a + apart->a_bytes;
    plain.matmul = wmMatmulArgsDefault(apart->a_bytes ? a : args->a, apart->b_bytes ? b : args->b, sums);
    plain.matmul.c = sums;
    plain.matmul.alpha = args->alpha;
    if (run->problem->u.matmul.a.type == WM_I8)
        plain.matmul.alpha = wmReal(wm_scalar_is(&args->alpha, 0) ? 0 : 1); /* comes with the scales */
    plain.matmul.beta = wmReal(0);
    return wm_inner_run(run, &apart->inner, &plain, b + apart->b_bytes);
}
