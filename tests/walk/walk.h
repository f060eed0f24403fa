/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walker: every solver of a context × every problem of its operation. Each is run through its own make, run and
 * drop on fresh random inputs, with guard bands round every buffer and outputs poisoned with 0xff (a NaN in every
 * floating type), and judged by an oracle. Being in lib/solvers.def is being walked.
 */
#ifndef WM_TESTS_WALK_H
#define WM_TESTS_WALK_H

#include "lib/context_internal.h"

/** Walks; `solver` (a name) and `problem` (a part of the string) narrow it, NULL: all. Gives the number of failures. */
int wm_walk(wmContext *context, const char *solver, const char *problem, uint64_t seed);

/** Transforms that move more bytes are passed over; 0: none. For places where a byte takes long. */
extern double wm_walk_most_bytes;

/** Processor time that a solver may take, 0: any. What is not reached is counted; seeds begin at different problems. */
extern double wm_walk_seconds;

/** Only every parts-th problem, beginning with problem `part`: several processes share one walk (scripts/verify). */
extern int wm_walk_part, wm_walk_parts;

/* ---- For the three domains ---- */

/** A buffer at the context's place with its host copy; both have bands of GUARD bytes on either side. */
typedef struct walk_buffer {
    unsigned char *device; /* the payload's address at the place */
    unsigned char *host;
    unsigned char *raw_device, *raw_host;
    size_t bytes, all;
} walk_buffer;

/** One case under way. */
typedef struct walk {
    wmContext *context;
    const wm_solver *solver;
    const wm_problem *problem;
    const wm_offer *offer;
    void *state;
    char text[WM_PROBLEM_TEXT];
    uint64_t random;
    int failures, runs;
    double worst; /* error over bound */
    double until; /* processor time at which its turn ends */
} walk;

uint64_t walk_draw(walk *w); /* 64 random bits */
double walk_unit(walk *w);   /* uniform in [-1, 1) */

/** `shift` bytes off a 256-byte boundary; the payload is 0xff. NULL device: memory ran out, and the case has failed. */
walk_buffer walk_new(walk *w, size_t bytes, size_t shift);
void walk_free(walk *w, walk_buffer *buffer);
void walk_send(walk *w, const walk_buffer *buffer);
void walk_receive(walk *w, const walk_buffer *buffer); /* waits; checks the bands */

/** Fails the case with a sentence; the walk goes on with the next. */
void walk_fail(walk *w, const char *format, ...) WM_PRINTF(2, 3);

/** Runs the solver once on checked arguments, with workspace of exactly its size between bands. 0: it failed. */
int walk_run(walk *w, wm_args *args);

/** Fills with random values of the type in [-1, 1), integers in [-8, 8]. */
void walk_fill(walk *w, const walk_buffer *buffer, wmType type, int64_t elements);

/** Every byte of `now` outside the elements marked 1 equals `before`. */
void walk_untouched(walk *w, const unsigned char *before, const unsigned char *now, const unsigned char *marks,
                    int64_t elements, size_t element, const char *name);

void walk_matmul(walk *w);
void walk_fft(walk *w);
void walk_random(walk *w);
void walk_convolution(walk *w);

/** Draws that walk_random leaves to walk_distributions. */
int walk_is_distribution(const wmRandomDesc *desc);
void walk_distributions(walk *w);

/** The problem strings of an operation, NULL-terminated. */
extern const char *const walk_matmul_problems[], *const walk_fft_problems[], *const walk_random_problems[],
                                                                                 *const walk_convolution_problems[];
extern const char *const *const walk_problems[WM_OPERATIONS]; /* all of them, by operation */

#endif
