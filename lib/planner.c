/* SPDX-License-Identifier: Apache-2.0 */
/* The search: wisdom, else measurement where it is asked for, else the best estimate. */
#include "context_internal.h"
#include "fields.h"
#include "planner.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void wmPlanOptionsInit(wmPlanOptions *options, size_t size) {
    wmPlanOptions fresh = wmPlanOptionsDefault();
    wm_give_sized(options, size, &fresh, sizeof fresh);
}

wmStatus wm_plan_options_take(wmPlanOptions *out, const wmPlanOptions *options) {
    *out = wmPlanOptionsDefault();
    if (!options) return WM_OK;
    WM_TRY(wm_copy_sized(out, sizeof *out, sizeof *out, options, "options"));
    if ((unsigned)out->effort > WM_WISDOM_ONLY) {
        return wm_fail(WM_ERR_ARGUMENT, "options.effort is %d", (int)out->effort);
    }
    if (out->fixed_choice != 0 && out->fixed_choice != 1) {
        return wm_fail(WM_ERR_ARGUMENT, "options.fixed_choice is %d", (int)out->fixed_choice);
    }
    if (out->fixed_choice && out->effort != WM_ESTIMATE) {
        return wm_fail(WM_ERR_ARGUMENT,
                       "options.fixed_choice is 1 and options.effort %d: a fixed choice asks neither "
                       "timings nor wisdom",
                       (int)out->effort);
    }
    if (!(out->budget_ms >= 0) || isinf(out->budget_ms)) {
        return wm_fail(WM_ERR_ARGUMENT, "options.budget_ms is %g", out->budget_ms);
    }
    if (out->budget_bytes < 0) {
        return wm_fail(WM_ERR_ARGUMENT, "options.budget_bytes is %lld", (long long)out->budget_bytes);
    }
    if (out->workspace_limit < -1) {
        return wm_fail(WM_ERR_ARGUMENT, "options.workspace_limit is %lld; -1 allows none at all",
                       (long long)out->workspace_limit);
    }
    return WM_OK;
}

static int least_estimate(const wm_found *found, int failed_too) {
    int best = -1;
    for (int i = 0; i < found->count; i++) {
        const wm_candidate *c = &found->candidate[i];
        if (!failed_too && (c->verdict == WM_WRONG || c->verdict == WM_FAILED)) continue;
        if (best < 0 || c->offer.seconds < found->candidate[best].offer.seconds) best = i;
    }
    return best;
}

int wm_best_estimate(const wm_found *found) {
    return least_estimate(found, 0);
}

int wm_least_estimate(const wm_found *found) {
    return least_estimate(found, 1);
}

/* An entry can never make a variant legal: it only points at one of the offers. */
int wm_follow_wisdom(wmContext *context, const wm_problem *problem, wmEffort effort, wm_found *found) {
    wm_wise wise;
    if (!wm_wisdom_find(context, problem, &wise)) return 0;
    if ((effort == WM_MEASURE || effort == WM_EXHAUSTIVE) && wise.effort < effort) return 0;
    const wm_solver *solver = wm_wisdom_solver(context, &wise);
    for (int i = 0; solver && i < found->count; i++) {
        wm_candidate *c = &found->candidate[i];
        if (c->solver != solver || !wm_knobs_match(solver, &c->offer, wise.knobs)) continue;
        c->seconds = wise.seconds;
        found->chosen = i;
        found->by = WM_BY_WISDOM;
        return 1;
    }
    snprintf(found->note, sizeof found->note, "wisdom names %.48s@%d %.120s, which is not offered here (any more)",
             wise.solver, wise.version, wise.knobs);
    return 0;
}

static wmStatus no_wisdom(const wmContext *context, const wm_problem *problem) {
    char text[WM_PROBLEM_TEXT];
    wm_problem_print(problem, text, sizeof text);
    return wm_fail(WM_ERR_NO_WISDOM, "\"%.300s\" was never tuned on this machine%s", text,
                   context->frozen ? ", and WARPMATH_FROZEN is set" : "");
}

wmStatus wm_search(wmContext *context, const wm_problem *problem, const wmPlanOptions *options, wm_found *out) {
    memset(out, 0, sizeof *out);
    out->chosen = -1;
    if (wm_problem_empty(problem)) {
        out->by = WM_BY_EMPTY;
        return WM_OK;
    }
    WM_TRY(wm_search_offers(context, problem, options->workspace_limit, out));
    if (out->count == 0) return wm_nobody_offers(context, problem, out);
    if (!options->fixed_choice) {
        if (wm_follow_wisdom(context, problem, options->effort, out)) return WM_OK;
        if (options->effort == WM_WISDOM_ONLY || context->frozen) return no_wisdom(context, problem);
        if (options->effort != WM_ESTIMATE) WM_TRY(wm_measure(context, problem, options, out));
    }
    if (out->chosen < 0) {
        out->chosen = wm_best_estimate(out);
        out->by = WM_BY_ESTIMATE;
    }
    if (out->chosen < 0) {
        return wm_fail(WM_ERR_UNSUPPORTED, "every candidate failed; the first, %s: %s", out->candidate[0].solver->name,
                       out->candidate[0].why);
    }
    return WM_OK;
}
