/* SPDX-License-Identifier: Apache-2.0 */
/* A solver that leaves part of its problem to others: it holds one wm_inner for each part. */
#ifndef WM_LIB_INNER_H
#define WM_LIB_INNER_H

#include "solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A part of a problem, and who does it. Zeroed: none. */
typedef struct wm_inner {
    wm_problem problem;
    const wm_solver *solver;
    wm_offer offer;
    void *state;
} wm_inner;

/**
 * Finds the offer of least estimated time for inner->problem with at most `most` bytes of workspace; allocates nothing
 * that stays. 0: there is none, and *why (which may be NULL) names the problem. A solver that may be asked for its own
 * parts must refuse what it would hand on unchanged.
 */
int wm_inner_choose(wmContext *context, wm_inner *inner, size_t most, wm_why *why);

/** What its solver makes. Call wm_inner_drop in any case. */
wmStatus wm_inner_make(wmContext *context, wm_inner *inner);
void wm_inner_drop(wmContext *context, wm_inner *inner);

/** Enqueues the part on the stream of the whole; workspace: inner->offer.workspace bytes, aligned to 256. */
wmStatus wm_inner_run(const wm_run *whole, const wm_inner *inner, const wm_args *args, void *workspace);

#ifdef __cplusplus
}
#endif

#endif
