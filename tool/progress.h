/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar on stderr, for people: nothing at all unless stderr is a terminal, and nothing for steps that end
 * within a second. A thread draws it, so that a step which is one long call shows its age too.
 */
#ifndef WM_TOOL_PROGRESS_H
#define WM_TOOL_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* Starts with `total` units of work ahead. At most one bar at a time; failures to draw are no failures. */
void wm_progress_begin(int64_t total);

/* `done` units are finished; `label` names the step that begins, copied. Restarts the step's clock. */
void wm_progress_step(int64_t done, const char *label);

/* ", about 3 min left" by what was done in so many seconds; empty before anything was. */
void wm_progress_left(int64_t done, int64_t total, double elapsed, char *out, size_t room);

/* Removes the bar; harmless when there is none. Call it before printing anything else. */
void wm_progress_end(void);

#endif
