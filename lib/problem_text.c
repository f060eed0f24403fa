/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems as text, and back. docs/problems.md is the grammar: operation, positional words, then key=value for each
 * field that differs from what the fields before it imply. Printing therefore rebuilds the problem as the parser would,
 * field by field, and writes a key only where the rebuilt value differs.
 */
#include "convolution.h"
#include "fields.h"
#include "functor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Printing ---- */

typedef struct writer {
    char *out;
    size_t capacity, length;
} writer;

static void WM_PRINTF(2, 3) put(writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    size_t room = w->length < w->capacity ? w->capacity - w->length : 0;
    int wrote = vsnprintf(room ? w->out + w->length : NULL, room, format, list);
    va_end(list);
    if (wrote > 0) w->length += (size_t)wrote;
}

static void put_value(writer *w, const wm_field *field, const void *desc) {
    int64_t value = wm_field_get(field, desc);
    if (field->kind == WM_FIELD_ENUM)
        put(w, " %s=%s", field->key, field->names[value]);
    else if (field->kind == WM_FIELD_TYPE)
        put(w, " %s=%s", field->key, wmTypeName((wmType)value));
    else
        put(w, " %s=%lld", field->key, (long long)value);
}

static void resolve(wm_problem *problem) {
    switch (problem->op) {
    case WM_MATMUL:
        wm_matmul_resolve(&problem->u.matmul);
        return;
    case WM_FFT:
        wm_fft_resolve(&problem->u.fft);
        return;
    case WM_RANDOM:
        wm_random_resolve(&problem->u.random);
        return;
    case WM_CONVOLUTION:
        wm_convolution_resolve(&problem->u.convolution);
        return;
    }
}

/* The order of C and R counts only where they name an ld: an order of its own needs ldc or ldr, even with the value
 * that D's would imply. */
static int unlocks(const wm_field *field, const wm_problem *problem) {
    const wmMatmulDesc *d = &problem->u.matmul;
    if (problem->op != WM_MATMUL) return 0;
    return (field->offset == offsetof(wmMatmulDesc, c.ld) && d->c.order != d->d.order) ||
           (field->offset == offsetof(wmMatmulDesc, r.ld) && d->r.type && d->r.order != d->d.order);
}

/* `implied` holds what has been written so far, unresolved. */
static void put_keys(writer *w, const wm_problem *problem, wm_problem *implied) {
    int count = 0;
    const wm_field *fields = wm_fields(problem->op, &count);
    for (int i = 0; i < count; i++) {
        if (!fields[i].key) continue;
        wm_problem guess = *implied;
        resolve(&guess);
        if (wm_field_get(&fields[i], &guess.u) == wm_field_get(&fields[i], &problem->u) &&
            !unlocks(&fields[i], problem))
            continue;
        wm_field_set(&fields[i], &implied->u, wm_field_get(&fields[i], &problem->u));
        put_value(w, &fields[i], &problem->u);
    }
}

static void put_dims(writer *w, const char *key, const wmFftDim *dims, int count, int lengths) {
    for (int i = 0; i < count; i++) {
        put(w, i ? "," : " %s=", key);
        if (lengths) put(w, "%lld:", (long long)dims[i].n);
        put(w, "%lld:%lld", (long long)dims[i].in_stride, (long long)dims[i].out_stride);
    }
}

/* The layout: nothing where packed, else strides= and loops=. */
static wmFftDesc put_layout(writer *w, const wmFftDesc *d) {
    int64_t n[WM_FFT_MAX_RANK] = {d->dim[0].n, d->dim[1].n, d->dim[2].n};
    int64_t batch = d->loops == 1 ? d->loop[0].n : 1;
    wmFftDesc packed = wm_fft_packed(d->kind, d->type, d->rank, n, batch, d->placement);
    if (d->placement == WM_IN_PLACE) put(w, " inplace=1");
    if (d->loops <= 1 && memcmp(packed.dim, d->dim, sizeof d->dim) == 0 &&
        memcmp(packed.loop, d->loop, sizeof d->loop) == 0) {
        if (d->loops) put(w, " batch=%lld", (long long)batch);
        return packed;
    }
    put_dims(w, "strides", d->dim, d->rank, 0);
    put_dims(w, "loops", d->loop, d->loops, 1);
    memcpy(packed.dim, d->dim, sizeof d->dim);
    memcpy(packed.loop, d->loop, sizeof d->loop);
    packed.loops = d->loops;
    return packed;
}

