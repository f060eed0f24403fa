/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers in counter order on the CPU: Philox4x32-10 and the distributions of the device headers, vectorised for
 * the best instruction set of this CPU. The same bits on all of them, for any number of threads, and on every GPU.
 *
 * Measured on one core of an EPYC with AVX2 at about 2.6 GHz, GB/s of output: bits 6.0, uniform f32 5.6, f64 3.6,
 * normal f32 2.7, f64 1.8.
 */
#include "lib/parallel.h"
#include "lib/solver.h"
#include "random_fill.h"

#include <string.h>

enum { GRAIN = 1 << 15 }; /* elements: a multiple of every block, and tens of microseconds of work */

/* Seconds a byte on one core, by kind, with AVX2. */
static const double seconds_a_byte[WM_DRAW_KINDS] = {0.18e-9, 0.19e-9, 0.27e-9, 0.35e-9, 0.5e-9};

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)why;
    if (capacity < 1) return 0;
    const wmRandomDesc *desc = &problem->u.random;
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, wmRandomKeyMake(0));
    int kind = wm_random_job_make(desc, &args).kind, threads = wm_context_threads(context);
    int64_t grains = desc->count_hint / GRAIN;
    if (grains < threads) threads = grains > 1 ? (int)grains : 1;
    memset(out, 0, sizeof *out);
    out->seconds = 1e-6 + (threads > 1 ? 20e-6 : 0) + wm_problem_cost(problem).bytes * seconds_a_byte[kind] / threads;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)context, (void)problem, (void)offer;
    *state = NULL;
    return WM_OK;
}

typedef struct task {
    wm_random_job job;
    wm_random_blocks body;
    uint64_t offset;
    unsigned char *out;
} task;

static void fill(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    const task *t = user;
    wm_random_fill(&t->job, t->body, t->offset + (uint64_t)from, to - from, t->out + from * t->job.element);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_random_blocks bodies[3];
    int best = wm_random_bodies(bodies, NULL) - 1;
    task t = {wm_random_job_make(&run->problem->u.random, args), bodies[best], args->offset, args->out};
    wm_parallel_for(wm_context_threads(run->context), args->count, GRAIN, fill, &t);
    return WM_OK;
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

const wm_solver wm_random_cpu = {
    .name = "random_cpu",
    .op = WM_RANDOM,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 1,
    .features =
        WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
