/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A big matrix times a thin one (m or n to 64), f16 and bf16 with f32 sums on the tensor cores (mma.sync); any layout,
 * batch and epilogue. Bound by the big matrix's way through memory.
 *
 *          k                       A block takes 64 rows of the big matrix and all of the thin one. 64 of k of
 *      ┌────────┬────────┐         both come to shared memory at a time by asynchronous copies, four such steps
 *   64 │ rank 0 │ rank 1 │ · thin  under way, 16-byte pieces swizzled so that ldmatrix (transposed where k is not
 *      ├────────┼────────┤         contiguous) meets no bank conflict. Each of four warps multiplies 16 rows. k is
 *      │        │        │         cut among the blocks of a cluster, so that all multiprocessors load; they add
 *      └────────┴────────┘         their sums through each other's shared memory in the order of their ranks: the
 *                                  same bits in each run.
 *
 * Refuses: operands not 16-byte aligned in pointer, ld and batch stride.
 * Floor: the big matrix once over the memory's rate. Reached on an NVIDIA H200, 2026-11-30, over the best of cuBLASLt's
 * algorithms in the same run: bf16 4096 × {8, 16, 32, 64} × 4096 1.09, 0.99, 0.87, 0.50 (14.3 us for 8); batches of 32³
 * and 64³ 0.90 and 0.58. What is left: every strip of 64 rows loads the thin matrix again.
 */
#include "device/matmul_turn.h"
#include "device/matmul_element.cuh"
#include "device/matmul_ranks.cuh"

#include <warpmath/device/copy.cuh>
#include <warpmath/device/mma.cuh>

#include <math.h>

enum { DEPTH = 64, STAGES = 4, MOST_THIN = 64, MOST_CLUSTER = 8 };

/** A matrix as panels of rows × 64 of k. */
typedef struct wm_skinny_side {
    const void *base;
    wm_i64 ld, batch, count;
    int by_k, pointers;
} wm_skinny_side;

typedef struct wm_skinny_job {
    wm_skinny_side big, thin;
    wm_i64 k, strips;           /* strips of 64 rows a product */
    int splits, cluster, steps; /* steps of 64 a split */
    int bf16, d_by_rows;
    int plain, vector_d;  /* D = alpha · sum where beta is 0; 8 of its elements along j are one store */
    wm_epilogue epilogue; /* D(i, j): i of the big side, j of the thin */
} wm_skinny_job;

template <int ROWS, int THIN>
struct skinny_stage {
    wm_u16 big[ROWS * DEPTH], thin[THIN * DEPTH];
};

template <int ROWS, int THIN>
union skinny_shared {
    skinny_stage<ROWS, THIN> ring[STAGES]; /* as many as there are steps: a launch may ask for fewer bytes */
    float sum[ROWS][THIN + 4];
};

/* ---- From memory to shared memory ---- */

/** Where the 16-byte piece `piece` of row `row` stands, rows of `pieces`: no two of 8 rows in the same banks. */
template <int pieces>
WM_DEVICE int place(int row, int piece) {
    return (row * pieces + (piece ^ (row / (8 / pieces) % pieces))) * 8;
}

/** What a thread copies of a panel of COUNT rows × 64 of k: a piece, and more of them a fixed step apart. */
template <int COUNT, int THREADS>
struct panel {
    enum { PIECES = COUNT / 8, EACH = (COUNT * 8 + THREADS - 1) / THREADS };
    const wm_u16 *base, *from; /* an address of the matrix; the first piece of the next step */
    wm_i64 step, next;         /* elements from piece to piece, and from step to step */
    int to, rows, depth, by_k; /* place in shared memory; rows of the matrix from the piece's on; its k in the panel */
};

WM_DEVICE const wm_u16 *first_of(const wm_skinny_side &x, wm_i64 t) {
    return x.pointers ? static_cast<const wm_u16 *const *>(x.base)[t]
                      : static_cast<const wm_u16 *>(x.base) + t * x.batch;
}

