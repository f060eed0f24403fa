/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at most, measured: memory, launches, arithmetic. */
#ifndef WM_TOOL_CEILINGS_H
#define WM_TOOL_CEILINGS_H

#include <stdbool.h>

#include "lib/problem.h"

/* Bytes, launches' seconds and operations a second; 0 where it was not or cannot be measured. */
typedef struct wm_ceilings {
    double read, write, copy;    /* copy counts bytes read and written */
    double launch, graph_launch; /* seconds of an empty kernel in a stream, and as a node of a graph */
    double f32, f64, tensor;     /* multiply-adds counted as two; tensor: 16-bit products summed in f32 */
} wm_ceilings;

/* Takes about a second, and half a gigabyte of the place's memory. */
int wm_ceilings_measure(wmContext *context, wm_ceilings *out);

/* The least time that the ceilings leave a problem; by the datasheet where out->copy is 0. */
double wm_ceilings_least(const wm_ceilings *ceilings, wmContext *context, const wm_problem *problem);

int wm_ceilings_print(const wm_ceilings *ceilings, bool json, bool csv);

#endif
