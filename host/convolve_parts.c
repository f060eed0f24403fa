/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions made of planned transforms. */
#include "convolve_parts.h"

#include "lib/convolution.h"
#include "lib/plan_internal.h"

#include <string.h>

enum { ALIGN = 256 };

/* ---- The transforms ---- */

static int is_circular(const wmConvolutionDesc *d) {
    return d->mode == WM_CONVOLUTION_CIRCULAR;
}

/** All arrays (or filters) in place, rows padded: what is prepared, and what a linear convolution transforms. */
static wmFftDesc in_place(const wmConvolutionDesc *d, int64_t batch, int inverse) {
    int64_t n[WM_CONVOLUTION_MAX_RANK] = {wm_convolution_length(d, 0), d->rank == 2 ? wm_convolution_length(d, 1) : 0};
    wmFftKind kind = !wm_convolution_is_real(d) ? WM_FFT_C2C : inverse ? WM_FFT_C2R : WM_FFT_R2C;
    wmType scalar = wm_convolution_is_f64(d) ? WM_F64 : WM_F32;
    wmFftDesc fft = wmFftDescPackedInPlace(kind, scalar, d->rank, n, batch);
    if (inverse) fft.direction = WM_INVERSE;
    return fft;
}

static wmFftDesc prepare_desc(const wmConvolutionDesc *d) {
    wmFftDesc fft = in_place(d, d->filters, 0);
    fft.scale = WM_FFT_SCALE_BY_N;
    return fft;
}

/** Between the caller's arrays and packed spectra, or in place of the padded ones. */
static wmFftDesc pass_desc(const wmConvolutionDesc *d, int inverse) {
    if (!is_circular(d)) return in_place(d, d->batch, inverse);
    wmFftKind kind = !wm_convolution_is_real(d) ? WM_FFT_C2C : inverse ? WM_FFT_C2R : WM_FFT_R2C;
    wmFftDesc fft = wmFftDescPacked(kind, wm_convolution_is_f64(d) ? WM_F64 : WM_F32, d->rank, d->n, d->batch);
    if (inverse) {
        fft.direction = WM_INVERSE;
        fft.loop[0].out_stride = d->out_stride;
        fft.allow_input_overwrite = 1;
    } else {
        fft.loop[0].in_stride = d->in_stride;
    }
    fft.align = d->align;
    return fft;
}

static size_t round_up(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t spectra_bytes(const wmConvolutionDesc *d) {
    return round_up((size_t)d->batch * (size_t)wm_convolution_spectrum(d) *
                    wmTypeSize(wm_convolution_spectrum_type(d)));
}

/* ---- Offering and making ---- */

/** What the planner would take for a transform. */
static int look_up(wmContext *context, const wmFftDesc *fft, wm_offer *sum, int timed, wm_why *why) {
    wm_problem problem;
    wmPlanOptions options;
    wm_found found;
    memset(&found, 0, sizeof found);
    if (wm_problem_from_fft(&problem, fft, wm_context_gpu(context) ? WM_PLACE_GPU : WM_PLACE_CPU) != WM_OK ||
        wm_plan_options_take(&options, NULL) != WM_OK || wm_search(context, &problem, &options, &found) != WM_OK) {
        wm_found_free(&found);
        return wm_refuse(why, "a transform of its is not planned: %.100s", wmLastError());
    }
    if (found.by != WM_BY_EMPTY && found.chosen >= 0) {
        const wm_offer *offer = &found.candidate[found.chosen].offer;
        if (offer->workspace > sum->workspace) sum->workspace = offer->workspace;
        if (timed) sum->seconds += offer->seconds;
        sum->capturable = sum->capturable && offer->capturable;
        sum->concurrent = sum->concurrent && offer->concurrent;
    }
    wm_found_free(&found);
    return 1;
}

int wm_convolve_offer(wmContext *context, const wm_problem *problem, int passes, wm_offer *offer, wm_why *why) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    wmFftDesc prepare = prepare_desc(d), forward = pass_desc(d, 0), inverse = pass_desc(d, 1);
    offer->capturable = wm_context_gpu(context) != NULL, offer->concurrent = 1;
    if (!look_up(context, &prepare, offer, 0, why)) return 0;
    if (!passes) return 1;
    if (!look_up(context, &forward, offer, 1, why) || !look_up(context, &inverse, offer, 1, why)) return 0;
    double size = (double)wmTypeSize(wm_convolution_spectrum_type(d));
    double bytes = 2 * size * (double)d->batch * (double)wm_convolution_spectrum(d) * (is_circular(d) ? 1 : 2);
    offer->seconds += 4e-6 + bytes / wm_context_bandwidth(context);
    offer->workspace = spectra_bytes(d) + round_up(offer->workspace);
    return 1;
}

static wmStatus make_one(wmContext *context, const wmFftDesc *fft, size_t room, wmPlan **plan) {
    wm_problem problem;
    wmPlanOptions options;
    size_t bytes = 0;
    WM_TRY(wm_problem_from_fft(&problem, fft, wm_context_gpu(context) ? WM_PLACE_GPU : WM_PLACE_CPU));
    WM_TRY(wm_plan_options_take(&options, NULL));
    WM_TRY(wm_plan_make(plan, context, &problem, &options, 0));
    WM_TRY(wmPlanWorkspace(*plan, &bytes));
    if (bytes > room)
        return wm_fail(WM_ERR_UNSUPPORTED, "a transform wants %zu bytes of workspace, not %zu as it seemed", bytes,
                       room);
    return WM_OK;
}

