/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points: low-discrepancy sequences for integration. Point n of a dimension is the exclusive or of the direction
 * numbers named by the bits of n's Gray code (Antonov and Saleev, 1979); plain, shifted, or scrambled as Owen proposed
 * by a hash of the bits above (Laine and Karras, "Stratified sampling for stochastic transparency", 2011; Burley,
 * "Practical hash-based Owen scrambling", 2020). docs/random.md is the bit-level specification. Plain C, for host and
 * device alike; wmSobolDirections (warpmath/random.h) gives the direction numbers.
 *
 *     unsigned int x = wmSobol32(directions + d, dimensions, n);       the host's bits, u32, gen=sobol32
 *     x = wmScramble32(WM_SCRAMBLE_OWEN, x, wmScrambleSeed(key, d));   scramble=owen
 *
 * Any thread may call, in any branch; no shared memory. Registers: what a kernel for sm_90a takes that does nothing
 * else. Accuracy: the same bits on every GPU and CPU. Source: the papers above.
 */
#ifndef WARPMATH_DEVICE_SOBOL_H
#define WARPMATH_DEVICE_SOBOL_H

#include <warpmath/device/random.h>
#include <warpmath/random_generator.h>

/** The lane of the words that scramble: number = dimension. */
#define WM_LANE_SCRAMBLE 0xfffffffeu

/** Point n (modulo 2^32) of a dimension whose direction numbers are directions[0], directions[step], … (32 of them).
 * Any thread; 14 registers; bits and source: see the top. `directions` aligned to 4 bytes. */
WM_BOTH unsigned int wmSobol32(const unsigned int *directions, long long step, unsigned long long n) {
    wm_u32 gray = (wm_u32)n ^ ((wm_u32)n >> 1), x = 0;
    for (int bit = 0; gray; bit++, gray >>= 1)
        if (gray & 1) x ^= directions[bit * step];
    return x;
}

/** The same of 64 bits. Any thread; 18 registers; bits and source: see the top. `directions` aligned to 8 bytes. */
WM_BOTH unsigned long long wmSobol64(const unsigned long long *directions, long long step, unsigned long long n) {
    wm_u64 gray = n ^ (n >> 1), x = 0;
    for (int bit = 0; gray; bit++, gray >>= 1)
        if (gray & 1) x ^= directions[bit * step];
    return x;
}

/** 64 random bits for a dimension of a key. Any thread; 16 registers; bits and source: see the top. */
WM_BOTH unsigned long long wmScrambleSeed(wmRandomKey key, unsigned long long dimension) {
    wmWords w = wm_random_words(key, dimension, WM_LANE_SCRAMBLE);
    return w.w[0] | (wm_u64)w.w[1] << 32;
}

/** Bits in the opposite order. */
WM_BOTH wm_u32 wm_reverse32(wm_u32 x) {
#ifdef __CUDA_ARCH__
    return __brev(x);
#else
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
#endif
}
WM_BOTH wm_u64 wm_reverse64(wm_u64 x) {
    return (wm_u64)wm_reverse32((wm_u32)x) << 32 | wm_reverse32((wm_u32)(x >> 32));
}

/*
 * Each step carries a bit only to those above it: x + seed, x · odd, and x ⊕ x · even. So, on reversed bits, whether a
 * bit is flipped depends on the bits of higher value alone, which is what makes a permutation of digits nested.
 */
WM_BOTH wm_u32 wm_owen32(wm_u32 x, wm_u64 seed) {
    wm_u32 first = (wm_u32)seed, second = (wm_u32)(seed >> 32);
    x = wm_reverse32(x);
    x ^= x * 0x3d20adeau;
    x += first;
    x *= second | 1u;
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return wm_reverse32(x);
}
WM_BOTH wm_u64 wm_owen64(wm_u64 x, wm_u64 seed) {
    x = wm_reverse64(x);
    x ^= x * 0x3779b97f4a7c15eaull;
    x += seed;
    x *= (seed << 32 | seed >> 32) | 1ull;
    x ^= x * 0x605526c56d1b54a4ull;
    x ^= x * 0x133111eb53a22864ull;
    return wm_reverse64(x);
}

/** A point's coordinate after the scrambling, by wmScrambleSeed of the coordinate's dimension. Any thread; 10
 * registers; bits and source: see the top. */
WM_BOTH unsigned int wmScramble32(int scramble, unsigned int x, unsigned long long seed) {
    if (scramble == WM_SCRAMBLE_OWEN) return wm_owen32(x, seed);
    return scramble == WM_SCRAMBLE_SHIFT ? x ^ (wm_u32)seed : x;
}

/** The same of 64 bits. Any thread; 14 registers; bits and source: see the top. */
WM_BOTH unsigned long long wmScramble64(int scramble, unsigned long long x, unsigned long long seed) {
    if (scramble == WM_SCRAMBLE_OWEN) return wm_owen64(x, seed);
    return scramble == WM_SCRAMBLE_SHIFT ? x ^ seed : x;
}

/* ---- Values ---- */

