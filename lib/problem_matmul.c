/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products as problems: defaults, shapes, features, cost, operands and bound. */
#include "fields.h"
#include "matmul_view.h"
#include "operation.h"

#include <math.h>

wm_shape wm_matmul_shape(const wmMatmulDesc *d, char which) {
    if (which == 'a') return d->a.op ? (wm_shape){d->k, d->m} : (wm_shape){d->m, d->k};
    if (which == 'b') return d->b.op ? (wm_shape){d->n, d->k} : (wm_shape){d->k, d->n};
    if (which == 'z') return (wm_shape){d->m, d->n};
    return (wm_shape){d->m, wm_matmul_columns(d)};
}

/* Rows in memory (outer), each of `inner` contiguous elements. */
static void outer_inner(const wmMatrixDesc *matrix, wm_shape shape, int64_t *outer, int64_t *inner) {
    *outer = matrix->order == WM_COL_MAJOR ? shape.cols : shape.rows;
    *inner = matrix->order == WM_COL_MAJOR ? shape.rows : shape.cols;
}

int64_t wm_matrix_span(const wmMatrixDesc *matrix, wm_shape shape, int64_t batch) {
    int64_t outer = 0, inner = 0, span = 0, more = 0, bytes = 0;
    outer_inner(matrix, shape, &outer, &inner);
    if (outer <= 0 || inner <= 0 || batch <= 0) return 0;
    if (__builtin_mul_overflow(outer - 1, matrix->ld, &span) || __builtin_add_overflow(span, inner, &span)) return -1;
    if (__builtin_mul_overflow(batch - 1, matrix->batch_stride, &more) || __builtin_add_overflow(span, more, &span))
        return -1;
    if (__builtin_mul_overflow(span, (int64_t)wmTypeSize(matrix->type), &bytes)) return -1;
    return span;
}

static wmType default_output(wmType a) {
    switch (a) {
    case WM_F8E4M3:
    case WM_F8E5M2:
        return WM_BF16;
    case WM_I8:
        return WM_I32;
    default:
        return a;
    }
}

static wmCompute default_compute(wmType a) {
    switch (a) {
    case WM_F64:
    case WM_C128:
        return WM_COMPUTE_F64;
    case WM_I8:
        return WM_COMPUTE_I32;
    default:
        return WM_COMPUTE_F32;
    }
}

/* An ld that would overflow saturates: the span check then reports it. */
static void resolve_layout(wmMatrixDesc *matrix, wm_shape shape) {
    int64_t outer = 0, inner = 0;
    outer_inner(matrix, shape, &outer, &inner);
    if (matrix->ld == 0) matrix->ld = inner > 1 ? inner : 1;
    if (matrix->batch_stride == WM_PACKED &&
        __builtin_mul_overflow(outer > 0 ? outer : 0, matrix->ld, &matrix->batch_stride))
        matrix->batch_stride = INT64_MAX;
    if (matrix->align == 0) matrix->align = 16;
}

/* The residual and what is kept; what is not there has no layout. */
static void resolve_more(wmMatmulDesc *d) {
    static const wmMatrixDesc none = {WM_TYPE_UNSET, WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, 0, 0};
    if (d->r.type && d->r.ld == 0) { /* laid out as D, like such a C */
        d->r.order = d->d.order;
        d->r.ld = d->d.ld;
        if (d->r.batch_stride == WM_PACKED) d->r.batch_stride = d->d.batch_stride;
    }
    if (d->r.type)
        resolve_layout(&d->r, wm_matmul_shape(d, 'r'));
    else
        d->r = none;
    if (d->z.type)
        resolve_layout(&d->z, wm_matmul_shape(d, 'z'));
    else
        d->z = none;
}

