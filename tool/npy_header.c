/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header's grammar: a Python dictionary of exactly three keys, in any order, then spaces and a newline. A parser
 * for this and nothing more: what NumPy evaluates as an expression is here a few tokens.
 */
#include "npy_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

typedef struct cursor {
    const char *path, *begin, *at, *end;
} cursor;

static void skip_spaces(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

/* Takes the character if it comes next, spaces apart. */
static bool take(cursor *c, char wanted) {
    skip_spaces(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static int malformed(const cursor *c, const char *expected) {
    return wm_tool_fail("%s: malformed .npy header: %s expected at its byte %td", c->path, expected, c->at - c->begin);
}

/* A quoted string without escapes; *text points into the header. */
static bool take_string(cursor *c, const char **text, int *length) {
    skip_spaces(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    const char *begin = c->at;
    while (c->at < c->end && *c->at != quote && *c->at != '\\') c->at++;
    if (c->at == c->end || *c->at != quote) return false;
    *text = begin;
    *length = (int)(c->at - begin);
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

/* A number in decimal, without leading zeros; Python 2 wrote an L behind long ones. */
static bool take_number(cursor *c, int64_t *number) {
    skip_spaces(c);
    const char *begin = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c->at - '0', &value)) {
            return false;
        }
    }
    if (c->at == begin || (*begin == '0' && c->at - begin > 1)) return false;
    if (c->at < c->end && *c->at == 'L') c->at++;
    *number = value;
    return true;
}

typedef struct header {
    char dtype[4];
    bool fortran;
    int rank;
    int64_t shape[WM_NPY_RANK];
} header;

/* Why an element type that is not read is not read. */
static int refuse_dtype(const cursor *c, const char *text, int length) {
    static const struct {
        char kind;
        const char *why;
    } known[] = {
        {'O', "holds Python objects"                                                             },
        {'S', "holds byte strings"                                                               },
        {'a', "holds byte strings"                                                               },
        {'U', "holds strings"                                                                    },
        {'M', "holds dates"                                                                      },
        {'m', "holds time spans"                                                                 },
        {'V', "holds raw bytes (of bfloat16, perhaps: save array.view('u2') and use --type bf16)"},
    };
    int shown = length < 40 ? length : 40;
    const char *why = "is none of f2 f4 f8 c8 c16 b1 i1 i2 i4 i8 u1 u2 u4 u8";
    bool ordered = length && strchr("<>|=", text[0]);
    char kind = text[length > 1 && ordered ? 1 : 0];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (length && known[i].kind == kind) why = known[i].why;
    }
    if (length && text[0] == '>') why = "is big-endian; little-endian is read, as array.astype('<…') makes it";
    return wm_tool_fail("%s: element type '%.*s' %s", c->path, shown, text, why);
}

static int parse_descr(cursor *c, header *h) {
    const char *text = NULL;
    int length = 0;
    skip_spaces(c);
    if (c->at < c->end && (*c->at == '[' || *c->at == '(')) {
        int shown = c->end - c->at < 40 ? (int)(c->end - c->at) : 40;
        return wm_tool_fail("%s: structured element type %.*s…; arrays of plain numbers are read", c->path, shown,
                            c->at);
    }
    if (!take_string(c, &text, &length)) return malformed(c, "a quoted element type");
    wm_npy probe;
    /* One-byte elements have no order and are marked '|'; all others must say that they are little-endian. */
    if (length >= 3 && length <= 4) {
        memcpy(h->dtype, text + 1, (size_t)length - 1);
        h->dtype[length - 1] = 0;
        bool bytes = strcmp(h->dtype + 1, "1") == 0;
        bool known = wm_npy_describe(&probe, c->path, h->dtype, 0, NULL) == WM_EXIT_OK;
        if (known && (text[0] == '<' || (text[0] == '|' && bytes))) return WM_EXIT_OK;
    }
    return refuse_dtype(c, text, length);
}

static int parse_fortran(cursor *c, header *h) {
    h->fortran = take_word(c, "True");
    if (h->fortran || take_word(c, "False")) return WM_EXIT_OK;
    return malformed(c, "True or False");
}

static int parse_shape(cursor *c, header *h) {
    if (!take(c, '(')) return malformed(c, "'('");
    bool comma = true;
    while (!take(c, ')')) {
        if (!comma) return malformed(c, "',' or ')'");
        if (h->rank == WM_NPY_RANK) return malformed(c, "a shape of at most 64 dimensions");
        if (!take_number(c, &h->shape[h->rank])) return malformed(c, "a dimension between 0 and 2^63 - 1");
        h->rank++;
        comma = take(c, ',');
    }
    /* In Python, (3) is a number; only (3,) is a tuple. */
    if (h->rank == 1 && !comma) return malformed(c, "',' after the only dimension");
    return WM_EXIT_OK;
}

static const struct {
    const char *name;
    int (*parse)(cursor *, header *);
} keys[] = {
    {"descr",         parse_descr  },
    {"fortran_order", parse_fortran},
    {"shape",         parse_shape  },
};
enum { KEYS = sizeof keys / sizeof *keys };

/* One `'key': value`; marks the key as seen. */
static int parse_entry(cursor *c, header *h, bool seen[KEYS]) {
    const char *name = NULL;
    int length = 0;
    int key = 0;
    if (!take_string(c, &name, &length)) return malformed(c, "a quoted key");
    while (key < KEYS &&
           !((int)strlen(keys[key].name) == length && memcmp(keys[key].name, name, (size_t)length) == 0)) {
        key++;
    }
    int shown = length < 40 ? length : 40;
    if (key == KEYS) return wm_tool_fail("%s: malformed .npy header: unknown key '%.*s'", c->path, shown, name);
    if (seen[key]) return wm_tool_fail("%s: malformed .npy header: key '%s' twice", c->path, keys[key].name);
    seen[key] = true;
    if (!take(c, ':')) return malformed(c, "':'");
    return keys[key].parse(c, h);
}

int wm_npy_parse(const char *path, const char *text, size_t bytes, wm_npy *out) {
    cursor c = {path, text, text, text + bytes};
    header h = {{0}, false, 0, {0}};
    bool seen[KEYS] = {false};
    bool comma = true;
    if (!take(&c, '{')) return malformed(&c, "'{'");
    while (!take(&c, '}')) {
        if (!comma) return malformed(&c, "',' or '}'");
        int status = parse_entry(&c, &h, seen);
        if (status) return status;
        comma = take(&c, ',');
    }
    for (int i = 0; i < KEYS; i++) {
        if (!seen[i]) return wm_tool_fail("%s: malformed .npy header: key '%s' is missing", path, keys[i].name);
    }
    skip_spaces(&c);
    if (c.at != c.end || c.end[-1] != '\n') return malformed(&c, "spaces and a newline at the end");
    int status = wm_npy_describe(out, path, h.dtype, h.rank, h.shape);
    out->fortran = h.fortran;
    return status;
}

size_t wm_npy_format(const wm_npy *array, char *to, size_t capacity) {
    char order = array->item == 1 ? '|' : '<';
    int length = snprintf(to, capacity, "{'descr': '%c%c%d', 'fortran_order': %s, 'shape': (", order, array->kind,
                          array->item, array->fortran ? "True" : "False");
    size_t used = (size_t)length;
    for (int i = 0; i < array->rank && used < capacity; i++) {
        const char *separator = i + 1 < array->rank ? ", " : (array->rank == 1 ? "," : "");
        length = snprintf(to + used, capacity - used, "%" PRId64 "%s", array->shape[i], separator);
        used += (size_t)length;
    }
    if (used >= capacity) return capacity + 1;
    length = snprintf(to + used, capacity - used, "), }");
    used += (size_t)length;
    return used >= capacity ? capacity + 1 : used;
}
