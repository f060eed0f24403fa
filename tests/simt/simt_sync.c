/* SPDX-License-Identifier: Apache-2.0 */
/* The emulation's barriers, warp operations and atomics. */
#include "simt_core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Warp operations ---- */

static const char *op_name(int op) {
    static const char *const name[] = {
        [WM_SIMT_SYNC] = "__syncwarp",
        [WM_SIMT_SHUFFLE] = "__shfl_sync",
        [WM_SIMT_SHUFFLE_UP] = "__shfl_up_sync",
        [WM_SIMT_SHUFFLE_DOWN] = "__shfl_down_sync",
        [WM_SIMT_SHUFFLE_XOR] = "__shfl_xor_sync",
        [WM_SIMT_BALLOT] = "__ballot_sync",
        [WM_SIMT_ANY] = "__any_sync",
        [WM_SIMT_ALL] = "__all_sync",
        [WM_SIMT_MATCH_ANY] = "__match_any_sync",
        [WM_SIMT_MATRIX] = "mma, ldmatrix or stmatrix",
    };
    return op < WM_SIMT_SUM ? name[op] : "__reduce_sync";
}

/* The lane that a shuffle reads, as the PTX manual's shfl: the segment is of `width` lanes. */
static int source_lane(int op, int lane, int argument, int width) {
    int first = lane & ~(width - 1), last = first + width - 1, from;
    argument &= 31;
    if (op == WM_SIMT_SHUFFLE) return first | (argument & (width - 1));
    if (op == WM_SIMT_SHUFFLE_UP) return lane - argument < first ? lane : lane - argument;
    from = op == WM_SIMT_SHUFFLE_DOWN ? lane + argument : lane ^ argument;
    return from > last ? lane : from;
}

