/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of problems and variants, and the trees that look at them. */
#include "learned.h"
#include <math.h>
#include <string.h>

static const uint16_t lt_tiles[][2] = {
#include "learned_tiles.inc"
};

#include "learned_h200.inc"

static float log2_of(double value) {
    return value > 0 ? (float)log2(value) : 0.0F;
}

/* ---- Problems: facts 0 to 17 ---- */

/* Whether rows begin on 16 bytes. */
static float is_even(const wmMatrixDesc *x) {
    int64_t size = (int64_t)wmTypeSize(x->type);
    return x->align >= 16 && x->ld * size % 16 == 0 && x->batch_stride * size % 16 == 0;
}

static float by_rows(const wmMatrixDesc *x) {
    return (x->order == WM_ROW_MAJOR) == (x->op == WM_OP_NONE);
}

static void facts_of_matmul(const wm_problem *problem, float *f) {
    const wmMatmulDesc *d = &problem->u.matmul;
    *f++ = (float)d->a.type;
    *f++ = (float)d->d.type;
    *f++ = by_rows(&d->a);
    *f++ = by_rows(&d->b);
    *f++ = is_even(&d->a);
    *f++ = is_even(&d->b);
    *f++ = is_even(&d->d);
    *f++ = log2_of((double)d->m);
    *f++ = log2_of((double)d->n);
    *f++ = log2_of((double)d->k);
    *f++ = log2_of((double)d->batch);
    *f++ = log2_of(fmin((double)d->m, (double)d->n));
    *f++ = log2_of((double)d->m * (double)d->n * (double)d->batch);
    *f++ = (float)d->compute;
    *f++ = (float)(d->bias + 4 * (int)d->activation);
}

static double largest_factor(int64_t n) {
    int64_t largest = 1;
    for (int64_t p = 2; p * p <= n && p < 4096; p++)
        for (; n % p == 0; n /= p) largest = p;
    return (double)(n > largest ? n : largest);
}

static void facts_of_fft(const wm_problem *problem, float *f) {
    const wmFftDesc *d = &problem->u.fft;
    double points = 1, rounds = 1, largest = 1;
    for (int i = 0; i < d->rank; i++) {
        points *= (double)d->dim[i].n;
        largest = fmax(largest, largest_factor(d->dim[i].n));
    }
    for (int i = 0; i < d->loops; i++) rounds *= (double)d->loop[i].n;
    int64_t last = d->dim[d->rank - 1].n;
    *f++ = (float)d->type;
    *f++ = (float)d->kind;
    *f++ = (float)d->rank;
    *f++ = (float)d->placement;
    *f++ = (float)d->direction;
    *f++ = log2_of((double)d->dim[0].n);
    *f++ = log2_of((double)last);
    *f++ = log2_of(points);
    *f++ = log2_of(rounds);
    *f++ = log2_of(points * rounds);
    *f++ = log2_of(largest);
    *f++ = log2_of((double)(last & -last));
}

static void facts_of_random(const wm_problem *problem, float *f) {
    const wmRandomDesc *d = &problem->u.random;
    *f++ = (float)d->distribution;
    *f++ = (float)d->type;
    *f++ = (float)d->generator;
    *f++ = (float)d->sequence;
    *f++ = (float)d->accuracy;
    *f++ = log2_of((double)d->count_hint);
    *f++ = (float)wmTypeSize(d->type);
    *f++ = (float)(d->count_hint % 8);
}

enum { COST = 15, VARIANT = 18, KNOBS = 22, TILE = 31, WAVES = 38, MOST_KNOBS = 9, MULTIPROCESSORS = 132 };

