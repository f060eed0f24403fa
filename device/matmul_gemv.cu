/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix times a vector (m or n is 1; both: a dot product), batched: f16, bf16, f32, f64, c64, c128; any layout,
 * alignment and epilogue.
 *
 *     k contiguous: `lanes` threads a row            rows contiguous: a thread 16 bytes of rows, lanes side by side,
 *        ┌───────────────┐                           the rest of the block deeper in k
 *      r │■■■■ ■■■■ ■■■■ │· x = y_r                     ┌──┬──┬──┬──┐
 *     r+1│■■■■ ■■■■ ■■■■ │                            k │■■│■■│■■│■■│ thread 0 … lanes - 1
 *        └───────────────┘                          k+1 │■■│■■│■■│■■│ thread lanes …
 *                                                       └──┴──┴──┴──┘
 * Threads load 16 bytes at a time, several loads ahead of their use. Where rows are few, k is cut in `splits`: the
 * blocks of a cluster, which sum through each other's shared memory, or more of them through workspace and a second
 * kernel; in the order of the splits in both, so that the bits are the same in each run.
 *
 * Floor: the matrix once over the memory's rate. Reached on an NVIDIA H200, 2026-11-30, over the best of cuBLASLt's
 * algorithms in the same run: bf16 4096 × 4096 by rows 1.23, by columns 1.15 (12.7 and 13.6 us); f32 16384 1.00 and
 * 1.05 (4.3 and 4.4 TB/s), 4096 1.00 and 0.95, 1024 0.85 and 0.79 (4.2 and 5.2 us).
 */
#include "device/matmul_turn.h"
#include "device/matmul_element.cuh"
#include "device/matmul_ranks.cuh"

#include <math.h>

enum { THREADS = 256, MOST_CLUSTER = 8, MOST_SPLITS = 1024 };

typedef struct wm_gemv_job {
    wm_i64 rows, k, batch;
    const void *matrix, *vector;
    wm_i64 ld, matrix_batch, vector_batch, vector_step; /* ld between rows of 16-byte groups */
    int pointers, matrix_sign, vector_sign, vector_packed;
    int lanes, splits, cluster; /* cluster: the splits are a cluster's blocks */
    wm_i64 k_each;              /* of one split */
    wm_i64 strips;              /* rows contiguous: blocks along a product's rows */
    wm_epilogue epilogue;
    void *partial; /* splits × (batch · rows) sums */
} wm_gemv_job;

/** `rows` of a block: its sums, after each thread's own. */
template <class Sum, int V>
struct gemv_shared {
    Sum sum[THREADS * V];
    Sum total[THREADS * V / 8]; /* at least 8 lanes share what they sum */
};

template <class T>
WM_DEVICE const T *first_of(const void *base, int pointers, wm_i64 t, wm_i64 batch) {
    return pointers ? static_cast<const T *const *>(base)[t] : static_cast<const T *>(base) + t * batch;
}

/** V elements, those from `valid` on zero. */
template <int V, class T>
WM_DEVICE wm_run_of<T, V> load_some(const T *from, wm_i64 valid) {
    if constexpr (V > 1) {
        if (valid >= V) return wm_run_load<V>(from);
    }
    wm_run_of<T, V> run;
    WM_UNROLL
    for (int e = 0; e < V; e++) run.v[e] = e < valid ? from[e] : T{};
    return run;
}

template <int V, class T>
WM_DEVICE wm_run_of<T, V> load_vector(const wm_gemv_job &p, const T *x, wm_i64 q, wm_i64 valid) {
    if (p.vector_packed) return load_some<V>(x + q, valid);
    wm_run_of<T, V> run;
    WM_UNROLL
    for (int e = 0; e < V; e++) run.v[e] = e < valid ? x[(q + e) * p.vector_step] : T{};
    return run;
}

/** V elements that all exist: of the matrix, which is read once, and of the vector, which others read too. */
template <int V, class T>
WM_DEVICE wm_run_of<T, V> load_full(const T *from, bool once) {
    if constexpr (V * sizeof(T) == 16) {
        wm_pack<T> pack = once ? wm_load16_stream(from) : wm_load16_const(from);
        wm_run_of<T, V> run;
        WM_UNROLL
        for (int e = 0; e < V; e++) run.v[e] = pack.v[e];
        return run;
    } else {
        return wm_run_load<V>(from);
    }
}

/** The product of a batch that number `id` of all rows belongs to. */
WM_DEVICE wm_i64 product_of(const wm_gemv_job &p, wm_i64 id) {
    return p.batch > 1 ? id / p.rows : 0;
}

