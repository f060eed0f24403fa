/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times every variant of our transforms beside cuFFT, a problem string a line of stdin; prints fractions of the rate of
 * a device-to-device copy measured in the same run. Variants that are not offered may be named behind a problem, as
 * `| radices,threads,batch,blocks,persist` with radices written 16.16.4. Arguments: log2 of the bytes of a buffer, and
 * `compare` for the distance from the vendor's results. Built by hand:
 *   cc -D_GNU_SOURCE -O2 -I include -I . perf/probe_fft.c build/gpu/libwarpmath.a -lcudart_static -ldl -lrt -lpthread
 * -lm
 */
#include "host/fft_cut.h"
#include "host/fft_tile_cut.h"
#include "lib/context_internal.h"
#include "lib/fields.h"
#include "lib/problem.h"
#include "perf/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wmContext *context;
static const wm_gpu *gpu;
static wmStream stream;
static void *in, *out, *workspace;
static size_t room;

static wmStatus run_copy(const void *user) {
    return wmCopy(context, out, in, *(const size_t *)user, stream);
}

static double time_offer(const wm_solver *solver, const wm_problem *problem, const wm_offer *offer) {
    void *state = NULL;
    double seconds = 1e9;
    wm_args args = {.fft = wmFftArgsDefault(in, problem->u.fft.placement == WM_IN_PLACE ? in : out)};
    if (solver->make && solver->make(context, problem, offer, &state) != WM_OK) {
        printf("  %s: %s\n", solver->name, wmLastError());
    } else if (offer->workspace > room) {
        printf("  %s: workspace %zu\n", solver->name, offer->workspace);
    } else {
        const probe_run timed = {
            solver, {context, problem, offer, state, &args, workspace, stream}
        };
        seconds = probe_median(gpu, stream, probe_run_solver, &timed);
    }
    if (solver->drop) solver->drop(context, state);
    return seconds;
}

static void print_knobs(const wm_solver *solver, const wm_offer *offer) {
    if (strcmp(solver->name, "fft_block") != 0 && strcmp(solver->name, "fft_tile") != 0) {
        for (int i = 0; solver->knobs[i]; i++) printf("  %s=%d", solver->knobs[i], offer->knob[i]);
        return;
    }
    char radices[64] = "";
    for (int i = 0, r = offer->knob[0]; r; i++, r >>= 5)
        snprintf(radices + strlen(radices), sizeof radices - strlen(radices), "%s%d", i ? "." : "", (r & 31) + 1);
    printf("  %s,%d,%d,%d,%d,%d", radices, offer->knob[1], offer->knob[2], offer->knob[3], offer->knob[4],
           offer->knob[5]);
}

/* ---- Comparing with the vendor ---- */

static int comparing;     /* results are compared, too */
static void *of_vendor;   /* its last result, on the host */
static int64_t of_values; /* reals in it */

/** Takes the vendor's result, or prints how far ours is from it: the L2 distance in roundings. */
static void compare(const wm_problem *problem, int vendor) {
    const wmFftDesc *d = &problem->u.fft;
    int f64 = d->type == WM_F64, pairs = d->kind == WM_FFT_C2R ? 1 : 2;
    int64_t values = wm_fft_span(d, 1) * pairs;
    size_t bytes = (size_t)values * (f64 ? 8 : 4);
    void *mine = malloc(bytes);
    if (!mine || wmCopy(context, mine, out, bytes, NULL) != WM_OK || wmSynchronize(context, NULL) != WM_OK) {
        free(mine);
        return;
    }
    if (vendor) {
        free(of_vendor);
        of_vendor = mine, of_values = values;
        return;
    }
    double error = 0, size = 0;
    for (int64_t i = 0; i < values && of_values == values; i++) {
        double x = f64 ? ((double *)mine)[i] : (double)((float *)mine)[i];
        double y = f64 ? ((double *)of_vendor)[i] : (double)((float *)of_vendor)[i];
        error += (x - y) * (x - y), size += y * y;
    }
    printf("  L2 %.3f u sqrt(log2 n) from the vendor's",
           sqrt(error / size) / (f64 ? 0x1p-53 : 0x1p-24) / sqrt(log2((double)wm_fft_points(d))));
    free(mine);
}

