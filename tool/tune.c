/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath tune: measures a list of problems and keeps what won in the wisdom file. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bucket.h"
#include "lib/plan_internal.h"

#include "commands.h"
#include "fail.h"
#include "list.h"
#include "measured.h"
#include "options.h"
#include "progress.h"
#include "session.h"
#include "table.h"

typedef struct options {
    wm_common common;
    const char *from;
    const char *effort;
    const char *bucket;
    double budget;
    bool dry;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--from",   WM_FLAG_TEXT,   offsetof(options, from),   "FILE", "problems, one a line: a list, or what WARPMATH_TRACE wrote"},
    {"--effort", WM_FLAG_TEXT,   offsetof(options, effort), "HOW",  "measure exhaustive; default measure"},
    {"--bucket", WM_FLAG_TEXT,   offsetof(options, bucket), "SIZE", "m n k batch count: measure both ends of each problem's bucket"},
    {"--budget", WM_FLAG_NUMBER, offsetof(options, budget), "MS",   "milliseconds a problem at most; default 1000"},
    {"--dry",    WM_FLAG_SWITCH, offsetof(options, dry),    "",     "leave the wisdom file as it is"},
    {NULL,       WM_FLAG_SWITCH, 0,                         NULL,   NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "tune [\"<problem>\"…] [--from FILE] [flags]",
    "Measures each problem and adds the winners to your wisdom file, which plans follow from then on. In a file, a "
    "line\n"
    "is a problem, with a number of runs before it or none; what follows a # is a comment. Problems that a list names\n"
    "twice are tuned once, those with most runs first. Between the ends of a bucket (neighbouring powers of two) "
    "plans\n"
    "take what won both, without a measurement. Run a program under WARPMATH_TRACE=FILE to get its list.\n",
    0,
    -1,
    flags,
};

/* A size that changes at run time: each problem stands for the two at the ends of its bucket. */
static int take_ends(wm_list *list, int which) {
    wm_list ends = {NULL, 0, 0};
    int status = WM_EXIT_OK;
    for (int i = 0; !status && i < list->count; i++) {
        char low[WM_PROBLEM_TEXT], high[WM_PROBLEM_TEXT];
        const char *problem = list->entry[i].problem;
        if (!wm_bucket_ends(problem, which, low, high, sizeof low)) {
            status =
                wm_tool_fail("\"%s\" has no %s, or it is a power of two: no bucket", problem, wm_bucket_name(which));
        }
        if (!status) status = wm_list_add(&ends, low, list->entry[i].runs, 0);
        if (!status) status = wm_list_add(&ends, high, list->entry[i].runs, 0);
    }
    wm_list_free(list);
    *list = ends;
    return status;
}

/* What came of one problem. */
typedef struct tuned {
    char before[64]; /* the solver that would have been taken; "" if none offers */
    wmPlan *plan;
    const char *failed;         /* why there is no plan; owned */
    const wm_candidate *vendor; /* the fastest timed */
} tuned;

static double seconds_of(const wm_candidate *c) {
    return c && c->seconds > 0 ? c->seconds : 0;
}

static const wm_candidate *chosen_of(const wmPlan *plan) {
    return plan->found.chosen >= 0 ? &plan->found.candidate[plan->found.chosen] : NULL;
}

static tuned tune(wmContext *context, const char *problem, const wmPlanOptions *planning) {
    tuned t = {.before = ""};
    wmPlan *estimated = NULL;
    if (wmPlanCreate(&estimated, context, problem, NULL) == WM_OK) {
        (void)snprintf(t.before, sizeof t.before, "%s", wmPlanSolver(estimated));
    }
    wmPlanDestroy(estimated);
    if (wmPlanCreate(&t.plan, context, problem, planning) != WM_OK) {
        t.failed = strdup(wmLastError());
        return t;
    }
    for (int i = 0; i < t.plan->found.count; i++) {
        const wm_candidate *c = &t.plan->found.candidate[i];
        if (c->solver->origin != WM_VENDOR || !wm_measured_is_right(c)) continue;
        if (!t.vendor || c->seconds < t.vendor->seconds) t.vendor = c;
    }
    return t;
}

static int add_row(wm_table *table, wm_json *json, const wm_list_entry *e, const tuned *t) {
    const wm_candidate *chosen = t->plan ? chosen_of(t->plan) : NULL;
    char knobs[128] = "";
    char time[24] = "";
    char ratio[16] = "";
    double seconds = seconds_of(chosen);
    double vs_vendor = seconds > 0 && t->vendor ? t->vendor->seconds / seconds : 0;
    if (chosen) wm_knobs_print(chosen->solver, &chosen->offer, knobs, sizeof knobs);
    if (seconds > 0) (void)snprintf(time, sizeof time, "%.2f us", 1e6 * seconds);
    if (vs_vendor > 0) (void)snprintf(ratio, sizeof ratio, "%.2f", vs_vendor);
    const char *why = t->failed ? t->failed : seconds > 0 ? "" : "by wisdom or estimate: not timed now";
    if (json->text) {
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "problem", e->problem);
        wm_json_number(json, "runs", e->runs);
        wm_json_string(json, "before", t->before);
        wm_json_string(json, "solver", chosen ? chosen->solver->name : "");
        wm_json_string(json, "knobs", knobs);
        wm_json_number(json, "seconds", seconds);
        wm_json_number(json, "vs_vendor", vs_vendor);
        wm_json_string(json, "note", why);
        wm_json_close(json, '}');
        return WM_EXIT_OK;
    }
    return wm_table_add(table, "%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s", e->problem, e->runs, t->before,
                        chosen ? chosen->solver->name : "none", knobs, time, ratio, why);
}

