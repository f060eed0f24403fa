/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out of a wgmma kernel by ordinary stores, for where the copy engine cannot be used: results of integers, and
 * D whose address is known on the device alone. As matmul_wgmma_out.cuh otherwise: scale, bias and activation in the
 * registers, swizzled shared memory, then stores of 16 bytes, whole lines.
 */
#ifndef WM_DEVICE_MATMUL_WGMMA_STORE_CUH
#define WM_DEVICE_MATMUL_WGMMA_STORE_CUH

#include "device/matmul_wgmma_out.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** activation(x + bias) of a lane's values of neighbouring columns, of which `column` is the first. */
template <int N>
WM_DEVICE void wm_wgmma_finish(const wm_wgmma_way &way, int column, float (&x)[N]) {
    if (way.along == 1) {
        const float *bias = way.bias + column + wm_wgmma_lane() % 4 * 2;
        WM_UNROLL
        for (int e = 0; e < N; e += 4) {
            float2 u = *reinterpret_cast<const float2 *>(bias + e * 2);
            x[e] = wm_add(x[e], u.x), x[e + 1] = wm_add(x[e + 1], u.y);
            x[e + 2] = wm_add(x[e + 2], u.x), x[e + 3] = wm_add(x[e + 3], u.y);
        }
    } else if (way.along == 2) {
        WM_UNROLL
        for (int e = 0; e < N; e++) x[e] = wm_add(x[e], e / 2 % 2 ? way.high : way.low);
    }
    wm_activate_fast(way.activation, x);
}

/** A warp's 16 rows of ROW bytes, swizzled in shared memory, to D; j: the first column, `size`: bytes of an element.
 * Two such places in turn need no barrier more than the one inside. */
template <int ROW>
WM_DEVICE void wm_wgmma_store_rows(const wm_wgmma_job &p, const unsigned char *from, int size, int t, int first_i,
                                   int j) {
    const int pieces = ROW / 16, down = 32 / pieces;
    int lane = wm_wgmma_lane(), row = lane / pieces, at = lane % pieces * 16;
    char *d = static_cast<char *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, t)));
    wm_i64 pitch = p.d_i * size;
    char *to = d + (first_i + row) * pitch + (wm_i64)j * size + at;
    bool there = at < wm_min(p.n - j, ROW / size) * size;
    wm_barrier_warp();
    WM_UNROLL
    for (int r = 0; r < 16; r += down) {
        uint4 v = *reinterpret_cast<const uint4 *>(from + wm_swizzle<ROW>((row + r) * ROW + at));
        if (there && first_i + row + r < p.m) *reinterpret_cast<uint4 *>(to + r * pitch) = v;
    }
}

/** 64 or 32 columns of 16-bit elements at a time. */
template <int TILE_N>
WM_DEVICE void wm_wgmma_store16(const wm_wgmma_job &p, unsigned char (*out)[2048], float alpha, const float *bias,
                                wm_wgmma_tile tile, const float (&sum)[TILE_N / 2]) {
    constexpr int COLUMNS = wm_wgmma_out_columns(TILE_N), GROUPS = TILE_N / COLUMNS;
    int lane = wm_wgmma_lane();
    bool bf16 = p.epilogue.d.type == WM_ELEMENT_BF16;
#pragma unroll 1
    for (int g = 0; g < GROUPS; g++) {
        float x[COLUMNS / 2];
        int column = g * COLUMNS;
        wm_wgmma_take(sum, g, alpha, x);
        wm_wgmma_finish(wm_wgmma_way_of(p, bias, tile.i), column, x);
        WM_UNROLL
        for (int q = 0; q < COLUMNS / 2; q += 8) {
            wm_u32 pair[4];
            WM_UNROLL
            for (int e = 0; e < 4; e++)
                pair[e] =
                    bf16 ? wm_pair_bf16(x[q + 2 * e], x[q + 2 * e + 1]) : wm_pair_f16(x[q + 2 * e], x[q + 2 * e + 1]);
            int at = wm_swizzle<COLUMNS * 2>((lane & 15) * COLUMNS * 2 + (q / 4 + lane / 16) * 16);
            wm_store_matrices(out[g % 2] + at, pair[0], pair[1], pair[2], pair[3]);
        }
        wm_wgmma_store_rows<COLUMNS * 2>(p, out[g % 2], 2, tile.t, tile.i, tile.j + column);
    }
}

/** A lane's sixteen words of 32 columns to shared memory; T: float or an integer. */
template <class T>
WM_DEVICE void wm_wgmma_put_words(unsigned char *out, const T (&x)[16]) {
    struct alignas(8) pair {
        T low, high;
    };
    int lane = wm_wgmma_lane();
    WM_UNROLL
    for (int e = 0; e < 16; e += 2) {
        int row = lane / 4 + e / 2 % 2 * 8, at = e / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<pair *>(out + wm_swizzle<128>(row * 128 + at * 4)) = pair{x[e], x[e + 1]};
    }
}

/** 32 columns of f32 at a time. */
template <int TILE_N>
WM_DEVICE void wm_wgmma_store32(const wm_wgmma_job &p, unsigned char (*out)[2048], float alpha, const float *bias,
                                wm_wgmma_tile tile, const float (&sum)[TILE_N / 2]) {
    constexpr int GROUPS = TILE_N / 32;
#pragma unroll 1
    for (int g = 0; g < GROUPS; g++) {
        float x[16];
        int column = g * 32;
        wm_wgmma_take(sum, g, alpha, x);
        wm_wgmma_finish(wm_wgmma_way_of(p, bias, tile.i), column, x);
        wm_wgmma_put_words(out[g % 2], x);
        wm_wgmma_store_rows<128>(p, out[g % 2], 4, tile.t, tile.i, tile.j + column);
    }
}

/** A warp's rows of a tile; `bias`: of its columns, `out`: two places; plain: no C, and rows of D begin at multiples of
 * 16 bytes. */
template <int TILE_N>
WM_DEVICE void wm_wgmma_store(const wm_wgmma_job &p, const wm_epilogue_scalars<float> &scalars,
                              unsigned char (*out)[2048], const float *bias, wm_wgmma_tile tile, bool plain,
                              const float (&sum)[TILE_N / 2]) {
    bool ragged = p.n * wm_element_bytes(p.epilogue.d.type) % 16 != 0 && tile.j + TILE_N > p.n;
    if (!plain || ragged)
        wm_wgmma_out_any<TILE_N, 1>(p, scalars, out[0], bias, tile, sum);
    else if (p.epilogue.d.type == WM_ELEMENT_F32)
        wm_wgmma_store32<TILE_N>(p, out, scalars.alpha, bias, tile, sum);
    else
        wm_wgmma_store16<TILE_N>(p, out, scalars.alpha, bias, tile, sum);
    wm_barrier_warp(); /* the places have been read */
}

#endif

#endif
