/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of counts: the distribution function of a Poisson or binomial law in steps of 2^-64. Probabilities run from
 * the mode outwards by their ratios, and are summed from the far ends, so both tails keep their relative accuracy.
 * Sums, products and quotients alone: the same table on every machine.
 */
#include "random_element_job.h"

#include <string.h>

enum { SIDE = 2 * WM_COUNT_ENTRIES };
static const double SMALL = 1e-26; /* of the mode's: far below 2^-64 of the whole */

typedef struct law {
    int binomial;
    double rate, trials, odds;
} law;

/* p(k + 1) / p(k) times x. */
static double next(const law *l, double x, double k) {
    return l->binomial ? x * ((l->trials - k) / (k + 1) * l->odds) : x * (l->rate / (k + 1));
}
static double previous(const law *l, double x, double k) {
    return l->binomial ? x * (k / (l->trials - k + 1) / l->odds) : x * (k / l->rate);
}

/* A share of 2^64, rounded down. */
static uint64_t scaled(double part, double whole) {
    return (uint64_t)(part / whole * 0x1p64);
}

static void add_threshold(wmCountTable *t, uint64_t threshold) {
    t->high[t->entries] = (uint32_t)(threshold >> 32);
    t->low[t->entries++] = (uint32_t)threshold;
}

static void fill_guide(wmCountTable *t) {
    int at = 0;
    for (uint32_t cell = 0; cell < WM_COUNT_CELLS; cell++) {
        int end = at;
        while (end < t->entries && t->high[end] >> 21 == cell) end++;
        uint32_t mark = end == at ? 0x7ffffu : end == at + 1 ? t->high[at] >> 2 & 0x7ffffu : 0x80000u;
        t->guide[cell] = (uint32_t)at << 20 | mark;
        at = end;
    }
}

static void fill(wmCountTable *t, const law *l, double mode) {
    static _Thread_local double up[SIDE + 1], down[SIDE + 1]; /* p of mode + j, of mode - j, over the mode's */
    int ups = 0, downs = 0;
    up[0] = down[0] = 1;
    while (ups < SIDE && up[ups] > SMALL) up[ups + 1] = next(l, up[ups], mode + ups), ups++;
    while (downs < SIDE && downs < mode && down[downs] > SMALL)
        down[downs + 1] = previous(l, down[downs], mode - downs), downs++;
    double above = 0, below = 0, whole, part = 0;
    for (int j = ups; j >= 1; j--) up[j] = above += up[j]; /* now P(X >= mode + j) */
    for (int j = downs; j >= 1; j--) down[j] = below += down[j];
    whole = above + 1 + below;
    t->first = (uint64_t)mode - (uint64_t)downs;
    for (int j = downs; j >= 1; j--) { /* between mode - j and the next */
        part = down[j] / whole;
        if (scaled(part, 1) == 0)
            t->first++;
        else
            add_threshold(t, scaled(part, 1));
    }
    for (int j = 1; j <= ups; j++) {
        uint64_t rest = scaled(up[j], whole);
        if (rest == 0) break;
        add_threshold(t, 0 - rest);
    }
}

void wm_count_table_make(wmCountTable *t, const wmRandomDesc *desc, const wmRandomArgs *args) {
    law l = {desc->distribution == WM_RANDOM_BINOMIAL, args->rate, (double)args->trials, args->p / (1 - args->p)};
    memset(t, 0, sizeof *t);
    if (l.binomial && (args->p == 0 || args->p == 1 || args->trials == 0)) {
        t->first = args->p == 1 ? args->trials : 0;
    } else if (l.binomial || l.rate > 0) {
        double mode = wm_exact_floor64(l.binomial ? (l.trials + 1) * args->p : l.rate);
        fill(t, &l, mode > l.trials && l.binomial ? l.trials : mode);
    }
    fill_guide(t);
}

int wm_count_by_table(const wmRandomDesc *desc, const wmRandomArgs *args) {
    double variance = args->rate;
    if (desc->distribution == WM_RANDOM_BINOMIAL) variance = (double)args->trials * args->p * (1 - args->p);
    return variance <= WM_COUNT_VARIANCE;
}