static int tune_all(wmContext *context, const wm_list *l, const options *o, const wmPlanOptions *planning) {
    wm_table table;
    wm_text text = {.data = NULL};
    wm_json json = {.text = o->common.json ? &text : NULL};
    int failed = 0;
    int status = wm_table_begin(&table, "lrllllrl", "problem\truns\tbefore\tnow\tknobs\ttime\tvs vendor\tnote");
    wm_progress_begin(l->count);
    if (!status && json.text) wm_json_open(&json, NULL, '[');
    for (int i = 0; !status && i < l->count; i++) {
        wm_progress_step(i, l->entry[i].problem);
        tuned t = tune(context, l->entry[i].problem, planning);
        failed += t.failed != NULL;
        status = add_row(&table, &json, &l->entry[i], &t);
        wmPlanDestroy(t.plan);
        free((void *)(uintptr_t)t.failed);
    }
    wm_progress_end();
    if (!status && json.text) wm_json_close(&json, ']');
    if (!status && json.text) status = wm_session_put(&text);
    if (!status && !o->common.json) wm_table_print(&table, stdout);
    wm_table_free(&table);
    wm_text_free(&text);
    if (!status && failed) status = wm_tool_fail("%d of %d problems have no solver here", failed, l->count);
    return status;
}

int wm_command_tune(int argc, char **argv) {
    static const char *const efforts[] = {"measure", "exhaustive", NULL};
    static const char *const sizes[] = {"m", "n", "k", "batch", "count", NULL}; /* as lib/bucket.h numbers them */
    options o = {.effort = "measure"};
    wmContext *context = NULL;
    wm_list l = {NULL, 0, 0};
    wmPlanOptions planning = wmPlanOptionsDefault();
    int effort = 0;
    int size = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status) status = wm_options_choice("--effort", o.effort, efforts, &effort);
    if (!status && o.bucket) status = wm_options_choice("--bucket", o.bucket, sizes, &size);
    if (!status && o.budget < 0) status = wm_tool_usage("--budget %g is to be above 0", o.budget);
    if (status) return status;
    planning.effort = effort ? WM_EXHAUSTIVE : WM_MEASURE;
    planning.budget_ms = o.budget;
    status = wm_session_open(&context, o.common.place);
    if (!status) status = wm_list_collect(&l, wmContextPlace(context), &o.common, o.from);
    if (!status) wm_list_sort(&l);
    if (!status && o.bucket) status = take_ends(&l, size);
    if (!status) status = tune_all(context, &l, &o, &planning);
    /* What was learnt is kept, whatever became of the rest. */
    if (context && l.count && !o.dry) {
        int saved = wm_session_check(wmWisdomSave(context, NULL, NULL));
        if (!status) status = saved;
    }
    wm_list_free(&l);
    wmContextDestroy(context);
    return status;
}
