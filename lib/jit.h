/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels compiled at plan time, by NVRTC, from the device headers that are embedded in the library. A solver asks in
 * its make() and gives back in its drop():
 *
 *     const wm_jit_request request = {
 *         .solver = "fft_block", .source = "#include <device/fft_block.cuh>\n", .kernel = "wm_fft_block",
 *         .options = {"-DWM_FFT_N=12000"}, .shared = bytes, .generic = NULL};
 *     status = wm_jit_get(context, &request, &s->kernel);      …  s->launch.kernel = wm_jit_handle(s->kernel);
 *     wm_jit_put(context, s->kernel);
 *
 * The same request gives the same loaded kernel while the context lives; cubins are kept on disk (jit_file.h).
 * WARPMATH_JIT=0 turns run-time compilation off; so does a machine without NVRTC: offer() asks wm_jit_ready() first.
 */
#ifndef WM_LIB_JIT_H
#define WM_LIB_JIT_H

#include "context.h"
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WM_JIT_OPTIONS 40

typedef struct wm_jit_request {
    const char *solver; /* for sentences */
    const char *source; /* the translation unit; it includes what it wants of the embedded headers, and nothing else */
    const char *kernel; /* an extern "C" __global__ function of it */
    const char *options[WM_JIT_OPTIONS + 1]; /* further ones of NVRTC's, definitions mostly; NULL-terminated */
    size_t shared;                           /* dynamic shared memory that launches will ask for */
    /* The kernel as the thread emulation has it, compiled by the host compiler from the same file, and told by its
     * parameter what the options fix; then nothing is compiled. NULL in what nvcc builds. */
    const void *generic;
} wm_jit_request;

typedef struct wm_jit_kernel wm_jit_kernel;

/** 1 if wm_jit_get can work; 0 with the reason. Cheap after the first call. */
int wm_jit_ready(const void *generic, const char **why);

/**
 * The loaded kernel. WM_ERR_UNSUPPORTED where run-time compilation is absent or refuses the source: the planner then
 * takes another solver. Thread-safe; compiles a request once.
 */
wmStatus wm_jit_get(wmContext *context, const wm_jit_request *request, wm_jit_kernel **out);

/** What wm_launch.kernel takes. */
const void *wm_jit_handle(const wm_jit_kernel *kernel);

/** Gives it back; NULL is allowed. It stays loaded for the next one who asks, up to a bound. */
void wm_jit_put(wmContext *context, wm_jit_kernel *kernel);

/** For tests and tools: the cubin of a request for an architecture (90: sm_90a), compiled or from the disk cache; free
 * it. */
wmStatus wm_jit_cubin(wmContext *context, const wm_jit_request *request, int sm, void **cubin, size_t *bytes);

/* ---- The context's part ---- */

typedef struct wm_jit {
    pthread_mutex_t lock;
    wm_jit_kernel *list; /* last used first */
    int count;
    int most_idle;     /* loaded kernels that nobody uses */
    char folder[4096]; /* of the disk cache; "": none */
    long compiled;     /* for tests: how often the compiler ran */
} wm_jit;

void wm_jit_open(wm_jit *jit);
/** Unloads everything. */
void wm_jit_close(wmContext *context);

#ifdef __cplusplus
}
#endif

#endif
