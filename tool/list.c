/* SPDX-License-Identifier: Apache-2.0 */
/* Reading lists of problems. */
#include "list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/problem.h"

#include "fail.h"

void wm_list_free(wm_list *list) {
    for (int i = 0; i < list->count; i++) free(list->entry[i].problem);
    free(list->entry);
    *list = (wm_list){NULL, 0, 0};
}

int wm_list_add(wm_list *list, const char *problem, double runs, double seconds) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->entry[i].problem, problem) != 0) continue;
        list->entry[i].runs += runs;
        if (seconds > 0) list->entry[i].seconds = seconds;
        return WM_EXIT_OK;
    }
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 16;
        wm_list_entry *grown = realloc(list->entry, (size_t)capacity * sizeof *grown);
        if (!grown) return wm_tool_fail("out of memory");
        list->entry = grown;
        list->capacity = capacity;
    }
    char *copy = strdup(problem);
    if (!copy) return wm_tool_fail("out of memory");
    list->entry[list->count++] = (wm_list_entry){copy, runs, seconds};
    return WM_EXIT_OK;
}

/* One problem string, checked; `where` is what a complaint begins with. */
static int add_text(wm_list *list, wmPlace place, const char *text, double runs, double seconds, const char *where) {
    wm_problem problem;
    char canonical[WM_PROBLEM_TEXT];
    if (wm_problem_parse(&problem, text, place) != WM_OK) return wm_tool_fail("%s%s", where, wmLastError());
    (void)wm_problem_print(&problem, canonical, sizeof canonical);
    return wm_list_add(list, canonical, runs, seconds);
}

/* "… # cublaslt, measured 1.2e-05 s" */
static double recorded_seconds(const char *line) {
    const char *comment = strchr(line, '#'), *at = comment ? strstr(comment, "measured ") : NULL;
    if (comment && !at) at = strstr(comment, "estimated ");
    return at ? strtod(strchr(at, ' '), NULL) : 0;
}

int wm_list_add_line(wm_list *list, wmPlace place, char *line, const char *where) {
    double runs = 1, seconds = recorded_seconds(line);
    line[strcspn(line, "#\r\n")] = '\0';
    char *at = line + strspn(line, " \t");
    if (isdigit((unsigned char)*at)) runs = strtod(at, &at);
    at += strspn(at, " \t");
    for (size_t n = strlen(at); n > 0 && isspace((unsigned char)at[n - 1]); n--) at[n - 1] = '\0';
    return *at ? add_text(list, place, at, runs, seconds, where) : WM_EXIT_OK;
}

static int add_file(wm_list *list, wmPlace place, const char *path) {
    char *line = NULL;
    char where[300];
    size_t room = 0;
    int status = WM_EXIT_OK;
    FILE *file = fopen(path, "re");
    if (!file) return wm_tool_fail("%s: %m", path);
    for (int number = 1; !status && getline(&line, &room, file) >= 0; number++) {
        (void)snprintf(where, sizeof where, "%s, line %d: ", path, number);
        status = wm_list_add_line(list, place, line, where);
    }
    if (!status && ferror(file)) status = wm_tool_fail("%s: %m", path);
    free(line);
    (void)fclose(file);
    return status;
}

static int most_runs_first(const void *a, const void *b) {
    double x = ((const wm_list_entry *)a)->runs;
    double y = ((const wm_list_entry *)b)->runs;
    return (x < y) - (x > y);
}

void wm_list_sort(wm_list *list) {
    if (list->entry) qsort(list->entry, (size_t)list->count, sizeof *list->entry, most_runs_first);
}

int wm_list_collect(wm_list *list, wmPlace place, const wm_common *words, const char *file) {
    int status = WM_EXIT_OK;
    for (int i = 0; !status && i < words->count; i++) status = add_text(list, place, words->words[i], 1, 0, "");
    if (!status && file) status = add_file(list, place, file);
    if (!status && !list->entry) status = wm_tool_usage("no problem given: name some, or --from a file");
    return status;
}
