/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the oracle of matrix products: what oracle_matmul.c and oracle_finish.c know of one element. */
#ifndef WM_REFERENCE_ORACLE_MATMUL_PARTS_H
#define WM_REFERENCE_ORACLE_MATMUL_PARTS_H

#include "lib/matmul_view.h"
#include "reference/number.h"
#include "reference/oracle_matmul.h"

/** A number and the same expression of absolute values, by component. */
typedef struct wm_oracle_sized {
    long double x[2], size[2];
} wm_oracle_sized;

/** One element before the activation. */
typedef struct wm_oracle_linear {
    wm_oracle_sized x, product; /* all of it; alpha · Σ a b alone */
    wm_oracle_sized unbiased;   /* x without the bias */
    long double alpha;
    long double largest; /* of the magnitudes met on the way */
    int finite;          /* every value read is */
    int reads_c;
} wm_oracle_linear;

wm_oracle_linear wm_oracle_linear_of(const wmMatmulDesc *d, const wmMatmulArgs *in, int64_t t, int64_t i, int64_t j);

/** Bound of x, where each term meets at most n roundings; how many that is at most. */
long double wm_oracle_linear_error(const wmMatmulDesc *d, const wm_oracle_linear *l, int part, long double n);
long double wm_oracle_roundings(const wmMatmulDesc *d);
long double wm_oracle_unit(const wmMatmulDesc *d);
long double wm_oracle_gamma(long double n, long double u);

/** The activation, and the bound of its value from its argument's. */
long double wm_oracle_activate(wmActivation activation, long double x);
long double wm_oracle_activation_error(const wmMatmulDesc *d, long double x, long double error);

/** Half a unit in the last place of the type at x; x within the range of a type that saturates. */
long double wm_oracle_half_ulp(wm_float_shape shape, long double x);
long double wm_oracle_clamped(wm_float_shape shape, long double y);

/** Adds one element to the verdict. */
void wm_oracle_count(wm_oracle_verdict *v, wmType type, const wm_oracle_element *e, double got, int64_t t, int64_t i,
                     int64_t j);

/** 1 if the problem has more than bias and activation: then wm_oracle_finished judges D(i, j), and wm_oracle_beside
 * what comes beside D. */
int wm_oracle_is_finished(const wmMatmulDesc *d);
void wm_oracle_finished(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in, double got, int64_t t,
                        int64_t i, int64_t j);
void wm_oracle_beside(wm_oracle_verdict *v, const wmMatmulDesc *d, const wmMatmulArgs *in, const wm_oracle_pick *pick);

#endif
