/* SPDX-License-Identifier: Apache-2.0 */
/* wmPlanExplain: the choice, the losers, the roofline, and what to try. */
#include "advice.h"
#include "context_internal.h"
#include "few.h"
#include "gpu_guard.h"
#include "json.h"
#include "shadow.h"
#include <math.h>
#include <string.h>

/* What both forms say. */
typedef struct report {
    const wmPlan *plan;
    const wm_candidate *chosen; /* NULL: an empty problem */
    wm_cost cost;
    double seconds; /* measured where it was, else estimated; 0: unknown */
    double floor;   /* by the roofline */
    int compute_bound;
    wm_advice advice[WM_MOST_ADVICE];
    int advices;
} report;

static const char *const by_names[] = {
    [WM_BY_ESTIMATE] = "estimate", [WM_BY_WISDOM] = "wisdom", [WM_BY_MEASURE] = "measurement", [WM_BY_EMPTY] = "empty"};

static const char *const determinism_names[] = {[WM_RUN_TO_RUN] = "run_to_run",
                                                [WM_NOT_GUARANTEED] = "not_guaranteed",
                                                [WM_GPU_TO_GPU] = "gpu_to_gpu",
                                                [WM_BATCH_INVARIANT] = "batch_invariant"};

static double peak_of(const wmPlan *plan) {
    const wm_problem *p = &plan->problem;
    if (p->op == WM_MATMUL) return wm_context_peak_flops(plan->context, p->u.matmul.a.type, p->u.matmul.compute);
    if (p->op == WM_FFT) return wm_context_peak_flops(plan->context, p->u.fft.type, WM_COMPUTE_DEFAULT);
    return INFINITY; /* random numbers are counted in bytes alone */
}

static double time_of(const wm_candidate *c) {
    return c->seconds > 0 ? c->seconds : c->offer.seconds;
}

static void collect(report *r, const wmPlan *plan) {
    memset(r, 0, sizeof *r);
    r->plan = plan;
    r->cost = wm_problem_cost(&plan->problem);
    if (plan->found.chosen >= 0) {
        r->chosen = &plan->found.candidate[plan->found.chosen];
        r->seconds = time_of(r->chosen);
    }
    wm_narrow before = wm_context_narrow(plan->context, plan->left_free);
    double bandwidth = wm_context_bandwidth(plan->context), peak = peak_of(plan);
    double moving = bandwidth > 0 ? r->cost.bytes / bandwidth : 0, computing = peak > 0 ? r->cost.flops / peak : 0;
    r->compute_bound = computing > moving;
    r->floor = r->compute_bound ? computing : moving;
    r->advices = wm_advise(plan, r->advice);
    (void)wm_context_narrow(before.context, before.left_free);
}

/* ---- Text ---- */

static void add_time(wm_text *out, double seconds) {
    if (seconds < 1e-6) {
        wm_text_add(out, "%.3g ns", 1e9 * seconds);
    } else if (seconds < 1e-3) {
        wm_text_add(out, "%.3g us", 1e6 * seconds);
    } else if (seconds < 1) {
        wm_text_add(out, "%.3g ms", 1e3 * seconds);
    } else {
        wm_text_add(out, "%.3g s", seconds);
    }
}

/* "measured 0.19 ms +- 1.2 % of 11 samples", or the estimate. */
static void add_whole_time(wm_text *out, const wm_candidate *c) {
    wm_text_add(out, c->seconds > 0 ? "measured " : "est. ");
    add_time(out, time_of(c));
    if (c->samples) wm_text_add(out, " +- %.1f %% of %d samples", 100 * c->spread, c->samples);
}

static void add_candidate(wm_text *out, const wm_candidate *c) {
    char knobs[WM_WISDOM_KNOBS];
    wm_knobs_print(c->solver, &c->offer, knobs, sizeof knobs);
    wm_text_add(out, "    %-20s %s%s", c->solver->name, knobs, knobs[0] ? "  " : "");
    if (c->verdict == WM_WRONG || c->verdict == WM_FAILED) {
        wm_text_add(out, "%s: %s\n", wm_verdict_name(c->verdict), c->why);
        return;
    }
    add_whole_time(out, c);
    wm_text_add(out, "%s\n", c->verdict == WM_SLOW ? ", dropped early" : "");
}

