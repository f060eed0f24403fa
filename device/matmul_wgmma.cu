/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of f16 and bf16 on Hopper's tensor cores, sums in f32: the last rung of the ladder. Any m, n, k,
 * order, transposition, strided batch and epilogue; D of 16 bits or f32.
 *
 *        k               n          A block of three warpgroups makes 128 × TILE_N (64 to 256) of D. One thread of
 *      ┌────┐      ┌─┬──────┐       the first keeps a ring of 4 to 8 stages full, each 64 of k of both tiles, by the
 *    m │ A  │    k │ │  B   │       bulk copy engine: zeros past the edges. The two others multiply 64 rows each out
 *      ├────┤      └─┴──────┘       of shared memory (wgmma m64nNk16) and hand a stage back when the next is under
 *  128 │▒▒▒▒│        ┌──┐           way. Sums, with bias and activation, leave through swizzled shared memory and the
 *      └────┘        │▒▒│ D         copy engine or, where there is a C or D is not aligned, straight from the warps.
 *                    └──┘
 * Blocks stay for many tiles, in strips of `group` rows so that a wave of them shares its operands in L2; in a cluster
 * two blocks share B's tile. TILE_N is chosen for full waves more than for anything else.
 * A or B that is not 16-byte aligned in pointer, ld and batch stride is copied into the workspace first.
 * Refuses: other GPUs than sm_90; arrays of pointers.
 *
 * Floor: 2mnk over the tensor peak, 989 TFLOP/s on an H200, of which its 700 W sustain 70 to 80 %.
 * Measured there, 2026-11-30, over cuBLASLt's fastest in one run: bf16 2048 1.03, 4096 1.03 (760 TFLOP/s), 8192 0.99;
 * with bias and gelu 4096 0.98, k = 1024 0.92, k = 256 0.76 (taking turns); 4095 × 4097 × 4095 unaligned 2.75; 1024
 * 0.89. Source of the ideas: the structure of CUTLASS's warp-specialized kernels, and P. Bhatia's worklog
 * "Outperforming cuBLAS on H100" (2024), whose ladder this follows.
 */
#include "device/matmul_pack.cuh"
#include "device/matmul_wgmma_plan.h"
#include "device/matmul_wgmma_turns.cuh"

#include <math.h>

/* ---- Kernels, by width of the tile, operand type, and whether A's rows and B's columns are contiguous ---- */

template <int TILE_N, bool BF16, int A_MN, int B_MN>
__global__ void __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_wgmma_kernel(WM_PARAMS(wm_wgmma_job)) {
    wm_wgmma_tiles<TILE_N, BF16, A_MN, B_MN>(p);
}

template <bool BF16, int A_MN, int B_MN>
__global__ void __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_wgmma_turns(WM_PARAMS(wm_wgmma_job)) {
    wm_wgmma_turns<BF16, A_MN, B_MN>(p);
}

/** What differs from tile to tile. */
typedef struct tile_row {
    int n, turns; /* turns: the warpgroups have a tile each, and take turns */
    size_t shared;
    const void *kernel[2][4]; /* bf16, f16; 2 · A + B contiguous */
} tile_row;

// clang-format off
#define WM_WGMMA_KERNEL(n, bf16, a, b) (const void *)wm_matmul_wgmma_kernel<n, bf16, a, b>
#define WM_WGMMA_KERNELS(n, bf16) \
    {WM_WGMMA_KERNEL(n, bf16, 0, 0), WM_WGMMA_KERNEL(n, bf16, 0, 1), \
     WM_WGMMA_KERNEL(n, bf16, 1, 0), WM_WGMMA_KERNEL(n, bf16, 1, 1)}
#define WM_WGMMA_ROW(n) \
    {n, 0, sizeof(wm_wgmma_ring<n>), {WM_WGMMA_KERNELS(n, true), WM_WGMMA_KERNELS(n, false)}}
#define WM_WGMMA_TURNS(bf16) \
    {(const void *)wm_matmul_wgmma_turns<bf16, 0, 0>, (const void *)wm_matmul_wgmma_turns<bf16, 0, 1>, \
     (const void *)wm_matmul_wgmma_turns<bf16, 1, 0>, (const void *)wm_matmul_wgmma_turns<bf16, 1, 1>}
// clang-format on

static const tile_row tiles[] = {
    WM_WGMMA_ROW(256), WM_WGMMA_ROW(224),
    WM_WGMMA_ROW(192), WM_WGMMA_ROW(128),
    WM_WGMMA_ROW(64),  {WM_WGMMA_TURN_N, 1, sizeof(wm_wgmma_turn_ring), {WM_WGMMA_TURNS(true), WM_WGMMA_TURNS(false)}},
};
enum { TILES = sizeof tiles / sizeof tiles[0] };

/* ---- The solver ---- */

