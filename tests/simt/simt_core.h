/* SPDX-License-Identifier: Apache-2.0 */
/* The emulation's own structs, shared by its files. A group is what runs at one time: a block, or a cluster of them. */
#ifndef WM_TESTS_SIMT_CORE_H
#define WM_TESTS_SIMT_CORE_H

#include "simt.h"
#include "simt_device.h"
#include "simt_fiber.h"

#include <stdbool.h>

typedef enum wm_simt_state { WM_SIMT_READY, WM_SIMT_WAITING, WM_SIMT_LEFT } wm_simt_state;

/* Threads of one warp that meet at one warp operation. */
typedef struct wm_simt_meeting {
    int op; /* enum wm_simt_op, 0: free */
    uint32_t mask, arrived;
    int width;
    uint64_t value[WM_SIMT_WARP];
    int argument[WM_SIMT_WARP];
    uint32_t *clocks; /* see simt_clock.c */
} wm_simt_meeting;

typedef struct wm_simt_warp {
    wm_simt_meeting meeting[WM_SIMT_WARP]; /* of disjoint masks, so that 32 are enough */
    uint32_t left;                         /* lanes that ended, or never were */
} wm_simt_warp;

typedef struct wm_simt_barrier {
    int expected, arrived; /* expected 0: nobody is here */
    bool whole;
    int op;
    const void *pc; /* of the first arrival */
    int all, any, count;
    uint32_t *clocks;
} wm_simt_barrier;

/* Bulk copies write shared memory on nobody's behalf: each mbarrier has an agent for them. */
enum { WM_SIMT_MBARRIERS = 512, WM_SIMT_AGENTS = 64 };

/* A barrier in shared memory, of which the word there only holds the index. */
typedef struct wm_simt_mbarrier {
    uint64_t *word;
    int expected, pending, phase; /* arrivals a phase, still to come; phase: the parity under way */
    int64_t bytes;                /* announced and not there yet */
    int maker;                    /* thread that made it, and when; */
    uint32_t made, fenced;        /* when fence.mbarrier_init showed it to others, 0: never */
    uint32_t *clocks, *done;      /* of this phase, of the last */
    struct wm_simt_load *loads;   /* on their way */
} wm_simt_mbarrier;

typedef struct wm_simt_thread {
    wm_simt_here here; /* first: what the kernel sees of itself */
    wm_fiber fiber;
    struct wm_simt_block *block;
    int index; /* in the group */
    wm_simt_state state;
    const char *what; /* it waits for, in words */
    const void *pc;   /* where */
    wm_simt_barrier *barrier;
    wm_simt_meeting *meeting;
    uint64_t result;
    struct wm_simt_copies *copies; /* in flight: simt_copy.c */
    struct wm_simt_stores *stores; /* in flight: simt_bulk.c */
    struct wm_simt_wgmma *wgmma;   /* in flight: simt_wgmma.c */
    const struct wm_simt_product *awaited;
    int mbarrier, parity;    /* it waits for, -1: none */
    uint32_t fenced;         /* its writes before that time are ordered before the async proxy's accesses */
    uint32_t fence_floor;    /* what everybody had seen by then */
    uint64_t fragment[2][8]; /* for the other lanes: simt_mma.c */
    int fragment_turn;
    uint32_t clock; /* see simt_clock.c */
    uint32_t *seen;
    uint32_t seen_floor;
    uint32_t agent_seen[WM_SIMT_AGENTS];
} wm_simt_thread;

typedef struct wm_simt_block {
    wm_simt_thread *thread; /* of the group's array */
    int threads, left;
    wm_simt_barrier barrier[16];
    wm_simt_warp warp[WM_SIMT_MAX_BLOCK / WM_SIMT_WARP];
    unsigned char *shared;
    bool used_atomics;                                         /* it may know of other blocks' work: see check_device */
    struct wm_simt_product *products[WM_SIMT_MAX_BLOCK / 128]; /* of its warpgroups: simt_wgmma.c */
} wm_simt_block;

typedef struct wm_simt_group {
    const wm_launch *launch;
    uint32_t serial, launch_serial; /* numbers no other group, no other launch has */
    wm_simt_block block[WM_SIMT_MAX_CLUSTER];
    int blocks, threads, left;
    wm_simt_thread *thread;
    wm_simt_barrier cluster_barrier;
    bool cluster_orders; /* the cluster's meeting under way is not relaxed */
    wm_fiber scheduler;
    bool aborted;
    int64_t idle_yields;
    uint32_t now, floor; /* see simt_clock.c */
    uint32_t met;        /* when the cluster last met, even if relaxed */
    uint64_t random;
    wm_simt_mbarrier mbarrier[WM_SIMT_MBARRIERS];
    int mbarriers;
} wm_simt_group;

