/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and dropout of products as the CPU place and the oracle read them: host memory. */
#ifndef WM_REFERENCE_MATMUL_MORE_H
#define WM_REFERENCE_MATMUL_MORE_H

#include "lib/matmul_view.h"

#include <warpmath/device/dist_basic.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The scale of operand x of product t in row or column `line`, whichever it has; 1 where it has none. */
static inline double wm_scale_at(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *scale, int64_t t,
                                 int64_t line) {
    if (x->scale == WM_SCALE_NONE || wm_scale_is_block(x)) return 1.0;
    int64_t within = x->scale == WM_SCALE_TENSOR ? 0 : line;
    return (double)((const float *)scale)[t * wm_scale_stride(d, x) + within];
}

/** The scale of A or B by block, in line `line` at q of k; 1 where it has none of that kind. */
static inline double wm_block_scale_at(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *scale, int64_t t,
                                       int64_t line, int64_t q) {
    if (!wm_scale_is_block(x)) return 1.0;
    int64_t row = x->scale == WM_SCALE_1X128 ? line : line / 128;
    return (double)((const float *)scale)[t * wm_scale_stride(d, x) + row * wm_scale_blocks(d) + q / 128];
}

/** What the draws of one execution depend on. */
typedef struct wm_dropping {
    wmRandomKey key;
    uint64_t offset;
    double factor; /* of what is kept: 1 / (1 - drop) */
    wmProbability keep;
} wm_dropping;

static inline wm_dropping wm_dropping_of(const wmMatmulDesc *d, const wmMatmulArgs *args) {
    wm_dropping x = {
        args->drop_key, args->drop_offset, 0.0, {0, 0}
    };
    if (!d->dropout) return x;
    if (args->drop_state) {
        x.key = args->drop_state->key;
        x.offset += args->drop_state->offset;
    }
    x.keep = wmProbabilityMake(1.0 - args->drop);
    x.factor = args->drop < 1.0 ? 1.0 / (1.0 - args->drop) : 0.0;
    return x;
}

static inline int wm_dropping_keeps(const wm_dropping *x, int64_t draw) {
    return (int)wmBernoulli(x->key, x->offset + (uint64_t)draw, x->keep);
}

#ifdef __cplusplus
}
#endif

#endif
