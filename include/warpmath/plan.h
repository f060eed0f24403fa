/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan is a problem with the solver chosen for it: immutable, shared by threads, run as often as you like.
 * Made by wmMatmulPlanCreate, wmFftPlanCreate, wmRandomPlanCreate, or from a problem string by wmPlanCreate.
 */
#ifndef WARPMATH_PLAN_H
#define WARPMATH_PLAN_H

#include <warpmath/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wmPlan wmPlan;

/** How hard planning works. Only MEASURE and EXHAUSTIVE launch anything: on a private stream, on their own data. */
typedef enum wmEffort {
    WM_ESTIMATE = 0,   /**< wisdom, else the best offer by a roofline model: microseconds, nothing is run */
    WM_MEASURE = 1,    /**< check and time the offers, keep the best, remember it in the context's wisdom */
    WM_EXHAUSTIVE = 2, /**< the same over every variant of every solver */
    WM_WISDOM_ONLY = 3 /**< a problem without wisdom is WM_ERR_NO_WISDOM: for serving and CI */
} wmEffort;

/** Options of planning; all zero but `size` is the default. */
typedef struct wmPlanOptions {
    size_t size;
    wmEffort effort;
    int32_t fixed_choice; /**< 1: neither timings nor wisdom are consulted; version, device and problem decide alone */
    double budget_ms;     /**< MEASURE: wall time at most, 0: 1000; out of budget, the best timed so far is taken */
    int64_t budget_bytes; /**< MEASURE: memory for operands at most, 0: 1/4 of the device's */
    int64_t workspace_limit; /**< bytes of workspace the plan may want; 0: 1 GiB; -1: none at all */
    int32_t left_free;       /**< GPU: the room of so many multiprocessors is left to other work; 0: none is */
    int32_t stream_priority; /**< MEASURE: of the stream that is measured on, as CUDA counts: 0, or below it for more */
} wmPlanOptions;

/** Default options: every field its default. */
static inline wmPlanOptions wmPlanOptionsDefault(void) {
    wmPlanOptions o = {sizeof(wmPlanOptions), WM_ESTIMATE, 0, 0.0, 0, 0, 0, 0};
    return o;
}

/** The same for other languages. */
WM_API void wmPlanOptionsInit(wmPlanOptions *options, size_t size);

/**
 * Plans the problem that a string describes, "matmul bf16 4096x4096x4096 ta=t act=gelu_tanh" say; docs/problems.md is
 * the grammar. Everything else as in wmMatmulPlanCreate.
 */
WM_API WM_CHECKED wmStatus wmPlanCreate(wmPlan **plan, wmContext *context, const char *problem,
                                        const wmPlanOptions *options);

/** Adds a reference. NULL is allowed. */
WM_API void wmPlanRetain(wmPlan *plan);

/** Drops a reference. Needs no synchronisation: device state is freed after enqueued work ends. NULL is allowed. */
WM_API void wmPlanDestroy(wmPlan *plan);

/** Bytes of workspace that an execution needs, exact; align it to 256. 0 is common. */
WM_API WM_CHECKED wmStatus wmPlanWorkspace(const wmPlan *plan, size_t *bytes);

/** The plan's canonical problem string; owned by the plan. "" for NULL. */
WM_API const char *wmPlanProblem(const wmPlan *plan);

/** The solver's name ("cublaslt", "matmul_tiled", ...); static text. "" for NULL. */
WM_API const char *wmPlanSolver(const wmPlan *plan);

/** 1 if executions may be captured into a CUDA graph. */
WM_API int wmPlanCapturable(const wmPlan *plan);

/** 1 if executions on several threads run side by side; 0: the plan's lock takes them one by one. */
WM_API int wmPlanConcurrent(const wmPlan *plan);

/**
 * A number that stands for the plan's exact arithmetic: solver, version, knobs, problem, and the device model where it
 * matters. Equal ids mean equal bits for equal inputs. 0 for NULL.
 */
WM_API uint64_t wmPlanBitsId(const wmPlan *plan);

/**
 * Says why: chosen solver and knobs, each loser with its time or its reason for refusing, flops, bytes, fraction of the
 * roofline, workspace, determinism, and `try:` lines that price a change. Buffer rules as in wmContextInfo.
 */
WM_API WM_CHECKED wmStatus wmPlanExplain(const wmPlan *plan, wmTextFormat format, char *buffer, size_t capacity,
                                         size_t *needed);

/**
 * Times executions on the caller's own operands: warm-up, then runs for about budget_ms (0: 100), the median to
 * *seconds. args: the wmMatmulArgs, wmFftArgs or wmRandomArgs of the plan's kind; outputs are written, in-place inputs
 * drift. Synchronises; refused (WM_ERR_STATE) while `stream` is capturing.
 */
WM_API WM_CHECKED wmStatus wmPlanTime(const wmPlan *plan, const void *args, wmStream stream, double budget_ms,
                                      double *seconds);

/**
 * Gives `graph` a reference to the plan, released when the graph and what was instantiated from it are destroyed, so
 * that the plan outlives the executions captured from it. GPU place only.
 */
WM_API WM_CHECKED wmStatus wmPlanRetainInGraph(wmPlan *plan, wmGraph graph);

#ifdef __cplusplus
}
#endif

#endif
