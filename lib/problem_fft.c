/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms as problems: layouts, features, cost, operands and bound. */
#include "fields.h"
#include "operation.h"

#include <math.h>
#include <string.h>

static int complex_side(wmFftKind kind, int output) {
    return kind == WM_FFT_C2C || (kind == WM_FFT_R2C) == output;
}

int64_t wm_fft_length(const wmFftDesc *desc, int axis, int output) {
    int64_t n = desc->dim[axis].n;
    int half = desc->kind != WM_FFT_C2C && axis == desc->rank - 1 && complex_side(desc->kind, output);
    return half ? n / 2 + 1 : n;
}

wmType wm_fft_complex_type(wmType scalar) {
    return scalar == WM_F64 ? WM_C128 : scalar == WM_F16 ? WM_C32 : scalar == WM_BF16 ? WM_CBF16 : WM_C64;
}

wmType wm_fft_side_type(const wmFftDesc *desc, int output) {
    wmType stored = output ? desc->store.type : desc->load.type;
    if (stored) return stored;
    return complex_side(desc->kind, output) ? wm_fft_complex_type(desc->type) : desc->type;
}

static double unit_of(wmType scalar) {
    return scalar == WM_F64 ? 0x1p-53 : scalar == WM_F16 ? 0x1p-11 : scalar == WM_BF16 ? 0x1p-8 : 0x1p-24;
}

static int64_t product(const wmFftDim *dims, int count) {
    int64_t all = 1;
    for (int i = 0; i < count; i++)
        if (__builtin_mul_overflow(all, dims[i].n, &all)) return -1;
    return all;
}

int64_t wm_fft_points(const wmFftDesc *desc) {
    return product(desc->dim, desc->rank);
}

int64_t wm_fft_batch(const wmFftDesc *desc) {
    return product(desc->loop, desc->loops);
}

static int reach(int64_t *span, int64_t length, int64_t stride) {
    int64_t more = 0;
    return length > 0 &&
           (__builtin_mul_overflow(length - 1, stride, &more) || __builtin_add_overflow(*span, more, span));
}

int64_t wm_fft_span(const wmFftDesc *d, int output) {
    int64_t span = 1, bytes = 0;
    if (wm_fft_batch(d) == 0) return 0;
    for (int i = 0; i < d->rank; i++)
        if (reach(&span, wm_fft_length(d, i, output), output ? d->dim[i].out_stride : d->dim[i].in_stride)) return -1;
    for (int i = 0; i < d->loops; i++)
        if (reach(&span, d->loop[i].n, output ? d->loop[i].out_stride : d->loop[i].in_stride)) return -1;
    if (__builtin_mul_overflow(span, (int64_t)wmTypeSize(wm_fft_side_type(d, output)), &bytes)) return -1;
    return span;
}

/* Strides of one side of packed arrays; gives the elements of one array. Overflow saturates: the span check reports it.
 */
static int64_t pack_side(wmFftDesc *d, int output) {
    int64_t stride = 1;
    for (int i = d->rank - 1; i >= 0; i--) {
        *(output ? &d->dim[i].out_stride : &d->dim[i].in_stride) = stride;
        int64_t length = wm_fft_length(d, i, output);
        if (i == d->rank - 1 && d->placement == WM_IN_PLACE && !complex_side(d->kind, output))
            length = 2 * (length / 2 + 1); /* room for the complex side */
        if (__builtin_mul_overflow(stride, length, &stride)) stride = INT64_MAX;
    }
    return stride;
}

wmFftDesc wm_fft_packed(wmFftKind kind, wmType type, int rank, const int64_t n[], int64_t batch,
                        wmPlacement placement) {
    wmFftDesc d = {0};
    d.size = sizeof d;
    d.kind = kind;
    d.type = type;
    d.rank = rank;
    d.placement = placement;
    d.direction = kind == WM_FFT_C2R ? WM_INVERSE : WM_FORWARD;
    if (rank < 1 || rank > WM_FFT_MAX_RANK || !n) return d;
    for (int i = 0; i < rank; i++) d.dim[i].n = n[i];
    int64_t in = pack_side(&d, 0), out = pack_side(&d, 1);
    d.loops = batch != 1;
    if (d.loops) d.loop[0] = (wmFftDim){batch, in, out};
    return d;
}

/* Loops of one round say nothing; a loop whose n is 0 empties the problem and stays. */
void wm_fft_resolve(wmFftDesc *d) {
    if (d->align == 0) d->align = 16;
    if (d->loops < 0 || d->loops > WM_FFT_MAX_LOOPS || d->rank < 1 || d->rank > WM_FFT_MAX_RANK) return;
    int kept = 0;
    for (int i = 0; i < d->loops; i++)
        if (d->loop[i].n != 1) d->loop[kept++] = d->loop[i];
    d->loops = kept;
    for (int i = kept; i < WM_FFT_MAX_LOOPS; i++) d->loop[i] = (wmFftDim){0, 0, 0};
    for (int i = d->rank; i < WM_FFT_MAX_RANK; i++) d->dim[i] = (wmFftDim){0, 0, 0};
}

static int fft_empty(const wm_problem *problem) {
    return wm_fft_batch(&problem->u.fft) == 0;
}

/* Axes that a packed row-major array would have, whatever its padding at the end of rows. */
static int is_strided(const wmFftDesc *d) {
    wmFftDesc packed = *d;
    pack_side(&packed, 0);
    pack_side(&packed, 1);
    return memcmp(packed.dim, d->dim, sizeof d->dim) != 0;
}

