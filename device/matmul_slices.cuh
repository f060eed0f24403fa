/* SPDX-License-Identifier: Apache-2.0 */
/* Device side of matmul_slices, which matmul_grouped has in common: a tile of D over a part of k, on the ordinary
 * cores. matmul_slices.cu has the picture. */
#ifndef WM_DEVICE_MATMUL_SLICES_CUH
#define WM_DEVICE_MATMUL_SLICES_CUH

#include "device/matmul_turn.h"
#include "device/matmul_element.cuh"
#include "device/matmul_panel.cuh"
#include "device/matmul_ranks.cuh"

enum { WM_SLICES_STAGES = 3, WM_SLICES_RANKS = 8 };

typedef struct wm_slices_job {
    wm_panel_side a, b;
    wm_i64 k, batch, tiles_m, tiles_n;
    int splits, cluster, steps, d_by_rows; /* steps of DEPTH a split */
    int plain, vector_d;                   /* D = alpha · sum where beta is 0; 16 bytes of its rows are one store */
    wm_epilogue epilogue;
    void *partial;
} wm_slices_job;

template <class T, int TILE_M, int TILE_N, int TM, int TN, int GROUPS, int DEPTH>
struct wm_slices_shape {
    typedef T Element;
    enum {
        V = 16 / sizeof(T),
        M = TILE_M,
        N = TILE_N,
        ROWS = TM,
        COLUMNS = TN,
        PARTS = GROUPS,
        K = DEPTH,
        LANES_M = TILE_M / TM,
        LANES_N = TILE_N / TN,
        GROUP = LANES_M * LANES_N,
        THREADS = GROUP * GROUPS,
        STRIDE = DEPTH + V, /* of A's rows */
        SUM_STRIDE = TILE_N + V,
        BLOCKS = THREADS >= 256    ? 2
                 : sizeof(T) == 16 ? 3
                                   : 4 /* a multiprocessor */
    };
    struct stage {
        T a[TILE_M * STRIDE], b[DEPTH * TILE_N];
    };
    union shared {
        stage ring[WM_SLICES_STAGES];
        T sum[GROUPS][TILE_M * SUM_STRIDE];
    };
};

/* ---- In ---- */

template <class S, class T>
WM_DEVICE void wm_slices_load(typename S::stage *to, wm_panel<T> &a, wm_panel<T> &b, wm_i64 k_left) {
    int k = (int)wm_min(k_left, (wm_i64)S::K);
    wm_panel_load<T, S::M, S::K, S::THREADS>(a, to->a, a.left, k);
    wm_panel_load<T, S::K, S::N, S::THREADS>(b, to->b, k, b.left);
}

/* ---- The product ---- */

/** One thread's sums over its group's part of a step: rows r + e · LANES_M, columns c · V + f in bands of LANES_N · V.
 */
template <class S, class T>
WM_DEVICE void wm_slices_multiply(const wm_slices_job &p, const typename S::stage *s, int group, int r, int c,
                                  T (*sum)[S::COLUMNS]) {
    const int v = S::V, each = S::K / S::PARTS;
    const T *a = s->a + r * S::STRIDE + group * each, *b = s->b + group * each * S::N + c * v;
    WM_UNROLL
    for (int q = 0; q < each; q += v) {
        wm_run_of<T, v> x[S::ROWS];
        WM_UNROLL
        for (int e = 0; e < S::ROWS; e++) x[e] = wm_run_load<v>(a + e * S::LANES_M * S::STRIDE + q);
        WM_UNROLL
        for (int l = 0; l < v; l++) WM_UNROLL
        for (int g = 0; g < S::COLUMNS / v; g++) {
            wm_run_of<T, v> y = wm_run_load<v>(b + (q + l) * S::N + g * S::LANES_N * v);
            WM_UNROLL
            for (int e = 0; e < S::ROWS; e++) WM_UNROLL
            for (int f = 0; f < v; f++)
                sum[e][g * v + f] = wm_multiply_add(wm_conjugate(x[e].v[l], p.a.sign), wm_conjugate(y.v[f], p.b.sign),
                                                    sum[e][g * v + f]);
        }
    }
}

