/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random products against the judge on a GPU, which sums in f64: odd sizes, all types, layouts, strides, batches and
 * epilogues, bands and padding compared too (lib/truth.h). Every variant that the solver offers, or, for `any`, three
 * variants of any of our solvers a problem.
 *
 *     fuzz_matmul SOLVER|any COUNT [SEED [TYPES]]     TYPES: those of A, e.g. "bf16 f16" (default: all)
 *     fuzz_matmul SOLVER "matmul …"                   one problem, every variant
 *
 * FUZZ_SECONDS=40 stops it then; what it says is of the problems that it came to.
 */
#include "lib/context_internal.h"
#include "lib/measure.h"
#include "lib/truth.h"
#include "perf/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state;

static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's, TAOCP vol. 2, 3.3.4 */
    return n > 0 ? (int)((state >> 33) % (uint64_t)n) : 0;
}

static const char *pick(const char *const words[], int count) {
    return words[below(count)];
}

/* A size: often small or beside a tile's edge, sometimes large. */
static int size(int most) {
    static const int edges[] = {8, 16, 64, 128, 192, 256, 384, 512};
    int kind = below(4);
    if (kind == 0) return 1 + below(40);
    if (kind == 1) return edges[below(8)] + below(3) - 1;
    return 1 + below(most);
}

/* The next multiple of 16 bytes, and now and then more; odd too where the operand need not be aligned. */
static int pitch(int n, int aligned, int bytes) {
    int group = bytes < 16 ? 16 / bytes : 1;
    return aligned ? (n + group - 1) / group * group + group * (below(4) == 0) * below(4) : n + below(3);
}

/* What a type allows, and the bytes of an element of it. */
typedef struct kind {
    const char *name;
    int bytes, real, floating, wide_d; /* wide_d: D may be f32 */
} kind;

static const kind kinds[] = {
    {"f32",  4,  1, 1, 0},
    {"f16",  2,  1, 1, 1},
    {"bf16", 2,  1, 1, 1},
    {"f64",  8,  1, 1, 0},
    {"c64",  8,  0, 1, 0},
    {"c128", 16, 0, 1, 0},
    {"e4m3", 1,  1, 1, 1},
    {"e5m2", 1,  1, 1, 1},
    {"i8",   1,  1, 0, 0},
};

static const kind *kind_named(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return &kinds[0];
}

/* Shapes that only some kernels take: vectors, thin sides, many small ones, long sums. */
static void shape(int *m, int *n, int *k) {
    *m = size(700), *n = size(900), *k = below(12) ? size(1200) : 1 + below(4000);
    switch (below(12)) {
    case 0:
        *(below(2) ? m : n) = 1;
        break;
    case 1:
        *(below(2) ? m : n) = 1 + below(64);
        break;
    case 2:
    case 3:
        *m = 1 + below(32), *n = 1 + below(32), *k = 1 + below(48);
        break;
    case 4:
        *m = 1 + below(64), *n = 1 + below(64), *k = 1 + below(20000);
        break;
    default:
        break;
    }
}

static int random_batch(char *out, size_t room, int small) {
    int count = below(small ? 2 : 4) ? 1 : 1 + below(small ? 300 : 4);
    switch (count > 1 ? below(6) : 6) {
    case 0:
        return snprintf(out, room, " batch=%d batch_mode=pointers", count);
    case 1:
        return snprintf(out, room, " batch=%d batch_mode=grouped", count);
    case 2:
        return snprintf(out, room, " batch=%d sb=0", count);
    case 6:
        return 0;
    default:
        return snprintf(out, room, " batch=%d", count);
    }
}

