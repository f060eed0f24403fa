/* SPDX-License-Identifier: Apache-2.0 */
/* The list is written at configure time, by solver name. */
#include "verified.h"

#include <string.h>

/* The first is no kernel's: the planner's test of this rule has a solver of that name. */
static const char *const unverified[] = {
    "lab_unverified",
#define UNVERIFIED(name) name,
#include "wm_unverified.inc"
#undef UNVERIFIED
    NULL,
};

int wm_solver_verified(const wm_solver *solver) {
    if (solver->origin != WM_OURS || solver->place != WM_PLACE_GPU) return 1;
    for (int i = 0; unverified[i]; i++)
        if (strcmp(unverified[i], solver->name) == 0) return 0;
    return 1;
}
