/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of fp8 with a scale for each row, each column, or each block of 128 of k, on Hopper's tensor cores, scales
 * and all in one kernel: matmul_narrow's promoted form, where the sums of every 128 of k leave the tensor core anyway.
 *
 *      k: 128  128  128          A tile of 128 × 128, two warpgroups of 64 rows. A step is 128 of k, one block of
 *    ┌────┬────┬────┐            scales: its sums leave the tensor core, and
 *    │ ▒▒ │ ▒▒ │ ▒▒ │ A              sum(i, j) += a(i, step) · b(j, step) · part(i, j)
 *    └────┴────┴────┘            in f32, while the other warpgroup keeps the core busy. Scales of whole rows and
 *      ×a   ×a   ×a              columns are multiplied once, behind the last step. A thread's scales of a step are two
 *                                of A and one of B (1 × 128 on B's side: 32), loaded before it waits for the step.
 * Ring, clusters and the way out are matmul_wgmma's.
 * Refuses: other GPUs than sm_90; A or B whose k is not contiguous, or not 16-byte aligned in pointer, ld and batch
 * stride (matmul_finish does these); a scale of D; products without such scales (matmul_narrow).
 *
 * Floor: 2mnk over 1979 TFLOP/s. Predicted on an H200: matmul_narrow's promoted rate less the 64 multiply-adds that
 * replace its 64 additions and the scales' loads, 1100 of its 1140 TFLOP/s at 4096, 900 with 1 × 128 on B's side. Not
 * measured. Source of the idea: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.3.2.
 */
#include "device/matmul_wgmma_plan.h"

#include <warpmath/device/wgmma_narrow.cuh>

#include <math.h>

enum { TILE_N = 128, BLOCK_K = 128 };

/** Scale of line i (a row of D, or a column) in step s: at[t · batch + i / high · line + s · step]. */
typedef struct wm_scaled_side {
    const float *at; /* NULL: 1 */
    wm_i64 batch;
    int high, line, step; /* step 0: the same for all of k */
    int lines;            /* that exist */
} wm_scaled_side;

typedef struct wm_scaled_job {
    wm_wgmma_job plain;
    wm_scaled_side a, b; /* along D's rows and columns as the kernel sees them */
} wm_scaled_job;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

typedef wm_wgmma_ring<TILE_N> ring;

/** Lines past the end read the last one's. */
WM_DEVICE float scale_at(const wm_scaled_side &x, int t, int line, int step) {
    if (!x.at) return 1.0f;
    return x.at[t * x.batch + (wm_i64)(wm_min(line, x.lines - 1) / x.high) * x.line + (wm_i64)step * x.step];
}

/** sum += part, each element times its row's and its column's scale of this step. */
WM_DEVICE void add_scaled(const wm_scaled_job &p, wm_wgmma_tile tile, int step, float low, float high, float one,
                          const float (&part)[TILE_N / 2], float (&sum)[TILE_N / 2]) {
    if (!p.b.step || p.b.high != 1) { /* one scale for all columns of the tile */
        low = wm_mul(low, one), high = wm_mul(high, one);
        WM_UNROLL
        for (int e = 0; e < TILE_N / 2; e++) sum[e] = wm_fma(part[e], e / 2 % 2 ? high : low, sum[e]);
        return;
    }
    WM_UNROLL
    for (int e = 0; e < TILE_N / 2; e += 4) {
        int column = tile.j + e * 2 + wm_lane() % 4 * 2;
        float x = scale_at(p.b, tile.t, column, step), y = scale_at(p.b, tile.t, column + 1, step);
        sum[e] = wm_fma(part[e], wm_mul(low, x), sum[e]);
        sum[e + 1] = wm_fma(part[e + 1], wm_mul(low, y), sum[e + 1]);
        sum[e + 2] = wm_fma(part[e + 2], wm_mul(high, x), sum[e + 2]);
        sum[e + 3] = wm_fma(part[e + 3], wm_mul(high, y), sum[e + 3]);
    }
}

/** The sums of 64 rows; `row`: this thread's first, 8 above its second. */
template <int KIND>
WM_DEVICE void multiply_scaled(const wm_scaled_job &p, ring *s, int steps, wm_wgmma_tile tile, int row, int half,
                               int blocks, wm_wgmma_turn &turn, float (&sum)[TILE_N / 2]) {
    float part[TILE_N / 2];
    WM_UNROLL
    for (int e = 0; e < TILE_N / 2; e++) sum[e] = part[e] = 0.0f;
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        float low = p.a.step ? scale_at(p.a, tile.t, row, step) : 1.0f;
        float high = p.a.step ? scale_at(p.a, tile.t, row + 8, step) : 1.0f;
        float one = p.b.step && p.b.high != 1 ? scale_at(p.b, tile.t, tile.j, step) : 1.0f;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_u64 x = wm_wgmma_operand<0>(s->a[stage] + half * 8192), y = wm_wgmma_operand<0>(s->b[stage]);
        wm_wgmma_fence();
        WM_UNROLL
        for (int q = 0; q < 4; q++) wm_wgmma_narrow<KIND>(part, x + 2 * q, y + 2 * q, q);
        wm_wgmma_commit();
        wm_wgmma_wait<0>();
        if (wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[stage], wm_lane());
        wm_wgmma_settle(part);
        add_scaled(p, tile, step, low, high, one, part, sum);
        wm_wgmma_next<ring::STAGES>(turn);
    }
}

