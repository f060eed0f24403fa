/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad arguments: every public function with every pointer NULL, enums out of range, sizes negative or overflowing. Each
 * gets its status, a sentence that names the argument, and leaves outputs as they were (or NULL).
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static wmContext *context;

static int set_up(void **state) {
    (void)state;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    options.wisdom_path = "";
    return wmContextCreate(&context, &options) == WM_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    wmContextDestroy(context);
    return 0;
}

/* The call failed so, and its sentence holds `word`. */
#define REFUSED(call, expected, word)                                                                                  \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != (expected)) fail_msg("%s gave %s: %s", #call, wmStatusName(status_), wmLastError());            \
        if (!strstr(wmLastError(), word)) fail_msg("%s says \"%s\", without \"%s\"", #call, wmLastError(), word);      \
    } while (0)
#define BAD(call, word) REFUSED(call, WM_ERR_ARGUMENT, word)

static void contexts(void **unused) {
    (void)unused;
    wmContext *made = (wmContext *)1;
    wmContextOptions options = wmContextOptionsDefault();
    BAD(wmContextCreate(NULL, NULL), "context");
    options.size = 0;
    BAD(wmContextCreate(&made, &options), "size");
    assert_null(made);
    options = wmContextOptionsDefault();
    options.place = (wmPlace)9;
    BAD(wmContextCreate(&made, &options), "place");
    options = wmContextOptionsDefault();
    options.log_level = (wmLogLevel)-3;
    BAD(wmContextCreate(&made, &options), "log_level");
    options = wmContextOptionsDefault();
    options.cpu_threads = -1;
    BAD(wmContextCreate(&made, &options), "cpu_threads");
    options = wmContextOptionsDefault();
    options.device = -1;
    BAD(wmContextCreate(&made, &options), "device");
    options = wmContextOptionsDefault();
    options.allocator.user = &options;
    options.allocator.free = (void (*)(void *, void *, size_t, wmStream))abort;
    BAD(wmContextCreate(&made, &options), "allocator");
    wmContextRetain(NULL);
    wmContextDestroy(NULL);
    assert_int_equal(wmContextPlace(NULL), WM_PLACE_AUTO);
    wmContextOptionsInit(NULL, 0);
}

static void context_calls(void **unused) {
    (void)unused;
    wmDeviceInfo info = {.size = sizeof info};
    size_t needed = 0;
    char text[8];
    void *pointer = &needed;
    BAD(wmContextDeviceInfo(NULL, &info), "context");
    BAD(wmContextDeviceInfo(context, NULL), "info");
    info.size = 0;
    BAD(wmContextDeviceInfo(context, &info), "size");
    BAD(wmContextInfo(NULL, WM_TEXT, text, sizeof text, &needed), "context");
    BAD(wmContextInfo(context, (wmTextFormat)5, text, sizeof text, &needed), "format");
    BAD(wmContextInfo(context, WM_TEXT, NULL, 8, &needed), "buffer");
    assert_int_equal(wmContextInfo(context, WM_TEXT, NULL, 0, &needed), WM_OK);
    assert_true(needed > 8);
    BAD(wmAlloc(NULL, context, 8), "pointer");
    BAD(wmAlloc(&pointer, NULL, 8), "context");
    assert_null(pointer);
    REFUSED(wmAlloc(&pointer, context, SIZE_MAX / 2), WM_ERR_MEMORY, "bytes");
    assert_int_equal(wmAlloc(&pointer, context, 0), WM_OK);
    assert_null(pointer);
    wmFree(context, NULL);
    wmFree(NULL, NULL);
    BAD(wmCopy(NULL, text, text, 1, NULL), "context");
    BAD(wmCopy(context, NULL, text, 1, NULL), "to");
    BAD(wmCopy(context, text, NULL, 1, NULL), "from");
    assert_int_equal(wmCopy(context, NULL, NULL, 0, NULL), WM_OK);
    BAD(wmSynchronize(NULL, NULL), "context");
}

