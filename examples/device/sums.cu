/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions and scans: the moments of a hundred million normals that are never in memory, and a list of those that
 * exceed a bound, in order. The check draws the same numbers by the host API on the CPU.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a sums.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/random.h>
#include <warpmath/device/reduce.cuh>

#include "check.h"

constexpr int THREADS = 256, EACH = 64; /* blocks of 4, a thread */
constexpr float BOUND = 3.0f;

struct moments {
    double *sum, *squares; /* one a block */
    int *count;            /* of those beyond BOUND */
    unsigned long long *list;
    const int *first; /* where each block's part of the list begins; NULL: only count */
    wmRandomKey key;
};

__global__ void __launch_bounds__(THREADS) measure(moments p) {
    unsigned char *smem = wm_shared<unsigned char>();
    wm_u64 block = ((wm_u64)blockIdx.x * THREADS + (wm_u64)wm_thread()) * EACH;
    double sum = 0, squares = 0;
    int mine = 0, total;
    for (int i = 0; i < EACH; i++) {
        wmF32x4 x = wmNormalF32x4(p.key, block + (wm_u64)i);
        for (float v : x.v) {
            sum += v;
            squares += (double)v * v;
            mine += v > BOUND;
        }
    }
    sum = wmReduceBlock<THREADS>(sum, smem);
    squares = wmReduceBlock<THREADS>(squares, smem);
    int place = wmScanBlock<THREADS>(mine, smem, &total) - mine;
    if (wm_thread() == 0) p.sum[blockIdx.x] = sum, p.squares[blockIdx.x] = squares, p.count[blockIdx.x] = total;
    if (!p.first || !mine) return;
    unsigned long long *to = p.list + p.first[blockIdx.x] + place;
    for (int i = 0; i < EACH; i++) {
        wmF32x4 x = wmNormalF32x4(p.key, block + (wm_u64)i);
        for (int j = 0; j < 4; j++)
            if (x.v[j] > BOUND) *to++ = (block + (wm_u64)i) * 4 + (wm_u64)j;
    }
}

int main() {
    const int blocks = 40;
    const size_t n = (size_t)blocks * THREADS * EACH * 4;
    moments p = {device<double>(blocks), device<double>(blocks), device<int>(blocks), nullptr, nullptr,
                 wmRandomKeyMake(3)};
    measure<<<blocks, THREADS, wmReduceSmem(THREADS)>>>(p);
    std::vector<int> count = host(p.count, blocks), first(blocks, 0);
    for (int i = 1; i < blocks; i++) first[(size_t)i] = first[(size_t)i - 1] + count[(size_t)i - 1];
    size_t all = (size_t)(first.back() + count.back());
    p.first = device(first);
    p.list = device<unsigned long long>(all);
    measure<<<blocks, THREADS, wmReduceSmem(THREADS)>>>(p);
    std::vector<unsigned long long> list = host(p.list, all);
    double got = 0, got2 = 0, sum = 0, squares = 0;
    for (double v : host(p.sum, blocks)) got += v;
    for (double v : host(p.squares, blocks)) got2 += v;

    std::vector<float> x(n);
    wmContext *context = context_on(WM_PLACE_CPU);
    wmRandomDesc normal = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
    wmRandomArgs draw = wmRandomArgsDefault(x.data(), (int64_t)n, p.key);
    need(wmRandom(context, &normal, &draw, nullptr) == WM_OK, "normals");
    wmContextDestroy(context);
    size_t found = 0;
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
        if (x[i] > BOUND) same = same && found < all && list[found++] == i;
    }
    same = same && found == all;
    std::printf("%zu normals: mean %.3g, variance %.6f; %zu beyond %g, %s\n", n, got / (double)n, got2 / (double)n, all,
                BOUND, same ? "the same as on the CPU" : "WRONG");
    return same && std::fabs(got - sum) < 1e-6 * (double)n && std::fabs(got2 - squares) < 1e-9 * squares ? 0 : 1;
}
