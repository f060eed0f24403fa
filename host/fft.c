/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms: the checks of wmFftDesc and wmFftArgs, and the public calls. */
#include "args.h"
#include "lib/functor.h"

#include <string.h>

/* ---- The desc ---- */

wmFftDesc wmFftDescPacked(wmFftKind kind, wmType type, int rank, const int64_t n[], int64_t batch) {
    return wm_fft_packed(kind, type, rank, n, batch, WM_OUT_OF_PLACE);
}

wmFftDesc wmFftDescPackedInPlace(wmFftKind kind, wmType type, int rank, const int64_t n[], int64_t batch) {
    return wm_fft_packed(kind, type, rank, n, batch, WM_IN_PLACE);
}

static wmFftDim exchanged(wmFftDim d) {
    wmFftDim e = {d.n, d.out_stride, d.in_stride};
    return e;
}

void wmFftDescInverse(wmFftDesc *inverse, const wmFftDesc *forward) {
    static const wmFftKind kinds[] = {WM_FFT_C2C, WM_FFT_C2R, WM_FFT_R2C};
    static const wmFftScale scales[] = {WM_FFT_SCALE_BY_N, WM_FFT_SCALE_NONE, WM_FFT_SCALE_BY_SQRT_N};
    wmFftDesc d;
    if (!inverse || wm_copy_sized(&d, sizeof d, offsetof(wmFftDesc, load), forward, "forward") != WM_OK) return;
    size_t size = forward->size; /* what the caller's header knows */
    if ((unsigned)d.kind < 3) d.kind = kinds[d.kind];
    if ((unsigned)d.scale < 3) d.scale = scales[d.scale];
    d.direction = d.direction == WM_FORWARD ? WM_INVERSE : WM_FORWARD;
    for (int i = 0; i < WM_FFT_MAX_RANK; i++) d.dim[i] = exchanged(d.dim[i]);
    for (int i = 0; i < WM_FFT_MAX_LOOPS; i++) d.loop[i] = exchanged(d.loop[i]);
    memset(&d.load, 0, sizeof d.load);
    memset(&d.store, 0, sizeof d.store);
    wm_give_sized(inverse, size, &d, sizeof d);
}

static wmStatus check_kind(const wmFftDesc *d) {
    if (!d->type) return wm_fail(WM_ERR_ARGUMENT, "type is unset");
    static const wmType scalars[] = {WM_F32, WM_F64, WM_F16, WM_BF16};
    int known = 0;
    for (int i = 0; i < 4; i++) {
        known |= d->type == scalars[i];
        if (d->type == wm_fft_complex_type(scalars[i]))
            return wm_fail(WM_ERR_ARGUMENT, "type is %s; it names the real scalar: %s", wmTypeName(d->type),
                           wmTypeName(scalars[i]));
    }
    if (!known)
        return wm_fail(WM_ERR_UNSUPPORTED, "type is %s; transforms are of f16, bf16, f32 and f64", wmTypeName(d->type));
    if (d->kind == WM_FFT_R2C && d->direction != WM_FORWARD)
        return wm_fail(WM_ERR_ARGUMENT, "direction is inverse with kind r2c, which is forward only");
    if (d->kind == WM_FFT_C2R && d->direction != WM_INVERSE)
        return wm_fail(WM_ERR_ARGUMENT, "direction is forward with kind c2r, which is inverse only");
    if (d->allow_input_overwrite != 0 && d->allow_input_overwrite != 1)
        return wm_fail(WM_ERR_ARGUMENT, "allow_input_overwrite is %d; 0 or 1", (int)d->allow_input_overwrite);
    if (d->rank < 1 || d->rank > WM_FFT_MAX_RANK)
        return wm_fail(WM_ERR_ARGUMENT, "rank is %d; 1 to %d", (int)d->rank, WM_FFT_MAX_RANK);
    if (d->loops < 0 || d->loops > WM_FFT_MAX_LOOPS)
        return wm_fail(WM_ERR_ARGUMENT, "loops is %d; 0 to %d", (int)d->loops, WM_FFT_MAX_LOOPS);
    return WM_OK;
}

/* `least`: 1 for axes, 0 for loops. Input strides of a loop may be 0: every round reads the same data. */
static wmStatus check_dim(const wmFftDim *dim, const char *name, int index, int64_t least) {
    if (dim->n < least)
        return wm_fail(WM_ERR_ARGUMENT, "%s[%d].n is %lld, less than %lld", name, index, (long long)dim->n,
                       (long long)least);
    if (dim->n < 2) return WM_OK;
    if (dim->in_stride < least || dim->out_stride < 1)
        return wm_fail(WM_ERR_ARGUMENT, "%s[%d].%s_stride is %lld with n %lld; at least %lld", name, index,
                       dim->in_stride < least ? "in" : "out",
                       (long long)(dim->in_stride < least ? dim->in_stride : dim->out_stride), (long long)dim->n,
                       (long long)(dim->in_stride < least ? least : 1));
    return WM_OK;
}

/* In place, an axis or loop must move both sides by the same bytes: one complex element is two real ones. */
static wmStatus check_same_memory(const wmFftDesc *d, const wmFftDim *dim, const char *name, int index, int last_axis) {
    int64_t in = dim->in_stride, out = dim->out_stride;
    if (dim->n < 2) return WM_OK;
    if (d->kind == WM_FFT_C2C || last_axis) {
        if (in == out && (d->kind == WM_FFT_C2C || in == 1)) return WM_OK;
        return wm_fail(WM_ERR_ARGUMENT, "%s[%d] has strides %lld and %lld; in place they must %s", name, index,
                       (long long)in, (long long)out, d->kind == WM_FFT_C2C ? "be equal" : "both be 1");
    }
    int64_t real = d->kind == WM_FFT_R2C ? in : out, complex = d->kind == WM_FFT_R2C ? out : in;
    if (real % 2 == 0 && real / 2 == complex) return WM_OK;
    return wm_fail(WM_ERR_ARGUMENT,
                   "%s[%d] has real stride %lld and complex stride %lld; in place the real one must be twice the other "
                   "(wmFftDescPackedInPlace pads so)",
                   name, index, (long long)real, (long long)complex);
}

