/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers by Philox4x32-10: bits, uniforms and normals of <warpmath/device/random.h> in counter order, bits and
 * uniforms in cuRAND's legacy order, at any offset, count and alignment. Refuses normals and u64 in cuRAND's order.
 *
 *     tile t    blocks [t N, (t + 1) N) of the key's sequence, N = threads x BLOCKS; thread i has i, i + threads, …
 *     16 bytes  of output a block, whatever the kind: one store
 *
 * Tiles lie on multiples of N counted from block 0, so that the counter's upper words are the same for all of a tile,
 * and the first two rounds partly fold away; in cuRAND's order likewise, as a tile lies in one of its turns through the
 * 65536 sequences. Where `out` is not on 16 bytes when the sequence is, the warp shifts its row of blocks by shuffles,
 * and stores stay whole.
 *
 * Floor: 16 bytes a block at memset's 4.57 TB/s, in which an SM's scheduler issues 117 instructions (1.98 GHz). A block
 * takes about 45 for bits, 52 for uniforms, 117 for f32 and 160 for f64 normals, of which 19 products of 32 x 32 -> 64
 * bits at a quarter of the rate. So bits and uniforms are bound by memory, normals by issue.
 *
 * Measured on an H200, November 2026, of memset / over the better of cuRAND's orders in the same run
 * (perf/time_random.cu): bits 1.01 / 1.14, u64 1.00, uniform f32 1.00 / 1.18, f64 0.96 / 2.25, normal f32 0.65 / 1.30,
 * f64 0.51 / 1.54; in cuRAND's order bits 1.00 / 1.14, uniform f32 1.00 / 1.18, f64 0.95 / 2.2.
 */
#include <warpmath/device/base.cuh>

#include "lib/solver.h"
#include "random_source.h"
#include "random_store.cuh"
#include "reference/random_fill.h"

#include <string.h>

#define THREADS 256
/** Keeps the loop that follows a loop. */
#define WM_ROLL _Pragma("unroll 1")

typedef struct wm_random_draw {
    wm_u32 *out;
    wm_u64 first_tile; /* tiles are counted from here */
    wm_i64 from, to;   /* words to write, counted from the first tile's: word `from` goes to out[0] */
    int ahead;         /* words by which blocks start past a multiple of 16 bytes */
    int plain;         /* the line is the identity */
    wm_u32 substream;
    wm_u32 round_key[20]; /* constants of the kernel: a sum a round and block less */
    wm_random_line line;
} wm_random_draw;

/* Block `first` + i of a tile that begins with `first`: wm_source_words with the key schedule done. */
template <int CURAND, int PAIRS>
WM_DEVICE wmWords draw_block(const wm_random_draw &p, wm_u64 first, int i) {
    wmWords c = {
        {(wm_u32)first + (wm_u32)i, (wm_u32)(first >> 32), WM_LANE_ELEMENTS, p.substream}
    };
    if constexpr (CURAND != 0) {
        c = wm_curand_counter(PAIRS, first);
        c.w[0] |= PAIRS ? (wm_u32)i & 1 : 0;
        c.w[2] += (wm_u32)(PAIRS ? i >> 1 : i);
    }
    WM_UNROLL
    for (int round = 0; round < 10; round++) c = wm_philox_round(c, p.round_key[2 * round], p.round_key[2 * round + 1]);
    return c;
}

/* A block that may lie partly or wholly outside the range: word `at` is its first. */
WM_DEVICE void store_edge(const wm_random_draw &p, wm_i64 at, const wmWords &w) {
    WM_UNROLL
    for (int k = 0; k < 4; k++)
        if (at + k >= p.from && at + k < p.to) p.out[at + k - p.from] = w.w[k];
}

template <int KIND, int CURAND, int PLAIN>
WM_DEVICE wmWords draw_value(const wm_random_draw &p, wm_u64 block, int i) {
    wmWords w = draw_block<CURAND, KIND == WM_DRAW_CURAND_F64>(p, block, i);
    if constexpr (KIND >= WM_DRAW_KINDS) return wm_source_value(KIND, w, &p.line);
    return wm_random_value(KIND, PLAIN, w, &p.line);
}

/* The tile's blocks, each in one aligned store. PLAIN: scale 1 and shift 0, whose fma changes no bit and is left out.
 */
