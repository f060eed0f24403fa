/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the fake devices, and the list of what went wrong with it.
 *
 * All of it lies in one reserved range of addresses, so that a device pointer is told from a host pointer by its value.
 * An allocation is surrounded by bands of 0xa5 (poisoned under ASan) and then by pages that fault; it starts as 0xff, a
 * NaN in every floating type; its addresses are never used again, so that what touches it after the free is caught.
 */
#ifndef WM_TESTS_FAKE_MEMORY_H
#define WM_TESTS_FAKE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_area {
    unsigned char *base;
    size_t bytes;
    unsigned char *pages; /* with the bands */
    size_t page_bytes;
    int live;
    unsigned char *written; /* a byte for each: whether anything wrote it */
    void *notes;            /* the emulation's, 0 at first; WM_AREA_NOTE bytes for each byte */
    unsigned noted_in;      /* the launch that last noted something */
} wm_area;

enum { WM_AREA_NOTE = 16 };

/* A new area, aligned to 256 bytes; NULL if there is no room. */
void *wm_area_new(size_t bytes);

/* Ends an area; what was wrong (not one, ended before, a band overwritten) becomes a fault. Returns 0, 1 if not one. */
int wm_area_end(void *pointer);

/* The area, live or ended, whose bytes or bands hold the address; NULL if there is none. */
wm_area *wm_area_find(const void *address);

/* Whether the address lies in the range that device memory is taken from. */
int wm_area_device(const void *address);

/* Whether the bytes are in one live area, or are no device memory at all. Else a fault that starts with `what`. */
int wm_area_check(const char *what, const void *address, size_t bytes);

/* Notes that the bytes were written, or that they are as good as unwritten if the bytes copied there were. */
void wm_area_mark(void *to, const void *from, size_t bytes);

/* The areas that live. */
int wm_area_count(void);

/* Faults: a line each, in order, each line once. The emulation adds to the same list. */
void wm_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *wm_faults(void); /* "" if none; valid until the next fault or clear */
int wm_fault_count(void);
void wm_faults_clear(void);

#ifdef __cplusplus
}
#endif

#endif
