/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a transform lie in shared memory: pads, chosen by counting the bank conflicts of all passes. */
#include "fft_cut_internal.h"

enum { LEVELS = 3 };

static int weight_of(const wm_fft_cut *c, int pass) {
    int weight = c->n;
    for (int i = 0; i <= pass; i++) weight /= c->radix[i];
    return weight;
}

static int step_of(const wm_fft_cut *c, int pass) {
    int step = 1;
    for (int i = c->passes - 2; i >= pass; i--) step = step * c->radix[i + 1] + (i < LEVELS ? c->pad[i] : 0);
    return step;
}

static int slot_of(const wm_fft_cut *c, int pass, int j) {
    int at = 0;
    if (pass + 1 == c->passes) {
        for (int i = 0; i + 1 < c->passes; i++, j /= c->radix[i - 1]) at += j % c->radix[i] * step_of(c, i);
        return at;
    }
    int weight = weight_of(c, pass), i = j / weight * (weight * c->radix[pass]) + j % weight;
    at = i;
    for (int level = 0; level < LEVELS; level++) at += i / weight_of(c, level) * c->pad[level];
    return at;
}

/** Rounds that the accesses of the first warps take in all passes; without conflicts one each of `lanes`. */
static int conflicts(const wm_fft_cut *c) {
    int lanes = c->f64 ? 8 : 16, all = c->threads * c->batch, total = 0;
    for (int pass = 0; pass < c->passes; pass++)
        for (int first = 0; first < all && first < 256; first += lanes) {
            int hits[16] = {0}, most = 0;
            for (int i = first; i < first + lanes && i < all; i++) {
                int g = c->spread ? i % c->batch : i / c->threads, t = c->spread ? i / c->batch : i % c->threads;
                if (t >= c->n / c->radix[pass]) continue;
                int bank = (g * c->slab + slot_of(c, pass, t)) % lanes;
                if (++hits[bank] > most) most = hits[bank];
            }
            total += most * (pass == 0 || pass + 1 == c->passes ? 1 : 2); /* reads and writes */
        }
    return total;
}

static void set_slab(wm_fft_cut *c, int extra) {
    c->slab = c->radix[0] * step_of(c, 0) + extra + (c->core == WM_FFT_RADER ? 2 : 0);
}

/** Tries all values of one pad, or (level LEVELS) of the distance of neighbouring slabs; keeps the best that fits. */
static void try_pad(wm_fft_cut *c, int64_t shared, int level, int *extra) {
    int least = -1, best = 0, real = c->f64 ? 16 : 8, *value = level < LEVELS ? &c->pad[level] : extra;
    for (int pad = 0; pad <= 16; pad++) {
        *value = pad;
        set_slab(c, *extra);
        if (pad && ((int64_t)c->slab * c->batch * real > shared || c->slab > c->n + c->n / 8 + 32)) break;
        int cost = conflicts(c);
        if (least < 0 || cost < least) least = cost, best = pad;
    }
    *value = best;
    set_slab(c, *extra);
}

void wm_fft_cut_pads(wm_fft_cut *c, int64_t shared) {
    int extra = 0;
    for (int round = 0; round < 2; round++) {
        for (int level = (c->passes < LEVELS + 1 ? c->passes - 2 : LEVELS - 1); level >= 0; level--)
            try_pad(c, shared, level, &extra);
        if (c->batch > 1) try_pad(c, shared, LEVELS, &extra);
    }
    set_slab(c, extra);
}
