/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device API in a user's kernels against the library's calls and curand_kernel.h: draws of 2^28 numbers, and block
 * transforms of 2^26 points. Prints CSV; recorded in perf/results/h200/.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -Iexamples/device perf/probe_device.cu \
 *          build/dev/libwarpmath.a -o build/dev/probe_device
 */
#include <warpmath/device/fft_thread.cuh>
#include <warpmath/device/random.h>

#include "check.h"

#include <curand_kernel.h>

enum { DRAWS = 1 << 28, POINTS = 1 << 26 };

__global__ void our_uniform(float4 *out, int n, wmRandomKey key) {
    for (int i = (int)wm_grid_first(); i < n; i += (int)wm_grid_step()) {
        wmF32x4 x = wmUniformF32x4(key, (wm_u64)i);
        out[i] = float4{x.v[0], x.v[1], x.v[2], x.v[3]};
    }
}
__global__ void our_normal(float4 *out, int n, wmRandomKey key) {
    for (int i = (int)wm_grid_first(); i < n; i += (int)wm_grid_step()) {
        wmF32x4 x = wmNormalF32x4(key, (wm_u64)i);
        out[i] = float4{x.v[0], x.v[1], x.v[2], x.v[3]};
    }
}
/** curand_init is what costs: few threads, many numbers each. */
__global__ void their_uniform(float4 *out, int n) {
    curandStatePhilox4_32_10_t state;
    curand_init(7, (unsigned long long)wm_grid_first(), 0, &state);
    for (int i = (int)wm_grid_first(); i < n; i += (int)wm_grid_step()) out[i] = curand_uniform4(&state);
}
__global__ void their_normal(float4 *out, int n) {
    curandStatePhilox4_32_10_t state;
    curand_init(7, (unsigned long long)wm_grid_first(), 0, &state);
    for (int i = (int)wm_grid_first(); i < n; i += (int)wm_grid_step()) out[i] = curand_normal4(&state);
}

static void draws(wmContext *context) {
    float *out = device<float>(DRAWS);
    float4 *out4 = reinterpret_cast<float4 *>(out);
    const int grid = DRAWS / 4 / 256 / 4, n = DRAWS / 4; /* four blocks of numbers a thread */
    for (int normal = 0; normal < 2; normal++) {
        wmRandomDesc desc = wmRandomDescDefault(normal ? WM_RANDOM_NORMAL : WM_RANDOM_UNIFORM, WM_F32);
        wmRandomArgs args = wmRandomArgsDefault(out, DRAWS, wmRandomKeyMake(7));
        wmPlan *plan = nullptr;
        need(wmRandomPlanCreate(&plan, context, &desc, nullptr) == WM_OK, "plan");
        double call = seconds([&] { need(wmRandomExecute(plan, &args, nullptr) == WM_OK, "draw"); });
        double ours = seconds([&] {
            normal ? our_normal<<<grid, 256>>>(out4, n, args.key) : our_uniform<<<grid, 256>>>(out4, n, args.key);
        });
        double theirs = seconds(
            [&] { normal ? their_normal<<<132 * 8, 256>>>(out4, n) : their_uniform<<<132 * 8, 256>>>(out4, n); });
        const char *name = normal ? "normal" : "uniform";
        std::printf("random %s f32 n=268435456,host call,%.6g\nrandom %s f32 n=268435456,user kernel,%.6g\n", name,
                    call, name, ours);
        std::printf("random %s f32 n=268435456,curand_kernel.h,%.6g\n", name, theirs);
        wmPlanDestroy(plan);
    }
    cudaFree(out);
}

/** Transforms of N points, as many a block as 256 threads hold. */
template <int N>
__global__ void __launch_bounds__(256, N < 128 ? 1 : 3) transform(wmC64 *x) {
    constexpr int T = wmFftThreads(N), EACH = T > 256 ? 1 : 256 / T;
    wmC64 r[wmFftElements(N)];
    wmFftRead<N>(r, x + ((size_t)blockIdx.x * EACH + wm_thread() / T) * N);
    wmFftBlock<N, WM_FORWARD>(r, wm_shared<unsigned char>());
    wmFftWrite<N>(x + ((size_t)blockIdx.x * EACH + wm_thread() / T) * N, r); /* once more: no register keeps it */
}

template <int N>
static void transforms(wmContext *context, wmC64 *x) {
    constexpr int T = wmFftThreads(N), EACH = T > 256 ? 1 : 256 / T;
    const int64_t n[] = {N};
    wmFftDesc desc = wmFftDescPackedInPlace(WM_FFT_C2C, WM_F32, 1, n, POINTS / N);
    wmFftArgs args = wmFftArgsDefault(x, x);
    wmPlan *plan = nullptr;
    need(wmFftPlanCreate(&plan, context, &desc, nullptr) == WM_OK, "plan");
    double call = seconds([&] { need(wmFftExecute(plan, &args, nullptr) == WM_OK, "transform"); });
    double ours = seconds([&] { transform<N><<<POINTS / N / EACH, T * EACH, wmFftSmem(N) * EACH>>>(x); });
    std::printf("fft c2c f32 %d batch=%d,host call,%.6g\nfft c2c f32 %d batch=%d,user kernel,%.6g\n", N, POINTS / N,
                call, N, POINTS / N, ours);
    wmPlanDestroy(plan);
}

int main() {
    wmContext *context = context_on(WM_PLACE_GPU);
    std::printf("problem,who,seconds\n");
    draws(context);
    wmC64 *x = device<wmC64>(POINTS);
    need(cudaMemset(x, 0, sizeof(wmC64) * POINTS) == cudaSuccess, "memory");
    transforms<16>(context, x);
    transforms<64>(context, x);
    transforms<256>(context, x);
    transforms<1024>(context, x);
    transforms<4096>(context, x);
    wmContextDestroy(context);
    return 0;
}
