/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers by any cipher, in either order, into rows with gaps, with the key wherever it is: slow and obvious.
 * Thread i asks for the words of element i's block and throws away the rest. It judges random_any, so it shares none of
 * its tiling; random_naive judges what has none of these.
 *
 *     thread t of the grid: element t to its row and column, then element t + threads, …
 *
 * Refuses what random_naive takes, and cuRAND's normals. Floor: a block of four words for one of them. Not tuned.
 */
#include <warpmath/device/base.cuh>

#include "lib/solver.h"
#include "random_advance.cuh"
#include "random_source.h"
#include "reference/random_fill.h"

#include <string.h>

enum { THREADS = 256, WAVES = 8 };

typedef struct wm_random_each_draw {
    void *out;
    wm_i64 count, columns, ld;
    wm_u64 offset;
    wmRandomKey key;
    const wmRandomState *state;
    int source, kind, wide;
    wm_random_line line;
} wm_random_each_draw;

/* The words of a block by a source that only the launch knows. */
WM_DEVICE wmWords words_of(const wm_random_each_draw &p, wmRandomKey key, wm_u64 block) {
    if (p.source == WM_SOURCE_CURAND)
        return wm_source_words(WM_SOURCE_CURAND, p.kind == WM_DRAW_CURAND_F64, key, block);
    if (p.source == WM_PHILOX4X32_7) return wm_words(WM_PHILOX4X32_7, key, WM_LANE_ELEMENTS, block);
    if (p.source == WM_PHILOX4X64_10) return wm_words(WM_PHILOX4X64_10, key, WM_LANE_ELEMENTS, block);
    if (p.source == WM_THREEFRY2X32_20) return wm_words(WM_THREEFRY2X32_20, key, WM_LANE_ELEMENTS, block);
    if (p.source == WM_THREEFRY4X64_20) return wm_words(WM_THREEFRY4X64_20, key, WM_LANE_ELEMENTS, block);
    return wm_words(WM_PHILOX4X32_10, key, WM_LANE_ELEMENTS, block);
}

WM_DEVICE wm_u32 value32(const wm_random_each_draw &p, const wmWords &w, int k) {
    wm_u32 word = k & 2 ? (k & 1 ? w.w[3] : w.w[2]) : (k & 1 ? w.w[1] : w.w[0]);
    float first = 0, second = 0;
    if (p.kind == WM_DRAW_BITS) return word;
    if (p.kind == WM_DRAW_CURAND_F32) return wm_exact_bits32(wm_curand_uniform_f32(word));
    if (p.kind == WM_DRAW_UNIFORM_F32) first = second = wm_uniform_f32(word);
    if (p.kind == WM_DRAW_NORMAL_F32) wm_normal_f32(k & 2 ? w.w[2] : w.w[0], k & 2 ? w.w[3] : w.w[1], &first, &second);
    return wm_exact_bits32(wm_exact_fma32(k & 1 ? second : first, p.line.scale32, p.line.shift32));
}

WM_DEVICE wm_u64 value64(const wm_random_each_draw &p, const wmWords &w, int k) {
    wm_u64 a = w.w[0] | (wm_u64)w.w[1] << 32, b = w.w[2] | (wm_u64)w.w[3] << 32, element = k ? b : a;
    double first = 0, second = 0;
    if (p.kind == WM_DRAW_BITS) return element;
    if (p.kind == WM_DRAW_CURAND_F64)
        return wm_exact_bits64(wm_curand_uniform_f64((wm_u32)element, (wm_u32)(element >> 32)));
    if (p.kind == WM_DRAW_UNIFORM_F64) first = second = wm_uniform_f64((wm_u32)element, (wm_u32)(element >> 32));
    if (p.kind == WM_DRAW_NORMAL_F64) wm_normal_f64(a, b, &first, &second);
    return wm_exact_bits64(wm_exact_fma64(k ? second : first, p.line.scale64, p.line.shift64));
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_each_kernel(WM_PARAMS(wm_random_each_draw)) {
    wmRandomKey key = p.state ? p.state->key : p.key;
    wm_u64 offset = p.state ? p.state->offset + p.offset : p.offset;
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        wm_u64 element = offset + (wm_u64)i;
        wm_i64 at = p.columns ? i / p.columns * p.ld + i % p.columns : i;
        wmWords w = words_of(p, key, p.wide ? element >> 1 : element >> 2);
        if (p.wide)
            static_cast<wm_u64 *>(p.out)[at] = value64(p, w, (int)(element & 1));
        else
            static_cast<wm_u32 *>(p.out)[at] = value32(p, w, (int)(element & 3));
    }
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    if (d->generator == WM_PHILOX4X32_10 && d->sequence == WM_SEQ_COUNTER && !d->columns && !d->key_source)
        return wm_refuse(why, "random_naive judges these");
    if (d->sequence == WM_SEQ_CURAND && d->distribution == WM_RANDOM_NORMAL)
        return wm_refuse(why, "cuRAND's normals are its own library's");
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 5e-6 + 16 * wm_problem_cost(problem).bytes / wm_context_bandwidth(context);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)problem, (void)offer;
    *state = NULL;
    WM_TRY(wm_random_advance_prepare(context));
    return wm_prepare_kernel(context, "wm_random_each", reinterpret_cast<const void *>(wm_random_each_kernel), 0);
}

static wmStatus run(const wm_run *run) {
    const wmRandomDesc *d = &run->problem->u.random;
    const wmRandomArgs *args = &run->args->random;
    wm_random_job job = wm_random_job_make(d, args);
    wm_random_each_draw p;
    memset(&p, 0, sizeof p);
    p.out = args->out;
    p.count = args->count;
    p.columns = d->columns;
    p.ld = d->ld;
    p.offset = args->offset;
    p.key = args->key;
    p.state = d->key_source == WM_KEY_DEVICE ? args->state : NULL;
    p.source = job.source;
    p.kind = job.kind;
    p.wide = job.element == 8;
    p.line = job.line;
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 blocks = (args->count + THREADS - 1) / THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(wm_random_each_kernel);
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    WM_TRY(wm_launch_kernel(run->context, "wm_random_each", &l, run->stream));
    return wm_random_advance_after(run);
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_each = {
    "random_each",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    1,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_CURAND |
        WM_RND_GPU_TO_GPU | WM_RND_PHILOX4X32_7 | WM_RND_PHILOX4X64 | WM_RND_THREEFRY2X32 | WM_RND_THREEFRY4X64 |
        WM_RND_STRIDED | WM_RND_DEVICE_STATE,
    {NULL},
    offer,
    make,
    run,
    drop,
};