/** An operand with its rows (of A, or columns of B) along D's rows or columns. */
typedef struct operand {
    const wmMatrixDesc *desc;
    int64_t rows, k, ld, stride; /* stride: between matrices of the batch */
    int contiguous;              /* the rows are, not k */
    int packed;                  /* copied into the workspace first: ld and stride are the copy's */
    size_t bytes;                /* of the copy */
} operand;

/** The product as the kernel does it: D by rows. */
typedef struct product {
    operand a, b;
    int swapped;
} product;

static int64_t down_of(const operand *x) {
    return x->contiguous ? x->k : x->rows;
}

static int64_t across_of(const operand *x) {
    return x->contiguous ? x->rows : x->k;
}

static operand operand_of(const wmMatmulDesc *d, const wmMatrixDesc *desc, int64_t rows, int contiguous) {
    operand x = {desc, rows, d->k, desc->ld, desc->batch_stride, contiguous, !wm_matrix_is_vector(desc), 0};
    if (!x.packed) return x;
    x.ld = (across_of(&x) + 7) / 8 * 8;
    x.stride = x.ld * down_of(&x);
    x.bytes = (size_t)(x.stride * (wm_wgmma_is_shared(d, desc) ? 1 : d->batch)) * 2;
    x.bytes = (x.bytes + 255) / 256 * 256;
    return x;
}

static product product_of(const wmMatmulDesc *d) {
    operand a = operand_of(d, &d->a, d->m, (d->a.order == WM_COL_MAJOR) == (d->a.op == WM_OP_NONE));
    operand b = operand_of(d, &d->b, d->n, (d->b.order == WM_ROW_MAJOR) == (d->b.op == WM_OP_NONE));
    return d->d.order == WM_COL_MAJOR ? product{b, a, 1} : product{a, b, 0};
}

/** The map of an operand, which begins at `base`; tile: rows of a box. */
static wm_tensor tensor_of(const wmMatmulDesc *d, const operand *x, const void *base, int tile) {
    int shared = wm_wgmma_is_shared(d, x->desc);
    wm_tensor t = {};
    t.base = base;
    t.type = x->desc->type;
    t.dim[0] = across_of(x);
    t.dim[1] = down_of(x);
    t.dim[2] = shared ? 1 : d->batch;
    t.stride[0] = x->ld;
    t.stride[1] = shared ? x->ld : x->stride;
    t.box[0] = 64;
    t.box[1] = x->contiguous ? WM_WGMMA_K : tile;
    return t;
}

static wm_wgmma_job shape_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    wm_wgmma_job job = wm_wgmma_job_of(d, x.a.rows, x.b.rows, offer->knob[0], offer->knob[1], offer->knob[2]);
    job.steps = (int)((d->k + WM_WGMMA_K - 1) / WM_WGMMA_K);
    return job;
}

/* Waves of tiles. The rates are what an H200 sustains at its power limit, 1.98 GHz being the clock that peaks go by;
 * the rest of a tile is its way out, that of a launch includes filling the ring. */
static double estimate(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wm_device *device = wm_context_device(context);
    wm_wgmma_job job = shape_of(d, offer);
    int n = offer->knob[0], cluster = offer->knob[1], together = device->multiprocessors / cluster;
    double waves = ceil((double)job.rows * job.columns * job.batch / together);
    double peak = wm_context_peak_flops(context, d->a.type, d->compute) / device->multiprocessors;
    double rate = peak * (n >= 192 ? 0.68 : n == 128 ? 0.65 : 0.55);
    double out = 0.7e-6 + (job.map_d ? d->activation ? 0.8e-8 * n : 0.0 : 1.5e-8 * n);
    if (offer->knob[3]) out *= 0.4; /* the other warpgroup multiplies meanwhile */
    product x = product_of(d);
    double work = waves * (2.0 * WM_WGMMA_M * n * WM_WGMMA_K * job.steps / rate + out);
    double memory = wm_problem_cost(problem).bytes / (0.85 * wm_context_bandwidth(context));
    double copies = 0.0;
    const operand *const both[2] = {&x.a, &x.b};
    for (const operand *copy : both)
        if (copy->packed) copies += 2e-6 + 2.0 * (double)copy->bytes / (0.6 * wm_context_bandwidth(context));
    return (work > memory ? work : memory) + copies + (cluster == 2 ? 3.2e-6 : 3e-6);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_wgmma_refusal(context, d);
    int count = 0;
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->a.type != d->b.type) return wm_refuse(why, "the types of A and B differ");
    product x = product_of(d);
    int most = x.a.rows > WM_WGMMA_M ? 2 : 1;
    for (int tile = 0; tile < TILES; tile++)
        for (int cluster = 1; cluster <= most && count < capacity; cluster++) {
            wm_offer variant = {};
            variant.knob[0] = tiles[tile].n;
            variant.knob[1] = cluster;
            variant.knob[2] = 16;
            variant.knob[3] = tiles[tile].turns;
            variant.capturable = variant.concurrent = 1;
            variant.workspace = x.a.bytes + x.b.bytes;
            variant.seconds = estimate(context, problem, &variant);
            out[count++] = variant;
        }
    return count;
}

