/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points on the CPU: from one point to the next one exclusive or a dimension (Antonov and Saleev, 1979). The
 * same bits for any number of threads, and on every GPU.
 */
#include "lib/fields.h"
#include "lib/parallel.h"
#include "lib/solver.h"
#include "sobol.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 1 << 15 }; /* elements */

typedef struct tables {
    void *directions;
    size_t bytes;
} tables;

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    if (!wm_random_is_sobol(&problem->u.random)) return wm_refuse(why, "it draws Sobol' points alone");
    if (capacity < 1) return 0;
    const wmRandomDesc *d = &problem->u.random;
    double each = d->distribution == WM_RANDOM_NORMAL ? 20e-9 : d->scramble == WM_SCRAMBLE_OWEN ? 5e-9 : 3e-9;
    memset(out, 0, sizeof *out);
    out->seconds = 2e-6 + each * (double)d->count_hint / wm_context_threads(context);
    out->concurrent = 1;
    return 1;
}

static void drop(wmContext *context, void *state) {
    tables *t = state;
    (void)context;
    if (t) free(t->directions);
    free(t);
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmRandomDesc *d = &problem->u.random;
    (void)context, (void)offer;
    int wide = d->generator == WM_SOBOL64;
    tables *t = calloc(1, sizeof *t);
    *state = t;
    if (t) t->directions = malloc(wm_sobol_directions_bytes(wide, d->dimensions));
    if (!t || !t->directions) return wm_fail(WM_ERR_MEMORY, "out of memory");
    wm_sobol_directions(t->directions, wide, d->dimensions);
    return WM_OK;
}

typedef struct task {
    wm_points points;
    const void *directions;
    uint64_t offset;
    int64_t columns, ld;
    unsigned char *out;
} task;

static uint64_t coordinate(const task *t, int64_t d, uint64_t n) {
    int64_t step = t->points.dimensions;
    if (t->points.wide) return wmSobol64((const unsigned long long *)t->directions + d, step, n);
    return (uint64_t)wmSobol32((const unsigned int *)t->directions + d, step, n) << 32;
}

/* From point n to the next. */
static uint64_t next_coordinate(const task *t, int64_t d, uint64_t n, uint64_t x) {
    int64_t step = t->points.dimensions;
    int bit = __builtin_ctzll(~n | (uint64_t)1 << 63);
    if (t->points.wide) return x ^ ((const unsigned long long *)t->directions)[d + bit * step];
    return x ^ (uint64_t)((const unsigned int *)t->directions)[d + (bit < 31 ? bit : 31) * step] << 32;
}

static uint64_t scrambled(const wm_points *p, uint64_t x, uint64_t seed) {
    if (p->wide) return wmScramble64(p->scramble, x, seed);
    return (uint64_t)wmScramble32(p->scramble, (unsigned int)(x >> 32), seed) << 32;
}

static uint64_t value(const wm_points *p, uint64_t x) {
    switch (p->kind) {
    case WM_DRAW_BITS: /* of 64 in 32: the upper half */
        return wm_point_value(WM_DRAW_BITS, p->wide, x, &p->line) >> (p->wide && p->element == 4 ? 32 : 0);
    case WM_DRAW_UNIFORM_F32:
        return wm_point_value(WM_DRAW_UNIFORM_F32, p->wide, x, &p->line);
    case WM_DRAW_UNIFORM_F64:
        return wm_point_value(WM_DRAW_UNIFORM_F64, p->wide, x, &p->line);
    case WM_DRAW_NORMAL_F32:
        return wm_point_value(WM_DRAW_NORMAL_F32, p->wide, x, &p->line);
    default:
        return wm_point_value(WM_DRAW_NORMAL_F64, p->wide, x, &p->line);
    }
}

static void put(const task *t, int64_t i, uint64_t bits) {
    int64_t at = t->columns ? i / t->columns * t->ld + i % t->columns : i;
    wm_u32 narrow = (wm_u32)bits;
    if (t->points.element == 8)
        memcpy(t->out + at * 8, &bits, 8);
    else
        memcpy(t->out + at * 4, &narrow, 4);
}

/* Elements [from, to) of the draw that belong to dimension d. */
static void fill_dimension(const task *t, int64_t from, int64_t to, int64_t d) {
    uint64_t dimensions = (uint64_t)t->points.dimensions, seed = 0, n = 0, x = 0;
    uint64_t behind = (t->offset + (uint64_t)from) % dimensions; /* dimension of the first element */
    int64_t i = from + (int64_t)(((uint64_t)d + dimensions - behind) % dimensions);
    if (t->points.scramble) seed = wmScrambleSeed(t->points.key, (uint64_t)d);
    for (int first = 1; i < to; i += t->points.dimensions, first = 0) {
        if (first) {
            n = (t->offset + (uint64_t)i) / dimensions;
            x = coordinate(t, d, n);
        }
        put(t, i, value(&t->points, scrambled(&t->points, x, seed)));
        x = next_coordinate(t, d, n++, x);
    }
}

static void fill(void *user, int64_t from, int64_t to, int thread) {
    const task *t = user;
    (void)thread;
    for (int64_t d = 0; d < t->points.dimensions; d++) fill_dimension(t, from, to, d);
}

static wmStatus run(const wm_run *run) {
    const wmRandomDesc *d = &run->problem->u.random;
    const wmRandomArgs *args = &run->args->random;
    const tables *tables = run->state;
    uint64_t left = 0 - args->offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t first = left && left < (uint64_t)args->count ? (int64_t)left : args->count;
    task t = {wm_points_make(d, args), tables->directions, args->offset, d->columns, d->ld, args->out};
    wm_parallel_for(wm_context_threads(run->context), first, GRAIN, fill, &t);
    if (first == args->count) return WM_OK;
    fill(&t, first, args->count, 0);
    return WM_OK;
}

const wm_solver wm_random_sobol_cpu = {
    .name = "random_sobol_cpu",
    .op = WM_RANDOM,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 1,
    .features = WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER |
                WM_RND_GPU_TO_GPU | WM_RND_SOBOL32 | WM_RND_SOBOL64 | WM_RND_STRIDED,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
