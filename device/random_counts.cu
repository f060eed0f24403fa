/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson and binomial counts of a variance up to 16384, by inversion: a 32-bit word is looked up in a guide table of
 * 2048 cells in shared memory, which gives the count at once wherever at most one threshold lies in the cell; elsewhere
 * (some per cent of the draws) thresholds are searched, and where 32 bits do not decide, 32 more do. So the law is
 * exact to 2^-64. Wider laws are drawn by rejection, one element a thread.
 *
 *     a block   copies the guide, then takes tiles t, t + grid, …; thread i makes chunks i, i + threads, … of a tile
 *     16 bytes  of output: four 32-bit counts of one Philox block, or two 64-bit counts of half a one
 *
 * The table is part of the kernel's parameter (28 KiB): nothing to allocate, and captured graphs keep it.
 *
 * Floor: 117 cycles of a scheduler a chunk at memset's pace; Philox 85, four look-ups of about 10 instructions and one
 * shared-memory access with some three bank conflicts (13 cycles of the SM's one port): 85 + 40 + 52 where they do not
 * overlap, 0.66 of memset, 0.9 where they do. Wide laws: a third of an f64-bound draw's 1200 cycles, 0.03.
 */
#include "lib/solver.h"
#include "random_element.h"
#include "random_tile.cuh"
#include "reference/random_element_job.h"

#include <string.h>

#define THREADS WM_TILE_THREADS
enum { CHUNKS = 4, BLOCKS = 8 }; /* chunks a thread and tile; thread blocks a multiprocessor */

typedef struct wm_counts_draw {
    wm_tile tile;
    wm_round_keys keys;
    wmRandomKey key;
    wm_u32 tiles;
    wmCountTable table;
} wm_counts_draw;

typedef struct wm_counts_shared {
    wm_u32 guide[WM_COUNT_CELLS];
} wm_counts_shared;

/* The count of a word: element i of the sequence. */
WM_DEVICE wm_u64 look_up(const wm_counts_draw &p, const wm_counts_shared *s, wm_u32 word, wm_u64 i) {
    wm_u32 cell = s->guide[word >> 21], at = cell >> 20, mark = cell & 0xfffffu, rest = word >> 2 & 0x7ffffu;
    if (mark >= 0x80000u || rest == mark) return wm_count_search(&p.table, (int)at, word, p.key, i);
    return p.table.first + at + (rest > mark);
}

/* Chunk i of the tile whose first chunk is `chunk`. */
template <int WIDE>
WM_DEVICE wmWords draw_chunk(const wm_counts_draw &p, const wm_counts_shared *s, wm_u64 chunk, int i) {
    wmWords w = wm_tile_block(p.keys, WIDE ? chunk / 2 : chunk, (wm_u32)(WIDE ? i / 2 : i), WM_LANE_ELEMENTS), x;
    if constexpr (WIDE != 0) {
        wm_u64 first = 2 * (chunk + (wm_u64)i);
        wm_u64 a = look_up(p, s, i & 1 ? w.w[2] : w.w[0], first), b = look_up(p, s, i & 1 ? w.w[3] : w.w[1], first + 1);
        x.w[0] = (wm_u32)a, x.w[1] = (wm_u32)(a >> 32), x.w[2] = (wm_u32)b, x.w[3] = (wm_u32)(b >> 32);
    } else {
        WM_UNROLL
        for (int k = 0; k < 4; k++) x.w[k] = (wm_u32)look_up(p, s, w.w[k], 4 * (chunk + (wm_u64)i) + (wm_u64)k);
    }
    return x;
}

template <int WIDE>
WM_DEVICE void draw_tiles(const wm_counts_draw &p) {
    const int N = THREADS * CHUNKS;
    wm_counts_shared *s = wm_shared<wm_counts_shared>();
    for (int k = wm_thread(); k < WM_COUNT_CELLS; k += THREADS) s->guide[k] = p.table.guide[k];
    wm_barrier();
    for (wm_u32 tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        wm_u64 chunk = (p.tile.first_tile + tile) * N;
        unsigned char *to;
        bool whole = wm_tile_whole(p.tile, tile, N, &to);
        for (int i = wm_thread(); i < N; i += THREADS) {
            wmWords w = draw_chunk<WIDE>(p, s, chunk, i);
            if (whole)
                wm_tile_store(to + 16 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
            else
                wm_tile_store_any(p.tile, tile, N, i, w);
        }
    }
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_counts_32(WM_PARAMS(wm_counts_draw)) {
    draw_tiles<0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_counts_64(WM_PARAMS(wm_counts_draw)) {
    draw_tiles<1>(p);
}

typedef struct wm_counts_wide {
    unsigned char *out;
    wm_i64 count;
    wm_u64 offset;
    wmRandomKey key;
    int element;
    wmWideCount law;
} wm_counts_wide;

WM_KERNEL __launch_bounds__(THREADS) wm_random_counts_rejected(WM_PARAMS(wm_counts_wide)) {
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step())
        wm_put_integer(p.out + i * p.element, p.element, wmWideCountDraw(p.key, p.offset + (wm_u64)i, &p.law));
}

/* ---- The solver ---- */

static const void *kernel_of(const wm_problem *problem, const char **name) {
    int wide = wmTypeSize(problem->u.random.type) == 8;
    *name = wide ? "wm_random_counts_64" : "wm_random_counts_32";
    return wide ? reinterpret_cast<const void *>(wm_random_counts_64)
                : reinterpret_cast<const void *>(wm_random_counts_32);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    if (problem->u.random.distribution == WM_RANDOM_GEOMETRIC)
        return wm_refuse(why, "geometric draws come from an exponential, not from a table");
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 6e-6 + wm_problem_cost(problem).bytes / (0.5 * wm_context_bandwidth(context));
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const char *name = NULL;
    const void *kernel = kernel_of(problem, &name);
    (void)offer;
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "wm_random_counts_rejected",
                             reinterpret_cast<const void *>(wm_random_counts_rejected), 0));
    return wm_prepare_kernel(context, name, kernel, sizeof(wm_counts_shared));
}

static wmStatus enqueue(const wm_run *run, const void *kernel, const char *name, wm_i64 blocks, size_t shared,
                        const void *params, size_t bytes) {
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * BLOCKS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = kernel;
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {THREADS, 1, 1};
    l.shared = shared;
    l.params = params;
    l.params_bytes = bytes;
    return wm_launch_kernel(run->context, name, &l, run->stream);
}

/* Elements offset … offset + count - 1, without a wrap, to `out`. */
static wmStatus launch(const wm_run *run, wm_counts_draw *p, uint64_t offset, int64_t count, void *out) {
    const char *name = NULL;
    const void *kernel = kernel_of(run->problem, &name);
    int element = (int)wmTypeSize(run->problem->u.random.type);
    p->tile = wm_tile_make(out, element, offset, count, THREADS * CHUNKS, &p->tiles);
    return enqueue(run, kernel, name, p->tiles, sizeof(wm_counts_shared), p, sizeof *p);
}

static wmStatus run_rejected(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_counts_wide p;
    memset(&p, 0, sizeof p);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = args->count;
    p.offset = args->offset;
    p.key = args->key;
    p.element = (int)wmTypeSize(run->problem->u.random.type);
    p.law = wm_element_job_make(&run->problem->u.random, args).wide;
    return enqueue(run, reinterpret_cast<const void *>(wm_random_counts_rejected), "wm_random_counts_rejected",
                   (args->count + THREADS - 1) / THREADS, 0, &p, sizeof p);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    const wmRandomDesc *desc = &run->problem->u.random;
    wm_u64 left = 0 - args->offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t first = left && left < (wm_u64)args->count ? (int64_t)left : args->count;
    if (args->count == 0) return WM_OK;
    if (!wm_count_by_table(desc, args)) return run_rejected(run);
    wm_counts_draw p;
    memset(&p, 0, sizeof p);
    p.keys = wm_round_keys_make(args->key);
    p.key = args->key;
    wm_count_table_make(&p.table, desc, args);
    WM_TRY(launch(run, &p, args->offset, first, args->out));
    if (first == args->count) return WM_OK;
    return launch(run, &p, 0, args->count - first,
                  static_cast<char *>(args->out) + first * (int64_t)wmTypeSize(desc->type));
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_counts = {
    "random_counts",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_COUNTS | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
