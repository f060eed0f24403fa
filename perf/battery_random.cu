/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The battery of tests/random_battery.h over 2^36 values (or 2^LOG) drawn by the library on a GPU and counted there:
 * CSV, a line a test, and the smallest p-value at the end.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -I. perf/battery_random.cu
 * build/dev/libwarpmath.a \ -ldl -lpthread -o battery && ./battery [LOG [LOG of the other generators]]
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpmath/warpmath.h>

#include "tests/random_battery.h"

enum { LOG_CHUNK = 30, THREADS = 512, SMALL = 1 << 14 };
typedef unsigned long long u64;

static wmContext *context;
static double worst = 1;
static int tests, bad;

static void check(cudaError_t error, int line) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
    exit(1);
}
static void wm_check(wmStatus status, int line) {
    if (status == WM_OK) return;
    fprintf(stderr, "line %d: %s\n", line, wmLastError());
    exit(1);
}

/* ---- Counting ---- */

/* Cells of neighbours in a layout of this chunk, or of this sequence beside another. */
__global__ void __launch_bounds__(THREADS)
    count_pairs(const unsigned *w, const unsigned *beside, int stride, int last, u64 *cells) {
    extern __shared__ unsigned mine[];
    const u64 n = 1ull << LOG_CHUNK, step = (u64)gridDim.x * THREADS;
    for (int c = threadIdx.x; c < BATTERY_CELLS; c += THREADS) mine[c] = 0;
    __syncthreads();
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < n; i += step) {
        u64 at = battery_index(stride, LOG_CHUNK, i), before = battery_index(stride, LOG_CHUNK, (i - 1) & (n - 1));
        unsigned x = w[at], y = beside ? beside[at] : w[before];
        atomicAdd(&mine[battery_pair(last, y, x)], 1u);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < BATTERY_CELLS; c += THREADS) atomicAdd(&cells[c], (u64)mine[c]);
}

__global__ void __launch_bounds__(THREADS) count_ones(const unsigned *w, const unsigned *beside, u64 *ones) {
    const u64 n = 1ull << LOG_CHUNK, step = (u64)gridDim.x * THREADS;
    unsigned sum[32] = {0};
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < n; i += step) {
        unsigned x = beside ? w[i] ^ beside[i] : w[i];
#pragma unroll
        for (int k = 0; k < 32; k++) sum[k] += x >> k & 1;
    }
#pragma unroll
    for (int k = 0; k < 32; k++) {
        unsigned all = __reduce_add_sync(0xffffffffu, sum[k]);
        if (threadIdx.x % 32 == 0) atomicAdd(&ones[k], (u64)all);
    }
}

/* Cells of values put through their distribution, cells of neighbours, and for normals moments and tails. */
template <class T>
__global__ void __launch_bounds__(THREADS)
    count_values(const T *v, int normal, u64 n, u64 *cells, u64 *joint, double *moments, u64 *tails) {
    extern __shared__ unsigned mine[];
    const u64 step = (u64)gridDim.x * THREADS;
    double sum[4] = {0, 0, 0, 0};
    unsigned beyond[BATTERY_TAILS] = {0};
    for (int c = threadIdx.x; c < 2 * SMALL; c += THREADS) mine[c] = 0;
    __syncthreads();
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < n; i += step) {
        double z = v[i], y = v[(i - 1) & (n - 1)];
        double u = normal ? normcdf(z) : z, before = normal ? (double)normcdff((float)y) : y;
        atomicAdd(&mine[battery_cell(u, SMALL)], 1u);
        atomicAdd(&mine[SMALL + (battery_cell(before, 128) << 7 | battery_cell(u, 128))], 1u);
        if (!normal) continue;
        sum[0] += z, sum[1] += z * z, sum[2] += z * z * z, sum[3] += z * z * z * z;
        for (int k = 0; k < BATTERY_TAILS; k++) beyond[k] += fabs(z) > battery_tail(k);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < SMALL; c += THREADS) {
        atomicAdd(&cells[c], (u64)mine[c]);
        atomicAdd(&joint[c], (u64)mine[SMALL + c]);
    }
    for (int k = 0; k < 4 && normal; k++) atomicAdd(&moments[k], sum[k]);
    for (int k = 0; k < BATTERY_TAILS && normal; k++) atomicAdd(&tails[k], (u64)beyond[k]);
}

/* ---- Reporting ---- */

static void report(const char *of, const char *what, int log, double statistic, double p) {
    printf("%s,%s,2^%d,%.6g,%.4g\n", of, what, log, statistic, p);
    worst = fmin(worst, p);
    tests++;
    bad += !(p >= 1e-6);
    fflush(stdout);
}

