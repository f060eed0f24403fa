/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations at the price of a few instructions, for kernels whose epilogue is in the way of their products: hardware
 * 2^x and 1/x in place of expf, erfcf and divisions. Errors, in units of |x|: gelu_tanh at most 2^-22, gelu_erf 2^-23;
 * where gelu is tiny its own digits stay: to 2^-17 of gelu down to 2^-60 |x|, below which it is held.
 */
#ifndef WARPMATH_DEVICE_GELU_CUH
#define WARPMATH_DEVICE_GELU_CUH

#include <warpmath/device/epilogue.cuh>

/** 2^x and 1/x by the special function unit: 2 and 1 units in the last place; tiny results are 0. PTX ISA, ex2, rcp. */
WM_DEVICE float wm_fast_exp2(float x) {
#ifdef WM_SIMT
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}
WM_DEVICE float wm_fast_reciprocal(float x) {
#ifdef WM_SIMT
    return 1.0f / x;
#else
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/** 1/x and 1/y of numbers from 1 to 2^63, for one reciprocal. */
WM_DEVICE void wm_fast_reciprocals(float &x, float &y) {
    float both = wm_fast_reciprocal(wm_mul(x, y)), first = wm_mul(both, y);
    y = wm_mul(both, x);
    x = first;
}

/** gelu_tanh of two numbers: x/2 · (1 + tanh z) = x / (1 + 2^(-2 z log2 e)). */
WM_DEVICE void wm_gelu_tanh_pair(float &x, float &y) {
    const float a = -2.3022082f, b = -0.10294324f; /* -2 log2(e) sqrt(2/pi), and that times 0.044715 */
    float p = wm_mul(x, wm_fma(wm_mul(x, x), b, a)), q = wm_mul(y, wm_fma(wm_mul(y, y), b, a));
    p = wm_add(1.0f, wm_fast_exp2(p < 60.0f ? p : 60.0f));
    q = wm_add(1.0f, wm_fast_exp2(q < 60.0f ? q : 60.0f));
    wm_fast_reciprocals(p, q);
    x = wm_mul(x, p);
    y = wm_mul(y, q);
}

/** gelu_erf: max(x, 0) - |x|/2 · erfc(|x| / sqrt 2), where erfc(a / sqrt 2) = 2^(-a²/2 · log2 e) · q P(q), q = 1 / (1 +
 * a/4): our own minimax fit to a = 14, within 1.2e-7 and 7.6e-6 of itself. `q` is the reciprocal. */
WM_DEVICE float wm_gelu_erf_from(float x, float q) {
    float a = fminf(fabsf(x), 64.0f), s = -0.171927235f;
    s = wm_fma(s, q, 0.6366530748f);
    s = wm_fma(s, q, -0.4564185214f);
    s = wm_fma(s, q, 0.4960999753f);
    s = wm_fma(s, q, 0.07988066349f);
    s = wm_fma(s, q, 0.2174660953f);
    s = wm_fma(s, q, 0.1982460646f);
    float half_tail = wm_mul(wm_mul(0.5f * q, s), wm_fast_exp2(wm_mul(wm_mul(a, a), -0.72134752f)));
    return wm_fma(-a, half_tail, x <= 0.0f ? 0.0f : x); /* NaN compares false: it stays */
}
WM_DEVICE void wm_gelu_erf_pair(float &x, float &y) {
    float p = wm_fma(fminf(fabsf(x), 64.0f), 0.25f, 1.0f), q = wm_fma(fminf(fabsf(y), 64.0f), 0.25f, 1.0f);
    wm_fast_reciprocals(p, q);
    x = wm_gelu_erf_from(x, p);
    y = wm_gelu_erf_from(y, q);
}

/** The activation of each of N numbers, an even count. */
template <int N>
WM_DEVICE void wm_activate_fast(int activation, float (&x)[N]) {
    switch (activation) {
    case WM_EPILOGUE_RELU:
        WM_UNROLL
        for (int e = 0; e < N; e++) x[e] = x[e] <= 0.0f ? 0.0f : x[e]; /* NaN compares false: it stays */
        break;
    case WM_EPILOGUE_GELU_TANH:
        WM_UNROLL
        for (int e = 0; e < N; e += 2) wm_gelu_tanh_pair(x[e], x[e + 1]);
        break;
    case WM_EPILOGUE_GELU_ERF:
        WM_UNROLL
        for (int e = 0; e < N; e += 2) wm_gelu_erf_pair(x[e], x[e + 1]);
        break;
    default:
        break;
    }
}

#endif
