/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: the oracle on cases worked out by hand, then every solver of the place on every type, layout, batch
 * form and epilogue, and on what the header promises of NaN, zero scalars, empty sizes and padding.
 *
 *     test_matmul [cpu | gpu] [solver]      WM_TEST_SEED=7 for other random numbers
 */
#include "matmul_lab.h"
#include "reference/openblas.h"

#ifdef WM_TEST_SIMT
#define MANY_PRODUCTS "f32 1x3x2 batch=20"
#else
#define MANY_PRODUCTS "f32 1x3x2 batch=66000" /* more than a grid's y or z takes */
#endif
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- The oracle itself ---- */

static wm_problem problem_of(const char *text) {
    wm_problem p;
    LAB_OK(wm_problem_parse(&p, text, WM_PLACE_CPU));
    return p;
}

static trial plain(const char *text) {
    trial t = {.problem = text, .alpha = 1};
    return t;
}

static const wm_oracle_pick everything = {0};

static void oracle_by_hand(void **unused) {
    (void)unused;
    /* [1 2; 3 4] · [5 6; 7 8] = [19 22; 43 50]; twice that, less C, plus a bias a column. */
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[] = {1, 10, 100, 1000}, bias[] = {0.5f, -0.5f};
    float d[] = {37.5f, 33.5f, -13.5f, -900.5f};
    wm_problem p = problem_of("matmul f32 2x2x2 bias=n");
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, NULL);
    args.c = c, args.bias = bias, args.alpha = wmReal(2), args.beta = wmReal(-1);
    wm_oracle_verdict v = wm_oracle_matmul(&p, &args, d, &everything);
    assert_int_equal(v.judged, 4);
    assert_int_equal(v.wrong, 0);
    assert_true(v.worst == 0.0);
    /* The bound of element (0, 0): 2 + 4 roundings of 2^-24 on 2 (5 + 14) + 1 + 0.5, and half an ulp of 37.5. */
    wm_oracle_element e = wm_oracle_matmul_element(&p, &args, 0, 0, 0, 0);
    double linear = 6 * 0x1p-24 * 39.5, ulp = 0x1p-19;
    assert_true(fabs((double)e.bound - (linear + ulp)) < 1e-3 * linear);
    /* A little beyond it is wrong, NaN and infinity too. */
    d[0] += 3 * (float)(linear + ulp);
    assert_int_equal(wm_oracle_matmul(&p, &args, d, &everything).wrong, 1);
    d[0] = NAN;
    assert_int_equal(wm_oracle_matmul(&p, &args, d, &everything).wrong, 1);
    d[0] = INFINITY;
    assert_int_equal(wm_oracle_matmul(&p, &args, d, &everything).wrong, 1);
}

static void oracle_complex_by_hand(void **unused) {
    (void)unused;
    /* conj(1 + 2i) · (3 - i) = (1 - 2i)(3 - i) = 1 - 7i; times i: 7 + i. */
    float a[] = {1, 2}, b[] = {3, -1}, d[] = {7, 1};
    wm_problem p = problem_of("matmul c64 1x1x1 ta=c");
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, NULL);
    args.alpha = wmComplex(0, 1);
    wm_oracle_verdict v = wm_oracle_matmul(&p, &args, d, &everything);
    assert_int_equal(v.judged, 2);
    assert_true(v.worst == 0.0);
    d[1] = 1.001f;
    assert_int_equal(wm_oracle_matmul(&p, &args, d, &everything).wrong, 1);
}

static void oracle_narrow_by_hand(void **unused) {
    (void)unused;
    /* bf16 3.0 · 171.0 = 513, halfway between the bf16 numbers 512 and 516: 512 is right, 516 off by 1.5 half ulps. */
    uint16_t a = 0x4040, b = 0x432b, d = 0x4400;
    wm_problem p = problem_of("matmul bf16 1x1x1");
    wmMatmulArgs args = wmMatmulArgsDefault(&a, &b, NULL);
    assert_int_equal(wm_oracle_matmul(&p, &args, &d, &everything).wrong, 0);
    d = 0x4401;
    assert_int_equal(wm_oracle_matmul(&p, &args, &d, &everything).wrong, 1);
    /* f16: 300 · 300 overflows to infinity, and nothing else will do; e4m3 saturates at 448. */
    uint16_t x = 0x5cb0, inf = 0x7c00, most = 0x7bff;
    wm_problem h = problem_of("matmul f16 1x1x1");
    args = wmMatmulArgsDefault(&x, &x, NULL);
    assert_int_equal(wm_oracle_matmul(&h, &args, &inf, &everything).wrong, 0);
    assert_int_equal(wm_oracle_matmul(&h, &args, &most, &everything).wrong, 1);
    wm_problem e = problem_of("matmul f16 1x1x1 d=e4m3");
    uint8_t top = 0x7e, nan = 0x7f;
    assert_int_equal(wm_oracle_matmul(&e, &args, &top, &everything).wrong, 0);
    assert_int_equal(wm_oracle_matmul(&e, &args, &nan, &everything).wrong, 1);
}

