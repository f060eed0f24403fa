/* SPDX-License-Identifier: Apache-2.0 */
/* What solvers and the engine ask of a context. */
#ifndef WM_LIB_CONTEXT_H
#define WM_LIB_CONTEXT_H

#include "gpu.h"
#include "status.h"
#include <warpmath/matmul.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The device table; NULL on the CPU place. */
const wm_gpu *wm_context_gpu(const wmContext *context);

/** Facts of the context's device; on the CPU place sm is 0 and multiprocessors counts threads. */
const wm_device *wm_context_device(const wmContext *context);

/**
 * Multiprocessors whose room a plan that is being made or run on this thread leaves to other work; wm_context_device
 * then counts the rest alone.
 */
int wm_context_left_free(const wmContext *context);

/** Threads that CPU solvers of our own use. */
int wm_context_threads(const wmContext *context);

/** Memory at the place through the caller's allocator, 256-byte aligned. For plan states, not for executions. */
wmStatus wm_context_alloc(wmContext *context, void **out, size_t bytes);

/** Frees it, after work enqueued so far has ended (never blocks the caller during a capture). NULL is allowed. */
void wm_context_free(wmContext *context, void *pointer, size_t bytes);

/** Allocates and fills from host memory, synchronously: tables of a plan. */
wmStatus wm_context_upload(wmContext *context, void **out, const void *from, size_t bytes);

/** Host facts for the roofline: peak operations a second of a type's arithmetic and bytes a second of memory. */
double wm_context_peak_flops(const wmContext *context, wmType type, wmCompute compute);
double wm_context_bandwidth(const wmContext *context);

/**
 * One row a vendor or CPU library: found once a process, never unloaded. wm_library_get gives the handle (for dlsym) or
 * NULL with the reason in *why ("cublasLt absent, tried: ..."); thread-safe.
 */
typedef enum wm_library_id {
    WM_LIB_CUBLASLT,
    WM_LIB_CUBLAS,
    WM_LIB_CUFFT,
    WM_LIB_CURAND,
    WM_LIB_NVRTC,
    WM_LIB_OPENBLAS,
    WM_LIB_COUNT
} wm_library_id;
void *wm_library_get(wm_library_id id, const char **why);

/** The symbol's address; NULL where the library lacks it or is absent. */
void *wm_library_symbol(wm_library_id id, const char *symbol);

/** Many at once, each to where its row says; gives the name of one that the library lacks, NULL if it has them all. */
typedef struct wm_symbol {
    const char *name;
    void **to;
} wm_symbol;
const char *wm_library_symbols(wm_library_id id, const wm_symbol *symbols, size_t count);

/** Its short name ("cublaslt"), its version ("13.1.0") and the file it came from; "" for the last two if absent. */
const char *wm_library_name(wm_library_id id);
const char *wm_library_version(wm_library_id id);
const char *wm_library_path(wm_library_id id);

/** The FFTW library (double or float) that this context allows; NULL with the reason. */
void *wm_context_fftw(wmContext *context, int single, const char **why);

/** A log line, formatted only when its level is wanted. */
void wm_log(wmContext *context, wmLogLevel level, const char *format, ...) WM_PRINTF(3, 4);

/** Turns a CUDA error of `call` into a status with a sentence; names a sticky one as such. 0 is WM_OK. */
wmStatus wm_gpu_check(const wm_gpu *gpu, int error, const char *call);

/** A kernel launch of a solver: enqueues, or fails with a sentence that names `kernel_name`. */
wmStatus wm_launch_kernel(wmContext *context, const char *kernel_name, const wm_launch *launch, wmStream stream);

/** Loads a kernel and raises its shared-memory limit: for make. */
wmStatus wm_prepare_kernel(wmContext *context, const char *kernel_name, const void *kernel, size_t shared);

#ifdef __cplusplus
}
#endif

#endif
