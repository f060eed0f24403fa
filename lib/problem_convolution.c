/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as problems: lengths, features, cost, operands and bound. */
#include "convolution.h"
#include "fields.h"
#include "operation.h"

#include <math.h>

int wm_convolution_is_real(const wmConvolutionDesc *d) {
    return d->type == WM_F32 || d->type == WM_F64;
}

int wm_convolution_is_f64(const wmConvolutionDesc *d) {
    return d->type == WM_F64 || d->type == WM_C128;
}

wmConvolutionDesc wmConvolutionDescDefault2D(wmType type, int64_t rows, int64_t columns, int64_t tap_rows,
                                             int64_t tap_columns, int64_t batch) {
    wmConvolutionDesc d = {.size = sizeof d, .type = type, .rank = 2, .batch = batch, .filters = 1};
    d.n[0] = rows, d.n[1] = columns;
    d.taps[0] = tap_rows, d.taps[1] = tap_columns;
    return d;
}

wmConvolutionDesc wmConvolutionDescDefault(wmType type, int64_t n, int64_t taps, int64_t batch) {
    wmConvolutionDesc d = wmConvolutionDescDefault2D(type, n, 0, taps, 0, batch);
    d.rank = 1;
    return d;
}

int64_t wm_convolution_first(const wmConvolutionDesc *d, int axis) {
    int64_t m = d->taps[axis];
    return d->mode == WM_CONVOLUTION_SAME ? (m - 1) / 2 : d->mode == WM_CONVOLUTION_VALID ? m - 1 : 0;
}

int64_t wmConvolutionResults(const wmConvolutionDesc *d, int axis) {
    if (!d || axis < 0 || axis >= d->rank || axis >= WM_CONVOLUTION_MAX_RANK) return 0;
    int64_t n = d->n[axis], m = d->taps[axis];
    if (n < 1 || m < 1 || n > INT64_MAX / 4 || m > INT64_MAX / 4) return 0;
    if (d->mode == WM_CONVOLUTION_FULL) return n + m - 1;
    if (d->mode == WM_CONVOLUTION_VALID) return n >= m ? n - m + 1 : 0;
    return n;
}

