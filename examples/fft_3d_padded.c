/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of real 75 x 77 x 79 boxes whose rows are padded to 80 numbers, transformed forward and back without a copy:
 * strides are part of the problem. The gap at the end of each row is never touched.
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, NZ = 75, NY = 77, NX = 79, ROW = 80, HALF = NX / 2 + 1 };

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

int main(void) {
    wmContext *context = NULL;
    wmPlan *forward = NULL, *inverse = NULL;
    TRY(wmContextCreate(&context, NULL));

    const int64_t n[3] = {NZ, NY, NX};
    wmFftDesc desc = wmFftDescPacked(WM_FFT_R2C, WM_F32, 3, n, BATCH);
    desc.dim[1].in_stride = ROW; /* the real side has padded rows; the complex side stays packed */
    desc.dim[0].in_stride = (int64_t)NY * ROW;
    desc.loop[0].in_stride = (int64_t)NZ * NY * ROW;
    wmFftDesc back;
    wmFftDescInverse(&back, &desc); /* C2R, scaled by 1/N, strides exchanged */
    TRY(wmFftPlanCreate(&forward, context, &desc, NULL));
    TRY(wmFftPlanCreate(&inverse, context, &back, NULL));
    printf("%s by %s\n%s by %s\n", wmPlanProblem(forward), wmPlanSolver(forward), wmPlanProblem(inverse),
           wmPlanSolver(inverse));

    const size_t reals = (size_t)BATCH * NZ * NY * ROW, complexes = (size_t)BATCH * NZ * NY * HALF;
    float *x = (float *)malloc(reals * sizeof *x), *y = (float *)malloc(reals * sizeof *y);
    if (!x || !y) return 1;
    for (size_t i = 0; i < reals; i++) x[i] = i % ROW < NX ? (float)((i * 7919) % 1000) / 1000.0f - 0.5f : -1.0f;

    void *in = NULL, *spectrum = NULL, *out = NULL;
    TRY(wmAlloc(&in, context, reals * sizeof *x));
    TRY(wmAlloc(&spectrum, context, complexes * 2 * sizeof *x));
    TRY(wmAlloc(&out, context, reals * sizeof *x));
    TRY(wmCopy(context, in, x, reals * sizeof *x, NULL));
    TRY(wmCopy(context, out, x, reals * sizeof *x, NULL)); /* so that untouched gaps can be seen */

    wmFftArgs there = wmFftArgsDefault(in, spectrum), and_back = wmFftArgsDefault(spectrum, out);
    TRY(wmFftExecute(forward, &there, NULL));
    TRY(wmFftExecute(inverse, &and_back, NULL));
    TRY(wmCopy(context, y, out, reals * sizeof *y, NULL));
    TRY(wmSynchronize(context, NULL));

    double worst = 0;
    for (size_t i = 0; i < reals; i++) {
        double error = fabs((double)y[i] - (double)x[i]);
        if (!(error <= worst)) worst = error;
    }
    printf("there and back: largest error %.2g\n", worst);

    free(x);
    free(y);
    wmFree(context, in);
    wmFree(context, spectrum);
    wmFree(context, out);
    wmPlanDestroy(forward);
    wmPlanDestroy(inverse);
    wmContextDestroy(context);
    return worst < 2e-6 ? 0 : 1;
}
