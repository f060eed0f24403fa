/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson's equation on the unit square with periodic borders, - u_xx - u_yy = f, by Fourier transforms. In frequencies
 * the left side is u(k) times (2 pi)^2 (kx^2 + ky^2), so that its inverse is a filter whose spectrum is known: it is
 * written straight to where wmConvolutionPrepare would put that of taps, and solving is one circular convolution. For a
 * smooth f the result is exact but for rounding; its mean, which the equation leaves open, is 0.
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 96, COLUMNS = 128, HALF = COLUMNS / 2 + 1 };
static const double pi = 3.14159265358979323846;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A solution, u = exp(sin 2 pi x) cos 4 pi y, and what it solves. */
static double wanted(double x, double y) {
    return exp(sin(2 * pi * x)) * cos(4 * pi * y);
}

static double charge(double x, double y) {
    double s = sin(2 * pi * x), c = cos(2 * pi * x);
    return 4 * pi * pi * (s - c * c + 4) * wanted(x, y);
}

/* 1 / (points (2 pi k)^2), the half that real arrays have; nothing of the mean. */
static void green(double *filter) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < HALF; j++) {
            double ky = 2 * pi * (i <= ROWS / 2 ? i : i - ROWS), kx = 2 * pi * j, square = kx * kx + ky * ky;
            filter[2 * (i * HALF + j)] = square > 0 ? 1 / (square * ROWS * COLUMNS) : 0;
            filter[2 * (i * HALF + j) + 1] = 0;
        }
}

int main(void) {
    static double f[ROWS * COLUMNS], u[ROWS * COLUMNS], filter[ROWS * HALF * 2];
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    void *in = NULL, *out = NULL, *spectrum = NULL;
    size_t bytes = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) f[i * COLUMNS + j] = charge((double)j / COLUMNS, (double)i / ROWS);
    green(filter);

    TRY(wmContextCreate(&context, NULL));
    wmConvolutionDesc desc = wmConvolutionDescDefault2D(WM_F64, ROWS, COLUMNS, ROWS, COLUMNS, 1);
    desc.mode = WM_CONVOLUTION_CIRCULAR;
    TRY(wmConvolutionPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));
    TRY(wmConvolutionFilterBytes(plan, &bytes));
    if (bytes != sizeof filter) return 1;
    TRY(wmAlloc(&in, context, sizeof f));
    TRY(wmAlloc(&out, context, sizeof u));
    TRY(wmAlloc(&spectrum, context, bytes));
    TRY(wmCopy(context, in, f, sizeof f, NULL));
    TRY(wmCopy(context, spectrum, filter, bytes, NULL));
    wmConvolutionArgs args = wmConvolutionArgsDefault(in, spectrum, out);
    TRY(wmConvolutionExecute(plan, &args, NULL));
    TRY(wmCopy(context, u, out, sizeof u, NULL));
    TRY(wmSynchronize(context, NULL));

    double worst = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double error = fabs(u[i * COLUMNS + j] - wanted((double)j / COLUMNS, (double)i / ROWS));
            if (!(error <= worst)) worst = error;
        }
    printf("largest error: %.2g\n", worst);

    wmFree(context, in);
    wmFree(context, out);
    wmFree(context, spectrum);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return worst < 1e-12 ? 0 : 1;
}
