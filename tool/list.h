/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of problems: words of a command line and files, a problem a line, with a number of runs before it or none. What
 * follows a # is a comment; so what WARPMATH_TRACE writes is a list.
 */
#ifndef WM_TOOL_LIST_H
#define WM_TOOL_LIST_H

#include <warpmath/types.h>

#include "options.h"

typedef struct wm_list_entry {
    char *problem; /* in its canonical form */
    double runs;
    double seconds; /* of one run, as a trace recorded it; 0: not told */
} wm_list_entry;

typedef struct wm_list {
    wm_list_entry *entry;
    int count, capacity;
} wm_list;

/*
 * Adds the words and the lines of the file (NULL: none); a problem that is there already has its runs added. Fails by
 * file and line for what is no problem, and if there is none at all.
 */
int wm_list_collect(wm_list *list, wmPlace place, const wm_common *words, const char *file);

/* One line of a file, which it cuts up; `where` is what a complaint begins with. */
int wm_list_add_line(wm_list *list, wmPlace place, char *line, const char *where);

/* Adds a problem in its canonical form. */
int wm_list_add(wm_list *list, const char *problem, double runs, double seconds);

/* Those with most runs first. */
void wm_list_sort(wm_list *list);

void wm_list_free(wm_list *list);

#endif
