/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's bulk copy engine (PTX ISA, cp.async.bulk and cp.async.bulk.tensor). A load arrives as late as it may,
 * when somebody waits for nothing else at its mbarrier, or as early, at once: the seed decides. Its bytes count as
 * written, by the mbarrier's agent, from the moment it is started. A store reads when its group is waited for; what
 * then differs from what was there at its start was overwritten too early.
 */
#include "simt_core.h"
#include "tests/fake_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1024, MAX_STORES = 64 }; /* the hardware keeps the first KiB of the window */

/* A box, or a run of bytes (map.magic 0). */
typedef struct transfer {
    wm_simt_map map;
    int at[5];
    unsigned char *shared;
    unsigned char *global; /* a run's */
    int bytes;             /* in shared memory */
    int block;             /* whose shared memory */
    int thread;            /* that started it */
    const void *pc;
} transfer;

struct wm_simt_load {
    wm_simt_load *next;
    transfer t;
    uint32_t when;
};

typedef struct store {
    transfer t;
    int group;
    unsigned char *before; /* what was to be stored, at its start */
} store;

struct wm_simt_stores {
    store list[MAX_STORES];
    int count, committed;
};

/* ---- The shared window ---- */

uint32_t wm_simt_window(const void *pointer) {
    return (uint32_t)((const unsigned char *)pointer - (unsigned char *)wm_simt_self->block->shared) + WINDOW;
}

unsigned char *wm_simt_unwindow(uint32_t address, size_t bytes, const void *pc) {
    size_t shared = wm_simt_group_now.launch->shared;
    if (address < WINDOW || address - WINDOW + bytes > shared) {
        wm_simt_fault(pc, "reaches bytes %d to %d of a shared memory of %zu", (int)(address - WINDOW),
                      (int)(address - WINDOW + bytes), shared);
        wm_simt_abort();
    }
    return wm_simt_self->block->shared + (address - WINDOW);
}

/* ---- Maps ---- */

int wm_simt_map_encode(void *out, int rank, int element, const void *base, const int64_t *dim, const int64_t *stride,
                       const int *box, int swizzle) {
    wm_simt_map fresh, *map = &fresh;
    memset(map, 0, sizeof *map);
    bool right = rank >= 1 && rank <= 5 && (uintptr_t)base % 16 == 0 && box[0] * element % 16 == 0;
    right = right && (!swizzle || box[0] * element <= swizzle);
    for (int i = 0; i < rank && right; i++) {
        right = dim[i] >= 1 && dim[i] <= (int64_t)1 << 32 && box[i] >= 1 && box[i] <= 256;
        map->dim[i] = (uint32_t)dim[i];
        map->box[i] = (uint16_t)box[i];
        if (i == 0) continue;
        map->stride[i - 1] = (uint64_t)stride[i - 1] * (uint64_t)element;
        right = right && map->stride[i - 1] % 16 == 0 && map->stride[i - 1] < (uint64_t)1 << 40;
    }
    map->magic = WM_SIMT_MAP;
    map->rank = (uint8_t)rank;
    map->element = (uint8_t)element;
    map->swizzle = (uint8_t)swizzle;
    map->base = (uintptr_t)base;
    memset(out, 0, 128);
    memcpy(out, map, sizeof *map);
    return right ? 0 : 1;
}

static int row_bytes(const wm_simt_map *map) {
    return map->box[0] * map->element;
}

static int rows_of(const wm_simt_map *map) {
    int rows = 1;
    for (int i = 1; i < map->rank; i++) rows *= map->box[i];
    return rows;
}

/* Where byte `at` of a transfer stands: the address's bits 4 to 6 are mixed with bits 7 to 9. */
static unsigned char *place_of(const transfer *t, int at) {
    uint32_t address = (uint32_t)(t->shared - wm_simt_group_now.block[t->block].shared) + (uint32_t)at;
    uint32_t mask = t->map.swizzle ? t->map.swizzle / 16u - 1 : 0;
    return wm_simt_group_now.block[t->block].shared + (address ^ (address >> 7 & mask) << 4);
}

/* The global bytes of a row of the box, and which part of the row they are: none if the row lies outside. */
static unsigned char *row_of(const transfer *t, int row, int *first, int *bytes) {
    const wm_simt_map *map = &t->map;
    int64_t low = t->at[0], high = low + map->box[0], offset = 0;
    *first = *bytes = 0;
    for (int i = 1; i < map->rank; i++) {
        int64_t x = (int64_t)t->at[i] + row % map->box[i];
        row /= map->box[i];
        if (x < 0 || x >= map->dim[i]) return NULL;
        offset += x * (int64_t)map->stride[i - 1];
    }
    low = low < 0 ? 0 : low;
    high = high > map->dim[0] ? map->dim[0] : high;
    if (low >= high) return NULL;
    *first = (int)(low - t->at[0]) * map->element;
    *bytes = (int)(high - low) * map->element;
    return (unsigned char *)(uintptr_t)map->base + offset + low * map->element;
}

