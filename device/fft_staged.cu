/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of f16 and bf16 of any length, rank and layout, and transforms between functors: what is not f32 or f64 in
 * memory goes through packed workspace, where the solver that is fastest there transforms it (host/fft_stages.c).
 *
 *     16 bits, or a load functor -> packed f32 -> another solver -> packed f32 -> 16 bits, or a store functor
 *
 * Refuses: problems without either, and those whose f32 form nobody does. Workspace: the packed complex side, once, and
 * the inner solver's. Floor of f16: 2 + 4, 4 + 4, 4 + 2 bytes a real number, 2.5 times the time of f32 and its own 8
 * less what the caches hold; predicted, not measured: 0.35 to 0.4 of the rate at which f32 is copied. A kernel for
 * elements of 16 bits is compiled with the library, one for each functor when a plan is made.
 */
#ifndef WM_FFT_STAGE_F64
#define WM_FFT_STAGE_F64 0
#endif
#include "device/fft_stage.cuh"

#include "host/fft_functor.h"
#include "host/fft_stages.h"
#include "lib/context.h"
#include "lib/jit.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 256, BLOCKS_AN_SM = 16 };

typedef struct staged_state {
    wm_fft_stages stages;
    wm_jit_kernel *kernel[2]; /* of a load and a store functor */
} staged_state;

static const void *own_kernel(void) {
    return (const void *)wm_fft_stage_kernel;
}

/** The same kernel as the emulation has it. */
static const void *generic_kernel(void) {
#ifdef WM_SIMT
    return own_kernel();
#else
    return nullptr;
#endif
}

static int has_functor(const wmFftDesc *d) {
    return d->load.source || d->store.source;
}

static int fft_staged_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    wm_fft_stages s;
    const char *reason = nullptr;
    (void)capacity;
    if (has_functor(&problem->u.fft) && !wm_jit_ready(generic_kernel(), &reason)) return wm_refuse(why, "%s", reason);
    return wm_fft_stages_offer(context, problem, &s, out, why);
}

static wmStatus make_kernel(wmContext *context, const wmFftDesc *d, int output, wm_jit_kernel **kernel) {
    char rest[128];
    snprintf(rest, sizeof rest, "#define WM_FFT_STAGE_F64 %d\n#include \"device/fft_stage.cuh\"\n", d->type == WM_F64);
    char *source = wm_fft_functor_source(output ? nullptr : &d->load, output ? &d->store : nullptr, rest);
    if (!source) return wm_fail(WM_ERR_MEMORY, "out of memory for a functor's source");
    wm_jit_request request = {};
    request.solver = "fft_staged";
    request.source = source;
    request.kernel = "wm_fft_stage_kernel";
    request.generic = generic_kernel();
    wmStatus status = wm_jit_get(context, &request, kernel);
    free(source);
    return status;
}

static wmStatus fft_staged_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    staged_state *s = static_cast<staged_state *>(calloc(1, sizeof(staged_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    WM_TRY(wm_prepare_kernel(context, "fft_staged", own_kernel(), 0));
    if (d->load.source) WM_TRY(make_kernel(context, d, 0, &s->kernel[0]));
    if (d->store.source) WM_TRY(make_kernel(context, d, 1, &s->kernel[1]));
    return wm_fft_stages_make(context, problem, offer, &s->stages);
}

static wmStatus do_stage(const wm_run *run, const wm_fft_stage *stage) {
    const staged_state *s = static_cast<const staged_state *>(run->state);
    int64_t blocks = (stage->count + THREADS - 1) / THREADS;
    int64_t most = (int64_t)wm_context_device(run->context)->multiprocessors * BLOCKS_AN_SM;
    wm_launch launch = {};
    launch.kernel = own_kernel();
    if (stage->stored == WM_FFT_STORED_BY_FUNCTOR) launch.kernel = wm_jit_handle(s->kernel[stage->is_store]);
    launch.grid.x = (unsigned)(blocks < most ? blocks : most);
    launch.block.x = THREADS;
    launch.grid.y = launch.grid.z = launch.block.y = launch.block.z = 1;
    launch.params = stage;
    launch.params_bytes = sizeof *stage;
    return wm_launch_kernel(run->context, "fft_staged", &launch, run->stream);
}

static wmStatus fft_staged_run(const wm_run *run) {
    return wm_fft_stages_run(run, &static_cast<const staged_state *>(run->state)->stages, do_stage);
}

static void fft_staged_drop(wmContext *context, void *data) {
    staged_state *s = static_cast<staged_state *>(data);
    if (!s) return;
    wm_fft_stages_drop(context, &s->stages);
    wm_jit_put(context, s->kernel[0]);
    wm_jit_put(context, s->kernel[1]);
    free(s);
}

extern "C" const wm_solver wm_fft_staged = {
    "fft_staged",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_F16 | WM_FFT_BF16 | WM_FFT_LOAD | WM_FFT_STORE | WM_FFT_COMPLEX |
        WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_RANK2 | WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED |
        WM_FFT_IN_PLACE | WM_FFT_SCALED | WM_FFT_UNALIGNED,
    {nullptr},
    fft_staged_offer,
    fft_staged_make,
    fft_staged_run,
    fft_staged_drop,
};
