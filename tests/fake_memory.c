/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the fake devices: see the header. */
#include "fake_memory.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
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

enum { PAGE = 4096, BAND = 256, ALIGN = 256, MAX_AREAS = 1 << 20, MAX_FAULTS = 50, FRESH = 0xff, CANARY = 0xa5 };

static const size_t range_bytes = (size_t)1 << 36;
static unsigned char *range;
static size_t range_used;
static wm_area **areas; /* by rising address */
static int area_count, live_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static char fault_text[16384];
static int fault_count;
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Faults ---- */

void wm_fault(const char *format, ...) {
    char line[2560];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    memcpy(line + length, "\n", 2);
    pthread_mutex_lock(&fault_lock);
    size_t used = strlen(fault_text);
    if (!strstr(fault_text, line)) {
        int number = __atomic_add_fetch(&fault_count, 1, __ATOMIC_RELAXED);
        if (number <= MAX_FAULTS) snprintf(fault_text + used, sizeof fault_text - used, "%s", line);
    }
    pthread_mutex_unlock(&fault_lock);
}

const char *wm_faults(void) {
    return fault_text;
}

int wm_fault_count(void) {
    return __atomic_load_n(&fault_count, __ATOMIC_RELAXED);
}

void wm_faults_clear(void) {
    pthread_mutex_lock(&fault_lock);
    __atomic_store_n(&fault_count, 0, __ATOMIC_RELAXED);
    fault_text[0] = '\0';
    pthread_mutex_unlock(&fault_lock);
}

/* ---- Areas ---- */

static void *reserve(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static int open_range(void) {
    if (range) return 1;
    areas = calloc(MAX_AREAS, sizeof(wm_area *)); // NOLINT(bugprone-sizeof-expression)
    unsigned char *all = areas ? reserve(range_bytes) : NULL;
    if (!all) free(areas), areas = NULL;
    __atomic_store_n(&range, all, __ATOMIC_RELEASE);
    return all != NULL;
}

/* [page that faults] [band … base, `bytes`, band]: the page after is the next area's. */
static wm_area *place(size_t bytes) {
    size_t padded = (bytes + ALIGN - 1) / ALIGN * ALIGN + BAND, pages = (padded + BAND + PAGE - 1) / PAGE * PAGE;
    wm_area *area = calloc(1, sizeof *area);
    if (!area) return NULL;
    area->pages = range + range_used + PAGE;
    area->page_bytes = pages;
    area->base = area->pages + pages - padded;
    area->bytes = bytes;
    area->live = 1;
    area->written = calloc(bytes + 1, 1);
    if (!area->written || mprotect(area->pages, pages, PROT_READ | PROT_WRITE)) {
        free(area->written);
        free(area);
        return NULL;
    }
    range_used += PAGE + pages;
    return area;
}

static void fill(wm_area *area) {
    size_t front = (size_t)(area->base - area->pages), back = area->page_bytes - front - area->bytes;
    memset(area->pages, CANARY, front);
    memset(area->base, FRESH, area->bytes);
    memset(area->base + area->bytes, CANARY, back);
    ASAN_POISON_MEMORY_REGION(area->pages, front);
    ASAN_POISON_MEMORY_REGION(area->base + area->bytes, back);
}

void *wm_area_new(size_t bytes) {
    wm_area *area = NULL;
    pthread_mutex_lock(&lock);
    if (open_range() && area_count < MAX_AREAS && bytes < range_bytes / 2 &&
        range_used + bytes + 3 * PAGE < range_bytes)
        area = place(bytes);
    if (area) {
        fill(area);
        areas[area_count] = area;
        live_count++;
        __atomic_store_n(&area_count, area_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return area ? area->base : NULL;
}

static void check_band(const wm_area *area, const unsigned char *from, const unsigned char *to) {
    for (const unsigned char *p = from; p < to; p++) {
        if (*p == CANARY) continue;
        wm_fault("device memory: the byte at %+td of an allocation of %zu bytes was overwritten", p - area->base,
                 area->bytes);
        return;
    }
}

int wm_area_end(void *pointer) {
    wm_area *area = wm_area_find(pointer);
    if (!area || area->base != pointer || !__atomic_load_n(&area->live, __ATOMIC_ACQUIRE)) {
        wm_fault("free of %p: %s", pointer, area ? "freed before, or inside an allocation" : "not device memory");
        return 1;
    }
    ASAN_UNPOISON_MEMORY_REGION(area->pages, area->page_bytes);
    check_band(area, area->pages, area->base);
    check_band(area, area->base + area->bytes, area->pages + area->page_bytes);
    pthread_mutex_lock(&lock);
    __atomic_store_n(&area->live, 0, __ATOMIC_RELEASE);
    live_count--;
    madvise(area->pages, area->page_bytes, MADV_DONTNEED);
    mprotect(area->pages, area->page_bytes, PROT_NONE);
    free(area->written);
    area->written = NULL;
    if (area->notes) munmap(area->notes, area->bytes * WM_AREA_NOTE);
    area->notes = NULL;
    pthread_mutex_unlock(&lock);
    return 0;
}

wm_area *wm_area_find(const void *address) {
    const unsigned char *p = address;
    int low = 0, high = __atomic_load_n(&area_count, __ATOMIC_ACQUIRE);
    if (!wm_area_device(address)) return NULL;
    while (low < high) { /* the last area that starts at or below p */
        int middle = low + (high - low) / 2;
        if (areas[middle]->pages <= p)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || p >= areas[low - 1]->pages + areas[low - 1]->page_bytes) return NULL;
    return areas[low - 1];
}

int wm_area_device(const void *address) {
    const unsigned char *start = __atomic_load_n(&range, __ATOMIC_ACQUIRE);
    return start && (uintptr_t)address - (uintptr_t)start < range_bytes;
}

int wm_area_check(const char *what, const void *address, size_t bytes) {
    const unsigned char *p = address;
    const wm_area *area = wm_area_find(address);
    if (!bytes || !wm_area_device(address)) return 1;
    if (!area) {
        wm_fault("%s: %p is in no allocation", what, address);
        return 0;
    }
    if (!__atomic_load_n(&area->live, __ATOMIC_ACQUIRE)) {
        wm_fault("%s: %p was freed", what, address);
        return 0;
    }
    if (p >= area->base && bytes <= area->bytes && (size_t)(p - area->base) <= area->bytes - bytes) return 1;
    wm_fault("%s: bytes %+td to %+td of an allocation of %zu bytes", what, p - area->base,
             p - area->base + (ptrdiff_t)bytes, area->bytes);
    return 0;
}

void wm_area_mark(void *to, const void *from, size_t bytes) {
    wm_area *target = wm_area_find(to), *source = from ? wm_area_find(from) : NULL;
    if (!target || !target->written) return;
    unsigned char *mark = target->written + ((unsigned char *)to - target->base);
    if (source && source->written)
        memmove(mark, source->written + ((const unsigned char *)from - source->base), bytes);
    else
        memset(mark, 1, bytes);
}

int wm_area_count(void) {
    pthread_mutex_lock(&lock);
    int count = live_count;
    pthread_mutex_unlock(&lock);
    return count;
}
