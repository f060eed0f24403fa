/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a kernel's memory accesses, one call an access (from simt_hooks.c and the atomics). Each byte of shared
 * memory has a note: who wrote it last and when, who read it since. simt_clock.c says which of that the thread at hand
 * may rely on; what it may not is a race.
 */
#include "simt_core.h"
#include "tests/fake_memory.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

enum { ALIGN = 1024, BAND = 1024, CANARY = 0xa5, FRESH = 0xff, SLOT = WM_SIMT_MAX_SHARED + ALIGN + 2 * BAND };

/* Which threads read a byte since it was written: lanes of one warp, or whole warps (bit w % 32). */
typedef enum readers { NOBODY, LANES, WARPS } readers;

typedef struct note {
    uint32_t serial;                              /* of the group the rest is about */
    uint32_t write_clock, read_clock, read_first; /* of the latest reader; of the earliest */
    uint32_t read_bits;
    uint16_t writer, read_warp;
    uint8_t readers, atomic, leads; /* leads: only by lanes 0, each for the products of its warpgroup's part */
    const void *write_pc, *read_pc;
} note;

/* A byte of device memory: who wrote it last. */
typedef struct device_note {
    uint32_t launch, serial, clock;
    uint16_t writer, atomic;
} device_note;
_Static_assert(sizeof(device_note) == WM_AREA_NOTE, "fake_memory.h reserves this much");

typedef struct span {
    uintptr_t first, end;
} span;

static unsigned char *slots; /* shared memory of the group's blocks, with room for bands */
static note *notes;
static span images[256]; /* static data of the program and its libraries */
static int image_count;

/* ---- Where things are ---- */

static int add_image(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    for (int i = 0; i < info->dlpi_phnum && image_count < 256; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        images[image_count].first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        images[image_count].end = images[image_count].first + info->dlpi_phdr[i].p_memsz;
        image_count++;
    }
    return 0;
}

void wm_simt_check_begin(void) {
    image_count = 0;
    if (wm_simt_hooks_seen) dl_iterate_phdr(add_image, NULL);
}

static bool is_static(const void *address) {
    static int last; /* most often it is where it was */
    for (int n = 0, i = last < image_count ? last : 0; n < image_count; n++, i = i + 1 < image_count ? i + 1 : 0) {
        if ((uintptr_t)address < images[i].first || (uintptr_t)address >= images[i].end) continue;
        last = i;
        return true;
    }
    return false;
}

static unsigned char *slot_base(int block) {
    uintptr_t start = (uintptr_t)(slots + (size_t)block * SLOT + BAND);
    return (unsigned char *)((start + ALIGN - 1) / ALIGN * ALIGN);
}

