/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of values that belong together, normal vectors of a given covariance and Dirichlet shares: a thread makes a row,
 * in place in the output, by the device headers' own function.
 *
 *     thread t of the grid: rows t, t + threads, …
 *
 * Refuses nothing of these two. Floor of normal vectors of length n: n (n + 1) / 2 multiply-adds a row whose operands
 * come from L1 and L2, where the row itself lives: made for small n. Not tuned: the first rung.
 */
#include "lib/solver.h"
#include "random_element.h"
#include "reference/random_element_job.h"

#include <warpmath/device/base.cuh>

#include <string.h>

enum { THREADS = 128, WAVES = 16 };

typedef struct wm_random_rows_draw {
    wm_i64 rows;
    wm_element_job job;
    wmRandomArgs args;
} wm_random_rows_draw;

WM_KERNEL __launch_bounds__(THREADS) wm_random_rows_normal(WM_PARAMS(wm_random_rows_draw)) {
    for (wm_i64 r = wm_grid_first(); r < p.rows; r += wm_grid_step())
        if (p.job.distribution == WM_RANDOM_NORMAL_VECTORS)
            wm_random_row(&p.job, &p.args, p.args.offset, r, p.args.out);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_rows_dirichlet(WM_PARAMS(wm_random_rows_draw)) {
    for (wm_i64 r = wm_grid_first(); r < p.rows; r += wm_grid_step())
        if (p.job.distribution == WM_RANDOM_DIRICHLET) wm_random_row(&p.job, &p.args, p.args.offset, r, p.args.out);
}

static const void *kernel_of(const wm_problem *problem, const char **name) {
    int dirichlet = problem->u.random.distribution == WM_RANDOM_DIRICHLET;
    *name = dirichlet ? "wm_random_rows_dirichlet" : "wm_random_rows_normal";
    return dirichlet ? reinterpret_cast<const void *>(wm_random_rows_dirichlet)
                     : reinterpret_cast<const void *>(wm_random_rows_normal);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)why;
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 5e-6 + wm_problem_cost(problem).bytes / (0.05 * wm_context_bandwidth(context));
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const char *name = NULL;
    const void *kernel = kernel_of(problem, &name);
    (void)offer;
    *state = NULL;
    return wm_prepare_kernel(context, name, kernel, 0);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    const char *name = NULL;
    wm_random_rows_draw p;
    memset(&p, 0, sizeof p);
    p.rows = args->count / args->dimension;
    p.job = wm_element_job_make(&run->problem->u.random, args);
    p.args = *args;
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 blocks = (p.rows + THREADS - 1) / THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = kernel_of(run->problem, &name);
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, name, &l, run->stream);
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_rows = {
    "random_rows",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_VECTORS | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
