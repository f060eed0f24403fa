/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a context: the caller's allocator or the default one, and when a block may be freed. */
#include "context_internal.h"
#include "gpu_guard.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };

/* The device is busy recording: what has to wait for it must come back later (cudaErrorStreamCapture...). */
static int is_capture_error(int error) {
    return error >= 900 && error <= 908;
}

static wmStatus no_memory(const wmContext *context, size_t bytes) {
    return wm_fail(WM_ERR_MEMORY, "%zu bytes of %s memory are not to be had", bytes, context->gpu ? "device" : "host");
}

wmStatus wm_context_obtain(wmContext *context, void **out, size_t bytes, wmStream stream) {
    *out = NULL;
    if (bytes == 0) return WM_OK;
    if (bytes > SIZE_MAX - ALIGN) return no_memory(context, bytes);
    size_t whole = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (context->allocator.alloc) {
        *out = context->allocator.alloc(context->allocator.user, whole, ALIGN, context->device.ordinal, stream);
        if (*out && (uintptr_t)*out % ALIGN) {
            context->allocator.free(context->allocator.user, *out, whole, stream);
            *out = NULL;
            return wm_fail(WM_ERR_ARGUMENT, "allocator.alloc gave a block that is not aligned to %d bytes", ALIGN);
        }
    } else if (context->gpu) {
        int error = context->gpu->alloc(context->gpu->self, out, whole);
        if (error) {
            *out = NULL;
            wmStatus status = wm_gpu_check(context->gpu, error, "cudaMalloc");
            return wm_fail_in(status, "of %zu bytes", whole);
        }
    } else {
        *out = aligned_alloc(ALIGN, whole);
    }
    return *out ? WM_OK : no_memory(context, bytes);
}

wmStatus wm_context_alloc(wmContext *context, void **out, size_t bytes) {
    return wm_context_obtain(context, out, bytes, NULL);
}

/* Keeps a block for later; where even that fails it leaks, which is the lesser evil. */
static void put_off(wmContext *context, void *pointer, size_t bytes) {
    wm_block *late = (wm_block *)calloc(1, sizeof *late);
    if (!late) return;
    late->pointer = pointer;
    late->bytes = bytes;
    pthread_mutex_lock(&context->lock);
    late->next = context->late;
    context->late = late;
    pthread_mutex_unlock(&context->lock);
}

/* 0 if the device would not wait now. */
static int try_free(wmContext *context, void *pointer, size_t bytes) {
    const wm_gpu *gpu = context->gpu;
    if (context->allocator.free) {
        if (gpu && is_capture_error(gpu->device_wait(gpu->self))) return 0;
        context->allocator.free(context->allocator.user, pointer, (bytes + ALIGN - 1) / ALIGN * ALIGN, NULL);
    } else if (gpu) {
        return !is_capture_error(gpu->free(gpu->self, pointer));
    } else {
        free(pointer);
    }
    return 1;
}

static void free_late(wmContext *context) {
    pthread_mutex_lock(&context->lock);
    wm_block *list = context->late;
    context->late = NULL;
    pthread_mutex_unlock(&context->lock);
    while (list) {
        wm_block *next = list->next;
        if (!try_free(context, list->pointer, list->bytes)) put_off(context, list->pointer, list->bytes);
        free(list);
        list = next;
    }
}

void wm_context_free(wmContext *context, void *pointer, size_t bytes) {
    wm_error error;
    wm_error_save(&error);
    if (context->gpu) free_late(context);
    if (pointer && !try_free(context, pointer, bytes)) put_off(context, pointer, bytes);
    wm_error_restore(&error);
}

void wm_context_release_on(wmContext *context, void *pointer, size_t bytes, wmStream stream) {
    if (!context->allocator.free || !context->gpu) {
        wm_context_free(context, pointer, bytes);
        return;
    }
    context->allocator.free(context->allocator.user, pointer, (bytes + ALIGN - 1) / ALIGN * ALIGN, stream);
}

