/* SPDX-License-Identifier: Apache-2.0 */
/* The twiddles of an exchange between the blocks of a cluster, made at plan time for fft_cluster and fft_lines. */
#ifndef WM_DEVICE_FFT_CLUSTER_TABLE_H
#define WM_DEVICE_FFT_CLUSTER_TABLE_H

#include "lib/context.h"
#include "reference/fft_roots.h"

#include <stdlib.h>

/** For a transform of a · b points by `points` a thread: k1 = t + a / points e. */
typedef struct wm_fft_cluster_table {
    void *memory; /* on the device; drop takes NULL */
    size_t bytes;
    const void *base, *step; /* exp(-2 pi i t j2 / ab) at [t][j2], and the same for the part of e at [e][j2] */
} wm_fft_cluster_table;

static inline void wm_fft_cluster_table_put(void *table, int f64, int at, wm_root root) {
    if (f64) {
        double *to = (double *)table + 2 * at;
        to[0] = (double)root.re, to[1] = (double)root.im;
    } else {
        float *to = (float *)table + 2 * at;
        to[0] = (float)root.re, to[1] = (float)root.im;
    }
}

static inline wmStatus wm_fft_cluster_table_make(wmContext *context, int f64, int a, int b, int points,
                                                 wm_fft_cluster_table *out) {
    int threads = a / points, rows = threads + points, element = f64 ? 16 : 8;
    wm_roots roots;
    out->bytes = (size_t)rows * (size_t)b * (size_t)element;
    void *table = malloc(out->bytes);
    if (!table || wm_roots_make(&roots, (int64_t)a * b)) {
        free(table);
        return wm_fail(WM_ERR_MEMORY, "out of memory for the twiddles of a plan");
    }
    for (int row = 0; row < rows; row++)
        for (int j = 0; j < b; j++) {
            int k = row < threads ? row : (row - threads) * threads;
            wm_fft_cluster_table_put(table, f64, row * b + j, wm_roots_get(&roots, (int64_t)k * j));
        }
    wm_roots_drop(&roots);
    wmStatus status = wm_context_upload(context, &out->memory, table, out->bytes);
    free(table);
    out->base = out->memory;
    out->step = (const char *)out->memory + (size_t)threads * (size_t)b * (size_t)element;
    return status;
}

static inline void wm_fft_cluster_table_drop(wmContext *context, wm_fft_cluster_table *table) {
    wm_context_free(context, table->memory, table->bytes);
}

#endif
