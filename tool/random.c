/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath random: draws into a .npy file, slice by slice, so that files larger than memory are no problem. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fail.h"
#include "npy.h"
#include "options.h"
#include "progress.h"
#include "session.h"

typedef struct options {
    wm_common common;
    const char *out, *shape, *dtype;
    uint64_t seed, substream, offset;
    double mean, std, low, high;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"-o",          WM_FLAG_TEXT,     offsetof(options, out),       "x.npy", "the file to write (required)"},
    {"--shape",     WM_FLAG_TEXT,     offsetof(options, shape),     "N,M,…", "its shape (required)"},
    {"--dtype",     WM_FLAG_TEXT,     offsetof(options, dtype),     "TYPE",  "bits: u4 u8; else f4 f8. Default: u4, f4"},
    {"--seed",      WM_FLAG_UNSIGNED, offsetof(options, seed),      "N",     "64-bit seed; default 0"},
    {"--substream", WM_FLAG_UNSIGNED, offsetof(options, substream), "N",     "32-bit number of an independent sequence"},
    {"--offset",    WM_FLAG_UNSIGNED, offsetof(options, offset),    "N",     "index of the first element in the key's sequence"},
    {"--low",       WM_FLAG_NUMBER,   offsetof(options, low),       "X",     "uniform: least value; default 0"},
    {"--high",      WM_FLAG_NUMBER,   offsetof(options, high),      "X",     "uniform: bound that is never reached; default 1"},
    {"--mean",      WM_FLAG_NUMBER,   offsetof(options, mean),      "X",     "normal: default 0"},
    {"--std",       WM_FLAG_NUMBER,   offsetof(options, std),       "X",     "normal: standard deviation, above 0; default 1"},
    {NULL,          WM_FLAG_SWITCH,   0,                            NULL,    NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "random bits|uniform|normal --shape N,M -o x.npy [flags]",
    "Writes random numbers that are a pure function of seed, substream and index: the same on every machine, and any\n"
    "slice (by --offset) equals the whole's slice. Philox4x32-10; docs/random.md is the specification.\n",
    1,
    1,
    flags,
};

/* Elements drawn at once: 128 MiB of the widest type. */
enum { SLICE = 1 << 24 };

/* A parameter of a distribution that the command does not draw is a mistake worth an answer. */
static int check_parameters(const options *o, wmDistribution distribution) {
    const struct {
        const char *flag;
        double value;
        wmDistribution of;
    } parameters[] = {
        {"--low",  o->low,  WM_RANDOM_UNIFORM},
        {"--high", o->high, WM_RANDOM_UNIFORM},
        {"--mean", o->mean, WM_RANDOM_NORMAL },
        {"--std",  o->std,  WM_RANDOM_NORMAL },
    };
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        if (!isnan(parameters[i].value) && parameters[i].of != distribution) {
            return wm_tool_usage("%s has no meaning for %s", parameters[i].flag, o->common.words[0]);
        }
    }
    double low = isnan(o->low) ? 0 : o->low;
    double high = isnan(o->high) ? 1 : o->high;
    if (!(low < high)) return wm_tool_usage("--low %g is to be below --high %g", low, high);
    if (!isnan(o->std) && !(o->std > 0)) return wm_tool_usage("--std %g is to be above 0", o->std);
    if (o->substream > UINT32_MAX) return wm_tool_usage("--substream %" PRIu64 " passes 2^32 - 1", o->substream);
    return WM_EXIT_OK;
}

static int check_dtype(const options *o, wmDistribution distribution, const char **dtype) {
    static const char *const bits[] = {"u4", "u8", NULL};
    static const char *const floats[] = {"f4", "f8", NULL};
    const char *const *choices = distribution == WM_RANDOM_BITS ? bits : floats;
    int index = 0;
    int status = o->dtype ? wm_options_choice("--dtype", o->dtype, choices, &index) : WM_EXIT_OK;
    *dtype = choices[index];
    return status;
}

static wmRandomArgs arguments(const options *o) {
    wmRandomKey key = {o->seed, (unsigned)o->substream};
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, key);
    args.low = isnan(o->low) ? 0 : o->low;
    args.high = isnan(o->high) ? 1 : o->high;
    args.mean = isnan(o->mean) ? 0 : o->mean;
    args.std = isnan(o->std) ? 1 : o->std;
    return args;
}

