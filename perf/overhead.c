/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs on the CPU: the launch itself, the solver's run around it, wmPlanExecute around that, and a
 * repeated one-shot call around that. Small problems on one stream; medians over rounds, the four interleaved.
 *
 *     overhead [gpu | cpu]            what calls cost
 *     overhead gpu|cpu|fake LIST      what planning by estimate costs, the making of the plan apart, and which solver's
 *                                     part it is; `fake` is a stand-in for an H200 that only plans
 *
 * The launch is measured on the GPU by catching the one that the solver hands to the device table, and handing the
 * same on again and again. Targets: execute at most 1 us over the launch, one-shot at most 2 us over execute.
 */
#include "lib/context_internal.h"
#include "lib/env.h"
#include "lib/few.h"
#include "lib/fields.h"
#include "lib/plan_internal.h"
#include "lib/verified.h"
#include "tests/fake_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 200, ROUNDS = 41, KINDS = 4 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The launch that a solver makes ---- */

static wm_gpu spied;
static const wm_gpu *real;
static wm_launch caught;
static char params[4096];

static int spy(void *self, const wm_launch *launch, wmStream stream) {
    caught = *launch;
    memcpy(params, launch->params, launch->params_bytes);
    caught.params = params;
    return real->launch(self, launch, stream);
}

/* ---- One problem ---- */

typedef struct subject {
    wmContext *context;
    wmPlan *plan;
    wm_args args;

    void *workspace;
} subject;

static wmStatus bare(const subject *s) {
    (void)s;
    return caught.kernel ? (wmStatus)real->launch(real->self, &caught, NULL) : WM_OK;
}

static wmStatus run(const subject *s) {
    return wm_plan_run(s->plan, &s->args, s->workspace, NULL);
}

static wmStatus execute(const subject *s) {
    switch (s->plan->problem.op) {
    case WM_MATMUL:
        return wmMatmulExecute(s->plan, &s->args.matmul, NULL);
    case WM_FFT:
        return wmFftExecute(s->plan, &s->args.fft, NULL);
    default:
        return wmRandomExecute(s->plan, &s->args.random, NULL);
    }
}

