/* SPDX-License-Identifier: Apache-2.0 */
/* The one timing loop, for the planner and for `warpmath bench`. */
#ifndef WM_LIB_MEASURE_H
#define WM_LIB_MEASURE_H

#include "solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What measuring found out about a candidate. */
typedef enum wm_verdict {
    WM_UNTRIED = 0, /* not reached: the budget ended before it */
    WM_GOOD = 1,    /* right, and timed */
    WM_SLOW = 2,    /* right, and dropped before the last rounds; its time is rougher */
    WM_WRONG = 3,   /* its result, or a byte around it, is wrong: banned */
    WM_FAILED = 4   /* make or run failed */
} wm_verdict;

/** One candidate: what was offered, and what came of it. */
typedef struct wm_candidate {
    const wm_solver *solver;
    wm_offer offer;
    wm_verdict verdict;
    int only_judges; /* it is no candidate of the plan's: it may tell what is right */
    int samples;     /* 0 with a time: that of a first run or two */
    int learned;     /* something was learnt of its solver on this device */
    double seconds;  /* median of one execution; 0 if never timed */
    double spread;   /* of the samples, as a fraction of the median */
    double behind;   /* where learned: it may be so far behind the best, as the logarithm of the ratio of times */
    double error;    /* largest difference from the judge as a fraction of the bound: right is <= 1 */
    char why[160];   /* of WM_WRONG and WM_FAILED */
} wm_candidate;

typedef struct wm_bench_options {
    double budget_ms;        /* wall time at most; 0: 1000 */
    int64_t budget_bytes;    /* operands at most; 0: a quarter of the device's memory */
    int64_t workspace_limit; /* as in wmPlanOptions */
    const char *solvers;     /* names, separated by commas; NULL: all. The judge is used in any case */
    int early_stop;          /* 1: losers are dropped early, as planning does; 0: all are timed to the end */
} wm_bench_options;

/** What a benchmark of one problem gives; free rows with free(). */
typedef struct wm_bench_result {
    wm_candidate *rows; /* in the order of the registry */
    int count;
    int winner;   /* whom MEASURE would take by these times; -1: nobody was timed */
    int estimate; /* whom ESTIMATE takes without wisdom; -1: nobody */
    int mhz[2];   /* the chip's clock before the rounds and after them; 0: unknown */
} wm_bench_result;

/** Checks and times every variant that the context's solvers offer for the problem. Also fails where none offers. */
wmStatus wm_bench(wmContext *context, const wm_problem *problem, const wm_bench_options *options, wm_bench_result *out);

/** "tile=128 stages=4": the offer's knobs by name. */
void wm_knobs_print(const wm_solver *solver, const wm_offer *offer, char *out, size_t room);

const char *wm_verdict_name(wm_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
