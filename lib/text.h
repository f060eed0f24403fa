/* SPDX-License-Identifier: Apache-2.0 */
/* Text in fixed buffers, and text that grows. */
#ifndef WM_LIB_TEXT_H
#define WM_LIB_TEXT_H

#include "status.h"
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Appends to the text in `out`; what does not fit in `room` bytes (NUL included) is cut off. */
void wm_append(char *out, size_t room, const char *format, ...) WM_PRINTF(3, 4);
void wm_append_list(char *out, size_t room, const char *format, va_list rest);

/** FNV-1a over the text, from WM_HASH_START or from the hash of what came before. */
#define WM_HASH_START 0xcbf29ce484222325u
uint64_t wm_hash_text(uint64_t hash, const char *text);

/** Text that grows. Running out of memory is remembered: later appends do nothing, and wm_text_give says so. */
typedef struct wm_text {
    char *data; /* NUL-terminated once anything was appended */
    size_t length, capacity;
    int failed;
} wm_text;

void wm_text_add(wm_text *text, const char *format, ...) WM_PRINTF(2, 3);
void wm_text_add_bytes(wm_text *text, const char *bytes, size_t length);

/** Appends the string quoted for JSON. */
void wm_text_quote(wm_text *text, const char *string);

/** Appends the number for JSON or CSV, whatever the locale: "null" if it is not finite. */
void wm_text_number(wm_text *text, double value);

/** Hands the text out by the rules of wmContextInfo's buffer, and frees it. */
wmStatus wm_text_give(wm_text *text, char *buffer, size_t capacity, size_t *needed);
void wm_text_free(wm_text *text);

#ifdef __cplusplus
}
#endif

#endif
