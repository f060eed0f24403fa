/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every generator and distribution in a kernel, and the same functions on the CPU: the numbers are the same, bit for
 * bit, as the headers are plain C for both. What a law needs beyond its element's number is made on the host once, and
 * reaches the kernel as a parameter.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a every_draw.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/base.cuh>
#include <warpmath/device/distributions.h>
#include <warpmath/device/generators.h>
#include <warpmath/device/sobol.h>

#include "check.h"

#include <cstring>

enum { DRAWS = 4096, COLUMNS = 16, GROUPS = 5 };

struct laws {
    wmRandomKey key;
    wmRangeF32 range32;
    wmRangeF64 range64;
    wmInterval32 open32, open16;
    wmInterval64 open64;
    wmIntegers dice;
    wmProbability rare;
    wmPermutation shuffled;
    wmTruncated truncated;
    wmWideCount poisson, binomial;
    double geometric;
    const wmAlias *weights;           /* of three categories */
    const wmCountTable *steps;        /* 0, 1 or 2 */
    const unsigned int *directions32; /* of one dimension */
    const unsigned long long *directions64;
};

WM_BOTH void draw_generators(const laws &p, wm_u64 i, double *out) {
    wmWords w = {
        {(wm_u32)i, 2, 3, 4}
    };
    wmWords64 wide = {
        {i, 2, 3, 4}
    };
    wmWords2 pair = {
        {(wm_u32)i, 2}
    };
    out[0] = wmPhilox4x32(w, 5, 6).w[1];
    out[1] = wmPhilox4x32R7(w, 5, 6).w[2];
    out[2] = (double)(wmPhilox4x64(wide, 5, 6).w[3] >> 11);
    out[3] = wmThreefry2x32(pair, 5, 6).w[0];
    out[4] = (double)(wmThreefry4x64(wide, wide).w[1] >> 11);
    out[5] = wmRandomBlock(p.key, i).w[3];
    out[6] = wmBitsU32(p.key, i);
    out[7] = (double)(wmBitsU64(p.key, i) >> 11);
    out[8] = wmBitsU16(p.key, i);
    out[9] = wmBitsU8(p.key, i);
    out[10] = wmRandomKeyFold(p.key, i).substream;
    out[11] = wmScramble32(WM_SCRAMBLE_OWEN, wmSobol32(p.directions32, 1, i), wmScrambleSeed(p.key, 0));
    out[12] =
        (double)(wmScramble64(WM_SCRAMBLE_SHIFT, wmSobol64(p.directions64, 1, i), wmScrambleSeed(p.key, 1)) >> 11);
}

WM_BOTH void draw_uniform(const laws &p, wm_u64 i, double *out) {
    out[0] = wmUniformF32(p.key, i);
    out[1] = wmUniformF64(p.key, i);
    out[2] = wmUniformInF32(p.key, i, p.range32);
    out[3] = wmUniformInF64(p.key, i, p.range64);
    out[4] = wm_uniform_any_f32(wmBitsU32(p.key, i), &p.open32);
    out[5] = wm_uniform_any_f64(wmBitsU64(p.key, i), &p.open64);
    out[6] = wm_uniform_any_16(1, wmBitsU16(p.key, i), &p.open16);
    out[7] = wmIntegersU8(p.key, i, p.dice);
    out[8] = wmIntegersU32(p.key, i, p.dice);
    out[9] = (double)wmIntegersU64(p.key, i, p.dice);
    out[10] = wmBernoulli(p.key, i, p.rare);
    out[11] = wmBernoulliMask(p.key, i, p.rare);
    out[12] = wmNormalF32(p.key, i);
    out[13] = wmNormalF64(p.key, i);
    out[14] = wmUniformF64x2(p.key, i).v[1];
    out[15] = wmNormalF64x2(p.key, i).v[0];
}

