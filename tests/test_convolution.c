/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions through the public API on the CPU place: NumPy's small examples, what is refused, problem strings. The
 * walk has the sizes and modes. */
#include "lib/problem.h"
#include <warpmath/warpmath.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 64 };

static wmContext *context;

static int open_context(void **state) {
    (void)state;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    options.wisdom_path = "";
    return wmContextCreate(&context, &options) != WM_OK;
}

static int close_context(void **state) {
    (void)state;
    wmContextDestroy(context);
    return 0;
}

/* 256-byte aligned room for a filter, an input and an output. */
static _Alignas(256) float filter_memory[4 * ROOM * ROOM], in_memory[ROOM], out_memory[ROOM], tap_memory[ROOM];

static void convolve(const wmConvolutionDesc *desc, const float *x, int n, const float *taps, int m, const float *want,
                     int results) {
    wmPlan *plan = NULL;
    size_t bytes = 0;
    if (wmConvolutionPlanCreate(&plan, context, desc, NULL) != WM_OK) fail_msg("%s", wmLastError());
    assert_int_equal(wmConvolutionFilterBytes(plan, &bytes), WM_OK);
    assert_true(bytes <= sizeof filter_memory);
    memcpy(in_memory, x, (size_t)n * sizeof *x);
    memcpy(tap_memory, taps, (size_t)m * sizeof *taps);
    memset(out_memory, 0xff, sizeof out_memory);
    assert_int_equal(wmConvolutionPrepare(plan, tap_memory, filter_memory, NULL), WM_OK);
    wmConvolutionArgs args = wmConvolutionArgsDefault(in_memory, filter_memory, out_memory);
    if (wmConvolutionExecute(plan, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
    for (int i = 0; i < results; i++)
        if (!(out_memory[i] - want[i] <= 1e-5F && want[i] - out_memory[i] <= 1e-5F))
            fail_msg("%s: result %d is %g, not %g", wmPlanProblem(plan), i, (double)out_memory[i], (double)want[i]);
    for (int i = results; i < ROOM; i++) assert_true(out_memory[i] != out_memory[i]);
    wmPlanDestroy(plan);
}

/* numpy.convolve([1, 2, 3], [0, 1, 0.5], …) and numpy.correlate, as its manual has them. */
static void numpy_examples(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3}, f[] = {0, 1, 0.5F};
    static const float full[] = {0, 1, 2.5F, 4, 1.5F}, same[] = {1, 2.5F, 4}, valid[] = {2.5F}, causal[] = {0, 1, 2.5F};
    static const float circular[] = {4, 2.5F, 2.5F};
    static const float correlated[] = {0.5F, 2, 3.5F, 3, 0}, around[] = {3.5F, 3.5F, 2};
    static const struct {
        wmConvolutionMode mode;
        int correlate, results;
        const float *want;
    } rows[] = {
        {WM_CONVOLUTION_FULL,     0, 5, full      },
        {WM_CONVOLUTION_SAME,     0, 3, same      },
        {WM_CONVOLUTION_VALID,    0, 1, valid     },
        {WM_CONVOLUTION_CAUSAL,   0, 3, causal    },
        {WM_CONVOLUTION_CIRCULAR, 0, 3, circular  },
        {WM_CONVOLUTION_FULL,     1, 5, correlated},
        {WM_CONVOLUTION_CIRCULAR, 1, 3, around    },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wmConvolutionDesc desc = wmConvolutionDescDefault(WM_F32, 3, 3, 1);
        desc.mode = rows[i].mode, desc.correlate = rows[i].correlate;
        assert_int_equal(wmConvolutionResults(&desc, 0), rows[i].results);
        convolve(&desc, x, 3, f, 3, rows[i].want, rows[i].results);
    }
}

/* scipy.signal.convolve2d of a 3 x 2 plane with a row and a column. */
static void planes(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6}, row[] = {1, 10}, column[] = {1, 10};
    static const float by_row[] = {1, 12, 20, 3, 34, 40, 5, 56, 60}, by_column[] = {1, 2, 13, 24, 35, 46, 50, 60};
    wmConvolutionDesc desc = wmConvolutionDescDefault2D(WM_F32, 3, 2, 1, 2, 1);
    convolve(&desc, x, 6, row, 2, by_row, 9);
    desc = wmConvolutionDescDefault2D(WM_F32, 3, 2, 2, 1, 1);
    convolve(&desc, x, 6, column, 2, by_column, 8);
}

