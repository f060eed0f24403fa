/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two Monte Carlo integrals in kernels of one's own, with random numbers made in registers: pi by points in a square,
 * by Philox and by Owen-scrambled Sobol' points, and the price of a European call by normals. Nothing random is stored,
 * and nothing is set up: a value is a function of the key and its index.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a monte_carlo.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/random.h>
#include <warpmath/device/sobol.h>
#include <warpmath/warpmath.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int THREADS = 256, BLOCKS = 1056;

/** Sums a value a thread over the grid. */
__device__ void add(double *sum, double mine) {
    for (int by = 16; by; by /= 2) mine += __shfl_down_sync(0xffffffffu, mine, by);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

/** Points of a block of four uniforms: two. */
__global__ void __launch_bounds__(THREADS) count_philox(double *sum, wmRandomKey key, unsigned long long points) {
    unsigned hits = 0;
    for (unsigned long long i = blockIdx.x * THREADS + threadIdx.x; i < points / 2; i += THREADS * BLOCKS) {
        wmF32x4 u = wmUniformF32x4(key, i);
        hits += u.v[0] * u.v[0] + u.v[1] * u.v[1] < 1;
        hits += u.v[2] * u.v[2] + u.v[3] * u.v[3] < 1;
    }
    add(sum, hits);
}

/** `directions` from wmSobolDirections, of two dimensions. */
__global__ void __launch_bounds__(THREADS)
    count_sobol(double *sum, wmRandomKey key, unsigned long long points, const unsigned *directions) {
    const unsigned long long seed0 = wmScrambleSeed(key, 0), seed1 = wmScrambleSeed(key, 1);
    unsigned hits = 0;
    for (unsigned long long n = blockIdx.x * THREADS + threadIdx.x; n < points; n += THREADS * BLOCKS) {
        unsigned x = wmScramble32(WM_SCRAMBLE_OWEN, wmSobol32(directions, 2, n), seed0);
        unsigned y = wmScramble32(WM_SCRAMBLE_OWEN, wmSobol32(directions + 1, 2, n), seed1);
        double a = x * 0x1p-32, b = y * 0x1p-32;
        hits += a * a + b * b < 1;
    }
    add(sum, hits);
}

struct call {
    float spot, strike, rate, volatility, years;
};

/** Payoffs max(S - K, 0), S = S0 exp((r - s²/2) t + s sqrt(t) z), of four normals a block. */
__global__ void __launch_bounds__(THREADS) price(double *sum, wmRandomKey key, unsigned long long paths, call c) {
    const float drift = (c.rate - 0.5f * c.volatility * c.volatility) * c.years, wide = c.volatility * sqrtf(c.years);
    double mine = 0;
    for (unsigned long long i = blockIdx.x * THREADS + threadIdx.x; i < paths / 4; i += THREADS * BLOCKS) {
        wmF32x4 z = wmNormalF32x4(key, i);
        for (int k = 0; k < 4; k++) mine += fmaxf(c.spot * expf(drift + wide * z.v[k]) - c.strike, 0.0f);
    }
    add(sum, mine);
}

static void need(bool ok, const char *what) {
    if (ok) return;
    std::fprintf(stderr, "%s: %s / %s\n", what, cudaGetErrorString(cudaGetLastError()), wmLastError());
    std::exit(1);
}

/** The sum, and zero for the next. */
static double take(double *sum) {
    double value = 0;
    need(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess, "kernel");
    need(cudaMemset(sum, 0, sizeof value) == cudaSuccess, "memset");
    return value;
}

/** Black and Scholes' formula. */
static double exact_price(call c) {
    double root = c.volatility * std::sqrt(c.years), up = std::log(c.spot / c.strike) + c.rate * c.years;
    double d1 = (up + 0.5 * root * root) / root, d2 = d1 - root;
    return c.spot * 0.5 * std::erfc(-d1 * M_SQRT1_2) -
           c.strike * std::exp(-c.rate * c.years) * 0.5 * std::erfc(-d2 * M_SQRT1_2);
}

int main() {
    const unsigned long long n = 1ull << 30;
    const wmRandomKey key = wmRandomKeyMake(42);
    const call c = {100, 110, 0.03f, 0.25f, 2};
    unsigned host[64], *directions = nullptr;
    double *sum = nullptr;
    need(cudaMalloc((void **)&sum, sizeof *sum) == cudaSuccess, "memory");
    need(cudaMalloc((void **)&directions, sizeof host) == cudaSuccess, "memory");
    need(cudaMemset(sum, 0, sizeof *sum) == cudaSuccess, "memset");
    need(wmSobolDirections(host, WM_SOBOL32, 2) == WM_OK, "directions");
    need(cudaMemcpy(directions, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess, "copy");

    count_philox<<<BLOCKS, THREADS>>>(sum, wmRandomKeyFold(key, 0), n);
    double philox = 4 * take(sum) / (double)n - M_PI;
    count_sobol<<<BLOCKS, THREADS>>>(sum, wmRandomKeyFold(key, 1), n, directions);
    double sobol = 4 * take(sum) / (double)n - M_PI;
    price<<<BLOCKS, THREADS>>>(sum, wmRandomKeyFold(key, 2), n, c);
    double paid = std::exp(-c.rate * c.years) * take(sum) / (double)n, exact = exact_price(c);
    std::printf("2^30 points: pi is off by %.1e (Philox), %.1e (Sobol' points); a call costs %.5f, by formula %.5f\n",
                philox, sobol, paid, exact);
    cudaFree(sum);
    cudaFree(directions);
    /* Five standard errors: of pi 1.64 / sqrt(n), of the payoff, whose deviation is about 40, 40 / sqrt(n). */
    return std::fabs(philox) < 2.5e-4 && std::fabs(sobol) < 5e-6 && std::fabs(paid - exact) < 6.5e-3 ? 0 : 1;
}
