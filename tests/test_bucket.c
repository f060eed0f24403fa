/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of sizes that change, and the wisdom that ships. */
#include "engine_lab.h"
#include "lib/bucket.h"
#include "lib/shipped.h"

static void ends(void **unused) {
    (void)unused;
    static const struct {
        const char *problem;
        int which;
        const char *low, *high; /* NULL: none */
    } cases[] = {
        {"matmul bf16 77x4096x33 tb=t", 0, "matmul bf16 64x4096x33 tb=t", "matmul bf16 128x4096x33 tb=t"},
        {"matmul bf16 77x4096x33 tb=t", 1, NULL,                          NULL                          },
        {"matmul bf16 77x4096x33 tb=t", 2, "matmul bf16 77x4096x32 tb=t", "matmul bf16 77x4096x64 tb=t" },
        {"matmul bf16 77x4096x33 tb=t", 3, NULL,                          NULL                          },
        {"matmul f32 4x4x4 batch=1000", 3, "matmul f32 4x4x4 batch=512",  "matmul f32 4x4x4 batch=1024" },
        {"fft c2c f32 60 batch=3",      3, "fft c2c f32 60 batch=2",      "fft c2c f32 60 batch=4"      },
        {"fft c2c f32 60 batch=3",      0, NULL,                          NULL                          },
        {"random normal f32 n=1000",    4, "random normal f32 n=512",     "random normal f32 n=1024"    },
        {"random normal f32 n=2",       4, NULL,                          NULL                          },
        {"matmul f32 2^5x3x3",          0, NULL,                          NULL                          },
        {"",                            0, NULL,                          NULL                          },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char low[WM_PROBLEM_TEXT], high[WM_PROBLEM_TEXT];
        int found = wm_bucket_ends(cases[i].problem, cases[i].which, low, high, sizeof low);
        assert_int_equal(found, cases[i].low != NULL);
        if (!found) continue;
        assert_string_equal(low, cases[i].low);
        assert_string_equal(high, cases[i].high);
    }
}

static void learn(const char *text, int variant) {
    wm_problem problem = lab_problem(text);
    wm_wisdom_learn(lab_now.context, &problem, lab_now.context->solvers[2], &(wm_offer){.knob = {variant}}, 1e-3,
                    WM_MEASURE);
}

static void both_ends_decide(void **unused) {
    (void)unused;
    wmPlanOptions serving = wmPlanOptionsDefault();
    serving.effort = WM_WISDOM_ONLY;
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.ours = 3;
    lab_now.config[LAB_VENDOR].estimate = 1e-9; /* what the estimate would take */
    learn("matmul f32 16x9x5", 2);
    wmPlan *plan = lab_plan("matmul f32 17x9x5", NULL);
    assert_string_equal(wmPlanSolver(plan), "labvendor"); /* one end is not enough */
    wmPlanDestroy(plan);
    learn("matmul f32 32x9x5", 1);
    plan = lab_plan("matmul f32 17x9x5", NULL);
    assert_string_equal(wmPlanSolver(plan), "labvendor"); /* they disagree */
    wmPlanDestroy(plan);
    assert_int_equal(wmWisdomForget(lab_now.context, "*32x9x5", NULL), WM_OK);
    learn("matmul f32 32x9x5", 2);
    for (int i = 0; i < 2; i++) {
        plan = lab_plan("matmul f32 17x9x5", i ? &serving : NULL);
        assert_string_equal(wmPlanSolver(plan), "lab_ours");
        assert_int_equal(plan->offer.knob[0], 2);
        assert_int_equal(plan->found.by, WM_BY_WISDOM);
        char *text = lab_explain(plan, WM_TEXT);
        assert_non_null(strstr(text, "tuned at both ends of its bucket in m"));
        free(text);
        assert_int_equal(lab_execute(plan, NULL, 0, NULL), WM_OK);
        wmPlanDestroy(plan);
    }
    lab_now.ours = 1; /* the variant is offered no more */
    plan = lab_plan("matmul f32 17x9x5", NULL);
    assert_string_equal(wmPlanSolver(plan), "labvendor");
    wmPlanDestroy(plan);
    lab_close();
}

static void what_ships(void **unused) {
    (void)unused;
    wm_device device = {.name = "NVIDIA H200"};
    int count = wm_shipped_count(&device);
    assert_true(count > 100);
    const wm_shipped *row = wm_shipped_find(&device, "matmul bf16 4096x4096x4096 no such");
    assert_null(row);
    device.name[0] = 'X';
    assert_int_equal(wm_shipped_count(&device), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends),
        cmocka_unit_test(both_ends_decide),
        cmocka_unit_test(what_ships),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
