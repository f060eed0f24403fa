/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device API in a user's kernels, against the library's own kernels (the fastest of ours that offers, and the
 * vendor's in the same run), and against curand_kernel.h: draws of 2^28 numbers, and block and cluster transforms of
 * 2^26 points, out of place, of random data. An argument,
 * random, short, middle or long, picks a part. Prints CSV; recorded in perf/results/h200/.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -I. -Iinclude -Iexamples/device perf/probe_device.cu \
 *          build/dev/libwarpmath.a -o build/dev/probe_device
 */
#include <warpmath/device/fft_cluster.cuh>
#include <warpmath/device/fft_thread.cuh>
#include <warpmath/device/fft_wide.cuh>
#include <warpmath/device/random_rounds.cuh>

#include "check.h"
#include "lib/solver.h"

#include <cstring>
#include <curand_kernel.h>

enum { DRAWS = 1 << 28, POINTS = 1 << 26, TILE = 256 };

static wmContext *context;
static wmC64 *in, *out;

/* ---- The library's kernels, one solver at a time ---- */

static double time_offer(const wm_solver *solver, const wm_problem *problem, const wm_offer *offer, wm_args *args) {
    void *state = nullptr;
    double best = 1;
    if (offer->workspace == 0 && (!solver->make || solver->make(context, problem, offer, &state) == WM_OK)) {
        wm_run run = {context, problem, offer, state, args, nullptr, nullptr};
        best = seconds([&] { need(solver->run(&run) == WM_OK, solver->name); });
    }
    if (solver->drop) solver->drop(context, state);
    return best;
}

/** The fastest of the solvers of this origin, and its name. */
static double fastest(const char *text, wm_args *args, wm_origin origin, const char **name) {
    wm_problem problem;
    double best = 1;
    need(wm_problem_parse(&problem, text, WM_PLACE_GPU) == WM_OK, text);
    int solvers = 0;
    const wm_solver *const *table = wm_solvers(&solvers);
    for (int i = 0; i < solvers; i++) {
        const wm_solver *solver = table[i];
        wm_offer offers[WM_MAX_OFFERS] = {};
        if (solver->op != problem.op || solver->place != WM_PLACE_GPU || solver->origin != origin ||
            wm_problem_features(&problem) & ~solver->features || strstr(solver->name, "naive"))
            continue;
        int count = solver->offer(context, &problem, offers, WM_MAX_OFFERS, nullptr);
        for (int v = 0; v < count && v < 3; v++) {
            double s = time_offer(solver, &problem, &offers[v], args);
            if (s < best) best = s, *name = solver->name;
        }
    }
    return best;
}

static void report(const char *problem, const char *who, double ours, const char *own_name, double own, double vendor) {
    std::printf("\"%s\",%s,%.4e,%s,%.4e,%.3f,%.4e,%.3f\n", problem, who, ours, own_name, own, own / ours, vendor,
                vendor / ours);
    std::fflush(stdout);
}

/* ---- Draws ---- */

template <bool NORMAL, int EACH>
__global__ void __launch_bounds__(TILE) our_draw(float *to, const __grid_constant__ wmRandomRounds key) {
    wm_u64 first = (wm_u64)blockIdx.x * (TILE * EACH);
    WM_UNROLL
    for (int j = 0; j < EACH; j++) {
        int i = wm_thread() + j * TILE;
        wmStoreF32x4(to + 4 * (first + i), NORMAL ? wmNormalF32x4(key, first, i) : wmUniformF32x4(key, first, i));
    }
}
/** Element by element, as one writes it first. */
template <bool NORMAL>
__global__ void our_loop(float4 *to, int n, wmRandomKey key) {
    for (int i = (int)wm_grid_first(); i < n; i += (int)wm_grid_step()) {
        wmF32x4 x = NORMAL ? wmNormalF32x4(key, (wm_u64)i) : wmUniformF32x4(key, (wm_u64)i);
        to[i] = float4{x.v[0], x.v[1], x.v[2], x.v[3]};
    }
}
/** curand_init is what costs: few threads, many numbers each. */
template <bool NORMAL>
__global__ void their_draw(float4 *to, int n) {
    curandStatePhilox4_32_10_t state;
    curand_init(7, (unsigned long long)wm_grid_first(), 0, &state);
    for (int i = (int)wm_grid_first(); i < n; i += (int)wm_grid_step())
        to[i] = NORMAL ? curand_normal4(&state) : curand_uniform4(&state);
}

template <bool NORMAL>
static void draws(void) {
    float *to = reinterpret_cast<float *>(out);
    float4 *to4 = reinterpret_cast<float4 *>(out);
    const int n = DRAWS / 4, loop_grid = n / TILE / 4;
    const wmRandomKey key = wmRandomKeyMake(7);
    const wmRandomRounds rounds = wmRandomRoundsMake(key);
    const char *name = NORMAL ? "random normal f32" : "random uniform f32", *own_name = "", *vendor_name = "";
    char problem[96];
    std::snprintf(problem, sizeof problem, "%s n=%d", name, DRAWS);
    wm_args args = {};
    args.random = wmRandomArgsDefault(out, DRAWS, key);
    double own = fastest(problem, &args, WM_OURS, &own_name), vendor = fastest(problem, &args, WM_VENDOR, &vendor_name);
    double two = seconds([&] { our_draw<NORMAL, 2><<<n / TILE / 2, TILE>>>(to, rounds); });
    double four = seconds([&] { our_draw<NORMAL, 4><<<n / TILE / 4, TILE>>>(to, rounds); });
    double eight = seconds([&] { our_draw<NORMAL, 8><<<n / TILE / 8, TILE>>>(to, rounds); });
    report(problem, "rounds 2 a thread", two, own_name, own, vendor);
    report(problem, "rounds 4 a thread", four, own_name, own, vendor);
    report(problem, "rounds 8 a thread", eight, own_name, own, vendor);
    double loop = seconds([&] { our_loop<NORMAL><<<loop_grid, TILE>>>(to4, n, key); });
    report(problem, "loop over a key", loop, own_name, own, vendor);
    double theirs = seconds([&] { their_draw<NORMAL><<<132 * 8, TILE>>>(to4, n); });
    report(problem, "curand_kernel.h", theirs, own_name, own, vendor);
}

/* ---- Transforms ---- */

/** Threads of a block and blocks a multiprocessor that leave a thread the registers it wants; E: points a thread. */
template <int N, int E>
static constexpr __host__ __device__ int threads_of() {
    return N / E > 256 ? N / E : N <= 64 ? 128 : 256;
}
template <int N, int E>
static constexpr __host__ __device__ int resident() {
    return N < 128 ? 1 : N <= 4096 ? 3 : N / E == 512 && E == 16 ? 2 : 1;
}

/** Transforms of N points, as many a block as 128 or 256 threads hold. */
template <int N, int E>
__global__ void __launch_bounds__(threads_of<N, E>(), resident<N, E>()) transform(const wmC64 *from, wmC64 *to) {
    constexpr int T = N / E, EACH = threads_of<N, E>() / T;
    wmC64 x[E];
    wmFftReadOnce<N>(x, from + ((size_t)blockIdx.x * EACH + wm_thread() / T) * N);
    wmFftBlock<N, WM_FORWARD>(x, wm_shared<unsigned char>());
    wmFftWriteOnce<N>(to + ((size_t)blockIdx.x * EACH + wm_thread() / T) * N, x); /* once more: no register keeps it */
}

template <int N>
__global__ void __launch_bounds__(wmFftClusterThreads(N), N == 16384   ? 6
                                                          : N == 32768 ? 4
                                                                       : 3) spread(const wmC64 *from, wmC64 *to) {
    wmC64 x[16];
    size_t first = (size_t)(blockIdx.x / wmFftClusterBlocks(N)) * N;
    WM_UNROLL
    for (int e = 0; e < 16; e++) x[e] = wm_fft_load_once(from + first + wmFftClusterFrom<N>(e));
    wmFftCluster<N, WM_FORWARD>(x, wm_shared<unsigned char>(), 0);
    WM_UNROLL
    for (int e = 0; e < 16; e++) wm_fft_store_once(to + first + wmFftClusterTo<N>(e), x[e]);
}

typedef void kernel_of(const wmC64 *, wmC64 *);

static void launch(kernel_of *kernel, int grid, int threads, int smem, int cluster) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3((unsigned)grid), config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)smem;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)cluster, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute, config.numAttrs = cluster > 1; /* with it, small blocks start more slowly */
    need(cudaLaunchKernelEx(&config, kernel, static_cast<const wmC64 *>(in), out) == cudaSuccess, "launch");
}

