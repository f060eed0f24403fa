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
    struct {
        int (*size)(program p, size_t *bytes);
        int (*get)(program p, char *out);
    } result[WM_NVRTC_RESULTS];
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
        {"nvrtcCreateProgram",     (void **)&nvrtc.create                     },
        {"nvrtcCompileProgram",    (void **)&nvrtc.compile                    },
        {"nvrtcGetCUBINSize",      (void **)&nvrtc.result[WM_NVRTC_CUBIN].size},
        {"nvrtcGetCUBIN",          (void **)&nvrtc.result[WM_NVRTC_CUBIN].get },
        {"nvrtcGetPTXSize",        (void **)&nvrtc.result[WM_NVRTC_PTX].size  },
        {"nvrtcGetPTX",            (void **)&nvrtc.result[WM_NVRTC_PTX].get   },
        {"nvrtcGetLTOIRSize",      (void **)&nvrtc.result[WM_NVRTC_LTOIR].size},
        {"nvrtcGetLTOIR",          (void **)&nvrtc.result[WM_NVRTC_LTOIR].get },
        {"nvrtcGetProgramLogSize", (void **)&nvrtc.log_size                   },
        {"nvrtcGetProgramLog",     (void **)&nvrtc.log                        },
        {"nvrtcDestroyProgram",    (void **)&nvrtc.destroy                    },
        {"nvrtcGetErrorString",    (void **)&nvrtc.error                      },
    };
    nvrtc.missing = wm_library_symbols(WM_LIB_NVRTC, rows, sizeof rows / sizeof *rows);
}

/* The system's two that the public headers include; NVRTC knows size_t by itself. */
static const wm_header headers[] = {
    {"stddef.h", "\n"                                                             },
    {"stdint.h", "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n"
                 "typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned int uint32_t;\n"
                 "typedef long long int64_t; typedef unsigned long long uint64_t;\n"
                 "#define INT64_MIN (-0x7fffffffffffffffLL - 1)\n"},
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

static wmStatus take(program p, wm_nvrtc_result kind, const char *name, void **out, size_t *bytes) {
    static const char *const kinds[] = {"cubin", "PTX", "LTO-IR"};
    int result = nvrtc.result[kind].size(p, bytes);
    if (result || *bytes == 0)
        return wm_fail(WM_ERR_UNSUPPORTED, "NVRTC has no %s of %s: %s", kinds[kind], name, nvrtc.error(result));
    *out = malloc(*bytes);
    if (!*out) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    result = nvrtc.result[kind].get(p, *out);
    if (!result) return WM_OK;
    free(*out);
    *out = NULL;
    return wm_fail(WM_ERR_UNSUPPORTED, "NVRTC gives no %s of %s: %s", kinds[kind], name, nvrtc.error(result));
}

wmStatus wm_nvrtc_compile_to(wm_nvrtc_result kind, const char *name, const char *source, const char *const *options,
                             int count, void **out, size_t *bytes) {
    const char *names[HEADERS], *texts[HEADERS], *why = NULL;
    program p = NULL;
    *out = NULL;
    if (!wm_nvrtc_ready(&why)) return wm_fail(WM_ERR_UNSUPPORTED, "%s", why);
    for (int i = 0; i < HEADERS; i++) names[i] = headers[i].name, texts[i] = headers[i].text;
    int result = nvrtc.create(&p, source, name, HEADERS, texts, names);
    if (result) return wm_fail(WM_ERR_UNSUPPORTED, "NVRTC made no program of %s: %s", name, nvrtc.error(result));
    result = nvrtc.compile(p, count, options);
    wmStatus status = result ? say_log(p, name, result) : take(p, kind, name, out, bytes);
    nvrtc.destroy(&p);
    return status;
}

wmStatus wm_nvrtc_compile(const char *name, const char *source, const char *const *options, int count, void **cubin,
                          size_t *bytes) {
    return wm_nvrtc_compile_to(WM_NVRTC_CUBIN, name, source, options, count, cubin, bytes);
}
