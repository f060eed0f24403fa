/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of one transform, or several, a block: compiled at plan time for one cut, WM_FFT_CUT being the list of its
 * numbers. Under the emulation one kernel a type reads the cut from its parameter.
 *
 *     global -> registers -> pass 0 -> slab -> passes … -> slab -> pass P - 1 -> registers -> global
 *
 * With `fill` the slab is filled first, so that short or permuted transforms are read as they lie in memory; with
 * `drain` the last pass returns to the slab. Rader's and Bluestein's convolutions multiply in the registers of the last
 * pass, and go back through the same passes.
 */
#ifndef WM_DEVICE_FFT_BLOCK_CUH
#define WM_DEVICE_FFT_BLOCK_CUH

#include "device/fft_block_passes.cuh"
#include "device/fft_block_slab.cuh"

/** What a thread is in its block: transform g of it, thread t of that one. */
typedef struct wm_fft_seat {
    int g, t;
} wm_fft_seat;

WM_DEVICE wm_fft_seat wm_fft_seat_of(void) {
    WM_FFT_FIXED T = WM_FFT_THE(threads), B = WM_FFT_THE(batch), SPREAD = WM_FFT_THE(spread);
    unsigned i = threadIdx.x;
    return SPREAD ? wm_fft_seat{(int)(i % B), (int)(i / B)} : wm_fft_seat{(int)(i / T), (int)(i % T)};
}

/** Brings the first pass of transforms `number` … on its way. */
template <class C>
WM_DEVICE void wm_fft_begin(const wm_fft_block_job &p, C *slabs, C *x, wm_i64 number, wm_fft_seat seat) {
    bool active = number + seat.g < p.count; /* the others still meet at barriers */
    WM_FFT_IF(WM_FFT_THE(fill)) {
        wm_fft_fill(p, slabs, number);
    }
    else WM_FFT_IF(WM_FFT_THE(ahead)) {
        wm_i64 in, out;
        wm_fft_locate(p, active ? number + seat.g : 0, &in, &out);
        wm_fft_load_first(p, x, in, seat.t, active);
    }
}

/** All passes behind the first one. */
template <class C>
WM_FFT_DEVICE void wm_fft_finish(const wm_fft_block_job &p, C *slabs, C *x, wm_i64 number, wm_fft_seat seat) {
    WM_FFT_FIXED P = wm_fft_k::passes();
    bool active = number + seat.g < p.count;
    C *slab = slabs + seat.g * WM_FFT_THE(slab);
    const C *twiddles = static_cast<const C *>(p.twiddles);
    wm_i64 in, out;
    wm_fft_locate(p, active ? number + seat.g : 0, &in, &out);
    wm_fft_forward_middle<wm_fft_k, 1>(slab, twiddles, seat.t);
    WM_FFT_IF(P > 1) wm_fft_meet<wm_fft_k>();
    WM_FFT_IF(WM_FFT_THE(pairs) && WM_FFT_THE(form) == WM_FFT_REAL_EVEN) {
        wm_fft_last_pairs(p, slab, out, seat.t, active);
    }
    else {
        wm_fft_last(p, slab, x, out, seat.t, active);
    }
    WM_FFT_IF(WM_FFT_THE(core) != WM_FFT_PLAIN) {
        wm_fft_backward_middle<wm_fft_k, 1>(slab, twiddles, seat.t);
        wm_fft_meet<wm_fft_k>();
        wm_fft_back_first(p, slab, out, seat.t, active);
    }
    WM_FFT_IF(WM_FFT_THE(drain)) {
        wm_barrier();
        wm_fft_drain(p, slabs, number);
    }
}

template <class C>
WM_DEVICE void wm_fft_block_run(const wm_fft_block_job &p) {
    WM_FFT_FIXED P = wm_fft_k::passes(), B = WM_FFT_THE(batch);
    C x[wm_fft_k::most()], *slabs = wm_shared<C>();
    const wm_fft_seat seat = wm_fft_seat_of();
    wm_i64 number = (wm_i64)blockIdx.x * B;
    wm_fft_begin(p, slabs, x, number, seat);
    for (;;) {
        WM_FFT_IF(WM_FFT_THE(fill)) wm_barrier();
        WM_FFT_IF(P > 1) {
            wm_i64 in, out;
            bool active = number + seat.g < p.count;
            wm_fft_locate(p, active ? number + seat.g : 0, &in, &out);
            C *slab = slabs + seat.g * WM_FFT_THE(slab);
            WM_FFT_IF(WM_FFT_THE(pairs) && WM_FFT_THE(form) == WM_FFT_HALF_EVEN) {
                wm_fft_first_pairs(p, slab, in, seat.t, active);
            }
            else {
                wm_fft_first(p, slab, x, in, seat.t, active);
            }
        }
        WM_FFT_IF(!WM_FFT_THE(persist)) {
            wm_fft_finish(p, slabs, x, number, seat);
            return;
        }
        /* What comes next is read while the passes run, into registers that they do not need (P > 1, no fill). */
        wm_i64 now = number;
        number += (wm_i64)gridDim.x * B;
        if (number < p.count) wm_fft_begin(p, slabs, x, number, seat);
        wm_fft_finish(p, slabs, x, now, seat);
        if (number >= p.count) return;
        wm_barrier(); /* the slab is free */
    }
}

#ifdef WM_SIMT
WM_KERNEL wm_fft_block_f32(WM_PARAMS(wm_fft_block_job)) {
    wm_fft_cut_set(&p.cut);
    wm_fft_block_run<wmC64>(p);
}
WM_KERNEL wm_fft_block_f64(WM_PARAMS(wm_fft_block_job)) {
    wm_fft_cut_set(&p.cut);
    wm_fft_block_run<wmC128>(p);
}
#else
WM_KERNEL __launch_bounds__(WM_FFT_THE(threads) * WM_FFT_THE(batch), WM_FFT_THE(least_blocks))
    wm_fft_block_kernel(WM_PARAMS(wm_fft_block_job)) {
#if WM_FFT_F64
    wm_fft_block_run<wmC128>(p);
#else
    wm_fft_block_run<wmC64>(p);
#endif
}
#endif

#endif
