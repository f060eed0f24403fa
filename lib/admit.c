/* SPDX-License-Identifier: Apache-2.0 */
/* Proof before admission: a judge computes the truth, and every candidate must agree before it is timed. */
#include "context_internal.h"
#include "session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xff };

/* Share of the budget that a judge may be estimated at, and that judging may use in all. */
static const double judge_share = 0.25, admit_share = 0.6;

double wm_session_left(const wm_session *s) {
    return s->start + s->budget - s->clock.now(s->clock.self);
}

int wm_session_is_over(const wm_session *s, wmStatus status) {
    const wm_gpu *gpu = s->context->gpu;
    if (status == WM_OK) return 0;
    return gpu && wmLastCudaError() && gpu->error_is_sticky(gpu->self, wmLastCudaError());
}

/* ---- One execution ---- */

static wmStatus enqueue(const wm_session *s, const wm_contender *c, int copy) {
    wm_args args;
    wm_image_args(&s->image, copy, &args);
    const wm_run run = {.context = s->context,
                        .problem = s->problem,
                        .offer = &c->candidate->offer,
                        .state = c->state,
                        .args = &args,
                        .workspace = c->candidate->offer.workspace ? s->workspace + WM_BAND : NULL,
                        .stream = s->stream};
    return c->candidate->solver->run(&run);
}

wmStatus wm_session_enqueue(const wm_session *s, wm_contender *c) {
    WM_TRY(enqueue(s, c, c->turn));
    c->turn = (c->turn + 1) % s->image.copies;
    return WM_OK;
}

wmStatus wm_session_run(wm_session *s, wm_contender *c, int copy, double *seconds) {
    const wm_gpu *gpu = s->context->gpu;
    if (!gpu) {
        double before = s->clock.now(s->clock.self);
        wmStatus status = enqueue(s, c, copy);
        if (seconds) *seconds = s->clock.now(s->clock.self) - before;
        return status;
    }
    WM_TRY(wm_gpu_check(gpu, gpu->event_record(gpu->self, s->from, s->stream), "cudaEventRecord"));
    wmStatus status = enqueue(s, c, copy);
    if (status != WM_OK) {
        (void)gpu->stream_wait(gpu->self, s->stream);
        return status;
    }
    WM_TRY(wm_gpu_check(gpu, gpu->event_record(gpu->self, s->to, s->stream), "cudaEventRecord"));
    WM_TRY(wm_gpu_check(gpu, gpu->event_wait(gpu->self, s->to), "the candidate's execution"));
    if (!seconds) return WM_OK;
    return wm_gpu_check(gpu, gpu->event_seconds(gpu->self, s->from, s->to, seconds), "cudaEventElapsedTime");
}

/* ---- Verdicts ---- */

static void note_failure(wm_candidate *candidate, wm_verdict verdict, const char *why) {
    candidate->verdict = verdict;
    snprintf(candidate->why, sizeof candidate->why, "%.150s", why);
}

static wmStatus make(const wm_session *s, wm_contender *c) {
    const wm_solver *solver = c->candidate->solver;
    if (!solver->make) return WM_OK;
    c->made = 1; /* also where it fails: half-made states are dropped */
    double before = s->clock.now(s->clock.self);
    wmStatus status = solver->make(s->context, s->problem, &c->candidate->offer, &c->state);
    c->make_seconds = s->clock.now(s->clock.self) - before;
    return status;
}

/* The longest that making another variant of the solver took: compiling one tells what the next will cost. */
static double expected_make(const wm_session *s, const wm_contender *of) {
    double longest = 0.0;
    for (int i = 0; i < s->count; i++) {
        const wm_contender *c = &s->contender[i];
        if (c->candidate->solver == of->candidate->solver && c->make_seconds > longest) longest = c->make_seconds;
    }
    return longest;
}

/* The bytes on both sides of the workspace; those behind follow the candidate's own size. */
static wmStatus poison_workspace(const wm_session *s, const wm_contender *c) {
    if (!c->candidate->offer.workspace) return WM_OK;
    return wm_image_fill(&s->image, s->workspace, POISON, 2 * (size_t)WM_BAND + c->candidate->offer.workspace);
}

static wmStatus check_workspace(wm_session *s, const wm_contender *c, int *good) {
    size_t bytes = c->candidate->offer.workspace;
    *good = 1;
    if (!bytes) return WM_OK;
    WM_TRY(wm_image_move(&s->image, s->bands, s->workspace, WM_BAND));
    WM_TRY(wm_image_move(&s->image, s->bands + WM_BAND, s->workspace + WM_BAND + bytes, WM_BAND));
    for (size_t i = 0; i < sizeof s->bands; i++) *good = *good && s->bands[i] == POISON;
    return WM_OK;
}

/* Runs the contender on a pristine copy. A failure that is its own is noted, and *good is 0. */
static wmStatus try_once(wm_session *s, wm_contender *c, double *seconds, int *good) {
    *good = 0;
    wmStatus status = make(s, c);
    if (status == WM_OK) {
        WM_TRY(wm_image_reset(&s->image, 0));
        WM_TRY(poison_workspace(s, c));
        status = wm_session_run(s, c, 0, seconds);
    }
    if (status != WM_OK) {
        if (wm_session_is_over(s, status)) return status;
        note_failure(c->candidate, WM_FAILED, wmLastError());
        return WM_OK;
    }
    WM_TRY(check_workspace(s, c, good));
    if (!*good) note_failure(c->candidate, WM_WRONG, "it wrote outside its workspace");
    return WM_OK;
}