template <int COUNT, int THREADS>
WM_DEVICE panel<COUNT, THREADS> panel_begin(const wm_skinny_side &x, wm_i64 t, wm_i64 first, wm_i64 q) {
    typedef panel<COUNT, THREADS> P;
    P a;
    int u = wm_thread(), row = x.by_k ? u / 8 : u % P::PIECES * 8;
    a.by_k = x.by_k;
    a.depth = x.by_k ? u % 8 * 8 : u / P::PIECES;
    a.rows = (int)wm_min(x.count - first, (wm_i64)COUNT) - row;
    a.base = first_of(x, t);
    a.from = a.base + (x.by_k ? (first + row) * x.ld + q + a.depth : (q + a.depth) * x.ld + first + row);
    a.step = x.ld * (THREADS / (x.by_k ? 8 : (int)P::PIECES));
    a.next = (x.by_k ? 1 : x.ld) * DEPTH;
    a.to = x.by_k ? place<8>(row, a.depth / 8) : place<P::PIECES>(a.depth, row / 8);
    return a;
}

/** Copies the next step, of which `left` of k exist. */
template <int COUNT, int THREADS>
WM_DEVICE void panel_load(panel<COUNT, THREADS> &a, wm_u16 *to, wm_i64 left) {
    typedef panel<COUNT, THREADS> P;
    int k = (int)wm_min(left, (wm_i64)DEPTH) - a.depth;
    WM_UNROLL
    for (int c = 0; c < P::EACH; c++) {
        int rows = a.rows - (a.by_k ? c * (THREADS / 8) : 0), ks = k - (a.by_k ? 0 : c * (THREADS / (int)P::PIECES));
        int valid = a.by_k ? (rows > 0 ? ks : 0) : (ks > 0 ? rows : 0);
        int bytes = 2 * wm_max(0, wm_min(valid, 8));
        if (P::EACH * THREADS == COUNT * 8 || wm_thread() + c * THREADS < COUNT * 8)
            wm_copy_async16(to + a.to + c * THREADS * 8, bytes ? a.from + c * a.step : a.base, bytes);
    }
    a.from += a.next;
}

/* ---- The product ---- */

/** Sums of a warp: 16 rows × THIN. */
template <int ROWS, int THIN>
WM_DEVICE void multiply(const wm_skinny_job &p, const wm_u16 *big, const wm_u16 *thin, float (*sum)[4]) {
    int lane = wm_lane(), low = lane % 8, mid = lane / 8 % 2, high = lane / 16, warp = wm_thread() / WM_WARP;
    WM_UNROLL
    for (int q = 0; q < DEPTH / 16; q++) {
        wm_u32 a[4];
        if (p.big.by_k)
            wm_load_matrices(a, big + place<8>(warp * 16 + lane % 16, 2 * q + high));
        else
            wm_load_matrices_t(a, big + place<ROWS / 8>(q * 16 + high * 8 + low, warp * 2 + mid));
        WM_UNROLL
        for (int j = 0; j < THIN / 8; j += 2) {
            wm_u32 pair[4] = {};
            const wm_u16 *at = p.thin.by_k ? thin + place<8>(j * 8 + (THIN > 8 ? high * 8 : 0) + low, 2 * q + mid)
                                           : thin + place<THIN / 8>(q * 16 + mid * 8 + low, j + (THIN > 8 ? high : 0));
            if (p.thin.by_k)
                wm_load_matrices(pair, at);
            else
                wm_load_matrices_t(pair, at);
            WM_UNROLL
            for (int h = 0; h < (THIN > 8 ? 2 : 1); h++) {
                wm_u32 b[2] = {pair[2 * h], pair[2 * h + 1]};
                if (p.bf16)
                    wm_mma_bf16(*reinterpret_cast<float(*)[4]>(sum[j + h]), a, b);
                else
                    wm_mma_f16(*reinterpret_cast<float(*)[4]>(sum[j + h]), a, b);
            }
        }
    }
}

