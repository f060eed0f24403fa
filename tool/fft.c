/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath fft: transforms chosen axes of a .npy file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "convert.h"
#include "fail.h"
#include "npy.h"
#include "options.h"
#include "session.h"

typedef struct options {
    wm_common common;
    const char *out, *axes, *scale;
    bool inverse, real;
    uint64_t length;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"-o",        WM_FLAG_TEXT,     offsetof(options, out),     "X.npy", "the file to write (required)"},
    {"--inverse", WM_FLAG_SWITCH,   offsetof(options, inverse), "",      "the inverse transform"},
    {"--real",    WM_FLAG_SWITCH,   offsetof(options, real),    "",      "real on one side; the complex side holds n/2 + 1 values"},
    {"--axes",    WM_FLAG_TEXT,     offsetof(options, axes),    "0,1",   "one to three axes, -1 is the last; default -1"},
    {"--scale",   WM_FLAG_TEXT,     offsetof(options, scale),   "HOW",   "none n sqrt_n: divide by it; default none, inverse: n"},
    {"--length",  WM_FLAG_UNSIGNED, offsetof(options, length),  "N",     "--real --inverse: real numbers; default 2(m - 1)"},
    {NULL,        WM_FLAG_SWITCH,   0,                          NULL,    NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "fft x.npy -o X.npy [flags]",
    "Fourier-transforms axes of an array as NumPy's fft functions do. f4 and c8 give single precision; f8, c16 and\n"
    "integers double. With --real the last axis given is the one that is halved.\n",
    1,
    1,
    flags,
};

/* The transform of one file: the axes in the user's order, and both sides' arrays. */
typedef struct transform {
    const char *path;
    wm_npy in, out;
    wmFftKind kind;
    wmType real; /* the scalar: f32 or f64 */
    int axes[WM_FFT_MAX_RANK], rank;
} transform;

static int find_axes(transform *t, const char *text) {
    int64_t list[WM_FFT_MAX_RANK] = {-1};
    int status = wm_options_list("--axes", text, true, list, WM_FFT_MAX_RANK, &t->rank);
    if (status) return status;
    for (int i = 0; i < t->rank; i++) {
        int64_t axis = list[i] < 0 ? list[i] + t->in.rank : list[i];
        if (axis < 0 || axis >= t->in.rank) {
            return wm_tool_fail("--axes: %s has %d dimensions and no axis %" PRId64, t->path, t->in.rank, list[i]);
        }
        for (int j = 0; j < i; j++) {
            if (t->axes[j] == axis) return wm_tool_fail("--axes: axis %" PRId64 " is given twice", axis);
        }
        t->axes[i] = (int)axis;
        if (t->in.shape[axis] == 0) {
            return wm_tool_fail("%s: axis %" PRId64 " has length 0; a transform wants 1 or more", t->path, axis);
        }
    }
    return WM_EXIT_OK;
}

/* The side's element types, as NumPy's rules give them, and the input brought to its own. */
static int convert_input(transform *t, const options *o) {
    wmType type = wm_npy_type(&t->in);
    bool complex = t->in.kind == 'c';
    t->real = type == WM_F16 || type == WM_F32 || type == WM_C64 ? WM_F32 : WM_F64;
    t->kind = !o->real ? WM_FFT_C2C : o->inverse ? WM_FFT_C2R : WM_FFT_R2C;
    if (t->kind == WM_FFT_R2C && complex) {
        return wm_tool_fail("%s: is complex (%s); --real transforms real numbers", t->path, wm_npy_dtype(type));
    }
    wmType wide = t->real == WM_F32 ? WM_C64 : WM_C128;
    return wm_convert_array(&t->in, t->path, t->kind == WM_FFT_R2C ? t->real : wide);
}

static int describe_output(transform *t, const options *o) {
    int64_t shape[WM_NPY_RANK];
    int last = t->axes[t->rank - 1];
    wmType wide = t->real == WM_F32 ? WM_C64 : WM_C128;
    memcpy(shape, t->in.shape, sizeof shape);
    if (t->kind == WM_FFT_R2C) shape[last] = shape[last] / 2 + 1;
    if (t->kind == WM_FFT_C2R) {
        int64_t n = o->length ? (int64_t)o->length : 2 * (shape[last] - 1);
        /* Like NumPy, fewer stored values may be used than there are; more are not made up. */
        if (n < 1 || n / 2 + 1 > shape[last]) {
            return wm_tool_fail("%s: %" PRId64 " values along axis %d do not give %" PRId64 " real numbers", t->path,
                                shape[last], last, n);
        }
        shape[last] = n;
    }
    int status =
        wm_npy_describe(&t->out, o->out, wm_npy_dtype(t->kind == WM_FFT_C2R ? t->real : wide), t->in.rank, shape);
    t->out.fortran = t->in.fortran;
    return status ? status : wm_npy_allocate(&t->out, o->out);
}

static void strides_of(const wm_npy *array, int64_t strides[WM_NPY_RANK]) {
    int64_t stride = 1;
    for (int i = 0; i < array->rank; i++) {
        int axis = array->fortran ? i : array->rank - 1 - i;
        strides[axis] = stride;
        stride *= array->shape[axis];
    }
}

static bool is_transformed(const transform *t, int axis) {
    for (int i = 0; i < t->rank; i++) {
        if (t->axes[i] == axis) return true;
    }
    return false;
}

/* Adds a batch loop, joined with the one before where both sides step through memory evenly. Axes come slowest first.
 */
