#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times what random_cipher and random_quantile draw, on a GPU, beside Philox4x32-10's own kernels and memset: from the repository's root
#     perf/time_cipher.sh [build/dev] > cipher.csv
# The first lines are the walk that perf/verified.csv wants besides (scripts/verify random_cipher has the sanitizers).
build=${1:-build/dev}
export WARPMATH_UNVERIFIED=1
echo "problem,report"
for generator in philox4x32-10 philox4x32-7 philox4x64-10 threefry2x32-20 threefry4x64-20; do
    for draw in "bits u16" "uniform bf16" "integers u32" "exponential f32" "lognormal f32" "normal bf16" "poisson u32" \
                "gamma f32" "beta f64" "truncated_normal f32" "bernoulli u8"; do
        problem="random $draw gen=$generator n=2^26"
        "$build"/warpmath bench "$problem" | sed "s/^/$problem,/"
    done
done
for generator in "sobol32 dims=8" "sobol64 dims=8 scramble=owen"; do
    for draw in "uniform bf16" "integers u32" "exponential f32" "lognormal f32" "laplace f64" "geometric u32" "uniform f32 key=device"; do
        problem="random $draw gen=$generator n=2^26"
        "$build"/warpmath bench "$problem" | sed "s/^/$problem,/"
    done
done