/** Scales that hold for all of k. */
WM_DEVICE void scale_lines(const wm_scaled_job &p, wm_wgmma_tile tile, int row, float (&sum)[TILE_N / 2]) {
    if (p.a.at && !p.a.step) {
        float low = scale_at(p.a, tile.t, row, 0), high = scale_at(p.a, tile.t, row + 8, 0);
        WM_UNROLL
        for (int e = 0; e < TILE_N / 2; e++) sum[e] = wm_mul(sum[e], e / 2 % 2 ? high : low);
    }
    if (p.b.at && !p.b.step) {
        WM_UNROLL
        for (int e = 0; e < TILE_N / 2; e += 4) {
            int column = tile.j + e * 2 + wm_lane() % 4 * 2;
            float x = scale_at(p.b, tile.t, column, 0), y = scale_at(p.b, tile.t, column + 1, 0);
            sum[e] = wm_mul(sum[e], x), sum[e + 1] = wm_mul(sum[e + 1], y);
            sum[e + 2] = wm_mul(sum[e + 2], x), sum[e + 3] = wm_mul(sum[e + 3], y);
        }
    }
}

/** One multiplying warpgroup. */
template <int KIND>
WM_DEVICE void compute(const wm_scaled_job &job, ring *s, const wm_epilogue_scalars<float> &scalars, int steps,
                       int first, int stride, int units, int rank, int blocks) {
    const wm_wgmma_job &p = job.plain;
    wm_wgmma_turn turn = {0, 0};
    int warp = wm_warp() - 4;
    bool plain = p.map_d && steps && scalars.beta == 0.0f;
    float sum[TILE_N / 2] = {};
    for (int unit = first; unit < units; unit += stride) {
        wm_wgmma_tile tile = wm_wgmma_tile_of<TILE_N>(p, unit, rank, blocks);
        int row = tile.i + warp * 16 + wm_lane() / 4;
        wm_wgmma_bias<TILE_N>(p, tile.j, s->bias[warp / 4], warp / 4);
        multiply_scaled<KIND>(job, s, steps, tile, row, warp / 4, blocks, turn, sum);
        if (steps) scale_lines(job, tile, row, sum);
        tile.i += warp * 16;
        wm_wgmma_out<TILE_N, 1>(p, scalars, s->out[warp], s->bias[warp / 4], tile, plain, sum);
    }
    wm_tma_wait_read<0>();
}

