/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load and store functors: what comes out is what a plain transform of what they load gives, stored as they say. On the
 * CPU place, under the emulation (which calls the host functions), and on a GPU ("gpu"). Without a GPU the texts are
 * compiled for one where NVRTC is there.
 */
#include "fft_place.h"
#include "functor_place.h"
#include "host/convolve_functors.h"
#include "host/fft_cut.h"
#include "host/fft_functor.h"
#include "host/fft_stages.h"
#include "lib/functor.h"

/* One text for all; user: factors, one a position. */
static const char text[] = "__device__ wmC64 load_i16(const void *in, long long index, long long position,\n"
                           "                          const void *user) {\n"
                           "    return wmC64{((const short *)in)[index] * ((const float *)user)[position], 0.0f};\n"
                           "}\n"
                           "__device__ wmC64 load_pair(const void *in, long long index, long long position,\n"
                           "                           const void *user) {\n"
                           "    float w = ((const float *)user)[position];\n"
                           "    const short *pair = (const short *)in + 2 * index;\n"
                           "    return wmC64{pair[0] * w, pair[1] * w};\n"
                           "}\n"
                           "__device__ void store_power(void *out, long long index, long long position, wmC64 v,\n"
                           "                            const void *user) {\n"
                           "    ((float *)out)[index] = v.re * v.re + v.im * v.im + ((const float *)user)[position];\n"
                           "}\n";
static const char text_f64[] =
    "__device__ wmC128 load_pair(const void *in, long long index, long long position, const void *user) {\n"
    "    double w = ((const float *)user)[position];\n"
    "    const short *pair = (const short *)in + 2 * index;\n"
    "    return wmC128{pair[0] * w, pair[1] * w};\n"
    "}\n";

static wmFftPair load_i16(const void *in, int64_t index, int64_t position, const void *user) {
    return (wmFftPair){(double)((float)((const int16_t *)in)[index] * ((const float *)user)[position]), 0};
}

static wmFftPair load_pair(const void *in, int64_t index, int64_t position, const void *user) {
    const int16_t *pair = (const int16_t *)in + 2 * index;
    double w = (double)((const float *)user)[position];
    return (wmFftPair){pair[0] * w, pair[1] * w};
}

static void store_power(void *out, int64_t index, int64_t position, wmFftPair v, const void *user) {
    ((float *)out)[index] = (float)(v.re * v.re + v.im * v.im) + ((const float *)user)[position];
}

static wmFftLoad load_of(const wmFftDesc *d) {
    int real = d->kind == WM_FFT_R2C;
    return (wmFftLoad){d->type == WM_F64 ? text_f64 : text, real ? "load_i16" : "load_pair",
                       real ? load_i16 : load_pair, real ? WM_I16 : WM_I32};
}

/* ---- One case ---- */

typedef struct functor_case {
    wmFftDesc d;
    int loads, stores;
    int64_t in, out;          /* elements of both sides */
    int16_t *x;               /* as it is in memory */
    void *plain, *want, *got; /* as the transform sees it; its result; what came out */
    float *in_factor, *out_term;
} functor_case;

static void fill_case(functor_case *c) {
    int64_t reals = c->in * fft_pairs(&c->d, 0);
    for (int64_t i = 0; i < reals; i++) c->x[i] = (int16_t)(fft_random() >> 48);
    for (int64_t i = 0; i < wm_fft_points(&c->d); i++) {
        c->in_factor[i] = (float)(1 + fft_below(8)) / 65536.0f;
        c->out_term[i] = (float)fft_below(100);
    }
}

/** The plain input: position by position, array by array (packed, or rows apart by in_stride). */
static void fill_plain(const functor_case *c) {
    const wmFftDesc *d = &c->d;
    int64_t array = 1, pairs = fft_pairs(d, 0), arrays = wm_fft_batch(d);
    for (int i = 0; i < d->rank; i++) array *= wm_fft_length(d, i, 0);
    for (int64_t a = 0; a < arrays; a++)
        for (int64_t p = 0; p < array; p++)
            for (int64_t half = 0; half < pairs; half++) {
                int64_t at =
                    (a * (d->loops ? d->loop[0].in_stride : 0) + p * d->dim[d->rank - 1].in_stride) * pairs + half;
                double v = c->loads ? c->x[at] * (double)c->in_factor[p] : (double)(int64_t)fft_random() * 0x1p-63;
                fft_put(c->plain, d->type, at, v);
            }
}

