/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cublaslt solver without a GPU, against a library that stands for cuBLASLt (fake_cublaslt.c): the walk over its
 * problems, every combination of op, order and batch, mixed scalars, and knobs that the library does not know.
 */
#include "simt_gpu.h"
#include "lib/planner.h"
#include "reference/number.h"
#include "tests/walk/walk.h"

#include <stdio.h>
#include <string.h>

extern const wm_solver wm_cublaslt;

static int failures, refusals;

static void expect(int good, const char *what) {
    if (good) return;
    printf("FAIL %s: %s\n", what, wmLastError());
    failures++;
}

/* Makes, walks and drops one offer. */
static void walk_one(walk *w, wm_offer *offer) {
    w->offer = offer;
    w->state = NULL;
    expect(wm_cublaslt.make(w->context, w->problem, offer, &w->state) == WM_OK, w->text);
    walk_matmul(w);
    wm_cublaslt.drop(w->context, w->state);
}

static int open_problem(walk *w, wm_problem *problem, wm_offer *offers, const char *text) {
    wm_why why = {""};
    snprintf(w->text, sizeof w->text, "%s", text);
    expect(wm_problem_parse(problem, text, WM_PLACE_GPU) == WM_OK, text);
    w->problem = problem;
    int count = wm_cublaslt.offer(w->context, problem, offers, WM_MAX_OFFERS, &why);
    if (!count && !why.text[0]) expect(0, "a refusal without a reason");
    return count;
}

/* A conjugate without a transpose is all that it cannot do: there A or B is stored in the order that D is not. */
static int possible(const wmMatmulDesc *d) {
    int a = d->a.op != WM_OP_CONJ_TRANSPOSE || d->a.order == d->d.order;
    int b = d->b.op != WM_OP_CONJ_TRANSPOSE || d->b.order == d->d.order;
    return a && b;
}

static void every_layout(wmContext *context) {
    enum { TYPES = 3 };
    static const char *const types[] = {"f32", "c64", "bf16"}, *const ops[] = {"n", "t", "c"};
    static const char *const orders[] = {"row", "col"};
    static const char *const batches[] = {"",
                                          " batch=3",
                                          " batch=2 sa=0",
                                          " batch=3 sb=0 ldd=13 sd=70",
                                          " batch=3 batch_mode=pointers",
                                          " lda=12 ldb=11 ldd=14"};
    wm_offer offers[WM_MAX_OFFERS];
    wm_problem problem;
    walk w = {.context = context, .solver = &wm_cublaslt, .random = 7};
    for (int i = 0; i < TYPES * 3 * 3 * 8 * 6; i++) {
        char text[200];
        int rest = i;
        const char *type = types[rest % TYPES], *ta = ops[(rest /= TYPES) % 3], *tb = ops[(rest /= 3) % 3];
        const char *oa = orders[(rest /= 3) % 2], *ob = orders[(rest /= 2) % 2], *od = orders[(rest /= 2) % 2];
        snprintf(text, sizeof text, "matmul %s 3x5x4 ta=%s tb=%s oa=%s ob=%s od=%s%s", type, ta, tb, oa, ob, od,
                 batches[rest / 2]);
        int count = open_problem(&w, &problem, offers, text);
        expect((count > 0) == possible(&problem.u.matmul), text);
        refusals += count == 0;
        if (count) walk_one(&w, &offers[i % count]);
    }
    failures += w.failures;
    printf("%d layouts, %d refused\n", TYPES * 3 * 3 * 8 * 6, refusals);
}

/* The offers of the stand-in that keep the problem's promises: a plain and a split one, in its order. */
static void right_offers(wmContext *context) {
    static const char *const knobs[] = {"algo",    "tile",   "stages",      "split_k",       "reduction",
                                        "swizzle", "custom", "inner_shape", "cluster_shape", NULL};
    wm_offer offers[WM_MAX_OFFERS];
    wm_problem problem;
    void *state = NULL;
    walk w = {.context = context, .solver = &wm_cublaslt, .random = 8};
    for (int i = 0; knobs[i]; i++) expect(strcmp(knobs[i], wm_cublaslt.knobs[i]) == 0, "a knob's name");
    expect(open_problem(&w, &problem, offers, "matmul f32 20x30x40") == 2, "offers, run to run");
    expect(offers[0].knob[0] == 7 && offers[0].knob[8] == 3 && offers[0].workspace == 0, "the first offer");
    expect(offers[1].knob[0] == 21 && offers[1].knob[3] == 3 && offers[1].workspace == 1001, "the second offer");
    expect(offers[0].seconds > 0 && offers[0].seconds < offers[1].seconds, "the library's order is kept");
    expect(open_problem(&w, &problem, offers, "matmul f32 20x30x40 det=not_guaranteed") == 3, "offers, any order");
    expect(open_problem(&w, &problem, offers, "matmul f16 20x30x40 det=not_guaranteed") == 2, "sums in f16");
    expect(open_problem(&w, &problem, offers, "matmul c128 20x30x40 det=not_guaranteed") == 1, "c128 without split_k");
    expect(open_problem(&w, &problem, offers, "matmul bf16 5x7x16 bias=n") == 1, "split_k would round before the bias");
    expect(open_problem(&w, &problem, offers, "matmul f16 5x7x16 act=relu") == 1, "or before the activation");
    expect(open_problem(&w, &problem, offers, "matmul f32 5x7x16 bias=n") == 2, "offers with a bias");
    expect(offers[0].workspace == 32 && offers[1].workspace == 1008 + 32, "room for an aligned bias");
    offers[0].knob[0] = 8; /* wisdom of another library */
    expect(wm_cublaslt.make(context, &problem, &offers[0], &state) == WM_ERR_VENDOR, "an unknown algorithm");
    expect(strstr(wmLastError(), "CUBLAS_STATUS_INVALID_VALUE") != NULL, "its sentence");
    wm_cublaslt.drop(context, state);
    wm_cublaslt.drop(context, NULL);
}