void wm_matmul_resolve(wmMatmulDesc *d) {
    if (!d->b.type) d->b.type = d->a.type;
    if (!d->d.type) d->d.type = default_output(d->a.type);
    if (!d->bias_type) d->bias_type = d->d.type;
    if (d->compute == WM_COMPUTE_DEFAULT) d->compute = default_compute(d->a.type);
    if (!wm_type_is_complex(d->a.type) && d->a.op == WM_OP_CONJ_TRANSPOSE) d->a.op = WM_OP_TRANSPOSE;
    if (!wm_type_is_complex(d->b.type) && d->b.op == WM_OP_CONJ_TRANSPOSE) d->b.op = WM_OP_TRANSPOSE;
    if (!d->c.type) d->c.type = d->d.type;
    if (!wm_type_is_complex(d->a.type)) d->allow_3m = 0;
    resolve_layout(&d->d, wm_matmul_shape(d, 'd'));
    if (d->c.ld == 0) { /* a C that names no ld is laid out as D */
        d->c.order = d->d.order;
        d->c.ld = d->d.ld;
        if (d->c.batch_stride == WM_PACKED) d->c.batch_stride = d->d.batch_stride;
    }
    resolve_layout(&d->a, wm_matmul_shape(d, 'a'));
    resolve_layout(&d->b, wm_matmul_shape(d, 'b'));
    resolve_layout(&d->c, wm_matmul_shape(d, 'c'));
    resolve_more(d);
    if (d->batch_mode != WM_BATCH_STRIDED || d->batch == 1)
        d->a.batch_stride = d->b.batch_stride = d->c.batch_stride = d->d.batch_stride = d->r.batch_stride =
            d->z.batch_stride = 0;
}

static int matmul_empty(const wm_problem *problem) {
    const wmMatmulDesc *d = &problem->u.matmul;
    return d->m == 0 || d->n == 0 || d->batch == 0;
}

static uint64_t type_bit(wmType type) {
    switch (type) {
    case WM_F16:
        return WM_MM_F16;
    case WM_BF16:
        return WM_MM_BF16;
    case WM_F32:
        return WM_MM_F32;
    case WM_F64:
        return WM_MM_F64;
    case WM_C64:
        return WM_MM_C64;
    case WM_C128:
        return WM_MM_C128;
    case WM_F8E4M3:
    case WM_F8E5M2:
        return WM_MM_FP8;
    case WM_I8:
        return WM_MM_I8;
    default:
        return WM_MM_MIXED;
    }
}

static uint64_t layout_features(const wmMatmulDesc *d) {
    uint64_t need = 0;
    if (d->a.op != WM_OP_NONE || d->b.op != WM_OP_NONE) need |= WM_MM_TRANSPOSE;
    if (d->a.op == WM_OP_CONJ_TRANSPOSE || d->b.op == WM_OP_CONJ_TRANSPOSE) need |= WM_MM_CONJUGATE;
    if (d->a.order || d->b.order || d->c.order || d->d.order) need |= WM_MM_COL_MAJOR;
    if (d->batch != 1) need |= WM_MM_BATCH;
    if (d->batch_mode == WM_BATCH_POINTERS) need |= WM_MM_POINTERS;
    if (d->batch_mode == WM_BATCH_GROUPED) need |= WM_MM_GROUPED;
    if (d->c.type != d->d.type || d->c.order != d->d.order || d->c.ld != d->d.ld) need |= WM_MM_C_LAYOUT;
    int64_t align = d->a.align;
    if (d->b.align < align) align = d->b.align;
    if (d->c.align < align) align = d->c.align;
    if (d->d.align < align) align = d->d.align;
    if (align < 16) need |= WM_MM_UNALIGNED;
    return need;
}

static uint64_t more_features(const wmMatmulDesc *d) {
    uint64_t need = 0;
    if (d->activation == WM_ACT_SILU) need |= WM_MM_SILU;
    if (d->gate) need |= WM_MM_GATE;
    if (d->r.type) need |= WM_MM_RESIDUAL;
    if (d->z.type) need |= WM_MM_KEPT;
    if (d->reduction) need |= WM_MM_REDUCTION;
    if (d->dropout) need |= WM_MM_DROPOUT;
    if (d->a.scale > WM_SCALE_TENSOR || d->b.scale > WM_SCALE_TENSOR || d->d.scale > WM_SCALE_TENSOR)
        need |= WM_MM_VECTOR_SCALE;
    if (d->d.type == WM_I8 || (d->a.type == WM_I8 && d->d.type != WM_I32)) need |= WM_MM_QUANTISE;
    if (d->triangle) need |= WM_MM_TRIANGLE;
    if (d->functor.source) need |= WM_MM_FUNCTOR;
    return need;
}

static uint64_t matmul_features(const wm_problem *problem) {
    const wmMatmulDesc *d = &problem->u.matmul;
    uint64_t need = type_bit(d->a.type) | layout_features(d);
    if (d->b.type != d->a.type || d->d.type != default_output(d->a.type) || (d->bias && d->bias_type != d->d.type))
        need |= WM_MM_MIXED;
    if (d->bias) need |= WM_MM_BIAS;
    if (d->activation) need |= WM_MM_ACTIVATION;
    if (d->a.scale || d->b.scale || d->d.scale) need |= WM_MM_SCALE;
    if (d->compute == WM_COMPUTE_TF32) need |= WM_MM_TF32;
    if (d->compute == WM_COMPUTE_F32_STRICT) need |= WM_MM_STRICT;
    if (d->determinism == WM_GPU_TO_GPU) need |= WM_MM_GPU_TO_GPU;
    return need | more_features(d);
}

