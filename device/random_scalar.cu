/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution in counter order, into rows with gaps, with key and offset in device memory, slow and obvious:
 * thread i asks the device headers for element i, as a user's kernel would, and throws away the rest of its Philox
 * block. It judges the others in MEASURE, so it shares none of their tiling.
 *
 *     thread t of the grid: value(key, offset + t) to its row and column, then element t + threads, …
 *
 * Floor: a block of four words for one of them, so a quarter of the issue rate of the tiled kernels, and stores of one
 * element. Fast forms are asked of it in their exact form, which keeps every bound. Distributions that reject have a
 * block and more an element anyway: for them, for categories and permutations it is the only kernel. Measured on an
 * H200, November 2026, of memset: gamma f32 0.043 (4.3e10 a second), uniform f16 0.08, integers u32 0.15, Poisson by
 * table 0.01.
 */
#include "lib/solver.h"
#include "random_advance.cuh"
#include "random_element.h"
#include "reference/random_element_job.h"

#include <warpmath/device/base.cuh>

#include <string.h>

enum { THREADS = 256, WAVES = 8 };

typedef struct wm_random_scalar_draw {
    unsigned char *out;
    wm_i64 count, columns, ld; /* columns: never 0 */
    wm_u64 offset;
    const wmRandomState *state; /* or NULL */
    wm_element_job job;
} wm_random_scalar_draw;

/* The job with its key, and the offset, from wherever they are. */
WM_DEVICE wm_element_job job_of(const wm_random_scalar_draw &p, wm_u64 *offset) {
    wm_element_job job = p.job;
    *offset = p.offset;
    if (p.state) job.key = p.state->key, *offset += p.state->offset;
    return job;
}

WM_DEVICE unsigned char *place_of(const wm_random_scalar_draw &p, wm_i64 i) {
    wm_i64 row = i < p.columns ? 0 : i / p.columns;
    return p.out + (row * p.ld + (i - row * p.columns)) * p.job.element;
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_scalar_kernel(WM_PARAMS(wm_random_scalar_draw)) {
    wm_u64 offset;
    const wm_element_job job = job_of(p, &offset);
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step())
        wm_random_element(&job, offset + (wm_u64)i, place_of(p, i));
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_scalar_continuous(WM_PARAMS(wm_random_scalar_draw)) {
    wm_u64 offset;
    const wm_element_job job = job_of(p, &offset);
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step())
        wm_element_continuous(&job, offset + (wm_u64)i, place_of(p, i));
}

/* Counts that need a table are asked for with it. */
typedef struct wm_random_scalar_counts {
    wm_random_scalar_draw draw;
    wmCountTable table;
} wm_random_scalar_counts;

WM_KERNEL __launch_bounds__(THREADS) wm_random_scalar_table(WM_PARAMS(wm_random_scalar_counts)) {
    wm_u64 offset;
    const wm_element_job job = job_of(p.draw, &offset);
    for (wm_i64 i = wm_grid_first(); i < p.draw.count; i += wm_grid_step())
        wm_put_integer(place_of(p.draw, i), job.element, wmCount(job.key, offset + (wm_u64)i, &p.table));
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_scalar_discrete(WM_PARAMS(wm_random_scalar_draw)) {
    wm_u64 offset;
    const wm_element_job job = job_of(p, &offset);
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step())
        wm_element_discrete(&job, NULL, offset + (wm_u64)i, place_of(p, i));
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_scalar_round(WM_PARAMS(wm_random_scalar_draw)) {
    wm_u64 offset;
    const wm_element_job job = job_of(p, &offset);
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step())
        wm_element_round(&job, offset + (wm_u64)i, (wm_u64)i, place_of(p, i));
}

/* Bytes that memset writes while an element is drawn, on an H200: look-ups search their table from its guide's cell on.
 */
static double price(wmDistribution d) {
    if (d == WM_RANDOM_POISSON || d == WM_RANDOM_BINOMIAL) return 400; /* by table or not, only the arguments say */
    if (d == WM_RANDOM_BERNOULLI || d == WM_RANDOM_MASK) return 180;
    return wm_is_continuous(d) || wm_is_discrete(d) ? 100 : 30;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    if (d->distribution == WM_RANDOM_PERMUTATION && d->key_source == WM_KEY_DEVICE)
        return wm_refuse(why, "a permutation's key is an argument: its rounds are made from it beforehand");
    if (capacity < 1) return 0;
    double elements = (double)d->count_hint;
    memset(out, 0, sizeof *out);
    int by_table = d->distribution == WM_RANDOM_POISSON || d->distribution == WM_RANDOM_BINOMIAL;
    out->seconds = (by_table ? 8e-6 : 5e-6) + price(d->distribution) * elements / wm_context_bandwidth(context);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

#define ROW(name)                                                                                                      \
    { #name, reinterpret_cast < const void *>(name) }
static const struct {
    const char *name;
    const void *kernel;
} kernels[] = {ROW(wm_random_scalar_kernel), ROW(wm_random_scalar_continuous), ROW(wm_random_scalar_discrete),
               ROW(wm_random_scalar_table), ROW(wm_random_scalar_round)};
enum { SIMPLE, CONTINUOUS, DISCRETE, TABLE, ROUND };

static int kernel_of(const wm_problem *problem) {
    wmDistribution d = problem->u.random.distribution;
    if (d == WM_RANDOM_ROUND) return ROUND;
    return wm_is_continuous(d) ? CONTINUOUS : wm_is_discrete(d) ? DISCRETE : SIMPLE;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    int k = kernel_of(problem);
    (void)offer;
    *state = NULL;
    WM_TRY(wm_random_advance_prepare(context));
    if (k == DISCRETE) WM_TRY(wm_prepare_kernel(context, kernels[TABLE].name, kernels[TABLE].kernel, 0));
    return wm_prepare_kernel(context, kernels[k].name, kernels[k].kernel, 0);
}

static wmStatus launch(const wm_run *run, int k, const void *params, size_t bytes) {
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 blocks = (run->args->random.count + THREADS - 1) / THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = kernels[k].kernel;
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = params;
    l.params_bytes = bytes;
    return wm_launch_kernel(run->context, kernels[k].name, &l, run->stream);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    const wmRandomDesc *desc = &run->problem->u.random;
    wm_random_scalar_draw p;
    memset(&p, 0, sizeof p);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = args->count;
    p.offset = args->offset;
    p.columns = desc->columns ? desc->columns : INT64_MAX;
    p.ld = desc->ld;
    p.state = desc->key_source == WM_KEY_DEVICE ? args->state : NULL;
    p.job = wm_element_job_make(desc, args);
    int k = kernel_of(run->problem);
    int counts = desc->distribution == WM_RANDOM_POISSON || desc->distribution == WM_RANDOM_BINOMIAL;
    if (k != DISCRETE || !counts || !p.job.by_table) {
        WM_TRY(launch(run, k, &p, sizeof p));
        return wm_random_advance_after(run);
    }
    wm_random_scalar_counts table;
    memset(&table, 0, sizeof table);
    table.draw = p;
    wm_count_table_make(&table.table, desc, args);
    WM_TRY(launch(run, TABLE, &table, sizeof table));
    return wm_random_advance_after(run);
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
        WM_RND_COUNTS | WM_RND_REJECTION | WM_RND_TRANSFORMS | WM_RND_CATEGORICAL | WM_RND_PERMUTATION | WM_RND_ROUND |
        WM_RND_NARROW | WM_RND_32 | WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL | WM_RND_COUNTER | WM_RND_STRIDED |
        WM_RND_DEVICE_STATE | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
