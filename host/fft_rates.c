/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates of the one-pass transforms, by length: bytes read and written once over the time, in TB/s on an H200
 * (cuFFT 12.0 beside ours in one run, 2^26 points of f32, 2^25 of f64, 2026-11-30), as a fraction of that machine's 4.8
 * TB/s.
 */
#include "fft_rates.h"

enum { LENGTHS = 12 }; /* 2^1 … 2^12 */

static const double ours[2][LENGTHS] = {
    {4.12, 4.11, 4.10, 4.04, 3.48, 3.80, 3.82, 3.96, 4.01, 3.97, 3.96, 3.89},
    {4.09, 4.06, 3.98, 3.81, 3.61, 3.90, 3.99, 3.97, 3.95, 3.74, 3.45, 2.39},
};
static const double vendors[2][LENGTHS] = {
    {1.69, 3.32, 3.67, 3.83, 3.14, 4.10, 4.01, 3.94, 4.08, 4.10, 4.05, 4.04},
    {3.32, 4.16, 3.47, 4.12, 3.90, 3.91, 4.07, 4.05, 4.08, 4.08, 4.07, 4.04},
};
static const double datasheet = 4.8, launch = 2e-6;

/** Columns (transforms interleaved, neighbours at neighbouring addresses): blocks hold ever fewer of them. */
static const double columns[LENGTHS] = {0.9, 0.9, 0.9, 0.9, 0.9, 0.93, 0.9, 0.84, 0.65, 0.47, 0.25, 0.11};
static const double vendors_columns[LENGTHS] = {0.9, 0.9, 0.9, 0.9, 0.93, 0.93, 0.8, 0.71, 0.72, 0.73, 0.6, 0.52};

typedef enum form { PACKED, COLUMNS, SCATTERED } form;

static form form_of(const wmFftDesc *d) {
    if (d->dim[0].in_stride == 1 && d->dim[0].out_stride == 1) return PACKED;
    for (int i = 0; i < d->loops; i++)
        if (d->loop[i].in_stride == 1 && d->loop[i].out_stride == 1) return COLUMNS;
    return SCATTERED;
}

static int index_of(const wmFftDesc *d) {
    int bits = __builtin_ctzll((unsigned long long)d->dim[0].n);
    return bits < 1 ? 0 : bits > LENGTHS ? LENGTHS - 1 : bits - 1;
}

/** Scattered elements take a whole 32-byte sector each. */
static double seconds(wmContext *context, const wm_problem *problem, double rate, const double *of_columns) {
    const wmFftDesc *d = &problem->u.fft;
    form f = form_of(d);
    if (f == COLUMNS) rate *= of_columns[index_of(d)];
    if (f == SCATTERED) rate *= (double)wmTypeSize(d->type) * 2 / 32;
    return launch + wm_problem_cost(problem).bytes / (rate / datasheet * wm_context_bandwidth(context));
}

double wm_fft_stockham_seconds(wmContext *context, const wm_problem *problem) {
    const wmFftDesc *d = &problem->u.fft;
    return seconds(context, problem, ours[d->type == WM_F64][index_of(d)], columns);
}

double wm_fft_cufft_seconds(wmContext *context, const wm_problem *problem) {
    const wmFftDesc *d = &problem->u.fft;
    int64_t n = d->dim[0].n;
    double measured = wm_fft_measured_cufft(d);
    if (measured > 0) return launch + wm_problem_cost(problem).bytes / (measured * wm_context_bandwidth(context));
    if (d->kind != WM_FFT_C2C || d->rank != 1 || d->scale || n < 2 || n > 1 << LENGTHS || (n & (n - 1))) return 0;
    return seconds(context, problem, vendors[d->type == WM_F64][index_of(d)], vendors_columns);
}

double wm_fft_tile_seconds(wmContext *context, const wm_problem *problem, double cost) {
    double of_copy = cost < 1.2 ? 0.92 : 0.92 - 0.8 * (cost - 1.2); /* perf/results/h200/fft_tile.csv */
    double fraction = (of_copy < 0.3 ? 0.3 : of_copy) * 4.1 / datasheet;
    return launch + wm_problem_cost(problem).bytes / (fraction * wm_context_bandwidth(context));
}

/* ---- fft_cluster and fft_lines: fractions of the same 4.8 TB/s ---- */

/** Kernels of fft_cluster; n: a line's points, or a plane's side. */
typedef struct cluster_rate {
    int rank, f64, n, blocks;
    double fraction;
} cluster_rate;

/* Lines of f32 and planes of f32: perf/results/h200/fft_big.csv. Lines of f64: the kernels alone, slightly rounded
 * down. Planes of f64 are not timed yet: a guess that leaves most to cuFFT. */
static const cluster_rate clusters[] = {
    {1, 0, 1 << 14, 8,  0.59},
    {1, 0, 1 << 15, 8,  0.54},
    {1, 0, 1 << 16, 16, 0.46},
    {1, 0, 1 << 17, 16, 0.39},
    {1, 1, 1 << 13, 4,  0.62},
    {1, 1, 1 << 14, 8,  0.59},
    {1, 1, 1 << 15, 16, 0.53},
    {1, 1, 1 << 16, 16, 0.45},
    {2, 0, 64,      1,  0.81},
    {2, 0, 64,      2,  0.65},
    {2, 0, 128,     8,  0.60},
    {2, 0, 128,     4,  0.50},
    {2, 0, 256,     16, 0.44},
    {2, 1, 64,      4,  0.38},
    {2, 1, 128,     8,  0.38},
};

double wm_fft_cluster_seconds(wmContext *context, const wm_problem *problem, int blocks) {
    const wmFftDesc *d = &problem->u.fft;
    double fraction = 0.4;
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        const cluster_rate *r = &clusters[i];
        if (r->rank == d->rank && r->f64 == (d->type == WM_F64) && r->n == d->dim[0].n && r->blocks == blocks)
            fraction = r->fraction;
    }
    return 4e-6 + wm_problem_cost(problem).bytes / (fraction * wm_context_bandwidth(context));
}

enum { LINES = 7 }; /* 2^6 … 2^12 */
static const double lines[2][2][LINES] = {
    {{0.81, 0.81, 0.79, 0.64, 0.56, 0.44, 0.37}, {0.79, 0.77, 0.78, 0.78, 0.70, 0.60, 0.56}},
    {{0.79, 0.79, 0.80, 0.69, 0.58, 0.43, 0.30}, {0.76, 0.76, 0.77, 0.71, 0.69, 0.61, 0.40}},
};

double wm_fft_lines_fraction(wmType type, int64_t length, int rows) {
    int bits = __builtin_ctzll((unsigned long long)length) - 6;
    return lines[type == WM_F64][rows != 0][bits < 0 ? 0 : bits >= LINES ? LINES - 1 : bits];
}

int64_t wm_fft_lines_most(wmType type) {
    return (int64_t)1 << (type == WM_F64 ? 29 : 30); /* the rates say what is worth while */
}
