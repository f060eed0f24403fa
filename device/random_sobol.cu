/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points of 32 and 64 bits, plain, shifted or Owen-scrambled, as bits, uniforms and normals: element e is
 * dimension e mod D of point ⌊e / D⌋, at any offset and count, into rows with gaps.
 *
 *     group g      points [g R, (g + 1) R), all D dimensions: D R elements, R a power of two of at least K
 *     chunk c      elements K c … K c + K - 1 of a group, K = 16 bytes / element: one store
 *     block (x, y) groups x S … x S + S - 1, chunks from 256 y; a thread has the same chunk of each
 *
 * From a group to the next two bits of the Gray code change in each of a thread's K coordinates: the one below R's, and
 * that of the lowest zero of g, the same for all (Antonov and Saleev, 1979). Every second time that is R's own. So a
 * coordinate takes an exclusive or of three numbers a step, and a direction number is loaded every second step. Owen's
 * scrambling works on reversed bits: there direction numbers are kept reversed.
 *
 * Refuses a key in device memory. Floor: 16 bytes a chunk at memset's pace leave 117 issue slots of a scheduler; a step
 * takes some 30, Owen's scrambling 45 more: bound by memory. Normals are bound by f64: of a warp's lanes some are in
 * the tails, so each takes both branches, 90 operations of two cycles.
 *
 * Measured on an H200, November 2026, of memset / over cuRAND's plain points in the same run (perf/time_random.cu): u32
 * of one dimension 0.93 / 1.22, uniform f32 of eight 0.93 / 1.17, Owen-scrambled 0.79 / 1.00, of 1000 dimensions 0.81 /
 * 2.2, u64 0.94 / 1.05, uniform f64 of 100 dimensions 0.88 / 1.5; normal f32, exact, 0.09 / 0.19.
 */
#include <warpmath/device/base.cuh>

#include "lib/fields.h"
#include "lib/solver.h"
#include "random_points.h"
#include "random_store.cuh"
#include "reference/sobol.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, MOST_STEPS = 128, WAVES = 4 };

typedef struct wm_random_sobol_draw {
    unsigned char *out;
    wm_u64 count, offset;
    const void *directions;
    wm_u64 first_group; /* block 0's */
    wm_u32 steps;       /* groups a block, an even number */
    wm_u32 chunks;      /* a group */
    int log_points;     /* R = 2^log_points */
    int ahead;          /* words by which chunks start past a multiple of 16 bytes; 4: they do not stay in step */
    wm_i64 columns, ld;
    wm_u64 reciprocal; /* 2^64 / columns, rounded down */
    wm_points points;
} wm_random_sobol_draw;

/* Where element i of the draw goes; *left gets the elements from it to its row's end. */
WM_DEVICE wm_u64 place_of(const wm_random_sobol_draw &p, wm_u64 i, wm_u64 *left) {
    *left = p.count - i;
    if (!p.columns) return i;
    wm_u64 row = wm_mul_high(i, p.reciprocal), column = i - row * (wm_u64)p.columns;
    if (column >= (wm_u64)p.columns) row++, column -= (wm_u64)p.columns;
    *left = wm_min(*left, (wm_u64)p.columns - column);
    return row * (wm_u64)p.ld + column;
}

/* Elements i … i + K - 1, those of them that are the draw's; i may lie before it, below 0. */
template <int K>
WM_DEVICE void store_some(const wm_random_sobol_draw &p, wm_u64 i, const wmWords &w) {
    wm_u64 left = 0, at = i < p.count ? place_of(p, i, &left) : 0;
    unsigned char *to = p.out + 16 / K * at;
    if (left >= K && (reinterpret_cast<wm_u64>(to) & 15) == 0) {
        wm_store_words(to, w.w[0], w.w[1], w.w[2], w.w[3]);
        return;
    }
    WM_UNROLL
    for (int k = 0; k < K; k++) {
        if (i + (wm_u64)k >= p.count) continue;
        at = place_of(p, i + (wm_u64)k, &left);
        if constexpr (K == 2)
            reinterpret_cast<wm_u64 *>(p.out)[at] = w.w[2 * k] | (wm_u64)w.w[2 * k + 1] << 32;
        else
            reinterpret_cast<wm_u32 *>(p.out)[at] = w.w[k];
    }
}

