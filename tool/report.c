/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpmath report: results of the benchmark as one HTML file, with SVG and without JavaScript or anything to fetch.
 * Charts are text and shapes with titles, so that they can be searched, and read where there is no picture.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fail.h"
#include "options.h"
#include "results.h"
#include "svg.h"

typedef struct options {
    wm_common common;
    const char *out;
    const char *against;
} options;

// clang-format off
static const wm_flag flags[] = {
    {"-o",        WM_FLAG_TEXT,   offsetof(options, out),     "FILE", "the HTML file; default report.html"},
    {"--against", WM_FLAG_TEXT,   offsetof(options, against), "FOLDER", "an earlier run's files of the same names: what moved"},
    {NULL,        WM_FLAG_SWITCH, 0,                          NULL,   NULL},
};
// clang-format on

static const wm_syntax syntax = {
    "report RESULTS.csv… [-o FILE] [--against FOLDER]",
    "Writes an HTML page of what `warpmath bench --csv` measured (perf/record makes such files): summary, ratios to "
    "the\n"
    "best of the others by class, rooflines, transforms by length, random numbers, and what moved since an earlier "
    "run.\n",
    1,
    -1,
    flags,
};

enum {
    WIDTH = 920,
    LEFT = 360,
    RIGHT = 840,
    ROW = 18,
    PLOT_LEFT = 70,
    PLOT_TOP = 16,
    PLOT_HEIGHT = 320,
    MOVED_PERCENT = 3
};

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>warpmath: results</title>\n<style>\n"
    ":root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --page: #ffffff;"
    " --ours: #0969da; --other: #8c959f; --behind: #bc4c00 }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --page: #0d1117;"
    " --ours: #4493f8; --other: #656c76; --behind: #db6d28 } }\n"
    "body { font: 15px/1.5 system-ui, 'DejaVu Sans', sans-serif; color: var(--ink); background: var(--page);"
    " max-width: 960px; margin: 2em auto; padding: 0 1em }\n"
    "pre { color: var(--soft); font-size: 12px; white-space: pre-wrap }\n"
    "table { border-collapse: collapse; font-size: 13px } td, th { padding: 3px 10px; text-align: right;"
    " border-bottom: 1px solid var(--line) }\n"
    "td:first-child, th:first-child, td.text { text-align: left }\n"
    "svg { max-width: 100%; height: auto } svg text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: "
    "var(--ink) }\n"
    "svg .soft { fill: var(--soft); font-size: 11px } svg .grid { stroke: var(--line) } svg .one { stroke: var(--ink) "
    "}\n"
    "svg .ours { fill: var(--ours) } svg .behind { fill: var(--behind) } svg .other { fill: none;"
    " stroke: var(--other); stroke-width: 1.5 } svg .roof { stroke: var(--soft); stroke-dasharray: 5 4; fill: none }\n"
    "</style>\n</head>\n<body>\n<h1>warpmath: results</h1>\n";

/* ---- Shapes ---- */

