/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device side of matmul_wgmma: the ring between the copying and the multiplying warps. matmul_wgmma.cu has the picture,
 * matmul_wgmma_out.cuh the tile's way out.
 */
#ifndef WM_DEVICE_MATMUL_WGMMA_CUH
#define WM_DEVICE_MATMUL_WGMMA_CUH

#include "device/matmul_wgmma_out.cuh"

#include <warpmath/device/cluster.cuh>

/** Shared memory: the ring of operand tiles, and each warp's place to arrange its results. */
template <int WIDTH>
struct wm_wgmma_ring {
    enum {
        TILE_N = WIDTH,
        READERS = WM_WGMMA_WARPS,   /* warps that read a stage */
        BOXES = (TILE_N + 63) / 64, /* of B where its columns are contiguous: the last may be half used */
        STAGES = TILE_N > 128  ? 4
                 : TILE_N > 64 ? 6
                               : 8
    };
    unsigned char a[STAGES][WM_WGMMA_M * WM_WGMMA_K * 2];
    unsigned char b[STAGES][BOXES * 64 * WM_WGMMA_K * 2];
    unsigned char out[WM_WGMMA_WARPS][2][2048];
    float bias[2][TILE_N]; /* one a multiplying warpgroup */
    wm_mbarrier full[STAGES], empty[STAGES];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** Tile `unit` of this block. Clusters take neighbouring rows of tiles; `group` rows are walked column by column. */
template <int TILE_N>
WM_DEVICE wm_wgmma_tile wm_wgmma_tile_of(const wm_wgmma_job &p, int unit, int rank, int blocks) {
    int each = p.rows * p.columns, t = unit / each, within = unit - t * each;
    int strip = p.group * p.columns, first = within / strip * p.group, high = wm_min(p.group, p.rows - first);
    within -= first * p.columns;
    int column = within / high, row = first + within - column * high;
    return wm_wgmma_tile{t, (row * blocks + rank) * WM_WGMMA_M, column * TILE_N};
}

/** Place in the ring, and how often it has been passed. */
typedef struct wm_wgmma_turn {
    int stage, parity;
} wm_wgmma_turn;

template <int STAGES>
WM_DEVICE void wm_wgmma_next(wm_wgmma_turn &turn) {
    if (++turn.stage == STAGES) {
        turn.stage = 0;
        turn.parity ^= 1;
    }
}

/* ---- The copying thread ---- */

/** Brings in one step's tiles; in a cluster each block brings a part of B, for all. */
template <class Ring, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_fetch(const wm_wgmma_job &p, Ring *s, int stage, wm_wgmma_tile tile, int k, int rank,
                              int blocks) {
    const int TILE_N = Ring::TILE_N;
    unsigned char *a = s->a[stage], *b = s->b[stage];
    wm_mbarrier *full = &s->full[stage];
    int ta = tile.t * p.a_batch, tb = tile.t * p.b_batch;
    const int rows = B_MN ? Ring::BOXES * 64 : TILE_N;
    wm_mbarrier_expect(full, (WM_WGMMA_M + rows) * WM_WGMMA_K * 2);
    if (A_MN) {
        wm_tma_load(a, &p.a, tile.i, k, ta, full);
        wm_tma_load(a + 8192, &p.a, tile.i + 64, k, ta, full);
    } else {
        wm_tma_load(a, &p.a, k, tile.i, ta, full);
    }
    if (B_MN) {
        WM_UNROLL
        for (int box = 0; box < Ring::BOXES; box++) {
            if (blocks == 1)
                wm_tma_load(b + box * 8192, &p.b, tile.j + box * 64, k, tb, full);
            else if (box % 2 == rank)
                wm_tma_load_all(b + box * 8192, &p.b, tile.j + box * 64, k, tb, full, 3);
        }
    } else if (blocks == 1) {
        wm_tma_load(b, &p.b, k, tile.j, tb, full);
    } else {
        wm_tma_load_all(b + rank * (TILE_N * 64), &p.b, k, tile.j + rank * (TILE_N / 2), tb, full, 3);
    }
}

/** The copying thread's life; `across`: elements of k a step. */
template <class Ring, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_copy(const wm_wgmma_job &p, Ring *s, int steps, int across, int first, int stride, int units,
                             int rank, int blocks) {
    wm_wgmma_turn turn = {0, 0};
    for (int unit = first; unit < units; unit += stride) {
        wm_wgmma_tile tile = wm_wgmma_tile_of<Ring::TILE_N>(p, unit, rank, blocks);
        for (int step = 0; step < steps; step++) {
            wm_mbarrier_wait(&s->empty[turn.stage], turn.parity ^ 1);
            wm_wgmma_fetch<Ring, A_MN, B_MN>(p, s, turn.stage, tile, step * across, rank, blocks);
            wm_wgmma_next<Ring::STAGES>(turn);
        }
    }
}

/* ---- The multiplying warpgroups ---- */

/** 64 rows by TILE_N, 64 of k. */
template <int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_step(float (&sum)[TILE_N / 2], const unsigned char *a, const unsigned char *b, int keep) {
    wm_u64 x = wm_wgmma_operand<A_MN>(a), y = wm_wgmma_operand<B_MN>(b);
    WM_UNROLL
    for (int q = 0; q < WM_WGMMA_K / 16; q++) {
        wm_u64 xq = x + q * wm_wgmma_k16<A_MN>(), yq = y + q * wm_wgmma_k16<B_MN>();
        if constexpr (BF16)
            wm_wgmma_bf16<A_MN, B_MN>(sum, xq, yq, keep || q);
        else
            wm_wgmma_f16<A_MN, B_MN>(sum, xq, yq, keep || q);
    }
}

/** The sums of 64 rows of a tile. Each warp tells every block of the cluster when it has read a stage. */
template <int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_multiply(wm_wgmma_ring<TILE_N> *s, int steps, int half, int blocks, wm_wgmma_turn &turn,
                                 float (&sum)[TILE_N / 2]) {
    int before = 0;
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_wgmma_fence();
        wm_wgmma_step<TILE_N, BF16, A_MN, B_MN>(sum, s->a[stage] + half * 8192, s->b[stage], step);
        wm_wgmma_commit();
        wm_wgmma_wait<1>();
        if (step && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
        before = stage;
        wm_wgmma_next<wm_wgmma_ring<TILE_N>::STAGES>(turn);
    }
    wm_wgmma_wait<0>();
    wm_wgmma_settle(sum);
    if (steps && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
}

/** One multiplying warpgroup. */
template <int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_compute(const wm_wgmma_job &p, wm_wgmma_ring<TILE_N> *s,
                                const wm_epilogue_scalars<float> &scalars, int steps, int first, int stride, int units,
                                int rank, int blocks) {
    wm_wgmma_turn turn = {0, 0};
    int warp = wm_warp() - 4;
    bool plain = p.map_d && steps && scalars.beta == 0.0f;
    float sum[TILE_N / 2] = {};
    for (int unit = first; unit < units; unit += stride) {
        wm_wgmma_tile tile = wm_wgmma_tile_of<TILE_N>(p, unit, rank, blocks);
        wm_wgmma_bias<TILE_N>(p, tile.j, s->bias[warp / 4], warp / 4);
        wm_wgmma_multiply<TILE_N, BF16, A_MN, B_MN>(s, steps, warp / 4, blocks, turn, sum);
        tile.i += warp * 16;
        wm_wgmma_out<TILE_N, 1>(p, scalars, s->out[warp], s->bias[warp / 4], tile, plain, sum);
    }
    wm_tma_wait_read<0>();
}

/** What every kernel does first: maps and barriers; all blocks of the cluster leave together. */
template <class Ring>
WM_DEVICE void wm_wgmma_begin(const wm_wgmma_job &p, Ring *s, int blocks) {
    if (wm_thread() == 0) {
        wm_tma_prefetch(&p.a);
        wm_tma_prefetch(&p.b);
        for (int stage = 0; stage < Ring::STAGES; stage++) {
            wm_mbarrier_init(&s->full[stage], 1);
            wm_mbarrier_init(&s->empty[stage], Ring::READERS * blocks);
        }
        wm_mbarrier_init_fence();
    }
    if (blocks > 1)
        wm_cluster_meet();
    else
        wm_barrier();
}

#endif

/** The kernel. Built for another architecture (sm_90 without the a, too) it stops; the solver does not offer it then.
 */
template <int TILE_N, bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_tiles(const wm_wgmma_job &p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    typedef wm_wgmma_ring<TILE_N> ring;
    ring *s = wm_shared<ring>();
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks();
    int first = blockIdx.x / blocks, stride = gridDim.x / blocks, units = p.rows * p.columns * p.batch;
    wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.epilogue);
    int steps = scalars.alpha != 0.0f ? p.steps : 0;
    if (steps == 0) scalars.alpha = 0.0f;
    wm_wgmma_begin(p, s, blocks);
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0)
            wm_wgmma_copy<ring, A_MN, B_MN>(p, s, steps, WM_WGMMA_K, first, stride, units, rank, blocks);
    } else {
        wm_registers_take<232>();
        wm_wgmma_compute<TILE_N, BF16, A_MN, B_MN>(p, s, scalars, steps, first, stride, units, rank, blocks);
    }
    wm_barrier_warp();
    if (blocks > 1) wm_cluster_meet(); /* others may still reach this block's shared memory */
#else
    (void)p;
#ifdef __CUDA_ARCH__
    __trap();
#endif
#endif
}

#endif