WM_DEVICE float shuffle_xor(float x, int bits) {
    return wm_shuffle_xor(x, bits);
}
WM_DEVICE double shuffle_xor(double x, int bits) {
    return wm_shuffle_xor(x, bits);
}
WM_DEVICE float2 shuffle_xor(float2 x, int bits) {
    return float2{wm_shuffle_xor(x.x, bits), wm_shuffle_xor(x.y, bits)};
}
WM_DEVICE double2 shuffle_xor(double2 x, int bits) {
    return double2{wm_shuffle_xor(x.x, bits), wm_shuffle_xor(x.y, bits)};
}

/* ---- Sums of a block ---- */

/** The products of two runs added to a sum. */
template <class T, int V, class Sum>
WM_DEVICE Sum add_run(const wm_gemv_job &p, const wm_run_of<T, V> &u, const wm_run_of<T, V> &v, Sum sum) {
    WM_UNROLL
    for (int e = 0; e < V; e++)
        sum = wm_multiply_add(wm_conjugate(wm_widen(u.v[e]), p.matrix_sign),
                              wm_conjugate(wm_widen(v.v[e]), p.vector_sign), sum);
    return sum;
}

/** Dot products: row first + thread / lanes of the batch's rows, taken as one list; total[] of the block. */
template <class T, int V, class Sum>
WM_DEVICE void sum_along_k(const wm_gemv_job &p, wm_i64 first, wm_i64 q0, wm_i64 q1, Sum *total) {
    const int ahead = 4;
    int group = wm_thread() / p.lanes, lane = wm_thread() % p.lanes;
    wm_i64 id = wm_min(first + group, p.rows * p.batch - 1), t = product_of(p, id);
    const T *a = first_of<T>(p.matrix, p.pointers, t, p.matrix_batch) + (id - t * p.rows) * p.ld;
    const T *x = first_of<T>(p.vector, p.pointers, t, p.vector_batch);
    Sum two[2] = {};
    wm_i64 step = p.lanes * V, q = q0 + lane * V;
    if (p.vector_packed) {
#pragma unroll 1
        for (; q + (ahead - 1) * step + V <= q1; q += ahead * step) {
            wm_run_of<T, V> u[ahead], v[ahead];
            WM_UNROLL
            for (int s = 0; s < ahead; s++) u[s] = load_full<V>(a + q + s * step, true);
            WM_UNROLL
            for (int s = 0; s < ahead; s++) v[s] = load_full<V>(x + q + s * step, false);
            WM_UNROLL
            for (int s = 0; s < ahead; s++) two[s % 2] = add_run<T, V>(p, u[s], v[s], two[s % 2]);
        }
    }
#pragma unroll 1
    for (; q < q1; q += step)
        two[0] = add_run<T, V>(p, load_some<V>(a + q, q1 - q), load_vector<V>(p, x, q, q1 - q), two[0]);
    Sum sum = wm_plus(two[0], two[1]);
    for (int bits = p.lanes / 2; bits > 0; bits /= 2) sum = wm_plus(sum, shuffle_xor(sum, bits));
    if (lane == 0) total[group] = sum;
    wm_barrier();
}

/** A run of rows times one element of the vector, added to their sums. */
template <class T, int V, class Sum>
WM_DEVICE void add_column(const wm_gemv_job &p, const wm_run_of<T, V> &u, T v, Sum *sum) {
    Sum wide = wm_conjugate(wm_widen(v), p.vector_sign);
    WM_UNROLL
    for (int e = 0; e < V; e++) sum[e] = wm_multiply_add(wm_conjugate(wm_widen(u.v[e]), p.matrix_sign), wide, sum[e]);
}

