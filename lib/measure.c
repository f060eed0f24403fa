/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring from end to end: what it runs on, its budget, and who wins. */
#include "chip.h"
#include "context_internal.h"
#include "gpu_guard.h"
#include "planner.h"
#include "session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COPIES = 128, MOST_DEVICES = 64 };

const char *wm_verdict_name(wm_verdict verdict) {
    static const char *const names[] = {"untried", "good", "slow", "wrong", "failed"};
    return (unsigned)verdict <= WM_FAILED ? names[verdict] : "?";
}

void wm_knobs_print(const wm_solver *solver, const wm_offer *offer, char *out, size_t room) {
    out[0] = '\0';
    for (int i = 0; i < WM_MAX_KNOBS && solver->knobs[i]; i++) {
        wm_append(out, room, "%s%s=%d", i ? "," : "", solver->knobs[i], offer->knob[i]);
    }
}

/* ---- A session's resources ---- */

static size_t bytes_allowed(const wmContext *context, int64_t option) {
    if (option > 0) return (size_t)option;
    return (size_t)(context->device.memory_bytes > 0 ? context->device.memory_bytes / 4 : (int64_t)1 << 30);
}

/* Copies that together are twice the last-level cache, as far as the budget in bytes goes; 0: not even one fits. */
static int copies_for(const wmContext *context, size_t bytes, size_t allowed) {
    if (bytes == 0 || allowed / 2 < bytes) return 0;
    size_t wanted = 1 + 2 * (size_t)context->device.l2_bytes / bytes;
    size_t most = allowed / bytes - 1;
    if (wanted > MOST_COPIES) wanted = MOST_COPIES;
    return (int)(wanted < most ? wanted : most);
}

static wmStatus open_device(wm_session *s) {
    const wm_gpu *gpu = s->context->gpu;
    if (!gpu) return WM_OK;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_create_ranked(gpu->self, s->priority, &s->stream), "cudaStreamCreate"));
    WM_TRY(wm_gpu_check(gpu, gpu->event_create(gpu->self, &s->from), "cudaEventCreate"));
    return wm_gpu_check(gpu, gpu->event_create(gpu->self, &s->to), "cudaEventCreate");
}

static void close_device(wm_session *s) {
    const wm_gpu *gpu = s->context->gpu;
    if (!gpu) return;
    if (s->stream) (void)gpu->stream_wait(gpu->self, s->stream);
    for (int i = 0; i < s->count; i++) {
        if (s->contender[i].replay) (void)gpu->graph_destroy(gpu->self, NULL, s->contender[i].replay);
    }
    if (s->from) (void)gpu->event_destroy(gpu->self, s->from);
    if (s->to) (void)gpu->event_destroy(gpu->self, s->to);
    if (s->stream) (void)gpu->stream_destroy(gpu->self, s->stream);
}

static void session_close(wm_session *s) {
    wm_error error;
    wm_error_save(&error);
    close_device(s);
    for (int i = 0; i < s->count; i++) {
        const wm_contender *c = &s->contender[i];
        if (c->made && c->candidate->solver->drop) c->candidate->solver->drop(s->context, c->state);
    }
    wm_truth_free(&s->truth);
    wm_image_free(&s->image);
    wm_context_free(s->context, s->workspace, s->workspace_bytes);
    free(s->contender);
    wm_error_restore(&error);
}

/* Room for the largest workspace, but for what the budget in bytes does not hold beside the operands: those cannot be
 * tried. */
static wmStatus open_workspace(wm_session *s, size_t room) {
    size_t most = 0;
    for (int i = 0; i < s->count; i++) {
        wm_candidate *c = s->contender[i].candidate;
        size_t bytes = c->offer.workspace;
        if (bytes > room) {
            c->verdict = WM_FAILED;
            snprintf(c->why, sizeof c->why, "its workspace of %zu bytes is more than the %zu that measuring may use",
                     bytes, room);
        } else if (bytes > most) {
            most = bytes;
        }
    }
    if (!most) return WM_OK;
    void *block = NULL;
    s->workspace_bytes = most + 2 * (size_t)WM_BAND;
    WM_TRY(wm_context_alloc(s->context, &block, s->workspace_bytes));
    s->workspace = (unsigned char *)block;
    return WM_OK;
}