unsigned char *wm_simt_shared_begin(int block, size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t all = (size_t)SLOT * WM_SIMT_MAX_CLUSTER;
    if (!slots) {
        slots = mmap(NULL, all, PROT_READ | PROT_WRITE, flags, -1, 0);
        notes = mmap(NULL, all * sizeof *notes, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (slots == MAP_FAILED || notes == MAP_FAILED) abort();
    }
    unsigned char *base = slot_base(block);
    memset(base - BAND, CANARY, BAND);
    memset(base, FRESH, bytes);
    memset(base + bytes, CANARY, BAND);
    ASAN_POISON_MEMORY_REGION(base - BAND, BAND);
    ASAN_POISON_MEMORY_REGION(base + bytes, BAND);
    return base;
}

void wm_simt_shared_end(int block, size_t bytes) {
    unsigned char *base = slot_base(block);
    ASAN_UNPOISON_MEMORY_REGION(base - BAND, bytes + 2 * BAND);
    for (ptrdiff_t i = -(ptrdiff_t)BAND; i < (ptrdiff_t)(bytes + BAND); i++) {
        if (i == 0) i = (ptrdiff_t)bytes;
        if (base[i] == CANARY) continue;
        wm_simt_self = wm_simt_group_now.block[block].thread;
        wm_simt_fault(NULL, "some thread overwrote byte %+td of a shared memory of %zu bytes", i, bytes);
        wm_simt_self = NULL;
        return;
    }
}

/* ---- Shared memory ---- */

static bool knows_readers(const wm_simt_thread *self, const note *n) {
    int per_block = wm_simt_group_now.block[0].threads, warps = (per_block + 31) / 32;
    if (n->readers == NOBODY || n->read_clock <= wm_simt_group_now.floor) return true;
    for (int t = 0; t < wm_simt_group_now.threads; t++) {
        int warp = t / per_block * warps + t % per_block / 32, lane = t % per_block % 32;
        bool reader =
            n->readers == LANES ? warp == n->read_warp && (n->read_bits >> lane & 1) : n->read_bits >> (warp % 32) & 1;
        /* Who left can do no more, but what it did is only ordered by a barrier that it took part in. */
        if (n->readers == WARPS && n->leads && lane) continue;
        /* The latest warp is judged by its own time, the others by the earliest's: never too harsh. */
        uint32_t when = n->readers == LANES || warp == n->read_warp ? n->read_clock : n->read_first;
        if (reader && !wm_simt_knows(self, t, when)) return false;
    }
    return true;
}

static void add_reader(const wm_simt_thread *self, note *n, bool async, const void *pc) {
    const wm_simt_block *block = self->block;
    int index = (int)(self - block->thread), warps = (block->threads + 31) / 32;
    int warp = (int)(block - wm_simt_group_now.block) * warps + index / 32;
    if (n->read_clock <= wm_simt_group_now.floor) n->readers = NOBODY;
    if (n->readers == NOBODY) {
        n->read_clock = 0;
        n->read_first = self->clock;
        n->leads = 1;
        n->readers = LANES;
        n->read_warp = (uint16_t)warp;
        n->read_bits = 1u << index % 32;
    } else if (n->readers == LANES && n->read_warp == warp) {
        n->read_bits |= 1u << index % 32;
    } else {
        if (n->readers == LANES) n->read_bits = 1u << n->read_warp % 32;
        n->readers = WARPS;
        n->read_bits |= 1u << warp % 32;
    }
    if (!async || index % 32) n->leads = 0;
    if (n->read_first > self->clock) n->read_first = self->clock;
    if (n->read_clock > self->clock) return;
    n->read_clock = self->clock;
    n->read_warp = (uint16_t)warp;
    n->read_pc = pc;
}

static void report_race(const wm_simt_thread *self, const char *verb, ptrdiff_t at, const char *how, int other,
                        const void *there, const void *pc) {
    char who[32] = "another thread";
    if (other >= wm_simt_group_now.threads)
        snprintf(who, sizeof who, "a bulk copy");
    else if (other >= 0)
        snprintf(who, sizeof who, "thread %d", other % self->block->threads);
    wm_simt_fault(pc, "race: %s byte %td of shared memory that %s %s (%s) with no barrier between", verb, at, who, how,
                  wm_simt_place(there));
}

/* Whether what was written there by ordinary stores is ordered before accesses of the async proxy: the writer fenced
 * it, or this thread did, when a barrier of all had shown it the write. */
static bool is_fenced(const wm_simt_thread *self, const note *n) {
    const wm_simt_group *group = &wm_simt_group_now;
    if (!n->write_clock || n->writer >= group->threads) return true;
    return n->write_clock < group->thread[n->writer].fenced || n->write_clock <= self->fence_floor;
}

static void check_shared_byte(wm_simt_thread *self, note *n, ptrdiff_t at, wm_simt_access access, int agent,
                              const void *pc) {
    bool async = access == WM_SIMT_ASYNC_READ || access == WM_SIMT_ASYNC_WRITE;
    bool writes = access != WM_SIMT_READ && access != WM_SIMT_ASYNC_READ, atomic = access == WM_SIMT_ATOMIC;
    const char *verb = writes ? "writes" : "reads";
    if (n->serial != wm_simt_group_now.serial) {
        memset(n, 0, sizeof *n);
        n->serial = wm_simt_group_now.serial;
    }
    if (async && !is_fenced(self, n))
        wm_simt_fault(pc, "async proxy %s byte %td of shared memory that thread %d wrote (%s) with no fence between",
                      verb, at, n->writer % self->block->threads, wm_simt_place(n->write_pc));
    if (access != WM_SIMT_WRITE && access != WM_SIMT_ASYNC_WRITE && !n->write_clock)
        wm_simt_fault(pc, "reads byte %td of shared memory, which no thread has written", at);
    if (n->write_clock && !(atomic && n->atomic) && !wm_simt_knows(self, n->writer, n->write_clock))
        report_race(self, verb, at, "wrote", n->writer, n->write_pc, pc);
    if (writes && !knows_readers(self, n)) report_race(self, verb, at, "read", -1, n->read_pc, pc);
    if (!writes) {
        add_reader(self, n, async, pc);
        return;
    }
    n->write_clock = access == WM_SIMT_ASYNC_WRITE ? wm_simt_group_now.now : self->clock;
    n->writer = (uint16_t)agent;
    n->write_pc = pc;
    n->atomic = atomic;
    n->readers = NOBODY;
}

static void check_shared(wm_simt_thread *self, unsigned char *p, size_t bytes, wm_simt_access access, int agent,
                         const void *pc) {
    int slot = (int)((p - slots) / SLOT);
    ptrdiff_t at = p - slot_base(slot);
    const wm_simt_group *group = &wm_simt_group_now;
    size_t size = group->launch->shared;
    if (slot >= group->blocks || at < 0 || (size_t)at + bytes > size) {
        wm_simt_fault(pc, "%s bytes %td to %td of a shared memory of %zu",
                      access == WM_SIMT_READ || access == WM_SIMT_ASYNC_READ ? "reads" : "writes", at,
                      at + (ptrdiff_t)bytes, size);
        wm_simt_abort();
    }
    if (group->block[slot].left == group->block[slot].threads)
        wm_simt_fault(pc, "reaches the shared memory of block %d of the cluster, which has ended", slot);
    note *n = notes + (p - slots);
    int before = wm_fault_count();
    for (size_t i = 0; i < bytes; i++) {
        check_shared_byte(self, n + i, at + (ptrdiff_t)i, access, agent, pc);
        if (wm_fault_count() != before) return; /* the first byte of an access tells enough */
    }
}

/* ---- Device memory ---- */

static void check_device_race(const wm_simt_thread *self, const wm_area *area, size_t at, bool atomic, const char *verb,
                              const void *pc) {
    const wm_simt_group *group = &wm_simt_group_now;
    const device_note *n = (const device_note *)area->notes + at;
    if (n->launch != group->launch_serial || (atomic && n->atomic)) return;
    if (n->serial == group->serial && !wm_simt_knows(self, n->writer, n->clock))
        wm_simt_fault(pc,
                      "race: %s byte %zu of an allocation of %zu bytes that thread %d wrote with no barrier between",
                      verb, at, area->bytes, n->writer % self->block->threads);
    /* A block that has used atomics may have learnt that the other is done: too clever to follow here. */
    if (n->serial != group->serial && !self->block->used_atomics)
        wm_simt_fault(pc, "race: %s byte %zu of an allocation of %zu bytes that another block of this launch wrote",
                      verb, at, area->bytes);
}

static void check_device_byte(wm_simt_thread *self, wm_area *area, size_t at, wm_simt_access access, const void *pc) {
    const wm_simt_group *group = &wm_simt_group_now;
    bool atomic = access == WM_SIMT_ATOMIC;
    if (access != WM_SIMT_WRITE && !area->written[at])
        wm_simt_fault(pc, "reads byte %zu of an allocation of %zu bytes, which nothing has written", at, area->bytes);
    if (area->noted_in == group->launch_serial) /* else this launch wrote nothing there */
        check_device_race(self, area, at, atomic, access == WM_SIMT_READ ? "reads" : "writes", pc);
    if (access == WM_SIMT_READ) return;
    device_note now = {group->launch_serial, group->serial, self->clock, (uint16_t)self->index, atomic};
    ((device_note *)area->notes)[at] = now;
    area->written[at] = 1;
}

/* The area that holds p; a load or store at one place in the code tends to stay in one. Areas are never forgotten. */
static wm_area *find_area(const unsigned char *p, const void *pc) {
    static wm_area *last[64];
    wm_area **guess = &last[(uintptr_t)pc % 64];
    if (!*guess || (uintptr_t)p - (uintptr_t)(*guess)->pages >= (*guess)->page_bytes) *guess = wm_area_find(p);
    return *guess;
}

static void check_device(wm_simt_thread *self, unsigned char *p, size_t bytes, wm_simt_access access, const void *pc) {
    wm_area *area = find_area(p, pc);
    const char *verb = access == WM_SIMT_READ ? "reads" : "writes";
    if (!area || !area->live) {
        wm_simt_fault(pc, "%s device address %p, which %s", verb, (void *)p,
                      area ? "was freed" : "is in no allocation");
        wm_simt_abort();
    }
    ptrdiff_t at = p - area->base;
    if (at < 0 || (size_t)at + bytes > area->bytes) {
        wm_simt_fault(pc, "%s bytes %td to %td of an allocation of %zu bytes", verb, at, at + (ptrdiff_t)bytes,
                      area->bytes);
        wm_simt_abort();
    }
    if (!area->notes) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        area->notes = mmap(NULL, area->bytes * WM_AREA_NOTE, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (area->notes == MAP_FAILED) abort();
    }
    if (access != WM_SIMT_READ) area->noted_in = wm_simt_group_now.launch_serial;
    int before = wm_fault_count();
    for (size_t i = 0; i < bytes; i++) {
        check_device_byte(self, area, (size_t)at + i, access, pc);
        if (wm_fault_count() != before) return;
    }
}

/* ---- All ---- */

void wm_simt_check(const void *address, size_t bytes, wm_simt_access access, const void *pc) {
    wm_simt_thread *self = wm_simt_self;
    unsigned char *p = (unsigned char *)(uintptr_t)address;
    const unsigned char *stack = self->fiber.stack;
    if (access == WM_SIMT_ATOMIC) self->block->used_atomics = true;
    if (!wm_simt_hooks_seen) return;
    if ((uintptr_t)p - (uintptr_t)stack < self->fiber.bytes) return;
    if ((uintptr_t)p - (uintptr_t)slots < (size_t)SLOT * WM_SIMT_MAX_CLUSTER) {
        check_shared(self, p, bytes, access, self->index, pc);
    } else if (wm_area_device(p)) {
        check_device(self, p, bytes, access, pc);
    } else if (access == WM_SIMT_READ && ((uintptr_t)p - (uintptr_t)&self->here < sizeof self->here || is_static(p))) {
        return;
    } else {
        wm_simt_fault(pc, "%s host memory at %p", access == WM_SIMT_READ ? "reads" : "writes", address);
        wm_simt_abort();
    }
}

/* Of shared memory alone. */
void wm_simt_check_async(const void *address, size_t bytes, wm_simt_access access, int agent, const void *pc) {
    wm_simt_thread *self = wm_simt_self;
    if (wm_simt_hooks_seen)
        check_shared(self, (unsigned char *)(uintptr_t)address, bytes, access, agent < 0 ? self->index : agent, pc);
}
