/* SPDX-License-Identifier: Apache-2.0 */
/* What the emulation's tests share: device memory with known content, and launches under several seeds. */
#ifndef WM_TESTS_SIMT_TEST_H
#define WM_TESTS_SIMT_TEST_H

#include "simt.h"
#include "tests/fake_memory.h"
#include "toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Seeds that tests run under: ascending, descending, shuffled. */
enum { SEEDS = 6 };

/* A device copy of host data. */
static inline void *to_device(const void *from, size_t bytes) {
    void *p = wm_area_new(bytes);
    assert_non_null(p);
    memcpy(p, from, bytes);
    wm_area_mark(p, NULL, bytes);
    return p;
}

/* Launches kernel(params) on `grid` blocks of `block` threads, clusters of `cluster` blocks if that is not 0. */
static inline int launch(void (*kernel)(const void *), unsigned grid, unsigned cluster, unsigned block, size_t shared,
                         const void *params, size_t params_bytes) {
    wm_launch l = {
        .kernel = (const void *)(uintptr_t)kernel, .grid = {grid,  1, 1},
               .block = {block, 1, 1}
    };
    if (cluster) l.cluster = (wm_dim3){cluster, 1, 1};
    l.shared = shared;
    l.params = params;
    l.params_bytes = params_bytes;
    return wm_simt_launch(&l);
}

int test_faults(void);
int test_async(void);
int test_device(void);

#endif
