/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped batches, and batches by arrays of pointers, of f16 and bf16 on Hopper's tensor cores: matmul_wgmma's
 * structure over tiles of products whose sizes and addresses stand in device memory. Any layout and epilogue; D of 16
 * bits or f32.
 *
 *     place   │ a thread a group: tensor maps of its A and B, made from the host's by replacing address and sizes;
 *             │ one block adds up the tiles
 *     multiply│ persistent blocks walk the row of all tiles. One thread copies, two warpgroups multiply, each looking
 * up │ whose the tile is; the ring of stages runs on over the seams between groups
 *
 * So neither launch depends on the sizes: one captured graph serves every step. In a cluster two blocks share B's tile.
 * Refuses: operands not 16-byte aligned in pointer, offset and ld (matmul_grouped takes them); other GPUs than sm_90.
 *
 * Floor: as matmul_wgmma's, 70 to 80 % of the tensor peak; with few rows a group, B once over the memory's rate.
 * Measured on an NVIDIA H200, 2026-11-30, bf16, tokens by experts, over a captured loop of cuBLASLt's fastest
 * algorithms / over cublasGemmGroupedBatchedEx: 16 even groups of 2048 rows 1.09 / 1.94 (628 TFLOP/s), 16 skewed of
 * 4096 in all 1.26 / 1.34, 64 of 8192 1.87 / 1.28, 128 of 16384 even 3.01 / 1.30, skewed 2.42 / 1.31, 128 of 1024 2.95
 * / 0.87. Source of the idea of maps made on the device: CUTLASS's grouped kernels.
 */
#include "device/matmul_grouped.cuh"
#include "device/matmul_wgmma_plan.h"
#include "device/matmul_wgmma_store.cuh"

#include <warpmath/device/tma_map.cuh>

#include <math.h>

enum { WM_MAPS = 2 }; /* of A and B as the kernel sees them */

typedef struct wm_grouped_job {
    wm_wgmma_job w; /* of the largest group: its maps are the patterns */
    wm_groups groups;
    wm_tensor_map *maps;            /* [groups][2], behind first[] */
    int a_contiguous, b_contiguous; /* the rows are, not k */
} wm_grouped_job;

