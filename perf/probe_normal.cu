/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each way to a random number costs on this GPU, against memset in the same run: Philox bits, uniforms, and the
 * candidates for exact normals. Also checks that wm_exact_sqrt32 equals sqrt.rn for every float that normals give it,
 * and that the GPU's normals have the host's bits.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -diag-suppress 128 perf/probe_normal.cu -o
 * probe && ./probe
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#include <algorithm>
#include <string>
#include <cuda_runtime.h>
#include <warpmath/device/random.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        if (e_ != cudaSuccess) {                                                                                       \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { THREADS = 256, SEGMENTS = 241 };

struct Params {
    uint4 *out;
    unsigned high, substream, key0, key1;
    unsigned round[20];
    float step, low;
    const float4 *table;
    unsigned tiles;
};

enum Mode {
    FILL,
    BITS,
    UNIFORM,
    AFFINE,
    UNIFORM64,
    NORMAL,
    NORMAL_SQRT_RN,
    NORMAL_HALF,
    NORMAL_FAST,
    NORMAL64,
    NORMAL64_SQRT,
    ICDF
};

__device__ __forceinline__ unsigned bits(float x) {
    return __float_as_uint(x);
}

/* Candidate A2: a quarter turn each side of the axis, no exchange of sine and cosine, one degree more in each. */
__device__ __forceinline__ void normal_half(unsigned a, unsigned b, float *first, float *second) {
    float r = wm_exact_sqrt32(wm_normal_square_f32(a));
    r = __uint_as_float(bits(r) ^ (b & 0x80000000u));
    float x = wm_random_centred32(b & 0xffffffu), t = __fmaf_rn(-x, x, 0.25f);
    float s = 0x1.5p-6f, c = 0x1.2p-5f;
    s = __fmaf_rn(s, t, 0.0712f), c = __fmaf_rn(c, t, 0.218f);
    s = __fmaf_rn(s, t, 0.4321f), c = __fmaf_rn(c, t, 0.7312f);
    s = __fmaf_rn(s, t, 1.712f), c = __fmaf_rn(c, t, 1.1415f);
    s = __fmaf_rn(s, t, 2.0f), c = __fmaf_rn(c, t, 3.1415927f);
    *first = __fmul_rn(__fmul_rn(r, t), c);
    *second = __fmul_rn(__fmul_rn(r, x), s);
}

__device__ __forceinline__ void normal_sqrt_rn(unsigned a, unsigned b, float *first, float *second) {
    float r = __fsqrt_rn(wm_normal_square_f32(a));
    r = __uint_as_float(bits(r) ^ (b & 0x80000000u));
    float x = wm_random_centred32(b & 0xffffffu), y = __fmul_rn(x, x);
    float s = __fmul_rn(wm_normal_sin_f32(x, y), r), c = __fmul_rn(wm_normal_cos_f32(y), r);
    int swap = !(fabsf(__uint_as_float(b)) < 2.0f);
    *first = swap ? s : c;
    *second = swap ? c : s;
}

/* Hardware functions: the floor of any Box and Muller form. */
__device__ __forceinline__ void normal_fast(unsigned a, unsigned b, float *first, float *second) {
    float t = -1.3862944f * (__log2f((float)a + 0.5f) - 32.0f), r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(t));
    float angle = (float)(int)b * 1.4629181e-9f;
    *first = r * __cosf(angle);
    *second = r * __sinf(angle);
}

/* sqrt.rn's own steps, without its test for extreme x. */
__device__ __forceinline__ double sqrt64(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = __fma_rn(x, -__dmul_rn(y, y), 1.0);
    y = __fma_rn(__fma_rn(e, 0.375, 0.5), __dmul_rn(y, e), y);
    double s = __dmul_rn(x, y), h = __hiloint2double(__double2hiint(y) - 0x100000, __double2loint(y));
    return __fma_rn(__fma_rn(-s, s, x), h, s);
}

__device__ __forceinline__ void normal64_sqrt(wm_u64 a, wm_u64 b, double *first, double *second) {
    double r = sqrt64(wm_normal_square_f64(a));
    r = wm_exact_f64(wm_exact_bits64(r) ^ (b & 0x8000000000000000ull));
    double x = wm_random_shifted64(b & 0xfffffffffffffull, -0.5), y = wm_exact_mul64(x, x);
    double s = wm_exact_mul64(wm_normal_sin_f64(x, y), r), c = wm_exact_mul64(wm_normal_cos_f64(y), r);
    int swap = (b & 0x4000000000000000ull) != 0;
    *first = swap ? s : c;
    *second = swap ? c : s;
}