extern wm_simt_group wm_simt_group_now;
extern __thread wm_simt_thread *wm_simt_self; /* the running emulated thread; NULL outside kernels */

/* simt_run.c */
uint64_t wm_simt_wait(const char *what, const void *pc);
void wm_simt_wake(wm_simt_thread *thread, uint64_t result);
_Noreturn void wm_simt_abort(void);
uint64_t wm_simt_random(uint64_t *state);

/* simt_sync.c */
void wm_simt_thread_leaves(wm_simt_thread *thread);
void wm_simt_sync_reset(wm_simt_block *block);

/* simt_copy.c */
void wm_simt_copies_begin(wm_simt_thread *thread);
void wm_simt_copies_end(wm_simt_thread *thread); /* reports those that nobody waited for */

/* simt_mbarrier.c */
void wm_simt_mbarriers_end(wm_simt_group *group);
wm_simt_mbarrier *wm_simt_mbarrier_at(const void *word, const void *pc);
void wm_simt_mbarrier_bytes(wm_simt_mbarrier *b, int bytes, uint32_t when); /* have come: written at that time */
void wm_simt_mbarrier_settle(wm_simt_mbarrier *b); /* brings what is on its way, if somebody waits for nothing else */
void wm_simt_mbarriers_explain(void);              /* faults: what those lack that threads wait for */

/* simt_bulk.c */
typedef struct wm_simt_load wm_simt_load;
void wm_simt_loads_arrive(wm_simt_mbarrier *b);
void wm_simt_loads_drop(wm_simt_mbarrier *b);
void wm_simt_stores_begin(wm_simt_thread *thread);
void wm_simt_stores_end(wm_simt_thread *thread);

/* simt_mma.c */
double wm_simt_element_value(int type, const unsigned char *at);

/* simt_wgmma.c */
void wm_simt_wgmma_begin(wm_simt_thread *thread);
void wm_simt_wgmma_end(wm_simt_thread *thread);
void wm_simt_products_drop(wm_simt_block *block);

/*
 * simt_clock.c: what happens before what. Each synchronisation advances the group's `now`; a thread's accesses carry
 * its `clock`, the time of its last synchronisation. Thread t knows of all that u did up to t->seen[u]; everybody knows
 * of all up to the group's `floor`, the last barrier of the whole group.
 */
void wm_simt_clock_reset(wm_simt_group *group);
void wm_simt_clock_release(wm_simt_thread *thread, uint32_t **clocks);      /* others may come to know what it did */
void wm_simt_clock_acquire(wm_simt_thread *thread, uint32_t **clocks);      /* it now knows what was released there */
void wm_simt_clock_learn(wm_simt_thread *thread, int other, uint32_t when); /* of what `other` did up to then */
void wm_simt_clock_drop(uint32_t **clocks);
void wm_simt_clock_all(wm_simt_group *group); /* the whole group meets */
bool wm_simt_knows(const wm_simt_thread *thread, int other, uint32_t when);

int wm_simt_agent_of(const wm_simt_mbarrier *b); /* the index that stands for its bulk copies in notes and clocks */

/* simt_check.c. Two accesses are the async proxy's: its reads must find fenced writes; its writes are an agent's. */
typedef enum wm_simt_access {
    WM_SIMT_READ,
    WM_SIMT_WRITE,
    WM_SIMT_ATOMIC,
    WM_SIMT_ASYNC_READ,
    WM_SIMT_ASYNC_WRITE
} wm_simt_access;
void wm_simt_check_async(const void *address, size_t bytes, wm_simt_access access, int agent, const void *pc);
void wm_simt_check(const void *address, size_t bytes, wm_simt_access access, const void *pc);
unsigned char *wm_simt_shared_begin(int block, size_t bytes); /* fresh shared memory of a block of the group */
void wm_simt_shared_end(int block, size_t bytes);             /* looks at its guard bands */
void wm_simt_check_begin(void);

/* simt_fault.c: `pc` (or NULL) is where; the group, block and thread are added. */
void wm_simt_fault(const void *pc, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *wm_simt_place(const void *pc); /* "matmul.cu:88", or an address where nothing better is known */

/* simt_hooks.c */
extern int wm_simt_hooks_seen;

#endif