static const tile_row *tile_of(const wm_offer *offer) {
    const tile_row *row = tiles;
    while (row->n != offer->knob[0] || row->turns != offer->knob[3]) row++;
    return row;
}

static const void *kernel_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    return tile_of(offer)->kernel[d->a.type == WM_F16][2 * x.a.contiguous + x.b.contiguous];
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_pack", (const void *)wm_matmul_pack_kernel, 0));
    return wm_prepare_kernel(context, "matmul_wgmma", kernel_of(&problem->u.matmul, offer), tile_of(offer)->shared);
}

/* Copies an operand to `to`, for the kernel after it. */
static wmStatus pack(const wm_run *run, const operand *x, const void *from, void *to) {
    wm_pack_job job = {};
    job.from = static_cast<const wm_u16 *>(from);
    job.to = static_cast<wm_u32 *>(to);
    job.rows = down_of(x);
    job.columns = (int)across_of(x);
    job.batch = wm_wgmma_is_shared(&run->problem->u.matmul, x->desc) ? 1 : run->problem->u.matmul.batch;
    job.from_row = x->desc->ld, job.from_batch = x->desc->batch_stride;
    job.to_row = x->ld / 2, job.to_batch = x->stride / 2;
    job.lanes = 8;
    while (job.lanes < WM_PACK_THREADS && job.lanes * 2 * WM_PACK_STEPS < job.columns) job.lanes *= 2;
    int each = job.lanes * 2 * WM_PACK_STEPS, down = WM_PACK_THREADS / job.lanes;
    job.segments = (job.columns + each - 1) / each;
    double units = (double)((job.rows + down - 1) / down) * job.segments * (double)job.batch;
    wm_launch launch = {};
    launch.kernel = (const void *)wm_matmul_pack_kernel;
    launch.grid = wm_dim3{(unsigned)(units < 1e6 ? units : 1e6), 1, 1};
    launch.block = wm_dim3{WM_PACK_THREADS, 1, 1};
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_pack", &launch, run->stream);
}

/* Where the operands are read: in place, or as copies. */
static wmStatus place_operands(const wm_run *run, const product *x, const void *at[2]) {
    const wmMatmulArgs *args = &run->args->matmul;
    char *room = static_cast<char *>(run->workspace);
    const operand *const both[2] = {&x->a, &x->b};
    at[x->swapped] = args->a;
    at[!x->swapped] = args->b;
    for (int i = 0; i < 2; i++) {
        if (!both[i]->packed) continue;
        WM_TRY(pack(run, both[i], at[i], room));
        at[i] = room;
        room += both[i]->bytes;
    }
    return WM_OK;
}

/* The maps of A, B and D at these addresses. */
static wmStatus make_maps(const wm_run *run, wm_wgmma_job *job) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    product x = product_of(d);
    int error = 0;
    if (job->steps) {
        const void *at[2];
        WM_TRY(place_operands(run, &x, at));
        wm_tensor ta = tensor_of(d, &x.a, at[0], WM_WGMMA_M);
        wm_tensor tb = tensor_of(d, &x.b, at[1], run->offer->knob[0] / run->offer->knob[1]);
        error = gpu->tensor_map(gpu->self, &ta, &job->a);
        if (!error) error = gpu->tensor_map(gpu->self, &tb, &job->b);
    }
    if (job->map_d && !error) {
        wm_tensor td = wm_wgmma_d_tensor(d, job, args->d, run->offer->knob[0]);
        error = gpu->tensor_map(gpu->self, &td, &job->d);
    }
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

/* A warp's pieces of D take turns in two buffers, and each tile begins with the first. After an odd number of pieces
 * that is the one which left last, and it may still be read: a block makes one tile then. */
static int is_one_tile(const wmMatmulDesc *d, const wm_offer *offer) {
    int columns = d->d.type == WM_F32 ? 32 : wm_wgmma_out_columns(offer->knob[0]);
    return !offer->knob[3] && offer->knob[0] / columns % 2;
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    wm_wgmma_job job = shape_of(d, run->offer);
    job.epilogue = wm_matmul_job_of(d, &run->args->matmul, WM_WGMMA_M, WM_WGMMA_M).epilogue;
    WM_TRY(make_maps(run, &job));
    wm_launch launch = wm_wgmma_launch_of(run->context, &job, run->offer->knob[1], kernel_of(d, run->offer),
                                          tile_of(run->offer)->shared);
    if (is_one_tile(d, run->offer))
        launch.grid.x = (unsigned)(run->offer->knob[1] * job.rows * job.columns * job.batch);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_wgmma", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_wgmma = {
    "matmul_wgmma",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    2, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"tile_n", "cluster", "group", "turns", nullptr},
    offer,
    make,
    run,
    nullptr,
};
