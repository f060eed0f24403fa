/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds: every live contender is sampled once a round, in a fresh random order. Clear losers drop out, of many the
 * slower half every third round (successive halving: Jamieson and Talwalkar, AISTATS 2016). The last few run a final,
 * whose fresh samples alone decide: the samples by which the finalists were picked flatter them.
 */
#include "context_internal.h"
#include "session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sample lasts about this long, so that events and clocks resolve it. */
static const double sample_seconds = 200e-6;

/* Below this, launches from the host would be what is timed: the work is replayed from a graph. */
static const double replay_below = 20e-6;

enum { MOST_REPEATS = 256, ENOUGH = 5, FINALISTS = 4, LEAST_FINAL = 3 };

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double wm_median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double wm_spread(const double *values, int n) {
    double sorted[WM_MOST_ROUNDS], off[WM_MOST_ROUNDS];
    if (n < 2) return 0.0;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    double middle = wm_median(sorted, n);
    for (int i = 0; i < n; i++) off[i] = fabs(values[i] - middle);
    /* 1.4826: what makes the median deviation of normal noise its standard deviation. */
    return middle > 0 ? 1.4826 * wm_median(off, n) / middle : 0.0;
}

/* ---- One sample ---- */

static wmStatus enqueue_all(const wm_session *s, wm_contender *c) {
    for (int i = 0; i < c->repeats; i++) WM_TRY(wm_session_enqueue(s, c));
    return WM_OK;
}

static wmStatus capture(const wm_session *s, wm_contender *c) {
    const wm_gpu *gpu = s->context->gpu;
    wmGraph graph = NULL;
    c->turn = 0;
    WM_TRY(wm_gpu_check(gpu, gpu->capture_begin(gpu->self, s->stream), "cudaStreamBeginCapture"));
    wmStatus status = enqueue_all(s, c);
    int error = gpu->capture_end(gpu->self, s->stream, &graph);
    if (status == WM_OK) status = wm_gpu_check(gpu, error, "cudaStreamEndCapture");
    if (status == WM_OK) {
        status = wm_gpu_check(gpu, gpu->graph_instantiate(gpu->self, graph, &c->replay), "cudaGraphInstantiate");
    }
    if (graph) (void)gpu->graph_destroy(gpu->self, graph, NULL);
    return status;
}

static wmStatus refresh(const wm_session *s, const wm_contender *c) {
    if (!wm_image_is_used_up(&s->image)) return WM_OK;
    for (int i = 0; i < c->repeats; i++) WM_TRY(wm_image_refresh(&s->image, (c->turn + i) % s->image.copies));
    return WM_OK;
}

static wmStatus enqueue_sample(const wm_session *s, wm_contender *c) {
    const wm_gpu *gpu = s->context->gpu;
    if (!c->replay) return enqueue_all(s, c);
    return wm_gpu_check(gpu, gpu->graph_launch(gpu->self, c->replay, s->stream), "cudaGraphLaunch");
}

static wmStatus sample_gpu(const wm_session *s, wm_contender *c, double *seconds) {
    const wm_gpu *gpu = s->context->gpu;
    WM_TRY(wm_gpu_check(gpu, gpu->event_record(gpu->self, s->from, s->stream), "cudaEventRecord"));
    wmStatus status = enqueue_sample(s, c);
    WM_TRY(wm_gpu_check(gpu, gpu->event_record(gpu->self, s->to, s->stream), "cudaEventRecord"));
    WM_TRY(wm_gpu_check(gpu, gpu->event_wait(gpu->self, s->to), "the candidate's execution"));
    WM_TRY(status);
    return wm_gpu_check(gpu, gpu->event_seconds(gpu->self, s->from, s->to, seconds), "cudaEventElapsedTime");
}

static wmStatus sample(const wm_session *s, wm_contender *c) {
    double seconds = 0.0;
    WM_TRY(refresh(s, c));
    if (s->context->gpu) {
        WM_TRY(sample_gpu(s, c, &seconds));
    } else {
        double before = s->clock.now(s->clock.self);
        WM_TRY(enqueue_all(s, c));
        seconds = s->clock.now(s->clock.self) - before;
    }
    c->sample[c->samples++] = seconds / c->repeats;
    return WM_OK;
}

/* ---- Getting ready ---- */

