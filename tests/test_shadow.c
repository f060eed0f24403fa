/* SPDX-License-Identifier: Apache-2.0 */
/* WARPMATH_SHADOW finds a wrong kernel and leaves right ones in peace; WARPMATH_NVTX puts ranges around executions. */
#include "engine_lab.h"

#include <dlfcn.h>
#include <stdio.h>

static int warnings;
static char last[1024];

static void count_lines(void *user, wmLogLevel level, const char *line) {
    (void)user;
    if (level != WM_LOG_WARNING) return;
    warnings++;
    snprintf(last, sizeof last, "%s", line);
}

static void open_shadowed(wmPlace place, const char *shadow) {
    assert_int_equal(setenv("WARPMATH_SHADOW", shadow, 1), 0); // NOLINT(concurrency-mt-unsafe)
    wmContextOptions options = wmContextOptionsDefault();
    options.log = count_lines;
    lab_open(place, &options);
    assert_int_equal(unsetenv("WARPMATH_SHADOW"), 0); // NOLINT(concurrency-mt-unsafe)
    lab_now.config[LAB_OURS].estimate = 1e-9;         /* what plans take */
    lab_now.config[LAB_VENDOR].workspace = 300;
    warnings = 0;
}

static void right_ones_agree(void **unused) {
    (void)unused;
    static const char *const shadows[] = {"vendor", "reference", "labvendor", "lab_judge"};
    for (wmPlace place = WM_PLACE_GPU; place <= WM_PLACE_CPU; place++) {
        for (int i = 0; i < 4; i++) {
            open_shadowed(place, shadows[i]);
            wmPlan *plan = lab_plan(NULL, NULL);
            assert_string_equal(wmPlanSolver(plan), "lab_ours");
            for (int run = 0; run < 3; run++) assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
            char *text = lab_explain(plan, WM_TEXT);
            assert_non_null(strstr(text, i % 2 ? "lab_judge: 3 executions compared, 0 differed"
                                               : "labvendor: 3 executions compared, 0 differed"));
            free(text);
            assert_int_equal(warnings, 0);
            wmPlanDestroy(plan);
            if (place == WM_PLACE_GPU) wm_faults_clear(); /* the copy of a result that nobody has written yet */
            lab_close();
        }
    }
}

/* The second solver is the wrong one here, so that the lab's own check passes: the log names both. */
static void a_wrong_one_is_named(void **unused) {
    (void)unused;
    for (wmPlace place = WM_PLACE_GPU; place <= WM_PLACE_CPU; place++) {
        open_shadowed(place, "vendor");
        wmPlan *plan = lab_plan("matmul f32 2x2x2", NULL);
        lab_now.config[LAB_VENDOR].defect = LAB_MISSING_TAIL;
        assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
        assert_int_equal(warnings, 1);
        assert_non_null(strstr(last, "lab_ours and labvendor differ in \"matmul f32 2x2x2\": element 3"));
        char *text = lab_explain(plan, WM_TEXT);
        assert_non_null(strstr(text, "1 executions compared, 1 differed"));
        free(text);
        wmPlanDestroy(plan);
        if (place == WM_PLACE_GPU) wm_faults_clear();
        lab_close();
    }
}

static void nobody_beside(void **unused) {
    (void)unused;
    open_shadowed(WM_PLACE_CPU, "nobody");
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last, "nobody runs beside lab_ours"));
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    wmPlanDestroy(plan);
    lab_close();
    open_shadowed(WM_PLACE_CPU, "vendor");
    lab_now.config[LAB_VENDOR].defect = LAB_MAKE_FAILS;
    plan = lab_plan(NULL, NULL);
    assert_non_null(strstr(last, "could not be made"));
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    wmPlanDestroy(plan);
    lab_close();
    open_shadowed(WM_PLACE_CPU, "vendor");
    plan = lab_plan(NULL, NULL);
    lab_now.config[LAB_VENDOR].defect = LAB_RUN_FAILS;
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK); /* the caller's own execution is not harmed */
    assert_non_null(strstr(last, "not compared"));
    wmPlanDestroy(plan);
    lab_close();
}

static void ranges_for_profilers(void **unused) {
    (void)unused;
    assert_int_equal(setenv("WARPMATH_NVTX", WM_NVTX_FAKE, 1), 0); // NOLINT(concurrency-mt-unsafe)
    lab_open(WM_PLACE_CPU, NULL);
    assert_int_equal(unsetenv("WARPMATH_NVTX"), 0); // NOLINT(concurrency-mt-unsafe)
    void *library = dlopen(WM_NVTX_FAKE, RTLD_NOW);
    assert_non_null(library);
    const int *open = (const int *)dlsym(library, "nvtx_fake_open"),
              *pushed = (const int *)dlsym(library, "nvtx_fake_pushed");
    wmPlan *plan = lab_plan(NULL, NULL);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    assert_int_equal(*pushed, 1);
    assert_int_equal(*open, 0);
    assert_string_equal((const char *)dlsym(library, "nvtx_fake_name"), wmPlanProblem(plan));
    wmPlanDestroy(plan);
    lab_close();
    lab_open(WM_PLACE_CPU, NULL); /* asked for no more */
    plan = lab_plan(NULL, NULL);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    assert_int_equal(*pushed, 1);
    wmPlanDestroy(plan);
    lab_close();
    dlclose(library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_ones_agree),
        cmocka_unit_test(a_wrong_one_is_named),
        cmocka_unit_test(nobody_beside),
        cmocka_unit_test(ranges_for_profilers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
