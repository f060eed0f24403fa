/* SPDX-License-Identifier: Apache-2.0 */
/* The system's monotonic clock. */
#include "clock.h"
#include <time.h>

static double system_now(void *self) {
    (void)self;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

wm_clock wm_clock_system(void) {
    return (wm_clock){system_now, NULL};
}
