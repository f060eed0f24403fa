/* SPDX-License-Identifier: Apache-2.0 */
/* The warpmath command: a table of commands, and the one place that prints an error. */
#include <stdio.h>
#include <string.h>

#include <warpmath/types.h>

#include "commands.h"
#include "fail.h"
#include "options.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"matmul",       wm_command_matmul,       "multiply two .npy files"                           },
    {"fft",          wm_command_fft,          "Fourier-transform a .npy file"                     },
    {"random",       wm_command_random,       "write a .npy file of random numbers"               },
    {"demo",         wm_command_demo,         "compute, check and time examples of everything"    },
    {"info",         wm_command_info,         "what this machine and this build offer"            },
    {"plan",         wm_command_plan,         "explain how a problem would be solved"             },
    {"tune",         wm_command_tune,         "measure a list of problems, keep the winners"      },
    {"replay",       wm_command_replay,       "run what a trace recorded, and compare the times"  },
    {"bench",        wm_command_bench,        "time and check every solver of a problem"          },
    {"report",       wm_command_report,       "an HTML page of what bench measured"               },
    {"wisdom",       wm_command_wisdom,       "show, merge or forget what tuning has found"       },
    {"device-ltoir", wm_command_device_ltoir, "device functions for Numba, CuPy and other linkers"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to) {
    (void)fputs("usage: warpmath COMMAND …        warpmath COMMAND -h explains one\n\n", to);
    for (int i = 0; i < COMMANDS; i++) (void)fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].help);
    (void)fputs("\nExit status: 0 done, 1 failed, 2 the command line makes no sense.\n", to);
}

static int run(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return WM_EXIT_OK;
    }
    if (strcmp(name, "--version") == 0) {
        int version = wmVersion();
        printf("warpmath %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
        return WM_EXIT_OK;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc - 2, argv + 2);
    }
    if (!*name) return wm_tool_usage("no command given; warpmath -h lists them");
    return wm_tool_usage("unknown command '%s'; warpmath -h lists them", name);
}

int main(int argc, char **argv) {
    int status = run(argc, argv);
    if (status == WM_OPTIONS_HELPED) status = WM_EXIT_OK;
    /* A full disk or a closed pipe behind stdout is found here at the latest. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && !status) status = wm_tool_fail("stdout: writing failed: %m");
    if (status) (void)fprintf(stderr, "warpmath: %s\n", wm_tool_error());
    return status;
}
