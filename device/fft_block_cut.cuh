/* SPDX-License-Identifier: Apache-2.0 */
/* The cut that a kernel of fft_block.cuh is compiled for, as constants; under the emulation it is read from the job. */
#ifndef WM_DEVICE_FFT_BLOCK_CUT_CUH
#define WM_DEVICE_FFT_BLOCK_CUT_CUH

#include <warpmath/device/fft_mixed.cuh>

#include "device/fft_block.h"

#ifdef WM_SIMT
static const wm_fft_cut *wm_fft_cut_now;

/** Each thread of a launch sets the same; no device code, so it is not watched. */
static __attribute__((no_sanitize_thread, noinline)) void wm_fft_cut_set(const wm_fft_cut *cut) {
    wm_fft_cut_now = cut;
}
#define WM_FFT_CUT_IS static int
#define WM_FFT_CUT_OF(x) wm_fft_cut_now->x
#else
static constexpr __device__ wm_fft_cut wm_fft_cut_now = {WM_FFT_CUT};
#define WM_FFT_CUT_IS static constexpr __host__ __device__ int
#define WM_FFT_CUT_OF(x) wm_fft_cut_now.x
#endif

/** The cut as the passes know it. */
struct wm_fft_shape {
    WM_FFT_CUT_IS n() {
        return WM_FFT_CUT_OF(n);
    }
    WM_FFT_CUT_IS passes() {
        return WM_FFT_CUT_OF(passes);
    }
    WM_FFT_CUT_IS radix(int pass) {
        return WM_FFT_CUT_OF(radix[pass & 7]);
    }
    WM_FFT_CUT_IS threads() {
        return WM_FFT_CUT_OF(threads);
    }
    WM_FFT_CUT_IS pad(int level) {
        return level < 3 ? WM_FFT_CUT_OF(pad[level]) : 0;
    }
    WM_FFT_CUT_IS in_warp() {
        return !WM_FFT_CUT_OF(spread) && WM_WARP % WM_FFT_CUT_OF(threads) == 0;
    }
#ifdef WM_SIMT
    static constexpr int most() {
        return 64;
    }
#else
    WM_FFT_CUT_IS most() {
        return WM_FFT_CUT_OF(most);
    }
#endif
};

typedef wm_fft_shape wm_fft_k;

#define WM_FFT_THE(x) WM_FFT_CUT_OF(x)

#endif
