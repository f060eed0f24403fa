/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of 8-bit floats (sums in f32), of 8-bit integers (exact i32 sums), and of f32 rounded to tf32, on
 * Hopper's tensor cores. The structure is matmul_wgmma's: 128 × TILE_N of D a block, 128 bytes of k a step, one thread
 * copying, two warpgroups multiplying. These types must have their k contiguous on both sides:
 *
 *        k                 k
 *      ┌────┐            ┌────┐        D = A · Bᵀ, both by rows of k
 *    m │ A  │    ·     n │ B  │
 *      └────┘            └────┘
 *
 * The tensor core keeps about 14 bits of a product of 8-bit floats while it adds. `promote` takes the sums of every 128
 * of k out of it and adds them up in f32, the error of k = 128 then whatever k is. Without it (a vendor's fast
 * accumulation) results at k = 4096 were outside the bound of lib/problem_matmul.c: it is offered up to k = 128 only.
 * Operands whose k is not contiguous, or that are not 16-byte aligned, are first copied into the workspace.
 * Refuses: arrays of pointers; D of fp8; for i8 a bias or an activation.
 *
 * Floor: 2mnk over the peak, 1979 TFLOP/s for 8 bits and 495 for tf32 on an H200, of which 700 W sustain 70 to 80 %.
 * Measured there at 4096, 2026-11-30, over cuBLASLt's fastest in one run: tf32 1.03 (387 TFLOP/s), i8 0.98 (1257), e4m3
 * 0.90 (1140, promoted).
 */
#include "device/matmul_lay.cuh"
#include "device/matmul_wgmma_plan.h"
#include "device/matmul_wgmma_store.cuh"

#include <warpmath/device/wgmma_narrow.cuh>

#include <math.h>

/* ---- Kernels ---- */

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** What is added up: floats, or integers for WM_S8_S8. */
template <int KIND>
struct sum_of {
    typedef float type;
};
template <>
struct sum_of<WM_S8_S8> {
    typedef int type;
};

/** The sums of 64 rows of a tile. */
template <int TILE_N, int KIND, class T>
WM_DEVICE void multiply(wm_wgmma_ring<TILE_N> *s, int steps, int half, int blocks, wm_wgmma_turn &turn,
                        T (&sum)[TILE_N / 2]) {
    int before = 0;
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_u64 x = wm_wgmma_operand<0>(s->a[stage] + half * 8192), y = wm_wgmma_operand<0>(s->b[stage]);
        wm_wgmma_fence();
        WM_UNROLL
        for (int q = 0; q < 4; q++) wm_wgmma_narrow<KIND>(sum, x + 2 * q, y + 2 * q, step || q);
        wm_wgmma_commit();
        wm_wgmma_wait<1>();
        if (step && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
        before = stage;
        wm_wgmma_next<wm_wgmma_ring<TILE_N>::STAGES>(turn);
    }
    wm_wgmma_wait<0>();
    wm_wgmma_settle(sum);
    if (steps && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
}

/** The same, the sums of each step leaving the tensor core; the other warpgroup keeps it busy meanwhile. */
template <int TILE_N, int KIND>
WM_DEVICE void multiply_promoted(wm_wgmma_ring<TILE_N> *s, int steps, int half, int blocks, wm_wgmma_turn &turn,
                                 float (&sum)[TILE_N / 2]) {
    float part[TILE_N / 2];
    WM_UNROLL
    for (int e = 0; e < TILE_N / 2; e++) sum[e] = part[e] = 0.0f;
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_u64 x = wm_wgmma_operand<0>(s->a[stage] + half * 8192), y = wm_wgmma_operand<0>(s->b[stage]);
        wm_wgmma_fence();
        WM_UNROLL
        for (int q = 0; q < 4; q++) wm_wgmma_narrow<KIND>(part, x + 2 * q, y + 2 * q, q);
        wm_wgmma_commit();
        wm_wgmma_wait<0>();
        if (wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[stage], wm_lane());
        wm_wgmma_settle(part);
        WM_UNROLL
        for (int e = 0; e < TILE_N / 2; e++) sum[e] = wm_add(sum[e], part[e]);
        wm_wgmma_next<wm_wgmma_ring<TILE_N>::STAGES>(turn);
    }
}

