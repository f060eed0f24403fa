/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers in counter order, the simple distributions: bits and uniforms of every type and interval, integers in
 * a range, normal in 16 bits and in the fast form, exponential, lognormal. Each element comes from a fixed part of the
 * sequence, so a thread makes 16 bytes of output from one or two Philox blocks and stores them at once.
 *
 *     tile t    chunks [t N, (t + 1) N) of 16 bytes (random_tile.cuh), N = threads x CHUNKS
 *
 * Retries of integers are drawn in place: they come once in 2^32 / span draws.
 *
 * Floor: 16 bytes a chunk at memset's 4.57 TB/s, in which an SM's scheduler has 117 cycles (1.98 GHz); a block of
 * Philox takes 85. So with the values' own instructions (docs/random.md has the costs), of memset: u32 in a range
 * 117 / 107, uniform 16-bit 117 / 120, normal f32 fast 0.85, exponential fast 1.0, lognormal fast 0.75, normal bf16
 * fast 0.43 and exact 0.35, exponential exact 0.72, lognormal exact 0.54.
 *
 * Measured on an H200, November 2026, of memset in the same run (perf/time_random.cu): uniform f16 0.87, bf16 0.89,
 * f32 on open intervals 0.92; normal f32 fast 0.85, bf16 fast 0.47, bf16 and f16 exact 0.36; lognormal fast 0.77, exact
 * 0.42; exponential fast 0.95, exact 0.71, f64 0.53; integers u32 0.85, u64 0.64, u16 0.43, u8 0.22. Normals of bf16,
 * exact, come at 2.5 times the speed of cuRAND's of f32 and a conversion. Profiled in the fast form: of 4 schedulers'
 * issue slots 66 % are taken, the pipe of 32 x 32 bit products is busy 66 % of the time, the integer pipe 55 %.
 */
#include "lib/solver.h"
#include "random_tile.cuh"
#include "random_values.h"
#include "reference/random_values_job.h"

#include <string.h>

#define THREADS WM_TILE_THREADS
#define WM_ROLL _Pragma("unroll 1")

typedef struct wm_values_draw {
    wm_tile tile;
    wm_round_keys keys;
    int plain;
    wm_value_job job;
} wm_values_draw;

/* Which of the two 16-bit floats, where the kernel is made for one: chosen at run time, each pair is rounded twice. */
enum { F16, BF16, EITHER };

/* Chunk i of the tile that begins with `chunk`. */
template <int KIND, int ELEMENT, int FAST, int HALF, int PLAIN>
WM_DEVICE wmWords draw_chunk(const wm_values_draw &p, wm_u64 chunk, int i) {
    const int BLOCKS = wm_value_blocks(KIND, ELEMENT);
    wmWords w[2];
    WM_UNROLL
    for (int k = 0; k < BLOCKS; k++)
        w[k] = wm_tile_block(p.keys, chunk * BLOCKS, (wm_u32)(i * BLOCKS + k), WM_LANE_ELEMENTS);
    if constexpr (HALF == EITHER) return wm_value_chunk(KIND, ELEMENT, FAST, PLAIN, &p.job, chunk + (wm_u64)i, w);
    wm_value_job job = p.job;
    job.bf16 = HALF;
    return wm_value_chunk(KIND, ELEMENT, FAST, PLAIN, &job, chunk + (wm_u64)i, w);
}

