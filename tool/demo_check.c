/* SPDX-License-Identifier: Apache-2.0 */
/* How the demonstration knows that a result is right. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/oracle_fft.h"
#include "reference/oracle_matmul.h"

#include "convert.h"
#include "demo.h"
#include "fail.h"
#include "session.h"

/* How many rows and columns of a product are recomputed, and how many values of a transform. */
enum { LINES = 48, VALUES = 8 };

static int check_product(const wm_demo_case *c, wm_demo_result *result) {
    const wm_solver *solver = wm_demo_solver(wmPlanSolver(c->plan));
    const wm_oracle_pick pick = {LINES, LINES, 1, 20261130, solver && solver->origin == WM_VENDOR};
    wm_oracle_verdict verdict = wm_oracle_matmul(&c->problem, &c->host_args.matmul, c->host[wm_demo_output(c)], &pick);
    result->error = verdict.worst;
    result->right = verdict.wrong == 0 && verdict.worst <= 1;
    if (!result->right) wm_oracle_describe(&verdict, result->why, sizeof result->why);
    return WM_EXIT_OK;
}

/* Notes the error of one value, unless a larger one is known. NaN counts as larger than all. */
static void note(wm_demo_result *result, double error, double bound, const char *what) {
    double share = error / bound;
    if (share <= result->error) return;
    result->error = share;
    if (!(share <= 1)) {
        result->right = false;
        (void)snprintf(result->why, sizeof result->why, "%s is off by %.3g, bound %.3g", what, error, bound);
    }
}

/* Compares values all over the output with the definition. */
static int check_values(const wm_demo_case *c, wm_demo_result *result) {
    const wmFftDesc *desc = &c->problem.u.fft;
    const wm_bound bound = wm_problem_bound(&c->problem);
    const int64_t first[WM_FFT_MAX_LOOPS] = {0};
    const wm_operand *out = &c->operand[wm_demo_output(c)];
    wm_oracle_fft oracle;
    if (wm_oracle_fft_make(&oracle, desc) != 0) return wm_tool_fail("out of memory for the oracle");
    for (int v = 0; v < VALUES; v++) {
        int64_t element[WM_FFT_MAX_RANK];
        double got[2];
        /* The first, the last, and steps of the golden ratio between them. */
        double at = v == VALUES - 1 ? 1 : fmod(v * 0.6180339887498949, 1);
        for (int i = 0; i < desc->rank; i++) element[i] = (int64_t)(at * (double)(oracle.out[i] - 1));
        wm_root want = wm_oracle_fft_value(&oracle, c->host[0], first, element);
        wm_convert_read(out->type, c->host[wm_demo_output(c)], wm_oracle_fft_offset(&oracle, first, element), got);
        double error = (double)hypotl(got[0] - want.re, got[1] - want.im);
        double size = (double)hypotl(want.re, want.im);
        note(result, error, bound.absolute + bound.relative * size, "a value");
    }
    wm_oracle_fft_drop(&oracle);
    return WM_EXIT_OK;
}

/* Transforms the result back: every element of the input must return. */
static int check_round_trip(wm_demo_case *c, wm_demo_result *result) {
    const wm_operand *in = &c->operand[0];
    double points = 1;
    wmFftDesc inverse;
    wmPlan *plan = NULL;
    void *back = malloc(c->bytes[0] + 1); /* never 0 bytes: NULL means failure */
    void *there = NULL;
    if (!back) return wm_tool_fail("out of memory: %zu bytes are needed", c->bytes[0]);
    wmFftDescInverse(&inverse, &c->problem.u.fft);
    for (int i = 0; i < inverse.rank; i++) points *= (double)inverse.dim[i].n;
    int status = wm_session_check(wmFftPlanCreate(&plan, c->context, &inverse, NULL));
    if (!status) status = wm_session_lend(c->context, back, c->bytes[0], 0, &there);
    wmFftArgs args = wmFftArgsDefault(c->there[1], there);
    if (!status) status = wm_session_check(wmFftExecute(plan, &args, NULL));
    if (!status) status = wm_session_fetch(c->context, back, c->bytes[0], there);
    /* The forward bound, brought to the input's size, once for each way. */
    double bound = 2 * wm_problem_bound(&c->problem).absolute / sqrt(points);
    for (int64_t i = 0; !status && i < in->elements; i++) {
        double x[2];
        double y[2];
        wm_convert_read(in->type, c->host[0], i, x);
        wm_convert_read(in->type, back, i, y);
        note(result, hypot(x[0] - y[0], x[1] - y[1]), bound, "a value transformed back");
    }
    wm_session_return(c->context, back, there);
    wmPlanDestroy(plan);
    free(back);
    return status;
}

/* Draws a slice from the middle by its offset, and compares it with the whole's. */
static int check_slice(wm_demo_case *c, wm_demo_result *result) {
    size_t item = wmTypeSize(c->operand[0].type);
    int64_t count = c->operand[0].elements;
    int64_t from = count / 3 + 1;
    wmRandomArgs args = c->args.random;
    void *slice = malloc(c->bytes[0] + 1);
    void *there = NULL;
    args.count = count / 2 < 1 ? 1 : count / 2 - 1;
    args.offset += (uint64_t)from;
    size_t bytes = (size_t)args.count * item;
    if (!slice) return wm_tool_fail("out of memory: %zu bytes are needed", bytes);
    int status = wm_session_lend(c->context, slice, bytes, 0, &there);
    args.out = there;
    if (!status) status = wm_session_check(wmRandomExecute(c->plan, &args, NULL));
    if (!status) status = wm_session_fetch(c->context, slice, bytes, there);
    if (!status && memcmp(slice, (const char *)c->host[0] + (size_t)from * item, bytes) != 0) {
        result->right = false;
        (void)snprintf(result->why, sizeof result->why, "elements %" PRId64 " … differ when drawn as a slice", from);
    }
    wm_session_return(c->context, slice, there);
    free(slice);
    return status;
}

static int check_numbers(wm_demo_case *c, const void *reference, wm_demo_result *result) {
    if (memcmp(c->host[0], reference, c->bytes[0]) != 0) {
        result->right = false;
        result->error = INFINITY;
        (void)snprintf(result->why, sizeof result->why, "bits differ from %s", result->reference);
        return WM_EXIT_OK;
    }
    return check_slice(c, result);
}

int wm_demo_check(wm_demo_case *c, const void *reference, wm_demo_result *result) {
    result->right = true;
    result->error = 0;
    if (c->problem.op == WM_MATMUL) return check_product(c, result);
    if (c->problem.op == WM_RANDOM) return check_numbers(c, reference, result);
    int status = check_values(c, result);
    return status ? status : check_round_trip(c, result);
}
