/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom that ships with the library: winners measured on machines that many have (perf/ship makes the table). */
#ifndef WM_LIB_SHIPPED_H
#define WM_LIB_SHIPPED_H

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_shipped {
    const char *problem, *solver, *knobs;
    int version;
    float microseconds;
} wm_shipped;

/** What won the problem on such a device, under whatever driver; NULL if that is not known. */
const wm_shipped *wm_shipped_find(const wm_device *device, const char *problem);

/** How many problems are known for such a device. */
int wm_shipped_count(const wm_device *device);

#ifdef __cplusplus
}
#endif

#endif
