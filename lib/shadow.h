/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WARPMATH_SHADOW=vendor | reference | SOLVER: beside each execution a second solver runs on copies, and what differs
 * is logged. For hunting a wrong kernel: it waits for every execution.
 */
#ifndef WM_LIB_SHADOW_H
#define WM_LIB_SHADOW_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_shadow wm_shadow;

/** Chooses and makes the second solver of a plan; the plan goes without one, and a log line says why, where it cannot.
 */
void wm_shadow_make(wmPlan *plan);
void wm_shadow_drop(wmPlan *plan);

/** Runs both and compares. The status is that of the plan's own solver. */
wmStatus wm_shadow_execute(const wmPlan *plan, const wm_args *args, wmStream stream);

/** The plan's own execution (plan.c). */
wmStatus wm_plan_execute_alone(const wmPlan *plan, const wm_args *args, wmStream stream);

/** The second solver's name, executions compared and how many of them differed; 0 if there is none. */
int wm_shadow_report(const wmPlan *plan, const char **solver, long long *compared, long long *differed);

#ifdef __cplusplus
}
#endif

#endif
