/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's plot: horizontal bars on a logarithmic axis, a panel a unit, as SVG for light and dark pages. */
#ifndef WM_TOOL_PLOT_H
#define WM_TOOL_PLOT_H

typedef struct wm_bar {
    const char *label;
    const char *unit; /* "GFLOP/s"; bars of one unit share a panel */
    double value;     /* ours */
    double reference; /* the CPU reference; 0: none */
} wm_bar;

/* Writes the plot, whole or not at all. */
int wm_plot_write(const char *path, const char *title, const char *subtitle, const wm_bar bars[], int count);

#endif
