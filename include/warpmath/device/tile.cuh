/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tile products for your own kernels: sum (M × N) += A (M × K) · B (K × N), by a warp or a block, in one of three ways
 * behind one call.
 *
 *     wmTileProduct<M, N, K, THREADS, WAY>(sum, a, b);      wmTileWait<0, WAY>(sum);
 *
 *   WAY            arithmetic                        types of A and B                       THREADS
 *   WM_TILE_FMA    fused multiply-adds               f32 f64 f16 bf16 e4m3 e5m2 i8          32 and its multiples
 *   WM_TILE_MMA    mma.sync, sm_80 and newer         f32 (as tf32) f64 f16 bf16 i8          32 and its multiples
 *   WM_TILE_WGMMA  wgmma, sm_90a                     f16 bf16                               128 for each 64 rows of M
 *
 * Sums are f32; double for f64, int for i8. Each thread holds wmTileElements(M, N, THREADS) of them, in registers
 * as long as every index is a constant: unroll the loops over them. Sum e is
 * D(wmTileRow<…>(e), wmTileColumn<…>(e)). All THREADS threads call, consecutive in the block from a multiple of THREADS
 * (wgmma: of 128) on; `thread` counts from 0 among them and is wm_thread() where nothing else is said.
 *
 * Operands lie in shared memory as the bulk copy engine arranges boxes of 128-byte rows with its 128-byte swizzle:
 * A's rows and B's columns are the rows of a box, wmTileDepth<T>() of k wide; the boxes of a K that is deeper lie
 * behind each other. wmTileAt<T>(rows, row, k) is where an element is, for kernels that fill tiles themselves;
 * wmTileSmem<T> is a tile's size. A tile begins at a multiple of 1024 bytes, its rows are a multiple of 8. So every way
 * reads the same tiles, none has bank conflicts, and TMA brings them.
 *
 * Before the call the tiles must be visible to all callers (a barrier, an mbarrier); for wgmma, threads that wrote them
 * by ordinary stores call wm_async_fence before that barrier. After the call, FMA and MMA are done. wgmma goes on: with
 * wmTileWait<GROUPS> all but the newest GROUPS calls are done; only then may their tiles be overwritten and, with
 * GROUPS = 0, sums be read.
 *
 * B from registers: wmTileProductOf<…>(sum, a, f) takes element (k, column) of B as f(k, column), a function object
 * that computes it (a random number, a dequantised weight); FMA and MMA.
 *
 * Accuracy: FMA adds in order of k, each step rounded once. MMA and wgmma: exact products, sums rounded to f32 by
 * cutting off once in 4 to 16 of k; tf32 operands are rounded to 11 bits first. Registers: the sums, plus about 40.
 * Sources: mma.cuh and wgmma.cuh.
 */
#ifndef WARPMATH_DEVICE_TILE_CUH
#define WARPMATH_DEVICE_TILE_CUH

#include <warpmath/device/mma.cuh>
#include <warpmath/device/tma.cuh>
#include <warpmath/device/wgmma.cuh>

enum wmTileWay { WM_TILE_FMA, WM_TILE_MMA, WM_TILE_WGMMA };

/* ---- Tiles ---- */

/** Elements of k in a row of 128 bytes. */
template <class T>
WM_CONSTEXPR int wmTileDepth(void) {
    return 128 / (int)sizeof(T);
}

/** Bytes of a tile of `rows` by k, a multiple of wmTileDepth<T>(). */
template <class T>
WM_CONSTEXPR int wmTileSmem(int rows, int k) {
    return rows * k * (int)sizeof(T);
}

/** Where element (row, k) of a tile of `rows` rows is, in elements from its begin. */
template <class T>
WM_CONSTEXPR int wmTileAt(int rows, int row, int k) {
    int at = row * 128 + k % wmTileDepth<T>() * (int)sizeof(T);
    return (k / wmTileDepth<T>() * rows * 128 + wm_swizzle<128>(at)) / (int)sizeof(T);
}

/* ---- Who holds what ---- */

