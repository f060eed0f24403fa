/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recorded times teach about estimates: regression trees, boosted (Friedman, "Greedy function approximation: a
 * gradient boosting machine", 2001), that tell how far a variant falls behind the best of its problem. perf/fit grows
 * them from rows of `warpmath bench --csv`.
 */
#ifndef WM_LIB_LEARNED_H
#define WM_LIB_LEARNED_H

#include "gpu.h"
#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WM_FACTS = 40,
    WM_TREE_DEPTH = 4,
    WM_TREE_SPLITS = (1 << WM_TREE_DEPTH) - 1,
    WM_TREE_LEAVES = 1 << WM_TREE_DEPTH
};

/** Split i leads on to 2 i + 1 where the fact is at most `at`, else to 2 i + 2; leaves follow the last splits. */
typedef struct wm_tree {
    uint8_t fact[WM_TREE_SPLITS];
    float at[WM_TREE_SPLITS];
    float leaf[WM_TREE_LEAVES];
} wm_tree;

typedef struct wm_forest {
    const char *const *solver; /* whose times were recorded; their places are a fact. Ends with NULL */
    const wm_tree *tree;
    int trees;
} wm_forest;

/** A variant as rows of results know it. */
typedef struct wm_variant {
    const char *solver;
    const int *knob;
    double seconds; /* estimated; so are the solver's best and everybody's best */
    double solvers_best, best;
    double waves; /* as cuBLASLt's heuristic tells them; 0: not told */
} wm_variant;

/** What was learnt for the operation on that device; NULL: nothing. */
const wm_forest *wm_forest_of(const wm_device *device, wm_op op);

/** The solver's place; -1: nothing was learnt of it. */
int wm_forest_solver(const wm_forest *forest, const char *name);

/** Facts of a problem, then of one of its variants, whose solver has that place. The rest are 0. */
void wm_facts_of_problem(const wm_problem *problem, float facts[WM_FACTS]);
void wm_facts_of_variant(const wm_problem *problem, const wm_variant *variant, int solver, float facts[WM_FACTS]);

/** How far the variant is thought to fall behind the best: about the logarithm of the ratio of their times. */
double wm_forest_ask(const wm_forest *forest, const float facts[WM_FACTS]);

#ifdef __cplusplus
}
#endif

#endif
