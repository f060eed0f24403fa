/* SPDX-License-Identifier: Apache-2.0 */
/* WARPMATH_NVTX=1: a range around each execution, named by its problem, for profilers. */
#ifndef WM_LIB_NVTX_H
#define WM_LIB_NVTX_H

typedef struct wm_nvtx {
    int (*push)(const char *name);
    int (*pop)(void);
} wm_nvtx;

/** The functions of NVTX's library; NULL where they are not asked for or not there. Found once a process. */
const wm_nvtx *wm_nvtx_get(void);

#endif
