/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the layout of a transform that several solvers ask. */
#ifndef WM_REFERENCE_FFT_LAYOUT_H
#define WM_REFERENCE_FFT_LAYOUT_H

#include <warpmath/fft.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sorts loops, smallest strides first, and makes one of loops that continue each other. Gives the number left. */
int wm_fft_arrange(wmFftDim *loop, int loops);

/** 1 / N, 1 / sqrt N or 1, as the problem asks. */
double wm_fft_scale(const wmFftDesc *desc);

/**
 * 1 if the input's elements all lie apart: loops may re-read data (stride 0, overlapping windows), and then a solver
 * must not use the input as workspace, whatever the problem allows.
 */
int wm_fft_input_disjoint(const wmFftDesc *desc);

/** 1 if a solver may overwrite the input while it works. */
int wm_fft_may_overwrite(const wmFftDesc *desc);

/** Input elements of all arrays together (not the span that they lie in). */
int64_t wm_fft_input_elements(const wmFftDesc *desc);

/** The same transform from input that lies packed, arrays in the order of the loops. */
wmFftDesc wm_fft_from_packed(const wmFftDesc *desc);

/** Copies the input to where wm_fft_from_packed() reads it. `size`: bytes of an element. */
void wm_fft_pack_input(const wmFftDesc *desc, size_t size, const void *in, void *packed);

/** Multiplies every output element, on the CPU. */
void wm_fft_scale_output(const wmFftDesc *desc, double scale, void *out);

#ifdef __cplusplus
}
#endif

#endif