static wmStatus session_open(wm_session *s, wm_candidate *candidates, int count, int64_t budget_bytes) {
    size_t bytes = wm_image_bytes(s->problem), allowed = bytes_allowed(s->context, budget_bytes);
    int copies = copies_for(s->context, bytes, allowed);
    if (copies == 0) {
        return wm_fail(WM_ERR_MEMORY, "operands of %zu bytes, twice, are more than the %zu that measuring may use",
                       bytes, allowed);
    }
    s->contender = (wm_contender *)calloc((size_t)count, sizeof *s->contender);
    if (!s->contender) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    s->count = count;
    for (int i = 0; i < count; i++) s->contender[i].candidate = &candidates[i];
    size_t room = allowed - 2 * bytes;
    room -= room < 2 * (size_t)WM_BAND ? room : 2 * (size_t)WM_BAND;
    WM_TRY(open_device(s));
    WM_TRY(open_workspace(s, room));
    copies = copies_for(s->context, bytes, allowed - s->workspace_bytes);
    return wm_image_make(&s->image, s->context, s->problem, s->stream, copies, 20250411);
}

static wmStatus session_run(wm_session *s, wm_candidate *candidates, int count, int64_t budget_bytes) {
    (void)wm_chip_mhz(s->context); /* NVML takes a while to begin with, which is not the problem's budget */
    s->start = s->clock.now(s->clock.self);
    s->random = 0x2545f4914f6cdd1du;
    wmStatus status = session_open(s, candidates, count, budget_bytes);
    if (status == WM_OK) status = wm_session_admit(s);
    s->mhz[0] = wm_chip_mhz(s->context);
    if (status == WM_OK) status = wm_session_time(s);
    s->mhz[1] = wm_chip_mhz(s->context);
    session_close(s);
    return status;
}

/* ---- The winner ---- */

/* Of a median of n samples with that spread. */
double wm_uncertainty(const wm_candidate *c) {
    return c->samples > 1 ? 1.2533 * c->spread / sqrt(c->samples) : 0.05;
}

double wm_tie(const wm_candidate *ours, const wm_candidate *vendors) {
    return fmax(2.5 * (wm_uncertainty(ours) + wm_uncertainty(vendors)), WM_TIE);
}

static int fastest(const wm_found *found, int least_samples, int vendor_only) {
    int best = -1;
    for (int i = 0; i < found->count; i++) {
        const wm_candidate *c = &found->candidate[i];
        if (c->only_judges || c->verdict != WM_GOOD || c->samples < least_samples || !(c->seconds > 0)) continue;
        if (vendor_only && c->solver->origin != WM_VENDOR) continue;
        if (best < 0 || c->seconds < found->candidate[best].seconds) best = i;
    }
    return best;
}

int wm_pick_winner(const wm_found *found) {
    int samples = fastest(found, 1, 0) >= 0;
    int best = fastest(found, samples, 0), vendor = fastest(found, samples, 1);
    if (best < 0 || vendor < 0 || best == vendor) return best;
    /* What the vendor ships has been run more often than ours ever will be: a tie is its. */
    const wm_candidate *b = &found->candidate[best], *v = &found->candidate[vendor];
    return b->seconds < v->seconds * (1.0 - wm_tie(b, v)) ? best : vendor;
}

static void note_outcome(wm_found *found, double budget) {
    int untried = 0, bad = 0;
    for (int i = 0; i < found->count; i++) {
        wm_verdict verdict = found->candidate[i].verdict;
        untried += verdict == WM_UNTRIED && !found->candidate[i].only_judges;
        bad += verdict == WM_WRONG || verdict == WM_FAILED;
    }
    if (untried) {
        wm_append(found->note, sizeof found->note, "the budget of %.0f ms ended with %d of %d candidates untried",
                  1e3 * budget, untried, found->count);
    }
    if (bad) {
        wm_append(found->note, sizeof found->note, "%s%d candidate%s wrong or failed", found->note[0] ? "; " : "", bad,
                  bad == 1 ? "" : "s");
    }
}

