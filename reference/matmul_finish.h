/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reference solvers do with a finished sum: D = activation(alpha · sum + beta · C + bias) / d_scale, in double
 * (i8 products: in wrapping i32), one rounding to D's type at the end.
 */
#ifndef WM_REFERENCE_MATMUL_FINISH_H
#define WM_REFERENCE_MATMUL_FINISH_H

#include "lib/matmul_view.h"
#include "reference/number.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_finish {
    const wmMatmulDesc *desc;
    const void *c, *bias; /* as in the args; C is D where that is NULL */
    void *d;
    wm_view c_view, d_view;
    wm_number alpha, beta; /* rounded to the scale type; alpha with the scales of A and B in it */
    double d_scale;
    double unscaled; /* alpha without them */
} wm_finish;

/** Reads the scalars and scales: host memory, so on the CPU place. */
wm_finish wm_finish_of(const wmMatmulDesc *desc, const wmMatmulArgs *args);

/** 1 if A and B play no part: alpha = 0 or k = 0. */
int wm_finish_skips_product(const wm_finish *finish);

/** Writes D(i, j) of product t from the sum. */
void wm_finish_store(const wm_finish *finish, int64_t t, int64_t i, int64_t j, wm_number sum);

/** The activation, in double. */
double wm_activation_f64(wmActivation activation, double x);

#ifdef __cplusplus
}
#endif

#endif
