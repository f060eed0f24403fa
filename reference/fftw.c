/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FFTW (or any library of its ABI) through the guru interface, loaded only where the context allows it, as it is GPL.
 * No header of it is needed. What its threads are set to is never touched: one thread plans and executes.
 *
 * Its planner is not thread-safe, hence the lock; executing a plan on other arrays is. It cannot keep the input of a
 * C2R transform of rank 2 or 3, so the input is copied to workspace first.
 */
#include "fft_layout.h"
#include "lib/solver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FFTW_DESTROY_INPUT = 1, FFTW_UNALIGNED = 2, FFTW_PRESERVE_INPUT = 16, FFTW_ESTIMATE = 64 };
enum { ESTIMATED = 0, MEASURED = 1 }; /* the knob "rigor" */

static const double flops_a_second[2] = {7e9, 14e9}; /* f64, f32, on one core */
static const double measured_points = 1 << 22;       /* larger problems take too long to measure */

typedef struct iodim {
    ptrdiff_t n, is, os;
} iodim;

typedef void *(*plan_function)(int rank, const iodim *dims, int loops, const iodim *loop, void *in, void *out, int sign,
                               unsigned flags);
typedef void *(*plan_real_function)(int rank, const iodim *dims, int loops, const iodim *loop, void *in, void *out,
                                    unsigned flags);

typedef struct fftw_state {
    void *library;
    void *plan;
    void (*execute)(const void *plan, void *in, void *out);
    void (*destroy)(void *plan);
    int copies; /* the input, to workspace */
} fftw_state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *symbol(void *library, int single, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", single ? "fftwf_" : "fftw_", name);
    return dlsym(library, full);
}

static int must_copy(const wmFftDesc *d) {
    return d->kind == WM_FFT_C2R && d->rank > 1 && !wm_fft_may_overwrite(d);
}

static size_t input_element(const wmFftDesc *d) {
    return wmTypeSize(d->type) * (d->kind == WM_FFT_R2C ? 1 : 2);
}

static int fftw_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    const char *reason = NULL;
    if (!wm_context_fftw(context, d->type == WM_F32, &reason)) return wm_refuse(why, "%s", reason);
    wm_cost cost = wm_problem_cost(problem);
    wm_offer offer = {.concurrent = 1};
    offer.seconds =
        100e-9 + cost.flops / flops_a_second[d->type == WM_F32] + cost.bytes / wm_context_bandwidth(context);
    if (must_copy(d)) offer.workspace = (size_t)wm_fft_input_elements(d) * input_element(d);
    out[0] = offer;
    if (capacity < 2 || cost.bytes / (double)wmTypeSize(d->type) > 4 * measured_points) return 1;
    offer.knob[0] = MEASURED;
    offer.seconds *= 1.001; /* without a measurement of ours the quick plan wins */
    out[1] = offer;
    return 2;
}

static void fftw_drop(wmContext *context, void *data) {
    fftw_state *state = data;
    (void)context;
    if (state && state->plan) {
        pthread_mutex_lock(&lock);
        state->destroy(state->plan);
        pthread_mutex_unlock(&lock);
    }
    free(state);
}

/** Plans on arrays that are only written where FFTW measures. */
static void *plan_on(const fftw_state *state, const wmFftDesc *d, void *in, void *out, unsigned flags) {
    iodim dim[WM_FFT_MAX_RANK], loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->rank; i++) dim[i] = (iodim){d->dim[i].n, d->dim[i].in_stride, d->dim[i].out_stride};
    for (int i = 0; i < d->loops; i++) loop[i] = (iodim){d->loop[i].n, d->loop[i].in_stride, d->loop[i].out_stride};
    static const char *const names[] = {"plan_guru64_dft", "plan_guru64_dft_r2c", "plan_guru64_dft_c2r"};
    void *found = symbol(state->library, d->type == WM_F32, names[d->kind]), *plan = NULL;
    if (!found) return NULL;
    pthread_mutex_lock(&lock);
    if (d->kind == WM_FFT_C2C) {
        plan_function make;
        *(void **)&make = found;
        plan = make(d->rank, dim, d->loops, loop, in, out, d->direction == WM_FORWARD ? -1 : 1, flags);
    } else {
        plan_real_function make;
        *(void **)&make = found;
        plan = make(d->rank, dim, d->loops, loop, in, out, flags);
    }
    pthread_mutex_unlock(&lock);
    return plan;
}

