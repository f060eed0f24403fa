/* SPDX-License-Identifier: Apache-2.0 */
/* What run-time compilation is given for functors: their sources, and the names by which kernels call them. */
#ifndef WM_HOST_FFT_FUNCTOR_H
#define WM_HOST_FFT_FUNCTOR_H

#include "lib/status.h"
#include <warpmath/fft.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The sources of d's functors (NULL: of none), then `rest`, as one text to be freed. NULL: memory ran out. */
char *wm_fft_functor_source(const wmFftLoad *load, const wmFftStore *store, const char *rest);

#ifdef __cplusplus
}
#endif

#endif
