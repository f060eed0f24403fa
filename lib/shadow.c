/* SPDX-License-Identifier: Apache-2.0 */
/* A second solver beside a plan's own, and the comparison. */
#include "shadow.h"
#include "context_internal.h"
#include "idle.h"
#include "plan_internal.h"
#include "reference/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMPARED = 256 << 20 }; /* bytes of a result */

struct wm_shadow {
    const wm_solver *solver;
    wm_offer offer;
    void *state;
    pthread_mutex_t lock; /* one comparison at a time: the second solver may take no more */
    long long compared, differed;
};

/* ---- Choosing ---- */

static int is_wanted(const char *wanted, const wm_solver *solver) {
    if (strcmp(wanted, "vendor") == 0) return solver->origin == WM_VENDOR;
    if (strcmp(wanted, "reference") == 0) return solver->origin == WM_REFERENCE || solver->judge;
    return strcmp(wanted, solver->name) == 0;
}

static const wm_candidate *choose(const wmPlan *plan) {
    const wm_candidate *best = NULL;
    for (int i = 0; i < plan->found.count; i++) {
        const wm_candidate *c = &plan->found.candidate[i];
        if (c->verdict == WM_WRONG || c->verdict == WM_FAILED || c->solver == plan->solver) continue;
        if (!is_wanted(plan->context->shadow, c->solver)) continue;
        if (!best || c->offer.seconds < best->offer.seconds) best = c;
    }
    return best;
}

/* Which operand is the result; NULL where it cannot be compared: arrays of pointers, and results with leftovers. */
static const wm_operand *result_of(const wm_problem *problem, wm_operand operands[WM_MAX_OPERANDS]) {
    int count = wm_problem_operands(problem, operands);
    const wm_operand *found = NULL;
    for (int i = 0; i < count; i++) {
        if (operands[i].role == WM_POINTERS_TO) return NULL;
        if (operands[i].role == WM_OUTPUT || operands[i].role == WM_IN_OUT) found = &operands[i];
    }
    int leftovers = problem->op == WM_FFT && problem->u.fft.kind != WM_FFT_C2C && found && found->role == WM_IN_OUT;
    return leftovers ? NULL : found;
}

void wm_shadow_make(wmPlan *plan) {
    wmContext *context = plan->context;
    wm_operand operands[WM_MAX_OPERANDS];
    const wm_candidate *chosen = result_of(&plan->problem, operands) ? choose(plan) : NULL;
    wm_shadow *shadow = chosen ? (wm_shadow *)calloc(1, sizeof *shadow) : NULL;
    if (!shadow) {
        wm_log(context, WM_LOG_WARNING, "WARPMATH_SHADOW=%s: nobody runs beside %s for \"%s\"", context->shadow,
               plan->solver->name, plan->text);
        return;
    }
    shadow->solver = chosen->solver;
    shadow->offer = chosen->offer;
    pthread_mutex_init(&shadow->lock, NULL);
    plan->shadow = shadow;
    if (!shadow->solver->make) return;
    if (shadow->solver->make(context, &plan->problem, &shadow->offer, &shadow->state) == WM_OK) return;
    wm_log(context, WM_LOG_WARNING, "WARPMATH_SHADOW: %s could not be made: %s", shadow->solver->name, wmLastError());
    wm_shadow_drop(plan);
}

void wm_shadow_drop(wmPlan *plan) {
    wm_shadow *shadow = plan->shadow;
    if (!shadow) return;
    plan->shadow = NULL;
    if (shadow->solver->drop) shadow->solver->drop(plan->context, shadow->state);
    pthread_mutex_destroy(&shadow->lock);
    free(shadow);
}

/* ---- Copies ---- */

/* What one comparison holds. */
typedef struct second {
    const wmPlan *plan;
    wmStream stream;
    wmType type;
    int64_t elements;
    size_t bytes, in_bytes;
    void *out, *in, *workspace; /* at the place */
    void *result;               /* where the plan's own goes */
    unsigned char *host[2];
} second;

