/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and correlations of rank 1 whose transform fits a block, in one kernel: forward, product with the
 * filter's spectrum, inverse. Compiled at plan time, like fft_block, by the same factors (host/fft_cut.c).
 *
 *     x -> registers -> radix R_0 -> slab … -> radix R_{P-1} · F · radix R_{P-1} -> slab … -> radix R_0 -> y
 *
 * Real arrays have imaginary parts of 0: two of them to a transform would be twice as fast, but each would have the
 * other's rounding errors and NaNs, and equal arrays not equal results. What is placed among zeros or cut off is never
 * read or written.
 * Refuses: rank 2, transforms of one radix or with a prime factor above 31, those that do not fit a block, machines
 * without NVRTC. Floor: one read of x, one write of y; the filter stays in the caches. Measured on an H200 on
 * 2026-11-30, times the speed of forward, product and inverse by cuFFT: c64 1024 3.05, 4096 2.41, 8192 1.15 (0.74,
 * 0.58, 0.27 of the copy rate; perf/results/h200/convolution.csv). From 8192 on a block is alone on its SM, and waits.
 */
#ifdef WM_SIMT
#include "device/convolve_block.cuh"
#else
#include <warpmath/device/base.cuh>
#endif
#include "host/convolve_cut.h"
#include "host/convolve_parts.h"
#include "lib/convolution.h"
#include "lib/solver.h"

#include <stdlib.h>
#include <string.h>

extern "C" wmStatus wm_convolve_launch(const wm_run *run, const wm_convolve_step *step);

static const void *generic_kernel(int f64) {
#ifdef WM_SIMT
    return f64 ? (const void *)wm_convolve_block_f64 : (const void *)wm_convolve_block_f32;
#else
    (void)f64;
    return nullptr;
#endif
}

typedef struct block_state {
    wm_convolve_parts parts; /* of which the preparation is used */
    wm_convolve_cut cut;
} block_state;

/** The transform behind it, as a problem: packed, complex. */
static wmFftDesc fft_of(const wmConvolutionDesc *d) {
    int64_t n = wm_convolution_length(d, 0);
    wmFftDesc fft = wmFftDescPacked(WM_FFT_C2C, wm_convolution_is_f64(d) ? WM_F64 : WM_F32, 1, &n, d->batch);
    fft.align = 16;
    return fft;
}

/** The cut of a variant; 0: it has a convolution of its own in it, or but one pass. */
static int cut_of(const wmConvolutionDesc *d, const wm_fft_knobs *knobs, wm_fft_cut *cut) {
    wmFftDesc fft = fft_of(d);
    wm_fft_cut_make(&fft, knobs, cut);
    cut->fill = cut->drain = cut->pairs = cut->ahead = cut->persist = 0;
    return cut->core == WM_FFT_PLAIN && cut->passes > 1;
}

/* What two passes of issue slots leave of the copy rate, which the transform alone reaches most of. */
static double seconds_of(wmContext *context, const wm_problem *problem) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    double size = wm_convolution_is_f64(d) ? 16 : 8, points = (double)wm_convolution_length(d, 0);
    double work = (double)d->batch * points * 2 * size, bytes = wm_problem_cost(problem).bytes;
    double speed = wm_context_bandwidth(context);
    return 3e-6 + bytes / (0.8 * speed) + work / ((points * size < 65536 ? 1.1 : 0.33) * speed);
}

static int convolve_block_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity,
                                wm_why *why) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    const char *reason = nullptr;
    wm_fft_knobs knobs[WM_FFT_MOST_CUTS];
    wm_offer common = {};
    if (!wm_jit_ready(generic_kernel(wm_convolution_is_f64(d)), &reason)) return wm_refuse(why, "%s", reason);
    if (d->n[0] > 1 << 16 || d->taps[0] > 1 << 16) return wm_refuse(why, "an array does not fit a block");
    wmFftDesc fft = fft_of(d);
    int count = wm_fft_cut_variants(&fft, wm_context_device(context)->shared_bytes, knobs, why), given = 0;
    if (!count || !wm_convolve_offer(context, problem, 0, &common, why)) return 0;
    for (int i = 0; i < count && given < capacity; i++) {
        wm_fft_cut cut;
        if (!cut_of(d, &knobs[i], &cut) || wm_divide_up((wm_i64)d->batch, (wm_i64)cut.batch) > 0x3fffffff) continue;
        wm_offer offer = common;
        offer.seconds = seconds_of(context, problem) * (1 + 0.001 * i);
        wm_convolve_cut_offer(&knobs[i], &offer);
        out[given++] = offer;
    }
    return given ? given : wm_refuse(why, "%d points have no cut of two passes", (int)fft.dim[0].n);
}

static wmStatus convolve_block_make(wmContext *context, const wm_problem *problem, const wm_offer *offer,
                                    void **state) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    block_state *s = static_cast<block_state *>(calloc(1, sizeof(block_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    wm_fft_knobs knobs = wm_convolve_cut_knobs(offer);
    wm_fft_cut cut;
    if (!cut_of(d, &knobs, &cut)) return wm_fail(WM_ERR_UNSUPPORTED, "no such cut");
    WM_TRY(wm_convolve_make(context, problem, offer, 0, &s->parts));
    wm_convolve_form form = wm_convolution_is_real(d) ? WM_CONVOLVE_REAL : WM_CONVOLVE_COMPLEX;
    return wm_convolve_cut_make(context, "convolve_block", d, &cut, form, d->batch, generic_kernel(cut.f64), &s->cut);
}

static wmStatus convolve_block_run(const wm_run *run) {
    const block_state *s = static_cast<const block_state *>(run->state);
    if (wm_convolve_prepares(run)) return wm_convolve_prepare(run, &s->parts, wm_convolve_launch);
    wm_convolve_block_job job = s->cut.job;
    wm_launch launch = s->cut.launch;
    job.in = run->args->convolution.in;
    job.filter = run->args->convolution.filter;
    job.out = run->args->convolution.out;
    launch.params = &job;
    return wm_launch_kernel(run->context, "convolve_block", &launch, run->stream);
}

static void convolve_block_drop(wmContext *context, void *state) {
    block_state *s = static_cast<block_state *>(state);
    if (!s) return;
    wm_convolve_drop(&s->parts);
    wm_convolve_cut_drop(context, &s->cut);
    free(s);
}

extern "C" const wm_solver wm_convolve_block = {
    "convolve_block",
    WM_CONVOLUTION,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_CONV_F32 | WM_CONV_F64 | WM_CONV_REAL | WM_CONV_COMPLEX | WM_CONV_FILTERS,
    {"radices", "threads", "batch", "blocks", nullptr},
    convolve_block_offer,
    convolve_block_make,
    convolve_block_run,
    convolve_block_drop,
};
