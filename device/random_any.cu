/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers by any generator, in counter order or cuRAND's, into rows with gaps, with key and offset read from
 * device memory if the problem says so: bits, uniforms and normals. What random_philox does it does faster.
 *
 *     tile t    16-byte blocks [t 2T, (t + 1) 2T) of the sequence, counted from an even one below the offset, T =
 * threads thread i  blocks i and T + i; of ciphers that make two at a time 2i and 2i + 1
 *
 * A block that lies whole and aligned in a row is one store, others go element by element. Rows come from a product
 * with 2^64 / columns, which is never more than one off.
 *
 * Refuses normals and u64 in cuRAND's order. Floor: 16 bytes a block at memset's pace leave 117 issue slots; Philox4x64
 * takes 160 products of 32 x 32 bits for 32 bytes, Threefry4x64 some 290 instructions, Threefry2x32 some 180 for 16: so
 * Philox is bound by memory, the others by issue (0.55, 0.7 and 0.5 of memset). Measured: perf/results/h200/random.csv.
 */
#include <warpmath/device/base.cuh>

#include "lib/solver.h"
#include "random_advance.cuh"
#include "random_source.h"
#include "random_store.cuh"
#include "reference/random_fill.h"

#include <string.h>

#define THREADS 256

typedef struct wm_random_any_draw {
    unsigned char *out;
    wm_i64 count;
    wm_u64 offset;
    wmRandomKey key;
    const wmRandomState *state; /* or NULL */
    int shift;                  /* log2 of elements a block */
    wm_i64 columns, ld;
    wm_u64 reciprocal; /* 2^64 / columns, rounded down */
    wm_random_line line;
} wm_random_any_draw;

/* Element k of a block to place `at` of the output. */
WM_DEVICE void store_element(const wm_random_any_draw &p, wm_i64 at, const wmWords &w, int k) {
    if (p.shift == 1) {
        wm_u64 first = w.w[0] | (wm_u64)w.w[1] << 32, second = w.w[2] | (wm_u64)w.w[3] << 32;
        reinterpret_cast<wm_u64 *>(p.out)[at] = k ? second : first;
    } else {
        wm_u32 even = k & 2 ? w.w[2] : w.w[0], odd = k & 2 ? w.w[3] : w.w[1];
        reinterpret_cast<wm_u32 *>(p.out)[at] = k & 1 ? odd : even;
    }
}

/* The block whose first element is the draw's `first`, which may lie before it. */
WM_DEVICE void store_in_rows(const wm_random_any_draw &p, wm_i64 first, const wmWords &w) {
    const int n = 1 << p.shift;
    wm_i64 from = first < 0 ? 0 : first, row = 0, column = from;
    if (p.columns) {
        row = (wm_i64)wm_high64((wm_u64)from, p.reciprocal);
        column = from - row * p.columns;
        if (column >= p.columns) row++, column -= p.columns;
    }
    unsigned char *to = p.out + ((row * p.ld + column) << (4 - p.shift));
    int whole = first >= 0 && first + n <= p.count && (!p.columns || column + n <= p.columns);
    if (whole && (reinterpret_cast<wm_u64>(to) & 15) == 0) {
        wm_store_words(to, w.w[0], w.w[1], w.w[2], w.w[3]);
        return;
    }
    WM_UNROLL
    for (int k = 0; k < 4; k++) {
        if (k >= n || first + k < 0 || first + k >= p.count) continue;
        store_element(p, row * p.ld + column, w, k);
        column++;
        if (p.columns && column == p.columns) row++, column = 0;
    }
}