/** A lane's sixteen results of 32 columns, a pair of neighbours at a time, with C. */
WM_DEVICE void out_pairs(const wm_wgmma_job &p, wm_u32 beta, wm_wgmma_tile tile, wm_u32 (&x)[16]) {
    wm_u32 *d = static_cast<wm_u32 *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, tile.t)));
    const wm_u32 *c = static_cast<const wm_u32 *>(wm_matrix_first(p.epilogue.c, tile.t));
    int lane = wm_wgmma_lane();
    WM_UNROLL
    for (int e = 0; e < 16; e += 2) {
        int i = tile.i + lane / 4 + e / 2 % 2 * 8, j = tile.j + e / 4 * 8 + lane % 4 * 2, count = p.n - j;
        if (i >= p.m || count <= 0) continue;
        if (beta) x[e] += beta * c[i * p.c_i + j * p.c_j];
        if (beta && count > 1) x[e + 1] += beta * c[i * p.c_i + (j + 1) * p.c_j];
        wm_u32 *to = d + i * p.d_i + j;
        if (count > 1 && p.vector) {
            *reinterpret_cast<uint2 *>(to) = uint2{x[e], x[e + 1]};
        } else {
            to[0] = x[e];
            if (count > 1) to[1] = x[e + 1];
        }
    }
}

/** Integer results, 32 columns at a time. */
template <int TILE_N>
WM_DEVICE void out_integers(const wm_wgmma_job &p, unsigned char (*out)[2048], wm_u32 alpha, wm_u32 beta,
                            wm_wgmma_tile tile, const int (&sum)[TILE_N / 2]) {
    bool ragged = p.n % 4 != 0 && tile.j + TILE_N > p.n, whole = p.map_d && beta == 0 && !ragged;
#pragma unroll 1
    for (int g = 0; g < TILE_N / 32; g++) {
        wm_u32 x[16];
        WM_UNROLL
        for (int h = 0; h < TILE_N / 32; h++) /* constant indices keep the sums in registers */
            if (h == g) WM_UNROLL
        for (int e = 0; e < 16; e++) x[e] = alpha * (wm_u32)sum[h * 16 + e];
        if (whole) {
            wm_wgmma_put_words(out[g % 2], x);
            wm_wgmma_store_rows<128>(p, out[g % 2], 4, tile.t, tile.i, tile.j);
        } else {
            out_pairs(p, beta, tile, x);
        }
        tile.j += 32;
    }
    wm_barrier_warp(); /* the places have been read */
}

/** One multiplying warpgroup. */
template <int TILE_N, int KIND, bool PROMOTE>
WM_DEVICE void compute(const wm_wgmma_job &p, wm_wgmma_ring<TILE_N> *s, const wm_epilogue_scalars<double> &exact,
                       int steps, int first, int stride, int units, int rank, int blocks) {
    wm_wgmma_turn turn = {0, 0};
    int warp = wm_warp() - 4;
    typename sum_of<KIND>::type sum[TILE_N / 2] = {};
    for (int unit = first; unit < units; unit += stride) {
        wm_wgmma_tile tile = wm_wgmma_tile_of<TILE_N>(p, unit, rank, blocks);
        if constexpr (KIND != WM_S8_S8) wm_wgmma_bias<TILE_N>(p, tile.j, s->bias[warp / 4], warp / 4);
        if constexpr (PROMOTE)
            multiply_promoted<TILE_N, KIND>(s, steps, warp / 4, blocks, turn, sum);
        else
            multiply<TILE_N, KIND>(s, steps, warp / 4, blocks, turn, sum);
        tile.i += warp * 16;
        if constexpr (KIND == WM_S8_S8) {
            wm_u32 alpha = (wm_u32)(wm_i64)exact.alpha, beta = (wm_u32)(wm_i64)exact.beta;
            out_integers<TILE_N>(p, s->out[warp], alpha, beta, tile, sum);
        } else {
            wm_epilogue_scalars<float> scalars = {(float)exact.alpha, (float)exact.beta, 1.0f};
            bool plain = p.map_d && steps && scalars.beta == 0.0f;
            wm_wgmma_out<TILE_N, 1>(p, scalars, s->out[warp], s->bias[warp / 4], tile, plain, sum);
        }
    }
    wm_tma_wait_read<0>();
}

#endif

