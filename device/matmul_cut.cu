/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f16 and bf16 with few tiles, on Hopper's tensor cores: k is cut among the blocks of a cluster.
 *
 *      k ─────────────▶         A cluster of 1, 2, 4 or 8 blocks makes a tile of D, 64 × 64 or 128 × 128. Block r has
 *    ┌───┬───┬───┬───┐ A        the r-th part of k: one thread copies its steps of 64 in (as many at once as there are
 *    │ 0 │ 1 │ 2 │ 3 │          stages: for small k all of them), one or two warpgroups multiply (wgmma). Then each
 *    └───┴───┴───┴───┘          block gets everybody's sums of its columns, by stores into its shared memory that its
 *        ┌──┬──┬──┬──┐          barrier counts (st.async), adds them up in the order of the ranks, and finishes them
 *      D │0 │1 │2 │3 │          with alpha, C, bias and activation. The bits depend on the number of blocks alone.
 *        └──┴──┴──┴──┘
 * Of a triangle of D only the tiles that it crosses are made: half the work of a symmetric product.
 * Blocks make one tile and leave. Without a cluster (1) nothing is exchanged.
 * Refuses: other GPUs than sm_90; A or B that is not 16-byte aligned in pointer, ld and batch stride; arrays of
 * pointers.
 *
 * Floor: a launch, one trip of a tile from L2 (about 1 us each), then (64 + 64) or (128 + 128) × 64 × 2 bytes a step at
 * some 64 bytes a clock; the exchange, one trip to a neighbour, 0.7 us. Predicted: 256³ 3.0 us, 512³ 3.6, 1024³ 6.2.
 * Measured on an NVIDIA H200, 2026-11-30, by graph replay, operands past L2, over cuBLASLt's fastest in the same run:
 * 5.6, 7.6 and 16.8 us, so 0.57, 0.50 and 0.42, each slower than matmul_wgmma (4.6, 5.4, 7.6 us); where k is long
 * better: 256 × 256 × 4096 8.3 us, 0.97 (matmul_wgmma 0.47), 512 × 512 × 8192 21.3 us, 0.65 (0.47). Source of
 * the idea: split k within clusters, as in CUTLASS's distributed reductions; the exchange is fft_cluster's.
 */
#include "device/matmul_cut.cuh"
#include "device/matmul_wgmma_plan.h"

#include <math.h>

/* ---- Kernels, by tile, operand type, and whether A's rows and B's columns are contiguous ---- */

template <int GROUPS, int TILE_N, bool BF16, int A_MN, int B_MN>
__global__ void __launch_bounds__((wm_cut_shared<GROUPS, TILE_N>::THREADS), 1)
    wm_matmul_cut_kernel(WM_PARAMS(wm_cut_job)) {
    wm_cut_tile<GROUPS, TILE_N, BF16, A_MN, B_MN>(p);
}

typedef struct cut_row {
    int n, threads;
    size_t shared;
    const void *kernel[2][4]; /* bf16, f16; 2 · A + B contiguous */
} cut_row;

// clang-format off
#define WM_CUT_KERNELS(g, n, bf16) \
    {(const void *)wm_matmul_cut_kernel<g, n, bf16, 0, 0>, (const void *)wm_matmul_cut_kernel<g, n, bf16, 0, 1>, \
     (const void *)wm_matmul_cut_kernel<g, n, bf16, 1, 0>, (const void *)wm_matmul_cut_kernel<g, n, bf16, 1, 1>}
#define WM_CUT_ROW(g, n) \
    {n, wm_cut_shared<g, n>::THREADS, sizeof(wm_cut_shared<g, n>), \
     {WM_CUT_KERNELS(g, n, true), WM_CUT_KERNELS(g, n, false)}}
// clang-format on

static const cut_row rows[] = {WM_CUT_ROW(1, 64), WM_CUT_ROW(2, 128)};
enum { ROWS = sizeof rows / sizeof rows[0], MOST_BLOCKS = 8 };

/* ---- The solver ---- */

/** An operand with its rows (of A, or columns of B) along D's rows or columns. */
typedef struct operand {
    const wmMatrixDesc *desc;
    int64_t rows, k;
    int contiguous; /* the rows are, not k */
} operand;

/** The product as the kernel does it: D by rows. */
typedef struct product {
    operand a, b;
    int swapped;
} product;

static product product_of(const wmMatmulDesc *d) {
    operand a = {&d->a, d->m, d->k, (d->a.order == WM_COL_MAJOR) == (d->a.op == WM_OP_NONE)};
    operand b = {&d->b, d->n, d->k, (d->b.order == WM_ROW_MAJOR) == (d->b.op == WM_OP_NONE)};
    return d->d.order == WM_COL_MAJOR ? product{b, a, 1} : product{a, b, 0};
}

static wm_tensor tensor_of(const wmMatmulDesc *d, const operand *x, const void *base, int tile) {
    int shared = wm_wgmma_is_shared(d, x->desc);
    wm_tensor t = {};
    t.base = base;
    t.type = x->desc->type;
    t.dim[0] = x->contiguous ? x->rows : x->k;
    t.dim[1] = x->contiguous ? x->k : x->rows;
    t.dim[2] = shared ? 1 : d->batch;
    t.stride[0] = x->desc->ld;
    t.stride[1] = shared ? x->desc->ld : x->desc->batch_stride;
    t.box[0] = 64;
    t.box[1] = x->contiguous ? WM_WGMMA_K : tile;
    return t;
}

