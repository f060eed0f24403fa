/* SPDX-License-Identifier: Apache-2.0 */
/* The search: wisdom, else measurement where it is asked for, else the best estimate. */
#include "bucket.h"
#include "context_internal.h"
#include "fields.h"
#include "planner.h"
#include "shipped.h"
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
    if (out->left_free < 0) return wm_fail(WM_ERR_ARGUMENT, "options.left_free is %d", (int)out->left_free);
    if (out->workspace_limit < -1) {
        return wm_fail(WM_ERR_ARGUMENT, "options.workspace_limit is %lld; -1 allows none at all",
                       (long long)out->workspace_limit);
    }
    return WM_OK;
}

/* An entry can never make a variant legal: it only points at one of the offers. */
static int take_named(wm_found *found, const wm_solver *solver, const char *knobs, double seconds) {
    for (int i = 0; solver && i < found->count; i++) {
        wm_candidate *c = &found->candidate[i];
        if (c->solver != solver || c->only_judges || !wm_knobs_match(solver, &c->offer, knobs)) continue;
        c->seconds = seconds;
        found->chosen = i;
        found->by = WM_BY_WISDOM;
        return 1;
    }
    return 0;
}

/* One of at least the effort that is asked for. */
static int follow_entry(wmContext *context, const wm_wise *wise, wmEffort effort, wm_found *found) {
    if ((effort == WM_MEASURE || effort == WM_EXHAUSTIVE) && wise->effort < effort) return 0;
    if (take_named(found, wm_wisdom_solver(context, wise), wise->knobs, wise->seconds)) return 1;
    snprintf(found->note, sizeof found->note, "wisdom names %.48s@%d %.120s, which is not offered here (any more)",
             wise->solver, wise->version, wise->knobs);
    return 0;
}

int wm_follow_wisdom(wmContext *context, const wm_problem *problem, wmEffort effort, wm_found *found) {
    wm_wise wise;
    return wm_wisdom_find(context, problem, &wise) && follow_entry(context, &wise, effort, found);
}

/* What is known of a problem before anybody is asked to offer. */
typedef struct known {
    int own, ends[WM_BUCKET_SIZES]; /* whether there is an entry; one variant that won both ends of a bucket */
    wm_wise entry, end[WM_BUCKET_SIZES];
    const wm_shipped *shipped; /* what won on another machine with the same device */
} known;

/* Both ends of the problem's bucket in that size were tuned, and the same variant won. */
static int find_ends(wmContext *context, const wm_problem *problem, const char *text, int which, wm_wise *low) {
    char end[2][WM_PROBLEM_TEXT];
    wm_wise high;
    return wm_bucket_ends(text, which, end[0], end[1], sizeof end[0]) &&
           wm_wisdom_find_text(context, problem->op, end[0], low) &&
           wm_wisdom_find_text(context, problem->op, end[1], &high) && strcmp(low->solver, high.solver) == 0 &&
           low->version == high.version && strcmp(low->knobs, high.knobs) == 0;
}

static void look_up(wmContext *context, const wm_problem *problem, wmEffort effort, int fixed, known *out) {
    char text[WM_PROBLEM_TEXT];
    int by_estimate = effort == WM_ESTIMATE, any = wm_wisdom_any(context);
    int shipped = by_estimate && context->gpu && context->use_shipped && !context->frozen;
    if (wm_context_left_free(context)) shipped = 0; /* it won on the whole device */
    memset(out->ends, 0, sizeof out->ends);
    out->own = 0;
    out->shipped = NULL;
    if (fixed || !(any || shipped)) return;
    wm_problem_print(problem, text, sizeof text);
    out->own = any && wm_wisdom_find_text(context, problem->op, text, &out->entry);
    for (int i = 0; i < WM_BUCKET_SIZES && any && (by_estimate || effort == WM_WISDOM_ONLY); i++)
        out->ends[i] = find_ends(context, problem, text, i, &out->end[i]);
    if (shipped) out->shipped = wm_shipped_find(&context->device, text);
}

