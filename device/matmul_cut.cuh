/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device side of matmul_cut: a tile of D by a cluster whose blocks have a part of k each. matmul_cut.cu has the
 * picture.
 *
 * The exchange. A thread's sums of eight columns are one piece of 16 bytes: two neighbours in each of two rows. Of the
 * tile's TILE_N / 8 pieces every block finishes an equal run; whose run it is, everybody's piece goes there, to the
 * place of its rank, piece and thread. So the thread that adds up reads what threads of its own number wrote, without a
 * bank conflict, and adds in the order of the ranks.
 */
#ifndef WM_DEVICE_MATMUL_CUT_CUH
#define WM_DEVICE_MATMUL_CUT_CUH

#include "device/matmul_wgmma.cuh"

#include <warpmath/device/cluster_push.cuh>

/** GROUPS warpgroups have 64 rows each; one warp more copies. */
template <int GROUPS, int TILE_N>
struct wm_cut_shared {
    enum {
        ROWS = 64 * GROUPS,
        ADDERS = 128 * GROUPS,
        THREADS = ADDERS + WM_WARP,
        STAGES = GROUPS == 1 ? 8 : 4,
        BYTES = (ROWS + TILE_N) * WM_WGMMA_K * 2, /* of a stage */
        PIECES = TILE_N / 8
    };
    wm_push_gate gate;
    alignas(1024) unsigned char a[STAGES][ROWS * WM_WGMMA_K * 2];
    unsigned char b[STAGES][TILE_N * WM_WGMMA_K * 2];
    float4 piece[PIECES * ADDERS];
    wm_mbarrier full[STAGES], empty[STAGES];
};

/** One launch: a cluster a tile, a block of it each `each` steps of k. */
typedef struct wm_cut_job {
    wm_wgmma_job plain; /* without its map of D; `group` is not used */
    int each;
    int triangle; /* 0: all tiles; 1: those with an element j <= i; 2: j >= i. Tiles are square */
} wm_cut_job;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** Brings in one step's tiles. */
template <int GROUPS, int TILE_N, int A_MN, int B_MN>
WM_DEVICE void wm_cut_fetch(const wm_wgmma_job &p, wm_cut_shared<GROUPS, TILE_N> *s, int stage, wm_wgmma_tile tile,
                            int k) {
    unsigned char *a = s->a[stage], *b = s->b[stage];
    wm_mbarrier *full = &s->full[stage];
    int ta = tile.t * p.a_batch, tb = tile.t * p.b_batch;
    wm_mbarrier_expect(full, wm_cut_shared<GROUPS, TILE_N>::BYTES);
    if (A_MN) {
        WM_UNROLL
        for (int box = 0; box < GROUPS; box++) wm_tma_load(a + box * 8192, &p.a, tile.i + box * 64, k, ta, full);
    } else {
        wm_tma_load(a, &p.a, k, tile.i, ta, full);
    }
    if (B_MN) {
        WM_UNROLL
        for (int box = 0; box < TILE_N / 64; box++) wm_tma_load(b + box * 8192, &p.b, tile.j + box * 64, k, tb, full);
    } else {
        wm_tma_load(b, &p.b, k, tile.j, tb, full);
    }
}

template <int GROUPS, int TILE_N, int A_MN, int B_MN>
WM_DEVICE void wm_cut_copy(const wm_wgmma_job &p, wm_cut_shared<GROUPS, TILE_N> *s, wm_wgmma_tile tile, int first,
                           int steps) {
    typedef wm_cut_shared<GROUPS, TILE_N> shared;
    wm_wgmma_turn turn = {0, 0};
    for (int step = 0; step < steps; step++) {
        if (step >= shared::STAGES) wm_mbarrier_wait(&s->empty[turn.stage], turn.parity ^ 1);
        wm_cut_fetch<GROUPS, TILE_N, A_MN, B_MN>(p, s, turn.stage, tile, (first + step) * WM_WGMMA_K);
        wm_wgmma_next<shared::STAGES>(turn);
    }
}

