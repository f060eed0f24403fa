/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's warpgroup products (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). Operands are read
 * from shared memory through the descriptors' fields, with the canonical layouts of the manual, so wrong strides and
 * swizzles give wrong numbers. A product happens when it is waited for: until then its sums are NaN, and whoever
 * changes them or the operands is found out.
 *
 * The 128 threads issue the same products in the same order; the n-th of each thread is one product of the warpgroup.
 */
#include "simt_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128, ROWS = 64, MAX_N = 256, MAX_SUMS = 8, MAX_PENDING = 256, GRANULE = 16, STEP = 32 };

/* One product of a warpgroup. Operands as they were when the last thread came: STEP bytes a row. */
typedef struct wm_simt_product {
    struct wm_simt_product *next;
    int serial, arrived, retired;
    int a_type, b_type, n, a_mn, b_mn;
    uint64_t a, b;
    bool held; /* A came in registers: it lies in a_raw */
    bool decoded;
    uint32_t issued[4]; /* when the first lane of each warp did, which stands for its warp's reads */
    unsigned char a_raw[ROWS * STEP], b_raw[MAX_N * STEP];
    float a_value[ROWS * STEP], b_value[MAX_N * STEP];
} product;

/* Sums that products of this thread are adding to. */
typedef struct sums {
    uint32_t *at; /* NULL: free */
    int count, users;
    uint32_t value[MAX_N / 2];
} sums;

typedef struct pending {
    product *product;
    sums *sums;
    int keep, group;
    const void *pc;
} pending;

struct wm_simt_wgmma {
    int issued, committed, count;
    bool fenced;
    sums sums[MAX_SUMS];
    pending list[MAX_PENDING];
};

static struct wm_simt_wgmma *state_of(wm_simt_thread *self) {
    if (!self->wgmma) self->wgmma = calloc(1, sizeof *self->wgmma);
    if (!self->wgmma) abort();
    return self->wgmma;
}

static int index_of(const wm_simt_thread *self) {
    return (int)(self - self->block->thread);
}

/* ---- Operands ---- */

/* Matrix Descriptor Format: addresses and offsets in units of 16 bytes; swizzle 1, 2, 3 spans 128, 64, 32 bytes. */
typedef struct layout {
    uint32_t start, leading, stride, span;
    bool mn;
} layout;