/** Sums of columns of memory: rows row + lane · V … of product t; then over the block's depths, in their order. */
template <class T, int V, class Sum>
WM_DEVICE void sum_along_rows(const wm_gemv_job &p, wm_i64 t, wm_i64 row, wm_i64 q0, wm_i64 q1, Sum *each, Sum *total) {
    const int ahead = 8;
    int lane = wm_thread() % p.lanes, depth = wm_thread() / p.lanes, depths = THREADS / p.lanes;
    const T *a = first_of<T>(p.matrix, p.pointers, t, p.matrix_batch) + row + lane * V;
    const T *x = first_of<T>(p.vector, p.pointers, t, p.vector_batch);
    wm_i64 valid = p.rows - row - lane * V;
    Sum sum[V] = {};
    wm_i64 q = q0 + depth;
    if (valid >= V) {
#pragma unroll 1
        for (; q + (ahead - 1) * depths < q1; q += ahead * depths) {
            wm_run_of<T, V> u[ahead];
            T v[ahead];
            WM_UNROLL
            for (int s = 0; s < ahead; s++) u[s] = load_full<V>(a + (q + s * depths) * p.ld, true);
            WM_UNROLL
            for (int s = 0; s < ahead; s++) v[s] = x[(q + s * depths) * p.vector_step];
            WM_UNROLL
            for (int s = 0; s < ahead; s++) add_column<T, V>(p, u[s], v[s], sum);
        }
    }
#pragma unroll 1
    for (; q < q1; q += depths) add_column<T, V>(p, load_some<V>(a + q * p.ld, valid), x[q * p.vector_step], sum);
    WM_UNROLL
    for (int e = 0; e < V; e++) each[(depth * p.lanes + lane) * V + e] = sum[e];
    wm_barrier();
    for (int i = wm_thread(); i < p.lanes * V; i += THREADS) {
        Sum all = each[i];
        for (int d = 1; d < depths; d++) all = wm_plus(all, each[d * p.lanes * V + i]);
        total[i] = all;
    }
    wm_barrier();
}

/* ---- Out ---- */

/** Where the sums of a block go: `count` of them, from number `first` of the batch's rows on. */
template <class Sum>
WM_DEVICE void finish(const wm_gemv_job &p, Sum *total, wm_i64 first, int count, int split) {
    if (p.splits > 1 && !p.cluster) {
        Sum *to = static_cast<Sum *>(p.partial) + split * (p.rows * p.batch) + first;
        for (int i = wm_thread(); i < count; i += THREADS) to[i] = total[i];
        return;
    }
    wm_ending<Sum> ending = wm_ending_begin(p.epilogue, Sum{});
    wm_split_barrier(p.cluster);
    for (int i = wm_thread() + split * THREADS; i < count; i += p.splits * THREADS) {
        Sum each[MOST_CLUSTER]; /* all on their way before the first is added */
        WM_UNROLL
        for (int rank = 0; rank < MOST_CLUSTER; rank++)
            if (rank < p.splits) each[rank] = *wm_split_shared(total + i, p.cluster, rank);
        Sum all = each[0];
        WM_UNROLL
        for (int rank = 1; rank < MOST_CLUSTER; rank++)
            if (rank < p.splits) all = wm_plus(all, each[rank]);
        wm_i64 t = product_of(p, first + i);
        wm_ending_store(p.epilogue, ending, t, first + i - t * p.rows, 0, all);
    }
    wm_split_barrier(p.cluster);
}

/** Both forms. */
template <class T, int V, bool ALONG_K>
__global__ void __launch_bounds__(THREADS, 2) wm_matmul_gemv_kernel(WM_PARAMS(wm_gemv_job)) {
    typedef typename wm_sum<T>::type Sum;
    gemv_shared<Sum, V> *s = wm_shared<gemv_shared<Sum, V>>();
    unsigned number = blockIdx.x / (unsigned)p.splits;
    wm_i64 part = number;
    int split = (int)(blockIdx.x - number * (unsigned)p.splits);
    wm_i64 q0 = split * p.k_each, q1 = wm_min(p.k, q0 + p.k_each);
    if constexpr (ALONG_K) {
        wm_i64 first = part * (THREADS / p.lanes);
        sum_along_k<T, V, Sum>(p, first, q0, q1, s->total);
        finish(p, s->total, first, (int)wm_min(p.rows * p.batch - first, (wm_i64)(THREADS / p.lanes)), split);
    } else {
        wm_i64 t = p.batch > 1 ? part / p.strips : 0, row = (part - t * p.strips) * (p.lanes * V);
        sum_along_rows<T, V, Sum>(p, t, row, q0, q1, s->sum, s->total);
        finish(p, s->total, t * p.rows + row, (int)wm_min(p.rows - row, (wm_i64)(p.lanes * V)), split);
    }
}

/** The second step through workspace: a warp a row, lanes along the splits. */
template <class Sum>
__global__ void __launch_bounds__(THREADS) wm_matmul_gemv_sum(WM_PARAMS(wm_gemv_job)) {
    wm_i64 all = p.rows * p.batch, id = (wm_i64)blockIdx.x * (THREADS / WM_WARP) + wm_warp();
    if (id >= all) return;
    wm_ending<Sum> ending = wm_ending_begin(p.epilogue, Sum{});
    const Sum *from = static_cast<const Sum *>(p.partial) + id;
    Sum sum = {};
    for (int split = wm_lane(); split < p.splits; split += WM_WARP) sum = wm_plus(sum, from[split * all]);
    for (int bits = WM_WARP / 2; bits > 0; bits /= 2) sum = wm_plus(sum, shuffle_xor(sum, bits));
    wm_i64 t = product_of(p, id);
    if (wm_lane() == 0) wm_ending_store(p.epilogue, ending, t, id - t * p.rows, 0, sum);
}

