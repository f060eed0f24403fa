/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A laboratory for the engine: solvers that multiply small f32 matrices, take the time and make the mistakes they are
 * told to, on the CPU place with a made-up clock, or on the fake device.
 */
#ifndef WM_TESTS_ENGINE_LAB_H
#define WM_TESTS_ENGINE_LAB_H

#include "lib/context_internal.h"
#include "lib/measure.h"
#include "lib/plan_internal.h"
#include "tests/fake_gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef enum lab_defect {
    LAB_FINE,
    LAB_WRONG_VALUE,   /* one element is off by a thousandth */
    LAB_WRONG_TAIL,    /* the last element */
    LAB_MISSING_TAIL,  /* the last element is not written */
    LAB_PAST_END,      /* writes an element behind d */
    LAB_BEFORE_START,  /* writes an element before d */
    LAB_WRITES_INPUT,  /* changes the last element of a */
    LAB_READS_PAST,    /* takes an element behind b into the sum */
    LAB_STALE,         /* adds to what d held */
    LAB_WORKSPACE,     /* writes behind its workspace */
    LAB_WORKSPACE_TOO, /* writes before its workspace */
    LAB_DEFECTS,
    LAB_MAKE_FAILS = LAB_DEFECTS,
    LAB_MAKE_UNSUPPORTED,
    LAB_RUN_FAILS
} lab_defect;

/** One variant of a solver. */
typedef struct lab_config {
    double estimate, seconds; /* what it says, and what it takes */
    double noise;             /* relative, one-sided, with rare outliers of three times the time */
    double cold;              /* seconds more for the first run of a state */
    double make;              /* seconds that making one takes */
    lab_defect defect;
    size_t workspace;
    int serial; /* not concurrent */
    int not_capturable;
    atomic_int makes, drops, runs;
    atomic_int inside, most_inside; /* executions at once */
} lab_config;

enum { LAB_JUDGE = 0, LAB_VENDOR = 1, LAB_OURS = 2, LAB_CONFIGS = 34 };

typedef struct lab {
    double now;
    uint64_t random;
    lab_config config[LAB_CONFIGS]; /* judge, vendor, then the variants of ours */
    int ours;                       /* variants that ours offers */
    int no_judge, no_vendor;        /* they refuse */
    double (*weather)(double now);  /* what every time is multiplied by at that moment; NULL: 1 */
    wm_fake *fake;
    wmContext *context;
} lab;

extern lab lab_now;

/** The laboratory's five rows: judge, vendor and ours for one place. */
const wm_solver *const *lab_solvers(wmPlace place, int *count);

/** A fresh laboratory: all fine, a millisecond each, one variant of ours. The context on the place; options may be
 * NULL. */
void lab_open(wmPlace place, const wmContextOptions *options);
/** Ends the context and checks that every state was dropped and nothing is left on the device. */
void lab_close(void);

wm_clock lab_clock(void);
double lab_unit(void); /* [0, 1) */

/** The problem of the laboratory, 17 × 9 × 5, or another; and a plan for it that must succeed. */
wm_problem lab_problem(const char *text);
wmPlan *lab_plan(const char *text, const wmPlanOptions *options);

/** Runs the plan on fresh random operands at the place, with the caller's workspace or none, and checks the product. */
wmStatus lab_execute(const wmPlan *plan, void *workspace, size_t bytes, wmStream stream);

/** The plan's explanation or the context's description; free it. */
char *lab_explain(const wmPlan *plan, wmTextFormat format);

/** Fails the test unless the text is one JSON value. */
void lab_check_json(const char *text);

/** Fails the test unless wmLastError() holds the words. */
void lab_said(const char *words);

#endif