static int compile_only; /* fills the disk cache, on any machine */
static const char *only; /* PROBE_SOLVER: this one of ours, and the vendor's */

static void compile_tile(const wm_problem *problem, const wm_offer *offer) {
    const wmFftDesc *d = &problem->u.fft;
    const wm_fft_tile_knobs knobs = {
        offer->knob[0], offer->knob[1], offer->knob[2], offer->knob[3], offer->knob[4], offer->knob[5], 0};
    wm_fft_cut cut;
    char source[1024], stages[32];
    void *cubin = NULL;
    size_t bytes = 0;
    wm_fft_tile_cut((int)d->dim[0].n, d->type == WM_F64, &knobs, &cut);
    wm_fft_cut_source_of(&cut, "device/fft_tile.cuh", source, sizeof source);
    snprintf(stages, sizeof stages, "-DWM_FFT_STAGES=%d", knobs.stages);
    wm_jit_request request = {
        .solver = "fft_tile", .source = source, .kernel = "wm_fft_tile_kernel", .options = {stages, NULL}
    };
    if (wm_jit_cubin(context, &request, 90, &cubin, &bytes) != WM_OK) printf("%s\n", wmLastError());
    free(cubin);
}

static void compile(const wm_problem *problem, const wm_offer *offer) {
    wm_fft_knobs knobs = {offer->knob[0], offer->knob[1], offer->knob[2], offer->knob[3], offer->knob[4], 0};
    wm_fft_cut cut;
    char source[1024];
    void *cubin = NULL;
    size_t bytes = 0;
    wm_fft_cut_make(&problem->u.fft, &knobs, &cut);
    wm_fft_cut_source(&cut, source, sizeof source);
    wm_jit_request request = {.solver = "fft_block", .source = source, .kernel = "wm_fft_block_kernel"};
    if (wm_jit_cubin(context, &request, 90, &cubin, &bytes) != WM_OK) printf("%s\n", wmLastError());
    free(cubin);
}

