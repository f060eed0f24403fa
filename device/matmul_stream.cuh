/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device side of matmul_stream: warps that each take their own steps of a ring which one thread keeps full.
 * matmul_stream.cu has the picture. What is left after the sums, parts of k from several warps and blocks, is
 * matmul_slices'.
 */
#ifndef WM_DEVICE_MATMUL_STREAM_CUH
#define WM_DEVICE_MATMUL_STREAM_CUH

#include "device/matmul_slices.cuh"

#include <warpmath/device/tma.cuh>

enum {
    WM_STREAM_K = 32, /* of a step: 128 bytes */
    WM_STREAM_WARPS = 8,
    WM_STREAM_THREADS = (WM_STREAM_WARPS + 1) * WM_WARP,
    WM_STREAM_BOX = WM_STREAM_K * 128 /* bytes of 32 columns of B */
};

typedef struct wm_stream_job {
    wm_tensor_map a, b;
    wm_slices_job plain;  /* of its operands only the counts are used */
    int units;            /* tiles, where k is short; side of a tile, in the second kernel of long k */
    int a_batch, b_batch; /* 0: one matrix serves the whole batch */
} wm_stream_job;

/** A warp's lanes are LANES_M × LANES_N, each has TM × TN sums; WARPS_N warps side by side, SHARED_BY take parts of the
 * k of a step. */
template <int LANES_M, int TM, int LANES_N, int TN, int WARPS_N, int SHARED_BY, int DEEP>
struct wm_stream_shape {
    typedef float Element;
    enum {
        V = 4,
        M = LANES_M * TM,
        WIDTH = LANES_N * TN, /* of a warp */
        N = WIDTH * WARPS_N,
        DOWN = LANES_M,
        ACROSS = LANES_N,
        ROWS = TM,
        COLUMNS = TN,
        SIDES = WARPS_N,
        PARTS = WM_STREAM_WARPS / WARPS_N, /* of k, each summed by itself */
        THREADS = WM_STREAM_THREADS,
        SUM_STRIDE = N + 4,
        BOXES = (N + 31) / 32,
        TEAM = WARPS_N * SHARED_BY, /* warps of a step */

