/* SPDX-License-Identifier: Apache-2.0 */
/* The one sentence that a failing command prints. */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

static char sentence[1024];

static void record(const char *format, va_list arguments) {
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    /* File names and file contents may hold anything; a terminal must not obey it. */
    for (char *c = sentence; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
}

int wm_tool_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments);
    va_end(arguments);
    return WM_EXIT_FAILED;
}

int wm_tool_usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(format, arguments);
    va_end(arguments);
    return WM_EXIT_USAGE;
}

const char *wm_tool_error(void) {
    return sentence;
}
