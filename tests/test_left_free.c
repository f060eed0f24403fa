/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that leave multiprocessors free, and the priority of the stream that is measured on. */
#include "engine_lab.h"

#include <stdio.h>
#include <unistd.h>

enum { ALL = 132, FREE = 20 };

/* What the solver that can leave some free saw of the device. */
static int seen_in_offer, seen_in_run;
static const wm_solver *ours;

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    seen_in_offer = wm_context_device(context)->multiprocessors;
    return ours->offer(context, problem, out, capacity, why);
}

static wmStatus run(const wm_run *run) {
    seen_in_run = wm_context_device(run->context)->multiprocessors;
    return ours->run(run);
}

/* The laboratory with such a solver behind its own three, estimated as slow as they are. */
static void open_lab(int able) {
    static wm_solver persistent;
    static const wm_solver *rows[8];
    int count = 0;
    lab_open(WM_PLACE_GPU, NULL);
    const wm_solver *const *all = lab_solvers(WM_PLACE_GPU, &count);
    for (int i = 0; i < count; i++) rows[i] = all[i];
    ours = all[count - 1];
    persistent = *ours;
    persistent.name = "lab_persistent";
    persistent.offer = offer;
    persistent.run = run;
    rows[count] = &persistent;
    lab_now.context->solvers = rows;
    lab_now.context->solver_count = count + able;
    lab_now.config[LAB_OURS].estimate = 2e-3;
    lab_now.config[LAB_OURS].seconds = 2e-3;
}

static wmStatus plan_with(wmPlan **plan, wmEffort effort, int left_free) {
    wm_problem problem = lab_problem(NULL);
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = effort;
    options.left_free = left_free;
    return wm_plan_create(plan, lab_now.context, &problem, &options);
}

static void only_those_that_can(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    open_lab(1);
    assert_int_equal(plan_with(&plan, WM_ESTIMATE, 0), WM_OK);
    assert_string_not_equal(wmPlanSolver(plan), "lab_persistent");
    uint64_t whole = wmPlanBitsId(plan);
    wmPlanDestroy(plan);
    assert_int_equal(seen_in_offer, ALL);
    assert_int_equal(plan_with(&plan, WM_ESTIMATE, FREE), WM_OK);
    assert_string_equal(wmPlanSolver(plan), "lab_persistent");
    assert_int_equal(seen_in_offer, ALL - FREE);
    assert_true(wmPlanBitsId(plan) != whole);
    assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
    assert_int_equal(seen_in_run, ALL - FREE);
    assert_int_equal(wm_context_device(lab_now.context)->multiprocessors, ALL);
    char *text = lab_explain(plan, WM_TEXT), *json = lab_explain(plan, WM_JSON);
    assert_non_null(strstr(text, "the room of 20 multiprocessors"));
    assert_non_null(strstr(text, "labvendor            it fills the device: 20 multiprocessors cannot be left free"));
    assert_non_null(strstr(json, "\"left_free\": 20"));
    lab_check_json(json);
    free(text);
    free(json);
    wmPlanDestroy(plan);
    lab_close();
}

static void nobody_can(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    open_lab(0);
    for (int effort = WM_ESTIMATE; effort <= WM_MEASURE; effort++) {
        assert_int_equal(plan_with(&plan, (wmEffort)effort, FREE), WM_ERR_UNSUPPORTED);
        lab_said("it fills the device: 20 multiprocessors cannot be left free");
        assert_null(plan);
    }
    lab_close();
}

static void numbers_that_are_none(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    open_lab(1);
    assert_int_equal(plan_with(&plan, WM_ESTIMATE, -1), WM_ERR_ARGUMENT);
    lab_said("options.left_free is -1");
    assert_int_equal(plan_with(&plan, WM_ESTIMATE, ALL), WM_ERR_ARGUMENT);
    lab_said("options.left_free is 132; the device has 132 multiprocessors");
    assert_int_equal(plan_with(&plan, WM_ESTIMATE, ALL - 1), WM_OK);
    wmPlanDestroy(plan);
    lab_close();
    lab_open(WM_PLACE_CPU, NULL);
    assert_int_equal(plan_with(&plan, WM_ESTIMATE, 1), WM_ERR_ARGUMENT);
    lab_said("options.left_free is 1 on the CPU place");
    lab_close();
}

/* Judged by those that may not win, and remembered apart from the whole device. */
static void measured_and_remembered(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    char path[] = "/tmp/wm_left_free_XXXXXX";
    wmWisdomCount count;
    int file = mkstemp(path);
    assert_true(file >= 0);
    (void)close(file);
    open_lab(1);
    assert_int_equal(plan_with(&plan, WM_MEASURE, FREE), WM_OK);
    assert_string_equal(wmPlanSolver(plan), "lab_persistent");
    char *text = lab_explain(plan, WM_TEXT);
    assert_non_null(strstr(text, "chosen by measurement"));
    free(text);
    wmPlanDestroy(plan);
    assert_int_equal(plan_with(&plan, WM_WISDOM_ONLY, 0), WM_ERR_NO_WISDOM);
    assert_int_equal(plan_with(&plan, WM_WISDOM_ONLY, FREE + 1), WM_ERR_NO_WISDOM);
    assert_int_equal(wmWisdomSave(lab_now.context, path, &count), WM_OK);
    lab_close();
    open_lab(1);
    assert_int_equal(wmWisdomLoad(lab_now.context, path, &count), WM_OK);
    assert_int_equal(count.skipped, 0);
    assert_int_equal(plan_with(&plan, WM_WISDOM_ONLY, FREE), WM_OK);
    assert_string_equal(wmPlanSolver(plan), "lab_persistent");
    wmPlanDestroy(plan);
    lab_close();
    (void)unlink(path);
}

static void a_wrong_one_never_wins(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    open_lab(1);
    lab_now.config[LAB_OURS].defect = LAB_WRONG_VALUE;
    assert_int_equal(plan_with(&plan, WM_MEASURE, FREE), WM_ERR_UNSUPPORTED);
    lab_close();
}

static void streams_of_the_callers_priority(void **unused) {
    (void)unused;
    wm_problem problem = lab_problem(NULL);
    wmPlanOptions options = wmPlanOptionsDefault();
    wmPlan *plan = NULL;
    options.effort = WM_MEASURE;
    options.stream_priority = -3;
    lab_open(WM_PLACE_GPU, NULL);
    assert_int_equal(wm_plan_create(&plan, lab_now.context, &problem, &options), WM_OK);
    assert_int_equal(wm_fake_priority(lab_now.fake), -3);
    wmPlanDestroy(plan);
    lab_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_those_that_can),    cmocka_unit_test(nobody_can),
        cmocka_unit_test(numbers_that_are_none),  cmocka_unit_test(measured_and_remembered),
        cmocka_unit_test(a_wrong_one_never_wins), cmocka_unit_test(streams_of_the_callers_priority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
