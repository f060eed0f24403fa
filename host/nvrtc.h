/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC, loaded on demand. */
#ifndef WM_HOST_NVRTC_H
#define WM_HOST_NVRTC_H

#include "lib/status.h"

#include <stddef.h>

/** A header by the name that an #include gives. */
typedef struct wm_header {
    const char *name, *text;
} wm_header;

/** Those embedded in the library. */
const wm_header *wm_headers(int *count);

/** 1 if NVRTC is there and has all that we need; 0 with the reason. */
int wm_nvrtc_ready(const char **why);

/** What the compiler calls itself, for cache keys: "13.0". */
const char *wm_nvrtc_version(void);

/** What a compilation gives: machine code; text for a virtual architecture; code to be optimised when it is linked. */
typedef enum wm_nvrtc_result { WM_NVRTC_CUBIN, WM_NVRTC_PTX, WM_NVRTC_LTOIR, WM_NVRTC_RESULTS } wm_nvrtc_result;

wmStatus wm_nvrtc_compile_to(wm_nvrtc_result kind, const char *name, const char *source, const char *const *options,
                             int count, void **out, size_t *bytes);

/** Compiles; *cubin is to be freed. A source that does not compile is WM_ERR_UNSUPPORTED, with the log's first line. */
wmStatus wm_nvrtc_compile(const char *name, const char *source, const char *const *options, int count, void **cubin,
                          size_t *bytes);

#endif
