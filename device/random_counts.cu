/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson and binomial counts of a variance up to 16384, by inversion: a 32-bit word's first 12 bits choose a cell in
 * shared memory, the cell's one threshold and the count below it give the answer by a comparison. Cells of several
 * thresholds, and words that equal a threshold, are searched, and where 32 bits do not decide, 32 more do: so the law
 * is exact to 2^-64. Wider laws are drawn by rejection, one element a thread.
 *
 *     a block   unpacks the cells (32 KiB) and thresholds, then takes tiles t, t + grid, …; thread i makes chunks i,
 *               i + threads, … of a tile
 *     16 bytes  of output: four 32-bit counts of one Philox block, or two 64-bit counts of half a one
 *
 * The table is part of the kernel's parameter (28 KiB): nothing to allocate, and captured graphs keep it.
 *
 * Floor: 117 cycles of a scheduler a chunk at memset's pace. Philox takes 85; a look-up a shift, a mask, a load and a
 * 64-bit multiply-add, whose carry is the comparison, and 6 passes of the SM's shared-memory port (two words from 32
 * places: 25 of its cycles a chunk and warp, 99 for the four schedulers); a search some 100 cycles where a lane of the
 * warp needs one: in 0.05 of the chunks at a rate of 10, 0.2 at 100, all at 5000.
 *
 * Measured on an H200, November 2026, of memset / over the better of cuRAND's orders in the same run
 * (perf/time_random.cu): rate 1 0.59 / 1.21, 10 0.59 / 1.22, 100 0.53 / 1.22; 5000 0.36 / 0.84
 * (cuRAND draws rounded normals there). Of memset: u64 of rate 10 0.64; binomial of 1000 trials 0.51; 20000, by
 * rejection 0.03.
 */
#include "lib/solver.h"
#include "random_element.h"
#include "random_tile.cuh"
#include "reference/random_element_job.h"

#include <string.h>

/*
 * Threads a block, chunks a thread and tile, blocks a multiprocessor at a time and in turn: of two that share one the
 * older is served first, so they are to end often. Bits of a word that choose a cell: one more than the table's guide.
 */
enum { THREADS = 1024, CHUNKS = 2, BLOCKS = 2, TURNS = 4, CELL_BITS = 12 };
enum { WIDE_THREADS = 256, WIDE_BLOCKS = 8 };

typedef struct wm_counts_draw {
    wm_tile tile;
    wm_round_keys keys;
    wmRandomKey key;
    wm_u32 tiles;
    wm_u32 one; /* 1: unknown to the compiler, so that a sum of 64 bits is one multiply-add, beside the integer pipe */
    wm_u32 least;  /* the table's first value where values stay below 2^31, else 0, and */
    wm_u64 beyond; /* what is to be added to a value */
    wmCountTable table;
} wm_counts_draw;

/*
 * A cell as the addend of a 64-bit sum: x is minus its threshold, or minus the next one where it has none, y the value
 * below it (without the upper bits of a law beyond 2^31). Then word + cell has the distance to the threshold in its low
 * half and, by the carry, the value in its high one. Bit 31 of y: only a search can tell.
 */
#define SEVERAL 0x80000000u
typedef struct wm_counts_shared {
    uint2 cell[(1 << CELL_BITS) + 1];
    wm_u32 high[WM_COUNT_ENTRIES];
} wm_counts_shared;

WM_DEVICE void unpack(const wm_counts_draw &p, wm_counts_shared *s) {
    const wmCountTable &t = p.table;
    const wm_u32 n = (wm_u32)t.entries;
    for (wm_u32 k = (wm_u32)wm_thread(); k < 1u << CELL_BITS; k += THREADS) {
        wm_u32 first = k << (32 - CELL_BITS), last = first | (~0u >> CELL_BITS);
        wm_u32 at = t.guide[first >> 21] >> 20;
        while (at < n && t.high[at] < first) at++;
        wm_u32 threshold = at < n ? t.high[at] : 0; /* one of 0 never carries */
        bool several = at < n && (threshold == 0 || (at + 1 < n && t.high[at + 1] <= last));
        s->cell[k] = make_uint2(0 - threshold, (p.least + at) | (several ? SEVERAL : 0));
    }
    for (int k = wm_thread(); k < t.entries; k += THREADS) s->high[k] = t.high[k];
    if (wm_thread() == 0) s->cell[1 << CELL_BITS] = make_uint2(0, p.least + n);
    wm_barrier();
}

/* The value of a word that its cell alone does not decide: element i. */
WM_DEVICE wm_u32 search(const wm_counts_draw &p, const wm_counts_shared *s, wm_u32 word, wm_u64 i) {
    const uint2 *cell = &s->cell[word >> (32 - CELL_BITS)];
    wm_u32 at = (cell[0].y & ~SEVERAL) - p.least, n = (cell[1].y & ~SEVERAL) - p.least - at;
    while (n > 0) {
        wm_u32 half = n >> 1, middle = at + half;
        bool below = s->high[middle] < word;
        at = below ? middle + 1 : at;
        n = below ? n - half - 1 : half;
    }
    return (wm_u32)(wm_count_search(&p.table, (int)at, word, p.key, i) - p.table.first) + p.least;
}