static uint64_t combine(int op, uint64_t a, uint64_t b) {
    switch (op) {
    case WM_SIMT_SUM:
        return (uint32_t)(a + b);
    case WM_SIMT_MIN_SIGNED:
        return (int32_t)b < (int32_t)a ? b : a;
    case WM_SIMT_MAX_SIGNED:
        return (int32_t)b > (int32_t)a ? b : a;
    case WM_SIMT_MIN_UNSIGNED:
        return (uint32_t)b < (uint32_t)a ? b : a;
    case WM_SIMT_MAX_UNSIGNED:
        return (uint32_t)b > (uint32_t)a ? b : a;
    case WM_SIMT_BIT_AND:
        return a & b;
    case WM_SIMT_BIT_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* What the vote or reduction gives `lane`; the same for all but __match_any_sync. */
static uint64_t fold(const wm_simt_meeting *m, int lane) {
    uint64_t ballot = 0, match = 0, folded = 0;
    bool first = true;
    for (int l = 0; l < WM_SIMT_WARP; l++) {
        if (!(m->arrived >> l & 1)) continue;
        if (m->value[l]) ballot |= 1u << l;
        if (m->value[l] == m->value[lane]) match |= 1u << l;
        folded = first ? m->value[l] : combine(m->op, folded, m->value[l]);
        first = false;
    }
    switch (m->op) {
    case WM_SIMT_SYNC:
        return 0;
    case WM_SIMT_BALLOT:
        return ballot;
    case WM_SIMT_ANY:
        return ballot != 0;
    case WM_SIMT_ALL:
        return ballot == m->arrived;
    case WM_SIMT_MATCH_ANY:
        return match;
    default:
        return folded;
    }
}

static wm_simt_thread *thread_of(const wm_simt_block *block, const wm_simt_warp *warp, int lane) {
    return &block->thread[(warp - block->warp) * WM_SIMT_WARP + lane];
}

static uint64_t result_for(wm_simt_thread *thread, wm_simt_meeting *m, int lane) {
    int from;
    if (m->op < WM_SIMT_SHUFFLE || m->op > WM_SIMT_SHUFFLE_XOR) return fold(m, lane);
    from = source_lane(m->op, lane, m->argument[lane], m->width);
    if (m->arrived >> from & 1) return m->value[from];
    wm_simt_thread *self = wm_simt_self;
    wm_simt_self = thread; /* the report is about that lane, not about the one that came last */
    wm_simt_fault(thread->pc, "%s with mask %08x reads absent lane %d", op_name(m->op), m->mask, from);
    wm_simt_self = self;
    return UINT64_MAX;
}

/* Everybody who is still to come has come: hand out the results. */
static void end_meeting(wm_simt_block *block, wm_simt_warp *warp, wm_simt_meeting *m) {
    for (int lane = 0; lane < WM_SIMT_WARP; lane++) {
        wm_simt_thread *thread;
        if (!(m->arrived >> lane & 1)) continue;
        thread = thread_of(block, warp, lane);
        uint64_t result = result_for(thread, m, lane);
        if (m->op == WM_SIMT_SYNC) wm_simt_clock_acquire(thread, &m->clocks);
        wm_simt_wake(thread, result);
    }
    wm_simt_clock_drop(&m->clocks);
    m->op = 0;
}

static wm_simt_meeting *find_meeting(wm_simt_warp *warp, int op, uint32_t mask, int width, int lane) {
    wm_simt_meeting *free_one = NULL;
    for (int i = 0; i < WM_SIMT_WARP; i++) {
        wm_simt_meeting *m = &warp->meeting[i];
        if (m->op == op && m->mask == mask && m->width == width && !(m->arrived >> lane & 1)) return m;
        if (!m->op && !free_one) free_one = m;
    }
    free_one->op = op;
    free_one->mask = mask;
    free_one->width = width;
    free_one->arrived = 0;
    return free_one;
}

static int lane_of(const wm_simt_thread *thread) {
    return (int)(thread - thread->block->thread) % WM_SIMT_WARP;
}

static wm_simt_warp *warp_of(wm_simt_thread *thread) {
    return &thread->block->warp[(thread - thread->block->thread) / WM_SIMT_WARP];
}

uint64_t wm_simt_warp_op(int op, uint32_t mask, uint64_t value, int argument, int width) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_warp *warp = warp_of(self);
    const void *pc = __builtin_return_address(0);
    int lane = lane_of(self);
    wm_simt_meeting *m;
    if (!(mask >> lane & 1)) {
        wm_simt_fault(pc, "%s with mask %08x, which lacks the caller's lane %d", op_name(op), mask, lane);
        return UINT64_MAX;
    }
    m = find_meeting(warp, op, mask, width, lane);
    m->arrived |= 1u << lane;
    m->value[lane] = value;
    m->argument[lane] = argument;
    self->meeting = m;
    self->pc = pc;
    if (op == WM_SIMT_SYNC) wm_simt_clock_release(self, &m->clocks);
    if (m->arrived != (mask & ~warp->left)) return wm_simt_wait(op_name(op), pc);
    end_meeting(self->block, warp, m);
    return self->result;
}

/* ---- Barriers ---- */

/* Divergence: threads of one barrier that came from different lines of the source. */
static void check_same_place(const wm_simt_barrier *b, const void *pc) {
    char first[256];
    if (b->pc == pc) return;
    snprintf(first, sizeof first, "%s", wm_simt_place(b->pc));
    /* A compiler may copy one barrier to several places; then they still come from one line. */
    if (strcmp(first, wm_simt_place(pc)) == 0) return;
    wm_simt_fault(pc, "divergence: waits at this block barrier while others wait at the one of %s", first);
}

static int barrier_result(const wm_simt_barrier *b) {
    if (b->op == WM_SIMT_AND) return b->all;
    if (b->op == WM_SIMT_OR) return b->any;
    return b->op == WM_SIMT_COUNT ? b->count : 0;
}

static void end_barrier(wm_simt_barrier *b, wm_simt_thread *thread, int threads) {
    wm_simt_group *group = &wm_simt_group_now;
    if (b->whole) wm_simt_clock_all(group);
    for (int t = 0; t < threads; t++) {
        if (thread[t].barrier != b) continue;
        if (!b->whole) wm_simt_clock_acquire(&thread[t], &b->clocks);
        wm_simt_wake(&thread[t], (uint64_t)barrier_result(b));
    }
    wm_simt_clock_drop(&b->clocks);
    b->expected = b->arrived = 0;
}

/* `whole`: everybody who comes also waits, and the group's all come; then its floor says it all and no clocks are kept.
 */
static void arrive(wm_simt_barrier *b, int expected, bool whole, int op, int value, const void *pc) {
    if (!b->arrived) {
        b->whole = whole;
        b->expected = expected;
        b->op = op;
        b->pc = pc;
        b->all = 1;
        b->any = b->count = 0;
    }
    b->arrived++;
    b->all = b->all && value;
    b->any = b->any || value;
    b->count += value != 0;
    if (!whole) wm_simt_clock_release(wm_simt_self, &b->clocks);
}

int wm_simt_barrier_block(int op, int value) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_block *block = self->block;
    wm_simt_barrier *b = &block->barrier[0];
    const void *pc = __builtin_return_address(0);
    if (b->arrived) check_same_place(b, pc);
    if (block->left) {
        wm_simt_fault(pc, "divergence: waits at a block barrier, but %d threads of the block have left", block->left);
        wm_simt_abort();
    }
    arrive(b, block->threads, block->threads == wm_simt_group_now.threads, op, value, pc);
    self->barrier = b;
    if (b->arrived < block->threads) return (int)wm_simt_wait("a block barrier", pc);
    end_barrier(b, block->thread, block->threads);
    return (int)self->result;
}

