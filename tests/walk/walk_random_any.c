/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random draws by every generator, in cuRAND's order, in rows with gaps, with key and offset in the place's memory:
 * every element against the words of its block and the public functions that make values of them.
 */
#include "walk_random.h"

#include <warpmath/device/generators.h>
#include <warpmath/device/random.h>

#include <math.h>
#include <string.h>

/* cuRAND's legacy order of Philox4x32-10: block b = word / 4 stands at counter (b / 65536, 64 bits; b mod 65536; 0). */
static unsigned int curand_word(wmRandomKey key, uint64_t word) {
    uint64_t block = word / 4, hop = block / 65536;
    wmWords counter = {
        {(unsigned)hop, (unsigned)(hop >> 32), (unsigned)(block % 65536), 0}
    };
    return wmPhilox4x32(counter, (unsigned)key.seed, (unsigned)(key.seed >> 32)).w[word % 4];
}

/* Doubles take eight words at each of the 65536 places in turn. */
static double curand_double(wmRandomKey key, uint64_t i) {
    uint64_t turn = i / 4, step = 2 * (turn / 65536) + i / 2 % 2, z;
    wmWords c = {
        {(unsigned)step, (unsigned)(step >> 32), (unsigned)(turn % 65536), 0}
    };
    c = wmPhilox4x32(c, (unsigned)key.seed, (unsigned)(key.seed >> 32));
    z = c.w[2 * (i % 2)] ^ (uint64_t)c.w[2 * (i % 2) + 1] << 21;
    return (double)z * 0x1p-53 + 0x1p-54;
}

/* Element i in counter order, from its block. */
static void by_words(const wmRandomDesc *d, const wmRandomArgs *args, uint64_t i, void *out) {
    unsigned pair = (unsigned)(i & 2), odd = (unsigned)(i & 1);
    if (wmTypeSize(d->type) == 4) {
        wmWords w = wm_words(d->generator, args->key, WM_LANE_ELEMENTS, i / 4);
        wmRangeF32 range = wmRangeMakeF32((float)args->low, (float)args->high);
        float z[2], f = fmaf(wm_uniform_f32(w.w[i % 4]), range.width, range.low);
        wm_normal_f32(w.w[pair], w.w[pair + 1], &z[0], &z[1]);
        if (d->distribution == WM_RANDOM_NORMAL) f = fmaf(z[odd], (float)args->std, (float)args->mean);
        memcpy(out, d->distribution == WM_RANDOM_BITS ? (void *)&w.w[i % 4] : (void *)&f, 4);
        return;
    }
    wmWords w = wm_words(d->generator, args->key, WM_LANE_ELEMENTS, i / 2);
    unsigned long long v[2] = {w.w[0] | (uint64_t)w.w[1] << 32, w.w[2] | (uint64_t)w.w[3] << 32};
    wmRangeF64 range = wmRangeMakeF64(args->low, args->high);
    double z[2], f = fma(wm_uniform_f64(w.w[2 * odd], w.w[2 * odd + 1]), range.width, range.low);
    wm_normal_f64(v[0], v[1], &z[0], &z[1]);
    if (d->distribution == WM_RANDOM_NORMAL) f = fma(z[odd], args->std, args->mean);
    memcpy(out, d->distribution == WM_RANDOM_BITS ? (void *)&v[odd] : (void *)&f, 8);
}

static void expected(const wmRandomDesc *d, const wmRandomArgs *args, uint64_t i, void *out) {
    if (d->sequence == WM_SEQ_COUNTER) {
        by_words(d, args, i, out);
        return;
    }
    unsigned word = curand_word(args->key, i);
    float f = fmaf((float)word, 0x1p-32f, 0x1p-33f);
    double wide = curand_double(args->key, i);
    if (d->distribution == WM_RANDOM_BITS) memcpy(out, &word, 4);
    if (d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F32) memcpy(out, &f, 4);
    if (d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F64) memcpy(out, &wide, 8);
}

