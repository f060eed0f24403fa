/* SPDX-License-Identifier: Apache-2.0 */
/* The first and the last pass of fft_block.cuh, which meet global memory, for one thread. */
#ifndef WM_DEVICE_FFT_BLOCK_PASSES_CUH
#define WM_DEVICE_FFT_BLOCK_PASSES_CUH

#include "device/fft_block_ends.cuh"

/** The elements of butterfly j of the first pass, from global memory. */
template <class C>
WM_FFT_DEVICE void wm_fft_load_round(const wm_fft_block_job &p, C *v, wm_i64 in, int j, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0);
    WM_FFT_FIXED L = WM_FFT_THE(length), ALL = WM_FFT_THE(n);
    WM_UNROLL
    for (int k = 0; k < R; k++) {
        v[k] = C{0, 0};
        if (active && wm_fft_has<wm_fft_k, 0>(j) && (L >= ALL || j + k * N < L))
            v[k] = wm_fft_fetch<C>(p, in, j + k * N);
    }
}

/** All that a thread reads in the first pass: it is on its way before the first is used. */
template <class C>
WM_DEVICE void wm_fft_load_first(const wm_fft_block_job &p, C *x, wm_i64 in, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_UNROLL
    for (int u = 0; u < U; u++) wm_fft_load_round(p, x + u * R, in, t + T * u, active);
}

/** The first pass of several, from the registers x or (fill) from the slab, to the slab. */
template <class C>
WM_FFT_DEVICE void wm_fft_first(const wm_fft_block_job &p, C *slab, C *x, wm_i64 in, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        C *v = WM_FFT_THE(ahead) ? x + u * R : x;
        WM_FFT_IF(WM_FFT_THE(fill)) {
            wm_fft_read<wm_fft_k, 0>(v, slab, slot);
        }
        else WM_FFT_IF(!WM_FFT_THE(ahead)) {
            wm_fft_load_round(p, v, in, j, active);
        }
        wm_fft_dft_of<wm_fft_k, 0>(v);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, v);
    }
}

/**
 * The first pass of a C2R transform: a thread does butterflies i and N - i, whose elements are made from the same
 * pairs, so that each is read once. Thread 0 does 0 and N / 2, each of which has its pairs in itself.
 */
template <class C>
WM_FFT_DEVICE void wm_fft_first_pairs(const wm_fft_block_job &p, C *slab, wm_i64 in, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_FFT_FIXED PAIRS = (N + 1) / 2, U = (PAIRS + T - 1) / T;
    const C *row = static_cast<const C *>(p.in) + in;
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int i = t + T * u, other = i ? N - i : N / 2, low;
        if (PAIRS % T != 0 && i >= PAIRS) continue;
        C a[wm_fft_k::most()], b[wm_fft_k::most()], none;
        WM_UNROLL
        for (int k = 0; k < R; k++) a[k] = b[k] = C{0, 0};
        if (active && i) {
            WM_UNROLL
            for (int k = 0; k < R; k++) wm_fft_join_pair(p, row, i + k * N, &a[k], &b[R - 1 - k]);
        } else if (active) {
            wm_fft_join_pair(p, row, 0, &a[0], &none);
            WM_UNROLL
            for (int k = 1; 2 * k <= R; k++) {
                C z, y;
                wm_fft_join_pair(p, row, k * N, &z, &y);
                a[R - k] = y;
                a[k] = z;
            }
            WM_UNROLL
            for (int k = 0; N % 2 == 0 && 2 * k < R; k++) {
                C z, y;
                wm_fft_join_pair(p, row, N / 2 + k * N, &z, &y);
                b[R - 1 - k] = y;
                b[k] = z;
            }
        }
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(i, &low);
        wm_fft_dft_of<wm_fft_k, 0>(a);
        wm_fft_twist<wm_fft_k, 0>(a, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, a);
        if (N % 2 != 0 && i == 0) continue;
        slot = wm_fft_butterfly_slot<wm_fft_k, 0>(other, &low);
        wm_fft_dft_of<wm_fft_k, 0>(b);
        wm_fft_twist<wm_fft_k, 0>(b, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, b);
    }
}

/** The butterfly of the last pass, whichever it is. */
template <class C>
WM_DEVICE void wm_fft_dft_last(C *v) {
#ifdef WM_SIMT
    wm_fft_dft_any<WM_FFT_UNITS>(wm_fft_k::radix(wm_fft_k::passes() - 1), v);
#else
    wm_fft_dft<wm_fft_k::radix(wm_fft_k::passes() - 1)>(v);
#endif
}