void wm_simt_barrier_some(int id, int threads, int wait) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_block *block = self->block;
    wm_simt_barrier *b = &block->barrier[id & 15];
    const void *pc = __builtin_return_address(0);
    if (id < 1 || id > 15 || threads < 1 || threads > block->threads || threads % WM_SIMT_WARP) {
        wm_simt_fault(pc, "barrier %d of %d threads: the id is 1 to 15, the count a multiple of 32 in the block", id,
                      threads);
        wm_simt_abort();
    }
    if (b->arrived && b->expected != threads) {
        wm_simt_fault(pc, "barrier %d of %d threads, while others wait for %d", id, threads, b->expected);
        wm_simt_abort();
    }
    arrive(b, threads, false, WM_SIMT_PLAIN, 0, pc);
    if (wait) self->barrier = b;
    if (b->arrived == threads)
        end_barrier(b, block->thread, block->threads);
    else if (wait)
        wm_simt_wait("a named barrier", pc);
}

void wm_simt_barrier_cluster(int relaxed) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_group *group = &wm_simt_group_now;
    wm_simt_barrier *b = &group->cluster_barrier;
    const void *pc = __builtin_return_address(0);
    if (group->left) {
        wm_simt_fault(pc, "divergence: waits at a cluster barrier, but %d threads of the cluster have left",
                      group->left);
        wm_simt_abort();
    }
    if (!b->arrived) group->cluster_orders = true;
    if (relaxed) group->cluster_orders = false;
    arrive(b, group->threads, true, WM_SIMT_PLAIN, 0, pc);
    self->barrier = b;
    if (b->arrived < group->threads) {
        wm_simt_wait("a cluster barrier", pc);
        return;
    }
    group->met = group->now++;
    b->whole = group->cluster_orders; /* without it nobody learns of anything: no clocks were kept */
    end_barrier(b, group->thread, group->threads);
}

void *wm_simt_cluster_shared(void *pointer, int rank) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_group *group = &wm_simt_group_now;
    if (rank < 0 || rank >= group->blocks) {
        wm_simt_fault(__builtin_return_address(0), "block %d of a cluster of %d", rank, group->blocks);
        wm_simt_abort();
    }
    return group->block[rank].shared + ((unsigned char *)pointer - self->block->shared);
}

/* ---- Coming and going ---- */

void wm_simt_thread_leaves(wm_simt_thread *thread) {
    wm_simt_block *block = thread->block;
    wm_simt_warp *warp = warp_of(thread);
    warp->left |= 1u << lane_of(thread);
    for (int i = 0; i < WM_SIMT_WARP; i++) {
        wm_simt_meeting *m = &warp->meeting[i];
        if (m->op && m->arrived == (m->mask & ~warp->left)) end_meeting(block, warp, m);
    }
}

void wm_simt_sync_reset(wm_simt_block *block) {
    for (int i = 0; i < 16; i++) {
        wm_simt_clock_drop(&block->barrier[i].clocks);
        block->barrier[i].arrived = block->barrier[i].expected = 0;
    }
    for (int w = 0; w * WM_SIMT_WARP < block->threads; w++) {
        wm_simt_warp *warp = &block->warp[w];
        int lanes = block->threads - w * WM_SIMT_WARP;
        warp->left = lanes >= WM_SIMT_WARP ? 0 : ~0u << lanes;
        for (int i = 0; i < WM_SIMT_WARP; i++) {
            wm_simt_clock_drop(&warp->meeting[i].clocks);
            warp->meeting[i].op = 0;
        }
    }
}
