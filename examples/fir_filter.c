/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A FIR low-pass filter over eight channels, by convolution: the taps are transformed once, each execution is one
 * kernel on the GPU. A tone below the cut passes, one above does not.
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 8, SAMPLES = 4096, TAPS = 127 };
static const double pi = 3.14159265358979323846;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A sinc that cuts at 0.1 of the sample rate, under a Hann window; sums to 1. */
static void design(float *taps) {
    double sum = 0;
    for (int i = 0; i < TAPS; i++) {
        double t = i - (TAPS - 1) / 2.0, x = 2 * pi * 0.1 * t;
        double window = 0.5 - 0.5 * cos(2 * pi * (i + 1) / (TAPS + 1));
        taps[i] = (float)(window * (t == 0 ? 1 : sin(x) / x));
        sum += (double)taps[i];
    }
    for (int i = 0; i < TAPS; i++) taps[i] = (float)((double)taps[i] / sum);
}

/* Channel c: a tone of 0.01 to 0.05 of the sample rate, and a louder one of 0.3. */
static double wanted(int c, int i) {
    return sin(2 * pi * (0.01 + 0.005 * c) * i);
}

int main(void) {
    static float taps[TAPS], x[CHANNELS][SAMPLES], y[CHANNELS][SAMPLES];
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    void *in = NULL, *out = NULL, *coefficients = NULL, *filter = NULL;
    size_t bytes = 0;
    design(taps);
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < SAMPLES; i++) x[c][i] = (float)(wanted(c, i) + 2 * sin(2 * pi * 0.3 * i));

    TRY(wmContextCreate(&context, NULL));
    wmConvolutionDesc desc = wmConvolutionDescDefault(WM_F32, SAMPLES, TAPS, CHANNELS);
    desc.mode = WM_CONVOLUTION_CAUSAL; /* as many results as samples, each of what came before */
    TRY(wmConvolutionPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));
    TRY(wmConvolutionFilterBytes(plan, &bytes));
    TRY(wmAlloc(&in, context, sizeof x));
    TRY(wmAlloc(&out, context, sizeof y));
    TRY(wmAlloc(&coefficients, context, sizeof taps));
    TRY(wmAlloc(&filter, context, bytes));
    TRY(wmCopy(context, in, x, sizeof x, NULL));
    TRY(wmCopy(context, coefficients, taps, sizeof taps, NULL));
    TRY(wmConvolutionPrepare(plan, coefficients, filter, NULL));
    wmConvolutionArgs args = wmConvolutionArgsDefault(in, filter, out);
    TRY(wmConvolutionExecute(plan, &args, NULL));
    TRY(wmCopy(context, y, out, sizeof y, NULL));
    TRY(wmSynchronize(context, NULL));

    double worst = 0; /* behind the first TAPS samples, the tone is there again, (TAPS - 1) / 2 later */
    for (int c = 0; c < CHANNELS; c++)
        for (int i = TAPS; i < SAMPLES; i++) {
            double error = fabs((double)y[c][i] - wanted(c, i - (TAPS - 1) / 2));
            if (!(error <= worst)) worst = error;
        }
    printf("largest difference from the tone alone: %.3g\n", worst);

    wmFree(context, in);
    wmFree(context, out);
    wmFree(context, coefficients);
    wmFree(context, filter);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return worst < 2e-3 ? 0 : 1;
}