/* ---- The judge ---- */

static double estimate(const wm_contender *c) {
    return c->candidate->offer.seconds;
}

/* 3: made to judge, 2: someone else's library, 1: too slow for the budget but made to judge; 0: not to be trusted. */
static int rank(const wm_session *s, const wm_contender *c) {
    const wm_solver *solver = c->candidate->solver;
    if (c->candidate->verdict != WM_UNTRIED) return 0;
    int affordable = estimate(c) <= judge_share * s->budget;
    if (solver->judge) return affordable ? 3 : s->keep_all;
    return solver->origin != WM_OURS && affordable ? 2 : 0;
}

static wm_contender *pick_judge(const wm_session *s) {
    wm_contender *best = NULL;
    for (int i = 0; i < s->count; i++) {
        wm_contender *c = &s->contender[i];
        if (rank(s, c) && (!best || rank(s, c) > rank(s, best))) best = c;
    }
    return best;
}

/* *judge stays NULL where nobody can be trusted. */
static wmStatus find_truth(wm_session *s, wm_contender **judge, double *seconds) {
    wm_contender *c;
    *judge = NULL;
    while (!*judge && (c = pick_judge(s))) {
        int good = 0;
        WM_TRY(try_once(s, c, seconds, &good));
        if (!good) continue;
        wmStatus status = wm_truth_take(&s->truth, 0);
        if (status == WM_ERR_INTERNAL) {
            note_failure(c->candidate, WM_WRONG, wmLastError());
        } else {
            WM_TRY(status);
            *judge = c;
        }
    }
    return WM_OK;
}

/* ---- Everybody else ---- */

static wmStatus judge_one(wm_session *s, wm_contender *c, double *seconds) {
    int good = 0;
    char why[160];
    WM_TRY(try_once(s, c, seconds, &good));
    if (!good) return WM_OK;
    WM_TRY(wm_truth_check(&s->truth, 0, &c->candidate->error, why));
    if (isinf(c->candidate->error)) {
        note_failure(c->candidate, WM_WRONG, why);
    } else {
        c->candidate->verdict = WM_GOOD;
    }
    return WM_OK;
}

/*
 * What looks hopeless is run once more: a first run loads what later ones have. The better of the two counts as a time,
 * until rounds give better ones: the only one that a hopeless candidate gets.
 */
static wmStatus enter(wm_session *s, wm_contender *c, double seconds, double *best) {
    wm_candidate *candidate = c->candidate;
    double again = INFINITY;
    if (seconds > 10.0 * *best && wm_session_left(s) > seconds) {
        WM_TRY(wm_image_refresh(&s->image, 0));
        wmStatus status = wm_session_run(s, c, 0, &again);
        if (status != WM_OK) {
            if (!wm_session_is_over(s, status)) note_failure(candidate, WM_FAILED, wmLastError());
            return wm_session_is_over(s, status) ? status : WM_OK;
        }
    }
    candidate->verdict = WM_GOOD;
    candidate->seconds = again < seconds ? again : seconds;
    if (candidate->only_judges) return WM_OK;
    if (candidate->seconds < *best) *best = candidate->seconds;
    c->live = s->keep_all || candidate->seconds <= 10.0 * *best;
    if (!c->live) candidate->verdict = WM_SLOW;
    return WM_OK;
}

/* Each solver's best variant before anybody's second: a short budget should have seen all solvers. */
static int by_estimate(const void *a, const void *b) {
    const wm_contender *x = (const wm_contender *)a, *y = (const wm_contender *)b;
    if (x->second != y->second) return x->second - y->second;
    return (estimate(x) > estimate(y)) - (estimate(x) < estimate(y));
}

static void mark_seconds(const wm_session *s) {
    for (int i = 0; i < s->count; i++) {
        wm_contender *c = &s->contender[i];
        for (int j = 0; j < s->count && !c->second; j++) {
            const wm_contender *other = &s->contender[j];
            if (j == i || other->candidate->solver != c->candidate->solver) continue;
            c->second = estimate(other) < estimate(c) || (estimate(other) == estimate(c) && j < i);
        }
    }
}

wmStatus wm_session_admit(wm_session *s) {
    double seconds = 0.0, best = INFINITY;
    wm_contender *judge = NULL;
    mark_seconds(s);
    qsort(s->contender, (size_t)s->count, sizeof *s->contender, by_estimate);
    WM_TRY(wm_truth_make(&s->truth, &s->image, 0));
    WM_TRY(find_truth(s, &judge, &seconds));
    s->judged = judge != NULL;
    if (!judge) return WM_OK;
    WM_TRY(enter(s, judge, seconds, &best));
    for (int i = 0; i < s->count; i++) {
        wm_contender *c = &s->contender[i];
        if (c->candidate->verdict != WM_UNTRIED || c->candidate->only_judges) continue;
        double left = wm_session_left(s) - expected_make(s, c);
        if (left < (1.0 - admit_share) * s->budget || left < 2.0 * estimate(c)) continue;
        WM_TRY(judge_one(s, c, &seconds));
        if (c->candidate->verdict == WM_GOOD) WM_TRY(enter(s, c, seconds, &best));
    }
    return WM_OK;
}
