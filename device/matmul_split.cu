/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f32 and c64 products with the error of f32 out of Hopper's f16 tensor cores, for WM_COMPUTE_F32. Each row of A and
 * column of B is scaled by a power of two and cut into two f16 parts, x = (high + 2^-11 low) / scale, which have 22
 * bits of it:
 *
 *      A ──┐                          D = Ah·Bh + 2^-11 (Ah·Bl + Al·Bh)
 *          ├─ cut: 32 of k are 64 bytes of high and 64 of low parts, a row of shared memory of the structure of
 *      B ──┘  matmul_wgmma: 128 × 96 of D a block, one thread copying, two warpgroups multiplying.
 *
 * The tensor core truncates as it adds. So the sums of Ah·Bh leave it every 32 of k and are added up in f32, those of
 * 512 of k in a second level that waits in shared memory; the two small products stay, since 2^-11 of an error is none.
 * A row with an infinity, a NaN, or elements so far apart that f16 parts would lose one (about 2^30) is noted, and
 * tiles that it crosses are done by ordinary multiply-adds in the same launch: correct, and slow. Refuses: k under 64,
 * where the promise of f32 leaves no room for 22 bits; arrays of pointers; f32_strict.
 *
 * Floor: three products at the f16 peak, 330 TFLOP/s of 2mnk on an H200, against 51 of SGEMM. Measured there,
 * 2026-11-30, over the fastest of cuBLASLt's f32 algorithms in the same run: 1024 1.86, 2048 2.76, 4096 3.48, 8192 4.20
 * (199 TFLOP/s, 60 % of the floor); largest error a tenth of that of SGEMM without a split of k. c64, which is an f32
 * product of twice k and twice the columns, over its CGEMM: 1024 1.60, 4096 3.49 (186 TFLOP/s).
 * Source of the ideas: H. Ootomo and R. Yokota, "Recovering single precision accuracy from Tensor Cores while
 * surpassing the FP32 theoretical peak performance" (2022), arXiv 2203.03341.
 */
#include "device/matmul_split.cuh"
#include "device/matmul_wgmma_plan.h"

#include <math.h>

WM_KERNEL __launch_bounds__(WM_SPLIT_THREADS) wm_matmul_split_cut(WM_PARAMS(wm_split_job)) {
    wm_split_shared *s = wm_shared<wm_split_shared>();
    wm_i64 groups = p.a.groups * p.a.matrices;
    if (blockIdx.x < groups)
        wm_split_rows(p.a, s, p.k, p.slack, blockIdx.x);
    else
        wm_split_rows(p.b, s, p.k, p.slack, blockIdx.x - groups);
}

WM_KERNEL __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_split_multiply(WM_PARAMS(wm_split_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    wm_split_ring *s = wm_shared<wm_split_ring>();
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks();
    int first = blockIdx.x / blocks, stride = gridDim.x / blocks, units = p.w.rows * p.w.columns * p.w.batch;
    int steps = wm_is_zero(wm_split_begin(p).alpha) ? 0 : p.w.steps;
    wm_wgmma_begin(p.w, s, blocks);
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0)
            wm_wgmma_copy<wm_split_ring, 0, 0>(p.w, s, steps, WM_WGMMA_K, first, stride, units, rank, blocks);
    } else {
        wm_registers_take<232>();
        wm_split_compute(p, s, steps, first, stride, units, rank, blocks);
    }
    wm_barrier_warp();
    if (blocks > 1) wm_cluster_meet(); /* others may still reach this block's shared memory */
#else
    (void)p;
#endif
}

/* ---- The solver ---- */

/** Both operands, the one along D's rows first. */
typedef struct product {
    const wmMatrixDesc *desc[2];
    int64_t rows[2], groups[2], matrices[2];
    int contiguous[2]; /* the rows are, not k */
    int swapped;
} product;

/* A product of c64 as one of f32 (device/matmul_split.cuh); any other as it is. */
static wmMatmulDesc real_of(const wmMatmulDesc *d) {
    wmMatmulDesc r = *d;
    if (d->a.type != WM_C64) return r;
    wmMatrixDesc *const all[4] = {&r.a, &r.b, &r.c, &r.d};
    for (wmMatrixDesc *x : all) {
        x->type = WM_F32;
        x->ld *= 2, x->batch_stride *= 2;
    }
    r.bias_type = WM_F32;
    r.k *= 2;
    (d->d.order == WM_COL_MAJOR ? r.m : r.n) *= 2;
    return r;
}

