/* SPDX-License-Identifier: Apache-2.0 */
/* Results that grow in a file: a run that was stopped goes on where it ended. */
#ifndef WM_TOOL_RESUME_H
#define WM_TOOL_RESUME_H

#include <stddef.h>

#include "list.h"

/*
 * Takes the problems off the list whose rows the CSV file holds whole. A file that is not there is begun with the
 * header; one that was cut loses its last, torn line; another header fails.
 */
int wm_resume(wm_list *list, const char *path, const char *header);

/* Appends the rows in one write. */
int wm_append_file(const char *path, const char *data, size_t bytes);

#endif
