/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and axes: the phases of fft_core.h. Typed code, included by the sources that choose a type and a vector width.
 */
#ifndef WM_REFERENCE_FFT_LINES_H
#define WM_REFERENCE_FFT_LINES_H

#include "fft_lanes.h"
#include "fft_move.h"

enum { UNIT = 2048 }; /* points a unit of the element-wise phases */

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t groups_of(int64_t n) {
    return (n + LANES - 1) / LANES;
}

/** Offsets of line number `line` in reals. */
static void locate(const wm_fft_axis *axis, int64_t line, int64_t *in, int64_t *out) {
    *in = *out = 0;
    for (int i = 0; i < axis->loops; i++) {
        const wmFftDim *loop = &axis->loop[i];
        int last = i + 1 == axis->loops;
        int64_t at = last ? line : line % loop->n;
        if (!last) line /= loop->n;
        *in += at * loop->in_stride;
        *out += at * loop->out_stride;
    }
}

/** Offsets of up to LANES lines from `first` on. */
static void locate_span(const wm_fft_axis *axis, int64_t first, span *in, span *out) {
    const wmFftDim *loop = &axis->loop[0];
    int64_t lines = smaller(LANES, axis->lines - first), in_first, out_first;
    locate(axis, first, &in_first, &out_first);
    *in = even_span(in_first, loop->in_stride, lines);
    *out = even_span(out_first, loop->out_stride, lines);
    if (axis->loops < 2 || first % loop->n + lines <= loop->n) return;
    in->pitch = out->pitch = 0;
    for (int l = 1; l < lines; l++) locate(axis, first + l, &in->offset[l], &out->offset[l]);
}

static int is_odd_real(const wm_fft_axis *axis) {
    return axis->kind != WM_FFT_C2C && axis->n % 2;
}

/** The input as the complex line that the transform sees; for WM_FFT_C2R, as the half spectrum. */
static view view_in(const wm_fft_axis *axis, const void *in) {
    real *base = (real *)in; /* views serve both directions; inputs are only read */
    view v = {base, axis->in, 1};
    if (axis->kind == WM_FFT_C2C && axis->inverse) v.base = base + 1, v.im = -1;
    if (axis->kind == WM_FFT_R2C) v.step = is_odd_real(axis) ? axis->in : 2 * axis->in, v.im = axis->in;
    if (axis->kind == WM_FFT_R2C && is_odd_real(axis)) v.im = 0;
    return v;
}

/** The output likewise; WM_FFT_C2R of even length is an inverse transform, with its parts swapped. */
static view view_out(const wm_fft_axis *axis, void *out) {
    real *base = out;
    view v = {base, axis->out, 1};
    if (axis->kind == WM_FFT_C2C && axis->inverse) v.base = base + 1, v.im = -1;
    if (axis->kind == WM_FFT_C2R) {
        v.im = 0;
        if (!is_odd_real(axis)) v.base = base + axis->out, v.im = -axis->out, v.step = 2 * axis->out;
    }
    return v;
}

static view view_buffer(void *buffer) {
    view v = {buffer, 2, 1};
    return v;
}

#include "fft_real.h"

/* ---- many lines at once ---- */

static void run_group(const wm_fft_axis *axis, int64_t group, const view *in, const view *out, cvec *x, cvec *y) {
    span from, to;
    locate_span(axis, group * LANES, &from, &to);
    int64_t half = axis->n / 2;
    if (axis->kind == WM_FFT_C2R) {
        gather(in, &from, half + 1, y);
        lanes_from_half(axis, y, x);
    } else {
        gather(in, &from, axis->line.n, x);
    }
    cvec *z = run_lane(&axis->line.first, x, y);
    int64_t count = axis->line.n;
    if (axis->kind == WM_FFT_R2C) {
        if (!is_odd_real(axis)) lanes_to_half(axis, z, z == x ? y : x), z = z == x ? y : x;
        if (axis->inverse)
            for (int64_t k = 0; k <= half; k++) z[k].im = -z[k].im;
        count = half + 1;
    }
    scatter(out, &to, count, z, (real)axis->scale);
}

/* ---- one line as n1 rows of n2, columns first ---- */

