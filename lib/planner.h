/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a solver: who offers, who refuses and why, and whose offer is taken. */
#ifndef WM_LIB_PLANNER_H
#define WM_LIB_PLANNER_H

#include "few.h"
#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What decided. */
typedef enum wm_by { WM_BY_ESTIMATE, WM_BY_WISDOM, WM_BY_MEASURE, WM_BY_EMPTY } wm_by;

/** A solver of the operation that does not offer. */
typedef struct wm_refusal {
    const wm_solver *solver;
    wm_why why;
} wm_refusal;

/** Outcome of a search; a plan keeps it to explain itself. */
typedef struct wm_found {
    wm_candidate *candidate;
    int count, capacity;
    wm_refusal *refusal;
    int refusals, refusal_capacity;
    int chosen; /* a candidate; -1: none */
    wm_by by;
    char note[256]; /* what a reader should know of how it went; "" for nothing */
} wm_found;

/** Lists the candidates and the refusals; no candidate is no failure here. */
wmStatus wm_search_offers(wmContext *context, const wm_problem *problem, int64_t workspace_limit, wm_found *out);

/**
 * The same, for a choice by estimates alone: of a vendor's variants the first WM_FEW_OFFERS (lib/few.h). Choosing by
 * what was learnt does as well of them as of all (docs/tuning.md). Choose by wm_settle.
 */
wmStatus wm_search_few(wmContext *context, const wm_problem *problem, int64_t workspace_limit, wm_found *out);

/**
 * The whole search by checked options. WM_ERR_UNSUPPORTED: no solver offers, and the sentence says why and what comes
 * nearest. Free *out in any case.
 */
wmStatus wm_search(wmContext *context, const wm_problem *problem, const wmPlanOptions *options, wm_found *out);

/** Fails with WM_ERR_UNSUPPORTED and the sentence that a search without candidates deserves. */
wmStatus wm_nobody_offers(const wmContext *context, const wm_problem *problem, const wm_found *found);

/**
 * Checks and times the candidates; chosen and by are set where one won, and the note says so where the budget ended
 * first. WM_ERR_STATE during a capture.
 */
wmStatus wm_measure(wmContext *context, const wm_problem *problem, const wmPlanOptions *options, wm_found *found);

/** Takes wisdom's choice if it is of that effort and among the candidates still: 1 then. */
int wm_follow_wisdom(wmContext *context, const wm_problem *problem, wmEffort effort, wm_found *found);

/** The measured winner: the fastest, unless a vendor's is as fast within the noise; -1 if nothing was timed. */
int wm_pick_winner(const wm_found *found);

/** Notes what was learnt of the candidates on such a device (lib/learned.h), where anything was. */
void wm_guess(const wmContext *context, const wm_problem *problem, wm_found *found);

/**
 * The candidate of least estimated time that has not failed; -1 if there is none. After wm_guess: the one that is least
 * behind by what was learnt, unless one that nothing was learnt of is estimated faster still.
 */
int wm_best_estimate(const wm_found *found);

/** The same whatever came of it since: what planning by estimate takes first. */
int wm_least_estimate(const wm_found *found);

/** wm_best_estimate, once its workspace is known and within the limit; others have failed then. */
int wm_settle(wmContext *context, const wm_problem *problem, int64_t workspace_limit, wm_found *found);

void wm_found_free(wm_found *found);

/** Checks and defaults; NULL options are the default ones. */
wmStatus wm_plan_options_take(wmPlanOptions *out, const wmPlanOptions *options);

#ifdef __cplusplus
}
#endif

#endif
