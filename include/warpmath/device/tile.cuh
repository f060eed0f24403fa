/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tile products for your own kernels: sum (M × N) += A (M × K) · B (K × N), by a warp or a block, in one of three ways
 * behind one call.
 *
 *     wmTileProduct<M, N, K, THREADS, WAY>(sum, a, b);      wmTileWait<0, WAY>(sum);
 *
 *   WAY            arithmetic              types of A and B                               THREADS
 *   WM_TILE_FMA    fused multiply-adds     f32 f64 f16 bf16 e4m3 e5m2 i8, complex         32 and its multiples
 *   WM_TILE_MMA    mma.sync, sm_80         f32 (as tf32) f64 f16 bf16 i8, fp8 (sm_89)     32 and its multiples
 *   WM_TILE_WGMMA  wgmma, sm_90a           f32 (as tf32) f16 bf16 e4m3 e5m2 i8            128 for each 64 rows of M
 *
 * Sums are f32; double for f64, int for i8, for complex numbers (wmC64, wmC128 of fft.cuh) their own type. Each thread
 * holds wmTileElements(M, N, THREADS) of them, in registers as long as every index is a constant: unroll the loops over
 * them. Sum e is D(wmTileRow<…>(e), wmTileColumn<…>(e)). All THREADS threads call, consecutive in the block from a
 * multiple of THREADS (wgmma: of 128) on; `thread` counts from 0 among them and is wm_thread() where nothing else is
 * said.
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
 * that computes it (a random number, a dequantised weight); FMA and MMA. A from registers: wmTileProductHeld<…>(sum,
 * left, b) takes what another product gave, held as it gave it; MMA and wgmma.
 *
 * Accuracy: FMA adds in order of k, each step rounded once. MMA and wgmma: exact products, sums rounded to f32 by
 * cutting off once in 4 to 16 of k (wgmma of 8-bit floats: to 14 bits of mantissa, the hardware's own); of f32 operands
 * MMA rounds to tf32's 11 bits, wgmma cuts off. Registers: the sums, plus about 40.
 * Sources: mma.cuh and wgmma.cuh.
 */
#ifndef WARPMATH_DEVICE_TILE_CUH
#define WARPMATH_DEVICE_TILE_CUH

#include <warpmath/device/tile_ways.cuh>

/* ---- The calls ---- */

/** sum += A · B, both in tiles. See the top. All THREADS threads; a, b aligned to 1024 bytes; registers, accuracy,
 * source: see the top. */
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

/** sum += A · B, A in a tile, element (k, column) of B being f(k, column). All THREADS threads; a aligned to 1024
 * bytes; registers: those of f too; accuracy, source: see the top. */
template <int M, int N, int K, int THREADS, wmTileWay WAY, class S, int E, class T, class F>
WM_DEVICE void wmTileProductOf(S (&sum)[E], const T *a, const F &f, int thread = wm_thread()) {
    static_assert(E == wmTileElements(M, N, THREADS), "sum has wmTileElements(M, N, THREADS) elements");
    static_assert(WAY != WM_TILE_WGMMA, "wgmma takes B from shared memory alone");
    if constexpr (WAY == WM_TILE_FMA)
        wm_tile_fma<M, N, K, THREADS>(sum, a, wm_tile_made<T, F>{f}, thread);
    else
        wm_tile_mma<M, N, K, THREADS>(sum, a, wm_tile_made<T, F>{f}, thread);
}

/** sum += A · B, A in registers: `left` holds it as sums of M × K by the same way and threads would lie, so that what
 * one product gave is an operand of the next; it is rounded to the type of B, a tile. MMA: one warp, or all of a row in
 * one warp; wgmma: f16 and bf16, N 64, 128 or 256. Done when it returns, wgmma too. All THREADS threads; b aligned to
 * 1024 bytes; registers: `left` too; accuracy, source: see the top. */
template <int M, int N, int K, int THREADS, wmTileWay WAY, class S, int E, class L, int EL, class T>
WM_DEVICE void wmTileProductHeld(S (&sum)[E], const L (&left)[EL], const T *b, int thread = wm_thread()) {
    static_assert(E == wmTileElements(M, N, THREADS), "sum has wmTileElements(M, N, THREADS) elements");
    static_assert(EL == wmTileElements(M, K, THREADS), "left has wmTileElements(M, K, THREADS) elements");
    static_assert(WAY != WM_TILE_FMA, "A in registers is for MMA and wgmma");
    static_assert(K % wmTileDepth<T>() == 0, "tiles are of rows of 128 bytes");
    if constexpr (WAY == WM_TILE_MMA) {
        wm_tile_mma_held<M, N, K, THREADS>(sum, left, b, wm_tile_stored<T, N>{b}, thread);
    } else {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
        wm_tile_wgmma_held<M, N, K, THREADS>(sum, left, b);
#elif defined(__CUDA_ARCH__)
        __trap(); /* wgmma needs sm_90a */
#endif
    }
    (void)thread;
}

/** Waits until all but the newest GROUPS products of these threads are done. All THREADS threads; no registers; exact;
 * source: see the top. */
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
