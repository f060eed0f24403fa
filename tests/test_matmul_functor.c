/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functors of products: each result is what the text says of the value that the other steps give, in the order that
 * the header states, and goes on to reductions, scales and rounding. Data are small integers, so that every step is
 * exact and results are compared bit by bit. On the CPU place, under the emulation (which calls the host function), and
 * on a GPU ("gpu"). Without a GPU the texts are compiled for one where NVRTC is there.
 */
#include "functor_place.h"
#include "host/matmul_functor.h"
#include "lib/functor.h"
#include "lib/matmul_view.h"
#include "reference/number.h"

#include <math.h>

/* user: a factor for each column. */
static const char text[] = "__device__ float mixed(float y, long long row, long long column, long long batch,\n"
                           "                       const void *user) {\n"
                           "    return y * ((const float *)user)[column] + (float)(row + 2 * batch);\n"
                           "}\n"
                           "__device__ float negated(float y, long long, long long, long long, const void *) {\n"
                           "    return -y;\n"
                           "}\n";
static const char text_f64[] = "__device__ double mixed(double y, long long row, long long column, long long batch,\n"
                               "                        const void *user) {\n"
                               "    return y * (double)((const float *)user)[column] + (double)(row + 2 * batch);\n"
                               "}\n";

static double mixed(double y, int64_t row, int64_t column, int64_t batch, const void *user) {
    return y * (double)((const float *)user)[column] + (double)(row + 2 * batch);
}

static double negated(double y, int64_t row, int64_t column, int64_t batch, const void *user) {
    (void)row, (void)column, (void)batch, (void)user;
    return -y;
}

static uint64_t seed;

static int64_t below(int64_t n) { /* splitmix64 */
    uint64_t x = seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((x ^ x >> 31) % (uint64_t)n);
}

static double small(void) {
    return (double)below(7) - 3;
}

static wmMatmulFunctor functor_of(const wmMatmulDesc *d) {
    return (wmMatmulFunctor){d->compute == WM_COMPUTE_F64 ? text_f64 : text, "mixed", mixed};
}

/* ---- One case: host memory, and the same at the place ---- */

typedef struct matrix {
    const wmMatrixDesc *desc;
    wm_view view;
    size_t bytes;
    void *here, *there;
} matrix;

typedef struct functor_case {
    wmMatmulDesc d;
    matrix a, b, r, out;
    float *bias, *factor, *d_scale;
    double alpha;
    int drops; /* all of it */
} functor_case;

static matrix make_matrix(const wmMatmulDesc *d, const wmMatrixDesc *desc, char which) {
    matrix x = {desc, wm_view_of(desc), 0, NULL, NULL};
    if (!desc->type) return x;
    x.bytes = (size_t)wm_matrix_span(desc, wm_matmul_shape(d, which), d->batch) * wmTypeSize(desc->type);
    x.here = malloc(x.bytes);
    assert_non_null(x.here);
    for (size_t i = 0; i < x.bytes / wmTypeSize(desc->type); i++)
        wm_number_store(desc->type, x.here, (int64_t)i, (wm_number){small(), 0});
    x.there = place_send(x.here, x.bytes);
    return x;
}

static double at(const matrix *x, int64_t t, int64_t i, int64_t j) {
    return wm_number_load(x->desc->type, x->here, t * x->view.batch + i * x->view.row + j * x->view.col).re;
}

static double linear(const functor_case *c, int64_t t, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t q = 0; q < c->d.k; q++) sum += at(&c->a, t, i, q) * at(&c->b, t, q, j);
    return c->alpha * sum + (c->d.bias ? (double)c->bias[c->d.bias == WM_BIAS_N ? j : i] : 0);
}

