/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of random_cipher: thread i asks the device headers for element i, or for row i of vectors. Compiled at
 * plan time with the generator, the distribution, its family and its type as constants, so that one way through the
 * headers remains; the emulation reads them from the job.
 */
#ifndef WM_DEVICE_RANDOM_CIPHER_CUH
#define WM_DEVICE_RANDOM_CIPHER_CUH

#include "device/random_cipher.h"

#include <warpmath/device/base.cuh>

/* Threads, and blocks a multiprocessor: as many registers as gammas and Dirichlet take. */
enum { WM_CIPHER_THREADS = 128, WM_CIPHER_BLOCKS = 3 };

/** What the device headers have a function for each of. */
enum { WM_FAMILY_SIMPLE, WM_FAMILY_CONTINUOUS, WM_FAMILY_DISCRETE, WM_FAMILY_ROUND, WM_FAMILY_ROWS };

typedef struct wm_cipher_draw {
    unsigned char *out;
    wm_i64 count, columns, ld; /* columns: never 0 */
    wm_u64 offset;
    const wmRandomState *state; /* or NULL */
    int family;
    wmRandomArgs args; /* rows: length, table, mean; permutations: span */
    wm_element_job job;
} wm_cipher_draw;

/** With the table of a Poisson or binomial law. */
typedef struct wm_cipher_counts {
    wm_cipher_draw draw;
    wmCountTable table;
} wm_cipher_counts;

WM_DEVICE int wm_cipher_family(const wm_cipher_draw &p) {
#ifdef WM_CIPHER
    (void)p;
    return WM_CIPHER_FAMILY;
#else
    return p.family;
#endif
}

/** The job with its key, and the offset, from wherever they are. */
WM_DEVICE wm_element_job wm_cipher_job(const wm_cipher_draw &p, wm_u64 *offset) {
    wm_element_job job = p.job;
    *offset = p.offset;
#ifdef WM_CIPHER
    job.distribution = WM_CIPHER_DISTRIBUTION;
    job.type = WM_CIPHER_TYPE;
    job.element = WM_CIPHER_BYTES;
#endif
    if (!p.state) return job;
    job.key.seed = p.state->key.seed;
    job.key.substream = p.state->key.substream;
    *offset += p.state->offset;
    wm_cipher_name(&job, job.key.generator, p.args.span);
    return job;
}

WM_DEVICE unsigned char *wm_cipher_place(const wm_cipher_draw &p, wm_i64 i) {
    wm_i64 row = i < p.columns ? 0 : i / p.columns;
    return p.out + (row * p.ld + (i - row * p.columns)) * p.job.element;
}

/** Vectors, which lie within rows of the output. */
WM_DEVICE void wm_cipher_rows(const wm_cipher_draw &p, const wm_element_job &job, wm_u64 offset) {
    wm_i64 n = p.args.dimension, step = wm_grid_step() * n;
    for (wm_i64 i = wm_grid_first() * n; i < p.count; i += step)
        wm_random_row(&job, &p.args, offset + (wm_u64)i, 0, wm_cipher_place(p, i));
}

WM_DEVICE void wm_cipher_elements(const wm_cipher_draw &p, const wmCountTable *table) {
    wm_u64 offset;
    const wm_element_job job = wm_cipher_job(p, &offset);
    const int family = wm_cipher_family(p);
    if (family == WM_FAMILY_ROWS) {
        wm_cipher_rows(p, job, offset);
        return;
    }
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        wm_u64 element = offset + (wm_u64)i;
        if (job.distribution == WM_RANDOM_PERMUTATION && element >= p.args.span) element %= p.args.span;
        unsigned char *out = wm_cipher_place(p, i);
        if (family == WM_FAMILY_CONTINUOUS)
            wm_element_continuous(&job, element, out);
        else if (family == WM_FAMILY_DISCRETE)
            wm_element_discrete(&job, table, element, out);
        else if (family == WM_FAMILY_ROUND)
            wm_element_round(&job, element, (wm_u64)i, out);
        else
            wm_random_element(&job, element, out);
    }
}

#if defined(WM_SIMT) || (defined(WM_CIPHER) && !WM_CIPHER_COUNTS)
WM_KERNEL __launch_bounds__(WM_CIPHER_THREADS, WM_CIPHER_BLOCKS) wm_random_cipher_draw(WM_PARAMS(wm_cipher_draw)) {
    wm_cipher_elements(p, nullptr);
}
#endif
#if defined(WM_SIMT) || (defined(WM_CIPHER) && WM_CIPHER_COUNTS)
WM_KERNEL __launch_bounds__(WM_CIPHER_THREADS, WM_CIPHER_BLOCKS) wm_random_cipher_counts(WM_PARAMS(wm_cipher_counts)) {
    wm_cipher_elements(p.draw, &p.table);
}
#endif

#endif
