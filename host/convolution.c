/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions: the checks of wmConvolutionDesc and wmConvolutionArgs, and the public calls. */
#include "args.h"
#include "lib/convolution.h"

#include <string.h>

/* ---- The desc ---- */

static wmStatus check_axis(const wmConvolutionDesc *d, int axis) {
    int64_t n = d->n[axis], taps = d->taps[axis];
    if (n < 1 || n > INT64_MAX / 8) return wm_fail(WM_ERR_ARGUMENT, "n[%d] is %lld; at least 1", axis, (long long)n);
    if (taps < 1 || taps > INT64_MAX / 8)
        return wm_fail(WM_ERR_ARGUMENT, "taps[%d] is %lld; at least 1", axis, (long long)taps);
    if (taps > n && (d->mode == WM_CONVOLUTION_VALID || d->mode == WM_CONVOLUTION_CIRCULAR))
        return wm_fail(WM_ERR_ARGUMENT, "taps[%d] is %lld, more than n[%d], %lld, in a %s convolution", axis,
                       (long long)taps, axis, (long long)n, d->mode == WM_CONVOLUTION_VALID ? "valid" : "circular");
    return WM_OK;
}

static wmStatus check_values(const wmConvolutionDesc *d) {
    if (!d->type) return wm_fail(WM_ERR_ARGUMENT, "type is unset");
    if (d->type != WM_F32 && d->type != WM_F64 && d->type != WM_C64 && d->type != WM_C128)
        return wm_fail(WM_ERR_UNSUPPORTED, "type is %s; convolutions are of f32, f64, c64 and c128",
                       wmTypeName(d->type));
    if (d->rank < 1 || d->rank > WM_CONVOLUTION_MAX_RANK)
        return wm_fail(WM_ERR_ARGUMENT, "rank is %d; 1 or %d", (int)d->rank, WM_CONVOLUTION_MAX_RANK);
    if (d->correlate != 0 && d->correlate != 1)
        return wm_fail(WM_ERR_ARGUMENT, "correlate is %d; 0 or 1", (int)d->correlate);
    if (d->batch < 0) return wm_fail(WM_ERR_ARGUMENT, "batch is %lld, less than 0", (long long)d->batch);
    if (d->filters != 1 && d->filters != d->batch)
        return wm_fail(WM_ERR_ARGUMENT, "filters is %lld; 1, or batch, which is %lld", (long long)d->filters,
                       (long long)d->batch);
    for (int i = 0; i < d->rank; i++) WM_TRY(check_axis(d, i));
    return WM_OK;
}

static wmStatus check_layout(const wmConvolutionDesc *d) {
    int64_t in = wm_convolution_elements(d, 0), out = wm_convolution_elements(d, 1);
    int64_t spectra = wm_convolution_spectrum(d);
    if (in < 0 || out < 0 || wm_convolution_points(d) < 0 || wm_convolution_span(d, 0) < 0 ||
        wm_convolution_span(d, 1) < 0 || spectra < 0 || __builtin_mul_overflow(spectra, 16, &spectra) ||
        __builtin_mul_overflow(spectra, d->batch > 1 ? d->batch : 1, &spectra))
        return wm_fail(WM_ERR_ARGUMENT, "n[0] is %lld: lengths and strides overflow 63 bits of bytes",
                       (long long)d->n[0]);
    if (d->batch > 1 && d->in_stride < in)
        return wm_fail(WM_ERR_ARGUMENT, "in_stride is %lld, less than the %lld elements of an array",
                       (long long)d->in_stride, (long long)in);
    if (d->batch > 1 && d->out_stride < out)
        return wm_fail(WM_ERR_ARGUMENT, "out_stride is %lld, less than the %lld results of an array",
                       (long long)d->out_stride, (long long)out);
    if (d->align < (int64_t)wmTypeSize(wm_convolution_is_f64(d) ? WM_F64 : WM_F32) || d->align > 4096 ||
        (d->align & (d->align - 1)))
        return wm_fail(WM_ERR_ARGUMENT, "align is %lld; a power of two from the scalar's size to 4096",
                       (long long)d->align);
    return WM_OK;
}

