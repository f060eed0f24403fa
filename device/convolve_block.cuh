/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a convolution in one block, compiled at plan time for one cut:
 *
 *     global, or zeros -> pass 0 -> slab … -> pass P - 1 · spectrum · pass P - 1 -> slab … -> pass 0 -> global
 *
 * The way there ends in reversed digits and the way back begins there (fft_mixed.cuh), so the product happens in the
 * registers of the last pass, and nothing is reordered. With `spread` arrays are columns, and neighbouring threads
 * belong to neighbouring columns.
 */
#ifndef WM_DEVICE_CONVOLVE_BLOCK_CUH
#define WM_DEVICE_CONVOLVE_BLOCK_CUH

#include "device/convolve_block.h"
#include "device/fft_block_passes.cuh"

/** Where the array of a transform begins; not active: it lies behind the last one. */
typedef struct wm_convolve_place {
    wm_i64 in, out, filter;
    bool active;
} wm_convolve_place;

WM_DEVICE wm_convolve_place wm_convolve_locate(const wm_convolve_block_job &p, wm_i64 number) {
    bool active = number < p.arrays;
    if (!active) number = 0;
    wm_i64 plane = WM_FFT_THE(spread) ? number / p.columns : number,
           column = WM_FFT_THE(spread) ? number % p.columns : 0;
    return wm_convolve_place{plane * p.in_stride + column, plane * p.out_stride + column,
                             plane * p.filter_stride + column, active};
}

template <class C>
WM_FFT_DEVICE C wm_convolve_fetch(const wm_convolve_block_job &p, const wm_convolve_place &at, int i) {
    using real = decltype(C().re);
    WM_FFT_FIXED FORM = WM_FFT_THE(form);
    C v = C{0, 0};
    if (!at.active || i >= p.given) return v;
    WM_FFT_IF(FORM == WM_CONVOLVE_COMPLEX) {
        v = wm_fft_load(static_cast<const C *>(p.in) + at.in + (WM_FFT_THE(spread) ? (wm_i64)i * p.step : i));
    }
    else {
        v.re = __ldcs(static_cast<const real *>(p.in) + at.in + i);
    }
    return v;
}

template <class C>
WM_FFT_DEVICE void wm_convolve_store(const wm_convolve_block_job &p, const wm_convolve_place &at, int i, C v) {
    using real = decltype(C().re);
    WM_FFT_FIXED FORM = WM_FFT_THE(form);
    i -= p.first;
    if (!at.active || i < 0 || i >= p.results) return;
    WM_FFT_IF(FORM == WM_CONVOLVE_COMPLEX) {
        static_cast<C *>(p.out)[at.out + (WM_FFT_THE(spread) ? (wm_i64)i * p.step : i)] = v;
    }
    else {
        __stcs(static_cast<real *>(p.out) + at.out + i, v.re);
    }
}

/** Element k of the filter's spectrum, of which real filters have one half. */
template <class C>
WM_FFT_DEVICE C wm_convolve_filter(const wm_convolve_block_job &p, const C *spectrum, int k) {
    WM_FFT_FIXED N = WM_FFT_THE(n);
    if (WM_FFT_THE(spread)) return spectrum[(wm_i64)k * p.step];
    if (WM_FFT_THE(form) == WM_CONVOLVE_COMPLEX) return spectrum[k];
    bool mirrored = 2 * k > N;
    C v = spectrum[mirrored ? N - k : k];
    if (mirrored) v.im = -v.im;
    if (k == 0 || 2 * k == N) v.im = 0;
    return v;
}

template <class C>
WM_FFT_DEVICE void wm_convolve_first(const wm_convolve_block_job &p, C *slab, const wm_convolve_place &at, int t) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0);
    WM_FFT_FIXED U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        C v[wm_fft_k::most()];
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = wm_convolve_fetch<C>(p, at, j + k * N);
        wm_fft_dft_of<wm_fft_k, 0>(v);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, v);
    }
}

