/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpmath bench: every solver of a problem, checked against the judge and timed. It looks behind the public API (at
 * lib/measure.h), since a plan shows its winner only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/chip.h"
#include "lib/json.h"
#include "lib/measure.h"
#include "lib/problem.h"

#include "ceilings.h"
#include "commands.h"
#include "fail.h"
#include "list.h"
#include "measured.h"
#include "options.h"
#include "progress.h"
#include "resume.h"
#include "session.h"
#include "table.h"

typedef struct options {
    wm_common common;
    double budget;
    const char *solvers, *from, *into;
    bool csv, early_stop, ceilings, beside_cpu;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--budget",     WM_FLAG_NUMBER, offsetof(options, budget),     "MS",   "milliseconds a problem at most; default 1000"},
    {"--solvers",    WM_FLAG_TEXT,   offsetof(options, solvers),    "A,B",  "these solvers only; default: all"},
    {"--from",       WM_FLAG_TEXT,   offsetof(options, from),       "FILE", "problems, one a line, as in tune --from"},
    {"--early-stop", WM_FLAG_SWITCH, offsetof(options, early_stop), "",     "drop losers early, as planning does"},
    {"--ceilings",   WM_FLAG_SWITCH, offsetof(options, ceilings),   "",     "measure what the machine can do; fractions refer to it"},
    {"--beside-cpu", WM_FLAG_SWITCH, offsetof(options, beside_cpu), "",     "then the CPU's solvers too, OpenBLAS and FFTW among them"},
    {"--csv",        WM_FLAG_SWITCH, offsetof(options, csv),        "",     "print comma-separated values, for records"},
    {"--into",       WM_FLAG_TEXT,   offsetof(options, into),       "FILE", "append those to FILE; what it holds is not run again"},
    {NULL,           WM_FLAG_SWITCH, 0,                             NULL,   NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "bench [\"<problem>\"…] [--from FILE] [flags]",
    "Checks and times every variant of every solver for each problem, \"fft c2c f32 4096 batch=100\" say; the grammar\n"
    "is docs/problems.md. The error is the largest difference from the judge, as a fraction of the bound: up to 1 is\n"
    "right. `vs best` compares with the fastest of the others' libraries, `ceiling` with what the machine leaves: by "
    "its\n"
    "datasheet, or measured with --ceilings, which alone prints what it measured. The exit status is 1 if a result is "
    "wrong.\n"
    "With --into a long list may be stopped and begun again: rows are added problem by problem.\n",
    0,
    -1,
    flags,
};

/* One problem's rows. */
typedef struct bench {
    wm_problem problem;
    char text[WM_PROBLEM_TEXT];
    wm_bench_result got;
    double least;              /* seconds that the machine's ceilings leave it */
    const wm_candidate *rival; /* the fastest vendor's or reference's, NULL if none was timed */
    int here;                  /* rows of the place; the rest are the CPU's beside it */
} bench;

/* Where it runs. */
typedef struct places {
    wmContext *context, *beside; /* beside: the CPU, with --beside-cpu; else NULL */
    wm_ceilings ceilings;        /* of the first */
} places;

/* The CPU's solvers on operands of the host. A problem that none of them does is no failure: the rows are missing. */
static int run_beside(const wm_bench_options *options, wmContext *beside, bench *b) {
    wm_bench_result more;
    wm_problem problem;
    if (wm_problem_parse(&problem, b->text, WM_PLACE_CPU) != WM_OK) return WM_EXIT_OK;
    wmStatus status = wm_bench(beside, &problem, options, &more);
    if (status == WM_ERR_UNSUPPORTED) return WM_EXIT_OK;
    if (status != WM_OK) return wm_session_check(status);
    wm_candidate *all = realloc(b->got.rows, (size_t)(b->got.count + more.count) * sizeof *all);
    if (all) {
        memcpy(all + b->got.count, more.rows, (size_t)more.count * sizeof *all);
        b->got.rows = all;
        b->got.count += more.count;
    }
    free(more.rows);
    return all ? WM_EXIT_OK : wm_tool_fail("out of memory");
}

static int run(const options *o, const places *at, const char *text, bench *b) {
    wm_bench_options options = {.budget_ms = o->budget, .solvers = o->solvers, .early_stop = o->early_stop};
    memset(b, 0, sizeof *b);
    int status = wm_session_check(wm_problem_parse(&b->problem, text, wmContextPlace(at->context)));
    if (status) return status;
    (void)wm_problem_print(&b->problem, b->text, sizeof b->text);
    b->least = wm_ceilings_least(&at->ceilings, at->context, &b->problem);
    status = wm_session_check(wm_bench(at->context, &b->problem, &options, &b->got));
    b->here = b->got.count;
    if (!status && at->beside) status = run_beside(&options, at->beside, b);
    if (status) return status;
    for (int i = 0; i < b->here; i++) {
        const wm_candidate *row = &b->got.rows[i];
        bool timed = wm_measured_is_right(row) && row->solver->origin != WM_OURS;
        if (timed && (!b->rival || row->seconds < b->rival->seconds)) b->rival = row;
    }
    return WM_EXIT_OK;
}

static double ratio_of(const bench *b, const wm_candidate *row) {
    return b->rival && wm_measured_is_right(row) ? b->rival->seconds / row->seconds : 0;
}

/* Ceilings are the place's, not those of a CPU beside it. */
static double fraction_of(const bench *b, const wm_candidate *row) {
    return wm_measured_is_right(row) && row - b->got.rows < b->here ? b->least / row->seconds : 0;
}

static const char *place_of(const wm_candidate *row) {
    return row->solver->place == WM_PLACE_GPU ? "gpu" : "cpu";
}

static int print_table(const bench *b) {
    static const char *const origins[] = {"ours", "vendor", "reference"};
    wm_table table;
    int status = wm_table_begin(&table, "lllrrrrrl", "solver\tof\tknobs\ttime\trate\tceiling\tvs best\terror\tverdict");
    for (int i = 0; !status && i < b->got.count; i++) {
        const wm_candidate *row = &b->got.rows[i];
        wm_measured m = wm_measured_of(&b->problem, row);
        char ratio[16] = "";
        char error[16] = "";
        char ceiling[16] = "";
        if (ratio_of(b, row) > 0) (void)snprintf(ratio, sizeof ratio, "%.2f", ratio_of(b, row));
        if (fraction_of(b, row) > 0) (void)snprintf(ceiling, sizeof ceiling, "%.2f", fraction_of(b, row));
        if (wm_measured_is_right(row)) (void)snprintf(error, sizeof error, "%.3f", row->error);
        status = wm_table_add(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s%s%s", row->solver->name,
                              origins[row->solver->origin], m.knobs, m.time, m.rate_text, ceiling, ratio, error,
                              wm_verdict_name(row->verdict), *row->why ? ": " : "", row->why);
    }
    if (!status) {
        printf("%s\n", b->text);
        wm_table_print(&table, stdout);
        const int *mhz = b->got.mhz;
        if (mhz[0] && mhz[1])
            printf("clock of the chip: %d MHz before, %d MHz after%s\n", mhz[0], mhz[1],
                   wm_chip_moved(mhz[0], mhz[1]) ? ": it moved" : "");
    }
    wm_table_free(&table);
    return status;
}

static const char csv_head[] = "problem,solver,knobs,seconds,best_other_seconds,vs_best,error,bound_absolute,bound_"
                               "relative,verdict,spread,samples,"
                               "rate,unit,estimate,choice,fraction,why,behind,waves,workspace,place\n";

/* Whether planning by measurement or by estimate would take the row. */
static const char *choice_of(const bench *b, int row) {
    bool measured = row == b->got.winner, estimated = row == b->got.estimate;
    return measured && estimated ? "both" : measured ? "measure" : estimated ? "estimate" : "";
}

static void add_csv(wm_text *out, const bench *b) {
    wm_bound bound = wm_problem_bound(&b->problem);
    for (int i = 0; i < b->got.count; i++) {
        const wm_candidate *row = &b->got.rows[i];
        wm_measured m = wm_measured_of(&b->problem, row);
        char why[sizeof row->why];
        (void)snprintf(why, sizeof why, "%s", row->why);
        for (char *at = why; *at; at++)
            if (*at == '"') *at = '\'';
        wm_text_add(
            out,
            "\"%s\",%s,\"%s\",%.6e,%.6e,%.3f,%.4f,%.3e,%.3e,%s,%.4f,%d,%.5g,%s,%.4e,%s,%.4f,\"%s\",%.4f,%.4f,%zu,%s\n",
            b->text, row->solver->name, m.knobs, row->seconds, b->rival ? b->rival->seconds : 0.0, ratio_of(b, row),
            row->error, bound.absolute, bound.relative, wm_verdict_name(row->verdict), row->spread, row->samples,
            m.rate, m.unit, row->offer.seconds, choice_of(b, i), fraction_of(b, row), why, row->behind,
            row->offer.waves, row->offer.workspace, place_of(row));
    }
}

/* One write a problem: a file that is stopped in between holds whole problems. */
static int put_csv(const options *o, const bench *b) {
    wm_text text = {.data = NULL};
    add_csv(&text, b);
    int status = text.failed ? wm_tool_fail("out of memory") : WM_EXIT_OK;
    if (!status && !o->into) (void)fputs(text.data, stdout);
    if (!status && o->into) status = wm_append_file(o->into, text.data, text.length);
    wm_text_free(&text);
    return status;
}

static void print_json(wm_json *json, const bench *b) {
    static const char *const origins[] = {"ours", "vendor", "reference"};
    wm_json_open(json, NULL, '{');
    wm_json_string(json, "problem", b->text);
    wm_json_open(json, "solvers", '[');
    for (int i = 0; i < b->got.count; i++) {
        const wm_candidate *row = &b->got.rows[i];
        wm_measured m = wm_measured_of(&b->problem, row);
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "solver", row->solver->name);
        wm_json_string(json, "place", place_of(row));
        wm_json_string(json, "origin", origins[row->solver->origin]);
        wm_json_string(json, "knobs", m.knobs);
        wm_json_number(json, "seconds", row->seconds);
        wm_json_number(json, "spread", row->spread);
        wm_json_integer(json, "samples", row->samples);
        wm_json_number(json, "rate", m.rate);
        wm_json_string(json, "unit", m.unit);
        wm_json_number(json, "fraction", fraction_of(b, row));
        wm_json_number(json, "vs_best", ratio_of(b, row));
        wm_json_number(json, "error", row->error);
        wm_json_number(json, "estimate", row->offer.seconds);
        if (row->learned) wm_json_number(json, "behind", row->behind);
        wm_json_string(json, "choice", choice_of(b, i));
        wm_json_string(json, "verdict", wm_verdict_name(row->verdict));
        wm_json_string(json, "why", row->why);
        wm_json_close(json, '}');
    }
    wm_json_close(json, ']');
    if (b->got.mhz[0]) wm_json_integer(json, "mhz_before", b->got.mhz[0]);
    if (b->got.mhz[1]) wm_json_integer(json, "mhz_after", b->got.mhz[1]);
    wm_json_close(json, '}');
}

