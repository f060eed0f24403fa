/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: a command describes its flags in a table; one parser fills a struct of options and prints the help. */
#ifndef WM_TOOL_OPTIONS_H
#define WM_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wm_flag_kind {
    WM_FLAG_SWITCH,   /* bool: given or not */
    WM_FLAG_TEXT,     /* const char *: "--name value" or "--name=value" */
    WM_FLAG_OPTIONAL, /* const char *: "--name" gives "", "--name=value" the value */
    WM_FLAG_NUMBER,   /* double, finite */
    WM_FLAG_UNSIGNED  /* uint64_t, decimal or 0x… */
} wm_flag_kind;

typedef struct wm_flag {
    const char *name; /* "--type"; NULL ends a table */
    wm_flag_kind kind;
    size_t offset; /* of the value in the command's options */
    const char *value, *help;
} wm_flag;

/* What every command takes; the first member of each command's options. */
typedef struct wm_common {
    bool json;
    const char *place; /* NULL: the library's choice */
    char **words;      /* what is no flag, in order */
    int count;
} wm_common;

typedef struct wm_syntax {
    const char *usage; /* "matmul A.npy B.npy -o C.npy [flags]" */
    const char *help;  /* a paragraph */
    int least, most;   /* words; most -1: any number */
    const wm_flag *flags;
} wm_syntax;

/* Printed help and is done: no failure, but nothing else is to be done. */
enum { WM_OPTIONS_HELPED = -1 };

/* Parses the arguments after the command's name into *options, whose first member is a wm_common. Reorders argv. */
int wm_options_parse(const wm_syntax *syntax, int argc, char **argv, void *options);

/* Reads "3,4" or "3x4" into numbers, none negative unless `negative`; fails if there are more than `most`. */
int wm_options_list(const char *flag, const char *text, bool negative, int64_t out[], int most, int *count);

/* Index of the word in a NULL-terminated list; fails with the list in the sentence. */
int wm_options_choice(const char *flag, const char *word, const char *const choices[], int *index);

#endif
