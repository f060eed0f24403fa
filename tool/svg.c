/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <stdbool.h>
#include <stdlib.h>

#include "fail.h"
#include "output.h"

void wm_svg_text(FILE *to, const char *text) {
    for (; *text; text++) {
        if (*text == '<') {
            (void)fputs("&lt;", to);
        } else if (*text == '>') {
            (void)fputs("&gt;", to);
        } else if (*text == '&') {
            (void)fputs("&amp;", to);
        } else if (*text == '"') {
            (void)fputs("&quot;", to);
        } else {
            (void)fputc(*text, to);
        }
    }
}

void wm_svg_label(FILE *to, double x, double y, const char *anchor, const char *class, const char *text) {
    (void)fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    wm_svg_text(to, text);
    (void)fputs("</text>\n", to);
}

int wm_svg_write(const char *path, void (*put)(FILE *to, const void *data), const void *data) {
    char *text = NULL;
    size_t bytes = 0;
    wm_output out;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return wm_tool_fail("%s: out of memory", path);
    put(to, data);
    bool whole = fclose(to) == 0;
    int status = whole ? wm_output_open(&out, path) : wm_tool_fail("%s: out of memory", path);
    if (!status) {
        status = wm_output_write(&out, text, bytes);
        if (!status) status = wm_output_commit(&out);
        wm_output_discard(&out);
    }
    free(text);
    return status;
}
