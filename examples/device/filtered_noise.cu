/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Your own kernel with warpmath inside: noise is drawn in registers, transformed by its block, low-pass filtered and
 * transformed back, and touches memory once, when it is done. The check repeats it with the host API, on the CPU, where
 * the noise has the same bits.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a filtered_noise.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/fft.cuh>
#include <warpmath/device/random.h>
#include <warpmath/warpmath.h>

#include <cstdio>
#include <cstdlib>
#include <cmath>

constexpr int N = 1024;   /* points of a signal, one signal a block */
constexpr int KEEP = 100; /* frequencies -KEEP < k < KEEP pass */

/** Complex sample i of the whole run: normals 2i and 2i + 1 of the key's sequence. */
__device__ wmC64 noise(wmRandomKey key, unsigned long long i) {
    return {wmNormalF32(key, 2 * i), wmNormalF32(key, 2 * i + 1)};
}

__global__ void __launch_bounds__(wmFftThreads(N)) filtered_noise(wmC64 *out, wmRandomKey key) {
    extern __shared__ __align__(16) unsigned char smem[];
    constexpr int elements = wmFftElements(N);
    const unsigned long long first = (unsigned long long)blockIdx.x * N;
    wmC64 x[elements];
    for (int e = 0; e < elements; e++) x[e] = noise(key, first + (unsigned long long)wmFftIndex<N>(e));
    wmFftBlock<N, WM_FORWARD>(x, smem);
    for (int e = 0; e < elements; e++) {
        int k = wmFftIndex<N>(e);
        float gain = k < KEEP || k > N - KEEP ? 1.0f / N : 0.0f;
        x[e] = {x[e].re * gain, x[e].im * gain};
    }
    __syncthreads(); /* smem is about to be used again */
    wmFftBlock<N, WM_INVERSE>(x, smem);
    for (int e = 0; e < elements; e++) out[first + (unsigned long long)wmFftIndex<N>(e)] = x[e];
}

static void need(bool ok, const char *what) {
    if (ok) return;
    std::fprintf(stderr, "%s: %s / %s\n", what, cudaGetErrorString(cudaGetLastError()), wmLastError());
    std::exit(1);
}

/** The same on the CPU by the host API. */
static void on_cpu(float *x, int signals, wmRandomKey key) {
    wmContext *context = nullptr;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    need(wmContextCreate(&context, &options) == WM_OK, "context");
    wmRandomDesc normal = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
    wmRandomArgs draw = wmRandomArgsDefault(x, (int64_t)signals * N * 2, key);
    need(wmRandom(context, &normal, &draw, nullptr) == WM_OK, "normals");
    const int64_t n[] = {N};
    wmFftDesc forward = wmFftDescPackedInPlace(WM_FFT_C2C, WM_F32, 1, n, signals), inverse;
    wmFftDescInverse(&inverse, &forward);
    wmFftArgs args = wmFftArgsDefault(x, x);
    need(wmFft(context, &forward, &args, nullptr) == WM_OK, "forward");
    for (int s = 0; s < signals; s++)
        for (int k = KEEP; k <= N - KEEP; k++) x[2 * (s * N + k)] = x[2 * (s * N + k) + 1] = 0.0f;
    need(wmFft(context, &inverse, &args, nullptr) == WM_OK, "inverse");
    wmContextDestroy(context);
}

int main() {
    const int signals = 1000;
    const size_t bytes = sizeof(wmC64) * N * signals;
    const wmRandomKey key = wmRandomKeyMake(7);
    wmC64 *device = nullptr;
    float *got = (float *)std::malloc(bytes), *want = (float *)std::malloc(bytes);
    need(got && want && cudaMalloc((void **)&device, bytes) == cudaSuccess, "memory");
    filtered_noise<<<signals, wmFftThreads(N), wmFftSmem(N)>>>(device, key);
    need(cudaMemcpy(got, device, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "kernel");
    on_cpu(want, signals, key);
    double worst = 0;
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        double error = std::fabs((double)got[i] - (double)want[i]);
        if (!(error <= worst)) worst = error;
    }
    std::printf("%d signals of %d points: largest difference from the CPU %.2g\n", signals, N, worst);
    cudaFree(device);
    std::free(got);
    std::free(want);
    return worst < 5e-6 ? 0 : 1;
}
