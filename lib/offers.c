/* SPDX-License-Identifier: Apache-2.0 */
/* Asking every solver of the registry: candidates, refusals, and the sentence when nobody offers. */
#include "context_internal.h"
#include "fields.h"
#include "planner.h"
#include "text.h"
#include "verified.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WORKSPACE ((int64_t)1 << 30)

static wmStatus add_refusal(wm_found *found, const wm_solver *solver, const wm_why *why) {
    if (found->refusals == found->refusal_capacity) {
        int capacity = found->refusal_capacity ? 2 * found->refusal_capacity : 8;
        wm_refusal *grown = (wm_refusal *)realloc(found->refusal, (size_t)capacity * sizeof *grown);
        if (!grown) return wm_fail(WM_ERR_MEMORY, "out of host memory");
        found->refusal = grown;
        found->refusal_capacity = capacity;
    }
    found->refusal[found->refusals++] = (wm_refusal){solver, *why};
    return WM_OK;
}

static wmStatus add_candidate(wm_found *found, const wm_solver *solver, const wm_offer *offer) {
    if (found->count == found->capacity) {
        int capacity = found->capacity ? 2 * found->capacity : 8;
        wm_candidate *grown = (wm_candidate *)realloc(found->candidate, (size_t)capacity * sizeof *grown);
        if (!grown) return wm_fail(WM_ERR_MEMORY, "out of host memory");
        found->candidate = grown;
        found->capacity = capacity;
    }
    found->candidate[found->count++] = (wm_candidate){.solver = solver, .offer = *offer};
    return WM_OK;
}

/* "a bias and an activation" */
static void name_features(wm_op op, uint64_t bits, char *out, size_t room) {
    out[0] = '\0';
    for (uint64_t left = bits; left; left &= left - 1) {
        const char *between = !out[0] ? "" : left & (left - 1) ? ", " : " and ";
        wm_append(out, room, "%s%s", between, wm_feature_name(op, left & (~left + 1)));
    }
}

/* A vendor's variants cost calls of its library each. */
static int most_of(const wm_solver *solver, int few) {
    return few && solver->origin == WM_VENDOR ? WM_FEW_OFFERS : WM_MAX_OFFERS;
}

/* `out` is blank. */
static int offers_of(wmContext *context, const wm_solver *solver, const wm_problem *problem, int few, wm_offer *out,
                     wm_why *why) {
    uint64_t missing = wm_problem_features(problem) & ~solver->features;
    why->text[0] = '\0';
    if (missing) {
        char names[sizeof why->text];
        name_features(problem->op, missing, names, sizeof names - 16);
        return wm_refuse(why, "it does not do %.140s", names);
    }
    if (!context->unverified && !wm_solver_verified(solver)) {
        return wm_refuse(why, "not verified on a GPU as it stands (WARPMATH_UNVERIFIED=1 lets it offer)");
    }
    int most = most_of(solver, few), count = solver->offer(context, problem, out, most, why);
    if (count <= 0 && !why->text[0]) snprintf(why->text, sizeof why->text, "it gives no reason");
    return count < most ? count : most;
}

/*
 * Solvers whose launches are as many blocks as the multiprocessors that wm_context_device counts hold at once, or,
 * where a knob is named, those of its variants that have it set. cuBLASLt is told the number; its kernels heed it where
 * they can.
 */
static const struct {
    const char *name, *knob;
} leaves_free[] = {
    {"cublaslt",       NULL     },
    {"fft_block",      "persist"},
    {"fft_tile",       NULL     },
    {"matmul_grouped", NULL     },
    {"lab_persistent", NULL     }, /* no kernel's: it is the planner's test's */
};

static int is_set(const wm_solver *solver, const wm_offer *offer, const char *knob) {
    for (int i = 0; i < WM_MAX_KNOBS && solver->knobs[i]; i++)
        if (strcmp(solver->knobs[i], knob) == 0) return offer->knob[i] != 0;
    return 0;
}

