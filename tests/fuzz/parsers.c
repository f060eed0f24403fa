/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every parser of text that we did not write, for libFuzzer and for replay.c. The first byte chooses: a problem string,
 * a wisdom line, a wisdom line whose checksum is put right, a wisdom file, a list or trace line, a .npy header. What is
 * taken must come out as it went in.
 */
#include "lib/crc32c.h"
#include "lib/fields.h"
#include "lib/wisdom.h"
#include "tool/list.h"
#include "tool/npy_header.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition, const char *what) {
    if (condition) return;
    (void)fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* Printing is canonical: what is printed parses to the same problem and prints the same. */
static void try_problem(const char *text) {
    for (wmPlace place = WM_PLACE_GPU; place <= WM_PLACE_CPU; place++) {
        wm_problem problem, again;
        char printed[WM_PROBLEM_TEXT], twice[WM_PROBLEM_TEXT];
        if (wm_problem_parse(&problem, text, place) != WM_OK) continue;
        size_t length = wm_problem_print(&problem, printed, sizeof printed);
        if (length >= sizeof printed) continue;
        need(wm_problem_parse(&again, printed, place) == WM_OK, "a printed problem does not parse");
        need(wm_problem_equal(&problem, &again), "a printed problem is another one");
        (void)wm_problem_print(&again, twice, sizeof twice);
        need(strcmp(printed, twice) == 0, "a problem prints in two ways");
        need(wm_problem_hash(&problem) == wm_problem_hash(&again), "equal problems hash apart");
    }
}

static void try_line(const char *line, size_t length) {
    wm_wise entry, again;
    wm_machine machine, twin;
    wm_text text = {0};
    wm_line kind = wm_line_read(line, length, &entry, &machine);
    if (kind == WM_LINE_ENTRY) wm_line_entry(&text, &entry);
    if (kind == WM_LINE_MACHINE) wm_line_machine(&text, &machine);
    if (text.length) {
        need(wm_line_read(text.data, text.length - 1, &again, &twin) == kind, "a printed line does not parse");
        if (kind == WM_LINE_ENTRY) {
            need(strcmp(entry.problem, again.problem) == 0 && strcmp(entry.knobs, again.knobs) == 0, "another entry");
        }
    }
    wm_text_free(&text);
}

static void try_body(const char *body, size_t length) {
    char line[WM_WISDOM_LINE + 64];
    if (length > WM_WISDOM_LINE) return;
    int head = snprintf(line, sizeof line, "w1 %08x ", (unsigned)wm_crc32c(body, length));
    memcpy(line + head, body, length);
    try_line(line, (size_t)head + length);
}

static void try_file(const char *data, size_t bytes) {
    wm_wise_set set = {0}, again = {0};
    wm_text newer = {0}, printed = {0};
    wmWisdomCount count = {0, 0, 0}, recount = {0, 0, 0};
    need(wm_set_parse(&set, data, bytes, &newer, &count, NULL, NULL) == WM_OK, "a wisdom file fails as a whole");
    wm_set_print(&set, &printed);
    if (printed.length) {
        need(wm_set_parse(&again, printed.data, printed.length, NULL, &recount, NULL, NULL) == WM_OK, "its own print");
    }
    need(recount.skipped == 0 && again.count == set.count, "a printed file has other entries");
    wm_set_clear(&set);
    wm_set_clear(&again);
    wm_text_free(&newer);
    wm_text_free(&printed);
}

static void try_list(char *line) {
    wm_list list = {NULL, 0, 0};
    (void)wm_list_add_line(&list, WM_PLACE_GPU, line, "fuzz, line 1: ");
    wm_list_free(&list);
}

static void try_npy(const char *text, size_t bytes) {
    wm_npy array = {0}, again = {0};
    char printed[WM_NPY_HEADER];
    if (wm_npy_parse("fuzz", text, bytes, &array) != 0) return;
    size_t length = wm_npy_format(&array, printed, sizeof printed - 1);
    if (length >= sizeof printed - 1) return;
    printed[length] = '\n';
    need(wm_npy_parse("fuzz", printed, length + 1, &again) == 0, "a printed .npy header does not parse");
    need(again.rank == array.rank && again.count == array.count && again.kind == array.kind, "another .npy header");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    char *text = (char *)malloc(size); /* of exactly that size: a byte read behind it is found */
    if (!text) return 0;
    size_t length = size - 1;
    memcpy(text, data + 1, length);
    text[length] = '\0';
    switch (data[0] % 6) {
    case 0:
        try_problem(text);
        break;
    case 1:
        try_line(text, length);
        break;
    case 2:
        try_body(text, length);
        break;
    case 3:
        try_file(text, length);
        break;
    case 4:
        try_list(text);
        break;
    default:
        try_npy(text, length);
    }
    free(text);
    return 0;
}
