/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows the sums of a product, by hand and against other calls of the library: gates, dropout's bits, residuals
 * in place, quantised results, reductions, and what is refused. Every form of it is walked by test_solvers, too.
 *
 *     test_matmul_finish [gpu]          and under the emulation
 */
#include "place.h"

#include <math.h>

static wmContext *context;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != WM_OK) fail_msg("%s: %s", #call, wmLastError());                                                 \
    } while (0)

static void *placed[16]; /* by the test that runs; give_back frees it */
static int placed_count;

/* Memory of the place with what `from` holds. */
static void *put(const void *from, size_t bytes) {
    void *there = NULL;
    assert_true(placed_count < (int)(sizeof placed / sizeof placed[0]));
    OK(wmAlloc(&there, context, bytes));
    placed[placed_count++] = there;
    OK(wmCopy(context, there, from, bytes, NULL));
    OK(wmSynchronize(context, NULL));
    return there;
}

static void get(void *to, const void *there, size_t bytes) {
    OK(wmCopy(context, to, there, bytes, NULL));
    OK(wmSynchronize(context, NULL));
}

static int give_back(void **unused) {
    (void)unused;
    while (placed_count > 0) wmFree(context, placed[--placed_count]);
    return 0;
}

static void run(const char *problem, const wmMatmulArgs *args) {
    wmPlan *plan = NULL;
    OK(wmPlanCreate(&plan, context, problem, NULL));
    OK(wmMatmulExecute(plan, args, NULL));
    OK(wmSynchronize(context, NULL));
    wmPlanDestroy(plan);
}

static int near(double x, double y) {
    return fabs(x - y) <= 1e-6 * (1 + fabs(y));
}

static double silu(double x) {
    return x / (1 + exp(-x));
}

static void gates(void **unused) {
    (void)unused;
    /* [1 2] · [1 0 -1 3; 0.5 1 1 0] = [2 2 1 3] */
    const float a[] = {1, 2}, b[] = {1, 0, -1, 3, 0.5f, 1, 1, 0}, none[4] = {0};
    float pairs[2], halves[2], z[4];
    wmMatmulArgs args = wmMatmulArgsDefault(put(a, sizeof a), put(b, sizeof b), put(none, sizeof pairs));
    args.z = put(none, sizeof z);
    run("matmul f32 1x4x2 gate=pairs act=silu z=f32", &args);
    get(pairs, args.d, sizeof pairs);
    get(z, args.z, sizeof z);
    assert_true(near(pairs[0], silu(2) * 2) && near(pairs[1], silu(1) * 3));
    assert_true(z[0] == 2 && z[1] == 2 && z[2] == 1 && z[3] == 3);
    args.d = put(none, sizeof halves);
    run("matmul f32 1x4x2 gate=halves act=silu", &args);
    get(halves, args.d, sizeof halves);
    assert_true(near(halves[0], silu(2) * 1) && near(halves[1], silu(2) * 3));
}

/* D = keep · 1 / (1 - drop) + R for a product of ones: its bits are wmRandom's masks. */
static void dropout_has_the_bits_of_masks(void **unused) {
    enum { M = 37, N = 53, OFFSET = 1001, DRAWS = M * N + OFFSET, MASKS = (DRAWS + 31) / 32 };
    (void)unused;
    static float a[M], b[N], r[M * N], d[M * N], sums[M];
    static uint32_t masks[MASKS];
    wmRandomKey key = wmRandomKeyFold(wmRandomKeyMake(77), 3);
    for (int i = 0; i < M; i++) a[i] = 1;
    for (int j = 0; j < N; j++) b[j] = 1;
    for (int i = 0; i < M * N; i++) r[i] = (float)(i % 7);
    wmMatmulArgs args = wmMatmulArgsDefault(put(a, sizeof a), put(b, sizeof b), put(r, sizeof r));
    args.r = args.d; /* the residual in place */
    args.reduced = put(sums, sizeof sums);
    args.drop = 0.25;
    args.drop_key = key;
    args.drop_offset = OFFSET;
    run("matmul f32 37x53x1 r=f32 dropout=philox reduce=row_sum", &args);
    get(d, args.d, sizeof d);
    get(sums, args.reduced, sizeof sums);
    wmRandomDesc draw = wmRandomDescDefault(WM_RANDOM_MASK, WM_U32);
    wmRandomArgs drawn = wmRandomArgsDefault(put(masks, sizeof masks), MASKS, key);
    drawn.p = 0.75;
    OK(wmRandom(context, &draw, &drawn, NULL));
    get(masks, drawn.out, sizeof masks);
    for (int i = 0; i < M; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) {
            int at = OFFSET + i * N + j, keep = masks[at / 32] >> at % 32 & 1;
            double want = (keep ? 1 / 0.75 : 0.0) + r[i * N + j];
            if (keep ? !near(d[i * N + j], want) : d[i * N + j] != r[i * N + j])
                fail_msg("(%d, %d) is %g, not %g", i, j, d[i * N + j], want);
            sum += want;
        }
        assert_true(near(sums[i], sum));
    }
}

