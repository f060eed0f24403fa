/* SPDX-License-Identifier: Apache-2.0 */
/* Re-timing winners after a change of driver or library. */
#include "drift.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/context_internal.h"
#include "lib/measure.h"

#include "fail.h"
#include "measured.h"
#include "progress.h"
#include "table.h"

/* A move is more than this, and more than three times the noise. */
static const double least_move = 0.05;

typedef struct old_winner {
    wm_wise wise;
    const char *machine; /* under which it won */
    double seconds;      /* now; 0: it does not run any more */
    const char *verdict; /* "same", "slower", "faster", "gone" */
} old_winner;

/* "gpu=NVIDIA_H200 sm=90 …": two machines are the same device if the first two words agree. */
static bool is_same_device(const char *a, const char *b) {
    size_t first = strcspn(a, " ");
    size_t length = a[first] ? first + 1 + strcspn(a + first + 1, " ") : first;
    return strncmp(a, b, length) == 0 && (b[length] == ' ' || !b[length]);
}

/* An entry of the same whole device under another driver or version, whose problem was not tuned since. */
static bool is_old(wmContext *context, const wm_wise *entry, const wm_machine *machine, wm_problem *problem) {
    if (!machine || strstr(machine->text, " free=") ||
        wm_problem_parse(problem, entry->problem, wmContextPlace(context)) != WM_OK)
        return false;
    const wm_machine *own = wm_wisdom_machine(context, problem->op);
    if (entry->machine == own->hash || !is_same_device(own->text, machine->text)) return false;
    return wm_set_find(&context->wisdom.set, entry->problem, own->hash) == NULL;
}

static int time_again(wmContext *context, const wm_problem *problem, double budget_ms, old_winner *w) {
    wm_bench_options options = {.budget_ms = budget_ms, .solvers = w->wise.solver, .early_stop = 1};
    wm_bench_result got = {.winner = -1, .estimate = -1};
    w->verdict = "gone";
    if (wm_bench(context, problem, &options, &got) != WM_OK) return WM_EXIT_OK;
    for (int i = 0; i < got.count; i++) {
        const wm_candidate *row = &got.rows[i];
        if (row->solver->version != w->wise.version || !wm_knobs_match(row->solver, &row->offer, w->wise.knobs))
            continue;
        if (!wm_measured_is_right(row)) continue;
        double move = row->seconds / w->wise.seconds - 1, noise = 3 * row->spread;
        double least = noise > least_move ? noise : least_move;
        w->seconds = row->seconds;
        w->verdict = move > least ? "slower" : move < -least ? "faster" : "same";
    }
    free(got.rows);
    return WM_EXIT_OK;
}

static int tune_again(wmContext *context, const char *problem, double budget_ms) {
    wmPlan *plan = NULL;
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = WM_MEASURE;
    options.budget_ms = budget_ms;
    int status = wm_session_check(wmPlanCreate(&plan, context, problem, &options));
    wmPlanDestroy(plan);
    return status;
}

static int add_row(wm_table *table, wm_json *json, const old_winner *w) {
    if (json->text) {
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "problem", w->wise.problem);
        wm_json_string(json, "solver", w->wise.solver);
        wm_json_string(json, "machine", w->machine);
        wm_json_number(json, "seconds_then", w->wise.seconds);
        wm_json_number(json, "seconds", w->seconds);
        wm_json_string(json, "verdict", w->verdict);
        wm_json_close(json, '}');
        return WM_EXIT_OK;
    }
    if (strcmp(w->verdict, "same") == 0) return WM_EXIT_OK;
    return wm_table_add(table, "%s\t%s\t%.2f us\t%.2f us\t%s", w->wise.problem, w->wise.solver, 1e6 * w->wise.seconds,
                        1e6 * w->seconds, w->verdict);
}

int wm_drift(wmContext *context, double budget_ms, bool json, bool tune) {
    wm_table table;
    wm_text text = {.data = NULL};
    wm_json out = {.text = json ? &text : NULL};
    int old = 0, moved = 0, count = context->wisdom.set.count;
    int status = wm_table_begin(&table, "llrrl", "problem\tsolver\tthen\tnow\tverdict");
    wm_wise *entries = malloc((size_t)(count + 1) * sizeof *entries); /* tuning anew changes the set */
    if (!status && !entries) status = wm_tool_fail("out of memory");
    for (int i = 0; entries && !status && i < count; i++) entries[i] = *context->wisdom.set.entry[i];
    if (json) wm_json_open(&out, NULL, '[');
    wm_progress_begin(count);
    for (int i = 0; entries && !status && i < count; i++) {
        wm_problem problem;
        const wm_machine *machine = wm_set_machine(&context->wisdom.set, entries[i].machine);
        if (!is_old(context, &entries[i], machine, &problem)) continue;
        old_winner w = {.wise = entries[i], .machine = machine->text};
        wm_progress_step(i, entries[i].problem);
        status = time_again(context, &problem, budget_ms, &w);
        bool moves = strcmp(w.verdict, "same") != 0;
        old++;
        moved += moves;
        if (!status) status = add_row(&table, &out, &w);
        if (!status && tune && moves) status = tune_again(context, entries[i].problem, budget_ms);
    }
    wm_progress_end();
    if (json) wm_json_close(&out, ']');
    if (!status && json) status = wm_session_put(&text);
    if (!status && !json && moved) wm_table_print(&table, stdout);
    if (!status && !json) printf("%d of %d winners of another driver or version moved\n", moved, old);
    free(entries);
    wm_table_free(&table);
    wm_text_free(&text);
    return status;
}
