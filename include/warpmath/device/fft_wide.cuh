/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block transforms of 8192 and 16384 points, f32, and of 8192 in f64: what fft.cuh's tables are too small for. The
 * calls are those of fft.cuh: this header adds the lengths to wmFftBlock.
 *
 *     wmC64 x[wmFftElements(8192)];
 *     for (int e = 0; e < wmFftElements(8192); e++) x[e] = in[wmFftIndex<8192>(e)];
 *     wmFftBlock<8192, WM_FORWARD>(x, smem);
 *
 * 512 and 1024 threads, 16 points each; or, with x[32], f32 and half as many threads (e counts on by N / 32 then),
 * which is faster for 16384 points. wmFftSmem(N) bytes of shared memory, 68 and 136 KiB (f64: 136), more than a kernel
 * gets without asking (cudaFuncAttributeMaxDynamicSharedMemorySize), aligned to 16 bytes. Registers: 64, so that two
 * blocks of 512 threads share a multiprocessor, __launch_bounds__(512, 2); with x[32] 102; f64 128. Every thread of the
 * block calls; the block has no others. A second call in a kernel is best in a loop that is not unrolled
 * (examples/device/long_transforms.cu): the compiler then does not keep the first one's twiddles.
 *
 * How: as fft.cuh, radices 16 8 8 8 and 16 16 8 8, with x[32] 16 32 16 and 16 32 32. A pass's twiddles w^k are read for
 * k = 1, 2, 3 and k = 4, 8, 12 (radix 32: 1 to 5, and the multiples of 6), the others are products of two: a table of
 * all would not stay in the cache beside the data. Relative error in the 2-norm: 1.5e-7 in f32, 6e-16 in f64.
 *
 * Source: fft.cuh.
 */
#ifndef WARPMATH_DEVICE_FFT_WIDE_CUH
#define WARPMATH_DEVICE_FFT_WIDE_CUH

#include <warpmath/device/fft_fine.cuh>
#include <warpmath/device/fft_line.cuh>

/** Twiddles of a pass that are read: k = 1 … NEAR - 1, and the multiples of NEAR. */
WM_CONSTEXPR int wm_fft_wide_near(int radix) {
    return radix == 32 ? 6 : radix == 16 ? 4 : radix == 8 ? 3 : 2;
}
WM_CONSTEXPR int wm_fft_wide_rows(int radix) {
    return wm_fft_wide_near(radix) - 1 + (radix - 1) / wm_fft_wide_near(radix);
}
WM_CONSTEXPR int wm_fft_wide_row(int radix, int k) {
    return k < wm_fft_wide_near(radix) ? k - 1 : wm_fft_wide_near(radix) - 2 + k / wm_fft_wide_near(radix);
}

/** w^(p k) at [row of k][p], p < N / RS. */
template <int N, int R, int S, class C>
struct wm_fft_wide_table {
    C v[wm_fft_wide_rows(R) * (N / (R * S))];
    __host__ __device__ constexpr wm_fft_wide_table() : v() {
        constexpr int M = N / (R * S), NEAR = wm_fft_wide_near(R);
        for (int k = 1; k < R; k++)
            for (int p = 0; p < M && (k < NEAR || k % NEAR == 0); p++)
                v[wm_fft_wide_row(R, k) * M + p] = wm_fft_fine_root<C>(p * k * S * (WM_FFT_FINE_CIRCLE / N));
    }
};

template <int N, int R, int S, class C>
static __device__ const wm_fft_wide_table<N, R, S, C> wm_fft_wide_twiddles = wm_fft_wide_table<N, R, S, C>();

