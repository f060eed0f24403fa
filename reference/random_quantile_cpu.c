/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points on the CPU as values of the distributions that are an inverse distribution function of one number:
 * element by element, the same bits for any number of threads, and on every GPU.
 */
#include "lib/fields.h"
#include "lib/parallel.h"
#include "lib/solver.h"
#include "random_element_job.h"
#include "random_quantile_job.h"
#include "sobol.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 1 << 13 }; /* elements */

int wm_has_quantile(const wmRandomDesc *d) {
    wmDistribution at = d->distribution;
    return wm_random_is_sobol(d) &&
           (at <= WM_RANDOM_INTEGERS || at == WM_RANDOM_EXPONENTIAL || at == WM_RANDOM_LOGNORMAL ||
            at == WM_RANDOM_GEOMETRIC || (at >= WM_RANDOM_LAPLACE && at <= WM_RANDOM_WEIBULL));
}

wm_quantile_job wm_quantile_job_make(const wmRandomDesc *desc, const wmRandomArgs *args) {
    wm_quantile_job job = {.wide = desc->generator == WM_SOBOL64,
                           .scramble = (int)desc->scramble,
                           .dimensions = desc->dimensions,
                           .element = wm_element_job_make(desc, args)};
    return job;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    if (!wm_has_quantile(d)) return wm_refuse(why, "it draws functions of one coordinate of Sobol' points alone");
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 2e-6 + 80e-9 * (double)d->count_hint / wm_context_threads(context);
    out->concurrent = 1;
    return 1;
}

static void drop(wmContext *context, void *state) {
    (void)context;
    free(state);
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmRandomDesc *d = &problem->u.random;
    int wide = d->generator == WM_SOBOL64;
    (void)context, (void)offer;
    *state = malloc(wm_sobol_directions_bytes(wide, d->dimensions));
    if (!*state) return wm_fail(WM_ERR_MEMORY, "out of memory");
    wm_sobol_directions(*state, wide, d->dimensions);
    return WM_OK;
}

typedef struct task {
    wm_quantile_job job;
    const void *directions;
    uint64_t offset;
    int64_t columns, ld; /* columns: never 0 */
    unsigned char *out;
} task;

static void fill(void *user, int64_t from, int64_t to, int thread) {
    const task *t = user;
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        unsigned char *out = t->out + (i / t->columns * t->ld + i % t->columns) * t->job.element.element;
        uint64_t x = wm_quantile_coordinate(&t->job, t->directions, t->offset + (uint64_t)i);
        wm_quantile_value(&t->job.element, t->job.wide, x, out);
    }
}

static wmStatus run(const wm_run *run) {
    const wmRandomDesc *d = &run->problem->u.random;
    wmRandomArgs args = run->args->random;
    if (d->key_source == WM_KEY_DEVICE) args.key = args.state->key, args.offset += args.state->offset;
    task t = {.job = wm_quantile_job_make(d, &args), .directions = run->state, .offset = args.offset, .out = args.out};
    t.columns = d->columns ? d->columns : INT64_MAX, t.ld = d->ld;
    wm_parallel_for(wm_context_threads(run->context), args.count, GRAIN, fill, &t);
    if (args.advance) args.state->offset += (uint64_t)args.count;
    return WM_OK;
}

const wm_solver wm_random_quantile_cpu = {
    .name = "random_quantile_cpu",
    .op = WM_RANDOM,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 1,
    .features = WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_INTEGERS | WM_RND_EXPONENTIAL | WM_RND_COUNTS |
                WM_RND_TRANSFORMS | WM_RND_NARROW | WM_RND_32 | WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL |
                WM_RND_COUNTER | WM_RND_SOBOL32 | WM_RND_SOBOL64 | WM_RND_STRIDED | WM_RND_DEVICE_STATE |
                WM_RND_GPU_TO_GPU,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