/* Candidate B: one word, one cubic of a table by the leading bits of the tail probability; deep tails draw more bits.
 */
template <int COPIES>
__device__ __forceinline__ float icdf_body(unsigned w, const float4 *table, bool *tail) {
    float x = (float)(int)w;
    unsigned v = bits(x), index = ((v >> 19) & 0xfff) - (143 << 4);
    *tail |= fabsf(x) < 65536.0f;
    if (fabsf(x) < 65536.0f) index = 0;
    float4 c = table[COPIES == 1 ? index : index * COPIES + threadIdx.x % COPIES];
    float d = __fmaf_ieee_rn(__uint_as_float(v & 0x7ffff), 0x1p127f, -0x1p-4f);
    float z = __fmaf_rn(__fmaf_rn(__fmaf_rn(c.w, d, c.z), d, c.y), d, c.x);
    return __uint_as_float(bits(z) ^ (v & 0x80000000u));
}

__device__ __noinline__ float icdf_tail(unsigned w, unsigned block, unsigned word, const Params &p) {
    wmWords c = {
        {block * 4 + word, 0, 1, p.substream}
    };
    float x = (float)(int)w;
    if (!(fabsf(x) < 65536.0f)) return 0.0f;
    float q = (fabsf(x) + (float)wmPhilox4x32(c, p.key0, p.key1).w[0] * 0x1p-32f) * 0x1p-32f;
    return copysignf(-normcdfinvf(q), x);
}