#endif

template <int KIND>
__global__ void __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_scaled_kernel(WM_PARAMS(wm_scaled_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    ring *s = wm_shared<ring>();
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks();
    int first = blockIdx.x / blocks, stride = gridDim.x / blocks;
    int units = p.plain.rows * p.plain.columns * p.plain.batch;
    wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.plain.epilogue);
    int steps = scalars.alpha != 0.0f ? p.plain.steps : 0;
    if (steps == 0) scalars.alpha = 0.0f;
    wm_wgmma_begin(p.plain, s, blocks);
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0) wm_wgmma_copy<ring, 0, 0>(p.plain, s, steps, BLOCK_K, first, stride, units, rank, blocks);
    } else {
        wm_registers_take<232>();
        compute<KIND>(p, s, scalars, steps, first, stride, units, rank, blocks);
    }
    wm_barrier_warp();
    if (blocks > 1) wm_cluster_meet(); /* others may still reach this block's shared memory */
#else
    (void)p;
#endif
}

static const void *const kernels[] = {
    (const void *)wm_matmul_scaled_kernel<WM_E4M3_E4M3>, (const void *)wm_matmul_scaled_kernel<WM_E4M3_E5M2>,
    (const void *)wm_matmul_scaled_kernel<WM_E5M2_E4M3>, (const void *)wm_matmul_scaled_kernel<WM_E5M2_E5M2>};

/* ---- The solver ---- */

/** The operands along D's rows and along its columns. */
typedef struct product {
    const wmMatrixDesc *side[2];
    int64_t lines[2];
    int swapped;
} product;

static product product_of(const wmMatmulDesc *d) {
    int swapped = d->d.order == WM_COL_MAJOR;
    if (swapped)
        return product{
            {&d->b, &d->a},
            {d->n,  d->m },
            1
        };
    return product{
        {&d->a, &d->b},
        {d->m,  d->n },
        0
    };
}

static int has_k_apart(const wmMatmulDesc *d, const wmMatrixDesc *x) {
    return ((x->order == WM_COL_MAJOR) == (x->op == WM_OP_NONE)) != (x == &d->b);
}

static const char *refusal(wmContext *context, const wmMatmulDesc *d) {
    int more = d->a.scale > WM_SCALE_TENSOR || d->b.scale > WM_SCALE_TENSOR;
    if (!wm_type_is_fp8(d->a.type) || !wm_type_is_fp8(d->b.type)) return "A or B is not fp8";
    if (!more) return "A and B have no scales by line or block";
    if (d->d.scale) return "D has a scale";
    if (has_k_apart(d, &d->a) || has_k_apart(d, &d->b)) return "the k of A or B is not contiguous";
    if (!wm_matrix_is_vector(&d->a) || !wm_matrix_is_vector(&d->b))
        return "A or B is not 16-byte aligned in pointer, ld and batch stride";
    return wm_wgmma_refusal(context, d);
}

static wm_wgmma_job shape_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    wm_wgmma_job job = wm_wgmma_job_of(d, x.lines[0], x.lines[1], TILE_N, offer->knob[0], offer->knob[1]);
    job.steps = (int)((d->k + BLOCK_K - 1) / BLOCK_K);
    return job;
}

static double estimate(wmContext *context, const wmMatmulDesc *d, const wm_offer *offer) {
    wm_wgmma_job job = shape_of(d, offer);
    int multiprocessors = wm_context_device(context)->multiprocessors;
    double waves = ceil((double)job.rows * job.columns * job.batch / (multiprocessors / offer->knob[0]));
    double rate = 0.56 * wm_context_peak_flops(context, d->a.type, d->compute) / multiprocessors;
    return 3e-6 + waves * (2.0 * WM_WGMMA_M * TILE_N * BLOCK_K * job.steps / rate + 1e-6);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = refusal(context, d);
    int count = 0;
    if (reason) return wm_refuse(why, "%s", reason);
    for (int cluster = 1; cluster <= (product_of(d).lines[0] > WM_WGMMA_M ? 2 : 1) && count < capacity; cluster++) {
        wm_offer variant = {};
        variant.knob[0] = cluster;
        variant.knob[1] = 16;
        variant.capturable = variant.concurrent = 1;
        variant.seconds = estimate(context, d, &variant);
        out[count++] = variant;
    }
    return count;
}

