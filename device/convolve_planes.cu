/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear convolutions and correlations of planes in three passes over memory:
 *
 *     x -> rows forward, zeros beyond their end made up -> n0 rows of spectra, in workspace
 *       -> columns forward, product, columns inverse, in one kernel: n0 rows in, as many as there are results out
 *       -> rows inverse, of which the results alone are stored -> y
 *
 * Rows are transforms of rank 1 with a load (store) functor, by whichever solver is fastest there; columns are the
 * kernel of convolve_block over neighbouring columns. Zero rows are neither stored nor transformed, results that nobody
 * asked for neither. Refuses: rank 1, circular convolutions, columns that do not fit a block, machines without NVRTC.
 * Floor: x and y once, the n0 (and the results') rows of half spectra twice each; predicted, not measured: 1.6 to 2.5
 * times the speed of convolve_passes, which moves the padded planes seven times.
 */
#ifdef WM_SIMT
#define wm_fft_shape wm_convolve_planes_shape
#define wm_convolve_block_f32 wm_convolve_planes_f32
#define wm_convolve_block_f64 wm_convolve_planes_f64
#include "device/convolve_block.cuh"
#else
#include <warpmath/device/base.cuh>
#endif
#include "host/convolve_cut.h"
#include "host/convolve_functors.h"
#include "host/convolve_parts.h"
#include "lib/convolution.h"
#include "lib/inner.h"

#include <stdlib.h>

extern "C" wmStatus wm_convolve_launch(const wm_run *run, const wm_convolve_step *step);

enum { ALIGN = 256 };

static const void *generic_kernel(int f64) {
#ifdef WM_SIMT
    return f64 ? (const void *)wm_convolve_planes_f64 : (const void *)wm_convolve_planes_f32;
#else
    (void)f64;
    return nullptr;
#endif
}

typedef struct planes_state {
    wm_convolve_parts parts; /* of which the preparation is used */
    wm_inner forward, inverse;
    wm_convolve_cut columns;
    size_t spectra; /* bytes of workspace */
} planes_state;

/* ---- The three passes as problems ---- */

/** Complex elements of a row of spectra, and from plane to plane of them. */
static int64_t row_of(const wmConvolutionDesc *d) {
    int64_t n = wm_convolution_length(d, 1);
    return wm_convolution_is_real(d) ? n / 2 + 1 : n;
}

static int64_t plane_of(const wmConvolutionDesc *d) {
    int64_t results = wmConvolutionResults(d, 0);
    return row_of(d) * (results > d->n[0] ? results : d->n[0]);
}

static size_t spectra_bytes(const wmConvolutionDesc *d) {
    size_t bytes = (size_t)d->batch * (size_t)plane_of(d) * wmTypeSize(wm_convolution_spectrum_type(d));
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/** Rows of all planes: from x to spectra, or from spectra to y. */
static wmStatus rows_of(const wmConvolutionDesc *d, int inverse, wm_problem *out) {
    int64_t n = wm_convolution_length(d, 1), rows = inverse ? wmConvolutionResults(d, 0) : d->n[0];
    wmFftKind kind = !wm_convolution_is_real(d) ? WM_FFT_C2C : inverse ? WM_FFT_C2R : WM_FFT_R2C;
    wmFftDesc fft = wmFftDescPacked(kind, wm_convolution_is_f64(d) ? WM_F64 : WM_F32, 1, &n, 1);
    if (inverse) {
        fft.direction = WM_INVERSE;
        fft.allow_input_overwrite = 1;
        wm_convolve_crops(d, &fft.store);
        fft.loop[0] = wmFftDim{d->batch, plane_of(d), d->out_stride};
        fft.loop[1] = wmFftDim{rows, row_of(d), wmConvolutionResults(d, 1)};
    } else {
        wm_convolve_pads(d, &fft.load);
        fft.loop[0] = wmFftDim{d->batch, d->in_stride, plane_of(d)};
        fft.loop[1] = wmFftDim{rows, d->n[1], row_of(d)};
    }
    fft.loops = 2;
    fft.align = d->align;
    return wm_problem_from_fft(out, &fft, WM_PLACE_GPU);
}

/** A column's transform: neighbours are adjacent. */
static wmFftDesc column_of(const wmConvolutionDesc *d) {
    int64_t n = wm_convolution_length(d, 0), row = row_of(d);
    wmFftDesc fft = wmFftDescPacked(WM_FFT_C2C, wm_convolution_is_f64(d) ? WM_F64 : WM_F32, 1, &n, 1);
    fft.dim[0].in_stride = fft.dim[0].out_stride = row;
    fft.loop[0] = wmFftDim{row, 1, 1};
    fft.loops = 1;
    fft.align = 16;
    return fft;
}

/** 0: the cut has a convolution of its own in it, or but one pass, or takes columns one by one. */
static int cut_of(const wmConvolutionDesc *d, const wm_fft_knobs *knobs, wm_fft_cut *cut) {
    wmFftDesc fft = column_of(d);
    wm_fft_cut_make(&fft, knobs, cut);
    cut->fill = cut->drain = cut->pairs = cut->ahead = cut->persist = 0;
    /* Two transforms and a filter want more registers than the one that the knobs are for. */
    if (cut->least_blocks > 1) cut->least_blocks -= cut->f64 ? cut->least_blocks / 2 : (cut->least_blocks + 3) / 4;
    return cut->core == WM_FFT_PLAIN && cut->passes > 1 && cut->spread;
}

/* ---- The solver ---- */

static int refuses(const wmConvolutionDesc *d, wm_why *why) {
    const char *reason = nullptr;
    if (d->rank != 2) return !wm_refuse(why, "rank is %d, not 2", (int)d->rank);
    if (d->mode == WM_CONVOLUTION_CIRCULAR) return !wm_refuse(why, "it is circular: nothing is to be padded");
    if (!wm_jit_ready(generic_kernel(wm_convolution_is_f64(d)), &reason)) return !wm_refuse(why, "%s", reason);
    if (d->n[0] > 1 << 16 || d->taps[0] > 1 << 16) return !wm_refuse(why, "a column does not fit a block");
    if (d->n[1] > 1 << 24 || d->taps[1] > 1 << 24) return !wm_refuse(why, "rows of over 2^24 elements");
    if (d->batch > 0x3fffffff / row_of(d)) return !wm_refuse(why, "over 2^30 columns");
    return 0;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/** The time of columns: two reads or writes a row, as slow as columns are. */
static double columns_seconds(wmContext *context, const wmConvolutionDesc *d) {
    double rows = (double)(d->n[0] + wmConvolutionResults(d, 0)), size = wm_convolution_is_f64(d) ? 16 : 8;
    return 4e-6 + (double)d->batch * rows * (double)row_of(d) * size / (0.5 * wm_context_bandwidth(context));
}

static int convolve_planes_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity,
                                 wm_why *why) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    wm_fft_knobs knobs[WM_FFT_MOST_CUTS];
    wm_offer common = {};
    wm_inner forward = {}, inverse = {};
    if (refuses(d, why)) return 0;
    if (rows_of(d, 0, &forward.problem) != WM_OK || rows_of(d, 1, &inverse.problem) != WM_OK)
        return wm_refuse(why, "its rows are no transforms: %.100s", wmLastError());
    wmFftDesc column = column_of(d);
    int count = wm_fft_cut_variants(&column, wm_context_device(context)->shared_bytes, knobs, why), given = 0;
    if (!count || !wm_convolve_offer(context, problem, 0, &common, why) ||
        !wm_inner_choose(context, &forward, SIZE_MAX, why) || !wm_inner_choose(context, &inverse, SIZE_MAX, why))
        return 0;
    common.seconds = forward.offer.seconds + inverse.offer.seconds + columns_seconds(context, d);
    common.capturable = common.capturable && forward.offer.capturable && inverse.offer.capturable;
    common.concurrent = common.concurrent && forward.offer.concurrent && inverse.offer.concurrent;
    common.workspace = larger(common.workspace, larger(forward.offer.workspace, inverse.offer.workspace));
    common.workspace = spectra_bytes(d) + (common.workspace + ALIGN - 1) / ALIGN * ALIGN;
    for (int i = 0; i < count && given < capacity; i++) {
        wm_fft_cut cut;
        if (!cut_of(d, &knobs[i], &cut)) continue;
        wm_offer offer = common;
        offer.seconds *= 1 + 0.001 * i;
        wm_convolve_cut_offer(&knobs[i], &offer);
        out[given++] = offer;
    }
    return given ? given : wm_refuse(why, "columns of %d points have no cut of two passes", (int)column.dim[0].n);
}

/** Columns of the planes of spectra, in place. */
static wmStatus make_columns(wmContext *context, const wmConvolutionDesc *d, const wm_fft_cut *cut, planes_state *s) {
    WM_TRY(wm_convolve_cut_make(context, "convolve_planes", d, cut, WM_CONVOLVE_COMPLEX, d->batch * row_of(d),
                                generic_kernel(cut->f64), &s->columns));
    wm_convolve_block_job *job = &s->columns.job;
    job->columns = job->step = (int)row_of(d);
    job->in_stride = job->out_stride = plane_of(d);
    return WM_OK;
}

static wmStatus convolve_planes_make(wmContext *context, const wm_problem *problem, const wm_offer *offer,
                                     void **state) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    planes_state *s = static_cast<planes_state *>(calloc(1, sizeof(planes_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    wm_fft_knobs knobs = wm_convolve_cut_knobs(offer);
    wm_fft_cut cut;
    if (!cut_of(d, &knobs, &cut)) return wm_fail(WM_ERR_UNSUPPORTED, "no such cut");
    s->spectra = spectra_bytes(d);
    size_t room = offer->workspace - s->spectra;
    WM_TRY(rows_of(d, 0, &s->forward.problem));
    WM_TRY(rows_of(d, 1, &s->inverse.problem));
    if (!wm_inner_choose(context, &s->forward, room, nullptr) || !wm_inner_choose(context, &s->inverse, room, nullptr))
        return wm_fail(WM_ERR_UNSUPPORTED, "no solver does the rows any more");
    WM_TRY(wm_inner_make(context, &s->forward));
    WM_TRY(wm_inner_make(context, &s->inverse));
    WM_TRY(wm_convolve_make(context, problem, offer, 0, &s->parts));
    return make_columns(context, d, &cut, s);
}

static wmStatus convolve_planes_run(const wm_run *run) {
    const planes_state *s = static_cast<const planes_state *>(run->state);
    const wmConvolutionDesc *d = &run->problem->u.convolution;
    const wmConvolutionArgs *args = &run->args->convolution;
    if (wm_convolve_prepares(run)) return wm_convolve_prepare(run, &s->parts, wm_convolve_launch);
    char *spectra = static_cast<char *>(run->workspace), *rest = spectra + s->spectra;
    wm_args rows = {};
    rows.fft = wmFftArgsDefault(args->in, spectra);
    rows.fft.load_user = wm_convolve_have(d->n[1]);
    WM_TRY(wm_inner_run(run, &s->forward, &rows, rest));
    wm_convolve_block_job job = s->columns.job;
    wm_launch launch = s->columns.launch;
    job.in = spectra;
    job.out = spectra;
    job.filter = args->filter;
    launch.params = &job;
    WM_TRY(wm_launch_kernel(run->context, "convolve_planes", &launch, run->stream));
    rows.fft = wmFftArgsDefault(spectra, args->out);
    rows.fft.store_user = wm_convolve_range(wm_convolution_first(d, 1), wmConvolutionResults(d, 1));
    return wm_inner_run(run, &s->inverse, &rows, rest);
}

static void convolve_planes_drop(wmContext *context, void *state) {
    planes_state *s = static_cast<planes_state *>(state);
    if (!s) return;
    wm_convolve_drop(&s->parts);
    wm_inner_drop(context, &s->forward);
    wm_inner_drop(context, &s->inverse);
    wm_convolve_cut_drop(context, &s->columns);
    free(s);
}

extern "C" const wm_solver wm_convolve_planes = {
    "convolve_planes",
    WM_CONVOLUTION,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_CONV_F32 | WM_CONV_F64 | WM_CONV_REAL | WM_CONV_COMPLEX | WM_CONV_RANK2 | WM_CONV_FILTERS,
    {"radices", "threads", "batch", "blocks", nullptr},
    convolve_planes_offer,
    convolve_planes_make,
    convolve_planes_run,
    convolve_planes_drop,
};
