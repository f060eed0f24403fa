/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms: each array of the batch against the definition in long double, input and gaps untouched. */
#include "walk.h"

#include "lib/fields.h"
#include "reference/number.h"
#include "reference/oracle_fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const walk_fft_problems[] = {
    "fft c2c f32 1",
    "fft c2c f32 2 batch=7",
    "fft c2c f32 3 batch=5",
    "fft c2c f32 4 batch=100",
    "fft c2c f32 8 batch=33",
    "fft c2c f32 16 batch=17 dir=inverse",
    "fft c2c f32 32 batch=9",
    "fft c2c f32 64 batch=5 scale=by_n",
    "fft c2c f32 128 batch=3",
    "fft c2c f32 256 batch=3 dir=inverse scale=by_sqrt_n",
    "fft c2c f32 512 batch=2",
    "fft c2c f32 1024 batch=2",
    "fft c2c f32 2048",
    "fft c2c f32 4096 batch=2",
    "fft c2c f32 16384 batch=3",
    "fft c2c f32 16384 loops=2:50000:60000,3:16390:16400",
    "fft c2c f32 32768 batch=2 dir=inverse scale=by_n",
    "fft c2c f32 65536 inplace=1",
    "fft c2c f32 131072 dir=inverse scale=by_sqrt_n",
    "fft c2c f32 4096 batch=5 dir=inverse scale=by_n",
    "fft c2c f32 4096 strides=2:3 loops=3:9000:13000",
    "fft c2c f32 524288",
    "fft c2c f32 262144 inplace=1 loops=2:262150:262150 dir=inverse scale=by_n",
    "fft c2c f32 262144 strides=2:3",
    "fft c2c f32 16 batch=0",
    "fft c2c f32 64 inplace=1 batch=11",
    "fft c2c f32 1024 inplace=1 batch=2 dir=inverse",
    "fft c2c f32 64 strides=3:2 loops=5:200:130",
    "fft c2c f32 128 strides=7:7 loops=7:1:1",
    "fft c2c f32 64 loops=300:65:65",
    "fft c2c f32 16 loops=3:64:64,4:16:16",
    "fft c2c f32 32 loops=2:4096:40,3:512:80,4:64:240",
    "fft c2c f32 16 batch=5 overwrite=1",
    "fft c2c f32 60 strides=17:19 loops=17:1:1",
    "fft r2c f32 16 strides=9:11 loops=9:1:1",
    "fft r2c f32 210 strides=9:9 loops=9:1:1",
    "fft c2r f32 16 strides=9:11 loops=9:1:1",
    "fft c2r f64 126 strides=5:4 loops=3:1:1",
    "fft c2c f32 30 batch=3",
    "fft c2c f32 7 batch=1001",
    "fft c2c f32 20 batch=333 dir=inverse scale=by_n",
    "fft c2c f32 17 inplace=1 batch=777",
    "fft c2c f32 12 batch=150001",
    "fft c2c f32 1000 batch=7",
    "fft c2c f32 27 batch=60",
    "fft c2c f32 97 batch=2",
    "fft c2c f32 257",
    "fft c2c f32 1009 batch=2",
    "fft c2c f32 360 batch=3",
    "fft c2c f32 1155",
    "fft c2c f32 2197",
    "fft c2c f32 4099",
    "fft c2c f32 8x8 batch=3",
    "fft c2c f32 12x35",
    "fft c2c f32 4x6x10 batch=2",
    "fft c2c f32 16x16x16",
    "fft c2c f32 16x16x16 inplace=1 loops=2:4200:4200 dir=inverse scale=by_n",
    "fft c2c f32 16x16x16 strides=300:256,17:16,1:1",
    "fft c2c f64 16x16x16 batch=2",
    "fft c2c f32 32x32x32 batch=2",
    "fft c2c f64 32x32x32 inplace=1 dir=inverse scale=by_sqrt_n",
    "fft c2c f32 64x64 batch=5",
    "fft c2c f32 128x64 batch=2 dir=inverse scale=by_n",
    "fft c2c f32 256x512 inplace=1",
    "fft c2c f32 128x128 batch=9",
    "fft c2c f32 256x256 dir=inverse scale=by_n",
    "fft c2c f32 64x64 inplace=1 loops=3:4100:4100",
    "fft c2c f32 2048x64",
    "fft c2c f32 64x1024",
    "fft c2c f32 4096x64",
    "fft c2c f32 64x64x64 dir=inverse",
    "fft c2c f32 64x64x128 inplace=1 scale=by_sqrt_n",
    "fft c2c f32 6x10 inplace=1",
    "fft c2c f32 6x10 strides=11:40,1:3",
    "fft c2c f32 64 batch=3 align=8",
    "fft c2c f32 64 loops=4:0:64",
    "fft c2c f64 1",
    "fft c2c f64 2 batch=9",
    "fft c2c f64 8 batch=5",
    "fft c2c f64 64 batch=3 dir=inverse scale=by_n",
    "fft c2c f64 128 batch=3",
    "fft c2c f64 256 batch=2 dir=inverse",
    "fft c2c f64 512",
    "fft c2c f64 1024 batch=2",
    "fft c2c f64 2048 batch=2",
    "fft c2c f64 4096",
    "fft c2c f64 8192 batch=2 dir=inverse",
    "fft c2c f64 16384 inplace=1 scale=by_n",
    "fft c2c f64 32768",
    "fft c2c f64 65536",
    "fft c2c f64 4096 batch=3",
    "fft c2c f64 131072 dir=inverse",
    "fft c2c f64 262144",
    "fft c2c f64 64x256 batch=3",
    "fft c2c f64 64x64 batch=2",
    "fft c2c f64 128x128 inplace=1 dir=inverse",
    "fft c2c f64 64x1024 inplace=1",
    "fft c2c f64 2048x64",
    "fft c2c f64 1000",
    "fft c2c f64 15 batch=500",
    "fft c2c f64 360 inplace=1 batch=5 dir=inverse",
    "fft c2c f64 211 batch=2",
    "fft c2c f64 7x9x5",
    "fft c2c f64 32 inplace=1 batch=6",
    "fft c2c f32 1x8 batch=3",
    "fft c2c f32 12 loops=3:5:13,4:70:90 strides=1:1 align=8 dir=inverse scale=by_n",
    "fft r2c f32 1",
    "fft r2c f32 5x1 batch=3",
    "fft c2r f32 6x1 batch=2 scale=by_n",
    "fft r2c f64 6 strides=4:4 loops=15:24:16,4:1:1",
    "fft r2c f64 4x6 strides=1:1,4:4 loops=15:24:16",
    "fft c2r f64 3x4 strides=1:1,90:90 loops=30:3:3 align=8",
    "fft r2c f32 4x6x5 strides=1:1,4:4,24:24 loops=3:120:72 align=4",
    "fft r2c f32 2 batch=4",
    "fft r2c f32 16 batch=5",
    "fft r2c f32 15 batch=4",
    "fft r2c f32 100 inplace=1 batch=2",
    "fft r2c f32 37 inplace=1 batch=3",
    "fft r2c f32 12x10 batch=2",
    "fft r2c f32 5x6x7",
    "fft r2c f32 5x6x9 strides=60:30,10:5,1:1 loops=2:300:150",
    "fft r2c f32 50 strides=2:1",
    "fft r2c f32 1024 batch=2 scale=by_n",
    "fft r2c f64 128 batch=2",
    "fft r2c f64 9x15",
    "fft r2c f64 8x14 inplace=1",
    "fft c2r f32 1",
    "fft c2r f32 2 batch=4",
    "fft c2r f32 16 batch=5",
    "fft c2r f32 15 batch=4 scale=by_n",
    "fft c2r f32 100 inplace=1 batch=2",
    "fft c2r f32 12x10 batch=2",
    "fft c2r f32 5x6x7",
    "fft c2r f32 9x8 overwrite=1",
    "fft c2r f32 1024 batch=2",
    "fft c2r f32 50 strides=1:3",
    "fft c2r f64 128 batch=2 scale=by_sqrt_n",
    "fft c2r f64 9x15 batch=2",
    "fft c2r f64 8x14 inplace=1",
    "fft c2c f16 1",
    "fft c2c f16 2 batch=9",
    "fft c2c f16 8 batch=33",
    "fft c2c bf16 16 batch=17 dir=inverse",
    "fft c2c f16 64 batch=5 scale=by_sqrt_n",
    "fft c2c bf16 60 batch=7",
    "fft c2c f16 1000 batch=2 scale=by_sqrt_n",
    "fft c2c bf16 4096 inplace=1 dir=inverse",
    "fft c2c f16 97 batch=3",
    "fft c2c bf16 1009 scale=by_sqrt_n",
    "fft c2c f16 128 strides=7:7 loops=7:1:1",
    "fft c2c f16 30 strides=3:2 loops=5:200:130 align=4",
    "fft c2c bf16 24 batch=3 align=2",
    "fft r2c f16 24 batch=3 align=2",
    "fft c2c f16 12x35",
    "fft c2c bf16 4x6x10 batch=2 inplace=1",
    "fft r2c f16 16 batch=5",
    "fft r2c bf16 15 batch=4",
    "fft r2c f16 100 inplace=1 batch=2",
    "fft r2c f16 1024 batch=2 scale=by_sqrt_n",
    "fft r2c bf16 5x6x7",
    "fft r2c f16 50 strides=2:1",
    "fft c2r f16 16 batch=5",
    "fft c2r bf16 15 batch=4",
    "fft c2r f16 100 inplace=1 batch=2",
    "fft c2r bf16 1024 batch=2 scale=by_sqrt_n",
    "fft c2r f16 12x10 batch=2",
    "fft c2r f16 9x8 overwrite=1 batch=2",
    NULL,
};

