/* SPDX-License-Identifier: Apache-2.0 */
/* What the demo's plot and the report write alike: text for XML, labels, and a page kept in memory until it is whole.
 */
#ifndef WM_TOOL_SVG_H
#define WM_TOOL_SVG_H

#include <stdio.h>

/* Text with what XML reserves spelt out. */
void wm_svg_text(FILE *to, const char *text);

/* A text element at (x, y); anchor: "start", "middle", "end". */
void wm_svg_label(FILE *to, double x, double y, const char *anchor, const char *class, const char *text);

/* Writes what `put(to, data)` writes to the file, whole or not at all. */
int wm_svg_write(const char *path, void (*put)(FILE *to, const void *data), const void *data);

#endif
