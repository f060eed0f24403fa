/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath plan: explains a problem's plan; with --effort measure, tunes it. */
#include <stdbool.h>

#include "commands.h"
#include "fail.h"
#include "options.h"
#include "session.h"

typedef struct options {
    wm_common common;
    const char *effort;
    double budget, left_free, priority;
    bool save;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--effort",    WM_FLAG_TEXT,   offsetof(options, effort),    "HOW", "estimate measure exhaustive wisdom_only; default estimate"},
    {"--budget",    WM_FLAG_NUMBER, offsetof(options, budget),    "MS",  "measure: milliseconds at most; default 1000"},
    {"--left-free", WM_FLAG_NUMBER, offsetof(options, left_free), "N",   "leave the room of N multiprocessors to other work"},
    {"--priority",  WM_FLAG_NUMBER, offsetof(options, priority),  "N",   "measure: on a stream of that priority"},
    {"--save",      WM_FLAG_SWITCH, offsetof(options, save),      "",    "measure: add what was found to your wisdom file"},
    {NULL,          WM_FLAG_SWITCH, 0,                            NULL,  NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "plan \"<problem>\" [flags]",
    "Explains how a problem would be solved: the solver chosen, why each other lost, the cost, and what to try.\n"
    "A problem is text like \"matmul bf16 4096x4096x4096 ta=t act=gelu_tanh\"; docs/problems.md is the grammar.\n",
    1,
    1,
    flags,
};

static wmStatus write_plan(void *plan, wmTextFormat format, char *buffer, size_t capacity, size_t *needed) {
    return wmPlanExplain(plan, format, buffer, capacity, needed);
}

int wm_command_plan(int argc, char **argv) {
    static const char *const efforts[] = {"estimate", "measure", "exhaustive", "wisdom_only", NULL}; /* wmEffort */
    options o = {.effort = "estimate"};
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    wmPlanOptions planning = wmPlanOptionsDefault();
    int effort = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status) status = wm_options_choice("--effort", o.effort, efforts, &effort);
    if (!status && o.budget < 0) status = wm_tool_usage("--budget %g is to be above 0", o.budget);
    if (!status && o.save && effort != WM_MEASURE && effort != WM_EXHAUSTIVE) {
        status = wm_tool_usage("--save goes with --effort measure or exhaustive");
    }
    if (status) return status;
    planning.effort = (wmEffort)effort;
    planning.budget_ms = o.budget;
    planning.left_free = (int32_t)o.left_free;
    planning.stream_priority = (int32_t)o.priority;
    status = wm_session_open(&context, o.common.place);
    if (!status) status = wm_session_check(wmPlanCreate(&plan, context, o.common.words[0], &planning));
    if (!status && o.save) status = wm_session_check(wmWisdomSave(context, NULL, NULL));
    if (!status) status = wm_session_print(write_plan, plan, o.common.json ? WM_JSON : WM_TEXT, stdout);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return status;
}
