/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of random_quantile, compiled at plan time with the distribution, the type and the width of points as
 * constants; the emulation reads them from the job. */
#ifndef WM_DEVICE_RANDOM_QUANTILE_CUH
#define WM_DEVICE_RANDOM_QUANTILE_CUH

#include <warpmath/random.h>

#include "device/random_quantile.h"

#include <warpmath/device/base.cuh>

enum { WM_QUANTILE_THREADS = 256 };

typedef struct wm_quantile_draw {
    unsigned char *out;
    wm_i64 count, columns, ld; /* columns: never 0 */
    wm_u64 offset;
    const wmRandomState *state; /* or NULL */
    const void *directions;
    wm_quantile_job job;
} wm_quantile_draw;

#if defined(WM_SIMT) || defined(WM_QUANTILE)
WM_KERNEL __launch_bounds__(WM_QUANTILE_THREADS) wm_random_quantile_kernel(WM_PARAMS(wm_quantile_draw)) {
    wm_quantile_job job = p.job;
    wm_u64 offset = p.offset;
#ifdef WM_QUANTILE
    job.element.distribution = WM_QUANTILE;
    job.element.type = WM_QUANTILE_TYPE;
    job.element.element = WM_QUANTILE_BYTES;
    job.wide = WM_QUANTILE_WIDE;
#endif
    if (p.state) job.element.key = p.state->key, offset += p.state->offset;
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        wm_i64 row = i < p.columns ? 0 : i / p.columns;
        unsigned char *out = p.out + (row * p.ld + (i - row * p.columns)) * job.element.element;
        wm_quantile_value(&job.element, job.wide, wm_quantile_coordinate(&job, p.directions, offset + (wm_u64)i), out);
    }
}
#endif

#endif
