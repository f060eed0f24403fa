/* SPDX-License-Identifier: Apache-2.0 */
/* The table of solvers that this build has, from lib/solvers.def. */
#include "solver.h"
#include <stdarg.h>
#include <stdio.h>

#define SOLVER(symbol) extern const wm_solver symbol;
#ifdef WM_HAVE_CUDA
#define SOLVER_KERNEL(symbol) SOLVER(symbol)
#define SOLVER_VENDOR(symbol) SOLVER(symbol)
#else
#define SOLVER_KERNEL(symbol)
#define SOLVER_VENDOR(symbol)
#endif
#include "solvers.def"
#undef SOLVER

#define SOLVER(symbol) &symbol,
static const wm_solver *const table[] = {
#include "solvers.def"
    NULL};

const wm_solver *const *wm_solvers(int *count) {
    *count = (int)(sizeof table / sizeof table[0]) - 1;
    return table;
}

int wm_refuse(wm_why *why, const char *format, ...) {
    if (why) {
        va_list rest;
        va_start(rest, format);
        vsnprintf(why->text, sizeof why->text, format, rest);
        va_end(rest);
    }
    return 0;
}
