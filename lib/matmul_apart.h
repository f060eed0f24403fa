/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product taken apart: the sums by whichever solver is fastest at a plain product, into the workspace, and all that
 * is done with them (wmMatmulDesc's list) by a pass of its own. What the two places' solvers matmul_finish share.
 */
#ifndef WM_LIB_MATMUL_APART_H
#define WM_LIB_MATMUL_APART_H

#include "inner.h"
#include "matmul_view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a problem must have one of for being taken apart: else others do all of it at once. */
enum {
    WM_APART_BEYOND = WM_MM_SILU | WM_MM_GATE | WM_MM_RESIDUAL | WM_MM_KEPT | WM_MM_REDUCTION | WM_MM_DROPOUT |
                      WM_MM_VECTOR_SCALE | WM_MM_QUANTISE | WM_MM_TRIANGLE | WM_MM_FUNCTOR
};

/** The sums' product: its D is the workspace, rows (columns, if the whole's D has columns) of `ld` elements. */
typedef struct wm_apart {
    wm_inner inner;
    size_t sum_bytes, a_bytes, b_bytes;
} wm_apart;

/**
 * The workspace: the sums, then copies of A and B if a scale goes by block, then the inner solver's workspace, each at
 * a multiple of 256. The copies are f32 with the scales in them, packed, laid out as their originals, for the place's
 * solver to make before wm_apart_run.
 */
static inline int wm_apart_widens(const wmMatmulDesc *d) {
    return wm_scale_is_block(&d->a) || wm_scale_is_block(&d->b);
}

/** The plain product of d. alpha stays with it unless it sums integers; beta is 0 there, and no operand has a scale. */
wmStatus wm_apart_take(const wmMatmulDesc *d, wm_apart *apart);

/** Fills seconds (of the inner product alone), workspace and flags of *out; 0 and *why where that can't be done. */
int wm_apart_offer(wmContext *context, const wmMatmulDesc *d, wm_offer *out, wm_why *why);

/** The same choice again, made; drop in any case. */
wmStatus wm_apart_make(wmContext *context, const wmMatmulDesc *d, const wm_offer *offer, wm_apart *apart);

/** Enqueues the sums into the workspace of the whole. */
wmStatus wm_apart_run(const wm_run *run, const wm_apart *apart);

/** The type of what a reduction gives. */
static inline wmType wm_reduced_type(const wmMatmulDesc *d) {
    return d->a.type == WM_F64 ? WM_F64 : WM_F32;
}

#ifdef __cplusplus
}
#endif

#endif
