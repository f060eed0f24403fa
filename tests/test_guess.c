/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing by what was learnt from recorded times: for which devices and solvers, and what becomes of the others. */
#include "lib/context_internal.h"
#include "lib/planner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static const wm_solver vendor = {.name = "cublaslt", .op = WM_MATMUL, .origin = WM_VENDOR};
static const wm_solver naive = {.name = "matmul_naive", .op = WM_MATMUL};
static const wm_solver stranger = {.name = "matmul_of_tomorrow", .op = WM_MATMUL};

enum { VARIANTS = 4, NAIVE = VARIANTS, STRANGER, COUNT };

/* Four of the vendor's algorithms, the naive kernel, and a solver that no recorded row names. */
static void set_up(wm_candidate *c, wm_found *found, wm_problem *problem) {
    static const int knobs[VARIANTS][5] = {
        {23, 17, 12, 1, 0},
        {23, 19, 10, 1, 0},
        {66, 18, 35, 1, 0},
        {66, 15, 35, 4, 2}
    };
    const char *text = "matmul bf16 1024x4096x1024 tb=t";
    assert_int_equal(wm_problem_parse(problem, text, WM_PLACE_GPU), WM_OK);
    memset(c, 0, COUNT * sizeof *c);
    for (int i = 0; i < VARIANTS; i++) {
        c[i].solver = &vendor;
        c[i].offer.seconds = 20e-6 * (1 + 0.03 * i);
        memcpy(c[i].offer.knob, knobs[i], sizeof knobs[i]);
    }
    c[NAIVE] = (wm_candidate){.solver = &naive, .offer.seconds = 2e-3};
    c[STRANGER] = (wm_candidate){.solver = &stranger, .offer.seconds = 1e-3};
    *found = (wm_found){.candidate = c, .count = COUNT};
}

static wmContext *context_of(const char *device) {
    static wmContext context;
    static wm_gpu gpu;
    memset(&context, 0, sizeof context);
    context.gpu = &gpu;
    snprintf(context.device.name, sizeof context.device.name, "%s", device);
    return &context;
}

static void the_least_behind_is_taken(void **unused) {
    (void)unused;
    wm_candidate c[COUNT];
    wm_found found;
    wm_problem problem;
    set_up(c, &found, &problem);
    wm_guess(context_of("NVIDIA H200"), &problem, &found);
    int best = wm_best_estimate(&found);
    for (int i = 0; i < COUNT; i++) assert_int_equal(c[i].learned, i != STRANGER);
    assert_true(best >= 0 && best < VARIANTS);
    for (int i = 0; i < VARIANTS; i++) assert_true(c[best].behind <= c[i].behind);
    assert_true(c[NAIVE].behind > c[best].behind + 0.3); /* every such row has it far behind */
    /* One that fails is passed over, but for the question what planning takes first. */
    c[best].verdict = WM_FAILED;
    assert_int_not_equal(wm_best_estimate(&found), best);
    assert_int_equal(wm_least_estimate(&found), best);
}

static void others_go_by_their_estimates(void **unused) {
    (void)unused;
    wm_candidate c[COUNT];
    wm_found found;
    wm_problem problem;
    set_up(c, &found, &problem);
    c[STRANGER].offer.seconds = 1e-6;
    wm_guess(context_of("NVIDIA H200"), &problem, &found);
    assert_int_equal(wm_best_estimate(&found), STRANGER);
    /* Another device: nothing is known of any. */
    set_up(c, &found, &problem);
    wm_guess(context_of("NVIDIA A100"), &problem, &found);
    for (int i = 0; i < COUNT; i++) assert_int_equal(c[i].learned, 0);
    assert_int_equal(wm_best_estimate(&found), 0);
    /* No device: the CPU place. */
    wmContext *context = context_of("NVIDIA H200");
    context->gpu = NULL;
    wm_guess(context, &problem, &found);
    for (int i = 0; i < COUNT; i++) assert_int_equal(c[i].learned, 0);
}

/* Printed, not asserted: the machine may be busy. */
static void what_it_takes(void **unused) {
    (void)unused;
    enum { TIMES = 2000 };
    wm_candidate c[COUNT];
    wm_found found;
    wm_problem problem;
    struct timespec from, to;
    set_up(c, &found, &problem);
    wmContext *context = context_of("NVIDIA H200");
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < TIMES; i++) wm_guess(context, &problem, &found);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    printf("%.2f us for %d candidates\n", 1e6 * seconds / TIMES, COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_behind_is_taken),
        cmocka_unit_test(others_go_by_their_estimates),
        cmocka_unit_test(what_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
