/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/solver.h"

#include "fail.h"

/* The columns that are read; `needed` ones must be in the header. */
enum { PROBLEM, SOLVER, SECONDS, OTHER, VERDICT, CHOICE, FRACTION, PLACE, COLUMNS };
static const struct {
    const char *names[3]; /* the present one, then those of older files */
    bool needed;
} columns[COLUMNS] = {
    [PROBLEM] = {{"problem"},                              true },
      [SOLVER] = {{"solver"},                               true },
    [SECONDS] = {{"seconds"},                              true },
      [OTHER] = {{"best_other_seconds", "vendor_seconds"}, false},
    [VERDICT] = {{"verdict"},                              false},
      [CHOICE] = {{"choice"},                               false},
    [FRACTION] = {{"fraction"},                             false},
      [PLACE] = {{"place"},                                false},
};

int wm_csv_cut(char *line, char *field[WM_CSV_FIELDS]) {
    int count = 0;
    for (char *at = line; at && count < WM_CSV_FIELDS;) {
        char *end = NULL;
        bool quoted = *at == '"';
        if (quoted) at++;
        field[count++] = at;
        end = quoted ? strchr(at, '"') : at;
        if (quoted && end) *end++ = '\0';
        end = end ? strchr(end, ',') : NULL;
        if (end) *end++ = '\0';
        at = end;
    }
    return count;
}

typedef struct reader {
    wm_results *out;
    const char *path;
    int line;
    int at[COLUMNS]; /* where each column is; -1: not there */
    bool headed;
} reader;

static int read_header(reader *r, char **field, int count) {
    for (int c = 0; c < COLUMNS; c++) {
        r->at[c] = -1;
        for (int i = 0; i < count; i++)
            for (int n = 0; columns[c].names[n]; n++)
                if (strcmp(field[i], columns[c].names[n]) == 0) r->at[c] = i;
        if (r->at[c] < 0 && columns[c].needed)
            return wm_tool_fail("%s, line %d: no column \"%s\"", r->path, r->line, columns[c].names[0]);
    }
    r->headed = true;
    return WM_EXIT_OK;
}

static wm_result *row_of(reader *r, const char *text) {
    wm_results *out = r->out;
    for (int i = out->count - 1; i >= 0 && out->row[i].class == out->classes - 1; i--)
        if (strcmp(out->row[i].text, text) == 0) return &out->row[i];
    if (out->count == out->capacity) {
        int capacity = out->capacity ? 2 * out->capacity : 64;
        wm_result *grown = realloc(out->row, (size_t)capacity * sizeof *grown);
        if (!grown) return NULL;
        out->row = grown;
        out->capacity = capacity;
    }
    wm_result *row = &out->row[out->count];
    memset(row, 0, sizeof *row);
    row->text = strdup(text);
    row->class = out->classes - 1;
    if (!row->text) return NULL;
    out->count++;
    return row;
}

/* Kernels may be of a build with CUDA, and this one without. */
static bool is_kernel(const char *name) {
#define SOLVER(symbol)
#define SOLVER_VENDOR(symbol)
#define SOLVER_KERNEL(symbol) #symbol,
    static const char *const kernels[] = {
#include "lib/solvers.def"
        NULL};
    for (int i = 0; kernels[i]; i++)
        if (strcmp(kernels[i] + strlen("wm_"), name) == 0) return true;
    return false;
}

static bool is_ours(const char *name) {
    int count = 0;
    if (is_kernel(name)) return true;
    const wm_solver *const *solvers = wm_solvers(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(solvers[i]->name, name) == 0) return solvers[i]->origin == WM_OURS;
    return false;
}

/* Rows of ours tell the time of the best other, not who it was: a row of its own does. */
static const char unnamed[] = "best of the others";

static void keep(wm_best *best, const char *solver, double seconds, const char *fraction) {
    bool known = best->seconds > 0;
    if (!(seconds > 0) || (known && best->seconds < seconds)) return;
    if (known && best->seconds == seconds && solver == unnamed) return;
    best->seconds = seconds;
    best->fraction = fraction ? strtod(fraction, NULL) : 0;
    (void)snprintf(best->solver, sizeof best->solver, "%s", solver);
}

static void keep_choice(wm_result *row, const char *choice, double seconds) {
    bool both = strcmp(choice, "both") == 0;
    if (both || strcmp(choice, "measure") == 0) row->tuned = seconds;
    if (both || strcmp(choice, "estimate") == 0) row->guessed = seconds;
}