/** The sums of 64 rows over this block's part of k. */
template <int GROUPS, int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_cut_multiply(wm_cut_shared<GROUPS, TILE_N> *s, int steps, int group, int rank,
                               float (&sum)[TILE_N / 2]) {
    wm_wgmma_turn turn = {0, 0};
    int before = 0;
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_wgmma_fence();
        wm_wgmma_step<TILE_N, BF16, A_MN, B_MN>(sum, s->a[stage] + group * 8192, s->b[stage], step);
        wm_wgmma_commit();
        wm_wgmma_wait<1>();
        if (step && wm_lane() == 0) wm_mbarrier_arrive(&s->empty[before], rank);
        before = stage;
        wm_wgmma_next<wm_cut_shared<GROUPS, TILE_N>::STAGES>(turn);
    }
    wm_wgmma_wait<0>();
    wm_wgmma_settle(sum);
}

/** Hands each block of the cluster its pieces. */
template <int GROUPS, int TILE_N>
WM_DEVICE void wm_cut_hand_out(wm_cut_shared<GROUPS, TILE_N> *s, int rank, int blocks, const float (&sum)[TILE_N / 2]) {
    typedef wm_cut_shared<GROUPS, TILE_N> shared;
    int own = shared::PIECES / blocks;
    WM_UNROLL
    for (int c = 0; c < shared::PIECES; c++) {
        int owner = c / own, at = (rank * own + c - owner * own) * shared::ADDERS + wm_thread();
        float4 v = {sum[4 * c], sum[4 * c + 1], sum[4 * c + 2], sum[4 * c + 3]};
        if (blocks == 1)
            s->piece[at] = v; /* for this very thread */
        else
            wm_push(wm_push_target(s->piece, &s->gate, owner), at, v);
    }
}

WM_DEVICE bool wm_cut_has(int triangle, int i, int j) {
    return triangle == 0 || (triangle == 1 ? j <= i : j >= i);
}

/** Two neighbours of D: C, bias, activation are done by now. */
WM_DEVICE void wm_cut_store(const wm_cut_job &job, void *d, int i, int j, float x, float y) {
    const wm_wgmma_job &p = job.plain;
    int type = p.epilogue.d.type;
    wm_i64 at = i * p.d_i + j;
    bool first = i < p.m && j < p.n && wm_cut_has(job.triangle, i, j);
    bool second = i < p.m && j + 1 < p.n && wm_cut_has(job.triangle, i, j + 1);
    if (!p.vector || !first || !second) {
        if (first) wm_wgmma_store1(type, d, at, x);
        if (second) wm_wgmma_store1(type, d, at + 1, y);
    } else if (type == WM_ELEMENT_F32) {
        *reinterpret_cast<float2 *>(static_cast<float *>(d) + at) = float2{x, y};
    } else {
        *reinterpret_cast<wm_u32 *>(static_cast<wm_u16 *>(d) + at) =
            type == WM_ELEMENT_BF16 ? wm_pair_bf16(x, y) : wm_pair_f16(x, y);
    }
}

/** alpha, C and bias on value e of a piece: row i + 8 (e / 2), column j + e mod 2. The steps are wm_epilogue_value's.
 */
WM_DEVICE float wm_cut_value(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, int t, int i, int j,
                             float x) {
    const wm_epilogue &e = p.epilogue;
    x = scalars.alpha != 0.0f ? wm_mul(scalars.alpha, x) : 0.0f;
    if (i >= p.m || j >= p.n) return x;
    if (scalars.beta != 0.0f) {
        float c = wm_wgmma_load1(e.c.type, wm_matrix_first(e.c, t), i * p.c_i + j * p.c_j);
        x = wm_add(x, wm_mul(scalars.beta, c));
    }
    return e.bias_along ? wm_add(x, wm_wgmma_load1(e.bias_type, e.bias, p.bias_j ? j : i)) : x;
}

/** This block's pieces: added up in the order of the ranks, and out. */
template <int GROUPS, int TILE_N>
WM_DEVICE void wm_cut_finish(const wm_cut_job &job, const wm_epilogue_scalars<float> &scalars,
                             const wm_cut_shared<GROUPS, TILE_N> *s, wm_wgmma_tile tile, int rank, int blocks) {
    typedef wm_cut_shared<GROUPS, TILE_N> shared;
    const wm_wgmma_job &p = job.plain;
    int own = shared::PIECES / blocks, lane = wm_lane(), i = tile.i + wm_thread() / WM_WARP * 16 + lane / 4;
    void *d = const_cast<void *>(wm_matrix_first(p.epilogue.d, tile.t));
#pragma unroll 1
    for (int c = 0; c < own; c++) {
        int j = tile.j + (rank * own + c) * 8 + lane % 4 * 2;
        float4 all = s->piece[c * shared::ADDERS + wm_thread()];
#pragma unroll 1
        for (int r = 1; r < blocks; r++) {
            float4 v = s->piece[(r * own + c) * shared::ADDERS + wm_thread()];
            all = float4{wm_add(all.x, v.x), wm_add(all.y, v.y), wm_add(all.z, v.z), wm_add(all.w, v.w)};
        }
        float x[4] = {all.x, all.y, all.z, all.w};
        WM_UNROLL
        for (int e = 0; e < 4; e++) x[e] = wm_cut_value(p, scalars, tile.t, i + e / 2 * 8, j + e % 2, x[e]);
        wm_activate_fast(p.epilogue.activation, x);
        wm_cut_store(job, d, i, j, x[0], x[1]);
        wm_cut_store(job, d, i + 8, j, x[2], x[3]);
    }
}