WM_BOTH void draw_continuous(const laws &p, wm_u64 i, double *out) {
    out[0] = wmExponentialF32(p.key, i, 2.0f);
    out[1] = wmExponentialF64(p.key, i, 2.0);
    out[2] = wmLognormalF32(p.key, i, 0.5f, 0.25f);
    out[3] = wmLognormalF64(p.key, i, 0.5, 0.25);
    out[4] = wmLaplace(p.key, i);
    out[5] = wmLogistic(p.key, i);
    out[6] = wmGumbel(p.key, i);
    out[7] = wmWeibull(p.key, i, 1.5);
    out[8] = wmCauchy(p.key, i);
    out[9] = wmTruncatedNormal(p.key, i, &p.truncated);
}

WM_BOTH void draw_gamma(const laws &p, wm_u64 i, double *out) {
    out[0] = wmGamma(p.key, i, 0.75);
    out[1] = wmBeta(p.key, i, 2.0, 3.0);
    out[2] = wmChiSquare(p.key, i, 5.0);
    out[3] = wmStudentT(p.key, i, 5.0);
    out[4] = wmGammaShapeMake(2.5).d;
}

WM_BOTH void draw_choices(const laws &p, wm_u64 i, double *out) {
    wm_u32 word = wmBitsU32(p.key, i);
    out[0] = wmCategorical(p.key, i, p.weights, 3);
    out[1] = (double)wmCount(p.key, i, p.steps);
    out[2] = (double)wmWideCountDraw(p.key, i, &p.poisson);
    out[3] = (double)wmWideCountDraw(p.key, i, &p.binomial);
    out[4] = (double)wmGeometric(p.key, i, p.geometric);
    out[5] = (double)wmPermute(&p.shuffled, i);
    out[6] = wmRoundAtRandom(1.2345f, word, wmRoundedF16());
    out[7] = wmRoundAtRandom(1.2345f, word, wmRoundedBf16());
    out[8] = wmRoundAtRandom(1.2345f, word, wmRoundedE4m3());
    out[9] = wmRoundAtRandom(1.2345f, word, wmRoundedE5m2());
}

template <int GROUP>
WM_BOTH void draw(const laws &p, wm_u64 i, double *out) {
    if constexpr (GROUP == 0) draw_generators(p, i, out);
    if constexpr (GROUP == 1) draw_uniform(p, i, out);
    if constexpr (GROUP == 2) draw_continuous(p, i, out);
    if constexpr (GROUP == 3) draw_gamma(p, i, out);
    if constexpr (GROUP == 4) draw_choices(p, i, out);
}

template <int GROUP>
__global__ void draw_all(const __grid_constant__ laws p, double *out) {
    wm_u64 i = (wm_u64)wm_grid_first();
    if (i < DRAWS) draw<GROUP>(p, i, out + i * COLUMNS);
}

/** Rows of values that belong together are written where they go: here behind each other. */
__global__ void draw_rows(wmRandomKey key, const double *lower, const double *weight, const float *single, double *out,
                          float *out32) {
    wm_u64 row = (wm_u64)wm_grid_first();
    if (row >= DRAWS) return;
    wmNormalVectorF64(key, row, 3, lower, nullptr, out + row * 6);
    wmDirichletF64(key, row, 3, weight, out + row * 6 + 3);
    wmNormalVectorF32(key, row, 3, single, nullptr, out32 + row * 6);
    wmDirichletF32(key, row, 3, single + 9, out32 + row * 6 + 3);
}

template <class T>
static int differ(const char *name, const std::vector<T> &got, const std::vector<T> &want) {
    int count = 0;
    for (size_t i = 0; i < want.size(); i++) count += std::memcmp(&got[i], &want[i], sizeof(T)) != 0;
    std::printf("%s: %d of %zu numbers differ from the CPU's\n", name, count, want.size());
    return count;
}