/* ---- The solver ---- */

typedef struct row {
    wmType type;
    size_t sum, shared[2];
    const void *kernel[2][2]; /* element by element or by 16 bytes; rows contiguous or k */
    const void *second;
} row;

// clang-format off
#define WM_GEMV(type, T, V, Sum) \
    {type, sizeof(Sum), {sizeof(gemv_shared<Sum, 1>), sizeof(gemv_shared<Sum, V>)}, \
     {{(const void *)wm_matmul_gemv_kernel<T, 1, false>, (const void *)wm_matmul_gemv_kernel<T, 1, true>}, \
      {(const void *)wm_matmul_gemv_kernel<T, V, false>, (const void *)wm_matmul_gemv_kernel<T, V, true>}}, \
     (const void *)wm_matmul_gemv_sum<Sum>}
// clang-format on

static const row rows[] = {
    WM_GEMV(WM_F32, float, 4, float),   WM_GEMV(WM_BF16, wm_bf16, 8, float), WM_GEMV(WM_F16, wm_f16, 8, float),
    WM_GEMV(WM_F64, double, 2, double), WM_GEMV(WM_C64, float2, 2, float2),  WM_GEMV(WM_C128, double2, 1, double2),
};

static const row *row_of(wmType type) {
    const row *r = rows;
    while (r->type != type) r++;
    return r;
}

static wm_turned turn_of(const wmMatmulDesc *d) {
    return wm_turn(d, d->n != 1);
}

static int vector_of(const wm_turned *x) {
    return wm_matrix_is_vector(x->a.desc) ? 16 / (int)wmTypeSize(x->a.desc->type) : 1;
}

/* Knobs: lanes, splits, cluster. */
static wm_gemv_job shape_of(const wmMatmulDesc *d, const wm_offer *offer) {
    wm_turned x = turn_of(d);
    wm_gemv_job job = {};
    int v = vector_of(&x);
    job.rows = x.a.count, job.k = d->k, job.batch = d->batch;
    job.lanes = offer->knob[0], job.splits = offer->knob[1], job.cluster = offer->knob[2];
    job.ld = x.a.by_k ? x.a.row : x.a.k;
    job.matrix_batch = x.a.desc->batch_stride, job.vector_batch = x.b.desc->batch_stride;
    job.vector_step = x.b.k;
    job.pointers = d->batch_mode == WM_BATCH_POINTERS;
    job.matrix_sign = wm_view_of(x.a.desc).conjugate ? -1 : 1;
    job.vector_sign = wm_view_of(x.b.desc).conjugate ? -1 : 1;
    int run = 16 / (int)wmTypeSize(d->a.type);
    job.vector_packed = x.b.k == 1 && (v == 1 || (x.b.desc->align >= 16 && x.b.desc->batch_stride % run == 0));
    int64_t unit = x.a.by_k ? job.lanes * v : THREADS / job.lanes, units = (d->k + unit - 1) / unit;
    job.k_each = (units + job.splits - 1) / job.splits * unit;
    job.strips = (job.rows + job.lanes * v - 1) / (job.lanes * v);
    return job;
}

static int64_t parts_of(const wmMatmulDesc *d, const wm_gemv_job *job) {
    int64_t each = THREADS / job->lanes;
    return turn_of(d).a.by_k ? (job->rows * job->batch + each - 1) / each : job->strips * job->batch;
}

/* Bytes over the memory's rate, as far as loads under way fill it: each thread keeps four to eight of 16 bytes. */
static double seconds_of(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wm_device *device = wm_context_device(context);
    wm_gemv_job job = shape_of(d, offer);
    wm_turned x = turn_of(d);
    double blocks = (double)parts_of(d, &job) * job.splits, slots = 4.0 * device->multiprocessors;
    double full = fmin(1.0, blocks / (0.4 * slots)), waves = ceil(blocks / slots) / fmax(blocks / slots, 1.0);
    double whole = x.a.by_k || wmTypeSize(d->a.type) == 2 ? 0.88 : 0.83;
    double share = (vector_of(&x) > 1 || wmTypeSize(d->a.type) == 16 ? whole : 0.35) * full / fmin(waves, 1.3);
    double extra = job.splits > 1 && !job.cluster ? 1.5e-6 : 0.0;
    return 2.4e-6 + extra + wm_problem_cost(problem).bytes / (share * wm_context_bandwidth(context));
}

