/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and draining the slabs of a block, element by element: for transforms that no pass can read or write as they
 * lie in memory. */
#ifndef WM_DEVICE_FFT_BLOCK_SLAB_CUH
#define WM_DEVICE_FFT_BLOCK_SLAB_CUH

#include "device/fft_block_ends.cuh"

/** Element e of a block of transforms of `width` elements: as they lie in memory, along transforms or across them. */
WM_DEVICE void wm_fft_deal(int e, int width, int *g, int *i) {
    WM_FFT_FIXED B = WM_FFT_THE(batch), SPREAD = WM_FFT_THE(spread);
    *g = SPREAD ? (int)((unsigned)e % B) : (int)((unsigned)e / width);
    *i = SPREAD ? (int)((unsigned)e / B) : (int)((unsigned)e % width);
}

template <class C>
WM_FFT_DEVICE void wm_fft_fill(const wm_fft_block_job &p, C *slabs, wm_i64 number) {
    WM_FFT_FIXED L = WM_FFT_THE(length), B = WM_FFT_THE(batch), N = WM_FFT_THE(n);
    WM_FFT_FIXED SLAB = WM_FFT_THE(slab), ALL = WM_FFT_THE(threads) * B;
    WM_FFT_FIXED WIDTH = WM_FFT_THE(core) == WM_FFT_BLUESTEIN ? N : L;
    [[maybe_unused]] WM_FFT_FIXED ROUNDS = (WIDTH * B + ALL - 1) / ALL, SOME = wm_fft_unrolled(ROUNDS);
    WM_FFT_UNROLL_SOME
    for (int u = 0; u < ROUNDS; u++) {
        int e = wm_thread() + ALL * u;
        int g, i;
        wm_fft_deal(e, WIDTH, &g, &i);
        wm_i64 in, out;
        if (e >= WIDTH * B) continue;
        C v = C{0, 0};
        if (i < L && number + g < p.count) {
            wm_fft_locate_element(p, number, g, e, i, &in, &out);
            v = wm_fft_fetch<C>(p, in, i);
        }
        int slot = i;
        WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_RADER) {
            slot = i ? wm_fft_slot<wm_fft_k>(static_cast<const int *>(p.order)[i]) : SLAB - 2;
        }
        else {
            slot = wm_fft_slot<wm_fft_k>(i);
        }
        slabs[g * SLAB + slot] = v;
    }
}

/** The slot of result k behind all passes. */
WM_DEVICE int wm_fft_result_slot(const wm_fft_block_job &p, int k) {
    WM_FFT_FIXED N = WM_FFT_THE(n), SLAB = WM_FFT_THE(slab);
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_RADER) {
        if (k == 0) return SLAB - 1;
        int log = static_cast<const int *>(p.order)[k]; /* X of g^-q is result q */
        return wm_fft_slot<wm_fft_k>(log ? N - log : 0);
    }
    else WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) {
        return wm_fft_slot<wm_fft_k>(k);
    }
    else {
        return wm_fft_output_slot<wm_fft_k>(k);
    }
}

template <class C>
WM_FFT_DEVICE void wm_fft_drain(const wm_fft_block_job &p, const C *slabs, wm_i64 number) {
    WM_FFT_FIXED L = WM_FFT_THE(length), B = WM_FFT_THE(batch), FORM = WM_FFT_THE(form);
    WM_FFT_FIXED SLAB = WM_FFT_THE(slab), ALL = WM_FFT_THE(threads) * B;
    WM_FFT_FIXED WIDTH = FORM == WM_FFT_REAL_EVEN ? L / 2 + 1 : FORM == WM_FFT_REAL_ANY ? L / 2 + 1 : L;
    [[maybe_unused]] WM_FFT_FIXED ROUNDS = (WIDTH * B + ALL - 1) / ALL, SOME = wm_fft_unrolled(ROUNDS);
    WM_FFT_UNROLL_SOME
    for (int u = 0; u < ROUNDS; u++) {
        int e = wm_thread() + ALL * u;
        int g, k;
        wm_fft_deal(e, WIDTH, &g, &k);
        wm_i64 in, out;
        if (e >= WIDTH * B || number + g >= p.count) continue;
        wm_fft_locate_element(p, number, g, e, k, &in, &out);
        const C *slab = slabs + g * SLAB;
        C v = slab[wm_fft_result_slot(p, k)];
        WM_FFT_IF(FORM == WM_FFT_REAL_EVEN) {
            C other = slab[wm_fft_result_slot(p, k ? L - k : 0)];
            WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) {
                v = wm_fft_mul(v, static_cast<const C *>(p.chirp)[k]);
                other = wm_fft_mul(other, static_cast<const C *>(p.chirp)[k ? L - k : 0]);
            }
            wm_fft_put_pair(p, out, k, v, other);
        }
        else {
            wm_fft_put(p, out, k, v);
        }
    }
}

#endif