/* The winner of those that the budget reached is none if one that it did not reach promises half its time. */
static int promises_more(const wm_found *found, int best) {
    for (int i = 0; best >= 0 && i < found->count; i++) {
        const wm_candidate *c = &found->candidate[i];
        if (c->verdict == WM_UNTRIED && !c->only_judges && c->offer.seconds < 0.5 * found->candidate[best].seconds)
            return 1;
    }
    return 0;
}

/* ---- One at a time ---- */

static pthread_mutex_t turns[MOST_DEVICES];
static pthread_once_t turns_once = PTHREAD_ONCE_INIT;

static void make_turns(void) {
    for (int i = 0; i < MOST_DEVICES; i++) pthread_mutex_init(&turns[i], NULL);
}

/* Timings side by side would measure each other. The CPU place is number 0 too: it feeds the GPU. */
static pthread_mutex_t *turn_of(const wmContext *context) {
    pthread_once(&turns_once, make_turns);
    int ordinal = context->gpu ? context->device.ordinal : 0;
    return &turns[ordinal % MOST_DEVICES];
}

static wmStatus refuse_capture(const wmContext *context) {
    const wm_gpu *gpu = context->gpu;
    int capturing = 0;
    if (!gpu) return WM_OK;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_capturing(gpu->self, NULL, &capturing), "cudaStreamIsCapturing"));
    return capturing ? wm_fail(WM_ERR_STATE, "a stream is capturing: measure before the capture") : WM_OK;
}

/* Where measuring could not take place at all, the estimate decides, and the note says so. */
static int is_soft(const wm_session *s, wmStatus status) {
    return (status == WM_ERR_MEMORY || status == WM_ERR_CUDA) && !wm_session_is_over(s, status);
}

static wmStatus measure(wm_session *s, const wmPlanOptions *options, wm_found *found) {
    wmStatus status = session_run(s, found->candidate, found->count, options->budget_bytes);
    if (is_soft(s, status)) {
        wm_append(found->note, sizeof found->note, "not measured: %.200s", wmLastError());
        return WM_OK;
    }
    WM_TRY(status);
    if (s->judged) {
        note_outcome(found, s->budget);
    } else {
        wm_append(found->note, sizeof found->note, "not measured: no candidate can judge the others within %.0f ms",
                  1e3 * s->budget);
    }
    if (wm_chip_moved(s->mhz[0], s->mhz[1]))
        wm_append(found->note, sizeof found->note, "%sthe chip's clock went from %d to %d MHz meanwhile",
                  found->note[0] ? "; " : "", s->mhz[0], s->mhz[1]);
    int best = wm_pick_winner(found);
    if (promises_more(found, best)) {
        wm_append(found->note, sizeof found->note, "; one of them is estimated at far less than the best measured");
    } else if (best >= 0) {
        found->chosen = best;
        found->by = WM_BY_MEASURE;
    }
    return WM_OK;
}

/* Called without a lock: a log function may do as it likes. */
static void log_outcome(wmContext *context, const wm_found *found) {
    for (int i = 0; i < found->count; i++) {
        const wm_candidate *c = &found->candidate[i];
        if (c->verdict != WM_WRONG && c->verdict != WM_FAILED) continue;
        wm_log(context, WM_LOG_WARNING, "%s is left out, %s: %s", c->solver->name, wm_verdict_name(c->verdict), c->why);
    }
    if (found->note[0]) wm_log(context, WM_LOG_INFO, "%s", found->note);
}