static void add_chosen(wm_text *out, const report *r) {
    const wmPlan *plan = r->plan;
    wm_text_add(out, "  solver      %s (version %d), chosen by %s\n", plan->solver->name, plan->solver->version,
                by_names[plan->found.by]);
    if (!r->chosen) {
        wm_text_add(out, "  the problem is empty: an execution succeeds and touches nothing\n");
        return;
    }
    char knobs[WM_WISDOM_KNOBS];
    wm_knobs_print(plan->solver, &plan->offer, knobs, sizeof knobs);
    if (knobs[0]) wm_text_add(out, "  knobs       %s\n", knobs);
    if (plan->found.note[0]) wm_text_add(out, "  note        %s\n", plan->found.note);
    wm_text_add(out, "  time        ");
    add_whole_time(out, r->chosen);
    wm_text_add(out, "; roofline ");
    add_time(out, r->floor);
    wm_text_add(out, " (%s): %.0f %% of it\n", r->compute_bound ? "arithmetic" : "memory", 100 * r->floor / r->seconds);
    wm_text_add(out, "  work        %.4g flop, %.4g bytes: %.4g GFLOP/s, %.4g GB/s\n", r->cost.flops, r->cost.bytes,
                1e-9 * r->cost.flops / r->seconds, 1e-9 * r->cost.bytes / r->seconds);
    wm_text_add(out, "  workspace   %zu bytes\n", plan->offer.workspace);
    if (plan->left_free) wm_text_add(out, "  left free   the room of %d multiprocessors\n", plan->left_free);
    wm_text_add(out, "  determinism %s; %s; %s\n", determinism_names[wm_problem_determinism(&plan->problem)],
                wmPlanCapturable(plan) ? "capturable" : "not capturable",
                plan->offer.concurrent ? "runs on several threads at once" : "one thread at a time");
}

static void add_shadow(wm_text *out, const wmPlan *plan) {
    const char *name = NULL;
    long long compared = 0, differed = 0;
    if (!wm_shadow_report(plan, &name, &compared, &differed)) return;
    wm_text_add(out, "  shadow      %s: %lld executions compared, %lld differed\n", name, compared, differed);
}

static void explain_text(wm_text *out, const report *r) {
    const wm_found *found = &r->plan->found;
    wm_text_add(out, "%s\n", r->plan->text);
    add_chosen(out, r);
    add_shadow(out, r->plan);
    if (found->count > 1) wm_text_add(out, "  losers:\n");
    for (int i = 0; i < found->count; i++) {
        if (i != found->chosen && !found->candidate[i].only_judges) add_candidate(out, &found->candidate[i]);
    }
    if (found->refusals) wm_text_add(out, "  not offering:\n");
    for (int i = 0; i < found->refusals; i++) {
        wm_text_add(out, "    %-20s %s\n", found->refusal[i].solver->name, found->refusal[i].why.text);
    }
    for (int i = 0; i < r->advices; i++) {
        wm_text_add(out, "  try: %s", r->advice[i].text);
        if (r->advice[i].to > 0) {
            wm_text_add(out, ": est. ");
            add_time(out, r->advice[i].from);
            wm_text_add(out, " -> ");
            add_time(out, r->advice[i].to);
        }
        wm_text_add(out, "\n");
    }
}

/* ---- JSON ---- */

static void json_knobs(wm_json *json, const wm_solver *solver, const wm_offer *offer) {
    wm_json_open(json, "knobs", '{');
    for (int i = 0; i < WM_MAX_KNOBS && solver->knobs[i]; i++) {
        wm_json_integer(json, solver->knobs[i], offer->knob[i]);
    }
    wm_json_close(json, '}');
}