static double run_case(functor_case *c) {
    const wmFftDesc *d = &c->d;
    wmFftDesc fused = *d;
    size_t scalar = wmTypeSize(d->type), plain_bytes = (size_t)(c->in * fft_pairs(d, 0)) * scalar;
    size_t want_bytes = (size_t)(c->out * fft_pairs(d, 1)) * scalar, factor_bytes = (size_t)wm_fft_points(d) * 4;
    if (c->loads) fused.load = load_of(d);
    if (c->stores) fused.store = (wmFftStore){text, "store_power", store_power, WM_F32};
    wmPlan *plain = place_plan(d), *plan = place_plan(&fused);
    void *load_user = place_send(c->in_factor, factor_bytes), *store_user = place_send(c->out_term, factor_bytes);
    place_run(plain, c->plain, plain_bytes, c->want, want_bytes, 0, NULL, NULL);
    size_t x_bytes = (size_t)(c->in * fft_pairs(d, 0)) * sizeof *c->x;
    size_t got_bytes = c->stores ? (size_t)c->out * 4 : want_bytes;
    place_run(plan, c->loads ? (void *)c->x : c->plain, c->loads ? x_bytes : plain_bytes, c->got, got_bytes, 0,
              load_user, store_user);
    double error = 0, size = 0;
    int64_t pairs = fft_pairs(d, 1), length = 1, stride = d->dim[d->rank - 1].out_stride;
    for (int i = 0; i < d->rank; i++) length *= wm_fft_length(d, i, 1);
    for (int64_t a = 0; a < wm_fft_batch(d); a++)
        for (int64_t p = 0; p < length; p++) {
            int64_t at = a * (d->loops ? d->loop[0].out_stride : 0) + p * stride;
            double re = fft_get(c->want, d->type, at * pairs);
            double im = pairs == 2 ? fft_get(c->want, d->type, at * 2 + 1) : 0;
            double got_re = fft_get(c->got, c->stores ? WM_F32 : d->type, c->stores ? at : at * pairs), got_im = 0;
            if (c->stores) re = re * re + im * im + (double)c->out_term[p], im = 0;
            if (!c->stores && pairs == 2) got_im = fft_get(c->got, d->type, at * 2 + 1);
            error += (got_re - re) * (got_re - re) + (got_im - im) * (got_im - im);
            size += re * re + im * im;
        }
    error = sqrt(error / size);
    if (!(error <= (d->type == WM_F64 && !c->stores ? 1e-14 : 3e-6)))
        fail_msg("%s by %s: L2 difference %.3g", wmPlanProblem(plan), wmPlanSolver(plan), error);
    wmFree(place_context, load_user);
    wmFree(place_context, store_user);
    wmPlanDestroy(plain);
    wmPlanDestroy(plan);
    return error;
}

static void check(const char *problem, int loads, int stores) {
    functor_case c = {.loads = loads, .stores = stores};
    wm_problem parsed;
    if (wm_problem_parse(&parsed, problem, wmContextPlace(place_context)) != WM_OK) fail_msg("%s", wmLastError());
    c.d = parsed.u.fft;
    c.in = wm_fft_span(&c.d, 0), c.out = wm_fft_span(&c.d, 1);
    c.x = malloc((size_t)c.in * 2 * sizeof *c.x);
    c.plain = calloc((size_t)c.in * 2, 8), c.want = calloc((size_t)c.out * 2, 8), c.got = calloc((size_t)c.out * 2, 8);
    c.in_factor = malloc((size_t)wm_fft_points(&c.d) * 4), c.out_term = malloc((size_t)wm_fft_points(&c.d) * 4);
    assert_true(c.x && c.plain && c.want && c.got && c.in_factor && c.out_term);
    fill_case(&c);
    fill_plain(&c);
    run_case(&c);
    void *all[] = {c.x, c.plain, c.want, c.got, c.in_factor, c.out_term};
    for (int i = 0; i < 6; i++) free(all[i]);
}

