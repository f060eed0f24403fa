/* SPDX-License-Identifier: Apache-2.0 */
/* After a draw whose key and offset lie in device memory: the state moves on, in stream order. */
#ifndef WM_DEVICE_RANDOM_ADVANCE_CUH
#define WM_DEVICE_RANDOM_ADVANCE_CUH

#include <warpmath/device/base.cuh>
#include <warpmath/random.h>

#include "lib/solver.h"

#include <string.h>

typedef struct wm_random_step {
    wmRandomState *state;
    wm_u64 by;
} wm_random_step;

static __global__ void wm_random_advance(WM_PARAMS(wm_random_step)) {
    if (wm_thread() == 0) p.state->offset += p.by;
}

/** In `make` of a solver whose draws may advance. */
static inline wmStatus wm_random_advance_prepare(wmContext *context) {
    return wm_prepare_kernel(context, "wm_random_advance", reinterpret_cast<const void *>(wm_random_advance), 0);
}

/** At the end of `run`: by the draw's count, if the arguments say so. */
static inline wmStatus wm_random_advance_after(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_random_step p = {args->state, (wm_u64)args->count};
    wm_launch l;
    if (!args->advance) return WM_OK;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(wm_random_advance);
    l.grid = {1, 1, 1};
    l.block = {32, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, "wm_random_advance", &l, run->stream);
}

#endif
