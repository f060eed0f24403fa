/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f32 products bound by the way of their operands through memory, by multiply-adds: a big matrix by a thin one, thin
 * matrices of long k, and rows without end of a short k. A's k and B's columns are contiguous; strided batches, any
 * epilogue.
 *
 *       k             n            One thread keeps a ring of 4 to 10 stages full by the bulk copy engine: 32 of k of M
 *     ┌──┬──┬──┬──┐ ┌──┐ warp 0    rows of A, 128 bytes each, and of N columns of B, 128 × 16 or 64 × 64. Each of eight
 *   M │w0│w1│w2│w3│ │  │ warp 1    warps waits for steps of its own and no other warp: a lane has 64 or 128 sums, reads
 *     └──┴──┴──┴──┘ └──┘ …         A 16 bytes along k, B 16 bytes along n, both out of swizzled shared memory.
 *   long k: warps' sums are added in their order, then those of the blocks of a cluster through each other's shared
 *     memory or of more blocks through workspace and a second kernel. The same bits in each run.
 *   short k (to 64, 128): a warp, or two side by side, has a tile and stores it; blocks stay for all their tiles.
 *
 * Refuses: other GPUs than sm_90; A whose k, or B whose columns, are apart; arrays of pointers; what is not 16-byte
 * aligned in pointer, ld and batch stride.
 * Floor: the operands once over 4.8 TB/s, 2mnk over the FFMA rate (67 TFLOP/s). Predicted on an H200, before it was
 * timed: 4096 × 16 × 4096 20 us, 64 × 64 × 2^20 165 us, 2^20 × 16 × 16 36 us, of which cuBLASLt's best take 44.6, 335
 * and 78.4.
 */
#include "device/matmul_stream.cuh"
#include "device/matmul_wgmma_plan.h"

#include <math.h>

typedef wm_stream_shape<8, 16, 4, 4, 1, 4, 10> thin_shape;
typedef wm_stream_shape<8, 16, 4, 4, 1, 1, 10> short_shape;
typedef wm_stream_shape<8, 8, 4, 8, 2, 1, 12> long_shape;
typedef wm_stream_shape<8, 8, 4, 8, 2, 4, 12> square_shape;

enum { SUM_THREADS = 256, SUM_LANES = 32 };

