/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fft_block and cuFFT reached on an H200 (2026-11-30, perf/probe_fft.c, perf/results/h200/fft_block.csv): the
 * variants to offer first, and rates for estimates, as fractions of the rate of a device-to-device copy.
 */
#include "fft_cut_internal.h"
#include "fft_rates.h"

#define LAUNCH 2e-6
#define COPY (4.1 / 4.8) /* of the datasheet's bandwidth */

static const wm_fft_measured rows[] = {
    {WM_FFT_COMPLEX_FORM, 0, 0, 81,    {9, 9},           9,   15, 6},
    {WM_FFT_COMPLEX_FORM, 0, 0, 100,   {5, 5, 4},        25,  6,  8},
    {WM_FFT_COMPLEX_FORM, 0, 0, 243,   {9, 9, 3},        27,  5,  6},
    {WM_FFT_COMPLEX_FORM, 0, 0, 512,   {8, 8, 8},        32,  4,  6},
    {WM_FFT_COMPLEX_FORM, 0, 0, 1000,  {10, 10, 10},     100, 2,  4},
    {WM_FFT_COMPLEX_FORM, 0, 0, 1024,  {16, 8, 8},       64,  2,  8},
    {WM_FFT_COMPLEX_FORM, 0, 0, 1536,  {16, 16, 6},      96,  2,  4},
    {WM_FFT_COMPLEX_FORM, 0, 0, 2048,  {16, 16, 8},      128, 2,  3},
    {WM_FFT_COMPLEX_FORM, 0, 0, 2187,  {9, 9, 9, 3},     243, 1,  4},
    {WM_FFT_COMPLEX_FORM, 0, 0, 5000,  {10, 10, 10, 5},  500, 1,  2},
    {WM_FFT_COMPLEX_FORM, 0, 0, 6561,  {9, 9, 9, 9},     183, 1,  4},
    {WM_FFT_COMPLEX_FORM, 0, 0, 8192,  {16, 16, 32},     512, 1,  2},
    {WM_FFT_COMPLEX_FORM, 0, 0, 10000, {25, 25, 16},     209, 1,  2},
    {WM_FFT_COMPLEX_FORM, 0, 0, 12000, {30, 25, 16},     250, 1,  2},
    {WM_FFT_COMPLEX_FORM, 0, 0, 16384, {32, 32, 16},     512, 1,  1},
    {WM_FFT_COMPLEX_FORM, 0, 0, 20000, {20, 10, 10, 10}, 500, 1,  1},
    {WM_FFT_COMPLEX_FORM, 0, 1, 256,   {16, 16},         4,   32, 3},
    {WM_FFT_COMPLEX_FORM, 0, 1, 1024,  {16, 16, 4},      64,  16, 1},
    {WM_FFT_COMPLEX_FORM, 0, 1, 4096,  {16, 16, 16},     256, 4,  1},
    {WM_FFT_COMPLEX_FORM, 1, 0, 1024,  {16, 8, 8},       64,  2,  4},
    {WM_FFT_COMPLEX_FORM, 1, 0, 4096,  {16, 16, 16},     256, 1,  2},
    {WM_FFT_COMPLEX_FORM, 1, 0, 8192,  {16, 8, 8, 8},    512, 1,  1},
    {WM_FFT_REAL_EVEN,    0, 0, 128,   {16, 8},          8,   16, 6},
    {WM_FFT_REAL_EVEN,    0, 0, 256,   {8, 8, 4},        32,  4,  9},
    {WM_FFT_REAL_EVEN,    0, 0, 512,   {16, 16, 2},      32,  4,  6},
    {WM_FFT_REAL_EVEN,    0, 0, 1024,  {8, 8, 4, 4},     128, 1,  9},
    {WM_FFT_REAL_EVEN,    0, 0, 2048,  {8, 8, 8, 4},     256, 1,  4},
    {WM_FFT_REAL_EVEN,    0, 0, 4096,  {16, 8, 8, 4},    256, 1,  3},
    {WM_FFT_HALF_EVEN,    0, 0, 128,   {8, 4, 4},        8,   16, 6},
    {WM_FFT_HALF_EVEN,    0, 0, 512,   {8, 8, 8},        32,  4,  6},
    {WM_FFT_HALF_EVEN,    0, 0, 2048,  {8, 8, 8, 4},     128, 1,  6},
    {WM_FFT_HALF_EVEN,    0, 0, 4096,  {16, 16, 16},     128, 1,  4},
    {WM_FFT_HALF_EVEN,    0, 0, 8192,  {32, 16, 16},     128, 1,  3},
};

