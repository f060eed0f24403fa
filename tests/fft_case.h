/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transform under test: buffers with guard bands, outputs poisoned with NaNs, gaps checked, and the solver run
 * through its own offer, make, run and drop.
 */
#ifndef WM_TESTS_FFT_CASE_H
#define WM_TESTS_FFT_CASE_H

#include "lib/fields.h"
#include "lib/solver.h"
#include "reference/oracle_fft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FFT_GUARD = 256 };

static uint64_t fft_seed = 20260614;

static inline uint64_t fft_random(void) { /* splitmix64 */
    uint64_t x = fft_seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline int64_t fft_below(int64_t n) {
    return (int64_t)(fft_random() % (uint64_t)n);
}

typedef struct fft_buffer {
    unsigned char *raw, *at;
    size_t bytes;
} fft_buffer;

static inline fft_buffer fft_buffer_new(size_t bytes) {
    fft_buffer b = {aligned_alloc(256, (bytes + 2 * FFT_GUARD + 255) / 256 * 256), NULL, bytes};
    assert_non_null(b.raw);
    memset(b.raw, 0xa5, bytes + 2 * FFT_GUARD);
    b.at = b.raw + FFT_GUARD;
    memset(b.at, 0xff, bytes); /* NaNs */
    return b;
}

static inline void fft_buffer_end(fft_buffer *b) {
    for (size_t i = 0; i < FFT_GUARD; i++) {
        assert_int_equal(b->raw[i], 0xa5);
        assert_int_equal(b->at[b->bytes + i], 0xa5);
    }
    free(b->raw);
}

static inline double fft_get(const void *at, wmType type, int64_t i) {
    return type == WM_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static inline void fft_put(void *at, wmType type, int64_t i, double x) {
    if (type == WM_F64) {
        ((double *)at)[i] = x;
    } else {
        ((float *)at)[i] = (float)x;
    }
}

static inline void fft_fill(const fft_buffer *b, wmType type) {
    int64_t reals = (int64_t)(b->bytes / wmTypeSize(type));
    for (int64_t i = 0; i < reals; i++) fft_put(b->at, type, i, (double)(int64_t)fft_random() * 0x1p-63);
}

static inline int fft_pairs(const wmFftDesc *d, int output) {
    return d->kind == WM_FFT_C2C || (d->kind == WM_FFT_R2C) == output ? 2 : 1;
}

/** A solver made for a problem; state NULL and offered 0 where it refuses. */
typedef struct fft_plan {
    wm_problem problem;
    wm_offer offer;
    const wm_solver *solver;
    wmContext *context;
    void *state;
    int offered;
    char text[WM_PROBLEM_TEXT];
} fft_plan;

static inline fft_plan fft_make(wmContext *context, const wm_solver *solver, const wmFftDesc *desc) {
    fft_plan p = {.solver = solver, .context = context};
    wm_why why = {""};
    if (wm_problem_from_fft(&p.problem, desc, WM_PLACE_CPU) != WM_OK) fail_msg("%s", wmLastError());
    wm_problem_print(&p.problem, p.text, sizeof p.text);
    p.offered = !(wm_problem_features(&p.problem) & ~solver->features) &&
                solver->offer(context, &p.problem, &p.offer, 1, &why) == 1;
    if (p.offered && solver->make(context, &p.problem, &p.offer, &p.state) != WM_OK)
        fail_msg("%s, %s: %s", solver->name, p.text, wmLastError());
    return p;
}

static inline void fft_drop(fft_plan *p) {
    p->solver->drop(p->context, p->state);
}

/** Runs with workspace of exactly the promised size, between bands and full of NaNs. */
static inline void fft_run(const fft_plan *p, const void *in, void *out) {
    fft_buffer workspace = fft_buffer_new(p->offer.workspace);
    wm_args args = {.fft = wmFftArgsDefault(in, out)};
    wm_run run = {p->context, &p->problem, &p->offer, p->state, &args, workspace.at, NULL};
    assert_int_equal(p->solver->run(&run), WM_OK);
    fft_buffer_end(&workspace);
}

static inline size_t fft_bytes(const wmFftDesc *d, int output) {
    return (size_t)wm_fft_span(d, output) * wmTypeSize(wm_fft_side_type(d, output));
}

/** 0.9 u sqrt(log2 N) for smooth lengths, 1.6 with a prime factor above 31; a scale adds its own rounding, and its
 * product's. */
static inline double fft_gate(const wmFftDesc *d) {
    double factor = 0.9, points = (double)wm_fft_points(d);
    for (int i = 0; i < d->rank; i++) {
        int64_t n = d->dim[i].n;
        for (int64_t p = 2; p <= 31; p++)
            while (n % p == 0) n /= p;
        if (n > 1) factor = 1.6;
    }
    double u = d->type == WM_F64 ? 0x1p-53 : 0x1p-24;
    return factor * u * sqrt(log2(points < 2 ? 2 : points)) + (d->scale ? u : 0);
}

/** Visits every output element of every array: its offset on the output side and the value that the oracle wants. */
typedef void (*fft_visit)(void *user, int64_t offset, wm_root want);

static inline void fft_each(const wmFftDesc *d, const void *in, fft_visit visit, void *user) {
    wm_oracle_fft oracle;
    assert_int_equal(wm_oracle_fft_make(&oracle, d), 0);
    wm_root *scratch = malloc((size_t)wm_oracle_fft_scratch(&oracle) * sizeof *scratch);
    assert_non_null(scratch);
    int64_t rounds[3] = {1, 1, 1}, at[3], k[3];
    for (int i = 0; i < d->loops; i++) rounds[i] = d->loop[i].n;
    for (at[0] = 0; at[0] < rounds[0]; at[0]++)
        for (at[1] = 0; at[1] < rounds[1]; at[1]++)
            for (at[2] = 0; at[2] < rounds[2]; at[2]++) {
                const wm_root *want = wm_oracle_fft_array(&oracle, in, at, scratch);
                for (k[0] = 0; k[0] < oracle.out[0]; k[0]++)
                    for (k[1] = 0; k[1] < oracle.out[1]; k[1]++)
                        for (k[2] = 0; k[2] < oracle.out[2]; k[2]++)
                            visit(user, wm_oracle_fft_offset(&oracle, at, k), *want++);
            }
    free(scratch);
    wm_oracle_fft_drop(&oracle);
}

/** Error of a whole result, and which elements of the output side it covers. */
typedef struct fft_judge {
    const wmFftDesc *d;
    const void *out;
    unsigned char *marks;
    double error, size;
} fft_judge;

static inline void fft_judge_one(void *user, int64_t offset, wm_root want) {
    fft_judge *j = user;
    int pairs = fft_pairs(j->d, 1);
    long double re = (long double)fft_get(j->out, j->d->type, offset * pairs) - want.re, im = 0;
    if (pairs == 2) im = (long double)fft_get(j->out, j->d->type, offset * 2 + 1) - want.im;
    j->error += (double)(re * re + im * im);
    j->size += (double)(want.re * want.re) + (pairs == 2 ? (double)(want.im * want.im) : 0);
    j->marks[offset] = 1;
}

/** Runs the plan once on random data and judges everything; gives the L2 error as a fraction of the gate. */
static inline double fft_check(const fft_plan *p) {
    const wmFftDesc *d = &p->problem.u.fft;
    int in_place = d->placement == WM_IN_PLACE;
    size_t in_bytes = fft_bytes(d, 0), out_bytes = fft_bytes(d, 1);
    fft_buffer in = fft_buffer_new(in_place && out_bytes > in_bytes ? out_bytes : in_bytes);
    fft_buffer out = in_place ? in : fft_buffer_new(out_bytes);
    fft_fill(&in, d->type);
    unsigned char *copy = malloc(in.bytes + 1), *marks = calloc((size_t)wm_fft_span(d, 1) + 1, 1);
    assert_true(copy && marks);
    memcpy(copy, in.at, in.bytes);
    fft_run(p, in.at, out.at);
    fft_judge judge = {d, out.at, marks, 0, 0};
    fft_each(d, copy, fft_judge_one, &judge);
    size_t element = wmTypeSize(d->type) * (size_t)fft_pairs(d, 1);
    for (int64_t i = 0; i < wm_fft_span(d, 1) && !(in_place && d->kind == WM_FFT_C2R); i++)
        for (size_t b = 0; !marks[i] && b < element; b++)
            if (out.at[(size_t)i * element + b] != (in_place ? copy[(size_t)i * element + b] : 0xff))
                fail_msg("%s, %s: element %lld lies in a gap and was written", p->solver->name, p->text, (long long)i);
    if (!in_place && !d->allow_input_overwrite) assert_memory_equal(copy, in.at, in.bytes);
    fft_buffer_end(&in);
    if (!in_place) fft_buffer_end(&out);
    free(copy);
    free(marks);
    return sqrt(judge.error / (judge.size > 0 ? judge.size : 1)) / fft_gate(d);
}

/** A CPU context with so many threads, which may use FFTW. */
static inline wmContext *fft_context(int threads) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    options.cpu_threads = threads;
    options.fftw = "libfftw3.so.3";
    options.wisdom_path = "";
    if (wmContextCreate(&context, &options) != WM_OK) fail_msg("%s", wmLastError());
    return context;
}

#endif
