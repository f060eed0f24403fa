/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products through shared memory and registers, on the ordinary cores: the second rung of the ladder. f32, f64,
 * and f16 or bf16 operands with f32 sums; any layout, ld, alignment, batch and epilogue.
 *
 *        k                 n            A block makes a TILE × TILE piece of D (128 or 64). DEPTH columns of A and rows
 *      ┌────┐      ┌─┬──────────┐       of B at a time come through registers into shared memory, k-major, while the
 *    m │ A  │    k │ │    B     │       piece before is multiplied: two buffers, one barrier a step. A warp makes 32 ×
 * 64, ├────┤      └─┴──────────┘       a thread 8 × 8 in groups of 16 bytes, so that each 16-byte read of shared memory
 *      │▒▒▒▒│        ┌──┐               serves a warp without bank conflicts: 64 multiply-adds for 4 such reads (f32).
 *      └────┘        │▒▒│ D             Sums leave through shared memory, so that stores are whole lines.
 *                    └──┘
 * Where a row is not 16-byte aligned, and at the edges, elements are loaded one by one. Refuses complex, fp8 and i8.
 *
 * Floor: 2mnk over the FFMA rate, 67 TFLOP/s on an H200 (DFMA: 33). Predicted: 40 TFLOP/s for f32 at 4096 (60 %: issue
 * slots go to 4 shared reads and the addressing beside 64 FFMA, and two blocks an SM hide the rest), 22 for f64, 38 for
 * 16-bit operands, whose widening is shared by 128 products each. cuBLAS: 51 for f32. Not yet measured.
 * Source of the idea: Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra" (SC 2008).
 */
#include "device/matmul_job.h"

/* Of one instance: operand type, type of the sums, tile, depth of a step. */
template <class In, class Acc, int TILE, int DEPTH>
struct shape {
    enum {
        THREADS = TILE * TILE / 64,
        LANES = 16 / sizeof(Acc),              /* sums in 16 bytes */
        GROUPS = 8 / LANES,                    /* of a thread's 8 rows, and of its 8 columns */
        STRIDE = TILE + LANES,                 /* of shared memory's rows */
        RUN = 16 / sizeof(In),                 /* operands in 16 bytes */
        RUNS = TILE * DEPTH / (RUN * THREADS), /* a thread loads of each operand and step */
        PAIRS = 2 * TILE / THREADS             /* along k: passes of THREADS / 2 rows that make TILE */
    };
};

template <class In, class Acc, int TILE, int DEPTH>
struct tile_shared {
    typedef shape<In, Acc, TILE, DEPTH> S;
    Acc a[2][DEPTH][S::STRIDE], b[2][DEPTH][S::STRIDE];
};

/* ---- From global memory to shared memory ---- */

/** A thread's part of one operand's panels: TILE rows of A (or columns of B), DEPTH of k at a time. */
template <class In>
struct panel {
    const In *from;       /* the thread's first run of the next step */
    wm_i64 outer, inner;  /* elements between rows, and between steps of k */
    wm_i64 rows_left;     /* rows from the run's first on; of all runs where they lie along the rows */
    int row, depth;       /* the first run's place in the tile */
    bool along_k, vector; /* runs lie along k, else along the rows; whole runs are 16-byte aligned */
};

template <class S, class In, int TILE>
WM_DEVICE panel<In> panel_begin(const wm_matrix_ref &m, wm_i64 t, wm_i64 outer, wm_i64 inner, wm_i64 first,
                                wm_i64 count, bool vector) {
    panel<In> x;
    x.outer = outer;
    x.inner = inner;
    x.along_k = inner == 1;
    x.vector = vector;
    int per_row = TILE / S::RUN;
    x.row = x.along_k ? wm_thread() / 2 : wm_thread() % per_row * S::RUN;
    x.depth = x.along_k ? wm_thread() % 2 * S::RUN : wm_thread() / per_row;
    x.rows_left = count - first - x.row;
    x.from = static_cast<const In *>(wm_matrix_first(m, t)) + (first + x.row) * outer + x.depth * inner;
    return x;
}

/** `valid` elements from `from`, the rest zero. */
template <class In, int RUN>
WM_DEVICE wm_pack<In> load_run(const In *from, wm_i64 valid, bool vector) {
    if (vector && valid >= RUN) return wm_load16_const(from);
    wm_pack<In> run;
    WM_UNROLL
    for (int e = 0; e < RUN; e++) run.v[e] = e < valid ? from[e] : In{};
    return run;
}