/* The thread's chunk of the group whose first element is the draw's element `first`. */
template <int K>
WM_DEVICE void store_chunk(const wm_random_sobol_draw &p, wm_u64 first, wm_u32 chunk, const wmWords &w) {
    bool inside = (wm_i64)first >= 0 && first + (wm_u64)K * p.chunks <= p.count;
    bool full = (chunk | 31) < p.chunks; /* the warp's all */
    unsigned char *to = p.out + 16 / K * first + 16 * chunk;
    if (inside && p.ahead == 0)
        wm_store_words(to, w.w[0], w.w[1], w.w[2], w.w[3]);
    else if (inside && p.ahead < 4 && full)
        wm_store_shifted(reinterpret_cast<wm_u32 *>(to), p.ahead, w);
    else
        store_some<K>(p, first + (wm_u64)K * chunk, w);
}

WM_DEVICE int lowest(wm_u32 x) {
    return __ffs((int)x) - 1;
}
WM_DEVICE int lowest(wm_u64 x) {
    return __ffsll((long long)x) - 1;
}
WM_DEVICE wm_u32 scrambled(wm_u32 reversed, wm_u64 seed) {
    return wm_owen32(wm_reverse32(reversed), seed); /* where reversing cancels out */
}
WM_DEVICE wm_u64 scrambled(wm_u64 reversed, wm_u64 seed) {
    return wm_owen64(wm_reverse64(reversed), seed);
}
WM_DEVICE wm_u64 at_the_top(wm_u32 x) {
    return (wm_u64)x << 32;
}
WM_DEVICE wm_u64 at_the_top(wm_u64 x) {
    return x;
}

/* A thread's K coordinates: WORD is wm_u32 or wm_u64, the points' own. */
template <typename WORD, int K>
struct wm_coordinates {
    WORD x[K], below[K], both[K]; /* the direction numbers of a step: the one below R's, and it with R's */
    wm_u32 dimension[K];
    wm_u64 seed[K];
};

/* Those of group g's chunk `chunk`. */
template <typename WORD, int K>
WM_DEVICE void start(const wm_random_sobol_draw &p, wm_u64 g, wm_u32 chunk, wm_coordinates<WORD, K> *s) {
    const WORD *v = static_cast<const WORD *>(p.directions);
    const wm_u32 dimensions = (wm_u32)p.points.dimensions;
    wm_u32 gray[K];
    WM_UNROLL
    for (int k = 0; k < K; k++) {
        wm_u32 e = K * chunk + (wm_u32)k, point = e / dimensions;
        s->dimension[k] = e - point * dimensions;
        s->seed[k] = p.points.scramble ? wmScrambleSeed(p.points.key, s->dimension[k]) : 0;
        s->x[k] = p.points.scramble == WM_SCRAMBLE_SHIFT ? (WORD)s->seed[k] : 0;
        gray[k] = point ^ point >> 1;
        s->below[k] = v[(wm_u32)(p.log_points - 1) * dimensions + s->dimension[k]];
        s->both[k] = s->below[k] ^ v[(wm_u32)p.log_points * dimensions + s->dimension[k]];
    }
    WORD high = (WORD)(g << p.log_points);
    for (WORD rest = high ^ high >> 1; rest; rest &= rest - 1) {
        const WORD *row = v + (wm_u32)lowest(rest) * dimensions;
        WM_UNROLL
        for (int k = 0; k < K; k++) s->x[k] ^= row[s->dimension[k]];
    }
    for (int bit = 0; bit < p.log_points; bit++) {
        const WORD *row = v + (wm_u32)bit * dimensions;
        WM_UNROLL
        for (int k = 0; k < K; k++) s->x[k] ^= gray[k] >> bit & 1 ? row[s->dimension[k]] : 0;
    }
}