static const wm_field *field_named(wm_op op, const char *name) {
    int count = 0;
    const wm_field *fields = wm_fields(op, &count);
    while (strcmp(fields->name, name) != 0) fields++;
    return fields;
}

static const char *const *enum_words(wm_op op, const char *name) {
    return field_named(op, name)->names;
}

/* "f32 4096*65", "c64 512x512*5x5". */
static wmConvolutionDesc put_convolution(writer *w, const wmConvolutionDesc *d) {
    put(w, " %s %lld", wmTypeName(d->type), (long long)d->n[0]);
    if (d->rank == 2) put(w, "x%lld", (long long)d->n[1]);
    put(w, "*%lld", (long long)d->taps[0]);
    if (d->rank == 2) put(w, "x%lld", (long long)d->taps[1]);
    return d->rank == 2 ? wmConvolutionDescDefault2D(d->type, d->n[0], d->n[1], d->taps[0], d->taps[1], 1)
                        : wmConvolutionDescDefault(d->type, d->n[0], d->taps[0], 1);
}

static void put_functor(writer *w, const char *key, const char *source) {
    char text[WM_FUNCTOR_TEXT];
    if (!source) return;
    wm_functor_print(source, text);
    put(w, " %s=%s", key, text);
}

size_t wm_problem_print(const wm_problem *problem, char *out, size_t capacity) {
    writer w = {out, capacity, 0};
    wm_problem implied = {.op = problem->op};
    put(&w, "%s", wm_op_name(problem->op));
    if (problem->op == WM_MATMUL) {
        const wmMatmulDesc *d = &problem->u.matmul;
        put(&w, " %s %lldx%lldx%lld", wmTypeName(d->a.type), (long long)d->m, (long long)d->n, (long long)d->k);
        implied.u.matmul = wmMatmulDescDefault(d->a.type, d->m, d->n, d->k);
    } else if (problem->op == WM_FFT) {
        const wmFftDesc *d = &problem->u.fft;
        put(&w, " %s %s", enum_words(WM_FFT, "kind")[d->kind], wmTypeName(d->type));
        for (int i = 0; i < d->rank; i++) put(&w, "%c%lld", i ? 'x' : ' ', (long long)d->dim[i].n);
        implied.u.fft = put_layout(&w, d);
    } else if (problem->op == WM_CONVOLUTION) {
        implied.u.convolution = put_convolution(&w, &problem->u.convolution);
    } else {
        const wmRandomDesc *d = &problem->u.random;
        put(&w, " %s %s", enum_words(WM_RANDOM, "distribution")[d->distribution], wmTypeName(d->type));
        implied.u.random = wmRandomDescDefault(d->distribution, d->type);
    }
    put_keys(&w, problem, &implied);
    if (problem->op == WM_MATMUL) put_functor(&w, "functor", problem->u.matmul.functor.source);
    if (problem->op == WM_FFT) {
        put_functor(&w, "load", problem->u.fft.load.source);
        put_functor(&w, "store", problem->u.fft.store.source);
    }
    return w.length;
}

/* ---- Parsing ---- */

/* One blank-separated word; key is empty for a positional word. */
typedef struct word {
    const char *text;
    size_t length;
} word;

typedef struct reader {
    const char *at;
    const char *whole;
} reader;

static word next_word(reader *r) {
    r->at += strspn(r->at, " \t");
    word w = {r->at, strcspn(r->at, " \t")};
    r->at += w.length;
    return w;
}

