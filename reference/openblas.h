/* SPDX-License-Identifier: Apache-2.0 */
/* One call for OpenBLAS's four products, and the check that it passes before it is trusted. */
#ifndef WM_REFERENCE_OPENBLAS_H
#define WM_REFERENCE_OPENBLAS_H

#include "lib/status.h"
#include "reference/number.h"

/** CBLAS's own constants. */
enum {
    WM_BLAS_ROW = 101,
    WM_BLAS_COL = 102,
    WM_BLAS_N = 111,
    WM_BLAS_T = 112,
    WM_BLAS_C = 113,
    WM_BLAS_CONJ = 114 /* conjugate, not transposed: OpenBLAS's extension */
};

/** C (m × n, leading dimension ldc) = alpha · op(A) · op(B) + beta · C, all of `type` f32, f64, c64 or c128. */
typedef struct wm_gemm {
    wmType type;
    int order, op_a, op_b;
    int m, n, k;
    wm_number alpha, beta;
    const void *a, *b;
    void *c;
    int lda, ldb, ldc;
} wm_gemm;

/** Calls OpenBLAS, which wm_openblas_ready() has found. */
void wm_openblas_gemm(const wm_gemm *g);

/**
 * Finds the four functions and, once a process, checks their results on products of many shapes, a second at most.
 * WM_ERR_VENDOR with what went wrong otherwise.
 */
wmStatus wm_openblas_ready(void);

#endif
