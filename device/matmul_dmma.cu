/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f64 products on the tensor cores (mma.sync, 16 × 8 × 8 on Hopper), sums in f64; any layout, alignment, batch and
 * epilogue.
 *
 *        k               n        A block makes 128 × 128 of D with eight warps (64 × 64 with four where D is
 *      ┌────┐      ┌─┬──────┐     small), 16 of k at a time by asynchronous copies, four steps under way. Rows of A
 *    m │ A  │    k │ │  B   │     are padded by 4 elements in shared memory, those of B too: the 8-byte reads of a
 *      ├────┤      └─┴──────┘     half-warp, four rows by four of k (or of n), then meet every bank once. A warp
 *      │▒▒▒▒│        ┌──┐         keeps 64 × 32 sums in registers. For small D k is cut among the blocks of a
 *      └────┘        │▒▒│ D       cluster, which add their sums through each other's shared memory in the order of
 *                    └──┘         their ranks.
 *
 * Floor: 2mnk over the f64 tensor peak, 67 TFLOP/s on an H200. Reached there, 2026-11-30, over the best of cuBLASLt's
 * algorithms in the same run: 2048³ 0.77 (414 us, 0.62 of the peak), 512³ 0.85 (16.4 us).
 */
#include "device/matmul_panel.cuh"
#include "device/matmul_element.cuh"
#include "device/matmul_ranks.cuh"

#include <math.h>

enum { DEPTH = 16, STAGES = 4, MOST_CLUSTER = 8, PAD = 4, A_STRIDE = DEPTH + PAD };

#ifndef WM_SIMT
/** D (16 × 8) += A (16 × 8) · B (8 × 8). a[r]: row lane / 4 + 8 · (r mod 2), k lane mod 4 + 4 · (r / 2); b[r]: k as in
 * a[2r], column lane / 4; sum[e]: row lane / 4 + 8 · (e / 2), column 2 · (lane mod 4) + e mod 2. PTX ISA, mma. */
WM_DEVICE void mma_16_8_8(double (&sum)[4], const double (&a)[4], const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    WM_UNROLL
    for (int q = 0; q < 2; q++) WM_UNROLL
    for (int h = 0; h < 2; h++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum[2 * h]), "+d"(sum[2 * h + 1])
                     : "d"(a[2 * q + h]), "d"(b[q]));
#endif
}
#else
WM_DEVICE void mma_16_8_8(double (&sum)[4], const double (&a)[4], const double (&b)[2]) {
    for (int q = 0; q < 8; q++)
        for (int e = 0; e < 4; e++) {
            double x = wm_shuffle(a[q / 4 * 2], wm_lane() / 4 * 4 + q % 4);
            double y = wm_shuffle(a[q / 4 * 2 + 1], wm_lane() / 4 * 4 + q % 4);
            double z = wm_shuffle(b[q / 4], (wm_lane() % 4 * 2 + e % 2) * 4 + q % 4);
            sum[e] = wm_fma(e / 2 ? y : x, z, sum[e]);
        }
}
#endif

typedef struct wm_dmma_job {
    wm_panel_side a, b;
    wm_i64 k, batch, tiles_m, tiles_n;
    int splits, cluster, steps; /* steps of DEPTH a split */
    int group;                  /* rows of tiles that blocks walk through together */
    int plain, vector_d, d_by_rows;
    wm_epilogue epilogue;
} wm_dmma_job;

/** A tile of M × N by WARPS_M × WARPS_N warps. */
template <int TILE_M, int TILE_N, int WARPS_M, int WARPS_N>
struct shape {
    enum {
        M = TILE_M,
        N = TILE_N,
        ACROSS = WARPS_N,
        MT = TILE_M / WARPS_M / 16, /* a warp's pieces of 16 × 8 */
        NT = TILE_N / WARPS_N / 8,
        THREADS = WARPS_M * WARPS_N * WM_WARP,
        B_STRIDE = TILE_N + PAD,
        SUM_STRIDE = TILE_N + 2
    };
    struct stage {
        double a[TILE_M * A_STRIDE], b[DEPTH * B_STRIDE];
    };
    union shared {
        stage ring[STAGES];
        double sum[TILE_M * SUM_STRIDE];
    };
};