/* L2 error at most 0.9 u sqrt(log2 N) for smooth lengths, 1.6 with a prime above 31; 1.6 for vendors (measured: 1.08),
 * and for fft_axes and fft_relaid, which may have a vendor's solver do the work. */
static double gate(const walk *w) {
    const wmFftDesc *d = &w->problem->u.fft;
    int vendor = w->solver->origin == WM_VENDOR || strcmp(w->solver->name, "fft_axes") == 0 ||
                 strcmp(w->solver->name, "fft_relaid") == 0;
    double factor = vendor ? 1.6 : 0.9;
    for (int i = 0; i < d->rank; i++) {
        int64_t n = d->dim[i].n;
        for (int64_t p = 2; p <= 31; p++)
            while (n % p == 0) n /= p;
        if (n > 1) factor = 1.6;
    }
    /* 16 bits: rounded once. The issue of least numbers does not arise: results are of the input's size or larger. */
    if (d->type == WM_F16) return 2.2e-4;
    if (d->type == WM_BF16) return 1.75e-3;
    double points = (double)wm_fft_points(d);
    double u = d->type == WM_F64 ? 0x1p-53 : 0x1p-24;
    return factor * u * sqrt(log2(points < 2 ? 2 : points)) + u; /* the last u: scaling and short sums */
}

