/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms that fill a multiprocessor, and that take several: a block's of 8192 and 16384 points there and back;
 * convolutions of up to 65536 points by clusters of blocks, transform, product and inverse in one pass over memory. The
 * check is the host API on the CPU. With the argument `time`: the convolution of 16384 points, by clusters of 8,
 * against three library calls on the GPU (H200, 4096 signals: 1.32 times faster).
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a long_transforms.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/fft_cluster.cuh>
#include <warpmath/device/fft_thread.cuh>
#include <warpmath/device/fft_wide.cuh>
#include <warpmath/device/random.h>

#include "check.h"

#include <cstring>

struct signals {
    wmC64 *x;
    const wmC64 *filter; /* of one signal's length */
};

/** x becomes its transform, and y, behind it, the transform's inverse: one piece of code for both, as the inverse is
 * the forward transform with re and im exchanged before and behind it. E points a thread. */
template <int N, int E>
__global__ void __launch_bounds__(N / E, E == 16 && N == 8192 ? 2 : 1) there_and_back(wmC64 *x, wmC64 *y) {
    wmC64 r[E];
    wmFftReadOnce<N>(r, x + (size_t)blockIdx.x * N);
#pragma unroll 1
    for (int back = 0; back < 2; back++) {
        wmFftBlock<N, WM_FORWARD>(r, wm_shared<unsigned char>());
        wm_barrier(); /* shared memory is about to be used again */
        if (!back) wmFftWriteOnce<N>(x + (size_t)blockIdx.x * N, r);
        WM_UNROLL
        for (int e = 0; e < E; e++) r[e] = wmC64{r[e].im, r[e].re};
    }
    wmFftScaleBy(r, 1.0f / N);
    wmFftWriteOnce<N>(y + (size_t)blockIdx.x * N, r);
}

template <int N>
__global__ void __launch_bounds__(wmFftClusterThreads(N), N == 16384 ? 4 : 2)
    convolve(const __grid_constant__ signals p) {
    wmC64 r[16], *x = p.x + (size_t)(blockIdx.x / wmFftClusterBlocks(N)) * N;
    WM_UNROLL
    for (int e = 0; e < 16; e++) r[e] = x[wmFftClusterFrom<N>(e)];
    wmFftCluster<N, WM_FORWARD>(r, wm_shared<unsigned char>(), 0);
    WM_UNROLL
    for (int e = 0; e < 16; e++) r[e] = wmFftTimes(r[e], p.filter[wmFftClusterTo<N>(e)]);
    wmFftCluster<N, WM_INVERSE, WM_FFT_BACK>(r, wm_shared<unsigned char>(), 1);
    wmFftScaleBy(r, 1.0f / N);
    WM_UNROLL
    for (int e = 0; e < 16; e++) x[wmFftClusterTo<N, WM_FFT_BACK>(e)] = r[e];
}

template <int N>
static void launch_convolve(const signals &p, int count) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = {};
    config.gridDim.x = (unsigned)(count * wmFftClusterBlocks(N));
    config.blockDim.x = (unsigned)wmFftClusterThreads(N);
    config.dynamicSmemBytes = (size_t)wmFftClusterSmem(N);
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {(unsigned)wmFftClusterBlocks(N), 1, 1};
    config.attrs = &cluster, config.numAttrs = 1;
    need(cudaFuncSetAttribute(convolve<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, wmFftClusterSmem(N)) ==
                 cudaSuccess &&
             cudaFuncSetAttribute(convolve<N>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess &&
             cudaLaunchKernelEx(&config, convolve<N>, p) == cudaSuccess,
         "launch");
}

__global__ void multiply(wmC64 *x, const wmC64 *filter, long long n, int length) {
    for (long long i = wm_grid_first(); i < n; i += wm_grid_step()) x[i] = wmFftTimes(x[i], filter[i % length]);
}

static void transform(wmContext *context, std::vector<wmC64> &x, int n, wmDirection direction) {
    const int64_t length[] = {n};
    wmFftDesc desc = wmFftDescPackedInPlace(WM_FFT_C2C, WM_F32, 1, length, (int64_t)x.size() / n);
    desc.direction = direction;
    if (direction == WM_INVERSE) desc.scale = WM_FFT_SCALE_BY_N;
    wmFftArgs args = wmFftArgsDefault(x.data(), x.data());
    need(wmFft(context, &desc, &args, nullptr) == WM_OK, "reference");
}