/* Of the product of f32. */
static product product_of(const wmMatmulDesc *d) {
    product x = {};
    x.swapped = d->d.order == WM_COL_MAJOR;
    for (int i = 0; i < 2; i++) {
        int is_b = i != x.swapped;
        const wmMatrixDesc *desc = is_b ? &d->b : &d->a;
        x.desc[i] = desc;
        x.rows[i] = is_b ? d->n : d->m;
        x.contiguous[i] = ((desc->order == WM_COL_MAJOR) == (desc->op == WM_OP_NONE)) != is_b;
        x.groups[i] = (x.rows[i] + WM_SPLIT_ROWS - 1) / WM_SPLIT_ROWS;
        x.matrices[i] = wm_wgmma_is_shared(d, desc) ? 1 : d->batch;
    }
    return x;
}

static int64_t steps_of(const wmMatmulDesc *d) {
    return (d->k + WM_SPLIT_K - 1) / WM_SPLIT_K;
}

/* Where things are in the workspace, and its size. */
typedef struct room {
    size_t parts[2], scale[2], misfit[2], end;
} room;

static size_t take(room *r, int64_t bytes) {
    size_t at = r->end;
    r->end += ((size_t)bytes + 255) / 256 * 256;
    return at;
}

static room room_of(const wmMatmulDesc *d) {
    product x = product_of(d);
    room r = {};
    for (int i = 0; i < 2; i++) {
        r.parts[i] = take(&r, x.matrices[i] * x.rows[i] * steps_of(d) * WM_SPLIT_K * 4);
        r.scale[i] = take(&r, x.matrices[i] * x.groups[i] * WM_SPLIT_ROWS * 4);
        r.misfit[i] = take(&r, x.matrices[i] * x.groups[i] * 4);
    }
    return r;
}

/* Waves of tiles at what an H200 sustains, and the cutting: read twice, the second time mostly from a cache, and
 * written. */
static double estimate(wmContext *context, const wmMatmulDesc *d, const wm_offer *offer) {
    const wm_device *device = wm_context_device(context);
    product x = product_of(d);
    int cluster = offer->knob[0], together = device->multiprocessors / cluster;
    wm_wgmma_job job = wm_wgmma_job_of(d, x.rows[0], x.rows[1], WM_SPLIT_N, cluster, offer->knob[1]);
    double waves = ceil((double)job.rows * job.columns * job.batch / together);
    double rate = 0.62 * wm_context_peak_flops(context, WM_F16, WM_COMPUTE_F32) / device->multiprocessors;
    double work = waves * (6.0 * WM_WGMMA_M * WM_SPLIT_N * WM_SPLIT_K * (double)steps_of(d) / rate + 1.5e-6);
    double cut = 3.0 * (double)offer->workspace / wm_context_bandwidth(context);
    return work + cut + 7e-6;
}

/* Why it does not take this; r: as a product of f32. */
static const char *refusal(wmContext *context, const wmMatmulDesc *d, const wmMatmulDesc *r) {
    int complex = d->a.type == WM_C64;
    if (!complex && (d->a.type != WM_F32 || d->b.type != WM_F32)) return "A or B is neither f32 nor c64";
    if (d->compute != WM_COMPUTE_F32) return "compute is not f32";
    if (r->k < 64 || r->k > 65536) return complex ? "k is not from 32 to 32768" : "k is not from 64 to 65536";
    if (complex && (d->b.type != WM_C64 || d->c.type != WM_C64 || d->d.type != WM_C64)) return "not all are c64";
    if (complex && d->c.order != d->d.order) return "C's order is not D's";
    if (complex && d->bias && (d->bias_type != WM_C64 || (d->bias == WM_BIAS_N) != (d->d.order == WM_ROW_MAJOR)))
        return "the bias is not along D's contiguous side";
    product x = product_of(r);
    if (x.groups[0] * x.matrices[0] + x.groups[1] * x.matrices[1] >= WM_WGMMA_MOST) return "it has 2^34 rows or more";
    return wm_wgmma_refusal(context, r);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    wmMatmulDesc r = real_of(&problem->u.matmul);
    const char *reason = refusal(context, &problem->u.matmul, &r);
    int count = 0;
    if (reason) return wm_refuse(why, "%s", reason);
    product x = product_of(&r);
    for (int cluster = 1; cluster <= (x.rows[0] > WM_WGMMA_M ? 2 : 1) && count < capacity; cluster++) {
        wm_offer variant = {};
        variant.knob[0] = cluster;
        variant.knob[1] = 16;
        variant.capturable = variant.concurrent = 1;
        variant.workspace = room_of(&r).end;
        variant.seconds = estimate(context, &r, &variant);
        out[count++] = variant;
    }
    return count;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem, (void)offer;
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_split_cut", (const void *)wm_matmul_split_cut, sizeof(wm_split_shared)));
    return wm_prepare_kernel(context, "matmul_split", (const void *)wm_matmul_split_multiply, sizeof(wm_split_ring));
}

