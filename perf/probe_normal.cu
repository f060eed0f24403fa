/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random numbers cost on this GPU: cycles of each kind of instruction, alone and beside others, and forms of the
 * exact normal against memset in the same run. Also checks that the roots without range tests equal sqrt.rn on all that
 * normals give them, and that the GPU's values have the host's bits. docs/random.md quotes the results.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -diag-suppress 128 perf/probe_normal.cu -o
 * probe
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>
#include <warpmath/device/random.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        if (e_ != cudaSuccess) {                                                                                       \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- Issue costs: WIDE products, FMAs, LOP3s and others, interleaved in one loop of a full machine ---- */

template <int WIDE, int SPLIT, int FMA, int LOP, int CONVERT, int SELECT, int ROOT, int DFMA>
__global__ void __launch_bounds__(256, 4) mix(unsigned *out, int rounds, unsigned k) {
    unsigned x[4], y[4], c[4];
    float f[4], g[4], s[4];
    double d[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = y[i] = c[i] = threadIdx.x + i + k, f[i] = g[i] = s[i] = (float)(threadIdx.x + i), d[i] = f[i];
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        enum { MOST = 64 };
#pragma unroll
        for (int j = 0; j < MOST; j++) { /* each kind spread evenly over the loop */
            int i = j % 4;
            if (j * WIDE / MOST != (j + 1) * WIDE / MOST) {
                unsigned long long p;
                asm volatile("mul.wide.u32 %0, %1, %2;" : "=l"(p) : "r"(x[i]), "r"(0xd2511f53u));
                x[i] = (unsigned)(p >> 32);
            }
            if (j * SPLIT / MOST != (j + 1) * SPLIT / MOST) {
                asm volatile("mul.hi.u32 %0, %1, %2;" : "=r"(x[i]) : "r"(x[i]), "r"(k));
                asm volatile("mul.lo.u32 %0, %1, %2;" : "=r"(c[i]) : "r"(c[i]), "r"(k));
            }
            if (j * FMA / MOST != (j + 1) * FMA / MOST)
                asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[i]) : "f"(1.000001f));
            if (j * LOP / MOST != (j + 1) * LOP / MOST)
                asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(y[i]) : "r"(k), "r"(threadIdx.x));
            if (j * CONVERT / MOST != (j + 1) * CONVERT / MOST) {
                asm volatile("cvt.rn.f32.u32 %0, %1;" : "=f"(g[i]) : "r"(__float_as_uint(g[i])));
            }
            if (j * SELECT / MOST != (j + 1) * SELECT / MOST)
                asm volatile("{.reg .pred p; setp.lt.f32 p, %0, %1; selp.f32 %0, %1, %2, p;}"
                             : "+f"(s[i])
                             : "f"(__uint_as_float(k)), "f"(__uint_as_float(threadIdx.x)));
            if (j * ROOT / MOST != (j + 1) * ROOT / MOST) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(s[i]));
            if (j * DFMA / MOST != (j + 1) * DFMA / MOST)
                asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(d[i]) : "d"(1.000001));
        }
    }
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) sum += x[i] + y[i] + c[i] + __float_as_uint(f[i] + g[i] + s[i]) + (unsigned)d[i];
    if (sum == 12345) out[0] = sum;
}

static int multiprocessors;
static unsigned *scratch;

template <int WIDE, int SPLIT, int FMA, int LOP, int CONVERT, int SELECT, int ROOT, int DFMA>
static void cost(void) {
    enum { ROUNDS = 4000, PER_SM = 4 }; /* 8 warps a scheduler, all resident */
    cudaEvent_t from, to;
    int khz;
    float ms = 0;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventRecord(from));
        mix<WIDE, SPLIT, FMA, LOP, CONVERT, SELECT, ROOT, DFMA><<<multiprocessors * PER_SM, 256>>>(scratch, ROUNDS, 3);
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaEventElapsedTime(&ms, from, to));
    }
    printf("  wide %2d split %2d fma %2d lop %2d convert %2d select %2d root %2d dfma %2d: %7.1f\n", WIDE, SPLIT, FMA,
           LOP, CONVERT, SELECT, ROOT, DFMA, (double)ms * khz / ROUNDS / 8);
}