/** Sums of a thread. */
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

/** Row of sum e; T: the operands' type. */
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

/** Column of sum e. */
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

/* ---- Operands of B: from a tile, or made on the spot ---- */

template <class T>
WM_DEVICE float wm_tile_value(T x, float) {
    return wm_to_f32(x);
}
WM_DEVICE double wm_tile_value(double x, double) {
    return x;
}
WM_DEVICE int wm_tile_value(wm_i8 x, int) {
    return x;
}

WM_DEVICE void wm_tile_add(float &sum, float a, float b) {
    sum = wm_fma(a, b, sum);
}
WM_DEVICE void wm_tile_add(double &sum, double a, double b) {
    sum = wm_fma(a, b, sum);
}
WM_DEVICE void wm_tile_add(int &sum, int a, int b) {
    sum += a * b;
}

WM_DEVICE void wm_tile_put(wm_i8 *to, int x) {
    *to = (wm_i8)x;
}
template <class T, class V>
WM_DEVICE void wm_tile_put(T *to, V x) {
    wm_put_f32(to, (float)x);
}
WM_DEVICE void wm_tile_put(double *to, double x) {
    *to = x;
}

/** B in shared memory: a granule is 16 bytes of k. */
template <class T, int N>
struct wm_tile_stored {
    enum { UNROLLED = 64 }; /* steps of k side by side */
    const T *b;
    __device__ __forceinline__ wm_pack<T> granule(int column, int k) const {
        return wm_load16(b + wmTileAt<T>(N, column, k));
    }
    /** Fragments of mma for 16 columns: two of each 8, for 32 bytes of k. */
    __device__ __forceinline__ void fragments(wm_u32 (&out)[4], int column, int k) const {
        int lane = wm_lane(), row = column + lane / 16 * 8 + lane % 8;
        wm_load_matrices(out, b + wmTileAt<T>(N, row, k + lane / 8 % 2 * (16 / (int)sizeof(T))));
    }
    __device__ __forceinline__ double one(int column, int k) const {
        return b[wmTileAt<T>(N, column, k)];
    }
};

/** B made by a function object. */
template <class T, class F>
struct wm_tile_made {
    enum { UNROLLED = 1 }; /* whatever f does is long enough */
    const F &f;
    __device__ __forceinline__ wm_pack<T> granule(int column, int k) const {
        wm_pack<T> pack;
        WM_UNROLL
        for (int i = 0; i < 16 / (int)sizeof(T); i++) wm_tile_put(&pack.v[i], f(k + i, column));
        return pack;
    }
    __device__ __forceinline__ void fragments(wm_u32 (&out)[4], int column, int k) const {
        constexpr int PER = 4 / (int)sizeof(T);
        int lane = wm_lane();
        WM_UNROLL
        for (int r = 0; r < 4; r++) {
            T part[PER];
            WM_UNROLL
            for (int i = 0; i < PER; i++)
                wm_tile_put(&part[i], f(k + (r % 2 * 4 + lane % 4) * PER + i, column + r / 2 * 8 + lane / 4));
            memcpy(&out[r], part, 4);
        }
    }
    __device__ __forceinline__ double one(int column, int k) const {
        return f(k, column);
    }
};

/* ---- The three ways ---- */

template <int M, int N, int K, int THREADS, class S, int E, class T, class B>
WM_DEVICE void wm_tile_fma(S (&sum)[E], const T *a, const B &b, int thread) {
    constexpr int C = wm_tile_columns(M, N, THREADS), R = E / C, P = 16 / (int)sizeof(T);
    int row = thread / (N / C), column = thread % (N / C);
#pragma unroll 1
    for (int k = 0; k < K; k += P) {
        wm_pack<T> bs[C];
        WM_UNROLL
        for (int j = 0; j < C; j++) bs[j] = b.granule(column + N / C * j, k);
        WM_UNROLL
        for (int i = 0; i < R; i++) {
            wm_pack<T> x = wm_load16(a + wmTileAt<T>(M, row + M / R * i, k));
            WM_UNROLL
            for (int p = 0; p < P; p++) WM_UNROLL
            for (int j = 0; j < C; j++)
                wm_tile_add(sum[i * C + j], wm_tile_value(x.v[p], S()), wm_tile_value(bs[j].v[p], S()));
        }
    }
}

