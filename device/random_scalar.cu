/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution in counter order, slow and obvious: thread i asks the device headers for element i, as a user's
 * kernel would, and throws away the rest of its Philox block. It judges the others in MEASURE, so it shares none of
 * their tiling.
 *
 *     thread t of the grid: out[t] = value(key, offset + t), then out[t + threads], …
 *
 * Floor: a block of four words for one of them, so a quarter of the issue rate of the tiled kernels, and stores of one
 * element. Not tuned, on purpose. Fast forms are asked of it in their exact form, which keeps every bound.
 */
#include "lib/solver.h"
#include "random_element.h"
#include "reference/random_element_job.h"

#include <warpmath/device/base.cuh>

#include <string.h>

enum { THREADS = 256, WAVES = 8 };

typedef struct wm_random_scalar_draw {
    unsigned char *out;
    wm_i64 count;
    wm_u64 offset;
    wm_element_job job;
} wm_random_scalar_draw;

WM_KERNEL __launch_bounds__(THREADS) wm_random_scalar_kernel(WM_PARAMS(wm_random_scalar_draw)) {
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step())
        wm_random_element(&p.job, p.offset + (wm_u64)i, p.out + i * p.job.element);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)why;
    if (capacity < 1) return 0;
    double elements = (double)problem->u.random.count_hint;
    memset(out, 0, sizeof *out);
    out->seconds = 5e-6 + 60 * elements / wm_context_bandwidth(context);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem, (void)offer;
    *state = NULL;
    return wm_prepare_kernel(context, "wm_random_scalar", reinterpret_cast<const void *>(wm_random_scalar_kernel), 0);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_random_scalar_draw p;
    memset(&p, 0, sizeof p);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = args->count;
    p.offset = args->offset;
    p.job = wm_element_job_make(&run->problem->u.random, args);
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 blocks = (args->count + THREADS - 1) / THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(wm_random_scalar_kernel);
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, "wm_random_scalar", &l, run->stream);
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_scalar = {
    "random_scalar",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    1,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_INTEGERS | WM_RND_BERNOULLI | WM_RND_EXPONENTIAL |
        WM_RND_NARROW | WM_RND_32 | WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
