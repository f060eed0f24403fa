/* SPDX-License-Identifier: Apache-2.0 */
/* Host side that the wgmma solvers share: what they refuse, and the parts of a launch that look alike. */
#ifndef WM_DEVICE_MATMUL_WGMMA_PLAN_H
#define WM_DEVICE_MATMUL_WGMMA_PLAN_H

#include "device/matmul_job.h"
#include "device/matmul_wgmma.cuh"

enum { WM_WGMMA_MOST = 0x7fffffff };

static inline int wm_wgmma_is_shared(const wmMatmulDesc *d, const wmMatrixDesc *x) {
    return d->batch == 1 || x->batch_stride == 0;
}

static inline int wm_wgmma_is_result(wmType type) {
    return type == WM_F16 || type == WM_BF16 || type == WM_F32;
}

/* Whether four neighbours of x are one access. */
static inline int wm_wgmma_is_vector4(const wmMatmulDesc *d, const wmMatrixDesc *x) {
    return x->order == d->d.order && x->align >= 4 * (int64_t)wmTypeSize(x->type) && x->ld % 4 == 0 &&
           (wm_wgmma_is_shared(d, x) || x->batch_stride % 4 == 0);
}

/* Whether this library was built for Hopper: kernels built for others are empty. */
static inline int wm_wgmma_has_code(void) {
#ifdef __CUDA_ARCH_LIST__
    static constexpr int built_for[] = {__CUDA_ARCH_LIST__};
    for (int architecture : built_for)
        if (architecture == 900) return 1;
#endif
    return 0;
}

/* Whether tensor maps can be made here: tries one. */
static inline int wm_wgmma_has_maps(wmContext *context) {
    const wm_gpu *gpu = wm_context_gpu(context);
    alignas(64) unsigned char map[sizeof(wm_tensor_map)];
    wm_tensor t = {
        (const void *)4096, WM_F16, {64, 64, 1},
            {64,  4096  },
            {64,  64}
    };
    return gpu->tensor_map(gpu->self, &t, map) == 0;
}

/* Why none of these solvers takes the problem on this device, or NULL. */
static inline const char *wm_wgmma_refusal(wmContext *context, const wmMatmulDesc *d) {
    if (wm_context_device(context)->sm != 90) return "the device is not sm_90";
    if (!wm_wgmma_is_result(d->d.type)) return "D is not f16, bf16 or f32";
    if (!wm_wgmma_is_result(d->c.type)) return "C is not f16, bf16 or f32";
    if (d->bias && !wm_wgmma_is_result(d->bias_type)) return "the bias is not f16, bf16 or f32";
    const int64_t far = 1ll << 38; /* strides of a tensor map are under 2^40 bytes */
    if (d->a.ld >= far || d->b.ld >= far || d->d.ld >= far || d->a.batch_stride >= far || d->b.batch_stride >= far ||
        d->d.batch_stride >= far)
        return "a stride is 2^38 elements or more";
    if (d->m >= WM_WGMMA_MOST || d->n >= WM_WGMMA_MOST || d->k >= WM_WGMMA_MOST) return "m, n or k is 2^31 or more";
    double tiles = (double)((d->m + 255) / 128) * (double)((d->n + 255) / 64) * (double)d->batch;
    if (tiles >= WM_WGMMA_MOST) return "there are 2^31 tiles or more";
    if (!wm_wgmma_has_code()) return "this warpmath was built without sm_90a";
    if (!wm_wgmma_has_maps(context)) return "the driver makes no tensor maps";
    return NULL;
}

/* Sizes and the way out. m, n: D's rows and columns as the kernel sees them; group: rows walked together. */
static inline wm_wgmma_job wm_wgmma_job_of(const wmMatmulDesc *d, int64_t m, int64_t n, int tile_n, int cluster,
                                           int group) {
    wm_wgmma_job job = {};
    int swapped = d->d.order == WM_COL_MAJOR;
    wm_view c = wm_view_of(&d->c);
    job.m = (int)m;
    job.n = (int)n;
    job.rows = (int)((m + (int64_t)WM_WGMMA_M * cluster - 1) / ((int64_t)WM_WGMMA_M * cluster));
    job.columns = (int)((n + tile_n - 1) / tile_n);
    job.batch = (int)d->batch;
    job.group = group / cluster;
    job.a_batch = !wm_wgmma_is_shared(d, swapped ? &d->b : &d->a);
    job.b_batch = !wm_wgmma_is_shared(d, swapped ? &d->a : &d->b);
    job.d_i = d->d.ld;
    job.c_i = swapped ? c.col : c.row;
    job.c_j = swapped ? c.row : c.col;
    job.bias_j = (d->bias == WM_BIAS_N) != swapped;
    job.vector = wm_wgmma_is_vector4(d, &d->d) && wm_wgmma_is_vector4(d, &d->c);
    job.map_d = wm_matrix_is_vector(&d->d);
    return job;
}

/* The map of a warp's part of D, when job.map_d. */
static inline wm_tensor wm_wgmma_d_tensor(const wmMatmulDesc *d, const wm_wgmma_job *job, void *base, int tile_n) {
    wm_tensor t = {};
    int shared = wm_wgmma_is_shared(d, &d->d);
    t.base = base;
    t.type = d->d.type;
    t.dim[0] = job->n;
    t.dim[1] = job->m;
    t.dim[2] = shared ? 1 : d->batch;
    t.stride[0] = d->d.ld;
    t.stride[1] = shared ? d->d.ld : d->d.batch_stride;
    t.box[0] = d->d.type == WM_F32 ? 32 : wm_wgmma_out_columns(tile_n);
    t.box[1] = 16;
    return t;
}

/* A block a multiprocessor, or fewer. */
static inline wm_launch wm_wgmma_launch_of(wmContext *context, const wm_wgmma_job *job, int cluster, const void *kernel,
                                           size_t shared) {
    wm_launch launch = {};
    int units = job->rows * job->columns * job->batch;
    int together = wm_context_device(context)->multiprocessors / cluster;
    launch.kernel = kernel;
    launch.grid = wm_dim3{(unsigned)(cluster * (units < together ? units : together)), 1, 1};
    launch.block = wm_dim3{WM_WGMMA_THREADS, 1, 1};
    if (cluster > 1) launch.cluster = wm_dim3{(unsigned)cluster, 1, 1};
    launch.shared = shared;
    return launch;
}

#endif