static void kinds_and_forms(void **state) {
    (void)state;
    static const char *const problems[] = {"fft c2c f32 64 batch=5",
                                           "fft c2c f32 30 batch=3 dir=inverse scale=by_n",
                                           "fft c2c f32 97 batch=2",
                                           "fft c2c f32 47 batch=2",
                                           "fft c2c f64 100 batch=3",
                                           "fft r2c f32 128 batch=3",
                                           "fft r2c f32 15 batch=4",
                                           "fft r2c f32 100 strides=1:1 loops=7:110:51",
                                           "fft c2r f32 128 batch=3",
                                           "fft c2r f32 15 batch=4",
                                           "fft c2c f32 12x10 batch=2",
                                           "fft r2c f32 6x8 batch=2",
                                           "fft c2c f32 1",
                                           "fft c2c f32 16 strides=3:2 loops=4:50:40"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        check(problems[i], 1, 0);
        if (strstr(problems[i], "f64")) continue; /* the store functor is of f32 */
        check(problems[i], 0, 1);
        check(problems[i], 1, 1);
    }
}

/* ---- What is refused, and what a string says ---- */

static void refused(const wmFftDesc *d, const char *part) {
    wmPlan *plan = (wmPlan *)(uintptr_t)1;
    wmStatus status = wmFftPlanCreate(&plan, place_context, d, NULL);
    place_refused(status, plan, part);
}

static void refusals(void **state) {
    (void)state;
    const int64_t n = 16;
    int gpu = wmContextPlace(place_context) == WM_PLACE_GPU;
    wmFftDesc good = wmFftDescPacked(WM_FFT_R2C, WM_F32, 1, &n, 2), d = good;
    d.load = (wmFftLoad){text, "load_i16", load_i16, WM_I16};
    wmFftDesc inverse;
    wmFftDescInverse(&inverse, &d);
    assert_null(inverse.load.source);
    d.load.name = "two words";
    refused(&d, "load.name");
    d.load.name = NULL;
    refused(&d, "load.name");
    d.load = (wmFftLoad){NULL, NULL, load_i16, (wmType)7};
    refused(&d, "load.type");
    d.load = gpu ? (wmFftLoad){NULL, NULL, load_i16, WM_I16} : (wmFftLoad){text, "load_i16", NULL, WM_I16};
    refused(&d, gpu ? "load.source" : "load.host");
    d = good;
    d.store = gpu ? (wmFftStore){NULL, NULL, store_power, WM_F32} : (wmFftStore){text, "store_power", NULL, WM_F32};
    refused(&d, gpu ? "store.source" : "store.host");
    d = wmFftDescPackedInPlace(WM_FFT_C2C, WM_F32, 1, &n, 2);
    d.load = (wmFftLoad){text, "load_pair", load_pair, WM_I32};
    refused(&d, "placement");
}

static void strings(void **state) {
    (void)state;
    const int64_t n = 16;
    char first[WM_PROBLEM_TEXT], second[WM_PROBLEM_TEXT], copy[sizeof text];
    wmFftDesc d = wmFftDescPacked(WM_FFT_R2C, WM_F32, 1, &n, 2);
    wm_problem a, b, c;
    memcpy(copy, text, sizeof text);
    d.load = (wmFftLoad){text, "load_i16", load_i16, WM_I16};
    assert_int_equal(wm_problem_from_fft(&a, &d, wmContextPlace(place_context)), WM_OK);
    d.load.source = copy; /* equal texts at two addresses are one functor */
    assert_int_equal(wm_problem_from_fft(&b, &d, wmContextPlace(place_context)), WM_OK);
    assert_true(wm_problem_equal(&a, &b));
    d.load.type = WM_U16;
    assert_int_equal(wm_problem_from_fft(&c, &d, wmContextPlace(place_context)), WM_OK);
    assert_false(wm_problem_equal(&a, &c));
    wm_problem_print(&a, first, sizeof first);
    assert_non_null(strstr(first, " load=load_i16:"));
    if (wm_problem_parse(&b, first, wmContextPlace(place_context)) != WM_OK) fail_msg("%s", wmLastError());
    assert_true(wm_problem_equal(&a, &b));
    wm_problem_print(&b, second, sizeof second);
    assert_string_equal(first, second);
    assert_int_equal(wm_problem_parse(&b, "fft c2c f32 8 load=nobody:1", wmContextPlace(place_context)),
                     WM_ERR_ARGUMENT);
    assert_non_null(strstr(wmLastError(), "nobody"));
    wmPlanOptions options = wmPlanOptionsDefault(); /* not measured: what would `user` be? */
    wmPlan *plan = NULL;
    options.effort = WM_MEASURE;
    d.load.type = WM_I16;
    if (wmFftPlanCreate(&plan, place_context, &d, &options) != WM_OK) fail_msg("%s", wmLastError());
    wmPlanDestroy(plan);
}