template <class S>
__global__ void __launch_bounds__(WM_STREAM_THREADS, 1) wm_matmul_stream_long(WM_PARAMS(wm_stream_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    wm_stream_long<S>(p);
#else
    (void)p;
#endif
}

template <class S>
__global__ void __launch_bounds__(WM_STREAM_THREADS, 1) wm_matmul_stream_short(WM_PARAMS(wm_stream_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    wm_stream_short<S>(p);
#else
    (void)p;
#endif
}

/** The second step through workspace, M × N of a tile: 8 outputs a block, its threads along the splits, then in their
 * order. */
__global__ void __launch_bounds__(SUM_THREADS) wm_matmul_stream_sum(WM_PARAMS(wm_stream_job)) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    const int each = SUM_THREADS / SUM_LANES;
    const wm_slices_job &q = p.plain;
    float *lanes = wm_shared<float>();
    int rows = p.units, columns = p.units; /* of a tile */
    wm_i64 tiles = q.tiles_m * q.tiles_n * q.batch, first = (wm_i64)blockIdx.x * each, tile = first / (rows * columns);
    wm_i64 t = tile / (q.tiles_m * q.tiles_n), in = tile - t * (q.tiles_m * q.tiles_n);
    int x = (int)(first - tile * (rows * columns)) + wm_thread() % each, lane = wm_thread() / each;
    wm_i64 i = in / q.tiles_n * rows + x / columns, j = in % q.tiles_n * columns + x % columns;
    bool mine = i < q.a.count && j < q.b.count;
    wm_ending<float> ending = wm_ending_begin(q.epilogue, 0.0f);
    const float *from = static_cast<const float *>(q.partial) + tile * (rows * columns) + x;
    float sum = 0.0f;
    if (mine) {
#pragma unroll 4
        for (int split = lane; split < q.splits; split += SUM_LANES)
            sum = wm_add(sum, from[split * tiles * (rows * columns)]);
    }
    lanes[wm_thread()] = sum;
    wm_barrier();
    if (lane || !mine) return;
    for (int l = 1; l < SUM_LANES; l++) sum = wm_add(sum, lanes[l * each + wm_thread()]);
    wm_ending_store(q.epilogue, ending, t, i, j, sum);
#else
    (void)p;
#endif
}

/* ---- The solver ---- */

enum { SHORT, SHORT_SQUARE, THIN, LONG, SQUARE };

typedef struct variant {
    int m, n, most; /* most: splits within a cluster; 0: through workspace */
    size_t shared;
    const void *kernel;
} variant;

static const variant variants[] = {
    {short_shape::M,  short_shape::N,  1, sizeof(short_shape::shared),  (const void *)wm_matmul_stream_short<short_shape>},
    {long_shape::M,   long_shape::N,   1, sizeof(long_shape::shared),   (const void *)wm_matmul_stream_short<long_shape> },
    {thin_shape::M,   thin_shape::N,   8, sizeof(thin_shape::shared),   (const void *)wm_matmul_stream_long<thin_shape>  },
    {long_shape::M,   long_shape::N,   0, sizeof(long_shape::shared),   (const void *)wm_matmul_stream_long<long_shape>  },
    {square_shape::M, square_shape::N, 8, sizeof(square_shape::shared),
     (const void *)wm_matmul_stream_long<square_shape>                                                                   },
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* The side along k first. */
static wm_turned turn_of(const wmMatmulDesc *d) {
    wm_turned x = wm_turn(d, 0);
    return x.a.by_k && !x.b.by_k ? x : wm_turn(d, 1);
}

/* Knobs: which, splits. */
static wm_slices_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, const wm_offer *offer) {
    const variant *v = &variants[offer->knob[0]];
    wm_turned x = turn_of(d);
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_slices_job job = {};
    job.a.count = x.a.count, job.b.count = x.b.count;
    job.k = d->k, job.batch = d->batch;
    job.tiles_m = (x.a.count + v->m - 1) / v->m;
    job.tiles_n = (x.b.count + v->n - 1) / v->n;
    job.splits = offer->knob[1], job.cluster = v->most > 1 && job.splits > 1;
    int64_t steps = (d->k + WM_STREAM_K - 1) / WM_STREAM_K;
    job.steps = (int)((steps + job.splits - 1) / job.splits);
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.d_by_rows = job.epilogue.d.col == 1;
    job.plain = wm_is_plain(d);
    job.vector_d = wm_turn_is_vector_d(d, &x, 4);
    return job;
}

static double tiles_of(const wm_slices_job *job) {
    return (double)job->tiles_m * (double)job->tiles_n * (double)job->batch;
}

/* A launch, then the longer of memory's and the multiply-adds' time. */
static double seconds_of(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    const variant *v = &variants[offer->knob[0]];
    wm_slices_job job = job_of(&problem->u.matmul, &none, offer);
    int multiprocessors = wm_context_device(context)->multiprocessors;
    int is_short = offer->knob[0] <= SHORT_SQUARE;
    double blocks = is_short ? multiprocessors : tiles_of(&job) * job.splits;
    double waves = ceil(blocks / multiprocessors), busy = fmin(1.0, blocks / (0.9 * multiprocessors));
    double each = is_short ? ceil(tiles_of(&job) / multiprocessors) : waves * job.steps;
    double peak = wm_context_peak_flops(context, WM_F32, WM_COMPUTE_F32_STRICT) / multiprocessors;
    double work = each * 2.0 * v->m * v->n * (is_short ? (double)job.k : (double)WM_STREAM_K) / (0.75 * peak);
    double memory = wm_problem_cost(problem).bytes / (0.85 * busy * wm_context_bandwidth(context));
    return 3e-6 + (job.splits > 1 ? v->most ? 1e-6 : 4e-6 : 0.0) + fmax(work, memory);
}

static const char *refusal(wmContext *context, const wmMatmulDesc *d) {
    wm_turned x = turn_of(d);
    if (wm_context_device(context)->sm != 90) return "the device is not sm_90";
    if (d->batch_mode != WM_BATCH_STRIDED) return "the batch is not strided";
    if (!x.a.by_k || x.b.by_k) return "A's k or B's columns are apart";
    if (!wm_matrix_is_vector(&d->a) || !wm_matrix_is_vector(&d->b))
        return "A or B is not 16-byte aligned in pointer, ld and batch stride";
    if (x.a.count >= WM_WGMMA_MOST || d->k >= WM_WGMMA_MOST) return "m, n or k is 2^31 or more";
    if (d->a.ld >= 1ll << 37 || d->b.ld >= 1ll << 37 || d->a.batch_stride >= 1ll << 37 ||
        d->b.batch_stride >= 1ll << 37)
        return "a stride is 2^37 elements or more";
    if (!wm_wgmma_has_code()) return "this warpmath was built without sm_90a";
    if (!wm_wgmma_has_maps(context)) return "the driver makes no tensor maps";
    return NULL;
}

/* How many blocks share the k of a tile; 0: the shape does not suit. */
static int splits_of(wmContext *context, const wmMatmulDesc *d, int which, int nth) {
    wm_turned x = turn_of(d);
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_offer one = {};
    one.knob[0] = which, one.knob[1] = 1;
    wm_slices_job job = job_of(d, &none, &one);
    if (which == SHORT) return nth == 0 && d->k <= 2 * WM_STREAM_K && x.b.count <= 48 && x.a.count >= 64;
    if (which == SHORT_SQUARE) return nth == 0 && d->k <= 4 * WM_STREAM_K && x.b.count > 16 && tiles_of(&job) > 16;
    if (d->k <= WM_STREAM_K) return 0;
    if (which == THIN) {
        int splits = 1 << nth;
        return x.b.count <= 64 && splits <= variants[THIN].most && splits <= job.steps ? splits : 0;
    }
    if (x.b.count <= 16) return 0;
    if (which == SQUARE) {
        int splits = 1 << nth, enough = 2 * wm_context_device(context)->multiprocessors;
#ifdef WM_SIMT
        if (splits > 2) return 0; /* it tells 32 warps of a cluster apart, when several have read a byte */
#endif
        return splits <= variants[SQUARE].most && splits <= job.steps && tiles_of(&job) * splits <= enough ? splits : 0;
    }
    if (nth || tiles_of(&job) > 16) return 0;
    double most = fmin(floor(wm_context_device(context)->multiprocessors / tiles_of(&job)), job.steps / 4.0);
    return most >= 1 ? (int)most : 0;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_natural_refusal(d);
    int count = 0;
    if (!reason && !wm_problem_empty(problem)) reason = refusal(context, d);
    if (reason) return wm_refuse(why, "%s", reason);
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
#ifdef WM_SIMT
    if ((double)(d->m + 63) * (double)(d->n + 15) * (double)(d->k * d->batch) > 2e6)
        return wm_refuse(why, "it is too large for the emulation");
#endif
    for (int which = 0; which < VARIANTS; which++)
        for (int nth = 0, splits; count < capacity && (splits = splits_of(context, d, which, nth)); nth++) {
            wm_offer variant = {};
            variant.knob[0] = which, variant.knob[1] = splits;
            const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
            wm_slices_job job = job_of(d, &none, &variant);
            if (tiles_of(&job) * splits >= WM_WGMMA_MOST) break;
            if (which == LONG && splits > 1)
                variant.workspace = (size_t)(tiles_of(&job) * splits * variants[which].m * variants[which].n) * 4;
            variant.capturable = variant.concurrent = 1;
            variant.seconds = seconds_of(context, problem, &variant);
            out[count++] = variant;
        }
    return count ? count : wm_refuse(why, "neither m or n is thin nor k short or long enough");
}

static wmStatus make(wmContext *context, const wm_problem *, const wm_offer *offer, void **state) {
    const variant *v = &variants[offer->knob[0]];
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_stream", v->kernel, v->shared));
    if (!offer->workspace) return WM_OK;
    return wm_prepare_kernel(context, "matmul_stream", (const void *)wm_matmul_stream_sum, SUM_THREADS * sizeof(float));
}

static wm_tensor tensor_of(const wmMatmulDesc *d, const wm_side *x, const void *base, int rows) {
    int shared = wm_wgmma_is_shared(d, x->desc);
    wm_tensor t = {};
    t.base = base;
    t.type = WM_F32;
    t.dim[0] = x->by_k ? d->k : x->count;
    t.dim[1] = x->by_k ? x->count : d->k;
    t.dim[2] = shared ? 1 : d->batch;
    t.stride[0] = x->desc->ld;
    t.stride[1] = shared ? x->desc->ld : x->desc->batch_stride;
    t.box[0] = 32;
    t.box[1] = rows;
    return t;
}

static wmStatus make_maps(const wm_run *run, wm_stream_job *job) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    wm_turned x = turn_of(d);
    wm_tensor a = tensor_of(d, &x.a, x.swapped ? args->b : args->a, variants[run->offer->knob[0]].m);
    wm_tensor b = tensor_of(d, &x.b, x.swapped ? args->a : args->b, WM_STREAM_K);
    job->a_batch = !wm_wgmma_is_shared(d, x.a.desc);
    job->b_batch = !wm_wgmma_is_shared(d, x.b.desc);
    int error = gpu->tensor_map(gpu->self, &a, &job->a);
    if (!error) error = gpu->tensor_map(gpu->self, &b, &job->b);
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

static wmStatus run(const wm_run *run) {
    const variant *v = &variants[run->offer->knob[0]];
    wm_stream_job job = {};
    job.plain = job_of(&run->problem->u.matmul, &run->args->matmul, run->offer);
    job.plain.partial = run->workspace;
    job.units = (int)tiles_of(&job.plain);
    WM_TRY(make_maps(run, &job));
    int blocks = job.units * job.plain.splits, multiprocessors = wm_context_device(run->context)->multiprocessors;
    if (run->offer->knob[0] <= SHORT_SQUARE && blocks > multiprocessors) blocks = multiprocessors;
    wm_launch launch = {};
    launch.kernel = v->kernel;
    launch.grid = wm_dim3{(unsigned)blocks, 1, 1};
    launch.block = wm_dim3{WM_STREAM_THREADS, 1, 1};
    if (job.plain.cluster) launch.cluster = wm_dim3{(unsigned)job.plain.splits, 1, 1};
    launch.shared = v->shared;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    WM_TRY(wm_launch_kernel(run->context, "matmul_stream", &launch, run->stream));
    if (!run->offer->workspace) return WM_OK;
    launch.kernel = (const void *)wm_matmul_stream_sum;
    launch.grid.x = (unsigned)(tiles_of(&job.plain) * v->m * v->n * SUM_LANES / SUM_THREADS);
    launch.block.x = SUM_THREADS;
    launch.shared = SUM_THREADS * sizeof(float);
    job.units = v->m;
    return wm_launch_kernel(run->context, "matmul_stream", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_stream = {
    "matmul_stream",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F32 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_BIAS | WM_MM_ACTIVATION |
        WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED,
    {"shape", "splits", nullptr},
    offer,
    make,
    run,
    nullptr,
};