/** y(i, j) before reductions and scales. */
static double value(const functor_case *c, int64_t t, int64_t i, int64_t j) {
    const wmMatmulDesc *d = &c->d;
    double y = linear(c, t, i, d->gate ? 2 * j : j);
    if (d->activation == WM_ACT_RELU) y = fmax(y, 0);
    if (d->gate) y *= linear(c, t, i, 2 * j + 1);
    if (c->drops) y = 0;
    if (d->r.type) y += at(&c->r, t, i, j);
    return mixed(y, i, j, t, c->factor);
}

static void compare(const functor_case *c, const wmPlan *plan, const double *reduced) {
    const wmMatmulDesc *d = &c->d;
    wmType type = d->d.type;
    void *before = malloc(c->out.bytes);
    assert_non_null(before);
    memcpy(before, c->out.here, c->out.bytes); /* what D held stands in the gaps and beyond the triangle */
    assert_int_equal(wmCopy(place_context, c->out.here, c->out.there, c->out.bytes, NULL), WM_OK);
    assert_int_equal(wmSynchronize(place_context, NULL), WM_OK);
    for (int64_t t = 0; t < d->batch; t++)
        for (int64_t i = 0; i < d->m; i++) {
            double sum = 0;
            for (int64_t j = 0; j < wm_matmul_columns(d); j++) {
                if (!wm_matmul_has(d, i, j)) continue;
                double y = value(c, t, i, j);
                sum += y;
                if (d->d.scale) y /= (double)c->d_scale[t * d->m + i];
                if (type == WM_I8) y = fmin(fmax(rint(y), -128), 127);
                wm_number_store(type, before, t * c->out.view.batch + i * c->out.view.row + j * c->out.view.col,
                                (wm_number){y, 0});
            }
            if (d->reduction && reduced[t * d->m + i] != sum)
                fail_msg("%s by %s: sum of row %lld is %g, not %g", wmPlanProblem(plan), wmPlanSolver(plan),
                         (long long)i, reduced[t * d->m + i], sum);
        }
    if (memcmp(before, c->out.here, c->out.bytes) != 0)
        fail_msg("%s by %s: not what the functor says", wmPlanProblem(plan), wmPlanSolver(plan));
    free(before);
}