static void refused(const wmConvolutionDesc *desc, const char *part) {
    wmPlan *plan = NULL;
    wmStatus status = wmConvolutionPlanCreate(&plan, context, desc, NULL);
    assert_true(status == WM_ERR_ARGUMENT || status == WM_ERR_UNSUPPORTED);
    assert_null(plan);
    if (!strstr(wmLastError(), part)) fail_msg("\"%s\" lacks \"%s\"", wmLastError(), part);
}

static void refusals(void **state) {
    (void)state;
    const wmConvolutionDesc good = wmConvolutionDescDefault(WM_F32, 10, 3, 4);
    wmConvolutionDesc d = good;
    d.type = WM_F16, refused(&d, "type is f16");
    d = good, d.n[0] = 0, refused(&d, "n[0] is 0");
    d = good, d.taps[0] = -1, refused(&d, "taps[0] is -1");
    d = good, d.filters = 3, refused(&d, "filters is 3");
    d = good, d.batch = -1, d.filters = 1, refused(&d, "batch is -1");
    d = good, d.rank = 3, refused(&d, "rank is 3");
    d = good, d.taps[0] = 11, d.mode = WM_CONVOLUTION_VALID, refused(&d, "taps[0] is 11");
    d = good, d.taps[0] = 11, d.mode = WM_CONVOLUTION_CIRCULAR, refused(&d, "taps[0] is 11");
    d = good, d.mode = (wmConvolutionMode)9, refused(&d, "mode");
    d = good, d.in_stride = 9, refused(&d, "in_stride is 9");
    d = good, d.out_stride = 11, refused(&d, "out_stride is 11");
    d = good, d.align = 12, refused(&d, "align is 12");
    d = good, d.n[0] = INT64_MAX / 16, refused(&d, "overflow");
    assert_int_equal(wmConvolutionPlanCreate(NULL, context, &good, NULL), WM_ERR_ARGUMENT);
    wmPlan *plan = NULL;
    assert_int_equal(wmConvolutionPlanCreate(&plan, NULL, &good, NULL), WM_ERR_ARGUMENT);
}

static void arguments(void **state) {
    (void)state;
    wmPlan *plan = NULL, *other = NULL;
    wmConvolutionDesc desc = wmConvolutionDescDefault(WM_F32, 10, 3, 2);
    const int64_t n = 8;
    wmFftDesc fft = wmFftDescPacked(WM_FFT_C2C, WM_F32, 1, &n, 1);
    size_t bytes = 0;
    assert_int_equal(wmConvolutionPlanCreate(&plan, context, &desc, NULL), WM_OK);
    assert_int_equal(wmFftPlanCreate(&other, context, &fft, NULL), WM_OK);
    wmConvolutionArgs args = wmConvolutionArgsDefault(in_memory, NULL, out_memory);
    assert_int_equal(wmConvolutionExecute(plan, &args, NULL), WM_ERR_ARGUMENT);
    assert_non_null(strstr(wmLastError(), "args.filter is NULL"));
    args = wmConvolutionArgsDefault(in_memory, filter_memory, in_memory + 4);
    assert_int_equal(wmConvolutionExecute(plan, &args, NULL), WM_ERR_ARGUMENT);
    assert_non_null(strstr(wmLastError(), "overlaps"));
    assert_int_equal(wmConvolutionExecute(other, &args, NULL), WM_ERR_ARGUMENT);
    assert_int_equal(wmConvolutionPrepare(other, tap_memory, filter_memory, NULL), WM_ERR_ARGUMENT);
    assert_int_equal(wmConvolutionPrepare(plan, tap_memory, filter_memory + 1, NULL), WM_ERR_ARGUMENT);
    assert_int_equal(wmConvolutionPrepare(plan, NULL, filter_memory, NULL), WM_ERR_ARGUMENT);
    assert_int_equal(wmConvolutionPrepare(NULL, tap_memory, filter_memory, NULL), WM_ERR_ARGUMENT);
    assert_int_equal(wmConvolutionFilterBytes(other, &bytes), WM_ERR_ARGUMENT);
    wmPlanDestroy(plan);
    wmPlanDestroy(other);
    desc.batch = 0; /* nothing to do, nothing looked at */
    assert_int_equal(wmConvolutionPlanCreate(&plan, context, &desc, NULL), WM_OK);
    args = wmConvolutionArgsDefault(NULL, NULL, NULL);
    assert_int_equal(wmConvolutionExecute(plan, &args, NULL), WM_OK);
    wmPlanDestroy(plan);
}