static wmStatus one_shot(const subject *s) {
    switch (s->plan->problem.op) {
    case WM_MATMUL:
        return wmMatmul(s->context, &s->plan->problem.u.matmul, &s->args.matmul, NULL);
    case WM_FFT:
        return wmFft(s->context, &s->plan->problem.u.fft, &s->args.fft, NULL);
    default:
        return wmRandom(s->context, &s->plan->problem.u.random, &s->args.random, NULL);
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds a call of each kind, as medians. 0: a call failed. */
static int measure(const subject *s, double out[KINDS]) {
    static wmStatus (*const kinds[KINDS])(const subject *) = {bare, run, execute, one_shot};
    double sample[KINDS][ROUNDS];
    for (int round = -2; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            double from = now();
            for (int i = 0; i < CALLS; i++)
                if (kinds[kind](s) != WM_OK) return 0;
            if (round >= 0) sample[kind][round] = (now() - from) / CALLS;
            if (wmSynchronize(s->context, NULL) != WM_OK) return 0;
        }
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(sample[kind], ROUNDS, sizeof **sample, by_value);
        out[kind] = sample[kind][ROUNDS / 2];
    }
    return 1;
}

static void print(const char *name, const subject *s, const double t[KINDS]) {
    printf("%-28s %-16s %8.0f %8.0f %8.0f %8.0f %10.0f %10.0f\n", name, wmPlanSolver(s->plan), 1e9 * t[0], 1e9 * t[1],
           1e9 * t[2], 1e9 * t[3], 1e9 * (t[2] - t[0]), 1e9 * (t[3] - t[2]));
}

static int one(wmContext *context, const char *problem) {
    subject s = {.context = context};
    double seconds[KINDS];
    void *memory = NULL;
    if (wmPlanCreate(&s.plan, context, problem, NULL) != WM_OK || wmAlloc(&memory, context, 4 << 20) != WM_OK) return 0;
    char *at = (char *)memory;
    wmRandomKey key = {1, 0};
    if (s.plan->problem.op == WM_MATMUL) s.args.matmul = wmMatmulArgsDefault(at, at + (1 << 20), at + (2 << 20));
    if (s.plan->problem.op == WM_FFT) s.args.fft = wmFftArgsDefault(at, at + (1 << 20));
    if (s.plan->problem.op == WM_RANDOM) s.args.random = wmRandomArgsDefault(at, 1024, key);
    s.workspace = at + (3 << 20);
    /* The arguments as wm_execute completes them: C is D, scalars at their defaults. */
    if (s.plan->problem.op == WM_MATMUL) {
        s.args.matmul.c = s.args.matmul.d;
        s.args.matmul.alpha = wmReal(1);
        s.args.matmul.beta = wmReal(0);
    }
    int good = execute(&s) == WM_OK && measure(&s, seconds);
    if (good) print(problem, &s, seconds);
    wmFree(context, memory);
    wmPlanDestroy(s.plan);
    return good;
}

/* ---- Planning ---- */

enum { MOST_PROBLEMS = 4096, MOST_SOLVERS = 128 };

/* Microseconds by operation: the first search of a process for each problem, which fills memos, and the least of the
 * next. */
typedef struct planning {
    double first[MOST_PROBLEMS], again[MOST_PROBLEMS];
    int count;
} planning;

static double one_search(wmContext *context, const wm_problem *problem) {
    const wmPlanOptions options = wmPlanOptionsDefault();
    wm_found found;
    double from = now();
    wmStatus status = wm_search(context, problem, &options, &found);
    double taken = now() - from;
    wm_found_free(&found);
    return status == WM_OK ? 1e6 * taken : 0;
}

static void search_times(wmContext *context, const wm_problem *problem, planning *out) {
    double first = one_search(context, problem), least = first;
    if (first == 0 || out->count == MOST_PROBLEMS) return;
    for (int i = 0; i < 5; i++) {
        double taken = one_search(context, problem);
        if (taken > 0 && taken < least) least = taken;
    }
    out->first[out->count] = first;
    out->again[out->count++] = least;
}

static void print_planning(const char *name, double *us, int count) {
    if (!count) return;
    double sum = 0;
    qsort(us, (size_t)count, sizeof *us, by_value);
    for (int i = 0; i < count; i++) sum += us[i];
    printf("%-36s %7d %8.2f %8.2f %9.2f %9.2f\n", name, count, sum / count, us[count / 2], us[count * 9 / 10],
           us[count - 1]);
}

/* Each solver by itself, as planning asks it: the least of a few times. */
static double offer_time(wmContext *context, const wm_solver *solver, const wm_problem *problem) {
    double least = 0;
    if (solver->op != problem->op || solver->place != context->place) return 0;
    for (int i = 0; i < 4; i++) {
        static wm_offer offers[WM_MAX_OFFERS];
        wm_why why = {""};
        if (wm_problem_features(problem) & ~solver->features) return 0;
        if (!context->unverified && !wm_solver_verified(solver)) return 0;
        int most = solver->origin == WM_VENDOR ? WM_FEW_OFFERS : WM_MAX_OFFERS;
        double from = now();
        (void)solver->offer(context, problem, offers, most, &why);
        double taken = now() - from;
        if (i == 0 || taken < least) least = taken;
    }
    return 1e6 * least;
}

static int read_problem(FILE *file, wmPlace place, wm_problem *out) {
    char line[WM_PROBLEM_TEXT];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[0] && wm_problem_parse(out, line, place) == WM_OK) return 1;
    }
    return 0;
}