static void plans(void **unused) {
    (void)unused;
    wmPlan *plan = (wmPlan *)1;
    wmMatmulDesc matmul = wmMatmulDescDefault(WM_F32, 4, 4, 4);
    wmFftDesc fft = wmFftDescPacked(WM_FFT_C2C, WM_F32, 1, (const int64_t[]){8}, 1);
    wmRandomDesc draw = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
    BAD(wmMatmulPlanCreate(NULL, context, &matmul, NULL), "plan");
    BAD(wmFftPlanCreate(NULL, context, &fft, NULL), "plan");
    BAD(wmRandomPlanCreate(NULL, context, &draw, NULL), "plan");
    BAD(wmPlanCreate(NULL, context, "random bits u32", NULL), "plan");
    BAD(wmMatmulPlanCreate(&plan, NULL, &matmul, NULL), "context");
    assert_null(plan);
    BAD(wmFftPlanCreate(&plan, NULL, &fft, NULL), "context");
    BAD(wmRandomPlanCreate(&plan, NULL, &draw, NULL), "context");
    BAD(wmPlanCreate(&plan, NULL, "random bits u32", NULL), "context");
    BAD(wmMatmulPlanCreate(&plan, context, NULL, NULL), "desc");
    BAD(wmFftPlanCreate(&plan, context, NULL, NULL), "desc");
    BAD(wmRandomPlanCreate(&plan, context, NULL, NULL), "desc");
    BAD(wmPlanCreate(&plan, context, NULL, NULL), "problem");
    wmPlanOptions options = wmPlanOptionsDefault();
    options.effort = (wmEffort)17;
    BAD(wmMatmulPlanCreate(&plan, context, &matmul, &options), "effort");
    options = wmPlanOptionsDefault();
    options.size = 3;
    BAD(wmMatmulPlanCreate(&plan, context, &matmul, &options), "size");
    options = wmPlanOptionsDefault();
    options.budget_ms = -1;
    BAD(wmMatmulPlanCreate(&plan, context, &matmul, &options), "budget_ms");
    options.budget_ms = (double)NAN;
    BAD(wmMatmulPlanCreate(&plan, context, &matmul, &options), "budget_ms");
    options = wmPlanOptionsDefault();
    options.budget_bytes = -5;
    BAD(wmMatmulPlanCreate(&plan, context, &matmul, &options), "budget_bytes");
    options = wmPlanOptionsDefault();
    options.workspace_limit = -2;
    BAD(wmMatmulPlanCreate(&plan, context, &matmul, &options), "workspace_limit");
    options = wmPlanOptionsDefault();
    options.effort = WM_WISDOM_ONLY;
    REFUSED(wmMatmulPlanCreate(&plan, context, &matmul, &options), WM_ERR_NO_WISDOM, "matmul f32 4x4x4");
    assert_null(plan);
}

static void plan_calls(void **unused) {
    (void)unused;
    wmPlan *plan = NULL;
    size_t bytes = 0;
    char text[16];
    assert_int_equal(wmPlanCreate(&plan, context, "matmul f32 4x4x4", NULL), WM_OK);
    BAD(wmPlanWorkspace(NULL, &bytes), "plan");
    BAD(wmPlanWorkspace(plan, NULL), "bytes");
    BAD(wmPlanExplain(NULL, WM_TEXT, text, sizeof text, &bytes), "plan");
    BAD(wmPlanExplain(plan, (wmTextFormat)2, text, sizeof text, &bytes), "format");
    BAD(wmPlanExplain(plan, WM_TEXT, NULL, 4, &bytes), "buffer");
    double seconds = 0;
    wmMatmulArgs args = wmMatmulArgsDefault(NULL, NULL, NULL);
    BAD(wmPlanTime(NULL, &args, NULL, 1, &seconds), "plan");
    BAD(wmPlanTime(plan, NULL, NULL, 1, &seconds), "args");
    BAD(wmPlanTime(plan, &args, NULL, 1, NULL), "seconds");
    BAD(wmPlanTime(plan, &args, NULL, 1, &seconds), "args.");
    BAD(wmPlanRetainInGraph(NULL, (wmGraph)&bytes), "plan");
    BAD(wmPlanRetainInGraph(plan, NULL), "graph");
    assert_string_equal(wmPlanProblem(NULL), "");
    assert_string_equal(wmPlanSolver(NULL), "");
    assert_int_equal(wmPlanCapturable(NULL), 0);
    assert_int_equal(wmPlanConcurrent(NULL), 0);
    assert_true(wmPlanBitsId(NULL) == 0);
    wmPlanRetain(NULL);
    wmPlanDestroy(NULL);
    wmPlanDestroy(plan);
}

