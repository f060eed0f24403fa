/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on the ordinary cores that leave most multiprocessors idle unless k is cut: small ones, long k, thin
 * outputs; and c64 and c128 at any size. f32, f64, c64, c128; any layout, alignment, batch and epilogue.
 *
 *          k            n          A block makes TILE_M × TILE_N of D over its part of k. Steps of DEPTH come by
 *      ┌──┬──┬──┐   ┌─┬──────┐     asynchronous copies, three under way: of 16 bytes, or of 4 where an operand is
 *    m │ 0│ 1│ 2│ k │ │  B   │     turned or not aligned. `groups` of its threads take turns in a step's k, each
 *      ├──┼──┼──┤   └─┴──────┘     thread TM × TN sums: A is read 16 bytes along k, B along n, so that a warp's
 *      │▒▒│▒▒│▒▒│      ┌──┐        reads are broadcasts and whole lines.
 *      └──┴──┴──┘      │▒▒│ D      The parts are added in the order of k: groups first, then the blocks of a cluster
 *                      └──┘        through each other's shared memory, or more parts through workspace and a second
 *                                  kernel. So the bits are the same in each run.
 *
 * Floor: 2mnk over the FFMA rate (67 TFLOP/s on an H200), or the operands once over the memory's. Reached on an NVIDIA
 * H200, 2026-11-30, over the best of cuBLASLt's algorithms in the same run: f32 256³, 512³, 1024³ 1.03, 1.09, 0.9 (6.5,
 * 16.3, 66 us), 4096 × 16 × 4096 1.12, 64 × 64 × 2^20 1.2 (279 us); c64 256³ 1.33, 2048³ 0.67; batched f32 64³ 0.69.
 */
#include "device/matmul_slices.cuh"

#include <math.h>

enum { SUM_THREADS = 256, SUM_LANES = 8 };

template <class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS) wm_matmul_slices_kernel(WM_PARAMS(wm_slices_job)) {
    typedef typename S::Element T;
    typename S::shared *s = wm_shared<typename S::shared>();
    unsigned number = blockIdx.x / (unsigned)p.splits; /* 32-bit divisions: the others take a while */
    unsigned each = (unsigned)(p.tiles_m * p.tiles_n), columns = (unsigned)p.tiles_n;
    wm_i64 tile = number, t = number / each;
    unsigned in = number - (unsigned)t * each;
    wm_i64 i0 = (wm_i64)(in / columns) * S::M, j0 = (wm_i64)(in % columns) * S::N;
    int split = (int)(blockIdx.x - number * (unsigned)p.splits);
    wm_ending<T> ending = wm_ending_begin(p.epilogue, T{});
    T sum[S::ROWS][S::COLUMNS] = {};
    wm_slices_sum<S, T>(p, s, t, i0, j0, split, !wm_is_zero(ending.alpha), sum);
    if constexpr (S::PARTS > 1) wm_slices_sum_groups<S, T>(s);
    wm_split_barrier(p.cluster);
    wm_slices_finish<S, T>(p, ending, s, t, tile, i0, j0, split);
    wm_split_barrier(p.cluster);
}

/** The second step through workspace: 32 outputs a block, lanes along the splits. */
template <class S>
__global__ void __launch_bounds__(SUM_THREADS) wm_matmul_slices_sum(WM_PARAMS(wm_slices_job)) {
    typedef typename S::Element T;
    T *lanes = wm_shared<T>();
    wm_i64 tiles = p.tiles_m * p.tiles_n * p.batch, first = (wm_i64)blockIdx.x * WM_WARP, tile = first / (S::M * S::N);
    wm_i64 t = tile / (p.tiles_m * p.tiles_n), in = tile - t * (p.tiles_m * p.tiles_n);
    int x = (int)(first - tile * (S::M * S::N)) + wm_lane(), lane = wm_thread() / WM_WARP;
    wm_i64 i = in / p.tiles_n * S::M + x / S::N, j = in % p.tiles_n * S::N + x % S::N;
    bool mine = i < p.a.count && j < p.b.count;
    wm_ending<T> ending = wm_ending_begin(p.epilogue, T{});
    const T *from = static_cast<const T *>(p.partial) + tile * (S::M * S::N) + x;
    T sum = {};
    if (mine) {
#pragma unroll 8
        for (int split = lane; split < p.splits; split += SUM_LANES)
            sum = wm_plus(sum, from[split * tiles * (S::M * S::N)]);
    }
    lanes[wm_thread()] = sum;
    wm_barrier();
    if (lane || !mine) return;
    for (int l = 1; l < SUM_LANES; l++) sum = wm_plus(sum, lanes[l * WM_WARP + wm_lane()]);
    wm_ending_store(p.epilogue, ending, t, i, j, sum);
}