static wmStatus copy(const second *s, void *to, const void *from, size_t bytes) {
    const wm_gpu *gpu = s->plan->context->gpu;
    if (bytes == 0) return WM_OK;
    if (gpu) return wm_gpu_check(gpu, gpu->copy(gpu->self, to, from, bytes, s->stream), "cudaMemcpyAsync");
    memcpy(to, from, bytes);
    return WM_OK;
}

static wmStatus copy_of(const second *s, void **to, const void *from, size_t bytes) {
    WM_TRY(wm_context_alloc(s->plan->context, to, bytes));
    return copy(s, *to, from, bytes);
}

/* Points the second solver's arguments to copies of what either of the two writes. */
static wmStatus redirect(second *s, const wm_operand *operands, wm_args *args) {
    switch (s->plan->problem.op) {
    case WM_MATMUL:
        s->result = args->matmul.d;
        WM_TRY(copy_of(s, &s->out, args->matmul.d, s->bytes));
        if (args->matmul.c == args->matmul.d) args->matmul.c = s->out;
        args->matmul.d = s->out;
        return WM_OK;
    case WM_FFT:
        s->result = args->fft.out;
        WM_TRY(copy_of(s, &s->out, args->fft.out, s->bytes));
        if (args->fft.in == args->fft.out) {
            args->fft.in = s->out;
        } else if (s->plan->problem.u.fft.allow_input_overwrite) {
            s->in_bytes = (size_t)operands[0].elements * wmTypeSize(operands[0].type);
            WM_TRY(copy_of(s, &s->in, args->fft.in, s->in_bytes));
            args->fft.in = s->in;
        }
        args->fft.out = s->out;
        return WM_OK;
    case WM_RANDOM:
        s->result = args->random.out;
        WM_TRY(copy_of(s, &s->out, args->random.out, s->bytes));
        args->random.out = s->out;
        return WM_OK;
    case WM_CONVOLUTION:
        s->result = args->convolution.out;
        WM_TRY(copy_of(s, &s->out, args->convolution.out, s->bytes));
        args->convolution.out = s->out;
        return WM_OK;
    }
    return WM_OK;
}

static wmStatus run_second(second *s, const wm_args *args) {
    const wm_shadow *shadow = s->plan->shadow;
    if (shadow->offer.workspace) WM_TRY(wm_context_alloc(s->plan->context, &s->workspace, shadow->offer.workspace));
    const wm_run run = {.context = s->plan->context,
                        .problem = &s->plan->problem,
                        .offer = &shadow->offer,
                        .state = shadow->state,
                        .args = args,
                        .workspace = s->workspace,
                        .stream = s->stream};
    return wm_idle_run(shadow->solver, &run);
}

/* ---- Comparing ---- */

/*
 * Inputs are the caller's, so no bound on the error is known; but two solvers that are right share more than half of
 * their digits, counted from the size of the results at large. Integers and bits must be equal.
 */
static int64_t first_difference(const second *s) {
    wmType type = s->type;
    size_t size = wmTypeSize(type);
    int digits = wm_number_shape(type).digits;
    double squares = 0, tolerance = ldexp(4.0, -digits / 2);
    for (int64_t i = 0; digits && i < s->elements; i++) {
        wm_number x = wm_number_load(type, s->host[1], i);
        if (isfinite(x.re) && isfinite(x.im)) squares += x.re * x.re + x.im * x.im;
    }
    double usual = sqrt(squares / (double)(s->elements ? s->elements : 1));
    for (int64_t i = 0; i < s->elements; i++) {
        if (memcmp(s->host[0] + (size_t)i * size, s->host[1] + (size_t)i * size, size) == 0) continue;
        if (!digits) return i;
        wm_number a = wm_number_load(type, s->host[0], i), b = wm_number_load(type, s->host[1], i);
        double off = hypot(a.re - b.re, a.im - b.im), of = hypot(b.re, b.im);
        if (!(off <= tolerance * (of + usual)) && !(isnan(a.re) && isnan(b.re))) return i;
    }
    return -1;
}

