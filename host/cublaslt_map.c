/* SPDX-License-Identifier: Apache-2.0 */
/* Problems as calls of cuBLASLt: no more than arithmetic on descs, so that it is tested anywhere. */
#include "cublaslt.h"
#include "lib/matmul_view.h"

static int half(wmType type) {
    return type == WM_F16 || type == WM_BF16;
}

/* ---- Types, as in the tables of cuBLAS' manual, section cublasLtMatmul() ---- */

static int fp8_types_fit(const wmMatmulDesc *d, wm_why *why) {
    int wide = half(d->d.type) || d->d.type == WM_F32;
    int e5m2 = (d->a.type == WM_F8E5M2) + (d->b.type == WM_F8E5M2);
    if (!wm_type_is_fp8(d->b.type) || e5m2 == 2)
        return wm_refuse(why, "cuBLASLt does not multiply %s by %s", wmTypeName(d->a.type), wmTypeName(d->b.type));
    if (d->d.scale) return wm_refuse(why, "d has a scale; cuBLASLt multiplies by it where it should divide");
    if (wide && d->c.type == d->d.type) return 1;
    if (wide || !half(d->c.type))
        return wm_refuse(why, "c is %s and d %s; cuBLASLt's c is d's type, or f16 or bf16 for an fp8 d",
                         wmTypeName(d->c.type), wmTypeName(d->d.type));
    if (d->d.type == WM_F8E4M3 || (d->d.type == WM_F8E5M2 && e5m2)) return 1;
    return wm_refuse(why, "d is %s; cuBLASLt has no such product of %s and %s", wmTypeName(d->d.type),
                     wmTypeName(d->a.type), wmTypeName(d->b.type));
}

static int types_fit(const wmMatmulDesc *d, wm_why *why) {
    wmType wide = d->a.type == WM_I8 ? WM_I32 : half(d->a.type) ? WM_F32 : d->a.type;
    int same = d->a.type != WM_I8 && d->d.type == d->a.type;
    if (wm_type_is_fp8(d->a.type)) return fp8_types_fit(d, why);
    if (d->b.type != d->a.type || !(same || d->d.type == wide))
        return wm_refuse(why, "cuBLASLt has no product of %s and %s to %s", wmTypeName(d->a.type),
                         wmTypeName(d->b.type), wmTypeName(d->d.type));
    if (d->c.type != d->d.type)
        return wm_refuse(why, "c is %s and d %s; cuBLASLt wants one type", wmTypeName(d->c.type),
                         wmTypeName(d->d.type));
    return 1;
}

static int compute_of(const wmMatmulDesc *d) {
    int single = d->a.type == WM_F32 || d->a.type == WM_C64;
    switch (d->compute) {
    case WM_COMPUTE_F64:
        return WM_LT_64F;
    case WM_COMPUTE_I32:
        return WM_LT_32I;
    case WM_COMPUTE_F32_STRICT:
        return WM_LT_32F_PEDANTIC;
    case WM_COMPUTE_TF32:
        return single ? WM_LT_32F_FAST_TF32 : WM_LT_32F;
    default:
        return WM_LT_32F;
    }
}

/* ---- Epilogues ---- */

/* The bias that goes with D's type; in fp8 products it is as narrow as C, bf16 beside f32. */
static wmType bias_type_of(const wmMatmulDesc *d) {
    if (!wm_type_is_fp8(d->a.type)) return d->d.type;
    return d->c.type == WM_F32 ? WM_BF16 : d->c.type;
}

