/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath demo: products, transforms and random numbers on the best place there is, checked, timed and compared. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"

#include "commands.h"
#include "demo.h"
#include "fail.h"
#include "options.h"
#include "plot.h"
#include "progress.h"
#include "session.h"
#include "table.h"

typedef struct options {
    wm_common common;
    const char *plot, *effort;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"--plot",   WM_FLAG_TEXT,   offsetof(options, plot),   "FILE", "also draw the speeds, as SVG"},
    {"--effort", WM_FLAG_TEXT,   offsetof(options, effort), "HOW",  "estimate measure exhaustive; default estimate"},
    {NULL,       WM_FLAG_SWITCH, 0,                         NULL,   NULL},
};

/* Sizes that a laptop's two cores do in a moment, and such that keep a large GPU busy. */
static const struct {
    const char *title, *cpu, *gpu;
} cases[] = {
    {"product f32",              "matmul f32 1024x1024x1024",                    "matmul f32 4096x4096x4096"},
    {"product f64",              "matmul f64 1024x1024x1024",                    "matmul f64 2048x2048x2048"},
    {"product c64",              "matmul c64 512x512x512",                       "matmul c64 2048x2048x2048"},
    {"product bf16, bias, gelu", "matmul bf16 512x512x512 bias=n act=gelu_tanh", "matmul bf16 4096x4096x4096 bias=n act=gelu_tanh"},
    {"product f32, odd, A^T",    "matmul f32 769x513x1031 ta=t",                 "matmul f32 4099x2053x3079 ta=t"},
    {"transform f32 2^20",       "fft c2c f32 1048576",                          "fft c2c f32 4194304"},
    {"transform f64 1024 x 512", "fft c2c f64 1024x512",                         "fft c2c f64 2048x1024"},
    {"transform f32 real, 3-D",  "fft r2c f32 128x96x120",                       "fft r2c f32 128x128x240"},
    {"transform f32, prime",     "fft c2c f32 100003",                           "fft c2c f32 1000003"},
    {"random uniform f32",       "random uniform f32 n=2^24",                    "random uniform f32 n=2^26"},
    {"random normal f32",        "random normal f32 n=2^24",                     "random normal f32 n=2^26"},
};
// clang-format on
enum { CASES = sizeof cases / sizeof *cases };

static const wm_syntax syntax = {
    "demo [flags]",
    "Multiplies, transforms and draws on the best place there is, and checks every result against an oracle. `vs CPU`\n"
    "is the speed-up over OpenBLAS, FFTW and a plain Philox on one thread here; the error is a fraction of its bound, "
    "so\n"
    "up to 1 is right. The exit status is 1 if a result is wrong.\n",
    0,
    0,
    flags,
};

/* A case's line, for printing. */
typedef struct line {
    char problem[WM_PROBLEM_TEXT], solver[64];
    wm_demo_result result;
    double rate; /* GFLOP/s, or GB/s for random numbers */
    const char *unit;
} line;

static int run_case(wmContext *context, wmContext *cpu, const char *problem, wmEffort effort, line *to) {
    wm_demo_case c;
    void *reference = NULL;
    int status = wm_demo_make(&c, context, problem, effort);
    if (!status) {
        int out = wm_demo_output(&c);
        reference = aligned_alloc(256, (c.bytes[out] / 256 + 1) * 256);
        if (!reference) status = wm_tool_fail("out of memory: %zu bytes are needed", c.bytes[out]);
    }
    if (!status) status = wm_session_check(wmPlanTime(c.plan, &c.args, NULL, 200, &to->result.seconds));
    if (!status) status = wm_demo_execute(&c);
    if (!status) status = wm_demo_reference(&c, cpu, reference, &to->result);
    if (!status) status = wm_demo_check(&c, reference, &to->result);
    if (!status) {
        wm_cost cost = wm_problem_cost(&c.problem);
        to->unit = cost.flops > 0 ? "GFLOP/s" : "GB/s";
        to->rate = 1e-9 * (cost.flops > 0 ? cost.flops : cost.bytes) / to->result.seconds;
        (void)snprintf(to->problem, sizeof to->problem, "%s", wmPlanProblem(c.plan));
        (void)snprintf(to->solver, sizeof to->solver, "%s", wmPlanSolver(c.plan));
    }
    free(reference);
    wm_demo_drop(&c);
    return status;
}

static double speed_up(const line *l) {
    return l->result.reference_seconds > 0 ? l->result.reference_seconds / l->result.seconds : 0;
}

static int print_table(const line *lines, const char *place) {
    wm_table table;
    int status =
        wm_table_begin(&table, "llllrrlrrl", "operation\tproblem\tplace\tsolver\ttime\trate\t\tvs CPU\terror\tverdict");
    for (int i = 0; !status && i < CASES; i++) {
        const line *l = &lines[i];
        char ratio[32] = "";
        int operation = (int)strcspn(l->problem, " ");
        int digits = l->rate < 10 ? 2 : l->rate < 1000 ? 1 : 0;
        if (speed_up(l) > 0) (void)snprintf(ratio, sizeof ratio, "%.2f", speed_up(l));
        status = wm_table_add(&table, "%.*s\t%s\t%s\t%s\t%.3f ms\t%.*f\t%s\t%s\t%.3g\t%s", operation, l->problem,
                              l->problem + operation + 1, place, l->solver, 1e3 * l->result.seconds, digits, l->rate,
                              l->unit, ratio, l->result.error, l->result.right ? "right" : "WRONG");
    }
    if (!status) wm_table_print(&table, stdout);
    wm_table_free(&table);
    return status;
}

