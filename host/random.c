/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the checks of wmRandomDesc and wmRandomArgs, and the public calls. */
#include "random_parameters.h"

/* ---- The desc ---- */

static wmStatus check_rows(const wmRandomDesc *d) {
    if (d->columns < 0) return wm_fail(WM_ERR_ARGUMENT, "columns is %lld, negative", (long long)d->columns);
    if (d->ld && d->ld < d->columns)
        return wm_fail(WM_ERR_ARGUMENT, "ld is %lld, less than columns, %lld", (long long)d->ld, (long long)d->columns);
    if (d->ld && !d->columns)
        return wm_fail(WM_ERR_ARGUMENT, "ld is %lld, but columns is 0: one row has none", (long long)d->ld);
    return WM_OK;
}

static wmStatus check_points(const wmRandomDesc *d) {
    if (!wm_random_is_sobol(d)) {
        if (d->dimensions)
            return wm_fail(WM_ERR_ARGUMENT, "dimensions is %lld, but only Sobol' points have them",
                           (long long)d->dimensions);
        return d->scramble ? wm_fail(WM_ERR_ARGUMENT, "scramble is set, but only Sobol' points take it") : WM_OK;
    }
    if (d->dimensions < 0 || d->dimensions > WM_SOBOL_DIMENSIONS)
        return wm_fail(WM_ERR_UNSUPPORTED, "dimensions is %lld; 1 to %d", (long long)d->dimensions,
                       WM_SOBOL_DIMENSIONS);
    if (d->generator == WM_SOBOL32 && (d->type == WM_U64 || d->type == WM_I64))
        return wm_fail(WM_ERR_UNSUPPORTED, "type is %s; the points of sobol32 have 32 bits", wmTypeName(d->type));
    if (d->sequence != WM_SEQ_COUNTER)
        return wm_fail(WM_ERR_UNSUPPORTED, "sequence is curand; Sobol' points come in counter order");
    return WM_OK;
}

static wmStatus check_sequence(const wmRandomDesc *d) {
    if (d->generator >= WM_XORWOW && d->sequence != WM_SEQ_CURAND)
        return wm_fail(WM_ERR_UNSUPPORTED, "generator %d has cuRAND's order alone: sequence is to be curand",
                       (int)d->generator);
    if (d->sequence != WM_SEQ_CURAND) return WM_OK;
    if (d->generator != WM_PHILOX4X32_10 && d->generator < WM_XORWOW)
        return wm_fail(WM_ERR_UNSUPPORTED, "sequence is curand, which generator %d does not have", (int)d->generator);
    if (d->type != WM_U32 && d->type != WM_F32 && d->type != WM_F64)
        return wm_fail(WM_ERR_UNSUPPORTED, "type is %s; cuRAND's generators have u32, f32 and f64",
                       wmTypeName(d->type));
    if (d->distribution > WM_RANDOM_NORMAL || d->interval != WM_CLOSED_OPEN)
        return wm_fail(WM_ERR_UNSUPPORTED, "sequence is curand, which here has bits, uniforms on (0, 1] and normals");
    return WM_OK;
}

wmStatus wm_problem_from_random(wm_problem *out, const wmRandomDesc *desc, wmPlace place) {
    out->op = WM_RANDOM;
    wmRandomDesc *d = &out->u.random;
    WM_TRY(wm_copy_sized(d, sizeof *d, sizeof *d, desc, "desc"));
    WM_TRY(wm_fields_check(WM_RANDOM, d));
    WM_TRY(wm_place_check(d->place, place));
    d->place = place;
    if (!d->type) return wm_fail(WM_ERR_ARGUMENT, "type is unset");
    WM_TRY(wm_random_desc_check(d));
    if (d->count_hint < 0) return wm_fail(WM_ERR_ARGUMENT, "count_hint is %lld, negative", (long long)d->count_hint);
    WM_TRY(check_rows(d));
    WM_TRY(check_points(d));
    WM_TRY(check_sequence(d));
    wm_random_resolve(d);
    int64_t extent = wm_random_extent(d, d->count_hint);
    if (extent < 0 || extent > INT64_MAX / (int64_t)wmTypeSize(d->type))
        return wm_fail(WM_ERR_ARGUMENT, "count_hint is %lld: its bytes overflow 63 bits", (long long)d->count_hint);
    return WM_OK;
}

/* ---- The arguments ---- */

static wmStatus check_curand(const wmRandomDesc *d, const wmRandomArgs *args) {
    if (d->sequence != WM_SEQ_CURAND) return WM_OK;
    if (args->key.substream)
        return wm_fail(WM_ERR_ARGUMENT, "args.key.substream is %u; cuRAND's order has none", args->key.substream);
    if (d->distribution == WM_RANDOM_UNIFORM && (args->low != 0 || args->high != 1))
        return wm_fail(WM_ERR_UNSUPPORTED, "args.low is %g and args.high %g; cuRAND's uniforms are of (0, 1]",
                       args->low, args->high);
    return WM_OK;
}

static wmStatus check_state(const wmPlan *plan, int reach, const wmRandomArgs *args) {
    if (wm_plan_problem(plan)->u.random.key_source == WM_KEY_DEVICE)
        return wm_pointer_check(plan, args->state, 8, "state", reach);
    if (args->state) return wm_fail(WM_ERR_ARGUMENT, "args.state is set, but the problem's key_source is argument");
    if (args->advance)
        return wm_fail(WM_ERR_ARGUMENT, "args.advance is %d, but the problem's key_source is argument", args->advance);
    return WM_OK;
}

wmStatus wm_random_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty) {
    const wmRandomDesc *d = &wm_plan_problem(plan)->u.random;
    wmRandomArgs *args = &out->random;
    int64_t element = (int64_t)wmTypeSize(d->type), extent = wm_random_extent(d, args->count);
    if (args->count < 0 || extent < 0 || extent > INT64_MAX / element)
        return wm_fail(WM_ERR_ARGUMENT, "args.count is %lld; its bytes are to be 0 to 2^63 - 1",
                       (long long)args->count);
    WM_TRY(wm_random_parameters_check(plan, reach, args));
    WM_TRY(check_curand(d, args));
    WM_TRY(check_state(plan, reach, args));
    *empty = args->count == 0;
    return *empty ? WM_OK : wm_pointer_check(plan, args->out, element, "out", reach);
}

/* ---- The public calls ---- */

wmStatus wmRandomPlanCreate(wmPlan **plan, wmContext *context, const wmRandomDesc *desc, const wmPlanOptions *options) {
    wm_problem problem;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *plan = NULL;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_random(&problem, desc, wmContextPlace(context)));
    return wm_plan_create(plan, context, &problem, options);
}

wmStatus wmRandomExecute(const wmPlan *plan, const wmRandomArgs *args, wmStream stream) {
    return wm_execute(plan, WM_RANDOM, args, 0, stream);
}

wmStatus wmRandom(wmContext *context, const wmRandomDesc *desc, const wmRandomArgs *args, wmStream stream) {
    wm_problem problem;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_from_random(&problem, desc, wmContextPlace(context)));
    return wm_one_shot(context, &problem, args, stream);
}
