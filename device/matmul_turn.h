/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host side, for kernels that want D by rows: where D's columns are contiguous the transposed product is done,
 * Dᵀ = op(B)ᵀ · op(A)ᵀ. A turned product is described here, with the facts that several solvers ask of it. C++.
 */
#ifndef WM_DEVICE_MATMUL_TURN_H
#define WM_DEVICE_MATMUL_TURN_H

#include "device/matmul_job.h"

/** An operand with its strides: `row` along the output's dimension (m of A, n of B), `k` along the sum. */
typedef struct wm_side {
    const wmMatrixDesc *desc;
    int64_t count, row, k; /* rows of A or columns of B; strides, one of which is 1 */
    int by_k;              /* k is contiguous in memory */
} wm_side;

typedef struct wm_turned {
    wm_side a, b;
    int swapped;
} wm_turned;

static inline wm_turned wm_turn(const wmMatmulDesc *d, int swap) {
    wm_view a = wm_view_of(&d->a), b = wm_view_of(&d->b);
    int a_by_k = (d->a.order == WM_ROW_MAJOR) == (d->a.op == WM_OP_NONE);
    int b_by_k = (d->b.order == WM_COL_MAJOR) == (d->b.op == WM_OP_NONE);
    wm_side x = {&d->a, d->m, a.row, a.col, a_by_k}, y = {&d->b, d->n, b.col, b.row, b_by_k};
    wm_turned turned = {x, y, 0};
    if (swap) turned.a = y, turned.b = x, turned.swapped = 1;
    return turned;
}

/** The epilogue of the turned product, whose D(i, j) is the problem's D(j, i) where it is swapped. */
static inline wm_epilogue wm_turn_epilogue(const wm_matmul_job *job, int swapped) {
    wm_epilogue e = job->epilogue;
    if (!swapped) return e;
    wm_matrix_ref *const both[2] = {&e.c, &e.d};
    for (int i = 0; i < 2; i++) {
        wm_i64 row = both[i]->row;
        both[i]->row = both[i]->col;
        both[i]->col = row;
    }
    if (e.bias_along) e.bias_along = e.bias_along == WM_EPILOGUE_BIAS_N ? WM_EPILOGUE_BIAS_M : WM_EPILOGUE_BIAS_N;
    return e;
}

/** Whether D = alpha · sum of A's type, when beta is 0. */
static inline int wm_is_plain(const wmMatmulDesc *d) {
    return d->d.type == d->a.type && !d->bias && !d->activation && !d->d.scale;
}

/** Whether `v` neighbours in a row of the turned D, wholly inside it, are one access. */
static inline int wm_turn_is_vector_d(const wmMatmulDesc *d, const wm_turned *x, int v) {
    int by_rows = (d->d.order == WM_ROW_MAJOR) != x->swapped;
    return by_rows && x->b.count % v == 0 && d->d.ld % v == 0 && d->d.batch_stride % v == 0 &&
           d->d.align >= v * (int64_t)wmTypeSize(d->d.type);
}

/** Why a kernel with one operand type and its natural sums does not take the problem; NULL: it does. */
static inline const char *wm_natural_refusal(const wmMatmulDesc *d) {
    if (d->b.type != d->a.type) return "A and B are of two types";
    int wide = d->a.type == WM_F64 || d->a.type == WM_C128;
    if ((d->compute == WM_COMPUTE_F64) != wide) return "it sums in the operands' own precision";
    if (wm_type_is_complex(d->a.type) && d->d.type != d->a.type) return "D of a complex product is not of A's type";
    if (!wide && d->d.type == WM_F64) return "its f32 sums are too short for an f64 D";
    return NULL;
}

#endif
