/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenBLAS as a function table, and the check that it passes before this library believes it. OpenBLAS picks its
 * kernels by the processor at run time, and some of them have been wrong for some shapes; a wrong judge is worse than
 * none. So each of the four products runs, once a process, on shapes that reach its small, blocked and edge code, with
 * every op and order, and with NaN in the C that beta = 0 must not read.
 */
#include "reference/openblas.h"
#include "lib/context.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*gemm_f32)(int order, int op_a, int op_b, int m, int n, int k, float alpha, const float *a, int lda,
                         const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*gemm_f64)(int order, int op_a, int op_b, int m, int n, int k, double alpha, const double *a, int lda,
                         const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*gemm_complex)(int order, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                             int lda, const void *b, int ldb, const void *beta, void *c, int ldc);

static struct {
    gemm_f32 f32;
    gemm_f64 f64;
    gemm_complex c64, c128;
    char why[256]; /* it is not trusted; "": it is */
} blas;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void wm_openblas_gemm(const wm_gemm *g) {
    float alpha[2] = {(float)g->alpha.re, (float)g->alpha.im}, beta[2] = {(float)g->beta.re, (float)g->beta.im};
    switch (g->type) {
    case WM_F32:
        blas.f32(g->order, g->op_a, g->op_b, g->m, g->n, g->k, alpha[0], g->a, g->lda, g->b, g->ldb, beta[0], g->c,
                 g->ldc);
        break;
    case WM_F64:
        blas.f64(g->order, g->op_a, g->op_b, g->m, g->n, g->k, g->alpha.re, g->a, g->lda, g->b, g->ldb, g->beta.re,
                 g->c, g->ldc);
        break;
    case WM_C64:
        blas.c64(g->order, g->op_a, g->op_b, g->m, g->n, g->k, alpha, g->a, g->lda, g->b, g->ldb, beta, g->c, g->ldc);
        break;
    default:
        blas.c128(g->order, g->op_a, g->op_b, g->m, g->n, g->k, &g->alpha, g->a, g->lda, g->b, g->ldb, &g->beta, g->c,
                  g->ldc);
        break;
    }
}

/* ---- The check ---- */

enum { LARGEST = 160, PAD = 3, ELEMENTS = LARGEST * (LARGEST + PAD) };

/* Values in (-1, 1) from a 64-bit linear congruential generator. */
static void fill(wmType type, void *array, uint64_t *state) {
    for (int64_t i = 0; i < ELEMENTS; i++) {
        wm_number x;
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        x.re = (double)(int32_t)(*state >> 32) * 0x1p-31;
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        x.im = (double)(int32_t)(*state >> 32) * 0x1p-31;
        wm_number_store(type, array, i, x);
    }
}

/* Element (i, j) of op(X). */
static wm_number at(const wm_gemm *g, const void *x, int ld, int op, int64_t i, int64_t j) {
    int by_rows = (g->order == WM_BLAS_ROW) == (op == WM_BLAS_N || op == WM_BLAS_CONJ);
    wm_number value = wm_number_load(g->type, x, by_rows ? i * ld + j : j * ld + i);
    if (op == WM_BLAS_C || op == WM_BLAS_CONJ) value.im = -value.im;
    return value;
}

/* 1 if element (i, j) of C is right, given what it was before: |error| <= gamma (|alpha| sum |a||b| + |beta||c|). */
static int right(const wm_gemm *g, const void *before, int64_t i, int64_t j) {
    double u = g->type == WM_F32 || g->type == WM_C64 ? 0x1p-24 : 0x1p-52; /* the reference sums in double too */
    double re = 0.0, im = 0.0, size = 0.0;
    for (int64_t p = 0; p < g->k; p++) {
        wm_number a = at(g, g->a, g->lda, g->op_a, i, p), b = at(g, g->b, g->ldb, g->op_b, p, j);
        re += a.re * b.re - a.im * b.im;
        im += a.re * b.im + a.im * b.re;
        size += (fabs(a.re) + fabs(a.im)) * (fabs(b.re) + fabs(b.im));
    }
    wm_number want = {g->alpha.re * re - g->alpha.im * im, g->alpha.re * im + g->alpha.im * re};
    size *= fabs(g->alpha.re) + fabs(g->alpha.im);
    if (g->beta.re != 0.0 || g->beta.im != 0.0) {
        wm_number c = at(g, before, g->ldc, WM_BLAS_N, i, j);
        want.re += g->beta.re * c.re - g->beta.im * c.im;
        want.im += g->beta.re * c.im + g->beta.im * c.re;
        size += (fabs(g->beta.re) + fabs(g->beta.im)) * (fabs(c.re) + fabs(c.im));
    }
    double bound = (2.0 * g->k + 8.0) * u * size;
    wm_number got = at(g, g->c, g->ldc, WM_BLAS_N, i, j);
    return fabs(got.re - want.re) <= bound && fabs(got.im - want.im) <= bound;
}

