/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded cache of plans behind one-shot calls: least recently used out first, one thread makes each plan. */
#ifndef WM_LIB_CACHE_H
#define WM_LIB_CACHE_H

#include "problem.h"
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WM_CACHE_PLANS 256
#define WM_CACHE_BUCKETS 512

typedef struct wm_cache_entry {
    uint64_t hash;
    uint64_t used; /* tick of the last use; 0: a free entry */
    wm_problem problem;
    wmPlan *plan; /* NULL while a thread makes it */
    int pinned;   /* captured into a graph that we know nothing more of: stays as long as the context */
    int next;     /* in its bucket, -1 ends */
} wm_cache_entry;

typedef struct wm_plan_cache {
    pthread_mutex_t lock;
    pthread_cond_t made;
    uint64_t tick;
    int bucket[WM_CACHE_BUCKETS]; /* index + 1; 0: empty */
    wm_cache_entry entry[WM_CACHE_PLANS];
} wm_plan_cache;

/** Drops the plans; nobody uses the context any more. */
void wm_cache_clear(wmContext *context);

#ifdef __cplusplus
}
#endif

#endif
