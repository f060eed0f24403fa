/* SPDX-License-Identifier: Apache-2.0 */
/* The plan cache of one-shot calls. A plan is made outside the lock; threads that want the same one wait for it. */
#include "context_internal.h"
#include "gpu_guard.h"
#include "plan_internal.h"
#include <string.h>

static wm_cache_entry *find(wm_plan_cache *cache, uint64_t hash, const wm_problem *problem) {
    for (int i = cache->bucket[hash % WM_CACHE_BUCKETS]; i; i = cache->entry[i - 1].next) {
        wm_cache_entry *entry = &cache->entry[i - 1];
        if (entry->hash == hash && wm_problem_equal(&entry->problem, problem)) return entry;
    }
    return NULL;
}

static void unlink_entry(wm_plan_cache *cache, const wm_cache_entry *entry) {
    int number = (int)(entry - cache->entry) + 1;
    int *at = &cache->bucket[entry->hash % WM_CACHE_BUCKETS];
    while (*at != number) at = &cache->entry[*at - 1].next;
    *at = entry->next;
}

/* A free entry, or the one longest unused, whose plan goes to *evicted; NULL if all are pinned or being made. */
static wm_cache_entry *claim(wm_plan_cache *cache, wmPlan **evicted) {
    wm_cache_entry *oldest = NULL;
    for (int i = 0; i < WM_CACHE_PLANS; i++) {
        wm_cache_entry *entry = &cache->entry[i];
        if (!entry->used) return entry;
        if (entry->pinned || !entry->plan) continue;
        if (!oldest || entry->used < oldest->used) oldest = entry;
    }
    if (!oldest) return NULL;
    unlink_entry(cache, oldest);
    *evicted = oldest->plan;
    return oldest;
}

static wmStatus is_capturing(const wmContext *context, wmStream stream, int *yes) {
    *yes = 0;
    const wm_gpu *gpu = context->gpu;
    if (!gpu) return WM_OK;
    return wm_gpu_check(gpu, gpu->stream_capturing(gpu->self, stream, yes), "cudaStreamIsCapturing");
}

/* Makes the plan of a claimed entry and wakes whoever waits for it. */
static wmStatus make(wmContext *context, const wm_problem *problem, wm_cache_entry *entry, wmPlan **plan) {
    wm_plan_cache *cache = &context->cache;
    const wmPlanOptions options = wmPlanOptionsDefault();
    wmStatus status = wm_plan_make(plan, context, problem, &options, 0);
    if (!entry) return status;
    pthread_mutex_lock(&cache->lock);
    if (status == WM_OK) {
        wmPlanRetain(*plan);
        entry->plan = *plan;
    } else {
        unlink_entry(cache, entry);
        memset(entry, 0, sizeof *entry);
    }
    pthread_cond_broadcast(&cache->made);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

/*
 * A reference to the cached plan, waiting for the thread that makes it. Otherwise, if the caller is to make it: a
 * claimed entry, or NULL where all are pinned.
 */
static wmPlan *look_up(wm_plan_cache *cache, uint64_t hash, const wm_problem *problem, wm_cache_entry **claimed,
                       wmPlan **evicted) {
    wmPlan *plan = NULL;
    pthread_mutex_lock(&cache->lock);
    wm_cache_entry *entry = find(cache, hash, problem);
    while (entry && !entry->plan) {
        pthread_cond_wait(&cache->made, &cache->lock);
        entry = find(cache, hash, problem);
    }
    if (entry) {
        entry->used = ++cache->tick;
        plan = entry->plan;
        wmPlanRetain(plan);
    } else if (claimed && (entry = claim(cache, evicted))) {
        int *bucket = &cache->bucket[hash % WM_CACHE_BUCKETS];
        *entry = (wm_cache_entry){.hash = hash, .used = ++cache->tick, .problem = *problem, .next = *bucket};
        *bucket = (int)(entry - cache->entry) + 1;
        *claimed = entry;
    }
    pthread_mutex_unlock(&cache->lock);
    return plan;
}

/* A captured plan that has device state must stay: nothing tells us when the graph is gone. */
static wmStatus pin_if_captured(wmContext *context, uint64_t hash, wmStream stream, const wmPlan *plan) {
    int capturing = 0;
    if (!plan->state) return WM_OK;
    WM_TRY(is_capturing(context, stream, &capturing));
    if (!capturing) return WM_OK;
    pthread_mutex_lock(&context->cache.lock);
    wm_cache_entry *entry = find(&context->cache, hash, &plan->problem);
    int pinned = entry && entry->plan == plan;
    if (pinned) entry->pinned = 1;
    pthread_mutex_unlock(&context->cache.lock);
    if (pinned) return WM_OK;
    return wm_fail(WM_ERR_STATE,
                   "the stream is capturing, and the one-shot plan of \"%.200s\" was evicted just now: "
                   "make a plan and keep it",
                   plan->text);
}

/* Making may load kernels and allocate, which has no place in a capture. */
static wmStatus refuse_capture(wmContext *context, const wm_problem *problem, wmStream stream) {
    int capturing = 0;
    WM_TRY(is_capturing(context, stream, &capturing));
    if (!capturing) return WM_OK;
    char text[WM_PROBLEM_TEXT];
    wm_problem_print(problem, text, sizeof text);
    return wm_fail(WM_ERR_STATE,
                   "the stream is capturing, and \"%.200s\" is not planned yet: make the call once before "
                   "the capture, or make a plan",
                   text);
}

static wmStatus get(wmContext *context, const wm_problem *problem, wmStream stream, wmPlan **plan) {
    uint64_t hash = wm_problem_hash(problem);
    *plan = look_up(&context->cache, hash, problem, NULL, NULL);
    if (!*plan) {
        wm_cache_entry *claimed = NULL;
        wmPlan *evicted = NULL;
        WM_TRY(refuse_capture(context, problem, stream));
        *plan = look_up(&context->cache, hash, problem, &claimed, &evicted);
        wmPlanDestroy(evicted);
        if (!*plan) WM_TRY(make(context, problem, claimed, plan));
    }
    wmStatus status = pin_if_captured(context, hash, stream, *plan);
    if (status != WM_OK) {
        wmPlanDestroy(*plan);
        *plan = NULL;
    }
    return status;
}

wmStatus wm_context_plan(wmContext *context, const wm_problem *problem, wmStream stream, wmPlan **plan) {
    *plan = NULL;
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    return wm_leave(&guard, get(context, problem, stream, plan));
}

void wm_cache_clear(wmContext *context) {
    for (int i = 0; i < WM_CACHE_PLANS; i++) {
        wmPlanDestroy(context->cache.entry[i].plan);
        context->cache.entry[i].plan = NULL;
    }
}