static double matrices(const wmMatrixDesc *matrix, int64_t batch) {
    return matrix->batch_stride == 0 && batch > 0 ? 1.0 : (double)batch;
}

/* ---- Grouped batches ---- */

int64_t wm_matmul_group_span(const wmMatmulDesc *d, const wmMatrixDesc *matrix, char which) {
    return (wm_matrix_span(matrix, wm_matmul_shape(d, which), 1) + 255) / 256 * 256;
}

void wm_matmul_group_example(const wmMatmulDesc *d, int64_t group, wmMatmulGroup *out) {
    static const int eighths[] = {8, 3, 0, 6, 1, 8, 5, 2};
    int64_t part = eighths[group % 8];
    out->m = d->m / 8 * part + d->m % 8 * part / 8;
    out->n = group % 5 == 3 ? d->n - d->n / 3 : d->n;
    out->k = group % 7 == 4 ? d->k / 2 : group % 11 == 6 ? 0 : d->k;
    out->a = group * wm_matmul_group_span(d, &d->a, 'a');
    out->b = group * wm_matmul_group_span(d, &d->b, 'b');
    out->c = group * wm_matmul_group_span(d, &d->c, 'c');
    out->d = group * wm_matmul_group_span(d, &d->d, 'd');
}

/* Of the example, which repeats itself after REPEAT groups: the work of a run is known only when it runs. */
static wm_cost grouped_cost(const wmMatmulDesc *d) {
    enum { REPEAT = 8 * 5 * 7 * 11 };
    int64_t some = d->batch < REPEAT ? d->batch : REPEAT;
    double times = some > 0 ? (double)d->batch / (double)some : 0.0;
    wm_cost cost = {0, 0};
    wmMatmulGroup g;
    for (int64_t t = 0; t < some; t++) {
        wm_matmul_group_example(d, t, &g);
        double m = (double)g.m, n = (double)g.n, k = (double)g.k;
        cost.flops += 2.0 * m * n * k * (wm_type_is_complex(d->a.type) ? 4.0 : 1.0);
        cost.bytes += m * k * (double)wmTypeSize(d->a.type) + k * n * (double)wmTypeSize(d->b.type) +
                      m * n * (double)wmTypeSize(d->d.type);
    }
    return (wm_cost){cost.flops * times, cost.bytes * times};
}

static wm_cost matmul_cost(const wm_problem *problem) {
    const wmMatmulDesc *d = &problem->u.matmul;
    if (d->batch_mode == WM_BATCH_GROUPED) return grouped_cost(d);
    double m = (double)d->m, n = (double)d->n, k = (double)d->k, batch = (double)d->batch;
    int shared = d->batch_mode == WM_BATCH_STRIDED && d->batch > 1;
    double a = m * k * (double)wmTypeSize(d->a.type) * (shared ? matrices(&d->a, d->batch) : batch);
    double b = k * n * (double)wmTypeSize(d->b.type) * (shared ? matrices(&d->b, d->batch) : batch);
    double out = m * (double)wm_matmul_columns(d) * (double)(wmTypeSize(d->d.type) + wmTypeSize(d->r.type)) * batch;
    out += m * n * (double)wmTypeSize(d->z.type) * batch;
    double part = d->triangle ? 0.5 + 0.5 / n : 1.0; /* of D's elements */
    return (wm_cost){2.0 * m * n * k * batch * part * (wm_type_is_complex(d->a.type) ? 4.0 : 1.0), a + b + part * out};
}

/* The order of operands; bind reads the same. C is left out: the plain execution has beta 0. */
enum { OPERAND_A, OPERAND_B, OPERAND_D, OPERAND_FIXED };
enum { GROUP_NUMBERS = sizeof(wmMatmulGroup) / sizeof(int64_t) };

static void add_matrix(wm_operand *out, const char *name, const wmMatmulDesc *d, const wmMatrixDesc *matrix,
                       wm_role role) {
    wmMatrixDesc one = *matrix;
    if (d->batch_mode != WM_BATCH_STRIDED) /* one behind the other, each aligned as promised */
        one.batch_stride = wm_matmul_group_span(d, matrix, name[0]);
    *out = (wm_operand){name, matrix->type, wm_matrix_span(&one, wm_matmul_shape(d, name[0]), d->batch), role, 0, 0};
}