/* Whether such an offer leaves multiprocessors free, if that is asked for. */
static int keeps_free(const wmContext *context, const wm_solver *solver, const wm_offer *offer) {
    if (!wm_context_left_free(context)) return 1;
    for (size_t i = 0; i < sizeof leaves_free / sizeof *leaves_free; i++)
        if (strcmp(leaves_free[i].name, solver->name) == 0)
            return !leaves_free[i].knob || is_set(solver, offer, leaves_free[i].knob);
    return 0;
}

/* What a search wants beside the problem. */
typedef struct wish {
    size_t limit; /* of workspace */
    int few;      /* of a vendor's variants */
} wish;

static wmStatus ask(wmContext *context, const wm_solver *solver, const wm_problem *problem, wish w, wm_found *out) {
    wm_offer offers[WM_MAX_OFFERS] = {{0}};
    wm_why why;
    int count = offers_of(context, solver, problem, w.few, offers, &why);
    int taken = 0, kept = 0;
    size_t least = SIZE_MAX;
    for (int i = 0; i < count; i++) {
        if (!keeps_free(context, solver, &offers[i])) continue;
        kept++;
        if (offers[i].workspace < least) least = offers[i].workspace;
        if (offers[i].workspace > w.limit && offers[i].workspace != WM_WORKSPACE_LATER) continue;
        WM_TRY(add_candidate(out, solver, &offers[i]));
        taken++;
    }
    if (taken) return WM_OK;
    if (count > 0 && !kept) {
        if (!w.few && (solver->judge || solver->origin == WM_VENDOR) && offers[0].workspace <= w.limit) {
            WM_TRY(add_candidate(out, solver, &offers[0]));
            out->candidate[out->count - 1].only_judges = 1;
        }
        wm_refuse(&why, "it fills the device: %d multiprocessors cannot be left free", wm_context_left_free(context));
    }
    if (kept) wm_refuse(&why, "it needs %zu bytes of workspace, more than the limit of %zu", least, w.limit);
    wm_log(context, WM_LOG_DEBUG, "%s does not offer: %s", solver->name, why.text);
    return add_refusal(out, solver, &why);
}

/*
 * Solvers whose sums do not know how many rows there are, in the order of preference. Only the first that takes a
 * problem is used, whatever m is: which one that is, is decided by types, n, k and layouts alone. gelu of matmul_wgmma
 * is left out, since it shares a reciprocal between neighbours, which may be two rows.
 */
static const struct {
    const char *name;
    wmActivation most;
} invariant[] = {
    {"matmul_wgmma",     WM_ACT_RELU    },
    {"matmul_tiled",     WM_ACT_GELU_ERF},
    {"matmul_naive",     WM_ACT_GELU_ERF},
    {"matmul_naive_cpu", WM_ACT_GELU_ERF},
};

static const wm_solver *solver_named(const wmContext *context, const char *name) {
    for (int i = 0; i < context->solver_count; i++)
        if (strcmp(context->solvers[i]->name, name) == 0 && context->solvers[i]->place == context->place)
            return context->solvers[i];
    return NULL;
}

static wmStatus search_invariant(wmContext *context, const wm_problem *problem, wish w, wm_found *out) {
    for (size_t i = 0; i < sizeof invariant / sizeof *invariant && out->count == 0; i++) {
        const wm_solver *solver = solver_named(context, invariant[i].name);
        if (solver && problem->u.matmul.activation <= invariant[i].most) WM_TRY(ask(context, solver, problem, w, out));
    }
    return WM_OK;
}

static size_t limit_of(int64_t option) {
    return (size_t)(option == 0 ? DEFAULT_WORKSPACE : option < 0 ? 0 : option);
}