static int is_smooth(int64_t n) {
    for (int64_t p = 2; p <= 7; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

/* From 2^16 on smooth numbers are far between: the next m 2^k with a smooth m of 8 to 16. */
static int64_t long_length(int64_t least) {
    static const int64_t steps[] = {8, 9, 10, 12, 14, 15, 16};
    int64_t power = 1;
    int i = 0;
    if (least > INT64_MAX / 4) return least; /* its bytes overflow, and are refused */
    while (power * 16 < least) power *= 2;
    while (power * steps[i] < least) i++;
    return power * steps[i];
}

int64_t wm_convolution_length(const wmConvolutionDesc *d, int axis) {
    int64_t length = d->n[axis] + d->taps[axis] - 1;
    if (d->mode == WM_CONVOLUTION_CIRCULAR) return d->n[axis];
    if (length < 16) return 16;
    if (length > 1 << 16) return long_length(length);
    while (length % 2 || !is_smooth(length)) length++;
    return length;
}

/* The product of up to three factors and a count; -1: overflow. */
static int64_t product(int64_t a, int64_t b, int64_t c) {
    int64_t all = 0;
    return __builtin_mul_overflow(a, b, &all) || __builtin_mul_overflow(all, c, &all) ? -1 : all;
}

int64_t wm_convolution_points(const wmConvolutionDesc *d) {
    return product(wm_convolution_length(d, 0), d->rank == 2 ? wm_convolution_length(d, 1) : 1, 1);
}

int64_t wm_convolution_spectrum(const wmConvolutionDesc *d) {
    int last = d->rank - 1;
    int64_t row = wm_convolution_length(d, last);
    return product(d->rank == 2 ? wm_convolution_length(d, 0) : 1, wm_convolution_is_real(d) ? row / 2 + 1 : row, 1);
}

int64_t wm_convolution_elements(const wmConvolutionDesc *d, int output) {
    if (output) return product(wmConvolutionResults(d, 0), d->rank == 2 ? wmConvolutionResults(d, 1) : 1, 1);
    return product(d->n[0], d->rank == 2 ? d->n[1] : 1, 1);
}

int64_t wm_convolution_span(const wmConvolutionDesc *d, int output) {
    int64_t array = wm_convolution_elements(d, output), stride = output ? d->out_stride : d->in_stride, span = 0;
    if (d->batch == 0) return 0;
    if (array < 0 || __builtin_mul_overflow(d->batch - 1, stride, &span) || __builtin_add_overflow(span, array, &span))
        return -1;
    return product(span, (int64_t)wmTypeSize(d->type), 1) < 0 ? -1 : span;
}

wmType wm_convolution_spectrum_type(const wmConvolutionDesc *d) {
    return wm_convolution_is_f64(d) ? WM_C128 : WM_C64;
}

void wm_convolution_resolve(wmConvolutionDesc *d) {
    if (d->align == 0) d->align = 16;
    if (d->rank < 1 || d->rank > WM_CONVOLUTION_MAX_RANK) return;
    if (d->rank == 1) d->n[1] = d->taps[1] = 0;
    int64_t in = wm_convolution_elements(d, 0), out = wm_convolution_elements(d, 1);
    if (d->in_stride == 0 || d->batch == 1) d->in_stride = in < 0 ? INT64_MAX : in;
    if (d->out_stride == 0 || d->batch == 1) d->out_stride = out < 0 ? INT64_MAX : out;
    if (d->filters == d->batch && d->batch == 1) d->filters = 1;
}

static uint64_t features(const wm_problem *problem) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    uint64_t need = wm_convolution_is_f64(d) ? WM_CONV_F64 : WM_CONV_F32;
    need |= wm_convolution_is_real(d) ? WM_CONV_REAL : WM_CONV_COMPLEX;
    if (d->rank == 2) need |= WM_CONV_RANK2;
    if (d->filters != 1) need |= WM_CONV_FILTERS;
    if (d->align < 16) need |= WM_CONV_UNALIGNED;
    if (d->determinism == WM_GPU_TO_GPU) need |= WM_CONV_GPU_TO_GPU;
    return need;
}

static wm_cost cost(const wm_problem *problem) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    double points = (double)wm_convolution_points(d), batch = (double)d->batch;
    double flops = batch * points * (10 * log2(points + 1) + 6) / (wm_convolution_is_real(d) ? 2 : 1);
    double moved = (double)wm_convolution_elements(d, 0) + (double)wm_convolution_elements(d, 1);
    double filter = (double)wm_convolution_spectrum(d) * (double)wmTypeSize(wm_convolution_spectrum_type(d));
    return (wm_cost){flops, batch * moved * (double)wmTypeSize(d->type) + (double)d->filters * filter};
}

static int empty(const wm_problem *problem) {
    return problem->u.convolution.batch == 0;
}

static int operands(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    out[0] = (wm_operand){"in", d->type, wm_convolution_span(d, 0), WM_INPUT, 0, 0};
    out[1] = (wm_operand){
        "filter", wm_convolution_spectrum_type(d), d->filters * wm_convolution_spectrum(d), WM_INPUT, 0, 0};
    out[2] = (wm_operand){"out", d->type, wm_convolution_span(d, 1), WM_OUTPUT, 0, 0};
    return 3;
}

static void bind(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out) {
    (void)problem;
    out->convolution = wmConvolutionArgsDefault(pointers[0], pointers[1], pointers[2]);
}

/* Two transforms, each within 1.6 u sqrt(log2 N), of data of standard deviation 0.6 to 0.8, times a spectrum that the
 * measurement draws in [-1, 1) where a real one is 1 / points of that: the result is `points` times as large. */
static wm_bound bound(const wm_problem *problem) {
    const wmConvolutionDesc *d = &problem->u.convolution;
    double points = (double)wm_convolution_points(d), u = wm_convolution_is_f64(d) ? 0x1p-53 : 0x1p-24;
    double rms = points * 0.82;
    return (wm_bound){2 * 6 * 2 * 1.6 * u * sqrt(log2(points) + 1) * rms, 4 * u};
}

static const wm_feature names[] = {
    {WM_CONV_F32,        "f32"                                   },
    {WM_CONV_F64,        "f64"                                   },
    {WM_CONV_REAL,       "real data"                             },
    {WM_CONV_COMPLEX,    "complex data"                          },
    {WM_CONV_RANK2,      "rank 2"                                },
    {WM_CONV_FILTERS,    "a filter for each array"               },
    {WM_CONV_UNALIGNED,  "pointers aligned to less than 16 bytes"},
    {WM_CONV_GPU_TO_GPU, "determinism gpu_to_gpu"                },
    {0,                  NULL                                    },
};

const wm_operation wm_operation_convolution = {features, cost, empty, operands, bind, bound, names};