static int matmul_operands(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wmMatrixDesc *const matrices[] = {&d->a, &d->b, &d->d};
    int count = OPERAND_FIXED;
    add_matrix(&out[OPERAND_A], "a", d, &d->a, WM_INPUT);
    add_matrix(&out[OPERAND_B], "b", d, &d->b, WM_INPUT);
    add_matrix(&out[OPERAND_D], "d", d, &d->d, WM_OUTPUT);
    if (d->bias) out[count++] = (wm_operand){"bias", d->bias_type, d->bias == WM_BIAS_N ? d->n : d->m, WM_INPUT, 0, 0};
    if (d->a.scale) out[count++] = (wm_operand){"a_scale", WM_F32, wm_scale_values(d, &d->a), WM_INPUT, 0, 0};
    if (d->b.scale) out[count++] = (wm_operand){"b_scale", WM_F32, wm_scale_values(d, &d->b), WM_INPUT, 0, 0};
    if (d->d.scale) out[count++] = (wm_operand){"d_scale", WM_F32, wm_scale_values(d, &d->d), WM_INPUT, 0, 0};
    if (d->r.type) add_matrix(&out[count++], "r", d, &d->r, WM_INPUT);
    if (d->z.type) add_matrix(&out[count++], "z", d, &d->z, WM_OUTPUT);
    if (d->reduction)
        out[count++] =
            (wm_operand){"reduced", d->a.type == WM_F64 ? WM_F64 : WM_F32, wm_reduced_values(d), WM_OUTPUT, 0, 0};
    if (d->batch_mode == WM_BATCH_GROUPED)
        out[count++] = (wm_operand){"groups", WM_I64, d->batch * GROUP_NUMBERS, WM_GROUPS, 0, 0};
    if (d->batch_mode == WM_BATCH_POINTERS)
        for (int i = OPERAND_A; i < OPERAND_FIXED; i++)
            out[count++] = (wm_operand){out[i].name,    WM_U64, d->batch,
                                        WM_POINTERS_TO, i,      wm_matmul_group_span(d, matrices[i], out[i].name[0])};
    return count;
}

static void matmul_bind(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out) {
    const wmMatmulDesc *d = &problem->u.matmul;
    int next = OPERAND_FIXED;
    wmMatmulArgs args = wmMatmulArgsDefault(pointers[OPERAND_A], pointers[OPERAND_B], pointers[OPERAND_D]);
    if (d->bias) args.bias = pointers[next++];
    if (d->a.scale) args.a_scale = pointers[next++];
    if (d->b.scale) args.b_scale = pointers[next++];
    if (d->d.scale) args.d_scale = pointers[next++];
    if (d->r.type) args.r = pointers[next++];
    if (d->z.type) args.z = pointers[next++];
    if (d->reduction) args.reduced = pointers[next++];
    if (d->dropout) args.drop = 0.25;
    if (d->batch_mode == WM_BATCH_GROUPED) args.groups = pointers[next++];
    if (d->batch_mode == WM_BATCH_POINTERS) {
        args.a = pointers[next++];
        args.b = pointers[next++];
        args.d = pointers[next++];
    }
    out->matmul = args;
}

/* Unit roundoff of storing a value of the type. */
static double roundoff(wmType type) {
    switch (type) {
    case WM_F16:
        return 0x1p-11;
    case WM_BF16:
        return 0x1p-8;
    case WM_F8E4M3:
        return 0x1p-4;
    case WM_F8E5M2:
        return 0x1p-3;
    case WM_F64:
    case WM_C128:
        return 0x1p-53;
    default:
        return 0x1p-24;
    }
}

/*
 * Higham, Accuracy and Stability, 2nd ed., 3.1 and 3.5: a sum of k products errs by at most (k+2) u sum|a||b|, and by a
 * small multiple of sqrt(k) u sum|a||b| with high probability; the mean of |a||b| is 1/4 here, twice that for complex
 * values. Tensor cores truncate where FFMA rounds: one more bit. Two solvers differ by at most twice that.
 */
