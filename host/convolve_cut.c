/* SPDX-License-Identifier: Apache-2.0 */
#include "convolve_cut.h"
#include "lib/convolution.h"

#include <stdlib.h>

void wm_convolve_cut_offer(const wm_fft_knobs *knobs, wm_offer *offer) {
    offer->knob[0] = knobs->radices;
    offer->knob[1] = knobs->threads;
    offer->knob[2] = knobs->batch;
    offer->knob[3] = knobs->blocks;
}

wm_fft_knobs wm_convolve_cut_knobs(const wm_offer *offer) {
    return (wm_fft_knobs){offer->knob[0], offer->knob[1], offer->knob[2], offer->knob[3], 0, 0};
}

static wmStatus make_tables(wmContext *context, const wm_fft_cut *cut, wm_convolve_cut *out) {
    wm_fft_tables t;
    WM_TRY(wm_fft_cut_tables(cut, &t));
    wmStatus status = wm_context_upload(context, &out->tables, t.data, t.bytes);
    free(t.data);
    if (status != WM_OK) return status;
    out->table_bytes = t.bytes;
    out->job.twiddles = (const char *)out->tables + t.twiddles;
    return WM_OK;
}

static wmStatus make_kernel(wmContext *context, const char *solver, const void *generic, wm_convolve_cut *out) {
    const wm_fft_cut *cut = &out->job.cut;
    char source[1024];
    wm_fft_cut_source_of(cut, "device/convolve_block.cuh", source, sizeof source);
    wm_jit_request request = {.solver = solver, .source = source, .kernel = "wm_convolve_block_kernel"};
    request.shared = wm_fft_cut_shared(cut);
    request.generic = generic;
    return wm_jit_get(context, &request, &out->kernel);
}

wmStatus wm_convolve_cut_make(wmContext *context, const char *solver, const wmConvolutionDesc *d, const wm_fft_cut *cut,
                              wm_convolve_form form, int64_t arrays, const void *generic, wm_convolve_cut *out) {
    WM_TRY(make_tables(context, cut, out));
    wm_convolve_block_job *job = &out->job;
    job->cut = *cut;
    job->cut.form = form;
    job->arrays = arrays;
    job->in_stride = d->in_stride;
    job->out_stride = d->out_stride;
    job->filter_stride = d->filters == 1 ? 0 : wm_convolution_spectrum(d);
    job->columns = job->step = 1;
    job->given = (int)d->n[0];
    job->first = (int)wm_convolution_first(d, 0);
    job->results = (int)wmConvolutionResults(d, 0);
    WM_TRY(make_kernel(context, solver, generic, out));
    wm_launch *launch = &out->launch;
    launch->kernel = wm_jit_handle(out->kernel);
    launch->grid = (wm_dim3){(unsigned)((arrays + cut->batch - 1) / cut->batch), 1, 1};
    launch->block = (wm_dim3){(unsigned)(cut->threads * cut->batch), 1, 1};
    launch->shared = wm_fft_cut_shared(cut);
    launch->params_bytes = sizeof *job;
    return WM_OK;
}

void wm_convolve_cut_drop(wmContext *context, wm_convolve_cut *cut) {
    wm_context_free(context, cut->tables, cut->table_bytes);
    wm_jit_put(context, cut->kernel);
}
