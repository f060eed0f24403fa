/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole matrix product from the pieces: D (m × n, bf16) = A (m × k) · B' (n × k, transposed). One thread keeps a ring
 * of tiles full by the copy engine, two warpgroups multiply by wmTileProduct on Hopper's tensor cores and hand the
 * tiles back; each warp's rows leave through shared memory and the copy engine. Sizes are multiples of 128, 256 and 64.
 * The check is the library's product on the same GPU. With the argument `time`: against the library.
 *
 * Reached on an H200: 661 TFLOP/s at 4096³ (1.04 of the library's best), 683 at 8192³ (0.99).
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a tile_gemm.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/cluster.cuh>
#include <warpmath/device/random.h>
#include <warpmath/device/tile.cuh>

#include "check.h"

#include <cuda.h>

#include <cstring>

constexpr int M = 128, N = 256, K = 64, STAGES = 4, WORKERS = 256; /* threads that multiply, behind 128 others */

struct gemm {
    wm_tensor_map a, b, d;
    int rows, columns, steps; /* of tiles; of k */
};

struct ring {
    wm_bf16 a[STAGES][M * K], b[STAGES][N * K];
    unsigned char out[WORKERS / 32][2048];
    wm_mbarrier full[STAGES], empty[STAGES];
};

/** Strips of 16 rows of tiles are walked column by column, so that blocks at work share operands in the L2. */
__device__ int2 tile_of(const gemm &p) {
    int strip = 16 * p.columns, first = (int)blockIdx.x / strip * 16, high = wm_min(16, p.rows - first);
    int within = (int)blockIdx.x % strip;
    return int2{(first + within % high) * M, within / high * N};
}

__device__ void copy(const gemm &p, ring *s, int2 tile) {
    for (int step = 0; step < p.steps; step++) {
        int stage = step % STAGES;
        wm_mbarrier_wait(&s->empty[stage], step / STAGES & 1 ^ 1);
        wm_mbarrier_expect(&s->full[stage], (M + N) * K * 2);
        wm_tma_load(s->a[stage], &p.a, step * K, tile.x, 0, &s->full[stage]);
        wm_tma_load(s->b[stage], &p.b, step * K, tile.y, 0, &s->full[stage]);
    }
}

/** The 16 rows of a warp, 64 columns at a time, through its 2 KiB of shared memory. */
__device__ void store(const gemm &p, unsigned char *out, int2 tile, int warp, const float (&sum)[N / 2]) {
    int lane = wm_lane();
    WM_UNROLL
    for (int g = 0; g < N / 64; g++) {
        if (lane == 0) wm_tma_wait_read<0>();
        wm_barrier_warp();
        WM_UNROLL
        for (int q = 0; q < 4; q++) {
            const float *x = sum + g * 32 + q * 8;
            int at = wm_swizzle<128>(lane % 16 * 128 + (q * 2 + lane / 16) * 16);
            wm_store_matrices(out + at, wm_pair_bf16(x[0], x[1]), wm_pair_bf16(x[2], x[3]), wm_pair_bf16(x[4], x[5]),
                              wm_pair_bf16(x[6], x[7]));
        }
        wm_async_fence();
        wm_barrier_warp();
        if (lane == 0) wm_tma_store(&p.d, out, tile.y + g * 64, tile.x + warp * 16, 0), wm_tma_commit();
    }
    if (lane == 0) wm_tma_wait_read<0>();
}

__device__ void multiply(const gemm &p, ring *s, int2 tile) {
    int thread = wm_thread() - 128, lane = wm_lane();
    float sum[wmTileElements(M, N, WORKERS)] = {};
    for (int step = 0; step < p.steps; step++) {
        int stage = step % STAGES;
        wm_mbarrier_wait(&s->full[stage], step / STAGES & 1);
        wmTileProduct<M, N, K, WORKERS, WM_TILE_WGMMA>(sum, s->a[stage], s->b[stage], thread);
        wmTileWait<1, WM_TILE_WGMMA>(sum); /* the product before this one has read its tiles */
        if (step && lane == 0) wm_mbarrier_arrive(&s->empty[(step - 1) % STAGES], wm_cluster_rank());
    }
    wmTileWait<0, WM_TILE_WGMMA>(sum);
    store(p, s->out[thread / 32], tile, thread / 32, sum);
}

__global__ void __launch_bounds__(128 + WORKERS, 1) tile_gemm(const __grid_constant__ gemm p) {
    ring *s = wm_shared<ring>();
    int2 tile = tile_of(p);
    if (wm_thread() == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            wm_mbarrier_init(&s->full[stage], 1);
            wm_mbarrier_init(&s->empty[stage], WORKERS / 32);
        }
        wm_mbarrier_init_fence();
    }
    wm_barrier();
    if (wm_thread() < 128) {
        wm_registers_give<40>();
        if (wm_thread() == 0) copy(p, s, tile);
    } else {
        wm_registers_take<232>();
        multiply(p, s, tile);
    }
}