/* As many splits as give every multiprocessor two blocks, and k enough for each. */
static int splits_wanted(wmContext *context, const wmMatmulDesc *d, const wm_gemv_job *one, int most) {
    int64_t blocks = parts_of(d, one), wanted = 2 * wm_context_device(context)->multiprocessors, splits = 1;
    wm_turned x = turn_of(d);
    int64_t unit = x.a.by_k ? 4ll * one->lanes * vector_of(&x) : 4ll * (THREADS / one->lanes);
    while (splits < most && blocks * splits < wanted && d->k >= 2 * splits * unit) splits *= 2;
    return (int)splits;
}

static void add_offer(wmContext *context, const wm_problem *problem, int lanes, int most, wm_offer *out, int *count) {
    const wmMatmulDesc *d = &problem->u.matmul;
    wm_offer offer = {};
    offer.knob[0] = lanes, offer.knob[1] = 1;
    wm_gemv_job one = shape_of(d, &offer);
    offer.knob[1] = most > 1 ? splits_wanted(context, d, &one, most) : 1;
    if (most > 1 && offer.knob[1] == 1) return;
    offer.knob[2] = most <= MOST_CLUSTER && most > 1;
    if (!offer.knob[2] && offer.knob[1] > 1)
        offer.workspace = (size_t)(one.rows * one.batch * offer.knob[1]) * row_of(d->a.type)->sum;
    if ((double)parts_of(d, &one) * offer.knob[1] >= 2147483647.0) return;
    offer.capturable = offer.concurrent = 1;
    offer.seconds = seconds_of(context, problem, &offer);
    out[(*count)++] = offer;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_natural_refusal(d);
    int count = 0, clusters = wm_context_device(context)->sm >= 90;
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->m != 1 && d->n != 1) return wm_refuse(why, "neither m nor n is 1");
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
    wm_turned x = turn_of(d);
    int v = vector_of(&x);
    for (int lanes = 8; lanes <= 32 && count + 3 <= capacity; lanes *= 2) {
        int64_t along = x.a.by_k ? d->k : x.a.count;
        if (lanes > 8 && along <= lanes / 2 * v) break; /* half of them would do */
        add_offer(context, problem, lanes, 1, out, &count);
        if (clusters) add_offer(context, problem, lanes, MOST_CLUSTER, out, &count);
        if (x.a.count * d->batch < 4096) add_offer(context, problem, lanes, MOST_SPLITS, out, &count);
    }
    return count ? count : wm_refuse(why, "there are more than 2^31 blocks of rows");
}

static const void *kernel_of(const wmMatmulDesc *d) {
    wm_turned x = turn_of(d);
    return row_of(d->a.type)->kernel[vector_of(&x) > 1][x.a.by_k];
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmMatmulDesc *d = &problem->u.matmul;
    wm_turned x = turn_of(d);
    const row *r = row_of(d->a.type);
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_gemv", kernel_of(d), r->shared[vector_of(&x) > 1]));
    return offer->workspace ? wm_prepare_kernel(context, "matmul_gemv", r->second, 0) : WM_OK;
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    wm_turned x = turn_of(d);
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_gemv_job job = shape_of(d, run->offer);
    job.matrix = x.swapped ? args->b : args->a;
    job.vector = x.swapped ? args->a : args->b;
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.partial = run->workspace;
    wm_launch launch = {};
    launch.kernel = kernel_of(d);
    launch.grid = wm_dim3{(unsigned)(parts_of(d, &job) * job.splits), 1, 1};
    launch.block = wm_dim3{THREADS, 1, 1};
    if (job.cluster) launch.cluster = wm_dim3{(unsigned)job.splits, 1, 1};
    launch.shared = row_of(d->a.type)->shared[vector_of(&x) > 1];
    launch.params = &job;
    launch.params_bytes = sizeof job;
    WM_TRY(wm_launch_kernel(run->context, "matmul_gemv", &launch, run->stream));
    if (job.cluster || job.splits == 1) return WM_OK;
    launch.kernel = row_of(d->a.type)->second;
    launch.grid.x = (unsigned)((job.rows * job.batch + THREADS / WM_WARP - 1) / (THREADS / WM_WARP));
    launch.shared = 0;
    return wm_launch_kernel(run->context, "matmul_gemv", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_gemv = {
    "matmul_gemv",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_MIXED | WM_MM_TRANSPOSE |
        WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE |
        WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED,
    {"lanes", "splits", "cluster", nullptr},
    offer,
    make,
    run,
    nullptr,
};