static wm_bound matmul_bound(const wm_problem *problem) {
    const wmMatmulDesc *d = &problem->u.matmul;
    if (d->compute == WM_COMPUTE_I32 && d->d.type == WM_I32) return (wm_bound){0, 0};
    double u = d->compute == WM_COMPUTE_F64 ? 0x1p-53 : 0x1p-23;
    double magnitude = (double)d->k * (wm_type_is_complex(d->a.type) ? 0.5 : 0.25) + (d->bias ? 1.0 : 0.0);
    double product = 8.0 * (sqrt((double)d->k) + 1.0) * u * (magnitude + 1.0);
    /* Hopper's tensor cores align 32 products of 8-bit floats to the largest number at hand and keep 2^-13 of it. */
    if (wm_type_is_fp8(d->a.type)) product += ((double)d->k / 32.0 + 2.0) * 0x1p-13 * (sqrt((double)d->k) / 2.0 + 1.0);
    if (d->compute == WM_COMPUTE_TF32) product += 0x1p-9 * sqrt((double)d->k); /* both operands rounded to 2^-11 */
    double activation = d->activation >= WM_ACT_GELU_TANH && d->d.type != WM_F64 ? 0x1p-10 : 0.0; /* hardware tanh */
    /* A vendor's fused gelu may take what was rounded to D's type (reference/oracle_matmul.h). */
    if (d->activation >= WM_ACT_GELU_TANH)
        activation += 0.25 * roundoff(d->d.type) * (sqrt((double)d->k) * 4.0 / 3.0 + 1.0);
    wm_bound bound = {2.0 * (product + activation), 4.0 * roundoff(d->d.type)};
    if (d->allow_3m) bound.absolute *= 3.0; /* of an imaginary part: three sums, of terms twice as large */
    if (d->gate) bound.absolute *= sqrt((double)d->k) * 4.0 / 3.0 + 1.0; /* a product of two results */
    if (d->z.type) bound.relative = fmax(bound.relative, 4.0 * roundoff(d->z.type));
    if (d->reduction == WM_REDUCE_ROW_SUM) bound.absolute *= (double)d->n;
    if (d->d.type == WM_I8) bound.absolute += 1.0; /* two sides of a half */
    return bound;
}

static const wm_feature names[] = {
    {WM_MM_F16,          "f16 operands"                          },
    {WM_MM_BF16,         "bf16 operands"                         },
    {WM_MM_F32,          "f32 operands"                          },
    {WM_MM_F64,          "f64 operands"                          },
    {WM_MM_C64,          "c64 operands"                          },
    {WM_MM_C128,         "c128 operands"                         },
    {WM_MM_FP8,          "fp8 operands"                          },
    {WM_MM_I8,           "i8 operands"                           },
    {WM_MM_MIXED,        "mixed types"                           },
    {WM_MM_TRANSPOSE,    "transposed operands"                   },
    {WM_MM_CONJUGATE,    "conjugated operands"                   },
    {WM_MM_COL_MAJOR,    "column-major operands"                 },
    {WM_MM_BATCH,        "batches"                               },
    {WM_MM_POINTERS,     "pointer-array batches"                 },
    {WM_MM_BIAS,         "a bias"                                },
    {WM_MM_ACTIVATION,   "an activation"                         },
    {WM_MM_SCALE,        "scale pointers"                        },
    {WM_MM_C_LAYOUT,     "a C whose type or layout is not D's"   },
    {WM_MM_TF32,         "compute tf32"                          },
    {WM_MM_STRICT,       "compute f32_strict"                    },
    {WM_MM_UNALIGNED,    "pointers aligned to less than 16 bytes"},
    {WM_MM_GPU_TO_GPU,   "determinism gpu_to_gpu"                },
    {WM_MM_GROUPED,      "grouped batches"                       },
    {WM_MM_SILU,         "silu"                                  },
    {WM_MM_GATE,         "a gate"                                },
    {WM_MM_RESIDUAL,     "a residual"                            },
    {WM_MM_KEPT,         "a z that is kept"                      },
    {WM_MM_REDUCTION,    "a reduction"                           },
    {WM_MM_DROPOUT,      "dropout"                               },
    {WM_MM_VECTOR_SCALE, "scales by row or block"                },
    {WM_MM_QUANTISE,     "results quantised to i8 or from it"    },
    {WM_MM_TRIANGLE,     "a triangle of D"                       },
    {WM_MM_FUNCTOR,      "a functor"                             },
    {0,                  NULL                                    },
};

const wm_operation wm_operation_matmul = {matmul_features, matmul_cost,  matmul_empty, matmul_operands,
                                          matmul_bind,     matmul_bound, names};
