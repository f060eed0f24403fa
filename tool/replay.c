/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath replay: runs the problems of a trace on operands of its own, and compares their times with the recorded
 * ones. */
#include <stdio.h>

#include "lib/context_internal.h"
#include "lib/image.h"
#include "lib/plan.h"

#include "commands.h"
#include "fail.h"
#include "list.h"
#include "options.h"
#include "progress.h"
#include "session.h"
#include "table.h"

typedef struct options {
    wm_common common;
    double budget;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--budget", WM_FLAG_NUMBER, offsetof(options, budget), "MS", "milliseconds a problem; default 100"},
    {NULL,       WM_FLAG_SWITCH, 0,                         NULL, NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "replay FILE [flags]",
    "Plans and runs each problem of a file that WARPMATH_TRACE wrote, as this machine and its wisdom would now, and\n"
    "prints the time of a run beside the recorded one, and what all recorded runs would take. Those that take longest\n"
    "come first.\n",
    1,
    1,
    flags,
};

/* What came of one problem. */
typedef struct replayed {
    char solver[64];
    double seconds; /* of one run now; 0: it did not run */
} replayed;

static wmStatus run_plan(wmContext *context, const wmPlan *plan, double budget, double *seconds) {
    wm_image image;
    wm_args args;
    WM_TRY(wm_image_make(&image, context, wm_plan_problem(plan), NULL, 1, 1));
    wm_image_args(&image, 0, &args);
    wmStatus status = wmPlanTime(plan, &args, NULL, budget, seconds);
    wm_image_free(&image);
    return status;
}

static int replay_one(wmContext *context, const wm_list_entry *e, double budget, replayed *out) {
    wmPlan *plan = NULL;
    *out = (replayed){"", 0};
    int status = wm_session_check(wmPlanCreate(&plan, context, e->problem, NULL));
    if (!status) (void)snprintf(out->solver, sizeof out->solver, "%s", wmPlanSolver(plan));
    if (!status) status = wm_session_check(run_plan(context, plan, budget, &out->seconds));
    wmPlanDestroy(plan);
    return status;
}

static int add_row(wm_table *table, wm_json *json, const wm_list_entry *e, const replayed *r) {
    double ratio = e->seconds > 0 && r->seconds > 0 ? r->seconds / e->seconds : 0;
    char recorded[24] = "";
    char times[16] = "";
    if (json->text) {
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "problem", e->problem);
        wm_json_number(json, "runs", e->runs);
        wm_json_string(json, "solver", r->solver);
        wm_json_number(json, "recorded_seconds", e->seconds);
        wm_json_number(json, "seconds", r->seconds);
        wm_json_close(json, '}');
        return WM_EXIT_OK;
    }
    if (e->seconds > 0) (void)snprintf(recorded, sizeof recorded, "%.2f us", 1e6 * e->seconds);
    if (ratio > 0) (void)snprintf(times, sizeof times, "%.2f", ratio);
    return wm_table_add(table, "%s\t%.0f\t%s\t%s\t%.2f us\t%s\t%.3f ms", e->problem, e->runs, r->solver, recorded,
                        1e6 * r->seconds, times, 1e3 * e->runs * r->seconds);
}

static int replay_all(wmContext *context, const wm_list *list, const options *o) {
    wm_table table;
    wm_text text = {.data = NULL};
    wm_json json = {.text = o->common.json ? &text : NULL};
    double now = 0, then = 0;
    int status = wm_table_begin(&table, "lrlrrrr", "problem\truns\tsolver\trecorded\tnow\tratio\tall runs");
    if (json.text) wm_json_open(&json, NULL, '[');
    wm_progress_begin(list->count);
    for (int i = 0; !status && i < list->count; i++) {
        replayed r;
        wm_progress_step(i, list->entry[i].problem);
        status = replay_one(context, &list->entry[i], o->budget > 0 ? o->budget : 100, &r);
        now += list->entry[i].runs * r.seconds;
        then += list->entry[i].runs * list->entry[i].seconds;
        if (!status) status = add_row(&table, &json, &list->entry[i], &r);
    }
    wm_progress_end();
    if (json.text) wm_json_close(&json, ']');
    if (!status && json.text) status = wm_session_put(&text);
    if (!status && !json.text) wm_table_print(&table, stdout);
    if (!status && !json.text) printf("all runs: %.3f ms now, %.3f ms by the record\n", 1e3 * now, 1e3 * then);
    wm_table_free(&table);
    wm_text_free(&text);
    return status;
}

int wm_command_replay(int argc, char **argv) {
    options o = {.budget = 0};
    wmContext *context = NULL;
    wm_list list = {NULL, 0, 0};
    const wm_common none = {.count = 0};
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status && o.budget < 0) status = wm_tool_usage("--budget %g is to be above 0", o.budget);
    if (status) return status;
    status = wm_session_open(&context, o.common.place);
    if (!status) status = wm_list_collect(&list, wmContextPlace(context), &none, o.common.words[0]);
    if (!status) wm_list_sort(&list);
    if (!status) status = replay_all(context, &list, &o);
    wm_list_free(&list);
    wmContextDestroy(context);
    return status;
}
