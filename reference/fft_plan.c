/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a line of n points is done on the CPU: every factorisation into two parts, all lines side by side, or Bluestein's
 * algorithm over a smooth length; whichever a small model of cycles says is cheapest. The model counts per vector of
 * points; its constants come from timing single passes on an AVX2 machine and only need to rank.
 */
#include "fft_plan.h"

#include <math.h>
#include <stdlib.h>

const wm_fft_code *wm_fft_code_best(int bits) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return bits == 32 ? &wm_fft_code_f32_avx2 : &wm_fft_code_f64_avx2;
#endif
    return bits == 32 ? &wm_fft_code_f32 : &wm_fft_code_f64;
}

/* ---- the cost of lanes ---- */

static double radix_cost(int64_t r) {
    switch (r) {
    case 2:
        return 4;
    case 4:
        return 6;
    case 8:
        return 9;
    default:
        return 4 + 1.3 * (double)r;
    }
}

static int is_smooth(int64_t n) {
    for (int64_t p = 2; p <= WM_LINE_MAX_RADIX; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

/** Cycles of the passes over n smooth points, with what the caches add. */
static double passes_cost(int64_t n, const wm_fft_code *code) {
    double bytes = 4.0 * (double)n * (double)code->real * code->lanes, spill = 0;
    if (bytes > 48 << 10) spill = 4; /* the two buffers leave the first cache */
    if (bytes > 1 << 20) spill = 14;
    int64_t rest = n;
    int twos = 0;
    for (; rest % 2 == 0; rest /= 2) twos++;
    int eights = twos / 3 - (twos % 3 == 1 && twos > 1), left = twos - 3 * eights, fours = left / 2, two = left % 2;
    double cost = eights * (radix_cost(8) + spill) + fours * (radix_cost(4) + spill) + two * (radix_cost(2) + spill);
    for (int64_t p = 3; rest > 1; p += 2)
        for (; rest % p == 0; rest /= p) cost += radix_cost(p) + spill;
    return cost * (double)n + 40;
}

/** Lengths that pad well: small odd parts times a power of two. */
static const int odd_parts[] = {1, 3, 5, 7, 9, 15, 21, 25, 27, 35, 45};

static int64_t padded(int64_t least, int i) {
    int64_t m = odd_parts[i];
    while (m < least) m *= 2;
    return m;
}

/** The cheapest way for n points, in *length: n, or a padded length. */
static double lane_cost(int64_t n, const wm_fft_code *code, int64_t *length) {
    double best = is_smooth(n) ? passes_cost(n, code) : INFINITY;
    *length = n;
    if (n < 23) return best;
    for (int i = 0; i < (int)(sizeof odd_parts / sizeof *odd_parts); i++) {
        int64_t m = padded(2 * n - 1, i);
        double cost = 2 * passes_cost(m, code) + 6 * (double)m + 8 * (double)n;
        if (!(cost < best)) continue;
        best = cost;
        *length = m;
    }
    return best;
}

static void add_step(wm_fft_lane *lane, int radix, int64_t *s) {
    wm_fft_step *step = &lane->step[lane->steps++];
    step->radix = radix;
    step->s = *s;
    *s *= radix;
    step->m = lane->length / *s;
    step->twiddle = lane->reals;
    lane->reals += 2 * (step->m - 1) * (radix - 1);
    step->roots = lane->reals;
    if (radix % 2) lane->reals += (int64_t)(radix - 1) * (radix - 1) / 2;
}

/** Eights, then fours rather than a two, then odd factors from small to large; and where each table lies. */
static void decide_lane(wm_fft_lane *lane, int64_t n, const wm_fft_code *code) {
    *lane = (wm_fft_lane){.n = n};
    lane_cost(n, code, &lane->length);
    int64_t rest = lane->length, s = 1;
    for (; rest % 8 == 0 && __builtin_ctzll((unsigned long long)rest) != 4; rest /= 8) add_step(lane, 8, &s);
    for (; rest % 4 == 0; rest /= 4) add_step(lane, 4, &s);
    for (; rest % 2 == 0; rest /= 2) add_step(lane, 2, &s);
    for (int p = 3; rest > 1; p += 2)
        for (; rest % p == 0; rest /= p) add_step(lane, p, &s);
    lane->chirp = lane->reals;
    lane->spectrum = lane->chirp + 2 * n;
    if (lane->length != n) lane->reals = lane->spectrum + 2 * lane->length;
}

/* ---- the cost of lines ---- */

static double groups(int64_t n, const wm_fft_code *code) {
    int64_t count = (n + code->lanes - 1) / code->lanes;
    return (double)count;
}

static double split_cost(int64_t n1, int64_t n2, const wm_fft_code *code) {
    int64_t length;
    double columns = groups(n2, code) * (lane_cost(n1, code, &length) + 30 + 7 * (double)n1);
    double rows = groups(n1, code) * (lane_cost(n2, code, &length) + 30 + 9 * (double)n2);
    double bytes = 2 * (double)code->real * (double)n1 * (double)n2;
    return columns + rows + (bytes > 1 << 20 ? 8 : 0) * (columns + rows) / 50;
}

/** The best n1 n2 = n, in *n1; infinite where n has no two factors. */
static double best_split(int64_t n, const wm_fft_code *code, int64_t *n1) {
    double best = INFINITY;
    for (int64_t d = 2; d <= n / d; d++) {
        if (n % d) continue;
        double a = split_cost(d, n / d, code), b = split_cost(n / d, d, code);
        if (a < best) best = a, *n1 = d;
        if (b < best) best = b, *n1 = n / d;
    }
    return best;
}

static void decide_line(wm_fft_line *line, int64_t lines, const wm_fft_code *code) {
    int64_t n = line->n, n1 = 0, best_n1 = n, length;
    line->length = n;
    line->cost = (lane_cost(n, code, &length) + 12 * (double)n + 60) * groups(lines, code) / (double)lines;
    double cost = n < 16 ? INFINITY : best_split(n, code, &n1);
    if (cost < line->cost) line->cost = cost, line->method = WM_LINE_SPLIT, best_n1 = n1;
    for (int i = 0; n >= 16 && !is_smooth(n) && i < (int)(sizeof odd_parts / sizeof *odd_parts); i++) {
        int64_t m = padded(2 * n - 1, i);
        cost = 2 * best_split(m, code, &n1) + 24 * (double)m / code->lanes;
        if (!(cost < line->cost)) continue;
        line->cost = cost, line->method = WM_LINE_CHIRP, line->length = m, best_n1 = n1;
    }
    decide_lane(&line->first, best_n1, code);
    if (line->method != WM_LINE_LANES && best_n1 > 0) decide_lane(&line->second, line->length / best_n1, code);
}

/* ---- axes ---- */

static void list_phases(wm_fft_axis *axis) {
    static const wm_fft_phase split[] = {WM_PHASE_COLUMNS, WM_PHASE_ROWS};
    static const wm_fft_phase chirp[] = {WM_PHASE_LOAD,    WM_PHASE_COLUMNS, WM_PHASE_ROWS, WM_PHASE_PRODUCT,
                                         WM_PHASE_COLUMNS, WM_PHASE_ROWS,    WM_PHASE_STORE};
    const wm_fft_phase *list = axis->line.method == WM_LINE_SPLIT ? split : chirp;
    int count = axis->line.method == WM_LINE_SPLIT ? 2 : 7, to = 0;
    if (axis->line.method == WM_LINE_LANES) {
        axis->phase[to++] = WM_PHASE_GROUPS;
        count = 0;
    } else if (axis->kind == WM_FFT_C2R) {
        axis->phase[to++] = WM_PHASE_PREPARE;
    }
    for (int i = 0; i < count; i++) axis->phase[to++] = list[i];
    if (count && axis->kind == WM_FFT_R2C) axis->phase[to++] = WM_PHASE_SEPARATE;
    axis->phases = to;
}

void wm_fft_axis_decide(wm_fft_axis *axis, const wm_fft_code *code) {
    int half = axis->kind != WM_FFT_C2C && axis->n % 2 == 0;
    axis->line = (wm_fft_line){.n = half ? axis->n / 2 : axis->n};
    axis->half = NULL;
    decide_line(&axis->line, axis->lines > 0 ? axis->lines : 1, code);
    list_phases(axis);
}

static size_t aligned(int64_t bytes) {
    return ((size_t)bytes + WM_LINE_ALIGN - 1) / WM_LINE_ALIGN * WM_LINE_ALIGN;
}

wm_fft_sizes wm_fft_axis_sizes(const wm_fft_axis *axis, const wm_fft_code *code) {
    const wm_fft_line *line = &axis->line;
    int64_t vector = 2 * (int64_t)code->real * code->lanes, a = line->first.length, b = line->second.length;
    wm_fft_sizes sizes = {aligned(2 * ((a > b ? a : b) + 1) * vector), 0, 0};
    if (line->method == WM_LINE_LANES) return sizes;
    sizes.middle = aligned((int64_t)groups(line->second.n, code) * line->first.n * vector);
    if (line->method == WM_LINE_CHIRP || axis->kind != WM_FFT_C2C)
        sizes.buffer = aligned(line->length * 2 * (int64_t)code->real);
    return sizes;
}

double wm_fft_axis_seconds(const wm_fft_axis *axis, const wm_fft_code *code) {
    double elementwise = axis->line.method == WM_LINE_LANES || axis->kind == WM_FFT_C2C ? 0 : 4.0 * (double)axis->n;
    (void)code;
    return 100e-9 + (axis->line.cost + elementwise) * (double)axis->lines / 3e9;
}

void wm_fft_axis_run_part(const wm_fft_axis *axis, const wm_fft_code *code, int64_t begin, int64_t end, const void *in,
                          void *out, const wm_fft_scratch *scratch) {
    if (axis->line.method == WM_LINE_LANES) {
        code->run(axis, WM_PHASE_GROUPS, 0, begin, end, in, out, scratch);
        return;
    }
    for (int64_t line = begin; line < end; line++)
        for (int i = 0; i < axis->phases; i++)
            code->run(axis, axis->phase[i], line, 0, code->units(axis, axis->phase[i]), in, out, scratch);
}

void wm_fft_axis_run(const wm_fft_axis *axis, const wm_fft_code *code, const void *in, void *out,
                     const wm_fft_scratch *scratch) {
    int together = axis->line.method == WM_LINE_LANES;
    wm_fft_axis_run_part(axis, code, 0, together ? code->units(axis, WM_PHASE_GROUPS) : axis->lines, in, out, scratch);
}
