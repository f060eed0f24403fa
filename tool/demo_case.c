/* SPDX-License-Identifier: Apache-2.0 */
/* A case of the demonstration: memory, random inputs, plan and execution, by the public API. */
#include "demo.h"

#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "fail.h"
#include "session.h"

/* SplitMix64 (Steele, Lea and Flood, 2014): inputs that owe nothing to the generator under test. */
static double next_uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)(int64_t)(z ^ z >> 31) * 0x1p-63;
}

static void fill(const wm_operand *operand, void *to, uint64_t seed) {
    for (int64_t i = 0; i < operand->elements; i++) {
        double re = next_uniform(&seed);
        double im = next_uniform(&seed);
        const double value[2] = {re, im};
        wm_convert_write(operand->type, to, i, value);
    }
}

static int make_operand(wm_demo_case *c, int i) {
    const wm_operand *operand = &c->operand[i];
    bool input = operand->role == WM_INPUT;
    c->bytes[i] = (size_t)operand->elements * wmTypeSize(operand->type);
    c->host[i] = aligned_alloc(256, (c->bytes[i] / 256 + 1) * 256);
    if (!c->host[i]) return wm_tool_fail("out of memory: %zu bytes are needed", c->bytes[i]);
    /* NaN everywhere in floats: an element that is never written shows. */
    memset(c->host[i], 0xff, c->bytes[i]);
    if (input) fill(operand, c->host[i], 1 + (uint64_t)i);
    return wm_session_lend(c->context, c->host[i], c->bytes[i], 1, &c->there[i]);
}

int wm_demo_make(wm_demo_case *c, wmContext *context, const char *problem, wmEffort effort) {
    wmPlanOptions options = wmPlanOptionsDefault();
    memset(c, 0, sizeof *c);
    c->context = context;
    options.effort = effort;
    int status = wm_session_check(wm_problem_parse(&c->problem, problem, wmContextPlace(context)));
    if (!status) status = wm_session_check(wmPlanCreate(&c->plan, context, problem, &options));
    if (status) return status;
    c->count = wm_problem_operands(&c->problem, c->operand);
    for (int i = 0; !status && i < c->count; i++) status = make_operand(c, i);
    if (status) return status;
    wm_problem_bind(&c->problem, c->host, &c->host_args);
    wm_problem_bind(&c->problem, c->there, &c->args);
    return WM_EXIT_OK;
}

void wm_demo_drop(wm_demo_case *c) {
    for (int i = 0; i < c->count; i++) {
        wm_session_return(c->context, c->host[i], c->there[i]);
        free(c->host[i]);
    }
    wmPlanDestroy(c->plan);
    memset(c, 0, sizeof *c);
}

int wm_demo_output(const wm_demo_case *c) {
    int index = 0;
    while (c->operand[index].role != WM_OUTPUT) index++;
    return index;
}

int wm_demo_execute(wm_demo_case *c) {
    int out = wm_demo_output(c);
    wmStatus done = c->problem.op == WM_MATMUL ? wmMatmulExecute(c->plan, &c->args.matmul, NULL)
                    : c->problem.op == WM_FFT  ? wmFftExecute(c->plan, &c->args.fft, NULL)
                                               : wmRandomExecute(c->plan, &c->args.random, NULL);
    int status = wm_session_check(done);
    return status ? status : wm_session_fetch(c->context, c->host[out], c->bytes[out], c->there[out]);
}
