/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions on the CPU: the transforms that the planner finds, and the steps between them over threads. */
#include "host/convolve_parts.h"
#include "lib/convolution.h"
#include "lib/parallel.h"

#include <stdlib.h>

static void rows(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    for (int64_t row = from; row < to; row++) wm_convolve_row(user, row, 0, 1);
}

static wmStatus do_step(const wm_run *run, const wm_convolve_step *step) {
    wm_convolve_step s = *step;
    int64_t grain = 16384 / s.columns + 1;
    wm_parallel_for(wm_context_threads(run->context), s.arrays * s.rows, grain, rows, &s);
    return WM_OK;
}

static int convolve_cpu_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)capacity;
    *out = (wm_offer){0};
    return wm_convolve_offer(context, problem, 1, out, why);
}

static wmStatus convolve_cpu_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    wm_convolve_parts *parts = calloc(1, sizeof *parts);
    if (!parts) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = parts;
    return wm_convolve_make(context, problem, offer, 1, parts);
}

static wmStatus convolve_cpu_run(const wm_run *run) {
    const wm_convolve_parts *parts = run->state;
    return wm_convolve_prepares(run) ? wm_convolve_prepare(run, parts, do_step) : wm_convolve_run(run, parts, do_step);
}

static void convolve_cpu_drop(wmContext *context, void *state) {
    (void)context;
    if (state) wm_convolve_drop(state);
    free(state);
}

const wm_solver wm_convolve_cpu = {
    .name = "convolve_cpu",
    .op = WM_CONVOLUTION,
    .place = WM_PLACE_CPU,
    .origin = WM_OURS,
    .version = 1,
    .judge = 1,
    .features = WM_CONV_F32 | WM_CONV_F64 | WM_CONV_REAL | WM_CONV_COMPLEX | WM_CONV_RANK2 | WM_CONV_FILTERS |
                WM_CONV_UNALIGNED,
    .offer = convolve_cpu_offer,
    .make = convolve_cpu_make,
    .run = convolve_cpu_run,
    .drop = convolve_cpu_drop,
};