/* Benches and prints one problem; counts wrong and failed rows. */
static int bench_one(const options *o, const places *at, const char *text, wm_json *json, int *bad) {
    bench b;
    int status = run(o, at, text, &b);
    for (int i = 0; !status && i < b.got.count; i++) {
        *bad += b.got.rows[i].verdict == WM_WRONG || b.got.rows[i].verdict == WM_FAILED;
    }
    if (!status && o->common.json) {
        print_json(json, &b);
    } else if (!status && o->csv) {
        status = put_csv(o, &b);
    } else if (!status) {
        status = print_table(&b);
    }
    free(b.got.rows);
    return status;
}

static int bench_all(const options *o, const places *at, const wm_list *list) {
    int bad = 0;
    wm_text text = {.data = NULL};
    wm_json json = {.text = &text};
    int status = WM_EXIT_OK;
    if (o->common.json) wm_json_open(&json, NULL, '[');
    if (o->csv && !o->into) (void)fputs(csv_head, stdout);
    wm_progress_begin(list->count);
    for (int i = 0; !status && i < list->count; i++) {
        wm_progress_step(i, list->entry[i].problem);
        status = bench_one(o, at, list->entry[i].problem, &json, &bad);
        (void)fflush(stdout);
    }
    wm_progress_end();
    if (o->common.json) wm_json_close(&json, ']');
    if (!status) status = wm_session_put(&text);
    wm_text_free(&text);
    if (!status && bad) status = wm_tool_fail("%d solvers failed or were wrong", bad);
    return status;
}

