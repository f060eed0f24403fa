/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that use fft_wide.cuh and fft_cluster.cuh as a user would: a transform, and back. Their butterflies take the
 * sanitizers' compilers minutes: there two stand for all (WM_SIMT_FEW).
 */
#include <warpmath/device/fft_cluster.cuh>
#include <warpmath/device/fft_thread.cuh>
#include <warpmath/device/fft_wide.cuh>

#include "device.h"

static_assert(wmFftSmem(8192) == (8192 + 512) * 8 && wmFftSmem(16384) == (16384 + 1024) * 8 &&
                  wmFftSmem(8192, 8) == (8192 + 512) * 16,
              "what test_simt_device.c gives them");
static_assert(wmFftClusterSmem(16384) == 16 + 16 * 137 * 8 && wmFftClusterSmem(32768) == 16 + 32 * 137 * 8 &&
                  wmFftClusterThreads(16384) == 128 && wmFftClusterBlocks(32768) == 8,
              "what test_simt_device.c gives them");

/* One piece of code for both: the inverse is the forward transform between two exchanges of re and im. */
template <int N, int E, class C>
WM_DEVICE void wm_device_wide_of(const wm_device_fft &p) {
    using real = decltype(C().re);
    C x[E], *in = reinterpret_cast<C *>(p.x), *out = reinterpret_cast<C *>(p.y);
    wmFftReadOnce<N>(x, in);
#pragma unroll 1
    for (int back = 0; back < 2; back++) {
        wmFftBlock<N, WM_FORWARD>(x, wm_shared<unsigned char>());
        wm_barrier();
        if (!back) wmFftWrite<N>(in, x);
        WM_UNROLL
        for (int e = 0; e < E; e++) x[e] = C{x[e].im, x[e].re};
    }
    wmFftScaleBy(x, (real)1 / N);
    wmFftWriteOnce<N>(out, x);
}
WM_KERNEL __launch_bounds__(512) wm_device_fft_8192_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_wide_of<8192, 16, wmC64>(p);
}
#ifndef WM_SIMT_FEW
WM_KERNEL __launch_bounds__(1024) wm_device_fft_16384_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_wide_of<16384, 16, wmC64>(p);
}
WM_KERNEL __launch_bounds__(512) wm_device_fft_16384_by_32_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_wide_of<16384, 32, wmC64>(p);
}
WM_KERNEL __launch_bounds__(512) wm_device_fft_8192_f64_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_wide_of<8192, 16, wmC128>(p);
}
#endif

template <int N, class C>
WM_DEVICE void wm_device_cluster_of(const wm_device_fft &p) {
    using real = decltype(C().re);
    constexpr int B = (int)sizeof(real);
    C x[16], *in = reinterpret_cast<C *>(p.x), *out = reinterpret_cast<C *>(p.y);
    WM_UNROLL
    for (int e = 0; e < 16; e++) x[e] = in[wmFftClusterFrom<N, WM_FFT_OUT, B>(e)];
    wmFftCluster<N, WM_FORWARD>(x, wm_shared<unsigned char>(), 0);
    WM_UNROLL
    for (int e = 0; e < 16; e++) in[wmFftClusterTo<N, WM_FFT_OUT, B>(e)] = x[e]; /* all have read it */
    wmFftCluster<N, WM_INVERSE, WM_FFT_BACK>(x, wm_shared<unsigned char>(), 1);
    wmFftScaleBy(x, (real)1 / N);
    WM_UNROLL
    for (int e = 0; e < 16; e++) out[wmFftClusterTo<N, WM_FFT_BACK, B>(e)] = x[e];
}
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__) /* the host sees them all */
WM_KERNEL __launch_bounds__(256) wm_device_cluster_32768_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_cluster_of<32768, wmC64>(p);
}
#ifndef WM_SIMT_FEW
WM_KERNEL __launch_bounds__(128) wm_device_cluster_16384_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_cluster_of<16384, wmC64>(p);
}
WM_KERNEL __launch_bounds__(128) wm_device_cluster_8192_f64_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_cluster_of<8192, wmC128>(p);
}
#endif
#endif
