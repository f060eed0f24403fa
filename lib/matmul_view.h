/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the elements of a product's operands are, once op, order and leading dimension are folded into two strides; and
 * the facts of types that every matmul solver asks for. Header-only, C and C++. Descs are resolved: no zero defaults.
 */
#ifndef WM_LIB_MATMUL_VIEW_H
#define WM_LIB_MATMUL_VIEW_H

#include "fields.h"

#include <warpmath/matmul.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element (i, j) of op(X) of product t is at base + t · batch + i · row + j · col, conjugated if conjugate is 1. */
typedef struct wm_view {
    int64_t row, col, batch;
    int conjugate;
} wm_view;

static inline int wm_type_is_fp8(wmType type) {
    return type == WM_F8E4M3 || type == WM_F8E5M2;
}

static inline wm_view wm_view_of(const wmMatrixDesc *x) {
    int by_rows = (x->order == WM_ROW_MAJOR) == (x->op == WM_OP_NONE);
    wm_view view = {by_rows ? x->ld : 1, by_rows ? 1 : x->ld, x->batch_stride, 0};
    view.conjugate = x->op == WM_OP_CONJ_TRANSPOSE && wm_type_is_complex(x->type);
    return view;
}

/** Matrix t of the batch of operand `x`, whose args pointer is `arg`; host side, so for pointer arrays on the CPU
 * place. */
static inline const void *wm_matrix_at(const wmMatmulDesc *desc, const wmMatrixDesc *x, const void *arg, int64_t t) {
    if (desc->batch_mode == WM_BATCH_POINTERS) return ((const void *const *)arg)[t];
    return (const char *)arg + t * x->batch_stride * (int64_t)wmTypeSize(x->type);
}

/** Group g of a grouped batch as a product of its own; host side, so on the CPU place. */
static inline void wm_matmul_group_of(const wmMatmulDesc *desc, const wmMatmulArgs *args, const wmMatmulGroup *g,
                                      wmMatmulDesc *one, wmMatmulArgs *one_args) {
    *one = *desc;
    *one_args = *args;
    one->batch = 1;
    one->batch_mode = WM_BATCH_STRIDED;
    one->m = g->m < 0 ? 0 : g->m < desc->m ? g->m : desc->m;
    one->n = g->n < 0 ? 0 : g->n < desc->n ? g->n : desc->n;
    one->k = g->k < 0 ? 0 : g->k < desc->k ? g->k : desc->k;
    int64_t c = args->c == args->d ? g->d : g->c;
    one_args->a = (const char *)args->a + g->a * (int64_t)wmTypeSize(desc->a.type);
    one_args->b = (const char *)args->b + g->b * (int64_t)wmTypeSize(desc->b.type);
    one_args->c = (const char *)args->c + c * (int64_t)wmTypeSize(desc->c.type);
    one_args->d = (char *)args->d + g->d * (int64_t)wmTypeSize(desc->d.type);
}

/** The type that alpha and beta are converted to. */
static inline wmType wm_matmul_scale_type(const wmMatmulDesc *desc) {
    switch (desc->a.type) {
    case WM_F64:
    case WM_C64:
    case WM_C128:
        return desc->a.type;
    case WM_I8:
        return desc->d.type == WM_I32 ? WM_I32 : WM_F32;
    default:
        return WM_F32;
    }
}

/** 1 if the scalar is a host value, and that one. Where alpha is the host's 0, A and B may be NULL. */
static inline int wm_scalar_is(const wmScalar *s, double value) {
    return s->kind == WM_SCALAR_HOST && s->re == value && s->im == 0;
}

/** Columns of D. */
static inline int64_t wm_matmul_columns(const wmMatmulDesc *desc) {
    return desc->gate ? desc->n / 2 : desc->n;
}

/** 1 if x has a scale for each block of 128 of k; how many of them a line has. */
static inline int wm_scale_is_block(const wmMatrixDesc *x) {
    return x->scale == WM_SCALE_1X128 || x->scale == WM_SCALE_128X128;
}
static inline int64_t wm_scale_blocks(const wmMatmulDesc *desc) {
    return (desc->k + 127) / 128;
}

/** 1 if the triangle that is asked for has D(i, j). */
static inline int wm_matmul_has(const wmMatmulDesc *desc, int64_t i, int64_t j) {
    return desc->triangle == WM_TRIANGLE_ALL || (desc->triangle == WM_TRIANGLE_LOWER ? j <= i : j >= i);
}

/** Values of the scale of operand x, for one product. */
static inline int64_t wm_scale_length(const wmMatmulDesc *desc, const wmMatrixDesc *x) {
    if (x->scale == WM_SCALE_ROW) return desc->m;
    if (x->scale == WM_SCALE_COLUMN) return x == &desc->d ? wm_matmul_columns(desc) : desc->n;
    if (!wm_scale_is_block(x)) return 1;
    int64_t lines = x == &desc->a ? desc->m : desc->n;
    return (x->scale == WM_SCALE_1X128 ? lines : (lines + 127) / 128) * wm_scale_blocks(desc);
}

/** Values from one product's scale to the next one's. */
static inline int64_t wm_scale_stride(const wmMatmulDesc *desc, const wmMatrixDesc *x) {
    return x->scale > WM_SCALE_TENSOR && x->batch_stride ? wm_scale_length(desc, x) : 0;
}

/** Values in all. */
static inline int64_t wm_scale_values(const wmMatmulDesc *desc, const wmMatrixDesc *x) {
    int64_t stride = wm_scale_stride(desc, x);
    return wm_scale_length(desc, x) + (desc->batch > 1 ? stride * (desc->batch - 1) : 0);
}

/** Values that the reduction gives. */
static inline int64_t wm_reduced_values(const wmMatmulDesc *desc) {
    return desc->reduction == WM_REDUCE_NONE ? 0 : desc->reduction == WM_REDUCE_ABSMAX ? 1 : desc->m * desc->batch;
}

#ifdef __cplusplus
}
#endif

#endif
