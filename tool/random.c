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
    const char *out, *shape, *dtype, *accuracy, *interval, *generator, *sequence, *scramble;
    uint64_t seed, substream, offset, span, trials, dimensions;
    double mean, std, low, high, base, p, rate, location, scale, shape1, shape2;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"-o",          WM_FLAG_TEXT,     offsetof(options, out),       "x.npy", "the file to write (required)"},
    {"--shape",     WM_FLAG_TEXT,     offsetof(options, shape),     "N,M,…", "its shape (required)"},
    {"--dtype",     WM_FLAG_TEXT,     offsetof(options, dtype),     "TYPE",  "default: u4 for integers and counts, u1 for bernoulli, else f4"},
    {"--seed",      WM_FLAG_UNSIGNED, offsetof(options, seed),      "N",     "64-bit seed; default 0"},
    {"--substream", WM_FLAG_UNSIGNED, offsetof(options, substream), "N",     "32-bit number of an independent sequence"},
    {"--offset",    WM_FLAG_UNSIGNED, offsetof(options, offset),    "N",     "index of the first element in the key's sequence"},
    {"--generator", WM_FLAG_TEXT,     offsetof(options, generator), "NAME",  "philox4x32-10 (default), philox4x64-10, threefry4x64-20, sobol32 …"},
    {"--sequence",  WM_FLAG_TEXT,     offsetof(options, sequence),  "NAME",  "counter (default), or curand: cuRAND's legacy order"},
    {"--dims",      WM_FLAG_UNSIGNED, offsetof(options, dimensions), "N",    "of Sobol' points; default 1"},
    {"--scramble",  WM_FLAG_TEXT,     offsetof(options, scramble),  "NAME",  "of Sobol' points: none (default), owen, shift"},
    {"--low",       WM_FLAG_NUMBER,   offsetof(options, low),       "X",     "uniform, truncated_normal: least value; default 0"},
    {"--high",      WM_FLAG_NUMBER,   offsetof(options, high),      "X",     "uniform: bound that is never reached; default 1"},
    {"--mean",      WM_FLAG_NUMBER,   offsetof(options, mean),      "X",     "of normals; default 0"},
    {"--std",       WM_FLAG_NUMBER,   offsetof(options, std),       "X",     "of normals: standard deviation, above 0; default 1"},
    {"--base",      WM_FLAG_NUMBER,   offsetof(options, base),      "N",     "integers: the least; default 0"},
    {"--span",      WM_FLAG_UNSIGNED, offsetof(options, span),      "N",     "integers, permutation: how many values"},
    {"--p",         WM_FLAG_NUMBER,   offsetof(options, p),         "X",     "bernoulli, mask, binomial, geometric: probability; default 0.5"},
    {"--rate",      WM_FLAG_NUMBER,   offsetof(options, rate),      "X",     "poisson, exponential; default 1"},
    {"--trials",    WM_FLAG_UNSIGNED, offsetof(options, trials),    "N",     "binomial"},
    {"--location",  WM_FLAG_NUMBER,   offsetof(options, location),  "X",     "laplace, logistic, cauchy, gumbel; default 0"},
    {"--scale",     WM_FLAG_NUMBER,   offsetof(options, scale),     "X",     "of these, gamma and weibull; default 1"},
    {"--shape1",    WM_FLAG_NUMBER,   offsetof(options, shape1),    "X",     "gamma, beta, weibull; freedom of chi_square, student_t; default 1"},
    {"--shape2",    WM_FLAG_NUMBER,   offsetof(options, shape2),    "X",     "beta; default 1"},
    {"--accuracy",  WM_FLAG_TEXT,     offsetof(options, accuracy),  "A",     "exact or fast; default exact"},
    {"--interval",  WM_FLAG_TEXT,     offsetof(options, interval),  "I",     "uniform: closed_open, open_closed, open"},
    {NULL,          WM_FLAG_SWITCH,   0,                            NULL,    NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "random DISTRIBUTION --shape N,M -o x.npy [flags]",
    "Writes random numbers that are a pure function of seed, substream and index: the same on every machine, and any\n"
    "slice (by --offset) equals the whole's slice. docs/random.md and docs/distributions.md are the\n"
    "specification. DISTRIBUTION is one of\n"
    "  bits uniform normal integers bernoulli mask exponential lognormal truncated_normal poisson binomial geometric\n"
    "  gamma beta chi_square student_t laplace logistic cauchy gumbel weibull permutation\n",
    1,
    1,
    flags,
};

/* What each draws, and into which dtypes: the first is the default. */
static const char *const floats[] = {"f4", "f8", "f2", NULL};
static const char *const ints[] = {"u4", "u8", "i4", "i8", "i1", "u1", "i2", "u2", NULL};
static const char *const counts[] = {"u4", "u8", "i4", "i8", NULL};
static const char *const bytes[] = {"u1", NULL};
static const char *const words[] = {"u4", NULL};

