/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspace for executions whose caller gives none. An execution has its block to itself while it is being enqueued
 * (two threads may enqueue on one stream); then the next one on the same stream may take it, since the stream keeps
 * them in order. A block in use is never moved or freed: growing means another block. On the CPU there is one stream.
 */
#ifndef WM_LIB_ARENA_H
#define WM_LIB_ARENA_H

#include "context.h"
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_block {
    void *pointer;
    size_t bytes;
    uint64_t stream; /* its lasting number; 0 on the CPU */
    wmStream handle; /* for a stream-ordered free */
    int taken;       /* by an execution between take and give */
    struct wm_block *next;
} wm_block;

typedef struct wm_arena {
    pthread_mutex_t lock;
    wm_block *blocks; /* most recently used first */
} wm_arena;

/** A block of at least `bytes` for one execution on `stream`. WM_ERR_STATE, naming the bytes, while it captures. */
wmStatus wm_arena_take(wmContext *context, size_t bytes, wmStream stream, wm_block **block);

/** The execution is enqueued (CPU: done). */
void wm_arena_give(wmContext *context, wm_block *block);

/** Frees every block; nobody uses the context any more. */
void wm_arena_clear(wmContext *context);

#ifdef __cplusplus
}
#endif

#endif