int wm_command_bench(int argc, char **argv) {
    options o = {.budget = 0};
    places at = {.context = NULL};
    wm_list list = {NULL, 0, 0};
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status && o.budget < 0) status = wm_tool_usage("--budget %g is to be above 0", o.budget);
    if (o.into) o.csv = true;
    if (!status && o.csv && o.common.json) status = wm_tool_usage("--csv and --json exclude each other");
    if (status) return status;
    status = wm_session_open(&at.context, o.common.place);
    if (!status && o.beside_cpu) status = wm_session_open(&at.beside, "cpu");
    bool listed = o.common.count || o.from;
    /* All strings are parsed before the first is run: a slip in the last must not cost the time of the others. */
    if (!status && (listed || !o.ceilings))
        status = wm_list_collect(&list, wmContextPlace(at.context), &o.common, o.from);
    if (!status && o.into) status = wm_resume(&list, o.into, csv_head);
    if (!status && o.ceilings) status = wm_ceilings_measure(at.context, &at.ceilings);
    if (!status && o.ceilings && !listed) status = wm_ceilings_print(&at.ceilings, o.common.json, o.csv);
    if (!status && listed) status = bench_all(&o, &at, &list);
    wm_list_free(&list);
    wmContextDestroy(at.beside);
    wmContextDestroy(at.context);
    return status;
}