/* wmDistribution's values in order, up to WM_RANDOM_WEIBULL, then the permutation. */
static const char *const names[] = {
    "bits",        "uniform",   "normal",           "integers",    "bernoulli", "mask",
    "exponential", "lognormal", "truncated_normal", "poisson",     "binomial",  "geometric",
    "gamma",       "beta",      "chi_square",       "student_t",   "laplace",   "logistic",
    "cauchy",      "gumbel",    "weibull",          "permutation", NULL};

static const char *const *dtypes_of(wmDistribution d) {
    if (d == WM_RANDOM_BITS || d == WM_RANDOM_INTEGERS) return ints;
    if (d == WM_RANDOM_BERNOULLI) return bytes;
    if (d == WM_RANDOM_MASK) return words;
    if ((d >= WM_RANDOM_POISSON && d <= WM_RANDOM_GEOMETRIC) || d == WM_RANDOM_PERMUTATION) return counts;
    return floats;
}

/* The distributions that a flag has a meaning for, as bits. */
#define OF(name) (1u << WM_RANDOM_##name)
enum {
    ENDS = OF(UNIFORM) | OF(TRUNCATED_NORMAL),
    NORMALS = OF(NORMAL) | OF(LOGNORMAL) | OF(TRUNCATED_NORMAL),
    LINES = OF(LAPLACE) | OF(LOGISTIC) | OF(CAUCHY) | OF(GUMBEL),
    SHAPES = OF(GAMMA) | OF(BETA) | OF(WEIBULL) | OF(CHI_SQUARE) | OF(STUDENT_T),
    COINS = OF(BERNOULLI) | OF(MASK) | OF(BINOMIAL) | OF(GEOMETRIC)
};

/* A parameter of a distribution that the command does not draw is a mistake worth an answer. */
static int check_parameters(const options *o, wmDistribution distribution) {
    const struct {
        const char *flag;
        int given;
        unsigned of;
    } parameters[] = {
        {"--low",      !isnan(o->low),      ENDS                           },
        {"--high",     !isnan(o->high),     ENDS                           },
        {"--mean",     !isnan(o->mean),     NORMALS                        },
        {"--std",      !isnan(o->std),      NORMALS                        },
        {"--base",     !isnan(o->base),     OF(INTEGERS)                   },
        {"--span",     o->span != 0,        OF(INTEGERS) | OF(PERMUTATION) },
        {"--p",        !isnan(o->p),        COINS                          },
        {"--rate",     !isnan(o->rate),     OF(POISSON) | OF(EXPONENTIAL)  },
        {"--trials",   o->trials != 0,      OF(BINOMIAL)                   },
        {"--location", !isnan(o->location), LINES                          },
        {"--scale",    !isnan(o->scale),    LINES | OF(GAMMA) | OF(WEIBULL)},
        {"--shape1",   !isnan(o->shape1),   SHAPES                         },
        {"--shape2",   !isnan(o->shape2),   OF(BETA)                       },
        {"--interval", o->interval != NULL, OF(UNIFORM)                    },
    };
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        if (parameters[i].given && !(parameters[i].of >> distribution & 1)) {
            return wm_tool_usage("%s has no meaning for %s", parameters[i].flag, o->common.words[0]);
        }
    }
    double low = isnan(o->low) ? (distribution == WM_RANDOM_TRUNCATED_NORMAL ? -INFINITY : 0) : o->low;
    double high = isnan(o->high) ? (distribution == WM_RANDOM_TRUNCATED_NORMAL ? INFINITY : 1) : o->high;
    if (!(low < high)) return wm_tool_usage("--low %g is to be below --high %g", low, high);
    if (!isnan(o->std) && !(o->std > 0)) return wm_tool_usage("--std %g is to be above 0", o->std);
    if (!isnan(o->base) && o->base != floor(o->base)) return wm_tool_usage("--base %g is to be an integer", o->base);
    if (o->substream > UINT32_MAX) return wm_tool_usage("--substream %" PRIu64 " passes 2^32 - 1", o->substream);
    return WM_EXIT_OK;
}

static int check_dtype(const options *o, wmDistribution distribution, const char **dtype) {
    const char *const *choices = dtypes_of(distribution);
    int index = 0;
    int status = o->dtype ? wm_options_choice("--dtype", o->dtype, choices, &index) : WM_EXIT_OK;
    *dtype = choices[index];
    return status;
}

/* Which numbers: generator, order, points. */
static int fill_desc(const options *o, wmRandomDesc *desc) {
    static const char *const generators[] = {"philox4x32-10",   "philox4x32-7",    "philox4x64-10",
                                             "threefry2x32-20", "threefry4x64-20", "sobol32",
                                             "sobol64",         "xorwow",          "mrg32k3a",
                                             "mt19937",         "mtgp32",          NULL}; /* wmGenerator's values */
    static const char *const sequences[] = {"counter", "curand", NULL};
    static const char *const scrambles[] = {"none", "owen", "shift", NULL};
    int generator = 0;
    int sequence = 0;
    int scramble = 0;
    int status = WM_EXIT_OK;
    if (o->generator) status = wm_options_choice("--generator", o->generator, generators, &generator);
    if (!status && o->sequence) status = wm_options_choice("--sequence", o->sequence, sequences, &sequence);
    if (!status && o->scramble) status = wm_options_choice("--scramble", o->scramble, scrambles, &scramble);
    if (!status && o->dimensions > WM_SOBOL_DIMENSIONS)
        status = wm_tool_usage("--dims %" PRIu64 " passes %d", o->dimensions, WM_SOBOL_DIMENSIONS);
    desc->generator = (wmGenerator)generator;
    desc->sequence = (wmSequence)sequence;
    desc->scramble = (wmScramble)scramble;
    desc->dimensions = (int64_t)o->dimensions;
    return status;
}