static void oracle_activations(void **unused) {
    (void)unused;
    /* gelu(1) = 0.8413447460685429 by erf, 0.8411919906082768 by tanh; relu of NaN is NaN or 0. */
    double one = 1, got = 0.8413447460685429;
    wm_problem p = problem_of("matmul f64 1x1x1 act=gelu_erf"), q = problem_of("matmul f64 1x1x1 act=gelu_tanh");
    wmMatmulArgs args = wmMatmulArgsDefault(&one, &one, NULL);
    assert_int_equal(wm_oracle_matmul(&p, &args, &got, &everything).wrong, 0);
    assert_int_equal(wm_oracle_matmul(&q, &args, &got, &everything).wrong, 1);
    got = 0.8411919906082768;
    assert_int_equal(wm_oracle_matmul(&q, &args, &got, &everything).wrong, 0);
    wm_problem r = problem_of("matmul f64 1x1x1 act=relu");
    one = NAN, got = 0;
    assert_int_equal(wm_oracle_matmul(&r, &args, &got, &everything).unjudged, 1);
}

static void oracle_of_vendors(void **unused) {
    (void)unused;
    /* bf16, an ulp being 8/1024: 1 + 5/1024 + 5/1024 is 1 + 8/1024; rounded before the bias, too, 1 + 16/1024. */
    uint16_t one = 0x3f80, c = 0x3ba0, right = 0x3f81, twice = 0x3f82;
    wm_problem p = problem_of("matmul bf16 1x1x1 bias=n act=relu"), q = problem_of("matmul bf16 1x1x1");
    wm_oracle_pick vendor = {.vendor = 1};
    wmMatmulArgs args = wmMatmulArgsDefault(&one, &one, NULL);
    args.c = args.bias = &c, args.beta = wmReal(1);
    assert_int_equal(wm_oracle_matmul(&p, &args, &right, &everything).wrong, 0);
    assert_int_equal(wm_oracle_matmul(&p, &args, &twice, &everything).wrong, 1);
    assert_int_equal(wm_oracle_matmul(&p, &args, &twice, &vendor).wrong, 0);
    args.beta = wmReal(0); /* 1 + 5/1024: nothing to round before the bias */
    assert_int_equal(wm_oracle_matmul(&p, &args, &twice, &vendor).wrong, 1);
    args.beta = wmReal(2); /* 1 + 10/1024, without an epilogue */
    assert_int_equal(wm_oracle_matmul(&q, &args, &twice, &vendor).wrong, 1);
}

static void openblas_passes_its_check(void **unused) {
    (void)unused;
    const char *why = "";
    if (!wm_library_get(WM_LIB_OPENBLAS, &why)) skip();
    LAB_OK(wm_openblas_ready());
}

/* ---- What the header promises ---- */

static void zero_scalars_and_nan(void **unused) {
    (void)unused;
    static const char *const problems[] = {
        "f32 33x20x17",           "f64 9x70x12",        "f16 40x33x64",
        "bf16 40x33x64 od=col",   "c64 21x13x9",        "c128 5x6x7",
        "f32 33x20x17 bias=n",    "f16 17x8x3 bias=m",  "bf16 65x70x80 d=f32",
        "f32 130x129x31 ldd=135", "i8 16x32x64",        "f32 33x20x17 bias=m act=relu",
        "e4m3 16x32x48 tb=t",     "f32 20x30x0 bias=n", "c64 7x8x0",
        "bf16 20x30x0",           "c128 16x16x2048",    "f16 16x16x4096"};
    static const struct {
        int flags;
        double alpha, beta;
    } kinds[] = {
        {NAN_IN_C,                              1,  0},
        {NAN_IN_C | DEVICE_SCALARS,             1,  0},
        {NAN_IN_C | MIXED_SCALARS,              1,  0},
        {NAN_IN_AB,                             0,  2},
        {NAN_IN_AB | DEVICE_SCALARS,            0,  2},
        {NAN_IN_AB | IN_PLACE,                  0,  2},
        {NAN_IN_AB | IN_PLACE | DEVICE_SCALARS, 0,  2},
        {NAN_IN_AB | NAN_IN_C,                  0,  0},
        {NAN_IN_AB | NAN_IN_C | DEVICE_SCALARS, 0,  0},
        {0,                                     -2, 3},
        {IN_PLACE,                              -2, 3},
        {DEVICE_SCALARS,                        -2, 3},
        {IN_PLACE | DEVICE_SCALARS,             1,  1},
    };
    for (int p = 0; p < COUNT(problems); p++)
        for (int k = 0; k < COUNT(kinds); k++) {
            char text[100];
            snprintf(text, sizeof text, "matmul %s", problems[p]);
            trial t = plain(text);
            t.flags = kinds[k].flags, t.alpha = kinds[k].alpha, t.beta = kinds[k].beta;
            lab_must(&t);
        }
}