static wmStatus bad_word(const reader *r, word w, const char *expected) {
    if (w.length == 0)
        return wm_fail(WM_ERR_ARGUMENT, "problem \"%.200s\" ends where %s should stand", r->whole, expected);
    return wm_fail(WM_ERR_ARGUMENT, "problem \"%.200s\": \"%.*s\" is not %s", r->whole,
                   (int)(w.length < 80 ? w.length : 80), w.text, expected);
}

/* A decimal integer, with 2^n as a short form for powers of two; moves *at behind it. */
static int read_number(const char **at, const char *end, int64_t *out) {
    char *stop = NULL;
    if (*at >= end || !((**at >= '0' && **at <= '9') || (**at == '-' && *at + 1 < end))) return 0;
    errno = 0;
    long long value = strtoll(*at, &stop, 10);
    if (errno || stop == *at || stop > end) return 0;
    if (value == 2 && stop < end && *stop == '^') {
        const char *power = stop + 1;
        long exponent = power < end && *power >= '0' && *power <= '9' ? strtol(power, &stop, 10) : -1;
        if (exponent < 0 || exponent > 62 || stop > end) return 0;
        value = (long long)1 << exponent;
    }
    *at = stop;
    *out = value;
    return 1;
}

/* `count` numbers with `mark` between them, the word's whole length. */
static int read_numbers(word w, char mark, int64_t *out, int count) {
    const char *at = w.text, *end = w.text + w.length;
    for (int i = 0; i < count; i++) {
        if (i && (at >= end || *at++ != mark)) return 0;
        if (!read_number(&at, end, &out[i])) return 0;
    }
    return at == end;
}

static int count_marks(word w, char mark) {
    int count = 0;
    for (size_t i = 0; i < w.length; i++) count += w.text[i] == mark;
    return count;
}

/* "n:is:os,..." or, without lengths, "is:os,...". */
static int read_dims(word w, wmFftDim *dims, int count, int lengths) {
    int per = lengths ? 3 : 2;
    const char *at = w.text, *end = w.text + w.length;
    for (int i = 0; i < count; i++) {
        const char *stop = memchr(at, ',', (size_t)(end - at));
        word part = {at, (size_t)((stop ? stop : end) - at)};
        int64_t v[3] = {0, 0, 0};
        if (!read_numbers(part, ':', v + 3 - per, per)) return 0;
        if (lengths) dims[i].n = v[0];
        dims[i].in_stride = v[1];
        dims[i].out_stride = v[2];
        at = stop ? stop + 1 : end;
        if (!stop && i + 1 < count) return 0;
    }
    return at == end;
}

static int64_t type_or_none(word w) {
    wmType type = wm_type_value(w.text, w.length);
    return type ? (int64_t)type : -1;
}

static wmStatus set_key(const reader *r, wm_problem *problem, word whole, word key, word value) {
    int count = 0;
    const wm_field *fields = wm_fields(problem->op, &count);
    for (int i = 0; i < count; i++) {
        const wm_field *f = &fields[i];
        if (!f->key || strlen(f->key) != key.length || memcmp(f->key, key.text, key.length) != 0) continue;
        int64_t number = 0;
        if (f->kind == WM_FIELD_ENUM)
            number = wm_word_value(f->names, value.text, value.length);
        else if (f->kind == WM_FIELD_TYPE)
            number = type_or_none(value);
        else if (!read_numbers(value, 0, &number, 1) || (f->kind == WM_FIELD_I32 && number != (int32_t)number))
            return bad_word(r, whole, "a number");
        if (f->kind != WM_FIELD_I64 && number < 0) return bad_word(r, whole, "a value of this key");
        wm_field_set(f, &problem->u, number);
        return WM_OK;
    }
    return bad_word(r, whole, "a key of this operation (docs/problems.md lists them)");
}