/* One product; `before` holds C's old values. Of large ones an eighth of the elements is looked at, another each time.
 */
static int passes(const wm_gemm *g, const void *before, int variant) {
    int64_t step = (int64_t)g->m * g->n * g->k > 20000 ? 8 : 1;
    memcpy(g->c, before, ELEMENTS * wmTypeSize(g->type));
    wm_openblas_gemm(g);
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = (i * 3 + variant) % step; j < g->n; j += step)
            if (!right(g, before, i, j)) return 0;
    return 1;
}

static const int shapes[][3] = {
    {1,   1,   1 },
    {1,   37,  64},
    {33,  1,   50},
    {5,   7,   3 },
    {16,  16,  16},
    {31,  65,  17},
    {100, 64,  96},
    {129, 160, 97},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

enum { A, B, OLD, NANS, C, ROOMS };

/* Bits of a variant: op of A, op of B (2 each), order, beta. Leading dimensions are the widest, so that they fit all.
 */
static int check_shape(wmType type, int s, int variant, char *room[ROOMS]) {
    static const int ops[] = {WM_BLAS_N, WM_BLAS_T, WM_BLAS_C, WM_BLAS_CONJ};
    int keep = variant & 32, complex = type == WM_C64 || type == WM_C128;
    wm_number none = {0.0, 0.0}, alpha = {1.25, complex ? -0.5 : 0.0}, beta = {-0.75, 0.0};
    wm_gemm g = {.type = type,
                 .order = variant & 16 ? WM_BLAS_COL : WM_BLAS_ROW,
                 .op_a = ops[variant % 4],
                 .op_b = ops[variant / 4 % 4],
                 .m = shapes[s][0],
                 .n = shapes[s][1],
                 .k = shapes[s][2],
                 .alpha = alpha,
                 .beta = keep ? beta : none,
                 .a = room[A],
                 .b = room[B],
                 .c = room[C],
                 .lda = LARGEST + PAD,
                 .ldb = LARGEST + PAD,
                 .ldc = LARGEST + PAD};
    if (!complex && (variant % 4 > 1 || variant / 4 % 4 > 1)) return 1;
    if (complex && variant % 3 != s % 3) return 1;
    if (passes(&g, room[keep ? OLD : NANS], variant)) return 1;
    snprintf(blas.why, sizeof blas.why,
             "OpenBLAS %s gives a wrong %s product of %d x %d x %d (order %d, ops %d %d, beta %g)",
             wm_library_version(WM_LIB_OPENBLAS), wmTypeName(type), g.m, g.n, g.k, g.order, g.op_a, g.op_b, g.beta.re);
    return 0;
}

static int check_type(wmType type, char *room[ROOMS]) {
    uint64_t state = (uint64_t)type;
    wm_number nan = {NAN, NAN};
    for (int i = A; i <= OLD; i++) fill(type, room[i], &state);
    for (int64_t i = 0; i < ELEMENTS; i++) wm_number_store(type, room[NANS], i, nan);
    for (int variant = 0; variant < 64; variant++)
        for (int s = 0; s < SHAPES; s++)
            if (!check_shape(type, s, variant, room)) return 0;
    return 1;
}

static void find_and_check(void) {
    static const wmType types[] = {WM_F32, WM_F64, WM_C64, WM_C128};
    const char *why = "";
    if (!wm_library_get(WM_LIB_OPENBLAS, &why)) {
        snprintf(blas.why, sizeof blas.why, "%s", why);
        return;
    }
    *(void **)&blas.f32 = wm_library_symbol(WM_LIB_OPENBLAS, "cblas_sgemm");
    *(void **)&blas.f64 = wm_library_symbol(WM_LIB_OPENBLAS, "cblas_dgemm");
    *(void **)&blas.c64 = wm_library_symbol(WM_LIB_OPENBLAS, "cblas_cgemm");
    *(void **)&blas.c128 = wm_library_symbol(WM_LIB_OPENBLAS, "cblas_zgemm");
    if (!blas.f32 || !blas.f64 || !blas.c64 || !blas.c128) {
        snprintf(blas.why, sizeof blas.why, "OpenBLAS lacks one of cblas_{s,d,c,z}gemm");
        return;
    }
    char *room[ROOMS];
    wm_number *all = calloc((size_t)ROOMS * ELEMENTS, sizeof *all);
    if (!all) snprintf(blas.why, sizeof blas.why, "no memory to check OpenBLAS with");
    for (int i = 0; i < ROOMS && all; i++) room[i] = (char *)(all + (size_t)i * ELEMENTS);
    for (int i = 0; i < 4 && all; i++)
        if (!check_type(types[i], room)) break;
    free(all);
}

wmStatus wm_openblas_ready(void) {
    pthread_once(&once, find_and_check);
    return blas.why[0] ? wm_fail(WM_ERR_VENDOR, "%s", blas.why) : WM_OK;
}
