/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms inside a thread and inside a warp, and small helpers around wmFftBlock (fft.cuh).
 *
 *   wmFftThread<N, WM_FORWARD>(x)        N = 2, 4, 8 or 16, all in the registers of one thread, in order. Any thread
 *                                        may call. No shared memory; registers: x and as many again
 *   wmFftWarp<N, WM_FORWARD>(x, smem)    N up to 512 (f64: 256): T = wmFftThreads(N) lanes hold one transform, so the
 *                                        warp holds 32 / T. All lanes of the warp call, others need not. smem: this
 *                                        warp's own, wmFftSmem(N) · 32 / T bytes. Otherwise as wmFftBlock
 *   wmFftRead<N>(x, in), wmFftWrite<N>(out, x)   the registers of a transform from and to consecutive memory
 *   wmFftReadOnce<N>(x, in), wmFftWriteOnce<N>(out, x)   the same for global memory that is not used again soon: first
 *                                        to leave the caches, which is worth 3 to 9 % where much memory is passed over
 *   wmFftScaleBy(x, by), wmFftTimes(a, b)          products
 *
 * Accuracy as wmFftBlock: relative error in the 2-norm a small multiple of the type's rounding, growing with log N.
 *
 * Registers: what a kernel for sm_90a takes that does nothing else. Source: fft.cuh.
 */
#ifndef WARPMATH_DEVICE_FFT_THREAD_CUH
#define WARPMATH_DEVICE_FFT_THREAD_CUH

#include <warpmath/device/fft_line.cuh>

/** Transforms x in place, unscaled; element k of the result is x[k]. Any thread; 18 registers (N = 4) to 40 (16);
 * error, source: see the top. */
template <int N, wmDirection DIRECTION, class C>
WM_DEVICE void wmFftThread(C (&x)[N]) {
    static_assert(N == 2 || N == 4 || N == 8 || N == 16, "N is 2, 4, 8 or 16");
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < N; e++) wm_fft_swap(x[e]);
    wm_fft_butterfly<N>(x);
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < N; e++) wm_fft_swap(x[e]);
}

/** Transforms x in place, unscaled; register e is element lane mod T + T e, before and after. All lanes of the warp;
 * smem: the warp's own wmFftSmem(N) a transform, aligned to 16 bytes; 50 registers (N = 256); error, source: see the
 * top. */
template <int N, wmDirection DIRECTION, class C, int E>
WM_DEVICE void wmFftWarp(C (&x)[E], void *smem) {
    constexpr int B = (int)sizeof(C) / 2, T = wmFftThreads(N, B);
    static_assert(T <= WM_WARP, "a warp holds transforms of up to 512 points, in f64 256");
    static_assert(E == wmFftElements(N, B), "x has wmFftElements(N) elements, in f64 wmFftElements(N, 8)");
    C *slab = static_cast<C *>(smem) + wm_lane() / T * wm_fft_slab(N, B);
    wm_fft_group<N, DIRECTION>(x, slab, wm_lane() % T, false);
}

/** x of a transform that lies at `in`, consecutive: neighbouring threads read neighbours. The other elements are found
 * from the first one by constants: an index each would cost registers that the transform wants. Any thread; `in`
 * aligned to a complex number; registers: x and 8; exact; source: see the top. */
template <int N, class C, int E>
WM_DEVICE void wmFftRead(C (&x)[E], const C *in) {
    in += wm_thread() % (N / E);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = in[N / E * e];
}

/** As wmFftRead, from global memory that is not read again soon. Any thread; alignment, registers likewise; exact;
 * source: see the top. */
template <int N, class C, int E>
WM_DEVICE void wmFftReadOnce(C (&x)[E], const C *in) {
    in += wm_thread() % (N / E);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = wm_fft_load_once(in + N / E * e);
}

/** The way back. Any thread; `out` aligned to a complex number; registers: x and 8; exact; source: see the top. */
template <int N, class C, int E>
WM_DEVICE void wmFftWrite(C *out, const C (&x)[E]) {
    out += wm_thread() % (N / E);
    WM_UNROLL
    for (int e = 0; e < E; e++) out[N / E * e] = x[e];
}

/** As wmFftWrite, to global memory that is not read soon. Any thread; alignment, registers likewise; exact; source: see
 * the top. */
template <int N, class C, int E>
WM_DEVICE void wmFftWriteOnce(C *out, const C (&x)[E]) {
    out += wm_thread() % (N / E);
    WM_UNROLL
    for (int e = 0; e < E; e++) wm_fft_store_once(out + N / E * e, x[e]);
}

/** x times a real number: 1 / N behind an inverse transform. Any thread; no more registers; each rounded once; source:
 * see the top. */
template <class C, int E, class R>
WM_DEVICE void wmFftScaleBy(C (&x)[E], R by) {
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = C{x[e].re * by, x[e].im * by};
}

/** The product of two complex numbers. Any thread; 12 registers; two roundings a part; source: see the top. */
template <class C>
WM_DEVICE C wmFftTimes(C a, C b) {
    return wm_fft_mul(a, b);
}

#endif
