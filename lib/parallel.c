/* SPDX-License-Identifier: Apache-2.0 */
/* The parallel loop: threads live for one loop, so that nothing outlives a call, a fork or an unloaded library. */
#include "parallel.h"
#include <pthread.h>
#include <stddef.h>

enum { MOST_THREADS = 256 };

typedef struct range {
    pthread_t id;
    wm_range_function body;
    void *user;
    int64_t from, to;
    int thread;
    int started;
} range;

static void *run_range(void *data) {
    const range *r = (const range *)data;
    r->body(r->user, r->from, r->to, r->thread);
    return NULL;
}

void wm_parallel_for(int threads, int64_t items, int64_t grain, wm_range_function body, void *user) {
    if (items <= 0) return;
    if (grain < 1) grain = 1;
    int64_t grains = items / grain + (items % grain != 0);
    int64_t parts = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (parts > grains) parts = grains;
    if (parts <= 1 || items / grain < 2) {
        body(user, 0, items, 0);
        return;
    }
    range ranges[MOST_THREADS];
    for (int64_t i = 0, at = 0; i < parts; i++) {
        int64_t share = grains / parts + (i < grains % parts);
        ranges[i] = (range){.body = body, .user = user, .from = at * grain, .thread = (int)i};
        at += share;
        ranges[i].to = at == grains ? items : at * grain;
    }
    for (int64_t i = 1; i < parts; i++) {
        ranges[i].started = pthread_create(&ranges[i].id, NULL, run_range, &ranges[i]) == 0;
    }
    run_range(&ranges[0]);
    for (int64_t i = 1; i < parts; i++) {
        if (ranges[i].started) {
            pthread_join(ranges[i].id, NULL);
        } else {
            run_range(&ranges[i]);
        }
    }
}
