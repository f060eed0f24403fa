/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files that are whole or not there: written beside their final name, synced, then renamed. A failure, an
 * interrupt or an early return leaves what was there before.
 */
#ifndef WM_TOOL_OUTPUT_H
#define WM_TOOL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wm_output {
    const char *name; /* as the user gave it, for messages; the caller keeps it alive */
    char *path;       /* where the file will be, links resolved */
    int fd;           /* -1: closed */
    bool renames;     /* false when the target is a device or a pipe, which is written directly */
} wm_output;

/*
 * Starts a file. Opening first and computing afterwards tells of an unwritable path early. At most one output may be
 * open at a time, because an interrupt has to know which temporary file to remove.
 */
int wm_output_open(wm_output *out, const char *name);

int wm_output_write(wm_output *out, const void *data, size_t bytes);

/* Syncs and renames; closes and cleans up whatever happens. */
int wm_output_commit(wm_output *out);

/* Forgets an output that was not committed; nothing after a commit or a failed open. */
void wm_output_discard(wm_output *out);

#endif