extern int wm_fake_lt_asked, wm_fake_lt_checks;

/* Planning by estimate asks for 2 algorithms; for all 16 only where it may take none of those. */
static void few_are_asked_for(wmContext *context) {
    static const struct {
        const char *problem;
        int few, asked, most_checks, offers;
    } cases[] = {
        {"matmul f32 20x30x40",        1, 2,  0, 1},
        {"matmul f32 20x30x40",        0, 16, 3, 2},
        {"matmul f16 5x7x16 act=relu", 1, 2,  0, 1},
        {"matmul c128 20x30x40",       1, 2,  0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wm_problem problem;
        wm_found found;
        expect(wm_problem_parse(&problem, cases[i].problem, WM_PLACE_GPU) == WM_OK, cases[i].problem);
        wm_fake_lt_asked = wm_fake_lt_checks = 0;
        expect((cases[i].few ? wm_search_few : wm_search_offers)(context, &problem, 0, &found) == WM_OK, "a search");
        if (wm_fake_lt_asked != cases[i].asked || wm_fake_lt_checks > cases[i].most_checks ||
            found.count != cases[i].offers) {
            printf("%s: asked for %d, %d checks, %d offers\n", cases[i].problem, wm_fake_lt_asked, wm_fake_lt_checks,
                   found.count);
            expect(0, "few are asked for");
        }
        wm_found_free(&found);
    }
}

extern int wm_fake_lt_guessed_on, wm_fake_lt_checked_on;

/* A plan that leaves multiprocessors free tells the library how many are left: when it asks and when it makes. */
static void told_what_is_left(wmContext *context) {
    wmPlanOptions options = wmPlanOptionsDefault();
    wmPlan *plan = NULL;
    int all = wm_context_device(context)->multiprocessors;
    for (int left_free = 0; left_free < all; left_free++) {
        options.left_free = left_free;
        wm_fake_lt_guessed_on = wm_fake_lt_checked_on = -1;
        expect(wmPlanCreate(&plan, context, "matmul f32 20x30x40", &options) == WM_OK, "a plan that leaves some free");
        expect(wm_fake_lt_guessed_on == (left_free ? all - left_free : 0), "the heuristic is told");
        expect(wm_fake_lt_checked_on == wm_fake_lt_guessed_on, "the plan's algorithm is checked for as many");
        wmPlanDestroy(plan);
    }
}

static void refused(wmContext *context) {
    static const char *const problems[] = {
        "matmul f32 5x6x0",
        "matmul f32 5x6x7 bias=m",
        "matmul f32 5x6x7 od=col bias=n",
        "matmul f16 8x8x8 act=gelu_erf",
        "matmul f32 8x8x8 act=gelu_tanh",
        "matmul bf16 8x8x8 bias=n bias_type=f32",
        "matmul f64 8x8x8 bias=n",
        "matmul c64 8x8x8 bias=n",
        "matmul f16 8x8x8 c=f32",
        "matmul f16 8x8x8 b=bf16",
        "matmul f32 8x8x8 ldc=9 oc=col",
        "matmul e5m2 16x16x16 tb=t",
        "matmul e4m3 16x16x16 tb=t d=e5m2 c=bf16",
        "matmul e4m3 16x16x16 tb=t d=e4m3",
        "matmul e4m3 16x16x16 tb=t d=e4m3 c=bf16 scale_d=tensor",
        "matmul e4m3 16x16x16",
        "matmul f32 4294967296x1x1",
    };
    wm_offer offers[WM_MAX_OFFERS];
    wm_problem problem;
    walk w = {.context = context, .solver = &wm_cublaslt};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        expect(open_problem(&w, &problem, offers, problems[i]) == 0, problems[i]);
}

/* A scale of one operand goes with that operand, also where the two change places; C of another type than D. */
static void fp8(wmContext *context) {
    static const char *const problems[] = {
        "matmul e4m3 8x16x32 tb=t scale_a=tensor",
        "matmul e4m3 8x16x32 ta=t oa=col ob=col tb=n od=col scale_b=tensor",
        "matmul e4m3 8x16x32 ta=n oa=row ob=col od=col scale_a=tensor",
        "matmul e4m3 8x16x32 tb=t b=e5m2 d=e5m2 c=bf16 scale_b=tensor",
        "matmul e4m3 8x16x32 tb=t d=f32 bias=n bias_type=bf16",
    };
    wm_offer offers[WM_MAX_OFFERS];
    wm_problem problem;
    walk w = {.context = context, .solver = &wm_cublaslt, .random = 11};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        int count = open_problem(&w, &problem, offers, problems[i]);
        expect(count > 0, problems[i]);
        if (count) walk_one(&w, &offers[0]);
    }
    failures += w.failures;
}