/** v[k] *= w^(p k). */
template <int N, int R, int S, class C>
WM_DEVICE void wm_fft_wide_twist(C *v, int p) {
    constexpr int M = N / (R * S), NEAR = wm_fft_wide_near(R);
    const C *w = wm_fft_wide_twiddles<N, R, S, C>.v + p;
    C near[NEAR], far = C{1, 0};
    WM_UNROLL
    for (int k = 1; k < NEAR; k++) {
        near[k] = w[wm_fft_wide_row(R, k) * M];
        v[k] = wm_fft_mul(v[k], near[k]);
    }
    WM_UNROLL
    for (int k = NEAR; k < R; k++) {
        if (k % NEAR == 0) far = w[wm_fft_wide_row(R, k) * M];
        v[k] = wm_fft_mul(v[k], k % NEAR ? wm_fft_mul(far, near[k % NEAR]) : far);
    }
}

/** As wm_fft_passes, E points a thread. */
template <int N, int E, int PASS, int S, class C>
WM_DEVICE void wm_fft_wide_passes(C *x, C *slab, int t) {
    constexpr int T = N / E, R = wm_fft_line_radix(N, E, PASS), SETS = E / R, M = N / (R * S);
    WM_UNROLL
    for (int u = 0; u < SETS; u++) {
        C v[R];
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = x[u + SETS * k];
        wm_fft_line_butterfly<R>(v);
        if constexpr (M > 1) wm_fft_wide_twist<N, R, S>(v, (t + T * u) / S);
        WM_UNROLL
        for (int k = 0; k < R; k++) x[u + SETS * k] = v[k];
    }
    if constexpr (M > 1) {
        wm_barrier();
        WM_UNROLL
        for (int u = 0; u < SETS; u++) {
            int i = t + T * u;
            C *to = slab + wm_fft_line_place<N, E>(i % S + S * R * (i / S));
            WM_UNROLL
            for (int k = 0; k < R; k++) to[wm_fft_line_place<N, E>(S * k)] = x[u + SETS * k];
        }
        wm_barrier();
        const C *from = slab + wm_fft_line_place<N, E>(t);
        WM_UNROLL
        for (int e = 0; e < E; e++) x[e] = from[wm_fft_line_place<N, E>(T * e)];
        wm_fft_wide_passes<N, E, PASS + 1, S * R>(x, slab, t);
    }
}

template <int N, wmDirection DIRECTION, int E, class C>
WM_DEVICE void wm_fft_wide_block(C (&x)[E], void *smem) {
    constexpr int B = (int)sizeof(C) / 2;
    static_assert(N == 8192 || (N == 16384 && B == 4), "8192, or in f32 16384");
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < E; e++) wm_fft_swap(x[e]);
    wm_fft_wide_passes<N, E, 0, 1>(x, static_cast<C *>(smem), wm_fft_forget(wm_thread()));
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < E; e++) wm_fft_swap(x[e]);
}

/** wmFftBlock of the lengths above, and of the shorter ones that have as many points a thread. Every thread of the
 * block; smem: wmFftSmem(N) a transform, aligned to 16 bytes; registers, error, source: see the top. */
template <int N, wmDirection DIRECTION, class C>
WM_DEVICE void wmFftBlock(C (&x)[16], void *smem) {
    constexpr int B = (int)sizeof(C) / 2, T = wmFftThreads(N, B);
    static_assert(wmFftElements(N, B) == 16, "x has wmFftElements(N) elements, in f64 wmFftElements(N, 8)");
    if constexpr (N <= WM_FFT_CIRCLE)
        wm_fft_group<N, DIRECTION>(x, static_cast<C *>(smem) + wm_thread() / T * wm_fft_slab(N, B), wm_thread() % T,
                                   false);
    else
        wm_fft_wide_block<N, DIRECTION>(x, smem);
}

/** The same by half the threads, 32 points each: f32. Every thread of the block; smem: wmFftSmem(N) a transform,
 * aligned to 16 bytes; registers, error, source: see the top. */
template <int N, wmDirection DIRECTION>
WM_DEVICE void wmFftBlock(wmC64 (&x)[32], void *smem) {
    wm_fft_wide_block<N, DIRECTION>(x, smem);
}

#endif
