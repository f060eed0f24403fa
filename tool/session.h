/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands do with the library in the same way: open a context, carry arrays to the place and back. */
#ifndef WM_TOOL_SESSION_H
#define WM_TOOL_SESSION_H

#include <stddef.h>
#include <stdio.h>

#include <warpmath/warpmath.h>

#include "lib/json.h"

/* A context on the place ("cpu", "gpu", NULL: the library's choice), allowed to use FFTW. */
int wm_session_open(wmContext **context, const char *place);

/* WM_EXIT_OK for WM_OK; else records the library's sentence. */
int wm_session_check(wmStatus status);

/* "cpu" or "gpu". */
const char *wm_session_place(const wmContext *context);

/*
 * A host array at the context's place. On the CPU the array itself serves: nothing is copied. `fill` copies it there.
 */
int wm_session_lend(wmContext *context, void *host, size_t bytes, int fill, void **there);

/* Waits for the work and copies a result back to the host array that was lent. */
int wm_session_fetch(wmContext *context, void *host, size_t bytes, const void *there);

/* Ends a loan. */
void wm_session_return(wmContext *context, const void *host, void *there);

/* Prints what a wmContextInfo-like function writes, whatever its length. */
typedef wmStatus (*wm_session_writer)(void *object, wmTextFormat format, char *buffer, size_t capacity, size_t *needed);
int wm_session_print(wm_session_writer writer, void *object, wmTextFormat format, FILE *to);

/* The same as a string that the caller frees. */
int wm_session_text(wm_session_writer writer, void *object, wmTextFormat format, char **text);

/* Adds how a plan ran to a JSON object: problem, place, solver, seconds. */
void wm_session_describe(wm_json *json, const wmContext *context, const wmPlan *plan, double seconds);

/* Prints a text and frees it; fails if memory ran out while it grew. */
int wm_session_put(wm_text *text);

/* Seconds of a clock that never goes back. */
double wm_session_seconds(void);

#endif
