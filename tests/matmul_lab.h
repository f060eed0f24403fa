/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bench on which test_matmul.c puts products: operands with guard bands and NaN padding, every solver of the place
 * run on them, each result judged by the oracle, every byte that must not change compared.
 */
#ifndef WM_TESTS_MATMUL_LAB_H
#define WM_TESTS_MATMUL_LAB_H

#include "lib/matmul_view.h"
#include "lib/solver.h"
#include "reference/number.h"
#include "reference/oracle_matmul.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { GUARD = 512, MAX_SOLVERS = 64 };

typedef enum data {
    UNIFORM,  /* (-1, 1) */
    INTEGERS, /* -3 … 3: sums are exact */
    TERNARY,  /* -1, 0, 1: exact in 16-bit results too */
    SCALED,   /* exponents over much of the type's range */
    POSITIVE, /* (0, 1): rounding errors that point one way add up */
    SPECIAL   /* uniform, with a NaN or an infinity here and there */
} data;

enum {
    IN_PLACE = 1,       /* C is D */
    DEVICE_SCALARS = 2, /* alpha and beta in the place's memory */
    MIXED_SCALARS = 4,  /* alpha there, beta on the host */
    NAN_IN_AB = 8, /* every element of A and B is NaN: they must not be read (a vendor's may, for a device scalar) */
    NAN_IN_C = 16  /* so for C */
};

typedef struct trial {
    const char *problem;
    data data;
    int flags;
    double alpha, beta, alpha_im, beta_im;
    wm_oracle_pick pick;
} trial;

/* One operand: its image on the host, and the same at the place. */
typedef struct operand {
    const char *name;
    wmType type;
    size_t bytes, item; /* between the guards; of one matrix of a pointer array */
    size_t shift;       /* of the first byte, so that it keeps the promised alignment and no more */
    char *host, *place;
    void **host_pointers, *place_pointers; /* pointer arrays */
} operand;

enum { A, B, C, D, BIAS, SCALES, SCALARS, OPERANDS };

typedef struct lab {
    wm_problem problem;
    const trial *t;
    operand x[OPERANDS];
    wmMatmulArgs host, place;
} lab;

static wmContext *lab_context;
static const wm_solver *const *lab_solvers;
static int lab_count;
static int lab_thin = 1;              /* of so many trials one is run: the emulation is slow */
static const char *lab_only;          /* one solver's name, or NULL */
static uint64_t lab_state;            /* of the random numbers */
static int lab_variants[MAX_SOLVERS]; /* run so far, by solver */
static double lab_alarm[MAX_SOLVERS]; /* largest error as a fraction of the probable bound, uniform data */

