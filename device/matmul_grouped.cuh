/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped batches on the device: sizes and places are read when the product runs. A first kernel of one block adds up
 * how many tiles the groups have; in the product a block takes tiles of the whole row of them and looks up whose each
 * is. So a launch does not depend on the sizes, and one captured graph serves them all.
 */
#ifndef WM_DEVICE_MATMUL_GROUPED_CUH
#define WM_DEVICE_MATMUL_GROUPED_CUH

#include "device/matmul_job.h"

#include <warpmath/device/reduce.cuh>

enum { WM_GROUPS_THREADS = 256 };

typedef struct wm_groups {
    const wmMatmulGroup *list; /* NULL: all have the most of m, n and k, and arrays of pointers say where */
    const void *a, *b, *c, *d; /* of the arguments */
    int a_bytes, b_bytes, c_bytes, d_bytes; /* of an element */
    wm_i64 count, m, n, k;
    int tile_m, tile_n; /* along m and n of the problem */
    int swapped;        /* the kernel's D is the transposed one: its rows are the problem's columns */
    wm_i64 *first;      /* [count + 1]: tiles of the groups before */
} wm_groups;

/** A group as the kernel sees it: A's rows along D's rows. */
typedef struct wm_group {
    wm_i64 rows, columns, k;
    const void *a, *b, *c;
    void *d;
} wm_group;

WM_DEVICE wm_i64 wm_groups_cut(wm_i64 x, wm_i64 most) {
    return x < 0 ? 0 : wm_min(x, most);
}

WM_DEVICE wm_i64 wm_groups_tiles(const wm_groups &x, wm_i64 g) {
    wm_i64 m = x.list ? wm_groups_cut(x.list[g].m, x.m) : x.m, n = x.list ? wm_groups_cut(x.list[g].n, x.n) : x.n;
    return ((m + x.tile_m - 1) / x.tile_m) * ((n + x.tile_n - 1) / x.tile_n);
}

WM_DEVICE const void *wm_groups_at(const void *base, wm_i64 elements, int bytes) {
    return static_cast<const char *>(base) + elements * bytes;
}

/** The addresses of group g, or of pointer g. */
WM_DEVICE wm_group wm_groups_get(const wm_groups &x, wm_i64 g) {
    wm_group r;
    wm_i64 m = x.m, n = x.n;
    r.k = x.k;
    if (x.list) {
        wmMatmulGroup it = x.list[g];
        m = wm_groups_cut(it.m, x.m), n = wm_groups_cut(it.n, x.n), r.k = wm_groups_cut(it.k, x.k);
        r.a = wm_groups_at(x.a, it.a, x.a_bytes), r.b = wm_groups_at(x.b, it.b, x.b_bytes);
        r.c = wm_groups_at(x.c, x.c == x.d ? it.d : it.c, x.c_bytes);
        r.d = const_cast<void *>(wm_groups_at(x.d, it.d, x.d_bytes));
    } else {
        r.a = static_cast<const void *const *>(x.a)[g], r.b = static_cast<const void *const *>(x.b)[g];
        r.c = x.c ? static_cast<const void *const *>(x.c)[g] : nullptr;
        r.d = static_cast<void *const *>(x.d)[g];
    }
    r.rows = x.swapped ? n : m, r.columns = x.swapped ? m : n;
    if (!x.swapped) return r;
    const void *a = r.a;
    r.a = r.b, r.b = a;
    return r;
}

/** The group that tile `unit` belongs to. */
WM_DEVICE wm_i64 wm_groups_find(const wm_groups &x, wm_i64 unit) {
    wm_i64 low = 0, high = x.count; /* first[low] ≤ unit < first[high] */
    while (high - low > 1) {
        wm_i64 middle = (low + high) / 2;
        if (x.first[middle] <= unit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/** Fills in first[], by one block; `room`: wmReduceSmem(WM_GROUPS_THREADS) bytes. */
WM_DEVICE void wm_groups_count(const wm_groups &x, void *room) {
    wm_i64 before = 0;
    for (wm_i64 base = 0; base < x.count; base += WM_GROUPS_THREADS) {
        wm_i64 g = base + wm_thread(), mine = g < x.count ? wm_groups_tiles(x, g) : 0, total = 0;
        wm_i64 sum = wmScanBlock<WM_GROUPS_THREADS>(mine, room, &total);
        if (g < x.count) x.first[g] = before + sum - mine;
        before += total;
        wm_barrier();
    }
    if (wm_thread() == 0) x.first[x.count] = before;
}

/* ---- Host side ---- */

/** All but the tiles, the workspace and `swapped`. */
static inline wm_groups wm_groups_of(const wmMatmulDesc *d, const wmMatmulArgs *args) {
    wm_groups x = {};
    x.list = d->batch_mode == WM_BATCH_GROUPED ? args->groups : NULL;
    x.a = args->a, x.b = args->b, x.c = args->c ? args->c : args->d, x.d = args->d;
    x.a_bytes = (int)wmTypeSize(d->a.type), x.b_bytes = (int)wmTypeSize(d->b.type);
    x.c_bytes = (int)wmTypeSize(d->c.type), x.d_bytes = (int)wmTypeSize(d->d.type);
    x.count = d->batch;
    x.m = d->m, x.n = d->n, x.k = d->k;
    return x;
}

/** Bytes of first[]. */
static inline size_t wm_groups_bytes(const wmMatmulDesc *d) {
    return ((size_t)(d->batch + 1) * sizeof(wm_i64) + 255) / 256 * 256;
}

/** Tiles of the groups that are expected; k: the mean of k over them. */
static inline double wm_groups_expected(const wmMatmulDesc *d, int tile_m, int tile_n, double *k) {
    int64_t some = d->batch < 1024 ? d->batch : 1024;
    double tiles = 0, deep = 0;
    for (int64_t g = 0; g < some; g++) {
        wmMatmulGroup it = {d->m, d->n, d->k, 0, 0, 0, 0};
        if (d->batch_mode == WM_BATCH_GROUPED) wm_matmul_group_example(d, g, &it);
        double mine = (double)((it.m + tile_m - 1) / tile_m) * (double)((it.n + tile_n - 1) / tile_n);
        tiles += mine, deep += mine * (double)it.k;
    }
    *k = tiles > 0 ? deep / tiles : 0.0;
    return some > 0 ? tiles * ((double)d->batch / (double)some) : 0.0;
}

#endif
