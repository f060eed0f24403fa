/* SPDX-License-Identifier: Apache-2.0 */
/* wmPlanTime: a plan on the caller's own operands. */
#include "lib/context_internal.h"
#include "lib/gpu_guard.h"
#include "args.h"
#include "lib/plan_internal.h"
#include "lib/session.h"
#include <math.h>

static const double sample_seconds = 200e-6;

/* Where the executions go, and the clock that stops them. */
typedef struct stopwatch {
    const wmPlan *plan;
    const wm_args *args;
    wmStream stream;
    wm_event from, to;
    void *workspace;
} stopwatch;

static wmStatus run_all(const stopwatch *w, int repeats) {
    for (int i = 0; i < repeats; i++) WM_TRY(wm_plan_run(w->plan, w->args, w->workspace, w->stream));
    return WM_OK;
}

static wmStatus sample(const stopwatch *w, int repeats, double *seconds) {
    wmContext *context = w->plan->context;
    const wm_gpu *gpu = context->gpu;
    if (!gpu) {
        double before = context->clock.now(context->clock.self);
        WM_TRY(run_all(w, repeats));
        *seconds = (context->clock.now(context->clock.self) - before) / repeats;
        return WM_OK;
    }
    WM_TRY(wm_gpu_check(gpu, gpu->event_record(gpu->self, w->from, w->stream), "cudaEventRecord"));
    WM_TRY(run_all(w, repeats));
    WM_TRY(wm_gpu_check(gpu, gpu->event_record(gpu->self, w->to, w->stream), "cudaEventRecord"));
    WM_TRY(wm_gpu_check(gpu, gpu->event_wait(gpu->self, w->to), "the execution"));
    WM_TRY(wm_gpu_check(gpu, gpu->event_seconds(gpu->self, w->from, w->to, seconds), "cudaEventElapsedTime"));
    *seconds /= repeats;
    return WM_OK;
}

static wmStatus time_it(const stopwatch *w, double budget, double *median) {
    const wm_clock *clock = &w->plan->context->clock;
    double samples[WM_MOST_ROUNDS], seconds = 0.0, end = clock->now(clock->self) + budget;
    int count = 0;
    WM_TRY(sample(w, 1, &seconds)); /* warms up */
    WM_TRY(sample(w, 1, &seconds));
    double wanted = seconds > 0 ? ceil(sample_seconds / seconds) : 256;
    int repeats = wanted > 256 ? 256 : wanted < 1 ? 1 : (int)wanted;
    do {
        WM_TRY(sample(w, repeats, &samples[count++]));
    } while (count < WM_MOST_ROUNDS && clock->now(clock->self) + samples[count - 1] * repeats < end);
    *median = wm_median(samples, count);
    return WM_OK;
}

static wmStatus with_events(stopwatch *w, double budget, double *seconds) {
    const wm_gpu *gpu = w->plan->context->gpu;
    if (!gpu) return time_it(w, budget, seconds);
    int capturing = 0;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_capturing(gpu->self, w->stream, &capturing), "cudaStreamIsCapturing"));
    if (capturing) return wm_fail(WM_ERR_STATE, "the stream is capturing: nothing can be timed there");
    WM_TRY(wm_gpu_check(gpu, gpu->event_create(gpu->self, &w->from), "cudaEventCreate"));
    wmStatus status = wm_gpu_check(gpu, gpu->event_create(gpu->self, &w->to), "cudaEventCreate");
    if (status == WM_OK) {
        status = time_it(w, budget, seconds);
        (void)gpu->event_destroy(gpu->self, w->to);
    }
    (void)gpu->event_destroy(gpu->self, w->from);
    return status;
}

static wmStatus with_workspace(stopwatch *w, double budget, double *seconds) {
    size_t bytes = 0, wanted = w->plan->offer.workspace;
    wm_block *block = NULL;
    w->workspace = wm_args_workspace(w->plan->problem.op, w->args, &bytes);
    if (wanted && w->workspace) WM_TRY(wm_workspace_check(w->plan, w->workspace, bytes));
    if (wanted && !w->workspace) {
        WM_TRY(wm_arena_take(w->plan->context, wanted, w->stream, &block));
        w->workspace = block->pointer;
    }
    if (!wanted) w->workspace = NULL;
    wmStatus status = with_events(w, budget, seconds);
    wm_arena_give(w->plan->context, block);
    return status;
}

wmStatus wmPlanTime(const wmPlan *plan, const void *args, wmStream stream, double budget_ms, double *seconds) {
    if (!seconds) return wm_fail(WM_ERR_ARGUMENT, "seconds is NULL");
    *seconds = 0;
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    if (!(budget_ms >= 0) || isinf(budget_ms)) return wm_fail(WM_ERR_ARGUMENT, "budget_ms is %g", budget_ms);
    wm_args checked;
    int empty = 0;
    wm_guard guard;
    WM_TRY(wm_enter(plan->context, &guard));
    wmStatus status = wm_args_check(plan, args, 1, &checked, &empty);
    if (status == WM_OK && !empty) {
        stopwatch w = {.plan = plan, .args = &checked, .stream = stream};
        status = with_workspace(&w, 1e-3 * (budget_ms > 0 ? budget_ms : 100.0), seconds);
        if (status != WM_OK) wm_fail_in(status, "in \"%s\"", plan->text);
    }
    return wm_leave(&guard, status);
}