/** The map of a row-major bf16 matrix whose boxes are 64 columns by `box_rows`, as wmTileProduct reads them. */
static void map_bf16(void *map, const void *base, int rows, int columns, int box_rows) {
    typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                        const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                        CUtensorMapFloatOOBfill);
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    need(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) ==
             cudaSuccess,
         "driver");
    const cuuint64_t dim[3] = {(cuuint64_t)columns, (cuuint64_t)rows, 1};
    const cuuint64_t stride[2] = {(cuuint64_t)columns * 2, (cuuint64_t)columns * (cuuint64_t)rows * 2};
    const cuuint32_t box[3] = {64, (cuuint32_t)box_rows, 1}, each[3] = {1, 1, 1};
    need(reinterpret_cast<encode_function>(found)(
             static_cast<CUtensorMap *>(map), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void *>(base), dim,
             stride, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
         "cuTensorMapEncodeTiled");
}

__global__ void fill(wm_bf16 *x, long long n, wmRandomKey key) {
    for (long long i = wm_grid_first(); i < n; i += wm_grid_step()) x[i] = wm_f32_to_bf16(wmNormalF32(key, (wm_u64)i));
}

static wmMatmulDesc desc_of(int m, int n, int k) {
    wmMatmulDesc desc = wmMatmulDescDefault(WM_BF16, m, n, k);
    desc.b.op = WM_OP_TRANSPOSE;
    return desc;
}

/** The greatest difference, in units of bf16 of the greatest element. */
static double difference(const std::vector<wm_u16> &x, const std::vector<wm_u16> &y) {
    double worst = 0, most = 0;
    for (size_t i = 0; i < x.size(); i++) {
        unsigned bits[2] = {(unsigned)x[i] << 16, (unsigned)y[i] << 16};
        float f[2];
        memcpy(f, bits, 8);
        double error = std::fabs((double)f[0] - f[1]);
        if (!(error <= worst)) worst = error;
        if (std::fabs(f[1]) > most) most = std::fabs(f[1]);
    }
    return worst / (most / 256);
}

/** One size: difference from the library's, and both times. */
static double run(wmContext *context, int m, int n, int k, bool timed) {
    wm_u16 *x[4] = {device<wm_u16>((size_t)m * k), device<wm_u16>((size_t)n * k), device<wm_u16>((size_t)m * n),
                    device<wm_u16>((size_t)m * n)};
    /* Checkers of uninitialised memory do not see what the copy engine writes. */
    need(cudaMemset(x[2], 0xff, (size_t)m * n * 2) == cudaSuccess &&
             cudaMemset(x[3], 0xff, (size_t)m * n * 2) == cudaSuccess,
         "memory");
    for (int i = 0; i < 2; i++)
        fill<<<132, 256>>>(reinterpret_cast<wm_bf16 *>(x[i]), (long long)(i ? n : m) * k,
                           wmRandomKeyMake(5 + (uint64_t)i));
    gemm p = {};
    map_bf16(&p.a, x[0], m, k, M);
    map_bf16(&p.b, x[1], n, k, N);
    map_bf16(&p.d, x[2], m, n, 16);
    p.rows = m / M, p.columns = n / N, p.steps = k / K;
    auto ours = [&] { tile_gemm<<<p.rows * p.columns, 128 + WORKERS, sizeof(ring)>>>(p); };
    wmMatmulDesc desc = desc_of(m, n, k);
    wmMatmulArgs args = wmMatmulArgsDefault(x[0], x[1], x[3]);
    wmPlan *plan = nullptr;
    wmPlanOptions options = wmPlanOptionsDefault();
    if (timed) options.effort = WM_MEASURE;
    need(wmMatmulPlanCreate(&plan, context, &desc, &options) == WM_OK, "plan");
    auto theirs = [&] { need(wmMatmulExecute(plan, &args, nullptr) == WM_OK, "product"); };
    ours();
    theirs();
    double units = difference(host(x[2], (size_t)m * n), host(x[3], (size_t)m * n));
    if (timed) {
        double a = seconds(ours), b = seconds(theirs), a2 = seconds(ours), flops = 2.0 * m * n * k;
        a = a < a2 ? a : a2;
        std::printf("%d x %d x %d: tile products %.1f TFLOP/s, library %.1f (%.3f of it)\n", m, n, k, flops / a / 1e12,
                    flops / b / 1e12, b / a);
    }
    wmPlanDestroy(plan);
    for (int i = 0; i < 4; i++) cudaFree(x[i]);
    return units;
}

int main(int argc, char **argv) {
    bool timed = argc > 1 && std::strcmp(argv[1], "time") == 0;
    wmContext *context = context_on(WM_PLACE_GPU);
    need(cudaFuncSetAttribute(tile_gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(ring)) == cudaSuccess,
         "shared memory");
    double units = run(context, 384, 512, 448, false);
    std::printf("largest difference from the library: %.2g units of bf16\n", units);
    if (timed) run(context, 4096, 4096, 4096, true), run(context, 8192, 8192, 8192, true);
    wmContextDestroy(context);
    return units <= 1 ? 0 : 1;
}
