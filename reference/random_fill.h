/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers on the CPU: a pure function, and the instruction sets that it is compiled for. */
#ifndef WM_REFERENCE_RANDOM_FILL_H
#define WM_REFERENCE_RANDOM_FILL_H

#include <warpmath/random.h>

#include "device/random_source.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What to draw, without the range. */
typedef struct wm_random_job {
    int kind;    /* a wm_random_kind, or one of random_source.h */
    int element; /* bytes: 4 or 8 */
    wmRandomKey key;
    wm_random_line line;
    int source; /* of words: a wmGenerator or WM_SOURCE_CURAND */
} wm_random_job;

/** The source of a checked desc's words. */
int wm_random_source(const wmRandomDesc *desc);

/** The job of a checked desc and checked arguments; both places start from it. */
wm_random_job wm_random_job_make(const wmRandomDesc *desc, const wmRandomArgs *args);

/** Blocks [block, block + blocks) of the job's sequence to `out`, 16 bytes each; `out` is aligned to the element. */
typedef void (*wm_random_blocks)(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out);

void wm_random_blocks_base(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out);
void wm_random_blocks_sse42(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out);
void wm_random_blocks_avx2(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out);
void wm_random_blocks_avx512(const wm_random_job *job, uint64_t block, int64_t blocks, unsigned char *out);

enum { WM_RANDOM_BODIES = 4 };

/** The bodies that this CPU can run, the best one last; gives their number. `names` may be NULL. */
int wm_random_bodies(wm_random_blocks out[WM_RANDOM_BODIES], const char *names[WM_RANDOM_BODIES]);

/**
 * Elements offset … offset + count - 1 (modulo 2^64) of the job's sequence to out[0 … count - 1], by the given body.
 * Any offset, any count; `out` is aligned to the element.
 */
void wm_random_fill(const wm_random_job *job, wm_random_blocks body, uint64_t offset, int64_t count, void *out);

#ifdef __cplusplus
}
#endif

#endif
