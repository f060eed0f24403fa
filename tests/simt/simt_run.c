/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's scheduler. It sweeps over the group's threads in an order that the seed gives, running each one that
 * is ready until it waits or ends; a sweep that finds no ready thread while some still wait has found a hang.
 */
#include "simt_core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef WM_FIBER_ASAN
enum { STACK_BYTES = 256 * 1024 }; /* redzones make frames large */
#else
enum { STACK_BYTES = 64 * 1024 };
#endif
enum { GUARD_BYTES = 4096, MAX_IDLE_YIELDS = 2 * 1000 * 1000, MAX_PARAMS = 32764 };

wm_simt_group wm_simt_group_now;
__thread wm_simt_thread *wm_simt_self;

static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed_now;
static bool seed_set;
static unsigned char *stacks; /* one a thread, a page that faults below each */
static int stack_count;
static int order[WM_SIMT_MAX_CLUSTER * WM_SIMT_MAX_BLOCK];

/* The launch's parameter: static data, as far as the access checks go. */
static unsigned char params_copy[MAX_PARAMS] __attribute__((aligned(64)));

/* ---- Order ---- */

void wm_simt_seed(uint64_t seed) {
    pthread_mutex_lock(&launch_lock);
    seed_now = seed;
    seed_set = true;
    pthread_mutex_unlock(&launch_lock);
}

static uint64_t seed_of_launches(void) {
    const char *text = seed_set ? NULL : getenv("WM_SIMT_SEED"); // NOLINT(concurrency-mt-unsafe)
    if (text) seed_now = strtoull(text, NULL, 0);
    seed_set = true;
    return seed_now;
}

/* SplitMix64, Steele, Lea and Flood 2014. */
uint64_t wm_simt_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(int *index, int n, uint64_t seed, uint64_t *random) {
    for (int i = 0; i < n; i++) index[i] = seed == 1 ? n - 1 - i : i;
    if (seed < 2) return;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(wm_simt_random(random) % (uint64_t)(i + 1)), x = index[i];
        index[i] = index[j];
        index[j] = x;
    }
}

/* ---- Threads ---- */

static void thread_main(void *argument) {
    wm_simt_thread *self = argument;
    wm_simt_group *group = &wm_simt_group_now;
    ((void (*)(const void *))(uintptr_t)group->launch->kernel)(params_copy);
    wm_simt_copies_end(self);
    wm_simt_stores_end(self);
    wm_simt_wgmma_end(self);
    self->state = WM_SIMT_LEFT;
    self->block->left++;
    group->left++;
    group->idle_yields = 0;
    wm_simt_thread_leaves(self);
    wm_simt_self = NULL;
    wm_fiber_leave(&self->fiber, &group->scheduler);
}

static void run_thread(wm_simt_group *group, wm_simt_thread *thread) {
    wm_simt_self = thread;
    wm_fiber_switch(&group->scheduler, &thread->fiber);
    wm_simt_self = NULL;
}

uint64_t wm_simt_wait(const char *what, const void *pc) {
    wm_simt_thread *self = wm_simt_self;
    self->what = what;
    self->pc = pc;
    self->state = WM_SIMT_WAITING;
    wm_fiber_switch(&self->fiber, &wm_simt_group_now.scheduler);
    return self->result;
}

void wm_simt_wake(wm_simt_thread *thread, uint64_t result) {
    thread->state = WM_SIMT_READY;
    thread->result = result;
    thread->barrier = NULL;
    thread->meeting = NULL;
    wm_simt_group_now.idle_yields = 0;
}

void wm_simt_yield(void) {
    wm_simt_thread *self = wm_simt_self;
    if (++wm_simt_group_now.idle_yields > MAX_IDLE_YIELDS) {
        wm_simt_fault(__builtin_return_address(0), "waits for memory to change, and nothing else happens any more");
        wm_simt_abort();
    }
    wm_fiber_switch(&self->fiber, &wm_simt_group_now.scheduler);
}

_Noreturn void wm_simt_abort(void) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_group_now.aborted = true;
    wm_fiber_leave(&self->fiber, &wm_simt_group_now.scheduler);
    abort(); /* not reached */
}

const wm_simt_here *wm_simt_here_now(void) {
    return &wm_simt_self->here;
}

void wm_simt_trap(const char *why) {
    wm_simt_fault(__builtin_return_address(0), "%s", why);
    wm_simt_abort();
}

/* ---- Groups ---- */

/* Appends "3-17 " to text: the range first … last. */
static void put_range(char *text, size_t capacity, int first, int last) {
    size_t used = strlen(text);
    if (used + 32 > capacity) return;
    if (first == last)
        snprintf(text + used, capacity - used, "%s%d", used ? "," : "", first);
    else
        snprintf(text + used, capacity - used, "%s%d-%d", used ? "," : "", first, last);
}