static void same_problem(const wmConvolutionDesc *a, const wmConvolutionDesc *b) {
    wm_problem one, other;
    assert_int_equal(wm_problem_from_convolution(&one, a, WM_PLACE_CPU), WM_OK);
    assert_int_equal(wm_problem_from_convolution(&other, b, WM_PLACE_CPU), WM_OK);
    assert_true(wm_problem_equal(&one, &other));
}

/* What other languages call gives the same descs, whatever was there before. */
static void inits(void **state) {
    (void)state;
    wmConvolutionDesc want = wmConvolutionDescDefault(WM_F32, 100, 7, 3), got;
    memset(&got, 0xff, sizeof got);
    wmConvolutionDescInit(&got, sizeof got, WM_F32, 100, 7, 3);
    same_problem(&got, &want);
    want = wmConvolutionDescDefault2D(WM_C64, 10, 20, 3, 4, 5);
    memset(&got, 0xff, sizeof got);
    wmConvolutionDescInit2D(&got, sizeof got, WM_C64, 10, 20, 3, 4, 5);
    same_problem(&got, &want);
    wmConvolutionArgs args;
    memset(&args, 0xff, sizeof args);
    wmConvolutionArgsInit(&args, sizeof args);
    assert_true(args.size == sizeof args && !args.in && !args.filter && !args.out && !args.workspace &&
                !args.workspace_bytes);
    wmConvolutionDescInit(NULL, 0, WM_F32, 1, 1, 1);
    wmConvolutionDescInit2D(NULL, 0, WM_F32, 1, 1, 1, 1, 1);
    wmConvolutionArgsInit(NULL, 0);
}

static void strings(void **state) {
    (void)state;
    static const char *const texts[] = {"convolution f32 4096*65",
                                        "convolution c64 512x500*5x7 mode=circular correlate=1 batch=3 filters=3",
                                        "convolution f64 100*9 mode=same batch=4 in_stride=200 out_stride=120 align=8"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        wm_problem problem, again;
        char text[WM_PROBLEM_TEXT];
        if (wm_problem_parse(&problem, texts[i], WM_PLACE_CPU) != WM_OK) fail_msg("%s", wmLastError());
        wm_problem_print(&problem, text, sizeof text);
        assert_string_equal(text, texts[i]);
        assert_int_equal(wm_problem_parse(&again, text, WM_PLACE_CPU), WM_OK);
        assert_true(wm_problem_equal(&problem, &again));
    }
    wm_problem problem;
    assert_int_equal(wm_problem_parse(&problem, "convolution f32 4096", WM_PLACE_CPU), WM_ERR_ARGUMENT);
    assert_int_equal(wm_problem_parse(&problem, "convolution f32 4x4*3", WM_PLACE_CPU), WM_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numpy_examples), cmocka_unit_test(planes),
                                       cmocka_unit_test(refusals),       cmocka_unit_test(arguments),
                                       cmocka_unit_test(inits),          cmocka_unit_test(strings)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
