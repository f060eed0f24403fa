/* SPDX-License-Identifier: Apache-2.0 */
/* Planning by estimate asks a vendor for few variants, and for the workspace of the one that it takes alone. */
#include "engine_lab.h"
#include "lib/few.h"

enum { BYTES = 4096 };

static int asked_few, asked_all;

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)context, (void)problem, (void)why;
    int few = capacity == WM_FEW_OFFERS;
    asked_few += few;
    asked_all += !few;
    *out = (wm_offer){.seconds = lab_now.config[LAB_VENDOR].estimate, .capturable = 1, .concurrent = 1};
    out->workspace = few ? WM_WORKSPACE_LATER : BYTES;
    return 1;
}

/* The laboratory with a vendor of that estimate; ours is estimated at a millisecond. */
static void open_lab(double estimate) {
    static wm_solver vendor;
    static const wm_solver *rows[8];
    int count = 0;
    lab_open(WM_PLACE_GPU, NULL);
    const wm_solver *const *all = lab_solvers(WM_PLACE_GPU, &count);
    for (int i = 0; i < count; i++) rows[i] = all[i];
    vendor = *all[LAB_VENDOR];
    vendor.offer = offer;
    rows[LAB_VENDOR] = &vendor;
    lab_now.context->solvers = rows;
    lab_now.config[LAB_VENDOR].estimate = estimate;
    asked_few = asked_all = 0;
}

static void plan_is(const wmPlanOptions *options, const char *solver, size_t bytes, int few, int all) {
    size_t workspace = 1;
    wmPlan *plan = lab_plan(NULL, options);
    assert_string_equal(wmPlanSolver(plan), solver);
    assert_int_equal(wmPlanWorkspace(plan, &workspace), WM_OK);
    assert_int_equal(workspace, bytes);
    assert_int_equal(asked_few, few);
    assert_int_equal(asked_all, all);
    char *json = lab_explain(plan, WM_JSON);
    lab_check_json(json);
    assert_null(strstr(json, "\"workspace\": -1"));
    free(json);
    wmPlanDestroy(plan);
    lab_close();
}

static void asked_once_more_where_it_is_taken(void **unused) {
    (void)unused;
    open_lab(1e-6);
    plan_is(NULL, "labvendor", BYTES, 1, 1);
}

static void not_where_another_is(void **unused) {
    (void)unused;
    open_lab(2e-3);
    plan_is(NULL, "lab_ours", 0, 1, 0);
}

static void beyond_the_limit_the_next_is_taken(void **unused) {
    (void)unused;
    wmPlanOptions options = wmPlanOptionsDefault();
    options.workspace_limit = BYTES - 1;
    open_lab(1e-6);
    plan_is(&options, "lab_ours", 0, 1, 1);
}

static void fixed_choices_ask_for_all(void **unused) {
    (void)unused;
    wmPlanOptions options = wmPlanOptionsDefault();
    options.fixed_choice = 1;
    open_lab(1e-6);
    plan_is(&options, "labvendor", BYTES, 0, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_once_more_where_it_is_taken),
        cmocka_unit_test(not_where_another_is),
        cmocka_unit_test(beyond_the_limit_the_next_is_taken),
        cmocka_unit_test(fixed_choices_ask_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