WM_KERNEL __launch_bounds__(WM_GROUPS_THREADS) wm_matmul_grouped_place(WM_PARAMS(wm_grouped_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    wm_i64 g = (wm_i64)blockIdx.x * WM_GROUPS_THREADS + wm_thread();
    if (blockIdx.x == 0) wm_groups_count(p.groups, wm_shared<char>());
    if (g >= p.groups.count) return;
    wm_group it = wm_groups_get(p.groups, g);
    int rows = (int)wm_max(it.rows, (wm_i64)1), columns = (int)wm_max(it.columns, (wm_i64)1),
        k = (int)wm_max(it.k, (wm_i64)1);
    wm_tensor_map *to = p.maps + g * WM_MAPS;
    wm_tma_map_copy(&to[0], &p.w.a);
    wm_tma_map_copy(&to[1], &p.w.b);
    wm_tma_map_point(&to[0], it.a, p.a_contiguous ? rows : k, p.a_contiguous ? k : rows);
    wm_tma_map_point(&to[1], it.b, p.b_contiguous ? columns : k, p.b_contiguous ? k : columns);
    wm_tma_map_release();
#else
    (void)p;
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** What is told of a tile before its product. */
typedef struct wm_grouped_tile {
    int g, m, n, steps;
    wm_wgmma_tile at;
} wm_grouped_tile;

template <int TILE_N>
WM_DEVICE wm_grouped_tile wm_grouped_tile_of(const wm_grouped_job &p, int unit, int rank, int blocks) {
    wm_i64 g = wm_groups_find(p.groups, unit);
    wm_group it = wm_groups_get(p.groups, g);
    wm_wgmma_job q = p.w;
    int high = WM_WGMMA_M * blocks;
    q.rows = (int)((it.rows + high - 1) / high), q.columns = (int)((it.columns + TILE_N - 1) / TILE_N);
    wm_grouped_tile x = {(int)g, (int)it.rows, (int)it.columns, (int)((it.k + WM_WGMMA_K - 1) / WM_WGMMA_K), {}};
    x.at = wm_wgmma_tile_of<TILE_N>(q, unit - (int)p.groups.first[g], rank, blocks);
    return x;
}

/** Brings in one step's tiles, as wm_wgmma_fetch, through maps in global memory. */
template <int TILE_N, int A_MN, int B_MN>
WM_DEVICE void wm_grouped_fetch(const wm_tensor_map *map, wm_wgmma_ring<TILE_N> *s, int stage, wm_wgmma_tile tile,
                                int k, int rank, int blocks) {
    typedef wm_wgmma_ring<TILE_N> ring;
    unsigned char *a = s->a[stage], *b = s->b[stage];
    wm_mbarrier *full = &s->full[stage];
    const int rows = B_MN ? ring::BOXES * 64 : TILE_N, boxes = A_MN ? 2 : 1;
    wm_mbarrier_expect(full, (WM_WGMMA_M + rows) * WM_WGMMA_K * 2);
    WM_UNROLL
    for (int box = 0; box < boxes; box++)
        wm_tma_load(a + box * 8192, &map[0], A_MN ? tile.i + box * 64 : k, A_MN ? k : tile.i, 0, full);
    if constexpr (B_MN) {
        WM_UNROLL
        for (int box = 0; box < ring::BOXES; box++) {
            if (blocks == 1)
                wm_tma_load(b + box * 8192, &map[1], tile.j + box * 64, k, 0, full);
            else if (box % 2 == rank)
                wm_tma_load_all(b + box * 8192, &map[1], tile.j + box * 64, k, 0, full, 3);
        }
    } else if (blocks == 1) {
        wm_tma_load(b, &map[1], k, tile.j, 0, full);
    } else {
        wm_tma_load_all(b + rank * (TILE_N * 64), &map[1], k, tile.j + rank * (TILE_N / 2), 0, full, 3);
    }
}

/** The copying thread's life. */
template <int TILE_N, int A_MN, int B_MN>
WM_DEVICE void wm_grouped_copy(const wm_grouped_job &p, wm_wgmma_ring<TILE_N> *s, bool product, int units) {
    typedef wm_wgmma_ring<TILE_N> ring;
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks(), last = -1;
    wm_wgmma_turn turn = {0, 0};
    for (int unit = blockIdx.x / blocks; unit < units; unit += gridDim.x / blocks) {
        wm_grouped_tile tile = wm_grouped_tile_of<TILE_N>(p, unit, rank, blocks);
        const wm_tensor_map *map = p.maps + (wm_i64)tile.g * WM_MAPS;
        if (tile.g != last) {
            wm_tma_map_acquire(&map[0]);
            wm_tma_map_acquire(&map[1]);
            last = tile.g;
        }
        for (int step = 0; product && step < tile.steps; step++) {
            wm_mbarrier_wait(&s->empty[turn.stage], turn.parity ^ 1);
            wm_grouped_fetch<TILE_N, A_MN, B_MN>(map, s, turn.stage, tile.at, step * WM_WGMMA_K, rank, blocks);
            wm_wgmma_next<ring::STAGES>(turn);
        }
    }
}

/** A tile's way out. */
template <int TILE_N>
WM_DEVICE void wm_grouped_out(const wm_grouped_job &p, wm_wgmma_ring<TILE_N> *s, int unit, bool product,
                              const float (&sum)[TILE_N / 2]) {
    int warp = wm_warp() - 4;
    wm_grouped_tile tile = wm_grouped_tile_of<TILE_N>(p, unit, wm_cluster_rank(), wm_cluster_blocks());
    wm_group it = wm_groups_get(p.groups, tile.g);
    wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.w.epilogue);
    wm_wgmma_job q = p.w;
    q.m = tile.m, q.n = tile.n;
    q.epilogue.c.base = it.c, q.epilogue.d.base = it.d;
    if (!product || tile.steps == 0) scalars.alpha = 0.0f;
    bool plain = q.map_d && scalars.alpha != 0.0f && scalars.beta == 0.0f;
    tile.at.i += warp * 16;
    wm_wgmma_store<TILE_N>(q, scalars, s->out[warp], s->bias[warp / 4], tile.at, plain, sum);
}

/** One multiplying warpgroup. */
template <int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_grouped_compute(const wm_grouped_job &p, wm_wgmma_ring<TILE_N> *s, bool product, int units) {
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks(), half = wm_warp() / 4 - 1;
    wm_wgmma_turn turn = {0, 0};
    float sum[TILE_N / 2] = {};
    for (int unit = blockIdx.x / blocks; unit < units; unit += gridDim.x / blocks) {
        wm_grouped_tile tile = wm_grouped_tile_of<TILE_N>(p, unit, rank, blocks);
        wm_wgmma_job q = p.w;
        q.n = tile.n;
        wm_wgmma_bias<TILE_N>(q, tile.at.j, s->bias[half], half);
        wm_wgmma_multiply<TILE_N, BF16, A_MN, B_MN>(s, product ? tile.steps : 0, half, blocks, turn, sum);
        asm volatile("" : "+r"(unit)); /* the tile's place is worked out twice, to leave the product its registers */
        wm_grouped_out<TILE_N>(p, s, unit, product, sum);
    }
}

#endif

template <int TILE_N, bool BF16, int A_MN, int B_MN>
__global__ void __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_grouped_wgmma_kernel(WM_PARAMS(wm_grouped_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    wm_wgmma_ring<TILE_N> *s = wm_shared<wm_wgmma_ring<TILE_N>>();
    int blocks = wm_cluster_blocks(), units = (int)p.groups.first[p.groups.count];
    bool product = wm_epilogue_begin<float>(p.w.epilogue).alpha != 0.0f;
    wm_wgmma_begin(p.w, s, blocks);
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0) wm_grouped_copy<TILE_N, A_MN, B_MN>(p, s, product, units);
    } else {
        wm_registers_take<232>();
        wm_grouped_compute<TILE_N, BF16, A_MN, B_MN>(p, s, product, units);
    }
    wm_barrier_warp();
    if (blocks > 1) wm_cluster_meet(); /* others may still reach this block's shared memory */
#else
    (void)p;
#endif
}

