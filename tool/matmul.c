/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath matmul: C = op(A) · op(B) on .npy files. */
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
    const char *out, *type, *compute, *ta, *tb;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"-o",        WM_FLAG_TEXT,     offsetof(options, out),     "C.npy", "the file to write (required)"},
    {"--type",    WM_FLAG_TEXT,     offsetof(options, type),    "TYPE",  "f16 bf16 f32 f64 c64 c128 i8: convert A and B to it"},
    {"--compute", WM_FLAG_TEXT,     offsetof(options, compute), "HOW",   "default f32 f32_strict tf32 f64 i32: the arithmetic"},
    {"--ta",      WM_FLAG_OPTIONAL, offsetof(options, ta),      "t|c|n", "transpose A (=t, the default), conjugate-transpose (=c)"},
    {"--tb",      WM_FLAG_OPTIONAL, offsetof(options, tb),      "t|c|n", "the same for B"},
    {NULL,        WM_FLAG_SWITCH,   0,                          NULL,    NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "matmul A.npy B.npy -o C.npy [flags]",
    "Writes C = op(A) · op(B). Two dimensions are a matrix; dimensions before the last two are a batch, which must\n"
    "agree, or be missing in one of the files. C has the type of A and B (i4 for i1). With --type bf16, u2 files are\n"
    "taken as the bits of bf16 numbers; a bf16 result is saved as u2.\n",
    2,
    2,
    flags,
};

/* One operand: its file, and the matrix in it. */
typedef struct operand {
    const char *path;
    wm_npy array;
    wmType type;
    wmOp op;
    int64_t rows, columns; /* of op(X) */
    int64_t batch;         /* product of the dimensions before the last two */
} operand;

static int find_type(const char *name, wmType *type) {
    static const char *const names[] = {"f16", "bf16", "f32", "f64", "c64", "c128", "i8", NULL};
    static const wmType types[] = {WM_F16, WM_BF16, WM_F32, WM_F64, WM_C64, WM_C128, WM_I8};
    int index = 0;
    *type = WM_TYPE_UNSET;
    if (!name) return WM_EXIT_OK;
    int status = wm_options_choice("--type", name, names, &index);
    if (!status) *type = types[index];
    return status;
}

static int find_op(const char *flag, const char *text, wmOp *op) {
    static const char *const names[] = {"n", "t", "c", NULL}; /* wmOp's values are the indices */
    int index = 0;
    *op = text ? WM_OP_TRANSPOSE : WM_OP_NONE;
    if (!text || !*text) return WM_EXIT_OK;
    int status = wm_options_choice(flag, text, names, &index);
    if (!status) *op = (wmOp)index;
    return status;
}

static int load(operand *x, wmType wanted) {
    int status = wm_npy_read(x->path, &x->array);
    if (status) return status;
    int rank = x->array.rank;
    if (rank < 2) return wm_tool_fail("%s: has %d dimensions; a matrix has 2, a batch more", x->path, rank);
    if (rank > 2 && (status = wm_convert_to_c_order(&x->array, x->path))) return status;
    x->type = wm_npy_type(&x->array);
    if (wanted && (status = wm_convert_array(&x->array, x->path, wanted))) return status;
    if (wanted) x->type = wanted;
    bool turned = x->op != WM_OP_NONE;
    x->rows = x->array.shape[rank - (turned ? 1 : 2)];
    x->columns = x->array.shape[rank - (turned ? 2 : 1)];
    x->batch = 1;
    for (int i = 0; i < rank - 2; i++) x->batch *= x->array.shape[i];
    return WM_EXIT_OK;
}

/* Integers multiply as i8 only; others are to be converted, and the user says to what. */
static int check_type(const operand *x) {
    switch (x->type) {
    case WM_F16:
    case WM_BF16:
    case WM_F32:
    case WM_F64:
    case WM_C64:
    case WM_C128:
    case WM_I8:
        return WM_EXIT_OK;
    case WM_U16:
        return wm_tool_fail("%s is u2: --type bf16 takes it as the bits of bf16, --type f32 converts numbers", x->path);
    default:
        return wm_tool_fail("%s is %s; --type f32 or f64 converts it", x->path, wm_npy_dtype(x->type));
    }
}

static int check_pair(const operand *a, const operand *b) {
    if (a->type != b->type) {
        return wm_tool_fail("%s is %s and %s is %s; --type converts both to one type", a->path, wm_npy_dtype(a->type),
                            b->path, wm_npy_dtype(b->type));
    }
    if (a->columns != b->rows) {
        return wm_tool_fail("sizes do not match: op(A) of %s is %" PRId64 " × %" PRId64 ", op(B) of %s is %" PRId64
                            " × %" PRId64,
                            a->path, a->rows, a->columns, b->path, b->rows, b->columns);
    }
    int ra = a->array.rank;
    int rb = b->array.rank;
    bool same = ra == rb;
    for (int i = 0; same && i < ra - 2; i++) same = a->array.shape[i] == b->array.shape[i];
    if (!same && ra != 2 && rb != 2) {
        return wm_tool_fail("sizes do not match: the dimensions before the last two of %s and %s are to be the same",
                            a->path, b->path);
    }
    return WM_EXIT_OK;
}

