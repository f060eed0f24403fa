/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context owns what plans share: the place (GPU or CPU), the device, loaded vendor libraries, wisdom, the cache of
 * one-shot plans, and the workspace arena. Contexts are thread-safe and reference-counted; a plan holds its context.
 */
#ifndef WARPMATH_CONTEXT_H
#define WARPMATH_CONTEXT_H

#include <warpmath/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wmContext wmContext;

/** How much a log line matters; a callback receives lines up to its level. */
typedef enum wmLogLevel {
    WM_LOG_DEFAULT = 0, /**< WARPMATH_LOG's level, else WM_LOG_OFF without a callback and WM_LOG_WARNING with one */
    WM_LOG_OFF = 1,
    WM_LOG_WARNING = 2,
    WM_LOG_INFO = 3, /**< plans made, libraries found */
    WM_LOG_DEBUG = 4 /**< every offer and timing */
} wmLogLevel;

/** Receives one line without a newline. May be called from any thread that calls warpmath, never under a lock of ours.
 */
typedef void (*wmLogFunction)(void *user, wmLogLevel level, const char *line);

/**
 * Memory for workspaces, tables and wmAlloc. Both functions or neither. Never called under a lock or during a capture.
 * `device` is the CUDA ordinal, or -1 for host memory of the CPU place; `align` is a power of two up to 4096.
 * alloc returns NULL when memory is short. free receives what alloc gave; on the GPU it must be legal while work
 * enqueued on `stream` may still use the block (a stream-ordered free), unless stream is NULL.
 */
typedef struct wmAllocator {
    void *(*alloc)(void *user, size_t bytes, size_t align, int device, wmStream stream);
    void (*free)(void *user, void *pointer, size_t bytes, wmStream stream);
    void *user;
} wmAllocator;

/** Options of wmContextCreate; all zero but `size` is the default. Strings are copied. */
typedef struct wmContextOptions {
    size_t size;
    wmPlace place;         /**< WM_PLACE_AUTO: WARPMATH_PLACE, else the GPU where there is one, else the CPU */
    int32_t device;        /**< CUDA ordinal; 0 is the first that CUDA_VISIBLE_DEVICES leaves */
    wmAllocator allocator; /**< zero: cudaMalloc or aligned_alloc */
    wmLogFunction log;     /**< NULL: lines go to stderr if WARPMATH_LOG asks for them, else nowhere */
    void *log_user;
    wmLogLevel log_level;
    const char *wisdom_path; /**< read at creation; NULL: WARPMATH_WISDOM, else the user's file; "": none */
    int32_t require_vendor;  /**< 1: creation fails unless cuBLASLt, cuFFT and cuRAND (GPU), OpenBLAS (CPU) load */
    int32_t cpu_threads;     /**< threads of CPU solvers of our own; 0: one a core this process may use */
    const char *fftw;        /**< soname of an FFTW library to allow ("libfftw3.so.3"; it is GPL); NULL:
                                  WARPMATH_FFTW, else none; its float twin is found by name */
} wmContextOptions;

/** Default options: every field its default. */
static inline wmContextOptions wmContextOptionsDefault(void) {
    wmContextOptions o = {
        sizeof(wmContextOptions), WM_PLACE_AUTO, 0, {NULL, NULL, NULL},
           NULL, NULL, WM_LOG_DEFAULT, NULL, 0, 0, NULL
    };
    return o;
}

/** The same for other languages: fills *options, of which the caller's header knows `size` bytes. */
WM_API void wmContextOptionsInit(wmContextOptions *options, size_t size);

/**
 * Creates a context; options may be NULL. Loads no vendor library yet and launches nothing.
 * WM_ERR_UNSUPPORTED: WM_PLACE_GPU and no usable driver or device (the sentence says which). WM_ERR_ARGUMENT: a bad
 * option. A wisdom file that is missing or damaged is no error.
 */
WM_API WM_CHECKED wmStatus wmContextCreate(wmContext **context, const wmContextOptions *options);

/** Adds a reference. NULL is allowed. */
WM_API void wmContextRetain(wmContext *context);

/** Drops a reference; the last one frees everything once enqueued work has ended. NULL is allowed. */
WM_API void wmContextDestroy(wmContext *context);

/** The context's place: WM_PLACE_GPU or WM_PLACE_CPU, never AUTO; AUTO for NULL. */
WM_API wmPlace wmContextPlace(const wmContext *context);

/** Facts of the context's device. On the CPU place: the processor's name, its threads as multiprocessors, the rest 0.
 */
typedef struct wmDeviceInfo {
    size_t size;
    char name[64];
    int32_t ordinal;            /**< CUDA ordinal; -1 on the CPU */
    int32_t compute_capability; /**< 90 for 9.0; 0 on the CPU */
    int32_t multiprocessors;    /**< SMs; threads on the CPU */
    int32_t driver_version;     /**< CUDA version of the driver, 13000 for 13.0 */
    int32_t runtime_version;    /**< CUDA version that warpmath was built with; 0 without CUDA */
    int64_t memory_bytes;
    int64_t l2_bytes;
    double bandwidth; /**< theoretical, bytes a second; 0 where unknown */
} wmDeviceInfo;

/** Fills *info; its `size` says how much of it the caller knows. */
WM_API WM_CHECKED wmStatus wmContextDeviceInfo(const wmContext *context, wmDeviceInfo *info);

/**
 * Describes the context as text or JSON: version, place, device, each library with its version or "absent, tried: ...",
 * solvers by operation, wisdom in use, environment variables in force. Loads the libraries to do so. Writes at most
 * `capacity` bytes with a final NUL, and the bytes needed (with NUL) to *needed, which may be NULL; buffer may be NULL
 * when capacity is 0.
 */
WM_API WM_CHECKED wmStatus wmContextInfo(wmContext *context, wmTextFormat format, char *buffer, size_t capacity,
                                         size_t *needed);

/**
 * Memory at the context's place, aligned to 256 bytes, through the context's allocator: one program for both places.
 * bytes = 0 gives NULL and WM_OK.
 */
WM_API WM_CHECKED wmStatus wmAlloc(void **pointer, wmContext *context, size_t bytes);

/** Frees what wmAlloc gave; waits for work that uses it. NULL is allowed. */
WM_API void wmFree(wmContext *context, void *pointer);

/**
 * Copies bytes between host memory and the context's place, in any direction, in order on `stream`. On the CPU place it
 * is done on return. On the GPU it is enqueued; pageable host memory may be reused on return.
 */
WM_API WM_CHECKED wmStatus wmCopy(wmContext *context, void *to, const void *from, size_t bytes, wmStream stream);

/** Waits until the work enqueued on `stream` has ended, and reports a fault it hit. */
WM_API WM_CHECKED wmStatus wmSynchronize(wmContext *context, wmStream stream);

#ifdef __cplusplus
}
#endif

#endif