static wm_cut_job shape_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    wm_cut_job job = {};
    int n = offer->knob[0], blocks = offer->knob[1];
    job.plain = wm_wgmma_job_of(d, x.a.rows, x.b.rows, n, 1, 1);
    job.plain.rows = (int)((x.a.rows + n - 1) / n); /* tiles are as high as wide */
    job.plain.steps = (int)((d->k + WM_WGMMA_K - 1) / WM_WGMMA_K);
    job.each = (job.plain.steps + blocks - 1) / blocks;
    job.triangle = (int)d->triangle;
    if (d->triangle && x.swapped) job.triangle = 3 - job.triangle;
    return job;
}

static double units_of(const wm_cut_job *job) {
    double rows = job->plain.rows, each = job->triangle ? rows * (rows + 1) / 2 : rows * job->plain.columns;
    return each * job->plain.batch;
}

/* Predicted, not fitted: waves of blocks, a step's bytes at 64 a clock, a launch and the trips of the first step. */
static double estimate(wmContext *context, const wmMatmulDesc *d, const wm_offer *offer) {
    wm_cut_job job = shape_of(d, offer);
    int n = offer->knob[0], blocks = offer->knob[1], multiprocessors = wm_context_device(context)->multiprocessors;
    double units = units_of(&job) * blocks;
    double waves = ceil(units / multiprocessors), step = 2.0 * n * WM_WGMMA_K * 2 / (64 * 1.755e9);
    return 2.2e-6 + (blocks > 1 ? 0.8e-6 : 0.0) + waves * (0.9e-6 + job.each * step);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_wgmma_refusal(context, d);
    int count = 0;
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->a.type != d->b.type) return wm_refuse(why, "the types of A and B differ");
    if (!wm_matrix_is_vector(&d->a) || !wm_matrix_is_vector(&d->b))
        return wm_refuse(why, "A or B is not 16-byte aligned in pointer, ld and batch stride");
    product x = product_of(d);
    double enough = 4.0 * wm_context_device(context)->multiprocessors;
    for (int row = 0; row < ROWS; row++) {
        if (rows[row].n > 64 && (x.a.rows <= 64 || x.b.rows <= 64)) continue; /* half of the tile would be empty */
        for (int blocks = 1; blocks <= MOST_BLOCKS && count < capacity; blocks *= 2) {
            wm_offer variant = {};
            variant.knob[0] = rows[row].n;
            variant.knob[1] = blocks;
            wm_cut_job job = shape_of(d, &variant);
            double units = units_of(&job) * blocks;
            if (units >= WM_WGMMA_MOST || (d->triangle && job.plain.rows > 1 << 15)) break;
            if (blocks > 1 && (job.plain.steps < blocks || units / 2 >= enough)) break;
            variant.capturable = variant.concurrent = 1;
            variant.seconds = estimate(context, d, &variant);
            out[count++] = variant;
        }
    }
    return count ? count : wm_refuse(why, "it has 2^31 blocks or more");
}

static const cut_row *row_of(const wm_offer *offer) {
    const cut_row *row = rows;
    while (row->n != offer->knob[0]) row++;
    return row;
}

static const void *kernel_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    return row_of(offer)->kernel[d->a.type == WM_F16][2 * x.a.contiguous + x.b.contiguous];
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_cut", kernel_of(&problem->u.matmul, offer), row_of(offer)->shared);
}

static wmStatus make_maps(const wm_run *run, wm_wgmma_job *job) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    product x = product_of(d);
    if (job->steps == 0) return WM_OK;
    wm_tensor ta = tensor_of(d, &x.a, x.swapped ? args->b : args->a, run->offer->knob[0]);
    wm_tensor tb = tensor_of(d, &x.b, x.swapped ? args->a : args->b, run->offer->knob[0]);
    int error = gpu->tensor_map(gpu->self, &ta, &job->a);
    if (!error) error = gpu->tensor_map(gpu->self, &tb, &job->b);
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    wm_cut_job job = shape_of(d, run->offer);
    int blocks = run->offer->knob[1];
    job.plain.epilogue = wm_matmul_job_of(d, &run->args->matmul, 1, 1).epilogue;
    WM_TRY(make_maps(run, &job.plain));
    wm_launch launch = {};
    launch.kernel = kernel_of(d, run->offer);
    launch.grid = wm_dim3{(unsigned)(units_of(&job) * blocks), 1, 1};
    launch.block = wm_dim3{(unsigned)row_of(run->offer)->threads, 1, 1};
    if (blocks > 1) launch.cluster = wm_dim3{(unsigned)blocks, 1, 1};
    launch.shared = row_of(run->offer)->shared;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_cut", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_cut = {
    "matmul_cut",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED | WM_MM_TRIANGLE,
    {"tile", "blocks", nullptr},
    offer,
    make,
    run,
    nullptr,
};
