/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's asynchronous copies. They happen as late as they may: when the thread waits for their group, so that
 * a use before the wait finds the old bytes. What nobody waited for never arrives, and is reported.
 */
#include "simt_core.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COPIES = 256 }; /* of a thread, in flight */

typedef struct copy {
    unsigned char *to;
    const unsigned char *from;
    int size, bytes; /* written, read */
    int group;       /* counts the commits before it */
    const void *pc;
} copy;

struct wm_simt_copies {
    copy list[MAX_COPIES];
    int count, committed; /* copies in flight, groups so far */
};

static struct wm_simt_copies *copies_of(wm_simt_thread *self) {
    if (!self->copies) self->copies = calloc(1, sizeof *self->copies);
    if (!self->copies) abort();
    return self->copies;
}

void wm_simt_copy_start(void *to, const void *from, int size, int bytes) {
    const void *pc = __builtin_return_address(0);
    struct wm_simt_copies *c = copies_of(wm_simt_self);
    if ((uintptr_t)to % (unsigned)size || (bytes && (uintptr_t)from % (unsigned)size) || bytes < 0 || bytes > size) {
        wm_simt_fault(pc, "copies %d of %d bytes from %p to %p", bytes, size, from, to);
        wm_simt_abort();
    }
    if (c->count == MAX_COPIES) {
        wm_simt_fault(pc, "has %d copies in flight, and waits for none", MAX_COPIES);
        wm_simt_abort();
    }
    copy now = {to, from, size, bytes, c->committed, pc};
    c->list[c->count++] = now;
}

void wm_simt_copy_commit(void) {
    copies_of(wm_simt_self)->committed++;
}

static void arrive(const copy *c) {
    if (c->bytes) wm_simt_check(c->from, (size_t)c->bytes, WM_SIMT_READ, c->pc);
    wm_simt_check(c->to, (size_t)c->size, WM_SIMT_WRITE, c->pc);
    if (c->bytes) memcpy(c->to, c->from, (size_t)c->bytes);
    memset(c->to + c->bytes, 0, (size_t)(c->size - c->bytes));
}

void wm_simt_copy_wait(int groups) {
    struct wm_simt_copies *c = copies_of(wm_simt_self);
    int kept = 0;
    for (int i = 0; i < c->count; i++) {
        if (c->list[i].group < c->committed - groups)
            arrive(&c->list[i]);
        else
            c->list[kept++] = c->list[i];
    }
    c->count = kept;
}

void wm_simt_copies_begin(wm_simt_thread *thread) {
    if (thread->copies) thread->copies->count = thread->copies->committed = 0; /* of a launch that was given up */
}

void wm_simt_copies_end(wm_simt_thread *thread) {
    struct wm_simt_copies *c = thread->copies;
    if (!c) return;
    if (c->count) wm_simt_fault(c->list[0].pc, "ends with %d copies in flight that it never waited for", c->count);
}
