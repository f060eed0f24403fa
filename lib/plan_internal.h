/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan is made of. */
#ifndef WM_LIB_PLAN_INTERNAL_H
#define WM_LIB_PLAN_INTERNAL_H

#include "plan.h"
#include "planner.h"
#include <pthread.h>
#include <stdatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wmPlan {
    atomic_int references;
    wmContext *context;
    int holds_context; /* 0: a plan of the context's own cache */
    int left_free;     /* multiprocessors */
    wm_problem problem;
    char *text; /* its string */
    const wm_solver *solver;
    wm_offer offer;
    void *state;
    wm_found found;
    pthread_mutex_t lock;     /* one execution at a time, where the solver cannot do more */
    atomic_llong runs;        /* counted for WARPMATH_TRACE only */
    struct wm_shadow *shadow; /* WARPMATH_SHADOW's second solver; NULL: none */
    wmPlan *next;             /* among those that a graph let go of */
};

/** Makes a plan by checked options, inside wm_enter. */
wmStatus wm_plan_make(wmPlan **out, wmContext *context, const wm_problem *problem, const wmPlanOptions *options,
                      int holds_context);

/** Adds the plan's line to the file that WARPMATH_TRACE names. */
void wm_trace_plan(const wmPlan *plan);

wmDeterminism wm_problem_determinism(const wm_problem *problem);

/** The workspace that the arguments bring. */
void *wm_args_workspace(wm_op op, const wm_args *args, size_t *bytes);

/** Refuses a caller's workspace that is too small or not aligned. */
wmStatus wm_workspace_check(const wmPlan *plan, const void *workspace, size_t bytes);

/** Enqueues one execution with its workspace: the part that planning's measurements share with wm_plan_execute. */
wmStatus wm_plan_run(const wmPlan *plan, const wm_args *args, void *workspace, wmStream stream);

#ifdef __cplusplus
}
#endif

#endif