static int map_epilogue(const wmMatmulDesc *d, wm_lt_call *call, wm_why *why) {
    static const int activations[] = {0, WM_LT_RELU, WM_LT_GELU};
    /* Its bias is a value a row of its own D: a value a column of a row-major one. */
    wmBias possible = call->swapped ? WM_BIAS_N : WM_BIAS_M;
    call->epilogue = WM_LT_DEFAULT;
    call->bias_type = -1;
    if (!d->bias && !d->activation) return 1;
    if (!half(d->a.type) && !wm_type_is_fp8(d->a.type) && d->a.type != WM_F32)
        return wm_refuse(why, "cuBLASLt adds no bias or activation to %s products", wmTypeName(d->a.type));
    if (d->activation == WM_ACT_GELU_ERF) return wm_refuse(why, "cuBLASLt's gelu is the tanh form");
    if (d->activation == WM_ACT_GELU_TANH && d->d.type == WM_F32)
        return wm_refuse(why, "cuBLASLt's gelu takes the hardware's tanh, which is too coarse for an f32 d");
    if (d->bias && d->bias != possible)
        return wm_refuse(why, "cuBLASLt's bias is one value a %s of a %s-major d", call->swapped ? "column" : "row",
                         call->swapped ? "row" : "column");
    if (d->bias && d->bias_type != bias_type_of(d))
        return wm_refuse(why, "bias_type is %s; cuBLASLt's is %s here", wmTypeName(d->bias_type),
                         wmTypeName(bias_type_of(d)));
    call->epilogue = activations[d->activation] | (d->bias ? WM_LT_BIAS : 0);
    if (d->bias) call->bias_type = wmTypeToCuda(d->bias_type);
    return 1;
}

/* ---- Layouts ---- */

/* Op(X) of rows × cols; `flip`: its transpose. */
static int map_operand(const wmMatrixDesc *x, char name, int64_t rows, int64_t cols, int flip, wm_lt_matrix *out,
                       wm_why *why) {
    wm_view view = wm_view_of(x);
    int by_rows = (x->order == WM_ROW_MAJOR) == (x->op == WM_OP_NONE); /* rows of op(X) are contiguous */
    int64_t across = flip ? cols : rows, along = flip ? rows : cols;
    int plain = flip ? by_rows : !by_rows; /* columns of what cuBLASLt multiplies are contiguous */
    if (plain && view.conjugate)
        return wm_refuse(why, "%c would be conjugated without being transposed, which cuBLASLt does not do", name);
    *out = (wm_lt_matrix){wmTypeToCuda(x->type),  plain ? across : along,
                          plain ? along : across, x->ld,
                          x->batch_stride,        plain ? WM_LT_OP_N : view.conjugate ? WM_LT_OP_C : WM_LT_OP_T};
    return 1;
}

static wm_lt_matrix map_result(const wmMatmulDesc *d, const wmMatrixDesc *x) {
    int by_rows = x->order == WM_ROW_MAJOR;
    return (wm_lt_matrix){
        wmTypeToCuda(x->type), by_rows ? d->n : d->m, by_rows ? d->m : d->n, x->ld, x->batch_stride, WM_LT_OP_N};
}

static int sizes_fit(const wmMatmulDesc *d, wm_why *why) {
    const int64_t sizes[] = {d->m, d->n, d->k, d->batch};
    if (d->k == 0) return wm_refuse(why, "k is 0, and cuBLASLt wants at least 1");
    for (int i = 0; i < 4; i++)
        if (sizes[i] > INT32_MAX)
            return wm_refuse(why, "%.1s%s is %lld, more than cuBLASLt's 32 bits", &"mnkb"[i], i == 3 ? "atch" : "",
                             (long long)sizes[i]);
    return 1;
}

int wm_lt_map(const wmMatmulDesc *d, wm_lt_call *call, wm_why *why) {
    int flip = d->d.order == WM_ROW_MAJOR;
    wm_lt_matrix a, b;
    *call = (wm_lt_call){.swapped = flip, .batch = (int32_t)d->batch, .pointers = d->batch_mode == WM_BATCH_POINTERS};
    if (!sizes_fit(d, why) || !types_fit(d, why) || !map_epilogue(d, call, why)) return 0;
    if (d->c.order != d->d.order) return wm_refuse(why, "c's order is not d's, which cuBLASLt wants");
    if (!map_operand(&d->a, 'a', d->m, d->k, flip, &a, why)) return 0;
    if (!map_operand(&d->b, 'b', d->k, d->n, flip, &b, why)) return 0;
    call->a = flip ? b : a;
    call->b = flip ? a : b;
    call->c = map_result(d, &d->c);
    call->d = map_result(d, &d->d);
    call->compute = compute_of(d);
    call->scale = wmTypeToCuda(wm_matmul_scale_type(d));
    call->a_scale = (flip ? d->b.scale : d->a.scale) == WM_SCALE_TENSOR;
    call->b_scale = (flip ? d->a.scale : d->b.scale) == WM_SCALE_TENSOR;
    return 1;
}
