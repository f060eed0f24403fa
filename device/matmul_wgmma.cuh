/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device side of matmul_wgmma: the job, the ring between the copying and the multiplying warps, the tile's way out.
 * matmul_wgmma.cu has the picture.
 */
#ifndef WM_DEVICE_MATMUL_WGMMA_CUH
#define WM_DEVICE_MATMUL_WGMMA_CUH

#include <warpmath/device/cluster.cuh>
#include <warpmath/device/epilogue.cuh>
#include <warpmath/device/tma.cuh>
#include <warpmath/device/wgmma.cuh>

enum {
    WM_WGMMA_M = 128,       /* rows of a tile */
    WM_WGMMA_K = 64,        /* of k a step: 128 bytes */
    WM_WGMMA_THREADS = 384, /* one warpgroup copies, two multiply */
    WM_WGMMA_WARPS = 8      /* that multiply */
};

/** One launch. D's columns are contiguous: a column-major D is computed as the transpose of the swapped product. */
typedef struct wm_wgmma_job {
    wm_tensor_map a, b, d;
    wm_epilogue epilogue;
    int m, n, steps;      /* steps of k; 0: no product */
    int rows, columns;    /* of tiles: rows of a whole cluster's tiles */
    int batch, group;     /* group: rows that are walked together, for the L2 */
    int a_batch, b_batch; /* 0: one matrix serves the whole batch */
    wm_i64 d_i, c_i, c_j; /* elements between D's rows, between C's rows and columns, as the kernel sees them */
    int bias_j;           /* the bias runs along D's rows */
    int vector;           /* four neighbours of D, and of C, are one access */
    int map_d;            /* D may leave through its tensor map */
} wm_wgmma_job;

/** Shared memory: the ring of operand tiles, and each warp's place to arrange its results. */
template <int TILE_N>
struct wm_wgmma_ring {
    enum {
        BOXES = (TILE_N + 63) / 64, /* of B where its columns are contiguous: the last may be half used */
        STAGES = TILE_N > 128  ? 4
                 : TILE_N > 64 ? 6
                               : 8
    };
    unsigned char a[STAGES][WM_WGMMA_M * WM_WGMMA_K * 2];
    unsigned char b[STAGES][BOXES * 64 * WM_WGMMA_K * 2];
    unsigned char out[WM_WGMMA_WARPS][2][2048];
    wm_mbarrier full[STAGES], empty[STAGES];
};