static void report_cells(const char *of, const char *what, const u64 *device, int log) {
    static u64 count[BATTERY_CELLS];
    double p = 0;
    check(cudaMemcpy(count, device, sizeof count, cudaMemcpyDeviceToHost), __LINE__);
    double x = battery_counts(count, BATTERY_CELLS, ldexp(1, log) / BATTERY_CELLS, &p);
    report(of, what, log, x, p);
    if (strcmp(what, "cells") != 0) return;
    x = battery_distance(count, BATTERY_CELLS, ldexp(1, log), &p);
    report(of, "Kolmogorov-Smirnov of cells", log, x, p);
}

static void report_ones(const char *of, const char *what, const u64 *device, int log) {
    u64 count[32];
    double n = ldexp(1, log), all = 0, most = 0;
    check(cudaMemcpy(count, device, sizeof count, cudaMemcpyDeviceToHost), __LINE__);
    for (int k = 0; k < 32; k++) {
        double z = ((double)count[k] - n / 2) / sqrt(n / 4);
        all += (double)count[k] - n / 2;
        if (fabs(z) > fabs(most)) most = z;
    }
    char text[80];
    snprintf(text, sizeof text, "%s; the worst bit's z", what);
    report(of, text, log, most, fmin(1, 32 * battery_two_sided(most)));
    snprintf(text, sizeof text, "%s; all bits", what);
    report(of, text, log, all / sqrt(8 * n), battery_two_sided(all / sqrt(8 * n)));
}

/* ---- Words ---- */

static void draw(void *out, wmDistribution distribution, wmType type, wmGenerator generator, wmRandomKey key,
                 u64 offset, int64_t count) {
    wmRandomDesc desc = wmRandomDescDefault(distribution, type);
    wmRandomArgs args = wmRandomArgsDefault(out, count, key);
    desc.generator = generator;
    args.offset = offset;
    wm_check(wmRandom(context, &desc, &args, NULL), __LINE__);
}

static const wmRandomKey KEY = {20261130, 0};

static void words(const char *of, wmGenerator generator, int log, void *a, void *b) {
    static const char *const names[BATTERY_LAYOUTS] = {"neighbours",  "every 2nd",    "every 4th",
                                                       "every 512th", "every 2^17th", "bit-reversed"};
    static const char *const kin[] = {"next substream", "next seed", "folded key", "the same key 2^40 on"};
    const wmRandomKey others[] = {
        {KEY.seed,     1},
        {KEY.seed + 1, 0},
        wmRandomKeyFold(KEY, 0), KEY
    };
    const size_t bytes = sizeof(u64) * BATTERY_CELLS * 2 * (BATTERY_LAYOUTS + 4) + sizeof(u64) * 32 * 5;
    u64 *cells = NULL;
    check(cudaMalloc(&cells, bytes), __LINE__);
    check(cudaMemset(cells, 0, bytes), __LINE__);
    u64 *ones = cells + BATTERY_CELLS * 2 * (BATTERY_LAYOUTS + 4);
    check(cudaFuncSetAttribute(count_pairs, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * BATTERY_CELLS), __LINE__);
    const unsigned *w = (const unsigned *)a, *beside = (const unsigned *)b;
    for (u64 chunk = 0; chunk < 1ull << (log - LOG_CHUNK); chunk++) {
        draw(a, WM_RANDOM_BITS, WM_U32, generator, KEY, chunk << LOG_CHUNK, 1ll << LOG_CHUNK);
        for (int l = 0; l < BATTERY_LAYOUTS; l++)
            for (int last = 0; last < 2; last++)
                count_pairs<<<396, THREADS, 4 * BATTERY_CELLS>>>(w, NULL, battery_stride[l], last,
                                                                 cells + BATTERY_CELLS * (2 * l + last));
        count_ones<<<528, THREADS>>>(w, NULL, ones);
        for (int k = 0; k < 4; k++) {
            u64 from = (chunk << LOG_CHUNK) + (k == 3 ? 1ull << 40 : 0);
            draw(b, WM_RANDOM_BITS, WM_U32, generator, others[k], from, 1ll << LOG_CHUNK);
            for (int last = 0; last < 2; last++)
                count_pairs<<<396, THREADS, 4 * BATTERY_CELLS>>>(
                    w, beside, 0, last, cells + BATTERY_CELLS * (2 * (BATTERY_LAYOUTS + k) + last));
            count_ones<<<528, THREADS>>>(w, beside, ones + 32 * (k + 1));
        }
    }
    check(cudaDeviceSynchronize(), __LINE__);
    for (int l = 0; l < BATTERY_LAYOUTS + 4; l++)
        for (int last = 0; last < 2; last++) {
            char text[80];
            snprintf(text, sizeof text, "%s; %s seven bits", l < BATTERY_LAYOUTS ? names[l] : kin[l - BATTERY_LAYOUTS],
                     last ? "last" : "first");
            report_cells(of, text, cells + BATTERY_CELLS * (2 * l + last), log);
        }
    report_ones(of, "ones", ones, log);
    for (int k = 0; k < 4; k++) report_ones(of, kin[k], ones + 32 * (k + 1), log);
    check(cudaFree(cells), __LINE__);
}