static wmStatus check_in_place(const wmFftDesc *d) {
    for (int i = 0; i < d->rank; i++) WM_TRY(check_same_memory(d, &d->dim[i], "dim", i, i == d->rank - 1));
    for (int i = 0; i < d->loops; i++) WM_TRY(check_same_memory(d, &d->loop[i], "loop", i, 0));
    return WM_OK;
}

static wmStatus check_layout(const wmFftDesc *d) {
    for (int i = 0; i < d->rank; i++) WM_TRY(check_dim(&d->dim[i], "dim", i, 1));
    for (int i = 0; i < d->loops; i++) WM_TRY(check_dim(&d->loop[i], "loop", i, 0));
    if (d->align < (int64_t)wmTypeSize(d->type) || d->align > 4096 || (d->align & (d->align - 1)))
        return wm_fail(WM_ERR_ARGUMENT, "align is %lld; a power of two from %zu (the scalar) to 4096",
                       (long long)d->align, wmTypeSize(d->type));
    if (wm_fft_points(d) < 0 || wm_fft_batch(d) < 0 || wm_fft_span(d, 0) < 0 || wm_fft_span(d, 1) < 0)
        return wm_fail(WM_ERR_ARGUMENT, "dim[0].n is %lld: lengths and strides overflow 63 bits of bytes",
                       (long long)d->dim[0].n);
    return d->placement == WM_IN_PLACE ? check_in_place(d) : WM_OK;
}

static wmStatus check_functors(wmFftDesc *d, wmPlace place) {
    const char *need = place == WM_PLACE_GPU ? "source" : "host";
    int gpu = place == WM_PLACE_GPU;
    WM_TRY(wm_functor_keep_load(&d->load));
    WM_TRY(wm_functor_keep_store(&d->store));
    if (!d->load.source && !d->store.source) return WM_OK;
    if (d->placement == WM_IN_PLACE)
        return wm_fail(WM_ERR_UNSUPPORTED, "placement is in place with a %s functor; transform out of place",
                       d->load.source ? "load" : "store");
    if (d->load.source && (gpu ? !d->load.source[0] : !d->load.host))
        return wm_fail(WM_ERR_ARGUMENT, "load.%s is NULL, which place %s needs", need, gpu ? "gpu" : "cpu");
    if (d->store.source && (gpu ? !d->store.source[0] : !d->store.host))
        return wm_fail(WM_ERR_ARGUMENT, "store.%s is NULL, which place %s needs", need, gpu ? "gpu" : "cpu");
    return WM_OK;
}

wmStatus wm_problem_from_fft(wm_problem *out, const wmFftDesc *desc, wmPlace place) {
    out->op = WM_FFT;
    wmFftDesc *d = &out->u.fft;
    WM_TRY(wm_copy_sized(d, sizeof *d, offsetof(wmFftDesc, load), desc, "desc")); /* before functors were there */
    WM_TRY(wm_fields_check(WM_FFT, d));
    WM_TRY(check_kind(d));
    WM_TRY(wm_place_check(d->place, place));
    d->place = place;
    WM_TRY(check_functors(d, place));
    for (int i = 0; i < d->loops; i++) WM_TRY(check_dim(&d->loop[i], "loop", i, 0)); /* as the caller numbers them */
    wm_fft_resolve(d);
    return check_layout(d);
}

/* ---- The arguments ---- */

wmStatus wm_fft_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty) {
    const wmFftDesc *d = &wm_plan_problem(plan)->u.fft;
    wmFftArgs *args = &out->fft;
    *empty = wm_problem_empty(wm_plan_problem(plan));
    if (*empty) return WM_OK;
    WM_TRY(wm_pointer_check(plan, args->in, d->align, "in", reach));
    WM_TRY(wm_pointer_check(plan, args->out, d->align, "out", reach));
    if ((d->placement == WM_IN_PLACE) != (args->in == args->out))
        return wm_fail(WM_ERR_ARGUMENT, "args.out is %p and args.in %p, but the problem is %s", args->out, args->in,
                       d->placement == WM_IN_PLACE ? "in place" : "out of place");
    return WM_OK;
}

/* ---- The public calls ---- */

wmStatus wmFftPlanCreate(wmPlan **plan, wmContext *context, const wmFftDesc *desc, const wmPlanOptions *options) {
    wm_problem problem;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *plan = NULL;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_fft(&problem, desc, wmContextPlace(context)));
    return wm_plan_create(plan, context, &problem, options);
}

wmStatus wmFftExecute(const wmPlan *plan, const wmFftArgs *args, wmStream stream) {
    return wm_execute(plan, WM_FFT, args, 0, stream);
}

wmStatus wmFft(wmContext *context, const wmFftDesc *desc, const wmFftArgs *args, wmStream stream) {
    wm_problem problem;
    wmFftArgs copy;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_fft(&problem, desc, wmContextPlace(context)));
    WM_TRY(wm_copy_sized(&copy, sizeof copy, offsetof(wmFftArgs, load_user), args, "args"));
    if (desc->align == 0) {
        int64_t in = wm_pointer_align(copy.in), out = wm_pointer_align(copy.out), align = in < out ? in : out;
        int64_t scalar = (int64_t)wmTypeSize(desc->type);
        problem.u.fft.align = align < scalar ? scalar : align;
    }
    return wm_one_shot(context, &problem, args, stream);
}
