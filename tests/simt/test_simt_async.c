/* SPDX-License-Identifier: Apache-2.0 */
/* mbarriers, bulk copies and tensor cores under the emulation: right kernels give the right numbers and no report, and
 * each planted fault is caught, by a report or by wrong numbers. */
#include "async.h"
#include "simt_device.h"
#include "simt_test.h"

#include <stdbool.h>
#include <stdio.h>

void wm_async_product_kernel(const void *p);
void wm_async_run_kernel(const void *p);
void wm_async_mma_kernel(const void *p);

enum { N = 64, PRODUCT_SHARED = 8192 * 4 + 8, RUN_SHARED = 256 * 4 + 8, MMA_SHARED = 1024 };

/* Small integers, which are bf16 exactly; different ones everywhere. */
static float number(int i) {
    return (float)((i * 37 + i / 64 * 11) % 17 - 8);
}

static void encode(void *map, const void *base, int element, int columns, int rows) {
    const int64_t dim[3] = {columns, rows, 1}, stride[2] = {columns, (int64_t)columns * rows};
    const int box[3] = {128 / element, N, 1};
    assert_int_equal(wm_simt_map_encode(map, 3, element, base, dim, stride, box, 128), 0);
}

/* What a fault makes of a kernel, over the seeds. */
typedef struct outcome {
    int error, wrong;
} outcome;

/* Matrices of `rows` rows: what is outside is zero and stays untouched. */
static outcome product(int fault, int rows) {
    outcome o = {0, 0};
    uint16_t a[N * N] = {0}, b[N * N] = {0};
    for (int i = 0; i < rows * N; i++) {
        a[i] = (uint16_t)wm_simt_round16(1, number(i));
        b[i] = (uint16_t)wm_simt_round16(1, number(i + 5));
    }
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        wm_async_product p;
        size_t bytes = sizeof(uint16_t) * (size_t)rows * N;
        void *da = to_device(a, bytes), *db = to_device(b, bytes);
        float *d = wm_area_new(sizeof(float) * (size_t)rows * N);
        memset(&p, 0, sizeof p);
        encode(&p.a, da, 2, N, rows);
        encode(&p.b, db, 2, N, rows);
        encode(&p.d, d, 4, N, rows);
        p.fault = fault;
        wm_simt_seed(seed);
        o.error |= launch(wm_async_product_kernel, 1, 0, 128, PRODUCT_SHARED, &p, sizeof p);
        for (int i = 0; i < rows && !o.error; i++)
            for (int j = 0; j < N; j++) {
                float sum = 0;
                for (int k = 0; k < N && j < rows; k++) sum += number(i * N + k) * number(j * N + k + 5);
                if (!(d[i * N + j] == sum)) o.wrong = 1;
            }
        wm_area_end(da);
        wm_area_end(db);
        wm_area_end(d);
    }
    return o;
}

static outcome run(int fault, unsigned blocks) {
    outcome o = {0, 0};
    float x[256];
    for (int i = 0; i < 256; i++) x[i] = number(i) + 0.25f;
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        wm_async_run p = {to_device(x, sizeof x), wm_area_new(sizeof x), 256, fault};
        wm_simt_seed(seed);
        o.error |= launch(wm_async_run_kernel, blocks, blocks > 1 ? blocks : 0, 96, RUN_SHARED, &p, sizeof p);
        for (int i = 0; i < 256 && !o.error; i++)
            if (!(p.out[i] == 2 * x[i])) o.wrong = 1;
        wm_area_end((void *)(uintptr_t)p.in);
        wm_area_end(p.out);
    }
    return o;
}

static int wrong_products(const float *a, const float *b, const float *d) {
    static const int depth[] = {16, 16, 8, 32, 4};
    for (int type = 0; type < 5; type++)
        for (int i = 0; i < (type == 4 ? 8 : 16); i++)
            for (int j = 0; j < 8; j++) {
                float sum = 0;
                for (int k = 0; k < depth[type]; k++) sum += a[i * 32 + k] * b[k * 8 + j];
                if (!(d[type * 128 + i * 8 + j] == sum)) return 1;
            }
    return 0;
}

static outcome mma(int fault) {
    outcome o = {0, 0};
    float a[16 * 32], b[32 * 8];
    for (int i = 0; i < 16 * 32; i++) a[i] = number(i);
    for (int i = 0; i < 32 * 8; i++) b[i] = number(i + 3);
    wm_async_mma p = {to_device(a, sizeof a), to_device(b, sizeof b), wm_area_new(5 * 128 * 4), wm_area_new(1024),
                      fault};
    wm_simt_seed(3);
    o.error = launch(wm_async_mma_kernel, 1, 0, 32, MMA_SHARED, &p, sizeof p);
    o.wrong = wrong_products(a, b, p.d);
    for (int i = 0; i < 256; i++) {
        int t = i / 64 * 64 + i % 8 * 8 + i / 8 % 8; /* the same place of the transposed matrix */
        if (p.moved[i] != i || p.moved[256 + i] != t) o.wrong = 1;
    }
    wm_area_end((void *)(uintptr_t)p.a);
    wm_area_end((void *)(uintptr_t)p.b);
    wm_area_end(p.d);
    wm_area_end(p.moved);
    return o;
}

static void right(outcome o) {
    assert_string_equal(wm_simt_faults(), "");
    assert_int_equal(o.error, 0);
    assert_int_equal(o.wrong, 0);
}