/** The last pass, the product, and the last pass of the way back, which is a forward transform of conjugates. */
template <class C>
WM_FFT_DEVICE void wm_convolve_turn(const wm_convolve_block_job &p, C *slab, const wm_convolve_place &at, int t) {
    WM_FFT_FIXED P = wm_fft_k::passes(), R = wm_fft_k::radix(P - 1), M = WM_FFT_THE(n) / R, T = WM_FFT_THE(threads);
    WM_FFT_FIXED STEP = wm_fft_step<wm_fft_k>(P - 1), U = (M + T - 1) / T;
    const C *spectrum = static_cast<const C *>(p.filter) + at.filter;
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int q = t + T * u;
        if (M % T != 0 && q >= M) continue;
        const int slot = wm_fft_reversed<wm_fft_k>(q);
        C v[wm_fft_k::most()];
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = slab[slot + k * STEP];
        wm_fft_dft_last(v);
        WM_UNROLL
        for (int k = 0; k < R; k++) {
            v[k] = wm_fft_mul(v[k], wm_convolve_filter(p, spectrum, q + k * M));
            v[k].im = -v[k].im;
        }
        wm_fft_dft_last(v);
        WM_UNROLL
        for (int k = 0; k < R; k++) slab[slot + k * STEP] = v[k];
    }
}

template <class C>
WM_FFT_DEVICE void wm_convolve_last(const wm_convolve_block_job &p, C *slab, const wm_convolve_place &at, int t) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0);
    WM_FFT_FIXED U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        C v[wm_fft_k::most()];
        wm_fft_read<wm_fft_k, 0>(v, slab, slot);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), low);
        wm_fft_dft_of<wm_fft_k, 0>(v);
        WM_UNROLL
        for (int k = 0; k < R; k++) wm_convolve_store(p, at, j + k * N, C{v[k].re, -v[k].im});
    }
}

template <class C>
WM_DEVICE void wm_convolve_block_run(const wm_convolve_block_job &p) {
    WM_FFT_FIXED T = WM_FFT_THE(threads), B = WM_FFT_THE(batch), SPREAD = WM_FFT_THE(spread);
    const int g = SPREAD ? wm_thread() % B : wm_thread() / T, t = SPREAD ? wm_thread() / B : wm_thread() % T;
    C *slab = wm_shared<C>() + g * WM_FFT_THE(slab);
    const C *twiddles = static_cast<const C *>(p.twiddles);
    const wm_convolve_place at = wm_convolve_locate(p, (wm_i64)blockIdx.x * B + g);
    wm_convolve_first(p, slab, at, t);
    wm_fft_forward_middle<wm_fft_k, 1>(slab, twiddles, t);
    wm_fft_meet<wm_fft_k>();
    wm_convolve_turn(p, slab, at, t);
    wm_fft_backward_middle<wm_fft_k, 1>(slab, twiddles, t);
    wm_fft_meet<wm_fft_k>();
    wm_convolve_last(p, slab, at, t);
}

#ifdef WM_SIMT
WM_KERNEL wm_convolve_block_f32(WM_PARAMS(wm_convolve_block_job)) {
    wm_fft_cut_set(&p.cut);
    wm_convolve_block_run<wmC64>(p);
}
WM_KERNEL wm_convolve_block_f64(WM_PARAMS(wm_convolve_block_job)) {
    wm_fft_cut_set(&p.cut);
    wm_convolve_block_run<wmC128>(p);
}
#else
WM_KERNEL __launch_bounds__(WM_FFT_THE(threads) * WM_FFT_THE(batch), WM_FFT_THE(least_blocks))
    wm_convolve_block_kernel(WM_PARAMS(wm_convolve_block_job)) {
#if WM_FFT_F64
    wm_convolve_block_run<wmC128>(p);
#else
    wm_convolve_block_run<wmC64>(p);
#endif
}
#endif

#endif
