/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions and types beyond u32 u64 f32 f64 bits, uniform, normal: every element against the device headers'
 * function of one element; fast forms within their bound of it. */
#include "walk_expect.h"

#include "reference/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 3, CATEGORIES = 37, LENGTH = 5 }; /* sets of parameters; of tables */

/* What a draw reads beside its arguments: a table and an input, in the place's memory and here. */
typedef struct inputs {
    walk_buffer table, in;
} inputs;

int walk_is_distribution(const wmRandomDesc *d) {
    return d->sequence == WM_SEQ_COUNTER && (d->distribution > WM_RANDOM_NORMAL || wmTypeSize(d->type) < 4 ||
                                             d->accuracy || d->interval || d->type == WM_I32 || d->type == WM_I64);
}

/* Defaults, ordinary ones, awkward ones. */
static void set_parameters(const wmRandomDesc *d, wmRandomArgs *args, int set) {
    static const double low[] = {0, -2.5, 1}, high[] = {1, 7.25, 1.0625}, mean[] = {0, 3, -0.125}, std[] = {1, 0.5, 2};
    static const double p[] = {0.5, 0.3, 1e-7}, rate[] = {1, 0.25, 300};
    int bits = 8 * (int)wmTypeSize(d->type);
    args->low = low[set], args->high = high[set], args->mean = mean[set], args->std = std[set];
    args->p = p[set], args->rate = rate[set];
    args->base = set == 1 ? 3 : 0;
    /* 2^31 + 1 and 2^63 + 1 reject every second draw. */
    args->span = set == 0 ? 0 : set == 1 ? 100 : bits == 64 ? ((uint64_t)1 << 63) + 1 : bits == 32 ? 0x80000001u : 201;
    if (set == 2 && (d->type == WM_I8 || d->type == WM_I16 || d->type == WM_I32 || d->type == WM_I64))
        args->base = bits == 64 ? INT64_MIN : -(1LL << (bits - 1));
    if (set == 0 && d->distribution == WM_RANDOM_INTEGERS && args->base == 0)
        args->base = d->type == WM_I8    ? INT8_MIN
                     : d->type == WM_I16 ? INT16_MIN
                     : d->type == WM_I32 ? INT32_MIN
                     : d->type == WM_I64 ? INT64_MIN
                                         : 0;
}

/* Narrow and wide laws, shapes on both sides of 1, intervals in the middle, in a tail, and half-open. */
static void set_more(const wmRandomDesc *d, wmRandomArgs *args, int set) {
    static const double rate[] = {3, 700, 20000}, p[] = {0.5, 0.3, 0.875}, shape[] = {0.3, 1, 12.5},
                        low[] = {-1, 2.5, -INFINITY}, high[] = {0.5, 3, -4};
    static const uint64_t trials[] = {10, 5000, 200000};
    if (d->distribution == WM_RANDOM_POISSON) args->rate = rate[set];
    if (d->distribution == WM_RANDOM_BINOMIAL || d->distribution == WM_RANDOM_GEOMETRIC) args->p = p[set];
    args->trials = trials[set];
    args->shape = shape[set], args->shape2 = shape[(set + 1) % PARAMETERS];
    args->location = set == 0 ? 0 : -1.5, args->scale = set == 0 ? 1 : 0.75;
    if (d->distribution == WM_RANDOM_TRUNCATED_NORMAL) {
        args->mean = set == 1 ? 0.25 : 0, args->std = 1;
        args->low = low[set], args->high = high[set];
    }
    if (d->distribution == WM_RANDOM_PERMUTATION)
        args->span = args->offset + (uint64_t)args->count + (set == 0 ? 0 : set == 1 ? 3 : 100000);
    args->dimension = d->distribution == WM_RANDOM_CATEGORICAL ? CATEGORIES : LENGTH;
}

/* Weights of categories, a triangle, shape parameters; values to round with ends of every kind. */
static inputs make_inputs(walk *w, int64_t count) {
    static const float ends[] = {0,   -0.0f, INFINITY, -INFINITY, NAN,      1e-40f, 3e-5f,
                                 448, 460,   65519,    65521,     3.39e38f, 1e-9f,  -57345};
    const wmRandomDesc *d = &w->problem->u.random;
    int rounds = d->distribution == WM_RANDOM_ROUND;
    inputs more = {walk_new(w, 8 * (size_t)CATEGORIES, 0),
                   walk_new(w, rounds ? 4 * (size_t)count + 4 : 8 * (size_t)LENGTH, 0)};
    double weights[CATEGORIES];
    if (!more.table.host || !more.in.host) return more;
    for (int k = 0; k < CATEGORIES; k++) weights[k] = k % 5 == 4 ? 0 : 1 + (double)(walk_draw(w) % 100);
    if (d->distribution == WM_RANDOM_CATEGORICAL) {
        if (wmRandomAliasBuild(more.table.host, weights, CATEGORIES) != WM_OK) walk_fail(w, "%s", wmLastError());
    } else {
        for (int k = 0; k < LENGTH * LENGTH; k++)
            wm_number_store(d->type == WM_F64 ? WM_F64 : WM_F32, more.table.host, k, (wm_number){0.25 + (k % 7), 0});
    }
    if (rounds) {
        for (int64_t k = 0; k < count; k++) {
            float x = (float)(walk_unit(w) * exp2((double)(walk_draw(w) % 60) - 40));
            if (k % 9 == 3) x = ends[(uint64_t)k / 9 % (sizeof ends / sizeof *ends)];
            memcpy(more.in.host + 4 * k, &x, 4);
        }
    } else {
        for (int k = 0; k < LENGTH; k++)
            wm_number_store(d->type == WM_F64 ? WM_F64 : WM_F32, more.in.host, k, (wm_number){k, 0});
    }
    walk_send(w, &more.table);
    walk_send(w, &more.in);
    return more;
}

