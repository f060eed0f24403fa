/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's mbarriers (PTX ISA, "mbarrier"). The 64 bits in shared memory only hold an index, so that a barrier
 * that nobody made, or that something overwrote, is found when it is used.
 */
#include "simt_core.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0xba221e5000000000)

wm_simt_mbarrier *wm_simt_mbarrier_at(const void *word, const void *pc) {
    wm_simt_group *group = &wm_simt_group_now;
    uint64_t bits = 0;
    if ((uintptr_t)word % 8 == 0) memcpy(&bits, word, sizeof bits);
    uint64_t index = bits - MAGIC;
    if (index >= (uint64_t)group->mbarriers || group->mbarrier[index].word != word) {
        wm_simt_fault(pc, "uses an mbarrier that nobody made, or that something overwrote");
        wm_simt_abort();
    }
    return &group->mbarrier[index];
}

/* Whether the running thread may use it: it knows of the making, or the making was fenced and the cluster has met. */
static wm_simt_mbarrier *known(const void *word, const void *pc) {
    const wm_simt_thread *self = wm_simt_self;
    const wm_simt_group *group = &wm_simt_group_now;
    wm_simt_mbarrier *b = wm_simt_mbarrier_at(word, pc);
    bool met = b->fenced && b->fenced <= group->met;
    if (wm_simt_hooks_seen && !met && !wm_simt_knows(self, b->maker, b->made))
        wm_simt_fault(pc, "race: uses an mbarrier that thread %d made with no barrier between",
                      b->maker % self->block->threads);
    return b;
}

void wm_simt_mbarrier_init(uint64_t *word, int count) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_group *group = &wm_simt_group_now;
    const void *pc = __builtin_return_address(0);
    int index = 0;
    if ((uintptr_t)word % 8 || count < 1 || count >= 1 << 20) {
        wm_simt_fault(pc, "makes an mbarrier of %d arrivals at %p", count, (void *)word);
        wm_simt_abort();
    }
    while (index < group->mbarriers && group->mbarrier[index].word != word) index++;
    if (index < group->mbarriers) wm_simt_fault(pc, "makes an mbarrier where there is one");
    if (index == WM_SIMT_MBARRIERS) {
        wm_simt_fault(pc, "makes more than %d mbarriers", WM_SIMT_MBARRIERS);
        wm_simt_abort();
    }
    wm_simt_mbarrier *b = &group->mbarrier[index];
    if (index == group->mbarriers) group->mbarriers++;
    wm_simt_check(word, 8, WM_SIMT_WRITE, pc);
    memset(b, 0, sizeof *b);
    b->word = word;
    b->expected = b->pending = count;
    b->maker = self->index;
    b->made = self->clock;
    *word = MAGIC + (uint64_t)index;
}

void wm_simt_mbarrier_init_fence(void) {
    wm_simt_group *group = &wm_simt_group_now;
    group->now++;
    for (int i = 0; i < group->mbarriers; i++) {
        wm_simt_mbarrier *b = &group->mbarrier[i];
        if (b->maker == wm_simt_self->index && !b->fenced) b->fenced = group->now;
    }
}

static bool ended(const wm_simt_mbarrier *b, int parity) {
    return b->phase != (parity & 1);
}

static bool waited_for(const wm_simt_mbarrier *b) {
    const wm_simt_group *group = &wm_simt_group_now;
    int index = (int)(b - group->mbarrier);
    for (int t = 0; t < group->threads; t++)
        if (group->thread[t].mbarrier == index) return true;
    return false;
}

static void end_phase(wm_simt_mbarrier *b) {
    wm_simt_group *group = &wm_simt_group_now;
    int index = (int)(b - group->mbarrier);
    wm_simt_clock_drop(&b->done);
    b->done = b->clocks;
    b->clocks = NULL;
    b->phase ^= 1;
    b->pending = b->expected;
    for (int t = 0; t < group->threads; t++) {
        wm_simt_thread *thread = &group->thread[t];
        if (thread->mbarrier != index || !ended(b, thread->parity)) continue;
        thread->mbarrier = -1;
        wm_simt_clock_acquire(thread, &b->done);
        wm_simt_wake(thread, 0);
    }
}

