/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact roots of unity. The angle is folded into [0, pi/4] in integers first, so that the sine and cosine of the C
 * library see a small argument and the symmetric roots come out exactly symmetric (1, -i and sqrt(1/2) included).
 */
#include "fft_roots.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI 6.283185307179586476925286766559005768L

wm_root wm_root_of(int64_t k, int64_t n) {
    int64_t angle = 8 * k, quarter = 2 * n; /* in units of 2 pi / 8n */
    int octant = 0;
    if (angle > 4 * n) angle = 8 * n - angle, octant |= 4; /* lower half plane: conjugate */
    if (angle > quarter) angle -= quarter, octant |= 2;    /* left half: turn by a quarter */
    if (angle > n) angle = quarter - angle, octant |= 1;   /* above pi/4: swap sine and cosine */
    long double turn = TWO_PI * (long double)angle / (8.0L * (long double)n);
    long double c = cosl(turn), s = sinl(turn), t;
    if (octant & 1) t = c, c = s, s = t;
    if (octant & 2) t = c, c = -s, s = t;
    wm_root root = {c, octant & 4 ? s : -s};
    return root;
}

int wm_roots_make(wm_roots *out, int64_t n) {
    *out = (wm_roots){.n = n, .shift = 10}; /* up to 1024 one level is all: exact symmetry */
    while ((int64_t)1 << 2 * out->shift < n) out->shift++;
    int64_t lows = (int64_t)1 << out->shift, highs = ((n - 1) >> out->shift) + 1;
    if (lows > n) lows = n;
    out->low = malloc((size_t)lows * sizeof *out->low);
    out->high = malloc((size_t)highs * sizeof *out->high);
    if (!out->low || !out->high) {
        wm_roots_drop(out);
        return -1;
    }
    for (int64_t i = 0; i < lows; i++) out->low[i] = wm_root_of(i, n);
    for (int64_t i = 0; i < highs; i++) out->high[i] = wm_root_of(i << out->shift, n);
    return 0;
}

void wm_roots_drop(wm_roots *roots) {
    free(roots->low);
    free(roots->high);
    *roots = (wm_roots){0};
}

wm_root wm_roots_get(const wm_roots *roots, int64_t k) {
    int64_t low = k & (((int64_t)1 << roots->shift) - 1), high = k >> roots->shift;
    wm_root a = roots->high[high], b = roots->low[low];
    if (high == 0) return b;
    if (low == 0) return a;
    wm_root root = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return root;
}
