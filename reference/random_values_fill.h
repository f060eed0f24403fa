/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of any distribution on the CPU: what to draw, and the instruction sets that the loop is compiled for. */
#ifndef WM_REFERENCE_RANDOM_VALUES_FILL_H
#define WM_REFERENCE_RANDOM_VALUES_FILL_H

#include "random_element_job.h"
#include "random_values_job.h"

typedef struct wm_values_task {
    wm_value_job value;
    wm_element_job element;
    wmCountTable table;
    const wmRandomArgs *args;
    int chunked;
    uint64_t offset;
    int64_t columns, ld; /* columns: never 0 */
    unsigned char *out;
} wm_values_task;

/** Elements [from, to) of the draw, or vectors [from, to): what wm_parallel_for calls with a wm_values_task. */
typedef struct wm_values_body {
    void (*elements)(void *task, int64_t from, int64_t to, int thread);
    void (*vectors)(void *task, int64_t from, int64_t to, int thread);
} wm_values_body;

extern const wm_values_body wm_values_body_base, wm_values_body_avx2;

/** The same for keys that know their generator (device/random_cipher.h), and what names it in a task made as ever. */
extern const wm_values_body wm_cipher_body_base, wm_cipher_body_avx2;
void wm_cipher_task(wm_values_task *task, int generator);

#endif
