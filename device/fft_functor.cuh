/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of 16 bits and functors, as kernels see them. What run-time compilation puts before this header defines
 * WM_FFT_LOAD and WM_FFT_STORE as names of the user's functions; under the emulation, which cannot compile, the
 * functions of the CPU place are called.
 */
#ifndef WM_DEVICE_FFT_FUNCTOR_CUH
#define WM_DEVICE_FFT_FUNCTOR_CUH

#include <warpmath/device/fft.cuh>
#include <warpmath/device/float.cuh>

#include "device/fft_stage.h"

WM_DEVICE float wm_fft_widen(int stored, wm_u32 bits) {
    return stored == WM_FFT_STORED_F16 ? wm_f16_to_f32(wm_f16{(wm_u16)bits}) : wm_bf16_to_f32(wm_bf16{(wm_u16)bits});
}

WM_DEVICE wm_u32 wm_fft_narrow(int stored, float x) {
    return stored == WM_FFT_STORED_F16 ? wm_f32_to_f16(x).bits : wm_f32_to_bf16(x).bits;
}

#ifdef WM_SIMT
#include <warpmath/fft.h>
typedef wmFftPair (*wm_fft_load_host)(const void *, int64_t, int64_t, const void *);
typedef void (*wm_fft_store_host)(void *, int64_t, int64_t, wmFftPair, const void *);
#endif

/** `host`: the functor under the emulation. */
template <class C>
WM_DEVICE C wm_fft_call_load(const void *host, const void *in, wm_i64 index, wm_i64 position, const void *user) {
    using real = decltype(C().re);
    (void)host, (void)in, (void)index, (void)position, (void)user;
#if defined(WM_SIMT)
    wmFftPair v = reinterpret_cast<wm_fft_load_host>(const_cast<void *>(host))(in, index, position, user);
    return C{(real)v.re, (real)v.im};
#elif defined(WM_FFT_LOAD)
    return WM_FFT_LOAD(in, index, position, user);
#else
    return C{(real)0, (real)0};
#endif
}

template <class C>
WM_DEVICE void wm_fft_call_store(const void *host, void *out, wm_i64 index, wm_i64 position, C v, const void *user) {
    (void)host, (void)out, (void)index, (void)position, (void)v, (void)user;
#if defined(WM_SIMT)
    wmFftPair pair = {v.re, v.im};
    reinterpret_cast<wm_fft_store_host>(const_cast<void *>(host))(out, index, position, pair, user);
#elif defined(WM_FFT_STORE)
    WM_FFT_STORE(out, index, position, v, user);
#endif
}

#endif