static void dropout_of_nothing_and_of_all(void **unused) {
    (void)unused;
    const float one[] = {1, 1, 1, 1};
    float d[4];
    for (int all = 0; all < 2; all++) {
        wmMatmulArgs args = wmMatmulArgsDefault(put(one, 8), put(one, 8), put(one, 16));
        args.drop = all;
        run("matmul f32 2x2x1 dropout=philox", &args);
        get(d, args.d, sizeof d);
        for (int i = 0; i < 4; i++) assert_true(d[i] == (all ? 0.0f : 1.0f));
    }
}

static void quantised(void **unused) {
    (void)unused;
    /* a column of values times 1, over scales of their rows: nearest even, the ends of the range, 0 for a NaN */
    const float a[] = {2.5f, 3.5f, -1000, 1000, NAN, -0.5f, 0.75f, 127.5f}, one = 1;
    const float scales[] = {1, 1, 1, 1, 1, 1, 0.25f, 1};
    const int8_t want[] = {2, 4, -128, 127, 0, 0, 3, 127};
    int8_t d[8] = {0};
    float most = -1;
    wmMatmulArgs args = wmMatmulArgsDefault(put(a, sizeof a), put(&one, sizeof one), put(d, sizeof d));
    args.d_scale = put(scales, sizeof scales);
    run("matmul f32 8x1x1 d=i8 scale_d=row", &args);
    get(d, args.d, sizeof d);
    assert_memory_equal(d, want, sizeof d);
    /* i8 in, i8 out: 3 · 5 + 100 · 2 = 215, times 0.5 · 0.25, over 2: 13.4375 */
    const int8_t x[] = {3, 100}, y[] = {5, 2};
    const float half = 0.5f, quarter = 0.25f, two = 2;
    args = wmMatmulArgsDefault(put(x, 2), put(y, 2), put(d, 1));
    args.a_scale = put(&half, 4), args.b_scale = put(&quarter, 4), args.d_scale = put(&two, 4);
    args.reduced = put(&most, sizeof most);
    run("matmul i8 1x1x2 d=i8 scale_a=row scale_b=column scale_d=tensor reduce=absmax", &args);
    get(d, args.d, 1);
    get(&most, args.reduced, sizeof most);
    assert_int_equal(d[0], 13);
    assert_true(most == 26.875f);
    /* alpha 0 reads neither A nor B */
    args = wmMatmulArgsDefault(NULL, NULL, put(a, 4));
    args.alpha = wmReal(0);
    run("matmul i8 1x1x2 d=f32", &args);
    get(&most, args.d, sizeof most);
    assert_true(most == 0);
}

/* 1 + e is beyond the midpoint of two values by less than f32 tells: rounded once it goes up, by way of f32 to even. */
static void rounded_once(void **unused) {
    (void)unused;
    static const struct {
        const char *type;
        double value;
        uint16_t bits;
    } cases[] = {
        {"bf16", 1 + 0x1p-8 + 0x1p-40,  0x3f81},
        {"bf16", -1 - 0x1p-8 - 0x1p-40, 0xbf81},
        {"bf16", 1 + 0x1p-8,            0x3f80},
        {"f16",  1 + 0x1p-11 + 0x1p-50, 0x3c01},
        {"f16",  1 + 0x3p-11 - 0x1p-50, 0x3c01},
        {"e4m3", 1 + 0x1p-4 + 0x1p-40,  0x39  },
        {"e5m2", 1 + 0x1p-3 + 0x1p-40,  0x3d  },
        {"i8",   2.5 + 0x1p-40,         3     },
        {"i8",   -126.5 - 0x1p-40,      0x81  },
        {"i8",   2.5,                   2     },
        {"bf16", 0x1p-134 + 0x1p-170,   0x0001},
        {"f16",  (double)INFINITY,      0x7c00},
        {"bf16", 3.4e38 + 0x1p80,       0x7f80}
    };
    const double one = 1, nothing = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char problem[100];
        uint16_t d = 0;
        wmMatmulArgs args = wmMatmulArgsDefault(put(&one, 8), put(&cases[i].value, 8), put(&d, 2));
        args.r = put(&nothing, 8);
        snprintf(problem, sizeof problem, "matmul f64 1x1x1 d=%s r=f64", cases[i].type);
        run(problem, &args);
        get(&d, args.d, 2);
        if (d != cases[i].bits) fail_msg("%s: case %zu is %#x, not %#x", problem, i, d, cases[i].bits);
        give_back(NULL);
    }
}