static void matmul_arguments(void **unused) {
    (void)unused;
    wmPlan *plan = NULL, *other = NULL;
    static _Alignas(16) float a[16], b[16], d[16], bias[4];
    assert_int_equal(wmPlanCreate(&plan, context, "matmul f32 4x4x4 bias=n", NULL), WM_OK);
    assert_int_equal(wmPlanCreate(&other, context, "fft c2c f32 8", NULL), WM_OK);
    wmMatmulArgs good = wmMatmulArgsDefault(a, b, d), args;
    good.bias = bias;
    BAD(wmMatmulExecute(NULL, &good, NULL), "plan");
    BAD(wmMatmulExecute(plan, NULL, NULL), "args");
    BAD(wmMatmulExecute(other, &good, NULL), "plan");
    assert_int_equal(wmMatmulExecute(plan, &good, NULL), WM_OK);
    args = good, args.size = 5;
    BAD(wmMatmulExecute(plan, &args, NULL), "size");
    args = good, args.a = NULL;
    BAD(wmMatmulExecute(plan, &args, NULL), "args.a");
    args = good, args.b = NULL;
    BAD(wmMatmulExecute(plan, &args, NULL), "args.b");
    args = good, args.d = NULL;
    BAD(wmMatmulExecute(plan, &args, NULL), "args.d");
    args = good, args.bias = NULL;
    BAD(wmMatmulExecute(plan, &args, NULL), "args.bias");
    args = good, args.a = (const char *)a + 4;
    BAD(wmMatmulExecute(plan, &args, NULL), "args.a");
    args = good, args.d = a;
    BAD(wmMatmulExecute(plan, &args, NULL), "args.d");
    args = good, args.alpha = wmComplex(1, 2);
    BAD(wmMatmulExecute(plan, &args, NULL), "alpha");
    args = good, args.beta = wmDeviceScalar(NULL);
    BAD(wmMatmulExecute(plan, &args, NULL), "beta");
    args = good, args.beta.kind = (wmScalarKind)8;
    BAD(wmMatmulExecute(plan, &args, NULL), "beta");
    args = good, args.workspace = (char *)a + 8, args.workspace_bytes = 1 << 20;
    size_t workspace = 0;
    assert_int_equal(wmPlanWorkspace(plan, &workspace), WM_OK);
    if (workspace) BAD(wmMatmulExecute(plan, &args, NULL), "workspace");
    wmPlanDestroy(plan);
    wmPlanDestroy(other);
}

static void matmul_one_shot(void **unused) {
    (void)unused;
    static _Alignas(16) float a[64], b[64], d[64];
    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, 4, 4, 4);
    wmMatmulArgs args = wmMatmulArgsDefault(a + 1, b + 3, d + 5); /* 4-byte alignment: taken from the pointers */
    BAD(wmMatmul(NULL, &desc, &args, NULL), "context");
    BAD(wmMatmul(context, NULL, &args, NULL), "desc");
    BAD(wmMatmul(context, &desc, NULL, NULL), "args");
    assert_int_equal(wmMatmul(context, &desc, &args, NULL), WM_OK);
    args.a = (const char *)a + 2;
    BAD(wmMatmul(context, &desc, &args, NULL), "args.a");
    desc.m = -1;
    BAD(wmMatmul(context, &desc, &args, NULL), "m is -1");
    desc = wmMatmulDescDefault(WM_F32, 0, 4, 4);
    args = wmMatmulArgsDefault(NULL, NULL, NULL);
    assert_int_equal(wmMatmul(context, &desc, &args, NULL), WM_OK); /* nothing to do: all may be NULL */
    wmMatmulDescInit(NULL, 0, WM_F32, 1, 1, 1);
    wmMatmulArgsInit(NULL, 0);
}