template <class S>
WM_DEVICE void load_step(typename S::stage *to, wm_panel<double> &a, wm_panel<double> &b, wm_i64 k_left) {
    int k = (int)wm_min(k_left, (wm_i64)DEPTH);
    wm_panel_load<double, S::M, DEPTH, S::THREADS>(a, to->a, a.left, k);
    wm_panel_load<double, DEPTH, S::N, S::THREADS>(b, to->b, k, b.left);
}

/** One warp's sums over a step; `a` and `b` are the lane's first elements. */
template <class S>
WM_DEVICE void multiply(const double *a, const double *b, double (*sum)[S::NT][4]) {
    WM_UNROLL
    for (int q = 0; q < DEPTH; q += 8) {
        double y[S::NT][2];
        WM_UNROLL
        for (int j = 0; j < S::NT; j++) WM_UNROLL
        for (int r = 0; r < 2; r++) y[j][r] = b[(q + 4 * r) * S::B_STRIDE + j * 8];
        WM_UNROLL
        for (int i = 0; i < S::MT; i++) {
            double x[4];
            WM_UNROLL
            for (int r = 0; r < 4; r++) x[r] = a[(i * 16 + r % 2 * 8) * A_STRIDE + q + r / 2 * 4];
            WM_UNROLL
            for (int j = 0; j < S::NT; j++) mma_16_8_8(sum[i][j], x, y[j]);
        }
    }
}

/** The sums of this block's part of k, left in shared memory. */
template <class S>
WM_DEVICE void sum_part(const wm_dmma_job &p, typename S::shared *s, wm_i64 t, wm_i64 i0, wm_i64 j0, int split,
                        bool product) {
    int warp = wm_thread() / WM_WARP, lane = wm_lane();
    int row = warp / S::ACROSS * (S::MT * 16) + lane / 4, column = warp % S::ACROSS * (S::NT * 8);
    wm_i64 q = (wm_i64)split * p.steps * DEPTH, left = wm_min(p.k - q, (wm_i64)p.steps * DEPTH);
    int steps = product && left > 0 ? (int)((left + DEPTH - 1) / DEPTH) : 0;
    wm_panel<double> a = wm_panel_begin<double, S::M, DEPTH, S::THREADS, A_STRIDE>(
        p.a, wm_panel_first<double>(p.a, t), i0 * p.a.row + q * p.a.k, p.a.row, p.a.k, DEPTH * p.a.k, p.a.count - i0);
    wm_panel<double> b = wm_panel_begin<double, DEPTH, S::N, S::THREADS, S::B_STRIDE>(
        p.b, wm_panel_first<double>(p.b, t), j0 * p.b.row + q * p.b.k, p.b.k, p.b.row, DEPTH * p.b.k, p.b.count - j0);
    double sum[S::MT][S::NT][4] = {};
    for (int stage = 0; stage < STAGES - 1; stage++, left -= DEPTH) {
        if (stage < steps) load_step<S>(&s->ring[stage], a, b, left);
        wm_copy_commit();
    }
#pragma unroll 1
    for (int step = 0; step < steps; step++, left -= DEPTH) {
        wm_copy_wait<STAGES - 2>();
        wm_barrier();
        if (step + STAGES - 1 < steps) load_step<S>(&s->ring[(step + STAGES - 1) % STAGES], a, b, left);
        wm_copy_commit();
        const typename S::stage *now = &s->ring[step % STAGES];
        multiply<S>(now->a + row * A_STRIDE + lane % 4, now->b + lane % 4 * S::B_STRIDE + column + lane / 4, sum);
    }
    wm_copy_wait<0>();
    wm_barrier();
    WM_UNROLL
    for (int i = 0; i < S::MT; i++) WM_UNROLL
    for (int j = 0; j < S::NT; j++) WM_UNROLL
    for (int h = 0; h < 2; h++) {
        wm_pack<double> pair = {
            {sum[i][j][2 * h], sum[i][j][2 * h + 1]}
        };
        wm_store16(&s->sum[(row + i * 16 + h * 8) * S::SUM_STRIDE + column + j * 8 + lane % 4 * 2], pair);
    }
    wm_barrier();
}

/** Two neighbouring sums, added over the ranks in their order; all are on their way before the first is added. */
WM_DEVICE wm_pack<double> sum_ranks(const wm_dmma_job &p, double *mine) {
    wm_pack<double> each[MOST_CLUSTER];
    WM_UNROLL
    for (int rank = 0; rank < MOST_CLUSTER; rank++)
        if (rank < p.splits) each[rank] = wm_load16(wm_split_shared(mine, p.cluster, rank));
    WM_UNROLL
    for (int rank = 1; rank < MOST_CLUSTER; rank++)
        if (rank < p.splits) WM_UNROLL
    for (int f = 0; f < 2; f++) each[0].v[f] = wm_add(each[0].v[f], each[rank].v[f]);
    return each[0];
}