/** Loads the thread's runs of one step, of which `k_left` columns exist, and moves on to the next. */
template <class S, class In, int TILE, int DEPTH>
WM_DEVICE void panel_load(panel<In> &x, int k_left, wm_pack<In> *runs) {
    WM_UNROLL
    for (int c = 0; c < S::RUNS; c++) {
        int row = x.along_k ? c % S::PAIRS * (S::THREADS / 2) : 0;
        int depth = x.along_k ? c / S::PAIRS * 2 * S::RUN : c * (S::THREADS * S::RUN / TILE);
        int along = k_left - x.depth - depth; /* of k, from the run on */
        wm_i64 across = x.rows_left - row;
        wm_i64 valid = x.along_k ? (across > 0 ? along : 0) : (along > 0 ? across : 0);
        runs[c] = load_run<In, S::RUN>(x.from + row * x.outer + depth * x.inner, valid, x.vector);
    }
    x.from += DEPTH * x.inner;
}

template <class Acc, class In>
WM_DEVICE Acc widen(In x) {
    if constexpr (sizeof(Acc) == 8)
        return x;
    else
        return wm_to_f32(x);
}

/** Puts the runs where panel_load took them from, one row of `to` a column of A. */
template <class S, class In, class Acc, int TILE>
WM_DEVICE void panel_store(const panel<In> &x, const wm_pack<In> *runs, Acc (*to)[S::STRIDE]) {
    WM_UNROLL
    for (int c = 0; c < S::RUNS; c++) {
        if (x.along_k) {
            int row = x.row + c % S::PAIRS * (S::THREADS / 2), depth = x.depth + c / S::PAIRS * 2 * S::RUN;
            WM_UNROLL
            for (int e = 0; e < S::RUN; e++) to[depth + e][row] = widen<Acc>(runs[c].v[e]);
        } else {
            int depth = x.depth + c * (S::THREADS * S::RUN / TILE);
            WM_UNROLL
            for (int e = 0; e < S::RUN; e += S::LANES) {
                wm_pack<Acc> wide;
                WM_UNROLL
                for (int l = 0; l < S::LANES; l++) wide.v[l] = widen<Acc>(runs[c].v[e + l]);
                wm_store16(&to[depth][x.row + e], wide);
            }
        }
    }
}

/* ---- The product ---- */

/** Where a thread's 8 × 8 sums are in the tile: rows row + g · 4 · LANES + l, columns column + g · 8 · LANES + l. */
template <class S, int TILE>
WM_DEVICE void thread_place(int *row, int *column) {
    int warp = wm_warp(), lane = wm_lane();
    *row = warp % (TILE / 32) * 32 + lane / 8 * S::LANES;
    *column = warp / (TILE / 32) * 64 + lane % 8 * S::LANES;
}

template <class S, class Acc, int DEPTH>
WM_DEVICE void multiply(const Acc (*a)[S::STRIDE], const Acc (*b)[S::STRIDE], int row, int column, Acc (*sum)[8]) {
    WM_UNROLL
    for (int q = 0; q < DEPTH; q++) {
        wm_pack<Acc> x[S::GROUPS], y[S::GROUPS];
        WM_UNROLL
        for (int g = 0; g < S::GROUPS; g++) {
            x[g] = wm_load16(&a[q][row + g * 4 * S::LANES]);
            y[g] = wm_load16(&b[q][column + g * 8 * S::LANES]);
        }
        WM_UNROLL
        for (int i = 0; i < 8; i++) WM_UNROLL
        for (int j = 0; j < 8; j++)
            sum[i][j] = wm_fma(x[i / S::LANES].v[i % S::LANES], y[j / S::LANES].v[j % S::LANES], sum[i][j]);
    }
}

/* ---- From registers to D ---- */

/** Group g of every thread's rows to shared memory: TILE / GROUPS rows of the tile, 4 · LANES a warp's row. */
template <class S, class Acc>
WM_DEVICE void slab_put(Acc *slab, int g, int row, int column, const Acc (*sum)[8]) {
    int first = row / 32 * 4 * S::LANES + row % 32;
    WM_UNROLL
    for (int h = 0; h < S::GROUPS; h++) /* a constant index keeps the sums in registers */
        if (h == g) WM_UNROLL
    for (int l = 0; l < S::LANES; l++) WM_UNROLL
    for (int j = 0; j < 8; j++)
        slab[(first + l) * S::STRIDE + column + j / S::LANES * 8 * S::LANES + j % S::LANES] = sum[h * S::LANES + l][j];
}