/** Problem, best of ours (or given), its time; the vendor's time; ratio; fraction of copy. */
static void probe(char *line, double copy) {
    wm_problem problem;
    char *extra = strchr(line, '|');
    if (extra) *extra++ = '\0';
    size_t length = strlen(line);
    while (length && (line[length - 1] == '\n' || line[length - 1] == ' ')) line[--length] = '\0';
    if (!length) return;
    if (wm_problem_parse(&problem, line, WM_PLACE_GPU) != WM_OK) {
        printf("%s: %s\n", line, wmLastError());
        return;
    }
    double vendor = 0, best = 1e9, bytes = wm_problem_cost(&problem).bytes;
    if (!compile_only) printf("%s\n", line);
    for (int i = context->solver_count - 1; i >= 0; i--) { /* the vendor first */
        const wm_solver *solver = context->solvers[i];
        wm_offer offers[WM_MAX_OFFERS];
        wm_why why;
        memset(offers, 0, sizeof offers);
        if (solver->op != WM_FFT || solver->place != WM_PLACE_GPU) continue;
        int tile = strcmp(solver->name, "fft_tile") == 0;
        if (only && solver->origin == WM_OURS && strcmp(solver->name, only) != 0) continue;
        if (compile_only && strcmp(solver->name, "fft_block") != 0 && !tile) continue;
        if (wm_problem_features(&problem) & ~solver->features) continue;
        int count = solver->offer(context, &problem, offers, WM_MAX_OFFERS, &why),
            block = !strcmp(solver->name, "fft_block");
        if (!count && !compile_only) printf("  %s: %s\n", solver->name, why.text);
        int offered = count;
        while (block && count && extra && count < WM_MAX_OFFERS) {
            int r[6] = {0}, k[4] = {0}, used = 0;
            while (*extra == ' ') extra++;
            int got = sscanf(extra, "%d.%d.%d.%d.%d.%d", &r[0], &r[1], &r[2], &r[3], &r[4], &r[5]);
            char *comma = strchr(extra, ',');
            if (got < 1 || !comma || sscanf(comma, ",%d,%d,%d,%d%n", &k[0], &k[1], &k[2], &k[3], &used) < 4) break;
            wm_offer o = offers[0];
            o.knob[0] = 0;
            for (int p = 0; p < got; p++) o.knob[0] |= (r[p] - 1) << (5 * p);
            for (int p = 0; p < 4; p++) o.knob[1 + p] = k[p];
            offers[count++] = o;
            extra = comma + used;
        }
        for (int v = 0; v < count && compile_only && block; v++) compile(&problem, &offers[v]);
        for (int v = 0; v < count && compile_only && tile; v++) compile_tile(&problem, &offers[v]);
        for (int v = 0; v < count && !compile_only; v++) {
            if (block && extra && v >= 2 && v < offered) continue;
            double seconds = time_offer(solver, &problem, &offers[v]);
            printf("  %-12s %8.1f us  %.3f of copy", solver->name, seconds * 1e6, bytes / seconds / copy);
            print_knobs(solver, &offers[v]);
            if (comparing && seconds < 1) compare(&problem, solver->origin == WM_VENDOR);
            printf("\n");
            if (solver->origin == WM_VENDOR) {
                vendor = seconds;
            } else if (seconds < best) {
                best = seconds;
            }
        }
    }
    if (compile_only) return;
    printf("= %s: ours / cuFFT %.3f, %.3f of copy (cuFFT %.3f)\n", line, vendor / best, bytes / best / copy,
           vendor > 0 ? bytes / vendor / copy : 0);
    fflush(stdout);
}

int main(int argc, char **argv) {
    char line[1024];
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    only = getenv("PROBE_SOLVER"); // NOLINT(concurrency-mt-unsafe)
    compile_only = argc > 1 && strcmp(argv[1], "compile") == 0;
    if (compile_only) options.place = WM_PLACE_CPU;
    room = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 29);
    if (wmContextCreate(&context, &options) != WM_OK) return 1;
    if (compile_only) {
        context->solvers = wm_solvers(&context->solver_count);
        context->device.shared_bytes = 227 * 1024;
        context->device.sm = 90;
        while (fgets(line, sizeof line, stdin)) probe(line, 1);
        return 0;
    }
    if (wmAlloc(&in, context, room + room / 8) != WM_OK || wmAlloc(&out, context, room + room / 8) != WM_OK ||
        wmAlloc(&workspace, context, room) != WM_OK) {
        printf("%s\n", wmLastError());
        return 1;
    }
    gpu = wm_context_gpu(context);
    gpu->stream_create(gpu->self, &stream);
    comparing = argc > 2 && strcmp(argv[2], "compare") == 0;
    wmRandomDesc random = wmRandomDescDefault(WM_RANDOM_UNIFORM, WM_F32);
    wmRandomArgs draw = wmRandomArgsDefault(in, (int64_t)((room + room / 8) / 4), wmRandomKeyMake(1));
    draw.low = -1, draw.high = 1; /* numbers in f64, too */
    if (wmRandom(context, &random, &draw, NULL) != WM_OK || wmSynchronize(context, NULL) != WM_OK)
        printf("%s\n", wmLastError());
    for (int i = 0; i < 250; i++) (void)run_copy(&room); /* the chip wakes up */
    double seconds = probe_median(gpu, stream, run_copy, &room), copy = 2 * (double)room / seconds;
    printf("copy %.3f TB/s\n", copy * 1e-12);
    while (fgets(line, sizeof line, stdin)) probe(line, copy);
    wmContextDestroy(context);
    return 0;
}