static bool same_wait(const wm_simt_thread *a, const wm_simt_thread *b) {
    if (a->state != b->state) return false;
    return a->state == WM_SIMT_LEFT || (a->what == b->what && a->pc == b->pc);
}

/* One fault for the block: "hang: threads 0-15 wait at a barrier (a.cu:7); threads 16-31 have left". */
static void report_hang(const wm_simt_block *block) {
    char text[2048] = "hang:";
    for (int t = 0; t < block->threads; t++) {
        const wm_simt_thread *thread = &block->thread[t];
        char ranges[256] = "";
        int first = -1;
        bool told = false;
        for (int u = 0; u < t && !told; u++) told = same_wait(&block->thread[u], thread);
        if (told) continue;
        for (int u = t; u <= block->threads; u++) {
            bool in = u < block->threads && same_wait(&block->thread[u], thread);
            if (in && first < 0) first = u;
            if (!in && first >= 0) put_range(ranges, sizeof ranges, first, u - 1), first = -1;
        }
        size_t used = strlen(text);
        if (thread->state == WM_SIMT_LEFT)
            snprintf(text + used, sizeof text - used, " threads %s have left the kernel;", ranges);
        else
            snprintf(text + used, sizeof text - used, " threads %s wait at %s (%s);", ranges, thread->what,
                     wm_simt_place(thread->pc));
    }
    text[strlen(text) - 1] = '\0';
    wm_simt_self = block->thread;
    wm_simt_fault(NULL, "%s", text);
    wm_simt_self = NULL;
}

static void sweep(wm_simt_group *group, uint64_t seed) {
    bool ran = false;
    shuffle(order, group->threads, seed, &group->random);
    for (int i = 0; i < group->threads && !group->aborted; i++) {
        wm_simt_thread *thread = &group->thread[order[i]];
        if (thread->state != WM_SIMT_READY) continue;
        run_thread(group, thread);
        ran = true;
    }
    if (ran || group->left == group->threads) return;
    for (int b = 0; b < group->blocks; b++)
        if (group->block[b].left < group->block[b].threads) report_hang(&group->block[b]);
    wm_simt_mbarriers_explain();
    group->aborted = true;
}

static void start_thread(wm_simt_group *group, int b, int t) {
    wm_simt_block *block = &group->block[b];
    wm_simt_thread *thread = &block->thread[t];
    const wm_launch *l = group->launch;
    thread->here.thread.x = (unsigned)t % l->block.x;
    thread->here.thread.y = (unsigned)t / l->block.x % l->block.y;
    thread->here.thread.z = (unsigned)t / (l->block.x * l->block.y);
    thread->here.shared = block->shared;
    thread->here.cluster_rank = b;
    thread->block = block;
    thread->index = (int)(thread - group->thread);
    thread->state = WM_SIMT_READY;
    thread->barrier = NULL;
    thread->meeting = NULL;
    thread->mbarrier = -1;
    thread->fragment_turn = 0;
    wm_simt_copies_begin(thread);
    wm_simt_stores_begin(thread);
    wm_simt_wgmma_begin(thread);
    unsigned char *stack = stacks + (size_t)thread->index * (STACK_BYTES + GUARD_BYTES) + GUARD_BYTES;
    wm_fiber_start(&thread->fiber, stack, STACK_BYTES, thread_main, thread);
}

static wm_simt_dim to_dim(wm_dim3 d) {
    wm_simt_dim r = {d.x, d.y, d.z};
    return r;
}

/* The blocks of a cluster lie next to each other, x fastest. */
static void start_block(wm_simt_group *group, int b, wm_simt_dim index) {
    const wm_launch *l = group->launch;
    wm_simt_block *block = &group->block[b];
    int threads = (int)(l->block.x * l->block.y * l->block.z);
    block->threads = threads;
    block->left = 0;
    block->used_atomics = false;
    block->thread = group->thread + (ptrdiff_t)b * threads;
    block->shared = wm_simt_shared_begin(b, l->shared);
    wm_simt_sync_reset(block);
    for (int t = 0; t < threads; t++) {
        wm_simt_here *here = &block->thread[t].here;
        here->block = index;
        here->block_size = to_dim(l->block);
        here->grid_size = to_dim(l->grid);
        here->cluster_blocks = group->blocks;
        start_thread(group, b, t);
    }
}

static wm_simt_dim cluster_of(const wm_launch *l) {
    wm_simt_dim one = {1, 1, 1};
    return l->cluster.x ? to_dim(l->cluster) : one;
}

