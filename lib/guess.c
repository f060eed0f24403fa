/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing without measuring: by what was learnt from recorded times of such a device, else by the solvers' estimates.
 */
#include "context_internal.h"
#include "learned.h"
#include "planner.h"
#include <math.h>

static double best_of(const wm_found *found, const wm_solver *solver) {
    double best = INFINITY;
    for (int i = 0; i < found->count; i++) {
        const wm_candidate *c = &found->candidate[i];
        if ((!solver || c->solver == solver) && c->offer.seconds < best) best = c->offer.seconds;
    }
    return best;
}

void wm_guess(const wmContext *context, const wm_problem *problem, wm_found *found) {
    const wm_forest *forest = context->gpu ? wm_forest_of(&context->device, problem->op) : NULL;
    float facts[WM_FACTS];
    if (!forest || wm_context_left_free(context)) return; /* they were timed on the whole device */
    wm_facts_of_problem(problem, facts);
    wm_variant v = {.best = best_of(found, NULL)};
    for (int i = 0; i < found->count; i++) {
        wm_candidate *c = &found->candidate[i];
        int place = wm_forest_solver(forest, c->solver->name);
        if (place < 0) continue;
        if (i == 0 || c->solver != found->candidate[i - 1].solver) v.solvers_best = best_of(found, c->solver);
        v.solver = c->solver->name;
        v.knob = c->offer.knob;
        v.seconds = c->offer.seconds;
        v.waves = c->offer.waves;
        wm_facts_of_variant(problem, &v, place, facts);
        c->behind = wm_forest_ask(forest, facts);
        c->learned = 1;
    }
}

/* The least of those that something was learnt of, or of the others. */
static int least(const wm_found *found, int failed_too, int learned) {
    int best = -1;
    double value = INFINITY;
    for (int i = 0; i < found->count; i++) {
        const wm_candidate *c = &found->candidate[i];
        double of = learned ? c->behind : c->offer.seconds;
        if (c->only_judges || c->learned != learned ||
            (!failed_too && (c->verdict == WM_WRONG || c->verdict == WM_FAILED)))
            continue;
        if (best < 0 || of < value) best = i, value = of;
    }
    return best;
}

static int least_of_all(const wm_found *found, int failed_too) {
    int known = least(found, failed_too, 1), other = least(found, failed_too, 0);
    if (known < 0 || other < 0) return known < 0 ? other : known;
    const wm_candidate *c = found->candidate;
    return c[other].offer.seconds < c[known].offer.seconds ? other : known;
}

int wm_best_estimate(const wm_found *found) {
    return least_of_all(found, 0);
}

int wm_least_estimate(const wm_found *found) {
    return least_of_all(found, 1);
}
