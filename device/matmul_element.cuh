/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of products as kernels on the ordinary cores see them: one set of names over f16, bf16, f32, f64, c64 (as
 * float2) and c128 (as double2), so that a kernel written once serves them all; and the epilogue of complex products
 * beside epilogue.cuh's of real ones.
 */
#ifndef WM_DEVICE_MATMUL_ELEMENT_CUH
#define WM_DEVICE_MATMUL_ELEMENT_CUH

#include <warpmath/device/epilogue.cuh>

/** The type in which products of T are summed. */
template <class T>
struct wm_sum {
    typedef float type;
};
template <>
struct wm_sum<double> {
    typedef double type;
};
template <>
struct wm_sum<float2> {
    typedef float2 type;
};
template <>
struct wm_sum<double2> {
    typedef double2 type;
};

/** V elements that move in one access. */
template <class T, int V>
struct alignas(V * sizeof(T)) wm_run_of {
    T v[V];
};

template <int V, class T>
WM_DEVICE wm_run_of<T, V> wm_run_load(const T *from) {
    return *reinterpret_cast<const wm_run_of<T, V> *>(from);
}
template <class T, int V>
WM_DEVICE void wm_run_store(T *to, const wm_run_of<T, V> &run) {
    *reinterpret_cast<wm_run_of<T, V> *>(to) = run;
}

/* ---- Arithmetic ---- */

WM_DEVICE float wm_widen(float x) {
    return x;
}
WM_DEVICE float wm_widen(wm_f16 x) {
    return wm_f16_to_f32(x);
}
WM_DEVICE float wm_widen(wm_bf16 x) {
    return wm_bf16_to_f32(x);
}
WM_DEVICE double wm_widen(double x) {
    return x;
}
WM_DEVICE float2 wm_widen(float2 x) {
    return x;
}
WM_DEVICE double2 wm_widen(double2 x) {
    return x;
}

/** x with its imaginary part times `sign`, -1 to conjugate; a real x as it is. */
template <class T>
WM_DEVICE T wm_conjugate(T x, int) {
    return x;
}
WM_DEVICE float2 wm_conjugate(float2 x, int sign) {
    return float2{x.x, sign < 0 ? -x.y : x.y};
}
WM_DEVICE double2 wm_conjugate(double2 x, int sign) {
    return double2{x.x, sign < 0 ? -x.y : x.y};
}

/** a · b + sum. */
WM_DEVICE float wm_multiply_add(float a, float b, float sum) {
    return wm_fma(a, b, sum);
}
WM_DEVICE double wm_multiply_add(double a, double b, double sum) {
    return wm_fma(a, b, sum);
}
WM_DEVICE float2 wm_multiply_add(float2 a, float2 b, float2 sum) {
    return float2{wm_fma(-a.y, b.y, wm_fma(a.x, b.x, sum.x)), wm_fma(a.y, b.x, wm_fma(a.x, b.y, sum.y))};
}
WM_DEVICE double2 wm_multiply_add(double2 a, double2 b, double2 sum) {
    return double2{wm_fma(-a.y, b.y, wm_fma(a.x, b.x, sum.x)), wm_fma(a.y, b.x, wm_fma(a.x, b.y, sum.y))};
}

WM_DEVICE float wm_plus(float a, float b) {
    return wm_add(a, b);
}
WM_DEVICE double wm_plus(double a, double b) {
    return wm_add(a, b);
}
WM_DEVICE float2 wm_plus(float2 a, float2 b) {
    return float2{wm_add(a.x, b.x), wm_add(a.y, b.y)};
}
WM_DEVICE double2 wm_plus(double2 a, double2 b) {
    return double2{wm_add(a.x, b.x), wm_add(a.y, b.y)};
}

WM_DEVICE float wm_times(float a, float b) {
    return wm_mul(a, b);
}
WM_DEVICE double wm_times(double a, double b) {
    return wm_mul(a, b);
}
WM_DEVICE float2 wm_times(float2 a, float2 b) {
    return float2{wm_sub(wm_mul(a.x, b.x), wm_mul(a.y, b.y)), wm_add(wm_mul(a.x, b.y), wm_mul(a.y, b.x))};
}
WM_DEVICE double2 wm_times(double2 a, double2 b) {
    return double2{wm_sub(wm_mul(a.x, b.x), wm_mul(a.y, b.y)), wm_add(wm_mul(a.x, b.y), wm_mul(a.y, b.x))};
}

WM_DEVICE bool wm_is_zero(float x) {
    return x == 0.0f;
}
WM_DEVICE bool wm_is_zero(double x) {
    return x == 0.0;
}
WM_DEVICE bool wm_is_zero(float2 x) {
    return x.x == 0.0f && x.y == 0.0f;
}
WM_DEVICE bool wm_is_zero(double2 x) {
    return x.x == 0.0 && x.y == 0.0;
}

