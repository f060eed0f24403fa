/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a problem that other solvers do. */
#include "inner.h"

#include "idle.h"
#include "planner.h"

int wm_inner_choose(wmContext *context, wm_inner *inner, size_t most, wm_why *why) {
    wm_found found;
    int64_t limit = most == 0 ? -1 : most < INT64_MAX ? (int64_t)most : INT64_MAX; /* 0 would mean the default */
    wmStatus status = wm_search_few(context, &inner->problem, limit, &found);
    int best = status == WM_OK ? wm_settle(context, &inner->problem, limit, &found) : -1;
    if (best >= 0) {
        inner->solver = found.candidate[best].solver;
        inner->offer = found.candidate[best].offer;
    }
    wm_found_free(&found);
    if (best >= 0) return 1;
    char text[WM_PROBLEM_TEXT];
    wm_problem_print(&inner->problem, text, sizeof text);
    return wm_refuse(why, "nobody does its part \"%.110s\"", text);
}

wmStatus wm_inner_make(wmContext *context, wm_inner *inner) {
    const wm_solver *solver = inner->solver;
    if (solver->make) WM_TRY(solver->make(context, &inner->problem, &inner->offer, &inner->state));
    return wm_idle_make(context, &inner->problem);
}

void wm_inner_drop(wmContext *context, wm_inner *inner) {
    if (inner->solver && inner->solver->drop) inner->solver->drop(context, inner->state);
    inner->state = NULL;
}

wmStatus wm_inner_run(const wm_run *whole, const wm_inner *inner, const wm_args *args, void *workspace) {
    const wm_run run = {.context = whole->context,
                        .problem = &inner->problem,
                        .offer = &inner->offer,
                        .state = inner->state,
                        .args = args,
                        .workspace = inner->offer.workspace ? workspace : NULL,
                        .stream = whole->stream};
    return wm_idle_run(inner->solver, &run);
}