static void complex_scalars(void **unused) {
    (void)unused;
    static const char *const problems[] = {"matmul c64 13x14x15 ta=c", "matmul c128 13x14x15 tb=t bias=n"};
    for (int p = 0; p < 2; p++)
        for (int flags = 0; flags < 4; flags++) {
            trial t = plain(problems[p]);
            t.flags = flags, t.alpha = 0.5, t.beta = -1, t.alpha_im = 2, t.beta_im = 0.25;
            lab_must(&t);
            t.alpha = t.beta = 0;
            lab_must(&t);
        }
}

/* ---- Layouts, batches, types, epilogues ---- */

/* Adds a leading dimension of `extra` over the packed one. */
static void add_ld(char *text, size_t room, const char *key, int64_t inner, int64_t extra) {
    size_t length = strlen(text);
    snprintf(text + length, room - length, " %s=%lld", key, (long long)(inner > 0 ? inner : 1) + extra);
}

static void every_layout(void **unused) {
    (void)unused;
    static const char *const types[] = {"f32", "f64", "f16", "bf16", "c64", "c128"};
    static const char *const ops[] = {"n", "t", "c"};
    for (int type = 0; type < COUNT(types); type++)
        for (int layout = 0; layout < 3 * 3 * 16; layout++) {
            int ta = layout % 3, tb = layout / 3 % 3, order = layout / 9;
            if (type < 4 && (ta == 2 || tb == 2)) continue;
            if (type % 2 && (layout + type / 2) % 3) continue; /* a third of them for f64, bf16, c128 */
            int64_t m = 1 + lab_below(70), n = 1 + lab_below(70), k = 1 + lab_below(70);
            char text[240];
            snprintf(text, sizeof text, "matmul %s %lldx%lldx%lld ta=%s tb=%s oa=%s ob=%s oc=%s od=%s", types[type],
                     (long long)m, (long long)n, (long long)k, ops[ta], ops[tb], order & 1 ? "col" : "row",
                     order & 2 ? "col" : "row", order & 4 ? "col" : "row", order & 8 ? "col" : "row");
            add_ld(text, sizeof text, "lda", (ta == 0) == !(order & 1) ? k : m, lab_below(6));
            add_ld(text, sizeof text, "ldb", (tb == 0) == !(order & 2) ? n : k, lab_below(6));
            add_ld(text, sizeof text, "ldc", order & 4 ? m : n, lab_below(6));
            add_ld(text, sizeof text, "ldd", order & 8 ? m : n, lab_below(6));
            trial t = plain(text);
            t.alpha = 1.5, t.beta = layout % 4 ? -0.5 : 0;
            lab_must(&t);
        }
}

static void unaligned_operands(void **unused) {
    (void)unused;
    static const char *const problems[] = {"matmul f32 65x67x66 align_a=4 align_b=4 align_c=4 align_d=4",
                                           "matmul f64 65x67x66 align_a=8 align_b=8 align_d=8",
                                           "matmul f16 64x64x64 align_a=2 align_b=2 align_c=2 align_d=2",
                                           "matmul bf16 64x128x64 align_a=2 tb=t align_b=4",
                                           "matmul c64 20x21x22 align_a=8 align_b=8 align_c=8 align_d=8",
                                           "matmul f32 128x128x128 align_b=4 ta=t"};
    for (int p = 0; p < COUNT(problems); p++) {
        trial t = plain(problems[p]);
        t.beta = 1;
        lab_must(&t);
    }
}