static void grouped_arguments(void **unused) {
    (void)unused;
    static _Alignas(16) float a[64], b[64], d[64];
    static const wmMatmulGroup groups[3] = {
        {4, 4,  4, 0,  0,  0, 0 },
        {0, 4,  4, 16, 16, 0, 16},
        {9, -1, 4, 16, 16, 0, 16}
    };
    wmPlan *plan = NULL;
    assert_int_equal(wmPlanCreate(&plan, context, "matmul f32 4x4x4 batch=3 batch_mode=grouped", NULL), WM_OK);
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, d);
    BAD(wmMatmulExecute(plan, &args, NULL), "args.groups");
    args.groups = (const wmMatmulGroup *)(const void *)((const char *)groups + 4);
    BAD(wmMatmulExecute(plan, &args, NULL), "args.groups");
    args.groups = groups;
    for (int i = 0; i < 64; i++) a[i] = b[i] = 1, d[i] = -1;
    assert_int_equal(wmMatmulExecute(plan, &args, NULL), WM_OK);
    assert_true(d[15] == 4.0f);
    for (int i = 16; i < 64; i++) assert_true(d[i] == -1.0f); /* no rows, no columns: untouched */
    wmPlanDestroy(plan);
}

static void fft_arguments(void **unused) {
    (void)unused;
    static _Alignas(16) float x[32], y[32];
    wmPlan *plan = NULL, *in_place = NULL;
    assert_int_equal(wmPlanCreate(&plan, context, "fft c2c f32 8", NULL), WM_OK);
    assert_int_equal(wmPlanCreate(&in_place, context, "fft c2c f32 8 inplace=1", NULL), WM_OK);
    wmFftArgs good = wmFftArgsDefault(x, y), args = good;
    BAD(wmFftExecute(NULL, &good, NULL), "plan");
    BAD(wmFftExecute(plan, NULL, NULL), "args");
    args.in = NULL;
    BAD(wmFftExecute(plan, &args, NULL), "args.in");
    args = good, args.out = NULL;
    BAD(wmFftExecute(plan, &args, NULL), "args.out");
    args = good, args.out = (char *)y + 4;
    BAD(wmFftExecute(plan, &args, NULL), "args.out");
    args = good, args.out = x;
    BAD(wmFftExecute(plan, &args, NULL), "out of place");
    BAD(wmFftExecute(in_place, &good, NULL), "in place");
    assert_int_equal(wmFftExecute(plan, &good, NULL), WM_OK);
    wmFftDesc desc = wmFftDescPacked(WM_FFT_C2C, WM_F32, 1, (const int64_t[]){8}, 1);
    BAD(wmFft(NULL, &desc, &good, NULL), "context");
    BAD(wmFft(context, NULL, &good, NULL), "desc");
    BAD(wmFft(context, &desc, NULL, NULL), "args");
    assert_int_equal(wmFft(context, &desc, &good, NULL), WM_OK);
    desc = wmFftDescPacked(WM_FFT_C2C, WM_F32, 4, (const int64_t[]){8, 8, 8, 8}, 1);
    BAD(wmFft(context, &desc, &good, NULL), "rank");
    desc = wmFftDescPacked(WM_FFT_C2C, WM_F32, 1, NULL, 1);
    BAD(wmFft(context, &desc, &good, NULL), "dim[0].n");
    wmFftDescInverse(NULL, &desc);
    wmFftDescInverse(&desc, NULL);
    /* A header from before functors knows less of the struct: no more of it is read, or written. */
    wmFftDesc older[2];
    memset(older, 0x5a, sizeof older);
    wmFftDescInit(&older[0], offsetof(wmFftDesc, load), WM_FFT_R2C, WM_F32, 1, (const int64_t[]){8}, 1);
    wmFftDescInverse(&older[1], &older[0]);
    assert_true(older[1].size == offsetof(wmFftDesc, load) && older[1].kind == WM_FFT_C2R);
    for (size_t i = offsetof(wmFftDesc, load); i < sizeof older[1]; i++)
        assert_int_equal(((unsigned char *)&older[1])[i], 0x5a);
    wmFftDescInit(NULL, 0, WM_FFT_C2C, WM_F32, 1, NULL, 1);
    wmFftArgsInit(NULL, 0);
    wmPlanDestroy(plan);
    wmPlanDestroy(in_place);
}

