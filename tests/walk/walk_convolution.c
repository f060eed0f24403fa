/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions: filters prepared by the solver, each array against the sum in long double, gaps untouched. */
#include "walk.h"

#include "lib/convolution.h"
#include "reference/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const walk_convolution_problems[] = {
    "convolution f32 1000*31 batch=5",
    "convolution f32 1000*31 mode=same",
    "convolution f32 500*64 batch=4 mode=valid correlate=1",
    "convolution f32 4096*33 batch=3 mode=causal",
    "convolution f32 1024*1024 batch=4 mode=circular",
    "convolution f32 360*7 batch=3 mode=circular correlate=1",
    "convolution f32 97*5 batch=2 mode=circular",
    "convolution f32 1000*31 batch=3 in_stride=1010 out_stride=1100",
    "convolution f32 20000*999",
    "convolution f32 3*2 batch=9",
    "convolution f32 1*1",
    "convolution f32 15*40 mode=same align=4",
    "convolution c64 300*45 batch=3 filters=3",
    "convolution c64 777*20 mode=same correlate=1",
    "convolution c64 128*9 batch=20 mode=circular correlate=1 filters=20",
    "convolution c64 64*3 batch=0",
    "convolution f64 600*50 batch=3 filters=3",
    "convolution f64 500*13 batch=2 mode=causal correlate=1",
    "convolution c128 256*17 mode=circular",
    "convolution c128 100*101 batch=2 mode=full",
    "convolution f32 40x50*3x5 batch=2 mode=same",
    "convolution f32 32x64*5x7 batch=2 mode=circular correlate=1",
    "convolution c64 20x30*4x4 correlate=1",
    "convolution c64 12x16*3x2 batch=3 filters=3",
    "convolution f64 33x21*3x2 mode=valid",
    "convolution c128 64x64*64x64 mode=circular",
    "convolution f32 17x40*9x13 batch=2 in_stride=700 out_stride=1400",
    "convolution c128 20x12*7x5 batch=2 filters=2 mode=causal",
    "convolution f32 30x20*30x20 mode=valid",
    NULL,
};

typedef struct value {
    long double re, im;
} value;

static value get(const wmConvolutionDesc *d, const unsigned char *x, int64_t at) {
    wm_number v = wm_number_load(d->type, x, at);
    return (value){v.re, v.im};
}

/* Rows and columns of a desc of either rank. */
typedef struct plane {
    int64_t n[2], taps[2], results[2], first[2];
} plane;

static plane plane_of(const wmConvolutionDesc *d) {
    plane p = {
        {1, 1},
        {1, 1},
        {1, 1},
        {0, 0}
    };
    for (int axis = 0; axis < d->rank; axis++) {
        int at = axis + 2 - d->rank;
        p.n[at] = d->n[axis], p.taps[at] = d->taps[axis];
        p.results[at] = wmConvolutionResults(d, axis), p.first[at] = wm_convolution_first(d, axis);
    }
    return p;
}

/* Where tap t of an axis takes result i of the FULL ones (or of the circle) from; -1: a zero. */
static int64_t source(const wmConvolutionDesc *d, int64_t n, int64_t taps, int64_t i, int64_t t) {
    if (d->mode == WM_CONVOLUTION_CIRCULAR) return ((d->correlate ? i + t : i - t) % n + n) % n;
    int64_t at = d->correlate ? i - (taps - 1) + t : i - t;
    return at < 0 || at >= n ? -1 : at;
}

static value result(const wmConvolutionDesc *d, const plane *p, const unsigned char *x, const unsigned char *f,
                    int64_t i, int64_t j) {
    value sum = {0, 0};
    for (int64_t a = 0; a < p->taps[0]; a++)
        for (int64_t b = 0; b < p->taps[1]; b++) {
            int64_t row = source(d, p->n[0], p->taps[0], i, a), column = source(d, p->n[1], p->taps[1], j, b);
            if (row < 0 || column < 0) continue;
            value u = get(d, x, row * p->n[1] + column), v = get(d, f, a * p->taps[1] + b);
            if (d->correlate) v.im = -v.im;
            sum.re += u.re * v.re - u.im * v.im;
            sum.im += u.re * v.im + u.im * v.re;
        }
    return sum;
}

static long double norm(const wmConvolutionDesc *d, const unsigned char *x, int64_t elements) {
    long double sum = 0;
    for (int64_t i = 0; i < elements; i++) {
        value v = get(d, x, i);
        sum += v.re * v.re + v.im * v.im;
    }
    return sqrtl(sum);
}

