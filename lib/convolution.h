/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of a convolution that several solvers need; of a resolved desc. */
#ifndef WM_LIB_CONVOLUTION_H
#define WM_LIB_CONVOLUTION_H

#include <warpmath/convolution.h>

#ifdef __cplusplus
extern "C" {
#endif

int wm_convolution_is_real(const wmConvolutionDesc *d);
int wm_convolution_is_f64(const wmConvolutionDesc *d);

/** Points of the transform along an axis: smooth, even and long enough; n itself where it is circular. */
int64_t wm_convolution_length(const wmConvolutionDesc *d, int axis);

/** Of the whole transform; -1: overflow. */
int64_t wm_convolution_points(const wmConvolutionDesc *d);

/** Complex numbers of a prepared filter; -1: overflow. */
int64_t wm_convolution_spectrum(const wmConvolutionDesc *d);
wmType wm_convolution_spectrum_type(const wmConvolutionDesc *d);

/** The first result that is given along an axis, counted in those of FULL. */
int64_t wm_convolution_first(const wmConvolutionDesc *d, int axis);

/** Elements of one array, and of the whole batch from the first to the last; -1: overflow. */
int64_t wm_convolution_elements(const wmConvolutionDesc *d, int output);
int64_t wm_convolution_span(const wmConvolutionDesc *d, int output);

void wm_convolution_resolve(wmConvolutionDesc *d);

#ifdef __cplusplus
}
#endif

#endif