static void random_problem(char *out, size_t room, const char *type) {
    static const char *const letters[] = {"n", "t"}, *const orders[] = {"row", "col"};
    static const char *const biases[] = {"", "", " bias=n", " bias=m", " bias=n bias_type=f32"};
    static const char *const activations[] = {"", "", "", " act=relu", " act=gelu_tanh", " act=gelu_erf"};
    const kind *t = kind_named(type);
    int m = 0, n = 0, k = 0;
    shape(&m, &n, &k);
    int triangle = t->real && t->floating && t->bytes > 1 && !below(6);
    if (triangle) n = m;
    const char *ta = pick(letters, 2), *tb = pick(letters, 2), *oa = pick(orders, 2), *ob = pick(orders, 2),
               *od = pick(orders, 2);
    int a_columns = (*ta == 'n') == (*oa == 'r') ? k : m, b_columns = (*tb == 'n') == (*ob == 'r') ? n : k;
    int d_columns = *od == 'r' ? n : m, tame_a = below(4), tame_b = below(4);
    if (!t->real && below(2)) ta = *ta == 't' ? "c" : ta, tb = *tb == 't' ? "c" : tb;
    int at = snprintf(out, room, "matmul %s %dx%dx%d ta=%s tb=%s oa=%s ob=%s od=%s lda=%d ldb=%d ldd=%d%s%s%s", type, m,
                      n, k, ta, tb, oa, ob, od, pitch(a_columns, tame_a, t->bytes), pitch(b_columns, tame_b, t->bytes),
                      pitch(d_columns, below(3), t->bytes), t->floating ? pick(biases, t->real ? 5 : 4) : "",
                      t->real && t->floating ? pick(activations, 6) : "", t->wide_d && !below(3) ? " d=f32" : "");
    if (!tame_a && t->bytes < 16) at += snprintf(out + at, room - (size_t)at, " align_a=%d", t->bytes);
    if (!tame_b && t->bytes < 16) at += snprintf(out + at, room - (size_t)at, " align_b=%d", t->bytes);
    if (strcmp(type, "c64") == 0 && below(2)) at += snprintf(out + at, room - (size_t)at, " allow_3m=1");
    if (t->bytes == 1 && t->floating && below(2)) at += snprintf(out + at, room - (size_t)at, " scale_a=tensor");
    if (t->bytes == 4 && !below(4))
        at += snprintf(out + at, room - (size_t)at, " compute=%s", below(2) ? "tf32" : "f32_strict");
    if (triangle) /* which no pointers or groups have */
        (void)snprintf(out + at, room - (size_t)at, " triangle=%s%s", below(2) ? "lower" : "upper",
                       below(4) ? "" : " batch=2");
    else
        random_batch(out + at, room - (size_t)at, m <= 32 && n <= 32);
}

/* One execution on the image's first copy, made pristine before. */
static wmStatus execute(const wm_image *image, const wm_solver *solver, const wm_offer *offer) {
    wm_args args;
    wm_run run = {image->context, image->problem, offer, NULL, &args, NULL, image->stream};
    WM_TRY(wm_image_reset(image, 0));
    wm_image_args(image, 0, &args);
    WM_TRY(wm_context_alloc(image->context, &run.workspace, offer->workspace));
    wmStatus status = solver->make ? solver->make(image->context, image->problem, offer, &run.state) : WM_OK;
    if (status == WM_OK) status = solver->run(&run);
    if (status == WM_OK) status = wm_image_wait(image);
    if (solver->drop) solver->drop(image->context, run.state);
    wm_context_free(image->context, run.workspace, offer->workspace);
    return status;
}

/* What was found so far. */
typedef struct tally {
    const wm_solver *solver, *judge;
    long variants, refused, wrong;
    double worst;
} tally;

static wmStatus try_variant(tally *t, const wm_image *image, const wm_truth *truth, const wm_offer *offer,
                            const char *text) {
    char why[160] = "", knobs[160];
    double error = 0;
    t->variants++;
    wmStatus status = execute(image, t->solver, offer);
    if (status == WM_OK) status = wm_truth_check(truth, 0, &error, why);
    if (error > t->worst) t->worst = error;
    if (status == WM_OK && error <= 1) return WM_OK;
    t->wrong++;
    wm_knobs_print(t->solver, offer, knobs, sizeof knobs);
    printf("%s, %s %s: error %g of the bound, %s%s\n", text, t->solver->name, knobs, error, why,
           status == WM_OK ? "" : wmLastError());
    return status;
}

/* A way to solve a problem. */
typedef struct way {
    const wm_solver *solver;
    wm_offer offer;
} way;

enum { MOST_WAYS = 160, TRIED = 3 };

static int add_ways(way *ways, int count, const wm_solver *solver, wmContext *context, const wm_problem *problem) {
    wm_offer offers[WM_MAX_OFFERS];
    wm_why why = {""};
    if (wm_problem_features(problem) & ~solver->features) return count;
    int found = solver->offer(context, problem, offers, WM_MAX_OFFERS, &why);
    for (int i = 0; i < found && count < MOST_WAYS; i++) ways[count++] = (way){solver, offers[i]};
    return count;
}

