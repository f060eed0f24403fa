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

#ifdef __cplusplus
}
#endif

#endif