/* Every element in its place, and 0xff, as before, between rows. */
static void judge(walk *w, const wmRandomArgs *args, const unsigned char *host, int64_t extent) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    int64_t i = 0;
    for (int64_t at = 0; at < extent; at++) {
        unsigned char want[8];
        memset(want, 0xff, sizeof want);
        if (!d->columns || at % d->ld < d->columns) expected(d, args, args->offset + (uint64_t)i++, want);
        if (memcmp(host + (size_t)at * element, want, element) == 0) continue;
        walk_fail(w, "place %lld (element %llu of %lld from %llu, shifted %zu bytes) has other bits", (long long)at,
                  (unsigned long long)i - 1, (long long)args->count, (unsigned long long)args->offset,
                  (size_t)((uintptr_t)args->out % 16));
        return;
    }
    if (i != args->count) walk_fail(w, "%lld elements were looked at, not %lld", (long long)i, (long long)args->count);
}

void walk_lend_state(walk *w, wmRandomArgs *args, const walk_buffer *state) {
    wmRandomState *host = (wmRandomState *)(void *)state->host;
    memset(host, 0, sizeof *host);
    host->key = args->key;
    host->offset = args->offset - args->offset / 2;
    args->offset /= 2;
    args->key.seed = ~args->key.seed;
    args->key.substream = 0;
    args->state = (wmRandomState *)(void *)state->device;
    args->advance = (int)(walk_draw(w) & 1);
    walk_send(w, state);
}

void walk_take_state(walk *w, wmRandomArgs *args, const walk_buffer *state, wmRandomKey key, uint64_t offset) {
    const wmRandomState *host = (const wmRandomState *)(const void *)state->host;
    uint64_t want = offset - args->offset + (args->advance ? (uint64_t)args->count : 0);
    walk_receive(w, state);
    if (host->key.seed != key.seed || host->key.substream != key.substream || host->offset != want)
        walk_fail(w, "the state stands at %llu, not at %llu", host->offset, (unsigned long long)want);
    args->key = key;
    args->offset = offset;
}

int64_t walk_rows_extent(const wmRandomDesc *d, int64_t count) {
    int64_t rows = d->columns ? (count - 1) / d->columns : 0;
    return d->columns ? rows * d->ld + count - rows * d->columns : count;
}

static void one(walk *w, int64_t count, uint64_t offset, size_t shift, int parameters) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    int64_t extent = walk_rows_extent(d, count);
    walk_buffer out = walk_new(w, (size_t)extent * element, shift * element);
    walk_buffer state = walk_new(w, sizeof(wmRandomState), 0);
    wm_args args = {.random = wmRandomArgsDefault(out.device, count, wmRandomKeyMake(walk_draw(w)))};
    if (d->sequence == WM_SEQ_COUNTER) args.random.key.substream = (unsigned)(walk_draw(w) & 3);
    args.random.offset = offset;
    args.random.low = parameters ? -2.5 : 0;
    args.random.high = parameters ? 7.25 : 1;
    args.random.mean = parameters ? 3 : 0;
    args.random.std = parameters ? 0.5 : 1;
    wmRandomKey key = args.random.key;
    if (out.device && state.device) {
        if (d->key_source == WM_KEY_DEVICE) walk_lend_state(w, &args.random, &state);
        if (walk_run(w, &args)) {
            walk_receive(w, &out);
            if (d->key_source == WM_KEY_DEVICE) walk_take_state(w, &args.random, &state, key, offset);
            judge(w, &args.random, out.host, extent);
        }
    }
    walk_free(w, &state);
    walk_free(w, &out);
}

void walk_random_any(walk *w) {
    static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 31, 257, 1000, 4099, 20011};
    static const uint64_t offsets[] = {0, 1, 2, 3, 5, 4294967293u, 17179869187u, 9223372036854775811u};
    const wmRandomDesc *d = &w->problem->u.random;
    int ranged = d->sequence == WM_SEQ_COUNTER;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        one(w, counts[i], offsets[walk_draw(w) % 8], i % 4, ranged && i % 2);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) one(w, 1037, offsets[i], i % 3, ranged && i % 2);
    one(w, 100, UINT64_MAX - 30, 1, 0); /* wraps */
}
