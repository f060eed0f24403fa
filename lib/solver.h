/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solver is a row: who it is, which features it honours, and four functions. Ours, vendors' and the CPU reference's
 * look alike. A new one = one file that defines `const wm_solver wm_NAME` + one line in lib/solvers.def; being listed
 * is being tested (tests/test_solvers.c) and timed (warpmath bench).
 *
 * - offer lists legal variants, the likeliest first, at most `capacity`; cheap, launches nothing, allocates nothing
 * that stays. None: says why through wm_refuse.
 * - make does all that can fail: loads, allocates, builds tables and vendor handles. *state may stay NULL.
 * - run only enqueues (CPU place: computes): no allocation, no synchronisation, capturable if the offer says so.
 * - drop frees a state, half-made ones and NULL included; enqueued work may still run (free through the context).
 *
 * make and drop may be NULL: then there is no state.
 */
#ifndef WM_LIB_SOLVER_H
#define WM_LIB_SOLVER_H

#include "problem.h"
#include "status.h"
#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WM_MAX_KNOBS 12
#define WM_MAX_OFFERS 32 /* variants of one solver for one problem */

/** One legal way to solve a problem. */
typedef struct wm_offer {
    double seconds;         /* estimate of one execution */
    size_t workspace;       /* exact bytes */
    int knob[WM_MAX_KNOBS]; /* values for the solver's knob names, unused ones 0 */
    int capturable;         /* run may be captured into a graph */
    int concurrent;         /* run may be called on several threads at once */
    double waves;           /* blocks, of what the device holds at once; 0: not told. For records of estimates */
} wm_offer;

/** Why a solver does not offer: one short phrase, "n = 3000 is not a power of two". */
typedef struct wm_why {
    char text[160];
} wm_why;

/** Notes the reason; gives 0, so that offer can `return wm_refuse(why, "...")`. */
int wm_refuse(wm_why *why, const char *format, ...) WM_PRINTF(2, 3);

/** One execution. */
typedef struct wm_run {
    wmContext *context;
    const wm_problem *problem;
    const wm_offer *offer;
    void *state;
    const wm_args
        *args; /* checked: pointers present and aligned, scalars legal, defaults filled in (kinds, low/high, std) */
    void *workspace; /* offer->workspace bytes, aligned to 256; NULL if 0 */
    wmStream stream;
} wm_run;

typedef enum wm_origin { WM_OURS = 0, WM_VENDOR = 1, WM_REFERENCE = 2 } wm_origin;

typedef struct wm_solver {
    const char *name; /* file stem = wisdom entry = bench column = symbol after wm_ */
    wm_op op;
    wmPlace place;
    wm_origin origin;
    int version; /* raised when results or knobs change: older wisdom then no longer fits */
    int judge;   /* 1: slow and obvious, trusted to judge others in MEASURE */
    uint64_t features;
    const char *knobs[WM_MAX_KNOBS + 1]; /* names, NULL-terminated */
    int (*offer)(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why);
    wmStatus (*make)(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state);
    wmStatus (*run)(const wm_run *run);
    void (*drop)(wmContext *context, void *state);
} wm_solver;

/** All solvers built in, in the order of solvers.def. */
const wm_solver *const *wm_solvers(int *count);

#ifdef __cplusplus
}
#endif

#endif
