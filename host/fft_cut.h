/* SPDX-License-Identifier: Apache-2.0 */
/* How a transform is cut for the kernel of device/fft_block.cuh: form, core, factors, threads; and its tables. */
#ifndef WM_HOST_FFT_CUT_H
#define WM_HOST_FFT_CUT_H

#include "device/fft_block.h"
#include "lib/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WM_FFT_MOST_CUTS = 4, WM_FFT_MOST_RADIX = 32 };

/** Factors and launch shape of one variant, as knobs: radix i is 5 bits (radix - 1) of `radices`, the first lowest. */
typedef struct wm_fft_knobs {
    int radices, threads, batch, blocks, persist;
    double cost; /* issue slots a point, the smaller the better */
} wm_fft_knobs;

/** The variants for a problem of rank 1 on a device with so much shared memory a block, best first; 0 with a reason. */
int wm_fft_cut_variants(const wmFftDesc *d, int64_t shared_bytes, wm_fft_knobs out[WM_FFT_MOST_CUTS], wm_why *why);

/** The whole cut of a variant. */
void wm_fft_cut_make(const wmFftDesc *d, const wm_fft_knobs *knobs, wm_fft_cut *c);

size_t wm_fft_cut_shared(const wm_fft_cut *c);

/** Strides, loops, sign and scale; pointers are NULL. */
void wm_fft_cut_job(const wmFftDesc *d, const wm_fft_cut *cut, wm_fft_block_job *job);

/** The tables as one block of bytes to be freed, and where each begins (SIZE_MAX: there is none). */
typedef struct wm_fft_tables {
    void *data;
    size_t bytes, twiddles, spectrum, chirp, order, half;
} wm_fft_tables;
wmStatus wm_fft_cut_tables(const wm_fft_cut *c, wm_fft_tables *t);

/** What is compiled for the cut. */
void wm_fft_cut_source(const wm_fft_cut *cut, char *out, size_t room);

/** The same for a kernel in another embedded header. */
void wm_fft_cut_source_of(const wm_fft_cut *cut, const char *header, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
