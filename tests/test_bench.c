/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark on real solvers of the CPU place, where the operands are too large to be compared whole: windows of
 * them must start on elements, whatever the size of the operand.
 */
#include "lib/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void all_right(wmContext *context, const char *text) {
    wm_problem problem;
    wm_bench_result got;
    int good = 0;
    const wm_bench_options options = {.budget_ms = 20000};
    assert_int_equal(wm_problem_parse(&problem, text, WM_PLACE_CPU), WM_OK);
    if (wm_bench(context, &problem, &options, &got) != WM_OK) fail_msg("%s: %s", text, wmLastError());
    for (int i = 0; i < got.count; i++) {
        if (got.rows[i].verdict == WM_WRONG || got.rows[i].verdict == WM_FAILED)
            fail_msg("%s, %s: %s", text, got.rows[i].solver->name, got.rows[i].why);
        good += got.rows[i].verdict == WM_GOOD || got.rows[i].verdict == WM_SLOW;
    }
    assert_true(good >= 2); /* the judge and somebody who rounds otherwise */
    free(got.rows);
}

/* 10.4 MB with an odd number of elements in all, and rows of 65 with a gap behind each. */
static void large_operands_of_odd_size(void **unused) {
    (void)unused;
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    options.wisdom_path = "";
    assert_int_equal(wmContextCreate(&context, &options), WM_OK);
    all_right(context, "fft c2c f32 64 loops=20001:65:65");
    wmContextDestroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_operands_of_odd_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