static void random_arguments(void **unused) {
    (void)unused;
    static float x[16];
    wmPlan *uniform = NULL, *normal = NULL;
    wmRandomArgs good = wmRandomArgsDefault(x, 16, wmRandomKeyMake(1)), args = good;
    assert_int_equal(wmPlanCreate(&uniform, context, "random uniform f32", NULL), WM_OK);
    assert_int_equal(wmPlanCreate(&normal, context, "random normal f32", NULL), WM_OK);
    BAD(wmRandomExecute(NULL, &good, NULL), "plan");
    BAD(wmRandomExecute(uniform, NULL, NULL), "args");
    args.out = NULL;
    BAD(wmRandomExecute(uniform, &args, NULL), "args.out");
    args.count = 0;
    assert_int_equal(wmRandomExecute(uniform, &args, NULL), WM_OK);
    args = good, args.count = -1;
    BAD(wmRandomExecute(uniform, &args, NULL), "count");
    args = good, args.count = INT64_MAX / 2;
    BAD(wmRandomExecute(uniform, &args, NULL), "count");
    args = good, args.out = (char *)x + 1;
    BAD(wmRandomExecute(uniform, &args, NULL), "args.out");
    const double bad_ranges[][2] = {
        {1,         1        },
        {2,         1        },
        {0,         INFINITY },
        {-INFINITY, 0        },
        {NAN,       1        },
        {0,         NAN      },
        {-3e38,     3e38     },
        {1,         1 + 1e-12}
    };
    for (size_t i = 0; i < sizeof bad_ranges / sizeof *bad_ranges; i++) {
        args = good, args.low = bad_ranges[i][0], args.high = bad_ranges[i][1];
        BAD(wmRandomExecute(uniform, &args, NULL), "args.low");
    }
    const double bad_normals[][2] = {
        {0,        -1      },
        {NAN,      1       },
        {0,        NAN     },
        {INFINITY, 1       },
        {0,        INFINITY},
        {1e39,     1       }
    };
    for (size_t i = 0; i < sizeof bad_normals / sizeof *bad_normals; i++) {
        args = good, args.mean = bad_normals[i][0], args.std = bad_normals[i][1];
        BAD(wmRandomExecute(normal, &args, NULL), "args.mean");
    }
    wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_UNIFORM, WM_BF16);
    args = good, args.low = 0, args.high = 3.4e38; /* bf16 ends at 0x1.fep127, 3.39e38 */
    BAD(wmRandom(context, &desc, &args, NULL), "args.high");
    args.high = 0x1.fep127;
    assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
    desc = wmRandomDescDefault(WM_RANDOM_BITS, WM_U32);
    BAD(wmRandom(NULL, &desc, &good, NULL), "context");
    BAD(wmRandom(context, NULL, &good, NULL), "desc");
    BAD(wmRandom(context, &desc, NULL, NULL), "args");
    assert_int_equal(wmRandom(context, &desc, &good, NULL), WM_OK);
    wmRandomDescInit(NULL, 0, WM_RANDOM_BITS, WM_U32);
    wmRandomArgsInit(NULL, 0);
    wmPlanDestroy(uniform);
    wmPlanDestroy(normal);
}

