/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of tile.cuh: where their elements lie in shared memory, and which thread holds which sums. Registers: what a
 * kernel for sm_90a takes that does nothing else. Source: the PTX manual's layouts of mma, wgmma and tensor maps. */
#ifndef WARPMATH_DEVICE_TILE_LAYOUT_CUH
#define WARPMATH_DEVICE_TILE_LAYOUT_CUH

#include <warpmath/device/tma.cuh>

enum wmTileWay { WM_TILE_FMA, WM_TILE_MMA, WM_TILE_WGMMA };

/* ---- Tiles ---- */

/** Elements of k in a row of 128 bytes. A constant, for the host too. */
template <class T>
WM_CONSTEXPR int wmTileDepth(void) {
    return 128 / (int)sizeof(T);
}

/** Bytes of a tile of `rows` by k, a multiple of wmTileDepth<T>(). A constant, for the host too. */
template <class T>
WM_CONSTEXPR int wmTileSmem(int rows, int k) {
    return rows * k * (int)sizeof(T);
}

/** Where element (row, k) of a tile of `rows` rows is, in elements from its begin. A constant, for the host too. Any
 * thread; 10 registers. */
template <class T>
WM_CONSTEXPR int wmTileAt(int rows, int row, int k) {
    int at = row * 128 + k % wmTileDepth<T>() * (int)sizeof(T);
    return (k / wmTileDepth<T>() * rows * 128 + wm_swizzle<128>(at)) / (int)sizeof(T);
}

/* ---- Who holds what ---- */

/** Sums of a thread. A constant, for the host too. */
WM_CONSTEXPR int wmTileElements(int m, int n, int threads) {
    return m * n / threads;
}

/** The way's smallest piece of D: rows of one thread's or warp's neighbours that belong together. */
WM_CONSTEXPR int wm_tile_height(int way, int bytes) {
    return way == WM_TILE_FMA ? 1 : bytes == 8 ? 8 : 16;
}

/** FMA: columns of a thread, about as many as rows. */
WM_CONSTEXPR int wm_tile_columns(int m, int n, int threads) {
    int each = m * n / threads, columns = 1;
    while (columns * columns < each && n % (2 * columns) == 0 && each % (2 * columns) == 0) columns *= 2;
    while (m % (each / columns) != 0) columns *= 2;
    return columns;
}

/** MMA: warps along M; the rest is along N. A warp's part is about square. */
WM_CONSTEXPR int wm_tile_warps(int m, int n, int threads, int height) {
    int warps = threads / 32, along = 1;
    while (along * 2 <= warps && warps % (along * 2) == 0 && m / along % (2 * height) == 0 &&
           (m / along > n / (warps / along) || n / (warps / along) % 16 != 0))
        along *= 2;
    return along;
}

/** Row of sum e; T: the operands' type. Any thread; 14 registers; exact; source: see the top. */
template <int M, int N, int THREADS, wmTileWay WAY, class T>
WM_DEVICE int wmTileRow(int e, int thread = wm_thread()) {
    if constexpr (WAY == WM_TILE_FMA) {
        constexpr int C = wm_tile_columns(M, N, THREADS), R = M * N / THREADS / C;
        return thread / (N / C) + M / R * (e / C);
    } else if constexpr (WAY == WM_TILE_WGMMA) {
        return thread / 32 * 16 + thread % 32 / 4 + 8 * (e / 2 % 2);
    } else {
        constexpr int H = wm_tile_height(WAY, (int)sizeof(T)), W = wm_tile_warps(M, N, THREADS, H);
        constexpr int EACH = H / 4, COLUMNS = N / (THREADS / 32 / W) / 8;
        return thread / 32 % W * (M / W) + e / EACH / COLUMNS * H + thread % 32 / 4 + 8 * (e % EACH / 2);
    }
}

/** Column of sum e. Any thread; 14 registers; exact; source: see the top. */
template <int M, int N, int THREADS, wmTileWay WAY, class T>
WM_DEVICE int wmTileColumn(int e, int thread = wm_thread()) {
    if constexpr (WAY == WM_TILE_FMA) {
        constexpr int C = wm_tile_columns(M, N, THREADS);
        return thread % (N / C) + N / C * (e % C);
    } else if constexpr (WAY == WM_TILE_WGMMA) {
        return 8 * (e / 4) + 2 * (thread % 4) + e % 2;
    } else {
        constexpr int H = wm_tile_height(WAY, (int)sizeof(T)), W = wm_tile_warps(M, N, THREADS, H);
        constexpr int EACH = H / 4, WIDTH = N / (THREADS / 32 / W);
        return thread / 32 / W * WIDTH + e / EACH % (WIDTH / 8) * 8 + 2 * (thread % 4) + e % 2;
    }
}

#endif