/** Tile `unit`. A triangle's tiles are counted row by row of the lower one: 0; 1, 2; 3, 4, 5; … */
WM_DEVICE wm_wgmma_tile wm_cut_tile_of(const wm_cut_job &job, int unit, int side) {
    const wm_wgmma_job &p = job.plain;
    int each = job.triangle ? p.rows * (p.rows + 1) / 2 : p.rows * p.columns, t = unit / each;
    int within = unit - t * each, row = within / p.columns, column = within - row * p.columns;
    if (job.triangle) {
        row = (int)((wm_sqrt(8.0f * (float)within + 1.0f) - 1.0f) * 0.5f);
        while ((row + 1) * (row + 2) / 2 <= within) row++;
        while (row * (row + 1) / 2 > within) row--;
        column = within - row * (row + 1) / 2;
    }
    return job.triangle == 2 ? wm_wgmma_tile{t, column * side, row * side}
                             : wm_wgmma_tile{t, row * side, column * side};
}

template <int GROUPS, int TILE_N>
WM_DEVICE void wm_cut_begin(const wm_wgmma_job &p, wm_cut_shared<GROUPS, TILE_N> *s) {
    typedef wm_cut_shared<GROUPS, TILE_N> shared;
    if (wm_thread() == 0) {
        wm_tma_prefetch(&p.a);
        wm_tma_prefetch(&p.b);
        for (int stage = 0; stage < shared::STAGES; stage++) {
            wm_mbarrier_init(&s->full[stage], 1);
            wm_mbarrier_init(&s->empty[stage], 4 * GROUPS);
        }
        wm_mbarrier_init_fence();
    }
    wm_push_begin(&s->gate);
    wm_barrier();
}

#endif

/** The kernel. Built for another architecture it stops; the solver does not offer it then. */
template <int GROUPS, int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_cut_tile(const wm_cut_job &job) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    typedef wm_cut_shared<GROUPS, TILE_N> shared;
    const wm_wgmma_job &p = job.plain;
    shared *s = wm_shared<shared>();
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks(), unit = (int)blockIdx.x / blocks;
    wm_wgmma_tile tile = wm_cut_tile_of(job, unit, TILE_N);
    wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.epilogue);
    int first = rank * job.each, steps = wm_max(0, wm_min(job.each, p.steps - first));
    if (scalars.alpha == 0.0f) steps = 0;
    if (p.steps == 0) scalars.alpha = 0.0f;
    wm_cut_begin(p, s);
    if (blocks > 1) wm_push_open(&s->gate, (int)sizeof s->piece);
    float sum[TILE_N / 2] = {};
    if (wm_thread() >= shared::ADDERS) {
        if (wm_thread() == shared::ADDERS) wm_cut_copy<GROUPS, TILE_N, A_MN, B_MN>(p, s, tile, first, steps);
        wm_barrier_warp();
    } else {
        wm_cut_multiply<GROUPS, TILE_N, BF16, A_MN, B_MN>(s, steps, wm_thread() / 128, rank, sum);
    }
    if (blocks > 1) wm_push_wait_open();
    if (wm_thread() < shared::ADDERS) wm_cut_hand_out<GROUPS, TILE_N>(s, rank, blocks, sum);
    if (blocks > 1) wm_push_end(&s->gate);
    if (wm_thread() < shared::ADDERS) wm_cut_finish<GROUPS, TILE_N>(job, scalars, s, tile, rank, blocks);
#else
    (void)job;
#ifdef __CUDA_ARCH__
    __trap();
#endif
#endif
}

#endif