void wm_facts_of_problem(const wm_problem *problem, float facts[WM_FACTS]) {
    wm_cost cost = wm_problem_cost(problem);
    memset(facts, 0, WM_FACTS * sizeof *facts);
    if (problem->op == WM_MATMUL) facts_of_matmul(problem, facts);
    if (problem->op == WM_FFT) facts_of_fft(problem, facts);
    if (problem->op == WM_RANDOM) facts_of_random(problem, facts);
    facts[COST] = log2_of(cost.flops);
    facts[COST + 1] = log2_of(cost.bytes);
    facts[COST + 2] = facts[COST] - facts[COST + 1];
}

/* ---- Variants ---- */

/* Tiles of D, as far as knobs tell: how many waves they make, what is computed beyond D's edges, what the last wave
 * leaves idle. */
static void facts_of_tiles(const wmMatmulDesc *d, const wm_variant *v, float *f) {
    int lt = strcmp(v->solver, "cublaslt") == 0, wgmma = strcmp(v->solver, "matmul_wgmma") == 0;
    int known = lt && v->knob[1] >= 0 && v->knob[1] < (int)(sizeof lt_tiles / sizeof *lt_tiles);
    int swapped = lt == (d->d.order == WM_ROW_MAJOR); /* its D is D turned */
    double rows = wgmma ? 128.0 * v->knob[1] : known ? lt_tiles[v->knob[1]][0] : 0;
    double columns = wgmma ? v->knob[0] : known ? lt_tiles[v->knob[1]][1] : 0;
    double m = (double)(swapped ? d->n : d->m), n = (double)(swapped ? d->m : d->n);
    double splits = lt && v->knob[3] > 0 ? v->knob[3] : 1;
    if (!(rows > 0)) return;
    double up = ceil(m / rows), along = ceil(n / columns);
    double waves = up * along * (double)d->batch * splits / MULTIPROCESSORS;
    f[0] = log2_of(rows);
    f[1] = log2_of(columns);
    f[2] = log2_of(waves);
    f[3] = (float)(up * rows * along * columns / (m * n));
    f[4] = (float)(ceil(waves) / waves);
    f[5] = log2_of((double)d->k / splits);
    f[6] = log2_of(ceil(waves) * rows * columns * (double)d->k / splits);
}

void wm_facts_of_variant(const wm_problem *problem, const wm_variant *v, int solver, float facts[WM_FACTS]) {
    facts[VARIANT] = (float)solver;
    facts[VARIANT + 1] = log2_of(1e6 * v->seconds);
    facts[VARIANT + 2] = log2_of(v->seconds / v->solvers_best);
    facts[VARIANT + 3] = log2_of(v->seconds / v->best);
    for (int i = 0; i < MOST_KNOBS; i++) facts[KNOBS + i] = (float)v->knob[i];
    memset(facts + TILE, 0, (WM_FACTS - TILE) * sizeof *facts);
    if (problem->op == WM_MATMUL) facts_of_tiles(&problem->u.matmul, v, facts + TILE);
    facts[WAVES] = log2_of(v->waves);
    facts[WAVES + 1] = v->waves > 0 ? (float)(ceil(v->waves) / v->waves) : 0;
}

/* ---- Trees ---- */

const wm_forest *wm_forest_of(const wm_device *device, wm_op op) {
    int known = strcmp(device->name, "NVIDIA H200") == 0 && (unsigned)op < sizeof h200 / sizeof *h200;
    return known && h200[op].trees ? &h200[op] : NULL;
}

int wm_forest_solver(const wm_forest *forest, const char *name) {
    for (int i = 0; forest->solver[i]; i++)
        if (strcmp(forest->solver[i], name) == 0) return i;
    return -1;
}

double wm_forest_ask(const wm_forest *forest, const float facts[WM_FACTS]) {
    double sum = 0;
    for (int i = 0; i < forest->trees; i++) {
        const wm_tree *tree = &forest->tree[i];
        int at = 0;
        while (at < WM_TREE_SPLITS) at = 2 * at + (facts[tree->fact[at]] <= tree->at[at] ? 1 : 2);
        sum += tree->leaf[at - WM_TREE_SPLITS];
    }
    return sum;
}
