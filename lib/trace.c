/* SPDX-License-Identifier: Apache-2.0 */
/* WARPMATH_TRACE: what a process computed, as a list of problems for `warpmath tune --from`. */
#include "context_internal.h"
#include "plan_internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/*
 * One line a plan, when it ends: `runs problem # solver, seconds`. One write to a file opened for appending, so that
 * the lines of several threads and processes do not mix.
 */
void wm_trace_plan(const wmPlan *plan) {
    char line[WM_PROBLEM_TEXT + 256];
    long long runs = atomic_load_explicit(&plan->runs, memory_order_relaxed);
    if (!plan->context->trace[0] || runs == 0) return;
    const wm_found *found = &plan->found;
    const wm_candidate *chosen = found->chosen >= 0 ? &found->candidate[found->chosen] : NULL;
    double seconds = !chosen ? 0 : chosen->seconds > 0 ? chosen->seconds : chosen->offer.seconds;
    int length = snprintf(line, sizeof line, "%lld %s # %s, %s %.3e s\n", runs, plan->text, plan->solver->name,
                          chosen && chosen->seconds > 0 ? "measured" : "estimated", seconds);
    int file = open(plan->context->trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || write(file, line, (size_t)length) != length) {
        wm_log(plan->context, WM_LOG_WARNING, "WARPMATH_TRACE=%s: %m", plan->context->trace);
    }
    if (file >= 0) close(file);
}