template <int TILE_N, int KIND, bool PROMOTE>
__global__ void __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_narrow_kernel(WM_PARAMS(wm_wgmma_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    typedef wm_wgmma_ring<TILE_N> ring;
    ring *s = wm_shared<ring>();
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks();
    int first = blockIdx.x / blocks, stride = gridDim.x / blocks, units = p.rows * p.columns * p.batch;
    wm_epilogue_scalars<double> exact = {};
    if (KIND == WM_S8_S8) {
        exact.alpha = wm_scalar_load<double>(p.epilogue.alpha), exact.beta = wm_scalar_load<double>(p.epilogue.beta);
    } else {
        wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.epilogue);
        exact.alpha = scalars.alpha, exact.beta = scalars.beta;
    }
    int steps = exact.alpha != 0.0 ? p.steps : 0;
    if (steps == 0) exact.alpha = 0.0;
    wm_wgmma_begin(p, s, blocks);
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0)
            wm_wgmma_copy<ring, 0, 0>(p, s, steps, KIND == WM_TF32_TF32 ? 32 : 128, first, stride, units, rank, blocks);
    } else {
        wm_registers_take<232>();
        compute<TILE_N, KIND, PROMOTE>(p, s, exact, steps, first, stride, units, rank, blocks);
    }
    wm_barrier_warp();
    if (blocks > 1) wm_cluster_meet(); /* others may still reach this block's shared memory */
#else
    (void)p;
#endif
}

typedef struct tile_row {
    int n, promote;
    size_t shared;
    const void *kernel[6]; /* by kind */
} tile_row;

// clang-format off
#define WM_NARROW_KERNEL(n, kind, promote) (const void *)wm_matmul_narrow_kernel<n, kind, promote>
#define WM_NARROW_FLOATS(n, promote) \
    WM_NARROW_KERNEL(n, WM_E4M3_E4M3, promote), WM_NARROW_KERNEL(n, WM_E4M3_E5M2, promote), \
    WM_NARROW_KERNEL(n, WM_E5M2_E4M3, promote), WM_NARROW_KERNEL(n, WM_E5M2_E5M2, promote)
// clang-format on

static const tile_row tiles[] = {
    {256,
     0,      sizeof(wm_wgmma_ring<256>),
     {WM_NARROW_FLOATS(256, false), WM_NARROW_KERNEL(256, WM_TF32_TF32, false),
      WM_NARROW_KERNEL(256, WM_S8_S8, false)}                                           },
    {128,
     0,      sizeof(wm_wgmma_ring<128>),
     {WM_NARROW_FLOATS(128, false), WM_NARROW_KERNEL(128, WM_TF32_TF32, false),
      WM_NARROW_KERNEL(128, WM_S8_S8, false)}                                           },
    {128, 1, sizeof(wm_wgmma_ring<128>), {WM_NARROW_FLOATS(128, true), nullptr, nullptr}},
};
enum { TILES = sizeof tiles / sizeof tiles[0] };

/* ---- The solver ---- */

/** An operand; its rows are A's, or B's columns. */
typedef struct operand {
    const wmMatrixDesc *desc;
    int64_t rows, matrices;
    int64_t row, col;   /* elements between rows, and along k, as it comes */
    int laid;           /* it is first copied into the workspace: ld and stride are the copy's */
    int64_t ld, stride; /* elements between rows of k, and between matrices */
    size_t bytes;       /* of the copy */
} operand;

/** Both operands, the one along D's rows first. */
typedef struct product {
    operand side[2];
    int swapped, kind;
} product;

static operand operand_of(const wmMatmulDesc *d, int is_b) {
    const wmMatrixDesc *desc = is_b ? &d->b : &d->a;
    wm_view view = wm_view_of(desc);
    operand x = {};
    x.desc = desc;
    x.rows = is_b ? d->n : d->m;
    x.matrices = wm_wgmma_is_shared(d, desc) ? 1 : d->batch;
    x.row = is_b ? view.col : view.row, x.col = is_b ? view.row : view.col;
    x.ld = desc->ld, x.stride = desc->batch_stride;
    x.laid = ((desc->order == WM_COL_MAJOR) == (desc->op == WM_OP_NONE)) != is_b || !wm_matrix_is_vector(desc);
    if (!x.laid) return x;
    int64_t group = 16 / (int64_t)wmTypeSize(desc->type);
    x.ld = (d->k + group - 1) / group * group;
    x.stride = x.ld * x.rows;
    x.bytes = ((size_t)(x.stride * x.matrices) * wmTypeSize(desc->type) + 255) / 256 * 256;
    return x;
}

