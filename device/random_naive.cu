/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers in counter order, slow and obvious: thread i asks the device header for element i, as a user's kernel
 * would, and throws away the rest of its Philox block. It judges the others in MEASURE, so it shares none of their
 * tiling.
 *
 *     thread t of the grid: out[t] = value(key, offset + t), then out[t + threads], …
 *
 * Refuses nothing of counter order. Floor: a block of four words for one of them, so a quarter of the issue rate of
 * random_philox, and 4-byte stores. Not tuned, on purpose.
 */
#include <warpmath/device/base.cuh>
#include <warpmath/device/random.h>

#include "lib/solver.h"

#include <string.h>

enum { THREADS = 256, WAVES = 8 };

typedef struct wm_random_naive_draw {
    void *out;
    wm_i64 count;
    wm_u64 offset;
    wmRandomKey key;
    int distribution, wide; /* wide: 64-bit elements */
    wmRangeF32 range32;
    wmRangeF64 range64;
    double mean, std;
} wm_random_naive_draw;

WM_KERNEL __launch_bounds__(THREADS) wm_random_naive_kernel(WM_PARAMS(wm_random_naive_draw)) {
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        wm_u64 element = p.offset + (wm_u64)i;
        if (p.distribution == WM_RANDOM_BITS && !p.wide) ((wm_u32 *)p.out)[i] = wmBitsU32(p.key, element);
        if (p.distribution == WM_RANDOM_BITS && p.wide) ((wm_u64 *)p.out)[i] = wmBitsU64(p.key, element);
        if (p.distribution == WM_RANDOM_UNIFORM && !p.wide)
            ((float *)p.out)[i] = wmUniformInF32(p.key, element, p.range32);
        if (p.distribution == WM_RANDOM_UNIFORM && p.wide)
            ((double *)p.out)[i] = wmUniformInF64(p.key, element, p.range64);
        if (p.distribution == WM_RANDOM_NORMAL && !p.wide)
            ((float *)p.out)[i] = wm_exact_fma32(wmNormalF32(p.key, element), (float)p.std, (float)p.mean);
        if (p.distribution == WM_RANDOM_NORMAL && p.wide)
            ((double *)p.out)[i] = wm_exact_fma64(wmNormalF64(p.key, element), p.std, p.mean);
    }
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)why;
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 5e-6 + 8 * wm_problem_cost(problem).bytes / wm_context_bandwidth(context);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem, (void)offer;
    *state = NULL;
    return wm_prepare_kernel(context, "wm_random_naive", reinterpret_cast<const void *>(wm_random_naive_kernel), 0);
}

static wmStatus run(const wm_run *run) {
    const wmRandomDesc *d = &run->problem->u.random;
    const wmRandomArgs *args = &run->args->random;
    wm_random_naive_draw p;
    memset(&p, 0, sizeof p);
    p.out = args->out;
    p.count = args->count;
    p.offset = args->offset;
    p.key = args->key;
    p.distribution = d->distribution;
    p.wide = wmTypeSize(d->type) == 8;
    p.range32 = wmRangeMakeF32((float)args->low, (float)args->high);
    p.range64 = wmRangeMakeF64(args->low, args->high);
    p.mean = args->mean;
    p.std = args->std;
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 blocks = (args->count + THREADS - 1) / THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(wm_random_naive_kernel);
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, "wm_random_naive", &l, run->stream);
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_naive = {
    "random_naive",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    1,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
