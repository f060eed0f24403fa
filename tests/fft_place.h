/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms by the public calls at one of three places, so that one program tests all: the CPU, the thread emulation
 * (WM_TEST_SIMT) and a GPU (first argument "gpu"). Buffers are host memory that is sent and fetched around each run.
 */
#ifndef WM_TESTS_FFT_PLACE_H
#define WM_TESTS_FFT_PLACE_H

#include "fft_case.h"
#include "lib/context_internal.h"

#include <time.h>

#ifdef WM_TEST_SIMT
#include "simt_gpu.h"
#include "simt_kernels.h"
static wm_fake *place_fake;
#endif

static wmContext *place_context;
static int place_is_gpu;

/** Opens the place that main()'s arguments name; 1: it could not. */
static inline int place_open(int argc, char **argv) {
    const char *seed = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    wmContextOptions options = wmContextOptionsDefault();
    fft_seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)fft_seed);
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

static inline wmPlan *place_plan(const wmFftDesc *d) {
    wmPlan *plan = NULL;
    if (wmFftPlanCreate(&plan, place_context, d, NULL) != WM_OK) fail_msg("%s", wmLastError());
    return plan;
}

static inline void *place_send(const void *from, size_t bytes) {
    void *at = NULL;
    assert_int_equal(wmAlloc(&at, place_context, bytes), WM_OK);
    assert_int_equal(wmCopy(place_context, at, from, bytes, NULL), WM_OK);
    return at;
}

/** One execution on copies: `in` is not changed, `out` (in place: the input once more) is. */
static inline void place_run(const wmPlan *plan, const void *in, size_t in_bytes, void *out, size_t out_bytes,
                             int in_place, const void *load_user, const void *store_user) {
    void *to = place_send(in_place ? in : out, in_place ? in_bytes : out_bytes);
    void *from = in_place ? to : place_send(in, in_bytes);
    wmFftArgs args = wmFftArgsDefault(from, to);
    args.load_user = load_user;
    args.store_user = store_user;
    if (wmFftExecute(plan, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
    assert_int_equal(wmCopy(place_context, out, to, out_bytes, NULL), WM_OK);
    assert_int_equal(wmSynchronize(place_context, NULL), WM_OK);
    wmFree(place_context, to);
    if (!in_place) wmFree(place_context, from);
}

#endif
