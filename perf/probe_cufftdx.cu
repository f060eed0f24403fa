/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block transforms of the device API beside cuFFTDx's, in kernels of the same shape: read registers, transform, write,
 * both by streaming loads and stores. 2^26 points of random data, out of place; cuFFTDx by its own choice of elements a
 * thread and transforms a block, and with 8, 16 and 32 elements a thread; the best counts. Prints CSV; recorded in
 * perf/results/h200/. cuFFTDx is not a part of warpmath: this program is built by hand where its headers are (MATHDX).
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -Iexamples/device -I$MATHDX/include \
 *          -I$MATHDX/external/cutlass/include perf/probe_cufftdx.cu build/dev/libwarpmath.a -o build/dev/probe_cufftdx
 */
#include <warpmath/device/fft_thread.cuh>
#include <warpmath/device/fft_wide.cuh>

#include <warpmath/device/random.h>

#include "check.h"

#include <cufftdx.hpp>

enum { POINTS = 1 << 26 };

static wmC64 *in, *out;

/* ---- cuFFTDx ---- */

template <class FFT>
__global__ void __launch_bounds__(FFT::max_threads_per_block) theirs(const float2 *from, float2 *to) {
    using value = typename FFT::value_type;
    extern __shared__ __align__(16) unsigned char smem[];
    value x[FFT::storage_size];
    size_t first = ((size_t)blockIdx.x * FFT::ffts_per_block + threadIdx.y) * cufftdx::size_of<FFT>::value;
    const value *p = reinterpret_cast<const value *>(from) + first + threadIdx.x;
    value *q = reinterpret_cast<value *>(to) + first + threadIdx.x;
    WM_UNROLL
    for (unsigned e = 0; e < FFT::elements_per_thread; e++)
        reinterpret_cast<float2 &>(x[e]) = __ldcs(reinterpret_cast<const float2 *>(p + e * FFT::stride));
    FFT().execute(x, smem);
    WM_UNROLL
    for (unsigned e = 0; e < FFT::elements_per_thread; e++)
        __stcs(reinterpret_cast<float2 *>(q + e * FFT::stride), reinterpret_cast<float2 &>(x[e]));
}

template <class FFT>
static double time_theirs(void) {
    const auto kernel = theirs<FFT>;
    constexpr unsigned n = cufftdx::size_of<FFT>::value;
    need(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, FFT::shared_memory_size) ==
             cudaSuccess,
         "shared memory");
    double best = seconds([&] {
        kernel<<<POINTS / n / FFT::ffts_per_block, FFT::block_dim, FFT::shared_memory_size>>>(
            reinterpret_cast<const float2 *>(in), reinterpret_cast<float2 *>(out));
    });
    need(cudaGetLastError() == cudaSuccess, "cuFFTDx");
    return best;
}

using namespace cufftdx;
template <int N>
using basis = decltype(Block() + Size<N>() + Type<fft_type::c2c>() + Direction<fft_direction::forward>() +
                       Precision<float>() + SM<900>());
template <class B>
using suggested = decltype(B() + FFTsPerBlock<B::suggested_ffts_per_block>());
template <int N, int E>
using with_elements = decltype(basis<N>() + ElementsPerThread<E>());

template <int N, int E>
static double time_elements(double best) {
    if constexpr (E < N && N / E <= 1024) {
        double s = time_theirs<suggested<with_elements<N, E>>>();
        return s < best ? s : best;
    }
    return best;
}

template <int N>
static double best_of_theirs(void) {
    double best = time_theirs<suggested<basis<N>>>();
    best = time_elements<N, 8>(best);
    best = time_elements<N, 16>(best);
    if constexpr (N == 16384) best = time_elements<N, 32>(best);
    return best;
}

/* ---- Ours ---- */

template <int N, int E, int THREADS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT) ours(const wmC64 *from, wmC64 *to) {
    constexpr int T = N / E, EACH = THREADS / T;
    wmC64 x[E];
    wmFftReadOnce<N>(x, from + ((size_t)blockIdx.x * EACH + wm_thread() / T) * N);
    wmFftBlock<N, WM_FORWARD>(x, wm_shared<unsigned char>());
    wmFftWriteOnce<N>(to + ((size_t)blockIdx.x * EACH + wm_thread() / T) * N, x);
}

template <int N, int E>
static double time_ours(void) {
    constexpr int T = N / E, THREADS = T > 256 ? T : N <= 64 ? 128 : 256, EACH = THREADS / T;
    constexpr int RESIDENT = N < 128 ? 1 : THREADS == 256 ? 3 : N == 8192 ? 2 : 1;
    const auto kernel = ours<N, E, THREADS, RESIDENT>;
    const int smem = wmFftSmem(N) * EACH;
    need(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem) == cudaSuccess, "shared");
    double best = seconds([&] { kernel<<<POINTS / N / EACH, THREADS, smem>>>(in, out); });
    need(cudaGetLastError() == cudaSuccess, "wmFftBlock");
    return best;
}

template <int N, int E = wmFftElements(N)>
static void compare(void) {
    double a = time_ours<N, E>(), b = best_of_theirs<N>();
    std::printf("\"fft c2c f32 %d batch=%d\",wmFftBlock x[%d],%.4e,%.4e,%.3f\n", N, POINTS / N, E, a, b, b / a);
}

int main() {
    in = device<wmC64>(POINTS), out = device<wmC64>(POINTS);
    std::vector<wmC64> x(1 << 20);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = {wmNormalF32(wmRandomKeyMake(1), 2 * i), wmNormalF32(wmRandomKeyMake(1), 2 * i + 1)};
    for (size_t i = 0; i < POINTS; i += x.size())
        need(cudaMemcpy(in + i, x.data(), x.size() * sizeof(wmC64), cudaMemcpyHostToDevice) == cudaSuccess, "copy");
    std::printf("problem,who,seconds,cufftdx_seconds,ratio\n");
    compare<16>();
    compare<64>();
    compare<256>();
    compare<1024>();
    compare<2048>();
    compare<4096>();
    compare<8192>();
    compare<16384>();
    compare<16384, 32>();
    std::printf("copy %.4e\n",
                seconds([] { cudaMemcpyAsync(out, in, sizeof(wmC64) * POINTS, cudaMemcpyDeviceToDevice); }));
    return 0;
}