static layout layout_of(uint64_t descriptor, int mn, const void *pc) {
    static const uint32_t spans[] = {0, 128, 64, 32};
    layout l = {(uint32_t)(descriptor & 0x3fff) << 4, (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                (uint32_t)(descriptor >> 32 & 0x3fff) << 4, spans[descriptor >> 62], mn};
    if (descriptor >> 49 & 7) wm_simt_fault(pc, "wgmma descriptor with a base offset, which is not emulated");
    return l;
}

/* The window address of granule `i` of step half or k: K-major: row i, `along` 0 or 1, the half of its 32 bytes.
 * MN-major: rows 8i to 8i + 7 of k `along`. */
static uint32_t granule_at(const layout *l, int i, int along) {
    uint32_t u = (uint32_t)i, v = (uint32_t)along, at, mask = l->span ? l->span / 16 - 1 : 0;
    if (!l->mn)
        at = u / 8 * l->stride + (l->span ? u % 8 * l->span + v * 16 : u % 8 * 16 + v * l->leading);
    else if (!l->span)
        at = u * l->stride + v % 8 * 16 + v / 8 * l->leading;
    else
        at = u % (l->span / 16) * 16 + u / (l->span / 16) * l->leading + v % 8 * l->span + v / 8 * l->stride;
    at += l->start;
    return at ^ (at >> 7 & mask) << 4;
}

/* Rows `first` to `first + rows` - 1 as STEP bytes each; `check`: as reads of the running thread. */
static void read_operand(uint64_t descriptor, int mn, int first, int rows, unsigned char *raw, bool check,
                         const void *pc) {
    layout l = layout_of(descriptor, mn, pc);
    int count = mn ? rows / 8 : rows, along = mn ? 16 : 2;
    for (int i = 0; i < count; i++)
        for (int v = 0; v < along; v++) {
            int unit = i + (mn ? first / 8 : first);
            const unsigned char *from = wm_simt_unwindow(granule_at(&l, unit, v), GRANULE, pc);
            if (check) wm_simt_check_async(from, GRANULE, WM_SIMT_ASYNC_READ, -1, pc);
            if (!raw) continue;
            if (!mn)
                memcpy(raw + (ptrdiff_t)i * STEP + (ptrdiff_t)v * GRANULE, from, GRANULE);
            else
                for (int e = 0; e < 8; e++)
                    memcpy(raw + (ptrdiff_t)(8 * i + e) * STEP + (ptrdiff_t)v * 2, from + 2 * e, 2);
        }
}

static int element_bytes(int type) {
    return type == WM_SIMT_TF32 ? 4 : type == WM_SIMT_F16 || type == WM_SIMT_BF16 ? 2 : 1;
}

static void decode(int type, int rows, const unsigned char *raw, float *value) {
    int bytes = element_bytes(type), count = rows * STEP / bytes;
    for (int i = 0; i < count; i++) value[i] = (float)wm_simt_element_value(type, raw + (ptrdiff_t)i * bytes);
}

/* ---- Issue ---- */

static product *product_at(wm_simt_block *block, int group, int serial) {
    product **p = &block->products[group];
    while (*p && (*p)->serial != serial) p = &(*p)->next;
    if (!*p) {
        *p = calloc(1, sizeof **p);
        if (!*p) abort();
        (*p)->serial = serial;
    }
    return *p;
}

/* The sums' record; new ones are hidden behind NaN until the wait. */
static sums *sums_at(struct wm_simt_wgmma *w, uint32_t *at, int count, const void *pc) {
    sums *free_one = NULL;
    for (int i = 0; i < MAX_SUMS; i++) {
        sums *s = &w->sums[i];
        if (s->at == at) return s;
        if (!s->at && !free_one) free_one = s;
    }
    if (!free_one) {
        wm_simt_fault(pc, "has wgmma in flight to %d arrays of sums", MAX_SUMS);
        wm_simt_abort();
    }
    if (!w->fenced) wm_simt_fault(pc, "wgmma without a wgmma.fence since its sums were last free");
    free_one->at = at;
    free_one->count = count;
    free_one->users = 0;
    memcpy(free_one->value, at, (size_t)count * 4);
    memset(at, 0xff, (size_t)count * 4);
    return free_one;
}

/* What a thread's wgmma says of it: all threads of a warpgroup say the same. */
typedef struct said {
    int a_type, b_type, n, a_mn, b_mn;
    uint64_t a, b;
    const uint32_t *words; /* of A in registers; NULL: A is in shared memory */
} said;

static void describe(product *p, const said *s, const void *pc) {
    if (!p->arrived) {
        p->a_type = s->a_type;
        p->b_type = s->b_type;
        p->n = s->n;
        p->a_mn = s->a_mn;
        p->b_mn = s->b_mn;
        p->a = s->a;
        p->b = s->b;
        p->held = s->words != NULL;
        if (s->n < 8 || s->n > MAX_N || s->n % 8) wm_simt_fault(pc, "wgmma of width %d", s->n);
        if ((s->a_mn || s->b_mn) && element_bytes(s->a_type) != 2)
            wm_simt_fault(pc, "only 16-bit operands may be MN-major");
    }
    if (p->a_type != s->a_type || p->n != s->n || p->a != s->a || p->b != s->b || p->a_mn != s->a_mn ||
        p->b_mn != s->b_mn || p->held != (s->words != NULL))
        wm_simt_fault(pc, "wgmma differs from that of other threads of its warpgroup");
}

/* Word r of a thread: row lane / 4 + 8 (r mod 2) of its warp's 16, bytes 4 (lane mod 4) + 16 (r / 2) of STEP. */
static void hold(product *p, int index, const uint32_t *words) {
    int lane = index % WM_SIMT_WARP, warp = index / WM_SIMT_WARP % 4;
    for (int r = 0; r < 4; r++) {
        int row = 16 * warp + lane / 4 + 8 * (r % 2);
        memcpy(p->a_raw + (ptrdiff_t)row * STEP + (ptrdiff_t)(lane % 4 * 4 + r / 2 * 16), &words[r], 4);
    }
}

static void issue(const said *said, void *sum, int keep, const void *pc) {
    wm_simt_thread *self = wm_simt_self;
    struct wm_simt_wgmma *w = state_of(self);
    int index = index_of(self), warp = index / WM_SIMT_WARP % 4;
    if (w->count == MAX_PENDING || index / GROUP * GROUP + GROUP > self->block->threads) {
        wm_simt_fault(pc, "wgmma by a part of a warpgroup, or without a wait");
        wm_simt_abort();
    }
    product *p = product_at(self->block, index / GROUP, w->issued++);
    describe(p, said, pc);
    sums *s = sums_at(w, sum, said->n / 2, pc);
    s->users++;
    pending now = {p, s, keep, w->committed, pc};
    w->list[w->count++] = now;
    if (p->held) hold(p, index, said->words);
    if (index % WM_SIMT_WARP == 0 && wm_simt_hooks_seen) {
        p->issued[warp] = self->clock;
        if (!p->held) read_operand(said->a, said->a_mn, warp * 16, 16, NULL, true, pc);
        read_operand(said->b, said->b_mn, 0, said->n, NULL, true, pc);
    }
    if (++p->arrived < GROUP) return;
    if (!p->held) read_operand(said->a, said->a_mn, 0, ROWS, p->a_raw, false, pc);
    read_operand(said->b, said->b_mn, 0, said->n, p->b_raw, false, pc);
    for (int t = index / GROUP * GROUP; t < index / GROUP * GROUP + GROUP; t++) {
        wm_simt_thread *other = &self->block->thread[t];
        if (other->state == WM_SIMT_WAITING && other->awaited == p) {
            other->awaited = NULL;
            wm_simt_wake(other, 0);
        }
    }
}

void wm_simt_wgmma(int a_type, int b_type, int n, int a_mn, int b_mn, void *sum, uint64_t a, uint64_t b, int keep) {
    said said = {a_type, b_type, n, a_mn, b_mn, a, b, NULL};
    issue(&said, sum, keep, __builtin_return_address(0));
}

void wm_simt_wgmma_held(int type, int n, void *sum, const uint32_t *words, uint64_t b, int keep) {
    said said = {type, type, n, 0, 0, 0, b, words};
    issue(&said, sum, keep, __builtin_return_address(0));
}

void wm_simt_wgmma_fence(void) {
    state_of(wm_simt_self)->fenced = true;
}

void wm_simt_wgmma_commit(void) {
    state_of(wm_simt_self)->committed++;
}

/* ---- Wait ---- */

/* The first thread to retire looks whether the operands are still what they were. */
static void decode_product(product *p, const void *pc) {
    static unsigned char again[MAX_N * STEP];
    if (p->decoded) return;
    p->decoded = true;
    if (!p->held) read_operand(p->a, p->a_mn, 0, ROWS, again, false, pc);
    bool same = p->held || memcmp(again, p->a_raw, sizeof p->a_raw) == 0;
    read_operand(p->b, p->b_mn, 0, p->n, again, false, pc);
    if (!same || memcmp(again, p->b_raw, (size_t)p->n * STEP) != 0)
        wm_simt_fault(pc, "operands of this wgmma were overwritten before it was waited for");
    decode(p->a_type, ROWS, p->a_raw, p->a_value);
    decode(p->b_type, p->n, p->b_raw, p->b_value);
}

static void add_integer(uint32_t *sum, const float *a, const float *b, int keep) {
    int64_t x = keep ? (int32_t)*sum : 0;
    for (int k = 0; k < STEP; k++) x += (int64_t)a[k] * (int64_t)b[k];
    *sum = (uint32_t)x;
}

static void add_float(uint32_t *sum, const float *a, const float *b, int steps, int keep) {
    float x = 0;
    double dot = 0;
    if (keep) memcpy(&x, sum, 4);
    for (int k = 0; k < steps; k++) dot += (double)a[k] * b[k];
    x = (float)(x + dot);
    memcpy(sum, &x, 4);
}

static void multiply(const wm_simt_thread *self, const product *p, uint32_t *sum, int keep) {
    int index = index_of(self), lane = index % WM_SIMT_WARP, warp = index / WM_SIMT_WARP % 4;
    int steps = STEP / element_bytes(p->a_type);
    bool integer = p->a_type == WM_SIMT_S8 || p->a_type == WM_SIMT_U8;
    for (int e = 0; e < p->n / 2; e++) {
        int row = 16 * warp + lane / 4 + 8 * (e / 2 % 2), column = 8 * (e / 4) + 2 * (lane % 4) + e % 2;
        const float *a = p->a_value + (ptrdiff_t)row * steps, *b = p->b_value + (ptrdiff_t)column * steps;
        if (integer)
            add_integer(&sum[e], a, b, keep);
        else
            add_float(&sum[e], a, b, steps, keep);
    }
}

static void drop_product(wm_simt_block *block, int group, product *p) {
    product **at = &block->products[group];
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    free(p);
}

static void give_back(struct wm_simt_wgmma *w, sums *s, const void *pc) {
    bool touched = false;
    for (int i = 0; i < s->count; i++) touched = touched || s->at[i] != UINT32_MAX;
    if (touched) wm_simt_fault(pc, "sums of this wgmma were written before it was waited for");
    memcpy(s->at, s->value, (size_t)s->count * 4);
    s->at = NULL;
    w->fenced = false;
}

static void retire(wm_simt_thread *self, struct wm_simt_wgmma *w, const pending *one, const void *pc) {
    product *p = one->product;
    if (p->arrived < GROUP) {
        self->awaited = p;
        wm_simt_wait("a wgmma that not all of its warpgroup have issued", pc);
    }
    int lane = index_of(self) % WM_SIMT_WARP, warp = index_of(self) / WM_SIMT_WARP % 4;
    wm_simt_clock_learn(self, self->index - lane, p->issued[warp]); /* whoever waits knows that its warp has read */
    decode_product(p, one->pc);
    multiply(self, p, one->sums->value, one->keep);
    if (--one->sums->users == 0) give_back(w, one->sums, one->pc);
    if (++p->retired == GROUP) drop_product(self->block, index_of(self) / GROUP, p);
}

void wm_simt_wgmma_wait(int groups) {
    wm_simt_thread *self = wm_simt_self;
    struct wm_simt_wgmma *w = state_of(self);
    const void *pc = __builtin_return_address(0);
    int done = 0;
    while (done < w->count && w->list[done].group < w->committed - groups) retire(self, w, &w->list[done++], pc);
    memmove(w->list, w->list + done, (size_t)(w->count - done) * sizeof *w->list);
    w->count -= done;
}

/* ---- Coming and going ---- */

void wm_simt_wgmma_begin(wm_simt_thread *thread) {
    thread->awaited = NULL;
    if (thread->wgmma) memset(thread->wgmma, 0, sizeof *thread->wgmma); /* of a launch that was given up, too */
}

void wm_simt_wgmma_end(wm_simt_thread *thread) {
    if (thread->wgmma && thread->wgmma->count)
        wm_simt_fault(thread->wgmma->list[0].pc, "ends with %d wgmma in flight that it never waited for",
                      thread->wgmma->count);
}

void wm_simt_products_drop(wm_simt_block *block) {
    for (int g = 0; g < WM_SIMT_MAX_BLOCK / GROUP; g++)
        while (block->products[g]) drop_product(block, g, block->products[g]);
}
