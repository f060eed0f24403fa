/* SPDX-License-Identifier: Apache-2.0 */
/* Sobol' points: every coordinate from its point's Gray code, one exclusive or a bit. */
#include "walk_random.h"

#include "reference/random_quantile_job.h"

#include <warpmath/device/sobol.h>

#include <math.h>
#include <string.h>

/* The coordinate as 64 bits, the value's first. */
static uint64_t coordinate(const wmRandomDesc *d, const void *directions, wmRandomKey key, uint64_t element) {
    uint64_t dimension = element % (uint64_t)d->dimensions, point = element / (uint64_t)d->dimensions;
    uint64_t gray = point ^ point >> 1, x = 0, seed = wmScrambleSeed(key, dimension);
    for (int bit = 0; bit < (d->generator == WM_SOBOL64 ? 64 : 32); bit++) {
        size_t at = (size_t)bit * (size_t)d->dimensions + dimension;
        if (!(gray >> bit & 1)) continue;
        x ^= d->generator == WM_SOBOL64 ? ((const uint64_t *)directions)[at]
                                        : (uint64_t)((const uint32_t *)directions)[at] << 32;
    }
    if (d->generator == WM_SOBOL32 && point >> 32) { /* the sequence starts again */
        uint64_t low = point & 0xffffffffu;
        return coordinate(d, directions, key, low * (uint64_t)d->dimensions + dimension);
    }
    if (d->generator == WM_SOBOL64) return wmScramble64((int)d->scramble, x, seed);
    return (uint64_t)wmScramble32((int)d->scramble, (unsigned)(x >> 32), seed) << 32;
}

/* What a draw of the first solver for Sobol' points may be. */
static int is_simple(const wmRandomDesc *d) {
    return d->distribution <= WM_RANDOM_NORMAL && wmTypeSize(d->type) >= 4 && !d->interval && !d->accuracy;
}

static void expected(const wmRandomDesc *d, const wmRandomArgs *args, uint64_t x, unsigned char *out) {
    if (!is_simple(d)) {
        wm_quantile_job job = wm_quantile_job_make(d, args);
        wm_quantile_value(&job.element, job.wide, x, out);
        return;
    }
    unsigned high = (unsigned)(x >> 32);
    wmRangeF32 narrow = wmRangeMakeF32((float)args->low, (float)args->high);
    wmRangeF64 range = wmRangeMakeF64(args->low, args->high);
    double z = wm_sobol_normal(d->generator == WM_SOBOL64 ? x >> 12 : (uint64_t)high << 20 | 0x80000), y;
    float f = fmaf((float)(high >> 8) * 0x1p-24f, narrow.width, narrow.low);
    y = fma((double)(x >> 11) * 0x1p-53, range.width, range.low);
    if (d->distribution == WM_RANDOM_NORMAL) {
        f = fmaf((float)z, (float)args->std, (float)args->mean);
        y = fma(z, args->std, args->mean);
    }
    if (wmTypeSize(d->type) == 4)
        memcpy(out, d->distribution == WM_RANDOM_BITS ? (void *)&high : (void *)&f, 4);
    else
        memcpy(out, d->distribution == WM_RANDOM_BITS ? (void *)&x : (void *)&y, 8);
}

static void judge(walk *w, const wmRandomArgs *args, const void *directions, const unsigned char *host,
                  int64_t extent) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    uint64_t i = 0;
    for (int64_t at = 0; at < extent; at++) {
        unsigned char want[8];
        memset(want, 0xff, sizeof want);
        if (!d->columns || at % d->ld < d->columns)
            expected(d, args, coordinate(d, directions, args->key, args->offset + i++), want);
        if (memcmp(host + (size_t)at * element, want, element) == 0) continue;
        walk_fail(w, "place %lld (element %llu of %lld from %llu) has other bits", (long long)at,
                  (unsigned long long)i - 1, (long long)args->count, (unsigned long long)args->offset);
        return;
    }
}

static void one(walk *w, const void *directions, int64_t count, uint64_t offset, size_t shift, int parameters) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    int64_t extent = walk_rows_extent(d, count);
    walk_buffer out = walk_new(w, (size_t)extent * element, shift * element);
    walk_buffer state = walk_new(w, sizeof(wmRandomState), 0);
    if (!out.device || !state.device) return;
    wm_args args = {.random = wmRandomArgsDefault(out.device, count, wmRandomKeyMake(walk_draw(w)))};
    args.random.offset = offset;
    args.random.low = parameters ? -2.5 : 0;
    args.random.high = parameters ? 7.25 : 1;
    args.random.mean = parameters ? 3 : 0;
    args.random.std = parameters ? 0.5 : 1;
    args.random.span = parameters ? 100 : 0, args.random.p = parameters ? 0.01 : 0.5;
    if (d->distribution == WM_RANDOM_INTEGERS && !parameters && d->type == WM_I16) args.random.base = INT16_MIN;
    args.random.shape = parameters ? 2.5 : 0.75, args.random.scale = parameters ? 3 : 1;
    args.random.location = parameters ? -1 : 0, args.random.rate = parameters ? 4 : 1;
    wmRandomKey key = args.random.key;
    if (d->key_source == WM_KEY_DEVICE) walk_lend_state(w, &args.random, &state);
    if (walk_run(w, &args)) {
        walk_receive(w, &out);
        if (d->key_source == WM_KEY_DEVICE) walk_take_state(w, &args.random, &state, key, offset);
        judge(w, &args.random, directions, out.host, extent);
    }
    walk_free(w, &state);
    walk_free(w, &out);
}

void walk_sobol(walk *w) {
    static uint64_t directions[64 * 400];
    static const int64_t counts[] = {1, 2, 3, 31, 257, 1000, 4099, 20011};
    static const uint64_t offsets[] = {0, 1, 5, 4294967293u, 17179869187u, 9223372036854775811u};
    const wmRandomDesc *d = &w->problem->u.random;
    if (d->dimensions > 400 || wmSobolDirections(directions, d->generator, d->dimensions) != WM_OK) {
        walk_fail(w, "no direction numbers for %lld dimensions", (long long)d->dimensions);
        return;
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        one(w, directions, counts[i], offsets[walk_draw(w) % 6], i % 4, i % 2);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) one(w, directions, 1037, offsets[i], i % 3, i % 2);
    one(w, directions, 100, UINT64_MAX - 30, 1, 0); /* wraps */
}
