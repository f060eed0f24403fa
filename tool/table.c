/* SPDX-License-Identifier: Apache-2.0 */
/* Prints aligned tables. */
#include "table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

static int append(wm_table *table, char *row) {
    if (table->count == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 16;
        char **rows = realloc(table->rows, (size_t)capacity * sizeof *rows);
        if (!rows) {
            free(row);
            return wm_tool_fail("out of memory for a table of %d rows", capacity);
        }
        table->rows = rows;
        table->capacity = capacity;
    }
    table->rows[table->count++] = row;
    return WM_EXIT_OK;
}

int wm_table_begin(wm_table *table, const char *align, const char *titles) {
    memset(table, 0, sizeof *table);
    table->align = align;
    char *row = strdup(titles);
    return row ? append(table, row) : wm_tool_fail("out of memory for a table");
}

int wm_table_add(wm_table *table, const char *format, ...) {
    va_list arguments;
    char *row = NULL;
    va_start(arguments, format);
    int length = vasprintf(&row, format, arguments);
    va_end(arguments);
    return length < 0 ? wm_tool_fail("out of memory for a table") : append(table, row);
}

/* Characters of UTF-8 text: every byte but continuation bytes. All that we print is one column wide. */
static int width(const char *text, size_t bytes) {
    int count = 0;
    for (size_t i = 0; i < bytes; i++) count += (text[i] & 0xc0) != 0x80;
    return count;
}

static void print_cell(FILE *to, const char *cell, size_t bytes, int columns, char align) {
    int pad = columns - width(cell, bytes);
    (void)fprintf(to, "%*s%.*s%*s", align == 'r' ? pad : 0, "", (int)bytes, cell, align == 'r' ? 0 : pad, "");
}

void wm_table_print(const wm_table *table, FILE *to) {
    int widths[WM_TABLE_COLUMNS] = {0};
    int columns = (int)strlen(table->align);
    for (int r = 0; r < table->count; r++) {
        const char *cell = table->rows[r];
        for (int c = 0; c < columns; c++) {
            size_t bytes = strcspn(cell, "\t");
            if (width(cell, bytes) > widths[c]) widths[c] = width(cell, bytes);
            cell += bytes + (cell[bytes] == '\t');
        }
    }
    for (int r = 0; r < table->count; r++) {
        const char *cell = table->rows[r];
        for (int c = 0; c < columns; c++) {
            size_t bytes = strcspn(cell, "\t");
            /* The last column, if of words, needs no blanks behind it. */
            bool last = c + 1 == columns && table->align[c] == 'l';
            print_cell(to, cell, bytes, last ? width(cell, bytes) : widths[c], table->align[c]);
            (void)fputs(c + 1 < columns ? "  " : "\n", to);
            cell += bytes + (cell[bytes] == '\t');
        }
    }
}

void wm_table_free(wm_table *table) {
    for (int r = 0; r < table->count; r++) free(table->rows[r]);
    free(table->rows);
    memset(table, 0, sizeof *table);
}