static int agrees(const walk *w, const unsigned char *got, const unsigned char *want) {
    wmType type = w->problem->u.random.type;
    if (memcmp(got, want, wmTypeSize(type)) == 0) return 1;
    wm_bound bound = wm_problem_bound(w->problem);
    if (bound.absolute == 0) return 0;
    double a = wm_number_load(type, got, 0).re, b = wm_number_load(type, want, 0).re;
    return fabs(a - b) <= fmax(bound.absolute, bound.relative * fabs(b)); /* false for NaN */
}

/* Elements from the inputs' copies here. */
static void expect(const wmRandomDesc *d, wmRandomArgs args, const inputs *more, unsigned char *want) {
    args.table = more->table.host, args.in = more->in.host;
    args.out = want;
    wm_element_job job = wm_element_job_make(d, &args);
    if (d->generator == WM_PHILOX4X32_10)
        expect_elements(&job, d, &args);
    else
        walk_expect_cipher(d, &args);
}

/* Rows of the draw, and nothing between them. */
static void judge(walk *w, const wmRandomArgs *args, const inputs *more, const unsigned char *host) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    unsigned char *want = aligned_alloc(16, ((size_t)args->count * element / 16 + 1) * 16);
    if (!want) {
        walk_fail(w, "no memory");
        return;
    }
    expect(d, *args, more, want);
    for (int64_t at = 0, i = 0; at < walk_rows_extent(d, args->count); at++) {
        static const unsigned char nothing[8] = {255, 255, 255, 255, 255, 255, 255, 255};
        const unsigned char *got = host + (size_t)at * element;
        int gap = d->columns && at % d->ld >= d->columns;
        if (gap ? memcmp(got, nothing, element) == 0 : agrees(w, got, want + (size_t)i * element)) {
            i += !gap;
            continue;
        }
        uint64_t number = args->offset + (uint64_t)i;
        walk_fail(w, "element %llu (place %lld of %lld, shifted %zu bytes) has other bits", (unsigned long long)number,
                  (long long)i, (long long)args->count, (size_t)((uintptr_t)args->out % 16));
        break;
    }
    free(want);
}

static void one(walk *w, int64_t count, uint64_t offset, size_t shift, int set) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    if (wm_is_rows(d->distribution)) count = (count + LENGTH - 1) / LENGTH * LENGTH;
    if (wm_is_rows(d->distribution)) offset = offset / (2 * LENGTH) * (2 * LENGTH); /* half of it may be the state's */
    if (d->distribution == WM_RANDOM_PERMUTATION) offset &= 0xfffff;
    walk_buffer out = walk_new(w, (size_t)walk_rows_extent(d, count) * element, shift * element);
    walk_buffer state = walk_new(w, sizeof(wmRandomState), 0);
    inputs more = make_inputs(w, count);
    if (out.device && state.device && more.table.device && more.in.device) {
        wm_args args = {.random = wmRandomArgsDefault(out.device, count, wmRandomKeyMake(walk_draw(w)))};
        args.random.key.substream = (unsigned)(walk_draw(w) & 3);
        args.random.offset = offset;
        args.random.table = more.table.device;
        args.random.in = set == 2 && d->distribution == WM_RANDOM_NORMAL_VECTORS ? NULL : more.in.device;
        set_parameters(d, &args.random, set);
        set_more(d, &args.random, set);
        wmRandomKey key = args.random.key;
        if (d->key_source == WM_KEY_DEVICE) walk_lend_state(w, &args.random, &state);
        if (walk_run(w, &args)) {
            walk_receive(w, &out);
            if (d->key_source == WM_KEY_DEVICE) walk_take_state(w, &args.random, &state, key, offset);
            if (!args.random.in) memset(more.in.host, 0, more.in.bytes); /* a mean of 0 adds the same as none */
            judge(w, &args.random, &more, out.host);
        }
    }
    walk_free(w, &out);
    walk_free(w, &state);
    walk_free(w, &more.table);
    walk_free(w, &more.in);
}

/* Narrow types have many elements a tile: counts around 2^15 bytes reach whole tiles and both ends. */
void walk_distributions(walk *w) {
    wmDistribution d = w->problem->u.random.distribution;
    static const int64_t counts[] = {1, 2, 3, 5, 15, 31, 1000, 4099};
    static const uint64_t offsets[] = {0, 1, 7, 13, 4294967293u, 17179869187u, 9223372036854775811u};
    size_t element = wmTypeSize(w->problem->u.random.type), places = 16 / element;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        one(w, counts[i], offsets[walk_draw(w) % 7], i % places, (int)(i % PARAMETERS));
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) one(w, 1037, offsets[i], 0, (int)(i % PARAMETERS));
    if (d != WM_RANDOM_PERMUTATION && !wm_is_rows(d)) one(w, 100, UINT64_MAX - 30, 1, 0); /* wraps */
    if (wm_is_continuous(d) || wm_is_rows(d) || d >= WM_RANDOM_CATEGORICAL) return;
    for (int set = 0; set < PARAMETERS; set++) {
        one(w, (int64_t)(70000 / element), 0, 0, set);
        one(w, (int64_t)(70000 / element), walk_draw(w) % 1000, 0, set);
    }
    for (size_t shift = 1; shift < places; shift++)
        one(w, (int64_t)(40000 / element), shift, (3 * shift) % places, (int)(shift % PARAMETERS));
}