/* ---- Moving ---- */

static bool global_access(const unsigned char *p, int bytes, wm_simt_access access, const void *pc) {
    if (wm_simt_hooks_seen) {
        wm_simt_check(p, (size_t)bytes, access, pc);
        return true;
    }
    if (!wm_area_check("bulk copy", p, (size_t)bytes)) wm_simt_abort();
    if (access == WM_SIMT_WRITE) wm_area_mark((void *)(uintptr_t)p, NULL, (size_t)bytes);
    return true;
}

static void put_shared(const transfer *t, int at, const unsigned char *from, int bytes) {
    for (int i = 0; i < bytes; i += 16) memcpy(place_of(t, at + i), from + i, 16);
}

static void get_shared(const transfer *t, int at, unsigned char *to, int bytes) {
    for (int i = 0; i < bytes; i += 16) memcpy(to + i, place_of(t, at + i), 16);
}

static void load_now(const transfer *t) {
    unsigned char row[4096];
    wm_simt_thread *waiter = wm_simt_self;
    wm_simt_self = &wm_simt_group_now.thread[t->thread];
    if (!t->map.magic) {
        global_access(t->global, t->bytes, WM_SIMT_READ, t->pc);
        put_shared(t, 0, t->global, t->bytes);
    } else {
        int bytes = row_bytes(&t->map), first, inside;
        for (int r = 0; r < rows_of(&t->map); r++) {
            const unsigned char *from = row_of(t, r, &first, &inside);
            memset(row, t->map.fill, (size_t)bytes);
            if (from && global_access(from, inside, WM_SIMT_READ, t->pc)) memcpy(row + first, from, (size_t)inside);
            put_shared(t, r * bytes, row, bytes);
        }
    }
    wm_simt_self = waiter;
}

static void store_now(const transfer *t, const unsigned char *from) {
    if (!t->map.magic) {
        global_access(t->global, t->bytes, WM_SIMT_WRITE, t->pc);
        memcpy(t->global, from, (size_t)t->bytes);
        return;
    }
    int bytes = row_bytes(&t->map), first, inside;
    for (int r = 0; r < rows_of(&t->map); r++) {
        unsigned char *to = row_of(t, r, &first, &inside);
        if (to && global_access(to, inside, WM_SIMT_WRITE, t->pc))
            memcpy(to, from + (ptrdiff_t)r * bytes + first, (size_t)inside);
    }
}

/* ---- Starting ---- */

static transfer transfer_of(void *shared, const void *map, const int *at, const void *global, int bytes,
                            const void *pc) {
    const wm_simt_thread *self = wm_simt_self;
    transfer t;
    memset(&t, 0, sizeof t);
    t.shared = shared;
    t.thread = self->index;
    t.block = (int)(self->block - wm_simt_group_now.block);
    t.pc = pc;
    if (map) {
        memcpy(&t.map, map, sizeof t.map);
        if (t.map.magic != WM_SIMT_MAP || (uintptr_t)map % 64) {
            wm_simt_fault(pc, "uses a tensor map that is none, or not at a multiple of 64");
            wm_simt_abort();
        }
        for (int i = 0; i < t.map.rank; i++) t.at[i] = at[i];
        bytes = row_bytes(&t.map) * rows_of(&t.map);
    }
    t.global = (unsigned char *)(uintptr_t)global;
    t.bytes = bytes;
    if ((uintptr_t)shared % (map ? 128 : 16) || (uintptr_t)global % 16 || bytes < 16 || bytes % 16) {
        wm_simt_fault(pc, "bulk copy of %d bytes between %p and shared %p", bytes, global, shared);
        wm_simt_abort();
    }
    wm_simt_unwindow(wm_simt_window(shared), (size_t)bytes, pc);
    return t;
}

static void check_shared_side(const transfer *t, wm_simt_access access, int agent) {
    for (int i = 0; i < t->bytes; i += 16) wm_simt_check_async(place_of(t, i), 16, access, agent, t->pc);
}

/* One block's part of a load. */
static void start_load(transfer t, int block, uint64_t *word, bool early) {
    wm_simt_group *group = &wm_simt_group_now;
    ptrdiff_t move = group->block[block].shared - group->block[t.block].shared;
    t.shared += move;
    wm_simt_mbarrier *b = wm_simt_mbarrier_at((unsigned char *)word + move, t.pc);
    t.block = block;
    if (!b->fenced && wm_simt_self->fenced <= b->made)
        wm_simt_fault(t.pc, "bulk copy at an mbarrier that no fence has shown to the async proxy");
    uint32_t when = ++group->now;
    check_shared_side(&t, WM_SIMT_ASYNC_WRITE, wm_simt_agent_of(b));
    if (early) {
        load_now(&t);
        wm_simt_mbarrier_bytes(b, t.bytes, when);
    } else {
        wm_simt_load *load = malloc(sizeof *load), **last = &b->loads;
        if (!load) abort();
        load->t = t;
        load->when = when;
        load->next = NULL;
        while (*last) last = &(*last)->next;
        *last = load;
    }
    wm_simt_mbarrier_settle(b);
}