static const void *kernel_of(const wmMatmulDesc *d) {
    product x = product_of(d);
    return kernels[2 * (x.side[0]->type == WM_F8E5M2) + (x.side[1]->type == WM_F8E5M2)];
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)offer;
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_scaled", kernel_of(&problem->u.matmul), sizeof(wm_wgmma_ring<TILE_N>));
}

static wm_tensor tensor_of(const wmMatmulDesc *d, const wmMatrixDesc *x, int64_t lines, const void *base, int rows) {
    int shared = wm_wgmma_is_shared(d, x);
    wm_tensor t = {};
    t.base = base;
    t.type = x->type;
    t.dim[0] = d->k;
    t.dim[1] = lines;
    t.dim[2] = shared ? 1 : d->batch;
    t.stride[0] = x->ld;
    t.stride[1] = shared ? x->ld : x->batch_stride;
    t.box[0] = BLOCK_K;
    t.box[1] = rows;
    return t;
}

/* A tensor's scale is in alpha already. */
static wm_scaled_side side_of(const wmMatmulDesc *d, const wmMatrixDesc *x, int64_t lines, const void *scale) {
    wm_scaled_side side = {nullptr, wm_scale_stride(d, x), 1, 1, 0, (int)lines};
    if (x->scale > WM_SCALE_TENSOR) side.at = static_cast<const float *>(scale);
    if (wm_scale_is_block(x)) side.line = (int)wm_scale_blocks(d), side.step = 1;
    if (x->scale == WM_SCALE_128X128) side.high = 128;
    return side;
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    product x = product_of(d);
    int cluster = run->offer->knob[0], error = 0;
    wm_scaled_job job = {};
    job.plain = shape_of(d, run->offer);
    job.plain.epilogue = wm_matmul_job_of(d, args, 1, 1).epilogue;
    if (d->a.scale != WM_SCALE_TENSOR) job.plain.epilogue.a_scale = nullptr;
    if (d->b.scale != WM_SCALE_TENSOR) job.plain.epilogue.b_scale = nullptr;
    job.a = side_of(d, x.side[0], x.lines[0], x.swapped ? args->b_scale : args->a_scale);
    job.b = side_of(d, x.side[1], x.lines[1], x.swapped ? args->a_scale : args->b_scale);
    if (job.plain.steps) {
        wm_tensor a = tensor_of(d, x.side[0], x.lines[0], x.swapped ? args->b : args->a, WM_WGMMA_M);
        wm_tensor b = tensor_of(d, x.side[1], x.lines[1], x.swapped ? args->a : args->b, TILE_N / cluster);
        error = gpu->tensor_map(gpu->self, &a, &job.plain.a);
        if (!error) error = gpu->tensor_map(gpu->self, &b, &job.plain.b);
    }
    if (job.plain.map_d && !error) {
        wm_tensor out = wm_wgmma_d_tensor(d, &job.plain, args->d, TILE_N);
        error = gpu->tensor_map(gpu->self, &out, &job.plain.d);
    }
    WM_TRY(wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled"));
    wm_launch launch =
        wm_wgmma_launch_of(run->context, &job.plain, cluster, kernel_of(d), sizeof(wm_wgmma_ring<TILE_N>));
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_scaled", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_scaled = {
    "matmul_scaled",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_FP8 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_BIAS |
        WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_UNALIGNED | WM_MM_VECTOR_SCALE,
    {"cluster", "group", nullptr},
    offer,
    make,
    run,
    nullptr,
};
