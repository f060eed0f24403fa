/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A convolution out of transforms that the planner finds: forward, product, inverse; with the data placed among zeros
 * before and the results cut out behind, unless it is circular. The solvers of both places are made of this.
 */
#ifndef WM_HOST_CONVOLVE_PARTS_H
#define WM_HOST_CONVOLVE_PARTS_H

#include "device/convolve_step.h"
#include "lib/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_convolve_parts {
    wmPlan *prepare;           /* of the filters, in place */
    wmPlan *forward, *inverse; /* NULL where a kernel does without */
    size_t spectra;            /* bytes of workspace before that of the transforms */
} wm_convolve_parts;

/** Does a step at the place. */
typedef wmStatus (*wm_convolve_doer)(const wm_run *run, const wm_convolve_step *step);

/** Fills in workspace, seconds of the transforms and flags; 0 with the reason where a transform has no solver.
 * `passes`: forward and inverse, too. */
int wm_convolve_offer(wmContext *context, const wm_problem *problem, int passes, wm_offer *offer, wm_why *why);

wmStatus wm_convolve_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, int passes,
                          wm_convolve_parts *parts);
void wm_convolve_drop(wm_convolve_parts *parts);

/** Whether a run is wmConvolutionPrepare's: in are taps, out is the filter. */
int wm_convolve_prepares(const wm_run *run);
wmStatus wm_convolve_prepare(const wm_run *run, const wm_convolve_parts *parts, wm_convolve_doer doer);

/** All passes. */
wmStatus wm_convolve_run(const wm_run *run, const wm_convolve_parts *parts, wm_convolve_doer doer);

#ifdef __cplusplus
}
#endif

#endif