static int read_row(reader *r, char **field, int count) {
    const char *value[COLUMNS];
    wm_problem problem;
    for (int c = 0; c < COLUMNS; c++) {
        value[c] = r->at[c] < 0 ? NULL : r->at[c] < count ? field[r->at[c]] : "";
        if (columns[c].needed && !(value[c] && *value[c]))
            return wm_tool_fail("%s, line %d: no %s", r->path, r->line, columns[c].names[0]);
    }
    if (wm_problem_parse(&problem, value[PROBLEM], WM_PLACE_GPU) != WM_OK)
        return wm_tool_fail("%s, line %d: %s", r->path, r->line, wmLastError());
    wm_result *row = row_of(r, value[PROBLEM]);
    if (!row) return wm_tool_fail("out of memory");
    row->op = problem.op;
    row->cost = wm_problem_cost(&problem);
    double seconds = strtod(value[SECONDS], NULL);
    if (value[PLACE] && !row->place[0]) (void)snprintf(row->place, sizeof row->place, "%s", value[PLACE]);
    if (value[PLACE] && strcmp(value[PLACE], row->place) != 0) return WM_EXIT_OK;
    bool right = !value[VERDICT] || strcmp(value[VERDICT], "good") == 0 || strcmp(value[VERDICT], "slow") == 0;
    if (right) keep(is_ours(value[SOLVER]) ? &row->ours : &row->other, value[SOLVER], seconds, value[FRACTION]);
    if (right && value[CHOICE]) keep_choice(row, value[CHOICE], seconds);
    if (value[OTHER]) keep(&row->other, unnamed, strtod(value[OTHER], NULL), NULL);
    return WM_EXIT_OK;
}

static int read_line(reader *r, char *line) {
    char *field[WM_CSV_FIELDS];
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '#') {
        size_t length = r->out->facts ? strlen(r->out->facts) : 0;
        char *grown = realloc(r->out->facts, length + strlen(line) + 2);
        if (!grown) return wm_tool_fail("out of memory");
        r->out->facts = grown;
        grown[length] = '\0';
        if (!strstr(grown, line)) (void)sprintf(grown + length, "%s\n", line); // NOLINT: as long as was allocated
        return WM_EXIT_OK;
    }
    int count = line[0] ? wm_csv_cut(line, field) : 0;
    if (count == 0) return WM_EXIT_OK;
    return r->headed ? read_row(r, field, count) : read_header(r, field, count);
}

static int add_class(wm_results *out, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    char **grown = realloc(out->class, (size_t)(out->classes + 1) * sizeof *grown);
    char *copy = strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
    if (grown) out->class = grown;
    if (!grown || !copy) {
        free(copy);
        return wm_tool_fail("out of memory");
    }
    out->class[out->classes++] = copy;
    return WM_EXIT_OK;
}

int wm_results_read(wm_results *results, const char *path) {
    char *line = NULL;
    size_t room = 0;
    reader r = {.out = results, .path = path};
    FILE *file = fopen(path, "re");
    if (!file) return wm_tool_fail("%s: %m", path);
    int status = add_class(results, path);
    while (!status && getline(&line, &room, file) >= 0) {
        r.line++;
        status = read_line(&r, line);
    }
    if (!status && ferror(file)) status = wm_tool_fail("%s: %m", path);
    if (!status && !r.headed) status = wm_tool_fail("%s: no results in it", path);
    free(line);
    (void)fclose(file);
    return status;
}

const wm_result *wm_results_find(const wm_results *results, const wm_results *from, const wm_result *row) {
    for (int i = 0; i < results->count; i++) {
        const wm_result *other = &results->row[i];
        if (strcmp(other->text, row->text) == 0 && strcmp(results->class[other->class], from -> class[row->class]) == 0)
            return other;
    }
    return NULL;
}

double wm_result_ratio(const wm_result *row) {
    return row->ours.seconds > 0 && row->other.seconds > 0 ? row->other.seconds / row->ours.seconds : 0;
}

void wm_results_free(wm_results *results) {
    for (int i = 0; i < results->count; i++) free(results->row[i].text);
    for (int i = 0; i < results->classes; i++) free(results->class[i]);
    free(results->row);
    free(results->class);
    free(results->facts);
    memset(results, 0, sizeof *results);
}
