/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to text. */
#include "text.h"
#include <stdio.h>
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