typedef struct tile_row {
    int n;
    size_t shared;
    const void *kernel[2][4]; /* bf16, f16; 2 · A + B contiguous */
} tile_row;

// clang-format off
#define WM_GROUPED_KERNEL(n, bf16, a, b) (const void *)wm_matmul_grouped_wgmma_kernel<n, bf16, a, b>
#define WM_GROUPED_KERNELS(n, bf16) \
    {WM_GROUPED_KERNEL(n, bf16, 0, 0), WM_GROUPED_KERNEL(n, bf16, 0, 1), \
     WM_GROUPED_KERNEL(n, bf16, 1, 0), WM_GROUPED_KERNEL(n, bf16, 1, 1)}
#define WM_GROUPED_ROW(n) {n, sizeof(wm_wgmma_ring<n>), {WM_GROUPED_KERNELS(n, true), WM_GROUPED_KERNELS(n, false)}}
// clang-format on

static const tile_row tiles[] = {WM_GROUPED_ROW(192), WM_GROUPED_ROW(128)};
enum { TILES = sizeof tiles / sizeof tiles[0] };

/* ---- The solver ---- */

/** An operand with its rows (of A, or columns of B) along D's rows or columns. */
typedef struct operand {
    const wmMatrixDesc *desc;
    int64_t rows;
    int contiguous; /* the rows are, not k */
} operand;

typedef struct product {
    operand a, b;
    int swapped;
} product;

static product product_of(const wmMatmulDesc *d) {
    operand a = {&d->a, d->m, (d->a.order == WM_COL_MAJOR) == (d->a.op == WM_OP_NONE)};
    operand b = {&d->b, d->n, (d->b.order == WM_ROW_MAJOR) == (d->b.op == WM_OP_NONE)};
    return d->d.order == WM_COL_MAJOR ? product{b, a, 1} : product{a, b, 0};
}

static size_t maps_bytes(const wmMatmulDesc *d) {
    return (size_t)d->batch * WM_MAPS * sizeof(wm_tensor_map);
}

static double estimate(wmContext *context, const wmMatmulDesc *d, const wm_offer *offer) {
    int n = offer->knob[0], cluster = offer->knob[1], sm = wm_context_device(context)->multiprocessors;
    int high = WM_WGMMA_M * cluster, swapped = d->d.order == WM_COL_MAJOR;
    double k = 0, tiles = wm_groups_expected(d, swapped ? n : high, swapped ? high : n, &k);
    double waves = ceil(tiles / (sm / cluster)), steps = ceil(k / WM_WGMMA_K);
    double rate = wm_context_peak_flops(context, d->a.type, d->compute) / sm * (n == 192 ? 0.64 : 0.6);
    return 8e-6 + waves * (2.0 * WM_WGMMA_M * n * WM_WGMMA_K * steps / rate + 1.2e-6);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_wgmma_refusal(context, d);
    int count = 0;
    if (d->batch_mode == WM_BATCH_STRIDED) return wm_refuse(why, "the batch is neither grouped nor of pointers");
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->a.type != d->b.type) return wm_refuse(why, "the types of A and B differ");
    if (!wm_matrix_is_vector(&d->a) || !wm_matrix_is_vector(&d->b))
        return wm_refuse(why, "A or B is not aligned to 16 bytes");
    if (d->k == 0 || d->batch >= WM_WGMMA_MOST / 2) return wm_refuse(why, "k is 0, or there are 2^30 groups");
    for (int tile = 0; tile < TILES; tile++)
        for (int cluster = 1; cluster <= 2 && count < capacity; cluster++) {
            wm_offer variant = {};
            variant.knob[0] = tiles[tile].n;
            variant.knob[1] = cluster;
            variant.knob[2] = 16;
            variant.capturable = variant.concurrent = 1;
            variant.workspace = wm_groups_bytes(d) + maps_bytes(d);
            variant.seconds = estimate(context, d, &variant);
            out[count++] = variant;
        }
    return count;
}

