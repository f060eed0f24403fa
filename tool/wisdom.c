/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath wisdom: shows, merges and forgets what tuning found. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "commands.h"
#include "drift.h"
#include "fail.h"
#include "options.h"
#include "session.h"

typedef struct options {
    wm_common common;
    double budget;
    bool tune;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--budget", WM_FLAG_NUMBER, offsetof(options, budget), "MS", "drift: milliseconds a problem at most; default 200"},
    {"--tune",   WM_FLAG_SWITCH, offsetof(options, tune),   "",   "drift: measure anew what moved, and keep it"},
    {NULL,       WM_FLAG_SWITCH, 0,                         NULL, NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "wisdom show | merge FILE… | forget PATTERN | drift [flags]",
    "show prints your wisdom file; merge adds the entries of other files to it; forget removes the problems that "
    "match\n"
    "a pattern with * and ?; drift times again what won here under another driver or library, and lists what moved.\n"
    "The file is WARPMATH_WISDOM, else your own in the cache folder (see warpmath info).\n",
    1,
    -1,
    flags,
};

static wmStatus write_wisdom(void *context, wmTextFormat format, char *buffer, size_t capacity, size_t *needed) {
    return wmWisdomPrint(context, format, buffer, capacity, needed);
}

static int report(const wm_common *o, const char *action, const wmWisdomCount *count) {
    if (o->json) {
        wm_text text = {.data = NULL};
        wm_json json = {.text = &text};
        wm_json_open(&json, NULL, '{');
        wm_json_string(&json, "action", action);
        wm_json_integer(&json, "used", count->used);
        wm_json_integer(&json, "other", count->other);
        wm_json_integer(&json, "skipped", count->skipped);
        wm_json_close(&json, '}');
        return wm_session_put(&text);
    }
    printf("%s: %" PRId64 " entries, %" PRId64 " of other devices or versions, %" PRId64 " damaged lines\n", action,
           count->used, count->other, count->skipped);
    return WM_EXIT_OK;
}

static int merge(const wm_common *o, wmContext *context) {
    wmWisdomCount sum = {0, 0, 0};
    for (int i = 1; i < o->count; i++) {
        wmWisdomCount count = {0, 0, 0};
        int status = wm_session_check(wmWisdomLoad(context, o->words[i], &count));
        if (status) return status;
        sum.used += count.used;
        sum.other += count.other;
        sum.skipped += count.skipped;
    }
    int status = wm_session_check(wmWisdomSave(context, NULL, NULL));
    if (!status) status = report(o, "merged", &sum);
    return status;
}

static int forget(const wm_common *o, wmContext *context) {
    wmWisdomCount count = {0, 0, 0};
    int status = wm_session_check(wmWisdomForget(context, o->words[1], &count));
    if (!status) status = wm_session_check(wmWisdomSave(context, NULL, NULL));
    if (!status) status = report(o, "forgotten", &count);
    return status;
}

int wm_command_wisdom(int argc, char **argv) {
    static const char *const actions[] = {"show", "merge", "forget", "drift", NULL};
    options all = {.budget = 200};
    wm_common o;
    wmContext *context = NULL;
    int action = 0;
    int status = wm_options_parse(&syntax, argc, argv, &all);
    o = all.common;
    if (!status) status = wm_options_choice("wisdom", o.words[0], actions, &action);
    if (!status && action == 0 && o.count != 1) status = wm_tool_usage("wisdom show takes no more words");
    if (!status && action == 3 && o.count != 1) status = wm_tool_usage("wisdom drift takes no more words");
    if (!status && all.budget <= 0) status = wm_tool_usage("--budget %g is to be above 0", all.budget);
    if (!status && action == 1 && o.count < 2) status = wm_tool_usage("wisdom merge wants a file");
    if (!status && action == 2 && o.count != 2) status = wm_tool_usage("wisdom forget wants one pattern ('*' is all)");
    if (status) return status;
    status = wm_session_open(&context, o.place);
    if (!status && action == 0) status = wm_session_print(write_wisdom, context, o.json ? WM_JSON : WM_TEXT, stdout);
    if (!status && action == 1) status = merge(&o, context);
    if (!status && action == 2) status = forget(&o, context);
    if (!status && action == 3) status = wm_drift(context, all.budget, o.json, all.tune);
    if (!status && action == 3 && all.tune) status = wm_session_check(wmWisdomSave(context, NULL, NULL));
    wmContextDestroy(context);
    return status;
}