static void costs(void) {
    printf("cycles of a scheduler, at the nominal clock, for one warp's instructions of each kind:\n");
    cost<16, 0, 0, 0, 0, 0, 0, 0>();
    cost<0, 16, 0, 0, 0, 0, 0, 0>();
    cost<0, 0, 64, 0, 0, 0, 0, 0>();
    cost<0, 0, 0, 64, 0, 0, 0, 0>();
    cost<0, 0, 0, 0, 16, 0, 0, 0>();
    cost<0, 0, 0, 0, 0, 16, 0, 0>();
    cost<0, 0, 0, 0, 0, 0, 16, 0>();
    cost<0, 0, 0, 0, 0, 0, 0, 32>();
    cost<16, 0, 16, 0, 0, 0, 0, 0>();
    cost<16, 0, 32, 0, 0, 0, 0, 0>();
    cost<16, 0, 64, 0, 0, 0, 0, 0>();
    cost<0, 16, 32, 0, 0, 0, 0, 0>();
    cost<0, 16, 64, 0, 0, 0, 0, 0>();
    cost<16, 0, 0, 16, 0, 0, 0, 0>();
    cost<16, 0, 0, 32, 0, 0, 0, 0>();
    cost<16, 0, 0, 64, 0, 0, 0, 0>();
    cost<0, 0, 64, 64, 0, 0, 0, 0>();
    cost<0, 0, 64, 32, 0, 0, 0, 0>();
    cost<16, 0, 32, 32, 0, 0, 0, 0>();
    cost<16, 0, 48, 16, 0, 0, 0, 0>();
    cost<16, 0, 48, 32, 4, 0, 2, 0>();
    cost<0, 0, 64, 0, 16, 0, 0, 0>();
    cost<0, 0, 0, 64, 16, 0, 0, 0>();
    cost<0, 0, 64, 0, 0, 0, 8, 0>();
    cost<16, 0, 0, 32, 0, 0, 0, 32>();
    cost<16, 0, 0, 32, 0, 0, 0, 16>();
}

/* ---- Forms of a normal ---- */

struct Params {
    uint4 *out;
    unsigned high, substream, key0, key1;
    unsigned round[20];
};

enum Mode { BITS, NORMAL, SEVEN, OCTANT, FAST, NORMAL64 };

__device__ __forceinline__ unsigned bits(float x) {
    return __float_as_uint(x);
}

/* The radius with one degree less: 2^-22.6 of t instead of 2^-25.2. */
__device__ __forceinline__ float square_seven(unsigned a) {
    int q = (int)(bits(__fadd_rn((float)a, 0.5f)) - 0x4f800000u);
    q = q < -1 ? q : -1;
    float f = __fmaf_rn(__uint_as_float(~(unsigned)q & 0x7fffffu), 0x1p126f, 0x1p-23f), p = 0x1.2f57acp-7f;
    p = __fmaf_rn(p, f, -0x1.14de0ep-6f);
    p = __fmaf_rn(p, f, 0x1.9221fep-6f);
    p = __fmaf_rn(p, f, 0x1.3770a4p-9f);
    p = __fmaf_rn(p, f, 0x1.16c914p-5f);
    p = __fmaf_rn(p, f, 0x1.53d3c6p-4f);
    p = __fmaf_rn(p, f, 0x1.0004ccp-2f);
    p = __fmaf_rn(p, f, -0x1.8b90cap-2f);
    return __fmaf_rn((float)q, -0x1.62e43p-23f, __fmul_rn(p, f));
}

