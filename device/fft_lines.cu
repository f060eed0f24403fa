/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C2C transforms of powers of two in several passes over memory, f32 and f64, any strides and loops: one pass an axis
 * for rank 2 and 3, two or three for lines of 2^12 to 2^25 points:
 *
 *     N = A B    columns of length A, stride B   →   times exp(-2 pi i j k / N)   →   rows of length B, stored
 * transposed N = A B C  the same, whose rows of B C are transformed in two passes themselves
 *
 * Every pass is the same kernel (fft_lines.cuh): a block takes 2 to 32 neighbouring lines of 64 to 4096 points, so that
 * both sides of a pass are read and written in whole sectors, and the transposition costs nothing of its own. Passes of
 * a long line go through workspace, as large as the data; passes of an axis work in place in the output. Of all ways to
 * split a line the one is taken whose passes are fastest by the rates below.
 *
 * Refuses: axes that are no power of two from 64 to 4096 (f64: 2048), real transforms.
 * Floor: a read and a write of the data for each pass. Measured on an H200 on 2026-11-30, fraction of the 4.15 TB/s
 * copy that a pass of f32 reaches, 64 … 4096 points: columns 0.95 0.95 0.92 0.74 0.66 0.51 0.43, rows to columns 0.93
 * 0.91 0.91 0.90 0.82 0.70 0.66. Long lines leave too few blocks an SM, and fewer than 16 neighbours (128 bytes) cost
 * memory a tenth. perf/results/h200/fft_big.csv has more. Working off a batch in chunks whose workspace stays in
 * L2 was slower (0.63 to 0.76 of cuFFT's speed): launches and tails cost more than L2 gave.
 * Source of the idea: the four-step transform (Bailey, "FFTs in external or hierarchical memory", 1990).
 */
#include "device/fft_lines.cuh"
#include "host/fft_rates.h"
#include "reference/fft_layout.h"
#include "reference/fft_roots.h"
#include "lib/solver.h"

#include <stdlib.h>

/* ---- Kernels: V lines of L points, E a thread, so many blocks an SM ---- */

template <int L, int V, int E, int RESIDENT, class C>
__global__ void __launch_bounds__(V *L / E, RESIDENT) wm_fft_lines_kernel(WM_PARAMS(wm_fft_lines_job)) {
    wm_fft_lines_pass<L, V, E, C>(p);
}

typedef struct variant {
    int f64, length, lines, points, shared;
    const void *kernel;
} variant;

template <int L, int V, int E, int RESIDENT, class C>
static constexpr variant variant_of(void) {
    return {sizeof(C) == 16,
            L,
            V,
            E,
            wm_fft_lines_shared(L, E, V, (int)sizeof(C)),
            (const void *)wm_fft_lines_kernel<L, V, E, RESIDENT, C>};
}

static const variant variants[] = {
    variant_of<64, 32, 8, 3, wmC64>(),    variant_of<128, 32, 16, 3, wmC64>(), variant_of<256, 16, 16, 3, wmC64>(),
    variant_of<512, 8, 16, 3, wmC64>(),   variant_of<1024, 8, 32, 2, wmC64>(), variant_of<2048, 8, 32, 1, wmC64>(),
    variant_of<4096, 4, 32, 1, wmC64>(),  variant_of<64, 32, 16, 3, wmC128>(), variant_of<128, 16, 16, 3, wmC128>(),
    variant_of<256, 8, 16, 4, wmC128>(),  variant_of<512, 8, 16, 2, wmC128>(), variant_of<1024, 4, 16, 2, wmC128>(),
    variant_of<2048, 2, 16, 2, wmC128>(),
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static const variant *variant_for(wmType type, int64_t length) {
    for (int i = 0; i < VARIANTS; i++)
        if (variants[i].length == length && variants[i].f64 == (type == WM_F64)) return &variants[i];
    return nullptr;
}

/* ---- From a problem to its passes ---- */

enum { MOST_STEPS = 3, MOST_BLOCKS = 0x3fffffff };
typedef enum place { INPUT, OUTPUT, WORK } place;

typedef struct pass {
    const variant *v;
    wm_fft_lines_job job;
    place from, to;
    int64_t roots; /* N of its factors; 0: none */
} pass;

typedef struct passes {
    pass step[MOST_STEPS];
    int steps;
    int64_t points;
    size_t work; /* bytes */
} passes;

/** One axis of a pass. */
typedef struct axis {
    int64_t n, in, out;
} axis;

static void add_loop(wm_fft_lines_job *job, axis a) {
    if (a.n == 1) return;
    job->loop_n[job->loops] = a.n;
    job->loop_in[job->loops] = a.in;
    job->loop_out[job->loops++] = a.out;
}

/** A pass along `along`, `next` being the neighbouring lines. */
static pass *add_step(passes *p, wmType type, axis along, axis next, place from, place to) {
    pass *s = &p->step[p->steps++];
    *s = pass{};
    s->v = variant_for(type, along.n);
    s->from = from;
    s->to = to;
    s->job.in_stride = along.in;
    s->job.out_stride = along.out;
    s->job.in_next = next.in;
    s->job.out_next = next.out;
    s->job.lines = next.n;
    s->job.in_lanes = next.in < along.in;
    s->job.out_lanes = next.out < along.out;
    s->job.sign_in = s->job.sign_out = s->job.scale = 1;
    return s;
}

/** Lengths of the passes of a long line, 0 behind the last one. */
typedef struct way {
    int64_t length[MOST_STEPS];
    double rounds;
} way;

/** Time of a pass, in reads and writes of the data at full bandwidth; 0: no kernel has this length. */
static double rounds_of(wmType type, int64_t length, int rows) {
    return variant_for(type, length) ? 1 / wm_fft_lines_fraction(type, length, rows) : 0;
}

/** The fastest way to make n of `passes` lengths; gives its time, 0 if there is none. */
static double split_in(wmType type, int64_t n, int passes, int64_t *length) {
    double best = 0;
    if (passes == 1) {
        *length = n;
        return rounds_of(type, n, 1);
    }
    for (int i = 0; i < VARIANTS; i++) {
        int64_t first = variants[i].length, rest[MOST_STEPS] = {};
        if (variants[i].f64 != (type == WM_F64) || n % first) continue;
        double here = rounds_of(type, first, 0), later = split_in(type, n / first, passes - 1, rest);
        if (later == 0 || (best > 0 && here + later >= best)) continue;
        best = here + later;
        length[0] = first;
        for (int k = 1; k < passes; k++) length[k] = rest[k - 1];
    }
    return best;
}

/** Ways to split a long line, the fastest of two and of three passes, that one first which is faster; their number. */
static int ways_of(wmType type, int64_t n, way out[2]) {
    int count = 0;
    if (n < 4096 || n > wm_fft_lines_most(type) || (n & (n - 1))) return 0;
    for (int passes = 2; passes <= MOST_STEPS; passes++) {
        way w = {};
        w.rounds = split_in(type, n, passes, w.length);
        if (w.rounds > 0) out[count++] = w;
    }
    if (count == 2 && out[1].rounds < out[0].rounds) {
        way slower = out[0];
        out[0] = out[1];
        out[1] = slower;
    }
    return count;
}

/** The batch of loops, with what it is on the side of the workspace. */
static void add_batch(pass *s, const wmFftDim *loop, int loops, int64_t points) {
    int64_t distance = points;
    for (int i = 0; i < loops; i++) {
        axis a = {loop[i].n,
                  s->from == WORK    ? distance
                  : s->from == INPUT ? loop[i].in_stride
                                     : loop[i].out_stride,
                  s->to == WORK ? distance : loop[i].out_stride};
        distance *= loop[i].n;
        add_loop(&s->job, a);
    }
}

static void long_line(passes *p, const wmFftDesc *d, const int64_t *length) {
    int64_t is = d->dim[0].in_stride, os = d->dim[0].out_stride, a = length[0], b = length[1],
            c = length[2] ? length[2] : 1;
    pass *s = add_step(p, d->type, axis{a, b * c * is, b * c}, axis{b * c, is, 1}, INPUT, WORK);
    s->roots = a * b * c;
    if (c == 1) {
        add_step(p, d->type, axis{b, 1, a * os}, axis{a, b, os}, WORK, OUTPUT);
        return;
    }
    s = add_step(p, d->type, axis{b, c, c}, axis{c, 1, 1}, WORK, WORK);
    s->roots = b * c;
    add_loop(&s->job, axis{a, b * c, b * c});
    s = add_step(p, d->type, axis{c, 1, a * b * os}, axis{a, b * c, os}, WORK, OUTPUT);
    add_loop(&s->job, axis{b, c, a * os});
}

/** A pass an axis, the last axis first, from where on all happens in the output. */
static void box(passes *p, const wmFftDesc *d) {
    for (int i = d->rank - 1; i >= 0; i--) {
        int first = i == d->rank - 1, next = first ? i - 1 : d->rank - 1;
        axis a[WM_FFT_MAX_RANK];
        for (int k = 0; k < d->rank; k++)
            a[k] = axis{d->dim[k].n, first ? d->dim[k].in_stride : d->dim[k].out_stride, d->dim[k].out_stride};
        pass *s = add_step(p, d->type, a[i], a[next], first ? INPUT : OUTPUT, OUTPUT);
        for (int k = 0; k < d->rank; k++)
            if (k != i && k != next) add_loop(&s->job, a[k]);
    }
}

static wm_i64 blocks_of(const pass *s) {
    wm_i64 blocks = (s->job.lines + s->v->lines - 1) / s->v->lines;
    for (int i = 0; i < s->job.loops; i++) blocks *= s->job.loop_n[i];
    return blocks;
}

/** Whether all axes of a plane or box have kernels. */
static int has_axes(const wmFftDesc *d, wm_why *why) {
    for (int i = 0; i < d->rank; i++)
        if (!variant_for(d->type, d->dim[i].n))
            return wm_refuse(why, "an axis of %lld is no power of two from 64 to %d", (long long)d->dim[i].n,
                             d->type == WM_F64 ? 2048 : 4096);
    return 1;
}

/** The passes of a problem; a line is split as `length` says. */
static int passes_of(const wmFftDesc *d, const int64_t *length, passes *p, wm_why *why) {
    int element = d->type == WM_F64 ? 16 : 8;
    *p = passes{};
    if (d->rank == 1) {
        long_line(p, d, length);
    } else {
        box(p, d);
    }
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    int loops = wm_fft_arrange(loop, d->loops);
    p->points = 1;
    for (int i = 0; i < d->rank; i++) p->points *= d->dim[i].n;
    int64_t batch = 1;
    for (int i = 0; i < loops; i++) batch *= loop[i].n;
    if (d->rank == 1) p->work = (size_t)(batch * p->points * element);
    for (int i = 0; i < p->steps; i++) add_batch(&p->step[i], loop, loops, p->points);
    p->step[0].job.sign_in = p->step[p->steps - 1].job.sign_out = d->direction == WM_INVERSE ? -1 : 1;
    p->step[p->steps - 1].job.scale = wm_fft_scale(d);
    for (int i = 0; i < p->steps; i++)
        if (blocks_of(&p->step[i]) > MOST_BLOCKS) return wm_refuse(why, "more blocks than one grid has");
    return 1;
}

/* ---- The solver ---- */

typedef struct launch_state {
    passes all;
    void *table[MOST_STEPS]; /* of factors between passes */
    size_t table_bytes[MOST_STEPS];
} launch_state;

/** A fraction of the bandwidth for each pass, measured. */
static double seconds_of(wmContext *context, const wm_problem *problem, const passes *p) {
    double bytes = wm_problem_cost(problem).bytes, speed = wm_context_bandwidth(context), seconds = 2e-6;
    for (int i = 0; i < p->steps; i++) {
        const pass *s = &p->step[i];
        seconds += 2e-6 + bytes * rounds_of(problem->u.fft.type, s->v->length, !s->job.in_lanes) / speed;
    }
    return seconds;
}

static int fft_lines_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    way ways[2] = {};
    int count = d->rank == 1 ? ways_of(d->type, d->dim[0].n, ways) : has_axes(d, why), given = 0;
    if (!count && d->rank == 1)
        return wm_refuse(why, "n = %lld is no power of two from 2^12 on that has passes", (long long)d->dim[0].n);
    for (int i = 0; i < count && given < capacity; i++) {
        passes p;
        if (!passes_of(d, ways[i].length, &p, why)) continue;
        wm_offer offer = {};
        offer.seconds = seconds_of(context, problem, &p);
        offer.workspace = p.work;
        for (int k = 0; k < MOST_STEPS; k++) offer.knob[k] = (int)ways[i].length[k];
        offer.capturable = offer.concurrent = 1;
        out[given++] = offer;
    }
    return given;
}

static int log2_of(int64_t n) {
    int bits = 0;
    while ((int64_t)1 << (bits + 1) <= n) bits++;
    return bits;
}

/** Two levels of roots of n in f64. */
static wmStatus make_table(wmContext *context, launch_state *s, int number) {
    pass *step = &s->all.step[number];
    int shift = (log2_of(step->roots) + 1) / 2;
    int64_t lows = (int64_t)1 << shift, highs = step->roots >> shift;
    s->table_bytes[number] = (size_t)(lows + highs) * sizeof(wmC128);
    wmC128 *table = static_cast<wmC128 *>(malloc(s->table_bytes[number]));
    if (!table) return wm_fail(WM_ERR_MEMORY, "out of memory for the roots of a plan");
    for (int64_t i = 0; i < lows + highs; i++) {
        wm_root root = wm_root_of(i < lows ? i : (i - lows) << shift, step->roots);
        table[i] = wmC128{(double)root.re, (double)root.im};
    }
    wmStatus status = wm_context_upload(context, &s->table[number], table, s->table_bytes[number]);
    free(table);
    step->job.low = static_cast<const wmC128 *>(s->table[number]);
    step->job.high = step->job.low + lows;
    step->job.shift = shift;
    step->job.mask = (wm_u32)(step->roots - 1);
    return status;
}

static wmStatus fft_lines_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const int64_t length[MOST_STEPS] = {offer->knob[0], offer->knob[1], offer->knob[2]};
    launch_state *s = static_cast<launch_state *>(calloc(1, sizeof(launch_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    if (!passes_of(&problem->u.fft, length, &s->all, nullptr)) return wm_fail(WM_ERR_UNSUPPORTED, "no such passes");
    for (int i = 0; i < s->all.steps; i++) {
        const variant *v = s->all.step[i].v;
        WM_TRY(wm_prepare_kernel(context, "fft_lines", v->kernel, (size_t)v->shared));
        if (s->all.step[i].roots) WM_TRY(make_table(context, s, i));
    }
    return WM_OK;
}

static wmStatus launch(const wm_run *run, const pass *s) {
    wm_fft_lines_job job = s->job;
    const void *in[] = {run->args->fft.in, run->args->fft.out, run->workspace};
    job.in = in[s->from];
    job.out = s->to == OUTPUT ? run->args->fft.out : run->workspace;
    wm_launch l = {};
    l.kernel = s->v->kernel;
    l.grid.x = (unsigned)blocks_of(s);
    l.block.x = (unsigned)(s->v->lines * s->v->length / s->v->points);
    l.grid.y = l.grid.z = l.block.y = l.block.z = 1;
    l.shared = (size_t)s->v->shared;
    l.params = &job;
    l.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "fft_lines", &l, run->stream);
}

static wmStatus fft_lines_run(const wm_run *run) {
    const passes *p = &static_cast<const launch_state *>(run->state)->all;
    for (int i = 0; i < p->steps; i++) WM_TRY(launch(run, &p->step[i]));
    return WM_OK;
}

static void fft_lines_drop(wmContext *context, void *state) {
    launch_state *s = static_cast<launch_state *>(state);
    for (int i = 0; s && i < MOST_STEPS; i++) wm_context_free(context, s->table[i], s->table_bytes[i]);
    free(s);
}

extern "C" const wm_solver wm_fft_lines = {
    "fft_lines",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_RANK2 | WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED |
        WM_FFT_IN_PLACE | WM_FFT_SCALED,
    {"first", "second", "third", nullptr},
    fft_lines_offer,
    fft_lines_make,
    fft_lines_run,
    fft_lines_drop,
};