/** Whether pointers that are multiples of `align` are aligned for FFTW's vector code. */
static int is_aligned(const fftw_state *state, const wmFftDesc *d) {
    int (*alignment_of)(void *pointer);
    *(void **)&alignment_of = symbol(state->library, d->type == WM_F32, "alignment_of");
    return alignment_of && alignment_of((void *)(uintptr_t)d->align) == 0;
}

/** Bytes from the first to the last element of a side. */
static size_t span_bytes(const wm_problem *problem, int index) {
    wm_operand operand[WM_MAX_OPERANDS];
    wm_problem_operands(problem, operand);
    return (size_t)operand[index].elements * wmTypeSize(operand[index].type);
}

static void *make_plan(const fftw_state *state, const wm_problem *problem, int rigor) {
    const wmFftDesc *d = &problem->u.fft;
    static _Alignas(64) char nowhere[128]; /* estimating looks at addresses alone */
    int in_place = d->placement == WM_IN_PLACE;
    unsigned flags = wm_fft_may_overwrite(d) ? FFTW_DESTROY_INPUT : FFTW_PRESERVE_INPUT;
    if (in_place) flags = 0;
    if (!is_aligned(state, d)) flags |= FFTW_UNALIGNED;
    if (rigor == ESTIMATED) return plan_on(state, d, nowhere, in_place ? nowhere : nowhere + 64, flags | FFTW_ESTIMATE);
    size_t in_bytes = (span_bytes(problem, 0) + 63) / 64 * 64;
    size_t out_bytes = in_place ? 0 : (span_bytes(problem, 1) + 63) / 64 * 64;
    char *arrays = aligned_alloc(64, in_bytes + out_bytes);
    if (!arrays) return NULL;
    void *plan = plan_on(state, d, arrays, arrays + (in_place ? 0 : in_bytes), flags);
    free(arrays);
    return plan;
}

static wmStatus fftw_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **out) {
    const wmFftDesc *d = &problem->u.fft;
    static const char *const names[] = {"execute_dft", "execute_dft_r2c", "execute_dft_c2r"};
    const char *why = NULL;
    int single = d->type == WM_F32;
    fftw_state *state = calloc(1, sizeof *state);
    if (!state) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan of FFTW");
    state->copies = must_copy(d);
    state->library = wm_context_fftw(context, single, &why);
    if (state->library) {
        *(void **)&state->execute = symbol(state->library, single, names[d->kind]);
        *(void **)&state->destroy = symbol(state->library, single, "destroy_plan");
    }
    if (state->execute && state->destroy) {
        wm_problem packed = *problem;
        if (state->copies) packed.u.fft = wm_fft_from_packed(d);
        state->plan = make_plan(state, &packed, offer->knob[0]);
    }
    if (!state->plan) {
        fftw_drop(context, state);
        return wm_fail(WM_ERR_VENDOR, "FFTW made no plan%s%s", why ? ": " : "", why ? why : "");
    }
    *out = state;
    return WM_OK;
}

static wmStatus fftw_run(const wm_run *run) {
    const fftw_state *state = run->state;
    const wmFftDesc *d = &run->problem->u.fft;
    void *in = (void *)(uintptr_t)run->args->fft.in;
    if (state->copies) {
        wm_fft_pack_input(d, input_element(d), in, run->workspace);
        in = run->workspace;
    }
    state->execute(state->plan, in, run->args->fft.out);
    if (d->scale) wm_fft_scale_output(d, wm_fft_scale(d), run->args->fft.out); /* FFTW itself never scales */
    return WM_OK;
}

const wm_solver wm_fftw = {
    .name = "fftw",
    .op = WM_FFT,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .features = WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_RANK2 |
                WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED | WM_FFT_UNALIGNED,
    .knobs = {"rigor", NULL},
    .offer = fftw_offer,
    .make = fftw_make,
    .run = fftw_run,
    .drop = fftw_drop,
};
