/* SPDX-License-Identifier: Apache-2.0 */
/* Results that `warpmath bench --csv` wrote, read back: for each problem the best of ours and of the others. */
#ifndef WM_TOOL_RESULTS_H
#define WM_TOOL_RESULTS_H

#include "lib/problem.h"

/* The faster of some solvers for a problem; seconds 0: none was right and timed. */
typedef struct wm_best {
    char solver[48];
    double seconds;
    double fraction; /* of what the machine's ceilings allow; 0: not told */
} wm_best;

typedef struct wm_result {
    char *text; /* the problem string */
    int class;  /* index into classes: the file it came from */
    wm_op op;
    wm_cost cost;
    wm_best ours, other;
    char place[4];         /* "gpu", "cpu"; "": not told. Rows of another place, benched beside it, do not count */
    double tuned, guessed; /* seconds of what planning takes by measuring and by estimate; 0: not told */
} wm_result;

typedef struct wm_results {
    wm_result *row;
    int count, capacity;
    char **class; /* a name a file, "fft" of "results/fft.csv" */
    int classes;
    char *facts; /* the lines that start with #: what it was measured on */
} wm_results;

enum { WM_CSV_FIELDS = 32 };

/* Cuts a line at its commas in place; fields in quotes lose them, and hold no quotes themselves. How many. */
int wm_csv_cut(char *line, char *field[WM_CSV_FIELDS]);

/* Adds a file's rows. A row that is no result, or a problem that no longer parses, fails by file and line. */
int wm_results_read(wm_results *results, const char *path);

/* The result of the same problem and class name, or NULL. */
const wm_result *wm_results_find(const wm_results *results, const wm_results *from, const wm_result *row);

/* other / ours, above 1 where ours is faster; 0 if one is missing. */
double wm_result_ratio(const wm_result *row);

void wm_results_free(wm_results *results);

#endif