typedef struct sums {
    double error, size, least; /* least: the error of the exact result, rounded to the type */
} sums;

/* Adds one output array; an element that was never written is a NaN and stays one. */
static void add_array(const wmFftDesc *d, const wm_oracle_fft *oracle, const wm_root *want, const int64_t *index,
                      const unsigned char *out, unsigned char *marks, sums *s) {
    int real = d->kind == WM_FFT_C2R;
    wmType type = wm_fft_side_type(d, 1);
    int64_t at = 0;
    for (int64_t i = 0; i < oracle->out[0]; i++)
        for (int64_t j = 0; j < (d->rank > 1 ? oracle->out[1] : 1); j++)
            for (int64_t k = 0; k < (d->rank > 2 ? oracle->out[2] : 1); k++, at++) {
                int64_t element[3] = {i, j, k};
                int64_t offset = wm_oracle_fft_offset(oracle, index, element);
                wm_number got = wm_number_load(type, out, offset);
                long double re = (long double)got.re - want[at].re, im = real ? 0 : (long double)got.im - want[at].im;
                wm_number exact = {(double)want[at].re, (double)want[at].im};
                wm_number rounded = wm_number_round(type, exact);
                s->least += pow(rounded.re - exact.re, 2) + (real ? 0 : pow(rounded.im - exact.im, 2));
                s->error += (double)(re * re + im * im);
                s->size += (double)(want[at].re * want[at].re) + (real ? 0 : (double)(want[at].im * want[at].im));
                marks[offset] = 1;
            }
}

/* The gate is one of a root mean square, about which few values scatter: an array of under FEW points, or all that
 * there are, may come to twice the gate (the standard deviation over the mean is about 1 / sqrt(2 points)). */
enum { FEW = 64 };

static void judge_sums(walk *w, const sums *s, double points, const char *what, int64_t t) {
    double size = s->size > 0 ? s->size : 1, most = points < FEW ? 2 * gate(w) : gate(w);
    /* 16 bits have a gate a tenth above what rounding alone is on average: where the values of an array make rounding
     * alone miss it, nothing can be asked but that little comes on top. */
    most = fmax(most, 1.02 * sqrt(s->least / size));
    double error = sqrt(s->error / size) / most;
    if (error > w->worst) w->worst = error;
    if (!(error <= 1)) walk_fail(w, "%s %lld: L2 error is %.3g of its gate", what, (long long)t, error);
}

