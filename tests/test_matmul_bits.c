/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determinism of matrix products, bit by bit, through the public API: the same plan gives the same bits each time, and
 * with WM_BATCH_INVARIANT a row has the same bits whatever m is.
 *
 *     test_matmul_bits [cpu | gpu]
 */
#include <warpmath/warpmath.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
enum { MOST = 257, N = 136, K = 520 };

static wmPlace place;
static wmContext *context;

static void ok(wmStatus status) {
    if (status != WM_OK) fail_msg("%s: %s", wmStatusName(status), wmLastError());
}

/* Bits that are numbers of moderate size in every type: of each element the exponent's upper bits are fixed. */
static void *upload(wmType type, int64_t count, unsigned seed) {
    size_t size = wmTypeSize(type),
           part = type == WM_C64    ? 4
                  : type == WM_C128 ? 8
                                    : size,
           bytes = (size_t)count * size;
    unsigned char *host = malloc(bytes);
    void *at = NULL;
    assert_non_null(host);
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned char byte = (unsigned char)(seed >> 24);
        if (i % part == part - 1 && type != WM_I8) byte = (unsigned char)((byte & 0x80) | 0x38 | (byte & 3));
        host[i] = byte;
    }
    ok(wmAlloc(&at, context, bytes));
    ok(wmCopy(context, at, host, bytes, NULL));
    ok(wmSynchronize(context, NULL));
    free(host);
    return at;
}

/* Plans desc, runs it, and leaves D's bytes in `to`. */
static void product(const wmMatmulDesc *desc, const void *a, const void *b, void *to, size_t bytes, int times) {
    wmPlan *plan = NULL;
    void *d = NULL;
    ok(wmMatmulPlanCreate(&plan, context, desc, NULL));
    ok(wmAlloc(&d, context, bytes));
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, d);
    for (int i = 0; i < times; i++) {
        unsigned char *out = (unsigned char *)to + (size_t)i * bytes;
        memset(out, 0xee, bytes);
        ok(wmCopy(context, d, out, bytes, NULL));
        ok(wmMatmulExecute(plan, &args, NULL));
        ok(wmCopy(context, out, d, bytes, NULL));
        ok(wmSynchronize(context, NULL));
    }
    wmFree(context, d);
    wmPlanDestroy(plan);
}

typedef struct form {
    wmType type, d;
    wmOp a, b;
    wmOrder order;
    int relu;
} form;

static const form forms[] = {
    {WM_BF16,   WM_BF16, WM_OP_NONE, WM_OP_TRANSPOSE, WM_ROW_MAJOR, 0},
    {WM_BF16,   WM_F32,  WM_OP_NONE, WM_OP_NONE,      WM_ROW_MAJOR, 1},
    {WM_F16,    WM_F16,  WM_OP_NONE, WM_OP_NONE,      WM_ROW_MAJOR, 0},
    {WM_F32,    WM_F32,  WM_OP_NONE, WM_OP_TRANSPOSE, WM_ROW_MAJOR, 0},
    {WM_F64,    WM_F64,  WM_OP_NONE, WM_OP_NONE,      WM_ROW_MAJOR, 1},
    {WM_C64,    WM_C64,  WM_OP_NONE, WM_OP_TRANSPOSE, WM_ROW_MAJOR, 0},
    {WM_C128,   WM_C128, WM_OP_NONE, WM_OP_NONE,      WM_ROW_MAJOR, 0},
    {WM_F8E4M3, WM_BF16, WM_OP_NONE, WM_OP_TRANSPOSE, WM_ROW_MAJOR, 0},
    {WM_I8,     WM_I32,  WM_OP_NONE, WM_OP_TRANSPOSE, WM_ROW_MAJOR, 0},
};

static wmMatmulDesc desc_of(const form *f, int64_t m) {
    wmMatmulDesc d = wmMatmulDescDefault(f->type, m, N, K);
    d.a.op = f->a, d.b.op = f->b;
    d.d.type = f->d, d.d.order = f->order;
    if (f->relu) d.activation = WM_ACT_RELU;
    return d;
}

static void runs_agree(void **unused) {
    (void)unused;
    for (int i = 0; i < COUNT(forms); i++) {
        wmMatmulDesc d = desc_of(&forms[i], MOST);
        size_t bytes = (size_t)MOST * N * wmTypeSize(forms[i].d);
        void *a = upload(forms[i].type, (int64_t)MOST * K, 1), *b = upload(forms[i].type, (int64_t)N * K, 2);
        unsigned char *out = malloc(3 * bytes);
        assert_non_null(out);
        product(&d, a, b, out, bytes, 3);
        assert_memory_equal(out, out + bytes, bytes);
        assert_memory_equal(out, out + 2 * bytes, bytes);
        free(out);
        wmFree(context, a);
        wmFree(context, b);
    }
}

static void rows_do_not_depend_on_m(void **unused) {
    static const int64_t rows[] = {1, 2, 7, 16, 63, 64, 65, 128, 130, 200, MOST};
    (void)unused;
    for (int i = 0; i < COUNT(forms); i++) {
        size_t row = (size_t)N * wmTypeSize(forms[i].d);
        void *a = upload(forms[i].type, (int64_t)MOST * K, 3), *b = upload(forms[i].type, (int64_t)N * K, 4);
        unsigned char *all = malloc(MOST * row), *some = malloc(MOST * row);
        assert_non_null(all);
        assert_non_null(some);
        for (int r = COUNT(rows) - 1; r >= 0; r--) {
            wmMatmulDesc d = desc_of(&forms[i], rows[r]);
            d.determinism = WM_BATCH_INVARIANT;
            product(&d, a, b, some, (size_t)rows[r] * row, 1);
            if (rows[r] == MOST) memcpy(all, some, MOST * row);
            assert_memory_equal(some, all, (size_t)rows[r] * row);
        }
        free(all);
        free(some);
        wmFree(context, a);
        wmFree(context, b);
    }
}

int main(int argc, char **argv) {
    wmContextOptions options = wmContextOptionsDefault();
    place = argc > 1 && strcmp(argv[1], "gpu") == 0 ? WM_PLACE_GPU : WM_PLACE_CPU;
    options.place = place;
    options.wisdom_path = "";
    if (wmContextCreate(&context, &options) != WM_OK) {
        printf("no context: %s\n", wmLastError());
        return place == WM_PLACE_GPU ? 77 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_agree),
        cmocka_unit_test(rows_do_not_depend_on_m),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    wmContextDestroy(context);
    return failures;
}
