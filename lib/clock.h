/* SPDX-License-Identifier: Apache-2.0 */
/* Time, as a value, so that tests can bring their own. */
#ifndef WM_LIB_CLOCK_H
#define WM_LIB_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_clock {
    double (*now)(void *self); /* seconds since some fixed moment, never backwards */
    void *self;
} wm_clock;

/** The machine's monotonic clock. */
wm_clock wm_clock_system(void);

#ifdef __cplusplus
}
#endif

#endif
