/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times every variant of our convolutions, a problem string a line of stdin, and compares their results with those of
 * convolve_passes, which for a circular problem is what a user would write with a transform library: forward, product,
 * inverse. The argument is log2 of the bytes of a buffer. Built by hand:
 *   cc -D_GNU_SOURCE -O2 -I include -I . perf/probe_convolution.c build/gpu/libwarpmath.a -lcudart_static -ldl -lrt
 * -lpthread -lm
 */
#include "lib/context_internal.h"
#include "lib/convolution.h"
#include "lib/problem.h"
#include "perf/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wmContext *context;
static const wm_gpu *gpu;
static wmStream stream;
static void *in, *out, *workspace, *filter;
static size_t room;
static float *first; /* convolve_passes' results */

/* Of f32 and c64. */
static void compare(const wmConvolutionDesc *d, int passes) {
    int64_t reals = wm_convolution_span(d, 1) * (d->type == WM_C64 ? 2 : 1), bad = 0, at = -1;
    float *mine = malloc((size_t)reals * 4);
    double error = 0, size = 0;
    if (!mine || wmCopy(context, mine, out, (size_t)reals * 4, NULL) != WM_OK || wmSynchronize(context, NULL) != WM_OK)
        abort();
    if (passes) {
        free(first);
        first = mine;
        return;
    }
    for (int64_t i = 0; i < reals; i++) {
        double x = (double)mine[i], y = (double)first[i];
        if (!(fabs(x) < 1e30) || !(fabs(y) < 1e30)) {
            if (!bad++) at = i;
            continue;
        }
        error += (x - y) * (x - y), size += y * y;
    }
    printf("  L2 %.3g u from convolve_passes'", sqrt(error / size) / 0x1p-24);
    if (bad)
        printf(", %lld not finite: [%lld] is %g and %g", (long long)bad, (long long)at, (double)mine[at],
               (double)first[at]);
    free(mine);
}

static void probe(const char *text, double copy) {
    wm_problem problem;
    double passes = 0;
    if (wm_problem_parse(&problem, text, WM_PLACE_GPU) != WM_OK) {
        printf("%s\n", wmLastError());
        return;
    }
    printf("%s\n", text);
    for (int i = context->solver_count - 1; i >= 0; i--) { /* convolve_passes first */
        const wm_solver *solver = context->solvers[i];
        wm_offer offers[WM_MAX_OFFERS];
        wm_why why = {""};
        if (solver->op != WM_CONVOLUTION || solver->place != WM_PLACE_GPU) continue;
        if (wm_problem_features(&problem) & ~solver->features) continue;
        memset(offers, 0, sizeof offers);
        int count = solver->offer(context, &problem, offers, WM_MAX_OFFERS, &why);
        if (!count) printf("  %s: %s\n", solver->name, why.text);
        for (int v = 0; v < count; v++) {
            void *state = NULL;
            wm_args args;
            memset(&args, 0, sizeof args);
            args.convolution = wmConvolutionArgsDefault(in, filter, out);
            gpu->set(gpu->self, out, 0xff, room, stream);
            if (offers[v].workspace <= room && solver->make(context, &problem, &offers[v], &state) == WM_OK) {
                const probe_run timed = {
                    solver, {context, &problem, &offers[v], state, &args, workspace, stream}
                };
                double seconds = probe_median(gpu, stream, probe_run_solver, &timed);
                if (!passes) passes = seconds;
                printf("  %-16s %8.1f us  %.3f of copy  %.3f times convolve_passes' speed", solver->name, seconds * 1e6,
                       wm_problem_cost(&problem).bytes / seconds / copy, passes / seconds);
                for (int k = 0; solver->knobs[k]; k++) printf("  %s=%d", solver->knobs[k], offers[v].knob[k]);
                if (problem.u.convolution.type == WM_F32 || problem.u.convolution.type == WM_C64)
                    compare(&problem.u.convolution, seconds == passes);
                printf("\n");
            } else {
                printf("  %s: workspace %zu, %s\n", solver->name, offers[v].workspace, wmLastError());
            }
            solver->drop(context, state);
        }
    }
    fflush(stdout);
}

int main(int argc, char **argv) {
    char line[1024];
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    room = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 29);
    if (wmContextCreate(&context, &options) != WM_OK || wmAlloc(&in, context, room) != WM_OK ||
        wmAlloc(&out, context, room) != WM_OK || wmAlloc(&filter, context, room / 4) != WM_OK ||
        wmAlloc(&workspace, context, room * 3) != WM_OK) {
        printf("%s\n", wmLastError());
        return 1;
    }
    gpu = wm_context_gpu(context);
    gpu->stream_create(gpu->self, &stream);
    wmRandomDesc random = wmRandomDescDefault(WM_RANDOM_UNIFORM, WM_F32);
    wmRandomArgs draw = wmRandomArgsDefault(in, (int64_t)(room / 4), wmRandomKeyMake(1));
    draw.low = -1, draw.high = 1;
    if (wmRandom(context, &random, &draw, NULL) != WM_OK) return 1;
    draw.out = filter, draw.count = (int64_t)(room / 16);
    if (wmRandom(context, &random, &draw, NULL) != WM_OK || wmSynchronize(context, NULL) != WM_OK) return 1;
    double seconds = 0;
    wm_event from, to;
    gpu->event_create(gpu->self, &from);
    gpu->event_create(gpu->self, &to);
    for (int i = 0; i < 200; i++) {
        gpu->event_record(gpu->self, from, stream);
        if (wmCopy(context, out, in, room, stream) != WM_OK) return 1;
        gpu->event_record(gpu->self, to, stream);
        gpu->event_wait(gpu->self, to);
        gpu->event_seconds(gpu->self, from, to, &seconds);
    }
    double copy = 2 * (double)room / seconds;
    printf("copy %.3f TB/s\n", copy * 1e-12);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        probe(line, copy);
    }
    wmContextDestroy(context);
    return 0;
}
