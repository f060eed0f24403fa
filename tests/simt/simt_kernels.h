/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of lib/solvers.def that this build has under the emulation: all, or a few of each family
 * (CMakeLists.txt). */
#ifndef WM_TESTS_SIMT_KERNELS_H
#define WM_TESTS_SIMT_KERNELS_H

#include "lib/solver.h"

#define SOLVER(symbol)
#define SOLVER_VENDOR(symbol)
#define SOLVER_KERNEL(symbol) extern const wm_solver symbol __attribute__((weak));
#include "lib/solvers.def"
#undef SOLVER_KERNEL

enum { WM_SIMT_KERNELS_MOST = 128 };

/** Fills the list, ended by NULL; gives their number. */
static inline int wm_simt_kernels(const wm_solver *list[WM_SIMT_KERNELS_MOST]) {
#define SOLVER_KERNEL(symbol) &symbol,
    static const wm_solver *const all[] = {
#include "lib/solvers.def"
    };
#undef SOLVER_KERNEL
    int count = 0;
    for (int i = 0; i < (int)(sizeof all / sizeof all[0]) && count + 1 < WM_SIMT_KERNELS_MOST; i++)
        if (all[i]) list[count++] = all[i];
    list[count] = (const wm_solver *)0;
    return count;
}

#endif
