/* SPDX-License-Identifier: Apache-2.0 */
/* Times and rates for people. */
#include "measured.h"

#include <stdio.h>

bool wm_measured_is_right(const wm_candidate *row) {
    return (row->verdict == WM_GOOD || row->verdict == WM_SLOW) && row->seconds > 0;
}

/* Three significant digits or more, in the unit that fits. */
static void print_time(double seconds, char *out, size_t capacity) {
    if (seconds < 1e-3) {
        (void)snprintf(out, capacity, "%.2f µs", 1e6 * seconds);
    } else if (seconds < 1) {
        (void)snprintf(out, capacity, "%.2f ms", 1e3 * seconds);
    } else {
        (void)snprintf(out, capacity, "%.2f s", seconds);
    }
}

wm_measured wm_measured_of(const wm_problem *problem, const wm_candidate *row) {
    wm_measured m = {.knobs = "", .time = "", .rate = 0, .unit = "GB/s", .rate_text = ""};
    wm_cost cost = wm_problem_cost(problem);
    wm_knobs_print(row->solver, &row->offer, m.knobs, sizeof m.knobs);
    if (cost.flops > 0) m.unit = "GFLOP/s";
    if (!wm_measured_is_right(row)) return m;
    print_time(row->seconds, m.time, sizeof m.time);
    m.rate = 1e-9 * (cost.flops > 0 ? cost.flops : cost.bytes) / row->seconds;
    (void)snprintf(m.rate_text, sizeof m.rate_text, "%.*f %s", m.rate < 10 ? 2 : m.rate < 1000 ? 1 : 0, m.rate, m.unit);
    return m;
}