/** Rounds a sum to the type of *to. */
WM_DEVICE void wm_put(float *to, float x) {
    *to = x;
}
WM_DEVICE void wm_put(double *to, double x) {
    *to = x;
}
WM_DEVICE void wm_put(wm_f16 *to, float x) {
    *to = wm_f32_to_f16(x);
}
WM_DEVICE void wm_put(wm_bf16 *to, float x) {
    *to = wm_f32_to_bf16(x);
}
WM_DEVICE void wm_put(float2 *to, float2 x) {
    *to = x;
}
WM_DEVICE void wm_put(double2 *to, double2 x) {
    *to = x;
}

/* ---- The way out ---- */

/** alpha, which counts A's and B's scales, beta, and the scale of D. */
template <class Sum>
struct wm_ending {
    Sum alpha, beta;
    float d_scale;
};

WM_DEVICE float2 wm_complex_scalar(const wm_scalar_ref &s, float2) {
    const float *at = static_cast<const float *>(s.device); /* aligned as its components are */
    return at ? float2{at[0], at[1]} : float2{wm_to_f32(s.re), wm_to_f32(s.im)};
}
WM_DEVICE double2 wm_complex_scalar(const wm_scalar_ref &s, double2) {
    const double *at = static_cast<const double *>(s.device);
    return at ? double2{at[0], at[1]} : double2{s.re, s.im};
}

WM_DEVICE wm_ending<float> wm_ending_begin(const wm_epilogue &e, float) {
    wm_epilogue_scalars<float> s = wm_epilogue_begin<float>(e);
    return wm_ending<float>{s.alpha, s.beta, s.d_scale};
}
WM_DEVICE wm_ending<double> wm_ending_begin(const wm_epilogue &e, double) {
    wm_epilogue_scalars<double> s = wm_epilogue_begin<double>(e);
    return wm_ending<double>{s.alpha, s.beta, 1.0f};
}
template <class Complex>
WM_DEVICE wm_ending<Complex> wm_ending_begin(const wm_epilogue &e, Complex zero) {
    return wm_ending<Complex>{wm_complex_scalar(e.alpha, zero), wm_complex_scalar(e.beta, zero), 1.0f};
}

/** Stores D(i, j) of product t; any layout, type, bias and activation. */
template <class Real>
WM_DEVICE void wm_ending_store(const wm_epilogue &e, const wm_ending<Real> &s, wm_i64 t, wm_i64 i, wm_i64 j, Real sum) {
    wm_epilogue_scalars<Real> scalars = {s.alpha, s.beta, s.d_scale};
    wm_epilogue_store(e, scalars, t, i, j, sum);
}
template <class Complex>
WM_DEVICE void wm_complex_store(const wm_epilogue &e, const wm_ending<Complex> &s, wm_i64 t, wm_i64 i, wm_i64 j,
                                Complex sum) {
    Complex x = {0, 0};
    if (!wm_is_zero(s.alpha)) x = wm_times(s.alpha, sum);
    if (!wm_is_zero(s.beta)) {
        const Complex *c = static_cast<const Complex *>(wm_matrix_first(e.c, t));
        x = wm_plus(x, wm_times(s.beta, c[i * e.c.row + j * e.c.col]));
    }
    if (e.bias_along) x = wm_plus(x, static_cast<const Complex *>(e.bias)[e.bias_along == WM_EPILOGUE_BIAS_N ? j : i]);
    static_cast<Complex *>(const_cast<void *>(wm_matrix_first(e.d, t)))[i * e.d.row + j * e.d.col] = x;
}
WM_DEVICE void wm_ending_store(const wm_epilogue &e, const wm_ending<float2> &s, wm_i64 t, wm_i64 i, wm_i64 j,
                               float2 sum) {
    wm_complex_store(e, s, t, i, j, sum);
}
WM_DEVICE void wm_ending_store(const wm_epilogue &e, const wm_ending<double2> &s, wm_i64 t, wm_i64 i, wm_i64 j,
                               double2 sum) {
    wm_complex_store(e, s, t, i, j, sum);
}

/** Whether all that is left to do is alpha · sum, for a problem whose other wishes are `plain`. */
template <class Sum>
WM_DEVICE bool wm_ending_is_plain(const wm_ending<Sum> &s, int plain) {
    return plain && wm_is_zero(s.beta);
}
template <class Sum>
WM_DEVICE Sum wm_ending_plain(const wm_ending<Sum> &s, Sum sum) {
    return wm_is_zero(s.alpha) ? Sum{} : wm_times(s.alpha, sum);
}

#endif
