/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVRTC, loaded on demand; no header of it is needed. It finds no system header: what a source includes is embedded in
 * the library.
 */
#include "nvrtc.h"
#include "lib/context.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void *program;

typedef struct nvrtc_library {
    int (*create)(program *out, const char *source, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(program p, int options, const char *const *option);
    int (*cubin_size)(program p, size_t *bytes);
    int (*cubin)(program p, char *out);
    int (*log_size)(program p, size_t *bytes);
    int (*log)(program p, char *out);
    int (*destroy)(program *p);
    const char *(*error)(int result);
    const char *missing;
} nvrtc_library;

static nvrtc_library nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_symbols(void) {
    static const wm_symbol rows[] = {
        {"nvrtcCreateProgram",     (void **)&nvrtc.create    },
        {"nvrtcCompileProgram",    (void **)&nvrtc.compile   },
        {"nvrtcGetCUBINSize",      (void **)&nvrtc.cubin_size},
        {"nvrtcGetCUBIN",          (void **)&nvrtc.cubin     },
        {"nvrtcGetProgramLogSize", (void **)&nvrtc.log_size  },
        {"nvrtcGetProgramLog",     (void **)&nvrtc.log       },
        {"nvrtcDestroyProgram",    (void **)&nvrtc.destroy   },
        {"nvrtcGetErrorString",    (void **)&nvrtc.error     },
    };
    nvrtc.missing = wm_library_symbols(WM_LIB_NVRTC, rows, sizeof rows / sizeof *rows);
}

static const wm_header headers[] = {
#include "wm_headers.inc"
};

enum { HEADERS = sizeof headers / sizeof *headers };

const wm_header *wm_headers(int *count) {
    *count = HEADERS;
    return headers;
}

int wm_nvrtc_ready(const char **why) {
    *why = "";
    if (!wm_library_get(WM_LIB_NVRTC, why)) return 0;
    pthread_once(&once, find_symbols);
    if (nvrtc.missing) *why = "this NVRTC lacks a function that we need";
    return !nvrtc.missing;
}

const char *wm_nvrtc_version(void) {
    return wm_library_version(WM_LIB_NVRTC);
}

/** The log's first error as a sentence. */
static wmStatus say_log(program p, const char *name, int result) {
    size_t bytes = 0;
    char *log = NULL;
    if (nvrtc.log_size(p, &bytes) == 0 && bytes && (log = calloc(bytes + 1, 1)) && nvrtc.log(p, log) != 0) log[0] = 0;
    const char *first = log ? strstr(log, "error") : NULL;
    wm_fail(WM_ERR_UNSUPPORTED, "NVRTC did not compile %s: %s: %.300s", name, nvrtc.error(result),
            first ? first : "no log");
    free(log);
    return WM_ERR_UNSUPPORTED;
}

static wmStatus take_cubin(program p, const char *name, void **cubin, size_t *bytes) {
    int result = nvrtc.cubin_size(p, bytes);
    if (result || *bytes == 0)
        return wm_fail(WM_ERR_UNSUPPORTED, "NVRTC has no cubin of %s: %s", name, nvrtc.error(result));
    *cubin = malloc(*bytes);
    if (!*cubin) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    result = nvrtc.cubin(p, *cubin);
    if (!result) return WM_OK;
    free(*cubin);
    *cubin = NULL;
    return wm_fail(WM_ERR_UNSUPPORTED, "NVRTC gives no cubin of %s: %s", name, nvrtc.error(result));
}

wmStatus wm_nvrtc_compile(const char *name, const char *source, const char *const *options, int count, void **cubin,
                          size_t *bytes) {
    const char *names[HEADERS], *texts[HEADERS], *why = NULL;
    program p = NULL;
    *cubin = NULL;
    if (!wm_nvrtc_ready(&why)) return wm_fail(WM_ERR_UNSUPPORTED, "%s", why);
    for (int i = 0; i < HEADERS; i++) names[i] = headers[i].name, texts[i] = headers[i].text;
    int result = nvrtc.create(&p, source, name, HEADERS, texts, names);
    if (result) return wm_fail(WM_ERR_UNSUPPORTED, "NVRTC made no program of %s: %s", name, nvrtc.error(result));
    result = nvrtc.compile(p, count, options);
    wmStatus status = result ? say_log(p, name, result) : take_cubin(p, name, cubin, bytes);
    nvrtc.destroy(&p);
    return status;
}
