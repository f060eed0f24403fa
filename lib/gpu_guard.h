/* SPDX-License-Identifier: Apache-2.0 */
/* What every public function does on its way in and out of a context. */
#ifndef WM_LIB_GPU_GUARD_H
#define WM_LIB_GPU_GUARD_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The caller's state, to be put back. */
typedef struct wm_guard {
    wmContext *context; /* NULL: nothing to put back */
    int device;         /* the caller's current device */
    int pending;        /* the caller's pending CUDA error */
} wm_guard;

/**
 * Refuses a NULL context, a forked child and a poisoned device; makes the context's device current. On failure there is
 * nothing to leave.
 */
wmStatus wm_enter(wmContext *context, wm_guard *guard);

/** The same where a poisoned device is no obstacle: clean-up. 1 if device calls make sense at all. */
int wm_enter_cleanup(wmContext *context, wm_guard *guard);

/** wm_leave for a context that has just been freed. */
void wm_leave_destroyed(const wm_guard *guard, const wm_gpu *gpu, int ordinal);

/** Puts the caller's device back, takes our own pending error away, notes a sticky one. Gives `status` back. */
wmStatus wm_leave(const wm_guard *guard, wmStatus status);

#ifdef __cplusplus
}
#endif

#endif
