/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace arena of a context. Memory is allocated and freed outside the lock. */
#include "arena.h"
#include "context_internal.h"
#include <stdlib.h>

/* Idle blocks that stay: streams come and go, and each leaves its block behind. */
enum { MOST_IDLE = 32 };

/* Unlinks the block at *at and puts it in front. */
static void move_to_front(wm_arena *arena, wm_block **at) {
    wm_block *block = *at;
    *at = block->next;
    block->next = arena->blocks;
    arena->blocks = block;
}

static wm_block *find(wm_arena *arena, size_t bytes, uint64_t stream) {
    for (wm_block **at = &arena->blocks; *at; at = &(*at)->next) {
        wm_block *block = *at;
        if (block->taken || block->bytes < bytes || block->stream != stream) continue;
        block->taken = 1;
        move_to_front(arena, at);
        return block;
    }
    return NULL;
}

/* Unlinks idle blocks that the newest one replaces, and the longest unused beyond MOST_IDLE. */
static wm_block *prune(wm_arena *arena, const wm_block *newest) {
    wm_block *out = NULL;
    int idle = 0;
    for (wm_block **at = &arena->blocks; *at;) {
        wm_block *block = *at;
        int replaced = block->stream == newest->stream && block->bytes <= newest->bytes;
        if (block->taken || (!replaced && ++idle <= MOST_IDLE)) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        block->next = out;
        out = block;
    }
    return out;
}

/* Of the streams, only `live` (a stream's number) is known to exist still. */
static void free_list(wmContext *context, wm_block *list, uint64_t live) {
    while (list) {
        wm_block *next = list->next;
        if (list->stream == live) {
            wm_context_release_on(context, list->pointer, list->bytes, list->handle);
        } else {
            wm_context_free(context, list->pointer, list->bytes);
        }
        free(list);
        list = next;
    }
}

static wmStatus may_allocate(wmContext *context, size_t bytes, wmStream stream, uint64_t *id) {
    const wm_gpu *gpu = context->gpu;
    int capturing = 0;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_capturing(gpu->self, stream, &capturing), "cudaStreamIsCapturing"));
    if (capturing) {
        return wm_fail(WM_ERR_STATE,
                       "args.workspace is NULL while the stream is capturing: the plan needs %zu bytes "
                       "there, which must outlive the graph",
                       bytes);
    }
    return wm_gpu_check(gpu, gpu->stream_id(gpu->self, stream, id), "cudaStreamGetId");
}

wmStatus wm_arena_take(wmContext *context, size_t bytes, wmStream stream, wm_block **block) {
    wm_arena *arena = &context->arena;
    uint64_t id = 0;
    *block = NULL;
    if (context->gpu) WM_TRY(may_allocate(context, bytes, stream, &id));
    pthread_mutex_lock(&arena->lock);
    *block = find(arena, bytes, id);
    pthread_mutex_unlock(&arena->lock);
    if (*block) return WM_OK;

    wm_block *fresh = (wm_block *)calloc(1, sizeof *fresh);
    if (!fresh) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    wmStatus status = wm_context_obtain(context, &fresh->pointer, bytes, stream);
    if (status != WM_OK) {
        free(fresh);
        return status;
    }
    fresh->bytes = bytes;
    fresh->stream = id;
    fresh->handle = stream;
    fresh->taken = 1;
    pthread_mutex_lock(&arena->lock);
    fresh->next = arena->blocks;
    arena->blocks = fresh;
    wm_block *old = prune(arena, fresh);
    pthread_mutex_unlock(&arena->lock);
    free_list(context, old, id);
    *block = fresh;
    return WM_OK;
}

void wm_arena_give(wmContext *context, wm_block *block) {
    if (!block) return;
    pthread_mutex_lock(&context->arena.lock);
    block->taken = 0;
    pthread_mutex_unlock(&context->arena.lock);
}

void wm_arena_clear(wmContext *context) {
    wm_block *all = context->arena.blocks;
    context->arena.blocks = NULL;
    free_list(context, all, UINT64_MAX);
}
