/* SPDX-License-Identifier: Apache-2.0 */
/* The demonstration's parts: a case is one problem with its operands, carried out, checked and timed. */
#ifndef WM_TOOL_DEMO_H
#define WM_TOOL_DEMO_H

#include <stdbool.h>

#include "lib/problem.h"
#include "lib/solver.h"

#include <warpmath/warpmath.h>

typedef struct wm_demo_case {
    wmContext *context;
    wm_problem problem;
    wmPlan *plan;
    wm_operand operand[WM_MAX_OPERANDS];
    int count;
    size_t bytes[WM_MAX_OPERANDS];
    void *host[WM_MAX_OPERANDS];  /* the arrays as the program owns them */
    void *there[WM_MAX_OPERANDS]; /* the same at the place; equal on the CPU */
    wm_args host_args, args;      /* arguments on these */
} wm_demo_case;

/* What came of a case. */
typedef struct wm_demo_result {
    double seconds;
    const char *reference;    /* the CPU solver compared with; NULL: none here */
    double reference_seconds; /* 0: not timed */
    double error;             /* largest error as a fraction of its bound; right is <= 1 */
    bool right;
    char why[200]; /* of a wrong result */
} wm_demo_result;

/* Parses the problem, plans it, and fills the inputs with random numbers in [-1, 1). Drop a case whatever came. */
int wm_demo_make(wm_demo_case *c, wmContext *context, const char *problem, wmEffort effort);
void wm_demo_drop(wm_demo_case *c);

/* Executes once and brings the output to the host. */
int wm_demo_execute(wm_demo_case *c);

/* The solver of that name; NULL: this build has none. */
const wm_solver *wm_demo_solver(const char *name);

/* The output's index among the operands. */
int wm_demo_output(const wm_demo_case *c);

/*
 * Runs the CPU reference (OpenBLAS; FFTW, else our own transform; the plain generator on one thread) on the host
 * operands, its result to `out`, which has the output's size, and times it. No reference is no failure.
 */
int wm_demo_reference(const wm_demo_case *c, wmContext *cpu, void *out, wm_demo_result *result);

/*
 * Checks the executed case against an oracle. `reference` is the CPU reference's output: random numbers must equal it
 * bit by bit. Products are compared with sums in long double; transforms with the definition in long double, and
 * transformed back; random numbers also slice by slice.
 */
int wm_demo_check(wm_demo_case *c, const void *reference, wm_demo_result *result);

#endif
