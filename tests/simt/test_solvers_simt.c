/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over our own kernels on the device "emulated sm_90", under several orders of threads:
 * test_solvers_simt [solver [part of a problem string]]. WM_TEST_SEED replays a run; the seed is printed.
 */
#include "simt_gpu.h"
#include "simt_kernels.h"
#include "tests/walk/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ORDERS = 3, MOST_BYTES = 400000, SECONDS = 4 }; /* ascending, descending, shuffled */

static int nothing_left(wm_fake *fake) {
    wm_fake_counts live = wm_fake_live(fake);
    if (!live.allocations && !live.streams && !live.events && !live.graphs) return 0;
    printf("FAIL left behind: %d allocations, %d streams, %d events, %d graphs\n", live.allocations, live.streams,
           live.events, live.graphs);
    return 1;
}

static int walk_in_order(uint64_t order, const char *solver, const char *problem, uint64_t seed) {
    wm_fake *fake = wm_simt_gpu_new();
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    const wm_solver *kernels[WM_SIMT_KERNELS_MOST];
    int count = wm_simt_kernels(kernels), failures;
    options.wisdom_path = "";
    if (wm_context_create_with(&context, &options, wm_fake_gpu(fake), kernels, count, wm_clock_system()) != WM_OK) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    wm_simt_seed(order);
    failures = wm_walk(context, solver, problem, seed);
    wmContextDestroy(context);
    failures += nothing_left(fake);
    wm_fake_end(fake);
    if (wm_simt_fault_count()) printf("FAIL the emulation reports\n%s", wm_simt_faults());
    failures += wm_simt_fault_count();
    wm_simt_faults_clear();
    return failures;
}

int main(int argc, char **argv) {
    const char *text = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    int failures = 0;
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)seed);
    /* An emulated point of a transform takes 50 us; fft_small has the kernels of long ones in small. */
    if (argc <= 2) wm_walk_most_bytes = MOST_BYTES;
    if (argc == 1) wm_walk_seconds = SECONDS;
    for (uint64_t order = 0; order < ORDERS; order++)
        failures += walk_in_order(order < 2 ? order : seed, argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, seed);
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
