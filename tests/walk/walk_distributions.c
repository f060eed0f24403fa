/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions and types beyond u32 u64 f32 f64 bits, uniform, normal: every element against the device headers'
 * function of one element; fast forms within their bound of it. */
#include "walk.h"

#include "reference/number.h"
#include "reference/random_element_job.h"

#include <math.h>
#include <string.h>

enum { PARAMETERS = 3 }; /* sets of them a distribution */

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

static int agrees(const walk *w, const unsigned char *got, const unsigned char *want) {
    wmType type = w->problem->u.random.type;
    if (memcmp(got, want, wmTypeSize(type)) == 0) return 1;
    wm_bound bound = wm_problem_bound(w->problem);
    if (bound.absolute == 0) return 0;
    double a = wm_number_load(type, got, 0).re, b = wm_number_load(type, want, 0).re;
    return fabs(a - b) <= fmax(bound.absolute, bound.relative * fabs(b)); /* false for NaN */
}

static void judge(walk *w, const wmRandomArgs *args, const unsigned char *host) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    wm_element_job job = wm_element_job_make(d, args);
    for (int64_t i = 0; i < args->count; i++) {
        unsigned char want[8] __attribute__((aligned(8)));
        uint64_t index = args->offset + (uint64_t)i;
        wm_random_element(&job, index, want);
        if (agrees(w, host + (size_t)i * element, want)) continue;
        walk_fail(w, "element %llu (place %lld of %lld, shifted %zu bytes) has other bits", (unsigned long long)index,
                  (long long)i, (long long)args->count, (size_t)((uintptr_t)args->out % 16));
        return;
    }
}

static void one(walk *w, int64_t count, uint64_t offset, size_t shift, int set) {
    size_t element = wmTypeSize(w->problem->u.random.type);
    walk_buffer out = walk_new(w, (size_t)count * element, shift * element);
    if (!out.device) return;
    wm_args args = {.random = wmRandomArgsDefault(out.device, count, wmRandomKeyMake(walk_draw(w)))};
    args.random.key.substream = (unsigned)(walk_draw(w) & 3);
    args.random.offset = offset;
    set_parameters(&w->problem->u.random, &args.random, set);
    if (walk_run(w, &args)) {
        walk_receive(w, &out);
        judge(w, &args.random, out.host);
    }
    walk_free(w, &out);
}

/* Narrow types have many elements a tile: counts around 2^15 bytes reach whole tiles and both ends. */
void walk_distributions(walk *w) {
    static const int64_t counts[] = {1, 2, 3, 5, 15, 31, 1000, 4099};
    static const uint64_t offsets[] = {0, 1, 7, 13, 4294967293u, 17179869187u, 9223372036854775811u};
    size_t element = wmTypeSize(w->problem->u.random.type), places = 16 / element;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        one(w, counts[i], offsets[walk_draw(w) % 7], i % places, (int)(i % PARAMETERS));
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) one(w, 1037, offsets[i], 0, (int)(i % PARAMETERS));
    for (int set = 0; set < PARAMETERS; set++) {
        one(w, (int64_t)(70000 / element), 0, 0, set);
        one(w, (int64_t)(70000 / element), walk_draw(w) % 1000, 0, set);
    }
    for (size_t shift = 1; shift < places; shift++)
        one(w, (int64_t)(40000 / element), shift, (3 * shift) % places, (int)(shift % PARAMETERS));
    one(w, 100, UINT64_MAX - 30, 1, 0); /* wraps */
}