template <typename WORD, int K, int NORMAL>
WM_DEVICE wmWords values(const wm_random_sobol_draw &p, const wm_coordinates<WORD, K> &s) {
    const int wide = sizeof(WORD) == 8, normal = K == 2 ? WM_DRAW_NORMAL_F64 : WM_DRAW_NORMAL_F32;
    const int uniform = K == 2 ? WM_DRAW_UNIFORM_F64 : WM_DRAW_UNIFORM_F32;
    wmWords w;
    WM_UNROLL
    for (int k = 0; k < K; k++) {
        wm_u64 x = at_the_top(p.points.scramble == WM_SCRAMBLE_OWEN ? scrambled(s.x[k], s.seed[k]) : s.x[k]);
        if constexpr (NORMAL != 0)
            x = wm_point_value(normal, wide, x, &p.points.line);
        else
            x = p.points.kind == WM_DRAW_BITS
                    ? (K == 4 && wide ? x >> 32 : wm_point_value(WM_DRAW_BITS, wide, x, &p.points.line))
                    : wm_point_value(uniform, wide, x, &p.points.line);
        w.w[k * 4 / K] = (wm_u32)x;
        if constexpr (K == 2) w.w[2 * k + 1] = (wm_u32)(x >> 32);
    }
    return w;
}

