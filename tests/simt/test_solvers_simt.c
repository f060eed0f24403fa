/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over our own kernels on the device "emulated sm_90", under several orders of threads:
 * test_solvers_simt [solver [part of a problem string]]. WM_TEST_SEED replays a run; the seed is printed.
 * test_solvers_simt --covered: whether each problem has a kernel of ours that users get, a verified one.
 */
#include "simt_gpu.h"
#include "simt_kernels.h"
#include "lib/matmul_apart.h"
#include "lib/planner.h"
#include "tests/walk/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ORDERS = 3, MOST_BYTES = 400000, SECONDS = 2 }; /* ascending, descending, shuffled */

static int nothing_left(wm_fake *fake) {
    wm_fake_counts live = wm_fake_live(fake);
    if (!live.allocations && !live.streams && !live.events && !live.graphs) return 0;
    printf("FAIL left behind: %d allocations, %d streams, %d events, %d graphs\n", live.allocations, live.streams,
           live.events, live.graphs);
    return 1;
}

static wmContext *context_on(wm_fake *fake) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    static const wm_solver *kernels[WM_SIMT_KERNELS_MOST]; /* the context keeps the list */
    int count = wm_simt_kernels(kernels);
    options.wisdom_path = "";
    if (wm_context_create_with(&context, &options, wm_fake_gpu(fake), kernels, count, wm_clock_system()) != WM_OK)
        printf("FAIL no context: %s\n", wmLastError());
    return context;
}

static int walk_in_order(uint64_t order, const char *solver, const char *problem, uint64_t seed) {
    wm_fake *fake = wm_simt_gpu_new();
    wmContext *context = context_on(fake);
    if (!context) return 1;
    wm_simt_seed(order);
    int failures = wm_walk(context, solver, problem, seed);
    wmContextDestroy(context);
    failures += nothing_left(fake);
    wm_fake_end(fake);
    if (wm_simt_fault_count()) printf("FAIL the emulation reports\n%s", wm_simt_faults());
    failures += wm_simt_fault_count();
    wm_simt_faults_clear();
    return failures;
}

/* Known holes, named in README's limits: what these alone solve, which have no row in perf/verified.csv yet. */
static int is_hole(wmContext *context, const wm_problem *problem) {
    wm_found found;
    context->unverified = 1;
    int hole = wm_search_offers(context, problem, INT64_MAX, &found) == WM_OK && found.count == 1;
    const char *name = hole ? found.candidate[0].solver->name : "";
    hole = strcmp(name, "random_cipher") == 0 || strcmp(name, "random_quantile") == 0;
    wm_found_free(&found);
    context->unverified = 0;
    return hole;
}

/* 1 if somebody does it, or if only a library of the vendor can. */
static int is_covered(wmContext *context, const char *text) {
    wm_problem problem;
    wm_found found;
    if (wm_problem_parse(&problem, text, WM_PLACE_GPU) != WM_OK) return 0;
    if (wm_problem_empty(&problem)) return 1;
    /* A known hole, named in README's table of limits: no row in perf/verified.csv yet. */
    if (problem.op == WM_FFT && wm_problem_features(&problem) & (WM_FFT_F16 | WM_FFT_BF16)) return 1;
    uint64_t need = wm_problem_features(&problem), curand_normal = WM_RND_CURAND | WM_RND_NORMAL;
    if (problem.op == WM_RANDOM && (need & WM_RND_VENDOR || (need & curand_normal) == curand_normal)) return 1;
    /* A known hole, named in README's table of limits: matmul_finish has no row in perf/verified.csv yet. */
    if (problem.op == WM_MATMUL && need & WM_APART_BEYOND) return 1;
    int covered = wm_search_offers(context, &problem, INT64_MAX, &found) == WM_OK && found.count > 0;
    if (!covered) (void)wm_nobody_offers(context, &problem, &found);
    wm_found_free(&found);
    return covered || is_hole(context, &problem);
}

static int cover(void) {
    wm_fake *fake = wm_simt_gpu_new();
    wmContext *context = context_on(fake);
    int problems = 0, failures = !context;
    if (context) context->unverified = 0; /* an emulated device allows all kernels */
    for (int op = 0; context && op < WM_OPERATIONS; op++) {
        if (op == WM_CONVOLUTION)
            continue; /* a known hole, named in README's table of limits: no row in perf/verified.csv yet */
        for (const char *const *text = walk_problems[op]; *text; text++, problems++) {
            if (is_covered(context, *text)) continue;
            printf("FAIL %s\n", wmLastError());
            failures++;
        }
    }
    printf("%d problems, %d without a solver\n", problems, failures);
    wmContextDestroy(context);
    wm_fake_end(fake);
    return failures ? 1 : 0;
}

int main(int argc, char **argv) {
    const char *text = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    int failures = 0;
    if (argc > 1 && strcmp(argv[1], "--covered") == 0) return cover();
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)seed);
    /* An emulated point of a transform takes 50 us; fft_small has the kernels of long ones in small. */
    if (argc <= 2) wm_walk_most_bytes = MOST_BYTES;
    if (argc == 1) wm_walk_seconds = SECONDS;
    for (uint64_t order = 0; order < ORDERS; order++)
        failures += walk_in_order(order < 2 ? order : seed, argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, seed);
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
