/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of three places, so that one program tests all: the CPU, the thread emulation (WM_TEST_SIMT) and a GPU (first
 * argument "gpu").
 */
#ifndef WM_TESTS_PLACE_H
#define WM_TESTS_PLACE_H

#include "lib/context_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#ifdef WM_TEST_SIMT
#include "simt_gpu.h"
#include "simt_kernels.h"
static wm_fake *place_fake;
#endif

static wmContext *place_context;
static int place_is_gpu; /* a real one */

/** Opens the place that main()'s arguments name and draws a seed; 1: it could not. */
static inline int place_open_at(int argc, char **argv, uint64_t *place_seed) {
    const char *seed = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    wmContextOptions options = wmContextOptionsDefault();
    *place_seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)*place_seed);
    options.wisdom_path = "";
    place_is_gpu = argc > 1 && strcmp(argv[1], "gpu") == 0;
    options.place = place_is_gpu ? WM_PLACE_GPU : WM_PLACE_CPU;
#ifdef WM_TEST_SIMT
    static const wm_solver *kernels[WM_SIMT_KERNELS_MOST];
    int count = wm_simt_kernels(kernels);
    options.place = WM_PLACE_GPU;
    place_fake = wm_simt_gpu_new();
    return wm_context_create_with(&place_context, &options, wm_fake_gpu(place_fake), kernels, count,
                                  wm_clock_system()) != WM_OK;
#else
    return wmContextCreate(&place_context, &options) != WM_OK;
#endif
}

/** Gives the number of faults that the emulation saw. */
static inline int place_close(void) {
    int faults = 0;
    wmContextDestroy(place_context);
#ifdef WM_TEST_SIMT
    wm_fake_end(place_fake);
    faults = wm_simt_fault_count();
    if (faults) printf("the emulation reports\n%s", wm_simt_faults());
#endif
    return faults;
}

static inline void *place_send(const void *from, size_t bytes) {
    void *at = NULL;
    assert_int_equal(wmAlloc(&at, place_context, bytes), WM_OK);
    assert_int_equal(wmCopy(place_context, at, from, bytes, NULL), WM_OK);
    return at;
}

#endif
