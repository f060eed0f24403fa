/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on a GPU that multiply nothing: alpha is the host's 0, and A and B may be NULL. Kernels that make tensor
 * maps, copies or asynchronous loads of A and B before they look at alpha need an address even so.
 */
#ifndef WM_LIB_IDLE_H
#define WM_LIB_IDLE_H

#include "solver.h"

/** Behind the make of a problem's solver: all that can fail of what wm_idle_run may do. */
wmStatus wm_idle_make(wmContext *context, const wm_problem *problem);

/** solver->run, or for such a product what stands for it. */
wmStatus wm_idle_run(const wm_solver *solver, const wm_run *run);

#endif
