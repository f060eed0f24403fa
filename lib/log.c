/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: to the caller's function, or to stderr where WARPMATH_LOG asks for them. */
#include "context_internal.h"
#include <stdarg.h>
#include <stdio.h>

void wm_log(wmContext *context, wmLogLevel level, const char *format, ...) {
    if (!context || level > context->log_level) return;
    char line[1024];
    va_list rest;
    va_start(rest, format);
    vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    if (context->log) {
        context->log(context->log_user, level, line);
    } else {
        fprintf(stderr, "warpmath: %s\n", line);
    }
}