static product product_of(const wmMatmulDesc *d) {
    product x = {};
    x.swapped = d->d.order == WM_COL_MAJOR;
    for (int i = 0; i < 2; i++) x.side[i] = operand_of(d, i != x.swapped);
    wmType first = x.side[0].desc->type, second = x.side[1].desc->type;
    x.kind = first == WM_I8    ? WM_S8_S8
             : first == WM_F32 ? WM_TF32_TF32
                               : 2 * (first == WM_F8E5M2) + (second == WM_F8E5M2);
    return x;
}

static int is_narrow(wmType type) {
    return type == WM_F8E4M3 || type == WM_F8E5M2;
}

static const char *refusal(wmContext *context, const wmMatmulDesc *d) {
    wmMatmulDesc as = *d;
    if (d->a.type == WM_I8) {
        if (d->b.type != WM_I8 || d->d.type != WM_I32 || d->c.type != WM_I32)
            return "not all of B, C and D are i8, i32";
        if (d->bias || d->activation) return "there is a bias or an activation";
        as.c.type = as.d.type = WM_F32; /* as wide */
    } else if (d->a.type == WM_F32) {
        if (d->b.type != WM_F32 || d->compute != WM_COMPUTE_TF32) return "compute is not tf32";
    } else if (!is_narrow(d->a.type) || !is_narrow(d->b.type)) {
        return "A or B is not fp8, i8 or f32";
    }
    return wm_wgmma_refusal(context, &as);
}

static int across_of(const product *x) {
    return 128 / (int)wmTypeSize(x->side[0].desc->type);
}

static wm_wgmma_job shape_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    wm_wgmma_job job =
        wm_wgmma_job_of(d, x.side[0].rows, x.side[1].rows, offer->knob[0], offer->knob[1], offer->knob[2]);
    job.steps = (int)((d->k + across_of(&x) - 1) / across_of(&x));
    return job;
}

/* Waves of tiles, at what an H200 sustains. */
static double estimate(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc *d = &problem->u.matmul;
    product x = product_of(d);
    wm_wgmma_job job = shape_of(d, offer);
    int n = offer->knob[0], together = wm_context_device(context)->multiprocessors / offer->knob[1];
    double waves = ceil((double)job.rows * job.columns * job.batch / together);
    double peak = wm_context_peak_flops(context, d->a.type, d->compute) / wm_context_device(context)->multiprocessors;
    double rate = peak * (x.kind == WM_TF32_TF32 ? (n == 256 ? 0.82 : 0.75) : n == 256 ? 0.63 : 0.59);
    double work = waves * (2.0 * WM_WGMMA_M * n * across_of(&x) * job.steps / rate + 1e-6);
    double memory = wm_problem_cost(problem).bytes / (0.85 * wm_context_bandwidth(context));
    double copies = 0.0; /* bytes are copied at the pace of their instructions */
    for (const operand &side : x.side)
        if (side.laid) copies += 2.5e-6 + (double)side.bytes / (2.5e12 * (double)wmTypeSize(side.desc->type));
    return (work > memory ? work : memory) + copies + 3e-6;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = refusal(context, d);
    int count = 0;
    if (reason) return wm_refuse(why, "%s", reason);
    product x = product_of(d);
    for (int tile = 0; tile < TILES; tile++)
        for (int cluster = 1; cluster <= (x.side[0].rows > WM_WGMMA_M ? 2 : 1) && count < capacity; cluster++) {
            if (!tiles[tile].kernel[x.kind]) continue;
            if (x.kind < WM_TF32_TF32 && !tiles[tile].promote && d->k > 128) continue;
            wm_offer variant = {};
            variant.knob[0] = tiles[tile].n;
            variant.knob[1] = cluster;
            variant.knob[2] = 16;
            variant.knob[3] = tiles[tile].promote;
            variant.capturable = variant.concurrent = 1;
            variant.workspace = x.side[0].bytes + x.side[1].bytes;
            variant.seconds = estimate(context, problem, &variant);
            out[count++] = variant;
        }
    return count;
}

static const tile_row *tile_of(const wm_offer *offer) {
    const tile_row *row = tiles;
    while (row->n != offer->knob[0] || row->promote != offer->knob[3]) row++;
    return row;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    *state = NULL;
    size_t bytes = WM_LAY_TILE * (WM_LAY_TILE + 4), words = WM_LAY_TILE * (WM_LAY_TILE + 1) * sizeof(wm_u32);
    WM_TRY(wm_prepare_kernel(context, "matmul_lay", (const void *)wm_matmul_lay_bytes, bytes));
    WM_TRY(wm_prepare_kernel(context, "matmul_lay", (const void *)wm_matmul_lay_words, words));
    return wm_prepare_kernel(context, "matmul_narrow", tile_of(offer)->kernel[product_of(&problem->u.matmul).kind],
                             tile_of(offer)->shared);
}

