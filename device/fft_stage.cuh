/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of one stage: an element a thread and step, packed elements in order. */
#ifndef WM_DEVICE_FFT_STAGE_CUH
#define WM_DEVICE_FFT_STAGE_CUH

#include "device/fft_functor.cuh"

/** I: the type of indices; divisions in 64 bits are four times as slow as in 32. */
template <class I>
WM_DEVICE wm_fft_spot wm_fft_stage_spot(const wm_fft_stage &p, wm_i64 i) {
    wm_fft_spot spot = {0, 0, 0};
    I rest = (I)i;
    for (int k = 0; k < p.dims; k++) {
        I next = k + 1 < p.dims ? rest / (I)p.n[k] : 0; /* the outermost index is what is left */
        wm_i64 at = (wm_i64)(rest - next * (I)p.n[k]);
        spot.callers += at * p.callers[k];
        spot.packed += at * p.packed[k];
        spot.position += at * p.weight[k];
        rest = next;
    }
    return spot;
}

/** Pairs of 16 bits as two accesses, and f32. */
WM_DEVICE void wm_fft_stage_apart(const wm_fft_stage &p, const wm_fft_spot &at) {
    const int S = p.stored;
    if (p.is_store) {
        wmC64 v = static_cast<const wmC64 *>(p.from)[at.packed];
        wm_u16 *to = static_cast<wm_u16 *>(p.to) + 2 * at.callers;
        to[0] = (wm_u16)wm_fft_narrow(S, v.re), to[1] = (wm_u16)wm_fft_narrow(S, v.im);
    } else {
        const wm_u16 *from = static_cast<const wm_u16 *>(p.from) + 2 * at.callers;
        static_cast<wmC64 *>(p.to)[at.packed] = wmC64{wm_fft_widen(S, from[0]), wm_fft_widen(S, from[1])};
    }
}

/** Elements of 16 bits, alone or in aligned pairs, and f32. */
WM_DEVICE void wm_fft_stage_narrow(const wm_fft_stage &p, const wm_fft_spot &at) {
    const int S = p.stored;
    if (p.reals == 2 && p.apart) {
        wm_fft_stage_apart(p, at);
    } else if (p.reals == 2 && p.is_store) {
        wmC64 v = static_cast<const wmC64 *>(p.from)[at.packed];
        static_cast<wm_u32 *>(p.to)[at.callers] = wm_fft_narrow(S, v.re) | wm_fft_narrow(S, v.im) << 16;
    } else if (p.reals == 2) {
        wm_u32 bits = static_cast<const wm_u32 *>(p.from)[at.callers];
        static_cast<wmC64 *>(p.to)[at.packed] = wmC64{wm_fft_widen(S, bits & 0xffff), wm_fft_widen(S, bits >> 16)};
    } else if (p.is_store) {
        static_cast<wm_u16 *>(p.to)[at.callers] =
            (wm_u16)wm_fft_narrow(S, static_cast<const float *>(p.from)[at.packed]);
    } else {
        static_cast<float *>(p.to)[at.packed] = wm_fft_widen(S, static_cast<const wm_u16 *>(p.from)[at.callers]);
    }
}

template <class C>
WM_DEVICE void wm_fft_stage_functor(const wm_fft_stage &p, const wm_fft_spot &at) {
    using real = decltype(C().re);
    if (p.is_store) {
        C v = C{0, 0};
        if (p.reals == 2) {
            v = static_cast<const C *>(p.from)[at.packed];
        } else {
            v.re = static_cast<const real *>(p.from)[at.packed];
        }
        wm_fft_call_store(p.host, p.to, at.callers, at.position, v, p.user);
        return;
    }
    C v = wm_fft_call_load<C>(p.host, p.from, at.callers, at.position, p.user);
    if (p.reals == 2) {
        static_cast<C *>(p.to)[at.packed] = v;
    } else {
        static_cast<real *>(p.to)[at.packed] = v.re;
    }
}

template <class I>
WM_DEVICE void wm_fft_stage_all(const wm_fft_stage &p) {
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        wm_fft_spot at = wm_fft_stage_spot<I>(p, i);
        if (p.stored != WM_FFT_STORED_BY_FUNCTOR) {
            wm_fft_stage_narrow(p, at);
        } else if (p.f64) {
#if defined(WM_SIMT) || WM_FFT_STAGE_F64
            wm_fft_stage_functor<wmC128>(p, at);
#endif
        } else {
#if defined(WM_SIMT) || !WM_FFT_STAGE_F64
            wm_fft_stage_functor<wmC64>(p, at);
#endif
        }
    }
}

/* Compiled with the library it is for elements of 16 bits, at plan time for a functor. */
WM_KERNEL __launch_bounds__(256) wm_fft_stage_kernel(WM_PARAMS(wm_fft_stage)) {
    if (p.count <= 0xffffffff) {
        wm_fft_stage_all<wm_u32>(p);
    } else {
        wm_fft_stage_all<wm_u64>(p);
    }
}

#endif