/* One scalar on the device, the other on the host: 0 and 1 are exact, others refused by name. */
static void mixed_scalars(wmContext *context) {
    static const char *const problems[] = {"matmul f32 1x1x1", "matmul f64 1x1x1", "matmul c128 1x1x1",
                                           "matmul i8 1x1x1"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        for (int beta_on_device = 0; beta_on_device < 2; beta_on_device++) {
            wm_offer offers[WM_MAX_OFFERS];
            wm_problem problem;
            walk w = {.context = context, .solver = &wm_cublaslt, .random = 9};
            if (!open_problem(&w, &problem, offers, problems[i])) expect(0, problems[i]);
            wmType type = problem.u.matmul.d.type;
            walk_buffer x[4];
            for (int b = 0; b < 4; b++) x[b] = walk_new(&w, 16, 0);
            w.offer = &offers[0];
            wm_number_store(problem.u.matmul.a.type, x[0].host, 0, (wm_number){3, 0});
            wm_number_store(problem.u.matmul.a.type, x[1].host, 0, (wm_number){5, 0});
            wm_number_store(type, x[2].host, 0, (wm_number){100, 0});
            wm_number_store(type, x[3].host, 0, (wm_number){2, 0}); /* the scalar */
            for (int b = 0; b < 4; b++) walk_send(&w, &x[b]);
            expect(wm_cublaslt.make(context, &problem, w.offer, &w.state) == WM_OK, "make");
            wm_args args = {.matmul = wmMatmulArgsDefault(x[0].device, x[1].device, x[2].device)};
            args.matmul.c = x[2].device;
            args.matmul.alpha = beta_on_device ? wmReal(1) : wmDeviceScalar(x[3].device);
            args.matmul.beta = beta_on_device ? wmDeviceScalar(x[3].device) : wmReal(0);
            (void)walk_run(&w, &args); /* 15 + 200, or 30 */
            walk_receive(&w, &x[2]);
            expect(wm_number_load(type, x[2].host, 0).re == (beta_on_device ? 215 : 30), "mixed scalars");
            wmScalar *host = beta_on_device ? &args.matmul.alpha : &args.matmul.beta;
            *host = wmReal(0.5);
            wm_run run = {context, &problem, w.offer, w.state, &args, NULL, NULL};
            expect(wm_cublaslt.run(&run) == WM_ERR_UNSUPPORTED, "a half beside a device scalar");
            expect(strstr(wmLastError(), beta_on_device ? "args.alpha is 0.5" : "args.beta is 0.5") != NULL, "by name");
            wm_cublaslt.drop(context, w.state);
            for (int b = 0; b < 4; b++) walk_free(&w, &x[b]);
            failures += w.failures;
        }
}

int main(int argc, char **argv) {
    static const wm_solver *const solvers[] = {&wm_cublaslt, NULL};
    wm_fake *fake = wm_simt_gpu_new();
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = "";
    wm_fake_set_eager(fake, 1); /* the library works at once */
    if (wm_context_create_with(&context, &options, wm_fake_gpu(fake), solvers, 1, wm_clock_system()) != WM_OK) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    failures += wm_walk(context, NULL, argc > 1 ? argv[1] : NULL, 20260614);
    if (argc == 1) {
        every_layout(context);
        right_offers(context);
        few_are_asked_for(context);
        told_what_is_left(context);
        refused(context);
        fp8(context);
        mixed_scalars(context);
    }
    wmContextDestroy(context);
    wm_fake_end(fake);
    if (wm_simt_fault_count()) printf("FAIL the emulation reports\n%s", wm_simt_faults());
    return failures || wm_simt_fault_count();
}
