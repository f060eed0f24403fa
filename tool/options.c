/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of command lines. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

// clang-format off
static const wm_flag common_flags[] = {
    {"--json",  WM_FLAG_SWITCH, offsetof(wm_common, json),  "",        "print JSON instead of text"},
    {"--place", WM_FLAG_TEXT,   offsetof(wm_common, place), "cpu|gpu", "where to compute; default: a GPU if there is one"},
    {NULL,      WM_FLAG_SWITCH, 0,                          NULL,      NULL},
};
// clang-format on

static void print_flags(const wm_flag *flag) {
    for (; flag->name; flag++) {
        const char *separator = flag->kind == WM_FLAG_OPTIONAL ? "=" : " ";
        char left[64];
        (void)snprintf(left, sizeof left, "%s%s%s", flag->name, *flag->value ? separator : "", flag->value);
        printf("  %-26s %s\n", left, flag->help);
    }
}

static int print_help(const wm_syntax *syntax) {
    printf("usage: warpmath %s\n\n%s\n", syntax->usage, syntax->help);
    print_flags(syntax->flags);
    print_flags(common_flags);
    printf("  %-26s %s\n", "-h, --help", "this text");
    return WM_OPTIONS_HELPED;
}

static const wm_flag *find_in(const wm_flag *flag, const char *name, size_t length) {
    for (; flag->name; flag++) {
        if (strlen(flag->name) == length && memcmp(flag->name, name, length) == 0) return flag;
    }
    return NULL;
}

static int set_number(const wm_flag *flag, const char *text, double *to) {
    char *end = NULL;
    *to = strtod(text, &end);
    if (end == text || *end || !isfinite(*to)) return wm_tool_usage("%s: '%s' is no finite number", flag->name, text);
    return WM_EXIT_OK;
}

static int set_unsigned(const wm_flag *flag, const char *text, uint64_t *to) {
    char *end = NULL;
    int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    /* strtoull() takes a sign and blanks; we do not. */
    if (*text < '0' || *text > '9' || end == text || *end || errno) {
        return wm_tool_usage("%s: '%s' is no number from 0 to 2^64 - 1", flag->name, text);
    }
    *to = value;
    return WM_EXIT_OK;
}

static int set(const wm_flag *flag, const char *text, void *options) {
    void *to = (char *)options + flag->offset;
    switch (flag->kind) {
    case WM_FLAG_SWITCH:
        *(bool *)to = true;
        return WM_EXIT_OK;
    case WM_FLAG_TEXT:
    case WM_FLAG_OPTIONAL:
        *(const char **)to = text;
        return WM_EXIT_OK;
    case WM_FLAG_NUMBER:
        return set_number(flag, text, to);
    case WM_FLAG_UNSIGNED:
        return set_unsigned(flag, text, to);
    }
    return WM_EXIT_OK;
}

/* Parses argv[*at], a flag, and its value; moves *at past what it took. */
static int take_flag(const wm_syntax *syntax, int argc, char **argv, int *at, void *options) {
    const char *word = argv[(*at)++];
    size_t length = strcspn(word, "=");
    const char *text = word[length] ? word + length + 1 : NULL;
    const wm_flag *flag = find_in(syntax->flags, word, length);
    if (!flag) flag = find_in(common_flags, word, length);
    if (!flag)
        return wm_tool_usage("unknown flag '%s'; see warpmath %.*s -h", word, (int)strcspn(syntax->usage, " "),
                             syntax->usage);
    if (flag->kind == WM_FLAG_SWITCH && text) return wm_tool_usage("%s takes no value", flag->name);
    if (!text && (flag->kind == WM_FLAG_SWITCH || flag->kind == WM_FLAG_OPTIONAL)) text = "";
    if (!text) {
        if (*at == argc) return wm_tool_usage("%s wants a value: %s", flag->name, flag->value);
        text = argv[(*at)++];
    }
    return set(flag, text, options);
}

int wm_options_parse(const wm_syntax *syntax, int argc, char **argv, void *options) {
    wm_common *common = options;
    bool flags_end = false;
    int words = 0;
    for (int at = 0; at < argc;) {
        const char *word = argv[at];
        if (!flags_end && (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)) return print_help(syntax);
        if (!flags_end && strcmp(word, "--") == 0) {
            flags_end = true;
            at++;
        } else if (!flags_end && word[0] == '-' && word[1]) {
            int status = take_flag(syntax, argc, argv, &at, options);
            if (status) return status;
        } else {
            argv[words++] = argv[at++];
        }
    }
    common->words = argv;
    common->count = words;
    if (words < syntax->least || (syntax->most >= 0 && words > syntax->most)) {
        return wm_tool_usage("too %s arguments; usage: warpmath %s", words < syntax->least ? "few" : "many",
                             syntax->usage);
    }
    return WM_EXIT_OK;
}

int wm_options_list(const char *flag, const char *text, bool negative, int64_t out[], int most, int *count) {
    *count = 0;
    for (const char *at = text;; at++) {
        char *end = NULL;
        errno = 0;
        long long value = strtoll(at, &end, 10);
        bool digit = (*at >= '0' && *at <= '9') || (negative && *at == '-');
        if (!digit || end == at || errno || (*end && *end != ',' && *end != 'x')) {
            return wm_tool_usage("%s: '%s' is no list of whole numbers like 3,4", flag, text);
        }
        if (*count == most) return wm_tool_usage("%s: '%s' has more than %d numbers", flag, text, most);
        out[(*count)++] = value;
        at = end;
        if (!*at) return WM_EXIT_OK;
    }
}

int wm_options_choice(const char *flag, const char *word, const char *const choices[], int *index) {
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], word) == 0) {
            *index = i;
            return WM_EXIT_OK;
        }
        if (used < sizeof list) used += (size_t)snprintf(list + used, sizeof list - used, " %s", choices[i]);
    }
    return wm_tool_usage("%s: '%s' is none of%s", flag, word, list);
}
