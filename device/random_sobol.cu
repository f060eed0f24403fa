/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points of 32 and 64 bits, plain, shifted or Owen-scrambled, as bits, uniforms and normals: element e is
 * dimension e mod D of point ⌊e / D⌋, at any offset and count, into rows with gaps.
 *
 *     block (x, y)   points [x S, (x + 1) S), S = R · STEPS, R the power of two of them that fits 256 / D (1 for D >
 * 128); dimensions from 256 y thread t       dimension t mod D (or 256 y + t) of points t / D, + R, + 2R, … (STEPS of
 * them)
 *
 * From point n to n + R two bits of the Gray code change: the one below R's, and that of the lowest zero of n / R. So a
 * step is two exclusive ors with direction numbers, one of them the same for all steps (Antonov and Saleev, 1979; as in
 * cuRAND). They lie dimension by dimension, so that a warp's are beside each other.
 *
 * Refuses a key in device memory. Floor: 4 or 8 bytes a value at memset's pace; a step is some 20 instructions and a
 * store of 128 bytes a warp, at 29 issue slots a 4-byte value: bound by memory with 64-bit points, near it with 32.
 * Normals are bound by their 55 f64 operations.
 */
#include <warpmath/device/base.cuh>

#include "lib/fields.h"
#include "lib/solver.h"
#include "random_points.h"
#include "reference/sobol.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 256
#define STEPS 32

typedef struct wm_random_sobol_draw {
    unsigned char *out;
    wm_u64 count, offset;
    const void *directions;
    wm_u64 first_group; /* of S points; block 0's */
    int log_points;     /* R = 2^log_points */
    wm_i64 columns, ld;
    wm_u64 reciprocal; /* 2^64 / columns, rounded down */
    wm_points points;
} wm_random_sobol_draw;

WM_DEVICE void put(const wm_random_sobol_draw &p, wm_u64 i, wm_u64 bits) {
    wm_u64 at = i;
    if (p.columns) {
        wm_u64 row = wm_mul_high(i, p.reciprocal), column = i - row * (wm_u64)p.columns;
        if (column >= (wm_u64)p.columns) row++, column -= (wm_u64)p.columns;
        at = row * (wm_u64)p.ld + column;
    }
    if (p.points.element == 8)
        reinterpret_cast<wm_u64 *>(p.out)[at] = bits;
    else
        reinterpret_cast<wm_u32 *>(p.out)[at] = (wm_u32)bits;
}

WM_DEVICE wm_u64 value_of(const wm_random_sobol_draw &p, int wide, wm_u64 x) {
    switch (p.points.kind) {
    case WM_DRAW_BITS:
        return wm_point_value(WM_DRAW_BITS, wide, x, &p.points.line);
    case WM_DRAW_UNIFORM_F32:
        return wm_point_value(WM_DRAW_UNIFORM_F32, wide, x, &p.points.line);
    case WM_DRAW_UNIFORM_F64:
        return wm_point_value(WM_DRAW_UNIFORM_F64, wide, x, &p.points.line);
    case WM_DRAW_NORMAL_F32:
        return wm_point_value(WM_DRAW_NORMAL_F32, wide, x, &p.points.line);
    default:
        return wm_point_value(WM_DRAW_NORMAL_F64, wide, x, &p.points.line);
    }
}

/* A thread's coordinates: dimension d of the points n, n + R, …. */
WM_DEVICE void draw32(const wm_random_sobol_draw &p, wm_i64 d, wm_u64 n, wm_u64 seed) {
    const wm_u32 *v = static_cast<const wm_u32 *>(p.directions) + d;
    const wm_i64 dimensions = p.points.dimensions;
    wm_u32 x = wmSobol32(v, dimensions, n), below = p.log_points ? v[(p.log_points - 1) * dimensions] : 0;
    wm_u64 i = n * (wm_u64)dimensions + (wm_u64)d - p.offset;
    for (int step = 0; step < STEPS; step++) {
        if (i < p.count) put(p, i, value_of(p, 0, (wm_u64)wmScramble32(p.points.scramble, x, seed) << 32));
        int bit = p.log_points + __ffsll((long long)~(n >> p.log_points)) - 1;
        x ^= below ^ v[(bit < 31 ? bit : 31) * dimensions];
        n += 1ull << p.log_points;
        i += (wm_u64)dimensions << p.log_points;
    }
}
WM_DEVICE void draw64(const wm_random_sobol_draw &p, wm_i64 d, wm_u64 n, wm_u64 seed) {
    const wm_u64 *v = static_cast<const wm_u64 *>(p.directions) + d;
    const wm_i64 dimensions = p.points.dimensions;
    wm_u64 x = wmSobol64(v, dimensions, n), below = p.log_points ? v[(p.log_points - 1) * dimensions] : 0;
    wm_u64 i = n * (wm_u64)dimensions + (wm_u64)d - p.offset;
    for (int step = 0; step < STEPS; step++) {
        if (i < p.count) put(p, i, value_of(p, 1, wmScramble64(p.points.scramble, x, seed)));
        int bit = p.log_points + __ffsll((long long)(~(n >> p.log_points) | 1ull << 63)) - 1;
        x ^= below ^ v[(bit < 63 ? bit : 63) * dimensions];
        n += 1ull << p.log_points;
        i += (wm_u64)dimensions << p.log_points;
    }
}

