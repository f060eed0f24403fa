/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution and correlation by Fourier transforms, of rank 1 and 2, real and complex. A filter is transformed once
 * (wmConvolutionPrepare) and applied as often as you like; where an array fits a block, an execution is one kernel:
 *
 *     convolution  y[i] = sum_j f[j] x[i - j]         correlation  y[i] = sum_j conj(f[j]) x[i + j]
 *
 * over each axis. The mode says which y are given, and what lies outside of x: zeros, or (circular) x again. Linear
 * correlation counts as SciPy's does: its y[0] is that of the last tap on the first element.
 */
#ifndef WARPMATH_CONVOLUTION_H
#define WARPMATH_CONVOLUTION_H

#include <warpmath/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which results are given, of n elements and m taps along an axis. */
typedef enum wmConvolutionMode {
    WM_CONVOLUTION_FULL = 0,    /**< all n + m - 1 */
    WM_CONVOLUTION_SAME = 1,    /**< n of them, from (m - 1) / 2 on */
    WM_CONVOLUTION_VALID = 2,   /**< the n - m + 1 that see no zeros; m <= n */
    WM_CONVOLUTION_CAUSAL = 3,  /**< the first n: a FIR filter */
    WM_CONVOLUTION_CIRCULAR = 4 /**< n, indices modulo n; m <= n */
} wmConvolutionMode;

#define WM_CONVOLUTION_MAX_RANK 2

/** A problem, without pointers. Fill it with wmConvolutionDescDefault(), then change what differs. */
typedef struct wmConvolutionDesc {
    size_t size;
    wmPlace place; /**< AUTO: the context's */
    wmType type;   /**< of x, f and y: WM_F32, WM_F64, WM_C64 or WM_C128 */
    wmConvolutionMode mode;
    int32_t correlate;                  /**< 1: correlation */
    int32_t rank;                       /**< 1 or 2 */
    int64_t n[WM_CONVOLUTION_MAX_RANK]; /**< elements of an array, outermost axis first, rows one behind the other */
    int64_t taps[WM_CONVOLUTION_MAX_RANK];
    int64_t batch;      /**< arrays; 0 makes an empty problem */
    int64_t filters;    /**< 1: one filter for all arrays; batch: one each */
    int64_t in_stride;  /**< elements from array to array of x; 0: packed */
    int64_t out_stride; /**< the same of y; 0: packed */
    int64_t align;      /**< bytes to which all pointers are multiples; 0: 16 */
    wmDeterminism determinism;
} wmConvolutionDesc;

/** `batch` packed arrays of n elements and one filter of `taps`; FULL, rank 1. */
WM_API wmConvolutionDesc wmConvolutionDescDefault(wmType type, int64_t n, int64_t taps, int64_t batch);

/** The same for planes of rows x columns. */
WM_API wmConvolutionDesc wmConvolutionDescDefault2D(wmType type, int64_t rows, int64_t columns, int64_t tap_rows,
                                                    int64_t tap_columns, int64_t batch);

/** The same two for other languages: they fill *desc, of which the caller's header knows `size` bytes. */
WM_API void wmConvolutionDescInit(wmConvolutionDesc *desc, size_t size, wmType type, int64_t n, int64_t taps,
                                  int64_t batch);
WM_API void wmConvolutionDescInit2D(wmConvolutionDesc *desc, size_t size, wmType type, int64_t rows, int64_t columns,
                                    int64_t tap_rows, int64_t tap_columns, int64_t batch);

/** Results along an axis of the desc; 0 where the desc makes no sense. */
WM_API int64_t wmConvolutionResults(const wmConvolutionDesc *desc, int axis);

/** Bytes of the prepared filters of a plan. */
WM_API WM_CHECKED wmStatus wmConvolutionFilterBytes(const wmPlan *plan, size_t *bytes);

/** Operands of one execution, in the place's memory; in and out do not overlap. */
typedef struct wmConvolutionArgs {
    size_t size;
    const void *in;
    const void *filter; /**< what wmConvolutionPrepare wrote, for this desc or one that differs in batch and strides */
    void *out;
    void *workspace; /**< NULL: the context's arena for this stream */
    size_t workspace_bytes;
} wmConvolutionArgs;

/** Arguments with the pointers set and the rest default. */
static inline wmConvolutionArgs wmConvolutionArgsDefault(const void *in, const void *filter, void *out) {
    wmConvolutionArgs args = {sizeof(wmConvolutionArgs), in, filter, out, NULL, 0};
    return args;
}

/** The same for other languages. */
WM_API void wmConvolutionArgsInit(wmConvolutionArgs *args, size_t size);

/** Plans *desc on the context; options NULL: defaults. Statuses as in wmMatmulPlanCreate. */
WM_API WM_CHECKED wmStatus wmConvolutionPlanCreate(wmPlan **plan, wmContext *context, const wmConvolutionDesc *desc,
                                                   const wmPlanOptions *options);

/**
 * Enqueues the preparation of the filters: `taps` (the place's memory; filters × taps, packed) to `filter`,
 * wmConvolutionFilterBytes of them, 256-byte aligned. That is the transform of the padded taps, scaled by 1 / points:
 * complex, natural order, of real taps the first half along the last axis. Not during a capture. A filter that is known
 * in frequencies may be written there instead (examples/poisson.c).
 */
WM_API WM_CHECKED wmStatus wmConvolutionPrepare(const wmPlan *plan, const void *taps, void *filter, wmStream stream);

/** Enqueues the convolution on `stream` (on the CPU place: computes it before returning). As wmMatmulExecute. */
WM_API WM_CHECKED wmStatus wmConvolutionExecute(const wmPlan *plan, const wmConvolutionArgs *args, wmStream stream);

#ifdef __cplusplus
}
#endif

#endif
