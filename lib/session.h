/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement under way: contenders on an image, a judge's truth, a clock, a budget. */
#ifndef WM_LIB_SESSION_H
#define WM_LIB_SESSION_H

#include "clock.h"
#include "measure.h"
#include "truth.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WM_MOST_ROUNDS 31
#define WM_TIE 0.02
#define WM_BAND 4096 /* bytes on either side of the workspace */

/** A candidate that is being tried. */
typedef struct wm_contender {
    wm_candidate *candidate;
    void *state;
    int made;
    int second;          /* another variant of its solver is estimated faster */
    int live;            /* still timed in rounds */
    int rank;            /* among the live, 0 the fastest; as of the last ranking */
    double make_seconds; /* what making it took */
    int repeats;         /* executions a sample */
    int turn;            /* the next copy of the image */
    void *replay;        /* a graph of `repeats` executions; NULL: they are enqueued one by one */
    double sample[WM_MOST_ROUNDS];
    int samples;
} wm_contender;

typedef struct wm_session {
    wmContext *context;
    const wm_problem *problem;
    wm_clock clock;
    double start, budget; /* seconds */
    int keep_all;         /* no early stop of losers */
    int rounds, final_rounds;
    int priority; /* of the stream */
    int final;    /* the last few are being timed anew */
    int judged;   /* a judge was found */
    int mhz[2];   /* the chip's clock before the rounds and after them; 0: unknown */
    wmStream stream;
    wm_event from, to;
    wm_image image;
    wm_truth truth;
    unsigned char *workspace;         /* with bands */
    size_t workspace_bytes;           /* of the whole block */
    unsigned char bands[2 * WM_BAND]; /* here rather than on a stack: a copy may outlive the function that wanted it */
    wm_contender *contender;
    int count;
    uint64_t random;
} wm_session;

/** Seconds left of the budget. */
double wm_session_left(const wm_session *s);

/** 1 if the last failure ended the device, or is one that no further candidate can do anything about. */
int wm_session_is_over(const wm_session *s, wmStatus status);

/** One execution on a copy of the image, waited for; *seconds may be NULL. */
wmStatus wm_session_run(wm_session *s, wm_contender *c, int copy, double *seconds);

/** Enqueues one execution on the contender's next copy. */
wmStatus wm_session_enqueue(const wm_session *s, wm_contender *c);

/** Judges the candidates, best estimate first, as far as 60 % of the budget goes; the right ones are live then. */
wmStatus wm_session_admit(wm_session *s);

/** Times the live ones in rounds. */
wmStatus wm_session_time(wm_session *s);

/** Standard error of a candidate's median, as a fraction of it. */
double wm_uncertainty(const wm_candidate *c);

/** By how much ours must be faster, or it is a tie, which is the vendor's: WM_TIE or the noise of both. */
double wm_tie(const wm_candidate *ours, const wm_candidate *vendors);

/** Median of n values, n >= 1; sorts them. Their spread as a fraction of it. */
double wm_median(double *values, int n);
double wm_spread(const double *values, int n);

#ifdef __cplusplus
}
#endif

#endif