static wmStatus fetch(second *s) {
    for (int i = 0; i < 2; i++) {
        s->host[i] = (unsigned char *)malloc(s->bytes + 1);
        if (!s->host[i]) return wm_fail(WM_ERR_MEMORY, "out of host memory");
        WM_TRY(copy(s, s->host[i], i ? s->out : s->result, s->bytes));
    }
    const wm_gpu *gpu = s->plan->context->gpu;
    return gpu ? wm_gpu_check(gpu, gpu->stream_wait(gpu->self, s->stream), "cudaStreamSynchronize") : WM_OK;
}

static void compare(const second *s) {
    wm_shadow *shadow = s->plan->shadow;
    int64_t at = first_difference(s);
    shadow->compared++;
    if (at < 0) return;
    shadow->differed++;
    wm_number a = wm_number_load(s->type, s->host[0], at), b = wm_number_load(s->type, s->host[1], at);
    wm_log(s->plan->context, WM_LOG_WARNING,
           "shadow: %s and %s differ in \"%s\": element %lld of the result is %.9g%+.9gi, the other's %.9g%+.9gi",
           s->plan->solver->name, shadow->solver->name, s->plan->text, (long long)at, a.re, a.im, b.re, b.im);
}

static void end(second *s) {
    wmContext *context = s->plan->context;
    if (context->gpu) (void)context->gpu->stream_wait(context->gpu->self, s->stream);
    wm_context_free(context, s->out, s->bytes);
    wm_context_free(context, s->in, s->in_bytes);
    wm_context_free(context, s->workspace, s->plan->shadow->offer.workspace);
    free(s->host[0]);
    free(s->host[1]);
}

static int is_capturing(const wmPlan *plan, wmStream stream) {
    const wm_gpu *gpu = plan->context->gpu;
    int yes = 0;
    return gpu && (gpu->stream_capturing(gpu->self, stream, &yes) != 0 || yes);
}

wmStatus wm_shadow_execute(const wmPlan *plan, const wm_args *args, wmStream stream) {
    wm_operand operands[WM_MAX_OPERANDS];
    const wm_operand *result = result_of(&plan->problem, operands);
    second s = {.plan = plan, .stream = stream, .type = result->type, .elements = result->elements};
    if (plan->problem.op == WM_RANDOM) s.elements = (int64_t)args->random.count;
    /* Rows with gaps, and a draw that moves its key on, are not done twice. */
    int gaps = plan->problem.op == WM_RANDOM && (plan->problem.u.random.ld != 0 || args->random.advance);
    s.bytes = (size_t)s.elements * wmTypeSize(s.type);
    if (gaps || s.bytes > MOST_COMPARED || is_capturing(plan, stream)) return wm_plan_execute_alone(plan, args, stream);
    pthread_mutex_lock(&plan->shadow->lock);
    wm_args copied = *args;
    wmStatus second_status = redirect(&s, operands, &copied);
    if (second_status == WM_OK) second_status = run_second(&s, &copied);
    if (second_status != WM_OK) wm_log(plan->context, WM_LOG_WARNING, "shadow: not compared: %s", wmLastError());
    wmStatus status = wm_plan_execute_alone(plan, args, stream);
    if (status == WM_OK && second_status == WM_OK && fetch(&s) == WM_OK) compare(&s);
    wm_error error;
    wm_error_save(&error);
    end(&s);
    wm_error_restore(&error);
    pthread_mutex_unlock(&plan->shadow->lock);
    return status;
}

int wm_shadow_report(const wmPlan *plan, const char **solver, long long *compared, long long *differed) {
    wm_shadow *shadow = plan->shadow;
    if (!shadow) return 0;
    *solver = shadow->solver->name;
    pthread_mutex_lock(&shadow->lock);
    *compared = shadow->compared;
    *differed = shadow->differed;
    pthread_mutex_unlock(&shadow->lock);
    return 1;
}
