/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of rank 1 that fit a block, with elements of f16 or bf16 in memory, or with functors between memory and
 * registers, in one kernel that is compiled when a plan is made: fft_block's passes and cuts, any length to 29 000
 * (14 500 in f64), C2C, R2C and C2R, any strides.
 *
 *     16 bits, or load(i) -> registers, f32 -> fft_block's passes -> registers -> 16 bits, or store(k, value)
 *
 * Refuses: what has neither (fft_block does it), rank 2 and 3, lengths that do not fit, machines without NVRTC;
 * fft_staged takes the rest. Floor: one read and one write, of f16 half of what f32 moves. Predicted, not measured:
 * passes issue as many instructions as in f32, and conversions 2 more a point, so 0.97 of the copy rate to 2^7, where
 * f32 has three instructions' time to spare, and 0.5 to 0.6 of it (1.0 to 1.2 times the speed of f32) from 2^8 to 2^12.
 */
#ifdef WM_SIMT
#include "device/fft_fused.cuh"
#else
#include <warpmath/device/base.cuh>
#endif
#include "device/fft_fused.h"
#include "host/fft_cut.h"
#include "host/fft_functor.h"
#include "host/fft_rates.h"
#include "host/fft_stages.h"
#include "lib/fields.h"
#include "lib/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void *generic_kernel(int f64) {
#ifdef WM_SIMT
    return f64 ? (const void *)wm_fft_fused_f64 : (const void *)wm_fft_fused_f32;
#else
    (void)f64;
    return nullptr;
#endif
}

typedef struct fused_state {
    wm_fft_fused_job job;
    wm_launch launch;
    wm_jit_kernel *kernel;
    void *tables;
    size_t table_bytes;
} fused_state;

/** Halving what is moved helps only until instructions bind. */
static double seconds_of(wmContext *context, const wm_problem *problem) {
    wm_problem wide = *problem;
    wmFftDesc *d = &wide.u.fft;
    d->type = d->type == WM_F64 ? WM_F64 : WM_F32;
    d->load.type = d->store.type = WM_TYPE_UNSET;
    double in_f32 = wm_fft_block_seconds(context, &wide);
    double moved = 2e-6 + wm_problem_cost(problem).bytes / (0.8 * wm_context_bandwidth(context));
    return moved > 0.9 * in_f32 ? moved : 0.9 * in_f32;
}

static int fft_fused_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    wm_fft_knobs knobs[WM_FFT_MOST_CUTS];
    const char *reason = nullptr;
    if (wm_fft_stored_of(d, 0) == WM_FFT_STORED_AS_IS && wm_fft_stored_of(d, 1) == WM_FFT_STORED_AS_IS)
        return wm_refuse(why, "neither elements of 16 bits nor functors: fft_block does it");
    if (!wm_jit_ready(generic_kernel(d->type == WM_F64), &reason)) return wm_refuse(why, "%s", reason);
    int count = wm_fft_cut_variants(d, wm_context_device(context)->shared_bytes, knobs, why), given = 0;
    double seconds = count ? seconds_of(context, problem) : 0;
    for (int i = 0; i < count && given < capacity; i++) {
        if (wm_divide_up((wm_i64)wm_fft_batch(d), (wm_i64)knobs[i].batch) > 0x3fffffff) continue;
        wm_offer offer = {};
        offer.seconds = seconds * (1 + 0.001 * i);
        offer.knob[0] = knobs[i].radices;
        offer.knob[1] = knobs[i].threads;
        offer.knob[2] = knobs[i].batch;
        offer.knob[3] = knobs[i].blocks;
        offer.capturable = offer.concurrent = 1;
        out[given++] = offer;
    }
    if (count && !given) return wm_refuse(why, "%lld transforms are too many for one grid", (long long)wm_fft_batch(d));
    return given;
}

static const void *table_at(const fused_state *s, size_t at) {
    return at == SIZE_MAX ? nullptr : static_cast<const char *>(s->tables) + at;
}

static wmStatus make_tables(wmContext *context, fused_state *s) {
    wm_fft_tables t;
    WM_TRY(wm_fft_cut_tables(&s->job.cut, &t));
    wmStatus status = wm_context_upload(context, &s->tables, t.data, t.bytes);
    free(t.data);
    if (status != WM_OK) return status;
    s->table_bytes = t.bytes;
    s->job.twiddles = table_at(s, t.twiddles);
    s->job.spectrum = table_at(s, t.spectrum);
    s->job.chirp = table_at(s, t.chirp);
    s->job.order = table_at(s, t.order);
    s->job.half = table_at(s, t.half);
    return WM_OK;
}

