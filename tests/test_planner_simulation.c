/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner against made-up machines: many tunings with solvers whose true times are known, under noise, heat and
 * bursts of another program's work, with wrong candidates among them that are a thousand times as fast. What is
 * claimed: a choice within `regret` of the best in at least `confidence` of the tunings, the budget kept within a
 * tenth, in milliseconds and in bytes, and never a wrong one.
 */
#include "engine_lab.h"

#include <math.h>
#include <stdio.h>

enum { TRIALS = 200, WRONG = 3 };

typedef struct scenario {
    const char *name;
    int variants; /* of ours, right ones; their times are 1 ms, 1 + step, 1 + 2 step, ... */
    double step, noise;
    double (*weather)(double now);
    double make; /* seconds to make each */
    double budget_ms;
    double regret;     /* the choice is at most so much slower than the best ... */
    double confidence; /* ... in this share of the tunings */
} scenario;

/* The chip heats up, and is a third slower in the end. */
static double heat(double now) {
    return 1.0 + 0.33 * (1.0 - exp(-now / 0.3));
}

/* Another program takes half of the machine for 6 of every 20 ms. */
static double bursts(double now) {
    return fmod(now, 0.020) < 0.006 ? 2.0 : 1.0;
}

static const scenario scenarios[] = {
    {"quiet",         8,  0.05, 0.002, NULL,   0,    1000, 0.001, 1.00},
    {"noisy",         12, 0.04, 0.03,  NULL,   0,    1000, 0.041, 0.97},
    {"many and near", 29, 0.01, 0.03,  NULL,   0,    2000, 0.041, 0.95},
    {"very noisy",    12, 0.10, 0.20,  NULL,   0,    1000, 0.101, 0.90},
    {"heat",          12, 0.05, 0.02,  heat,   0,    1000, 0.051, 0.95},
    {"bursts",        12, 0.05, 0.02,  bursts, 0,    1000, 0.051, 0.95},
    {"slow to make",  8,  0.05, 0.02,  NULL,   0.02, 1000, 0.051, 0.95},
    {"short budget",  12, 0.05, 0.02,  NULL,   0,    150,  0.101, 0.90},
};

/* Wrong ones first, all kinds of defects in turn; then the right ones, in an order that changes with the trial. */
static void set_up(const scenario *s, int trial) {
    lab_open(WM_PLACE_CPU, NULL);
    lab_now.random = (uint64_t)trial * 7919 + 5;
    lab_now.weather = s->weather;
    lab_now.ours = WRONG + s->variants;
    lab_now.config[LAB_VENDOR].seconds = 1.5e-3;
    lab_now.config[LAB_VENDOR].noise = s->noise;
    for (int i = 0; i < WRONG; i++) {
        lab_config *c = &lab_now.config[LAB_OURS + i];
        c->defect = (lab_defect)(1 + (trial * WRONG + i) % (LAB_DEFECTS - 1));
        c->estimate = c->seconds = 1e-6;
        c->workspace = c->defect == LAB_WORKSPACE || c->defect == LAB_WORKSPACE_TOO ? 256 : 0;
    }
    for (int i = 0; i < s->variants; i++) {
        lab_config *c = &lab_now.config[LAB_OURS + WRONG + i];
        int place = s->variants % 7 ? (i * 7 + trial) % s->variants : (i * 5 + trial) % s->variants;
        c->seconds = 1e-3 * (1.0 + s->step * place);
        c->estimate = 1e-3 * (0.5 + lab_unit()); /* says nothing */
        c->noise = s->noise;
        c->make = s->make;
    }
}

static void run(const scenario *s) {
    int good = 0;
    double longest = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        set_up(s, trial);
        wmPlanOptions options = wmPlanOptionsDefault();
        options.effort = WM_MEASURE;
        options.budget_ms = s->budget_ms;
        double before = lab_now.now;
        wmPlan *plan = lab_plan(NULL, &options);
        double used = 1e3 * (lab_now.now - before) / s->budget_ms;
        if (used > longest) longest = used;
        if (!(used <= 1.1)) fail_msg("%s, trial %d: %.2f of the budget", s->name, trial, used);
        assert_int_equal(plan->found.by, WM_BY_MEASURE);
        int ours = strcmp(wmPlanSolver(plan), "lab_ours") == 0;
        if (ours && plan->offer.knob[0] < WRONG) {
            fail_msg("%s, trial %d: defect %d won", s->name, trial,
                     (int)lab_now.config[LAB_OURS + plan->offer.knob[0]].defect);
        }
        good += ours && lab_now.config[LAB_OURS + plan->offer.knob[0]].seconds <= 1e-3 * (1.0 + s->regret);
        wmPlanDestroy(plan);
        lab_close();
    }
    double share = (double)good / TRIALS;
    printf("%-14s within %4.1f %% of the best: %.3f of %d tunings (at least %.2f), at most %.2f of the budget\n",
           s->name, 100 * s->regret, share, TRIALS, s->confidence, longest);
    assert_true(share >= s->confidence);
}