/** v, outputs q + k M of the forward network, times the spectrum; then back through the last pass. */
template <class C>
WM_FFT_DEVICE void wm_fft_multiply(const wm_fft_block_job &p, C *slab, C *v, int q) {
    WM_FFT_FIXED R = wm_fft_k::radix(wm_fft_k::passes() - 1), M = WM_FFT_THE(n) / R, SLAB = WM_FFT_THE(slab);
    const C *spectrum = static_cast<const C *>(p.spectrum);
    C sum = v[0];
    WM_UNROLL
    for (int k = 0; k < R; k++) v[k] = wm_fft_mul(v[k], spectrum[q + k * M]);
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_RADER) {
        if (q == 0) { /* the first element is in every result, and all of them are in the first result */
            C first = slab[SLAB - 2];
            slab[SLAB - 1] = wm_fft_add(first, sum);
            v[0] = wm_fft_add(v[0], first);
        }
    }
    WM_UNROLL
    for (int k = 0; k < R; k++) v[k].im = -v[k].im; /* the way back is a forward transform, too */
    wm_fft_dft_last(v);
}

/** The last pass: from the slab, or (a single pass) from the registers x; to global memory or back to the slab. */
template <class C>
WM_FFT_DEVICE void wm_fft_last(const wm_fft_block_job &p, C *slab, C *x, wm_i64 out, int t, bool active) {
    WM_FFT_FIXED P = wm_fft_k::passes(), R = wm_fft_k::radix(P - 1), M = WM_FFT_THE(n) / R, T = WM_FFT_THE(threads);
    WM_FFT_FIXED STEP = wm_fft_step<wm_fft_k>(P - 1), U = (M + T - 1) / T, CORE = WM_FFT_THE(core);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int q = t + T * u;
        if (M % T != 0 && q >= M) continue;
        C local[wm_fft_k::most()], *v = P == 1 ? x + u * R : local;
        const int slot = wm_fft_reversed<wm_fft_k>(q);
        if (P > 1 || WM_FFT_THE(fill)) {
            WM_UNROLL
            for (int k = 0; k < R; k++) v[k] = slab[slot + k * STEP];
        }
        wm_fft_dft_last(v);
        WM_FFT_IF(CORE != WM_FFT_PLAIN) wm_fft_multiply(p, slab, v, q);
        if (CORE != WM_FFT_PLAIN || WM_FFT_THE(drain)) {
            WM_UNROLL
            for (int k = 0; k < R; k++) {
                slab[slot + k * STEP] = v[k];
            }
        } else if (active) {
            WM_UNROLL
            for (int k = 0; k < R; k++) wm_fft_put(p, out, q + k * M, v[k]);
        }
    }
}

/** The last pass of an R2C transform: a thread does butterflies i and M - i, which hold each other's partners. */
template <class C>
WM_FFT_DEVICE void wm_fft_last_pairs(const wm_fft_block_job &p, const C *slab, wm_i64 out, int t, bool active) {
    WM_FFT_FIXED P = wm_fft_k::passes(), R = wm_fft_k::radix(P - 1), M = WM_FFT_THE(n) / R, T = WM_FFT_THE(threads);
    WM_FFT_FIXED STEP = wm_fft_step<wm_fft_k>(P - 1), PAIRS = (M + 1) / 2, U = (PAIRS + T - 1) / T;
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int i = t + T * u, other = i ? M - i : M / 2;
        if (PAIRS % T != 0 && i >= PAIRS) continue;
        C a[wm_fft_k::most()], b[wm_fft_k::most()];
        const C *from = slab + wm_fft_reversed<wm_fft_k>(i), *there = slab + wm_fft_reversed<wm_fft_k>(other);
        WM_UNROLL
        for (int k = 0; k < R; k++) a[k] = from[k * STEP], b[k] = there[k * STEP];
        wm_fft_dft_last(a);
        wm_fft_dft_last(b);
        if (active && i) {
            WM_UNROLL
            for (int k = 0; k < R; k++) wm_fft_put_pair(p, out, i + k * M, a[k], b[R - 1 - k]);
        } else if (active) {
            WM_UNROLL
            for (int k = 0; 2 * k <= R; k++) wm_fft_put_pair(p, out, k * M, a[k], a[(R - k) % R]);
            WM_UNROLL
            for (int k = 0; M % 2 == 0 && 2 * k < R; k++) wm_fft_put_pair(p, out, M / 2 + k * M, b[k], b[R - 1 - k]);
        }
    }
}

/** The first pass of the way back: results in natural order. */
template <class C>
WM_FFT_DEVICE void wm_fft_back_first(const wm_fft_block_job &p, C *slab, wm_i64 out, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_FFT_FIXED N = wm_fft_weight<wm_fft_k>(0), L = WM_FFT_THE(length);
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
        for (int k = 0; k < R; k++) v[k].im = -v[k].im;
        WM_FFT_IF(WM_FFT_THE(drain)) {
            wm_fft_write<wm_fft_k, 0>(slab, slot, v);
        }
        else if (active) {
            WM_UNROLL
            for (int k = 0; k < R; k++)
                if (j + k * N < L) wm_fft_put(p, out, j + k * N, v[k]);
        }
    }
}

#endif
