/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a matrix product does with its finished sums: D = activation(alpha · sum + beta · C + bias) / d_scale, for any
 * layout and element type, chosen at run time. One element at a time: a kernel calls it once an output, where a few
 * uniform branches cost little against k multiply-adds.
 *
 *     wm_epilogue_scalars<float> s = wm_epilogue_begin<float>(p.epilogue);
 *     … sums …
 *     wm_epilogue_store(p.epilogue, s, t, i, j, sum);        // D(i, j) of product t
 *
 * Arithmetic is in the type of the sum, float or double. beta = 0 reads no C; alpha = 0 ignores the sum, so a kernel
 * may then leave out the product.
 */
#ifndef WARPMATH_DEVICE_EPILOGUE_CUH
#define WARPMATH_DEVICE_EPILOGUE_CUH

#include <warpmath/device/base.cuh>

/** Element types as kernels know them: the value of a wmType less 0x100, which is its cudaDataType. */
enum {
    WM_ELEMENT_F32 = 0,
    WM_ELEMENT_F64 = 1,
    WM_ELEMENT_F16 = 2,
    WM_ELEMENT_I8 = 3,
    WM_ELEMENT_C64 = 4,
    WM_ELEMENT_C128 = 5,
    WM_ELEMENT_I32 = 10,
    WM_ELEMENT_BF16 = 14,
    WM_ELEMENT_E4M3 = 28,
    WM_ELEMENT_E5M2 = 29
};

/** A matrix in memory: element (i, j) of product t is `t · batch + i · row + j · col` elements behind base, or, where
 * base is an array of pointers, `i · row + j · col` behind its t-th. */
typedef struct wm_matrix_ref {
    const void *base;
    wm_i64 row, col, batch;
    int type;
    int conjugate;
    int pointers;
} wm_matrix_ref;

/** A scalar: a value, or the address of one of `type`. */
typedef struct wm_scalar_ref {
    double re, im;
    const void *device;
    int type;
} wm_scalar_ref;

enum { WM_EPILOGUE_NO_BIAS = 0, WM_EPILOGUE_BIAS_N = 1, WM_EPILOGUE_BIAS_M = 2 };
enum { WM_EPILOGUE_PLAIN = 0, WM_EPILOGUE_RELU = 1, WM_EPILOGUE_GELU_TANH = 2, WM_EPILOGUE_GELU_ERF = 3 };

typedef struct wm_epilogue {
    wm_matrix_ref c, d;
    const void *bias;
    int bias_type, bias_along, activation;
    wm_scalar_ref alpha, beta;
    const float *a_scale, *b_scale, *d_scale; /* NULL: 1 */
} wm_epilogue;

/* ---- Elements ---- */

/** Bytes of one element. */
WM_DEVICE int wm_element_bytes(int type) {
    switch (type) {
    case WM_ELEMENT_I8:
    case WM_ELEMENT_E4M3:
    case WM_ELEMENT_E5M2:
        return 1;
    case WM_ELEMENT_F16:
    case WM_ELEMENT_BF16:
        return 2;
    case WM_ELEMENT_F64:
    case WM_ELEMENT_C64:
        return 8;
    case WM_ELEMENT_C128:
        return 16;
    default:
        return 4;
    }
}

/** Element (0, 0) of product t. */
WM_DEVICE const void *wm_matrix_first(const wm_matrix_ref &m, wm_i64 t) {
    if (m.pointers) return static_cast<const void *const *>(m.base)[t];
    return static_cast<const char *>(m.base) + t * m.batch * wm_element_bytes(m.type);
}

/** Element i of an array of real numbers, as T: float, or double where f64 elements occur. */
template <class T>
WM_DEVICE T wm_element_load(int type, const void *array, wm_i64 i) {
    switch (type) {
    case WM_ELEMENT_F32:
        return static_cast<const float *>(array)[i];
    case WM_ELEMENT_F64:
        return (T) static_cast<const double *>(array)[i];
    case WM_ELEMENT_F16:
        return wm_f16_to_f32(static_cast<const wm_f16 *>(array)[i]);
    case WM_ELEMENT_BF16:
        return wm_bf16_to_f32(static_cast<const wm_bf16 *>(array)[i]);
    case WM_ELEMENT_E4M3:
        return wm_e4m3_to_f32(static_cast<const wm_e4m3 *>(array)[i]);
    case WM_ELEMENT_E5M2:
        return wm_e5m2_to_f32(static_cast<const wm_e5m2 *>(array)[i]);
    case WM_ELEMENT_I8:
        return static_cast<const wm_i8 *>(array)[i];
    default:
        return (T) static_cast<const wm_i32 *>(array)[i];
    }
}