static void start_loads(transfer t, uint64_t *word, uint32_t blocks) {
    wm_simt_group *group = &wm_simt_group_now;
    bool early = wm_simt_random(&group->random) & 1;
    if (!blocks) blocks = 1u << t.block;
    for (int block = 0; block < 32; block++) {
        if (!(blocks >> block & 1)) continue;
        if (block >= group->blocks) {
            wm_simt_fault(t.pc, "copies to block %d of a cluster of %d", block, group->blocks);
            wm_simt_abort();
        }
        start_load(t, block, word, early);
    }
}

void wm_simt_tensor_load(void *to, const void *map, const int *at, uint64_t *word, uint32_t blocks) {
    start_loads(transfer_of(to, map, at, NULL, 0, __builtin_return_address(0)), word, blocks);
}

void wm_simt_bulk_load(void *to, const void *from, int bytes, uint64_t *word, uint32_t blocks) {
    start_loads(transfer_of(to, NULL, NULL, from, bytes, __builtin_return_address(0)), word, blocks);
}

void wm_simt_loads_arrive(wm_simt_mbarrier *b) {
    while (b->loads) {
        wm_simt_load *load = b->loads;
        b->loads = load->next;
        load_now(&load->t);
        wm_simt_mbarrier_bytes(b, load->t.bytes, load->when);
        free(load);
    }
}

void wm_simt_loads_drop(wm_simt_mbarrier *b) {
    while (b->loads) {
        wm_simt_load *load = b->loads;
        b->loads = load->next;
        free(load);
    }
}

/* ---- Stores ---- */

static void start_store(transfer t) {
    wm_simt_thread *self = wm_simt_self;
    if (!self->stores) self->stores = calloc(1, sizeof *self->stores);
    if (!self->stores) abort();
    struct wm_simt_stores *all = self->stores;
    if (all->count == MAX_STORES) {
        wm_simt_fault(t.pc, "has %d bulk stores in flight, and waits for none", MAX_STORES);
        wm_simt_abort();
    }
    check_shared_side(&t, WM_SIMT_ASYNC_READ, -1);
    store now = {t, all->committed, malloc((size_t)t.bytes)};
    if (!now.before) abort();
    get_shared(&t, 0, now.before, t.bytes);
    all->list[all->count++] = now;
}

void wm_simt_tensor_store(const void *map, const void *from, const int *at) {
    start_store(transfer_of((void *)(uintptr_t)from, map, at, NULL, 0, __builtin_return_address(0)));
}

void wm_simt_bulk_store(void *to, const void *from, int bytes) {
    start_store(transfer_of((void *)(uintptr_t)from, NULL, NULL, to, bytes, __builtin_return_address(0)));
}

void wm_simt_store_commit(void) {
    if (wm_simt_self->stores) wm_simt_self->stores->committed++;
}

static void end_store(store *s) {
    unsigned char *now = malloc((size_t)s->t.bytes);
    if (!now) abort();
    get_shared(&s->t, 0, now, s->t.bytes);
    if (memcmp(now, s->before, (size_t)s->t.bytes) != 0)
        wm_simt_fault(s->t.pc, "bulk store of shared memory that was overwritten before the store was waited for");
    store_now(&s->t, now);
    free(now);
    free(s->before);
}

void wm_simt_store_wait(int groups) {
    struct wm_simt_stores *all = wm_simt_self->stores;
    int kept = 0;
    if (!all) return;
    for (int i = 0; i < all->count; i++) {
        if (all->list[i].group < all->committed - groups)
            end_store(&all->list[i]);
        else
            all->list[kept++] = all->list[i];
    }
    all->count = kept;
}

void wm_simt_async_fence(void) {
    wm_simt_thread *self = wm_simt_self;
    wm_simt_group *group = &wm_simt_group_now;
    self->clock = self->fenced = ++group->now;
    self->fence_floor = group->floor;
}

void wm_simt_stores_begin(wm_simt_thread *thread) {
    struct wm_simt_stores *all = thread->stores;
    if (!all) return;
    for (int i = 0; i < all->count; i++) free(all->list[i].before); /* of a launch that was given up */
    all->count = all->committed = 0;
}

void wm_simt_stores_end(wm_simt_thread *thread) {
    if (thread->stores && thread->stores->count)
        wm_simt_fault(thread->stores->list[0].t.pc, "ends with %d bulk stores in flight that it never waited for",
                      thread->stores->count);
}