template <int GROUP>
static int compare(const char *name, const laws &on_host, const laws &on_device) {
    std::vector<double> want((size_t)DRAWS * COLUMNS, 0.0);
    double *out = device(want);
    for (wm_u64 i = 0; i < DRAWS; i++) draw<GROUP>(on_host, i, want.data() + i * COLUMNS);
    draw_all<GROUP><<<DRAWS / 128, 128>>>(on_device, out);
    return differ(name, host(out, want.size()), want);
}

static int compare_rows(wmRandomKey key) {
    const std::vector<double> lower = {1, 0, 0, 0.5, 2, 0, 0.25, -1, 3}, weight = {0.5, 1, 2};
    const std::vector<float> single = {1, 0, 0, 0.5f, 2, 0, 0.25f, -1, 3, 0.5f, 1, 2};
    std::vector<double> want((size_t)DRAWS * 6);
    std::vector<float> want32((size_t)DRAWS * 6);
    for (size_t row = 0; row < DRAWS; row++) {
        wmNormalVectorF64(key, row, 3, lower.data(), nullptr, &want[row * 6]);
        wmDirichletF64(key, row, 3, weight.data(), &want[row * 6 + 3]);
        wmNormalVectorF32(key, row, 3, single.data(), nullptr, &want32[row * 6]);
        wmDirichletF32(key, row, 3, single.data() + 9, &want32[row * 6 + 3]);
    }
    double *out = device<double>(want.size());
    float *out32 = device<float>(want.size());
    draw_rows<<<DRAWS / 128, 128>>>(key, device(lower), device(weight), device(single), out, out32);
    return differ("rows, f64", host(out, want.size()), want) + differ("rows, f32", host(out32, want32.size()), want32);
}

int main() {
    static wmCountTable steps; /* 0 below a quarter, 1 below three quarters, then 2 */
    steps.entries = 2, steps.high[0] = 0x3fffffffu, steps.high[1] = 0xbfffffffu;
    steps.low[0] = steps.low[1] = 0xffffffffu;
    const wmAlias weights[3] = {
        {0x80000000u, 1},
        {0xffffffffu, 1},
        {0x40000000u, 0}
    };
    unsigned int directions32[32];
    unsigned long long directions64[64];
    need(wmSobolDirections(directions32, WM_SOBOL32, 1) == WM_OK, "directions");
    need(wmSobolDirections(directions64, WM_SOBOL64, 1) == WM_OK, "directions");
    laws p = {};
    p.key = wmRandomKeyMake(2026);
    p.range32 = wmRangeMakeF32(-3, 5), p.range64 = wmRangeMakeF64(-3, 5);
    p.open32 = wmIntervalMakeF32(WM_OPEN, 0, 1), p.open64 = wmIntervalMakeF64(WM_OPEN, 0, 1);
    p.open16 = wmIntervalMake16(1, WM_OPEN_CLOSED, 0, 1);
    p.dice = wmIntegersMake(1, 6), p.rare = wmProbabilityMake(0.01), p.shuffled = wmPermutationMake(p.key, DRAWS);
    p.truncated = wmTruncatedMake(0, 1, 0.5, 2.5);
    p.poisson = wmWidePoissonMake(5000), p.binomial = wmWideBinomialMake(1e6, 0.3);
    p.geometric = wmGeometricScale(0.125);
    laws q = p;
    p.weights = weights, p.steps = &steps, p.directions32 = directions32, p.directions64 = directions64;
    q.weights = device(std::vector<wmAlias>(weights, weights + 3));
    q.steps = device(std::vector<wmCountTable>(1, steps));
    q.directions32 = device(std::vector<unsigned int>(directions32, directions32 + 32));
    q.directions64 = device(std::vector<unsigned long long>(directions64, directions64 + 64));
    int wrong = compare<0>("generators", p, q) + compare<1>("uniforms, integers, coins, normals", p, q) +
                compare<2>("continuous laws", p, q) + compare<3>("gamma and its kin", p, q) +
                compare<4>("counts, choices, roundings", p, q) + compare_rows(p.key);
    return wrong ? 1 : 0;
}