/* A tile's blocks for this thread. `block` is the tile's first, a multiple of 2T: its upper bits are the tile's. */
template <int SOURCE, int KIND>
WM_DEVICE void two_blocks(wmRandomKey key, wm_u64 block, wmWords w[2]) {
    const int pairs = KIND == WM_DRAW_CURAND_F64;
    const wm_u64 i = threadIdx.x;
    if (wm_source_is_wide(SOURCE)) {
        wm_words_pair(SOURCE, key, WM_LANE_ELEMENTS, block >> 1 | i, &w[0], &w[1]);
    } else {
        w[0] = wm_source_words(SOURCE, pairs, key, block | i);
        w[1] = wm_source_words(SOURCE, pairs, key, block | THREADS | i);
    }
}

/* A block of a tile that lies inside the draw, in one row; `to` is the block's place. */
WM_DEVICE void store_inside(unsigned char *to, int ahead, const wmWords &w) {
    if (ahead)
        wm_store_shifted(reinterpret_cast<wm_u32 *>(to), ahead, w);
    else
        wm_store_words(to, w.w[0], w.w[1], w.w[2], w.w[3]);
}

/* Tiles lie on multiples of 2T blocks of the sequence; the draw's first element is `skip` elements into tile 0. */
template <int SOURCE, int KIND>
WM_DEVICE void draw(const wm_random_any_draw &p, wmRandomKey key, wm_u64 offset) {
    const int a = wm_source_is_wide(SOURCE) ? 2 * wm_thread() : wm_thread();
    const int b = wm_source_is_wide(SOURCE) ? a + 1 : a + THREADS;
    const wm_u64 first = (offset >> p.shift) & ~(2ull * THREADS - 1), wrap = ~0ull >> p.shift; /* element 2^64 is 0 */
    const wm_i64 skip = (wm_i64)(offset - (first << p.shift));
    const wm_i64 blocks = (skip + p.count + (1 << p.shift) - 1) >> p.shift, whole = (skip + p.count) >> p.shift;
    unsigned char *out = p.out - (skip << (4 - p.shift));
    const int ahead = (int)(reinterpret_cast<wm_u64>(out) / 4 & 3);
    const int straight = !p.columns && (!ahead || !wm_source_is_wide(SOURCE));
    for (wm_i64 tile = (wm_i64)blockIdx.x * (2 * THREADS); tile < blocks; tile += (wm_i64)gridDim.x * (2 * THREADS)) {
        wmWords w[2];
        two_blocks<SOURCE, KIND>(key, (first + (wm_u64)tile) & wrap, w);
        w[0] = wm_source_value(KIND, w[0], &p.line);
        w[1] = wm_source_value(KIND, w[1], &p.line);
        if (straight && tile << p.shift >= skip && tile + 2 * THREADS <= whole) {
            store_inside(out + 16 * (tile + a), ahead, w[0]);
            store_inside(out + 16 * (tile + b), ahead, w[1]);
        } else {
            store_in_rows(p, ((tile + a) << p.shift) - skip, w[0]);
            store_in_rows(p, ((tile + b) << p.shift) - skip, w[1]);
        }
    }
}

/* Twice, so that a key among the arguments stays a constant, and its schedule off the vector pipes. */
template <int SOURCE, int KIND>
__global__ void __launch_bounds__(THREADS) wm_random_any_kernel(WM_PARAMS(wm_random_any_draw)) {
    if (p.state)
        draw<SOURCE, KIND>(p, p.state->key, p.state->offset + p.offset);
    else
        draw<SOURCE, KIND>(p, p.key, p.offset);
}

/* ---- The solver ---- */

typedef void (*kernel)(WM_PARAMS(wm_random_any_draw));

/* By generator and kind; bits, uniforms, normals. */
#define ROW(SOURCE)                                                                                                    \
    {                                                                                                                  \
        wm_random_any_kernel<SOURCE, WM_DRAW_BITS>, wm_random_any_kernel<SOURCE, WM_DRAW_UNIFORM_F32>,                 \
            wm_random_any_kernel<SOURCE, WM_DRAW_UNIFORM_F64>, wm_random_any_kernel<SOURCE, WM_DRAW_NORMAL_F32>,       \
            wm_random_any_kernel<SOURCE, WM_DRAW_NORMAL_F64>                                                           \
    }
