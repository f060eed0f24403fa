/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Your own kernel with warpmath's distributions: a European call by Monte Carlo, each path one normal of the device
 * header, and pi from the same key's uniforms. The price is checked with the closed form of Black and Scholes.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a option_price.cu
 */
#include <warpmath/device/distributions.h>

#include <cstdio>
#include <cmath>

constexpr double SPOT = 100, STRIKE = 105, RATE = 0.03, VOLATILITY = 0.2, YEARS = 1;
constexpr unsigned long long PATHS = 1ull << 26;

struct Sums {
    double payoff, square, inside;
};

__global__ void simulate(Sums *out, wmRandomKey key) {
    Sums s = {0, 0, 0};
    const wmRandomKey darts = wmRandomKeyFold(key, 1); /* another use of random numbers: another key */
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long b = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; b < PATHS / 4; b += step) {
        wmF32x4 z = wmNormalF32x4(key, b), u = wmUniformF32x4(darts, b); /* four paths, two darts */
        for (int k = 0; k < 4; k++) {
            float end = (float)SPOT * expf((float)((RATE - 0.5 * VOLATILITY * VOLATILITY) * YEARS) +
                                           (float)(VOLATILITY)*sqrtf((float)YEARS) * z.v[k]);
            double payoff = fmaxf(end - (float)STRIKE, 0);
            s.payoff += payoff, s.square += payoff * payoff;
        }
        s.inside += (u.v[0] * u.v[0] + u.v[1] * u.v[1] < 1) + (u.v[2] * u.v[2] + u.v[3] * u.v[3] < 1);
    }
    atomicAdd(&out->payoff, s.payoff), atomicAdd(&out->square, s.square), atomicAdd(&out->inside, s.inside);
}

static double normal_cdf(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

int main() {
    Sums *device = nullptr, sums = {0, 0, 0};
    if (cudaMalloc(&device, sizeof sums) != cudaSuccess) return 1;
    cudaMemset(device, 0, sizeof sums);
    simulate<<<1024, 256>>>(device, wmRandomKey{42, 0});
    if (cudaMemcpy(&sums, device, sizeof sums, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    double discount = std::exp(-RATE * YEARS), mean = sums.payoff / PATHS, root = VOLATILITY * std::sqrt(YEARS);
    double price = discount * mean, error = discount * std::sqrt((sums.square / PATHS - mean * mean) / PATHS);
    double d = (std::log(SPOT / STRIKE) + RATE * YEARS) / root + 0.5 * root;
    double exact = SPOT * normal_cdf(d) - STRIKE * discount * normal_cdf(d - root);
    double pi = 4 * sums.inside / (PATHS / 2);
    std::printf("call %.4f, by the formula %.4f, standard error %.4f; pi %.4f\n", price, exact, error, pi);
    cudaFree(device);
    return std::fabs(price - exact) < 6 * error && std::fabs(pi - 3.14159265) < 0.002 ? 0 : 1;
}
