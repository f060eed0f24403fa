/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own view of a context, and the constructor that tests use. */
#ifndef WM_LIB_CONTEXT_INTERNAL_H
#define WM_LIB_CONTEXT_INTERNAL_H

#include "clock.h"
#include "solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A context over the caller's own device table (NULL: the CPU place), solvers and clock; all three must outlive it.
 * With a device the place is the GPU unless the options ask for the CPU. Unverified solvers may offer, no wisdom file
 * is read unless the options name one.
 */
wmStatus wm_context_create_with(wmContext **context, const wmContextOptions *options, const wm_gpu *gpu,
                                const wm_solver *const *solvers, int count, wm_clock clock);

#ifdef __cplusplus
}
#endif

#endif
