/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the CPU transform: every constant is computed in long double and rounded once. */
#include "fft_plan.h"
#include "fft_roots.h"

#include <stdlib.h>

/* Up to this length of a split line the twiddles between columns and rows are a table of exact vectors. */
enum { SHORT_LINE = 1 << 16 };

static void put_real(void *table, const wm_fft_code *code, int64_t i, long double value) {
    if (code->real == sizeof(float))
        ((float *)table)[i] = (float)value;
    else
        ((double *)table)[i] = (double)value;
}

static void put(void *table, const wm_fft_code *code, int64_t i, wm_root root) {
    put_real(table, code, i, root.re);
    put_real(table, code, i + 1, root.im);
}

static void *reserve(int64_t bytes) {
    size_t size = ((size_t)(bytes > 0 ? bytes : 1) + WM_LINE_ALIGN - 1) / WM_LINE_ALIGN * WM_LINE_ALIGN;
    return aligned_alloc(WM_LINE_ALIGN, size);
}

/* ---- Bluestein's constants ---- */

/** exp(-pi i k^2 / n); roots are those of 2n. k^2 is reduced in integers, else large k would lose all digits. */
static wm_root chirp_at(const wm_roots *roots, int64_t k) {
    return wm_roots_get(roots, (int64_t)((unsigned __int128)k * (unsigned __int128)k % (unsigned __int128)roots->n));
}

/** The transform of the conjugate chirp, over `length` points and divided by it, always computed in f64. */
static double *chirp_spectrum(const wm_roots *roots, int64_t n, int64_t length) {
    const wm_fft_code *code = wm_fft_code_best(64);
    wm_fft_axis axis = {.n = length, .in = 2, .out = 2, .lines = 1, .scale = 1 / (double)length};
    wm_fft_scratch scratch = {0};
    double *data = reserve(length * 2 * (int64_t)sizeof *data);
    wm_fft_axis_decide(&axis, code);
    int failed = !data || wm_fft_axis_tables(&axis, code);
    if (!failed) {
        wm_fft_sizes sizes = wm_fft_axis_sizes(&axis, code);
        scratch.lane = reserve((int64_t)sizes.lane);
        scratch.middle = reserve((int64_t)sizes.middle);
        failed = !scratch.lane || !scratch.middle;
    }
    if (!failed) {
        for (int64_t k = 0; k < 2 * length; k++) data[k] = 0;
        for (int64_t k = 0; k < n; k++) {
            wm_root root = chirp_at(roots, k);
            root.im = -root.im;
            put(data, code, 2 * k, root);
            if (k) put(data, code, 2 * (length - k), root);
        }
        wm_fft_axis_run(&axis, code, data, data, &scratch);
    }
    free(scratch.lane);
    free(scratch.middle);
    wm_fft_axis_drop(&axis);
    if (failed) free(data);
    return failed ? NULL : data;
}

/** Fills chirp (n roots) and spectrum (length values) of the real type. */
static int bluestein(void *chirp, void *spectrum, int64_t n, int64_t length, const wm_fft_code *code) {
    wm_roots roots;
    if (wm_roots_make(&roots, 2 * n)) return -1;
    double *values = chirp_spectrum(&roots, n, length);
    for (int64_t k = 0; values && k < n; k++) put(chirp, code, 2 * k, chirp_at(&roots, k));
    for (int64_t k = 0; values && k < length; k++) {
        wm_root value = {values[2 * k], values[2 * k + 1]};
        put(spectrum, code, 2 * k, value);
    }
    wm_roots_drop(&roots);
    free(values);
    return values ? 0 : -1;
}

/* ---- lanes ---- */

static void fill_step(const wm_fft_step *step, void *table, const wm_roots *roots, const wm_fft_code *code) {
    int64_t r = step->radix, at = step->twiddle;
    for (int64_t p = 1; p < step->m; p++)
        for (int64_t k = 1; k < r; k++, at += 2) put(table, code, at, wm_roots_get(roots, p * k * step->s));
    at = step->roots;
    for (int64_t k = 1; r % 2 && k <= r / 2; k++)
        for (int64_t j = 1; j <= r / 2; j++, at += 2) {
            wm_root root = wm_root_of(j * k % r, r);
            root.im = -root.im;
            put(table, code, at, root);
        }
}

