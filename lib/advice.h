/* SPDX-License-Identifier: Apache-2.0 */
/* What might make a plan faster, priced. */
#ifndef WM_LIB_ADVICE_H
#define WM_LIB_ADVICE_H

#include "plan_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WM_MOST_ADVICE 12

/** One `try:` line; from and to are estimates in seconds, 0 where there is nothing to estimate. */
typedef struct wm_advice {
    char text[200];
    double from, to;
} wm_advice;

/** Gives the number of lines. Inside wm_enter: solvers are asked about changed problems. */
int wm_advise(const wmPlan *plan, wm_advice out[WM_MOST_ADVICE]);

#ifdef __cplusplus
}
#endif

#endif