/** Rounds x to the type and stores it as element i. */
template <class T>
WM_DEVICE void wm_element_store(int type, void *array, wm_i64 i, T x) {
    switch (type) {
    case WM_ELEMENT_F32:
        static_cast<float *>(array)[i] = wm_to_f32(x);
        break;
    case WM_ELEMENT_F64:
        static_cast<double *>(array)[i] = x;
        break;
    case WM_ELEMENT_F16:
        wm_put_f32(static_cast<wm_f16 *>(array) + i, wm_to_f32(x));
        break;
    case WM_ELEMENT_BF16:
        wm_put_f32(static_cast<wm_bf16 *>(array) + i, wm_to_f32(x));
        break;
    case WM_ELEMENT_E4M3:
        wm_put_f32(static_cast<wm_e4m3 *>(array) + i, wm_to_f32(x));
        break;
    default:
        wm_put_f32(static_cast<wm_e5m2 *>(array) + i, wm_to_f32(x));
        break;
    }
}

/* ---- Activations ---- */

WM_DEVICE float wm_exponential(float x) {
    return expf(x);
}
WM_DEVICE double wm_exponential(double x) {
    return exp(x);
}
WM_DEVICE float wm_error_complement(float x) {
    return erfcf(x);
}
WM_DEVICE double wm_error_complement(double x) {
    return erfc(x);
}

/** The activation of x. Neither gelu loses digits where x is very negative. */
template <class T>
WM_DEVICE T wm_activate(int activation, T x) {
    switch (activation) {
    case WM_EPILOGUE_RELU:
        return x <= T(0) ? T(0) : x; /* NaN compares false: it stays */
    case WM_EPILOGUE_GELU_TANH:      /* x/2 · (1 + tanh z) = x / (1 + exp(-2z)) */
        return x / (T(1) + wm_exponential(T(-2 * 0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
    case WM_EPILOGUE_GELU_ERF:
        return T(0.5) * x * wm_error_complement(x * T(-0.70710678118654752440));
    default:
        return x;
    }
}

/* ---- The epilogue ---- */

/** The scalars of a real product, read once a thread; alpha includes the scales of A and B. */
template <class T>
struct wm_epilogue_scalars {
    T alpha, beta, d_scale;
};

template <class T>
WM_DEVICE T wm_scalar_load(const wm_scalar_ref &scalar) {
    return scalar.device ? wm_element_load<T>(scalar.type, scalar.device, 0) : (T)scalar.re;
}

template <class T>
WM_DEVICE wm_epilogue_scalars<T> wm_epilogue_begin(const wm_epilogue &e) {
    wm_epilogue_scalars<T> s = {wm_scalar_load<T>(e.alpha), wm_scalar_load<T>(e.beta),
                                e.d_scale ? T(*e.d_scale) : T(1)};
    T scale = wm_mul(e.a_scale ? T(*e.a_scale) : T(1), e.b_scale ? T(*e.b_scale) : T(1));
    if (s.alpha != T(0)) s.alpha = wm_mul(s.alpha, scale); /* alpha = 0 ignores a NaN scale too */
    return s;
}

/** The value of D(i, j) of product t, before it is rounded to D's type. No multiply and add is fused, so that the same
 * steps on a CPU give the same bits. */
template <class T>
WM_DEVICE T wm_epilogue_value(const wm_epilogue &e, const wm_epilogue_scalars<T> &s, wm_i64 t, wm_i64 i, wm_i64 j,
                              T sum) {
    T x = s.alpha != T(0) ? wm_mul(s.alpha, sum) : T(0);
    if (s.beta != T(0))
        x = wm_add(x, wm_mul(s.beta, wm_element_load<T>(e.c.type, wm_matrix_first(e.c, t), i * e.c.row + j * e.c.col)));
    if (e.bias_along)
        x = wm_add(x, wm_element_load<T>(e.bias_type, e.bias, e.bias_along == WM_EPILOGUE_BIAS_N ? j : i));
    x = wm_activate(e.activation, x);
    return e.d_scale ? wm_div(x, s.d_scale) : x;
}

/** Stores D(i, j) of product t. */
template <class T>
WM_DEVICE void wm_epilogue_store(const wm_epilogue &e, const wm_epilogue_scalars<T> &s, wm_i64 t, wm_i64 i, wm_i64 j,
                                 T sum) {
    void *d = const_cast<void *>(wm_matrix_first(e.d, t));
    wm_element_store(e.d.type, d, i * e.d.row + j * e.d.col, wm_epilogue_value(e, s, t, i, j, sum));
}

#endif
