/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own Fourier transform on the CPU: any length, rank, strides and batch loops; the default of the CPU place.
 *
 * A problem is a list of parts, one an axis, each of them all lines along that axis (fft_core.h). A batch of arrays of
 * rank 2 or 3 goes through its parts in chunks of some arrays, so that a chunk is still in the cache when the next part
 * comes to it. Threads share out the chunks, or where these are few the lines of each part, or where these are few the
 * phases of each line.
 *
 * C2R of rank 2 and 3 that must keep its input passes through workspace, as the first axes' results fit neither side.
 */
#include "fft_layout.h"
#include "fft_plan.h"
#include "lib/parallel.h"
#include "lib/solver.h"

#include <stdlib.h>

enum { INPUT, OUTPUT, WORK, PLACES };
enum { CHUNK_POINTS = 4096 };
static const double thread_seconds = 60e-6; /* less work than this is not worth a thread */

typedef struct part {
    wm_fft_axis axis;
    int from, to; /* INPUT, OUTPUT or WORK */
    int chunk_at; /* which of the axis' loops goes over the arrays of a chunk; -1: none */
    int threads;  /* worth using */
    int by_lines; /* threads share out lines, not the phases of a line */
    double seconds;
} part;

typedef struct transform {
    const wm_fft_code *code;
    part parts[WM_FFT_MAX_RANK];
    int count;
    wmFftDim loop[WM_FFT_MAX_LOOPS]; /* over chunks; innermost first, strides in reals */
    int loops;
    int64_t arrays, chunk, items; /* rounds of loop[0], how many of them make a chunk; all chunks */
    int threads;
    int by_items;        /* threads share out chunks */
    wm_fft_sizes own;    /* scratch of each thread */
    wm_fft_sizes common; /* scratch that threads share */
    size_t work, workspace;
    double seconds;
} transform;

/* ---- Planning ---- */

static int64_t side(const wmFftDesc *d, int output) {
    return d->kind == WM_FFT_C2C || (d->kind == WM_FFT_R2C) == output ? 2 : 1; /* reals an element */
}

static wmFftDim in_reals(const wmFftDesc *d, const wmFftDim *dim) {
    wmFftDim loop = {dim->n, dim->in_stride * side(d, 0), dim->out_stride * side(d, 1)};
    return loop;
}

/** Elements along dim `i` of what a part that handles dim `axis` sees: the halved axis is whole only for its own part.
 */
static int64_t extent(const wmFftDesc *d, int i) {
    return d->kind != WM_FFT_C2C && i == d->rank - 1 ? d->dim[i].n / 2 + 1 : d->dim[i].n;
}

/** Strides of a place in reals: of dim i, or of the chunk's arrays for i = -1. The workspace is packed. */
static int64_t stride(const transform *t, const wmFftDesc *d, int place, int i) {
    if (place == INPUT) return i < 0 ? t->loop[0].in_stride : d->dim[i].in_stride * side(d, 0);
    if (place == OUTPUT) return i < 0 ? t->loop[0].out_stride : d->dim[i].out_stride * side(d, 1);
    int64_t packed = 2;
    for (int k = d->rank - 1; k > i; k--) packed *= extent(d, k);
    return packed;
}