template <class S, class Acc, int TILE>
WM_DEVICE void finish(const wm_matmul_job &p, const wm_epilogue_scalars<Acc> &scalars, Acc *slab, wm_i64 t, wm_i64 i0,
                      wm_i64 j0, int row, int column, const Acc (*sum)[8]) {
    const int rows = TILE / S::GROUPS;
#pragma unroll 1
    for (int g = 0; g < S::GROUPS; g++) {
        wm_barrier();
        slab_put<S, Acc>(slab, g, row, column, sum);
        wm_barrier();
#pragma unroll 1
        for (int e = wm_thread(); e < rows * TILE; e += S::THREADS) {
            int r = p.d_by_rows ? e / TILE : e % rows, c = p.d_by_rows ? e % TILE : e / rows;
            wm_i64 i = i0 + r / (4 * S::LANES) * 32 + g * 4 * S::LANES + r % (4 * S::LANES), j = j0 + c;
            if (i < p.m && j < p.n) wm_epilogue_store(p.epilogue, scalars, t, i, j, slab[r * S::STRIDE + c]);
        }
    }
}

template <class In, class Acc, int TILE, int DEPTH>
WM_DEVICE void do_tile(const wm_matmul_job &p, const wm_epilogue_scalars<Acc> &scalars, wm_i64 t, wm_i64 i0,
                       wm_i64 j0) {
    typedef shape<In, Acc, TILE, DEPTH> S;
    tile_shared<In, Acc, TILE, DEPTH> *s = wm_shared<tile_shared<In, Acc, TILE, DEPTH>>();
    wm_pack<In> runs_a[S::RUNS], runs_b[S::RUNS];
    Acc sum[8][8] = {};
    int row = 0, column = 0, now = 0;
    thread_place<S, TILE>(&row, &column);
    panel<In> a = panel_begin<S, In, TILE>(p.a, t, p.a.row, p.a.col, i0, p.m, p.vector_a);
    panel<In> b = panel_begin<S, In, TILE>(p.b, t, p.b.col, p.b.row, j0, p.n, p.vector_b);
    wm_i64 left = scalars.alpha != Acc(0) ? p.k : 0;
    if (left > 0) {
        panel_load<S, In, TILE, DEPTH>(a, (int)wm_min(left, (wm_i64)DEPTH), runs_a);
        panel_load<S, In, TILE, DEPTH>(b, (int)wm_min(left, (wm_i64)DEPTH), runs_b);
        panel_store<S, In, Acc, TILE>(a, runs_a, s->a[0]);
        panel_store<S, In, Acc, TILE>(b, runs_b, s->b[0]);
    }
    wm_barrier();
#pragma unroll 1
    for (; left > 0; left -= DEPTH, now ^= 1) {
        bool more = left > DEPTH;
        if (more) {
            panel_load<S, In, TILE, DEPTH>(a, (int)wm_min(left - DEPTH, (wm_i64)DEPTH), runs_a);
            panel_load<S, In, TILE, DEPTH>(b, (int)wm_min(left - DEPTH, (wm_i64)DEPTH), runs_b);
        }
        multiply<S, Acc, DEPTH>(s->a[now], s->b[now], row, column, sum);
        if (more) {
            panel_store<S, In, Acc, TILE>(a, runs_a, s->a[now ^ 1]);
            panel_store<S, In, Acc, TILE>(b, runs_b, s->b[now ^ 1]);
        }
        wm_barrier();
    }
    finish<S, Acc, TILE>(p, scalars, &s->a[0][0][0], t, i0, j0, row, column, sum);
}

template <class In, class Acc, int TILE, int DEPTH>
WM_DEVICE void do_tiles(const wm_matmul_job &p) {
    wm_epilogue_scalars<Acc> scalars = wm_epilogue_begin<Acc>(p.epilogue);
    if (p.k == 0) scalars.alpha = Acc(0);
#pragma unroll 1
    for (wm_i64 tile = blockIdx.x; tile < p.tiles_m * p.tiles_n * p.batch; tile += gridDim.x) {
        wm_i64 t = tile / (p.tiles_m * p.tiles_n), within = tile - t * (p.tiles_m * p.tiles_n);
        do_tile<In, Acc, TILE, DEPTH>(p, scalars, t, within / p.tiles_n * TILE, within % p.tiles_n * TILE);
        wm_barrier(); /* shared memory is the next tile's */
    }
}

/* ---- Kernels ---- */

WM_KERNEL __launch_bounds__(256, 2) wm_matmul_tiled_f32_128(WM_PARAMS(wm_matmul_job)) {
    do_tiles<float, float, 128, 16>(p);
}
WM_KERNEL __launch_bounds__(64, 6) wm_matmul_tiled_f32_64(WM_PARAMS(wm_matmul_job)) {
    do_tiles<float, float, 64, 16>(p);
}
/* One block an SM: the widening of 16-bit operands takes more than the 128 registers that two would leave. */
WM_KERNEL __launch_bounds__(256, 1) wm_matmul_tiled_f16_128(WM_PARAMS(wm_matmul_job)) {
    do_tiles<wm_f16, float, 128, 16>(p);
}
WM_KERNEL __launch_bounds__(256, 1) wm_matmul_tiled_bf16_128(WM_PARAMS(wm_matmul_job)) {
    do_tiles<wm_bf16, float, 128, 16>(p);
}
WM_KERNEL __launch_bounds__(64, 4) wm_matmul_tiled_f64_64(WM_PARAMS(wm_matmul_job)) {
    do_tiles<double, double, 64, 8>(p);
}