static wmStatus search(wmContext *context, const wm_problem *problem, int64_t workspace_limit, int few, wm_found *out) {
    wish w = {limit_of(workspace_limit), few};
    memset(out, 0, sizeof *out);
    out->chosen = -1;
    if (problem->op == WM_MATMUL && problem->u.matmul.determinism == WM_BATCH_INVARIANT)
        return search_invariant(context, problem, w, out);
    for (int i = 0; i < context->solver_count; i++) {
        const wm_solver *solver = context->solvers[i];
        if (solver->op != problem->op || solver->place != context->place) continue;
        WM_TRY(ask(context, solver, problem, w, out));
    }
    return WM_OK;
}

wmStatus wm_search_offers(wmContext *context, const wm_problem *problem, int64_t workspace_limit, wm_found *out) {
    return search(context, problem, workspace_limit, 0, out);
}

wmStatus wm_search_few(wmContext *context, const wm_problem *problem, int64_t workspace_limit, wm_found *out) {
    return search(context, problem, workspace_limit, 1, out);
}

/* ---- Workspaces that were left for later ---- */

static void ask_again(wmContext *context, const wm_problem *problem, size_t limit, wm_candidate *c) {
    wm_offer offers[WM_MAX_OFFERS] = {{0}};
    wm_why why;
    int count = offers_of(context, c->solver, problem, 0, offers, &why);
    for (int i = 0; i < count && c->offer.workspace == WM_WORKSPACE_LATER; i++)
        if (memcmp(offers[i].knob, c->offer.knob, sizeof c->offer.knob) == 0) c->offer = offers[i];
    if (c->offer.workspace <= limit) return;
    c->verdict = WM_FAILED;
    snprintf(c->why, sizeof c->why, "it needs more workspace than the limit of %zu bytes", limit);
}

int wm_settle(wmContext *context, const wm_problem *problem, int64_t workspace_limit, wm_found *found) {
    for (int best; (best = wm_best_estimate(found)) >= 0;) {
        wm_candidate *c = &found->candidate[best];
        if (c->offer.workspace == WM_WORKSPACE_LATER) ask_again(context, problem, limit_of(workspace_limit), c);
        if (c->verdict != WM_FAILED) return best;
    }
    return -1;
}

void wm_found_free(wm_found *found) {
    free(found->candidate);
    free(found->refusal);
    memset(found, 0, sizeof *found);
    found->chosen = -1;
}

/* ---- Nobody offers ---- */

static int bits_of(uint64_t mask) {
    int bits = 0;
    for (; mask; mask &= mask - 1) bits++;
    return bits;
}

/* The refusal that lacks the fewest features; those that lack none refuse for reasons of their own, told separately. */
static const wm_solver *nearest(const wm_found *found, uint64_t need) {
    const wm_solver *best = NULL;
    for (int i = 0; i < found->refusals; i++) {
        const wm_solver *solver = found->refusal[i].solver;
        int bits = bits_of(need & ~solver->features);
        if (bits && (!best || bits < bits_of(need & ~best->features))) best = solver;
    }
    return best;
}

wmStatus wm_nobody_offers(const wmContext *context, const wm_problem *problem, const wm_found *found) {
    char sentence[512], names[200], text[WM_PROBLEM_TEXT];
    uint64_t need = wm_problem_features(problem);
    const wm_solver *near = nearest(found, need);
    wm_problem_print(problem, text, sizeof text);
    snprintf(sentence, sizeof sentence, "no solver on the %s does \"%.160s\"",
             context->place == WM_PLACE_GPU ? "GPU" : "CPU", text);
    if (near) {
        name_features(problem->op, need & ~near->features, names, sizeof names);
        wm_append(sentence, sizeof sentence, "; nearest: without %s, %s may do it", names, near->name);
    }
    for (int i = 0; i < found->refusals; i++) {
        if (need & ~found->refusal[i].solver->features) continue;
        wm_append(sentence, sizeof sentence, "; %s: %s", found->refusal[i].solver->name, found->refusal[i].why.text);
    }
    if (!found->refusals) {
        wm_append(sentence, sizeof sentence, ": none is built in for %s there", wm_op_name(problem->op));
    }
    return wm_fail(WM_ERR_UNSUPPORTED, "%s", sentence);
}