/* ---- The solver ---- */

typedef struct variant {
    wmType type;
    int m, n, groups, depth, threads, blocks; /* blocks a multiprocessor */
    double fraction;                          /* of the ordinary cores' peak, when they are full */
    size_t element, shared;
    const void *kernel, *second;
} variant;

// clang-format off
#define WM_SPLIT(type, T, m, n, tm, tn, groups, depth, blocks, fraction) \
    {type, m, n, groups, depth, (m) / (tm) * ((n) / (tn)) * (groups), blocks, fraction, sizeof(T), \
     sizeof(wm_slices_shape<T, m, n, tm, tn, groups, depth>::shared), \
     (const void *)wm_matmul_slices_kernel<wm_slices_shape<T, m, n, tm, tn, groups, depth>>, \
     (const void *)wm_matmul_slices_sum<wm_slices_shape<T, m, n, tm, tn, groups, depth>>}
// clang-format on

static const variant variants[] = {
    WM_SPLIT(WM_F32, float, 64, 64, 8, 4, 1, 16, 4, 0.50),   WM_SPLIT(WM_F32, float, 64, 64, 8, 8, 4, 32, 2, 0.60),
    WM_SPLIT(WM_F32, float, 128, 128, 8, 8, 1, 16, 2, 0.62), WM_SPLIT(WM_F32, float, 128, 16, 8, 4, 4, 32, 2, 0.45),
    WM_SPLIT(WM_C64, float2, 64, 64, 8, 4, 1, 8, 4, 0.60),   WM_SPLIT(WM_C64, float2, 32, 32, 4, 4, 2, 16, 4, 0.45),
    WM_SPLIT(WM_F64, double, 64, 64, 8, 4, 1, 8, 4, 0.55),   WM_SPLIT(WM_C128, double2, 32, 32, 4, 4, 2, 8, 4, 0.6),
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static const variant *variant_of(const wm_offer *offer) {
    return &variants[offer->knob[0]];
}

/* A thin D has its thin side along n. */
static wm_turned turn_of(const wmMatmulDesc *d, const variant *v) {
    return wm_turn(d, v->m != v->n ? d->m < d->n : d->d.order == WM_COL_MAJOR);
}

/* Knobs: variant, splits, cluster. */
static wm_slices_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, const wm_offer *offer) {
    const variant *v = variant_of(offer);
    wm_turned x = turn_of(d, v);
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_slices_job job = {};
    job.a = wm_panel_side_of(d, &x.a, x.swapped ? args->b : args->a, x.a.by_k);
    job.b = wm_panel_side_of(d, &x.b, x.swapped ? args->a : args->b, !x.b.by_k);
    job.k = d->k, job.batch = d->batch;
    job.tiles_m = (x.a.count + v->m - 1) / v->m;
    job.tiles_n = (x.b.count + v->n - 1) / v->n;
    job.splits = offer->knob[1], job.cluster = offer->knob[2];
    int64_t steps = (d->k + v->depth - 1) / v->depth;
    job.steps = (int)((steps + job.splits - 1) / job.splits);
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.d_by_rows = job.epilogue.d.col == 1;
    job.plain = wm_is_plain(d);
    job.vector_d = wm_turn_is_vector_d(d, &x, 16 / (int)v->element);
    return job;
}

static double tiles_of(const wm_slices_job *job) {
    return (double)job->tiles_m * (double)job->tiles_n * (double)job->batch;
}

/* Waves of blocks, bound by their multiply-adds or by memory. A multiprocessor needs some blocks to be busy. */
static double seconds_of(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const variant *v = variant_of(offer);
    const wm_device *device = wm_context_device(context);
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_slices_job job = job_of(d, &none, offer);
    int complex = wm_type_is_complex(d->a.type), wide = d->a.type == WM_F64 || d->a.type == WM_C128;
    double blocks = tiles_of(&job) * job.splits, each = ceil(blocks / device->multiprocessors);
    double peak = wm_context_peak_flops(context, WM_F32, WM_COMPUTE_F32_STRICT) * (wide ? 0.5 : 1.0);
    double busy = fmin(1.0, 0.45 + 0.55 * (fmin(each, v->blocks) * v->threads - 128.0) / 384.0);
    double rate = v->fraction * busy * peak / device->multiprocessors / (job.a.vector && job.b.vector ? 1.0 : 1.25);
    double work = each * 2.0 * v->m * v->n * job.steps * v->depth * (complex ? 4.0 : 1.0) / rate;
    double memory = wm_problem_cost(problem).bytes / (0.7 * wm_context_bandwidth(context));
    double out = 2.0 * (double)offer->workspace / (0.7 * wm_context_bandwidth(context));
    double fixed = 2.0e-6 + (job.cluster ? 0.5e-6 : job.splits > 1 ? 3e-6 : 0.0);
    return fixed + out + fmax(fmax(work, memory), job.steps * 0.25e-6);
}

