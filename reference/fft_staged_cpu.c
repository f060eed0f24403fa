/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of f16 and bf16, and between functors, on the CPU: f32 (f64) inside, by the solver that is fastest there.
 */
#include "host/fft_stages.h"
#include "lib/parallel.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 8192 }; /* elements that are worth a thread */

typedef wmFftPair (*load_function)(const void *in, int64_t index, int64_t position, const void *user);
typedef void (*store_function)(void *out, int64_t index, int64_t position, wmFftPair value, const void *user);

/** `count` reals of 16 bits, consecutive on both sides. */
static void convert(const wm_fft_stage *s, int64_t callers, int64_t packed, int64_t count) {
    wmType type = s->stored == WM_FFT_STORED_F16 ? WM_F16 : WM_BF16;
    if (s->is_store)
        wm_numbers_from_f32(type, (const float *)s->from + packed, (uint16_t *)s->to + callers, count);
    else
        wm_numbers_to_f32(type, (const uint16_t *)s->from + callers, (float *)s->to + packed, count);
}

static void do_load(const wm_fft_stage *s, wm_fft_spot at) {
    load_function load;
    memcpy(&load, &s->host, sizeof load);
    wmFftPair v = load(s->from, at.callers, at.position, s->user);
    int64_t to = at.packed * s->reals;
    if (s->f64)
        ((double *)s->to)[to] = v.re;
    else
        ((float *)s->to)[to] = (float)v.re;
    if (s->reals == 1) return;
    if (s->f64)
        ((double *)s->to)[to + 1] = v.im;
    else
        ((float *)s->to)[to + 1] = (float)v.im;
}

static void do_store(const wm_fft_stage *s, wm_fft_spot at) {
    store_function store;
    memcpy(&store, &s->host, sizeof store);
    int64_t from = at.packed * s->reals;
    wmFftPair v = {s->f64 ? ((const double *)s->from)[from] : (double)((const float *)s->from)[from], 0};
    if (s->reals == 2) v.im = s->f64 ? ((const double *)s->from)[from + 1] : (double)((const float *)s->from)[from + 1];
    store(s->to, at.callers, at.position, v, s->user);
}

/** One run along the innermost dimension. */
static void do_row(const wm_fft_stage *s, int64_t row) {
    wm_fft_spot at = {0, 0, 0};
    int64_t n = s->dims ? s->n[0] : 1;
    for (int k = 1; k < s->dims; k++) {
        int64_t index = row % s->n[k];
        row /= s->n[k];
        at.callers += index * s->callers[k];
        at.packed += index * s->packed[k];
        at.position += index * s->weight[k];
    }
    int functor = s->stored == WM_FFT_STORED_BY_FUNCTOR;
    if (!functor && (n == 1 || (s->callers[0] == 1 && s->packed[0] == 1))) {
        convert(s, at.callers * s->reals, at.packed * s->reals, n * s->reals);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!functor)
            convert(s, at.callers * s->reals, at.packed * s->reals, s->reals);
        else if (s->is_store)
            do_store(s, at);
        else
            do_load(s, at);
        if (!s->dims) return;
        at.callers += s->callers[0], at.packed += s->packed[0], at.position += s->weight[0];
    }
}

static void do_rows(void *user, int64_t from, int64_t to, int thread) {
    (void)thread;
    for (int64_t row = from; row < to; row++) do_row(user, row);
}

static wmStatus do_stage(const wm_run *run, const wm_fft_stage *stage) {
    wm_fft_stage s = *stage;
    int64_t n = s.dims ? s.n[0] : 1;
    wm_parallel_for(wm_context_threads(run->context), s.count / n, GRAIN / n + 1, do_rows, &s);
    return WM_OK;
}

static int fft_staged_cpu_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity,
                                wm_why *why) {
    wm_fft_stages s;
    (void)capacity;
    return wm_fft_stages_offer(context, problem, &s, out, why);
}

static wmStatus fft_staged_cpu_make(wmContext *context, const wm_problem *problem, const wm_offer *offer,
                                    void **state) {
    wm_fft_stages *s = calloc(1, sizeof *s);
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    return wm_fft_stages_make(context, problem, offer, s);
}

static wmStatus fft_staged_cpu_run(const wm_run *run) {
    return wm_fft_stages_run(run, run->state, do_stage);
}

static void fft_staged_cpu_drop(wmContext *context, void *state) {
    if (state) wm_fft_stages_drop(context, state);
    free(state);
}

const wm_solver wm_fft_staged_cpu = {
    .name = "fft_staged_cpu",
    .op = WM_FFT,
    .place = WM_PLACE_CPU,
    .origin = WM_OURS,
    .version = 1,
    .features = WM_FFT_F32 | WM_FFT_F64 | WM_FFT_F16 | WM_FFT_BF16 | WM_FFT_LOAD | WM_FFT_STORE | WM_FFT_COMPLEX |
                WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_RANK2 | WM_FFT_RANK3 | WM_FFT_LOOPS |
                WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED | WM_FFT_UNALIGNED,
    .knobs = {NULL},
    .offer = fft_staged_cpu_offer,
    .make = fft_staged_cpu_make,
    .run = fft_staged_cpu_run,
    .drop = fft_staged_cpu_drop,
};