/** Columns of a 16-bit D that leave together. */
WM_CONSTEXPR int wm_wgmma_out_columns(int tile_n) {
    return tile_n % 64 ? 32 : 64;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** A tile: product t of the batch, first row and column. */
typedef struct wm_wgmma_tile {
    int t, i, j;
} wm_wgmma_tile;

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
template <int TILE_N, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_fetch(const wm_wgmma_job &p, wm_wgmma_ring<TILE_N> *s, int stage, wm_wgmma_tile tile, int k,
                              int rank, int blocks) {
    unsigned char *a = s->a[stage], *b = s->b[stage];
    wm_mbarrier *full = &s->full[stage];
    int ta = tile.t * p.a_batch, tb = tile.t * p.b_batch;
    const int rows = B_MN ? wm_wgmma_ring<TILE_N>::BOXES * 64 : TILE_N;
    wm_mbarrier_expect(full, (WM_WGMMA_M + rows) * WM_WGMMA_K * 2);
    if (A_MN) {
        wm_tma_load(a, &p.a, tile.i, k, ta, full);
        wm_tma_load(a + 8192, &p.a, tile.i + 64, k, ta, full);
    } else {
        wm_tma_load(a, &p.a, k, tile.i, ta, full);
    }
    if (B_MN) {
        WM_UNROLL
        for (int box = 0; box < wm_wgmma_ring<TILE_N>::BOXES; box++) {
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

template <int TILE_N, int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_copy(const wm_wgmma_job &p, wm_wgmma_ring<TILE_N> *s, int steps, int first, int stride,
                             int units, int rank, int blocks) {
    wm_wgmma_turn turn = {0, 0};
    for (int unit = first; unit < units; unit += stride) {
        wm_wgmma_tile tile = wm_wgmma_tile_of<TILE_N>(p, unit, rank, blocks);
        for (int step = 0; step < steps; step++) {
            wm_mbarrier_wait(&s->empty[turn.stage], turn.parity ^ 1);
            wm_wgmma_fetch<TILE_N, A_MN, B_MN>(p, s, turn.stage, tile, step * WM_WGMMA_K, rank, blocks);
            wm_wgmma_next<wm_wgmma_ring<TILE_N>::STAGES>(turn);
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

/* ---- From registers to D: each warp its 16 rows ---- */

/** 64 or 32 columns of 16-bit elements at a time, through the copy engine. */
template <int TILE_N, bool BF16>
WM_DEVICE void wm_wgmma_out16(const wm_wgmma_job &p, unsigned char (*out)[2048], float alpha, wm_wgmma_tile tile,
                              const float (&sum)[TILE_N / 2]) {
    constexpr int COLUMNS = wm_wgmma_out_columns(TILE_N);
    int lane = wm_lane();
    WM_UNROLL
    for (int g = 0; g < TILE_N / COLUMNS; g++) {
        if (lane == 0) wm_tma_wait_read<1>();
        wm_barrier_warp();
        WM_UNROLL
        for (int q = 0; q < COLUMNS / 16; q++) {
            wm_u32 pair[4];
            WM_UNROLL
            for (int e = 0; e < 4; e++) {
                int first = g * COLUMNS / 2 + q * 8 + e * 2;
                float low = alpha * sum[first], high = alpha * sum[first + 1];
                pair[e] = BF16 ? wm_pair_bf16(low, high) : wm_pair_f16(low, high);
            }
            int at = wm_swizzle<COLUMNS * 2>((lane & 15) * COLUMNS * 2 + (q * 2 + lane / 16) * 16);
            wm_store_matrices(out[g % 2] + at, pair[0], pair[1], pair[2], pair[3]);
        }
        wm_async_fence();
        wm_barrier_warp();
        if (lane == 0) {
            wm_tma_store(&p.d, out[g % 2], tile.j + g * COLUMNS, tile.i, tile.t);
            wm_tma_commit();
        }
    }
}

/** 32 columns of f32 at a time, through the copy engine. */
template <int TILE_N>
WM_DEVICE void wm_wgmma_out32(const wm_wgmma_job &p, unsigned char (*out)[2048], float alpha, wm_wgmma_tile tile,
                              const float (&sum)[TILE_N / 2]) {
    int lane = wm_lane();
    WM_UNROLL
    for (int g = 0; g < TILE_N / 32; g++) {
        if (lane == 0) wm_tma_wait_read<1>();
        wm_barrier_warp();
        WM_UNROLL
        for (int q = 0; q < 8; q++) {
            int row = lane / 4 + q % 2 * 8, e = g * 16 + q / 2 * 4 + q % 2 * 2;
            int at = wm_swizzle<128>(row * 128 + q / 2 * 32 + lane % 4 * 8);
            *reinterpret_cast<float2 *>(out[g % 2] + at) = float2{alpha * sum[e], alpha * sum[e + 1]};
        }
        wm_async_fence();
        wm_barrier_warp();
        if (lane == 0) {
            wm_tma_store(&p.d, out[g % 2], tile.j + g * 32, tile.i, tile.t);
            wm_tma_commit();
        }
    }
}

/** Four neighbours of an array of 16-bit or 32-bit elements, aligned to their size. */
WM_DEVICE void wm_wgmma_load4(int type, const void *array, wm_i64 at, float *x) {
    if (type == WM_ELEMENT_F32) {
        float4 v = *reinterpret_cast<const float4 *>(static_cast<const float *>(array) + at);
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        return;
    }
    uint2 v = *reinterpret_cast<const uint2 *>(static_cast<const wm_u16 *>(array) + at);
    WM_UNROLL
    for (int e = 0; e < 4; e++) {
        wm_u16 bits = (wm_u16)((e < 2 ? v.x : v.y) >> e % 2 * 16);
        x[e] = type == WM_ELEMENT_BF16 ? wm_bf16_to_f32(wm_bf16{bits}) : wm_f16_to_f32(wm_f16{bits});
    }
}

WM_DEVICE void wm_wgmma_store4(int type, void *array, wm_i64 at, const float *x) {
    if (type == WM_ELEMENT_F32) {
        *reinterpret_cast<float4 *>(static_cast<float *>(array) + at) = float4{x[0], x[1], x[2], x[3]};
        return;
    }
    bool bf16 = type == WM_ELEMENT_BF16;
    uint2 v = {bf16 ? wm_pair_bf16(x[0], x[1]) : wm_pair_f16(x[0], x[1]),
               bf16 ? wm_pair_bf16(x[2], x[3]) : wm_pair_f16(x[2], x[3])};
    *reinterpret_cast<uint2 *>(static_cast<wm_u16 *>(array) + at) = v;
}

/** Up to four neighbours of a row of D from their sums; `bias` is theirs. The steps are wm_epilogue_value's. */
WM_DEVICE void wm_wgmma_finish(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, int t, int i, int j,
                               const float *bias, float *x) {
    const wm_epilogue &e = p.epilogue;
    int count = wm_min(4, p.n - j);
    bool vector = p.vector && count == 4;
    WM_UNROLL
    for (int l = 0; l < 4; l++) x[l] = scalars.alpha != 0.0f ? wm_mul(scalars.alpha, x[l]) : 0.0f;
    if (scalars.beta != 0.0f) {
        const void *first = wm_matrix_first(e.c, t);
        wm_i64 at = i * p.c_i + j * p.c_j;
        float c[4] = {};
        if (vector)
            wm_wgmma_load4(e.c.type, first, at, c);
        else
            WM_UNROLL
        for (int l = 0; l < 4; l++)
            if (l < count) c[l] = wm_element_load<float>(e.c.type, first, at + l * p.c_j);
        WM_UNROLL
        for (int l = 0; l < 4; l++) x[l] = wm_add(x[l], wm_mul(scalars.beta, c[l]));
    }
    if (e.bias_along) WM_UNROLL
    for (int l = 0; l < 4; l++) x[l] = wm_add(x[l], bias[l]);
    if (e.activation) WM_UNROLL
    for (int l = 0; l < 4; l++) x[l] = wm_activate(e.activation, x[l]);
    void *first = const_cast<void *>(wm_matrix_first(e.d, t));
    wm_i64 at = i * p.d_i + j;
    if (vector)
        wm_wgmma_store4(e.d.type, first, at, x);
    else
        WM_UNROLL
    for (int l = 0; l < 4; l++)
        if (l < count) wm_element_store(e.d.type, first, at + l, x[l]);
}

/** 32 columns of a warp's rows from the slab: a lane takes four columns of every fourth row. */
WM_DEVICE void wm_wgmma_out_slab(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, const float *slab,
                                 int stride, int t, int first_i, int j) {
    const wm_epilogue &e = p.epilogue;
    int column = wm_lane() % 8 * 4;
    float bias[4] = {};
    j += column;
    if (j >= p.n) return;
    if (e.bias_along && p.bias_j) WM_UNROLL
    for (int l = 0; l < 4; l++)
        if (j + l < p.n) bias[l] = wm_element_load<float>(e.bias_type, e.bias, j + l);
#pragma unroll 1
    for (int row = wm_lane() / 8; row < 16 && first_i + row < p.m; row += 4) {
        float4 v = *reinterpret_cast<const float4 *>(slab + row * stride + column);
        float x[4] = {v.x, v.y, v.z, v.w};
        if (e.bias_along && !p.bias_j)
            bias[0] = bias[1] = bias[2] = bias[3] = wm_element_load<float>(e.bias_type, e.bias, first_i + row);
        wm_wgmma_finish(p, scalars, t, first_i + row, j, bias, x);
    }
}

/** Everything else: 32 columns at a time. */
template <int TILE_N>
WM_DEVICE void wm_wgmma_out_any(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, unsigned char *out,
                                wm_wgmma_tile tile, const float (&sum)[TILE_N / 2]) {
    enum { STRIDE = 36 }; /* floats: 16-byte groups of neighbouring rows in different banks */
    float *slab = reinterpret_cast<float *>(out);
    int lane = wm_lane();
    if (lane == 0) wm_tma_wait_read<0>();
#pragma unroll 1
    for (int g = 0; g < TILE_N / 32; g++) {
        wm_barrier_warp();
        WM_UNROLL
        for (int h = 0; h < TILE_N / 32; h++) { /* a constant index keeps the sums in registers */
            if (h != g) continue;
            WM_UNROLL
            for (int q = 0; q < 8; q++) {
                int e = h * 16 + q / 2 * 4 + q % 2 * 2;
                float *to = slab + (lane / 4 + q % 2 * 8) * STRIDE + q / 2 * 8 + lane % 4 * 2;
                *reinterpret_cast<float2 *>(to) = float2{sum[e], sum[e + 1]};
            }
        }
        wm_barrier_warp();
        wm_wgmma_out_slab(p, scalars, slab, STRIDE, tile.t, tile.i, tile.j + g * 32);
    }
    wm_barrier_warp();
}

/** 16 rows of a tile. */
template <int TILE_N, bool BF16>
WM_DEVICE void wm_wgmma_out(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars,
                            unsigned char (*out)[2048], wm_wgmma_tile tile, bool plain,
                            const float (&sum)[TILE_N / 2]) {
    /* The copy engine writes whole groups of 16 bytes: it would touch the padding behind a ragged row. */
    bool ragged = p.n * wm_element_bytes(p.epilogue.d.type) % 16 != 0 && tile.j + TILE_N > p.n;
    if (!plain || ragged)
        wm_wgmma_out_any<TILE_N>(p, scalars, out[0], tile, sum);
    else if (p.epilogue.d.type == WM_ELEMENT_F32)
        wm_wgmma_out32<TILE_N>(p, out, scalars.alpha, tile, sum);
    else
        wm_wgmma_out16<TILE_N, BF16>(p, out, scalars.alpha, tile, sum);
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
        wm_wgmma_multiply<TILE_N, BF16, A_MN, B_MN>(s, steps, warp / 4, blocks, turn, sum);
        tile.i += warp * 16;
        wm_wgmma_out<TILE_N, BF16>(p, scalars, s->out[warp], tile, plain, sum);
    }
    wm_tma_wait_read<0>();
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
    if (wm_thread() == 0) {
        wm_tma_prefetch(&p.a);
        wm_tma_prefetch(&p.b);
        for (int stage = 0; stage < ring::STAGES; stage++) {
            wm_mbarrier_init(&s->full[stage], 1);
            wm_mbarrier_init(&s->empty[stage], WM_WGMMA_WARPS * blocks);
        }
        wm_mbarrier_init_fence();
    }
    wm_epilogue_scalars<float> scalars = wm_epilogue_begin<float>(p.epilogue);
    int steps = scalars.alpha != 0.0f ? p.steps : 0;
    if (steps == 0) scalars.alpha = 0.0f;
    if (blocks > 1)
        wm_cluster_meet();
    else
        wm_barrier();
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0) wm_wgmma_copy<TILE_N, A_MN, B_MN>(p, s, steps, first, stride, units, rank, blocks);
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