static int is_word(word w, const char *text) {
    return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

static int split_key(word w, word *key, word *value) {
    const char *equals = memchr(w.text, '=', w.length);
    if (!equals) return 0;
    *key = (word){w.text, (size_t)(equals - w.text)};
    *value = (word){equals + 1, w.length - key->length - 1};
    return 1;
}

static wmStatus read_keys(reader *r, wm_problem *problem) {
    for (word w = next_word(r); w.length; w = next_word(r)) {
        word key, value;
        if (!split_key(w, &key, &value)) return bad_word(r, w, "key=value");
        WM_TRY(set_key(r, problem, w, key, value));
    }
    return WM_OK;
}

static wmStatus read_type(reader *r, wmType *type) {
    word w = next_word(r);
    *type = wm_type_value(w.text, w.length);
    return *type ? WM_OK : bad_word(r, w, "a type (f16 bf16 f32 f64 c64 c128 e4m3 e5m2 i8 ...)");
}

static const char no_functor[] = "a functor of this process: a string does not hold its source";

static wmStatus read_matmul(reader *r, wm_problem *problem) {
    wmType type = WM_TYPE_UNSET;
    int64_t mnk[3];
    WM_TRY(read_type(r, &type));
    word w = next_word(r);
    if (!read_numbers(w, 'x', mnk, 3)) return bad_word(r, w, "MxNxK");
    problem->u.matmul = wmMatmulDescDefault(type, mnk[0], mnk[1], mnk[2]);
    for (w = next_word(r); w.length; w = next_word(r)) {
        word key, value;
        if (!split_key(w, &key, &value)) return bad_word(r, w, "key=value");
        if (!is_word(key, "functor"))
            WM_TRY(set_key(r, problem, w, key, value));
        else if (!wm_functor_find_matmul(value.text, value.length, &problem->u.matmul.functor))
            return bad_word(r, w, no_functor);
    }
    return WM_OK;
}

/* strides=, loops=, batch= and inplace= shape the layout before the other keys are read. */
typedef struct layout_keys {
    word strides, loops;
    int64_t batch;
    wmPlacement placement;
} layout_keys;

static wmStatus read_layout_keys(const reader *from, layout_keys *out) {
    reader r = *from;
    for (word w = next_word(&r); w.length; w = next_word(&r)) {
        word key, value;
        int64_t flag = 0;
        if (!split_key(w, &key, &value)) return bad_word(&r, w, "key=value");
        if (is_word(key, "strides")) out->strides = value;
        if (is_word(key, "loops")) out->loops = value;
        if (is_word(key, "batch") && !read_numbers(value, 0, &out->batch, 1)) return bad_word(&r, w, "a number");
        if (!is_word(key, "inplace")) continue;
        if (!read_numbers(value, 0, &flag, 1) || (flag != 0 && flag != 1)) return bad_word(&r, w, "inplace=0 or 1");
        out->placement = flag ? WM_IN_PLACE : WM_OUT_OF_PLACE;
    }
    return WM_OK;
}

static wmStatus apply_layout(const reader *r, const layout_keys *keys, wmFftDesc *d) {
    if (keys->strides.length && !read_dims(keys->strides, d->dim, d->rank, 0))
        return bad_word(r, keys->strides, "a list in:out, one an axis");
    if (!keys->loops.length) return WM_OK;
    int loops = count_marks(keys->loops, ',') + 1;
    if (loops > WM_FFT_MAX_LOOPS || !read_dims(keys->loops, d->loop, loops, 1))
        return bad_word(r, keys->loops, "a list n:in:out of at most 3 loops");
    d->loops = loops;
    return WM_OK;
}

static wmStatus read_fft(reader *r, wm_problem *problem) {
    word w = next_word(r);
    int kind = wm_word_value(enum_words(WM_FFT, "kind"), w.text, w.length);
    if (kind < 0) return bad_word(r, w, "c2c, r2c or c2r");
    wmType type = WM_TYPE_UNSET;
    WM_TRY(read_type(r, &type));
    w = next_word(r);
    int64_t n[WM_FFT_MAX_RANK] = {0, 0, 0};
    int rank = count_marks(w, 'x') + 1;
    if (rank > WM_FFT_MAX_RANK || !read_numbers(w, 'x', n, rank)) return bad_word(r, w, "N, NxN or NxNxN");
    layout_keys keys = {
        {NULL, 0},
        {NULL, 0},
        1, WM_OUT_OF_PLACE
    };
    WM_TRY(read_layout_keys(r, &keys));
    problem->u.fft = wm_fft_packed((wmFftKind)kind, type, rank, n, keys.batch, keys.placement);
    WM_TRY(apply_layout(r, &keys, &problem->u.fft));
    for (w = next_word(r); w.length; w = next_word(r)) {
        word key, value;
        if (!split_key(w, &key, &value)) return bad_word(r, w, "key=value");
        if (is_word(key, "strides") || is_word(key, "loops") || is_word(key, "batch") || is_word(key, "inplace"))
            continue;
        int load = is_word(key, "load");
        if (!load && !is_word(key, "store")) {
            WM_TRY(set_key(r, problem, w, key, value));
        } else if (!(load ? wm_functor_find_load(value.text, value.length, &problem->u.fft.load)
                          : wm_functor_find_store(value.text, value.length, &problem->u.fft.store))) {
            return bad_word(r, w, no_functor);
        }
    }
    return WM_OK;
}

static wmStatus read_random(reader *r, wm_problem *problem) {
    word w = next_word(r);
    int distribution = wm_word_value(enum_words(WM_RANDOM, "distribution"), w.text, w.length);
    if (distribution < 0) return bad_word(r, w, "bits, uniform or normal");
    wmType type = WM_TYPE_UNSET;
    WM_TRY(read_type(r, &type));
    problem->u.random = wmRandomDescDefault((wmDistribution)distribution, type);
    return read_keys(r, problem);
}

static wmStatus read_convolution(reader *r, wm_problem *problem) {
    wmType type = WM_TYPE_UNSET;
    WM_TRY(read_type(r, &type));
    word w = next_word(r);
    const char *mark = memchr(w.text, '*', w.length);
    word n = {w.text, mark ? (size_t)(mark - w.text) : w.length};
    word taps = {mark ? mark + 1 : w.text, mark ? w.length - n.length - 1 : 0};
    int64_t lengths[2] = {0, 0}, of_taps[2] = {0, 0};
    int rank = count_marks(n, 'x') + 1;
    if (!mark || rank > WM_CONVOLUTION_MAX_RANK || !read_numbers(n, 'x', lengths, rank) ||
        !read_numbers(taps, 'x', of_taps, rank))
        return bad_word(r, w, "N*TAPS or NxN*TAPSxTAPS");
    problem->u.convolution = rank == 2
                                 ? wmConvolutionDescDefault2D(type, lengths[0], lengths[1], of_taps[0], of_taps[1], 1)
                                 : wmConvolutionDescDefault(type, lengths[0], of_taps[0], 1);
    return read_keys(r, problem);
}

wmStatus wm_problem_parse(wm_problem *out, const char *text, wmPlace place) {
    if (!text) return wm_fail(WM_ERR_ARGUMENT, "problem is NULL");
    if (strlen(text) >= WM_PROBLEM_TEXT)
        return wm_fail(WM_ERR_ARGUMENT, "problem has %zu characters, more than %d", strlen(text), WM_PROBLEM_TEXT - 1);
    reader r = {text, text};
    wm_problem raw = {.op = WM_MATMUL};
    word w = next_word(&r);
    if (is_word(w, "matmul")) {
        WM_TRY(read_matmul(&r, &raw));
        return wm_problem_from_matmul(out, &raw.u.matmul, place);
    }
    if (is_word(w, "fft")) {
        raw.op = WM_FFT;
        WM_TRY(read_fft(&r, &raw));
        return wm_problem_from_fft(out, &raw.u.fft, place);
    }
    if (is_word(w, "random")) {
        raw.op = WM_RANDOM;
        WM_TRY(read_random(&r, &raw));
        return wm_problem_from_random(out, &raw.u.random, place);
    }
    if (is_word(w, "convolution")) {
        raw.op = WM_CONVOLUTION;
        WM_TRY(read_convolution(&r, &raw));
        return wm_problem_from_convolution(out, &raw.u.convolution, place);
    }
    return bad_word(&r, w, "matmul, fft, convolution or random");
}
