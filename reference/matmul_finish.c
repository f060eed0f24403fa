/* SPDX-License-Identifier: Apache-2.0 */
/* The epilogue of the reference solvers. See matmul_finish.h. */
#include "reference/matmul_finish.h"

#include <math.h>

static wm_number scalar_of(const wmScalar *scalar, wmType type, double standard) {
    wm_number x = {standard, 0.0};
    if (scalar->kind == WM_SCALAR_DEVICE) return wm_number_load(type, scalar->device, 0);
    if (scalar->kind == WM_SCALAR_HOST) {
        x.re = scalar->re;
        x.im = scalar->im;
    }
    return wm_number_round(type, x);
}

static double scale_of(const wmMatrixDesc *x, const void *scale) {
    return x->scale == WM_SCALE_TENSOR ? (double)*(const float *)scale : 1.0;
}

wm_finish wm_finish_of(const wmMatmulDesc *desc, const wmMatmulArgs *args) {
    wmType type = wm_matmul_scale_type(desc);
    wm_finish finish = {.desc = desc,
                        .c = args->c ? args->c : args->d,
                        .bias = args->bias,
                        .d = args->d,
                        .c_view = wm_view_of(&desc->c),
                        .d_view = wm_view_of(&desc->d),
                        .alpha = scalar_of(&args->alpha, type, 1.0),
                        .beta = scalar_of(&args->beta, type, 0.0),
                        .d_scale = scale_of(&desc->d, args->d_scale)};
    finish.unscaled = finish.alpha.re;
    double scale = scale_of(&desc->a, args->a_scale) * scale_of(&desc->b, args->b_scale);
    if (finish.alpha.re != 0.0) finish.alpha.re *= scale; /* alpha = 0 ignores all of A and B, a NaN scale too */
    return finish;
}

int wm_finish_skips_product(const wm_finish *finish) {
    return finish->desc->k == 0 || (finish->alpha.re == 0.0 && finish->alpha.im == 0.0);
}

double wm_activation_f64(wmActivation activation, double x) {
    switch (activation) {
    case WM_ACT_RELU:
        return x <= 0.0 ? 0.0 : x; /* NaN compares false: it stays */
    case WM_ACT_GELU_TANH: /* x/2 · (1 + tanh z) = x / (1 + exp(-2z)), which keeps its digits where tanh z nears -1 */
        return x / (1.0 + exp(-2.0 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case WM_ACT_SILU:
        return x / (1.0 + exp(-x));
    case WM_ACT_GELU_ERF:
        return 0.5 * x * erfc(x * -0.70710678118654752440);
    default:
        return x;
    }
}

static wm_number times(wm_number x, wm_number y) {
    wm_number r = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    return r;
}

static wm_number bias_at(const wm_finish *finish, int64_t i, int64_t j) {
    wm_number none = {0.0, 0.0};
    if (finish->desc->bias == WM_BIAS_NONE) return none;
    return wm_number_load(finish->desc->bias_type, finish->bias, finish->desc->bias == WM_BIAS_N ? j : i);
}

static wm_number c_at(const wm_finish *finish, int64_t t, int64_t i, int64_t j) {
    const void *c = wm_matrix_at(finish->desc, &finish->desc->c, finish->c, t);
    return wm_number_load(finish->desc->c.type, c, i * finish->c_view.row + j * finish->c_view.col);
}

/* Integers are exact in doubles below 2^53, so only the products with alpha and beta need care to wrap. */
static wm_number finish_integer(const wm_finish *finish, wm_number sum, wm_number c, wm_number bias) {
    uint32_t r = (uint32_t)(int64_t)finish->alpha.re * (uint32_t)(int64_t)sum.re;
    r += (uint32_t)(int64_t)finish->beta.re * (uint32_t)(int64_t)c.re + (uint32_t)(int64_t)bias.re;
    wm_number x = {(double)(int32_t)r, 0.0};
    if (finish->desc->activation == WM_ACT_RELU && x.re < 0.0) x.re = 0.0;
    return x;
}

static wm_number finish_floating(const wm_finish *finish, wm_number sum, wm_number c, wm_number bias) {
    wm_number x = {0.0, 0.0};
    if (!wm_type_is_complex(finish->desc->d.type)) { /* without the imaginary zeros, which an infinity would make NaN */
        if (!wm_finish_skips_product(finish)) x.re = finish->alpha.re * sum.re;
        if (finish->beta.re != 0.0) x.re += finish->beta.re * c.re;
    } else {
        if (!wm_finish_skips_product(finish)) x = times(finish->alpha, sum);
        c = times(finish->beta, c);
        if (finish->beta.re != 0.0 || finish->beta.im != 0.0) x.re += c.re, x.im += c.im;
    }
    if (finish->desc->bias != WM_BIAS_NONE) x.re += bias.re, x.im += bias.im;
    x.re = wm_activation_f64(finish->desc->activation, x.re) / finish->d_scale;
    return x;
}

void wm_finish_store(const wm_finish *finish, int64_t t, int64_t i, int64_t j, wm_number sum) {
    int reads_c = finish->beta.re != 0.0 || finish->beta.im != 0.0;
    wm_number c = {0.0, 0.0}, bias = bias_at(finish, i, j);
    if (reads_c) c = c_at(finish, t, i, j);
    wm_number x =
        finish->desc->a.type == WM_I8 ? finish_integer(finish, sum, c, bias) : finish_floating(finish, sum, c, bias);
    char *d = (char *)wm_matrix_at(finish->desc, &finish->desc->d, finish->d, t);
    wm_number_store(finish->desc->d.type, d, i * finish->d_view.row + j * finish->d_view.col, x);
}
