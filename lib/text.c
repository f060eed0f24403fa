/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to text. */
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wm_append_list(char *out, size_t room, const char *format, va_list rest) {
    size_t used = strnlen(out, room);
    if (used + 1 < room) vsnprintf(out + used, room - used, format, rest);
}

void wm_append(char *out, size_t room, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    wm_append_list(out, room, format, rest);
    va_end(rest);
}

uint64_t wm_hash_text(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static int reserve(wm_text *text, size_t more) {
    if (text->failed) return 0;
    if (text->length + more < text->capacity) return 1;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity <= text->length + more) capacity *= 2;
    char *grown = (char *)realloc(text->data, capacity);
    if (!grown) {
        text->failed = 1;
        return 0;
    }
    text->data = grown;
    text->capacity = capacity;
    return 1;
}

void wm_text_add_bytes(wm_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void wm_text_add(wm_text *text, const char *format, ...) {
    va_list rest, again;
    va_start(rest, format);
    va_copy(again, rest);
    int length = vsnprintf(NULL, 0, format, rest);
    if (length < 0) {
        text->failed = 1;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(rest);
}

void wm_text_quote(wm_text *text, const char *string) {
    wm_text_add_bytes(text, "\"", 1);
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (*c == '"' || *c == '\\') {
            wm_text_add(text, "\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            wm_text_add(text, "\\u%04x", *c);
        } else {
            wm_text_add_bytes(text, (const char *)c, 1);
        }
    }
    wm_text_add_bytes(text, "\"", 1);
}

void wm_text_number(wm_text *text, double value) {
    char digits[40];
    if (!isfinite(value)) {
        wm_text_add(text, "null");
        return;
    }
    snprintf(digits, sizeof digits, "%.6g", value);
    for (char *c = digits; *c; c++) {
        if (*c == ',') *c = '.'; /* the locale's decimal comma */
    }
    wm_text_add(text, "%s", digits);
}

wmStatus wm_text_give(wm_text *text, char *buffer, size_t capacity, size_t *needed) {
    wmStatus status = WM_OK;
    if (text->failed) {
        status = wm_fail(WM_ERR_MEMORY, "out of host memory");
    } else if (!buffer && capacity) {
        status = wm_fail(WM_ERR_ARGUMENT, "buffer is NULL and capacity is %zu", capacity);
    } else {
        if (needed) *needed = text->length + 1;
        if (capacity) {
            size_t part = text->length < capacity ? text->length : capacity - 1;
            if (part) memcpy(buffer, text->data, part);
            buffer[part] = '\0';
        }
    }
    wm_text_free(text);
    return status;
}

void wm_text_free(wm_text *text) {
    free(text->data);
    *text = (wm_text){NULL, 0, 0, 0};
}
