/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host side of our matmul kernels: their parameter, filled in from a problem and its arguments. C++, included by
 * device/matmul_*.cu.
 */
#ifndef WM_DEVICE_MATMUL_JOB_H
#define WM_DEVICE_MATMUL_JOB_H

#include <warpmath/device/epilogue.cuh>

#include "lib/matmul_view.h"
#include "lib/solver.h"

/** One launch: D of `batch` products, cut into tiles_m · tiles_n tiles each. */
typedef struct wm_matmul_job {
    wm_i64 m, n, k, batch, tiles_m, tiles_n;
    wm_matrix_ref a, b;
    wm_epilogue epilogue;
    int d_by_rows;          /* D's rows are contiguous, else its columns */
    int vector_a, vector_b; /* every 16-byte group along the contiguous side is aligned */
} wm_matmul_job;

static inline wm_matrix_ref wm_matrix_ref_of(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *base) {
    wm_view view = wm_view_of(x);
    wm_matrix_ref ref = {
        base, view.row, view.col, view.batch, x->type & 0xff, view.conjugate, d->batch_mode == WM_BATCH_POINTERS};
    return ref;
}

/** Host values are rounded to the scale type here, f32 being the only one narrower than double. */
static inline wm_scalar_ref wm_scalar_ref_of(const wmScalar *scalar, wmType type) {
    int narrow = type == WM_F32 || type == WM_C64;
    wm_scalar_ref ref = {narrow ? (double)(float)scalar->re : scalar->re,
                         narrow ? (double)(float)scalar->im : scalar->im, NULL, type & 0xff};
    if (scalar->kind == WM_SCALAR_DEVICE) ref.device = scalar->device;
    return ref;
}

/** Whether 16-byte groups along the contiguous side of x are aligned, given what the problem promises. */
static inline int wm_matrix_is_vector(const wmMatrixDesc *x) {
    int64_t group = 16 / (int64_t)wmTypeSize(x->type);
    return x->align >= 16 && x->ld % group == 0 && x->batch_stride % group == 0;
}

static inline wm_matmul_job wm_matmul_job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, int tile_m, int tile_n) {
    wmType scale = wm_matmul_scale_type(d);
    wm_matmul_job job = {};
    job.m = d->m, job.n = d->n, job.k = d->k, job.batch = d->batch;
    job.tiles_m = (d->m + tile_m - 1) / tile_m;
    job.tiles_n = (d->n + tile_n - 1) / tile_n;
    job.a = wm_matrix_ref_of(d, &d->a, args->a);
    job.b = wm_matrix_ref_of(d, &d->b, args->b);
    job.epilogue.c = wm_matrix_ref_of(d, &d->c, args->c ? args->c : args->d);
    job.epilogue.d = wm_matrix_ref_of(d, &d->d, args->d);
    job.epilogue.bias = args->bias;
    job.epilogue.bias_type = d->bias_type & 0xff;
    job.epilogue.bias_along = (int)d->bias;
    job.epilogue.activation = (int)d->activation;
    job.epilogue.alpha = wm_scalar_ref_of(&args->alpha, scale);
    job.epilogue.beta = wm_scalar_ref_of(&args->beta, scale);
    if (args->alpha.kind == WM_SCALAR_DEFAULT) job.epilogue.alpha.re = 1.0;
    if (d->a.scale) job.epilogue.a_scale = static_cast<const float *>(args->a_scale);
    if (d->b.scale) job.epilogue.b_scale = static_cast<const float *>(args->b_scale);
    if (d->d.scale) job.epilogue.d_scale = static_cast<const float *>(args->d_scale);
    job.d_by_rows = d->d.order == WM_ROW_MAJOR;
    job.vector_a = wm_matrix_is_vector(&d->a);
    job.vector_b = wm_matrix_is_vector(&d->b);
    return job;
}

/** Blocks for that many tiles: one each, up to what a grid takes; kernels loop over the rest. */
static inline unsigned wm_matmul_blocks(const wm_matmul_job *job) {
    double tiles = (double)job->tiles_m * (double)job->tiles_n * (double)job->batch;
    return tiles < 2147483647.0 ? (unsigned)tiles : 2147483647u;
}

/* bias and activation values are the public enums' own. */
static_assert((int)WM_EPILOGUE_BIAS_N == (int)WM_BIAS_N && (int)WM_EPILOGUE_BIAS_M == (int)WM_BIAS_M, "bias");
static_assert((int)WM_EPILOGUE_RELU == (int)WM_ACT_RELU && (int)WM_EPILOGUE_GELU_TANH == (int)WM_ACT_GELU_TANH &&
                  (int)WM_EPILOGUE_GELU_ERF == (int)WM_ACT_GELU_ERF,
              "activation");
static_assert(WM_ELEMENT_BF16 == (WM_BF16 & 0xff) && WM_ELEMENT_E5M2 == (WM_F8E5M2 & 0xff), "types");

#endif
