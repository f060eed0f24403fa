/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels of ours were run on a GPU as they stand (perf/verified.csv, cmake/warpmath_verified.cmake). */
#ifndef WM_LIB_VERIFIED_H
#define WM_LIB_VERIFIED_H

#include "solver.h"

/** 0 for a kernel of ours whose sources have no row in perf/verified.csv: the planner then asks WARPMATH_UNVERIFIED. */
int wm_solver_verified(const wm_solver *solver);

#endif