static void prepare(kernel_of *kernel, int smem) {
    need(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem) == cudaSuccess &&
             cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess,
         "attributes");
}

static void compare(int n, const char *who, kernel_of *kernel, int grid, int threads, int smem, int cluster) {
    char problem[96];
    const char *own_name = "", *vendor_name = "";
    wm_args args = {};
    args.fft = wmFftArgsDefault(in, out);
    std::snprintf(problem, sizeof problem, "fft c2c f32 %d batch=%d", n, POINTS / n);
    prepare(kernel, smem);
    double own = fastest(problem, &args, WM_OURS, &own_name), vendor = fastest(problem, &args, WM_VENDOR, &vendor_name);
    double ours = seconds([&] { launch(kernel, grid, threads, smem, cluster); });
    report(problem, who, ours, own_name, own, vendor);
}

template <int N, int E = wmFftElements(N)>
static void block_of(void) {
    constexpr int THREADS = threads_of<N, E>(), EACH = THREADS / (N / E);
    compare(N, E == 32 ? "wmFftBlock x[32]" : "wmFftBlock", transform<N, E>, POINTS / N / EACH, THREADS,
            wmFftSmem(N) * EACH, 1);
}
template <int N>
static void cluster_of(void) {
    constexpr int BLOCKS = wmFftClusterBlocks(N);
    compare(N, "wmFftCluster", spread<N>, POINTS / N * BLOCKS, wmFftClusterThreads(N), wmFftClusterSmem(N), BLOCKS);
}

int main(int argc, char **argv) {
    context = context_on(WM_PLACE_GPU);
    in = device<wmC64>(DRAWS / 2), out = device<wmC64>(DRAWS / 2);
    our_draw<true, 4><<<DRAWS / 16 / TILE, TILE>>>(reinterpret_cast<float *>(in), wmRandomRoundsMake({1, 0}));
    need(cudaDeviceSynchronize() == cudaSuccess, "random data");
    std::printf("problem,who,seconds,library,library_seconds,ratio,vendor_seconds,vendor_ratio\n");
    bool all = argc < 2;
    if (all || !strcmp(argv[1], "random")) draws<false>(), draws<true>();
    if (all || !strcmp(argv[1], "short")) block_of<16>(), block_of<64>(), block_of<256>();
    if (all || !strcmp(argv[1], "middle")) block_of<1024>(), block_of<2048>(), block_of<4096>();
    if (all || !strcmp(argv[1], "long")) {
        block_of<8192>(), block_of<8192, 32>(), block_of<16384>(), block_of<16384, 32>();
        cluster_of<16384>(), cluster_of<32768>(), cluster_of<65536>();
    }
    wmContextDestroy(context);
    return 0;
}
