/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens before what, for the race checks: vector clocks over the group's threads, kept small by two facts. A
 * barrier of the whole group orders everything, so it only lifts the group's floor, and entries below the floor mean
 * nothing. And all clocks are times of one counter, so that "all that u did until now" is one number, the same for each
 * u; a set of lanes that read a byte is then ordered by one comparison with the latest of them.
 * (FastTrack, Flanagan and Freund 2009, has the general form.)
 *
 * Agents, which stand for bulk copies, are different: no barrier makes their writes known, only the mbarrier that they
 * count at. What a thread knows of them is kept apart, behind the threads' entries, and outlives the floor.
 */
#include "simt_core.h"

#include <stdlib.h>
#include <string.h>

void wm_simt_clock_reset(wm_simt_group *group) {
    group->now = 1;
    group->floor = group->met = 0;
    for (int t = 0; t < group->threads; t++) {
        wm_simt_thread *thread = &group->thread[t];
        thread->clock = 1;
        thread->seen_floor = UINT32_MAX;
        thread->fenced = thread->fence_floor = 0;
        memset(thread->agent_seen, 0, sizeof thread->agent_seen);
    }
}

static void merge(uint32_t *into, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void wm_simt_clock_release(wm_simt_thread *thread, uint32_t **clocks) {
    wm_simt_group *group = &wm_simt_group_now;
    if (!wm_simt_hooks_seen) return;
    if (!*clocks) *clocks = calloc((size_t)group->threads + WM_SIMT_AGENTS, sizeof **clocks);
    if (!*clocks) abort();
    if (thread->seen_floor == group->floor) merge(*clocks, thread->seen, group->threads);
    if (group->mbarriers) merge(*clocks + group->threads, thread->agent_seen, WM_SIMT_AGENTS);
    (*clocks)[thread->index] = group->now;
    thread->clock = ++group->now;
}

static void begin_seen(wm_simt_thread *thread) {
    const wm_simt_group *group = &wm_simt_group_now;
    if (!thread->seen) thread->seen = calloc(WM_SIMT_MAX_CLUSTER * WM_SIMT_MAX_BLOCK, sizeof(uint32_t));
    if (!thread->seen) abort();
    if (thread->seen_floor != group->floor) memset(thread->seen, 0, (size_t)group->threads * sizeof(uint32_t));
    thread->seen_floor = group->floor;
}

void wm_simt_clock_learn(wm_simt_thread *thread, int other, uint32_t when) {
    if (!wm_simt_hooks_seen) return;
    begin_seen(thread);
    if (thread->seen[other] < when) thread->seen[other] = when;
}

void wm_simt_clock_acquire(wm_simt_thread *thread, uint32_t **clocks) {
    const wm_simt_group *group = &wm_simt_group_now;
    if (!*clocks) return;
    begin_seen(thread);
    merge(thread->seen, *clocks, group->threads);
    if (group->mbarriers) merge(thread->agent_seen, *clocks + group->threads, WM_SIMT_AGENTS);
}

void wm_simt_clock_drop(uint32_t **clocks) {
    free(*clocks);
    *clocks = NULL;
}

void wm_simt_clock_all(wm_simt_group *group) {
    group->floor = group->now++;
    for (int t = 0; t < group->threads; t++) group->thread[t].clock = group->now;
    if (!group->mbarriers) return;
    uint32_t agents[WM_SIMT_AGENTS] = {0};
    for (int t = 0; t < group->threads; t++) merge(agents, group->thread[t].agent_seen, WM_SIMT_AGENTS);
    for (int t = 0; t < group->threads; t++) memcpy(group->thread[t].agent_seen, agents, sizeof agents);
}

int wm_simt_agent_of(const wm_simt_mbarrier *b) {
    return wm_simt_group_now.threads + (int)(b - wm_simt_group_now.mbarrier) % WM_SIMT_AGENTS;
}

bool wm_simt_knows(const wm_simt_thread *thread, int other, uint32_t when) {
    uint32_t floor = wm_simt_group_now.floor;
    if (other >= wm_simt_group_now.threads) return thread->agent_seen[other - wm_simt_group_now.threads] >= when;
    if (other == thread->index || when <= floor) return true;
    return thread->seen_floor == floor && thread->seen[other] >= when;
}
