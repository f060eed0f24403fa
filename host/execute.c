/* SPDX-License-Identifier: Apache-2.0 */
/* From a typed call to the engine: what all operations' executions have in common. */
#include "args.h"

wmStatus wmPlanCreate(wmPlan **plan, wmContext *context, const char *problem, const wmPlanOptions *options) {
    wm_problem parsed;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *plan = NULL;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    WM_TRY(wm_problem_parse(&parsed, problem, wmContextPlace(context)));
    return wm_plan_create(plan, context, &parsed, options);
}

static const struct {
    size_t size;
    wmStatus (*check)(const wmPlan *plan, int reach, wm_args *out, int *empty);
} kinds[WM_OPERATIONS] = {
    [WM_MATMUL] = {sizeof(wmMatmulArgs),      wm_matmul_args_check     },
    [WM_FFT] = {sizeof(wmFftArgs),         wm_fft_args_check        },
    [WM_RANDOM] = {sizeof(wmRandomArgs),      wm_random_args_check     },
    [WM_CONVOLUTION] = {sizeof(wmConvolutionArgs), wm_convolution_args_check},
};

/* The struct's size in the first version: none that a caller has can be smaller. */
static size_t first_size(wm_op op) {
    if (op == WM_MATMUL) return offsetof(wmMatmulArgs, functor_user);
    return op == WM_FFT ? offsetof(wmFftArgs, load_user) : kinds[op].size;
}

static wmStatus in_problem(const wmPlan *plan, wmStatus status) {
    return status == WM_OK ? WM_OK : wm_fail_in(status, "in \"%s\"", wmPlanProblem(plan));
}

wmStatus wm_args_check(const wmPlan *plan, const void *args, int reach, wm_args *out, int *empty) {
    wm_op op = wm_plan_problem(plan)->op;
    WM_TRY(wm_copy_sized(out, kinds[op].size, first_size(op), args, "args"));
    return in_problem(plan, kinds[op].check(plan, reach, out, empty));
}

wmStatus wm_pointer_check(const wmPlan *plan, const void *pointer, int64_t align, const char *field, int reach) {
    if (!pointer) return wm_fail(WM_ERR_ARGUMENT, "args.%s is NULL", field);
    if ((uintptr_t)pointer % (uintptr_t)align)
        return wm_fail(WM_ERR_ARGUMENT, "args.%s is %p, not a multiple of %lld bytes as the problem promises", field,
                       pointer, (long long)align);
    return reach ? wm_context_reach(wm_plan_context(plan), pointer, field) : WM_OK;
}

wmStatus wm_execute(const wmPlan *plan, wm_op op, const void *args, int reach, wmStream stream) {
    wm_args checked;
    int empty = 0;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    if (wm_plan_problem(plan)->op != op)
        return wm_fail(WM_ERR_ARGUMENT, "plan is for \"%s\", not for a %s", wmPlanProblem(plan), wm_op_name(op));
    WM_TRY(wm_args_check(plan, args, reach || wm_context_checks(wm_plan_context(plan)), &checked, &empty));
    return empty ? WM_OK : wm_plan_execute(plan, &checked, stream);
}

wmStatus wm_one_shot(wmContext *context, const wm_problem *problem, const void *args, wmStream stream) {
    wmPlan *plan = NULL;
    WM_TRY(wm_context_plan(context, problem, stream, &plan));
    wmStatus status = wm_execute(plan, problem->op, args, 1, stream);
    wmPlanDestroy(plan);
    return status;
}

wmStatus wm_place_check(wmPlace asked, wmPlace context) {
    if (asked == WM_PLACE_AUTO || asked == context) return WM_OK;
    return wm_fail(WM_ERR_ARGUMENT, "place is %s, but the context's is %s", asked == WM_PLACE_GPU ? "gpu" : "cpu",
                   context == WM_PLACE_GPU ? "gpu" : "cpu");
}

int64_t wm_pointer_align(const void *pointer) {
    uintptr_t address = (uintptr_t)pointer | 16;
    return (int64_t)(address & (~address + 1));
}

/* ---- Init functions for languages without the inline Default ones ---- */

void wmMatmulDescInit(wmMatmulDesc *desc, size_t size, wmType type, int64_t m, int64_t n, int64_t k) {
    wmMatmulDesc made = wmMatmulDescDefault(type, m, n, k);
    wm_give_sized(desc, size, &made, sizeof made);
}

void wmMatmulArgsInit(wmMatmulArgs *args, size_t size) {
    wmMatmulArgs made = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_give_sized(args, size, &made, sizeof made);
}

void wmFftDescInit(wmFftDesc *desc, size_t size, wmFftKind kind, wmType type, int rank, const int64_t n[],
                   int64_t batch) {
    wmFftDesc made = wmFftDescPacked(kind, type, rank, n, batch);
    wm_give_sized(desc, size, &made, sizeof made);
}

void wmFftArgsInit(wmFftArgs *args, size_t size) {
    wmFftArgs made = wmFftArgsDefault(NULL, NULL);
    wm_give_sized(args, size, &made, sizeof made);
}

void wmRandomDescInit(wmRandomDesc *desc, size_t size, wmDistribution distribution, wmType type) {
    wmRandomDesc made = wmRandomDescDefault(distribution, type);
    wm_give_sized(desc, size, &made, sizeof made);
}

void wmRandomArgsInit(wmRandomArgs *args, size_t size) {
    wmRandomArgs made = wmRandomArgsDefault(NULL, 0, wmRandomKeyMake(0));
    wm_give_sized(args, size, &made, sizeof made);
}

void wmConvolutionDescInit(wmConvolutionDesc *desc, size_t size, wmType type, int64_t n, int64_t taps, int64_t batch) {
    wmConvolutionDesc made = wmConvolutionDescDefault(type, n, taps, batch);
    wm_give_sized(desc, size, &made, sizeof made);
}

void wmConvolutionDescInit2D(wmConvolutionDesc *desc, size_t size, wmType type, int64_t rows, int64_t columns,
                             int64_t tap_rows, int64_t tap_columns, int64_t batch) {
    wmConvolutionDesc made = wmConvolutionDescDefault2D(type, rows, columns, tap_rows, tap_columns, batch);
    wm_give_sized(desc, size, &made, sizeof made);
}

void wmConvolutionArgsInit(wmConvolutionArgs *args, size_t size) {
    wmConvolutionArgs made = wmConvolutionArgsDefault(NULL, NULL, NULL);
    wm_give_sized(args, size, &made, sizeof made);
}