/** The sums of this block's part of k. */
template <int ROWS, int THIN>
WM_DEVICE void sum_part(const wm_skinny_job &p, skinny_shared<ROWS, THIN> *s, wm_i64 t, wm_i64 first, int split,
                        float (*sum)[4]) {
    wm_i64 q = (wm_i64)split * p.steps * DEPTH, left = wm_min(p.k - q, (wm_i64)p.steps * DEPTH);
    int steps = left > 0 ? (int)((left + DEPTH - 1) / DEPTH) : 0;
    panel<ROWS, 2 *ROWS> big = panel_begin<ROWS, 2 * ROWS>(p.big, t, first, q);
    panel<THIN, 2 *ROWS> thin = panel_begin<THIN, 2 * ROWS>(p.thin, t, 0, q);
    for (int stage = 0; stage < STAGES - 1; stage++, left -= DEPTH) {
        if (left > 0) {
            panel_load(big, s->ring[stage].big, left);
            panel_load(thin, s->ring[stage].thin, left);
        }
        wm_copy_commit();
    }
#pragma unroll 1
    for (int step = 0; step < steps; step++, left -= DEPTH) {
        wm_copy_wait<STAGES - 2>();
        wm_barrier();
        if (left > 0) {
            panel_load(big, s->ring[(step + STAGES - 1) % STAGES].big, left);
            panel_load(thin, s->ring[(step + STAGES - 1) % STAGES].thin, left);
        }
        wm_copy_commit();
        multiply<ROWS, THIN>(p, s->ring[step % STAGES].big, s->ring[step % STAGES].thin, sum);
    }
    wm_copy_wait<0>();
    wm_barrier();
}

/** Four neighbouring sums, added over the ranks in their order; all are on their way before the first is added. */
WM_DEVICE wm_pack<float> sum_ranks(const wm_skinny_job &p, float *mine) {
    wm_pack<float> each[MOST_CLUSTER];
    WM_UNROLL
    for (int rank = 0; rank < MOST_CLUSTER; rank++)
        if (rank < p.splits) each[rank] = wm_load16(wm_split_shared(mine, p.cluster, rank));
    WM_UNROLL
    for (int rank = 1; rank < MOST_CLUSTER; rank++)
        if (rank < p.splits) WM_UNROLL
    for (int e = 0; e < 4; e++) each[0].v[e] = wm_add(each[0].v[e], each[rank].v[e]);
    return each[0];
}

/** The tile, 8 elements a store. */
template <int ROWS, int THIN>
WM_DEVICE void finish_runs(const wm_skinny_job &p, const wm_ending<float> &ending, skinny_shared<ROWS, THIN> *s,
                           wm_i64 t, wm_i64 first, int split) {
    wm_u16 *d = static_cast<wm_u16 *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, t)));
#pragma unroll 1
    for (int u = split * 2 * ROWS + wm_thread(); u < ROWS * THIN / 8; u += p.splits * 2 * ROWS) {
        int i = u / (THIN / 8), j = u % (THIN / 8) * 8;
        if (first + i >= p.big.count || j >= p.thin.count) continue;
        wm_run_of<wm_u16, 8> run;
        WM_UNROLL
        for (int h = 0; h < 2; h++) {
            wm_pack<float> sums = sum_ranks(p, &s->sum[i][j + 4 * h]);
            WM_UNROLL
            for (int f = 0; f < 4; f++) {
                float x = wm_ending_plain(ending, sums.v[f]);
                run.v[4 * h + f] = p.bf16 ? wm_f32_to_bf16(x).bits : wm_f32_to_f16(x).bits;
            }
        }
        wm_run_store(d + (first + i) * p.epilogue.d.row + j, run);
    }
}

/** The tile, with all that an epilogue may do: four neighbours along j a thread, neighbouring i in turn where D's
 * columns are contiguous. */