/** The sums of this block's part of k. */
template <class S, class T>
WM_DEVICE void wm_slices_sum(const wm_slices_job &p, typename S::shared *s, wm_i64 t, wm_i64 i0, wm_i64 j0, int split,
                             bool product, T (*sum)[S::COLUMNS]) {
    int group = wm_thread() / S::GROUP, within = wm_thread() % S::GROUP, r = within / S::LANES_N,
        c = within % S::LANES_N;
    wm_i64 q = (wm_i64)split * p.steps * S::K, left = wm_min(p.k - q, (wm_i64)p.steps * S::K);
    int steps = product && left > 0 ? (int)((left + S::K - 1) / S::K) : 0;
    wm_panel<T> a = wm_panel_begin<T, S::M, S::K, S::THREADS, S::STRIDE>(
        p.a, wm_panel_first<T>(p.a, t), i0 * p.a.row + q * p.a.k, p.a.row, p.a.k, S::K * p.a.k, p.a.count - i0);
    wm_panel<T> b = wm_panel_begin<T, S::K, S::N, S::THREADS, S::N>(
        p.b, wm_panel_first<T>(p.b, t), j0 * p.b.row + q * p.b.k, p.b.k, p.b.row, S::K * p.b.k, p.b.count - j0);
    for (int stage = 0; stage < WM_SLICES_STAGES - 1; stage++, left -= S::K) {
        if (stage < steps) wm_slices_load<S, T>(&s->ring[stage], a, b, left);
        wm_copy_commit();
    }
    int now = 0, next = WM_SLICES_STAGES - 1;
#pragma unroll 1
    for (int step = 0; step < steps; step++, left -= S::K) {
        wm_copy_wait<WM_SLICES_STAGES - 2>();
        wm_barrier();
        if (step + WM_SLICES_STAGES - 1 < steps) wm_slices_load<S, T>(&s->ring[next], a, b, left);
        wm_copy_commit();
        wm_slices_multiply<S, T>(p, &s->ring[now], group, r, c, sum);
        now = now + 1 == WM_SLICES_STAGES ? 0 : now + 1;
        next = next + 1 == WM_SLICES_STAGES ? 0 : next + 1;
    }
    wm_copy_wait<0>();
    wm_barrier();
    WM_UNROLL
    for (int e = 0; e < S::ROWS; e++) WM_UNROLL
    for (int f = 0; f < S::COLUMNS; f++)
        s->sum[group][(r + e * S::LANES_M) * S::SUM_STRIDE + c * S::V + f % S::V + f / S::V * S::LANES_N * S::V] =
            sum[e][f];
    wm_barrier();
}

/* ---- Out ---- */

/** Adds the groups' sums to the first group's. */
template <class S, class T>
WM_DEVICE void wm_slices_sum_groups(typename S::shared *s) {
#pragma unroll 1
    for (int x = wm_thread(); x < S::M * S::N; x += S::THREADS) {
        int at = x / S::N * S::SUM_STRIDE + x % S::N;
        T all = s->sum[0][at];
        WM_UNROLL
        for (int g = 1; g < S::PARTS; g++) all = wm_plus(all, s->sum[g][at]);
        s->sum[0][at] = all;
    }
    wm_barrier();
}

/** 16 bytes of neighbouring sums, added over the ranks in their order; all are on their way before the first is added.
 */
template <class S, class T>
WM_DEVICE wm_pack<T> wm_slices_sum_ranks(const wm_slices_job &p, T *mine) {
    wm_pack<T> each[WM_SLICES_RANKS];
    int ranks = p.cluster ? p.splits : 1;
    WM_UNROLL
    for (int rank = 0; rank < WM_SLICES_RANKS; rank++)
        if (rank < ranks) each[rank] = wm_load16(wm_split_shared(mine, p.cluster, rank));
    WM_UNROLL
    for (int rank = 1; rank < WM_SLICES_RANKS; rank++)
        if (rank < ranks) WM_UNROLL
    for (int f = 0; f < S::V; f++) each[0].v[f] = wm_plus(each[0].v[f], each[rank].v[f]);
    return each[0];
}

/** The tile, 16 bytes of sums at a time: to D, whole where D allows, or to workspace. */
template <class S, class T>
WM_DEVICE void wm_slices_finish(const wm_slices_job &p, const wm_ending<T> &ending, typename S::shared *s, wm_i64 t,
                                wm_i64 tile, wm_i64 i0, wm_i64 j0, int split) {
    const int v = S::V;
    T *partial = static_cast<T *>(p.partial) + (split * (p.tiles_m * p.tiles_n * p.batch) + tile) * (S::M * S::N);
    T *d = static_cast<T *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, t)));
    bool apart = p.splits > 1 && !p.cluster, runs = p.vector_d && wm_ending_is_plain(ending, p.plain);
    int begin = p.cluster ? split * S::THREADS : 0, by = p.cluster ? p.splits * S::THREADS : S::THREADS;
#pragma unroll 1
    for (int u = begin + wm_thread(); u < S::M * S::N / v; u += by) {
        bool by_rows = p.d_by_rows || apart;
        int i = by_rows ? u / (S::N / v) : u % S::M, j = (by_rows ? u % (S::N / v) : u / S::M) * v;
        if (i0 + i >= p.a.count || j0 + j >= p.b.count) continue;
        wm_pack<T> sums = wm_slices_sum_ranks<S, T>(p, &s->sum[0][i * S::SUM_STRIDE + j]);
        if (apart) {
            wm_store16(partial + i * S::N + j, sums);
        } else if (runs) {
            WM_UNROLL
            for (int f = 0; f < v; f++) sums.v[f] = wm_ending_plain(ending, sums.v[f]);
            wm_store16(d + (i0 + i) * p.epilogue.d.row + j0 + j, sums);
        } else {
#pragma unroll 1
            for (int f = 0; f < v && j0 + j + f < p.b.count; f++) {
                T x = sums.v[0];
                WM_UNROLL
                for (int g = 1; g < v; g++) /* a constant index keeps them in registers */
                    if (g == f) x = sums.v[g];
                wm_ending_store(p.epilogue, ending, t, i0 + i, j0 + j + f, x);
            }
        }
    }
}

#endif