static void add_part(transform *t, const wmFftDesc *d, int i, int from, int to) {
    part *p = &t->parts[t->count++];
    wm_fft_axis *axis = &p->axis;
    *p = (part){.from = from, .to = to, .chunk_at = -1};
    axis->kind = i == d->rank - 1 ? d->kind : WM_FFT_C2C;
    axis->inverse = d->direction == WM_INVERSE;
    axis->n = d->dim[i].n;
    axis->in = stride(t, d, from, i);
    axis->out = stride(t, d, to, i);
    axis->scale = 1;
    int loops = 0;
    for (int k = 0; k < d->rank; k++)
        if (k != i) axis->loop[loops++] = (wmFftDim){extent(d, k), stride(t, d, from, k), stride(t, d, to, k)};
    if (d->rank == 1) {
        for (int k = 0; k < t->loops; k++) axis->loop[loops++] = t->loop[k];
        t->loops = 0, t->arrays = 1; /* all of them are lines of this part */
    }
    loops = wm_fft_arrange(axis->loop, loops);
    if (t->loops) {
        /* The arrays of a chunk: innermost where they interleave, else outermost. Never merged, as a chunk may be
         * short. */
        wmFftDim arrays = {t->chunk, stride(t, d, from, -1), stride(t, d, to, -1)};
        p->chunk_at =
            loops && arrays.in_stride + arrays.out_stride >= axis->loop[0].in_stride + axis->loop[0].out_stride ? loops
                                                                                                                : 0;
        for (int k = loops++; k > p->chunk_at; k--) axis->loop[k] = axis->loop[k - 1];
        axis->loop[p->chunk_at] = arrays;
    }
    axis->loops = loops;
    axis->lines = 1;
    for (int k = 0; k < loops; k++) axis->lines *= axis->loop[k].n;
}

/** How many arrays go together: enough points to be worth it, and enough to fill vectors where arrays interleave. */
static int64_t chunk_of(const transform *t, const wmFftDesc *d) {
    int64_t points = 1, least = INT64_MAX;
    for (int i = 0; i < d->rank; i++) {
        points *= d->dim[i].n;
        if (d->dim[i].n > 1 && stride(t, d, INPUT, i) < least) least = stride(t, d, INPUT, i);
    }
    int64_t chunk = CHUNK_POINTS / points, vectors = (int64_t)2 * t->code->lanes;
    if (chunk < 1) chunk = 1;
    if (t->loop[0].in_stride < least && chunk < vectors) chunk = vectors;
    return chunk < t->arrays ? chunk : t->arrays;
}