static int plan_list(wmContext *context, const char *path) {
    static planning plans[WM_OPERATIONS];
    static double parts[MOST_SOLVERS][MOST_PROBLEMS];
    int asked[MOST_SOLVERS] = {0};
    wm_problem problem;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (read_problem(file, wmContextPlace(context), &problem)) search_times(context, &problem, &plans[problem.op]);
    rewind(file);
    while (read_problem(file, wmContextPlace(context), &problem))
        for (int i = 0; i < context->solver_count && i < MOST_SOLVERS; i++) {
            double us = offer_time(context, context->solvers[i], &problem);
            if (us > 0 && asked[i] < MOST_PROBLEMS) parts[i][asked[i]++] = us;
        }
    (void)fclose(file);
    printf("us to choose by estimate                 of     mean   median      90 %%      most\n");
    for (int op = 0; op < WM_OPERATIONS; op++) {
        char name[64];
        snprintf(name, sizeof name, "%s, the first time", wm_op_name((wm_op)op));
        print_planning(name, plans[op].first, plans[op].count);
        snprintf(name, sizeof name, "%s, again", wm_op_name((wm_op)op));
        print_planning(name, plans[op].again, plans[op].count);
    }
    for (int i = 0; i < context->solver_count && i < MOST_SOLVERS; i++) {
        char name[64];
        snprintf(name, sizeof name, "  %s", context->solvers[i]->name);
        print_planning(name, parts[i], asked[i]);
    }
    return 1;
}

static wm_fake *stand_in;

/* A context on a device that says it is an H200, with nothing behind it. */
static wmStatus open_stand_in(wmContext **context, const wmContextOptions *options) {
    int count = 0;
    const wm_solver *const *solvers = wm_solvers(&count);
    stand_in = wm_fake_new(1);
    if (!stand_in) return WM_ERR_MEMORY;
    wm_device *device = wm_fake_device(stand_in, 0);
    snprintf(device->name, sizeof device->name, "NVIDIA H200");
    device->multiprocessors = 132;
    device->clock_khz = 1980000;
    device->l2_bytes = 60 << 20;
    device->shared_bytes = 227 << 10;
    device->memory_bytes = (int64_t)139 << 30;
    device->bandwidth = 4.8e12;
    WM_TRY(wm_context_create_with(context, options, wm_fake_gpu(stand_in), solvers, count, wm_clock_system()));
    (*context)->unverified = wm_env_flag("WARPMATH_UNVERIFIED");
    return WM_OK;
}

int main(int argc, char **argv) {
    static const char *const problems[] = {"random bits u32 n=1024", "random normal f32 n=1024",
                                           "fft c2c f32 256",        "matmul f32 16x16x16",
                                           "matmul f32 64x64x64",    "matmul bf16 128x128x128 tb=t"};
    wmContextOptions options = wmContextOptionsDefault();
    wmContext *context = NULL;
    options.place = argc > 1 && strcmp(argv[1], "cpu") == 0 ? WM_PLACE_CPU : WM_PLACE_GPU;
    options.wisdom_path = "";
    options.cpu_threads = 1;
    int fake = argc > 2 && strcmp(argv[1], "fake") == 0;
    if ((fake ? open_stand_in(&context, &options) : wmContextCreate(&context, &options)) != WM_OK) {
        printf("%s\n", wmLastError());
        return 1;
    }
    if (argc > 2) {
        int read = plan_list(context, argv[2]);
        wmContextDestroy(context);
        wm_fake_end(stand_in);
        return !read;
    }
    if (context->gpu) {
        real = context->gpu;
        spied = *real;
        spied.launch = spy;
        context->gpu = &spied;
    }
    printf(
        "ns a call                    solver             launch      run  execute one-shot  ex-launch   shot-exec\n");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        memset(&caught, 0, sizeof caught);
        if (!one(context, problems[i])) printf("%-28s %s\n", problems[i], wmLastError());
    }
    if (real) context->gpu = real;
    wmContextDestroy(context);
    return 0;
}