/* Under the turn: a thread that waits for it may want the same problem, and finds what this one learns. */
static wmStatus measure_and_learn(wmContext *context, const wm_problem *problem, const wmPlanOptions *options,
                                  wm_found *found) {
    int exhaustive = options->effort == WM_EXHAUSTIVE;
    wm_session s = {.context = context,
                    .problem = problem,
                    .clock = context->clock,
                    .budget = 1e-3 * (options->budget_ms > 0 ? options->budget_ms
                                      : exhaustive           ? 10000.0
                                                             : 1000.0),
                    .priority = options->stream_priority,
                    .rounds = exhaustive ? WM_MOST_ROUNDS : 11,
                    .final_rounds = exhaustive ? WM_MOST_ROUNDS : 11};
    if (wm_follow_wisdom(context, problem, options->effort, found)) return WM_OK;
    WM_TRY(measure(&s, options, found));
    if (found->by != WM_BY_MEASURE) return WM_OK;
    const wm_candidate *best = &found->candidate[found->chosen];
    if (!wm_wisdom_learn(context, problem, best->solver, &best->offer, best->seconds, options->effort)) {
        wm_append(found->note, sizeof found->note, "%snot remembered: out of host memory", found->note[0] ? "; " : "");
    }
    return WM_OK;
}

wmStatus wm_measure(wmContext *context, const wm_problem *problem, const wmPlanOptions *options, wm_found *found) {
    WM_TRY(refuse_capture(context));
    pthread_mutex_t *turn = turn_of(context);
    pthread_mutex_lock(turn);
    wmStatus status = measure_and_learn(context, problem, options, found);
    pthread_mutex_unlock(turn);
    log_outcome(context, found);
    return status;
}

/* ---- The benchmark ---- */

static int is_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return 1;
    }
    return list == NULL;
}

/* Leaves the candidates that are listed, and with `judges` those that judge. */
static void filter(wm_found *found, const char *list, int judges) {
    int kept = 0;
    for (int i = 0; i < found->count; i++) {
        const wm_solver *solver = found->candidate[i].solver;
        if (!is_listed(list, solver->name) && !(judges && solver->judge)) continue;
        found->candidate[kept++] = found->candidate[i];
    }
    found->count = kept;
}

static wmStatus bench(wmContext *context, const wm_problem *problem, const wm_bench_options *o, wm_found *found,
                      int mhz[2]) {
    WM_TRY(refuse_capture(context));
    WM_TRY(wm_search_offers(context, problem, o->workspace_limit, found));
    filter(found, o->solvers, 1);
    if (found->count == 0) return wm_nobody_offers(context, problem, found);
    wm_session s = {.context = context,
                    .problem = problem,
                    .clock = context->clock,
                    .budget = 1e-3 * (o->budget_ms > 0 ? o->budget_ms : 1000.0),
                    .keep_all = !o->early_stop,
                    .rounds = o->early_stop ? 11 : WM_MOST_ROUNDS,
                    .final_rounds = 11};
    pthread_mutex_t *turn = turn_of(context);
    pthread_mutex_lock(turn);
    wmStatus status = session_run(&s, found->candidate, found->count, o->budget_bytes);
    pthread_mutex_unlock(turn);
    filter(found, o->solvers, 0);
    mhz[0] = s.mhz[0];
    mhz[1] = s.mhz[1];
    return status;
}

wmStatus wm_bench(wmContext *context, const wm_problem *problem, const wm_bench_options *options,
                  wm_bench_result *out) {
    const wm_bench_options none = {0};
    wm_found found = {0};
    wm_guard guard;
    *out = (wm_bench_result){.winner = -1, .estimate = -1};
    WM_TRY(wm_enter(context, &guard));
    wmStatus status = wm_problem_empty(problem) ? wm_fail(WM_ERR_ARGUMENT, "the problem is empty: nothing to time")
                                                : bench(context, problem, options ? options : &none, &found, out->mhz);
    if (status == WM_OK) {
        wm_guess(context, problem, &found);
        out->rows = found.candidate;
        out->count = found.count;
        out->winner = wm_pick_winner(&found);
        out->estimate = wm_least_estimate(&found);
        found.candidate = NULL;
    }
    wm_found_free(&found);
    return wm_leave(&guard, status);
}