__device__ __forceinline__ void seven(unsigned a, unsigned b, float *first, float *second) {
    float r = wm_exact_sqrt32(square_seven(a));
    r = __uint_as_float(bits(r) ^ (b & 0x80000000u));
    float x = wm_random_centred32(b & 0xffffffu), t = __fmaf_rn(-x, x, 0.25f);
    float c = 0x1.80fd0ep-6f, s = 0x1.3d665p-4f;
    c = __fmaf_rn(__fmaf_rn(__fmaf_rn(__fmaf_rn(c, t, 0x1.a3583ep-3f), t, 0x1.1d918ep+0f), t, 0x1.921f96p+1f), t,
                  0x1.921fb6p+1f);
    s = __fmaf_rn(__fmaf_rn(__fmaf_rn(__fmaf_rn(s, t, 0x1.0a9c62p-1f), t, 0x1.10b306p+1f), t, 0x1.fffff4p+1f), t, 2.0f);
    *first = __fmul_rn(__fmul_rn(r, t), c);
    *second = __fmul_rn(__fmul_rn(r, x), s);
}

/* An eighth of a turn each side of the axis, and an exchange: one degree less, four selects and compares more. */
__device__ __forceinline__ void octant(unsigned a, unsigned b, float *first, float *second) {
    float r = wm_exact_sqrt32(wm_normal_square_f32(a));
    r = __uint_as_float(bits(r) ^ (b & 0x80000000u));
    float x = wm_random_centred32(b & 0xffffffu), y = __fmul_rn(x, x);
    float c = __fmaf_rn(__fmaf_rn(__fmaf_rn(-0x1.4e354p-6f, y, 0x1.03ae48p-2f), y, -0x1.3bd388p+0f), y, 0x1.fffffep-1f);
    float s = __fmaf_rn(__fmaf_rn(__fmaf_rn(-0x1.2e984p-8f, y, 0x1.4667c8p-4f), y, -0x1.4abbe8p-1f), y, 0x1.921fb6p+0f);
    s = __fmul_rn(__fmul_rn(s, x), r), c = __fmul_rn(c, r);
    int swap = !(fabsf(__uint_as_float(b)) < 2.0f);
    *first = swap ? s : c;
    *second = swap ? c : s;
}

/* Hardware functions: what the fast accuracy will do. */
__device__ __forceinline__ void fast(unsigned a, unsigned b, float *first, float *second) {
    float t = -1.3862944f * (__log2f((float)a + 0.5f) - 32.0f), r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(t));
    float angle = (float)(int)b * 1.4629181e-9f;
    *first = r * __cosf(angle);
    *second = r * __sinf(angle);
}