static int run_group(wm_simt_group *group, uint64_t serial, uint64_t seed) {
    const wm_launch *l = group->launch;
    wm_simt_dim c = cluster_of(l), grid = {l->grid.x / c.x, l->grid.y / c.y, l->grid.z / c.z};
    unsigned cx = (unsigned)(serial % grid.x), cy = (unsigned)(serial / grid.x % grid.y);
    unsigned cz = (unsigned)(serial / grid.x / grid.y);
    group->serial++;
    group->blocks = (int)(c.x * c.y * c.z);
    group->threads = group->blocks * (int)(l->block.x * l->block.y * l->block.z);
    group->left = 0;
    group->aborted = false;
    group->idle_yields = 0;
    for (int b = 0; b < group->blocks; b++) {
        unsigned bx = (unsigned)b % c.x, by = (unsigned)b / c.x % c.y, bz = (unsigned)b / c.x / c.y;
        wm_simt_dim index = {cx * c.x + bx, cy * c.y + by, cz * c.z + bz};
        start_block(group, b, index);
    }
    wm_simt_clock_reset(group);
    while (group->left < group->threads && !group->aborted) sweep(group, seed);
    for (int b = 0; b < group->blocks; b++) {
        wm_simt_shared_end(b, l->shared);
        wm_simt_sync_reset(&group->block[b]);
        wm_simt_products_drop(&group->block[b]);
    }
    wm_simt_mbarriers_end(group);
    wm_simt_clock_drop(&group->cluster_barrier.clocks);
    group->cluster_barrier.arrived = 0;
    return group->aborted;
}

/* ---- Launches ---- */

static int make_room(wm_simt_group *group, int threads) {
    size_t slot = STACK_BYTES + GUARD_BYTES;
    int capacity = WM_SIMT_MAX_CLUSTER * WM_SIMT_MAX_BLOCK;
    if (!group->thread) group->thread = calloc((size_t)capacity, sizeof *group->thread);
    if (!group->thread) return 2;
    if (threads <= stack_count) return 0;
    if (stacks) munmap(stacks, (size_t)stack_count * slot);
    stack_count = 0;
    stacks =
        mmap(NULL, (size_t)threads * slot, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) return stacks = NULL, 2;
    for (int i = 0; i < threads; i++) mprotect(stacks + (size_t)i * slot, GUARD_BYTES, PROT_NONE);
    stack_count = threads;
    return 0;
}

static bool takes(wm_dim3 d, uint64_t x, uint64_t y, uint64_t z) {
    return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= x && d.y <= y && d.z <= z;
}

static bool acceptable(const wm_launch *l) {
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    uint64_t blocks = (uint64_t)l->cluster.x * l->cluster.y * l->cluster.z;
    if (!l->kernel || l->shared > WM_SIMT_MAX_SHARED || l->params_bytes > MAX_PARAMS) return false;
    if (!l->params != !l->params_bytes) {
        wm_simt_fault(NULL, "launch: params is %p and params_bytes %zu", l->params, l->params_bytes);
        return false;
    }
    if (!takes(l->grid, 0x7fffffff, 65535, 65535) || !takes(l->block, 1024, 1024, 64)) return false;
    if (threads > WM_SIMT_MAX_BLOCK) return false;
    if (!l->cluster.x && !l->cluster.y && !l->cluster.z) return true;
    if (!blocks || blocks > WM_SIMT_MAX_CLUSTER) return false;
    return l->grid.x % l->cluster.x == 0 && l->grid.y % l->cluster.y == 0 && l->grid.z % l->cluster.z == 0;
}

/* Blocks in seeded order without a table of them: i → (a · i + c) mod n with a coprime to n, a different one a launch.
 */
static uint64_t block_at(uint64_t i, uint64_t n, uint64_t seed, uint64_t a, uint64_t c) {
    if (seed < 2) return seed ? n - 1 - i : i;
    return (uint64_t)(((unsigned __int128)a * i + c) % n);
}

static uint64_t coprime_to(uint64_t n, uint64_t *random) {
    for (;;) {
        uint64_t a = wm_simt_random(random) % n + 1, x = a, y = n;
        while (y) {
            uint64_t rest = x % y;
            x = y;
            y = rest;
        }
        if (x == 1) return a;
    }
}

static int launch_all(const wm_launch *launch) {
    wm_simt_group *group = &wm_simt_group_now;
    uint64_t seed = seed_of_launches();
    wm_simt_dim c = cluster_of(launch);
    uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z, size = (uint64_t)c.x * c.y * c.z;
    uint64_t groups = blocks / size, a, start;
    int failed = make_room(group, (int)size * (int)(launch->block.x * launch->block.y * launch->block.z));
    if (failed) return failed;
    if (launch->params_bytes) memcpy(params_copy, launch->params, launch->params_bytes);
    group->launch = launch;
    group->launch_serial++;
    group->random = seed;
    wm_simt_check_begin();
    a = coprime_to(groups, &group->random);
    start = wm_simt_random(&group->random) % groups;
    for (uint64_t i = 0; i < groups && !failed; i++)
        failed = run_group(group, block_at(i, groups, seed, a, start), seed);
    group->launch = NULL;
    return failed ? 719 : 0;
}

int wm_simt_launch(const wm_launch *launch) {
    int error;
    if (!acceptable(launch)) return 1;
    pthread_mutex_lock(&launch_lock);
    error = launch_all(launch);
    pthread_mutex_unlock(&launch_lock);
    return error;
}
