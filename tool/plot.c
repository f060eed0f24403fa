/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SVG is written by hand. Colours are classes with a second set for dark pages; text is text, so it can be
 * searched and read aloud; <title> and <desc> say what the picture shows.
 */
#include "plot.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "svg.h"

enum {
    WIDTH = 900,
    LEFT = 330,  /* where the bars begin */
    RIGHT = 820, /* where the axis ends; the rest is for the figures behind the bars */
    TOP = 84,    /* title, subtitle and legend */
    ROW = 40,    /* a pair of bars */
    BAR = 13,
    PANEL_GAP = 64 /* axis labels, the unit and air */
};

static const char style[] = "<style>\n"
                            "  text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #1f2328 }\n"
                            "  .title { font-size: 18px; font-weight: 600 }\n"
                            "  .soft { fill: #59636e; font-size: 12px }\n"
                            "  .page { fill: #ffffff }\n"
                            "  .grid { stroke: #d1d9e0; stroke-width: 1 }\n"
                            "  .ours { fill: #0969da }\n"
                            "  .reference { fill: #8c959f }\n"
                            "  @media (prefers-color-scheme: dark) {\n"
                            "    text { fill: #f0f6fc }\n"
                            "    .soft { fill: #9198a1 }\n"
                            "    .page { fill: #0d1117 }\n"
                            "    .grid { stroke: #3d444d }\n"
                            "    .ours { fill: #4493f8 }\n"
                            "    .reference { fill: #656c76 }\n"
                            "  }\n"
                            "</style>\n";

/* Decades that hold every value of the unit, at least one, with room at the left so that the least bar is seen. */
typedef struct axis {
    const char *unit;
    int low, high;
} axis;

static axis axis_of(const char *unit, const wm_bar bars[], int count) {
    double least = INFINITY;
    double most = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(bars[i].unit, unit) != 0) continue;
        const double values[] = {bars[i].value, bars[i].reference};
        for (int v = 0; v < 2; v++) {
            if (values[v] > 0) least = fmin(least, values[v]);
            if (values[v] > 0) most = fmax(most, values[v]);
        }
    }
    if (!(most > 0)) least = most = 1;
    axis a = {unit, (int)floor(log10(least / 1.5)), (int)ceil(log10(most))};
    if (a.high <= a.low) a.high = a.low + 1;
    return a;
}

static double x_of(const axis *a, double value) {
    double share = (log10(value) - a->low) / (a->high - a->low);
    return LEFT + share * (RIGHT - LEFT);
}

static void put_axis(FILE *to, const axis *a, double top, double bottom) {
    char text[64];
    for (int decade = a->low; decade <= a->high; decade++) {
        double x = x_of(a, pow(10, decade));
        (void)fprintf(to, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, top, x,
                      bottom + 4);
        (void)snprintf(text, sizeof text, "%.*f", decade < 0 ? -decade : 0, pow(10, decade));
        wm_svg_label(to, x, bottom + 19, "middle", "soft", text);
    }
    (void)snprintf(text, sizeof text, "%s (logarithmic)", a->unit);
    wm_svg_label(to, (LEFT + RIGHT) / 2.0, bottom + 37, "middle", "soft", text);
}

static void put_bar(FILE *to, const axis *a, double y, const char *class, double value) {
    char text[32];
    if (!(value > 0)) return;
    double end = x_of(a, value);
    (void)fprintf(to, "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", class, LEFT, y,
                  end - LEFT, BAR);
    (void)snprintf(text, sizeof text, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
    wm_svg_label(to, end + 5, y + BAR - 2, "start", "soft", text);
}

/* One unit's bars and axis; returns where the next panel may begin. */
static double put_panel(FILE *to, const char *unit, const wm_bar bars[], int count, double top) {
    int rows = 0;
    for (int i = 0; i < count; i++) rows += strcmp(bars[i].unit, unit) == 0;
    axis a = axis_of(unit, bars, count);
    double bottom = top + (double)rows * ROW;
    put_axis(to, &a, top, bottom);
    double y = top + 5;
    for (int i = 0; i < count; i++) {
        if (strcmp(bars[i].unit, unit) != 0) continue;
        wm_svg_label(to, LEFT - 10, y + ROW / 2.0 - 1, "end", "label", bars[i].label);
        put_bar(to, &a, y, "ours", bars[i].value);
        put_bar(to, &a, y + BAR + 2, "reference", bars[i].reference);
        y += ROW;
    }
    return bottom + PANEL_GAP;
}

static bool first_of_unit(const wm_bar bars[], int index) {
    for (int i = 0; i < index; i++) {
        if (strcmp(bars[i].unit, bars[index].unit) == 0) return false;
    }
    return true;
}

static void put_legend(FILE *to) {
    static const char *const entries[][2] = {
        {"ours",      "warpmath"     },
        {"reference", "CPU reference"},
    };
    double x = LEFT;
    for (int i = 0; i < 2; i++) {
        (void)fprintf(to, "<rect class=\"%s\" x=\"%.1f\" y=\"60\" width=\"%d\" height=\"%d\"/>\n", entries[i][0], x,
                      BAR, BAR);
        wm_svg_label(to, x + BAR + 6, 71, "start", "label", entries[i][1]);
        x += 110;
    }
}

static void put_plot(FILE *to, const char *title, const char *subtitle, const wm_bar bars[], int count) {
    int panels = 0;
    for (int i = 0; i < count; i++) panels += first_of_unit(bars, i);
    int height = TOP + count * ROW + panels * PANEL_GAP;
    (void)fprintf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                  "role=\"img\">\n<title>",
                  WIDTH, height, WIDTH, height);
    wm_svg_text(to, title);
    (void)fputs("</title>\n<desc>", to);
    for (int i = 0; i < count; i++) {
        wm_svg_text(to, bars[i].label);
        (void)fprintf(to, ": %.3g %s, CPU reference %.3g. ", bars[i].value, bars[i].unit, bars[i].reference);
    }
    (void)fprintf(to, "</desc>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", style, WIDTH, height);
    wm_svg_label(to, 20, 30, "start", "title", title);
    wm_svg_label(to, 20, 50, "start", "soft", subtitle);
    put_legend(to);
    double top = TOP;
    for (int i = 0; i < count; i++) {
        if (first_of_unit(bars, i)) top = put_panel(to, bars[i].unit, bars, count, top);
    }
    (void)fputs("</svg>\n", to);
}

typedef struct page {
    const char *title, *subtitle;
    const wm_bar *bars;
    int count;
} page;

static void put_page(FILE *to, const void *data) {
    const page *p = data;
    put_plot(to, p->title, p->subtitle, p->bars, p->count);
}

int wm_plot_write(const char *path, const char *title, const char *subtitle, const wm_bar bars[], int count) {
    const page p = {title, subtitle, bars, count};
    return wm_svg_write(path, put_page, &p);
}
