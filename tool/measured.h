/* SPDX-License-Identifier: Apache-2.0 */
/* A measured candidate in words and units, for bench and demo. */
#ifndef WM_TOOL_MEASURED_H
#define WM_TOOL_MEASURED_H

#include <stdbool.h>

#include "lib/measure.h"

typedef struct wm_measured {
    char knobs[128];
    char time[24];      /* "1.234 ms"; "" if not timed */
    double rate;        /* in units; 0 if not timed */
    const char *unit;   /* "GFLOP/s", "GB/s" where there are no floating-point operations to count */
    char rate_text[32]; /* "123.4 GFLOP/s" */
} wm_measured;

wm_measured wm_measured_of(const wm_problem *problem, const wm_candidate *row);

/* Right and timed. */
bool wm_measured_is_right(const wm_candidate *row);

#endif