static void right_kernels(void **state) {
    (void)state;
    right(product(WM_RIGHT, N));
    right(product(WM_RIGHT, 23));
    right(run(WM_RIGHT, 1));
    right(run(WM_RIGHT, 2));
    right(mma(WM_RIGHT));
}

/* Maps that cuTensorMapEncodeTiled refuses. */
static void refused_maps(void **state) {
    static const struct {
        int64_t dim, stride;
        int element, box, swizzle;
        uintptr_t base;
    } bad[] = {
        {64, 64, 2, 64,  64,  4096}, /* a row wider than the swizzle */
        {64, 64, 2, 4,   128, 4096}, /* a row that is no multiple of 16 bytes */
        {64, 60, 2, 64,  128, 4096}, /* a stride that is none */
        {64, 64, 2, 64,  128, 4100}, /* a base that is none */
        {0,  64, 2, 64,  128, 4096},
        {64, 64, 2, 320, 0,   4096},
    };
    unsigned char map[128];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int64_t dim[2] = {bad[i].dim, 64};
        const int box[2] = {bad[i].box, 8};
        const void *base = (const void *)bad[i].base;
        assert_int_equal(wm_simt_map_encode(map, 2, bad[i].element, base, dim, &bad[i].stride, box, bad[i].swizzle), 1);
    }
}

/* ALWAYS: reported in every build. CHECKED: reported where accesses are looked at one by one. WRONG: not reported, the
 * numbers are wrong. BOTH: reported as CHECKED, wrong in any build. */
typedef enum seen { ALWAYS, CHECKED, WRONG, BOTH } seen;

typedef struct planted {
    const char *name;
    int fault, error;
    const char *says;
    seen seen;
} planted;

/* clang-format off */
static const planted cases[] = {
    {"no barrier after an mbarrier is made", WM_NO_BARRIER, 719, "mbarrier", ALWAYS},
    {"no fence after an mbarrier is made", WM_NO_INIT_FENCE, 0, "no fence has shown to the async proxy", ALWAYS},
    {"too few bytes announced", WM_SHORT_EXPECT, 0, "bulk copies in flight that nobody waited for", ALWAYS},
    {"too many bytes announced", WM_LONG_EXPECT, 719, "lacks 0 of 1 arrivals and 16 bytes", ALWAYS},
    {"tile not loaded", WM_NO_LOAD, 0, "which no thread has written", BOTH},
    {"no wait for the tiles", WM_NO_WAIT, 0, "that a bulk copy wrote", BOTH},
    {"wait for the phase before", WM_WRONG_PARITY, 0, "that a bulk copy wrote", BOTH},
    {"descriptor's stride", WM_STRIDE, 0, "", WRONG},
    {"descriptor's swizzle", WM_SPAN, 0, "", WRONG},
    {"no wgmma.fence", WM_NO_WGMMA_FENCE, 0, "wgmma without a wgmma.fence", ALWAYS},
    {"operand overwritten", WM_EARLY_REUSE, 0, "overwritten before it was waited for", ALWAYS},
    {"no wgmma wait", WM_NO_WGMMA_WAIT, 0, "", WRONG},
    {"operands differ", WM_OTHER_OPERAND, 0, "differs from that of other threads of its warpgroup", ALWAYS},
    {"swizzle off by one", WM_SWIZZLE, 0, "", WRONG},
    {"no fence.proxy.async", WM_NO_ASYNC_FENCE, 0, "with no fence between", CHECKED},
    {"no barrier before a store", WM_NO_STORE_BARRIER, 0, "", BOTH},
    {"stored tile overwritten", WM_EARLY_WRITE, 0, "overwritten before the store was waited for", ALWAYS},
    {"no wait for a store", WM_NO_STORE_WAIT, 0, "bulk stores in flight that it never waited for", ALWAYS},
    {"one arrival too many", WM_EXTRA_ARRIVAL, 719, "all of whom have come in this phase", ALWAYS},
    {"wrong lane", WM_WRONG_LANE, 0, "", WRONG},
    {"no meeting of the cluster", WM_NO_MEETING, 719, "mbarrier", ALWAYS},
};
/* clang-format on */

static void caught(void **state) {
    const planted *c = *state;
    outcome o = c->fault == WM_WRONG_LANE   ? mma(c->fault)
                : c->fault == WM_NO_MEETING ? run(c->fault, 2)
                                            : product(c->fault, N);
    const char *faults = wm_simt_faults();
    bool reported = c->seen == ALWAYS || (c->seen != WRONG && wm_simt_instrumented());
    if (reported && (!*faults || !strstr(faults, c->says))) fail_msg("%s: reported '%s'", c->name, faults);
    if (reported) assert_int_equal(o.error, c->error);
    if (c->seen == WRONG || (c->seen == BOTH && !wm_simt_instrumented())) assert_true(o.wrong);
    if (getenv("WM_SIMT_SHOW")) print_message("%s", faults); // NOLINT(concurrency-mt-unsafe)
    wm_simt_faults_clear();
}

int test_async(void) {
    enum { CASES = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[CASES + 2];
    for (size_t i = 0; i < CASES; i++) {
        struct CMUnitTest t = {cases[i].name, caught, NULL, NULL, (void *)(uintptr_t)&cases[i]};
        tests[i] = t;
    }
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(right_kernels);
    tests[CASES + 1] = (struct CMUnitTest)cmocka_unit_test(refused_maps);
    return cmocka_run_group_tests_name("asynchronous", tests, NULL, NULL);
}