template <int MODE>
__device__ __forceinline__ uint4 value(wmWords w) {
    float z[4];
    double d[2];
    wm_u64 a = w.w[0] | (wm_u64)w.w[1] << 32, b = w.w[2] | (wm_u64)w.w[3] << 32;
    if (MODE == BITS) return make_uint4(w.w[0], w.w[1], w.w[2], w.w[3]);
    if (MODE == NORMAL64) wm_normal_f64(a, b, &d[0], &d[1]);
    if (MODE >= NORMAL64)
        return make_uint4(__double2loint(d[0]), __double2hiint(d[0]), __double2loint(d[1]), __double2hiint(d[1]));
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        if (MODE == NORMAL) wm_normal_f32(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
        if (MODE == SEVEN) seven(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
        if (MODE == OCTANT) octant(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
        if (MODE == FAST) fast(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
    }
    return make_uint4(bits(z[0]), bits(z[1]), bits(z[2]), bits(z[3]));
}

/* B blocks a thread, THREADS apart; KEYS: round keys as constants; STORE 0: nothing is written. */
template <int MODE, int B, int KEYS, int THREADS, int STORE>
__global__ void __launch_bounds__(THREADS) probe(const __grid_constant__ Params p) {
    unsigned first = blockIdx.x * (THREADS * B) + threadIdx.x, all = 0;
#pragma unroll
    for (int j = 0; j < B; j++) {
        wmWords c = {
            {first + THREADS * j, p.high, 0, p.substream}
        };
        if constexpr (KEYS) {
#pragma unroll
            for (int r = 0; r < 10; r++) c = wm_philox_round(c, p.round[2 * r], p.round[2 * r + 1]);
        } else {
            c = wmPhilox4x32(c, p.key0, p.key1);
        }
        uint4 o = value<MODE>(c);
        if (STORE)
            p.out[first + THREADS * j] = o;
        else
            all |= o.x & o.y & o.z & o.w;
    }
    if (!STORE && all == 0xffffffffu) p.out[0].x = all;
}

struct Entry {
    const char *name;
    void (*launch)(const Params &, unsigned blocks);
    std::vector<double> ms;
};

template <int MODE, int B, int KEYS, int THREADS, int STORE>
static void launch(const Params &p, unsigned blocks) {
    probe<MODE, B, KEYS, THREADS, STORE><<<blocks / (THREADS * B), THREADS>>>(p);
}
static void launch_memset(const Params &p, unsigned blocks) {
    CHECK(cudaMemsetAsync(p.out, 1, blocks * sizeof(uint4)));
}

/* ---- Checks ---- */

__global__ void check_sqrt(unsigned from, unsigned to, unsigned long long *bad) {
    for (unsigned b = from + blockIdx.x * blockDim.x + threadIdx.x; b < to; b += gridDim.x * blockDim.x) {
        float x = __uint_as_float(b);
        if (bits(wm_exact_sqrt32(x)) != bits(__fsqrt_rn(x))) atomicAdd(bad, 1ull);
    }
}

__global__ void check_sqrt64(unsigned long long n, unsigned long long *bad) {
    wmRandomKey key = {42, 0};
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        wmWords w = wmRandomBlock(key, i);
        double t = wm_normal_square_f64(w.w[0] | (wm_u64)w.w[1] << 32);
        double root = __hiloint2double(0x3e600000 + w.w[2] % 0x01a00000u, w.w[3]);
        double near = __longlong_as_double(__double_as_longlong(root * root) + (long long)(w.w[0] % 5) - 2);
        if (wm_exact_sqrt64(t) != __dsqrt_rn(t)) atomicAdd(bad, 1ull);
        if (wm_exact_sqrt64(near) != __dsqrt_rn(near)) atomicAdd(bad + 1, 1ull);
    }
}

static void check_roots(void) {
    unsigned long long *bad, host[3];
    CHECK(cudaMalloc(&bad, sizeof host));
    CHECK(cudaMemset(bad, 0, sizeof host));
    check_sqrt<<<4096, 256>>>(0x33000000u, 0x43000000u, bad); /* 2^-25 to 128 */
    check_sqrt64<<<4096, 256>>>(1ull << 33, bad + 1);
    CHECK(cudaMemcpy(host, bad, sizeof host, cudaMemcpyDeviceToHost));
    printf("roots that differ from sqrt.rn: f32 %llu of all in [2^-25, 128); f64 %llu of 2^33 squares of radii, %llu "
           "of 2^33 "
           "neighbours of squares\n",
           host[0], host[1], host[2]);
}

static void check_bits(Params p) {
    unsigned blocks = 1u << 19;
    std::vector<unsigned> got(4 * blocks);
    wmRandomKey key = {p.key0 | (wm_u64)p.key1 << 32, p.substream};
    unsigned long long wrong32 = 0, wrong64 = 0;
    launch<NORMAL, 4, 0, 256, 1>(p, blocks);
    CHECK(cudaMemcpy(got.data(), p.out, 16 * blocks, cudaMemcpyDeviceToHost));
    for (unsigned b = 0; b < blocks; b++) {
        wmF32x4 z = wmNormalF32x4(key, b | (wm_u64)p.high << 32);
        wrong32 += memcmp(&z, &got[4 * b], 16) != 0;
    }
    launch<NORMAL64, 4, 0, 256, 1>(p, blocks);
    CHECK(cudaMemcpy(got.data(), p.out, 16 * blocks, cudaMemcpyDeviceToHost));
    for (unsigned b = 0; b < blocks; b++) {
        wmF64x2 z = wmNormalF64x2(key, b | (wm_u64)p.high << 32);
        wrong64 += memcmp(&z, &got[4 * b], 16) != 0;
    }
    printf("blocks whose bits differ from the host's: normal f32 %llu, f64 %llu of %u\n", wrong32, wrong64, blocks);
}

int main(void) {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    multiprocessors = prop.multiProcessorCount;
    CHECK(cudaMalloc(&scratch, 1024));
    Params p = {};
    unsigned blocks = 1u << 26; /* 2^28 f32: 1 GiB */
    CHECK(cudaMalloc(&p.out, blocks * sizeof(uint4)));
    p.high = 3, p.substream = 5, p.key0 = 0x12345678, p.key1 = 0x9abcdef0;
    for (unsigned r = 0; r < 10; r++) {
        p.round[2 * r] = p.key0 + r * 0x9e3779b9u;
        p.round[2 * r + 1] = p.key1 + r * 0xbb67ae85u;
    }
    printf("%s, %d SMs\n", prop.name, multiprocessors);
    check_roots();
    check_bits(p);
    costs();

    std::vector<Entry> list = {
        {"memset", launch_memset, {}},
        { "bits x4",                                  launch<BITS,     4,  0, 256, 1>, {}},
        {                "bits x4, no stores",                       launch<BITS,     4,  0, 256, 0>, {}},
        {                "bits x4, no stores, constant keys",        launch<BITS,     4,  1, 256, 0>, {}},
        {                "half turn x4",                             launch<NORMAL,   4,  0, 256, 1>, {}},
        {                "half turn x4, constant keys",              launch<NORMAL,   4,  1, 256, 1>, {}},
        {                "half turn x8",                             launch<NORMAL,   8,  0, 256, 1>, {}},
        {                "half turn x8, constant keys",              launch<NORMAL,   8,  1, 256, 1>, {}},
        {                "half turn x8, constant keys, no stores",   launch<NORMAL,   8,  1, 256, 0>, {}},
        {                "half turn x8, constant keys, 128 threads", launch<NORMAL,   8,  1, 128, 1>, {}},
        {                "half turn x8, constant keys, 512 threads", launch<NORMAL,   8,  1, 512, 1>, {}},
        {                "half turn x16, constant keys",             launch<NORMAL,   16, 1, 256, 1>, {}},
        {                "degree 7 x8, constant keys",               launch<SEVEN,    8,  1, 256, 1>, {}},
        {                "octants x8, constant keys",                launch<OCTANT,   8,  1, 256, 1>, {}},
        {                "fast x8, constant keys",                   launch<FAST,     8,  1, 256, 1>, {}},
        {                "f64 x4",                                   launch<NORMAL64, 4,  0, 256, 1>, {}},
        {                "f64 x8",                                   launch<NORMAL64, 8,  0, 256, 1>, {}},
        {                "f64 x8, constant keys",                    launch<NORMAL64, 8,  1, 256, 1>, {}},
        {                "f64 x8, constant keys, no stores",         launch<NORMAL64, 8,  1, 256, 0>, {}},
        {                "f64 x16, constant keys",                   launch<NORMAL64, 16, 1, 256, 1>, {}},
    };
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    enum { ROUNDS = 15, GROUP = 4 };
    for (int round = -1; round < ROUNDS; round++) {
        for (size_t k = 0; k < list.size(); k++) {
            Entry &e = list[(k + (size_t)(round + 1) * 5) % list.size()];
            e.launch(p, blocks);
            CHECK(cudaEventRecord(from));
            for (int i = 0; i < GROUP; i++) e.launch(p, blocks);
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            float ms;
            CHECK(cudaEventElapsedTime(&ms, from, to));
            if (round >= 0) e.ms.push_back(ms / GROUP);
        }
    }
    CHECK(cudaDeviceSynchronize());
    double base = 0;
    printf("%-44s %9s %9s %9s\n", "1 GiB", "ms", "TB/s", "of memset");
    for (Entry &e : list) {
        std::sort(e.ms.begin(), e.ms.end());
        double ms = e.ms[e.ms.size() / 2];
        if (base == 0) base = ms;
        printf("%-44s %9.4f %9.3f %9.3f\n", e.name, ms, blocks * 16.0 / ms * 1e-9, base / ms);
    }
    return 0;
}