/** exp(-2 pi i e / length), from two tables in f64. */
static void root_at(const wm_fft_line *line, int64_t e, double *re, double *im) {
    const double *a = line->high + 2 * (e >> line->shift), *b = line->low + 2 * (e & (((int64_t)1 << line->shift) - 1));
    *re = a[0] * b[0] - a[1] * b[1];
    *im = a[0] * b[1] + a[1] * b[0];
}

static cvec roots_at(const wm_fft_line *line, int64_t column, int64_t row) {
    cvec v;
    for (int l = 0; l < LANES; l++) {
        double re, im;
        root_at(line, smaller(column + l, line->second.n - 1) * row, &re, &im);
        v.re[l] = (real)re, v.im[l] = (real)im;
    }
    return v;
}

/** Column transforms' outputs times the twiddles of long lines. `scratch` takes 64 vectors, or n1 if that is less. */
static void twiddle_long(const wm_fft_line *line, int64_t column, const cvec *z, cvec *to, cvec *scratch) {
    int64_t n1 = line->first.n;
    cvec *fine = scratch;
    for (int64_t k = 0; k < smaller(64, n1); k++) fine[k] = roots_at(line, column, k);
    for (int64_t k = 0; k < n1; k += 64) {
        cvec coarse = roots_at(line, column, k);
        for (int64_t i = 0; i < smaller(64, n1 - k); i++) to[k + i] = mul(z[k + i], mul(coarse, fine[i]));
    }
}

static void run_columns(const wm_fft_line *line, view from, int64_t begin, int64_t end, const wm_fft_scratch *scratch) {
    int64_t n1 = line->first.n, n2 = line->second.n;
    cvec *x = scratch->lane, *y = x + line->first.length, *middle = scratch->middle;
    view column = {from.base, from.step * n2, from.im};
    for (int64_t c = begin; c < end; c++) {
        span s = even_span(c * LANES * from.step, from.step, n2 - c * LANES);
        gather(&column, &s, n1, x);
        cvec *z = run_lane(&line->first, x, y), *to = middle + c * n1;
        if (line->twiddle) {
            const cvec *w = (const cvec *)line->twiddle + c * n1;
            for (int64_t k = 0; k < n1; k++) to[k] = mul(z[k], w[k]);
        } else {
            twiddle_long(line, c * LANES, z, to, z == x ? y : x);
        }
    }
}

/** Rows [row, row + LANES) of the middle: lanes become rows. */
static void gather_rows(const wm_fft_line *line, int64_t row, const cvec *middle, cvec *to) {
    int64_t n1 = line->first.n, n2 = line->second.n;
    int rows = (int)smaller(LANES, n1 - row);
    for (int64_t c = 0; c * LANES < n2; c++) {
        vec re[LANES] = {{0}}, im[LANES] = {{0}};
        const cvec *from = middle + c * n1 + row;
        for (int i = 0; i < rows; i++) re[i] = from[i].re, im[i] = from[i].im;
        transpose(re);
        transpose(im);
        int64_t count = smaller(LANES, n2 - c * LANES);
        for (int64_t i = 0; i < count; i++) to[c * LANES + i].re = re[i], to[c * LANES + i].im = im[i];
    }
}

static void run_rows(const wm_fft_line *line, view to, int64_t begin, int64_t end, real scale,
                     const wm_fft_scratch *scratch) {
    int64_t n1 = line->first.n;
    cvec *x = scratch->lane, *y = x + line->second.length;
    view row = {to.base, to.step * n1, to.im};
    for (int64_t g = begin; g < end; g++) {
        span s = even_span(g * LANES * to.step, to.step, n1 - g * LANES);
        gather_rows(line, g * LANES, scratch->middle, x);
        scatter(&row, &s, line->second.n, run_lane(&line->second, x, y), scale);
    }
}

/* ---- Bluestein's algorithm on one line; see run_lane ---- */

static void chirp_load(const wm_fft_line *line, view from, int64_t begin, int64_t end, real *buffer) {
    const real *chirp = line->chirp;
    for (int64_t j = begin; j < end; j++) {
        real re = 0, im = 0;
        if (j < line->n) {
            const real *at = from.base + from.step * j;
            real a = at[0], b = from.im ? at[from.im] : 0;
            re = a * chirp[2 * j] - b * chirp[2 * j + 1];
            im = a * chirp[2 * j + 1] + b * chirp[2 * j];
        }
        buffer[2 * j] = re, buffer[2 * j + 1] = im;
    }
}