static bool is_right(const char *name, int n, const std::vector<wmC64> &got, const std::vector<wmC64> &want) {
    double error = 0, size = 0;
    for (size_t i = 0; i < want.size(); i++) {
        error += std::pow((double)got[i].re - want[i].re, 2) + std::pow((double)got[i].im - want[i].im, 2);
        size += std::pow((double)want[i].re, 2) + std::pow((double)want[i].im, 2);
    }
    error = std::sqrt(error / size);
    std::printf("%s of %d points: relative difference from the CPU %.2g\n", name, n, error);
    return error < 1e-6;
}

static std::vector<wmC64> noise(size_t n, unsigned long long seed) {
    std::vector<wmC64> x(n);
    const wmRandomKey key = wmRandomKeyMake(seed);
    for (size_t i = 0; i < n; i++) x[i] = wmC64{wmNormalF32(key, 2 * i), wmNormalF32(key, 2 * i + 1)};
    return x;
}

template <int N, int E>
static bool check_block(wmContext *cpu) {
    std::vector<wmC64> x = noise((size_t)N * 5, 1), want = x;
    wmC64 *a = device(x), *b = device<wmC64>(x.size());
    const auto kernel = there_and_back<N, E>;
    transform(cpu, want, N, WM_FORWARD);
    need(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, wmFftSmem(N)) == cudaSuccess,
         "shared memory");
    kernel<<<5, N / E, wmFftSmem(N)>>>(a, b);
    bool right = is_right("a block's transform", N, host(a, x.size()), want);
    return is_right("  and its inverse", N, host(b, x.size()), x) && right;
}

template <int N>
static bool check_cluster(wmContext *cpu) {
    std::vector<wmC64> x = noise((size_t)N * 3, 2), filter = noise(N, 3), want = x;
    transform(cpu, want, N, WM_FORWARD);
    for (size_t i = 0; i < want.size(); i++) {
        wmC64 a = want[i], b = filter[i % N];
        want[i] = wmC64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    transform(cpu, want, N, WM_INVERSE);
    signals p = {device(x), device(filter)};
    launch_convolve<N>(p, 3);
    return is_right("a cluster's convolution", N, host(p.x, x.size()), want);
}

static void time_them(void) {
    const int n = 16384, count = 4096;
    signals p = {device<wmC64>((size_t)n * count), device(noise(n, 3))};
    need(cudaMemset(p.x, 0, sizeof(wmC64) * n * count) == cudaSuccess, "memory");
    wmContext *context = context_on(WM_PLACE_GPU);
    const int64_t length[] = {n};
    wmFftDesc forward = wmFftDescPackedInPlace(WM_FFT_C2C, WM_F32, 1, length, count), inverse;
    wmFftDescInverse(&inverse, &forward);
    wmPlan *plan[2];
    need(wmFftPlanCreate(&plan[0], context, &forward, nullptr) == WM_OK, "plan");
    need(wmFftPlanCreate(&plan[1], context, &inverse, nullptr) == WM_OK, "plan");
    wmFftArgs args = wmFftArgsDefault(p.x, p.x);
    double calls = seconds([&] {
        need(wmFftExecute(plan[0], &args, nullptr) == WM_OK, "forward");
        multiply<<<132 * 8, 256>>>(p.x, p.filter, (long long)n * count, n);
        need(wmFftExecute(plan[1], &args, nullptr) == WM_OK, "inverse");
    });
    double one = seconds([&] { launch_convolve<16384>(p, count); });
    std::printf("time: three calls %.3f ms, one kernel %.3f ms (%.2f times faster)\n", calls * 1e3, one * 1e3,
                calls / one);
}

int main(int argc, char **argv) {
    wmContext *cpu = context_on(WM_PLACE_CPU);
    bool right = check_block<8192, 16>(cpu);
    right = check_block<16384, 16>(cpu) && right;
    right = check_block<16384, 32>(cpu) && right;
    right = check_cluster<16384>(cpu) && right;
    right = check_cluster<32768>(cpu) && right;
    right = check_cluster<65536>(cpu) && right;
    wmContextDestroy(cpu);
    if (argc > 1 && std::strcmp(argv[1], "time") == 0) time_them();
    return right ? 0 : 1;
}