/** Near 1/2: the inverse distribution at 1/2 + q, |q| <= 0.425. Wichura's rational functions of q (AS 241, 1988). */
WM_BOTH double wm_sobol_normal_middle(double q) {
    double r = wm_exact_fma64(-q, q, 0.180625), a = 2509.0809287301226727, b = 5226.495278852545925;
    a = wm_exact_fma64(a, r, 33430.575583588128105);
    a = wm_exact_fma64(a, r, 67265.770927008700853);
    a = wm_exact_fma64(a, r, 45921.953931549871457);
    a = wm_exact_fma64(a, r, 13731.693765509461125);
    a = wm_exact_fma64(a, r, 1971.5909503065514427);
    a = wm_exact_fma64(a, r, 133.14166789178437745);
    a = wm_exact_fma64(a, r, 3.387132872796366608);
    b = wm_exact_fma64(b, r, 28729.085735721942674);
    b = wm_exact_fma64(b, r, 39307.89580009271061);
    b = wm_exact_fma64(b, r, 21213.794301586595867);
    b = wm_exact_fma64(b, r, 5394.1960214247511077);
    b = wm_exact_fma64(b, r, 687.1870074920579083);
    b = wm_exact_fma64(b, r, 42.313330701600911252);
    b = wm_exact_fma64(b, r, 1.0);
    return wm_exact_mul64(q, wm_exact_div64(a, b));
}

/** In the tails, of r = sqrt(-ln p), p the smaller probability: r <= 5, and beyond. */
WM_BOTH double wm_sobol_normal_tail(double r) {
    double a = 7.7454501427834140764e-4, b = 1.05075007164441684324e-9;
    r = wm_exact_add64(r, -1.6);
    a = wm_exact_fma64(a, r, 0.0227238449892691845833);
    a = wm_exact_fma64(a, r, 0.24178072517745061177);
    a = wm_exact_fma64(a, r, 1.27045825245236838258);
    a = wm_exact_fma64(a, r, 3.64784832476320460504);
    a = wm_exact_fma64(a, r, 5.7694972214606914055);
    a = wm_exact_fma64(a, r, 4.6303378461565452959);
    a = wm_exact_fma64(a, r, 1.42343711074968357734);
    b = wm_exact_fma64(b, r, 5.475938084995344946e-4);
    b = wm_exact_fma64(b, r, 0.0151986665636164571966);
    b = wm_exact_fma64(b, r, 0.14810397642748007459);
    b = wm_exact_fma64(b, r, 0.68976733498510000455);
    b = wm_exact_fma64(b, r, 1.6763848301838038494);
    b = wm_exact_fma64(b, r, 2.05319162663775882187);
    b = wm_exact_fma64(b, r, 1.0);
    return wm_exact_div64(a, b);
}
WM_BOTH double wm_sobol_normal_far(double r) {
    double a = 2.01033439929228813265e-7, b = 2.04426310338993978564e-15;
    r = wm_exact_add64(r, -5.0);
    a = wm_exact_fma64(a, r, 2.71155556874348757815e-5);
    a = wm_exact_fma64(a, r, 0.0012426609473880784386);
    a = wm_exact_fma64(a, r, 0.026532189526576123093);
    a = wm_exact_fma64(a, r, 0.29656057182850489123);
    a = wm_exact_fma64(a, r, 1.7848265399172913358);
    a = wm_exact_fma64(a, r, 5.4637849111641143699);
    a = wm_exact_fma64(a, r, 6.6579046435011037772);
    b = wm_exact_fma64(b, r, 1.4215117583164458887e-7);
    b = wm_exact_fma64(b, r, 1.8463183175100546818e-5);
    b = wm_exact_fma64(b, r, 7.868691311456132591e-4);
    b = wm_exact_fma64(b, r, 0.0148753612908506148525);
    b = wm_exact_fma64(b, r, 0.13692988092273580531);
    b = wm_exact_fma64(b, r, 0.59983220655588793769);
    b = wm_exact_fma64(b, r, 1.0);
    return wm_exact_div64(a, b);
}

/** The normal value of probability (k + 1/2) / 2^52, k < 2^52: increasing in k, so that points keep their spread. */
WM_BOTH double wm_sobol_normal(wm_u64 k) {
    double q = wm_random_shifted64(k, -0.5);
    if (q >= -0.425 && q <= 0.425) return wm_sobol_normal_middle(q);
    wm_u64 least = q < 0.0 ? k : ~k & 0xfffffffffffffull;
    double r = wm_exact_sqrt64(wm_exact_mul64(0.5, wm_normal_square_f64(least)));
    double z = r <= 5.0 ? wm_sobol_normal_tail(r) : wm_sobol_normal_far(r);
    return q < 0.0 ? -z : z;
}

/** The 52 bits of a coordinate that a normal reads: of 32 bits the middle of its step. */
WM_BOTH wm_u64 wm_sobol_steps32(wm_u32 x) {
    return (wm_u64)x << 20 | 0x80000ull;
}
WM_BOTH wm_u64 wm_sobol_steps64(wm_u64 x) {
    return x >> 12;
}

#endif