static const kernel by_generator[WM_SOURCE_CURAND][WM_DRAW_KINDS] = {
    ROW(WM_PHILOX4X32_10),   ROW(WM_PHILOX4X32_7),    ROW(WM_PHILOX4X64_10),
    ROW(WM_THREEFRY2X32_20), ROW(WM_THREEFRY4X64_20),
};
/* cuRAND's order, of its own uniforms. */
static kernel in_curands_order(int kind) {
    if (kind == WM_DRAW_CURAND_F32) return wm_random_any_kernel<WM_SOURCE_CURAND, WM_DRAW_CURAND_F32>;
    if (kind == WM_DRAW_CURAND_F64) return wm_random_any_kernel<WM_SOURCE_CURAND, WM_DRAW_CURAND_F64>;
    return wm_random_any_kernel<WM_SOURCE_CURAND, WM_DRAW_BITS>;
}

static kernel kernel_of(const wm_random_job *job) {
    return job->source == WM_SOURCE_CURAND ? in_curands_order(job->kind) : by_generator[job->source][job->kind];
}

/* Of the bandwidth, by source, for bits. */
static const double fractions[WM_SOURCES] = {0.85, 0.90, 0.45, 0.45, 0.50, 0.75};

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    if (d->sequence == WM_SEQ_CURAND && d->distribution == WM_RANDOM_NORMAL)
        return wm_refuse(why, "cuRAND's normals are its own library's");
    if (capacity < 1) return 0;
    double fraction = fractions[wm_random_source(d)];
    if (d->distribution == WM_RANDOM_NORMAL) fraction = d->type == WM_F64 ? 0.3 : 0.4;
    memset(out, 0, sizeof *out);
    out->seconds = 3e-6 + wm_problem_cost(problem).bytes / (fraction * wm_context_bandwidth(context));
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)offer;
    wmRandomKey key = {0, 0};
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, key);
    wm_random_job job = wm_random_job_make(&problem->u.random, &args);
    *state = NULL;
    WM_TRY(wm_random_advance_prepare(context));
    return wm_prepare_kernel(context, "wm_random_any", reinterpret_cast<const void *>(kernel_of(&job)), 0);
}

static wmStatus run(const wm_run *run) {
    const wmRandomDesc *d = &run->problem->u.random;
    const wmRandomArgs *args = &run->args->random;
    wm_random_job job = wm_random_job_make(d, args);
    wm_random_any_draw p;
    if (args->count == 0) return WM_OK;
    memset(&p, 0, sizeof p);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = args->count;
    p.offset = args->offset;
    p.key = job.key;
    p.state = d->key_source == WM_KEY_DEVICE ? args->state : NULL;
    p.shift = job.element == 8 ? 1 : 2;
    p.columns = d->columns;
    p.ld = d->ld;
    p.reciprocal = d->columns ? (wm_u64)(~0ull / (wm_u64)d->columns) : 0; /* of 2^64 - 1: less by one at most */
    p.line = job.line;
    wm_u64 tiles = ((wm_u64)args->count >> p.shift) / (2 * THREADS) + 2; /* wherever in a tile it starts */
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(kernel_of(&job));
    l.grid = {(unsigned)(tiles < 0x7fffffffu ? tiles : 0x7fffffffu), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    WM_TRY(wm_launch_kernel(run->context, "wm_random_any", &l, run->stream));
    return wm_random_advance_after(run);
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_any = {
    "random_any",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_CURAND |
        WM_RND_GPU_TO_GPU | WM_RND_PHILOX4X32_7 | WM_RND_PHILOX4X64 | WM_RND_THREEFRY2X32 | WM_RND_THREEFRY4X64 |
        WM_RND_STRIDED | WM_RND_DEVICE_STATE,
    {NULL},
    offer,
    make,
    run,
    drop,
};
