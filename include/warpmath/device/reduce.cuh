/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions and scans over the threads of a warp or a block. Values have 4 or 8 bytes; the operation is one of
 * wmPlus, wmLeast, wmMost, or any function object that is associative. The order of the operands is fixed by the number
 * of threads alone, so floats give the same bits in every run.
 *
 *   wmReduceWarp(x, op)                    all lanes of the warp call; all get the result. 5 shuffles
 *   wmScanWarp(x, op)                      lane i gets x0 op x1 op … op xi
 *   wmReduceBlock<THREADS>(x, smem, op)    all threads of the block call; all get the result. 2 barriers
 *   wmScanBlock<THREADS>(x, smem, &total, op)   thread i gets x0 op … op xi; total: of all threads. 2 barriers
 *
 * THREADS is the block's size, a multiple of 32. smem: wmReduceSmem(THREADS) bytes, aligned to 8, that nothing else
 * uses between the call and the block's next barrier. Registers: what a kernel for sm_90a takes that does nothing else.
 * Source: Blelloch, "Prefix Sums and Their Applications", 1990; in a warp by shuffles, as Hillis and Steele, "Data
 * Parallel Algorithms", 1986.
 */
#ifndef WARPMATH_DEVICE_REDUCE_CUH
#define WARPMATH_DEVICE_REDUCE_CUH

#include <warpmath/device/base.cuh>

/** a + b. */
struct wmPlus {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};

/** The smaller; NaN loses against a number on the left and wins on the right, as `b < a ? b : a` has it. */
struct wmLeast {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};

/** The larger. */
struct wmMost {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

/** Bytes of shared memory that a block's reduction or scan needs. A constant, for the host too. */
WM_CONSTEXPR int wmReduceSmem(int threads) {
    return (threads + 31) / 32 * 8;
}

/** x of all lanes combined; all lanes call and get it. 12 registers, of 8 bytes 16; order of sums, source: see the top.
 */
template <class T, class Op = wmPlus>
WM_DEVICE T wmReduceWarp(T x, Op op = Op()) {
    WM_UNROLL
    for (int step = 1; step < WM_WARP; step *= 2) {
        T other = wm_shuffle_xor(x, step);
        x = wm_lane() & step ? op(other, x) : op(x, other); /* the same order in every lane: the same bits */
    }
    return x;
}

/** x of this and all lower lanes combined. All lanes call. 10 registers, of 8 bytes 14; order of sums, source: see the
 * top. */
template <class T, class Op = wmPlus>
WM_DEVICE T wmScanWarp(T x, Op op = Op()) {
    WM_UNROLL
    for (int step = 1; step < WM_WARP; step *= 2) {
        T other = wm_shuffle_up(x, step);
        if (wm_lane() >= step) x = op(other, x);
    }
    return x;
}

/** The warps' results in order, by every thread: there are at most 32, and each is read by all at once. */
template <int WARPS, class T, class Op>
WM_DEVICE T wm_reduce_first(const T *warp, int count, Op op) {
    T x = warp[0];
    WM_UNROLL
    for (int w = 1; w < WARPS; w++)
        if (w < count) x = op(x, warp[w]);
    return x;
}

/** x of all threads of the block combined; all threads call and get it. smem: wmReduceSmem(THREADS), aligned to 8
 * bytes; 18 registers, of 8 bytes 24; order of sums, source: see the top. */
template <int THREADS, class T, class Op = wmPlus>
WM_DEVICE T wmReduceBlock(T x, void *smem, Op op = Op()) {
    static_assert(THREADS % WM_WARP == 0 && THREADS <= 1024, "a block is of whole warps");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values have 4 or 8 bytes");
    T *warp = static_cast<T *>(smem);
    x = wmReduceWarp(x, op);
    if (THREADS == WM_WARP) return x;
    wm_barrier();
    if (wm_lane() == 0) warp[wm_thread() / WM_WARP] = x;
    wm_barrier();
    return wm_reduce_first<THREADS / WM_WARP>(warp, THREADS / WM_WARP, op);
}

/** x of this and all lower threads combined; *total: of all. All threads of the block call. smem:
 * wmReduceSmem(THREADS), aligned to 8 bytes; 19 registers, of 8 bytes 28; order of sums, source: see the top. */
template <int THREADS, class T, class Op = wmPlus>
WM_DEVICE T wmScanBlock(T x, void *smem, T *total, Op op = Op()) {
    static_assert(THREADS % WM_WARP == 0 && THREADS <= 1024, "a block is of whole warps");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values have 4 or 8 bytes");
    constexpr int WARPS = THREADS / WM_WARP;
    T *warp = static_cast<T *>(smem);
    int mine = wm_thread() / WM_WARP;
    x = wmScanWarp(x, op);
    wm_barrier();
    if (wm_lane() == WM_WARP - 1) warp[mine] = x;
    wm_barrier();
    *total = wm_reduce_first<WARPS>(warp, WARPS, op);
    return mine ? op(wm_reduce_first<WARPS>(warp, mine, op), x) : x;
}

#endif
