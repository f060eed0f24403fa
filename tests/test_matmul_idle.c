/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alpha is the host's 0: no solver looks at A and B, which may be NULL. On the CPU place, under the emulation, and on a
 * GPU ("gpu").
 */
#include "lib/fields.h"
#include "place.h"

static void check(const char *problem) {
    wmPlan *plan = NULL;
    wm_problem parsed;
    if (wm_problem_parse(&parsed, problem, wmContextPlace(place_context)) != WM_OK) fail_msg("%s", wmLastError());
    const wmMatmulDesc *d = &parsed.u.matmul;
    size_t bytes = (size_t)wm_matrix_span(&d->d, wm_matmul_shape(d, 'd'), d->batch) * wmTypeSize(d->d.type);
    unsigned char *got = malloc(bytes);
    static float zeros[4096];
    assert_non_null(got);
    memset(got, 0xff, bytes); /* NaN in every floating type */
    void *out = place_send(got, bytes), *vector = place_send(zeros, sizeof zeros);
    if (wmPlanCreate(&plan, place_context, problem, NULL) != WM_OK) fail_msg("%s: %s", problem, wmLastError());
    wmMatmulArgs args = wmMatmulArgsDefault(NULL, NULL, out);
    args.alpha = wmReal(0);
    args.bias = args.a_scale = args.b_scale = vector;
    if (wmMatmulExecute(plan, &args, NULL) != WM_OK)
        fail_msg("%s by %s: %s", problem, wmPlanSolver(plan), wmLastError());
    assert_int_equal(wmCopy(place_context, got, out, bytes, NULL), WM_OK);
    if (wmSynchronize(place_context, NULL) != WM_OK)
        fail_msg("%s by %s: %s", problem, wmPlanSolver(plan), wmLastError());
    print_message("%s by %s\n", problem, wmPlanSolver(plan));
    for (size_t i = 0; i < bytes; i++)
        if (got[i]) fail_msg("%s by %s: byte %zu is %d, not 0", problem, wmPlanSolver(plan), i, got[i]);
    wmFree(place_context, out);
    wmFree(place_context, vector);
    free(got);
    wmPlanDestroy(plan);
}

static void nothing_is_read(void **state) {
    (void)state;
    check("matmul bf16 128x256x192 bias=n act=relu");
    check("matmul bf16 512x256x64");
    check("matmul bf16 131x67x77 align_a=2 align_b=2 align_d=2 align_c=2");
    check("matmul f16 4096x8x64");
    check("matmul f32 128x128x128");
    check("matmul f32 256x64x512 tb=t batch=2");
    check("matmul f32 128x128x128 compute=tf32");
    check("matmul f32 8x8x8 batch=100");
    check("matmul f32 1x500x300");
    check("matmul f64 100x64x32");
    check("matmul c64 64x96x128");
    check("matmul c128 9x7x5");
    check("matmul i8 128x128x64");
    check("matmul i8 33x16x47 d=f32");
    check("matmul e4m3 128x128x128 tb=t scale_a=tensor scale_b=tensor");
    check("matmul e4m3 128x128x256 tb=t scale_a=1x128 scale_b=128x128");
    check("matmul e4m3 100x60x256 scale_a=row scale_b=column d=f32");
    check("matmul bf16 64x64x64 act=relu gate=pairs");
    check("matmul f32 64x64x64 act=silu");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_read)};
    uint64_t seed = 0;
    if (place_open_at(argc, argv, &seed)) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    return failures + place_close() ? 1 : 0;
}
