/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this folder share: a solver by its name, the median of a few runs by events. */
#ifndef WM_PERF_PROBE_H
#define WM_PERF_PROBE_H

#include "lib/gpu.h"
#include "lib/solver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** NULL: this build has none of that name. */
static inline const wm_solver *probe_solver(const char *name) {
    int count = 0;
    const wm_solver *const *all = wm_solvers(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

enum { PROBE_REPEATS = 5, PROBE_WARM = 2 };

static inline int probe_by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/** Median seconds of what `run` enqueues on the stream; 1e9, and a line that says why, where it fails. */
static inline double probe_median(const wm_gpu *gpu, wmStream stream, wmStatus (*run)(const void *user),
                                  const void *user) {
    double seconds[PROBE_REPEATS] = {0};
    wm_event from, to;
    gpu->event_create(gpu->self, &from);
    gpu->event_create(gpu->self, &to);
    for (int i = -PROBE_WARM; i < PROBE_REPEATS; i++) {
        gpu->event_record(gpu->self, from, stream);
        if (run(user) != WM_OK) {
            printf("  failed: %s\n", wmLastError());
            return 1e9;
        }
        gpu->event_record(gpu->self, to, stream);
        gpu->event_wait(gpu->self, to);
        if (i >= 0) gpu->event_seconds(gpu->self, from, to, &seconds[i]);
    }
    gpu->event_destroy(gpu->self, from);
    gpu->event_destroy(gpu->self, to);
    qsort(seconds, PROBE_REPEATS, sizeof *seconds, probe_by_value);
    return seconds[PROBE_REPEATS / 2];
}

/** A solver and its run, for probe_median. */
typedef struct probe_run {
    const wm_solver *solver;
    wm_run run;
} probe_run;

static inline wmStatus probe_run_solver(const void *user) {
    const probe_run *r = (const probe_run *)user;
    return r->solver->run(&r->run);
}

#endif
