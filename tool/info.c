/* SPDX-License-Identifier: Apache-2.0 */
/* warpmath info: version, place, device, libraries, solvers, environment. */
#include "commands.h"
#include "options.h"
#include "session.h"

static const wm_flag flags[] = {
    {NULL, WM_FLAG_SWITCH, 0, NULL, NULL},
};

static const wm_syntax syntax = {
    "info [flags]",
    "Says what this machine and this build offer: the device, each library with its version or where it was looked\n"
    "for, the solvers, the wisdom in use, the environment variables in force.\n",
    0,
    0,
    flags,
};

static wmStatus write_info(void *context, wmTextFormat format, char *buffer, size_t capacity, size_t *needed) {
    return wmContextInfo(context, format, buffer, capacity, needed);
}

int wm_command_info(int argc, char **argv) {
    wm_common o = {.json = false};
    wmContext *context = NULL;
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (status) return status;
    status = wm_session_open(&context, o.place);
    if (!status) status = wm_session_print(write_info, context, o.json ? WM_JSON : WM_TEXT, stdout);
    wmContextDestroy(context);
    return status;
}