static double given(double value, double otherwise) {
    return isnan(value) ? otherwise : value;
}

static wmRandomArgs arguments(const options *o, wmDistribution distribution) {
    int truncated = distribution == WM_RANDOM_TRUNCATED_NORMAL;
    wmRandomKey key = {o->seed, (unsigned)o->substream};
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, key);
    args.low = given(o->low, truncated ? -INFINITY : 0);
    args.high = given(o->high, truncated ? INFINITY : 1);
    args.mean = given(o->mean, 0);
    args.std = given(o->std, 1);
    args.base = (int64_t)given(o->base, 0);
    args.span = o->span;
    args.p = given(o->p, 0.5);
    args.rate = given(o->rate, 1);
    args.trials = o->trials;
    args.location = given(o->location, 0);
    args.scale = given(o->scale, 1);
    args.shape = given(o->shape1, 1);
    args.shape2 = given(o->shape2, 1);
    return args;
}

/* Elements drawn at once: 128 MiB of the widest type. */
enum { SLICE = 1 << 24 };

/* Draws the whole array through one buffer; *seconds is the drawing alone. */
static int draw(const options *o, wmDistribution distribution, wmContext *context, const wmPlan *plan,
                const wm_npy *array, wm_output *out, double *seconds) {
    int64_t most = array->count < SLICE ? array->count : SLICE;
    size_t bytes = (size_t)most * (size_t)array->item;
    void *there = NULL;
    void *host = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!host) return wm_tool_fail("out of memory: %zu bytes are needed", bytes);
    wmRandomArgs args = arguments(o, distribution);
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

static int choose(const options *o, wmRandomDesc *desc) {
    static const char *const accuracies[] = {"exact", "fast", NULL};
    static const char *const intervals[] = {"closed_open", "open_closed", "open", NULL};
    int accuracy = 0, interval = 0;
    int status = o->accuracy ? wm_options_choice("--accuracy", o->accuracy, accuracies, &accuracy) : WM_EXIT_OK;
    if (!status && o->interval) status = wm_options_choice("--interval", o->interval, intervals, &interval);
    desc->accuracy = (wmAccuracy)accuracy;
    desc->interval = (wmInterval)interval;
    return status;
}

static int write_numbers(const options *o, wmDistribution distribution, const wm_npy *array) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    wm_output out = {.fd = -1};
    double seconds = 0;
    wmRandomDesc desc = wmRandomDescDefault(distribution, wm_npy_type(array));
    desc.count_hint = array->count < SLICE ? array->count : SLICE;
    int status = choose(o, &desc);
    if (!status) status = fill_desc(o, &desc);
    if (!status) status = wm_session_open(&context, o->common.place);
    if (!status) status = wm_session_check(wmRandomPlanCreate(&plan, context, &desc, NULL));
    if (!status) status = wm_output_open(&out, o->out);
    if (!status) status = wm_npy_write_header(&out, array);
    if (!status) status = draw(o, distribution, context, plan, array, &out, &seconds);
    if (!status) status = wm_output_commit(&out);
    if (!status) status = report(o, context, plan, array, seconds);
    wm_output_discard(&out);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return status;
}

int wm_command_random(int argc, char **argv) {
    options o = {.mean = NAN, .std = NAN, .low = NAN, .high = NAN, .base = NAN, .p = NAN, .rate = NAN, .location = NAN};
    o.scale = o.shape1 = o.shape2 = NAN;
    wm_npy array;
    const char *dtype = NULL;
    int64_t shape[WM_NPY_RANK];
    int rank = 0;
    int distribution = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status) status = wm_options_choice("random", o.common.words[0], names, &distribution);
    if (distribution > WM_RANDOM_WEIBULL) distribution = WM_RANDOM_PERMUTATION;
    if (!status && !o.out) status = wm_tool_usage("random wants -o x.npy");
    if (!status && !o.shape) status = wm_tool_usage("random wants --shape N,M");
    if (!status) status = wm_options_list("--shape", o.shape, false, shape, WM_NPY_RANK, &rank);
    if (!status) status = check_parameters(&o, (wmDistribution)distribution);
    if (!status) status = check_dtype(&o, (wmDistribution)distribution, &dtype);
    if (!status) status = wm_npy_describe(&array, "--shape", dtype, rank, shape);
    if (status) return status;
    return write_numbers(&o, (wmDistribution)distribution, &array);
}