/* ---- What a GPU would run ---- */

static void compiles(const wmFftLoad *load, const wmFftStore *store, const char *rest, const char *kernel, int good) {
    place_compiles(wm_fft_functor_source(load, store, rest), kernel, NULL, good);
}

/* The one-block kernel: elements of 16 bits, and functors on both sides. */
static void block_compiles(const char *problem, const wmFftLoad *load, const wmFftStore *store, int in, int out) {
    wm_problem parsed;
    wm_fft_knobs knobs[WM_FFT_MOST_CUTS];
    wm_fft_cut cut;
    wm_why why;
    char rest[1280];
    if (wm_problem_parse(&parsed, problem, wmContextPlace(place_context)) != WM_OK) fail_msg("%s", wmLastError());
    assert_true(wm_fft_cut_variants(&parsed.u.fft, 227 * 1024, knobs, &why) > 0);
    wm_fft_cut_make(&parsed.u.fft, &knobs[0], &cut);
    cut.packed = 0;
    int length = snprintf(rest, sizeof rest, "#define WM_FFT_STORED_IN %d\n#define WM_FFT_STORED_OUT %d\n", in, out);
    wm_fft_cut_source_of(&cut, "device/fft_fused.cuh", rest + length, sizeof rest - (size_t)length);
    compiles(load, store, rest, "wm_fft_fused_kernel", 1);
}

static void texts_compile(void **state) {
    (void)state;
    static const char stage[] = "#define WM_FFT_STAGE_F64 0\n#include \"device/fft_stage.cuh\"\n";
    static const char stage_f64[] = "#define WM_FFT_STAGE_F64 1\n#include \"device/fft_stage.cuh\"\n";
    if (!place_can_compile()) return;
    wmFftLoad load = {text, "load_i16", NULL, WM_I16}, pair = {text_f64, "load_pair", NULL, WM_I32};
    wmFftStore store = {text, "store_power", NULL, WM_F32};
    compiles(&load, NULL, stage, "wm_fft_stage_kernel", 1);
    compiles(NULL, &store, stage, "wm_fft_stage_kernel", 1);
    compiles(&pair, NULL, stage_f64, "wm_fft_stage_kernel", 1);
    block_compiles("fft c2c f16 1000 batch=3", NULL, NULL, WM_FFT_STORED_F16, WM_FFT_STORED_F16);
    block_compiles("fft r2c f32 128 batch=3", &load, &store, WM_FFT_STORED_BY_FUNCTOR, WM_FFT_STORED_BY_FUNCTOR);
    block_compiles("fft c2c f64 97 batch=3", &pair, NULL, WM_FFT_STORED_BY_FUNCTOR, WM_FFT_STORED_AS_IS);
    static const wmType types[] = {WM_F32, WM_F64, WM_C64, WM_C128}; /* the library's own functors */
    for (int i = 0; i < 4; i++) {
        wmConvolutionDesc d = wmConvolutionDescDefault(types[i], 10, 3, 1);
        wm_convolve_pads(&d, &load);
        wm_convolve_crops(&d, &store);
        compiles(&load, NULL, i % 2 ? stage_f64 : stage, "wm_fft_stage_kernel", 1);
        compiles(NULL, &store, i % 2 ? stage_f64 : stage, "wm_fft_stage_kernel", 1);
    }
    load.source = "this is not C";
    compiles(&load, NULL, stage, "wm_fft_stage_kernel", 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_and_forms), cmocka_unit_test(refusals),
                                       cmocka_unit_test(strings), cmocka_unit_test(texts_compile)};
    if (place_open(argc, argv)) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    return failures + place_close() ? 1 : 0;
}
