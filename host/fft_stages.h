/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of f16, of bf16, and between functors, as parts: what is not f32 or f64 in memory goes through packed
 * workspace, and another solver transforms. The CPU place and fft_staged differ in who does a stage.
 */
#ifndef WM_HOST_FFT_STAGES_H
#define WM_HOST_FFT_STAGES_H

#include "device/fft_stage.h"
#include "lib/inner.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_fft_stages {
    wm_inner inner;
    wm_fft_stage load, store; /* count 0: the transform itself reads (writes) that side */
    size_t bytes;             /* of the packed elements, which lie first in the workspace */
} wm_fft_stages;

/** How a side lies in memory. */
wm_fft_stored wm_fft_stored_of(const wmFftDesc *d, int output);

/** Cuts the problem, and finds who transforms; fills the offer. 0 with a reason. */
int wm_fft_stages_offer(wmContext *context, const wm_problem *problem, wm_fft_stages *s, wm_offer *offer, wm_why *why);

/** The same, and makes what the transform needs. Drop it in any case. */
wmStatus wm_fft_stages_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, wm_fft_stages *s);
void wm_fft_stages_drop(wmContext *context, wm_fft_stages *s);

/** Does a stage whose pointers are set, on the stream of the run. */
typedef wmStatus (*wm_fft_stage_doer)(const wm_run *run, const wm_fft_stage *stage);
wmStatus wm_fft_stages_run(const wm_run *run, const wm_fft_stages *s, wm_fft_stage_doer doer);

#ifdef __cplusplus
}
#endif

#endif
