/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: making, running, sharing and ending them. */
#include "context_internal.h"
#include "gpu_guard.h"
#include "idle.h"
#include "nvtx.h"
#include "plan_internal.h"
#include "shadow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The plan of an empty problem ---- */

static wmStatus run_nothing(const wm_run *run) {
    (void)run;
    return WM_OK;
}

static const wm_solver nothing = {.name = "nothing", .version = 1, .run = run_nothing};

/* ---- Making ---- */

static wmStatus take_candidate(wmPlan *plan, const wmPlanOptions *options) {
    wm_found *found = &plan->found;
    for (;;) {
        wm_candidate *best = &found->candidate[found->chosen];
        plan->solver = best->solver;
        plan->offer = best->offer;
        wmStatus status = WM_OK;
        if (best->solver->make) status = best->solver->make(plan->context, &plan->problem, &best->offer, &plan->state);
        if (status == WM_OK) status = wm_idle_make(plan->context, &plan->problem);
        if (status == WM_OK) return WM_OK;
        if (best->solver->drop) best->solver->drop(plan->context, plan->state);
        plan->state = NULL;
        plan->solver = NULL;
        best->verdict = WM_FAILED;
        snprintf(best->why, sizeof best->why, "%.150s", wmLastError());
        wm_log(plan->context, WM_LOG_WARNING, "%s could not be made: %s", best->solver->name, best->why);
        /* Another solver may do where this one turns out not to; short memory or a lost device is for the caller. */
        if (options->fixed_choice || (status != WM_ERR_UNSUPPORTED && status != WM_ERR_VENDOR)) return status;
        found->chosen = wm_settle(plan->context, &plan->problem, options->workspace_limit, found);
        found->by = WM_BY_ESTIMATE;
        if (found->chosen < 0) return status;
    }
}

static wmStatus check_left_free(const wmContext *context, int left_free) {
    int all = context->device.multiprocessors;
    if (!left_free || (context->gpu && left_free < all)) return WM_OK;
    if (!context->gpu) return wm_fail(WM_ERR_ARGUMENT, "options.left_free is %d on the CPU place", left_free);
    return wm_fail(WM_ERR_ARGUMENT, "options.left_free is %d; the device has %d multiprocessors", left_free, all);
}

static wmStatus fill(wmPlan *plan, const wmPlanOptions *options) {
    char text[WM_PROBLEM_TEXT];
    wm_problem_print(&plan->problem, text, sizeof text);
    plan->text = strdup(text);
    if (!plan->text) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    WM_TRY(check_left_free(plan->context, options->left_free));
    WM_TRY(wm_search(plan->context, &plan->problem, options, &plan->found));
    if (plan->found.by == WM_BY_EMPTY) {
        plan->solver = &nothing;
        plan->offer = (wm_offer){.capturable = 1, .concurrent = 1};
    } else {
        WM_TRY(take_candidate(plan, options));
        if (plan->context->shadow[0]) wm_shadow_make(plan);
    }
    return WM_OK;
}

static void plan_free(wmPlan *plan) {
    wmContext *context = plan->holds_context ? plan->context : NULL;
    wm_guard guard;
    wm_trace_plan(plan);
    /* In a forked child the state stays as it is: vendor handles and device memory are the parent's. */
    if (wm_enter_cleanup(plan->context, &guard)) {
        wm_shadow_drop(plan);
        if (plan->solver && plan->solver->drop) plan->solver->drop(plan->context, plan->state);
        (void)wm_leave(&guard, WM_OK);
    }
    wm_found_free(&plan->found);
    pthread_mutex_destroy(&plan->lock);
    free(plan->text);
    free(plan);
    wmContextDestroy(context);
}

wmStatus wm_plan_make(wmPlan **out, wmContext *context, const wm_problem *problem, const wmPlanOptions *options,
                      int holds_context) {
    wmPlan *plan = (wmPlan *)calloc(1, sizeof *plan);
    if (!plan) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    atomic_init(&plan->references, 1);
    pthread_mutex_init(&plan->lock, NULL);
    plan->context = context;
    plan->holds_context = holds_context;
    plan->problem = *problem;
    plan->left_free = options->left_free;
    if (holds_context) wmContextRetain(context);
    wm_narrow before = wm_context_narrow(context, options->left_free);
    wmStatus status = fill(plan, options);
    (void)wm_context_narrow(before.context, before.left_free);
    if (status != WM_OK) {
        wm_error error;
        wm_error_save(&error);
        plan_free(plan);
        wm_error_restore(&error);
        return status;
    }
    wm_log(context, WM_LOG_INFO, "plan \"%s\": %s", plan->text, plan->solver->name);
    *out = plan;
    return WM_OK;
}

