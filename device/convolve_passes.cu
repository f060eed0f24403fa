/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of any size by the transforms that the planner finds: forward, product of spectra, inverse; arrays of a
 * linear convolution are placed among zeros before and cut out behind, by the same kernel as the product:
 *
 *     block (x, y): columns 256 x + t, 256 (x + X) + t, … of rows y, y + Y, …
 *
 * Floor: three reads and writes of the spectra, five where it is linear. The values go through f64, whose instructions
 * this chip does not lack. Refuses nothing that its transforms take. Not tuned: circular ones reach 0.24 of the copy
 * rate (c64, 1024 to 8192 points, H200, 2026-11-30), as forward, product and inverse by cuFFT do; linear ones 0.08.
 */
#include <warpmath/device/base.cuh>

#include "convolve_step.h"
#include "host/convolve_parts.h"
#include "lib/convolution.h"
#include "lib/solver.h"

#include <stdlib.h>

enum { THREADS = 256, MOST_ROWS = 65535, MOST_WIDE = 1024 };

WM_KERNEL __launch_bounds__(THREADS) wm_convolve_step_kernel(WM_PARAMS(wm_convolve_step)) {
    wm_i64 rows = p.arrays * p.rows;
    for (wm_i64 row = blockIdx.y; row < rows; row += gridDim.y)
        wm_convolve_row(&p, row, wm_grid_first(), wm_grid_step());
}

extern "C" wmStatus wm_convolve_launch(const wm_run *run, const wm_convolve_step *step) {
    wm_launch launch = {};
    wm_i64 rows = step->arrays * step->rows, wide = wm_divide_up(step->columns, (wm_i64)THREADS);
    launch.kernel = (const void *)wm_convolve_step_kernel;
    launch.grid.x = (unsigned)wm_min(wide, (wm_i64)MOST_WIDE);
    launch.grid.y = (unsigned)wm_min(rows, (wm_i64)MOST_ROWS);
    launch.block.x = THREADS;
    launch.grid.z = launch.block.y = launch.block.z = 1;
    launch.params = step;
    launch.params_bytes = sizeof *step;
    return wm_launch_kernel(run->context, "convolve_passes", &launch, run->stream);
}

static int convolve_passes_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity,
                                 wm_why *why) {
    (void)capacity;
    *out = wm_offer{};
    return wm_convolve_offer(context, problem, 1, out, why);
}

static wmStatus convolve_passes_make(wmContext *context, const wm_problem *problem, const wm_offer *offer,
                                     void **state) {
    wm_convolve_parts *parts = static_cast<wm_convolve_parts *>(calloc(1, sizeof *parts));
    if (!parts) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = parts;
    WM_TRY(wm_prepare_kernel(context, "convolve_passes", (const void *)wm_convolve_step_kernel, 0));
    return wm_convolve_make(context, problem, offer, 1, parts);
}

static wmStatus convolve_passes_run(const wm_run *run) {
    const wm_convolve_parts *parts = static_cast<const wm_convolve_parts *>(run->state);
    return wm_convolve_prepares(run) ? wm_convolve_prepare(run, parts, wm_convolve_launch)
                                     : wm_convolve_run(run, parts, wm_convolve_launch);
}

static void convolve_passes_drop(wmContext *context, void *state) {
    (void)context;
    if (state) wm_convolve_drop(static_cast<wm_convolve_parts *>(state));
    free(state);
}

extern "C" const wm_solver wm_convolve_passes = {
    "convolve_passes",
    WM_CONVOLUTION,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    1, /* judge */
    WM_CONV_F32 | WM_CONV_F64 | WM_CONV_REAL | WM_CONV_COMPLEX | WM_CONV_RANK2 | WM_CONV_FILTERS | WM_CONV_UNALIGNED,
    {nullptr},
    convolve_passes_offer,
    convolve_passes_make,
    convolve_passes_run,
    convolve_passes_drop,
};
