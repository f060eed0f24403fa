/* SPDX-License-Identifier: Apache-2.0 */
/* Failing well: one status, one sentence a thread. */
#ifndef WM_LIB_STATUS_H
#define WM_LIB_STATUS_H

#include <warpmath/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WM_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define WM_PRINTF(text, rest)
#endif

/** Keeps the sentence for wmLastError() and gives `status` back: `return wm_fail(WM_ERR_ARGUMENT, "m is %d", m);`. */
wmStatus wm_fail(wmStatus status, const char *format, ...) WM_PRINTF(2, 3);

/** Puts ", <text>" behind this thread's last sentence, the problem string say. Gives `status` back. */
wmStatus wm_fail_in(wmStatus status, const char *format, ...) WM_PRINTF(2, 3);

/** The same for a CUDA error: keeps its code for wmLastCudaError(). */
wmStatus wm_fail_cuda(int error, const char *error_name, const char *format, ...) WM_PRINTF(3, 4);

/** Saves and restores this thread's sentence, for clean-up code that may fail on its own. */
typedef struct wm_error {
    wmStatus status;
    int cuda;
    char text[512];
} wm_error;
void wm_error_save(wm_error *out);
void wm_error_restore(const wm_error *error);

/** Returns a failure of `call` to the caller. */
#define WM_TRY(call)                                                                                                   \
    do {                                                                                                               \
        wmStatus wm_try_status = (call);                                                                               \
        if (wm_try_status != WM_OK) return wm_try_status;                                                              \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
