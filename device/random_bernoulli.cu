/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bernoulli draws in counter order, as bit masks (u32, 32 draws an element) and as bytes (u8, 0 or 1), the same draws.
 * Refuses everything else.
 *
 *     128 draws  four masks: a uniform each, compared with p from the highest bit down; plane k is one Philox block,
 *                and draws that are decided need no more: a warp's 4096 take 13 or 14 planes, whatever p's digits
 *     masks      16 bytes a thread and store
 *     bytes      a tile's 1024 masks go to shared memory, and every 16 bits of them become 16 bytes and one store
 *
 * Floor: 14 blocks of 85 + 12 cycles of a scheduler for 32 lanes x 128 draws, 1.98 GHz: 3.1e12 draws a second, where
 * masks write 0.4 TB/s. Bytes add 20 cycles for 16 of them: 117 / (170 + 20) = 0.6 of memset. Measured on an H200,
 * November 2026: 2.58e12 draws a second as masks; bytes 0.48 of memset.
 */
#include "lib/solver.h"
#include "random_tile.cuh"

#include <warpmath/device/dist_basic.h>

#include <string.h>

#define THREADS WM_TILE_THREADS
enum { MASK_CHUNKS = 1, BYTE_CHUNKS = 8 }; /* a thread */

typedef struct wm_bernoulli_draw {
    wm_tile tile;
    wm_round_keys keys;
    wmProbability p;
} wm_bernoulli_draw;

typedef struct wm_bernoulli_shared {
    wm_u32 mask[4 * THREADS];
} wm_bernoulli_shared;

/* wm_mask_words with the key schedule done. */
WM_DEVICE wmWords draw_masks(const wm_bernoulli_draw &p, wm_u64 first, int i) {
    wmWords one = {
        {0, 0, 0, 0}
    };
    wm_u32 undecided[4] = {~0u, ~0u, ~0u, ~0u};
    wm_u64 rest = p.p.bits;
    for (wm_u32 k = 0; rest && (undecided[0] | undecided[1] | undecided[2] | undecided[3]); k++, rest <<= 1) {
        wmWords w = wm_tile_block(p.keys, first, (wm_u32)i, k ? WM_LANE_PLANE + k : WM_LANE_ELEMENTS);
        wm_u32 digit = (wm_u32)((long long)rest >> 63); /* all ones or all zeros */
        WM_UNROLL
        for (int m = 0; m < 4; m++) {
            one.w[m] |= undecided[m] & ~w.w[m] & digit;
            undecided[m] &= ~(w.w[m] ^ digit);
        }
    }
    WM_UNROLL
    for (int m = 0; m < 4; m++)
        if (p.p.always) one.w[m] = ~0u;
    return one;
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_bernoulli_masks(WM_PARAMS(wm_bernoulli_draw)) {
    const int N = THREADS * MASK_CHUNKS;
    unsigned char *to;
    wmWords w = draw_masks(p, (p.tile.first_tile + blockIdx.x) * N, wm_thread());
    if (wm_tile_whole(p.tile, blockIdx.x, N, &to))
        wm_tile_store(to + 16 * wm_thread(), w.w[0], w.w[1], w.w[2], w.w[3]);
    else
        wm_tile_store_any(p.tile, blockIdx.x, N, wm_thread(), w);
}

/* 16 draws as bytes: four bits are spread by a product. */
WM_DEVICE wmWords bytes_of(wm_u32 bits) {
    wmWords w;
    WM_UNROLL
    for (int k = 0; k < 4; k++) w.w[k] = (bits >> 4 * k & 0xfu) * 0x00204081u & 0x01010101u;
    return w;
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_bernoulli_bytes(WM_PARAMS(wm_bernoulli_draw)) {
    const int N = THREADS * BYTE_CHUNKS;
    wm_bernoulli_shared *s = wm_shared<wm_bernoulli_shared>();
    unsigned char *to;
    wmWords masks = draw_masks(p, (p.tile.first_tile + blockIdx.x) * THREADS, wm_thread());
    WM_UNROLL
    for (int m = 0; m < 4; m++) s->mask[4 * wm_thread() + m] = masks.w[m];
    wm_barrier();
    bool whole = wm_tile_whole(p.tile, blockIdx.x, N, &to);
    WM_UNROLL
    for (int j = 0; j < BYTE_CHUNKS; j++) {
        int i = wm_thread() + j * THREADS;
        wmWords w = bytes_of(s->mask[i / 2] >> i % 2 * 16);
        if (whole)
            wm_tile_store(to + 16 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
        else
            wm_tile_store_any(p.tile, blockIdx.x, N, i, w);
    }
}

/* ---- The solver ---- */

static int is_bytes(const wm_problem *problem) {
    return problem->u.random.distribution == WM_RANDOM_BERNOULLI;
}

static const void *kernel_of(const wm_problem *problem, const char **name) {
    *name = is_bytes(problem) ? "wm_random_bernoulli_bytes" : "wm_random_bernoulli_masks";
    return is_bytes(problem) ? reinterpret_cast<const void *>(wm_random_bernoulli_bytes)
                             : reinterpret_cast<const void *>(wm_random_bernoulli_masks);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)why;
    if (capacity < 1) return 0;
    double wave = 4096.0 * 8 * wm_context_device(context)->multiprocessors * (is_bytes(problem) ? 8 : 1);
    memset(out, 0, sizeof *out);
    out->seconds = 3e-6 + (wm_problem_cost(problem).bytes + 0.5 * wave) /
                              (wm_context_bandwidth(context) * (is_bytes(problem) ? 0.5 : 0.075));
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const char *name = NULL;
    const void *kernel = kernel_of(problem, &name);
    (void)offer;
    *state = NULL;
    return wm_prepare_kernel(context, name, kernel, is_bytes(problem) ? sizeof(wm_bernoulli_shared) : 0);
}

/* Elements offset … offset + count - 1, without a wrap, to `out`. */
static wmStatus launch(const wm_run *run, uint64_t offset, int64_t count, void *out) {
    const wmRandomArgs *args = &run->args->random;
    int bytes = is_bytes(run->problem);
    const char *name = NULL;
    wm_u32 tiles = 0;
    wm_bernoulli_draw p;
    wm_launch l;
    memset(&p, 0, sizeof p);
    memset(&l, 0, sizeof l);
    p.tile = wm_tile_make(out, bytes ? 1 : 4, offset, count, THREADS * (bytes ? BYTE_CHUNKS : MASK_CHUNKS), &tiles);
    p.keys = wm_round_keys_make(args->key);
    p.p = wmProbabilityMake(args->p);
    l.kernel = kernel_of(run->problem, &name);
    l.grid = {tiles, 1, 1};
    l.block = {THREADS, 1, 1};
    l.shared = bytes ? sizeof(wm_bernoulli_shared) : 0;
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, name, &l, run->stream);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_u64 left = 0 - args->offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t first = left && left < (wm_u64)args->count ? (int64_t)left : args->count;
    if (args->count == 0) return WM_OK;
    WM_TRY(launch(run, args->offset, first, args->out));
    if (first == args->count) return WM_OK;
    return launch(run, 0, args->count - first,
                  static_cast<char *>(args->out) + first * (is_bytes(run->problem) ? 1 : 4));
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_bernoulli = {
    "random_bernoulli",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BERNOULLI | WM_RND_NARROW | WM_RND_32 | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
