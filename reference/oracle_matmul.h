/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle of matrix products: any problem in its full generality, element by element in long double, slow and
 * obvious, with a bound for each element that follows from the arithmetic promised and from nothing measured.
 *
 * The bound. Let x = alpha · Σ a b + beta · c + bias, a real expression (a component of a complex product is one, with
 * 2k terms), and let X be the same expression of absolute values. However the terms are ordered and blocked, each meets
 * at most n = (terms) + (operations of the epilogue) roundings of relative size u, so a computed x^ has
 *     |x^ - x| <= gamma_n X,  gamma_n = n u / (1 - n u)        (Higham, Accuracy and Stability of Numerical Algorithms,
 *                                                               2nd ed., lemma 3.1 and equation 3.5)
 * plus an underflow unit for each operation. u is 2^-24 for f32 arithmetic and 2^-53 for f64; on the GPU 2^-23 where
 * tensor cores, which truncate, may sum f16, bf16 or tf32 products, and 2^-13 for fp8 products, which they align to 13
 * bits. tf32 also cuts each operand to 10 bits. An activation f passes an error on by at most max|f'| (1 for relu, 1.13
 * for both gelu) and adds its own evaluation, 8 u |x|. Last comes half a unit in the last place of D's type.
 *
 * A vendor's fused epilogue may round more often: where C is read or a gelu follows, alpha · Σ a b + beta · C and, if a
 * bias and an activation follow, that plus the bias may each be rounded to D's type on the way. pick->vendor allows
 * half a unit in the last place for each; it covers the hardware's tanh, too, whose error is 2^-11.
 *
 * What follows the activation (a gate, dropout, a residual, a reduction) is bounded by the same rules, an operation at
 * a time: reference/oracle_finish.c.
 *
 * The probable bound is the same with min(n, 3 sqrt n) for n: roundings that behave like independent ones pass it only
 * once in thousands (Higham and Mary, SIAM J. Sci. Comput. 41 (2019), theorem 2.4). Random data of mixed signs that
 * exceed it mean a fault; others may.
 */
#ifndef WM_REFERENCE_ORACLE_MATMUL_H
#define WM_REFERENCE_ORACLE_MATMUL_H

#include "lib/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which elements to judge: so many rows, columns and products of the batch; 0 is all. The first and last are among
 * them, the rest is drawn from the seed. All zero: every element. */
typedef struct wm_oracle_pick {
    int64_t rows, cols, products;
    uint64_t seed;
    int vendor; /* 1: D comes from a vendor's solver */
} wm_oracle_pick;

typedef struct wm_oracle_verdict {
    int64_t judged;
    int64_t wrong;    /* outside the bound, or NaN or infinite where it must not be */
    int64_t unjudged; /* any result is legal: partial sums may overflow, a complex operand is not finite, relu of NaN */
    double worst;     /* largest error / bound */
    double alarm;     /* largest error / probable bound */
    int64_t t, i, j;  /* product, row and column of the first wrong element, else of the worst */
    double got, want, bound;
} wm_oracle_verdict;

/**
 * Judges `got`, the D of a solver (an array of pointers in a pointer batch). `inputs` are the solver's, all host
 * memory, with C as it was before: for a product in place, c points to a copy of the old D. inputs->d is not read;
 * inputs->z and inputs->reduced, where the problem has them, are the solver's and are judged too.
 */
wm_oracle_verdict wm_oracle_matmul(const wm_problem *problem, const wmMatmulArgs *inputs, const void *got,
                                   const wm_oracle_pick *pick);

/** One component of one element (part 1: the imaginary one): its value and bound, for tests of the oracle. */
typedef struct wm_oracle_element {
    long double value, bound, probable;
    int judged;
} wm_oracle_element;
wm_oracle_element wm_oracle_matmul_element(const wm_problem *problem, const wmMatmulArgs *inputs, int64_t t, int64_t i,
                                           int64_t j, int part);

/** "12 of 400 elements wrong: (3, 5) of product 0 is 1.5, should be 1.25 +- 1e-07". */
void wm_oracle_describe(const wm_oracle_verdict *verdict, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