template <int WIDE>
WM_DEVICE void draw(const wm_random_sobol_draw &p) {
    const int t = wm_thread(), few = p.points.dimensions <= THREADS;
    const wm_u32 dimensions = (wm_u32)p.points.dimensions, point = few ? (wm_u32)t / dimensions : 0;
    const wm_u32 d = few ? (wm_u32)t % dimensions : blockIdx.y * THREADS + (wm_u32)t;
    if (point >= 1u << p.log_points || d >= dimensions) return;
    wm_u64 n = (p.first_group + blockIdx.x) * ((wm_u64)STEPS << p.log_points) + point;
    wm_u64 seed = p.points.scramble ? wmScrambleSeed(p.points.key, d) : 0;
    if (WIDE)
        draw64(p, d, n, seed);
    else
        draw32(p, d, n, seed);
}

WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_32(WM_PARAMS(wm_random_sobol_draw)) {
    draw<0>(p);
}
WM_KERNEL __launch_bounds__(THREADS) wm_random_sobol_64(WM_PARAMS(wm_random_sobol_draw)) {
    draw<1>(p);
}

/* ---- The solver ---- */

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

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmRandomDesc *d = &problem->u.random;
    int wide = d->generator == WM_SOBOL64;
    const char *name = wide ? "wm_random_sobol_64" : "wm_random_sobol_32";
    const void *kernel = reinterpret_cast<const void *>(wide ? wm_random_sobol_64 : wm_random_sobol_32);
    (void)offer;
    tables *t = static_cast<tables *>(calloc(1, sizeof(tables)));
    *state = t;
    if (!t) return wm_fail(WM_ERR_MEMORY, "out of memory");
    t->bytes = wm_sobol_directions_bytes(wide, d->dimensions);
    void *host = malloc(t->bytes);
    if (!host) return wm_fail(WM_ERR_MEMORY, "out of memory");
    wm_sobol_directions(host, wide, d->dimensions);
    wmStatus status = wm_context_upload(context, &t->directions, host, t->bytes);
    free(host);
    return status == WM_OK ? wm_prepare_kernel(context, name, kernel, 0) : status;
}

/* Elements offset … offset + count - 1, without a wrap. */
static wmStatus launch(const wm_run *run, wm_u64 offset, wm_i64 count) {
    const wmRandomDesc *d = &run->problem->u.random;
    const wmRandomArgs *args = &run->args->random;
    wm_u64 dimensions = (wm_u64)d->dimensions;
    wm_random_sobol_draw p;
    memset(&p, 0, sizeof p);
    p.points = wm_points_make(d, args);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = (wm_u64)args->count;
    p.offset = args->offset;
    p.directions = static_cast<const tables *>(run->state)->directions;
    while (dimensions <= THREADS && (dimensions << (p.log_points + 1)) <= THREADS) p.log_points++;
    p.first_group = offset / dimensions / STEPS >> p.log_points;
    wm_u64 last_group = (offset + (wm_u64)count - 1) / dimensions / STEPS >> p.log_points;
    p.columns = d->columns;
    p.ld = d->ld;
    p.reciprocal = d->columns ? ~0ull / (wm_u64)d->columns : 0;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = reinterpret_cast<const void *>(p.points.wide ? wm_random_sobol_64 : wm_random_sobol_32);
    l.grid = {(unsigned)(last_group - p.first_group + 1), (unsigned)((dimensions + THREADS - 1) / THREADS), 1};
    l.block = {THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    return wm_launch_kernel(run->context, p.points.wide ? "wm_random_sobol_64" : "wm_random_sobol_32", &l, run->stream);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    wm_u64 left = 0 - args->offset; /* elements up to the wrap; 0 stands for 2^64 */
    wm_i64 first = left && left < (wm_u64)args->count ? (wm_i64)left : args->count;
    if (args->count == 0) return WM_OK;
    WM_TRY(launch(run, args->offset, first));
    return first == args->count ? WM_OK : launch(run, 0, args->count - first);
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