template <class S>
WM_DEVICE void finish(const wm_dmma_job &p, const wm_ending<double> &ending, typename S::shared *s, wm_i64 t, wm_i64 i0,
                      wm_i64 j0, int split) {
    double *d = static_cast<double *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, t)));
    bool runs = p.vector_d && wm_ending_is_plain(ending, p.plain);
#pragma unroll 1
    for (int u = split * S::THREADS + wm_thread(); u < S::M * S::N / 2; u += p.splits * S::THREADS) {
        int i = p.d_by_rows ? u / (S::N / 2) : u % S::M, j = (p.d_by_rows ? u % (S::N / 2) : u / S::M) * 2;
        if (i0 + i >= p.a.count || j0 + j >= p.b.count) continue;
        wm_pack<double> sums = sum_ranks(p, &s->sum[i * S::SUM_STRIDE + j]);
        if (runs) {
            WM_UNROLL
            for (int f = 0; f < 2; f++) sums.v[f] = wm_ending_plain(ending, sums.v[f]);
            wm_store16(d + (i0 + i) * p.epilogue.d.row + j0 + j, sums);
        } else {
#pragma unroll 1
            for (int f = 0; f < 2 && j0 + j + f < p.b.count; f++)
                wm_ending_store(p.epilogue, ending, t, i0 + i, j0 + j + f, f ? sums.v[1] : sums.v[0]);
        }
    }
}

/** Where tile `in` of a product is: in strips of `group` rows, column by column, so that blocks that run together share
 * operands in L2. */
WM_DEVICE void locate(const wm_dmma_job &p, unsigned in, unsigned *row, unsigned *column) {
    unsigned rows = (unsigned)p.tiles_m, columns = (unsigned)p.tiles_n, group = (unsigned)p.group;
    unsigned strip = in / (group * columns), rest = in - strip * group * columns;
    unsigned high = wm_min(group, rows - strip * group);
    *column = rest / high;
    *row = strip * group + rest - *column * high;
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, 256 / S::THREADS) wm_matmul_dmma_kernel(WM_PARAMS(wm_dmma_job)) {
    typename S::shared *s = wm_shared<typename S::shared>();
    unsigned number = blockIdx.x / (unsigned)p.splits, each = (unsigned)(p.tiles_m * p.tiles_n), t = number / each;
    unsigned row = 0, column = 0;
    int split = (int)(blockIdx.x - number * (unsigned)p.splits);
    locate(p, number - t * each, &row, &column);
    wm_i64 i0 = (wm_i64)row * S::M, j0 = (wm_i64)column * S::N;
    wm_ending<double> ending = wm_ending_begin(p.epilogue, 0.0);
    sum_part<S>(p, s, t, i0, j0, split, ending.alpha != 0.0);
    wm_split_barrier(p.cluster);
    finish<S>(p, ending, s, t, i0, j0, split);
    wm_split_barrier(p.cluster);
}

/* ---- The solver ---- */

typedef struct tile {
    int m, n, threads, blocks; /* blocks a multiprocessor */
    double fraction;           /* of the peak */
    size_t shared;
    const void *kernel;
} tile;

// clang-format off
#define WM_DMMA(m, n, wm, wn, blocks, fraction) \
    {m, n, (wm) * (wn) * WM_WARP, blocks, fraction, sizeof(shape<m, n, wm, wn>::shared), \
     (const void *)wm_matmul_dmma_kernel<shape<m, n, wm, wn>>}
// clang-format on

static const tile tiles[] = {WM_DMMA(128, 128, 2, 4, 1, 0.70), WM_DMMA(64, 64, 2, 2, 2, 0.55)};
enum { TILES = sizeof tiles / sizeof tiles[0] };

static const tile *tile_of(const wm_offer *offer) {
    return offer->knob[0] == tiles[0].m ? &tiles[0] : &tiles[1];
}