/* Then all variants are listed, since wisdom may name any. */
static int is_known(const known *k) {
    int known = k->own || k->shipped;
    for (int i = 0; i < WM_BUCKET_SIZES; i++) known = known || k->ends[i];
    return known;
}

static int follow_bucket(wmContext *context, const known *k, wm_found *found) {
    for (int i = 0; i < WM_BUCKET_SIZES; i++) {
        const wm_wise *end = &k->end[i];
        if (!k->ends[i] || !take_named(found, wm_wisdom_solver(context, end), end->knobs, 0)) continue;
        snprintf(found->note, sizeof found->note, "tuned at both ends of its bucket in %s", wm_bucket_name(i));
        return 1;
    }
    return 0;
}

static int follow_shipped(const wmContext *context, const wm_shipped *row, wm_found *found) {
    if (!row) return 0;
    wm_wise named = {.version = row->version};
    snprintf(named.solver, sizeof named.solver, "%s", row->solver);
    if (!take_named(found, wm_wisdom_solver(context, &named), row->knobs, 0)) return 0;
    snprintf(found->note, sizeof found->note, "by the wisdom that ships for the %.60s", context->device.name);
    return 1;
}

static wmStatus no_wisdom(const wmContext *context, const wm_problem *problem) {
    char text[WM_PROBLEM_TEXT];
    wm_problem_print(problem, text, sizeof text);
    return wm_fail(WM_ERR_NO_WISDOM, "\"%.300s\" was never tuned on this machine%s", text,
                   context->frozen ? ", and WARPMATH_FROZEN is set" : "");
}

/* Functions of the user's own are not run on data of ours. */
static wmEffort effort_for(const wm_problem *problem, wmEffort asked) {
    uint64_t features = wm_problem_features(problem);
    int functors = (problem->op == WM_FFT && features & (WM_FFT_LOAD | WM_FFT_STORE)) ||
                   (problem->op == WM_MATMUL && features & WM_MM_FUNCTOR);
    return functors && asked != WM_WISDOM_ONLY ? WM_ESTIMATE : asked;
}

static int is_offered(const wm_found *found) {
    int offers = 0;
    for (int i = 0; i < found->count; i++) offers += !found->candidate[i].only_judges;
    return offers > 0;
}

wmStatus wm_search(wmContext *context, const wm_problem *problem, const wmPlanOptions *options, wm_found *out) {
    wmEffort effort = effort_for(problem, options->effort);
    memset(out, 0, sizeof *out);
    out->chosen = -1;
    if (wm_problem_empty(problem)) {
        out->by = WM_BY_EMPTY;
        return WM_OK;
    }
    known k;
    look_up(context, problem, effort, options->fixed_choice, &k);
    /* A fixed choice may not fall back on another where a variant that nobody checked cannot be made. */
    int few = effort == WM_ESTIMATE && !is_known(&k) && !options->fixed_choice && !context->shadow[0];
    WM_TRY((few ? wm_search_few : wm_search_offers)(context, problem, options->workspace_limit, out));
    if (!is_offered(out)) return wm_nobody_offers(context, problem, out);
    if (!options->fixed_choice) {
        if (k.own && follow_entry(context, &k.entry, effort, out)) return WM_OK;
        if (follow_bucket(context, &k, out) || follow_shipped(context, k.shipped, out)) return WM_OK;
        if (effort == WM_WISDOM_ONLY || context->frozen) return no_wisdom(context, problem);
        if (effort != WM_ESTIMATE) WM_TRY(wm_measure(context, problem, options, out));
    }
    if (out->chosen < 0) {
        wm_guess(context, problem, out);
        out->chosen = wm_settle(context, problem, options->workspace_limit, out);
        out->by = WM_BY_ESTIMATE;
    }
    if (out->chosen < 0) {
        return wm_fail(WM_ERR_UNSUPPORTED, "every candidate failed; the first, %s: %s", out->candidate[0].solver->name,
                       out->candidate[0].why);
    }
    return WM_OK;
}