static void the_best_is_chosen(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) run(&scenarios[i]);
}

/* Ours against a vendor of the same speed, and of a speed that noise cannot explain. */
static void the_vendor_needs_to_be_beaten(void **unused) {
    (void)unused;
    static const struct {
        double ours, noise, vendors_noise, least, most; /* of the tunings, the share that ours may win */
    } cases[] = {
        {1.00, 0.02,  0.02, 0.00, 0.05},
        {0.99, 0.02,  0.02, 0.00, 0.15}, /* a hundredth faster in truth */
        {0.90, 0.02,  0.02, 0.95, 1.00},
        {1.00, 0.20,  0.20, 0.00, 0.05},
        {0.50, 0.20,  0.20, 0.90, 1.00},
        {1.70, 0.002, 1.40, 0.90, 1.00}, /* such noise is one-sided: the vendor's median is 2.4, its spread 0.24 */
        {2.42, 0.002, 1.40, 0.00, 0.05},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int won = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            lab_open(WM_PLACE_CPU, NULL);
            lab_now.random = (uint64_t)trial * 104729 + 1;
            lab_now.config[LAB_OURS].seconds = 1e-3 * cases[i].ours;
            lab_now.config[LAB_OURS].noise = cases[i].noise;
            lab_now.config[LAB_VENDOR].noise = cases[i].vendors_noise;
            wmPlanOptions options = wmPlanOptionsDefault();
            options.effort = WM_MEASURE;
            wmPlan *plan = lab_plan(NULL, &options);
            won += strcmp(wmPlanSolver(plan), "lab_ours") == 0;
            wmPlanDestroy(plan);
            lab_close();
        }
        double share = (double)won / TRIALS;
        printf("ours at %.2f of the vendor's time, noise %.3f, vendor's %.2f: it wins %.3f\n", cases[i].ours,
               cases[i].noise, cases[i].vendors_noise, share);
        assert_true(share >= cases[i].least && share <= cases[i].most);
    }
}

/* ---- Bytes ---- */

static size_t held, most_held;

static void *counted_alloc(void *user, size_t bytes, size_t align, int device, wmStream stream) {
    (void)user, (void)device, (void)stream;
    held += bytes;
    if (held > most_held) most_held = held;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *pointer, size_t bytes, wmStream stream) {
    (void)user, (void)stream;
    held -= bytes;
    free(pointer);
}

static void bytes_are_kept(void **unused) {
    (void)unused;
    for (int64_t budget = 128 << 10; budget <= 128 << 20; budget *= 4) {
        wmContextOptions context_options = wmContextOptionsDefault();
        context_options.allocator = (wmAllocator){counted_alloc, counted_free, NULL};
        lab_open(WM_PLACE_CPU, &context_options);
        lab_now.ours = 3;
        lab_now.config[LAB_OURS].seconds = 0.5e-3;
        lab_now.config[LAB_OURS].workspace = 1 << 20; /* the fastest, but it does not fit the first budgets */
        lab_now.config[LAB_OURS + 1].seconds = 0.7e-3;
        lab_now.config[LAB_OURS + 1].workspace = 4096;
        held = most_held = 0;
        wmPlanOptions options = wmPlanOptionsDefault();
        options.effort = WM_MEASURE;
        options.budget_bytes = budget;
        wmPlan *plan = lab_plan(NULL, &options);
        assert_int_equal(plan->found.by, WM_BY_MEASURE);
        assert_int_equal(plan->offer.knob[0], budget >= 2 << 20 ? 0 : 1);
        if (!((double)most_held <= 1.1 * (double)budget)) fail_msg("%zu of %lld bytes", most_held, (long long)budget);
        wmPlanDestroy(plan);
        lab_close();
        assert_int_equal(held, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_chosen),
        cmocka_unit_test(the_vendor_needs_to_be_beaten),
        cmocka_unit_test(bytes_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