/* Knobs: tile, splits, group. */
static wm_dmma_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, const wm_offer *offer) {
    const tile *v = tile_of(offer);
    wm_turned x = wm_turn(d, d->d.order == WM_COL_MAJOR);
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_dmma_job job = {};
    job.a = wm_panel_side_of(d, &x.a, x.swapped ? args->b : args->a, x.a.by_k);
    job.b = wm_panel_side_of(d, &x.b, x.swapped ? args->a : args->b, !x.b.by_k);
    job.k = d->k, job.batch = d->batch;
    job.tiles_m = (x.a.count + v->m - 1) / v->m;
    job.tiles_n = (x.b.count + v->n - 1) / v->n;
    job.splits = offer->knob[1], job.cluster = job.splits > 1;
    int64_t steps = (d->k + DEPTH - 1) / DEPTH;
    job.steps = (int)((steps + job.splits - 1) / job.splits);
    job.group = offer->knob[2];
    job.plain = wm_is_plain(d);
    job.vector_d = wm_turn_is_vector_d(d, &x, 2);
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.d_by_rows = job.epilogue.d.col == 1;
    return job;
}

static double tiles_in(const wm_dmma_job *job) {
    return (double)job->tiles_m * (double)job->tiles_n * (double)job->batch;
}

static double seconds_of(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    const tile *v = tile_of(offer);
    const wm_device *device = wm_context_device(context);
    wm_dmma_job job = job_of(d, &none, offer);
    double each = ceil(tiles_in(&job) * job.splits / device->multiprocessors);
    double peak = wm_context_peak_flops(context, WM_F64, WM_COMPUTE_F64) / device->multiprocessors;
    double alone = v->blocks > 1 && each < 2 ? 0.6 : 1.0, turned = job.a.vector && job.b.vector ? 1.0 : 0.85;
    double work = each * 2.0 * v->m * v->n * DEPTH * job.steps / (v->fraction * alone * turned * peak);
    double memory = wm_problem_cost(problem).bytes / (0.7 * wm_context_bandwidth(context));
    return 4e-6 + (job.cluster ? 0.8e-6 : 0.0) + fmax(fmax(work, memory), job.steps * 0.2e-6);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_natural_refusal(d);
    int count = 0, most = wm_context_device(context)->sm >= 90 ? MOST_CLUSTER : 1;
    if (reason) return wm_refuse(why, "%s", reason);
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
    if (d->k >= 1ll << 34) return wm_refuse(why, "k is 2^34 or more");
    if ((double)(d->m + 63) * (double)(d->n + 63) / 4096.0 * (double)d->batch * most >= 2147483647.0)
        return wm_refuse(why, "it has 2^31 tiles or more");
#ifdef WM_SIMT
    if ((double)(d->m + 63) * (double)(d->n + 63) * (double)(d->k * d->batch) > 8e5)
        return wm_refuse(why, "it is too large for the emulation");
#endif
    for (int i = 0; i < TILES; i++) {
        if (tiles[i].m == 128 && (d->m <= 64 || d->n <= 64)) continue;
        for (int splits = 1; splits <= most && count < capacity; splits *= 2) {
            if (splits > 1 && (d->k < 2 * splits * DEPTH || d->m * d->n > 2048 * 2048)) break;
            out[count] = wm_offer{};
            out[count].knob[0] = tiles[i].m, out[count].knob[1] = splits, out[count].knob[2] = 8;
            out[count].capturable = out[count].concurrent = 1;
            out[count].seconds = seconds_of(context, problem, &out[count]);
            count++;
        }
    }
    return count;
}

static wmStatus make(wmContext *context, const wm_problem *, const wm_offer *offer, void **state) {
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_dmma", tile_of(offer)->kernel, tile_of(offer)->shared);
}

static wmStatus run(const wm_run *run) {
    const tile *v = tile_of(run->offer);
    wm_dmma_job job = job_of(&run->problem->u.matmul, &run->args->matmul, run->offer);
    wm_launch launch = {};
    launch.kernel = v->kernel;
    launch.grid = wm_dim3{(unsigned)(tiles_in(&job) * job.splits), 1, 1};
    launch.block = wm_dim3{(unsigned)v->threads, 1, 1};
    if (job.cluster) launch.cluster = wm_dim3{(unsigned)job.splits, 1, 1};
    launch.shared = v->shared;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_dmma", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_dmma = {
    "matmul_dmma",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F64 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS | WM_MM_BIAS |
        WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"tile", "splits", "group", nullptr},
    offer,
    make,
    run,
    nullptr,
};