wmStatus wm_plan_create(wmPlan **plan, wmContext *context, const wm_problem *problem, const wmPlanOptions *options) {
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *plan = NULL;
    wm_plan_reap();
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wmPlanOptions taken;
    wmStatus status = wm_plan_options_take(&taken, options);
    if (status == WM_OK) status = wm_plan_make(plan, context, problem, &taken, 1);
    return wm_leave(&guard, status);
}

/* ---- Running ---- */

void *wm_args_workspace(wm_op op, const wm_args *args, size_t *bytes) {
    switch (op) {
    case WM_MATMUL:
        *bytes = args->matmul.workspace_bytes;
        return args->matmul.workspace;
    case WM_FFT:
        *bytes = args->fft.workspace_bytes;
        return args->fft.workspace;
    case WM_RANDOM:
        *bytes = args->random.workspace_bytes;
        return args->random.workspace;
    case WM_CONVOLUTION:
        *bytes = args->convolution.workspace_bytes;
        return args->convolution.workspace;
    }
    *bytes = 0;
    return NULL;
}

static wmStatus run_solver(const wmPlan *plan, const wm_run *run) {
    if (!plan->left_free) return wm_idle_run(plan->solver, run);
    wm_narrow before = wm_context_narrow(plan->context, plan->left_free);
    wmStatus status = wm_idle_run(plan->solver, run);
    (void)wm_context_narrow(before.context, before.left_free);
    return status;
}

wmStatus wm_plan_run(const wmPlan *plan, const wm_args *args, void *workspace, wmStream stream) {
    const wm_run run = {.context = plan->context,
                        .problem = &plan->problem,
                        .offer = &plan->offer,
                        .state = plan->state,
                        .args = args,
                        .workspace = workspace,
                        .stream = stream};
    if (plan->offer.concurrent) return run_solver(plan, &run);
    pthread_mutex_t *lock = &((wmPlan *)plan)->lock; /* the one part of a plan that changes */
    pthread_mutex_lock(lock);
    wmStatus status = run_solver(plan, &run);
    pthread_mutex_unlock(lock);
    return status;
}

wmStatus wm_workspace_check(const wmPlan *plan, const void *workspace, size_t bytes) {
    if (bytes < plan->offer.workspace) {
        return wm_fail(WM_ERR_ARGUMENT, "args.workspace_bytes is %zu; the plan needs %zu", bytes,
                       plan->offer.workspace);
    }
    if ((uintptr_t)workspace % 256) {
        return wm_fail(WM_ERR_ARGUMENT, "args.workspace is %p, not a multiple of 256 bytes", workspace);
    }
    return WM_OK;
}

static wmStatus check_capture(const wmPlan *plan, wmStream stream) {
    const wm_gpu *gpu = plan->context->gpu;
    if (!gpu || plan->offer.capturable) return WM_OK;
    int capturing = 0;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_capturing(gpu->self, stream, &capturing), "cudaStreamIsCapturing"));
    if (!capturing) return WM_OK;
    return wm_fail(WM_ERR_STATE, "the stream is capturing, and %s cannot be captured", plan->solver->name);
}

wmStatus wm_plan_execute_alone(const wmPlan *plan, const wm_args *args, wmStream stream) {
    size_t bytes = 0;
    void *workspace = wm_args_workspace(plan->problem.op, args, &bytes);
    WM_TRY(check_capture(plan, stream));
    if (plan->offer.workspace == 0) return wm_plan_run(plan, args, NULL, stream);
    if (workspace) {
        WM_TRY(wm_workspace_check(plan, workspace, bytes));
        return wm_plan_run(plan, args, workspace, stream);
    }
    wm_block *block = NULL;
    WM_TRY(wm_arena_take(plan->context, plan->offer.workspace, stream, &block));
    wmStatus status = wm_plan_run(plan, args, block->pointer, stream);
    wm_arena_give(plan->context, block);
    return status;
}

wmStatus wm_plan_execute(const wmPlan *plan, const wm_args *checked, wmStream stream) {
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    wm_guard guard;
    WM_TRY(wm_enter(plan->context, &guard));
    const wm_nvtx *nvtx = plan->context->nvtx;
    if (nvtx) nvtx->push(plan->text);
    wmStatus status =
        plan->shadow ? wm_shadow_execute(plan, checked, stream) : wm_plan_execute_alone(plan, checked, stream);
    if (nvtx) nvtx->pop();
    if (plan->context->trace[0] && status == WM_OK) atomic_fetch_add(&((wmPlan *)plan)->runs, 1);
    if (status != WM_OK) wm_fail_in(status, "in \"%s\"", plan->text);
    return wm_leave(&guard, status);
}

