/* SPDX-License-Identifier: Apache-2.0 */
/* Functors that put an array among zeros on the way in, and cut results out on the way out. */
#ifndef WM_HOST_CONVOLVE_FUNCTORS_H
#define WM_HOST_CONVOLVE_FUNCTORS_H

#include <warpmath/convolution.h>
#include <warpmath/fft.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Elements from `have` on are 0; its user is wm_convolve_have(have). */
void wm_convolve_pads(const wmConvolutionDesc *d, wmFftLoad *load);
const void *wm_convolve_have(int64_t have);

/** Results first … first + count - 1 are stored, the first of them where the array begins. Both less than 2^31. */
void wm_convolve_crops(const wmConvolutionDesc *d, wmFftStore *store);
const void *wm_convolve_range(int64_t first, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