wmStatus wm_context_upload(wmContext *context, void **out, const void *from, size_t bytes) {
    WM_TRY(wm_context_alloc(context, out, bytes));
    if (bytes == 0) return WM_OK;
    const wm_gpu *gpu = context->gpu;
    if (!gpu) {
        memcpy(*out, from, bytes); // NOLINT(clang-analyzer-core.NonNullParamChecker): bytes > 0 gave memory
        return WM_OK;
    }
    /* A stream of its own: the legacy stream may be captured or busy. */
    wmStream stream = NULL;
    wmStatus status = wm_gpu_check(gpu, gpu->stream_create(gpu->self, &stream), "cudaStreamCreate");
    if (status == WM_OK) {
        status = wm_gpu_check(gpu, gpu->copy(gpu->self, *out, from, bytes, stream), "cudaMemcpyAsync");
        int error = gpu->stream_wait(gpu->self, stream);
        if (status == WM_OK) status = wm_gpu_check(gpu, error, "cudaStreamSynchronize");
        (void)gpu->stream_destroy(gpu->self, stream);
    }
    if (status != WM_OK) {
        wm_context_free(context, *out, bytes);
        *out = NULL;
    }
    return status;
}

/* ---- wmAlloc and its family ---- */

static wmStatus remember(wmContext *context, void *pointer, size_t bytes) {
    wmStatus status = WM_OK;
    pthread_mutex_lock(&context->lock);
    if (context->given_count == context->given_capacity) {
        size_t capacity = context->given_capacity ? 2 * context->given_capacity : 16;
        wm_given *grown = (wm_given *)realloc(context->given, capacity * sizeof *grown);
        if (grown) {
            context->given = grown;
            context->given_capacity = capacity;
        } else {
            status = wm_fail(WM_ERR_MEMORY, "out of host memory");
        }
    }
    if (status == WM_OK) context->given[context->given_count++] = (wm_given){pointer, bytes};
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* The size that goes with the pointer; 0 if wmAlloc did not give it. */
static size_t recall(wmContext *context, const void *pointer) {
    size_t bytes = 0;
    pthread_mutex_lock(&context->lock);
    for (size_t i = context->given_count; i-- > 0 && !bytes;) {
        if (context->given[i].pointer != pointer) continue;
        bytes = context->given[i].bytes;
        context->given[i] = context->given[--context->given_count];
    }
    pthread_mutex_unlock(&context->lock);
    return bytes;
}

wmStatus wmAlloc(void **pointer, wmContext *context, size_t bytes) {
    if (!pointer) return wm_fail(WM_ERR_ARGUMENT, "pointer is NULL");
    *pointer = NULL;
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wmStatus status = wm_context_alloc(context, pointer, bytes);
    if (status == WM_OK && *pointer && context->allocator.alloc) {
        status = remember(context, *pointer, bytes);
        if (status != WM_OK) {
            wm_context_free(context, *pointer, bytes);
            *pointer = NULL;
        }
    }
    return wm_leave(&guard, status);
}

void wmFree(wmContext *context, void *pointer) {
    wm_guard guard;
    if (!context || !pointer || !wm_enter_cleanup(context, &guard)) return;
    size_t bytes = 0;
    if (!context->allocator.free || (bytes = recall(context, pointer))) wm_context_free(context, pointer, bytes);
    (void)wm_leave(&guard, WM_OK);
}

wmStatus wmCopy(wmContext *context, void *to, const void *from, size_t bytes, wmStream stream) {
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wmStatus status = WM_OK;
    if (bytes == 0) {
        status = WM_OK;
    } else if (!to || !from) {
        status = wm_fail(WM_ERR_ARGUMENT, "%s is NULL", to ? "from" : "to");
    } else if (!context->gpu) {
        memmove(to, from, bytes);
    } else {
        status = wm_gpu_check(context->gpu, context->gpu->copy(context->gpu->self, to, from, bytes, stream), "wmCopy");
    }
    return wm_leave(&guard, status);
}

wmStatus wmSynchronize(wmContext *context, wmStream stream) {
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wmStatus status = WM_OK;
    const wm_gpu *gpu = context->gpu;
    if (gpu) status = wm_gpu_check(gpu, gpu->stream_wait(gpu->self, stream), "wmSynchronize");
    return wm_leave(&guard, status);
}