template <int ROWS, int THIN>
WM_DEVICE void finish(const wm_skinny_job &p, const wm_ending<float> &ending, skinny_shared<ROWS, THIN> *s, wm_i64 t,
                      wm_i64 first, int split) {
#pragma unroll 1
    for (int u = split * 2 * ROWS + wm_thread(); u < ROWS * THIN / 4; u += p.splits * 2 * ROWS) {
        int i = p.d_by_rows ? u / (THIN / 4) : u % ROWS, j = (p.d_by_rows ? u % (THIN / 4) : u / ROWS) * 4;
        if (first + i >= p.big.count || j >= p.thin.count) continue;
        wm_pack<float> sums = sum_ranks(p, &s->sum[i][j]);
#pragma unroll 1
        for (int f = 0; f < 4 && j + f < p.thin.count; f++) {
            float x = f == 0 ? sums.v[0] : f == 1 ? sums.v[1] : f == 2 ? sums.v[2] : sums.v[3];
            wm_ending_store(p.epilogue, ending, t, first + i, j + f, x);
        }
    }
}

/* A warp 16 rows. */
template <int ROWS, int THIN>
__global__ void __launch_bounds__(2 * ROWS, ROWS == 64 ? 4 : 8) wm_matmul_skinny_kernel(WM_PARAMS(wm_skinny_job)) {
    skinny_shared<ROWS, THIN> *s = wm_shared<skinny_shared<ROWS, THIN>>();
    unsigned number = blockIdx.x / (unsigned)p.splits;
    wm_i64 part = number, t = p.strips == 1 ? part : part / p.strips, first = (part - t * p.strips) * ROWS;
    int split = (int)(blockIdx.x - number * (unsigned)p.splits), lane = wm_lane(), warp = wm_thread() / WM_WARP;
    float sum[THIN / 8][4] = {};
    wm_ending<float> ending = wm_ending_begin(p.epilogue, 0.0f);
    sum_part<ROWS, THIN>(p, s, t, first, split, sum);
    WM_UNROLL
    for (int j = 0; j < THIN / 8; j++) WM_UNROLL
    for (int e = 0; e < 4; e++) s->sum[warp * 16 + lane / 4 + e / 2 * 8][j * 8 + lane % 4 * 2 + e % 2] = sum[j][e];
    wm_barrier();
    wm_split_barrier(p.cluster);
    if (p.vector_d && wm_ending_is_plain(ending, p.plain))
        finish_runs<ROWS, THIN>(p, ending, s, t, first, split);
    else
        finish<ROWS, THIN>(p, ending, s, t, first, split);
    wm_split_barrier(p.cluster);
}

/* ---- The solver ---- */

typedef struct tile {
    int rows, thin;
    size_t stage, sums;
    const void *kernel;
} tile;

// clang-format off
#define WM_SKINNY(rows, thin) \
    {rows, thin, sizeof(skinny_stage<rows, thin>), sizeof(float) * (rows) * ((thin) + 4), \
     (const void *)wm_matmul_skinny_kernel<rows, thin>}
// clang-format on

/* The last is for both sides to 32. */
static const tile tiles[] = {WM_SKINNY(64, 8), WM_SKINNY(64, 16), WM_SKINNY(64, 32), WM_SKINNY(64, 64),
                             WM_SKINNY(32, 32)};

static wm_turned turn_of(const wmMatmulDesc *d) {
    return wm_turn(d, d->m < d->n);
}

static const tile *tile_of(const wmMatmulDesc *d) {
    wm_turned x = turn_of(d);
    const tile *t = tiles;
    if (x.a.count <= 32 && x.b.count > 16) return &tiles[4];
    while (t->thin < x.b.count) t++;
    return t;
}

static size_t shared_of(const tile *t, int steps) {
    size_t ring = t->stage * (size_t)(steps < STAGES ? steps : STAGES);
    return ring > t->sums ? ring : t->sums;
}

static wm_skinny_side side_of(const wmMatmulDesc *d, const wm_side *x, const void *base) {
    wm_skinny_side side = {base,     x->desc->ld, x->desc->batch_stride,
                           x->count, x->by_k,     d->batch_mode == WM_BATCH_POINTERS};
    return side;
}