static void chirp_product(const wm_fft_line *line, int64_t begin, int64_t end, real *buffer) {
    const real *w = line->spectrum;
    for (int64_t k = begin; k < end; k++) {
        real a = buffer[2 * k], b = buffer[2 * k + 1];
        buffer[2 * k] = a * w[2 * k + 1] + b * w[2 * k];
        buffer[2 * k + 1] = a * w[2 * k] - b * w[2 * k + 1];
    }
}

static void chirp_store(const wm_fft_line *line, view to, int64_t begin, int64_t end, real scale, const real *buffer) {
    const real *chirp = line->chirp;
    for (int64_t k = begin; k < end; k++) {
        real a = buffer[2 * k + 1], b = buffer[2 * k], *at = to.base + to.step * k;
        at[0] = (a * chirp[2 * k] - b * chirp[2 * k + 1]) * scale;
        if (to.im) at[to.im] = (a * chirp[2 * k + 1] + b * chirp[2 * k]) * scale;
    }
}

/* ---- phases ---- */

static int has_phase(const wm_fft_axis *axis, wm_fft_phase phase) {
    for (int i = 0; i < axis->phases; i++)
        if (axis->phase[i] == phase) return 1;
    return 0;
}

static int64_t phase_points(const wm_fft_axis *axis, wm_fft_phase phase) {
    const wm_fft_line *line = &axis->line;
    switch (phase) {
    case WM_PHASE_LOAD:
    case WM_PHASE_PRODUCT:
        return line->length;
    case WM_PHASE_STORE:
        return line->n;
    default:
        return axis->n / 2 + 1;
    }
}

static int64_t run_units(const wm_fft_axis *axis, wm_fft_phase phase) {
    switch (phase) {
    case WM_PHASE_GROUPS:
        return groups_of(axis->lines);
    case WM_PHASE_COLUMNS:
        return groups_of(axis->line.second.n);
    case WM_PHASE_ROWS:
        return groups_of(axis->line.first.n);
    default:
        return (phase_points(axis, phase) + UNIT - 1) / UNIT;
    }
}

static void run_line_phase(const wm_fft_axis *axis, wm_fft_phase phase, int64_t begin, int64_t end, view in, view out,
                           const wm_fft_scratch *scratch) {
    const wm_fft_line *line = &axis->line;
    int prepared = has_phase(axis, WM_PHASE_PREPARE), separated = has_phase(axis, WM_PHASE_SEPARATE);
    view buffer = view_buffer(scratch->buffer), source = prepared ? buffer : in, target = separated ? buffer : out;
    real scale = separated ? 1 : (real)axis->scale;
    int chirp = line->method == WM_LINE_CHIRP;
    if (phase == WM_PHASE_COLUMNS) {
        run_columns(line, chirp ? buffer : source, begin, end, scratch);
        return;
    }
    if (phase == WM_PHASE_ROWS) {
        run_rows(line, chirp ? buffer : target, begin, end, chirp ? 1 : scale, scratch);
        return;
    }
    begin *= UNIT;
    end = smaller(end * UNIT, phase_points(axis, phase));
    switch (phase) {
    case WM_PHASE_PREPARE:
        line_from_half(axis, in, begin, end, buffer.base);
        break;
    case WM_PHASE_LOAD:
        chirp_load(line, source, begin, end, buffer.base);
        break;
    case WM_PHASE_PRODUCT:
        chirp_product(line, begin, end, buffer.base);
        break;
    case WM_PHASE_STORE:
        chirp_store(line, target, begin, end, scale, buffer.base);
        break;
    default:
        line_to_half(axis, buffer.base, begin, end, out);
        break;
    }
}

static void run_phase(const wm_fft_axis *axis, wm_fft_phase phase, int64_t number, int64_t begin, int64_t end,
                      const void *in, void *out, const wm_fft_scratch *scratch) {
    view from = view_in(axis, in), to = view_out(axis, out);
    if (phase == WM_PHASE_GROUPS) {
        const wm_fft_lane *lane = &axis->line.first;
        cvec *x = scratch->lane, *y = x + lane->length + 1;
        for (int64_t group = begin; group < end; group++) run_group(axis, group, &from, &to, x, y);
        return;
    }
    int64_t in_offset, out_offset;
    locate(axis, number, &in_offset, &out_offset);
    from.base += in_offset;
    to.base += out_offset;
    run_line_phase(axis, phase, begin, end, from, to, scratch);
}

#endif
