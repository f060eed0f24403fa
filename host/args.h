/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of an execution, from the caller's struct to the checked copy that solvers see. */
#ifndef WM_HOST_ARGS_H
#define WM_HOST_ARGS_H

#include "lib/fields.h"
#include "lib/plan.h"

/**
 * Copies and checks the args of the plan's operation: size, pointers (present, aligned as promised; reachable where
 * `reach`), scalars; fills defaults in. *empty: nothing is to be done, and no pointer was looked at.
 */
wmStatus wm_args_check(const wmPlan *plan, const void *args, int reach, wm_args *out, int *empty);

/** One operation's part of it: `out` holds the sized copy already. */
wmStatus wm_matmul_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty);
wmStatus wm_fft_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty);
wmStatus wm_random_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty);
wmStatus wm_convolution_args_check(const wmPlan *plan, int reach, wm_args *out, int *empty);

/** A pointer that is read or written: not NULL, aligned, and within the place's reach where `reach`. */
wmStatus wm_pointer_check(const wmPlan *plan, const void *pointer, int64_t align, const char *field, int reach);

/** Checks and runs: the body of wmMatmulExecute, wmFftExecute and wmRandomExecute. */
wmStatus wm_execute(const wmPlan *plan, wm_op op, const void *args, int reach, wmStream stream);

/** Plans through the context's cache and runs: the body of wmMatmul, wmFft and wmRandom. */
wmStatus wm_one_shot(wmContext *context, const wm_problem *problem, const void *args, wmStream stream);

/** Refuses a desc whose place is another than the context's. */
wmStatus wm_place_check(wmPlace asked, wmPlace context);

/** The largest power of two up to 16 that divides the address: what a one-shot call may promise. */
int64_t wm_pointer_align(const void *pointer);

#endif