        EACH = WM_STREAM_K / SHARED_BY, /* of k: a warp's part of a step */
        BYTES = M * 128 + BOXES * WM_STREAM_BOX,
        STAGES = DEEP
    };
    struct stage {
        unsigned char a[M * 128], b[BOXES * WM_STREAM_BOX];
    };
    struct shared {
        union {
            stage ring[STAGES];
            float sum[PARTS][M * SUM_STRIDE];
        };
        wm_mbarrier full[STAGES], empty[STAGES];
    };
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** Where a step's boxes begin: columns of k, rows of D, columns of D, product. */
typedef struct wm_stream_place {
    int k, i, j, t;
} wm_stream_place;

/** The copying thread's step `at`. */
template <class S>
WM_DEVICE void wm_stream_fetch(const wm_stream_job &p, typename S::shared *s, int at, wm_stream_place from) {
    int stage = at % S::STAGES;
    wm_mbarrier *full = &s->full[stage];
    if (at >= S::STAGES) wm_mbarrier_wait(&s->empty[stage], (at / S::STAGES + 1) & 1);
    wm_mbarrier_expect(full, S::BYTES);
    wm_tma_load(s->ring[stage].a, &p.a, from.k, from.i, from.t * p.a_batch, full);
    WM_UNROLL
    for (int box = 0; box < S::BOXES; box++)
        wm_tma_load(s->ring[stage].b + box * WM_STREAM_BOX, &p.b, from.j + box * 32, from.k, from.t * p.b_batch, full);
}

/** A lane's sums over `eights` × 8 of k from `first` on, a multiple of 8. Rows lane / ACROSS + e · DOWN, columns
 * lane mod ACROSS · 4 + f mod 4 in bands of ACROSS · 4. */
template <class S>
WM_DEVICE void wm_stream_multiply(const typename S::stage *s, int side, int first, int eights,
                                  float (*sum)[S::COLUMNS]) {
    int down = wm_lane() / S::ACROSS, across = wm_lane() % S::ACROSS;
    const unsigned char *a = s->a + down * 128, *b = s->b + side * (S::WIDTH / 32 * WM_STREAM_BOX) + first * 128;
#pragma unroll 1
    for (int eight = 0; eight < eights; eight++, b += 8 * 128) {
        WM_UNROLL
        for (int half = 0; half < 2; half++) {
            wm_pack<float> x[S::ROWS];
            int at = ((first / 4 + eight * 2 + half) ^ down) * 16; /* DOWN is 8: rows of a lane swizzle alike */
            WM_UNROLL
            for (int e = 0; e < S::ROWS; e++)
                x[e] = wm_load16(reinterpret_cast<const float *>(a + e * S::DOWN * 128 + at));
            WM_UNROLL
            for (int l = 0; l < 4; l++) WM_UNROLL
            for (int g = 0; g < S::COLUMNS / 4; g++) {
                const int k = half * 4 + l, box = g * S::ACROSS / 8, piece = g * S::ACROSS % 8;
                wm_pack<float> y = wm_load16(
                    reinterpret_cast<const float *>(b + box * WM_STREAM_BOX + k * 128 + ((piece + across) ^ k) * 16));
                WM_UNROLL
                for (int e = 0; e < S::ROWS; e++) WM_UNROLL
                for (int f = 0; f < 4; f++) sum[e][g * 4 + f] = wm_fma(x[e].v[l], y.v[f], sum[e][g * 4 + f]);
            }
        }
    }
}

template <class S>
WM_DEVICE void wm_stream_begin(const wm_stream_job &p, typename S::shared *s) {
    if (wm_thread() == 0) {
        wm_tma_prefetch(&p.a);
        wm_tma_prefetch(&p.b);
        for (int stage = 0; stage < S::STAGES; stage++) {
            wm_mbarrier_init(&s->full[stage], 1);
            wm_mbarrier_init(&s->empty[stage], S::TEAM);
        }
        wm_mbarrier_init_fence();
    }
    wm_barrier();
}

/** One warp's part of step `at`; hands the stage back. */
template <class S>
WM_DEVICE void wm_stream_step(typename S::shared *s, int at, int eights, float (*sum)[S::COLUMNS]) {
    int stage = at % S::STAGES, one = wm_warp() % S::TEAM;
    wm_mbarrier_wait(&s->full[stage], (at / S::STAGES) & 1);
    wm_stream_multiply<S>(&s->ring[stage], one % S::SIDES, one / S::SIDES * S::EACH, eights, sum);
    wm_barrier_warp();
    if (wm_lane() == 0) wm_mbarrier_arrive(&s->empty[stage], wm_cluster_rank());
}

/* ---- Long k: the block has one tile ---- */

/** Each warp's sums to its place in shared memory. */
template <class S>
WM_DEVICE void wm_stream_lay(typename S::shared *s, const float (*sum)[S::COLUMNS]) {
    int down = wm_lane() / S::ACROSS, across = wm_lane() % S::ACROSS;
    float *to = s->sum[wm_warp() / S::SIDES] + down * S::SUM_STRIDE + wm_warp() % S::SIDES * S::WIDTH + across * 4;
    WM_UNROLL
    for (int e = 0; e < S::ROWS; e++) WM_UNROLL
    for (int g = 0; g < S::COLUMNS / 4; g++) {
        wm_pack<float> run = {
            {sum[e][4 * g], sum[e][4 * g + 1], sum[e][4 * g + 2], sum[e][4 * g + 3]}
        };
        wm_store16(to + e * S::DOWN * S::SUM_STRIDE + g * S::ACROSS * 4, run);
    }
}

template <class S>
WM_DEVICE void wm_stream_long(const wm_stream_job &p) {
    typename S::shared *s = wm_shared<typename S::shared>();
    const wm_slices_job &q = p.plain;
    unsigned number = blockIdx.x / (unsigned)q.splits, each = (unsigned)(q.tiles_m * q.tiles_n), t = number / each;
    unsigned in = number - t * each, columns = (unsigned)q.tiles_n;
    int split = (int)(blockIdx.x - number * (unsigned)q.splits), i0 = (int)(in / columns) * S::M,
        j0 = (int)(in % columns) * S::N;
    wm_ending<float> ending = wm_ending_begin(q.epilogue, 0.0f);
    int all = (int)((q.k + WM_STREAM_K - 1) / WM_STREAM_K); /* every splits-th is this block's: they share lines */
    int steps = wm_is_zero(ending.alpha) ? 0 : (all - split + q.splits - 1) / q.splits;
    wm_stream_begin<S>(p, s);
    float sum[S::ROWS][S::COLUMNS] = {};
    if (wm_warp() == WM_STREAM_WARPS) {
        if (wm_lane() == 0)
            for (int at = 0; at < steps; at++)
                wm_stream_fetch<S>(p, s, at, wm_stream_place{(split + at * q.splits) * WM_STREAM_K, i0, j0, (int)t});
        wm_barrier_warp();
    } else {
        for (int at = wm_warp() / S::TEAM; at < steps; at += WM_STREAM_WARPS / S::TEAM)
            wm_stream_step<S>(s, at, S::EACH / 8, sum);
    }
    wm_barrier(); /* the ring's bytes are the sums' from here on */
    if (wm_warp() < WM_STREAM_WARPS) wm_stream_lay<S>(s, sum);
    wm_barrier();
    wm_slices_sum_groups<S, float>(s);
    wm_split_barrier(q.cluster);
    wm_slices_finish<S, float>(q, ending, s, t, number, i0, j0, split);
    wm_split_barrier(q.cluster);
}

/* ---- Short k: a tile is a team's own, and its warps store it ---- */

/** Columns of a lane's rows to D, in runs of four. */
template <class S>
WM_DEVICE void wm_stream_store(const wm_slices_job &q, const wm_ending<float> &ending, wm_stream_place tile,
                               const float (*sum)[S::COLUMNS]) {
    int i = tile.i + wm_lane() / S::ACROSS, j = tile.j + wm_warp() % S::SIDES * S::WIDTH + wm_lane() % S::ACROSS * 4;
    int rows = (int)q.a.count - i, columns = (int)q.b.count - j;
    if (q.vector_d && wm_ending_is_plain(ending, q.plain)) { /* then columns come in fours */
        float *d = static_cast<float *>(const_cast<void *>(wm_matrix_first(q.epilogue.d, tile.t)));
        d += i * q.epilogue.d.row + j;
        WM_UNROLL
        for (int e = 0; e < S::ROWS; e++) WM_UNROLL
        for (int g = 0; g < S::COLUMNS; g += 4) {
            wm_pack<float> run;
            WM_UNROLL
            for (int f = 0; f < 4; f++) run.v[f] = wm_ending_plain(ending, sum[e][g + f]);
            if (e * S::DOWN < rows && g * S::ACROSS < columns)
                wm_store16(d + e * S::DOWN * q.epilogue.d.row + g * S::ACROSS, run);
        }
        return;
    }
#pragma unroll 1
    for (int x = 0; x < S::ROWS * S::COLUMNS; x++) {
        int e = x / S::COLUMNS * S::DOWN, c = x % S::COLUMNS / 4 * (S::ACROSS * 4) + x % 4;
        float value = 0.0f;
        WM_UNROLL
        for (int y = 0; y < S::ROWS * S::COLUMNS; y++) /* a constant index keeps them in registers */
            if (y == x) value = sum[y / S::COLUMNS][y % S::COLUMNS];
        if (e < rows && c < columns) wm_ending_store(q.epilogue, ending, tile.t, i + e, j + c, value);
    }
}

template <class S>
WM_DEVICE wm_stream_place wm_stream_tile_of(const wm_slices_job &q, int unit) {
    unsigned columns = (unsigned)q.tiles_n, each = (unsigned)q.tiles_m * columns, t = (unsigned)unit / each;
    unsigned in = (unsigned)unit - t * each, row = in / columns;
    return wm_stream_place{0, (int)row * S::M, (int)(in - row * columns) * S::N, (int)t};
}

template <class S>
WM_DEVICE void wm_stream_short(const wm_stream_job &p) {
    static_assert((int)S::TEAM == (int)S::SIDES, "a warp has all of k");
    typename S::shared *s = wm_shared<typename S::shared>();
    const wm_slices_job &q = p.plain;
    wm_ending<float> ending = wm_ending_begin(q.epilogue, 0.0f);
    int first = (int)blockIdx.x, stride = (int)gridDim.x, steps = wm_is_zero(ending.alpha) ? 0 : q.steps;
    int last = ((int)q.k - (q.steps - 1) * WM_STREAM_K + 7) / 8; /* eights of the last step */
    wm_stream_begin<S>(p, s);
    if (wm_warp() == WM_STREAM_WARPS) {
        if (wm_lane()) return;
        for (int unit = first, at = 0; unit < p.units; unit += stride) {
            wm_stream_place tile = wm_stream_tile_of<S>(q, unit);
            for (int step = 0; step < steps; step++, tile.k += WM_STREAM_K) wm_stream_fetch<S>(p, s, at++, tile);
        }
    } else {
        for (int nth = wm_warp() / S::TEAM; first + nth * stride < p.units; nth += WM_STREAM_WARPS / S::TEAM) {
            float sum[S::ROWS][S::COLUMNS] = {};
            for (int step = 0; step < steps; step++)
                wm_stream_step<S>(s, nth * steps + step, step + 1 < steps ? S::EACH / 8 : last, sum);
            wm_stream_store<S>(q, ending, wm_stream_tile_of<S>(q, first + nth * stride), sum);
        }
    }
}

#endif

#endif
