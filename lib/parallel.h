/* SPDX-License-Identifier: Apache-2.0 */
/* A loop over threads, for CPU solvers of our own. */
#ifndef WM_LIB_PARALLEL_H
#define WM_LIB_PARALLEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Handles items [from, to); `thread` < threads numbers the worker. */
typedef void (*wm_range_function)(void *user, int64_t from, int64_t to, int thread);

/**
 * Splits [0, items) into at most `threads` contiguous ranges whose bounds are multiples of `grain`, and runs them side
 * by side, one on the caller's thread. Returns when all are done. Where a thread cannot be started its range runs on
 * the caller's, so that it never fails. Few items (under 2 grains) stay on the caller's thread.
 */
void wm_parallel_for(int threads, int64_t items, int64_t grain, wm_range_function body, void *user);

#ifdef __cplusplus
}
#endif

#endif