static void cursors(void **unused) {
    (void)unused;
    wmRandomDesc u32 = wmRandomDescDefault(WM_RANDOM_BITS, WM_U32), f64 = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F64);
    wmRandomCursor cursor = wmRandomCursorMake(wmRandomKeyMake(3));
    uint64_t at = 7;
    BAD(wmRandomCursorTake(NULL, &u32, 1, &at), "cursor");
    BAD(wmRandomCursorTake(&cursor, NULL, 1, &at), "desc");
    BAD(wmRandomCursorTake(&cursor, &u32, -1, &at), "count");
    BAD(wmRandomCursorTake(&cursor, &u32, 1, NULL), "offset");
    assert_int_equal(wmRandomCursorTake(&cursor, &u32, 5, &at), WM_OK);
    assert_true(at == 0);
    assert_int_equal(wmRandomCursorTake(&cursor, &f64, 3, &at), WM_OK);
    assert_true(at == 4); /* words 8 to 13 */
    assert_int_equal(wmRandomCursorTake(&cursor, &u32, 1, &at), WM_OK);
    assert_true(at == 16);
    cursor.next = UINT64_MAX - 15;
    BAD(wmRandomCursorTake(&cursor, &f64, 100, &at), "count");
    wmRandomKeySplit(wmRandomKeyMake(1), NULL, 3);
    wmRandomKey keys[2];
    wmRandomKeySplit(wmRandomKeyMake(1), keys, 2);
    assert_true(keys[0].seed != keys[1].seed);
    wmRandomKey folded = wmRandomKeyFold(wmRandomKeyMake(1), (uint64_t)1 << 63);
    assert_true(folded.seed == keys[0].seed && folded.substream == keys[0].substream);
}

static void wisdom(void **unused) {
    (void)unused;
    size_t needed = 0;
    char text[4];
    BAD(wmWisdomLoad(NULL, "x", NULL), "context");
    BAD(wmWisdomLoad(context, NULL, NULL), "path");
    REFUSED(wmWisdomLoad(context, "/no/such/folder/wisdom", NULL), WM_ERR_IO, "/no/such/folder/wisdom");
    BAD(wmWisdomSave(NULL, "x", NULL), "context");
    BAD(wmWisdomForget(NULL, NULL, NULL), "context");
    BAD(wmWisdomPrint(NULL, WM_TEXT, text, sizeof text, &needed), "context");
    BAD(wmWisdomPrint(context, (wmTextFormat)-1, text, sizeof text, &needed), "format");
    BAD(wmWisdomPrint(context, WM_TEXT, NULL, 4, &needed), "buffer");
}

static void types_and_statuses(void **unused) {
    (void)unused;
    assert_int_equal(wmVersion(), WM_VERSION);
    assert_string_equal(wmStatusName(WM_ERR_NO_WISDOM), "WM_ERR_NO_WISDOM");
    assert_string_equal(wmStatusName((wmStatus)99), "WM_ERR_?");
    assert_string_equal(wmTypeName(WM_F8E4M3), "e4m3");
    assert_string_equal(wmTypeName(WM_TYPE_UNSET), "unset");
    assert_string_equal(wmTypeName((wmType)2), "?");
    assert_true(wmTypeSize(WM_C128) == 16 && wmTypeSize((wmType)2) == 0);
    assert_int_equal(wmTypeFromCuda(14), WM_BF16);
    assert_int_equal(wmTypeFromCuda(999), WM_TYPE_UNSET);
    assert_int_equal(wmTypeToCuda(WM_BF16), 14);
    assert_int_equal(wmTypeToCuda(WM_TYPE_UNSET), -1);
    assert_non_null(wmLastError());
    (void)wmLastCudaError();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),          cmocka_unit_test(context_calls),    cmocka_unit_test(plans),
        cmocka_unit_test(plan_calls),        cmocka_unit_test(matmul_arguments), cmocka_unit_test(matmul_one_shot),
        cmocka_unit_test(grouped_arguments), cmocka_unit_test(fft_arguments),    cmocka_unit_test(random_arguments),
        cmocka_unit_test(cursors),           cmocka_unit_test(wisdom),           cmocka_unit_test(types_and_statuses),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