/* The same bits on one thread and on several. */
static void threads_do_not_show(void **unused) {
    enum { M = 61, N = 40, K = 33 };
    (void)unused;
    static float a[M * K], b[K * N], d[2][M * N], sums[2][M];
    for (int i = 0; i < M * K; i++) a[i] = (float)sin(i);
    for (int i = 0; i < K * N; i++) b[i] = (float)cos(3 * i);
    for (int t = 0; t < 2; t++) {
        wmContextOptions options = wmContextOptionsDefault();
        wmContext *own = NULL;
        wmMatmulArgs args = wmMatmulArgsDefault(a, b, d[t]);
        options.place = WM_PLACE_CPU;
        options.cpu_threads = t ? 3 : 1;
        options.wisdom_path = "";
        args.reduced = sums[t];
        wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, M, N, K);
        desc.activation = WM_ACT_SILU;
        desc.reduction = WM_REDUCE_ROW_SUM;
        OK(wmContextCreate(&own, &options));
        OK(wmMatmul(own, &desc, &args, NULL));
        wmContextDestroy(own);
    }
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    assert_memory_equal(d[0], d[1], sizeof d[0]);
}

static void refused(const char *problem, const wmMatmulArgs *args, const char *word) {
    wmPlan *plan = NULL;
    wmStatus status = wmPlanCreate(&plan, context, problem, NULL);
    if (args && status == WM_OK) status = wmMatmulExecute(plan, args, NULL);
    if (status != WM_ERR_ARGUMENT) fail_msg("\"%s\" gave %d, not a refusal", problem, (int)status);
    if (!strstr(wmLastError(), word)) fail_msg("\"%s\" says: %s", problem, wmLastError());
    wmPlanDestroy(plan);
}

static void what_is_refused(void **unused) {
    (void)unused;
    static _Alignas(16) float x[64];
    wmMatmulArgs args = wmMatmulArgsDefault(x, x + 4, x + 8);
    refused("matmul f32 2x3x2 gate=pairs", NULL, "n is 3");
    refused("matmul c64 2x2x2 reduce=row_sum", NULL, "complex");
    refused("matmul i8 4x4x4 act=silu", NULL, "i32 results");
    refused("matmul c64 2x2x2 allow_3m=2", NULL, "allow_3m is 2");
    refused("matmul f32 2x2x2 batch=2 batch_mode=grouped dropout=philox", NULL, "grouped");
    refused("matmul f32 2x2x2 batch=2 z=f32 sz=0", NULL, "z.batch_stride");
    refused("matmul f32 2x2x2 scale_a=column", NULL, "a.scale is column");
    refused("matmul f32 2x2x2 scale_b=row", NULL, "b.scale is row");
    refused("matmul bf16 2x2x2 scale_a=1x128", NULL, "a.scale is by block");
    refused("matmul e4m3 2x2x2 d=e4m3 scale_d=128x128", NULL, "d.scale is by block");
    refused("matmul f32 2x3x2 triangle=lower", NULL, "triangle is set");
    refused("matmul f32 2x2x2 triangle=lower reduce=row_sum", NULL, "beside reduction");
    refused("matmul f32 2x2x2 r=f32 ldr=1", NULL, "r.ld is 1");
    refused("matmul f32 2x2x2 r=c64", NULL, "r is c64");
    refused("matmul f32 2x2x2 r=i64", NULL, "r.type is i64");
    refused("matmul f32 2x2x2 z=i32", NULL, "z.type is i32");
    refused("matmul f32 2x2x2 d=i16", NULL, "d.type is i16");
    refused("matmul u16 2x2x2", NULL, "a.type is u16");
    refused("matmul f32 2x2x2 bias=n bias_type=c64", NULL, "bias_type is c64");
    refused("matmul i8 4x4x4 act=gelu_erf", NULL, "activation is set; i32");
    refused("matmul i8 4x4x4 scale_a=tensor", NULL, "scale is set; i32");
    refused("matmul f32 2x2x2 r=f32", &args, "args.r");
    refused("matmul f32 2x2x2 z=f32", &args, "args.z");
    refused("matmul f32 2x2x2 reduce=row_max", &args, "args.reduced");
    refused("matmul f32 2x2x2 scale_d=column", &args, "args.d_scale");
    args.drop = 1.5;
    refused("matmul f32 2x2x2 dropout=philox", &args, "args.drop is 1.5");
    args.drop = NAN;
    refused("matmul f32 2x2x2 dropout=philox", &args, "args.drop");
    args.beta = wmReal(1);
    refused("matmul f32 2x4x2 gate=halves", &args, "args.beta");
    args.beta = wmReal(0);
    args.z = x + 8;
    refused("matmul f32 2x2x2 z=f32", &args, "the same as args.d");
}

int main(int argc, char **argv) {
    uint64_t seed = 0; /* nothing is drawn */
    if (place_open_at(argc, argv, &seed)) return 1;
    context = place_context;
    context->unverified = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(gates, give_back),
        cmocka_unit_test_teardown(dropout_has_the_bits_of_masks, give_back),
        cmocka_unit_test_teardown(dropout_of_nothing_and_of_all, give_back),
        cmocka_unit_test_teardown(quantised, give_back),
        cmocka_unit_test_teardown(rounded_once, give_back),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(what_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + place_close() ? 1 : 0;
}