static wm_split_operand operand_of(const wm_run *run, const product *x, const room *r, int i) {
    const wmMatmulArgs *args = &run->args->matmul;
    char *base = static_cast<char *>(run->workspace);
    const wmMatrixDesc *desc = x->desc[i];
    int complex = run->problem->u.matmul.a.type == WM_C64, unit = complex ? 2 : 1;
    wm_split_operand o = {};
    o.complex = complex ? 1 + i : 0;
    o.sign = desc->op == WM_OP_CONJ_TRANSPOSE ? -1.0f : 1.0f;
    o.from = static_cast<const float *>(i == x->swapped ? args->a : args->b);
    o.row = x->contiguous[i] ? unit : desc->ld;
    o.col = x->contiguous[i] ? desc->ld : unit;
    o.batch = desc->batch_stride;
    o.rows = (int)x->rows[i];
    o.vector = !x->contiguous[i] && wm_matrix_is_vector(desc);
    o.groups = x->groups[i];
    o.matrices = x->matrices[i];
    o.parts = reinterpret_cast<wm_u16 *>(base + r->parts[i]);
    o.scale = reinterpret_cast<float *>(base + r->scale[i]);
    o.misfit = reinterpret_cast<wm_u32 *>(base + r->misfit[i]);
    return o;
}

static wm_tensor parts_tensor(const wm_split_operand *o, int64_t steps, int tile) {
    wm_tensor t = {};
    t.base = o->parts;
    t.type = WM_F16;
    t.dim[0] = t.stride[0] = steps * 2 * WM_SPLIT_K;
    t.dim[1] = o->rows;
    t.dim[2] = o->matrices;
    t.stride[1] = t.stride[0] * o->rows;
    t.box[0] = 2 * WM_SPLIT_K;
    t.box[1] = tile;
    return t;
}

static wmStatus make_maps(const wm_run *run, const wmMatmulDesc *d, wm_split_job *job) {
    const wm_gpu *gpu = wm_context_gpu(run->context);
    wm_tensor a = parts_tensor(&job->a, steps_of(d), WM_WGMMA_M);
    wm_tensor b = parts_tensor(&job->b, steps_of(d), WM_SPLIT_N / run->offer->knob[0]);
    wm_tensor out = wm_wgmma_d_tensor(d, &job->w, run->args->matmul.d, WM_SPLIT_N);
    int error = gpu->tensor_map(gpu->self, &a, &job->w.a);
    if (!error) error = gpu->tensor_map(gpu->self, &b, &job->w.b);
    if (!error && job->w.map_d) error = gpu->tensor_map(gpu->self, &out, &job->w.d);
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *posed = &run->problem->u.matmul, real = real_of(posed), *d = &real;
    const wmMatmulArgs *args = &run->args->matmul;
    product x = product_of(d);
    room r = room_of(d);
    wm_split_job job = {};
    job.w = wm_wgmma_job_of(d, x.rows[0], x.rows[1], WM_SPLIT_N, run->offer->knob[0], run->offer->knob[1]);
    job.w.steps = (int)steps_of(d);
    job.w.epilogue = wm_matmul_job_of(d, args, WM_WGMMA_M, WM_SPLIT_N).epilogue;
    job.posed = wm_matmul_job_of(posed, args, WM_WGMMA_M, WM_SPLIT_N).epilogue;
    job.complex = posed->a.type == WM_C64;
    job.alpha = job.posed.alpha, job.beta = job.posed.beta;
    job.a = operand_of(run, &x, &r, 0);
    job.b = operand_of(run, &x, &r, 1);
    job.k = (int)d->k;
    job.swapped = x.swapped;
    job.slack = fmaxf(0x1p-21f, (float)d->k * 0x1p-26f);
    WM_TRY(make_maps(run, d, &job));
    wm_launch cut = {};
    cut.kernel = (const void *)wm_matmul_split_cut;
    cut.grid = wm_dim3{(unsigned)(x.groups[0] * x.matrices[0] + x.groups[1] * x.matrices[1]), 1, 1};
    cut.block = wm_dim3{WM_SPLIT_THREADS, 1, 1};
    cut.shared = sizeof(wm_split_shared);
    cut.params = &job;
    cut.params_bytes = sizeof job;
    WM_TRY(wm_launch_kernel(run->context, "matmul_split_cut", &cut, run->stream));
    wm_launch launch = wm_wgmma_launch_of(run->context, &job.w, run->offer->knob[0],
                                          (const void *)wm_matmul_split_multiply, sizeof(wm_split_ring));
    /* A warp's pieces of D are three, in two buffers: the next tile would write the one that left last. Long sums wait
     * for that one, short ones have a block each (see is_one_tile of matmul_wgmma.cu). */
    if (job.w.steps < WM_SPLIT_BLOCK)
        launch.grid.x = (unsigned)(run->offer->knob[0] * job.w.rows * job.w.columns * job.w.batch);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_split", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_split = {
    "matmul_split",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F32 | WM_MM_C64 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"cluster", "group", nullptr},
    offer,
    make,
    run,
    nullptr,
};