static void put_line(FILE *to, const char *class, double x1, double y1, double x2, double y2) {
    (void)fprintf(to, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

static void open_svg(FILE *to, double height, const char *title) {
    (void)fprintf(to, "<svg role=\"img\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\"><title>", WIDTH, height,
                  WIDTH, height);
    wm_svg_text(to, title);
    (void)fputs("</title>\n", to);
}

/* ---- Summary: a row a class ---- */

static void put_summary(FILE *to, const wm_results *r) {
    (void)fputs("<h2>Against the best of the others</h2>\n<table>\n<tr><th>class<th>problems<th>ours and another"
                "<th>geometric mean<th>at 0.98 or better<th>worst<th>where</tr>\n",
                to);
    for (int class = 0; class < r->classes; class ++) {
        int all = 0, both = 0, held = 0;
        double logs = 0, worst = INFINITY;
        const char *where = "";
        for (int i = 0; i < r->count; i++) {
            double ratio = wm_result_ratio(&r->row[i]);
            if (r->row[i].class != class) continue;
            all++;
            if (ratio <= 0) continue;
            both++;
            held += ratio >= 0.98;
            logs += log(ratio);
            if (ratio < worst) worst = ratio, where = r->row[i].text;
        }
        (void)fputs("<tr><td>", to);
        wm_svg_text(to, r->class[class]);
        (void)fprintf(to, "<td>%d<td>%d", all, both);
        if (both) {
            (void)fprintf(to, "<td>%.3f<td>%d<td>%.3f<td class=\"text\">", exp(logs / both), held, worst);
            wm_svg_text(to, where);
        } else {
            (void)fputs("<td><td><td><td>", to);
        }
        (void)fputs("</tr>\n", to);
    }
    (void)fputs("</table>\n<p>Ratios of times, other / ours: above 1 ours is faster.</p>\n", to);
}

/* How planning chose, where the files tell: by measuring against the best of the others, by estimate against the best.
 */
static void put_choices(FILE *to, const wm_results *r) {
    bool begun = false;
    for (int class = 0; class < r->classes; class ++) {
        int tuned = 0, guessed = 0, near = 0;
        double tuned_logs = 0, guessed_logs = 0;
        for (int i = 0; i < r->count; i++) {
            const wm_result *row = &r->row[i];
            if (row->class != class) continue;
            double best = fmin(row->ours.seconds > 0 ? row->ours.seconds : INFINITY,
                               row->other.seconds > 0 ? row->other.seconds : INFINITY);
            if (row->tuned > 0 && row->other.seconds > 0) tuned++, tuned_logs += log(row->other.seconds / row->tuned);
            if (!(row->guessed > 0) || isinf(best)) continue;
            guessed++;
            near += row->guessed <= 1.05 * best;
            guessed_logs += log(row->guessed / best);
        }
        if (!tuned && !guessed) continue;
        if (!begun)
            (void)fputs("<h2>How planning chose</h2>\n<table>\n<tr><th>class<th>tuned<th>others / tuned<th>estimated"
                        "<th>within 5 % of the best<th>estimated / best</tr>\n",
                        to);
        begun = true;
        (void)fputs("<tr><td>", to);
        wm_svg_text(to, r->class[class]);
        (void)fprintf(to, "<td>%d<td>%.3f<td>%d<td>%.3f<td>%.3f</tr>\n", tuned, exp(tuned_logs / fmax(tuned, 1)),
                      guessed, near / fmax(guessed, 1), exp(guessed_logs / fmax(guessed, 1)));
    }
    if (begun) (void)fputs("</table>\n<p>Geometric means of ratios of times.</p>\n", to);
}

/* ---- Ratios: a bar a problem, from 1 to the left or the right ---- */

static void put_ratios(FILE *to, const wm_results *r, int class) {
    double most = 2;
    int rows = 0;
    char text[96];
    for (int i = 0; i < r->count; i++) {
        double ratio = r->row[i].class == class ? wm_result_ratio(&r->row[i]) : 0;
        if (ratio <= 0) continue;
        rows++;
        most = fmax(most, fmax(ratio, 1 / ratio));
    }
    if (!rows) return;
    double scale = (RIGHT - LEFT) / 2.0 / log(most), middle = (LEFT + RIGHT) / 2.0, y = 8;
    (void)fputs("<h3>", to);
    wm_svg_text(to, r->class[class]);
    (void)fputs("</h3>\n", to);
    open_svg(to, rows * ROW + 40, "Ratio of times to the best of the others, logarithmic");
    for (int i = 0; i < r->count; i++) {
        const wm_result *row = &r->row[i];
        double ratio = row->class == class ? wm_result_ratio(row) : 0;
        if (ratio <= 0) continue;
        double end = middle + scale * log(ratio);
        wm_svg_label(to, LEFT - 8, y + 11, "end", "label", row->text);
        (void)fprintf(to, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>",
                      ratio < 1 ? "behind" : "ours", fmin(middle, end), y, fabs(end - middle) + 0.5, ROW - 5);
        (void)fprintf(to, "%s %.3g us, %s %.3g us", row->ours.solver, 1e6 * row->ours.seconds, row->other.solver,
                      1e6 * row->other.seconds);
        (void)fputs("</title></rect>\n", to);
        (void)snprintf(text, sizeof text, "%.2f", ratio);
        if (row->ours.fraction > 0)
            (void)snprintf(text, sizeof text, "%.2f · %.2g %%", ratio, 100 * row->ours.fraction);
        wm_svg_label(to, fmax(middle, end) + 4, y + 11, "start", "soft", text);
        y += ROW;
    }
    put_line(to, "one", middle, 4, middle, y + 2);
    wm_svg_label(to, middle, y + 18, "middle", "soft",
                 "1: as fast as the best of the others; %: of what the machine's ceilings allow");
    (void)fputs("</svg>\n", to);
}

/* ---- Scatter plots on two logarithmic axes ---- */

typedef struct point {
    double x, ours, other; /* 0: none */
    const wm_result *row;
} point;

typedef struct plot {
    const char *title, *x_unit, *y_unit;
    bool roofs; /* the best rate and the best bandwidth seen, as lines */
    point *point;
    int count;
} plot;

typedef struct range {
    double low, high; /* logarithms to base 10 */
} range;

static void widen(range *r, double value) {
    if (!(value > 0)) return;
    r->low = fmin(r->low, floor(log10(value)));
    r->high = fmax(r->high, ceil(log10(value) + 1e-9));
}

static double place(range r, double value, double from, double to) {
    return from + (log10(value) - r.low) / (r.high - r.low) * (to - from);
}

static void put_axes(FILE *to, const plot *p, range x, range y) {
    double bottom = PLOT_TOP + PLOT_HEIGHT;
    char text[32];
    for (int decade = (int)x.low; decade <= (int)x.high; decade++) {
        double at = place(x, pow(10, decade), PLOT_LEFT, RIGHT);
        put_line(to, "grid", at, PLOT_TOP, at, bottom);
        (void)snprintf(text, sizeof text, "%.4g", pow(10, decade));
        wm_svg_label(to, at, bottom + 16, "middle", "soft", text);
    }
    for (int decade = (int)y.low; decade <= (int)y.high; decade++) {
        double at = place(y, pow(10, decade), bottom, PLOT_TOP);
        put_line(to, "grid", PLOT_LEFT, at, RIGHT, at);
        (void)snprintf(text, sizeof text, "%.4g", pow(10, decade));
        wm_svg_label(to, PLOT_LEFT - 6, at + 4, "end", "soft", text);
    }
    wm_svg_label(to, (PLOT_LEFT + RIGHT) / 2.0, bottom + 34, "middle", "soft", p->x_unit);
    wm_svg_label(to, PLOT_LEFT, PLOT_TOP - 4, "start", "soft", p->y_unit);
}

/* min(best rate, best bandwidth x intensity), both the best that these results hold. */
static void put_roofs(FILE *to, const plot *p, range x, range y) {
    double bottom = PLOT_TOP + PLOT_HEIGHT, rate = 0, bandwidth = 0;
    for (int i = 0; i < p->count; i++) {
        double best = fmax(p->point[i].ours, p->point[i].other);
        rate = fmax(rate, best);
        bandwidth = fmax(bandwidth, best / p->point[i].x);
    }
    double knee = rate / bandwidth, low = fmax(pow(10, x.low), pow(10, y.low) / bandwidth);
    put_line(to, "roof", place(x, low, PLOT_LEFT, RIGHT), place(y, low * bandwidth, bottom, PLOT_TOP),
             place(x, knee, PLOT_LEFT, RIGHT), place(y, rate, bottom, PLOT_TOP));
    put_line(to, "roof", place(x, knee, PLOT_LEFT, RIGHT), place(y, rate, bottom, PLOT_TOP), RIGHT,
             place(y, rate, bottom, PLOT_TOP));
}

static void put_points(FILE *to, const plot *p, range x, range y) {
    double bottom = PLOT_TOP + PLOT_HEIGHT;
    for (int other = 1; other >= 0; other--)
        for (int i = 0; i < p->count; i++) {
            const point *q = &p->point[i];
            double value = other ? q->other : q->ours;
            if (!(value > 0)) continue;
            (void)fprintf(to, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", other ? "other" : "ours",
                          place(x, q->x, PLOT_LEFT, RIGHT), place(y, value, bottom, PLOT_TOP));
            wm_svg_text(to, q->row->text);
            (void)fprintf(to, ": %s, %.4g %s</title></circle>\n", other ? q->row->other.solver : q->row->ours.solver,
                          value, p->y_unit);
        }
}

static void put_plot(FILE *to, const plot *p) {
    range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
    for (int i = 0; i < p->count; i++) {
        widen(&x, p->point[i].x);
        widen(&y, p->point[i].ours);
        widen(&y, p->point[i].other);
    }
    if (!(x.low < x.high) || !(y.low < y.high)) return;
    (void)fprintf(to, "<h2>%s</h2>\n", p->title);
    open_svg(to, PLOT_TOP + PLOT_HEIGHT + 44, p->title);
    put_axes(to, p, x, y);
    if (p->roofs) put_roofs(to, p, x, y);
    put_points(to, p, x, y);
    (void)fprintf(to, "</svg>\n<p>Filled: ours; hollow: the best of the others.%s</p>\n",
                  p->roofs ? " Dashed: the best rate and the best bandwidth of these results." : "");
}

static double per_second(double work, const wm_best *best) {
    return best->seconds > 0 ? work / best->seconds : 0;
}

/* Work over traffic against rate, for what counts operations. */
static void put_roofline(FILE *to, const wm_results *r, wm_op op, const char *title, point *room) {
    plot p = {title, "operations a byte", "operations a second", true, room, 0};
    for (int i = 0; i < r->count; i++) {
        const wm_result *row = &r->row[i];
        if (row->op != op || !(row->cost.bytes > 0) || !(row->cost.flops > 0)) continue;
        room[p.count++] = (point){row->cost.flops / row->cost.bytes, per_second(row->cost.flops, &row->ours),
                                  per_second(row->cost.flops, &row->other), row};
    }
    put_plot(to, &p);
}

/* One-dimensional complex transforms: bandwidth by length. */
static void put_lengths(FILE *to, const wm_results *r, const char *type, point *room) {
    char title[96], pattern[32];
    (void)snprintf(title, sizeof title, "Complex transforms, %s, by length", type);
    (void)snprintf(pattern, sizeof pattern, "fft c2c %s %%lld%%n", type);
    plot p = {title, "points", "bytes read and written a second", false, room, 0};
    for (int i = 0; i < r->count; i++) {
        const wm_result *row = &r->row[i];
        long long n = 0;
        int end = 0;
        // NOLINTNEXTLINE(cert-err34-c): a problem string that parsed; format of our own
        if (sscanf(row->text, pattern, &n, &end) != 1 || (row->text[end] && row->text[end] != ' ')) continue;
        if (strstr(row->text, "stride")) continue;
        room[p.count++] =
            (point){(double)n, per_second(row->cost.bytes, &row->ours), per_second(row->cost.bytes, &row->other), row};
    }
    put_plot(to, &p);
}

/* ---- Random numbers: bars of bandwidth ---- */

static void put_random(FILE *to, const wm_results *r) {
    double most = 0, y = 8;
    int rows = 0;
    char text[64];
    for (int i = 0; i < r->count; i++) {
        const wm_result *row = &r->row[i];
        if (row->op != WM_RANDOM || !(row->ours.seconds > 0)) continue;
        rows++;
        most = fmax(most, fmax(per_second(row->cost.bytes, &row->ours), per_second(row->cost.bytes, &row->other)));
    }
    if (!rows) return;
    (void)fputs("<h2>Random numbers, bytes written a second</h2>\n", to);
    open_svg(to, rows * ROW + 16, "Bytes written a second");
    for (int i = 0; i < r->count; i++) {
        const wm_result *row = &r->row[i];
        double value = per_second(row->cost.bytes, &row->ours), other = per_second(row->cost.bytes, &row->other);
        if (row->op != WM_RANDOM || !(value > 0)) continue;
        double width = (RIGHT - LEFT) * value / most;
        wm_svg_label(to, LEFT - 8, y + 11, "end", "label", row->text);
        (void)fprintf(to, "<rect class=\"ours\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", LEFT, y, width,
                      ROW - 5);
        if (other > 0)
            put_line(to, "one", LEFT + (RIGHT - LEFT) * other / most, y - 2, LEFT + (RIGHT - LEFT) * other / most,
                     y + ROW - 3);
        (void)snprintf(text, sizeof text, "%.0f GB/s", 1e-9 * value);
        wm_svg_label(to, LEFT + width + 4, y + 11, "start", "soft", text);
        y += ROW;
    }
    (void)fputs("</svg>\n<p>Upright line: the best of the others.</p>\n", to);
}

/* ---- Since an earlier run ---- */

static double best_seconds(const wm_result *row) {
    double ours = row->ours.seconds, other = row->other.seconds;
    return ours > 0 && (ours < other || !(other > 0)) ? ours : other;
}

static void put_moves(FILE *to, const wm_results *now, const wm_results *before) {
    int moved = 0, both = 0;
    (void)fprintf(
        to, "<h2>Since the earlier run</h2>\n<table>\n<tr><th>problem<th>best then<th>best now<th>now / then</tr>\n");
    for (int i = 0; i < now->count; i++) {
        const wm_result *row = &now->row[i], *old = wm_results_find(before, now, row);
        double then = old ? best_seconds(old) : 0, today = best_seconds(row);
        if (!(then > 0) || !(today > 0)) continue;
        both++;
        if (fabs(today / then - 1) < 0.01 * MOVED_PERCENT) continue;
        moved++;
        (void)fputs("<tr><td>", to);
        wm_svg_text(to, row->text);
        (void)fprintf(to, "<td>%.4g us<td>%.4g us<td>%.3f</tr>\n", 1e6 * then, 1e6 * today, today / then);
    }
    (void)fprintf(to, "</table>\n<p>%d of %d problems moved by %d %% or more.</p>\n", moved, both, MOVED_PERCENT);
}

/* ---- The page ---- */

typedef struct page {
    const wm_results *now, *before; /* before NULL: nothing to compare with */
    point *room;                    /* for a plot's points, one a result */
} page;

static void put_page(FILE *to, const void *data) {
    const page *p = data;
    const wm_results *now = p->now, *before = p->before;
    point *room = p->room;
    (void)fputs(head, to);
    if (now->facts) {
        (void)fputs("<pre>", to);
        wm_svg_text(to, now->facts);
        (void)fputs("</pre>\n", to);
    }
    put_summary(to, now);
    put_choices(to, now);
    if (before) put_moves(to, now, before);
    put_roofline(to, now, WM_MATMUL, "Matrix products under their roofs", room);
    put_roofline(to, now, WM_FFT, "Transforms under their roofs", room);
    put_lengths(to, now, "f32", room);
    put_lengths(to, now, "f64", room);
    put_random(to, now);
    (void)fputs("<h2>Ratios, problem by problem</h2>\n", to);
    for (int class = 0; class < now->classes; class ++) put_ratios(to, now, class);
    (void)fputs("</body>\n</html>\n", to);
}

static int write_page(const char *path, const wm_results *now, const wm_results *before) {
    const page p = {now, before, calloc((size_t)now->count + 1, sizeof(point))};
    int status = p.room ? wm_svg_write(path, put_page, &p) : wm_tool_fail("%s: out of memory", path);
    free(p.room);
    return status;
}

/* The file of that name in the earlier run's folder, if it is there. */
static int read_earlier(wm_results *before, const char *folder, const char *path) {
    char full[4096];
    const char *slash = strrchr(path, '/');
    if (snprintf(full, sizeof full, "%s/%s", folder, slash ? slash + 1 : path) >= (int)sizeof full)
        return wm_tool_fail("%s: the path is too long", folder);
    FILE *there = fopen(full, "re");
    if (!there) return WM_EXIT_OK;
    (void)fclose(there);
    return wm_results_read(before, full);
}

int wm_command_report(int argc, char **argv) {
    options o = {.out = "report.html"};
    wm_results now = {.row = NULL}, before = {.row = NULL};
    int status = wm_options_parse(&syntax, argc, argv, &o);
    if (!status && o.common.json) status = wm_tool_usage("the report is HTML: bench has --json");
    for (int i = 0; !status && i < o.common.count; i++) {
        status = wm_results_read(&now, o.common.words[i]);
        if (!status && o.against) status = read_earlier(&before, o.against, o.common.words[i]);
    }
    if (!status && o.against && !before.count) status = wm_tool_fail("%s: no file of these names in it", o.against);
    if (!status) status = write_page(o.out, &now, o.against ? &before : NULL);
    if (!status) printf("%s: %d problems\n", o.out, now.count);
    wm_results_free(&now);
    wm_results_free(&before);
    return status;
}