/* The L2 error of two transforms, 1.6 u sqrt(log2 N) of the norms that are multiplied, each. */
static void judge(walk *w, const unsigned char *in, const unsigned char *taps, const unsigned char *out,
                  unsigned char *marks) {
    const wmConvolutionDesc *d = &w->problem->u.convolution;
    plane p = plane_of(d);
    size_t element = wmTypeSize(d->type);
    long double u = wm_convolution_is_f64(d) ? 0x1p-53L : 0x1p-24L;
    for (int64_t array = 0; array < d->batch; array++) {
        const unsigned char *x = in + (size_t)(array * d->in_stride) * element;
        const unsigned char *y = out + (size_t)(array * d->out_stride) * element;
        const unsigned char *f = taps + (size_t)(d->filters == 1 ? 0 : array * p.taps[0] * p.taps[1]) * element;
        long double error = 0, size = norm(d, x, p.n[0] * p.n[1]) * norm(d, f, p.taps[0] * p.taps[1]);
        for (int64_t at = 0; at < p.results[0] * p.results[1]; at++) {
            int64_t i = at / p.results[1] + p.first[0], j = at % p.results[1] + p.first[1];
            value want = result(d, &p, x, f, i, j), got = get(d, y, at);
            error += (got.re - want.re) * (got.re - want.re) + (got.im - want.im) * (got.im - want.im);
            marks[array * d->out_stride + at] = 1;
        }
        long double gate = 3.2L * u * (sqrtl(log2l((long double)wm_convolution_points(d) + 1)) + 1) * size;
        double relative = (double)(sqrtl(error) / gate);
        if (relative > w->worst) w->worst = relative;
        if (!(relative <= 1)) walk_fail(w, "array %lld: L2 error is %.3g of its gate", (long long)array, relative);
    }
}

typedef struct buffers {
    walk_buffer in, taps, filter, out;
} buffers;

static int prepare(walk *w, buffers *b) {
    wm_args args = {.convolution = wmConvolutionArgsDefault(b->taps.device, NULL, b->filter.device)};
    if (!walk_run(w, &args)) return 0;
    walk_receive(w, &b->filter); /* looks at the bands */
    return 1;
}

static void runs(walk *w, buffers *b) {
    const wmConvolutionDesc *d = &w->problem->u.convolution;
    int64_t span = wm_convolution_span(d, 1);
    unsigned char *poison = malloc(b->out.bytes + 1), *first = malloc(b->out.bytes + 1),
                  *marks = calloc((size_t)span + 1, 1);
    unsigned char *input = malloc(b->in.bytes + 1);
    if (poison && first && marks && input && prepare(w, b)) {
        memset(poison, 0xff, b->out.bytes);
        memcpy(input, b->in.host, b->in.bytes);
        for (int round = 0; round < 3; round++) {
            memcpy(b->out.host, poison, b->out.bytes);
            walk_send(w, &b->out);
            wm_args args = {.convolution = wmConvolutionArgsDefault(b->in.device, b->filter.device, b->out.device)};
            if (!walk_run(w, &args)) break;
            walk_receive(w, &b->out);
            if (round && memcmp(first, b->out.host, b->out.bytes) != 0)
                walk_fail(w, "run %d gave other bits", round + 1);
            memcpy(first, b->out.host, b->out.bytes);
        }
        judge(w, input, b->taps.host, b->out.host, marks);
        walk_untouched(w, poison, b->out.host, marks, span, wmTypeSize(d->type), "out");
        walk_receive(w, &b->in);
        if (memcmp(input, b->in.host, b->in.bytes) != 0) walk_fail(w, "the input was overwritten");
    }
    free(poison);
    free(first);
    free(marks);
    free(input);
}

void walk_convolution(walk *w) {
    const wmConvolutionDesc *d = &w->problem->u.convolution;
    if (d->batch == 0) return; /* never reaches a solver */
    plane p = plane_of(d);
    size_t element = wmTypeSize(d->type), shift = d->align < 256 ? (size_t)d->align : 0;
    int64_t in = wm_convolution_span(d, 0), taps = d->filters * p.taps[0] * p.taps[1];
    size_t filter = (size_t)(d->filters * wm_convolution_spectrum(d)) * wmTypeSize(wm_convolution_spectrum_type(d));
    buffers b = {walk_new(w, (size_t)in * element, shift), walk_new(w, (size_t)taps * element, shift),
                 walk_new(w, filter, 0), walk_new(w, (size_t)wm_convolution_span(d, 1) * element, shift)};
    if (b.in.device && b.taps.device && b.filter.device && b.out.device) {
        walk_fill(w, &b.in, d->type, in);
        walk_fill(w, &b.taps, d->type, taps);
        runs(w, &b);
    }
    walk_free(w, &b.in);
    walk_free(w, &b.taps);
    walk_free(w, &b.filter);
    walk_free(w, &b.out);
}