/** One mma by the operands' type. */
template <class T, class S>
WM_DEVICE void wm_tile_mma_one(S (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2], const T *) {
    static_assert(sizeof(T) < 8, "f32, f16, bf16 or i8");
    wm_mma_tf32(sum, a, b);
}
WM_DEVICE void wm_tile_mma_one(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2], const wm_f16 *) {
    wm_mma_f16(sum, a, b);
}
WM_DEVICE void wm_tile_mma_one(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2], const wm_bf16 *) {
    wm_mma_bf16(sum, a, b);
}
WM_DEVICE void wm_tile_mma_one(int (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2], const wm_i8 *) {
    wm_mma_s8(sum, a, b);
}

/** f32 words become tf32; others stay. */
WM_DEVICE void wm_tile_round(wm_u32 (&words)[4], const float *) {
    WM_UNROLL
    for (int r = 0; r < 4; r++) words[r] = wm_round_tf32(wm_f32_of(words[r]));
}
template <class T>
WM_DEVICE void wm_tile_round(wm_u32 (&)[4], const T *) {}

template <int M, int N, int K, int THREADS, class S, int E, class T, class B>
WM_DEVICE void wm_tile_mma(S (&sum)[E], const T *a, const B &b, int thread) {
    constexpr int W = wm_tile_warps(M, N, THREADS, 16), ROWS = M / W / 16, COLUMNS = N / (THREADS / 32 / W) / 8;
    constexpr int STEP = 32 / (int)sizeof(T);
    static_assert(ROWS * 16 * W == M && COLUMNS % 2 == 0, "each warp has a multiple of 16 rows and of 16 columns");
    int lane = wm_lane(), row = thread / 32 % W * (M / W), column = thread / 32 / W * (COLUMNS * 8);
#pragma unroll B::UNROLLED
    for (int k = 0; k < K; k += STEP) {
        wm_u32 x[ROWS][4];
        WM_UNROLL
        for (int i = 0; i < ROWS; i++) {
            wm_load_matrices(x[i], a + wmTileAt<T>(M, row + i * 16 + lane % 16, k + lane / 16 * (STEP / 2)));
            wm_tile_round(x[i], a);
        }
        WM_UNROLL
        for (int j = 0; j < COLUMNS; j += 2) {
            wm_u32 y[4];
            b.fragments(y, column + j * 8, k);
            wm_tile_round(y, a);
            WM_UNROLL
            for (int i = 0; i < 2 * ROWS; i++) {
                const wm_u32 half[2] = {y[i % 2 * 2], y[i % 2 * 2 + 1]};
                S *to = &sum[(i / 2 * COLUMNS + j + i % 2) * 4];
                wm_tile_mma_one(*reinterpret_cast<S(*)[4]>(to), x[i / 2], half, a);
            }
        }
    }
}

template <int M, int N, int K, int THREADS, int E, class B>
WM_DEVICE void wm_tile_mma(double (&sum)[E], const double *a, const B &b, int thread) {
    constexpr int W = wm_tile_warps(M, N, THREADS, 8), ROWS = M / W / 8, COLUMNS = N / (THREADS / 32 / W) / 8;
    static_assert(ROWS * 8 * W == M && COLUMNS >= 1, "each warp has a multiple of 8 rows and of 8 columns");
    int lane = wm_lane(), row = thread / 32 % W * (M / W), column = thread / 32 / W * (COLUMNS * 8);
#pragma unroll B::UNROLLED
    for (int k = 0; k < K; k += 4) {
        double x[ROWS];
        WM_UNROLL
        for (int i = 0; i < ROWS; i++) x[i] = a[wmTileAt<double>(M, row + i * 8 + lane / 4, k + lane % 4)];
        WM_UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            double y = b.one(column + j * 8 + lane / 4, k + lane % 4);
            WM_UNROLL
            for (int i = 0; i < ROWS; i++)
                wm_mma_f64(*reinterpret_cast<double(*)[2]>(&sum[(i * COLUMNS + j) * 2]), x[i], y);
        }
    }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <int E>
