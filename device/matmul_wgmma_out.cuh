/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out of the wgmma kernels: from sums in registers to D. Each warp has 16 rows of a tile, arranged as
 * warpmath/device/wgmma.cuh says, or, HALVES being 2, those and the 16 that are 64 further down, one set behind the
 * other.
 *
 * Where D is aligned and there is no C: scale, bias and activation in the registers, then swizzled shared memory and
 * the copy engine, which writes while the next tile is multiplied. Everything else passes, 32 columns at a time,
 * through a slab of shared memory and leaves by ordinary stores, whole lines wherever D's rows allow.
 */
#ifndef WM_DEVICE_MATMUL_WGMMA_OUT_CUH
#define WM_DEVICE_MATMUL_WGMMA_OUT_CUH

#include <warpmath/device/gelu.cuh>
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

/** A tile: product t of the batch, first row and column. */
typedef struct wm_wgmma_tile {
    int t, i, j;
} wm_wgmma_tile;

/** Columns of a 16-bit D that leave together. */
WM_CONSTEXPR int wm_wgmma_out_columns(int tile_n) {
    return tile_n % 64 ? 32 : 64;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** This thread's lane, told so that nothing which follows from it is worked out before the product: registers are the
 * product's then. */
WM_DEVICE int wm_wgmma_lane(void) {
    int lane = wm_lane();
    asm volatile("" : "+r"(lane));
    return lane;
}

/** Element `at` of an array of f16, bf16 or f32. */
WM_DEVICE float wm_wgmma_load1(int type, const void *array, wm_i64 at) {
    if (type == WM_ELEMENT_F32) return static_cast<const float *>(array)[at];
    wm_u16 bits = static_cast<const wm_u16 *>(array)[at];
    return type == WM_ELEMENT_BF16 ? wm_bf16_to_f32(wm_bf16{bits}) : wm_f16_to_f32(wm_f16{bits});
}

WM_DEVICE void wm_wgmma_store1(int type, void *array, wm_i64 at, float x) {
    if (type == WM_ELEMENT_F32)
        static_cast<float *>(array)[at] = x;
    else
        static_cast<wm_u16 *>(array)[at] =
            (wm_u16)(type == WM_ELEMENT_BF16 ? wm_pair_bf16(x, 0.0f) : wm_pair_f16(x, 0.0f));
}

/** Brings the bias of a tile's columns into shared memory: one of the warpgroups does it for itself. */
template <int TILE_N>
WM_DEVICE void wm_wgmma_bias(const wm_wgmma_job &p, int first_j, float *bias, int warpgroup) {
    const wm_epilogue &e = p.epilogue;
    if (!e.bias_along || !p.bias_j) return;
    wm_barrier_named(1 + warpgroup, 128); /* the tile before has read its own */
    for (int column = wm_thread() % 128; column < TILE_N; column += 128)
        bias[column] = first_j + column < p.n ? wm_wgmma_load1(e.bias_type, e.bias, first_j + column) : 0.0f;
    wm_barrier_named(1 + warpgroup, 128);
}

/** What a lane's part of a warp's rows needs of bias and activation. */
typedef struct wm_wgmma_way {
    int along, activation; /* along: 0 no bias, 1 along the row, 2 one a row */
    const float *bias;     /* of the tile's columns */
    float low, high;       /* of rows lane / 4 and lane / 4 + 8 */
} wm_wgmma_way;

WM_DEVICE wm_wgmma_way wm_wgmma_way_of(const wm_wgmma_job &p, const float *bias, int first_i) {
    const wm_epilogue &e = p.epilogue;
    wm_wgmma_way way = {e.bias_along ? (p.bias_j ? 1 : 2) : 0, e.activation, bias, 0.0f, 0.0f};
    int row = first_i + wm_wgmma_lane() / 4;
    if (way.along == 2 && row < p.m) way.low = wm_wgmma_load1(e.bias_type, e.bias, row);
    if (way.along == 2 && row + 8 < p.m) way.high = wm_wgmma_load1(e.bias_type, e.bias, row + 8);
    return way;
}

/** alpha times the sums of group g, of GROUP. Whatever g is, the index is a constant: sums stay in registers, and the
 * code behind exists once. */
template <int GROUP, int N>
WM_DEVICE void wm_wgmma_take(const float (&sum)[N], int g, float alpha, float (&x)[GROUP]) {
    WM_UNROLL
    for (int h = 0; h < N / GROUP; h++)
        if (h == g) WM_UNROLL
    for (int e = 0; e < GROUP; e++) x[e] = wm_mul(alpha, sum[h * GROUP + e]);
}

/** activation(x + bias) of a lane's eight values of 16 columns, of which `column` is the first. */
WM_DEVICE void wm_wgmma_finish8(const wm_wgmma_way &way, int column, float (&x)[8]) {
    if (way.along == 1) {
        float2 u = *reinterpret_cast<const float2 *>(way.bias + column + wm_wgmma_lane() % 4 * 2);
        float2 v = *reinterpret_cast<const float2 *>(way.bias + column + 8 + wm_wgmma_lane() % 4 * 2);
        WM_UNROLL
        for (int e = 0; e < 8; e++) x[e] = wm_add(x[e], e < 4 ? (e % 2 ? u.y : u.x) : (e % 2 ? v.y : v.x));
    } else if (way.along == 2) {
        WM_UNROLL
        for (int e = 0; e < 8; e++) x[e] = wm_add(x[e], e / 2 % 2 ? way.high : way.low);
    }
    wm_activate_fast(way.activation, x);
}

/** 64 or 32 columns of 16-bit elements at a time, through the copy engine. */
template <int TILE_N, int HALVES>
WM_DEVICE void wm_wgmma_out16(const wm_wgmma_job &p, unsigned char (*out)[2048], float alpha, const float *bias,
                              wm_wgmma_tile tile, const float (&sum)[TILE_N / 2 * HALVES]) {
    constexpr int COLUMNS = wm_wgmma_out_columns(TILE_N), GROUPS = TILE_N / COLUMNS, BUFFERS = 2 * HALVES;
    int lane = wm_wgmma_lane();
    bool bf16 = p.epilogue.d.type == WM_ELEMENT_BF16;
#pragma unroll 1
    for (int g = 0; g < GROUPS * HALVES; g++) {
        float x[COLUMNS / 16][8];
        int first_i = tile.i + (HALVES == 2 ? g / GROUPS * 64 : 0), column = g % GROUPS * COLUMNS;
        wm_wgmma_take(sum, g, alpha, reinterpret_cast<float(&)[COLUMNS / 2]>(x));
        wm_wgmma_way way = wm_wgmma_way_of(p, bias, first_i);
        if (lane == 0) wm_tma_wait_read<BUFFERS - 1>();
        wm_barrier_warp();
        WM_UNROLL
        for (int q = 0; q < COLUMNS / 16; q++) {
            wm_u32 pair[4];
            wm_wgmma_finish8(way, column + q * 16, x[q]);
            WM_UNROLL
            for (int e = 0; e < 4; e++)
                pair[e] = bf16 ? wm_pair_bf16(x[q][2 * e], x[q][2 * e + 1]) : wm_pair_f16(x[q][2 * e], x[q][2 * e + 1]);
            int at = wm_swizzle<COLUMNS * 2>((lane & 15) * COLUMNS * 2 + (q * 2 + lane / 16) * 16);
            wm_store_matrices(out[g % BUFFERS] + at, pair[0], pair[1], pair[2], pair[3]);
        }
        wm_async_fence();
        wm_barrier_warp();
        if (lane == 0) {
            wm_tma_store(&p.d, out[g % BUFFERS], tile.j + column, first_i, tile.t);
            wm_tma_commit();
        }
    }
}

/** 32 columns of f32 at a time, through the copy engine. */
template <int TILE_N, int HALVES>
WM_DEVICE void wm_wgmma_out32(const wm_wgmma_job &p, unsigned char (*out)[2048], float alpha, const float *bias,
                              wm_wgmma_tile tile, const float (&sum)[TILE_N / 2 * HALVES]) {
    constexpr int GROUPS = TILE_N / 32, BUFFERS = 2 * HALVES;
    int lane = wm_wgmma_lane();
#pragma unroll 1
    for (int g = 0; g < GROUPS * HALVES; g++) {
        float x[2][8];
        int first_i = tile.i + (HALVES == 2 ? g / GROUPS * 64 : 0), column = g % GROUPS * 32;
        wm_wgmma_take(sum, g, alpha, reinterpret_cast<float(&)[16]>(x));
        wm_wgmma_way way = wm_wgmma_way_of(p, bias, first_i);
        if (lane == 0) wm_tma_wait_read<BUFFERS - 1>();
        wm_barrier_warp();
        WM_UNROLL
        for (int q = 0; q < 2; q++) {
            wm_wgmma_finish8(way, column + q * 16, x[q]);
            WM_UNROLL
            for (int h = 0; h < 4; h++) {
                int row = lane / 4 + h % 2 * 8, at = q * 16 + h / 2 * 8 + lane % 4 * 2;
                *reinterpret_cast<float2 *>(out[g % BUFFERS] + wm_swizzle<128>(row * 128 + at * 4)) =
                    float2{x[q][2 * h], x[q][2 * h + 1]};
            }
        }
        wm_async_fence();
        wm_barrier_warp();
        if (lane == 0) {
            wm_tma_store(&p.d, out[g % BUFFERS], tile.j + column, first_i, tile.t);
            wm_tma_commit();
        }
    }
}

/** Four neighbours of such an array, aligned to their size. */
WM_DEVICE void wm_wgmma_load4(int type, const void *array, wm_i64 at, float (&x)[4]) {
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

WM_DEVICE void wm_wgmma_store4(int type, void *array, wm_i64 at, const float (&x)[4]) {
    if (type == WM_ELEMENT_F32) {
        *reinterpret_cast<float4 *>(static_cast<float *>(array) + at) = float4{x[0], x[1], x[2], x[3]};
        return;
    }
    bool bf16 = type == WM_ELEMENT_BF16;
    uint2 v = {bf16 ? wm_pair_bf16(x[0], x[1]) : wm_pair_f16(x[0], x[1]),
               bf16 ? wm_pair_bf16(x[2], x[3]) : wm_pair_f16(x[2], x[3])};
    *reinterpret_cast<uint2 *>(static_cast<wm_u16 *>(array) + at) = v;
}

/** Four results of a lane: neighbours of a row (RUN), or one of each of four rows. */
typedef struct wm_wgmma_piece {
    int i, j, count; /* the first one's place; how many exist, from the front */
    bool vector;     /* one access, of D and of C */
} wm_wgmma_piece;

/** The piece of round r, from a slab of 32 columns: RUN: four columns of every fourth row, else a column of four rows.
 */
template <bool RUN>
WM_DEVICE wm_wgmma_piece wm_wgmma_piece_of(const wm_wgmma_job &p, int first_i, int first_j, int r) {
    int lane = wm_wgmma_lane();
    wm_wgmma_piece x = {first_i + (RUN ? lane / 8 + 4 * r : 4 * r), first_j + (RUN ? lane % 8 * 4 : lane), 0, false};
    int rows = p.m - x.i, columns = p.n - x.j;
    if (rows > 0 && columns > 0) x.count = wm_min(4, RUN ? columns : rows);
    x.vector = RUN && p.vector && x.count == 4;
    return x;
}

template <bool RUN>
WM_DEVICE void wm_wgmma_piece_c(const wm_wgmma_job &p, int t, const wm_wgmma_piece &x, float (&c)[4]) {
    const wm_matrix_ref &m = p.epilogue.c;
    const void *first = wm_matrix_first(m, t);
    wm_i64 at = x.i * p.c_i + x.j * p.c_j, step = RUN ? p.c_j : p.c_i;
    if (x.vector) {
        wm_wgmma_load4(m.type, first, at, c);
        return;
    }
    WM_UNROLL
    for (int e = 0; e < 4; e++) c[e] = e < x.count ? wm_wgmma_load1(m.type, first, at + e * step) : 0.0f;
}

/** From sums and C to D; `bias`: of the slab's columns. The steps are wm_epilogue_value's. */
template <bool RUN>
WM_DEVICE void wm_wgmma_piece_d(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, int t,
                                const wm_wgmma_piece &piece, const float *bias, const float (&c)[4], float (&x)[4]) {
    const wm_epilogue &e = p.epilogue;
    WM_UNROLL
    for (int l = 0; l < 4; l++) {
        x[l] = scalars.alpha != 0.0f ? wm_mul(scalars.alpha, x[l]) : 0.0f;
        if (scalars.beta != 0.0f) x[l] = wm_add(x[l], wm_mul(scalars.beta, c[l]));
    }
    if (e.bias_along) WM_UNROLL
    for (int l = 0; l < 4; l++) {
        bool there = l < piece.count;
        int i = piece.i + (RUN ? 0 : l);
        if (p.bias_j)
            x[l] = wm_add(x[l], bias[RUN ? l : 0]);
        else if (there)
            x[l] = wm_add(x[l], wm_wgmma_load1(e.bias_type, e.bias, i));
    }
    wm_activate_fast(e.activation, x);
    void *first = const_cast<void *>(wm_matrix_first(e.d, t));
    wm_i64 at = piece.i * p.d_i + piece.j, step = RUN ? 1 : p.d_i;
    if (piece.vector) {
        wm_wgmma_store4(e.d.type, first, at, x);
        return;
    }
    WM_UNROLL
    for (int l = 0; l < 4; l++)
        if (l < piece.count) wm_wgmma_store1(e.d.type, first, at + l * step, x[l]);
}

/** 32 columns of a warp's rows from the slab, two pieces a lane at a time: their loads of C come before their stores,
 * which the compiler must keep in order. */
template <bool RUN>
WM_DEVICE void wm_wgmma_out_slab(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, const float *slab,
                                 int stride, int t, int first_i, int first_j, const float *bias) {
#pragma unroll 1
    for (int r = 0; r < 4; r += 2) {
        wm_wgmma_piece piece[2];
        float c[2][4] = {};
        WM_UNROLL
        for (int h = 0; h < 2; h++) {
            piece[h] = wm_wgmma_piece_of<RUN>(p, first_i, first_j, r + h);
            if (scalars.beta != 0.0f && piece[h].count) wm_wgmma_piece_c<RUN>(p, t, piece[h], c[h]);
        }
        WM_UNROLL
        for (int h = 0; h < 2; h++) {
            if (piece[h].count == 0) continue;
            float x[4];
            const float *from = slab + (piece[h].i - first_i) * stride + piece[h].j - first_j;
            WM_UNROLL
            for (int l = 0; l < 4; l++) x[l] = from[RUN ? l : l * stride];
            wm_wgmma_piece_d<RUN>(p, scalars, t, piece[h], bias + piece[h].j - first_j, c[h], x);
        }
    }
}

/** Everything else: 32 columns at a time. */
template <int TILE_N, int HALVES>
WM_DEVICE void wm_wgmma_out_any(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars, unsigned char *out,
                                const float *bias, wm_wgmma_tile tile, const float (&sum)[TILE_N / 2 * HALVES]) {
    enum { STRIDE = 36, GROUPS = TILE_N / 32 }; /* floats: 16-byte groups of neighbouring rows in different banks */
    float *slab = reinterpret_cast<float *>(out);
    int lane = wm_wgmma_lane();
    if (lane == 0) wm_tma_wait_read<0>();
#pragma unroll 1
    for (int g = 0; g < GROUPS * HALVES; g++) {
        float x[16];
        int first_i = tile.i + (HALVES == 2 ? g / GROUPS * 64 : 0), column = g % GROUPS * 32;
        wm_wgmma_take(sum, g, 1.0f, x);
        wm_barrier_warp();
        WM_UNROLL
        for (int q = 0; q < 8; q++) {
            float *to = slab + (lane / 4 + q % 2 * 8) * STRIDE + q / 2 * 8 + lane % 4 * 2;
            *reinterpret_cast<float2 *>(to) = float2{x[q / 2 * 4 + q % 2 * 2], x[q / 2 * 4 + q % 2 * 2 + 1]};
        }
        wm_barrier_warp();
        if (p.vector)
            wm_wgmma_out_slab<true>(p, scalars, slab, STRIDE, tile.t, first_i, tile.j + column, bias + column);
        else
            wm_wgmma_out_slab<false>(p, scalars, slab, STRIDE, tile.t, first_i, tile.j + column, bias + column);
    }
    wm_barrier_warp();
}

/** A warp's rows of a tile; `bias`: of its columns, `out`: two pieces a half. */
template <int TILE_N, int HALVES>
WM_DEVICE void wm_wgmma_out(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars,
                            unsigned char (*out)[2048], const float *bias, wm_wgmma_tile tile, bool plain,
                            const float (&sum)[TILE_N / 2 * HALVES]) {
    /* The copy engine writes whole groups of 16 bytes: it would touch the padding behind a ragged row. */
    bool ragged = p.n * wm_element_bytes(p.epilogue.d.type) % 16 != 0 && tile.j + TILE_N > p.n;
    if (!plain || ragged)
        wm_wgmma_out_any<TILE_N, HALVES>(p, scalars, out[0], bias, tile, sum);
    else if (p.epilogue.d.type == WM_ELEMENT_F32)
        wm_wgmma_out32<TILE_N, HALVES>(p, out, scalars.alpha, bias, tile, sum);
    else
        wm_wgmma_out16<TILE_N, HALVES>(p, out, scalars.alpha, bias, tile, sum);
}

#endif

#endif