/* All variants of the solver, or of all of ours that are no judges. */
static int find_ways(const tally *t, way *ways, wmContext *context, const wm_problem *problem) {
    int count = 0, all = 0;
    if (t->solver) return add_ways(ways, 0, t->solver, context, problem);
    const wm_solver *const *solvers = wm_solvers(&all);
    for (int i = 0; i < all; i++)
        if (solvers[i]->op == WM_MATMUL && solvers[i]->place == WM_PLACE_GPU && solvers[i]->origin == WM_OURS &&
            solvers[i] != t->judge)
            count = add_ways(ways, count, solvers[i], context, problem);
    return count;
}

/* Leaves a few at random. */
static int thin_out(way *ways, int count) {
    for (int i = 0; i < count && i < TRIED; i++) {
        int j = i + below(count - i);
        way kept = ways[i];
        ways[i] = ways[j], ways[j] = kept;
    }
    return count < TRIED ? count : TRIED;
}

static wmStatus check(tally *t, wmContext *context, wmStream stream, const char *text) {
    static way ways[MOST_WAYS];
    wm_problem problem;
    wm_image image = {0};
    wm_truth truth = {0};
    wm_offer judge;
    wm_why why = {""};
    WM_TRY(wm_problem_parse(&problem, text, WM_PLACE_GPU));
    int grouped = problem.u.matmul.batch_mode == WM_BATCH_GROUPED, any = t->solver == NULL;
    t->judge = probe_solver(grouped ? "matmul_grouped" : problem.u.matmul.triangle ? "matmul_finish" : "matmul_naive");
    int count = find_ways(t, ways, context, &problem);
    if (any) count = thin_out(ways, count);
    if (count == 0) t->refused++;
    if (count == 0) return WM_OK;
    if (t->judge->offer(context, &problem, &judge, 1, &why) == 0) return wm_fail(WM_ERR_INTERNAL, "%s", why.text);
    wmStatus status = wm_image_make(&image, context, &problem, stream, 1, state);
    if (status == WM_OK) status = wm_truth_make(&truth, &image, 0);
    if (status == WM_OK) status = execute(&image, t->judge, &judge);
    if (status == WM_OK) status = wm_truth_take(&truth, 0);
    for (int i = 0; i < count && status == WM_OK; i++) {
        if (any) t->solver = ways[i].solver;
        status = try_variant(t, &image, &truth, &ways[i].offer, text);
    }
    if (any) t->solver = NULL;
    wm_truth_free(&truth);
    wm_image_free(&image);
    return status;
}

int main(int argc, char **argv) {
    static const char *types[9];
    int type_count = 0, any = argc > 1 && strcmp(argv[1], "any") == 0;
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    wmContext *context = NULL;
    wmStream stream = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    tally t = {argc > 1 ? probe_solver(argv[1]) : NULL, probe_solver("matmul_naive"), 0, 0, 0, 0};
    if ((!t.solver && !any) || !t.judge) return 2;
    state = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    char *rest = NULL;
    for (char *word = argc > 4 ? strtok_r(argv[4], " ", &rest) : NULL; word && type_count < 9;
         word = strtok_r(NULL, " ", &rest))
        types[type_count++] = word;
    for (; argc <= 4 && type_count < 9; type_count++) types[type_count] = kinds[type_count].name;
    if (type_count == 0) return 2;
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    if (wmContextCreate(&context, &options) != WM_OK) return puts(wmLastError()), 1;
    const wm_gpu *gpu = wm_context_gpu(context);
    wmStatus status = wm_gpu_check(gpu, gpu->stream_create(gpu->self, &stream), "cudaStreamCreate");
    int given = argc > 2 && strncmp(argv[2], "matmul ", 7) == 0;
    const char *limit = getenv("FUZZ_SECONDS"); // NOLINT(concurrency-mt-unsafe)
    time_t end = time(NULL) + (limit ? strtol(limit, NULL, 10) : 1000000);
    long done = given;
    if (given && status == WM_OK) status = check(&t, context, stream, argv[2]);
    for (; !given && done < count && t.wrong < 10 && status == WM_OK && time(NULL) < end; done++) {
        char text[400];
        random_problem(text, sizeof text, types[below(type_count)]);
        status = check(&t, context, stream, text);
        if (status != WM_OK) printf("%s: %s\n", text, wmLastError());
    }
    printf("fuzz of %s: %ld problems, %ld refused, %ld variants run, %ld wrong, worst %.3g of the bound\n", argv[1],
           done, t.refused, t.variants, t.wrong, t.worst);
    (void)gpu->stream_destroy(gpu->self, stream);
    wmContextDestroy(context);
    return status != WM_OK || t.wrong != 0;
}