/* A warm run tells how many make a sample. The rotation is worth a sample of its own where a graph makes it cheap. */
static wmStatus get_ready(wm_session *s, wm_contender *c) {
    double seconds = 0.0;
    int warm = s->image.copies - 1;
    WM_TRY(wm_image_refresh(&s->image, warm));
    WM_TRY(wm_session_run(s, c, warm, &seconds));
    c->candidate->seconds = seconds;
    double wanted = seconds > 0 ? ceil(sample_seconds / seconds) : MOST_REPEATS;
    c->repeats = wanted < 1 ? 1 : wanted > MOST_REPEATS ? MOST_REPEATS : (int)wanted;
    int replayed = s->context->gpu && seconds < replay_below && c->candidate->offer.capturable;
    if (replayed && c->repeats < s->image.copies) c->repeats = s->image.copies;
    if (wm_image_is_used_up(&s->image) && c->repeats > s->image.copies) c->repeats = s->image.copies;
    return replayed ? capture(s, c) : WM_OK;
}

/* A failure of one candidate is its own affair, unless it took the device with it. */
static wmStatus survive(const wm_session *s, wm_contender *c, wmStatus status) {
    if (status == WM_OK || wm_session_is_over(s, status)) return status;
    c->live = 0;
    c->candidate->verdict = WM_FAILED;
    c->candidate->why[0] = '\0';
    wm_append(c->candidate->why, sizeof c->candidate->why, "%s", wmLastError());
    return WM_OK;
}

/* ---- Rounds ---- */

/* In the final the samples of the rounds before it stand until there are enough fresh ones. */
static void summarise(const wm_session *s, wm_contender *c) {
    double sorted[WM_MOST_ROUNDS];
    if (c->samples < (s->final ? LEAST_FINAL : 1)) return;
    memcpy(sorted, c->sample, (size_t)c->samples * sizeof *sorted);
    c->candidate->seconds = wm_median(sorted, c->samples);
    c->candidate->spread = wm_spread(c->sample, c->samples);
    c->candidate->samples = c->samples;
}

/* The fastest of the live, or of the live vendors; NULL if there are none. */
static const wm_contender *leader(const wm_session *s, int vendor_only) {
    const wm_contender *best = NULL;
    for (int i = 0; i < s->count; i++) {
        const wm_contender *c = &s->contender[i];
        if (!c->live || (vendor_only && c->candidate->solver->origin != WM_VENDOR)) continue;
        if (!best || c->candidate->seconds < best->candidate->seconds) best = c;
    }
    return best;
}

/* Gives each of the live its rank: how many of them are faster. */
static void rank_live(const wm_session *s) {
    for (int i = 0; i < s->count; i++) {
        wm_contender *of = &s->contender[i];
        of->rank = 0;
        for (int j = 0; j < s->count; j++) {
            const wm_contender *c = &s->contender[j];
            of->rank += c->live && c->candidate->seconds < of->candidate->seconds;
        }
    }
}

static int count_live(const wm_session *s) {
    int live = 0;
    for (int i = 0; i < s->count; i++) live += s->contender[i].live;
    return live;
}

static double fastest_sample(const wm_contender *c) {
    double least = INFINITY;
    for (int i = 0; i < c->samples; i++) least = fmin(least, c->sample[i]);
    return least;
}

/* 1 if the two medians are apart by more than three standard errors. */
static int is_apart(const wm_candidate *fast, const wm_candidate *slow) {
    double errors = 3.0 * hypot(wm_uncertainty(fast), wm_uncertainty(slow));
    return slow->seconds > fast->seconds * (1.0 + errors);
}

/* After 3 samples what is half as slow again in all of them, after 6 what is slower by 15 % and by more than its noise.
 */
static int is_lost(const wm_contender *c, double best) {
    double behind = c->candidate->seconds / best - 1.0;
    return (c->samples >= 3 && fastest_sample(c) > 1.5 * best) ||
           (c->samples >= 6 && behind > 0.15 && behind > 3.0 * c->candidate->spread);
}

static void drop(wm_contender *c) {
    c->live = 0;
    c->candidate->verdict = WM_SLOW;
}

/* `halve`: of many the slower half goes too, but for what the noise cannot tell from the leader. */
static void drop_losers(const wm_session *s, int halve) {
    const wm_contender *best = leader(s, 0);
    int live = count_live(s), half = live > FINALISTS ? (live + 1) / 2 : live;
    if (!best || s->keep_all) return;
    rank_live(s);
    for (int i = 0; i < s->count; i++) {
        wm_contender *c = &s->contender[i];
        if (!c->live || c == best) continue;
        int slower_half = halve && c->rank >= half && is_apart(best->candidate, c->candidate) &&
                          fastest_sample(c) > best->candidate->seconds;
        if (slower_half || is_lost(c, best->candidate->seconds)) drop(c);
    }
}

