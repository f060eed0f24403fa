/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution by every cipher in counter order on the CPU, from the device headers' own code
 * (random_values_body.h), for the best instruction set of this CPU. The same bits on all of them, for any number of
 * threads, and on every GPU.
 */
#include "lib/parallel.h"
#include "lib/solver.h"
#include "random_values_fill.h"

#include <string.h>

enum { GRAIN = 1 << 14 }; /* elements: a multiple of what a block gives of any type */

static int is_chunked(const wmRandomDesc *d) {
    return d->distribution <= WM_RANDOM_INTEGERS || d->distribution == WM_RANDOM_EXPONENTIAL ||
           d->distribution == WM_RANDOM_LOGNORMAL;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *desc = &problem->u.random;
    (void)why;
    if (capacity < 1) return 0;
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

static const wm_values_body *body_of(wmGenerator generator) {
    int cipher = generator != WM_PHILOX4X32_10;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return cipher ? &wm_cipher_body_avx2 : &wm_values_body_avx2;
#endif
    return cipher ? &wm_cipher_body_base : &wm_values_body_base;
}

static wmStatus run(const wm_run *run) {
    const wmRandomDesc *desc = &run->problem->u.random;
    const wm_values_body *body = body_of(desc->generator);
    wmRandomArgs args = run->args->random;
    int threads = wm_context_threads(run->context);
    if (desc->key_source == WM_KEY_DEVICE) args.key = args.state->key, args.offset += args.state->offset;
    wm_values_task t = {
        .value = wm_value_job_make(desc, &args), .element = wm_element_job_make(desc, &args), .args = &args};
    t.chunked = is_chunked(desc), t.offset = args.offset, t.out = args.out;
    t.columns = desc->columns ? desc->columns : INT64_MAX, t.ld = desc->ld;
    if (desc->generator != WM_PHILOX4X32_10) wm_cipher_task(&t, (int)desc->generator);
    if (t.element.by_table) wm_count_table_make(&t.table, desc, &args);
    if (wm_is_rows(desc->distribution))
        wm_parallel_for(threads, args.count / args.dimension, 16, body->vectors, &t);
    else
        wm_parallel_for(threads, args.count, GRAIN, body->elements, &t);
    if (args.advance) args.state->offset += (uint64_t)args.count;
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
                WM_RND_COUNTER | WM_RND_PHILOX4X32_7 | WM_RND_PHILOX4X64 | WM_RND_THREEFRY2X32 | WM_RND_THREEFRY4X64 |
                WM_RND_STRIDED | WM_RND_DEVICE_STATE | WM_RND_GPU_TO_GPU,
    .knobs = {NULL},
    .offer = offer,
    .run = run,
};
