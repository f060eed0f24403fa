/* SPDX-License-Identifier: Apache-2.0 */
/* The chip's clock before and after a measurement, by a library that stands for NVML. */
#include "engine_lab.h"
#include "lib/chip.h"

#include <stdio.h>

extern int nvml_fake_mhz[4], nvml_fake_asked, nvml_fake_fails;

/* A measurement asks three times: the first answer is not used. */
static void open_lab(const char *bus, int before, int after) {
    lab_open(WM_PLACE_GPU, NULL);
    snprintf(lab_now.context->bus, sizeof lab_now.context->bus, "%s", bus);
    nvml_fake_asked = nvml_fake_fails = 0;
    nvml_fake_mhz[0] = 345;
    nvml_fake_mhz[1] = before;
    nvml_fake_mhz[2] = after;
}

/* Whether a plan by measurement notes a moved clock. */
static int is_noted(const char *words) {
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = WM_MEASURE;
    wmPlan *plan = lab_plan(NULL, &options);
    char *text = lab_explain(plan, WM_TEXT);
    int noted = strstr(text, words) != NULL;
    assert_non_null(strstr(text, "chosen by measurement"));
    free(text);
    wmPlanDestroy(plan);
    lab_close();
    return noted;
}

static void noted_where_it_moved(void **unused) {
    (void)unused;
    open_lab("0000:3b:00.0", 1980, 1700);
    assert_true(is_noted("the chip's clock went from 1980 to 1700 MHz meanwhile"));
    assert_int_equal(nvml_fake_asked, 3);
    open_lab("0000:3b:00.0", 1980, 1965);
    assert_false(is_noted("the chip's clock"));
}

static void unknown_is_no_move(void **unused) {
    (void)unused;
    open_lab("", 1980, 1000);
    assert_false(is_noted("the chip's clock"));
    assert_int_equal(nvml_fake_asked, 0);
    open_lab("0000:af:00.0", 1980, 1000);
    assert_false(is_noted("the chip's clock"));
    open_lab("0000:3b:00.0", 1980, 1000);
    nvml_fake_fails = 1;
    assert_false(is_noted("the chip's clock"));
}

static void bench_tells_both(void **unused) {
    (void)unused;
    wm_bench_result result;
    open_lab("0000:3b:00.0", 1980, 1950);
    wm_problem problem = lab_problem(NULL);
    assert_int_equal(wm_bench(lab_now.context, &problem, NULL, &result), WM_OK);
    assert_int_equal(result.mhz[0], 1980);
    assert_int_equal(result.mhz[1], 1950);
    free(result.rows);
    lab_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noted_where_it_moved),
        cmocka_unit_test(unknown_is_no_move),
        cmocka_unit_test(bench_tells_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