/* ---- The solver ---- */

typedef struct variant {
    wmType type;
    int tile;
    int blocks;      /* a multiprocessor */
    double fraction; /* of the peak, expected of full multiprocessors */
    const char *name;
    const void *kernel;
    size_t shared;
} variant;

#define WM_VARIANT(type, tile, blocks, fraction, kernel, In, Acc, DEPTH)                                               \
    {                                                                                                                  \
        type, tile, blocks, fraction, #kernel, reinterpret_cast<const void *>(kernel),                                 \
            sizeof(tile_shared<In, Acc, tile, DEPTH>)                                                                  \
    }

static const variant variants[] = {
    WM_VARIANT(WM_F32, 128, 2, 0.60, wm_matmul_tiled_f32_128, float, float, 16),
    WM_VARIANT(WM_F32, 64, 6, 0.50, wm_matmul_tiled_f32_64, float, float, 16),
    WM_VARIANT(WM_F16, 128, 1, 0.45, wm_matmul_tiled_f16_128, wm_f16, float, 16),
    WM_VARIANT(WM_BF16, 128, 1, 0.45, wm_matmul_tiled_bf16_128, wm_bf16, float, 16),
    WM_VARIANT(WM_F64, 64, 4, 0.65, wm_matmul_tiled_f64_64, double, double, 8),
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static const variant *variant_of(wmType type, int tile) {
    for (int i = 0; i < VARIANTS; i++)
        if (variants[i].type == type && variants[i].tile == tile) return &variants[i];
    return NULL;
}

/* Whole tiles, spread over the multiprocessors; a step of k is at least as long as a load takes. */
static double seconds_of(wmContext *context, const wmMatmulDesc *d, const variant *v) {
    const wm_device *device = wm_context_device(context);
    double tiles = ceil((double)d->m / v->tile) * ceil((double)d->n / v->tile) * (double)d->batch;
    double each = ceil(tiles / device->multiprocessors);
    /* The peak of f64 counts tensor cores, twice the ordinary ones. */
    double peak = v->type == WM_F64 ? 0.5 * wm_context_peak_flops(context, WM_F64, WM_COMPUTE_F64)
                                    : wm_context_peak_flops(context, WM_F32, WM_COMPUTE_F32_STRICT);
    double rate = v->fraction * peak / device->multiprocessors;
    double work = each * 2.0 * v->tile * v->tile * (double)d->k / rate;
    return 4e-6 + fmax(work, (double)d->k / 16.0 * 0.8e-6);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    int count = 0;
    if (d->b.type != d->a.type)
        return wm_refuse(why, "%s × %s: operands of two types", wmTypeName(d->a.type), wmTypeName(d->b.type));
    if ((d->compute == WM_COMPUTE_F64) != (d->a.type == WM_F64))
        return wm_refuse(why, "it sums %s in its own precision", wmTypeName(d->a.type));
    if (d->d.type == WM_F64 && d->a.type != WM_F64) return wm_refuse(why, "its f32 sums are too short for an f64 D");
    for (int i = 0; i < VARIANTS && count < capacity; i++) {
        if (variants[i].type != d->a.type) continue;
        out[count] = wm_offer{};
        out[count].seconds = seconds_of(context, d, &variants[i]);
        out[count].knob[0] = variants[i].tile;
        out[count].capturable = 1;
        out[count].concurrent = 1;
        count++;
    }
    return count;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const variant *v = variant_of(problem->u.matmul.a.type, offer->knob[0]);
    *state = NULL;
    if (!v) return wm_fail(WM_ERR_INTERNAL, "matmul_tiled has no tile of %d", offer->knob[0]);
    return wm_prepare_kernel(context, v->name, v->kernel, v->shared);
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const variant *v = variant_of(d->a.type, run->offer->knob[0]);
    wm_matmul_job job = wm_matmul_job_of(d, &run->args->matmul, v->tile, v->tile);
    unsigned threads = (unsigned)(v->tile * v->tile / 64);
    wm_launch launch = {
        v->kernel, {wm_matmul_blocks(&job), 1, 1},
         {threads,                1, 1},
         {0,                      0, 0},
         v->shared, &job, sizeof job
    };
    return wm_launch_kernel(run->context, v->name, &launch, run->stream);
}

static void drop(wmContext *, void *) {}

extern "C" const wm_solver wm_matmul_tiled = {
    "matmul_tiled",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_POINTERS | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT |
        WM_MM_UNALIGNED,
    {"tile", NULL},
    offer,
    make,
    run,
    drop,
};
