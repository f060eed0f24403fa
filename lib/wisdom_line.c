/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a wisdom file (docs/wisdom.md):
 *     w1 CRC entry MACHINE EFFORT PICOSECONDS STAMP SOLVER@VERSION KNOBS PROBLEM...
 *     w1 CRC machine MACHINE TEXT...
 * Fields are separated by one space. Numbers are integers, so that no locale can change them.
 */
#include "crc32c.h"
#include "wisdom.h"
#include <stdio.h>
#include <string.h>

static const char *const efforts[] = {"measure", "exhaustive"};

/* What is left of a line. */
typedef struct reader {
    const char *at, *end;
} reader;

/* The next word, NUL-terminated; 0 if there is none or it is too long. */
static int read_word(reader *r, char *out, size_t room) {
    size_t length = 0;
    while (r->at + length < r->end && r->at[length] != ' ') length++;
    if (length == 0 || length >= room) return 0;
    memcpy(out, r->at, length);
    out[length] = '\0';
    r->at += length;
    if (r->at < r->end) r->at++;
    return 1;
}

static int read_rest(reader *r, char *out, size_t room) {
    size_t length = (size_t)(r->end - r->at);
    if (length == 0 || length >= room) return 0;
    memcpy(out, r->at, length);
    out[length] = '\0';
    return 1;
}

static int read_hex(reader *r, int digits, uint64_t *out) {
    char word[20];
    *out = 0;
    if (!read_word(r, word, sizeof word) || (int)strlen(word) != digits) return 0;
    for (const char *c = word; *c; c++) {
        int value = *c >= '0' && *c <= '9' ? *c - '0' : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10 : -1;
        if (value < 0) return 0;
        *out = *out << 4 | (uint64_t)value;
    }
    return 1;
}

static int parse_number(const char *word, int64_t *out) {
    *out = 0;
    if (!*word) return 0;
    for (; *word; word++) {
        if (*word < '0' || *word > '9' || *out > (INT64_MAX - 9) / 10) return 0;
        *out = *out * 10 + (*word - '0');
    }
    return 1;
}

static int read_number(reader *r, int64_t *out) {
    char word[24];
    return read_word(r, word, sizeof word) && parse_number(word, out);
}

static int read_effort(reader *r, wmEffort *out) {
    char word[16];
    if (!read_word(r, word, sizeof word)) return 0;
    for (int i = 0; i < 2; i++) {
        if (strcmp(word, efforts[i]) == 0) {
            *out = (wmEffort)(WM_MEASURE + i);
            return 1;
        }
    }
    return 0;
}

/* "matmul_tiled@3" */
static int read_solver(reader *r, wm_wise *entry) {
    char word[sizeof entry->solver + 16];
    if (!read_word(r, word, sizeof word)) return 0;
    char *at = strrchr(word, '@');
    int64_t version = 0;
    if (!at || at == word || (size_t)(at - word) >= sizeof entry->solver) return 0;
    if (!parse_number(at + 1, &version) || version > INT32_MAX) return 0;
    *at = '\0';
    memcpy(entry->solver, word, (size_t)(at - word) + 1);
    entry->version = (int)version;
    return 1;
}

static int read_entry(reader *r, wm_wise *entry) {
    int64_t picoseconds = 0;
    memset(entry, 0, sizeof *entry);
    int good = read_hex(r, 16, &entry->machine) && read_effort(r, &entry->effort) && read_number(r, &picoseconds) &&
               read_number(r, &entry->stamp) && read_solver(r, entry) &&
               read_word(r, entry->knobs, sizeof entry->knobs) && read_rest(r, entry->problem, sizeof entry->problem);
    if (strcmp(entry->knobs, "-") == 0) entry->knobs[0] = '\0';
    entry->seconds = 1e-12 * (double)picoseconds;
    return good;
}

static int read_machine(reader *r, wm_machine *machine) {
    memset(machine, 0, sizeof *machine);
    return read_hex(r, 16, &machine->hash) && read_rest(r, machine->text, sizeof machine->text) &&
           wm_hash_text(WM_HASH_START, machine->text) == machine->hash;
}

static int is_printable(const char *line, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (line[i] < 0x20 || line[i] > 0x7e) return 0;
    }
    return 1;
}

/* "w2 ", "w17 ": a later format. */
static int is_newer(const char *line, size_t length) {
    size_t i = 1;
    while (i < length && i < 6 && line[i] >= '0' && line[i] <= '9') i++;
    return line[0] == 'w' && i > 1 && i < length && line[i] == ' ' && line[1] != '0' && !(i == 2 && line[1] == '1');
}

wm_line wm_line_read(const char *line, size_t length, wm_wise *entry, wm_machine *machine) {
    if (length == 0 || line[0] == '#') return WM_LINE_BLANK;
    if (length >= WM_WISDOM_LINE || !is_printable(line, length)) return WM_LINE_BAD;
    if (is_newer(line, length)) return WM_LINE_NEWER;
    reader r = {line, line + length};
    char word[16];
    uint64_t crc = 0;
    if (!read_word(&r, word, sizeof word) || strcmp(word, "w1") != 0 || !read_hex(&r, 8, &crc)) return WM_LINE_BAD;
    if (wm_crc32c(r.at, (size_t)(r.end - r.at)) != crc || !read_word(&r, word, sizeof word)) return WM_LINE_BAD;
    if (strcmp(word, "entry") == 0 && read_entry(&r, entry)) return WM_LINE_ENTRY;
    if (strcmp(word, "machine") == 0 && read_machine(&r, machine)) return WM_LINE_MACHINE;
    return WM_LINE_BAD;
}

static void add_line(wm_text *out, const char *body) {
    wm_text_add(out, "w1 %08x %s\n", (unsigned)wm_crc32c(body, strlen(body)), body);
}

void wm_line_entry(wm_text *out, const wm_wise *entry) {
    char body[WM_WISDOM_LINE];
    snprintf(body, sizeof body, "entry %016llx %s %lld %lld %s@%d %s %s", (unsigned long long)entry->machine,
             efforts[entry->effort == WM_EXHAUSTIVE], (long long)(1e12 * entry->seconds + 0.5), (long long)entry->stamp,
             entry->solver, entry->version, entry->knobs[0] ? entry->knobs : "-", entry->problem);
    add_line(out, body);
}

void wm_line_machine(wm_text *out, const wm_machine *machine) {
    char body[WM_WISDOM_LINE];
    snprintf(body, sizeof body, "machine %016llx %s", (unsigned long long)machine->hash, machine->text);
    add_line(out, body);
}