static int describe_result(const char *path, const operand *a, const operand *b, wmType type, wm_npy *c) {
    const wm_npy *longer = a->array.rank > b->array.rank ? &a->array : &b->array;
    int64_t shape[WM_NPY_RANK];
    memcpy(shape, longer->shape, sizeof shape);
    shape[longer->rank - 2] = a->rows;
    shape[longer->rank - 1] = b->columns;
    int status = wm_npy_describe(c, path, wm_npy_dtype(type), longer->rank, shape);
    return status ? status : wm_npy_allocate(c, path);
}

static void describe_operand(const operand *x, wmMatrixDesc *desc) {
    desc->op = x->op;
    desc->order = x->array.fortran ? WM_COL_MAJOR : WM_ROW_MAJOR;
    if (x->array.rank == 2) desc->batch_stride = 0; /* one matrix for the whole batch */
}

/* Plans and multiplies; *seconds is the product alone. The plan is left for the report. */
static int multiply(wmContext *context, const wmMatmulDesc *desc, operand *a, operand *b, wm_npy *c, wmPlan **plan,
                    double *seconds) {
    void *at = NULL;
    void *bt = NULL;
    void *ct = NULL;
    size_t abytes = (size_t)a->array.count * (size_t)a->array.item;
    size_t bbytes = (size_t)b->array.count * (size_t)b->array.item;
    size_t cbytes = (size_t)c->count * (size_t)c->item;
    int status = wm_session_check(wmMatmulPlanCreate(plan, context, desc, NULL));
    if (!status) status = wm_session_lend(context, a->array.data, abytes, 1, &at);
    if (!status) status = wm_session_lend(context, b->array.data, bbytes, 1, &bt);
    if (!status) status = wm_session_lend(context, c->data, cbytes, 0, &ct);
    if (!status) status = wm_session_check(wmSynchronize(context, NULL));
    double began = wm_session_seconds();
    wmMatmulArgs args = wmMatmulArgsDefault(at, bt, ct);
    if (!status) status = wm_session_check(wmMatmulExecute(*plan, &args, NULL));
    if (!status) status = wm_session_check(wmSynchronize(context, NULL));
    *seconds = wm_session_seconds() - began;
    if (!status) status = wm_session_fetch(context, c->data, cbytes, ct);
    wm_session_return(context, a->array.data, at);
    wm_session_return(context, b->array.data, bt);
    wm_session_return(context, c->data, ct);
    return status;
}

static int report(const options *o, wmContext *context, const wmPlan *plan, wmType type, double seconds) {
    const char *note = type == WM_BF16 ? "bf16, saved as u2" : wmTypeName(type);
    if (o->common.json) {
        wm_text text = {.data = NULL};
        wm_json json = {.text = &text};
        wm_json_open(&json, NULL, '{');
        wm_json_string(&json, "file", o->out);
        wm_json_string(&json, "type", wmTypeName(type));
        wm_session_describe(&json, context, plan, seconds);
        wm_json_close(&json, '}');
        return wm_session_put(&text);
    }
    printf("%s: %s; %s by %s in %.3f ms\n", o->out, note, wmPlanProblem(plan), wmPlanSolver(plan), 1e3 * seconds);
    return WM_EXIT_OK;
}

static int product(const options *o, operand *a, operand *b, wmCompute compute) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    wm_npy c = {.data = NULL};
    wm_output out = {.fd = -1};
    double seconds = 0;
    wmType type = a->type == WM_I8 ? WM_I32 : a->type;
    wmMatmulDesc desc = wmMatmulDescDefault(a->type, a->rows, b->columns, a->columns);
    describe_operand(a, &desc.a);
    describe_operand(b, &desc.b);
    desc.batch = a->array.rank > b->array.rank ? a->batch : b->batch;
    desc.compute = compute;
    int status = wm_session_open(&context, o->common.place);
    if (!status) status = wm_output_open(&out, o->out);
    if (!status) status = describe_result(o->out, a, b, type, &c);
    if (!status) status = multiply(context, &desc, a, b, &c, &plan, &seconds);
    if (!status) status = wm_npy_write_to(&out, &c);
    if (!status) status = report(o, context, plan, type, seconds);
    wm_output_discard(&out);
    wm_npy_free(&c);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return status;
}

int wm_command_matmul(int argc, char **argv) {
    static const char *const computes[] = {"default", "f32", "f32_strict", "tf32", "f64", "i32", NULL}; /* wmCompute */
    options o = {.compute = "default"};
    operand a = {.path = NULL};
    operand b = {.path = NULL};
    wmType type = WM_TYPE_UNSET;
    int compute = 0;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status && !o.out) status = wm_tool_usage("matmul wants -o C.npy");
    if (!status) status = find_type(o.type, &type);
    if (!status) status = wm_options_choice("--compute", o.compute, computes, &compute);
    if (!status) status = find_op("--ta", o.ta, &a.op);
    if (!status) status = find_op("--tb", o.tb, &b.op);
    if (status) return status;
    a.path = o.common.words[0];
    b.path = o.common.words[1];
    status = load(&a, type);
    if (!status) status = load(&b, type);
    if (!status) status = check_type(&a);
    if (!status) status = check_type(&b);
    if (!status) status = check_pair(&a, &b);
    if (!status) status = product(&o, &a, &b, (wmCompute)compute);
    wm_npy_free(&a.array);
    wm_npy_free(&b.array);
    return status;
}