static uint64_t fft_features(const wm_problem *problem) {
    const wmFftDesc *d = &problem->u.fft;
    uint64_t need = d->type == WM_F64    ? WM_FFT_F64
                    : d->type == WM_F16  ? WM_FFT_F16
                    : d->type == WM_BF16 ? WM_FFT_BF16
                                         : WM_FFT_F32;
    if (d->load.source) need |= WM_FFT_LOAD;
    if (d->store.source) need |= WM_FFT_STORE;
    need |= d->kind == WM_FFT_C2C ? WM_FFT_COMPLEX : d->kind == WM_FFT_R2C ? WM_FFT_REAL_FORWARD : WM_FFT_REAL_INVERSE;
    if (d->rank == 2) need |= WM_FFT_RANK2;
    if (d->rank == 3) need |= WM_FFT_RANK3;
    if (d->loops > 1) need |= WM_FFT_LOOPS;
    if (is_strided(d)) need |= WM_FFT_STRIDED;
    if (d->placement == WM_IN_PLACE) need |= WM_FFT_IN_PLACE;
    if (d->scale) need |= WM_FFT_SCALED;
    if (d->align < 16) need |= WM_FFT_UNALIGNED;
    if (d->determinism == WM_GPU_TO_GPU) need |= WM_FFT_GPU_TO_GPU;
    return need;
}

static double side_elements(const wmFftDesc *d, int output) {
    double all = (double)wm_fft_batch(d);
    for (int i = 0; i < d->rank; i++) all *= (double)wm_fft_length(d, i, output);
    return all;
}

static wm_cost fft_cost(const wm_problem *problem) {
    const wmFftDesc *d = &problem->u.fft;
    double points = (double)wm_fft_points(d);
    double flops = 5.0 * points * log2(points > 1 ? points : 1) * (double)wm_fft_batch(d);
    if (d->kind != WM_FFT_C2C) flops /= 2;
    double bytes = side_elements(d, 0) * (double)wmTypeSize(wm_fft_side_type(d, 0)) +
                   side_elements(d, 1) * (double)wmTypeSize(wm_fft_side_type(d, 1));
    return (wm_cost){flops, bytes};
}

/* In place the two sides share one operand, counted in complex elements. */
static int fft_operands(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]) {
    const wmFftDesc *d = &problem->u.fft;
    wm_operand in = {"in", wm_fft_side_type(d, 0), wm_fft_span(d, 0), WM_INPUT, 0, 0};
    out[0] = (wm_operand){"out", wm_fft_side_type(d, 1), wm_fft_span(d, 1), WM_OUTPUT, 0, 0};
    if (d->placement == WM_IN_PLACE) {
        out[0].role = WM_IN_OUT;
        out[0].type = wm_fft_complex_type(d->type);
        int64_t complex = complex_side(d->kind, 1) ? out[0].elements : in.elements;
        int64_t real = d->kind == WM_FFT_C2C ? 0 : (complex_side(d->kind, 1) ? in.elements : out[0].elements);
        out[0].elements = complex > (real + 1) / 2 ? complex : (real + 1) / 2;
        return 1;
    }
    out[1] = out[0];
    out[0] = in;
    return 2;
}

static void fft_bind(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out) {
    int in_place = problem->u.fft.placement == WM_IN_PLACE;
    out->fft = wmFftArgsDefault(pointers[0], pointers[in_place ? 0 : 1]);
}

/*
 * Each solver errs by at most 1.6 u sqrt(log2 N) of the output's root mean square (the gate that both own and vendor
 * transforms are held to), spread evenly: six standard deviations cover 10^9 elements, and two solvers may differ by
 * both. Where storage is of 16 bits each rounds once more, on the way out.
 */
static wm_bound fft_bound(const wm_problem *problem) {
    const wmFftDesc *d = &problem->u.fft;
    double points = (double)wm_fft_points(d), u = d->type == WM_F64 ? 0x1p-53 : 0x1p-24, stored = unit_of(d->type);
    double scale = d->scale == WM_FFT_SCALE_BY_N        ? 1 / points
                   : d->scale == WM_FFT_SCALE_BY_SQRT_N ? 1 / sqrt(points)
                                                        : 1;
    double rms = sqrt(points * 2.0 / 3.0) * scale;
    double narrow = stored > u ? 0x1p-23 : 0; /* what is below the narrow types' least numbers is rounded, too */
    return (wm_bound){2 * 6 * 1.6 * u * sqrt(log2(points) + 1) * rms + narrow, 4 * stored};
}

static const wm_feature names[] = {
    {WM_FFT_F32,          "f32"                                   },
    {WM_FFT_F64,          "f64"                                   },
    {WM_FFT_COMPLEX,      "C2C"                                   },
    {WM_FFT_REAL_FORWARD, "R2C"                                   },
    {WM_FFT_REAL_INVERSE, "C2R"                                   },
    {WM_FFT_RANK2,        "rank 2"                                },
    {WM_FFT_RANK3,        "rank 3"                                },
    {WM_FFT_LOOPS,        "several batch loops"                   },
    {WM_FFT_STRIDED,      "strided axes"                          },
    {WM_FFT_IN_PLACE,     "in-place transforms"                   },
    {WM_FFT_SCALED,       "scaling"                               },
    {WM_FFT_UNALIGNED,    "pointers aligned to less than 16 bytes"},
    {WM_FFT_GPU_TO_GPU,   "determinism gpu_to_gpu"                },
    {WM_FFT_F16,          "f16"                                   },
    {WM_FFT_BF16,         "bf16"                                  },
    {WM_FFT_LOAD,         "a load functor"                        },
    {WM_FFT_STORE,        "a store functor"                       },
    {0,                   NULL                                    },
};

const wm_operation wm_operation_fft = {fft_features, fft_cost, fft_empty, fft_operands, fft_bind, fft_bound, names};