/* Draws the whole array through one buffer; *seconds is the drawing alone. */
static int draw(const options *o, wmContext *context, const wmPlan *plan, const wm_npy *array, wm_output *out,
                double *seconds) {
    int64_t most = array->count < SLICE ? array->count : SLICE;
    size_t bytes = (size_t)most * (size_t)array->item;
    void *there = NULL;
    void *host = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!host) return wm_tool_fail("out of memory: %zu bytes are needed", bytes);
    wmRandomArgs args = arguments(o);
    int status = wm_session_lend(context, host, bytes, 0, &there);
    args.out = there;
    wm_progress_begin((array->count + SLICE - 1) / SLICE);
    for (int64_t done = 0; !status && done < array->count; done += args.count) {
        wm_progress_step(done / SLICE, "slices of 2^24 numbers");
        args.count = array->count - done < most ? array->count - done : most;
        args.offset = o->offset + (uint64_t)done;
        double began = wm_session_seconds();
        status = wm_session_check(wmRandomExecute(plan, &args, NULL));
        if (!status) status = wm_session_check(wmSynchronize(context, NULL));
        *seconds += wm_session_seconds() - began;
        if (!status) status = wm_session_fetch(context, host, (size_t)args.count * (size_t)array->item, there);
        if (!status) status = wm_output_write(out, host, (size_t)args.count * (size_t)array->item);
    }
    wm_progress_end();
    wm_session_return(context, host, there);
    free(host);
    return status;
}

static int report(const options *o, wmContext *context, const wmPlan *plan, const wm_npy *array, double seconds) {
    if (o->common.json) {
        wm_text text = {.data = NULL};
        wm_json json = {.text = &text};
        wm_json_open(&json, NULL, '{');
        wm_json_string(&json, "file", o->out);
        wm_json_integer(&json, "count", array->count);
        wm_session_describe(&json, context, plan, seconds);
        wm_json_close(&json, '}');
        return wm_session_put(&text);
    }
    printf("%s: %" PRId64 " numbers; %s by %s in %.3f ms\n", o->out, array->count, wmPlanProblem(plan),
           wmPlanSolver(plan), 1e3 * seconds);
    return WM_EXIT_OK;
}

static int write_numbers(const options *o, wmDistribution distribution, const wm_npy *array) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    wm_output out = {.fd = -1};
    double seconds = 0;
    wmRandomDesc desc = wmRandomDescDefault(distribution, wm_npy_type(array));
    desc.count_hint = array->count < SLICE ? array->count : SLICE;
    int status = wm_session_open(&context, o->common.place);
    if (!status) status = wm_session_check(wmRandomPlanCreate(&plan, context, &desc, NULL));
    if (!status) status = wm_output_open(&out, o->out);
    if (!status) status = wm_npy_write_header(&out, array);
    if (!status) status = draw(o, context, plan, array, &out, &seconds);
    if (!status) status = wm_output_commit(&out);
    if (!status) status = report(o, context, plan, array, seconds);
    wm_output_discard(&out);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return status;
}

int wm_command_random(int argc, char **argv) {
    static const char *const names[] = {"bits", "uniform", "normal", NULL}; /* wmDistribution's values */
    options o = {.mean = NAN, .std = NAN, .low = NAN, .high = NAN};
    wm_npy array;
    const char *dtype = NULL;
    int64_t shape[WM_NPY_RANK];
    int rank = 0;
    int distribution = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status) status = wm_options_choice("random", o.common.words[0], names, &distribution);
    if (!status && !o.out) status = wm_tool_usage("random wants -o x.npy");
    if (!status && !o.shape) status = wm_tool_usage("random wants --shape N,M");
    if (!status) status = wm_options_list("--shape", o.shape, false, shape, WM_NPY_RANK, &rank);
    if (!status) status = check_parameters(&o, (wmDistribution)distribution);
    if (!status) status = check_dtype(&o, (wmDistribution)distribution, &dtype);
    if (!status) status = wm_npy_describe(&array, "--shape", dtype, rank, shape);
    if (status) return status;
    return write_numbers(&o, (wmDistribution)distribution, &array);
}
