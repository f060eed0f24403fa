/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies matrices of 1- or 4-byte elements, at any address and stride, to where the copy engine can read them and k is
 * contiguous: rows of k that begin at multiples of 16 bytes. Tiles of 64 × 64 pass through shared memory, so that both
 * sides of memory see neighbours.
 */
#ifndef WM_DEVICE_MATMUL_LAY_CUH
#define WM_DEVICE_MATMUL_LAY_CUH

#include <warpmath/device/base.cuh>

enum { WM_LAY_THREADS = 256, WM_LAY_TILE = 64 };

typedef struct wm_lay_job {
    const void *from;
    wm_u32 *to;
    wm_i64 row, col, batch;          /* elements between rows, along k, between matrices; row or col is 1 */
    wm_i64 to_row, to_batch;         /* words of 4 bytes */
    wm_i64 matrices, tiles, tiles_k; /* tiles: of a matrix */
    int rows, k;
} wm_lay_job;

/** One tile: `tile` keeps it as [k][row]. */
template <class T, int STRIDE>
WM_DEVICE void wm_lay_tile(const wm_lay_job &p, T (*tile)[STRIDE], wm_i64 unit) {
    const int side = WM_LAY_TILE, each = 4 / sizeof(T), words = side / each;
    wm_i64 t = unit / p.tiles, in = unit - t * p.tiles;
    int r0 = (int)(in / p.tiles_k) * side, k0 = (int)(in % p.tiles_k) * side;
    const T *from = static_cast<const T *>(p.from) + t * p.batch;
    wm_barrier(); /* the tile before has left */
#pragma unroll 4
    for (int e = wm_thread(); e < side * side; e += WM_LAY_THREADS) {
        int r = p.row == 1 ? e % side : e / side, q = p.row == 1 ? e / side : e % side;
        bool there = r0 + r < p.rows && k0 + q < p.k;
        tile[q][r] = there ? from[(r0 + r) * p.row + (k0 + q) * p.col] : T(0);
    }
    wm_barrier();
    wm_u32 *to = p.to + t * p.to_batch + k0 / each;
#pragma unroll 4
    for (int e = wm_thread(); e < side * words; e += WM_LAY_THREADS) {
        int r = e / words, w = e % words;
        wm_u32 word = 0;
        WM_UNROLL
        for (int b = 0; b < each; b++) word |= (wm_u32)tile[w * each + b][r] << (b * 8);
        if (r0 + r < p.rows && k0 / each + w < p.to_row) to[(r0 + r) * p.to_row + w] = word;
    }
}

WM_KERNEL __launch_bounds__(WM_LAY_THREADS) wm_matmul_lay_bytes(WM_PARAMS(wm_lay_job)) {
    typedef wm_u8 row[WM_LAY_TILE + 4];
    row *tile = wm_shared<row>();
    for (wm_i64 unit = blockIdx.x; unit < p.tiles * p.matrices; unit += gridDim.x) wm_lay_tile(p, tile, unit);
}

WM_KERNEL __launch_bounds__(WM_LAY_THREADS) wm_matmul_lay_words(WM_PARAMS(wm_lay_job)) {
    typedef wm_u32 row[WM_LAY_TILE + 1];
    row *tile = wm_shared<row>();
    for (wm_i64 unit = blockIdx.x; unit < p.tiles * p.matrices; unit += gridDim.x) wm_lay_tile(p, tile, unit);
}

#endif