static void list_parts(transform *t, const wmFftDesc *d) {
    int last = d->rank - 1, at = INPUT;
    int keep = !wm_fft_may_overwrite(d);
    if (d->kind != WM_FFT_C2R) {
        for (int i = last; i >= 0; i--) {
            if (i != last && d->dim[i].n == 1) continue;
            add_part(t, d, i, at, OUTPUT);
            at = OUTPUT;
        }
    } else {
        for (int i = 0; i < last; i++) {
            if (d->dim[i].n == 1) continue;
            add_part(t, d, i, at, keep ? WORK : INPUT);
            at = keep ? WORK : INPUT;
        }
        add_part(t, d, last, at, OUTPUT);
        if (at == WORK) t->work = (size_t)(t->chunk * stride(t, d, WORK, -1)) * t->code->real;
    }
    t->parts[t->count - 1].axis.scale = wm_fft_scale(d);
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

/** Threads, and the scratch that follows from how they share the work. */
static void share_out(transform *t, int threads) {
    t->threads = threads;
    t->by_items = threads > 1 && t->items >= threads;
    for (int i = 0; i < t->count; i++) {
        part *p = &t->parts[i];
        wm_fft_sizes need = wm_fft_axis_sizes(&p->axis, t->code);
        p->by_lines = t->by_items || threads < 2 || p->axis.line.method == WM_LINE_LANES || p->axis.lines >= threads;
        double each = p->by_lines ? p->seconds : p->seconds / (double)p->axis.lines / p->axis.phases;
        p->threads = each / thread_seconds < threads ? (int)(each / thread_seconds) + 1 : threads;
        wm_fft_sizes *lines = p->by_lines ? &t->own : &t->common;
        t->own.lane = most(t->own.lane, need.lane);
        lines->middle = most(lines->middle, need.middle);
        lines->buffer = most(lines->buffer, need.buffer);
    }
    t->work = (t->work + WM_LINE_ALIGN - 1) / WM_LINE_ALIGN * WM_LINE_ALIGN;
    t->workspace = (size_t)threads * (t->own.lane + t->own.middle + t->own.buffer) + t->common.middle +
                   t->common.buffer + (size_t)(t->by_items ? threads : 1) * t->work;
}

static void decide(transform *t, const wmFftDesc *d, int threads) {
    *t = (transform){.code = wm_fft_code_best(d->type == WM_F64 ? 64 : 32), .arrays = 1, .chunk = 1, .items = 1};
    for (; t->loops < d->loops; t->loops++) t->loop[t->loops] = in_reals(d, &d->loop[t->loops]);
    t->loops = wm_fft_arrange(t->loop, t->loops);
    if (t->loops && d->rank > 1) t->arrays = t->loop[0].n, t->chunk = chunk_of(t, d);
    list_parts(t, d);
    if (t->loops) t->items = (t->arrays + t->chunk - 1) / t->chunk;
    for (int i = 1; i < t->loops; i++) t->items *= t->loop[i].n;
    for (int i = 0; i < t->count; i++) {
        part *p = &t->parts[i];
        wm_fft_axis_decide(&p->axis, t->code);
        p->seconds = wm_fft_axis_seconds(&p->axis, t->code);
        t->seconds += p->seconds * (double)t->items;
    }
    if (t->seconds / thread_seconds < threads) threads = (int)(t->seconds / thread_seconds) + 1;
    share_out(t, threads);
    t->seconds /= threads;
}

/* ---- Execution ---- */

typedef struct run_state {
    const transform *t;
    char *place[PLACES];
    char *workspace;
    const part *p; /* the part, line and phase that run_lines and run_units share out */
    const wm_fft_axis *axis;
    void *in, *out;
    int64_t line;
    wm_fft_phase phase;
} run_state;

static wm_fft_scratch scratch_of(const run_state *r, int thread) {
    const transform *t = r->t;
    size_t own = t->own.lane + t->own.middle + t->own.buffer;
    char *at = r->workspace + (size_t)thread * own, *common = r->workspace + (size_t)t->threads * own;
    wm_fft_scratch s = {at, at + t->own.lane, at + t->own.lane + t->own.middle};
    if (r->p && !r->p->by_lines) s.middle = common, s.buffer = common + t->common.middle;
    return s;
}

/** Where chunk number `item` begins on both sides; gives how many arrays it has. */
static int64_t locate_item(const transform *t, int64_t item, int64_t *in, int64_t *out) {
    int64_t segments = (t->arrays + t->chunk - 1) / t->chunk, first = item % segments * t->chunk;
    item /= segments;
    *in = *out = 0;
    for (int i = 0; i < t->loops; i++) {
        int64_t at = i ? item % t->loop[i].n : first;
        if (i) item /= t->loop[i].n;
        *in += at * t->loop[i].in_stride * (int64_t)t->code->real;
        *out += at * t->loop[i].out_stride * (int64_t)t->code->real;
    }
    return t->arrays - first < t->chunk ? t->arrays - first : t->chunk;
}

/** The axis of a part for a chunk of `arrays`: the part's own, or a copy with a shorter loop. */
static const wm_fft_axis *axis_for(const part *p, int64_t arrays, wm_fft_axis *copy) {
    if (p->chunk_at < 0 || p->axis.loop[p->chunk_at].n == arrays) return &p->axis;
    *copy = p->axis;
    copy->lines = copy->lines / copy->loop[p->chunk_at].n * arrays;
    copy->loop[p->chunk_at].n = arrays;
    return copy;
}

static void run_items(void *user, int64_t from, int64_t to, int thread) {
    run_state r = *(const run_state *)user;
    const transform *t = r.t;
    wm_fft_scratch scratch = scratch_of(&r, thread);
    wm_fft_axis copy;
    for (int64_t item = from; item < to; item++) {
        int64_t offset[PLACES] = {0, 0, (int64_t)t->work * thread};
        int64_t arrays = locate_item(t, item, &offset[INPUT], &offset[OUTPUT]);
        for (int i = 0; i < t->count; i++) {
            const part *p = &t->parts[i];
            wm_fft_axis_run(axis_for(p, arrays, &copy), t->code, r.place[p->from] + offset[p->from],
                            r.place[p->to] + offset[p->to], &scratch);
        }
    }
}

static void run_lines(void *user, int64_t from, int64_t to, int thread) {
    const run_state *r = user;
    wm_fft_scratch scratch = scratch_of(r, thread);
    wm_fft_axis_run_part(r->axis, r->t->code, from, to, r->in, r->out, &scratch);
}

static void run_units(void *user, int64_t from, int64_t to, int thread) {
    const run_state *r = user;
    wm_fft_scratch scratch = scratch_of(r, thread);
    r->t->code->run(r->axis, r->phase, r->line, from, to, r->in, r->out, &scratch);
}

/** One part of one chunk, its lines or the phases of each line shared out. */
static void run_part(run_state *r) {
    const wm_fft_code *code = r->t->code;
    const wm_fft_axis *axis = r->axis;
    if (r->p->by_lines) {
        int lanes = axis->line.method == WM_LINE_LANES;
        wm_parallel_for(r->p->threads, lanes ? code->units(axis, WM_PHASE_GROUPS) : axis->lines, 1, run_lines, r);
        return;
    }
    for (r->line = 0; r->line < axis->lines; r->line++)
        for (int i = 0; i < axis->phases; i++) {
            r->phase = axis->phase[i];
            wm_parallel_for(r->p->threads, code->units(axis, r->phase), 1, run_units, r);
        }
}

static wmStatus fft_cpu_run(const wm_run *run) {
    const transform *t = run->state;
    run_state r = {.t = t, .workspace = run->workspace};
    size_t works = (size_t)(t->by_items ? t->threads : 1) * t->work;
    r.place[INPUT] = (char *)(uintptr_t)run->args->fft.in;
    r.place[OUTPUT] = run->args->fft.out;
    r.place[WORK] = r.workspace + t->workspace - works;
    if (t->by_items) {
        wm_parallel_for(t->threads, t->items, 1, run_items, &r);
        return WM_OK;
    }
    wm_fft_axis copy;
    for (int64_t item = 0; item < t->items; item++) {
        int64_t offset[PLACES] = {0};
        int64_t arrays = locate_item(t, item, &offset[INPUT], &offset[OUTPUT]);
        for (int i = 0; i < t->count; i++) {
            r.p = &t->parts[i];
            r.axis = axis_for(r.p, arrays, &copy);
            r.in = r.place[r.p->from] + offset[r.p->from];
            r.out = r.place[r.p->to] + offset[r.p->to];
            run_part(&r);
        }
    }
    return WM_OK;
}

/* ---- The solver ---- */

static int fft_cpu_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)capacity, (void)why;
    transform *t = malloc(sizeof *t);
    if (!t) return wm_refuse(why, "out of memory");
    decide(t, &problem->u.fft, wm_context_threads(context));
    *out = (wm_offer){.seconds = t->seconds, .workspace = t->workspace, .concurrent = 1};
    out->knob[0] = t->threads;
    free(t);
    return 1;
}