static wm_skinny_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, int splits) {
    wm_turned x = turn_of(d);
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_skinny_job job = {};
    job.big = side_of(d, &x.a, x.swapped ? args->b : args->a);
    job.thin = side_of(d, &x.b, x.swapped ? args->a : args->b);
    job.k = d->k;
    job.strips = (x.a.count + tile_of(d)->rows - 1) / tile_of(d)->rows;
    job.splits = splits, job.cluster = splits > 1;
    int64_t steps = (d->k + DEPTH - 1) / DEPTH;
    job.steps = (int)((steps + splits - 1) / splits);
    job.bf16 = d->a.type == WM_BF16;
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.d_by_rows = job.epilogue.d.col == 1;
    job.plain = wm_is_plain(d);
    job.vector_d = wm_turn_is_vector_d(d, &x, 8);
    return job;
}

/* Bytes over a share of the memory's rate, less for a wide thin side, whose every block loads it again; what was
 * measured prefers eight splits for 8 columns and two for more. */
static double seconds_of(wmContext *context, const wm_problem *problem, int splits) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_skinny_job job = job_of(d, &none, splits);
    int multiprocessors = wm_context_device(context)->multiprocessors, thin = tile_of(d)->thin;
    double blocks = (double)job.strips * splits * (double)d->batch;
    double share = thin <= 16 ? 0.86 : thin == 32 ? 0.7 : 0.42;
    if (blocks > 2.0 * multiprocessors) share *= d->batch > 1 ? 0.6 : 0.93;
    double busy = fmin(1.0, blocks / (0.9 * multiprocessors)), odd = splits == (thin == 8 ? 8 : 2) ? 1.0 : 1.03;
    double serial = job.steps * 0.35e-6 / STAGES;
    double bytes = wm_problem_cost(problem).bytes / (share * busy * wm_context_bandwidth(context));
    return 2.3e-6 + odd * fmax(bytes, serial);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_natural_refusal(d);
    int count = 0, most = wm_context_device(context)->sm >= 90 ? MOST_CLUSTER : 1;
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->m > MOST_THIN && d->n > MOST_THIN) return wm_refuse(why, "neither m nor n is %d or less", MOST_THIN);
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
    if (!wm_matrix_is_vector(&d->a) || !wm_matrix_is_vector(&d->b))
        return wm_refuse(why, "A or B is not 16-byte aligned in pointer, ld and batch stride");
    double parts = ceil((double)turn_of(d).a.count / tile_of(d)->rows) * (double)d->batch;
    if (parts * most >= 2147483647.0 || d->k > 1ll << 36) return wm_refuse(why, "it has 2^31 blocks or more");
    for (int splits = 1; splits <= most && count < capacity; splits *= 2) {
        if (splits > 1 && d->k < splits * DEPTH) break;
        out[count] = wm_offer{};
        out[count].knob[0] = splits;
        out[count].capturable = out[count].concurrent = 1;
        out[count].seconds = seconds_of(context, problem, splits);
        count++;
    }
    return count;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *, void **state) {
    const tile *t = tile_of(&problem->u.matmul);
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_skinny", t->kernel, shared_of(t, STAGES));
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const tile *t = tile_of(d);
    wm_skinny_job job = job_of(d, &run->args->matmul, run->offer->knob[0]);
    wm_launch launch = {};
    launch.kernel = t->kernel;
    launch.grid = wm_dim3{(unsigned)(job.strips * d->batch * job.splits), 1, 1};
    launch.block = wm_dim3{2u * (unsigned)t->rows, 1, 1};
    if (job.cluster) launch.cluster = wm_dim3{(unsigned)job.splits, 1, 1};
    launch.shared = shared_of(t, job.steps);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_skinny", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_skinny = {
    "matmul_skinny",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS |
        WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"splits", nullptr},
    offer,
    make,
    run,
    nullptr,
};
