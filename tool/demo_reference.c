/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU reference of the demonstration: one named solver of the CPU place, run directly, since a comparison needs the
 * same one everywhere, where a plan would choose the best. For random numbers it is the generator on one thread, for
 * the baseline instruction set.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/solver.h"
#include "reference/random_fill.h"

#include "demo.h"
#include "fail.h"
#include "session.h"

/* In order of preference, by operation. */
static const char *const names[][3] = {
    [WM_MATMUL] = {"openblas", "matmul_naive_cpu", NULL},
    [WM_FFT] = {"fftw",     "fft_cpu",          NULL},
};

const wm_solver *wm_demo_solver(const char *name) {
    int count = 0;
    const wm_solver *const *solvers = wm_solvers(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(solvers[i]->name, name) == 0) return solvers[i];
    }
    return NULL;
}

/* The first of the names that offers for the problem. */
static const wm_solver *choose(wmContext *cpu, const wm_problem *problem, wm_offer *offer) {
    const char *const *name = names[problem->op];
    for (; *name; name++) {
        wm_why why = {""};
        const wm_solver *solver = wm_demo_solver(*name);
        bool fits = solver && !(wm_problem_features(problem) & ~solver->features);
        if (fits && solver->offer(cpu, problem, offer, 1, &why) > 0) return solver;
    }
    return NULL;
}

/* Arguments as a solver wants them, defaults filled in, the result to `out`. */
static wm_args filled(const wm_demo_case *c, void *out) {
    wm_args args = c->host_args;
    if (c->problem.op == WM_MATMUL) {
        args.matmul.d = out;
        args.matmul.c = out;
        args.matmul.alpha = wmReal(1);
        args.matmul.beta = wmReal(0);
    } else {
        args.fft.out = out;
    }
    return args;
}

/* One run of something: a solver's wm_run, or a draw. */
typedef wmStatus (*runner)(const void *what);

/* The best of several runs within about 200 ms, after one to warm up; a slow one runs twice. */
static int time_runs(runner run, const void *what, double *seconds) {
    double began = wm_session_seconds();
    double best = INFINITY;
    int status = wm_session_check(run(what));
    for (int i = 0; !status && (i < 1 || (i < 50 && wm_session_seconds() - began < 0.2)); i++) {
        double start = wm_session_seconds();
        status = wm_session_check(run(what));
        best = fmin(best, wm_session_seconds() - start);
    }
    *seconds = best;
    return status;
}

typedef struct solving {
    const wm_solver *solver;
    wm_run run;
} solving;

static wmStatus solve(const void *what) {
    const solving *s = what;
    return s->solver->run(&s->run);
}

static int run_solver(const wm_demo_case *c, wmContext *cpu, void *out, wm_demo_result *result) {
    wm_problem problem;
    wm_offer offer;
    void *state = NULL;
    void *workspace = NULL;
    char text[WM_PROBLEM_TEXT];
    /* The place is not part of a problem's text, so this is the same problem on the CPU. */
    (void)wm_problem_print(&c->problem, text, sizeof text);
    int status = wm_session_check(wm_problem_parse(&problem, text, WM_PLACE_CPU));
    if (status) return status;
    const wm_solver *solver = choose(cpu, &problem, &offer);
    if (!solver) return WM_EXIT_OK;
    wm_args args = filled(c, out);
    if (offer.workspace) {
        workspace = aligned_alloc(256, (offer.workspace / 256 + 1) * 256);
        if (!workspace) return wm_tool_fail("out of memory: %zu bytes are needed", offer.workspace);
    }
    status = wm_session_check(solver->make(cpu, &problem, &offer, &state));
    const solving s = {
        solver, {cpu, &problem, &offer, state, &args, workspace, NULL}
    };
    if (!status) status = time_runs(solve, &s, &result->reference_seconds);
    if (!status) result->reference = solver->name;
    solver->drop(cpu, state);
    free(workspace);
    return status;
}

typedef struct drawing {
    wm_random_job job;
    const wmRandomArgs *args;
    void *out;
} drawing;

static wmStatus draw(const void *what) {
    const drawing *d = what;
    wm_random_fill(&d->job, wm_random_blocks_base, d->args->offset, d->args->count, d->out);
    return WM_OK;
}

static int run_draw(const wm_demo_case *c, void *out, wm_demo_result *result) {
    wmRandomArgs args = c->host_args.random;
    args.low = 0;
    args.high = 1;
    args.mean = 0;
    args.std = 1;
    const drawing d = {wm_random_job_make(&c->problem.u.random, &args), &args, out};
    result->reference = "the baseline generator";
    return time_runs(draw, &d, &result->reference_seconds);
}

int wm_demo_reference(const wm_demo_case *c, wmContext *cpu, void *out, wm_demo_result *result) {
    if (c->problem.op == WM_RANDOM) return run_draw(c, out, result);
    return run_solver(c, cpu, out, result);
}
