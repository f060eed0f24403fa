/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of 16 bits, windowed and transformed in one go: a load functor turns element i of the input into what the
 * transform sees, so that no converted copy is ever in memory. It is given twice: as text, which is compiled into the
 * kernel on a GPU, and as a function for the CPU place.
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 20, FRAME = 1000, HOP = FRAME / 2, SAMPLES = (FRAMES - 1) * HOP + FRAME, BINS = FRAME / 2 + 1 };
static const double pi = 3.14159265358979323846;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* user: the window, FRAME values that include the scale 1 / 32768. */
static const char source[] = "__device__ wmC64 windowed(const void *in, long long index, long long position,\n"
                             "                          const void *user) {\n"
                             "    float x = ((const short *)in)[index];\n"
                             "    return wmC64{x * ((const float *)user)[position], 0.0f};\n"
                             "}\n";

static wmFftPair windowed(const void *in, int64_t index, int64_t position, const void *user) {
    float x = (float)((const int16_t *)in)[index];
    wmFftPair pair = {(double)(x * ((const float *)user)[position]), 0};
    return pair;
}

/* The spectrum of a frame by the definition, at one frequency. */
static double wrong_at(const int16_t *x, const float *window, const float *got, int k) {
    double re = 0, im = 0;
    for (int j = 0; j < FRAME; j++) {
        double v = x[j] * (double)window[j], angle = 2 * pi * (double)((int64_t)j * k % FRAME) / FRAME;
        re += v * cos(angle);
        im -= v * sin(angle);
    }
    return hypot((double)got[0] - re, (double)got[1] - im);
}

int main(void) {
    static int16_t x[SAMPLES];
    static float window[FRAME], spectra[FRAMES * BINS * 2];
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    void *in = NULL, *out = NULL, *user = NULL;
    for (int i = 0; i < SAMPLES; i++) x[i] = (int16_t)lrint(12000 * sin(0.05 * i) + 9000 * sin(0.4 * i + 1));
    for (int i = 0; i < FRAME; i++) window[i] = (float)((0.5 - 0.5 * cos(2 * pi * i / FRAME)) / 32768);

    TRY(wmContextCreate(&context, NULL));
    const int64_t n = FRAME;
    wmFftDesc desc = wmFftDescPacked(WM_FFT_R2C, WM_F32, 1, &n, FRAMES);
    desc.loop[0].in_stride = HOP; /* frames overlap */
    desc.load.source = source;
    desc.load.name = "windowed";
    desc.load.host = windowed;
    desc.load.type = WM_I16;
    TRY(wmFftPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));
    TRY(wmAlloc(&in, context, sizeof x));
    TRY(wmAlloc(&user, context, sizeof window));
    TRY(wmAlloc(&out, context, sizeof spectra));
    TRY(wmCopy(context, in, x, sizeof x, NULL));
    TRY(wmCopy(context, user, window, sizeof window, NULL));
    wmFftArgs args = wmFftArgsDefault(in, out);
    args.load_user = user;
    TRY(wmFftExecute(plan, &args, NULL));
    TRY(wmCopy(context, spectra, out, sizeof spectra, NULL));
    TRY(wmSynchronize(context, NULL));

    double worst = 0;
    for (int f = 0; f < FRAMES; f += 7)
        for (int k = 0; k < BINS; k += 11) {
            double error = wrong_at(x + f * HOP, window, spectra + 2 * (f * BINS + k), k);
            if (!(error <= worst)) worst = error;
        }
    printf("largest error: %.2g of peaks of %.0f\n", worst, 12000.0 / 32768 * FRAME / 4);

    wmFree(context, in);
    wmFree(context, out);
    wmFree(context, user);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return worst < 1e-3 ? 0 : 1;
}
