/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic that rounds correctly everywhere, so that what is built from it has the same bits on every GPU and CPU:
 * fused multiply-add, sum, product, quotient and root (to nearest, ties to even), and reinterpretation of bits. Plain
 * C: compiles as C11, C++, CUDA (nvcc and NVRTC, no system header needed) and in the emulation of kernels.
 *
 * A host compiler must not contract on its own: build with -ffp-contract=off, without -ffast-math.
 */
#ifndef WARPMATH_DEVICE_EXACT_H
#define WARPMATH_DEVICE_EXACT_H

#if defined(__CUDACC__) && !defined(WM_SIMT)
/** A function for host and device, inlined. */
#define WM_BOTH static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define WM_BOTH static inline __attribute__((always_inline, unused))
#else
#define WM_BOTH static inline
#endif

typedef int wm_i32;
typedef unsigned int wm_u32;
typedef unsigned long long wm_u64;

/** The float, the double of these bits; the bits of a float, of a double. */
WM_BOTH float wm_exact_f32(wm_u32 bits) {
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    union {
        wm_u32 bits;
        float value;
    } u = {bits};
    return u.value;
#endif
}
WM_BOTH double wm_exact_f64(wm_u64 bits) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)bits);
#else
    union {
        wm_u64 bits;
        double value;
    } u = {bits};
    return u.value;
#endif
}
WM_BOTH wm_u32 wm_exact_bits32(float x) {
#ifdef __CUDA_ARCH__
    return __float_as_uint(x);
#else
    union {
        float value;
        wm_u32 bits;
    } u = {x};
    return u.bits;
#endif
}
WM_BOTH wm_u64 wm_exact_bits64(double x) {
#ifdef __CUDA_ARCH__
    return (wm_u64)__double_as_longlong(x);
#else
    union {
        double value;
        wm_u64 bits;
    } u = {x};
    return u.bits;
#endif
}

/** a · b + c with one rounding; subnormals are kept, whatever nvcc's -ftz says. */
WM_BOTH float wm_exact_fma32(float a, float b, float c) {
#ifdef __CUDA_ARCH__
    return __fmaf_ieee_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}
WM_BOTH double wm_exact_fma64(double a, double b, double c) {
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, c);
#else
    return __builtin_fma(a, b, c);
#endif
}

/** a + b, a · b: never contracted. */
WM_BOTH float wm_exact_add32(float a, float b) {
#ifdef __CUDA_ARCH__
    return __fadd_rn(a, b);
#else
    return a + b;
#endif
}
WM_BOTH float wm_exact_mul32(float a, float b) {
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}
WM_BOTH double wm_exact_add64(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
}
WM_BOTH double wm_exact_mul64(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/** a / b. */
WM_BOTH double wm_exact_div64(double a, double b) {
#ifdef __CUDA_ARCH__
    return __ddiv_rn(a, b);
#else
    return a / b;
#endif
}

/**
 * The square root of x in [2^-100, 2^100], correctly rounded. On the GPU: Newton's step on the hardware's reciprocal
 * square root, without the test for extreme x that sqrt.rn carries; perf/probe_normal.cu compares it with
 * sqrt.rn for every float of the range that normals use.
 */
WM_BOTH float wm_exact_sqrt32(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    float s = __fmul_rn(x, y), h = __fmul_rn(y, 0.5f);
    return __fmaf_rn(__fmaf_rn(-s, s, x), h, s);
#else
    return __builtin_sqrtf(x);
#endif
}
WM_BOTH double wm_exact_sqrt64(double x) {
#ifdef __CUDA_ARCH__
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = __fma_rn(x, -__dmul_rn(y, y), 1.0);
    y = __fma_rn(__fma_rn(e, 0.375, 0.5), __dmul_rn(y, e), y);
    double s = __dmul_rn(x, y), h = __dmul_rn(y, 0.5);
    return __fma_rn(__fma_rn(-s, s, x), h, s);
#else
    return __builtin_sqrt(x);
#endif
}

#endif
