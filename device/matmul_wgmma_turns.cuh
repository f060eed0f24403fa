/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wgmma kernel whose two multiplying warpgroups have a tile each, 128 × 128, and take turns: while one multiplies,
 * the other's sums are on their way out. Worth it where that way is long beside the product: short k, activations.
 *
 *     warpgroup 0:  multiply  out ····  multiply  out ····
 *     warpgroup 1:            multiply  out ····  multiply
 *
 * The ring holds the steps of one tile after the other. A barrier of phases can only tell a phase from the one before,
 * so a warpgroup looks at the ring in its turn and never ahead: named barrier 4 + w lets warpgroup w begin.
 */
#ifndef WM_DEVICE_MATMUL_WGMMA_TURNS_CUH
#define WM_DEVICE_MATMUL_WGMMA_TURNS_CUH

#include "device/matmul_wgmma.cuh"

enum { WM_WGMMA_TURN_N = 128 };

typedef struct wm_wgmma_turn_ring {
    enum { TILE_N = WM_WGMMA_TURN_N, BOXES = 2, STAGES = 5, READERS = 4 };
    unsigned char a[STAGES][WM_WGMMA_M * WM_WGMMA_K * 2];
    unsigned char b[STAGES][WM_WGMMA_TURN_N * WM_WGMMA_K * 2];
    unsigned char out[WM_WGMMA_WARPS][4][2048];
    float bias[2][WM_WGMMA_TURN_N];
    wm_mbarrier full[STAGES], empty[STAGES];
} wm_wgmma_turn_ring;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** Passes over the other warpgroup's steps. */
WM_DEVICE void wm_wgmma_skip(wm_wgmma_turn &turn, int steps) {
    int end = turn.stage + steps;
    turn.parity ^= end / wm_wgmma_turn_ring::STAGES & 1;
    turn.stage = end % wm_wgmma_turn_ring::STAGES;
}

/** 128 rows of a tile, 64 of k. */
template <bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_turn_step(float (&low)[64], float (&high)[64], const unsigned char *a, const unsigned char *b,
                                  int keep) {
    wm_u64 x = wm_wgmma_operand<A_MN>(a), y = wm_wgmma_operand<B_MN>(b), z = wm_wgmma_operand<A_MN>(a + 8192);
    WM_UNROLL
    for (int q = 0; q < WM_WGMMA_K / 16; q++) {
        wm_u64 da = q * wm_wgmma_k16<A_MN>(), db = y + q * wm_wgmma_k16<B_MN>();
        if constexpr (BF16) {
            wm_wgmma_bf16<A_MN, B_MN>(low, x + da, db, keep || q);
            wm_wgmma_bf16<A_MN, B_MN>(high, z + da, db, keep || q);
        } else {
            wm_wgmma_f16<A_MN, B_MN>(low, x + da, db, keep || q);
            wm_wgmma_f16<A_MN, B_MN>(high, z + da, db, keep || q);
        }
    }
}

/** The sums of a tile; `more`: the other warpgroup has one after it, and may begin when the last products are issued.
 */
template <bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_turn_multiply(wm_wgmma_turn_ring *s, int steps, int blocks, bool more, wm_wgmma_turn &turn,
                                      float (&sum)[128]) {
    float(&low)[64] = reinterpret_cast<float(&)[64]>(sum[0]), (&high)[64] = reinterpret_cast<float(&)[64]>(sum[64]);
    int before = 0, me = wm_warp() / 4 - 1;
    wm_barrier_named(4 + me, 256);
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_wgmma_fence();
        wm_wgmma_turn_step<BF16, A_MN, B_MN>(low, high, s->a[stage], s->b[stage], step);
        wm_wgmma_commit();
        wm_wgmma_wait<1>();
        if (step && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
        before = stage;
        wm_wgmma_next<wm_wgmma_turn_ring::STAGES>(turn);
    }
    if (more) wm_barrier_arrive(4 + (1 - me), 256);
    wm_wgmma_wait<0>();
    wm_wgmma_settle(sum);
    if (steps && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
}

/** One multiplying warpgroup: every second tile of the block's. */
template <bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_turn_compute(const wm_wgmma_job &p, wm_wgmma_turn_ring *s,
                                     const wm_epilogue_scalars<float> &scalars, int steps, int first, int stride,
                                     int units, int rank, int blocks) {
    wm_wgmma_turn turn = {0, 0};
    int warp = wm_warp() - 4, me = warp / 4;
    bool plain = p.map_d && steps && scalars.beta == 0.0f;
    float sum[128] = {};
    if (me == 1) {
        wm_barrier_arrive(4, 256);
        wm_wgmma_skip(turn, steps);
    }
    for (int unit = first + me * stride; unit < units; unit += 2 * stride) {
        wm_wgmma_bias<WM_WGMMA_TURN_N>(p, wm_wgmma_tile_of<WM_WGMMA_TURN_N>(p, unit, rank, blocks).j, s->bias[me], me);
        wm_wgmma_turn_multiply<BF16, A_MN, B_MN>(s, steps, blocks, unit + stride < units, turn, sum);
        wm_wgmma_skip(turn, steps);
        asm volatile("" : "+r"(unit)); /* the tile's place is worked out twice, to leave the product its registers */
        wm_wgmma_tile tile = wm_wgmma_tile_of<WM_WGMMA_TURN_N>(p, unit, rank, blocks);
        tile.i += warp % 4 * 16;
        wm_wgmma_out<WM_WGMMA_TURN_N, 2>(p, scalars, s->out[warp], s->bias[me], tile, plain, sum);
    }
    wm_tma_wait_read<0>();
}

#endif

/** The kernel. */
template <bool BF16, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_turns(const wm_wgmma_job &p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    typedef wm_wgmma_turn_ring ring;
    ring *s = wm_shared<ring>();
    int rank = wm_cluster_rank(), blocks = wm_cluster_blocks();
    int first = blockIdx.x / blocks, stride = gridDim.x / blocks, units = p.rows * p.columns * p.batch;
    wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.epilogue);
    int steps = scalars.alpha != 0.0f ? p.steps : 0;
    if (steps == 0) scalars.alpha = 0.0f;
    wm_wgmma_begin(p, s, blocks);
    if (wm_thread() < 128) {
        wm_registers_give<24>();
        if (wm_thread() == 0)
            wm_wgmma_copy<ring, A_MN, B_MN>(p, s, steps, WM_WGMMA_K, first, stride, units, rank, blocks);
    } else {
        wm_registers_take<240>();
        wm_wgmma_turn_compute<BF16, A_MN, B_MN>(p, s, scalars, steps, first, stride, units, rank, blocks);
    }
    wm_barrier_warp();
    if (blocks > 1) wm_cluster_meet(); /* others may still reach this block's shared memory */
#else
    (void)p;
#endif
}

#endif