/* Every array of the batch has its own gate, and all of them together. */
static void judge(walk *w, const void *in, const walk_buffer *out, unsigned char *marks) {
    const wmFftDesc *d = &w->problem->u.fft;
    double points = (double)wm_fft_points(d);
    wm_oracle_fft oracle;
    if (wm_oracle_fft_make(&oracle, d)) {
        walk_fail(w, "no memory for the oracle");
        return;
    }
    wm_root *scratch = malloc((size_t)wm_oracle_fft_scratch(&oracle) * sizeof *scratch);
    int64_t rounds[3] = {1, 1, 1};
    sums all = {0, 0, 0};
    for (int i = 0; i < d->loops; i++) rounds[i] = d->loop[i].n;
    int64_t batch = rounds[0] * rounds[1] * rounds[2];
    for (int64_t t = 0; scratch && t < batch; t++) {
        int64_t index[3] = {t / (rounds[1] * rounds[2]), t / rounds[2] % rounds[1], t % rounds[2]};
        sums s = {0, 0, 0};
        add_array(d, &oracle, wm_oracle_fft_array(&oracle, in, index, scratch), index, out->host, marks, &s);
        judge_sums(w, &s, points, "array", t);
        all.error += s.error;
        all.size += s.size;
        all.least += s.least;
    }
    if (scratch) judge_sums(w, &all, points * (double)batch, "the batch of", batch);
    free(scratch);
    wm_oracle_fft_drop(&oracle);
}

/* Three runs: the same bits. In place, the input is put back in between. */
static void runs(walk *w, walk_buffer *in, walk_buffer *out, int64_t out_elements) {
    const wmFftDesc *d = &w->problem->u.fft;
    int in_place = d->placement == WM_IN_PLACE;
    unsigned char *input = malloc(in->bytes + 1), *first = malloc(out->bytes + 1), *before = malloc(out->bytes + 1);
    unsigned char *marks = calloc((size_t)out_elements + 1, 1);
    if (input && first && before && marks) {
        memcpy(input, in->host, in->bytes);
        memcpy(before, out->host, out->bytes);
        for (int round = 0; round < 3; round++) {
            memcpy(in->host, input, in->bytes);
            if (!in_place) memset(out->host, 0xff, out->bytes);
            walk_send(w, in);
            if (!in_place) walk_send(w, out);
            wm_args args = {.fft = wmFftArgsDefault(in->device, out->device)};
            if (!walk_run(w, &args)) break;
            walk_receive(w, out);
            if (round && memcmp(first, out->host, out->bytes) != 0) walk_fail(w, "run %d gave other bits", round + 1);
            memcpy(first, out->host, out->bytes);
        }
        judge(w, input, out, marks);
        if (in_place) { /* real rows hold their padding in the complex elements that the transform writes */
            if (d->kind != WM_FFT_C2R)
                walk_untouched(w, before, out->host, marks, out_elements, wmTypeSize(wm_fft_side_type(d, 1)), "out");
        } else {
            walk_untouched(w, before, out->host, marks, out_elements, wmTypeSize(wm_fft_side_type(d, 1)), "out");
            walk_receive(w, in);
            if (!d->allow_input_overwrite && memcmp(input, in->host, in->bytes) != 0)
                walk_fail(w, "the input was overwritten");
        }
    }
    free(input);
    free(first);
    free(before);
    free(marks);
}

void walk_fft(walk *w) {
    const wmFftDesc *d = &w->problem->u.fft;
    if (wm_fft_batch(d) == 0) return; /* never reaches a solver */
    wm_operand operands[WM_MAX_OPERANDS];
    int count = wm_problem_operands(w->problem, operands);
    size_t shift = d->align < 256 ? (size_t)d->align : 0;
    walk_buffer buffers[2] = {{0}, {0}};
    for (int i = 0; i < count; i++)
        buffers[i] = walk_new(w, (size_t)operands[i].elements * wmTypeSize(operands[i].type), shift);
    if (buffers[0].device && (count == 1 || buffers[1].device)) {
        walk_fill(w, &buffers[0], operands[0].type, operands[0].elements);
        runs(w, &buffers[0], &buffers[count - 1], wm_fft_span(d, 1));
    }
    for (int i = 0; i < count; i++) walk_free(w, &buffers[i]);
}
