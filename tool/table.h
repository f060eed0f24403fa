/* SPDX-License-Identifier: Apache-2.0 */
/* A table for people: columns as wide as their widest cell, numbers to the right. */
#ifndef WM_TOOL_TABLE_H
#define WM_TOOL_TABLE_H

#include <stdio.h>

enum { WM_TABLE_COLUMNS = 12 };

typedef struct wm_table {
    const char *align; /* 'l' or 'r', a letter a column; its length is the number of columns */
    char **rows;       /* cells of a row are separated by tabs; row 0 has the titles */
    int count, capacity;
} wm_table;

/* An empty table. `titles` are separated by tabs. Returns an exit status, as all here. */
int wm_table_begin(wm_table *table, const char *align, const char *titles);

/* Adds a row; cells are separated by tabs. */
int wm_table_add(wm_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void wm_table_print(const wm_table *table, FILE *to);

void wm_table_free(wm_table *table);

#endif