/* Those of N words that their cells leave open, by bits of `open`. */
template <int N>
WM_DEVICE void search_some(const wm_counts_draw &p, const wm_counts_shared *s, wm_u32 open, const wm_u32 *word,
                           wm_u64 i, wm_u32 *x) {
    while (open) {
        int k = __ffs((int)open) - 1;
        wm_u32 mine = word[0];
        WM_UNROLL
        for (int m = 1; m < N; m++) mine = m == k ? word[m] : mine;
        wm_u32 found = search(p, s, mine, i + (wm_u64)k);
        WM_UNROLL
        for (int m = 0; m < N; m++) x[m] = m == k ? found : x[m];
        open &= open - 1;
    }
}

/* The values, modulo 2^31, of elements i … i + N - 1. */
template <int N>
WM_DEVICE void look_up(const wm_counts_draw &p, const wm_counts_shared *s, const wm_u32 *word, wm_u64 i, wm_u32 *x) {
    wm_u32 distance[N], all = 0, nearest = ~0u;
    WM_UNROLL
    for (int k = 0; k < N; k++) {
        uint2 cell = s->cell[word[k] >> (32 - CELL_BITS)];
        wm_u64 sum = (wm_u64)word[k] * p.one + (cell.x | (wm_u64)cell.y << 32);
        distance[k] = (wm_u32)sum;
        x[k] = (wm_u32)(sum >> 32);
        all |= x[k];
        nearest = wm_min(nearest, distance[k]);
    }
    if ((int)all >= 0 && nearest != 0) return;
    wm_u32 open = 0;
    WM_UNROLL
    for (int k = 0; k < N; k++) open |= (x[k] >> 31 | (distance[k] == 0)) << k;
    search_some<N>(p, s, open, word, i, x);
}

/* Chunk i of the tile whose first chunk is `chunk`. */
template <int WIDE>
WM_DEVICE wmWords draw_chunk(const wm_counts_draw &p, const wm_counts_shared *s, wm_u64 chunk, int i) {
    wmWords w = wm_tile_block(p.keys, WIDE ? chunk / 2 : chunk, (wm_u32)(WIDE ? i / 2 : i), WM_LANE_ELEMENTS), x;
    if constexpr (WIDE != 0) {
        wm_u32 word[2] = {i & 1 ? w.w[2] : w.w[0], i & 1 ? w.w[3] : w.w[1]}, value[2];
        look_up<2>(p, s, word, 2 * (chunk + (wm_u64)i), value);
        wm_u64 a = p.beyond + value[0], b = p.beyond + value[1];
        x.w[0] = (wm_u32)a, x.w[1] = (wm_u32)(a >> 32), x.w[2] = (wm_u32)b, x.w[3] = (wm_u32)(b >> 32);
    } else {
        look_up<4>(p, s, w.w, 4 * (chunk + (wm_u64)i), x.w);
        if (p.beyond) {
            WM_UNROLL
            for (int k = 0; k < 4; k++) x.w[k] += (wm_u32)p.beyond;
        }
    }
    return x;
}

template <int WIDE>
WM_DEVICE void draw_tiles(const wm_counts_draw &p) {
    const int N = THREADS * CHUNKS;
    wm_counts_shared *s = wm_shared<wm_counts_shared>();
    unpack(p, s);
    unsigned char *to;
    for (wm_u32 tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        if (!wm_tile_whole(p.tile, tile, N, &to)) continue;
        wm_u64 chunk = (p.tile.first_tile + tile) * N;
        WM_UNROLL
        for (int j = 0; j < CHUNKS; j++) {
            int i = wm_thread() + j * THREADS;
            wmWords w = draw_chunk<WIDE>(p, s, chunk, i);
            wm_tile_store(to + 16 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
        }
    }
    for (wm_u32 tile = blockIdx.x; tile < p.tiles;
         tile += gridDim.x) { /* a loop of its own keeps the first one short */
        if (wm_tile_whole(p.tile, tile, N, &to)) continue;
        wm_u64 chunk = (p.tile.first_tile + tile) * N;
        for (int i = wm_thread(); i < N; i += THREADS)
            wm_tile_store_any(p.tile, tile, N, i, draw_chunk<WIDE>(p, s, chunk, i));
    }
}

WM_KERNEL __launch_bounds__(THREADS, BLOCKS) wm_random_counts_32(WM_PARAMS(wm_counts_draw)) {
    draw_tiles<0>(p);
}
WM_KERNEL __launch_bounds__(THREADS, BLOCKS) wm_random_counts_64(WM_PARAMS(wm_counts_draw)) {
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

WM_KERNEL __launch_bounds__(WIDE_THREADS) wm_random_counts_rejected(WM_PARAMS(wm_counts_wide)) {
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
    double fraction = 0.6; /* the table's, and 4 us to build, pass and unpack it */
    out->seconds = 7e-6 + wm_problem_cost(problem).bytes / (fraction * wm_context_bandwidth(context));
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
    const bool tiled = shared != 0;
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors *
                  (tiled ? (wm_i64)(BLOCKS * TURNS) : (wm_i64)WIDE_BLOCKS);
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = kernel;
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {tiled ? (unsigned)THREADS : (unsigned)WIDE_THREADS, 1, 1};
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
                   (args->count + WIDE_THREADS - 1) / WIDE_THREADS, 0, &p, sizeof p);
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
    p.one = 1;
    if (p.table.first < 0x7fff0000u)
        p.least = (wm_u32)p.table.first;
    else
        p.beyond = p.table.first;
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
