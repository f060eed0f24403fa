/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens before what, for the race checks: vector clocks over the group's threads, kept small by two facts. A
 * barrier of the whole group orders everything, so it only lifts the group's floor, and entries below the floor mean
 * nothing. And all clocks are times of one counter, so that "all that u did until now" is one number, the same for each
 * u; a set of lanes that read a byte is then ordered by one comparison with the latest of them.
 * (FastTrack, Flanagan and Freund 2009, has the general form.)
 */
#include "simt_core.h"

#include <stdlib.h>
#include <string.h>

void wm_simt_clock_reset(wm_simt_group *group) {
    group->now = 1;
    group->floor = 0;
    for (int t = 0; t < group->threads; t++) {
        group->thread[t].clock = 1;
        group->thread[t].seen_floor = UINT32_MAX;
    }
}

static void merge(uint32_t *into, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void wm_simt_clock_release(wm_simt_thread *thread, uint32_t **clocks) {
    wm_simt_group *group = &wm_simt_group_now;
    if (!wm_simt_hooks_seen) return;
    if (!*clocks) *clocks = calloc((size_t)group->threads, sizeof **clocks);
    if (!*clocks) abort();
    if (thread->seen_floor == group->floor) merge(*clocks, thread->seen, group->threads);
    (*clocks)[thread->index] = group->now;
    thread->clock = ++group->now;
}

void wm_simt_clock_acquire(wm_simt_thread *thread, uint32_t **clocks) {
    wm_simt_group *group = &wm_simt_group_now;
    size_t bytes = (size_t)group->threads * sizeof(uint32_t);
    if (!*clocks) return;
    if (!thread->seen) thread->seen = calloc(WM_SIMT_MAX_CLUSTER * WM_SIMT_MAX_BLOCK, sizeof(uint32_t));
    if (!thread->seen) abort();
    if (thread->seen_floor != group->floor) memset(thread->seen, 0, bytes);
    thread->seen_floor = group->floor;
    merge(thread->seen, *clocks, group->threads);
}

void wm_simt_clock_drop(uint32_t **clocks) {
    free(*clocks);
    *clocks = NULL;
}

void wm_simt_clock_all(wm_simt_group *group) {
    group->floor = group->now++;
    for (int t = 0; t < group->threads; t++) group->thread[t].clock = group->now;
}

bool wm_simt_knows(const wm_simt_thread *thread, int other, uint32_t when) {
    uint32_t floor = wm_simt_group_now.floor;
    if (other == thread->index || when <= floor) return true;
    return thread->seen_floor == floor && thread->seen[other] >= when;
}