static int lane_tables(wm_fft_lane *lane, const wm_fft_code *code) {
    lane->table = reserve(lane->reals * (int64_t)code->real);
    wm_roots roots = {0};
    if (!lane->table || wm_roots_make(&roots, lane->length)) return -1;
    for (int i = 0; i < lane->steps; i++) fill_step(&lane->step[i], lane->table, &roots, code);
    wm_roots_drop(&roots);
    if (lane->length == lane->n) return 0;
    char *chirp = (char *)lane->table + lane->chirp * (int64_t)code->real;
    char *spectrum = (char *)lane->table + lane->spectrum * (int64_t)code->real;
    return bluestein(chirp, spectrum, lane->n, lane->length, code);
}

/* ---- lines ---- */

static int twiddle_short(wm_fft_line *line, const wm_fft_code *code) {
    int64_t n1 = line->first.n, n2 = line->second.n, lanes = code->lanes;
    int64_t groups = (n2 + lanes - 1) / lanes, at = 0;
    wm_roots roots;
    line->twiddle = reserve(groups * n1 * 2 * lanes * (int64_t)code->real);
    if (!line->twiddle || wm_roots_make(&roots, line->length)) return -1;
    for (int64_t group = 0; group < groups; group++)
        for (int64_t k = 0; k < n1; k++, at += 2 * lanes)
            for (int64_t l = 0; l < lanes; l++) {
                int64_t j = group * lanes + l < n2 ? group * lanes + l : 0;
                wm_root root = wm_roots_get(&roots, j * k);
                put_real(line->twiddle, code, at + l, root.re);
                put_real(line->twiddle, code, at + lanes + l, root.im);
            }
    wm_roots_drop(&roots);
    return 0;
}

static int twiddle_long(wm_fft_line *line) {
    wm_roots roots;
    if (wm_roots_make(&roots, line->length)) return -1;
    int64_t lows = (int64_t)1 << roots.shift, highs = ((roots.n - 1) >> roots.shift) + 1;
    line->shift = roots.shift;
    line->low = reserve(2 * lows * (int64_t)sizeof *line->low);
    line->high = reserve(2 * highs * (int64_t)sizeof *line->high);
    int failed = !line->low || !line->high;
    const wm_fft_code *code = wm_fft_code_best(64);
    for (int64_t i = 0; !failed && i < lows; i++) put(line->low, code, 2 * i, roots.low[i]);
    for (int64_t i = 0; !failed && i < highs; i++) put(line->high, code, 2 * i, roots.high[i]);
    wm_roots_drop(&roots);
    return failed ? -1 : 0;
}

static int line_tables(wm_fft_line *line, const wm_fft_code *code) {
    if (lane_tables(&line->first, code)) return -1;
    if (line->method == WM_LINE_LANES) return 0;
    if (lane_tables(&line->second, code)) return -1;
    if (line->length <= SHORT_LINE ? twiddle_short(line, code) : twiddle_long(line)) return -1;
    if (line->method == WM_LINE_SPLIT) return 0;
    line->chirp = reserve(2 * line->n * (int64_t)code->real);
    line->spectrum = reserve(2 * line->length * (int64_t)code->real);
    if (!line->chirp || !line->spectrum) return -1;
    return bluestein(line->chirp, line->spectrum, line->n, line->length, code);
}

/** exp(-2 pi i k / n) for k <= n / 4: what separates the two halves of a real transform. */
static int half_table(wm_fft_axis *axis, const wm_fft_code *code) {
    wm_roots roots;
    int64_t count = axis->n / 4 + 1;
    axis->half = reserve(2 * count * (int64_t)code->real);
    if (!axis->half || wm_roots_make(&roots, axis->n)) return -1;
    for (int64_t k = 0; k < count; k++) put(axis->half, code, 2 * k, wm_roots_get(&roots, k));
    wm_roots_drop(&roots);
    return 0;
}

/* ---- axes ---- */

int wm_fft_axis_tables(wm_fft_axis *axis, const wm_fft_code *code) {
    if (line_tables(&axis->line, code)) return -1;
    return axis->kind != WM_FFT_C2C && axis->n % 2 == 0 ? half_table(axis, code) : 0;
}

void wm_fft_axis_drop(wm_fft_axis *axis) {
    wm_fft_line *line = &axis->line;
    free(line->first.table);
    free(line->second.table);
    free(line->twiddle);
    free(line->low);
    free(line->high);
    free(line->chirp);
    free(line->spectrum);
    free(axis->half);
    *axis = (wm_fft_axis){0};
}
