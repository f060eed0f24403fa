/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random products against the judge on a GPU: odd sizes, all layouts, strides, batches and epilogues, every variant
 * that the solver offers, bands and padding compared too (lib/truth.h).
 *
 *     fuzz_matmul SOLVER COUNT [SEED [TYPES]]     TYPES: those of A, e.g. "bf16 f16" (default: f32 f16 bf16)
 */
#include "lib/context_internal.h"
#include "lib/measure.h"
#include "lib/truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The next multiple of 8, and now and then more; odd too where the operand need not be aligned. */
static int pitch(int n, int aligned) {
    return aligned ? (n + 7) / 8 * 8 + 8 * (below(4) == 0) * below(4) : n + below(3);
}

static void random_problem(char *out, size_t room, const char *type) {
    static const char *const letters[] = {"n", "t"}, *const orders[] = {"row", "col"};
    static const char *const epilogues[] = {"",
                                            "",
                                            "",
                                            " bias=n",
                                            " bias=m",
                                            " act=relu",
                                            " bias=n act=gelu_tanh",
                                            " bias=m act=gelu_erf",
                                            " bias=n bias_type=f32"};
    static const char *const outs[] = {"", "", " d=f32"};
    int m = size(700), n = size(900), k = below(12) ? size(1200) : 1 + below(4000);
    const char *ta = pick(letters, 2), *tb = pick(letters, 2), *oa = pick(orders, 2), *ob = pick(orders, 2),
               *od = pick(orders, 2);
    int a_columns = (*ta == 'n') == (*oa == 'r') ? k : m, b_columns = (*tb == 'n') == (*ob == 'r') ? n : k;
    int d_columns = *od == 'r' ? n : m, batch = below(4) ? 1 : 1 + below(4), tame_a = below(4), tame_b = below(4);
    const char *const bytes = *type == 'f' && type[1] == '3' ? "4" : "2";
    int at = snprintf(out, room, "matmul %s %dx%dx%d ta=%s tb=%s oa=%s ob=%s od=%s lda=%d ldb=%d ldd=%d%s%s", type, m,
                      n, k, ta, tb, oa, ob, od, pitch(a_columns, tame_a), pitch(b_columns, tame_b),
                      pitch(d_columns, below(3)), pick(epilogues, 9), pick(outs, 3));
    if (!tame_a) at += snprintf(out + at, room - (size_t)at, " align_a=%s", bytes);
    if (!tame_b) at += snprintf(out + at, room - (size_t)at, " align_b=%s", bytes);
    if (batch > 1) snprintf(out + at, room - (size_t)at, " batch=%d%s", batch, below(3) ? "" : " sb=0");
}

static const wm_solver *solver_named(const char *name) {
    int count = 0;
    const wm_solver *const *all = wm_solvers(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
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
    printf("%s, %s: error %g of the bound, %s%s\n", text, knobs, error, why, status == WM_OK ? "" : wmLastError());
    return status;
}

static wmStatus check(tally *t, wmContext *context, wmStream stream, const char *text) {
    wm_problem problem;
    wm_image image = {0};
    wm_truth truth = {0};
    wm_offer offers[WM_MAX_OFFERS], judge;
    wm_why why = {""};
    WM_TRY(wm_problem_parse(&problem, text, WM_PLACE_GPU));
    int count = t->solver->offer(context, &problem, offers, WM_MAX_OFFERS, &why);
    if (count == 0 && t->refused++ < 3) printf("refused: %s: %s\n", text, why.text);
    if (count == 0) return WM_OK;
    if (t->judge->offer(context, &problem, &judge, 1, &why) == 0) return wm_fail(WM_ERR_INTERNAL, "%s", why.text);
    wmStatus status = wm_image_make(&image, context, &problem, stream, 1, state);
    if (status == WM_OK) status = wm_truth_make(&truth, &image, 0);
    if (status == WM_OK) status = execute(&image, t->judge, &judge);
    if (status == WM_OK) status = wm_truth_take(&truth, 0);
    for (int i = 0; i < count && status == WM_OK; i++) status = try_variant(t, &image, &truth, &offers[i], text);
    wm_truth_free(&truth);
    wm_image_free(&image);
    return status;
}

int main(int argc, char **argv) {
    static char *types[8] = {"f32", "f16", "bf16"};
    int type_count = argc > 4 ? 0 : 3;
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    wmContext *context = NULL;
    wmStream stream = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    tally t = {argc > 1 ? solver_named(argv[1]) : NULL, solver_named("matmul_naive"), 0, 0, 0, 0};
    if (!t.solver || !t.judge) return 2;
    state = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    char *rest = NULL;
    for (char *word = argc > 4 ? strtok_r(argv[4], " ", &rest) : NULL; word && type_count < 8;
         word = strtok_r(NULL, " ", &rest))
        types[type_count++] = word;
    if (type_count == 0) return 2;
    options.place = WM_PLACE_GPU;
    options.wisdom_path = "";
    if (wmContextCreate(&context, &options) != WM_OK) return puts(wmLastError()), 1;
    const wm_gpu *gpu = wm_context_gpu(context);
    wmStatus status = wm_gpu_check(gpu, gpu->stream_create(gpu->self, &stream), "cudaStreamCreate");
    for (long i = 0; i < count && t.wrong < 10 && status == WM_OK; i++) {
        char text[400];
        random_problem(text, sizeof text, types[below(type_count)]);
        status = check(&t, context, stream, text);
        if (status != WM_OK) printf("%s: %s\n", text, wmLastError());
    }
    printf("fuzz of %s: %ld problems, %ld refused, %ld variants run, %ld wrong, worst %.3g of the bound\n", argv[1],
           count, t.refused, t.variants, t.wrong, t.worst);
    (void)gpu->stream_destroy(gpu->self, stream);
    wmContextDestroy(context);
    return status != WM_OK || t.wrong != 0;
}
