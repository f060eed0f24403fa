/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed C2C transforms by tiles that the bulk copy engine brings and takes away;
 * compiled at plan time (fft_tile.cuh). f32 to 8192 points, f64 to 4096, batches, in and out of place.
 *
 *     global -> tile 0 | tile 1 | tile 2 -> global      one tile is worked on in place while others come and go
 *
 * Short transforms are 8 to 250 bytes of elements that lie at no good distance from each other; here threads meet them
 * in shared memory only, up to 32 points a thread, and memory sees long runs.
 * Refuses: prime factors above 31, strides, real transforms, GPUs before sm_90, machines without NVRTC.
 * Floor: one read and one write of the data. Measured on an H200 on 2026-11-30, 2^26 points of f32, fraction of copy
 * (cuFFT): 3 0.91 (0.62), 5 0.94 (0.51), 7 0.94 (1.00), 12 0.94 (1.01), 15 0.94 (0.68), 17 0.95 (0.99), 20 0.98 (0.92),
 * 27 0.96 (0.90); all in perf/results/h200/fft_tile.csv. Through registers (fft_block) 17 and 20 reached 0.67 and 0.66.
 */
#ifdef WM_SIMT
#include "device/fft_tile.cuh"
#else
#include <warpmath/device/base.cuh>
#endif
#include "device/fft_tile.h"
#include "host/fft_rates.h"
#include "host/fft_tile_cut.h"
#include "lib/fields.h"
#include "lib/jit.h"
#include "lib/solver.h"
#include "reference/fft_layout.h"

#include <stdio.h>
#include <stdlib.h>

static const void *generic_kernel(int f64) {
#ifdef WM_SIMT
    return f64 ? (const void *)wm_fft_tile_f64 : (const void *)wm_fft_tile_f32;
#else
    (void)f64;
    return nullptr;
#endif
}

typedef struct tile_state {
    wm_fft_tile_job job;
    wm_launch launch;
    wm_jit_kernel *kernel;
    void *tables;
    size_t table_bytes;
} tile_state;

/** Transforms one behind the other, on both sides. */
static int is_packed(const wmFftDesc *d) {
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    int loops = wm_fft_arrange(loop, d->loops);
    int64_t n = d->dim[0].n;
    return d->dim[0].in_stride == 1 && d->dim[0].out_stride == 1 && loops <= 1 &&
           (loops == 0 || (loop[0].in_stride == n && loop[0].out_stride == n));
}

static int fft_tile_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    int64_t n = d->dim[0].n;
    int f64 = d->type == WM_F64, given = 0;
    wm_fft_tile_knobs knobs[WM_FFT_MOST_CUTS];
    const char *reason = nullptr;
    if (!wm_jit_ready(generic_kernel(f64), &reason)) return wm_refuse(why, "%s", reason);
    if (wm_context_device(context)->sm < 90) return wm_refuse(why, "the device has no bulk copies");
    if (n < 3 || n > (f64 ? 4096 : 8192)) return wm_refuse(why, "n = %lld is too long", (long long)n);
    if (!is_packed(d)) return wm_refuse(why, "transforms do not lie one behind the other");
    int count = wm_fft_tile_variants((int)n, f64, knobs);
    if (!count) return wm_refuse(why, "n = %lld has no three factors up to 32", (long long)n);
    for (int i = 0; i < count && given < capacity; i++) {
        wm_offer offer = {};
        offer.seconds = wm_fft_tile_seconds(context, problem, knobs[i].cost) * (1 + 0.001 * i);
        offer.knob[0] = knobs[i].radices;
        offer.knob[1] = knobs[i].threads;
        offer.knob[2] = knobs[i].batch;
        offer.knob[3] = knobs[i].blocks;
        offer.knob[4] = knobs[i].stages;
        offer.knob[5] = knobs[i].padded;
        offer.capturable = offer.concurrent = 1;
        out[given++] = offer;
    }
    return given;
}

static wmStatus make_tables(wmContext *context, tile_state *s) {
    wm_fft_tables t;
    WM_TRY(wm_fft_cut_tables(&s->job.cut, &t));
    if (!t.bytes) return WM_OK; /* one pass */
    wmStatus status = wm_context_upload(context, &s->tables, t.data, t.bytes);
    free(t.data);
    if (status != WM_OK) return status;
    s->table_bytes = t.bytes;
    s->job.twiddles = static_cast<const char *>(s->tables) + t.twiddles;
    return WM_OK;
}

static wmStatus make_kernel(wmContext *context, tile_state *s) {
    char source[1024], stages[32];
    wm_fft_cut_source_of(&s->job.cut, "device/fft_tile.cuh", source, sizeof source);
    snprintf(stages, sizeof stages, "-DWM_FFT_STAGES=%d", s->job.stages);
    wm_jit_request request = {};
    request.solver = "fft_tile";
    request.source = source;
    request.kernel = "wm_fft_tile_kernel";
    request.options[0] = stages;
    request.shared = s->launch.shared;
    request.generic = generic_kernel(s->job.cut.f64);
    return wm_jit_get(context, &request, &s->kernel);
}

static wmStatus fft_tile_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    tile_state *s = static_cast<tile_state *>(calloc(1, sizeof(tile_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    const wm_fft_tile_knobs knobs = {
        offer->knob[0], offer->knob[1], offer->knob[2], offer->knob[3], offer->knob[4], offer->knob[5], 0};
    wm_fft_cut *cut = &s->job.cut;
    wm_fft_tile_cut((int)d->dim[0].n, d->type == WM_F64, &knobs, cut);
    s->job.count = wm_fft_batch(d);
    s->job.sign = d->direction == WM_INVERSE ? -1 : 1;
    s->job.scale = wm_fft_scale(d);
    s->job.stages = knobs.stages;
    s->launch.shared = WM_FFT_TILE_HEAD + (size_t)knobs.stages * cut->batch * cut->slab * (cut->f64 ? 16 : 8);
    WM_TRY(make_tables(context, s));
    WM_TRY(make_kernel(context, s));
    s->launch.kernel = wm_jit_handle(s->kernel);
    wm_i64 tiles = wm_divide_up((wm_i64)s->job.count, (wm_i64)cut->batch);
    wm_i64 most = (wm_i64)wm_context_device(context)->multiprocessors * cut->least_blocks;
    s->launch.grid.x = (unsigned)wm_min(tiles, most);
    s->launch.block.x = (unsigned)(cut->threads * cut->batch);
    s->launch.grid.y = s->launch.grid.z = s->launch.block.y = s->launch.block.z = 1;
    s->launch.params_bytes = sizeof s->job;
    return WM_OK;
}

static wmStatus fft_tile_run(const wm_run *run) {
    const tile_state *s = static_cast<const tile_state *>(run->state);
    wm_fft_tile_job job = s->job;
    wm_launch launch = s->launch;
    job.in = run->args->fft.in;
    job.out = run->args->fft.out;
    launch.params = &job;
    return wm_launch_kernel(run->context, "fft_tile", &launch, run->stream);
}

static void fft_tile_drop(wmContext *context, void *state) {
    tile_state *s = static_cast<tile_state *>(state);
    if (!s) return;
    wm_context_free(context, s->tables, s->table_bytes);
    wm_jit_put(context, s->kernel);
    free(s);
}

extern "C" const wm_solver wm_fft_tile = {
    "fft_tile",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_LOOPS | WM_FFT_IN_PLACE | WM_FFT_SCALED,
    {"radices", "threads", "batch", "blocks", "stages", "padded", nullptr},
    fft_tile_offer,
    fft_tile_make,
    fft_tile_run,
    fft_tile_drop,
};