template <typename WORD, int K, int NORMAL>
WM_DEVICE void draw(const wm_random_sobol_draw &p) {
    const wm_u32 chunk = blockIdx.y * THREADS + (wm_u32)wm_thread(), dimensions = (wm_u32)p.points.dimensions;
    const WORD *v = static_cast<const WORD *>(p.directions);
    const int last = 8 * (int)sizeof(WORD) - 1;
    wm_u64 g = p.first_group + (wm_u64)blockIdx.x * p.steps, elements = (wm_u64)K * p.chunks;
    wm_u64 first = g * elements - p.offset;
    wm_coordinates<WORD, K> s;
    if (chunk >= p.chunks) return;
    start(p, g, chunk, &s);
    for (wm_u32 step = 0; step < p.steps && ((wm_i64)first < 0 || first < p.count); step += 2) {
        store_chunk<K>(p, first, chunk, values<WORD, K, NORMAL>(p, s));
        WM_UNROLL
        for (int k = 0; k < K; k++) s.x[k] ^= s.both[k];
        store_chunk<K>(p, first + elements, chunk, values<WORD, K, NORMAL>(p, s));
        wm_u64 zeros = ~(g | 1) | 1ull << 63;
        const int bit = p.log_points + lowest(zeros);
        const WORD *row = v + (wm_u32)(bit < last ? bit : last) * dimensions;
        WM_UNROLL
        for (int k = 0; k < K; k++) s.x[k] ^= s.below[k] ^ row[s.dimension[k]];
        g += 2;
        first += 2 * elements;
    }
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_32_to_4(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u32, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_32_to_8(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u32, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_64_to_4(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u64, 4, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_64_to_8(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u64, 2, 0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_32_to_normal_4(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u32, 4, 1>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_32_to_normal_8(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u32, 2, 1>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_64_to_normal_4(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u64, 4, 1>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_64_to_normal_8(WM_PARAMS(wm_random_sobol_draw)) {
    draw<wm_u64, 2, 1>(p);
}

/* ---- The solver ---- */

#define ROW(name)                                                                                                      \
    { #name, reinterpret_cast < const void *>(name) }
/* By width of points, bytes of an element, normal or not. */
static const struct {
    const char *name;
    const void *kernel;
} kernels[2][2][2] = {
    {{ROW(wm_random_sobol_32_to_4), ROW(wm_random_sobol_32_to_normal_4)},
     {ROW(wm_random_sobol_32_to_8), ROW(wm_random_sobol_32_to_normal_8)}},
    {{ROW(wm_random_sobol_64_to_4), ROW(wm_random_sobol_64_to_normal_4)},
     {ROW(wm_random_sobol_64_to_8), ROW(wm_random_sobol_64_to_normal_8)}},
};
#define KERNEL(d)                                                                                                      \
    kernels[(d)->generator == WM_SOBOL64][wmTypeSize((d)->type) == 8][(d)->distribution == WM_RANDOM_NORMAL]

typedef struct tables {
    void *directions; /* in device memory */
    size_t bytes;
} tables;

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    double fraction = d->distribution == WM_RANDOM_NORMAL ? 0.25 : d->scramble == WM_SCRAMBLE_OWEN ? 0.6 : 0.8;
    if (!wm_random_is_sobol(&problem->u.random)) return wm_refuse(why, "it draws Sobol' points alone");
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 4e-6 + wm_problem_cost(problem).bytes / (fraction * wm_context_bandwidth(context));
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static void drop(wmContext *context, void *state) {
    tables *t = static_cast<tables *>(state);
    if (t) wm_context_free(context, t->directions, t->bytes);
    free(t);
}

static void reverse(void *directions, int wide, size_t bytes) {
    for (size_t k = 0; k < bytes / (wide ? 8 : 4); k++) {
        if (wide)
            static_cast<wm_u64 *>(directions)[k] = wm_reverse64(static_cast<wm_u64 *>(directions)[k]);
        else
            static_cast<wm_u32 *>(directions)[k] = wm_reverse32(static_cast<wm_u32 *>(directions)[k]);
    }
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmRandomDesc *d = &problem->u.random;
    int wide = d->generator == WM_SOBOL64;
    (void)offer;
    tables *t = static_cast<tables *>(calloc(1, sizeof(tables)));
    *state = t;
    if (!t) return wm_fail(WM_ERR_MEMORY, "out of memory");
    t->bytes = wm_sobol_directions_bytes(wide, d->dimensions);
    void *host = malloc(t->bytes);
    if (!host) return wm_fail(WM_ERR_MEMORY, "out of memory");
    wm_sobol_directions(host, wide, d->dimensions);
    if (d->scramble == WM_SCRAMBLE_OWEN) reverse(host, wide, t->bytes);
    wmStatus status = wm_context_upload(context, &t->directions, host, t->bytes);
    free(host);
    return status == WM_OK ? wm_prepare_kernel(context, KERNEL(d).name, KERNEL(d).kernel, 0) : status;
}

/* Chunks a group: a thread block's threads at most where that leaves R at K or more. */
static void set_groups(wm_random_sobol_draw *p, wm_u32 per_chunk) {
    wm_u32 dimensions = (wm_u32)p->points.dimensions;
    p->log_points = per_chunk == 4 ? 2 : 1;
    while ((dimensions << (p->log_points + 1)) / per_chunk <= THREADS) p->log_points++;
    p->chunks = (dimensions << p->log_points) / per_chunk;
}

/* Elements offset … offset + count - 1, without a wrap; they end before the draw's element `end`. */
static wmStatus launch(const wm_run *run, wm_u64 offset, wm_u64 count, wm_u64 end) {
    const wmRandomDesc *d = &run->problem->u.random;
    const wmRandomArgs *args = &run->args->random;
    wm_random_sobol_draw p;
    memset(&p, 0, sizeof p);
    p.points = wm_points_make(d, args);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = end;
    p.offset = args->offset;
    p.directions = static_cast<const tables *>(run->state)->directions;
    set_groups(&p, (wm_u32)(16 / p.points.element));
    wm_u64 words = (wm_u64)p.points.element / 4, elements = 4 / words * p.chunks;
    p.first_group = offset / elements & ~1ull;
    wm_u64 groups = (offset + count - 1) / elements - p.first_group + 1;
    wm_u64 blocks = (wm_u64)wm_context_device(run->context)->multiprocessors * (2048 / THREADS) * WAVES;
    p.steps = 2;
    while (p.steps < MOST_STEPS && p.steps * blocks * THREADS < groups * p.chunks) p.steps *= 2;
    p.ahead = d->columns ? 4 : (int)((reinterpret_cast<wm_u64>(args->out) / 4 - args->offset * words) & 3);
    p.columns = d->columns;
    p.ld = d->ld;
    p.reciprocal = d->columns ? ~0ull / (wm_u64)d->columns : 0;
    wm_u32 threads = p.chunks < THREADS ? (p.chunks + 31) / 32 * 32 : (wm_u32)THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = KERNEL(d).kernel;
    l.grid = {(unsigned)((groups + p.steps - 1) / p.steps), (p.chunks + THREADS - 1) / THREADS, 1};
    l.block = {threads, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, KERNEL(d).name, &l, run->stream);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_u64 count = (wm_u64)args->count, left = 0 - args->offset; /* elements up to the wrap; 0 stands for 2^64 */
    wm_u64 first = left && left < count ? left : count;
    if (count == 0) return WM_OK;
    WM_TRY(launch(run, args->offset, first, first));
    return first == count ? WM_OK : launch(run, 0, count - first, count);
}

extern "C" const wm_solver wm_random_sobol = {
    "random_sobol",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_COUNTER | WM_RND_GPU_TO_GPU |
        WM_RND_SOBOL32 | WM_RND_SOBOL64 | WM_RND_STRIDED,
    {NULL},
    offer,
    make,
    run,
    drop,
};