const wm_fft_measured *wm_fft_cut_measured(int *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

/* ---- Packed C2C in f32, both side by side ---- */

typedef struct rate_row {
    int n;
    double ours, vendor;
} rate_row;

static const rate_row rates[] = {
    {3,     0.915, 0.62 },
    {5,     0.77,  0.52 },
    {6,     0.75,  1.03 },
    {7,     0.67,  1.03 },
    {9,     0.85,  0.92 },
    {10,    0.85,  1.02 },
    {12,    0.78,  1.02 },
    {15,    0.72,  0.68 },
    {17,    0.65,  0.95 },
    {19,    0.5,   0.98 },
    {20,    0.68,  0.91 },
    {23,    0.5,   0.99 },
    {24,    0.71,  0.87 },
    {27,    0.89,  0.90 },
    {29,    0.5,   0.98 },
    {31,    0.48,  0.91 },
    {36,    0.69,  0.92 },
    {48,    0.80,  0.99 },
    {60,    0.63,  0.88 },
    {81,    0.77,  0.93 },
    {96,    0.7,   0.60 },
    {100,   0.85,  0.97 },
    {120,   0.91,  1.00 },
    {200,   0.8,   0.74 },
    {243,   0.85,  1.00 },
    {343,   0.90,  1.00 },
    {360,   0.93,  0.85 },
    {500,   0.85,  1.00 },
    {720,   0.92,  0.74 },
    {1000,  0.93,  1.00 },
    {1331,  0.88,  0.99 },
    {1536,  0.97,  0.98 },
    {2187,  0.68,  0.92 },
    {2401,  0.72,  0.89 },
    {3125,  0.69,  0.75 },
    {5000,  0.71,  0.89 },
    {8000,  0.75,  0.87 },
    {6561,  0.63,  0.96 },
    {8192,  0.85,  0.98 },
    {10000, 0.65,  0.69 },
    {12000, 0.65,  0.30 },
    {16384, 0.67,  0.705},
    {19683, 0.56,  0.69 },
    {20000, 0.58,  0.65 },
    {27720, 0.50,  0.20 },
};

static const rate_row *rate_of(const wmFftDesc *d) {
    if (d->kind != WM_FFT_C2C || d->type != WM_F32 || d->rank != 1) return NULL;
    if (d->dim[0].in_stride != 1 || d->dim[0].out_stride != 1) return NULL;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (rates[i].n == d->dim[0].n) return &rates[i];
    return NULL;
}

double wm_fft_measured_cufft(const wmFftDesc *d) {
    const rate_row *r = rate_of(d);
    return r && !d->scale ? r->vendor * COPY : 0;
}

/* ---- The rest by class ---- */

static int is_power_of_two(int n) {
    return (n & (n - 1)) == 0;
}

/** A transform of its own points. */
static double plain_rate(const wm_fft_outline *o) {
    int size = o->f64 ? 2 * o->n : o->n;
    double drop = is_power_of_two(o->n) ? 1 : size <= 360 ? 0.87 : size <= 1600 ? 0.95 : 0.8;
    if (o->spread) return size <= 512 ? 0.85 : size <= 1024 ? 0.75 : size <= 4096 ? 0.5 : 0.25;
    double rate = size < 64 ? 0.75 : size <= 4096 ? 0.95 : size <= 8192 ? 0.85 : size <= 16384 ? 0.67 : 0.55;
    if (o->form != WM_FFT_COMPLEX_FORM) rate = size < 64 ? 0.7 : size <= 4096 ? 0.8 : size <= 8192 ? 0.62 : 0.5;
    return rate * drop;
}

double wm_fft_block_seconds(wmContext *context, const wm_problem *problem) {
    const wmFftDesc *d = &problem->u.fft;
    wm_fft_outline o;
    if (!wm_fft_outline_of(d, &o, NULL)) return 1;
    double bytes = wm_problem_cost(problem).bytes, rate = plain_rate(&o);
    const rate_row *known = rate_of(d);
    if (known) rate = known->ours;
    /* A convolution costs so many passes over its own points. */
    if (o.core == WM_FFT_RADER) rate = (o.n < 200 ? 0.45 : o.n < 2000 ? 0.37 : 0.21);
    if (o.core == WM_FFT_BLUESTEIN) rate = (double)o.length / (o.n * (o.n <= 4096 ? 1.6 : o.n <= 9000 ? 2.8 : 3.5));
    if (o.core != WM_FFT_PLAIN && o.form != WM_FFT_COMPLEX_FORM) rate /= 2; /* half the bytes, the same work */
    return LAUNCH + bytes / (rate * COPY * wm_context_bandwidth(context));
}
