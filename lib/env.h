/* SPDX-License-Identifier: Apache-2.0 */
/* The one door to environment variables. */
#ifndef WM_LIB_ENV_H
#define WM_LIB_ENV_H

#ifdef __cplusplus
extern "C" {
#endif

/** The variable's value; NULL where it is unset, empty, or this process runs with someone else's rights (setuid). */
const char *wm_env(const char *name);

/** The same for a variable whose empty value means something. */
const char *wm_env_even_empty(const char *name);

/** 1 if the variable is set to anything but 0. */
int wm_env_flag(const char *name);

#ifdef __cplusplus
}
#endif

#endif
