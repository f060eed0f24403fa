/* SPDX-License-Identifier: Apache-2.0 */
/* The walk itself: buffers with bands, running one offer, and the loops over solvers, problems and offers. */
#include "walk.h"

#include "reference/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 1024, BAND = 0xa5, POISON = 0xff, OFFERS = 4 };

double wm_walk_most_bytes = 0;
double wm_walk_seconds = 0;
int wm_walk_part = 0, wm_walk_parts = 1;

static double used(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

uint64_t walk_draw(walk *w) { /* splitmix64, Steele, Lea and Flood, OOPSLA 2014 */
    uint64_t x = w->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double walk_unit(walk *w) {
    return (double)(int64_t)walk_draw(w) * 0x1p-63;
}

void walk_fail(walk *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("FAIL %s, %s: ", w->solver->name, w->text);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    w->failures++;
}

walk_buffer walk_new(walk *w, size_t bytes, size_t shift) {
    walk_buffer b = {0};
    void *device = NULL;
    b.bytes = bytes;
    b.all = bytes + 2 * GUARD + shift;
    b.raw_host = malloc(b.all);
    if (!b.raw_host || wm_context_alloc(w->context, &device, b.all) != WM_OK) {
        walk_fail(w, "no memory for %zu bytes: %s", b.all, wmLastError());
        free(b.raw_host);
        return (walk_buffer){0};
    }
    b.raw_device = device;
    b.host = b.raw_host + GUARD + shift;
    b.device = b.raw_device + GUARD + shift;
    memset(b.raw_host, BAND, b.all);
    memset(b.host, POISON, bytes);
    walk_send(w, &b);
    return b;
}

void walk_free(walk *w, walk_buffer *b) {
    if (!b->raw_device) return;
    wm_context_free(w->context, b->raw_device, b->all);
    free(b->raw_host);
    *b = (walk_buffer){0};
}

void walk_send(walk *w, const walk_buffer *b) {
    if (wmCopy(w->context, b->raw_device, b->raw_host, b->all, NULL) != WM_OK ||
        wmSynchronize(w->context, NULL) != WM_OK)
        walk_fail(w, "copying in: %s", wmLastError());
}

void walk_receive(walk *w, const walk_buffer *b) {
    if (wmCopy(w->context, b->raw_host, b->raw_device, b->all, NULL) != WM_OK ||
        wmSynchronize(w->context, NULL) != WM_OK)
        walk_fail(w, "copying out: %s", wmLastError());
    for (size_t i = 0; i < b->all; i++) {
        int payload = b->raw_host + i >= b->host && b->raw_host + i < b->host + b->bytes;
        if (payload || b->raw_host[i] == BAND) continue;
        walk_fail(w, "a byte %ld off the start of a buffer of %zu was overwritten", (long)(b->raw_host + i - b->host),
                  b->bytes);
        return;
    }
}

void walk_fill(walk *w, const walk_buffer *b, wmType type, int64_t elements) {
    int integer = type == WM_I8 || type == WM_I32;
    for (int64_t i = 0; i < elements; i++) {
        wm_number x = {walk_unit(w), walk_unit(w)};
        if (integer) x = (wm_number){(double)((int64_t)(walk_draw(w) % 17) - 8), 0};
        wm_number_store(type, b->host, i, x);
    }
    walk_send(w, b);
}

void walk_untouched(walk *w, const unsigned char *before, const unsigned char *now, const unsigned char *marks,
                    int64_t elements, size_t element, const char *name) {
    for (int64_t i = 0; i < elements; i++) {
        if (marks && marks[i]) continue;
        if (memcmp(before + (size_t)i * element, now + (size_t)i * element, element) == 0) continue;
        walk_fail(w, "element %lld of %s lies in a gap and was overwritten", (long long)i, name);
        return;
    }
}

int walk_run(walk *w, wm_args *args) {
    walk_buffer workspace = {0};
    if (w->offer->workspace) {
        workspace = walk_new(w, w->offer->workspace, 0);
        if (!workspace.device) return 0;
    }
    wm_run run = {w->context, w->problem, w->offer, w->state, args, workspace.device, NULL};
    wmStatus status = w->solver->run(&run);
    if (status == WM_OK) status = wmSynchronize(w->context, NULL);
    if (status != WM_OK) walk_fail(w, "run: %s", wmLastError());
    if (workspace.device) walk_receive(w, &workspace);
    walk_free(w, &workspace);
    w->runs++;
    return status == WM_OK;
}

static void walk_offer(walk *w) {
    static void (*const domains[WM_OPERATIONS])(walk *) = {walk_matmul, walk_fft, walk_random, walk_convolution};
    w->state = NULL;
    if (w->solver->make && w->solver->make(w->context, w->problem, w->offer, &w->state) != WM_OK)
        walk_fail(w, "make: %s", wmLastError());
    else
        domains[w->problem->op](w);
    if (w->solver->drop) w->solver->drop(w->context, w->state);
}

/* Gives the number of offers; at most OFFERS of them are run, spread over the list. */
static int walk_problem(walk *w) {
    wm_offer offers[WM_MAX_OFFERS];
    wm_why why = {""};
    wm_problem_print(w->problem, w->text, sizeof w->text);
    if (wm_problem_features(w->problem) & ~w->solver->features) return 0;
    memset(offers, 0, sizeof offers);
    int count = w->solver->offer(w->context, w->problem, offers, WM_MAX_OFFERS, &why);
    if (count == 0 && !why.text[0]) walk_fail(w, "it does not offer, and gives no reason");
    for (int i = 0; i < count && i < OFFERS && !(wm_walk_seconds > 0 && used() > w->until); i++) {
        w->offer = &offers[count <= OFFERS ? i : i * (count - 1) / (OFFERS - 1)];
        if (!(w->offer->seconds > 0) && !wm_problem_empty(w->problem))
            walk_fail(w, "the estimate is %g seconds", w->offer->seconds);
        walk_offer(w);
    }
    return count;
}

const char *const *const walk_problems[WM_OPERATIONS] = {walk_matmul_problems, walk_fft_problems, walk_random_problems,
                                                         walk_convolution_problems};

static int walk_solver(walk *w, const char *filter) {
    const char *const *list = walk_problems[w->solver->op];
    int offered = 0, refused = 0, count = 0, left = 0;
    while (list[count]) count++;
    /* Where time is short each seed begins elsewhere, so that all problems have their turn. */
    int first = wm_walk_seconds > 0 && count > 0 ? (int)(w->random % (uint64_t)count) : 0;
    w->until = used() + wm_walk_seconds;
    for (int i = 0; i < count; i++) {
        const char *const *text = &list[(first + i) % count];
        wm_problem problem;
        if (wm_walk_seconds > 0 && used() > w->until) {
            left++;
            continue;
        }
        if ((filter && !strstr(*text, filter)) || i % wm_walk_parts != wm_walk_part) continue;
        snprintf(w->text, sizeof w->text, "%s", *text);
        w->problem = &problem;
        if (wm_problem_parse(&problem, *text, w->context->place) != WM_OK)
            walk_fail(w, "%s", wmLastError());
        else if (wm_walk_most_bytes > 0 && problem.op == WM_FFT && wm_problem_cost(&problem).bytes > wm_walk_most_bytes)
            continue;
        else if (walk_problem(w))
            offered++;
        else
            refused++;
    }
    w->problem = NULL;
    if (left && !offered) walk_fail(w, "no problem was solved in the time it had");
    printf("%-20s %3d problems solved, %3d refused, %5d runs, worst error %.3f of its bound, %d failures",
           w->solver->name, offered, refused, w->runs, w->worst, w->failures);
    printf(left ? ", %d not reached\n" : "\n", left);
    return offered;
}

int wm_walk(wmContext *context, const char *solver, const char *problem, uint64_t seed) {
    int failures = 0, walked = 0;
    for (int i = 0; i < context->solver_count; i++) {
        walk w = {.context = context, .solver = context->solvers[i], .random = seed};
        if (w.solver->place != context->place || (solver && strcmp(solver, w.solver->name) != 0)) continue;
        walk_solver(&w, problem);
        walked++;
        failures += w.failures;
        fflush(stdout);
    }
    if (!walked) printf("no solver walked\n");
    return failures + (walked == 0);
}
