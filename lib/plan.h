/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as host/ sees them: the typed functions check their arguments, then call these. */
#ifndef WM_LIB_PLAN_H
#define WM_LIB_PLAN_H

#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Plans a resolved problem. *plan is NULL on failure. options NULL: defaults; they are checked here, as are a NULL
 * context, a forked child and a poisoned device, so that a typed function need not.
 */
wmStatus wm_plan_create(wmPlan **plan, wmContext *context, const wm_problem *problem, const wmPlanOptions *options);

/** The plan's problem and context; neither is retained. The plan must not be NULL. */
const wm_problem *wm_plan_problem(const wmPlan *plan);
wmContext *wm_plan_context(const wmPlan *plan);

/**
 * Runs a plan on checked arguments: pointers present and aligned, scalars legal, defaults filled in. What is checked
 * here: workspace (size, alignment; the arena where none is given), capture, fork, a poisoned device.
 */
wmStatus wm_plan_execute(const wmPlan *plan, const wm_args *checked, wmStream stream);

/** Destroys the plans whose last reference was a graph's: CUDA may not be called where a graph lets go of one. */
void wm_plan_reap(void);

/**
 * The plan of a one-shot call, from the context's bounded cache or made with default options; wmPlanDestroy gives it
 * back. WM_ERR_STATE where it must be made and `stream` is capturing.
 */
wmStatus wm_context_plan(wmContext *context, const wm_problem *problem, wmStream stream, wmPlan **plan);

/** 1 if WARPMATH_CHECK=1 asks plans to check their pointers as one-shot calls always do. */
int wm_context_checks(const wmContext *context);

/** WM_ERR_ARGUMENT, naming `field` and the address, unless the context's place can reach `pointer`. */
wmStatus wm_context_reach(wmContext *context, const void *pointer, const char *field);

#ifdef __cplusplus
}
#endif

#endif
