/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpmath bench: every solver of a problem, checked against the judge and timed. It looks behind the public API (at
 * lib/measure.h), since a plan shows its winner only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/measure.h"
#include "lib/problem.h"

#include "commands.h"
#include "fail.h"
#include "measured.h"
#include "options.h"
#include "progress.h"
#include "session.h"
#include "table.h"

typedef struct options {
    wm_common common;
    double budget;
    const char *solvers;
    bool csv;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--budget",  WM_FLAG_NUMBER, offsetof(options, budget),  "MS",  "milliseconds a problem at most; default 1000"},
    {"--solvers", WM_FLAG_TEXT,   offsetof(options, solvers), "A,B", "these solvers only; default: all"},
    {"--csv",     WM_FLAG_SWITCH, offsetof(options, csv),     "",    "print comma-separated values, for records"},
    {NULL,        WM_FLAG_SWITCH, 0,                          NULL,  NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "bench \"<problem>\"… [flags]",
    "Checks and times every variant of every solver for each problem, \"fft c2c f32 4096 batch=100\" say; the grammar\n"
    "is docs/problems.md. The error is the largest difference from the judge, as a fraction of the bound: up to 1 is\n"
    "right. `vs best` compares with the fastest of the others' libraries. The exit status is 1 if a result is wrong.\n",
    1,
    -1,
    flags,
};

/* One problem's rows. */
typedef struct bench {
    wm_problem problem;
    char text[WM_PROBLEM_TEXT];
    wm_candidate *rows;
    int count;
    const wm_candidate *rival; /* the fastest vendor's or reference's, NULL if none was timed */
} bench;

static int run(const options *o, wmContext *context, const char *text, bench *b) {
    wm_bench_options options = {.budget_ms = o->budget, .solvers = o->solvers};
    memset(b, 0, sizeof *b);
    int status = wm_session_check(wm_problem_parse(&b->problem, text, wmContextPlace(context)));
    if (status) return status;
    (void)wm_problem_print(&b->problem, b->text, sizeof b->text);
    status = wm_session_check(wm_bench(context, &b->problem, &options, &b->rows, &b->count));
    if (status) return status;
    for (int i = 0; i < b->count; i++) {
        const wm_candidate *row = &b->rows[i];
        bool timed = wm_measured_is_right(row) && row->solver->origin != WM_OURS;
        if (timed && (!b->rival || row->seconds < b->rival->seconds)) b->rival = row;
    }
    return WM_EXIT_OK;
}

static double ratio_of(const bench *b, const wm_candidate *row) {
    return b->rival && wm_measured_is_right(row) ? b->rival->seconds / row->seconds : 0;
}

static int print_table(const bench *b) {
    static const char *const origins[] = {"ours", "vendor", "reference"};
    wm_table table;
    int status = wm_table_begin(&table, "lllrrrrl", "solver\tof\tknobs\ttime\trate\tvs best\terror\tverdict");
    for (int i = 0; !status && i < b->count; i++) {
        const wm_candidate *row = &b->rows[i];
        wm_measured m = wm_measured_of(&b->problem, row);
        char ratio[16] = "";
        char error[16] = "";
        if (ratio_of(b, row) > 0) (void)snprintf(ratio, sizeof ratio, "%.2f", ratio_of(b, row));
        if (wm_measured_is_right(row)) (void)snprintf(error, sizeof error, "%.3f", row->error);
        status = wm_table_add(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s%s%s", row->solver->name,
                              origins[row->solver->origin], m.knobs, m.time, m.rate_text, ratio, error,
                              wm_verdict_name(row->verdict), *row->why ? ": " : "", row->why);
    }
    if (!status) {
        printf("%s\n", b->text);
        wm_table_print(&table, stdout);
    }
    wm_table_free(&table);
    return status;
}

static void print_csv(const bench *b) {
    for (int i = 0; i < b->count; i++) {
        const wm_candidate *row = &b->rows[i];
        wm_measured m = wm_measured_of(&b->problem, row);
        wm_bound bound = wm_problem_bound(&b->problem);
        printf("\"%s\",%s,\"%s\",%.6e,%.6e,%.3f,%.4f,%.3e,%.3e,%s,%.4f,%d,%.5g,%s\n", b->text, row->solver->name,
               m.knobs, row->seconds, b->rival ? b->rival->seconds : 0.0, ratio_of(b, row), row->error, bound.absolute,
               bound.relative, wm_verdict_name(row->verdict), row->spread, row->samples, m.rate, m.unit);
    }
}

static void print_json(wm_json *json, const bench *b) {
    static const char *const origins[] = {"ours", "vendor", "reference"};
    wm_json_open(json, NULL, '{');
    wm_json_string(json, "problem", b->text);
    wm_json_open(json, "solvers", '[');
    for (int i = 0; i < b->count; i++) {
        const wm_candidate *row = &b->rows[i];
        wm_measured m = wm_measured_of(&b->problem, row);
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "solver", row->solver->name);
        wm_json_string(json, "origin", origins[row->solver->origin]);
        wm_json_string(json, "knobs", m.knobs);
        wm_json_number(json, "seconds", row->seconds);
        wm_json_number(json, "spread", row->spread);
        wm_json_integer(json, "samples", row->samples);
        wm_json_number(json, "rate", m.rate);
        wm_json_string(json, "unit", m.unit);
        wm_json_number(json, "vs_best", ratio_of(b, row));
        wm_json_number(json, "error", row->error);
        wm_json_string(json, "verdict", wm_verdict_name(row->verdict));
        wm_json_string(json, "why", row->why);
        wm_json_close(json, '}');
    }
    wm_json_close(json, ']');
    wm_json_close(json, '}');
}