static const tile_row *tile_of(const wm_offer *offer) {
    const tile_row *row = tiles;
    while (row->n != offer->knob[0]) row++;
    return row;
}

static const void *kernel_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    return tile_of(offer)->kernel[d->a.type == WM_F16][2 * x.a.contiguous + x.b.contiguous];
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_grouped_place", (const void *)wm_matmul_grouped_place,
                             wmReduceSmem(WM_GROUPS_THREADS)));
    return wm_prepare_kernel(context, "matmul_grouped_wgmma", kernel_of(&problem->u.matmul, offer),
                             tile_of(offer)->shared);
}

/* A pattern; `base` is any address, to be replaced. */
static wm_tensor tensor_of(const wmMatmulDesc *d, const operand *x, const void *base, int rows) {
    wm_tensor t = {};
    t.base = base;
    t.type = x->desc->type;
    t.dim[0] = x->contiguous ? x->rows : d->k;
    t.dim[1] = x->contiguous ? d->k : x->rows;
    t.dim[2] = 1;
    t.stride[0] = t.stride[1] = x->desc->ld;
    t.box[0] = 64;
    t.box[1] = x->contiguous ? WM_WGMMA_K : rows;
    return t;
}

static wmStatus make_patterns(const wm_run *run, const product *x, wm_wgmma_job *job) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    wm_tensor a = tensor_of(d, &x->a, run->workspace, WM_WGMMA_M);
    wm_tensor b = tensor_of(d, &x->b, run->workspace, run->offer->knob[0] / run->offer->knob[1]);
    int error = gpu->tensor_map(gpu->self, &a, &job->a);
    if (!error) error = gpu->tensor_map(gpu->self, &b, &job->b);
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

static wm_grouped_job job_of(const wm_run *run, const product *x) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    int n = run->offer->knob[0], high = WM_WGMMA_M * run->offer->knob[1];
    wm_grouped_job job = {};
    job.w = wm_wgmma_job_of(d, x->a.rows, x->b.rows, n, run->offer->knob[1], run->offer->knob[2]);
    job.w.epilogue = wm_matmul_job_of(d, &run->args->matmul, WM_WGMMA_M, n).epilogue;
    job.w.epilogue.c.pointers = job.w.epilogue.d.pointers = 0; /* the kernel looks them up */
    job.w.a_batch = job.w.b_batch = 0;
    job.groups = wm_groups_of(d, &run->args->matmul);
    job.groups.swapped = x->swapped;
    job.groups.tile_m = x->swapped ? n : high, job.groups.tile_n = x->swapped ? high : n;
    job.groups.first = static_cast<wm_i64 *>(run->workspace);
    job.maps = reinterpret_cast<wm_tensor_map *>(static_cast<char *>(run->workspace) + wm_groups_bytes(d));
    job.a_contiguous = x->a.contiguous, job.b_contiguous = x->b.contiguous;
    return job;
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    product x = product_of(d);
    wm_grouped_job job = job_of(run, &x);
    WM_TRY(make_patterns(run, &x, &job.w));
    wm_launch launch = {};
    launch.kernel = (const void *)wm_matmul_grouped_place;
    launch.grid = wm_dim3{(unsigned)((d->batch + WM_GROUPS_THREADS - 1) / WM_GROUPS_THREADS), 1, 1};
    launch.block = wm_dim3{WM_GROUPS_THREADS, 1, 1};
    launch.shared = wmReduceSmem(WM_GROUPS_THREADS);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    WM_TRY(wm_launch_kernel(run->context, "matmul_grouped_place", &launch, run->stream));
    launch = wm_wgmma_launch_of(run->context, &job.w, run->offer->knob[1], kernel_of(d, run->offer),
                                tile_of(run->offer)->shared);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_grouped_wgmma", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_grouped_wgmma = {
    "matmul_grouped_wgmma",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_POINTERS | WM_MM_GROUPED | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"tile_n", "cluster", "group", nullptr},
    offer,
    make,
    run,
    nullptr,
};