wmStatus wm_problem_from_convolution(wm_problem *out, const wmConvolutionDesc *desc, wmPlace place) {
    out->op = WM_CONVOLUTION;
    wmConvolutionDesc *d = &out->u.convolution;
    WM_TRY(wm_copy_sized(d, sizeof *d, sizeof *d, desc, "desc"));
    WM_TRY(wm_fields_check(WM_CONVOLUTION, d));
    WM_TRY(check_values(d));
    WM_TRY(wm_place_check(d->place, place));
    d->place = place;
    wm_convolution_resolve(d);
    return check_layout(d);
}

/* ---- The arguments ---- */

wmStatus wm_convolution_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty) {
    const wmConvolutionDesc *d = &wm_plan_problem(plan)->u.convolution;
    const wmConvolutionArgs *args = &out->convolution;
    *empty = wm_problem_empty(wm_plan_problem(plan));
    if (*empty) return WM_OK;
    WM_TRY(wm_pointer_check(plan, args->in, d->align, "in", reach));
    WM_TRY(wm_pointer_check(plan, args->filter, 256, "filter", reach));
    WM_TRY(wm_pointer_check(plan, args->out, d->align, "out", reach));
    const char *in = args->in, *to = args->out;
    int64_t element = (int64_t)wmTypeSize(d->type);
    if (in < to + element * wm_convolution_span(d, 1) && to < in + element * wm_convolution_span(d, 0))
        return wm_fail(WM_ERR_ARGUMENT, "args.out is %p and overlaps args.in, %p", args->out, args->in);
    return WM_OK;
}

/* ---- The public calls ---- */

wmStatus wmConvolutionPlanCreate(wmPlan **plan, wmContext *context, const wmConvolutionDesc *desc,
                                 const wmPlanOptions *options) {
    wm_problem problem;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *plan = NULL;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_convolution(&problem, desc, wmContextPlace(context)));
    return wm_plan_create(plan, context, &problem, options);
}

static wmStatus check_plan(const wmPlan *plan) {
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    if (wm_plan_problem(plan)->op != WM_CONVOLUTION)
        return wm_fail(WM_ERR_ARGUMENT, "plan is for \"%s\", not for a convolution", wmPlanProblem(plan));
    return WM_OK;
}

wmStatus wmConvolutionFilterBytes(const wmPlan *plan, size_t *bytes) {
    if (!bytes) return wm_fail(WM_ERR_ARGUMENT, "bytes is NULL");
    *bytes = 0;
    WM_TRY(check_plan(plan));
    const wmConvolutionDesc *d = &wm_plan_problem(plan)->u.convolution;
    *bytes = (size_t)d->filters * (size_t)wm_convolution_spectrum(d) * wmTypeSize(wm_convolution_spectrum_type(d));
    return WM_OK;
}

/* An execution without a filter is the preparation (host/convolve_parts.h). */
wmStatus wmConvolutionPrepare(const wmPlan *plan, const void *taps, void *filter, wmStream stream) {
    WM_TRY(check_plan(plan));
    if (wm_problem_empty(wm_plan_problem(plan))) return WM_OK;
    int reach = wm_context_checks(wm_plan_context(plan));
    int64_t scalar = wm_convolution_is_f64(&wm_plan_problem(plan)->u.convolution) ? 8 : 4;
    WM_TRY(wm_pointer_check(plan, taps, scalar, "taps", reach));
    WM_TRY(wm_pointer_check(plan, filter, 256, "filter", reach));
    wm_args args;
    memset(&args, 0, sizeof args);
    args.convolution = wmConvolutionArgsDefault(taps, NULL, filter);
    return wm_plan_execute(plan, &args, stream);
}

wmStatus wmConvolutionExecute(const wmPlan *plan, const wmConvolutionArgs *args, wmStream stream) {
    return wm_execute(plan, WM_CONVOLUTION, args, 0, stream);
}