/* Benches and prints one problem; counts wrong and failed rows. */
static int bench_one(const options *o, wmContext *context, const char *text, wm_json *json, int *bad) {
    bench b;
    int status = run(o, context, text, &b);
    for (int i = 0; !status && i < b.count; i++) {
        *bad += b.rows[i].verdict == WM_WRONG || b.rows[i].verdict == WM_FAILED;
    }
    if (!status && o->common.json) {
        print_json(json, &b);
    } else if (!status && o->csv) {
        print_csv(&b);
    } else if (!status) {
        status = print_table(&b);
    }
    free(b.rows);
    return status;
}

/* All strings are parsed before the first is run: a slip in the last must not cost the time of the others. */
static int check_problems(const options *o, wmContext *context) {
    int status = WM_EXIT_OK;
    for (int i = 0; !status && i < o->common.count; i++) {
        wm_problem problem;
        status = wm_session_check(wm_problem_parse(&problem, o->common.words[i], wmContextPlace(context)));
    }
    return status;
}

static int bench_all(const options *o, wmContext *context) {
    int bad = 0;
    wm_text text = {.data = NULL};
    wm_json json = {.text = &text};
    int status = check_problems(o, context);
    if (status) return status;
    if (o->common.json) wm_json_open(&json, NULL, '[');
    if (o->csv)
        printf("problem,solver,knobs,seconds,best_other_seconds,vs_best,error,bound_absolute,bound_relative,verdict,"
               "spread,samples,rate,unit\n");
    for (int i = 0; !status && i < o->common.count; i++) {
        status = bench_one(o, context, o->common.words[i], &json, &bad);
        (void)fflush(stdout);
    }
    if (o->common.json) wm_json_close(&json, ']');
    if (!status) status = wm_session_put(&text);
    wm_text_free(&text);
    if (!status && bad) status = wm_tool_fail("%d solvers failed or were wrong", bad);
    return status;
}

int wm_command_bench(int argc, char **argv) {
    options o = {.budget = 0};
    wmContext *context = NULL;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status && o.budget < 0) status = wm_tool_usage("--budget %g is to be above 0", o.budget);
    if (!status && o.csv && o.common.json) status = wm_tool_usage("--csv and --json exclude each other");
    if (status) return status;
    status = wm_session_open(&context, o.common.place);
    if (!status) status = bench_all(&o, context);
    wmContextDestroy(context);
    return status;
}