static void every_batch(void **unused) {
    (void)unused;
    static const char *const problems[] = {
        "f32 17x19x23 batch=5",
        "f32 17x19x23 batch=5 sa=0",
        "f32 17x19x23 batch=5 sb=0 sc=0",
        "f64 8x8x8 batch=33 sa=100 sb=70 sd=64",
        "bf16 33x9x40 batch=4 batch_mode=pointers",
        "f32 64x65x66 batch=3 batch_mode=pointers ta=t od=col",
        "c128 3x4x5 batch=7 batch_mode=pointers tb=c bias=n",
        "f16 40x50x60 batch=2 bias=m act=relu",
        "f32 2x2x2 batch=1000",
        MANY_PRODUCTS,
        "i8 16x16x16 batch=3 tb=t",
    };
    for (int p = 0; p < COUNT(problems); p++) {
        char text[100];
        snprintf(text, sizeof text, "matmul %s", problems[p]);
        trial t = plain(text);
        lab_must(&t);
        t.beta = -1;
        lab_must(&t);
        t.flags = IN_PLACE;
        if (!strstr(text, "sc=0")) lab_must(&t);
    }
}

static void every_type(void **unused) {
    (void)unused;
    static const char *const problems[] = {
        "f16 61x62x63 d=f32",
        "bf16 61x62x63 d=f32 c=bf16",
        "bf16 61x62x63 d=f16 bias=n bias_type=f32",
        "f32 61x62x63 d=bf16",
        "f32 61x62x63 compute=f32_strict",
        "f32 61x62x63 compute=tf32",
        "bf16 61x62x63 compute=f32_strict",
        "f16 30x31x32 b=bf16 d=f32",
        "e4m3 32x48x64 tb=t",
        "e5m2 32x48x64 tb=t d=f16",
        "e4m3 32x48x64 tb=t b=e5m2 d=f32",
        "e4m3 32x48x64 tb=t scale_a=tensor scale_b=tensor",
        "e4m3 32x48x64 tb=t d=e4m3 c=bf16 scale_a=tensor scale_b=tensor scale_d=tensor",
        "e4m3 33x47x65 d=e5m2 scale_d=tensor act=gelu_tanh bias=n bias_type=bf16",
        "i8 64x48x32 tb=t",
        "i8 63x47x31 act=relu bias=n",
    };
    for (int p = 0; p < COUNT(problems); p++) {
        char text[120];
        snprintf(text, sizeof text, "matmul %s", problems[p]);
        trial t = plain(text);
        lab_must(&t);
        t.alpha = 2, t.beta = -1;
        lab_must(&t);
    }
}

static void same_bits_everywhere(void **unused) {
    (void)unused;
    static const char *const problems[] = {"f32 51x52x53 bias=n",
                                           "f64 31x32x33 bias=m",
                                           "f16 40x33x64 act=relu",
                                           "bf16 40x33x64 ta=t",
                                           "c64 21x13x9 ta=c bias=n",
                                           "c128 15x16x17 tb=c",
                                           "i8 16x32x64",
                                           "e4m3 16x32x48 d=e4m3 scale_a=tensor scale_d=tensor"};
    static const data kinds[] = {UNIFORM, SCALED, INTEGERS};
    for (int i = 0; i < COUNT(problems) * COUNT(kinds) * 2; i++) {
        char text[120];
        snprintf(text, sizeof text, "matmul %s det=gpu_to_gpu", problems[i % COUNT(problems)]);
        trial t = plain(text);
        t.data = kinds[i / COUNT(problems) % COUNT(kinds)], t.alpha = 3, t.beta = i & 1 ? -1 : 0;
        t.flags = i >= COUNT(problems) * COUNT(kinds) ? IN_PLACE : 0;
        lab_must(&t);
    }
}

static void every_epilogue(void **unused) {
    (void)unused;
    static const char *const types[] = {"f32", "f64", "f16", "bf16"};
    static const char *const activations[] = {"none", "relu", "gelu_tanh", "gelu_erf"};
    static const char *const biases[] = {"none", "n", "m"};
    for (int i = 0; i < 4 * 4 * 3 * 2; i++) {
        char text[120];
        snprintf(text, sizeof text, "matmul %s 45x77x50 act=%s bias=%s od=%s", types[i % 4], activations[i / 4 % 4],
                 biases[i / 16 % 3], i / 48 ? "col" : "row");
        trial t = plain(text);
        lab_must(&t);
        t.data = SPECIAL, t.beta = 0.5;
        lab_must(&t);
    }
}

static void hard_data(void **unused) {
    (void)unused;
    static const char *const types[] = {"f32", "f64", "f16", "bf16", "c64", "c128", "f16 d=f32", "bf16 d=f32"};
    static const data kinds[] = {INTEGERS, TERNARY, SCALED, POSITIVE, SPECIAL};
    for (int i = 0; i < COUNT(types) * COUNT(kinds) * 2; i++) {
        char text[120], type[8] = "", rest[16] = "";
        sscanf(types[i % COUNT(types)], "%7s %15s", type, rest);
        snprintf(text, sizeof text, "matmul %s 70x65x%d %s %s", type, i & 1 ? 200 : 129, rest, i & 2 ? "tb=t" : "");
        trial t = plain(text);
        t.data = kinds[i / COUNT(types) % COUNT(kinds)], t.beta = i & 4 ? 1 : 0;
        lab_must(&t);
    }
}