#define LAB_OK(call)                                                                                                   \
    do {                                                                                                               \
        if ((call) != WM_OK) fail_msg("%s: %s", #call, wmLastError());                                                 \
    } while (0)

static double lab_random(void) { /* [0, 1) */
    lab_state = lab_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(lab_state >> 11) * 0x1p-53;
}

static int64_t lab_below(int64_t count) {
    return (int64_t)(lab_random() * (double)count);
}

static double lab_value(wmType type, data kind) {
    double x = 2.0 * lab_random() - 1.0;
    int reach = 20; /* of exponents, so that products of two and sums of them stay in range */
    if (kind == INTEGERS || type == WM_I8 || type == WM_I32) return (double)(lab_below(7) - 3);
    if (kind == TERNARY) return (double)(lab_below(3) - 1);
    if (kind == POSITIVE) return lab_random();
    if (kind == SPECIAL && lab_random() < 0.002) return lab_random() < 0.5 ? NAN : copysign(INFINITY, x);
    if (kind != SCALED) return x;
    if (type == WM_F16 || wm_type_is_fp8(type)) reach = 5;
    if (type == WM_F64 || type == WM_C128) reach = 200;
    return ldexp(x, (int)lab_below(2 * reach + 1) - reach);
}

static void lab_put(wmType type, void *array, int64_t index, data kind, int nan) {
    wm_number x = {lab_value(type, kind), lab_value(type, kind)};
    if (nan) x.re = x.im = type == WM_I8 || type == WM_I32 ? 99 : NAN;
    wm_number_store(type, array, index, x);
}

/* ---- Operands ---- */

static void lab_allocate(operand *x, const char *name, wmType type, int64_t elements, int64_t items, int64_t align) {
    x->name = name;
    x->type = type;
    x->item = (size_t)elements * wmTypeSize(type);
    x->shift = align < 256 ? (size_t)align : 0;
    /* Matrices of a pointer array stand in falling order with gaps, each aligned like the first. */
    if (items > 1) x->item = (x->item + 255) / 256 * 256;
    x->bytes = x->item * (size_t)items;
    x->host = malloc(x->bytes + 2 * GUARD);
    assert_non_null(x->host);
    memset(x->host, 0xff, x->bytes + 2 * GUARD);
    LAB_OK(wmAlloc((void **)&x->place, lab_context, x->bytes + 2 * GUARD));
}

static char *lab_first(const operand *x, char *image) {
    return image + GUARD / 2 + x->shift;
}

static void lab_send(const operand *x) {
    LAB_OK(wmCopy(lab_context, x->place, x->host, x->bytes + 2 * GUARD, NULL));
}

static void lab_point(operand *x, int64_t items) {
    x->host_pointers = calloc((size_t)items, sizeof(void *));
    void **there = calloc((size_t)items, sizeof(void *));
    assert_true(x->host_pointers && there);
    for (int64_t i = 0; i < items; i++) {
        x->host_pointers[i] = lab_first(x, x->host) + (size_t)(items - 1 - i) * x->item;
        there[i] = lab_first(x, x->place) + (size_t)(items - 1 - i) * x->item;
    }
    LAB_OK(wmAlloc(&x->place_pointers, lab_context, (size_t)items * sizeof(void *)));
    LAB_OK(wmCopy(lab_context, x->place_pointers, there, (size_t)items * sizeof(void *), NULL));
    free(there);
}

static void lab_fill(const lab *l, const operand *x, const wmMatrixDesc *desc, int64_t rows, int64_t cols, int nan) {
    const wmMatmulDesc *d = &l->problem.u.matmul;
    wm_view view = wm_view_of(desc);
    const void *arg = x->host_pointers ? (const void *)x->host_pointers : lab_first(x, x->host);
    for (int64_t t = 0; t < d->batch; t++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                lab_put(x->type, (void *)wm_matrix_at(d, desc, arg, t), i * view.row + j * view.col, l->t->data, nan);
}

static void lab_matrix(lab *l, int which, const char *name, const wmMatrixDesc *desc, int64_t rows, int64_t cols) {
    const wmMatmulDesc *d = &l->problem.u.matmul;
    operand *x = &l->x[which];
    int pointers = d->batch_mode == WM_BATCH_POINTERS, flags = l->t->flags;
    int64_t elements = wm_matrix_span(desc, wm_matmul_shape(d, name[0]), pointers ? 1 : d->batch);
    lab_allocate(x, name, desc->type, elements, pointers ? d->batch : 1, desc->align);
    if (pointers) lab_point(x, d->batch);
    if (which == D && !(flags & IN_PLACE)) return; /* stays NaN */
    lab_fill(l, x, desc, rows, cols, which < C ? flags & NAN_IN_AB : which == C ? flags & NAN_IN_C : 0);
}

static void lab_vector(lab *l, int which, const char *name, wmType type, int64_t count) {
    lab_allocate(&l->x[which], name, type, count, 1, (int64_t)wmTypeSize(type));
    for (int64_t i = 0; i < count; i++) lab_put(type, lab_first(&l->x[which], l->x[which].host), i, l->t->data, 0);
}

/* ---- Arguments ---- */

static const void *lab_arg(const operand *x, int at_place) {
    if (!x->host) return NULL;
    if (x->host_pointers) return at_place ? x->place_pointers : (const void *)x->host_pointers;
    return lab_first(x, at_place ? x->place : x->host);
}

static wmMatmulArgs lab_args(const lab *l, int at_place) {
    const wmMatmulDesc *d = &l->problem.u.matmul;
    const trial *t = l->t;
    wmMatmulArgs args = wmMatmulArgsDefault(lab_arg(&l->x[A], at_place), lab_arg(&l->x[B], at_place),
                                            (void *)lab_arg(&l->x[D], at_place));
    args.c = lab_arg(&l->x[t->flags & IN_PLACE ? D : C], at_place);
    args.bias = lab_arg(&l->x[BIAS], at_place);
    const float *scales = lab_arg(&l->x[SCALES], at_place);
    if (d->a.scale) args.a_scale = scales;
    if (d->b.scale) args.b_scale = scales + 1;
    if (d->d.scale) args.d_scale = scales + 2;
    args.alpha = wmComplex(t->alpha, t->alpha_im);
    args.beta = wmComplex(t->beta, t->beta_im);
    const char *scalars = lab_arg(&l->x[SCALARS], at_place);
    if (t->flags & (DEVICE_SCALARS | MIXED_SCALARS)) args.alpha = wmDeviceScalar(scalars);
    if (t->flags & DEVICE_SCALARS) args.beta = wmDeviceScalar(scalars + wmTypeSize(wm_matmul_scale_type(d)));
    return args;
}

static void lab_open(lab *l, const trial *t) {
    memset(l, 0, sizeof *l);
    l->t = t;
    LAB_OK(wm_problem_parse(&l->problem, t->problem, wmContextPlace(lab_context)));
    const wmMatmulDesc *d = &l->problem.u.matmul;
    lab_matrix(l, A, "a", &d->a, d->m, d->k);
    lab_matrix(l, B, "b", &d->b, d->k, d->n);
    lab_matrix(l, D, "d", &d->d, d->m, d->n);
    if (!(t->flags & IN_PLACE)) lab_matrix(l, C, "c", &d->c, d->m, d->n);
    if (d->bias) lab_vector(l, BIAS, "bias", d->bias_type, d->bias == WM_BIAS_N ? d->n : d->m);
    if (d->a.scale || d->b.scale || d->d.scale) lab_vector(l, SCALES, "scales", WM_F32, 3);
    wmType scalar = wm_matmul_scale_type(d);
    wm_number alpha = {t->alpha, t->alpha_im}, beta = {t->beta, t->beta_im};
    lab_vector(l, SCALARS, "scalars", scalar, 2);
    wm_number_store(scalar, lab_first(&l->x[SCALARS], l->x[SCALARS].host), 0, alpha);
    wm_number_store(scalar, lab_first(&l->x[SCALARS], l->x[SCALARS].host), 1, beta);
    for (int i = 0; i < OPERANDS; i++)
        if (l->x[i].host) lab_send(&l->x[i]);
    l->host = lab_args(l, 0);
    l->place = lab_args(l, 1);
}

static void lab_close(lab *l) {
    for (int i = 0; i < OPERANDS; i++) {
        free(l->x[i].host);
        free(l->x[i].host_pointers);
        wmFree(lab_context, l->x[i].place);
        wmFree(lab_context, l->x[i].place_pointers);
    }
}

/* ---- One variant of one solver ---- */

static void lab_fail(const lab *l, const wm_solver *solver, const wm_offer *offer, const char *what) {
    char knobs[160] = "";
    for (int i = 0; solver->knobs[i]; i++) {
        size_t length = strlen(knobs);
        snprintf(knobs + length, sizeof knobs - length, " %s=%d", solver->knobs[i], offer->knob[i]);
    }
    fail_msg("%s%s, \"%s\" data %d alpha %g beta %g flags %d: %s", solver->name, knobs, l->t->problem, l->t->data,
             l->t->alpha, l->t->beta, l->t->flags, what);
}

/* The image of x at the place, brought here. */
static char *lab_fetch(const operand *x) {
    char *image = malloc(x->bytes + 2 * GUARD);
    assert_non_null(image);
    LAB_OK(wmCopy(lab_context, image, x->place, x->bytes + 2 * GUARD, NULL));
    LAB_OK(wmSynchronize(lab_context, NULL));
    return image;
}

/* Every byte of D's image that is no element is still 0xff. Overwrites the elements. */
static int lab_padding_kept(const lab *l, char *image) {
    const wmMatmulDesc *d = &l->problem.u.matmul;
    const operand *x = &l->x[D];
    size_t size = wmTypeSize(x->type);
    wm_view view = wm_view_of(&d->d);
    for (int64_t t = 0; t < d->batch; t++)
        for (int64_t i = 0; i < d->m; i++)
            for (int64_t j = 0; j < d->n; j++) {
                const char *matrix = wm_matrix_at(d, &d->d, lab_arg(x, 0), t);
                memset(image + (matrix - x->host) + (i * view.row + j * view.col) * (int64_t)size, 0xff, size);
            }
    for (size_t i = 0; i < x->bytes + 2 * GUARD; i++)
        if ((unsigned char)image[i] != 0xff) return 0;
    return 1;
}

static wm_oracle_verdict lab_judge(const lab *l, const wm_solver *solver, const char *image) {
    wm_oracle_pick pick = l->t->pick;
    pick.vendor = solver->origin == WM_VENDOR;
    const wmMatmulDesc *d = &l->problem.u.matmul;
    const operand *x = &l->x[D];
    if (!x->host_pointers) return wm_oracle_matmul(&l->problem, &l->host, lab_first(x, (char *)image), &pick);
    const void **pointers = calloc((size_t)d->batch, sizeof *pointers);
    assert_non_null(pointers);
    for (int64_t i = 0; i < d->batch; i++) pointers[i] = image + ((char *)x->host_pointers[i] - x->host);
    wm_oracle_verdict v = wm_oracle_matmul(&l->problem, &l->host, pointers, &pick);
    free(pointers);
    return v;
}

/* determinism = gpu_to_gpu: the CPU's judge gives the same bytes. */
static int lab_same_as_cpu(const lab *l, const char *image) {
    extern const wm_solver wm_matmul_naive_cpu;
    wmContextOptions options = wmContextOptionsDefault();
    wmContext *cpu = NULL;
    wm_problem problem = l->problem;
    wm_offer offer;
    wm_args args = {.matmul = l->host};
    const operand *x = &l->x[D];
    options.place = problem.u.matmul.place = WM_PLACE_CPU;
    options.wisdom_path = "";
    LAB_OK(wmContextCreate(&cpu, &options));
    assert_int_equal(wm_matmul_naive_cpu.offer(cpu, &problem, &offer, 1, NULL), 1);
    char *workspace = malloc(offer.workspace), *mine = malloc(x->bytes + 2 * GUARD);
    assert_true(workspace && mine);
    memcpy(mine, x->host, x->bytes + 2 * GUARD);
    args.matmul.d = lab_first(x, mine);
    if (l->t->flags & IN_PLACE) args.matmul.c = args.matmul.d;
    wm_run run = {cpu, &problem, &offer, NULL, &args, workspace, NULL};
    LAB_OK(wm_matmul_naive_cpu.run(&run));
    int same = memcmp(mine, image, x->bytes + 2 * GUARD) == 0;
    free(workspace);
    free(mine);
    wmContextDestroy(cpu);
    return same;
}

static void lab_check(lab *l, int index, const wm_solver *solver, const wm_offer *offer) {
    char text[300];
    for (int i = 0; i < OPERANDS; i++) {
        if (!l->x[i].host || i == D) continue;
        char *image = lab_fetch(&l->x[i]);
        int same = memcmp(image, l->x[i].host, l->x[i].bytes + 2 * GUARD) == 0;
        free(image);
        if (!same) lab_fail(l, solver, offer, "an input was written");
    }
    char *image = lab_fetch(&l->x[D]);
    if (l->problem.u.matmul.determinism == WM_GPU_TO_GPU && !lab_same_as_cpu(l, image))
        lab_fail(l, solver, offer, "not the CPU's bits");
    wm_oracle_verdict v = lab_judge(l, solver, image);
    int kept = lab_padding_kept(l, image);
    free(image);
    wm_oracle_describe(&v, text, sizeof text);
    if (v.wrong || (v.judged == 0 && v.unjudged == 0)) lab_fail(l, solver, offer, text);
    if (!kept) lab_fail(l, solver, offer, "a byte outside D's elements was written");
    wmType type = l->x[D].type; /* sums that are exact in the result */
    int exact = l->t->data == INTEGERS && (type == WM_F32 || type == WM_F64 || type == WM_C64 || type == WM_C128);
    if ((exact || l->t->data == TERNARY) && !l->problem.u.matmul.activation && v.worst != 0.0)
        lab_fail(l, solver, offer, text);
    if (l->t->data == UNIFORM && v.alarm > lab_alarm[index]) lab_alarm[index] = v.alarm;
    if (l->t->data == UNIFORM && !(v.alarm <= 1.0)) lab_fail(l, solver, offer, "errors are improbably large");
}

static void lab_run(lab *l, int index, const wm_solver *solver, const wm_offer *offer) {
    wm_args args;
    void *state = NULL;
    char *workspace = NULL, guard[GUARD];
    memset(&args, 0, sizeof args);
    args.matmul = l->place;
    lab_send(&l->x[D]);
    LAB_OK(wmAlloc((void **)&workspace, lab_context, offer->workspace + GUARD));
    memset(guard, 0x5a, GUARD);
    LAB_OK(wmCopy(lab_context, workspace + offer->workspace, guard, GUARD, NULL));
    if (solver->make(lab_context, &l->problem, offer, &state) != WM_OK) lab_fail(l, solver, offer, wmLastError());
    wm_run run = {lab_context, &l->problem, offer, state, &args, offer->workspace ? workspace : NULL, NULL};
    if (solver->run(&run) != WM_OK) lab_fail(l, solver, offer, wmLastError());
    if (wmSynchronize(lab_context, NULL) != WM_OK) lab_fail(l, solver, offer, wmLastError());
    if (solver->drop) solver->drop(lab_context, state);
    LAB_OK(wmCopy(lab_context, guard, workspace + offer->workspace, GUARD, NULL));
    LAB_OK(wmSynchronize(lab_context, NULL));
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != 0x5a) lab_fail(l, solver, offer, "a byte behind the workspace was written");
    wmFree(lab_context, workspace);
    lab_check(l, index, solver, offer);
    lab_variants[index]++;
}

/* Runs every variant of every solver; gives their number. */
static int lab_try(const trial *t) {
    wm_offer offers[WM_MAX_OFFERS];
    int runs = 0;
    lab l;
    lab_open(&l, t);
    for (int s = 0; s < lab_count; s++) {
        wm_why why = {""};
        if (lab_solvers[s]->op != WM_MATMUL || lab_solvers[s]->place != wmContextPlace(lab_context)) continue;
        if (lab_only && strcmp(lab_only, lab_solvers[s]->name) != 0) continue;
        if (wm_problem_features(&l.problem) & ~lab_solvers[s]->features) continue;
        if (lab_solvers[s]->origin == WM_VENDOR && t->flags & NAN_IN_AB && t->flags & DEVICE_SCALARS) continue;
        int offered = lab_solvers[s]->offer(lab_context, &l.problem, offers, WM_MAX_OFFERS, &why);
        if (offered == 0) assert_int_not_equal(why.text[0], 0);
        for (int i = 0; i < offered; i++) lab_run(&l, s, lab_solvers[s], &offers[i]);
        runs += offered;
    }
    lab_close(&l);
    return runs;
}

/* The same, for one trial in lab_thin; with no solver there is nothing tested. */
static void lab_must(const trial *t) {
    static int turn;
    if (turn++ % lab_thin != 0) return;
    if (lab_try(t) == 0 && !lab_only) fail_msg("no solver for \"%s\"", t->problem);
}

#endif