wmStatus wm_convolve_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, int passes,
                          wm_convolve_parts *parts) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    wmFftDesc prepare = prepare_desc(d), forward = pass_desc(d, 0), inverse = pass_desc(d, 1);
    parts->spectra = passes ? spectra_bytes(d) : 0;
    size_t room = offer->workspace - parts->spectra;
    WM_TRY(make_one(context, &prepare, room, &parts->prepare));
    if (!passes) return WM_OK;
    WM_TRY(make_one(context, &forward, room, &parts->forward));
    return make_one(context, &inverse, room, &parts->inverse);
}

void wm_convolve_drop(wm_convolve_parts *parts) {
    wmPlanDestroy(parts->prepare);
    wmPlanDestroy(parts->forward);
    wmPlanDestroy(parts->inverse);
}

/* ---- Running ---- */

static wmStatus transform(const wm_run *run, const wmPlan *plan, const void *in, void *out, void *workspace) {
    wm_args args;
    memset(&args, 0, sizeof args);
    args.fft = wmFftArgsDefault(in, out);
    return wm_plan_run(plan, &args, workspace, run->stream);
}

static wm_convolve_step step_of(const wmConvolutionDesc *d, wm_convolve_what what, const void *from, void *to) {
    wm_convolve_step s;
    memset(&s, 0, sizeof s);
    s.what = what;
    s.f64 = wm_convolution_is_f64(d);
    s.complex = !wm_convolution_is_real(d);
    s.arrays = d->batch;
    s.from = from, s.to = to;
    return s;
}

/** Elements from row to row of padded arrays. */
static int64_t padded_row(const wmConvolutionDesc *d) {
    int64_t length = wm_convolution_length(d, d->rank - 1);
    return wm_convolution_is_real(d) ? 2 * (length / 2 + 1) : length;
}

/** From packed rows of `have` to padded ones. */
static wm_convolve_step placing(const wmConvolutionDesc *d, const int64_t *have, const void *from, void *to) {
    wm_convolve_step s = step_of(d, WM_CONVOLVE_PLACE, from, to);
    s.rows = d->rank == 2 ? wm_convolution_length(d, 0) : 1;
    s.columns = wm_convolution_length(d, d->rank - 1);
    s.have[0] = d->rank == 2 ? have[0] : 1, s.have[1] = have[d->rank - 1];
    s.from_row = s.have[1], s.from_array = s.have[0] * s.have[1];
    s.to_row = padded_row(d), s.to_array = s.rows * s.to_row;
    return s;
}

int wm_convolve_prepares(const wm_run *run) {
    return run->args->convolution.filter == NULL;
}

wmStatus wm_convolve_prepare(const wm_run *run, const wm_convolve_parts *parts, wm_convolve_doer doer) {
    const wmConvolutionDesc *d = &run->problem->u.convolution;
    void *filter = run->args->convolution.out;
    wm_convolve_step s = placing(d, d->taps, run->args->convolution.in, filter);
    s.arrays = d->filters;
    if (d->correlate) s.turn = is_circular(d) ? WM_CONVOLVE_NEGATED : WM_CONVOLVE_REVERSED;
    WM_TRY(doer(run, &s));
    return transform(run, parts->prepare, filter, filter, run->workspace);
}

static wmStatus multiply(const wm_run *run, wm_convolve_doer doer) {
    const wmConvolutionDesc *d = &run->problem->u.convolution;
    wm_convolve_step s = step_of(d, WM_CONVOLVE_MULTIPLY, run->args->convolution.filter, run->workspace);
    s.complex = 1;
    s.rows = 1;
    s.columns = s.to_array = wm_convolution_spectrum(d);
    s.from_array = d->filters == 1 ? 0 : s.columns;
    if (wm_convolution_is_real(d) && d->rank == 1) s.half = wm_convolution_length(d, 0);
    return doer(run, &s);
}

wmStatus wm_convolve_run(const wm_run *run, const wm_convolve_parts *parts, wm_convolve_doer doer) {
    const wmConvolutionDesc *d = &run->problem->u.convolution;
    const wmConvolutionArgs *args = &run->args->convolution;
    char *spectra = (char *)run->workspace, *rest = spectra + parts->spectra;
    if (is_circular(d)) {
        WM_TRY(transform(run, parts->forward, args->in, spectra, rest));
        WM_TRY(multiply(run, doer));
        return transform(run, parts->inverse, spectra, args->out, rest);
    }
    wm_convolve_step place = placing(d, d->n, args->in, spectra);
    place.from_array = d->in_stride;
    WM_TRY(doer(run, &place));
    WM_TRY(transform(run, parts->forward, spectra, spectra, rest));
    WM_TRY(multiply(run, doer));
    WM_TRY(transform(run, parts->inverse, spectra, spectra, rest));
    wm_convolve_step crop = step_of(d, WM_CONVOLVE_CROP, spectra, args->out);
    crop.rows = d->rank == 2 ? wmConvolutionResults(d, 0) : 1;
    crop.columns = wmConvolutionResults(d, d->rank - 1);
    crop.first[0] = d->rank == 2 ? wm_convolution_first(d, 0) : 0, crop.first[1] = wm_convolution_first(d, d->rank - 1);
    crop.from_row = place.to_row, crop.from_array = place.to_array;
    crop.to_row = crop.columns, crop.to_array = d->out_stride;
    return doer(run, &crop);
}
