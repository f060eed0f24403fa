/* SPDX-License-Identifier: Apache-2.0 */
/* Products that multiply nothing. See idle.h. */
#include "idle.h"

#include "context_internal.h"
#include "matmul_view.h"

#include <string.h>

/* The kernel of all problems but the newest features, which reads A and B only where there is a k. */
static const wm_solver *plain_of(wmContext *context, const wm_problem *problem) {
    const wm_solver *plain = NULL;
    wm_offer offer = {0};
    wm_why why;
    if (problem->op != WM_MATMUL || context->place != WM_PLACE_GPU) return NULL;
    for (int i = 0; i < context->solver_count && !plain; i++)
        if (strcmp(context->solvers[i]->name, "matmul_naive") == 0) plain = context->solvers[i];
    if (!plain || wm_problem_features(problem) & ~plain->features) return NULL;
    return plain->offer(context, problem, &offer, 1, &why) ? plain : NULL;
}

static int is_idle(const wm_run *run) {
    if (run->problem->op != WM_MATMUL || !run->context->gpu) return 0;
    return wm_scalar_is(&run->args->matmul.alpha, 0);
}

wmStatus wm_idle_make(wmContext *context, const wm_problem *problem) {
    const wm_solver *plain = plain_of(context, problem);
    void *none = NULL;
    return plain ? plain->make(context, problem, NULL, &none) : WM_OK;
}

/* Where the plain kernel does not know the problem, its solver looks at A and B for tensor maps alone, for which any
 * address that is a multiple of 16 will do, or hands them on to a part, whose run comes here again. */
wmStatus wm_idle_run(const wm_solver *solver, const wm_run *run) {
    if (!is_idle(run)) return solver->run(run);
    const wm_solver *plain = plain_of(run->context, run->problem);
    wm_args args = *run->args;
    wm_problem problem = *run->problem;
    wm_run again = *run;
    const uintptr_t somewhere = 4096;
    if (!args.matmul.a) args.matmul.a = (const void *)somewhere;
    if (!args.matmul.b) args.matmul.b = (const void *)somewhere;
    again.args = &args;
    if (!plain) return solver->run(&again);
    problem.u.matmul.k = 0;
    again.problem = &problem;
    again.state = NULL;
    return plain->run(&again);
}