/* ---- Sharing and ending ---- */

void wmPlanRetain(wmPlan *plan) {
    if (plan) atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
}

static int drop_reference(wmPlan *plan) {
    return atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) == 1;
}

void wmPlanDestroy(wmPlan *plan) {
    wm_plan_reap();
    if (plan && drop_reference(plan)) plan_free(plan);
}

/* Plans that graphs let go of: CUDA calls us back where no CUDA function may be called. */
static _Atomic(wmPlan *) let_go;

static void graph_lets_go(void *object) {
    wmPlan *plan = (wmPlan *)object;
    if (!drop_reference(plan)) return;
    plan->next = atomic_load(&let_go);
    while (!atomic_compare_exchange_weak(&let_go, &plan->next, plan)) {
    }
}

void wm_plan_reap(void) {
    if (!atomic_load_explicit(&let_go, memory_order_relaxed)) return;
    wmPlan *plan = atomic_exchange(&let_go, NULL);
    while (plan) {
        wmPlan *next = plan->next;
        plan_free(plan);
        plan = next;
    }
}

wmStatus wmPlanRetainInGraph(wmPlan *plan, wmGraph graph) {
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    if (!graph) return wm_fail(WM_ERR_ARGUMENT, "graph is NULL");
    wm_guard guard;
    WM_TRY(wm_enter(plan->context, &guard));
    const wm_gpu *gpu = plan->context->gpu;
    if (!gpu) return wm_fail(WM_ERR_STATE, "the plan is of the CPU place, which has no graphs");
    wmPlanRetain(plan);
    wmStatus status =
        wm_gpu_check(gpu, gpu->graph_retain(gpu->self, graph, plan, graph_lets_go), "cudaGraphRetainUserObject");
    if (status != WM_OK) (void)drop_reference(plan); /* the caller's own reference remains */
    return wm_leave(&guard, status);
}

/* ---- Facts ---- */

wmStatus wmPlanWorkspace(const wmPlan *plan, size_t *bytes) {
    if (!bytes) return wm_fail(WM_ERR_ARGUMENT, "bytes is NULL");
    *bytes = 0;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    *bytes = plan->offer.workspace;
    return WM_OK;
}

const char *wmPlanProblem(const wmPlan *plan) {
    return plan ? plan->text : "";
}

const char *wmPlanSolver(const wmPlan *plan) {
    return plan ? plan->solver->name : "";
}

int wmPlanCapturable(const wmPlan *plan) {
    return plan && plan->offer.capturable && plan->context->gpu;
}

int wmPlanConcurrent(const wmPlan *plan) {
    return plan && plan->offer.concurrent;
}

wmDeterminism wm_problem_determinism(const wm_problem *problem) {
    switch (problem->op) {
    case WM_MATMUL:
        return problem->u.matmul.determinism;
    case WM_FFT:
        return problem->u.fft.determinism;
    case WM_RANDOM:
        return problem->u.random.determinism;
    case WM_CONVOLUTION:
        return problem->u.convolution.determinism;
    }
    return WM_NOT_GUARANTEED;
}

uint64_t wmPlanBitsId(const wmPlan *plan) {
    if (!plan) return 0;
    /* Equal numbers must mean equal bits: everything that the arithmetic could depend on goes in. */
    char knobs[WM_WISDOM_KNOBS], solver[128];
    wm_knobs_print(plan->solver, &plan->offer, knobs, sizeof knobs);
    snprintf(solver, sizeof solver, "|%.90s@%d|", plan->solver->name, plan->solver->version);
    if (plan->left_free) wm_append(solver, sizeof solver, "free=%d|", plan->left_free);
    uint64_t hash = wm_hash_text(wm_hash_text(wm_hash_text(WM_HASH_START, plan->text), solver), knobs);
    if (plan->solver != &nothing && wm_problem_determinism(&plan->problem) != WM_GPU_TO_GPU) {
        hash = wm_hash_text(hash, wm_wisdom_machine(plan->context, plan->problem.op)->text);
    }
    return hash ? hash : 1;
}

const wm_problem *wm_plan_problem(const wmPlan *plan) {
    return &plan->problem;
}

wmContext *wm_plan_context(const wmPlan *plan) {
    return plan->context;
}
