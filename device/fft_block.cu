/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of rank 1 that fit a block, compiled at plan time: C2C, R2C and C2R of any length whose points, or whose
 * padded convolution's, fit the shared memory of a block (f32 to 29 000, f64 to 14 500), any strides, in and out of
 * place.
 *
 *     global -> registers -> radix R_0 -> slab -> radix R_1 -> slab … -> radix R_{P-1} -> registers -> global
 *
 * Passes of radix 2 to 32 work in place in shared memory (warpmath/device/fft_mixed.cuh); even real transforms are
 * complex ones of half the length whose spectra are split at the end or joined at the start; primes p whose p - 1 has
 * no prime factor above 31 are Rader's cyclic convolutions, the rest are Bluestein's, in the same slab.
 *
 * Refuses: rank 2 and 3, lengths that do not fit, machines without NVRTC. Floor: one read and one write of the data;
 * 70 to 80 instructions a point and 0.5 of the L1's bandwidth were predicted to leave 0.95 of the copy rate to 2^12.
 * Measured on an H200 on 2026-11-30, 2^26 points of f32, fraction of copy (cuFFT): C2C 2^8 … 2^14 0.98 0.98 0.97 0.97
 * 0.97 0.85 0.67 (0.97 1.00 0.99 0.98 0.99 0.98 0.70); 1000 0.93 (1.00), 1536 0.97 (0.98), 12000 0.66 (0.30), 27720
 * 0.50 (0.20); primes 97 0.48 (0.16), 257 0.42 (0.23), 1009 0.36 (0.22); R2C 2^12 0.84 (0.95), C2R 2^12 0.79 (0.49);
 * all in perf/results/h200/fft_block.csv. Sources: see fft_mixed.cuh; Rader (1968), Bluestein (1970).
 */
#ifdef WM_SIMT
#include "device/fft_block.cuh"
#else
#include <warpmath/device/base.cuh>
#endif
#include "device/fft_block.h"
#include "host/fft_cut.h"
#include "host/fft_rates.h"
#include "lib/fields.h"
#include "lib/jit.h"
#include "lib/solver.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef WM_SIMT
static const void *generic_kernel(int f64) {
    return f64 ? (const void *)wm_fft_block_f64 : (const void *)wm_fft_block_f32;
}
#else
static const void *generic_kernel(int f64) {
    (void)f64;
    return nullptr;
}
#endif

typedef struct block_state {
    wm_fft_block_job job;
    wm_launch launch;
    wm_jit_kernel *kernel;
    void *tables;
    size_t table_bytes;
} block_state;

static wm_i64 blocks_of(wm_i64 count, int batch) {
    return wm_divide_up(count, (wm_i64)batch);
}

static int fft_block_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    wm_fft_knobs knobs[WM_FFT_MOST_CUTS];
    const char *reason = nullptr;
    if (!wm_jit_ready(generic_kernel(d->type == WM_F64), &reason)) return wm_refuse(why, "%s", reason);
    int count = wm_fft_cut_variants(d, wm_context_device(context)->shared_bytes, knobs, why), given = 0;
    double seconds = count ? wm_fft_block_seconds(context, problem) : 0;
    for (int i = 0; i < count && given < capacity; i++) {
        if (blocks_of(wm_fft_batch(d), knobs[i].batch) > 0x3fffffff) continue;
        wm_offer offer = {};
        offer.seconds = seconds * (1 + 0.001 * i);
        offer.knob[0] = knobs[i].radices;
        offer.knob[1] = knobs[i].threads;
        offer.knob[2] = knobs[i].batch;
        offer.knob[3] = knobs[i].blocks;
        offer.knob[4] = knobs[i].persist;
        offer.capturable = offer.concurrent = 1;
        out[given++] = offer;
    }
    if (count && !given) return wm_refuse(why, "%lld transforms are too many for one grid", (long long)wm_fft_batch(d));
    return given;
}

static const void *table_at(const block_state *s, size_t at) {
    return at == SIZE_MAX ? nullptr : static_cast<const char *>(s->tables) + at;
}

static wmStatus make_tables(wmContext *context, block_state *s) {
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

static wmStatus make_kernel(wmContext *context, block_state *s, size_t shared) {
    const wm_fft_cut *cut = &s->job.cut;
    char source[1024];
    wm_fft_cut_source(cut, source, sizeof source);
    wm_jit_request request = {};
    request.solver = "fft_block";
    request.source = source;
    request.kernel = "wm_fft_block_kernel";
    request.shared = shared;
    request.generic = generic_kernel(cut->f64);
    return wm_jit_get(context, &request, &s->kernel);
}

static wmStatus fft_block_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    block_state *s = static_cast<block_state *>(calloc(1, sizeof(block_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    wm_fft_knobs knobs = {offer->knob[0], offer->knob[1], offer->knob[2], offer->knob[3], offer->knob[4], 0};
    wm_fft_cut cut;
    wm_fft_cut_make(d, &knobs, &cut);
    wm_fft_cut_job(d, &cut, &s->job);
    size_t shared = wm_fft_cut_shared(&cut);
    WM_TRY(make_tables(context, s));
    WM_TRY(make_kernel(context, s, shared));
    s->launch.kernel = wm_jit_handle(s->kernel);
    wm_i64 grid = blocks_of(s->job.count, cut.batch);
    if (cut.persist) grid = wm_min(grid, (wm_i64)wm_context_device(context)->multiprocessors * cut.least_blocks);
    s->launch.grid.x = (unsigned)grid;
    s->launch.block.x = (unsigned)(cut.threads * cut.batch);
    s->launch.grid.y = s->launch.grid.z = s->launch.block.y = s->launch.block.z = 1;
    s->launch.shared = shared;
    s->launch.params_bytes = sizeof s->job;
    return WM_OK;
}

static wmStatus fft_block_run(const wm_run *run) {
    const block_state *s = static_cast<const block_state *>(run->state);
    wm_fft_block_job job = s->job;
    wm_launch launch = s->launch;
    job.in = run->args->fft.in;
    job.out = run->args->fft.out;
    launch.params = &job;
    return wm_launch_kernel(run->context, "fft_block", &launch, run->stream);
}

static void fft_block_drop(wmContext *context, void *state) {
    block_state *s = static_cast<block_state *>(state);
    if (!s) return;
    wm_context_free(context, s->tables, s->table_bytes);
    wm_jit_put(context, s->kernel);
    free(s);
}

extern "C" const wm_solver wm_fft_block = {
    "fft_block",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_LOOPS |
        WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED,
    {"radices", "threads", "batch", "blocks", "persist", nullptr},
    fft_block_offer,
    fft_block_make,
    fft_block_run,
    fft_block_drop,
};