static int add_offer(wmContext *context, const wm_problem *problem, int which, int splits, int cluster, wm_offer *out) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    *out = wm_offer{};
    out->knob[0] = which, out->knob[1] = splits, out->knob[2] = cluster;
    const variant *v = variant_of(out);
    wm_slices_job job = job_of(d, &none, out);
    if (tiles_of(&job) * splits >= 2147483647.0) return 0;
    if (splits > 1 && !cluster) out->workspace = (size_t)(tiles_of(&job) * splits * v->m * v->n) * v->element;
    out->capturable = out->concurrent = 1;
    out->seconds = seconds_of(context, problem, out);
    return 1;
}

/* Splits through workspace: as many as fill the device, each at least four steps of k. */
static int splits_wanted(wmContext *context, const wmMatmulDesc *d, int which) {
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_offer one = {};
    one.knob[0] = which, one.knob[1] = 1;
    wm_slices_job job = job_of(d, &none, &one);
    double slots = (double)wm_context_device(context)->multiprocessors * variant_of(&one)->blocks;
    double most = (double)job.steps / 4.0, wanted = floor(slots / tiles_of(&job));
    return (int)fmin(wanted, most);
}

/* Whether a tile is worth a try: thin ones for thin outputs, groups for long k, the largest for large outputs. */
static int suits(const wmMatmulDesc *d, const variant *v) {
    int64_t least = d->m < d->n ? d->m : d->n;
    if (v->m != v->n) return least <= 2 * v->n && d->m + d->n - least >= v->m;
    if (v->m == 128) return least >= 256;
    if (v->m == 64 && v->groups > 1) return d->k >= 1024 && least >= 32;
    return 1;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_natural_refusal(d);
    int count = 0, clusters = wm_context_device(context)->sm >= 90;
    if (reason) return wm_refuse(why, "%s", reason);
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
    if (d->k >= 1ll << 36) return wm_refuse(why, "k is 2^36 or more");
#ifdef WM_SIMT
    if ((double)(d->m + 31) * (double)(d->n + 31) * (double)(d->k * d->batch) > (d->k >= 300 ? 5.5e5 : 8e4))
        return wm_refuse(why, "it is too large for the emulation");
#endif
    for (int i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        if (v->type != d->a.type || !suits(d, v)) continue;
        for (int splits = 1; splits <= (clusters ? WM_SLICES_RANKS : 1) && count < capacity; splits *= 2)
            if (splits == 1 || d->k >= 2ll * splits * v->depth)
                count += add_offer(context, problem, i, splits, splits > 1, &out[count]);
        int more = splits_wanted(context, d, i);
        if (more > WM_SLICES_RANKS && count < capacity) count += add_offer(context, problem, i, more, 0, &out[count]);
    }
    return count ? count : wm_refuse(why, "it has 2^31 tiles or more");
}

static wmStatus make(wmContext *context, const wm_problem *, const wm_offer *offer, void **state) {
    const variant *v = variant_of(offer);
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_slices", v->kernel, v->shared));
    return offer->workspace ? wm_prepare_kernel(context, "matmul_slices", v->second, SUM_THREADS * v->element) : WM_OK;
}

static wmStatus run(const wm_run *run) {
    const variant *v = variant_of(run->offer);
    wm_slices_job job = job_of(&run->problem->u.matmul, &run->args->matmul, run->offer);
    job.partial = run->workspace;
    wm_launch launch = {};
    launch.kernel = v->kernel;
    launch.grid = wm_dim3{(unsigned)(tiles_of(&job) * job.splits), 1, 1};
    launch.block = wm_dim3{(unsigned)v->threads, 1, 1};
    if (job.cluster) launch.cluster = wm_dim3{(unsigned)job.splits, 1, 1};
    launch.shared = v->shared;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    WM_TRY(wm_launch_kernel(run->context, "matmul_slices", &launch, run->stream));
    if (job.cluster || job.splits == 1) return WM_OK;
    launch.kernel = v->second;
    launch.grid.x = (unsigned)(tiles_of(&job) * v->m * v->n / WM_WARP);
    launch.block.x = SUM_THREADS;
    launch.shared = SUM_THREADS * v->element;
    return wm_launch_kernel(run->context, "matmul_slices", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_slices = {
    "matmul_slices",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR |
        WM_MM_BATCH | WM_MM_POINTERS | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT |
        WM_MM_UNALIGNED,
    {"tile", "splits", "cluster", nullptr},
    offer,
    make,
    run,
    nullptr,
};