void wm_simt_mbarrier_settle(wm_simt_mbarrier *b) {
    if (b->pending == 0 && b->loads && waited_for(b)) wm_simt_loads_arrive(b);
    if (b->pending == 0 && b->bytes == 0) end_phase(b);
}

void wm_simt_mbarrier_bytes(wm_simt_mbarrier *b, int bytes, uint32_t when) {
    wm_simt_group *group = &wm_simt_group_now;
    b->bytes -= bytes;
    if (!wm_simt_hooks_seen) return;
    if (!b->clocks) b->clocks = calloc((size_t)group->threads + WM_SIMT_AGENTS, sizeof *b->clocks);
    if (!b->clocks) abort();
    uint32_t *mine = &b->clocks[wm_simt_agent_of(b)];
    if (*mine < when) *mine = when;
}

void wm_simt_mbarrier_arrive(uint64_t *word, int rank, int bytes) {
    const void *pc = __builtin_return_address(0);
    if (rank >= 0) word = wm_simt_cluster_shared(word, rank);
    wm_simt_mbarrier *b = known(word, pc);
    const wm_simt_block *owner = &wm_simt_group_now.block[b->maker / wm_simt_group_now.block[0].threads];
    if (owner->left == owner->threads)
        wm_simt_fault(pc, "arrives at an mbarrier of a block of the cluster that has ended");
    if (b->pending == 0) {
        wm_simt_fault(pc, "arrives at an mbarrier of %d, all of whom have come in this phase", b->expected);
        wm_simt_abort();
    }
    wm_simt_clock_release(wm_simt_self, &b->clocks);
    b->bytes += bytes;
    b->pending--;
    wm_simt_mbarrier_settle(b);
}

/* Returns 1 if the phase has ended; what came with it is then known. */
static int passes(wm_simt_mbarrier *b, int parity) {
    if (!ended(b, parity) && b->pending == 0) {
        if (b->loads) wm_simt_loads_arrive(b);
        if (b->bytes == 0) end_phase(b);
    }
    if (!ended(b, parity)) return 0;
    wm_simt_clock_acquire(wm_simt_self, &b->done);
    return 1;
}

int wm_simt_mbarrier_try(uint64_t *word, int parity) {
    wm_simt_mbarrier *b = known(word, __builtin_return_address(0));
    if (passes(b, parity)) return 1;
    wm_simt_yield();
    return passes(b, parity);
}

void wm_simt_mbarrier_wait(uint64_t *word, int parity) {
    wm_simt_thread *self = wm_simt_self;
    const void *pc = __builtin_return_address(0);
    wm_simt_mbarrier *b = known(word, pc);
    if (passes(b, parity)) return;
    self->mbarrier = (int)(b - wm_simt_group_now.mbarrier);
    self->parity = parity;
    wm_simt_wait("an mbarrier", pc);
}

void wm_simt_mbarriers_explain(void) {
    const wm_simt_group *group = &wm_simt_group_now;
    for (int i = 0; i < group->mbarriers; i++) {
        const wm_simt_mbarrier *b = &group->mbarrier[i];
        if (!waited_for(b)) continue;
        wm_simt_block *block = &wm_simt_group_now.block[b->maker / group->block[0].threads];
        wm_simt_self = block->thread;
        wm_simt_fault(NULL, "hang: the mbarrier at byte %td lacks %d of %d arrivals and %lld bytes",
                      (const unsigned char *)b->word - block->shared, b->pending, b->expected, (long long)b->bytes);
        wm_simt_self = NULL;
    }
}

void wm_simt_mbarriers_end(wm_simt_group *group) {
    for (int i = 0; i < group->mbarriers; i++) {
        wm_simt_mbarrier *b = &group->mbarrier[i];
        wm_simt_clock_drop(&b->clocks);
        wm_simt_clock_drop(&b->done);
        if (b->loads && !group->aborted) {
            wm_simt_self = group->thread;
            wm_simt_fault(NULL, "ends with bulk copies in flight that nobody waited for");
            wm_simt_self = NULL;
        }
        wm_simt_loads_drop(b);
        b->word = NULL;
    }
    group->mbarriers = 0;
}
