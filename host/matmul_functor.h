/* SPDX-License-Identifier: Apache-2.0 */
/* What run-time compilation is given for the functor of a product: its source, and the name by which the pass over the
 * sums calls it. */
#ifndef WM_HOST_MATMUL_FUNCTOR_H
#define WM_HOST_MATMUL_FUNCTOR_H

#include "lib/status.h"
#include <warpmath/matmul.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kernel's name in what wm_matmul_functor_source gives, and the option that it takes: the public headers' inline
 * functions are the host's. */
#define WM_MATMUL_FUNCTOR_KERNEL "wm_matmul_finish_functor"
#define WM_MATMUL_FUNCTOR_OPTION "-default-device"

/** The translation unit of the functor's pass in f32, or f64 if `wide`; to be freed. NULL: memory ran out. */
char *wm_matmul_functor_source(const wmMatmulFunctor *functor, int wide);

#ifdef __cplusplus
}
#endif

#endif
