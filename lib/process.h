/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is this? Asked at every public call, so that a forked child is told. */
#ifndef WM_LIB_PROCESS_H
#define WM_LIB_PROCESS_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** getpid(), without a system call. */
pid_t wm_process(void);

#ifdef __cplusplus
}
#endif

#endif
