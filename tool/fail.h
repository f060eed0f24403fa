/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the tool's parts report failure: they record one sentence and return the exit status. main() prints the
 * sentence, once, so that a failing command says exactly one line.
 */
#ifndef WM_TOOL_FAIL_H
#define WM_TOOL_FAIL_H

/* Exit statuses of the tool. */
enum { WM_EXIT_OK = 0, WM_EXIT_FAILED = 1, WM_EXIT_USAGE = 2 };

/* Records the sentence, control characters made '?', and returns WM_EXIT_FAILED. "%m" is errno's text. */
int wm_tool_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a command line that makes no sense; returns WM_EXIT_USAGE. */
int wm_tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The sentence recorded last; "" if there is none. */
const char *wm_tool_error(void);

#endif