template <int MODE>
__device__ __forceinline__ uint4 value(wmWords w, const Params &p) {
    uint4 o = make_uint4(w.w[0], w.w[1], w.w[2], w.w[3]);
    float z[4];
    double d[2];
    wm_u64 a = w.w[0] | (wm_u64)w.w[1] << 32, b = w.w[2] | (wm_u64)w.w[3] << 32;
    if constexpr (MODE == UNIFORM)
        for (int i = 0; i < 4; i++) z[i] = wm_uniform_f32(w.w[i]);
    if constexpr (MODE == AFFINE)
        for (int i = 0; i < 4; i++) z[i] = __fmaf_rn((float)(w.w[i] >> 8), p.step, p.low);
    for (int i = 0; i < 4; i += 2) {
        if (MODE == NORMAL) wm_normal_f32(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
        if (MODE == NORMAL_HALF) normal_half(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
        if (MODE == NORMAL_SQRT_RN) normal_sqrt_rn(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
        if (MODE == NORMAL_FAST) normal_fast(w.w[i], w.w[i + 1], &z[i], &z[i + 1]);
    }
    if (MODE == UNIFORM64) d[0] = wm_uniform_f64(w.w[0], w.w[1]), d[1] = wm_uniform_f64(w.w[2], w.w[3]);
    if (MODE == NORMAL64) wm_normal_f64(a, b, &d[0], &d[1]);
    if (MODE == NORMAL64_SQRT) normal64_sqrt(a, b, &d[0], &d[1]);
    if (MODE == UNIFORM || MODE == AFFINE || (MODE >= NORMAL && MODE <= NORMAL_FAST))
        o = make_uint4(bits(z[0]), bits(z[1]), bits(z[2]), bits(z[3]));
    if (MODE == UNIFORM64 || MODE == NORMAL64 || MODE == NORMAL64_SQRT)
        o = make_uint4(__double2loint(d[0]), __double2hiint(d[0]), __double2loint(d[1]), __double2hiint(d[1]));
    return o;
}

template <int KEYS>
__device__ __forceinline__ wmWords draw(const Params &p, unsigned block) {
    wmWords c = {
        {block, p.high, 0, p.substream}
    };
    if constexpr (!KEYS) return wmPhilox4x32(c, p.key0, p.key1);
#pragma unroll
    for (int r = 0; r < 10; r++) c = wm_philox_round(c, p.round[2 * r], p.round[2 * r + 1]);
    return c;
}

/* B blocks a thread, 256 apart; STREAM: evict-first stores; KEYS: round keys as constants. */
template <int MODE, int B, int KEYS, int STREAM>
__global__ void __launch_bounds__(THREADS) probe(const __grid_constant__ Params p) {
    unsigned first = blockIdx.x * (THREADS * B) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < B; j++) {
        unsigned block = first + THREADS * j;
        uint4 o = MODE == FILL ? make_uint4(1, 2, 3, 4) : value<MODE>(draw<KEYS>(p, block), p);
        if (STREAM)
            __stcs(p.out + block, o);
        else
            p.out[block] = o;
    }
}

/* The table in shared memory COPIES times, or (SHARED = 0) read through the L1 cache; a persistent grid. */
template <int B, int COPIES, int SHARED>
__global__ void __launch_bounds__(512) probe_icdf(const __grid_constant__ Params p) {
    extern __shared__ float4 shared[];
    if (SHARED)
        for (int i = threadIdx.x; i < SEGMENTS * COPIES; i += 512) shared[i] = p.table[i / COPIES];
    __syncthreads();
    const float4 *table = SHARED ? shared : p.table;
    for (unsigned tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        unsigned first = tile * (512 * B) + threadIdx.x;
#pragma unroll
        for (int j = 0; j < B; j++) {
            unsigned block = first + 512 * j;
            wmWords w = draw<0>(p, block);
            bool tail = false;
            float z[4];
            for (int i = 0; i < 4; i++) z[i] = icdf_body < SHARED ? COPIES : 1 > (w.w[i], table, &tail);
            if (tail)
                for (int i = 0; i < 4; i++) {
                    float t = icdf_tail(w.w[i], block, i, p);
                    if (t != 0.0f) z[i] = t;
                }
            p.out[block] = make_uint4(bits(z[0]), bits(z[1]), bits(z[2]), bits(z[3]));
        }
    }
}

__global__ void check_sqrt(unsigned from, unsigned to, unsigned long long *bad) {
    for (unsigned b = from + blockIdx.x * blockDim.x + threadIdx.x; b < to; b += gridDim.x * blockDim.x) {
        float x = __uint_as_float(b);
        if (bits(wm_exact_sqrt32(x)) != bits(__fsqrt_rn(x))) atomicAdd(bad, 1ull);
    }
}

/* Radii that a normal can have, at random, and the neighbours of squares. */
__global__ void check_sqrt64(unsigned long long n, unsigned long long *bad) {
    wmRandomKey key = {42, 0};
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        wmWords w = wmRandomBlock(key, i);
        double t = wm_normal_square_f64(w.w[0] | (wm_u64)w.w[1] << 32);
        double root = __hiloint2double(0x3e600000 + w.w[2] % 0x01a00000u, w.w[3]);
        double near = __longlong_as_double(__double_as_longlong(root * root) + (long long)(w.w[0] % 5) - 2);
        if (sqrt64(t) != __dsqrt_rn(t)) atomicAdd(bad, 1ull);
        if (sqrt64(near) != __dsqrt_rn(near)) atomicAdd(bad + 1, 1ull);
    }
}

/* ---- Host ---- */

static double inverse_normal(double p) { /* p in (0, 1/2] to -z: Newton on erfc */
    double z = p < 0.02 ? sqrt(-2.0 * log(p)) - 0.6 : 1.0;
    for (int i = 0; i < 60; i++) {
        double tail = 0.5 * erfc(z * M_SQRT1_2), density = exp(-0.5 * z * z) * 0.3989422804014327;
        double step = (tail - p) / density;
        z += step > 1 ? 1 : step < -1 ? -1 : step;
    }
    return z;
}

static std::vector<float4> make_table(void) {
    std::vector<float4> table(SEGMENTS, make_float4(0, 0, 0, 0));
    for (int s = 0; s + 1 < SEGMENTS; s++) {
        double from = ldexp(1.0 + (s % 16) / 16.0, -16 + s / 16), width = ldexp(1.0 / 16, -16 + s / 16);
        double x[4], f[4]; /* divided differences at Chebyshev's nodes, d = (position - 1/2) / 8 */
        for (int i = 0; i < 4; i++) {
            x[i] = 0.5 * cos(M_PI * (2 * i + 1) / 8);
            f[i] = inverse_normal(from + width * (x[i] + 0.5));
            x[i] *= 0.125;
        }
        for (int k = 1; k < 4; k++)
            for (int i = 3; i >= k; i--) f[i] = (f[i] - f[i - 1]) / (x[i] - x[i - k]);
        double c[4] = {f[3], 0, 0, 0};
        for (int i = 2; i >= 0; i--) {
            for (int k = 3; k > 0; k--) c[k] = c[k - 1] - x[i] * c[k];
            c[0] = f[i] - x[i] * c[0];
        }
        table[s] = make_float4((float)c[0], (float)c[1], (float)c[2], (float)c[3]);
    }
    return table;
}

struct Entry {
    const char *name;
    void (*launch)(const Params &, unsigned blocks);
    std::vector<double> ms;
};

static int multiprocessors;

template <int MODE, int B, int KEYS, int STREAM>
static void launch(const Params &p, unsigned blocks) {
    probe<MODE, B, KEYS, STREAM><<<blocks / (THREADS * B), THREADS>>>(p);
}
template <int B, int COPIES, int SHARED, int PER_SM>
static void launch_icdf(const Params &p, unsigned blocks) {
    Params q = p;
    q.tiles = blocks / (512 * B);
    size_t bytes = SHARED ? sizeof(float4) * SEGMENTS * COPIES : 0;
    CHECK(cudaFuncSetAttribute(probe_icdf<B, COPIES, SHARED>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    probe_icdf<B, COPIES, SHARED><<<multiprocessors * PER_SM, 512, bytes>>>(q);
}
static void launch_memset(const Params &p, unsigned blocks) {
    CHECK(cudaMemsetAsync(p.out, 1, blocks * sizeof(uint4)));
}

template <class K>
static void facts(const char *name, K kernel) {
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, kernel));
    printf("  %s: %d registers, %zu bytes of local memory\n", name, a.numRegs, a.localSizeBytes);
}

static void check_bits(Params p) {
    unsigned blocks = 1u << 18;
    std::vector<unsigned> got(4 * blocks);
    wmRandomKey key = {p.key0 | (wm_u64)p.key1 << 32, p.substream};
    unsigned long long wrong32 = 0, wrong64 = 0;
    launch<NORMAL, 4, 0, 0>(p, blocks);
    CHECK(cudaMemcpy(got.data(), p.out, 16 * blocks, cudaMemcpyDeviceToHost));
    for (unsigned b = 0; b < blocks; b++) {
        wmF32x4 z = wmNormalF32x4(key, b | (wm_u64)p.high << 32);
        wrong32 += memcmp(&z, &got[4 * b], 16) != 0;
    }
    launch<NORMAL64_SQRT, 4, 0, 0>(p, blocks);
    CHECK(cudaMemcpy(got.data(), p.out, 16 * blocks, cudaMemcpyDeviceToHost));
    for (unsigned b = 0; b < blocks; b++) {
        wmF64x2 z = wmNormalF64x2(key, b | (wm_u64)p.high << 32);
        wrong64 += memcmp(&z, &got[4 * b], 16) != 0;
    }
    launch_icdf<2, 8, 1, 2>(p, blocks);
    CHECK(cudaMemcpy(got.data(), p.out, 16 * blocks, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (unsigned b = 0; b < blocks; b += 64) {
        int w = (int)wmRandomBlock(key, b | (wm_u64)p.high << 32).w[0];
        if (abs((double)w) < 65536) continue;
        float z, x = (float)w;
        memcpy(&z, &got[4 * b], 4);
        double truth = copysign(inverse_normal(fabs((double)x) * 0x1p-32), w);
        worst = std::max(worst, fabs(z - truth));
    }
    printf(
        "blocks whose bits differ from the host's: normal f32 %llu, f64 %llu of %u; inverse CDF's largest error %.2e\n",
        wrong32, wrong64, blocks, worst);
}

static void check_roots(void) {
    unsigned long long *bad, host[3];
    CHECK(cudaMalloc(&bad, sizeof host));
    CHECK(cudaMemset(bad, 0, sizeof host));
    check_sqrt<<<4096, 256>>>(0x33000000u, 0x43000000u, bad); /* 2^-25 to 128 */
    check_sqrt64<<<4096, 256>>>(1ull << 32, bad + 1);
    CHECK(cudaMemcpy(host, bad, sizeof host, cudaMemcpyDeviceToHost));
    printf("roots that differ from sqrt.rn: f32 %llu of all in [2^-25, 128); f64 %llu of 2^32 squares of radii, %llu "
           "of 2^32 "
           "neighbours of squares\n",
           host[0], host[1], host[2]);
}

int main(void) {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    multiprocessors = prop.multiProcessorCount;
    Params p = {};
    unsigned blocks = 1u << 26; /* 2^28 f32: 1 GiB */
    CHECK(cudaMalloc(&p.out, blocks * sizeof(uint4)));
    p.high = 3, p.substream = 5, p.key0 = 0x12345678, p.key1 = 0x9abcdef0, p.step = 0x1p-24f;
    for (unsigned r = 0; r < 10; r++) {
        p.round[2 * r] = p.key0 + r * 0x9e3779b9u;
        p.round[2 * r + 1] = p.key1 + r * 0xbb67ae85u;
    }
    std::vector<float4> table = make_table();
    float4 *device_table;
    CHECK(cudaMalloc(&device_table, sizeof(float4) * SEGMENTS));
    CHECK(cudaMemcpy(device_table, table.data(), sizeof(float4) * SEGMENTS, cudaMemcpyHostToDevice));
    p.table = device_table;
    printf("%s, %d SMs\n", prop.name, multiprocessors);
    check_roots();
    check_bits(p);
    facts("normal x4", probe<NORMAL, 4, 0, 0>);
    facts("normal64 x4", probe<NORMAL64_SQRT, 4, 0, 0>);
    facts("icdf x2", probe_icdf<2, 8, 1>);

    std::vector<Entry> list = {
        {"memset", launch_memset, {}},
        { "fill x4",                               launch<FILL,           4,                  0, 0>, {}},
        { "bits x1",                               launch<BITS,           1,                  0, 0>, {}},
        { "bits x2",                               launch<BITS,           2,                  0, 0>, {}},
        { "bits x4",                               launch<BITS,           4,                  0, 0>, {}},
        { "bits x8",                               launch<BITS,           8,                  0, 0>, {}},
        { "bits x4, constant keys",                launch<BITS,           4,                  1, 0>, {}},
        { "bits x4, streaming stores",             launch<BITS,           4,                  0, 1>, {}},
        { "uniform f32 x4",                        launch<UNIFORM,        4,                  0, 0>, {}},
        { "uniform f32 x4, constant keys",         launch<UNIFORM,        4,                  1, 0>, {}},
        { "uniform f32 x8",                        launch<UNIFORM,        8,                  0, 0>, {}},
        { "uniform f32 [a, b) x4",                 launch<AFFINE,         4,                  0, 0>, {}},
        { "uniform f64 x4",                        launch<UNIFORM64,      4,                  0, 0>, {}},
        { "A normal f32 x2",                       launch<NORMAL,         2,                  0, 0>, {}},
        { "A normal f32 x4",                       launch<NORMAL,         4,                  0, 0>, {}},
        { "A normal f32 x8",                       launch<NORMAL,         8,                  0, 0>, {}},
        { "A normal f32 x4, constant keys",        launch<NORMAL,         4,                  1, 0>, {}},
        { "A normal f32 x8, constant keys",        launch<NORMAL,         8,                  1, 0>, {}},
        { "A normal f32 x4, sqrt.rn",              launch<NORMAL_SQRT_RN, 4,                  0, 0>, {}},
        { "A2 normal f32 x4, half turn",           launch<NORMAL_HALF,    4,                  0, 0>, {}},
        { "fast normal f32 x4",                    launch<NORMAL_FAST,    4,                  0, 0>, {}},
        { "B inverse CDF x2, 8 copies, 2 an SM",   launch_icdf<2,         8,                  1, 2>, {}},
        { "B inverse CDF x4, 8 copies, 2 an SM",   launch_icdf<4,         8,                  1, 2>, {}},
        { "B inverse CDF x2, 8 copies, 3 an SM",   launch_icdf<2,         8,                  1, 3>, {}},
        { "B inverse CDF x2, 1 copy, 3 an SM",     launch_icdf<2,         1,                  1, 3>, {}},
        { "B inverse CDF x2, through L1, 3 an SM", launch_icdf<2,         1,                  0, 3>, {}},
        { "normal f64 x4, sqrt.rn",                launch<NORMAL64,       4,                  0, 0>, {}},
        { "normal f64 x2, own root",               launch<NORMAL64_SQRT,  2,                  0, 0>, {}},
        { "normal f64 x4, own root",               launch<NORMAL64_SQRT,  4,                  0, 0>, {}},
        { "normal f64 x8, own root",               launch<NORMAL64_SQRT,  8,                  0, 0>, {}},
    };
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    enum { ROUNDS = 15, GROUP = 4 };
    for (int round = -1; round < ROUNDS; round++) {
        for (size_t k = 0; k < list.size(); k++) {
            Entry &e = list[(k + (size_t)(round + 1) * 7) % list.size()];
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
    printf("%-40s %9s %9s %9s\n", "1 GiB", "ms", "TB/s", "of memset");
    for (Entry &e : list) {
        std::sort(e.ms.begin(), e.ms.end());
        double ms = e.ms[e.ms.size() / 2];
        if (base == 0) base = ms;
        printf("%-40s %9.4f %9.3f %9.3f\n", e.name, ms, blocks * 16.0 / ms * 1e-9, base / ms);
    }
    return 0;
}