static void shapes(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 2, 3, 31, 64, 127, 128, 129, 257};
    for (int i = 0; i < 120; i++) {
        char text[100];
        snprintf(text, sizeof text, "matmul %s %lldx%lldx%lld ta=%s tb=%s",
                 i % 3 == 0   ? "f64"
                 : i % 3 == 1 ? "f32"
                              : "bf16",
                 (long long)sizes[lab_below(9)], (long long)sizes[lab_below(9)], (long long)sizes[lab_below(9)],
                 i & 4 ? "t" : "n", i & 8 ? "t" : "n");
        trial t = plain(text);
        t.pick.rows = t.pick.cols = 20, t.pick.seed = (uint64_t)i;
        lab_must(&t);
    }
    static const char *const large[] = {"matmul f32 520x700x1030 ta=t", "matmul bf16 1030x513x520",
                                        "matmul f32 1x1x100000", "matmul f64 3x2000x700 tb=t",
                                        "matmul c64 200x300x400 ta=c"};
    for (int i = 0; i < COUNT(large) && lab_thin == 1; i++) {
        trial t = plain(large[i]);
        t.pick.rows = t.pick.cols = 12, t.pick.seed = (uint64_t)i;
        lab_must(&t);
    }
}

/* ---- Setting up ---- */

#ifdef WM_TEST_SIMT /* our kernels, under the thread emulation */

#include "lib/context_internal.h"
#include "simt_gpu.h"
#include "simt_kernels.h"

static const wm_solver *kernels[WM_SIMT_KERNELS_MOST];
static wm_fake *fake;

static wmStatus open_place(const char *place) {
    (void)place;
    fake = wm_simt_gpu_new();
    const char *thin = getenv("WM_TEST_THIN"); // NOLINT(concurrency-mt-unsafe)
    lab_thin = thin ? atoi(thin) : 7;          // NOLINT(cert-err34-c)
    lab_solvers = kernels;
    lab_count = wm_simt_kernels(kernels);
    wm_simt_seed(lab_state);
    return wm_context_create_with(&lab_context, NULL, wm_fake_gpu(fake), kernels, lab_count, wm_clock_system());
}

static void close_place(void) {
    wmContextDestroy(lab_context);
    wm_fake_end(fake);
    assert_string_equal(wm_simt_faults(), "");
}

#else

static wmStatus open_place(const char *place) {
    wmContextOptions options = wmContextOptionsDefault();
    options.place = strcmp(place, "gpu") == 0 ? WM_PLACE_GPU : WM_PLACE_CPU;
    options.wisdom_path = "";
    lab_solvers = wm_solvers(&lab_count);
    return wmContextCreate(&lab_context, &options);
}

static void close_place(void) {
    wmContextDestroy(lab_context);
}

#endif

static int report(void **unused) {
    (void)unused;
    for (int i = 0; i < lab_count; i++)
        if (lab_variants[i])
            print_message("%s: %d runs, largest error on random data %.2g of the probable bound\n",
                          lab_solvers[i]->name, lab_variants[i], lab_alarm[i]);
    close_place();
    return 0;
}

int main(int argc, char **argv) {
    const char *seed = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    lab_only = argc > 2 ? argv[2] : NULL;
    lab_state = seed ? strtoull(seed, NULL, 0) : 20240607;
    print_message("seed %llu\n", (unsigned long long)lab_state);
    if (open_place(argc > 1 ? argv[1] : "cpu") != WM_OK) {
        print_message("%s\n", wmLastError());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_by_hand),
        cmocka_unit_test(oracle_complex_by_hand),
        cmocka_unit_test(oracle_narrow_by_hand),
        cmocka_unit_test(oracle_activations),
        cmocka_unit_test(oracle_of_vendors),
        cmocka_unit_test(openblas_passes_its_check),
        cmocka_unit_test(zero_scalars_and_nan),
        cmocka_unit_test(complex_scalars),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(unaligned_operands),
        cmocka_unit_test(every_batch),
        cmocka_unit_test(every_type),
        cmocka_unit_test(every_epilogue),
        cmocka_unit_test(same_bits_everywhere),
        cmocka_unit_test(hard_data),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, report);
}
