/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two products in a row whose middle never leaves the registers: D = softmax(Q · K') · V, attention of one block of 64
 * queries over 256 keys, on Hopper's tensor cores. What the first product gave is, row by row, scaled and exponentiated
 * where it is held, and goes into the second as its A (wmTileProductHeld). The check is f64 on the CPU.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a chained_products.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/random.h>
#include <warpmath/device/reduce.cuh>
#include <warpmath/device/tile.cuh>

#include "check.h"

#include <cstring>

constexpr int ROWS = 64, KEYS = 256, STEP = 64, DEPTH = 64, THREADS = 128;
constexpr int DEEP = wmTileDepth<wm_bf16>(); /* elements of k in a row of a tile: here the whole depth */
static_assert(DEPTH == DEEP && STEP == DEEP, "one box deep");

struct attention {
    const wm_bf16 *q, *k, *v; /* row-major, DEPTH wide */
    float *d;
};

/** A tile from consecutive rows; TURNED: its rows are the matrix's columns. */
template <int COUNT, bool TURNED>
__device__ void fill(wm_bf16 *tile, const wm_bf16 *from) {
    for (int i = wm_thread(); i < COUNT * DEPTH; i += THREADS)
        tile[TURNED ? wmTileAt<wm_bf16>(DEPTH, i % DEPTH, i / DEPTH) : wmTileAt<wm_bf16>(COUNT, i / DEPTH, i % DEPTH)] =
            from[i];
}

/** The four lanes of a row of sums add up theirs. */
__device__ float row_sum(float x) {
    x += wm_shuffle_xor(x, 1);
    return x + wm_shuffle_xor(x, 2);
}

__global__ void __launch_bounds__(THREADS) attend(const __grid_constant__ attention p) {
    unsigned char *smem = wm_shared<unsigned char>();
    constexpr int TILE = wmTileSmem<wm_bf16>(ROWS, DEPTH);
    wm_bf16 *q = reinterpret_cast<wm_bf16 *>(smem), *k = reinterpret_cast<wm_bf16 *>(smem + TILE);
    wm_bf16 *v = reinterpret_cast<wm_bf16 *>(smem + 2 * TILE);
    float d[wmTileElements(ROWS, DEPTH, THREADS)] = {}, total[2] = {0, 0};
    fill<ROWS, false>(q, p.q);
    for (int first = 0; first < KEYS; first += STEP) {
        fill<STEP, false>(k, p.k + first * DEPTH);
        fill<STEP, true>(v, p.v + first * DEPTH);
        wm_async_fence();
        wm_barrier();
        float s[wmTileElements(ROWS, STEP, THREADS)] = {};
        wmTileProduct<ROWS, STEP, DEPTH, THREADS, WM_TILE_WGMMA>(s, q, k);
        wmTileWait<0, WM_TILE_WGMMA>(s);
        WM_UNROLL
        for (int e = 0; e < wmTileElements(ROWS, STEP, THREADS); e++) {
            s[e] = __expf(s[e] * 0.125f); /* values are small: no need to subtract the largest */
            total[e / 2 % 2] += s[e];
        }
        wmTileProductHeld<ROWS, DEPTH, STEP, THREADS, WM_TILE_WGMMA>(d, s, v);
        wm_barrier();
    }
    total[0] = row_sum(total[0]), total[1] = row_sum(total[1]);
    WM_UNROLL
    for (int e = 0; e < wmTileElements(ROWS, DEPTH, THREADS); e++)
        p.d[wmTileRow<ROWS, DEPTH, THREADS, WM_TILE_WGMMA, wm_bf16>(e) * DEPTH +
            wmTileColumn<ROWS, DEPTH, THREADS, WM_TILE_WGMMA, wm_bf16>(e)] = d[e] / total[e / 2 % 2];
}

/** The same by mma.sync, a warp for 16 queries and its own sums: no two warps meet but to fill the tiles. The largest
 * and the sum of all weights of the block are reduced by warps, for the printout. */
__global__ void __launch_bounds__(THREADS) attend_by_warps(const __grid_constant__ attention p, float *most) {
    unsigned char *smem = wm_shared<unsigned char>();
    constexpr int TILE = wmTileSmem<wm_bf16>(ROWS, DEPTH), M = 16;
    wm_bf16 *k = reinterpret_cast<wm_bf16 *>(smem), *v = reinterpret_cast<wm_bf16 *>(smem + TILE);
    int warp = wm_thread() / 32, lane = wm_lane();
    wm_bf16 *q = reinterpret_cast<wm_bf16 *>(smem + 2 * TILE + warp * wmTileSmem<wm_bf16>(M, DEPTH));
    float d[wmTileElements(M, DEPTH, 32)] = {}, total[2] = {0, 0}, largest = 0;
    for (int i = lane; i < M * DEPTH; i += 32)
        q[wmTileAt<wm_bf16>(M, i / DEPTH, i % DEPTH)] = p.q[warp * M * DEPTH + i];
    for (int first = 0; first < KEYS; first += STEP) {
        fill<STEP, false>(k, p.k + first * DEPTH);
        fill<STEP, true>(v, p.v + first * DEPTH);
        wm_barrier();
        float s[wmTileElements(M, STEP, 32)] = {};
        wmTileProduct<M, STEP, DEPTH, 32, WM_TILE_MMA>(s, q, k, lane);
        WM_UNROLL
        for (int e = 0; e < wmTileElements(M, STEP, 32); e++) {
            s[e] = __expf(s[e] * 0.125f);
            total[e / 2 % 2] += s[e];
            largest = fmaxf(largest, s[e]);
        }
        wmTileProductHeld<M, DEPTH, STEP, 32, WM_TILE_MMA>(d, s, v, lane);
        wm_barrier();
    }
    largest = wmReduceWarp(largest, wmMost());
    float before = wmScanWarp(total[0] + total[1]); /* inclusive: the last lane has the warp's sum */
    if (lane == 31) most[warp * 2] = largest, most[warp * 2 + 1] = before;
    total[0] = row_sum(total[0]), total[1] = row_sum(total[1]);
    WM_UNROLL
    for (int e = 0; e < wmTileElements(M, DEPTH, 32); e++)
        p.d[(warp * M + wmTileRow<M, DEPTH, 32, WM_TILE_MMA, wm_bf16>(e, lane)) * DEPTH +
            wmTileColumn<M, DEPTH, 32, WM_TILE_MMA, wm_bf16>(e, lane)] = d[e] / total[e / 2 % 2];
}

static float to_float(wm_bf16 x) {
    unsigned bits = (unsigned)x.bits << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}

static std::vector<wm_bf16> normals(int n, unsigned long long seed) {
    std::vector<wm_bf16> x((size_t)n);
    for (int i = 0; i < n; i++) {
        float f = wmNormalF32(wmRandomKeyMake(seed), (unsigned)i);
        unsigned bits;
        std::memcpy(&bits, &f, 4);
        x[(size_t)i].bits = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    return x;
}

/** Largest difference from the softmax in f64; *sum: of all weights of the rows of warp 3. */
static double difference(const std::vector<float> &d, const std::vector<wm_bf16> &q, const std::vector<wm_bf16> &k,
                         const std::vector<wm_bf16> &v, double *sum) {
    double worst = 0;
    *sum = 0;
    for (int row = 0; row < ROWS; row++) {
        double total = 0, out[DEPTH] = {};
        for (int key = 0; key < KEYS; key++) {
            double s = 0;
            for (int i = 0; i < DEPTH; i++)
                s += (double)to_float(q[(size_t)(row * DEPTH + i)]) * to_float(k[(size_t)(key * DEPTH + i)]);
            s = std::exp(s / 8);
            total += s;
            for (int i = 0; i < DEPTH; i++) out[i] += s * to_float(v[(size_t)(key * DEPTH + i)]);
        }
        if (row >= 48) *sum += total;
        for (int i = 0; i < DEPTH; i++) {
            double error = std::fabs(d[(size_t)(row * DEPTH + i)] - out[i] / total);
            if (!(error <= worst)) worst = error;
        }
    }
    return worst;
}

int main() {
    const std::vector<wm_bf16> q = normals(ROWS * DEPTH, 1), k = normals(KEYS * DEPTH, 2), v = normals(KEYS * DEPTH, 3);
    const attention p = {device(q), device(k), device(v), device<float>((size_t)ROWS * DEPTH)};
    constexpr int smem = 3 * wmTileSmem<wm_bf16>(ROWS, DEPTH);
    float *most = device<float>(8);
    double sum;
    attend<<<1, THREADS, smem>>>(p);
    double one = difference(host(p.d, (size_t)ROWS * DEPTH), q, k, v, &sum);
    attend_by_warps<<<1, THREADS, smem>>>(p, most);
    double two = difference(host(p.d, (size_t)ROWS * DEPTH), q, k, v, &sum);
    std::vector<float> weights = host(most, 8);
    std::printf("largest difference from f64: wgmma %.2g, mma %.2g; weights up to %.3g, sum %.6g (CPU %.6g)\n", one,
                two, (double)weights[6], (double)weights[7], sum);
    /* weights rounded to bf16, 2^-9 each, over hundreds of them */
    return one < 2e-3 && two < 2e-3 && std::fabs(weights[7] - sum) < 1e-4 * sum ? 0 : 1;
}