static int add_loop(const transform *t, wmFftDesc *desc, wmFftDim loop) {
    wmFftDim *last = desc->loops ? &desc->loop[desc->loops - 1] : NULL;
    if (loop.n == 1) return WM_EXIT_OK;
    if (last && last->in_stride == loop.n * loop.in_stride && last->out_stride == loop.n * loop.out_stride) {
        last->n *= loop.n;
        last->in_stride = loop.in_stride;
        last->out_stride = loop.out_stride;
        return WM_EXIT_OK;
    }
    if (desc->loops == WM_FFT_MAX_LOOPS) {
        return wm_tool_fail("%s: the axes that stay form more than %d groups; reorder or reshape the array", t->path,
                            WM_FFT_MAX_LOOPS);
    }
    desc->loop[desc->loops++] = loop;
    return WM_EXIT_OK;
}

static int describe_transform(const transform *t, const options *o, wmFftScale scale, wmFftDesc *desc) {
    int64_t in[WM_NPY_RANK];
    int64_t out[WM_NPY_RANK];
    int64_t n[WM_FFT_MAX_RANK];
    /* Real lengths: the larger side of a halved axis. */
    const wm_npy *lengths = t->kind == WM_FFT_C2R ? &t->out : &t->in;
    strides_of(&t->in, in);
    strides_of(&t->out, out);
    for (int i = 0; i < t->rank; i++) n[i] = lengths->shape[t->axes[i]];
    *desc = wmFftDescPacked(t->kind, t->real, t->rank, n, 1);
    desc->direction = o->inverse ? WM_INVERSE : WM_FORWARD;
    desc->scale = scale;
    desc->loops = 0;
    for (int i = 0; i < t->rank; i++) {
        desc->dim[i].in_stride = in[t->axes[i]];
        desc->dim[i].out_stride = out[t->axes[i]];
    }
    for (int i = 0; i < t->in.rank; i++) {
        int axis = t->in.fortran ? t->in.rank - 1 - i : i;
        wmFftDim loop = {t->in.shape[axis], in[axis], out[axis]};
        int status = is_transformed(t, axis) ? WM_EXIT_OK : add_loop(t, desc, loop);
        if (status) return status;
    }
    return WM_EXIT_OK;
}

/* Executes; *seconds is the transform alone. */
static int execute(wmContext *context, const wmPlan *plan, transform *t, double *seconds) {
    void *in = NULL;
    void *out = NULL;
    size_t in_bytes = (size_t)t->in.count * (size_t)t->in.item;
    size_t out_bytes = (size_t)t->out.count * (size_t)t->out.item;
    int status = wm_session_lend(context, t->in.data, in_bytes, 1, &in);
    if (!status) status = wm_session_lend(context, t->out.data, out_bytes, 0, &out);
    if (!status) status = wm_session_check(wmSynchronize(context, NULL));
    double began = wm_session_seconds();
    wmFftArgs args = wmFftArgsDefault(in, out);
    if (!status) status = wm_session_check(wmFftExecute(plan, &args, NULL));
    if (!status) status = wm_session_check(wmSynchronize(context, NULL));
    *seconds = wm_session_seconds() - began;
    if (!status) status = wm_session_fetch(context, t->out.data, out_bytes, out);
    wm_session_return(context, t->in.data, in);
    wm_session_return(context, t->out.data, out);
    return status;
}

static int report(const options *o, wmContext *context, const wmPlan *plan, const transform *t, double seconds) {
    if (o->common.json) {
        wm_text text = {.data = NULL};
        wm_json json = {.text = &text};
        wm_json_open(&json, NULL, '{');
        wm_json_string(&json, "file", o->out);
        wm_json_string(&json, "type", wmTypeName(wm_npy_type(&t->out)));
        wm_session_describe(&json, context, plan, seconds);
        wm_json_close(&json, '}');
        return wm_session_put(&text);
    }
    printf("%s: %s; %s by %s in %.3f ms\n", o->out, wmTypeName(wm_npy_type(&t->out)), wmPlanProblem(plan),
           wmPlanSolver(plan), 1e3 * seconds);
    return WM_EXIT_OK;
}

static int transform_file(const options *o, wmFftScale scale, transform *t) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    wmFftDesc desc;
    wm_output out = {.fd = -1};
    double seconds = 0;
    int status = wm_npy_read(t->path, &t->in);
    if (!status) status = find_axes(t, o->axes);
    if (!status) status = convert_input(t, o);
    if (!status) status = wm_session_open(&context, o->common.place);
    if (!status) status = wm_output_open(&out, o->out);
    if (!status) status = describe_output(t, o);
    if (!status) status = describe_transform(t, o, scale, &desc);
    if (!status) status = wm_session_check(wmFftPlanCreate(&plan, context, &desc, NULL));
    if (!status) status = execute(context, plan, t, &seconds);
    if (!status) status = wm_npy_write_to(&out, &t->out);
    if (!status) status = report(o, context, plan, t, seconds);
    wm_output_discard(&out);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    wm_npy_free(&t->in);
    wm_npy_free(&t->out);
    return status;
}

int wm_command_fft(int argc, char **argv) {
    static const char *const scales[] = {"none", "n", "sqrt_n", NULL}; /* wmFftScale's values are the indices */
    options o = {.axes = "-1"};
    transform t = {.path = NULL};
    int scale = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status && !o.out) status = wm_tool_usage("fft wants -o X.npy");
    if (!status && !o.scale) o.scale = o.inverse ? "n" : "none";
    if (!status) status = wm_options_choice("--scale", o.scale, scales, &scale);
    if (!status && o.length && !(o.real && o.inverse)) status = wm_tool_usage("--length goes with --real --inverse");
    if (!status && o.length > INT64_MAX) status = wm_tool_usage("--length %" PRIu64 " passes 2^63 - 1", o.length);
    if (status) return status;
    t.path = o.common.words[0];
    return transform_file(&o, (wmFftScale)scale, &t);
}