template <int KIND, int ELEMENT, int FAST, int HALF, int CHUNKS, int PLAIN>
WM_DEVICE void draw_inside(const wm_values_draw &p, wm_u64 chunk, unsigned char *to) {
    WM_UNROLL
    for (int j = 0; j < CHUNKS; j++) {
        int i = wm_thread() + j * THREADS;
        wmWords w = draw_chunk<KIND, ELEMENT, FAST, HALF, PLAIN>(p, chunk, i);
        wm_tile_store(to + 16 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
    }
}

/*
 * Integers of 32 bits: first all as if none were rejected, which keeps that path short, then those that were, in place.
 * A span of 0, the whole type, is not for here.
 */
template <int CHUNKS>
WM_DEVICE void draw_integers_32(const wm_values_draw &p, wm_u64 chunk, unsigned char *to) {
    wm_u32 again = 0, no;
    WM_UNROLL
    for (int j = 0; j < CHUNKS; j++) {
        int i = wm_thread() + j * THREADS;
        wmWords w = wm_tile_block(p.keys, chunk, (wm_u32)i, WM_LANE_ELEMENTS);
        bool any = false;
        WM_UNROLL
        for (int k = 0; k < 4; k++) {
            w.w[k] = wm_integer_32(w.w[k], &p.job.range, &no);
            any |= no != 0;
        }
        again |= any ? 1u << j : 0;
        wm_tile_store(to + 16 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
    }
    for (int j = 0; again; j++, again >>= 1) {
        int i = wm_thread() + j * THREADS;
        if (!(again & 1)) continue;
        wmWords w = wm_tile_block(p.keys, chunk, (wm_u32)i, WM_LANE_ELEMENTS);
        w = wm_value_integers_32(&p.job, &w, 4 * (chunk + (wm_u64)i));
        wm_tile_store(to + 16 * i, w.w[0], w.w[1], w.w[2], w.w[3]);
    }
}

/* HAS_PLAIN: a second copy of the loop without scale and shift, where these show. */
template <int KIND, int ELEMENT, int FAST, int CHUNKS, int HAS_PLAIN, int HALF = EITHER>
WM_DEVICE void draw_tile(const wm_values_draw &p) {
    const int N = THREADS * CHUNKS;
    wm_u64 chunk = (p.tile.first_tile + blockIdx.x) * N; /* its block number's upper word is that of the whole tile */
    unsigned char *to;
    if (!wm_tile_whole(p.tile, blockIdx.x, N, &to)) {
        WM_ROLL
        for (int i = wm_thread(); i < N; i += THREADS)
            wm_tile_store_any(p.tile, blockIdx.x, N, i, draw_chunk<KIND, ELEMENT, FAST, HALF, 0>(p, chunk, i));
    } else if (KIND == WM_VALUE_INTEGERS_32 && (wm_u32)p.job.range.span != 0) {
        draw_integers_32<CHUNKS>(p, chunk, to);
    } else if (HAS_PLAIN && p.plain) {
        draw_inside<KIND, ELEMENT, FAST, HALF, CHUNKS, HAS_PLAIN>(p, chunk, to);
    } else {
        draw_inside<KIND, ELEMENT, FAST, HALF, CHUNKS, 0>(p, chunk, to);
    }
}

/* kind, bytes of an element (0: any), fast, chunks a thread, plain, type of 16 bits: by measurement, as in
 * random_philox. */
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_bits(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_BITS, 0, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_uniform_f16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_UNIFORM_16, 2, 0, 4, 1, F16>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_uniform_bf16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_UNIFORM_16, 2, 0, 4, 1, BF16>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_uniform_f32(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_UNIFORM_F32, 4, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_uniform_f64(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_UNIFORM_F64, 8, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_integers_8(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_INTEGERS_8, 1, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_integers_16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_INTEGERS_16, 2, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_integers_32(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_INTEGERS_32, 4, 0, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_integers_64(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_INTEGERS_64, 8, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 8) wm_random_values_normal_f16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_NORMAL_F32, 2, 0, 8, 1, F16>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 8) wm_random_values_normal_bf16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_NORMAL_F32, 2, 0, 8, 1, BF16>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_normal_f16_fast(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_NORMAL_F32, 2, 1, 8, 1, F16>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_normal_bf16_fast(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_NORMAL_F32, 2, 1, 8, 1, BF16>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_normal_fast(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_NORMAL_F32, 4, 1, 8, 1>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_exponential(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_EXPONENTIAL_F32, 4, 0, 8, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_exponential_fast(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_EXPONENTIAL_F32, 4, 1, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_exponential_16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_EXPONENTIAL_F32, 2, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_exponential_f64(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_EXPONENTIAL_F64, 8, 0, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_lognormal(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_LOGNORMAL_F32, 4, 0, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_lognormal_fast(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_LOGNORMAL_F32, 4, 1, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_lognormal_16(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_LOGNORMAL_F32, 2, 0, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_values_lognormal_f64(WM_PARAMS(wm_values_draw)) {
    draw_tile<WM_VALUE_LOGNORMAL_F64, 8, 0, 2, 0>(p);
}

/* ---- The solver ---- */

typedef struct variant {
    int kind, element, fast, half; /* element 0: any */
    int chunks;
    double fraction; /* of the bandwidth that it reaches */
    const char *name;
    void (*kernel)(WM_PARAMS(wm_values_draw));
} variant;

#define ROW(name) #name, name
/* A fast row stands before the exact one, which serves where there is none. */
static const variant variants[] = {
    {WM_VALUE_BITS,            0, 0, EITHER, 2, 0.95, ROW(wm_random_values_bits)            },
    {WM_VALUE_UNIFORM_16,      2, 0, F16,    4, 0.80, ROW(wm_random_values_uniform_f16)     },
    {WM_VALUE_UNIFORM_16,      2, 0, BF16,   4, 0.80, ROW(wm_random_values_uniform_bf16)    },
    {WM_VALUE_UNIFORM_F32,     4, 0, EITHER, 2, 0.90, ROW(wm_random_values_uniform_f32)     },
    {WM_VALUE_UNIFORM_F64,     8, 0, EITHER, 2, 0.90, ROW(wm_random_values_uniform_f64)     },
    {WM_VALUE_INTEGERS_8,      1, 0, EITHER, 2, 0.30, ROW(wm_random_values_integers_8)      },
    {WM_VALUE_INTEGERS_16,     2, 0, EITHER, 2, 0.40, ROW(wm_random_values_integers_16)     },
    {WM_VALUE_INTEGERS_32,     4, 0, EITHER, 4, 0.80, ROW(wm_random_values_integers_32)     },
    {WM_VALUE_INTEGERS_64,     8, 0, EITHER, 2, 0.70, ROW(wm_random_values_integers_64)     },
    {WM_VALUE_NORMAL_F32,      2, 1, F16,    8, 0.40, ROW(wm_random_values_normal_f16_fast) },
    {WM_VALUE_NORMAL_F32,      2, 1, BF16,   8, 0.40, ROW(wm_random_values_normal_bf16_fast)},
    {WM_VALUE_NORMAL_F32,      2, 0, F16,    8, 0.33, ROW(wm_random_values_normal_f16)      },
    {WM_VALUE_NORMAL_F32,      2, 0, BF16,   8, 0.33, ROW(wm_random_values_normal_bf16)     },
    {WM_VALUE_NORMAL_F32,      4, 1, EITHER, 8, 0.80, ROW(wm_random_values_normal_fast)     },
    {WM_VALUE_EXPONENTIAL_F32, 2, 0, EITHER, 2, 0.30, ROW(wm_random_values_exponential_16)  },
    {WM_VALUE_EXPONENTIAL_F32, 4, 1, EITHER, 4, 0.85, ROW(wm_random_values_exponential_fast)},
    {WM_VALUE_EXPONENTIAL_F32, 4, 0, EITHER, 8, 0.65, ROW(wm_random_values_exponential)     },
    {WM_VALUE_EXPONENTIAL_F64, 8, 0, EITHER, 4, 0.45, ROW(wm_random_values_exponential_f64) },
    {WM_VALUE_LOGNORMAL_F32,   2, 0, EITHER, 2, 0.25, ROW(wm_random_values_lognormal_16)    },
    {WM_VALUE_LOGNORMAL_F32,   4, 1, EITHER, 4, 0.70, ROW(wm_random_values_lognormal_fast)  },
    {WM_VALUE_LOGNORMAL_F32,   4, 0, EITHER, 4, 0.50, ROW(wm_random_values_lognormal)       },
    {WM_VALUE_LOGNORMAL_F64,   8, 0, EITHER, 2, 0.35, ROW(wm_random_values_lognormal_f64)   },
};
#define VARIANTS (int)(sizeof variants / sizeof *variants)

static const variant *variant_of(const wm_problem *problem) {
    wmRandomKey key = {0, 0};
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, key);
    wm_value_job job = wm_value_job_make(&problem->u.random, &args);
    for (int i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        if (v->kind == job.kind && (v->element == job.element || !v->element) && v->fast <= job.fast &&
            (v->half == EITHER || v->half == job.bf16))
            return v;
    }
    return NULL;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const variant *v = variant_of(problem);
    if (!v) return wm_refuse(why, "normals of 32 and 64 bits in the exact form are random_philox's");
    if (capacity < 1) return 0;
    double multiprocessors = wm_context_device(context)->multiprocessors;
    double wave = 16.0 * THREADS * v->chunks * 8 * multiprocessors; /* the last one counts as half a one */
    memset(out, 0, sizeof *out);
    out->seconds = 3e-6 + (wm_problem_cost(problem).bytes + 0.5 * wave) / (wm_context_bandwidth(context) * v->fraction);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const variant *v = variant_of(problem);
    (void)offer;
    *state = NULL;
    return wm_prepare_kernel(context, v->name, reinterpret_cast<const void *>(v->kernel), 0);
}

/* Elements offset … offset + count - 1, without a wrap, to `out`. */
static wmStatus launch(const wm_run *run, const wm_value_job *job, uint64_t offset, int64_t count, void *out) {
    const variant *v = variant_of(run->problem);
    wm_u32 tiles = 0;
    wm_values_draw p;
    memset(&p, 0, sizeof p);
    p.tile = wm_tile_make(out, job->element, offset, count, THREADS * v->chunks, &tiles);
    p.keys = wm_round_keys_make(job->key);
    p.job = *job;
    p.plain = job->kind == WM_VALUE_UNIFORM_16
                  ? job->in32.width == 1 && job->in32.low == 0 && !job->in32.open && !job->in32.turned
                  : job->scale32 == 1 && job->shift32 == 0;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(v->kernel);
    l.grid = {tiles, 1, 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, v->name, &l, run->stream);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_value_job job = wm_value_job_make(&run->problem->u.random, args);
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

extern "C" const wm_solver wm_random_values = {
    "random_values",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_INTEGERS | WM_RND_EXPONENTIAL | WM_RND_NARROW | WM_RND_32 |
        WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL | WM_RND_COUNTER | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