static void run_case(functor_case *c) {
    const wmMatmulDesc *d = &c->d;
    wmPlan *plan = NULL;
    double reduced[256];
    float narrow[256] = {0};
    assert_true(d->m * d->batch <= 256);
    if (wmMatmulPlanCreate(&plan, place_context, d, NULL) != WM_OK) fail_msg("%s", wmLastError());
    wmMatmulArgs args = wmMatmulArgsDefault(c->a.there, c->b.there, c->out.there);
    void *bias = place_send(c->bias, 256 * 4), *factor = place_send(c->factor, 256 * 4);
    void *d_scale = place_send(c->d_scale, 256 * 4), *sums = place_send(narrow, sizeof reduced / 2);
    args.bias = bias, args.d_scale = d_scale, args.reduced = sums, args.functor_user = factor;
    args.alpha = wmReal(c->alpha);
    args.r = c->r.there;
    args.drop = c->drops;
    if (wmMatmulExecute(plan, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
    assert_int_equal(wmCopy(place_context, narrow, sums, sizeof narrow, NULL), WM_OK);
    assert_int_equal(wmSynchronize(place_context, NULL), WM_OK);
    for (int i = 0; i < 256; i++) reduced[i] = (double)narrow[i];
    compare(c, plan, reduced);
    void *all[] = {bias, factor, d_scale, sums};
    for (int i = 0; i < 4; i++) wmFree(place_context, all[i]);
    wmPlanDestroy(plan);
}

static void check(const char *problem, double alpha, int drops) {
    float bias[256], factor[256], d_scale[256];
    functor_case c = {.bias = bias, .factor = factor, .d_scale = d_scale, .alpha = alpha, .drops = drops};
    wm_problem parsed;
    if (wm_problem_parse(&parsed, problem, wmContextPlace(place_context)) != WM_OK) fail_msg("%s", wmLastError());
    c.d = parsed.u.matmul;
    c.d.functor = functor_of(&c.d);
    assert_true(c.d.m <= 256 && c.d.n <= 256);
    for (int i = 0; i < 256; i++) {
        bias[i] = (float)small(), factor[i] = (float)small();
        d_scale[i] = (float)ldexp(1, (int)small());
    }
    c.a = make_matrix(&c.d, &c.d.a, 'a');
    c.b = make_matrix(&c.d, &c.d.b, 'b');
    c.r = make_matrix(&c.d, &c.d.r, 'r');
    c.out = make_matrix(&c.d, &c.d.d, 'd');
    run_case(&c);
    matrix *all[] = {&c.a, &c.b, &c.r, &c.out};
    for (int i = 0; i < 4; i++) {
        wmFree(place_context, all[i]->there);
        free(all[i]->here);
    }
}

static void types_and_steps(void **state) {
    (void)state;
    check("matmul f32 17x29x13", 1, 0);
    check("matmul f32 31x1x40", 2, 0);
    check("matmul f32 5x3x0", 1, 0);
    check("matmul f32 5x7x9", 0, 0);
    check("matmul f64 9x21x30", -1, 0);
    check("matmul bf16 33x40x17 ta=t bias=n bias_type=f32 act=relu", 1, 0);
    check("matmul f16 12x20x64 oa=col od=col ldd=15 bias=m bias_type=f32 d=f32 r=f32", 1, 0);
    check("matmul f32 8x24x10 gate=pairs act=relu batch=3", 1, 0);
    check("matmul f32 8x24x10 dropout=philox r=f32 batch=2 sd=400", 1, 1);
    check("matmul bf16 19x23x31 d=f32 r=bf16 bias=n bias_type=f32 act=relu reduce=row_sum scale_d=row batch=2", 1, 0);
    check("matmul f32 21x21x8 tb=t triangle=lower ldd=30", 1, 0);
    check("matmul f32 10x40x8 d=i8 scale_d=row", 1, 0);
    check("matmul i8 16x24x32 d=f32 reduce=row_sum", 2, 0);
}

/* ---- What is refused, and what a string says ---- */

static void refused(const wmMatmulDesc *d, const char *part) {
    wmPlan *plan = (wmPlan *)(uintptr_t)1;
    wmStatus status = wmMatmulPlanCreate(&plan, place_context, d, NULL);
    place_refused(status, plan, part);
}

static void refusals(void **state) {
    (void)state;
    int gpu = wmContextPlace(place_context) == WM_PLACE_GPU;
    wmMatmulDesc good = wmMatmulDescDefault(WM_F32, 4, 4, 4), d = good;
    good.functor = (wmMatmulFunctor){text, "mixed", mixed};
    d = good, d.functor.name = "two words";
    refused(&d, "functor.name");
    d = good, d.functor.name = NULL;
    refused(&d, "functor.name");
    d = good;
    if (gpu)
        d.functor.source = NULL;
    else
        d.functor.host = NULL;
    refused(&d, gpu ? "functor.source is NULL" : "functor.host is NULL");
    d = good, d.a.type = WM_C64;
    refused(&d, "functor is set; complex");
    d = good, d.a.type = WM_I8;
    refused(&d, "functor is set; i32");
    d = good, d.batch = 2, d.batch_mode = WM_BATCH_POINTERS;
    refused(&d, "batch_mode pointers");
    d = good, d.batch = 2, d.batch_mode = WM_BATCH_GROUPED;
    refused(&d, "batch_mode grouped");
    d = good, d.determinism = WM_BATCH_INVARIANT;
    refused(&d, "functor");
}

static void strings(void **state) {
    (void)state;
    wmPlace place = wmContextPlace(place_context);
    char first[WM_PROBLEM_TEXT], second[WM_PROBLEM_TEXT], copy[sizeof text];
    wmMatmulDesc d = wmMatmulDescDefault(WM_F32, 4, 4, 4);
    wm_problem a, b;
    memcpy(copy, text, sizeof text);
    d.functor = (wmMatmulFunctor){text, "mixed", mixed};
    assert_int_equal(wm_problem_from_matmul(&a, &d, place), WM_OK);
    d.functor.source = copy; /* equal texts at two addresses are one functor */
    assert_int_equal(wm_problem_from_matmul(&b, &d, place), WM_OK);
    assert_true(wm_problem_equal(&a, &b));
    d.functor.name = "negated";
    assert_int_equal(wm_problem_from_matmul(&b, &d, place), WM_OK);
    assert_false(wm_problem_equal(&a, &b));
    wm_problem_print(&a, first, sizeof first);
    assert_non_null(strstr(first, " functor=mixed:"));
    if (wm_problem_parse(&b, first, place) != WM_OK) fail_msg("%s", wmLastError());
    assert_true(wm_problem_equal(&a, &b));
    wm_problem_print(&b, second, sizeof second);
    assert_string_equal(first, second);
    assert_int_equal(wm_problem_parse(&b, "matmul f32 8x8x8 functor=nobody:1", place), WM_ERR_ARGUMENT);
    assert_non_null(strstr(wmLastError(), "nobody"));
    wmPlanOptions options = wmPlanOptionsDefault(); /* not measured: what would `user` be? */
    wmPlan *plan = NULL;
    options.effort = WM_MEASURE;
    if (wmMatmulPlanCreate(&plan, place_context, &d, &options) != WM_OK) fail_msg("%s", wmLastError());
    wmPlanDestroy(plan);
    options.effort = WM_WISDOM_ONLY;
    assert_int_equal(wmMatmulPlanCreate(&plan, place_context, &d, &options), WM_ERR_NO_WISDOM);
}

/* The cache of one-shot calls tells functors apart; structs of a header from before functors have none. */
static void one_shots(void **state) {
    (void)state;
    const float two[4] = {2, 2, 2, 2};
    float got[3][4];
    void *a = place_send(two, sizeof two), *b = place_send(two, sizeof two), *out = place_send(two, sizeof two);
    wmMatmulDesc d = wmMatmulDescDefault(WM_F32, 2, 2, 2);
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, out);
    args.functor_user = a;
    const wmMatmulFunctor functors[] = {
        {text, "mixed",   mixed  },
        {text, "negated", negated}
    };
    for (int i = 0; i < 3; i++) {
        d.functor = functors[i % 2];
        if (i == 2) {
            d.size = offsetof(wmMatmulDesc, functor);
            args.size = offsetof(wmMatmulArgs, functor_user);
        }
        if (wmMatmul(place_context, &d, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
        assert_int_equal(wmCopy(place_context, got[i], out, sizeof got[i], NULL), WM_OK);
        assert_int_equal(wmSynchronize(place_context, NULL), WM_OK);
    }
    assert_true(got[0][0] == 16 && got[0][3] == 17 && got[1][0] == -8 && got[1][3] == -8);
    assert_true(got[2][0] == 8 && got[2][3] == 8);
    wmFree(place_context, a);
    wmFree(place_context, b);
    wmFree(place_context, out);
}

/* ---- What a GPU would run ---- */

static void compiles(const char *source, int wide, int good) {
    wmMatmulFunctor functor = {source, "mixed", NULL};
    place_compiles(wm_matmul_functor_source(&functor, wide), WM_MATMUL_FUNCTOR_KERNEL, WM_MATMUL_FUNCTOR_OPTION, good);
}

static void texts_compile(void **state) {
    (void)state;
    if (!place_can_compile()) return;
    compiles(text, 0, 1);
    compiles(text_f64, 1, 1);
    compiles("this is not C", 0, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_and_steps), cmocka_unit_test(refusals),
                                       cmocka_unit_test(strings), cmocka_unit_test(one_shots),
                                       cmocka_unit_test(texts_compile)};
    if (place_open_at(argc, argv, &seed)) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    return failures + place_close() ? 1 : 0;
}
