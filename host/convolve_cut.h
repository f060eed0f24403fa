/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch of convolve_block.cuh's kernel for one cut of the transform, which arrays (convolve_block) and the columns
 * of planes (convolve_planes) share: tables on the device, the compiled kernel, and what it is told.
 */
#ifndef WM_HOST_CONVOLVE_CUT_H
#define WM_HOST_CONVOLVE_CUT_H

#include "device/convolve_block.h"
#include "host/fft_cut.h"
#include "lib/gpu.h"
#include "lib/jit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_convolve_cut {
    wm_convolve_block_job job; /* a run copies it, and adds in, out and filter */
    wm_launch launch;          /* without params */
    wm_jit_kernel *kernel;
    void *tables; /* on the device */
    size_t table_bytes;
} wm_convolve_cut;

/** An offer's knobs, and back. */
void wm_convolve_cut_offer(const wm_fft_knobs *knobs, wm_offer *offer);
wm_fft_knobs wm_convolve_cut_knobs(const wm_offer *offer);

/** Along axis 0 of d, for `arrays` contiguous arrays of it; what differs the caller changes in out->job. `generic`: see
 * wm_jit_request. Dropped by wm_convolve_cut_drop, also where it fails. */
wmStatus wm_convolve_cut_make(wmContext *context, const char *solver, const wmConvolutionDesc *d, const wm_fft_cut *cut,
                              wm_convolve_form form, int64_t arrays, const void *generic, wm_convolve_cut *out);
void wm_convolve_cut_drop(wmContext *context, wm_convolve_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