static void fft_cpu_drop(wmContext *context, void *state) {
    transform *t = state;
    (void)context;
    for (int i = 0; t && i < t->count; i++) wm_fft_axis_drop(&t->parts[i].axis);
    free(t);
}

static wmStatus fft_cpu_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    transform *t = malloc(sizeof *t);
    int failed = !t;
    if (t) decide(t, &problem->u.fft, offer->knob[0]);
    for (int i = 0; t && !failed && i < t->count; i++) failed = wm_fft_axis_tables(&t->parts[i].axis, t->code);
    if (failed) {
        fft_cpu_drop(context, t);
        return wm_fail(WM_ERR_MEMORY, "out of memory for the tables of a transform of %lld points",
                       (long long)problem->u.fft.dim[problem->u.fft.rank - 1].n);
    }
    *state = t;
    return WM_OK;
}

const wm_solver wm_fft_cpu = {
    .name = "fft_cpu",
    .op = WM_FFT,
    .place = WM_PLACE_CPU,
    .origin = WM_OURS,
    .version = 1,
    .features = WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_RANK2 |
                WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED | WM_FFT_UNALIGNED,
    .knobs = {"threads", NULL},
    .offer = fft_cpu_offer,
    .make = fft_cpu_make,
    .run = fft_cpu_run,
    .drop = fft_cpu_drop,
};