static wmStatus make_kernel(wmContext *context, const wmFftDesc *d, fused_state *s, size_t shared) {
    const wm_fft_cut *cut = &s->job.cut;
    char rest[1280];
    int length = snprintf(rest, sizeof rest, "#define WM_FFT_STORED_IN %d\n#define WM_FFT_STORED_OUT %d\n",
                          s->job.stored_in, s->job.stored_out);
    wm_fft_cut_source_of(cut, "device/fft_fused.cuh", rest + length, sizeof rest - (size_t)length);
    char *source = wm_fft_functor_source(&d->load, &d->store, rest);
    if (!source) return wm_fail(WM_ERR_MEMORY, "out of memory for a kernel's source");
    wm_jit_request request = {};
    request.solver = "fft_fused";
    request.source = source;
    request.kernel = "wm_fft_fused_kernel";
    request.shared = shared;
    request.generic = generic_kernel(cut->f64);
    wmStatus status = wm_jit_get(context, &request, &s->kernel);
    free(source);
    return status;
}

/** As for fft_block, but that convolutions inside get the registers that they would spill. */
static void cut_of(const wmFftDesc *d, const wm_offer *offer, wm_fft_cut *cut) {
    wm_fft_knobs knobs = {offer->knob[0], offer->knob[1], offer->knob[2], offer->knob[3], 0, 0};
    wm_fft_cut_make(d, &knobs, cut);
    cut->packed = 0; /* elements are located by array and position */
    if (cut->core != WM_FFT_PLAIN && cut->least_blocks > 1) cut->least_blocks -= (cut->least_blocks + 3) / 4;
}

static wmStatus fft_fused_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    fused_state *s = static_cast<fused_state *>(calloc(1, sizeof(fused_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    wm_fft_cut cut;
    cut_of(d, offer, &cut);
    wm_fft_cut_job(d, &cut, &s->job);
    s->job.stored_in = wm_fft_stored_of(d, 0);
    s->job.stored_out = wm_fft_stored_of(d, 1);
    memcpy(&s->job.load_host, &d->load.host, sizeof s->job.load_host);
    memcpy(&s->job.store_host, &d->store.host, sizeof s->job.store_host);
    size_t shared = wm_fft_cut_shared(&cut);
    WM_TRY(make_tables(context, s));
    WM_TRY(make_kernel(context, d, s, shared));
    s->launch.kernel = wm_jit_handle(s->kernel);
    s->launch.grid.x = (unsigned)wm_divide_up((wm_i64)s->job.count, (wm_i64)cut.batch);
    s->launch.block.x = (unsigned)(cut.threads * cut.batch);
    s->launch.grid.y = s->launch.grid.z = s->launch.block.y = s->launch.block.z = 1;
    s->launch.shared = shared;
    s->launch.params_bytes = sizeof s->job;
    return WM_OK;
}

static wmStatus fft_fused_run(const wm_run *run) {
    const fused_state *s = static_cast<const fused_state *>(run->state);
    wm_fft_fused_job job = s->job;
    wm_launch launch = s->launch;
    job.in = run->args->fft.in;
    job.out = run->args->fft.out;
    job.load_user = run->args->fft.load_user;
    job.store_user = run->args->fft.store_user;
    launch.params = &job;
    return wm_launch_kernel(run->context, "fft_fused", &launch, run->stream);
}

static void fft_fused_drop(wmContext *context, void *state) {
    fused_state *s = static_cast<fused_state *>(state);
    if (!s) return;
    wm_context_free(context, s->tables, s->table_bytes);
    wm_jit_put(context, s->kernel);
    free(s);
}

extern "C" const wm_solver wm_fft_fused = {
    "fft_fused",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_F16 | WM_FFT_BF16 | WM_FFT_LOAD | WM_FFT_STORE | WM_FFT_COMPLEX |
        WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED,
    {"radices", "threads", "batch", "blocks", nullptr},
    fft_fused_offer,
    fft_fused_make,
    fft_fused_run,
    fft_fused_drop,
};
