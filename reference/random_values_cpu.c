/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution in counter order on the CPU, from the device headers' own code: whole chunks of 16 bytes where
 * elements come from a fixed part of the sequence, masks 128 draws at a time, else element by element. The same bits
 * for any number of threads, and on every GPU.
 */
#include "lib/parallel.h"
#include "lib/solver.h"
#include "random_element_job.h"
#include "random_values_job.h"

#include <string.h>

enum { GRAIN = 1 << 14 }; /* elements: a multiple of what a block gives of any type */

typedef struct task {
    wm_value_job value;
    wm_element_job element;
    wmCountTable table;
    const wmRandomArgs *args;
    int chunked;
    uint64_t offset;
    unsigned char *out;
} task;

static void one(const task *t, uint64_t i, unsigned char *out) {
    wmDistribution d = (wmDistribution)t->element.distribution;
    if (wm_is_continuous(d))
        wm_element_continuous(&t->element, i, out);
    else if (wm_is_discrete(d))
        wm_element_discrete(&t->element, &t->table, i, out);
    else if (d == WM_RANDOM_ROUND)
        wm_element_round(&t->element, i, i - t->offset, out);
    else
        wm_random_element(&t->element, i, out);
}

static void one_by_one(const task *t, uint64_t i, int64_t count, unsigned char *out) {
    for (; count > 0; count--, i++, out += t->element.element) one(t, i, out);
}

/* Rows [from, to) of those at t->out. */
static void fill_rows(void *user, int64_t from, int64_t to, int thread) {
    const task *t = user;
    (void)thread;
    for (int64_t r = from; r < to; r++) wm_random_row(&t->element, t->args, t->offset, r, t->out);
}

/* Bernoulli's 128 draws of a block, as bytes. */
static void whole_masks(const task *t, uint64_t block, unsigned char *out) {
    wmWords masks = wm_mask_words(t->element.key, block, t->element.p);
    if (t->element.distribution == WM_RANDOM_MASK) {
        memcpy(out, masks.w, sizeof masks.w);
        return;
    }
    for (int i = 0; i < 128; i++) out[i] = (unsigned char)(masks.w[i / 32] >> i % 32 & 1);
}

static void whole_chunk(const task *t, uint64_t chunk, unsigned char *out) {
    const wm_value_job *job = &t->value;
    wmWords w[2];
    int blocks = wm_value_blocks(job->kind, job->element);
    for (int k = 0; k < blocks; k++) w[k] = wmRandomBlock(job->key, chunk * (uint64_t)blocks + (uint64_t)k);
    wmWords x = wm_value_chunk(job->kind, job->element, 0, 0, job, chunk, w);
    memcpy(out, x.w, sizeof x.w);
}

/* Without a wrap: the ends one by one, whole groups of `per` elements between. */
static void fill_range(const task *t, uint64_t offset, int64_t count, unsigned char *out) {
    int bernoulli = t->element.distribution == WM_RANDOM_BERNOULLI, element = t->element.element;
    int masks = bernoulli || t->element.distribution == WM_RANDOM_MASK;
    int64_t per = bernoulli ? 128 : 16 / element, skip = (int64_t)(offset % (uint64_t)per);
    int64_t head = skip ? per - skip : 0;
    if (!t->chunked && !masks) head = count;
    if (head > count) head = count;
    one_by_one(t, offset, head, out);
    offset += (uint64_t)head, count -= head, out += head * element;
    for (uint64_t group = offset / (uint64_t)per; count >= per; group++, count -= per, out += per * element) {
        if (masks)
            whole_masks(t, group, out);
        else
            whole_chunk(t, group, out);
        offset += (uint64_t)per;
    }
    one_by_one(t, offset, count, out);
}

static void fill(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    const task *t = user;
    uint64_t offset = t->offset + (uint64_t)from, left = 0 - offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t count = to - from, first = left && left < (uint64_t)count ? (int64_t)left : count;
    unsigned char *out = t->out + from * t->element.element;
    fill_range(t, offset, first, out);
    if (first < count) fill_range(t, 0, count - first, out + first * t->element.element);
}

static int is_chunked(const wmRandomDesc *d) {
    return d->distribution <= WM_RANDOM_INTEGERS || d->distribution == WM_RANDOM_EXPONENTIAL ||
           d->distribution == WM_RANDOM_LOGNORMAL;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)why;
    if (capacity < 1) return 0;
    const wmRandomDesc *desc = &problem->u.random;
    int threads = wm_context_threads(context);
    int64_t grains = desc->count_hint / GRAIN;
    if (grains < threads) threads = grains > 1 ? (int)grains : 1;
    memset(out, 0, sizeof *out);
    out->seconds =
        1e-6 + (threads > 1 ? 20e-6 : 0) +
        (double)desc->count_hint * (is_chunked(desc) ? 0.8e-9 * (double)wmTypeSize(desc->type) : 20e-9) / threads;
    out->concurrent = 1;
    return 1;
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    const wmRandomDesc *desc = &run->problem->u.random;
    task t = {.value = wm_value_job_make(desc, args), .element = wm_element_job_make(desc, args), .args = args};
    t.chunked = is_chunked(desc), t.offset = args->offset, t.out = args->out;
    if (t.element.by_table) wm_count_table_make(&t.table, desc, args);
    if (wm_is_rows(desc->distribution)) {
        wm_parallel_for(wm_context_threads(run->context), args->count / args->dimension, 16, fill_rows, &t);
        return WM_OK;
    }
    wm_parallel_for(wm_context_threads(run->context), args->count, GRAIN, fill, &t);
    return WM_OK;
}

const wm_solver wm_random_values_cpu = {
    .name = "random_values_cpu",
    .op = WM_RANDOM,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 1,
    .features = WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_INTEGERS | WM_RND_BERNOULLI | WM_RND_EXPONENTIAL |
                WM_RND_COUNTS | WM_RND_REJECTION | WM_RND_TRANSFORMS | WM_RND_CATEGORICAL | WM_RND_PERMUTATION |
                WM_RND_VECTORS | WM_RND_ROUND | WM_RND_NARROW | WM_RND_32 | WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL |
                WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    .knobs = {NULL},
    .offer = offer,
    .run = run,
};
