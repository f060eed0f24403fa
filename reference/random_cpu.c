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
enum { NARROW = 1024 };   /* rows of fewer elements are drawn together, then moved to their places */

/* Seconds a byte on one core, by kind, with AVX2. */
static const double seconds_a_byte[WM_DRAW_ALL_KINDS] = {0.18e-9, 0.19e-9, 0.27e-9, 0.35e-9, 0.5e-9, 0.19e-9, 0.3e-9};

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    if (problem->u.random.sequence == WM_SEQ_CURAND && problem->u.random.distribution == WM_RANDOM_NORMAL)
        return wm_refuse(why, "cuRAND's normals are its own library's");
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
    int64_t columns, ld;
    unsigned char *out;
} task;

/* Elements [from, to) of the draw to their rows, or out of `drawn` where they were drawn before. */
static void fill_rows(const task *t, int64_t from, int64_t to, const unsigned char *drawn) {
    int64_t element = t->job.element;
    while (from < to) {
        int64_t row = from / t->columns, column = from % t->columns;
        int64_t part = to - from < t->columns - column ? to - from : t->columns - column;
        unsigned char *out = t->out + (row * t->ld + column) * element;
        if (drawn) {
            memcpy(out, drawn, (size_t)(part * element));
            drawn += part * element;
        } else {
            wm_random_fill(&t->job, t->body, t->offset + (uint64_t)from, part, out);
        }
        from += part;
    }
}

static void fill(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    const task *t = user;
    unsigned char drawn[8 * NARROW];
    if (t->columns >= NARROW) {
        fill_rows(t, from, to, NULL);
        return;
    }
    for (; from < to; from += NARROW) { /* a draw has its price, whatever its length */
        int64_t part = to - from < NARROW ? to - from : NARROW;
        wm_random_fill(&t->job, t->body, t->offset + (uint64_t)from, part, drawn);
        fill_rows(t, from, from + part, drawn);
    }
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_random_blocks bodies[WM_RANDOM_BODIES];
    int best = wm_random_bodies(bodies, NULL) - 1;
    const wmRandomDesc *d = &run->problem->u.random;
    task t = {wm_random_job_make(d, args),         bodies[best], args->offset,
              d->columns ? d->columns : INT64_MAX, d->ld,        args->out};
    if (d->key_source == WM_KEY_DEVICE) t.job.key = args->state->key, t.offset += args->state->offset;
    wm_parallel_for(wm_context_threads(run->context), args->count, GRAIN, fill, &t);
    if (args->advance) args->state->offset += (uint64_t)args->count;
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
    .features = WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_CURAND |
                WM_RND_GPU_TO_GPU | WM_RND_PHILOX4X32_7 | WM_RND_PHILOX4X64 | WM_RND_THREEFRY2X32 |
                WM_RND_THREEFRY4X64 | WM_RND_STRIDED | WM_RND_DEVICE_STATE,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