WM_DEVICE void wm_tile_wgmma_one(float (&sum)[E], wm_u64 a, wm_u64 b, const wm_bf16 *) {
    wm_wgmma_bf16<0, 0>(sum, a, b, 1);
}
template <int E>
WM_DEVICE void wm_tile_wgmma_one(float (&sum)[E], wm_u64 a, wm_u64 b, const wm_f16 *) {
    wm_wgmma_f16<0, 0>(sum, a, b, 1);
}

template <int M, int N, int K, int THREADS, int E, class T>
WM_DEVICE void wm_tile_wgmma(float (&sum)[E], const T *a, const T *b, int thread) {
    static_assert(M * 2 == THREADS, "64 rows for each 128 threads");
    wm_wgmma_fence();
    WM_UNROLL
    for (int box = 0; box < K / 64; box++) {
        wm_u64 x = wm_wgmma_operand<0>(a + box * M * 64 + thread / 128 * 64 * 64);
        wm_u64 y = wm_wgmma_operand<0>(b + box * N * 64);
        WM_UNROLL
        for (int q = 0; q < 4; q++) wm_tile_wgmma_one(sum, x + q * wm_wgmma_k16<0>(), y + q * wm_wgmma_k16<0>(), a);
    }
    wm_wgmma_commit();
}
#endif

/* ---- The calls ---- */

/** sum += A · B, both in tiles. See the top. */
template <int M, int N, int K, int THREADS, wmTileWay WAY, class S, int E, class T>
WM_DEVICE void wmTileProduct(S (&sum)[E], const T *a, const T *b, int thread = wm_thread()) {
    static_assert(E == wmTileElements(M, N, THREADS), "sum has wmTileElements(M, N, THREADS) elements");
    static_assert(K % wmTileDepth<T>() == 0 && M % 8 == 0 && N % 8 == 0, "tiles are of rows of 128 bytes, 8 at least");
    if constexpr (WAY == WM_TILE_FMA) {
        wm_tile_fma<M, N, K, THREADS>(sum, a, wm_tile_stored<T, N>{b}, thread);
    } else if constexpr (WAY == WM_TILE_MMA) {
        wm_tile_mma<M, N, K, THREADS>(sum, a, wm_tile_stored<T, N>{b}, thread);
    } else {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
        wm_tile_wgmma<M, N, K, THREADS>(sum, a, b, thread);
#elif defined(__CUDA_ARCH__)
        __trap(); /* wgmma needs sm_90a */
#endif
    }
}

/** sum += A · B, A in a tile, element (k, column) of B being f(k, column). */
template <int M, int N, int K, int THREADS, wmTileWay WAY, class S, int E, class T, class F>
WM_DEVICE void wmTileProductOf(S (&sum)[E], const T *a, const F &f, int thread = wm_thread()) {
    static_assert(E == wmTileElements(M, N, THREADS), "sum has wmTileElements(M, N, THREADS) elements");
    static_assert(WAY != WM_TILE_WGMMA, "wgmma takes B from shared memory alone");
    if constexpr (WAY == WM_TILE_FMA)
        wm_tile_fma<M, N, K, THREADS>(sum, a, wm_tile_made<T, F>{f}, thread);
    else
        wm_tile_mma<M, N, K, THREADS>(sum, a, wm_tile_made<T, F>{f}, thread);
}

/** Waits until all but the newest GROUPS products of these threads are done. */
template <int GROUPS, wmTileWay WAY, class S, int E>
WM_DEVICE void wmTileWait(S (&sum)[E]) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (WAY == WM_TILE_WGMMA) {
        wm_wgmma_wait<GROUPS>();
        if constexpr (GROUPS == 0) wm_wgmma_settle(sum);
    }
#endif
    (void)sum;
}

#endif