static void shuffle(wm_session *s, int *order) {
    for (int i = 0; i < s->count; i++) order[i] = i;
    for (int i = s->count - 1; i > 0; i--) {
        s->random = s->random * 6364136223846793005u + 1442695040888963407u;
        int j = (int)((s->random >> 33) % (uint64_t)(i + 1));
        int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* 0 in *going_on: the budget, less what is kept for the final, does not hold another sample. */
static wmStatus one_round(wm_session *s, int *order, double reserve, int *going_on) {
    shuffle(s, order);
    for (int i = 0; i < s->count; i++) {
        wm_contender *c = &s->contender[order[i]];
        if (!c->live) continue;
        *going_on = wm_session_left(s) - reserve > c->candidate->seconds * c->repeats;
        if (!*going_on) break;
        WM_TRY(survive(s, c, sample(s, c)));
        summarise(s, c);
    }
    return WM_OK;
}

/* ---- The final ---- */

static double final_reserve(const wm_session *s) {
    const wm_contender *best = leader(s, 0);
    double left = wm_session_left(s);
    if (s->keep_all || !best || count_live(s) <= 1) return 0.0;
    double wanted = (FINALISTS + 1) * s->final_rounds * best->candidate->seconds * best->repeats;
    return wanted < 0.25 * left ? wanted : 0.25 * left;
}

/* The leader is clear of all others. */
static int is_decided(const wm_session *s) {
    const wm_contender *best = leader(s, 0);
    for (int i = 0; best && i < s->count; i++) {
        const wm_contender *c = &s->contender[i];
        if (c->live && c != best && !is_apart(best->candidate, c->candidate)) return 0;
    }
    return 1;
}

/* Ours leads, and the noise of few samples decides whether the vendor keeps the tie: more tell. */
static int is_noisy_tie(const wm_session *s) {
    const wm_contender *best = leader(s, 0), *vendor = leader(s, 1);
    if (!best || !vendor || best == vendor) return 0;
    const wm_candidate *b = best->candidate, *v = vendor->candidate;
    return b->seconds < v->seconds * (1.0 - WM_TIE) && wm_tie(b, v) > 2.5 * WM_TIE;
}

/* Leaves the fastest few and the fastest vendor, who has a right to the tie. */
static void pick_finalists(wm_session *s) {
    const wm_contender *vendor = leader(s, 1);
    rank_live(s);
    for (int i = 0; i < s->count; i++) {
        wm_contender *c = &s->contender[i];
        c->samples = 0;
        if (c->live && c->rank >= FINALISTS && c != vendor) drop(c);
    }
}

static wmStatus run_final(wm_session *s, int *order) {
    int going_on = 1, look = 1;
    if (s->keep_all || count_live(s) <= 1) return WM_OK;
    pick_finalists(s);
    s->final = 1;
    for (int round = 1; round <= WM_MOST_ROUNDS && going_on; round++) {
        WM_TRY(one_round(s, order, 0.0, &going_on));
        int enough = round >= s->final_rounds || (round >= ENOUGH && is_decided(s));
        if (!enough || round < look) continue;
        if (!is_noisy_tie(s)) break;
        look = WM_MOST_ROUNDS; /* whoever looks after each sample sees a winner some day */
    }
    return WM_OK;
}

static wmStatus run_rounds(wm_session *s, int *order) {
    int going_on = 1;
    double reserve = final_reserve(s);
    for (int round = 1; round <= s->rounds && going_on; round++) {
        WM_TRY(one_round(s, order, reserve, &going_on));
        drop_losers(s, round % 3 == 0);
        if (!s->keep_all && round >= ENOUGH && count_live(s) <= FINALISTS) break;
    }
    return WM_OK;
}

wmStatus wm_session_time(wm_session *s) {
    int *order = (int *)malloc((size_t)s->count * sizeof *order);
    if (!order) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    wmStatus status = WM_OK;
    for (int i = 0; i < s->count && status == WM_OK; i++) {
        wm_contender *c = &s->contender[i];
        if (!c->live) continue;
        c->live = wm_session_left(s) > 2.0 * c->candidate->seconds;
        if (c->live) status = survive(s, c, get_ready(s, c));
    }
    if (status == WM_OK) status = run_rounds(s, order);
    if (status == WM_OK) status = run_final(s, order);
    free(order);
    return status;
}