static void json_candidate(wm_json *json, const wm_candidate *c, int chosen) {
    wm_json_open(json, NULL, '{');
    wm_json_string(json, "solver", c->solver->name);
    json_knobs(json, c->solver, &c->offer);
    wm_json_bool(json, "chosen", chosen);
    wm_json_number(json, "estimated_seconds", c->offer.seconds);
    if (c->seconds > 0) wm_json_number(json, "measured_seconds", c->seconds);
    if (c->samples) wm_json_number(json, "spread", c->spread);
    wm_json_integer(json, "samples", c->samples);
    wm_json_string(json, "verdict", wm_verdict_name(c->verdict));
    if (c->why[0]) wm_json_string(json, "why", c->why);
    if (c->offer.workspace != WM_WORKSPACE_LATER) wm_json_integer(json, "workspace", (long long)c->offer.workspace);
    wm_json_close(json, '}');
}

static void json_lists(wm_json *json, const report *r) {
    const wm_found *found = &r->plan->found;
    wm_json_open(json, "candidates", '[');
    for (int i = 0; i < found->count; i++)
        if (!found->candidate[i].only_judges) json_candidate(json, &found->candidate[i], i == found->chosen);
    wm_json_close(json, ']');
    wm_json_open(json, "not_offering", '[');
    for (int i = 0; i < found->refusals; i++) {
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "solver", found->refusal[i].solver->name);
        wm_json_string(json, "why", found->refusal[i].why.text);
        wm_json_close(json, '}');
    }
    wm_json_close(json, ']');
    wm_json_open(json, "try", '[');
    for (int i = 0; i < r->advices; i++) {
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "change", r->advice[i].text);
        if (r->advice[i].to > 0) {
            wm_json_number(json, "estimated_seconds_now", r->advice[i].from);
            wm_json_number(json, "estimated_seconds_then", r->advice[i].to);
        }
        wm_json_close(json, '}');
    }
    wm_json_close(json, ']');
}

static void explain_json(wm_text *out, const report *r) {
    const wmPlan *plan = r->plan;
    wm_json json = {.text = out};
    wm_json_open(&json, NULL, '{');
    wm_json_string(&json, "problem", plan->text);
    wm_json_string(&json, "place", plan->context->gpu ? "gpu" : "cpu");
    wm_json_string(&json, "device", plan->context->device.name);
    wm_json_string(&json, "solver", plan->solver->name);
    wm_json_integer(&json, "version", plan->solver->version);
    json_knobs(&json, plan->solver, &plan->offer);
    wm_json_string(&json, "chosen_by", by_names[plan->found.by]);
    wm_json_string(&json, "note", plan->found.note);
    wm_json_number(&json, "seconds", r->seconds);
    wm_json_bool(&json, "measured", r->chosen && r->chosen->seconds > 0);
    wm_json_number(&json, "flops", r->cost.flops);
    wm_json_number(&json, "bytes", r->cost.bytes);
    wm_json_number(&json, "roofline_seconds", r->floor);
    wm_json_number(&json, "roofline_fraction", r->seconds > 0 ? r->floor / r->seconds : 0);
    wm_json_string(&json, "bound", r->compute_bound ? "arithmetic" : "memory");
    wm_json_integer(&json, "workspace", (long long)plan->offer.workspace);
    wm_json_integer(&json, "left_free", plan->left_free);
    wm_json_string(&json, "determinism", determinism_names[wm_problem_determinism(&plan->problem)]);
    wm_json_bool(&json, "capturable", wmPlanCapturable(plan));
    wm_json_bool(&json, "concurrent", plan->offer.concurrent);
    json_lists(&json, r);
    wm_json_close(&json, '}');
}

wmStatus wmPlanExplain(const wmPlan *plan, wmTextFormat format, char *buffer, size_t capacity, size_t *needed) {
    if (!plan) return wm_fail(WM_ERR_ARGUMENT, "plan is NULL");
    if ((unsigned)format > WM_JSON) return wm_fail(WM_ERR_ARGUMENT, "format is %d", (int)format);
    wm_guard guard;
    WM_TRY(wm_enter(plan->context, &guard));
    report r;
    wm_text text = {0};
    collect(&r, plan);
    if (format == WM_JSON) {
        explain_json(&text, &r);
    } else {
        explain_text(&text, &r);
    }
    return wm_leave(&guard, wm_text_give(&text, buffer, capacity, needed));
}
