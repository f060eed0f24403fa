/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: each takes the arguments behind its name and gives an exit status (or WM_OPTIONS_HELPED). */
#ifndef WM_TOOL_COMMANDS_H
#define WM_TOOL_COMMANDS_H

int wm_command_matmul(int argc, char **argv);
int wm_command_fft(int argc, char **argv);
int wm_command_random(int argc, char **argv);
int wm_command_info(int argc, char **argv);
int wm_command_plan(int argc, char **argv);
int wm_command_tune(int argc, char **argv);
int wm_command_bench(int argc, char **argv);
int wm_command_replay(int argc, char **argv);
int wm_command_report(int argc, char **argv);
int wm_command_wisdom(int argc, char **argv);
int wm_command_demo(int argc, char **argv);
int wm_command_device_ltoir(int argc, char **argv);

#endif