template <int KIND, int BLOCKS, int CURAND, int PLAIN>
WM_DEVICE void draw_inside(const wm_random_draw &p, wm_u64 block, wm_u32 *to) {
    WM_UNROLL
    for (int j = 0; j < BLOCKS; j++) {
        int i = wm_thread() + j * THREADS;
        wmWords w = draw_value<KIND, CURAND, PLAIN>(p, block, i);
        wm_store_words(to + 4 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
    }
}

/* The same where the range begins or ends in the tile, or `out` lies off the sequence's 16 bytes. */
template <int KIND, int BLOCKS, int CURAND>
WM_DEVICE void draw_outside(const wm_random_draw &p, wm_u64 block, wm_i64 tile_word, int inside) {
    WM_ROLL
    for (int i = wm_thread(); i < THREADS * BLOCKS; i += THREADS) {
        wmWords w = draw_value<KIND, CURAND, 0>(p, block, i);
        if (inside) {
            wm_store_shifted(p.out + (tile_word - p.from) + 4 * i, p.ahead, w);
        } else {
            store_edge(p, tile_word + 4 * i, w);
        }
    }
}

template <int KIND, int BLOCKS, int CURAND = 0>
WM_DEVICE void draw_tile(const wm_random_draw &p) {
    const int N = THREADS * BLOCKS;
    wm_u64 block = (p.first_tile + blockIdx.x) * N; /* its upper word is that of the whole tile */
    wm_i64 tile_word = (wm_i64)blockIdx.x * (4 * N);
    int inside = tile_word >= p.from && tile_word + 4 * N <= p.to;
    if (!inside || p.ahead) {
        draw_outside<KIND, BLOCKS, CURAND>(p, block, tile_word, inside);
    } else if (KIND != WM_DRAW_BITS && !CURAND && p.plain) {
        draw_inside<KIND, BLOCKS, CURAND, 1>(p, block, p.out + (tile_word - p.from));
    } else {
        draw_inside<KIND, BLOCKS, CURAND, 0>(p, block, p.out + (tile_word - p.from));
    }
}

/* Blocks a thread: by measurement, few where memory binds, many where issue does; few as well for small draws. */
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_bits(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_BITS, 2>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_bits_4(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_BITS, 4>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_uniform_f32(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_UNIFORM_F32, 2>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_uniform_f32_4(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_UNIFORM_F32, 4>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_uniform_f64(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_UNIFORM_F64, 2>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_uniform_f64_4(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_UNIFORM_F64, 4>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_normal_f32(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_NORMAL_F32, 8>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_normal_f64(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_NORMAL_F64, 8>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_normal_f32_small(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_NORMAL_F32, 2>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_normal_f64_small(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_NORMAL_F64, 2>(p);
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_curand_bits(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_BITS, 4, 1>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_curand_f32(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_CURAND_F32, 4, 1>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_philox_curand_f64(WM_PARAMS(wm_random_draw)) {
    draw_tile<WM_DRAW_CURAND_F64, 4, 1>(p);
}

/* ---- The solver ---- */

typedef struct variant {
    int source, kind;
    int blocks;      /* a thread: the knob */
    double fraction; /* of the bandwidth that it reaches */
    const char *name;
    void (*kernel)(WM_PARAMS(wm_random_draw));
} variant;

static const variant variants[] = {
    {WM_PHILOX4X32_10, WM_DRAW_BITS,        2, 0.95, "wm_random_philox_bits",             wm_random_philox_bits         },
    {WM_PHILOX4X32_10, WM_DRAW_BITS,        4, 0.95, "wm_random_philox_bits_4",           wm_random_philox_bits_4       },
    {WM_PHILOX4X32_10, WM_DRAW_UNIFORM_F32, 2, 0.95, "wm_random_philox_uniform_f32",      wm_random_philox_uniform_f32  },
    {WM_PHILOX4X32_10, WM_DRAW_UNIFORM_F32, 4, 0.98, "wm_random_philox_uniform_f32_4",    wm_random_philox_uniform_f32_4},
    {WM_PHILOX4X32_10, WM_DRAW_UNIFORM_F64, 2, 0.93, "wm_random_philox_uniform_f64",      wm_random_philox_uniform_f64  },
    {WM_PHILOX4X32_10, WM_DRAW_UNIFORM_F64, 4, 0.98, "wm_random_philox_uniform_f64_4",    wm_random_philox_uniform_f64_4},
    {WM_PHILOX4X32_10, WM_DRAW_NORMAL_F32,  8, 0.66, "wm_random_philox_normal_f32",       wm_random_philox_normal_f32   },
    {WM_PHILOX4X32_10, WM_DRAW_NORMAL_F32,  2, 0.62, "wm_random_philox_normal_f32_small",
     wm_random_philox_normal_f32_small                                                                                  },
    {WM_PHILOX4X32_10, WM_DRAW_NORMAL_F64,  8, 0.48, "wm_random_philox_normal_f64",       wm_random_philox_normal_f64   },
    {WM_PHILOX4X32_10, WM_DRAW_NORMAL_F64,  2, 0.44, "wm_random_philox_normal_f64_small",
     wm_random_philox_normal_f64_small                                                                                  },
    {WM_SOURCE_CURAND, WM_DRAW_BITS,        4, 0.95, "wm_random_philox_curand_bits",      wm_random_philox_curand_bits  },
    {WM_SOURCE_CURAND, WM_DRAW_CURAND_F32,  4, 0.95, "wm_random_philox_curand_f32",       wm_random_philox_curand_f32   },
    {WM_SOURCE_CURAND, WM_DRAW_CURAND_F64,  4, 0.95, "wm_random_philox_curand_f64",       wm_random_philox_curand_f64   },
};
#define VARIANTS (int)(sizeof variants / sizeof *variants)

/* Source and kind of a problem's draws. */
static wm_random_job job_of(const wm_problem *problem) {
    wmRandomKey key = {0, 0};
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, key);
    return wm_random_job_make(&problem->u.random, &args);
}

static int serves(const variant *v, const wm_random_job *job) {
    return v->source == job->source && v->kind == job->kind;
}

static const variant *variant_of(const wm_problem *problem, const wm_offer *offer) {
    wm_random_job job = job_of(problem);
    int i = 0;
    while (i + 1 < VARIANTS && (!serves(&variants[i], &job) || variants[i].blocks != offer->knob[0])) i++;
    return &variants[i];
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    double bytes = wm_problem_cost(problem).bytes, speed = wm_context_bandwidth(context);
    double multiprocessors = wm_context_device(context)->multiprocessors;
    wm_random_job job = job_of(problem);
    int n = 0;
    if (job.source == WM_SOURCE_CURAND && job.kind >= WM_DRAW_NORMAL_F32 && job.kind < WM_DRAW_KINDS)
        return wm_refuse(why, "cuRAND's normals are its own library's");
    for (int i = 0; i < VARIANTS && n < capacity; i++) {
        const variant *v = &variants[i];
        if (!serves(v, &job)) continue;
        /* The last wave counts as a whole one: eight thread blocks a multiprocessor, each of them a tile. */
        double wave = 16.0 * THREADS * v->blocks * 8 * multiprocessors;
        memset(&out[n], 0, sizeof out[n]);
        out[n].seconds = 3e-6 + (bytes + 0.5 * wave) / (speed * v->fraction);
        out[n].knob[0] = v->blocks;
        out[n].capturable = 1;
        out[n].concurrent = 1;
        n++;
    }
    return n;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const variant *v = variant_of(problem, offer);
    *state = NULL;
    return wm_prepare_kernel(context, v->name, reinterpret_cast<const void *>(v->kernel), 0);
}

/* Elements offset … offset + count - 1, without a wrap, to `out`. */
static wmStatus launch(const wm_run *run, const wm_random_job *job, uint64_t offset, int64_t count, void *out) {
    const variant *v = variant_of(run->problem, run->offer);
    wm_u64 words = (wm_u64)job->element / 4, per_block = 4 / words, tile = (wm_u64)THREADS * v->blocks;
    wm_random_draw p;
    memset(&p, 0, sizeof p);
    p.out = static_cast<wm_u32 *>(out);
    p.first_tile = offset / per_block / tile;
    p.from = (wm_i64)(words * (offset - p.first_tile * tile * per_block));
    p.to = p.from + (wm_i64)words * count;
    p.ahead = (int)((reinterpret_cast<wm_u64>(out) / 4 - (wm_u64)p.from) & 3);
    p.plain = job->line.scale64 == 1 && job->line.shift64 == 0;
    p.substream = job->key.substream;
    for (wm_u32 r = 0; r < 10; r++) {
        p.round_key[2 * r] = (wm_u32)job->key.seed + r * 0x9e3779b9u;
        p.round_key[2 * r + 1] = (wm_u32)(job->key.seed >> 32) + r * 0xbb67ae85u;
    }
    p.line = job->line;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(v->kernel);
    l.grid = {(unsigned)((p.to + 4 * (wm_i64)tile - 1) / (4 * (wm_i64)tile)), 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, v->name, &l, run->stream);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_random_job job = wm_random_job_make(&run->problem->u.random, args);
    wm_u64 left = 0 - args->offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t first = left && left < (wm_u64)args->count ? (int64_t)left : args->count;
    if (args->count == 0) return WM_OK;
    WM_TRY(launch(run, &job, args->offset, first, args->out));
    if (first == args->count) return WM_OK;
    return launch(run, &job, 0, args->count - first, static_cast<char *>(args->out) + first * job.element);
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

extern "C" const wm_solver wm_random_philox = {
    "random_philox",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_CURAND |
        WM_RND_GPU_TO_GPU,
    {"blocks", NULL},
    offer,
    make,
    run,
    drop,
};