/* Copies an operand to `to`, rows of k one behind the other. */
static wmStatus lay(const wm_run *run, const operand *x, const void *from, void *to) {
    int64_t k = run->problem->u.matmul.k, side = WM_LAY_TILE;
    int wide = wmTypeSize(x->desc->type) == 4;
    wm_lay_job job = {};
    job.from = from;
    job.to = static_cast<wm_u32 *>(to);
    job.row = x->row, job.col = x->col, job.batch = x->matrices > 1 ? x->desc->batch_stride : 0;
    job.to_row = x->ld * (wide ? 4 : 1) / 4, job.to_batch = job.to_row * x->rows;
    job.matrices = x->matrices;
    job.tiles_k = (k + side - 1) / side;
    job.tiles = (x->rows + side - 1) / side * job.tiles_k;
    job.rows = (int)x->rows, job.k = (int)k;
    double units = (double)job.tiles * (double)job.matrices;
    wm_launch launch = {};
    launch.kernel = wide ? (const void *)wm_matmul_lay_words : (const void *)wm_matmul_lay_bytes;
    launch.grid = wm_dim3{(unsigned)(units < 1e6 ? units : 1e6), 1, 1};
    launch.block = wm_dim3{WM_LAY_THREADS, 1, 1};
    launch.shared = wide ? WM_LAY_TILE * (WM_LAY_TILE + 1) * sizeof(wm_u32) : WM_LAY_TILE * (WM_LAY_TILE + 4);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_lay", &launch, run->stream);
}

static wm_tensor tensor_of(const wmMatmulDesc *d, const product *x, int i, const void *base, int rows) {
    const operand *side = &x->side[i];
    wm_tensor t = {};
    t.base = base;
    t.type = side->desc->type;
    t.dim[0] = d->k;
    t.dim[1] = side->rows;
    t.dim[2] = side->matrices;
    t.stride[0] = side->ld;
    t.stride[1] = side->matrices == 1 ? side->ld : side->stride;
    t.box[0] = across_of(x);
    t.box[1] = rows;
    return t;
}

/* Where the operands are read: in place, or as copies. */
static wmStatus place_operands(const wm_run *run, const product *x, const void *at[2]) {
    const wmMatmulArgs *args = &run->args->matmul;
    char *room = static_cast<char *>(run->workspace);
    for (int i = 0; i < 2; i++) {
        at[i] = i == x->swapped ? args->a : args->b;
        if (!x->side[i].laid) continue;
        WM_TRY(lay(run, &x->side[i], at[i], room));
        at[i] = room;
        room += x->side[i].bytes;
    }
    return WM_OK;
}

static wmStatus make_maps(const wm_run *run, const product *x, wm_wgmma_job *job) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    int error = 0;
    if (job->steps) {
        const void *at[2];
        WM_TRY(place_operands(run, x, at));
        wm_tensor a = tensor_of(d, x, 0, at[0], WM_WGMMA_M);
        wm_tensor b = tensor_of(d, x, 1, at[1], run->offer->knob[0] / run->offer->knob[1]);
        error = gpu->tensor_map(gpu->self, &a, &job->a);
        if (!error) error = gpu->tensor_map(gpu->self, &b, &job->b);
    }
    if (job->map_d && !error && x->kind != WM_S8_S8) {
        wm_tensor out = wm_wgmma_d_tensor(d, job, run->args->matmul.d, run->offer->knob[0]);
        error = gpu->tensor_map(gpu->self, &out, &job->d);
    }
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    product x = product_of(d);
    wm_wgmma_job job = shape_of(d, run->offer);
    const tile_row *tile = tile_of(run->offer);
    job.epilogue = wm_matmul_job_of(d, &run->args->matmul, WM_WGMMA_M, WM_WGMMA_M).epilogue;
    WM_TRY(make_maps(run, &x, &job));
    wm_launch launch = wm_wgmma_launch_of(run->context, &job, run->offer->knob[1], tile->kernel[x.kind], tile->shared);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_narrow", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_narrow = {
    "matmul_narrow",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_FP8 | WM_MM_I8 | WM_MM_F32 | WM_MM_TF32 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR |
        WM_MM_BATCH | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"tile_n", "cluster", "group", "promote", nullptr},
    offer,
    make,
    run,
    nullptr,
};