static int print_json(const line *lines, const char *place, const wmDeviceInfo *device) {
    wm_text text = {.data = NULL};
    wm_json json = {.text = &text};
    wm_json_open(&json, NULL, '{');
    wm_json_string(&json, "place", place);
    wm_json_string(&json, "device", device->name);
    wm_json_open(&json, "cases", '[');
    for (int i = 0; i < CASES; i++) {
        const line *l = &lines[i];
        wm_json_open(&json, NULL, '{');
        wm_json_string(&json, "problem", l->problem);
        wm_json_string(&json, "solver", l->solver);
        wm_json_number(&json, "seconds", l->result.seconds);
        wm_json_number(&json, "rate", l->rate);
        wm_json_string(&json, "unit", l->unit);
        wm_json_string(&json, "reference", l->result.reference ? l->result.reference : "none");
        wm_json_number(&json, "reference_seconds", l->result.reference_seconds);
        wm_json_number(&json, "error", l->result.error);
        wm_json_bool(&json, "right", l->result.right);
        wm_json_string(&json, "why", l->result.why);
        wm_json_close(&json, '}');
    }
    wm_json_close(&json, ']');
    wm_json_close(&json, '}');
    return wm_session_put(&text);
}

static int draw(const char *path, const line *lines, const char *place, const wmDeviceInfo *device) {
    wm_bar bars[CASES];
    char subtitle[160];
    for (int i = 0; i < CASES; i++) {
        bars[i] =
            (wm_bar){cases[i].title, lines[i].unit, lines[i].rate, lines[i].rate / fmax(speed_up(&lines[i]), 1e-300)};
        if (!(speed_up(&lines[i]) > 0)) bars[i].reference = 0;
    }
    (void)snprintf(subtitle, sizeof subtitle, "%s: %s. Longer is better.", place, device->name);
    return wm_plot_write(path, "warpmath demo: speed", subtitle, bars, CASES);
}

static int run_cases(wmContext *context, wmContext *cpu, wmEffort effort, line *lines) {
    int status = WM_EXIT_OK;
    wm_progress_begin(CASES);
    for (int i = 0; !status && i < CASES; i++) {
        const char *problem = wmContextPlace(context) == WM_PLACE_GPU ? cases[i].gpu : cases[i].cpu;
        wm_progress_step(i, problem);
        status = run_case(context, cpu, problem, effort, &lines[i]);
    }
    wm_progress_end();
    return status;
}

/* Prints everything; the first wrong result becomes the command's sentence. */
static int report(const options *o, wmContext *context, const line *lines) {
    const char *place = wm_session_place(context);
    wmDeviceInfo device = {.size = sizeof device};
    int wrong = 0;
    const line *first = NULL;
    int status = wm_session_check(wmContextDeviceInfo(context, &device));
    for (int i = 0; i < CASES; i++) {
        if (lines[i].result.right) continue;
        wrong++;
        if (!first) first = &lines[i];
    }
    if (!status && o->common.json) {
        status = print_json(lines, place, &device);
    } else if (!status) {
        bool gpu = strcmp(place, "gpu") == 0;
        printf("warpmath %d.%d.%d on the %s: %s, %d %s\n\n", WM_VERSION_MAJOR, WM_VERSION_MINOR, WM_VERSION_PATCH,
               gpu ? "GPU" : "CPU", device.name, device.multiprocessors, gpu ? "multiprocessors" : "threads");
        status = print_table(lines, place);
        printf("\n%d of %d results are right.\n", CASES - wrong, CASES);
    }
    if (!status && o->plot) status = draw(o->plot, lines, place, &device);
    if (!status && o->plot && !o->common.json) printf("The plot is %s.\n", o->plot);
    if (!status && wrong) status = wm_tool_fail("%s is wrong: %s", first->problem, first->result.why);
    return status;
}

int wm_command_demo(int argc, char **argv) {
    static const char *const efforts[] = {"estimate", "measure", "exhaustive", NULL}; /* wmEffort's values */
    options o = {.effort = "estimate"};
    wmContext *context = NULL;
    wmContext *cpu = NULL;
    line *lines = NULL;
    int effort = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status) status = wm_options_choice("--effort", o.effort, efforts, &effort);
    if (status) return status;
    lines = calloc(CASES, sizeof *lines);
    if (!lines) return wm_tool_fail("out of memory");
    status = wm_session_open(&context, o.common.place);
    if (!status) status = wm_session_open(&cpu, "cpu");
    if (!status) status = run_cases(context, cpu, (wmEffort)effort, lines);
    if (!status) status = report(&o, context, lines);
    free(lines);
    wmContextDestroy(cpu);
    wmContextDestroy(context);
    return status;
}