/* ---- Values ---- */

template <class T>
static void values(const char *of, wmDistribution distribution, wmType type, int log, void *out) {
    const int log_chunk = LOG_CHUNK - (sizeof(T) == 8), normal = distribution == WM_RANDOM_NORMAL;
    u64 *cells = NULL, tails[BATTERY_TAILS];
    double moments[4];
    const size_t bytes = sizeof(u64) * (2 * SMALL + 16);
    check(cudaMalloc(&cells, bytes), __LINE__);
    check(cudaMemset(cells, 0, bytes), __LINE__);
    u64 *joint = cells + SMALL, *beyond = joint + SMALL;
    double *sums = (double *)(beyond + 8);
    check(cudaFuncSetAttribute(count_values<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, 8 * SMALL), __LINE__);
    for (u64 chunk = 0; chunk < 1ull << (log - log_chunk); chunk++) {
        draw(out, distribution, type, WM_PHILOX4X32_10, KEY, chunk << log_chunk, 1ll << log_chunk);
        count_values<T>
            <<<132, THREADS, 8 * SMALL>>>((const T *)out, normal, 1ull << log_chunk, cells, joint, sums, beyond);
    }
    check(cudaDeviceSynchronize(), __LINE__);
    report_cells(of, "cells", cells, log);
    report_cells(of, "neighbours", joint, log);
    check(cudaMemcpy(tails, beyond, sizeof tails, cudaMemcpyDeviceToHost), __LINE__);
    check(cudaMemcpy(moments, sums, sizeof moments, cudaMemcpyDeviceToHost), __LINE__);
    for (int k = 1; k <= 4 && normal; k++) {
        char text[32];
        double z = battery_moment(k, moments[k - 1], ldexp(1, log));
        snprintf(text, sizeof text, "moment %d", k);
        report(of, text, log, z, battery_two_sided(z));
    }
    for (int k = 0; k < BATTERY_TAILS && normal; k++) {
        char text[32];
        double expected = ldexp(battery_two_sided(battery_tail(k)), log);
        double z = ((double)tails[k] - expected) / sqrt(expected);
        snprintf(text, sizeof text, "beyond %.1f", battery_tail(k));
        report(of, text, log, z, battery_two_sided(z));
    }
    check(cudaFree(cells), __LINE__);
}

int main(int argc, char **argv) {
    const int log = argc > 1 ? atoi(argv[1]) : 36, fewer = argc > 2 ? atoi(argv[2]) : log > 34 ? 34 : log;
    void *a = NULL, *b = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_GPU;
    wm_check(wmContextCreate(&context, &options), __LINE__);
    check(cudaMalloc(&a, 4ull << LOG_CHUNK), __LINE__);
    check(cudaMalloc(&b, 4ull << LOG_CHUNK), __LINE__);
    printf("of,test,values,statistic,p\n");
    words("philox4x32-10", WM_PHILOX4X32_10, log, a, b);
    words("philox4x32-7", WM_PHILOX4X32_7, fewer, a, b);
    words("philox4x64-10", WM_PHILOX4X64_10, fewer, a, b);
    words("threefry2x32-20", WM_THREEFRY2X32_20, fewer, a, b);
    words("threefry4x64-20", WM_THREEFRY4X64_20, fewer, a, b);
    values<float>("uniform f32", WM_RANDOM_UNIFORM, WM_F32, log, a);
    values<double>("uniform f64", WM_RANDOM_UNIFORM, WM_F64, log, a);
    values<float>("normal f32", WM_RANDOM_NORMAL, WM_F32, log, a);
    values<double>("normal f64", WM_RANDOM_NORMAL, WM_F64, log, a);
    fprintf(stderr, "%d tests, smallest p-value %.3g, %d below 1e-6\n", tests, worst, bad);
    check(cudaFree(a), __LINE__);
    check(cudaFree(b), __LINE__);
    wmContextDestroy(context);
    return bad != 0;
}
