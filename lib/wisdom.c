/* SPDX-License-Identifier: Apache-2.0 */
/* The wisdom of a context: what was learned, for which machine, and the public calls. */
#include "context_internal.h"
#include "env.h"
#include "folders.h"
#include "gpu_guard.h"
#include "measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The machine ---- */

/* 1 if a solver of the context is made of the library: its name starts with the library's. */
static int uses_library(const wmContext *context, wm_op op, wm_library_id id) {
    const char *name = wm_library_name(id);
    for (int i = 0; i < context->solver_count; i++) {
        const wm_solver *solver = context->solvers[i];
        if (solver->op == op && solver->place == context->place && strncmp(solver->name, name, strlen(name)) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Printable words without blanks, as the line format wants them. */
static void clean(char *text) {
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~') *text = '_';
    }
}

static void describe(const wmContext *context, wm_op op, wm_machine *out) {
    const wm_device *d = &context->device;
    char name[sizeof d->name];
    snprintf(name, sizeof name, "%s", d->name);
    clean(name);
    out->text[0] = '\0';
    if (context->gpu) {
        wm_append(out->text, sizeof out->text, "gpu=%s sm=%d sms=%d driver=%d cuda=%d", name, d->sm, d->multiprocessors,
                  d->driver_version, d->runtime_version);
    } else {
        wm_append(out->text, sizeof out->text, "cpu=%s threads=%d", name, context->threads);
    }
    for (int id = 0; id < WM_LIB_COUNT; id++) {
        if (!uses_library(context, op, (wm_library_id)id)) continue;
        char version[64];
        snprintf(version, sizeof version, "%s", wm_library_version((wm_library_id)id));
        clean(version);
        wm_append(out->text, sizeof out->text, " %s=%s", wm_library_name((wm_library_id)id),
                  version[0] ? version : "absent");
    }
    wm_append(out->text, sizeof out->text, " warpmath=%d", wmVersion());
    out->hash = wm_hash_text(WM_HASH_START, out->text);
}

const wm_machine *wm_wisdom_machine(wmContext *context, wm_op op) {
    wm_wisdom *wisdom = &context->wisdom;
    pthread_mutex_lock(&wisdom->lock);
    int known = wisdom->machine_known[op];
    pthread_mutex_unlock(&wisdom->lock);
    if (known) return &wisdom->machine[op];
    wm_machine machine;
    describe(context, op, &machine); /* outside the lock: it may load libraries */
    pthread_mutex_lock(&wisdom->lock);
    if (!wisdom->machine_known[op]) {
        wisdom->machine[op] = machine;
        wisdom->machine_known[op] = 1;
    }
    pthread_mutex_unlock(&wisdom->lock);
    return &wisdom->machine[op];
}

/* ---- Finding and learning ---- */

/* What wins with multiprocessors left free is no machine's of the whole device. The hash goes through the text from
 * left to right, so more text is more hash. */
static void add_left_free(const wmContext *context, char *out, size_t room) {
    int left_free = wm_context_left_free(context);
    out[0] = '\0';
    if (left_free) snprintf(out, room, " free=%d", left_free);
}

static uint64_t machine_hash(wmContext *context, wm_op op) {
    char more[24];
    add_left_free(context, more, sizeof more);
    return wm_hash_text(wm_wisdom_machine(context, op)->hash, more);
}

const wm_solver *wm_wisdom_solver(const wmContext *context, const wm_wise *entry) {
    for (int i = 0; i < context->solver_count; i++) {
        const wm_solver *solver = context->solvers[i];
        if (solver->version == entry->version && strcmp(solver->name, entry->solver) == 0) return solver;
    }
    return NULL;
}

static int is_stale(void *user, const wm_wise *entry) {
    return wm_wisdom_solver((const wmContext *)user, entry) == NULL;
}

int wm_knobs_match(const wm_solver *solver, const wm_offer *offer, const char *knobs) {
    char text[WM_WISDOM_KNOBS];
    wm_knobs_print(solver, offer, text, sizeof text);
    return strcmp(text, knobs) == 0;
}

int wm_wisdom_any(wmContext *context) {
    pthread_mutex_lock(&context->wisdom.lock);
    int any = context->wisdom.set.count > 0;
    pthread_mutex_unlock(&context->wisdom.lock);
    return any;
}

int wm_wisdom_find(wmContext *context, const wm_problem *problem, wm_wise *out) {
    char text[WM_PROBLEM_TEXT];
    if (!wm_wisdom_any(context)) return 0;
    wm_problem_print(problem, text, sizeof text);
    return wm_wisdom_find_text(context, problem->op, text, out);
}

int wm_wisdom_find_text(wmContext *context, wm_op op, const char *problem, wm_wise *out) {
    wm_wisdom *wisdom = &context->wisdom;
    uint64_t machine = machine_hash(context, op);
    pthread_mutex_lock(&wisdom->lock);
    const wm_wise *found = wm_set_find(&wisdom->set, problem, machine);
    if (found) *out = *found;
    pthread_mutex_unlock(&wisdom->lock);
    return found != NULL;
}

int wm_wisdom_learn(wmContext *context, const wm_problem *problem, const wm_solver *solver, const wm_offer *offer,
                    double seconds, wmEffort effort) {
    wm_machine machine = *wm_wisdom_machine(context, problem->op);
    size_t length = strlen(machine.text);
    add_left_free(context, machine.text + length, sizeof machine.text - length);
    machine.hash = machine_hash(context, problem->op);
    wm_wise entry = {.machine = machine.hash,
                     .effort = effort,
                     .seconds = seconds,
                     .stamp = (int64_t)time(NULL),
                     .version = solver->version};
    snprintf(entry.solver, sizeof entry.solver, "%s", solver->name);
    wm_knobs_print(solver, offer, entry.knobs, sizeof entry.knobs);
    wm_problem_print(problem, entry.problem, sizeof entry.problem);
    pthread_mutex_lock(&context->wisdom.lock);
    wmStatus status = wm_set_add_machine(&context->wisdom.set, &machine);
    if (status == WM_OK) status = wm_set_add(&context->wisdom.set, &entry, is_stale, context);
    pthread_mutex_unlock(&context->wisdom.lock);
    return status == WM_OK;
}

/* ---- Opening and closing ---- */

wmStatus wm_wisdom_open(wmContext *context, const char *option) {
    char path[4096];
    const char *chosen = option ? option : wm_env_even_empty("WARPMATH_WISDOM");
    if (!chosen) {
        wm_cache_folder(path, sizeof path, "wisdom");
        chosen = path;
    }
    context->use_shipped = chosen == path || chosen[0] != '\0';
    if (!chosen[0]) return WM_OK;
    context->wisdom.path = strdup(chosen);
    if (!context->wisdom.path) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    wmWisdomCount count = {0, 0, 0};
    wmStatus status = wm_file_read(chosen, &context->wisdom.set, NULL, &count, is_stale, context);
    if (status == WM_ERR_MEMORY) return status;
    if (status != WM_OK) wm_log(context, WM_LOG_INFO, "no wisdom: %s", wmLastError());
    if (count.skipped) {
        wm_log(context, WM_LOG_WARNING, "wisdom file %s: %lld damaged lines skipped", chosen, (long long)count.skipped);
    }
    return WM_OK;
}

void wm_wisdom_close(wmContext *context) {
    wm_set_clear(&context->wisdom.set);
    free(context->wisdom.path);
    context->wisdom.path = NULL;
    for (int i = 0; i < context->wisdom.forgotten_count; i++) free(context->wisdom.forgotten[i]);
    free((void *)context->wisdom.forgotten);
}

/* ---- The public calls ---- */

/* Those of other machines were counted as used while the file was read. */
static void tell_apart(wmContext *context, const wm_wise_set *set, wmWisdomCount *count) {
    uint64_t own[WM_OPERATIONS];
    for (int op = 0; op < WM_OPERATIONS; op++) own[op] = wm_wisdom_machine(context, (wm_op)op)->hash;
    for (int i = 0; i < set->count; i++) {
        uint64_t machine = set->entry[i]->machine;
        int used = 0;
        for (int op = 0; op < WM_OPERATIONS; op++) used = used || machine == own[op];
        if (used) continue;
        count->other++;
        count->used--;
    }
}

static wmStatus merge(wmContext *context, const wm_wise_set *from) {
    wmStatus status = WM_OK;
    pthread_mutex_lock(&context->wisdom.lock);
    for (int i = 0; i < from->machines && status == WM_OK; i++) {
        status = wm_set_add_machine(&context->wisdom.set, from->machine[i]);
    }
    for (int i = 0; i < from->count && status == WM_OK; i++) {
        status = wm_set_add(&context->wisdom.set, from->entry[i], is_stale, context);
    }
    pthread_mutex_unlock(&context->wisdom.lock);
    return status;
}

static wmStatus load(wmContext *context, const char *path, wmWisdomCount *count) {
    wm_wise_set set = {0};
    wmStatus status = wm_file_read(path, &set, NULL, count, is_stale, context);
    if (status == WM_OK) status = merge(context, &set);
    if (status == WM_OK) tell_apart(context, &set, count);
    wm_set_clear(&set);
    return status;
}

wmStatus wmWisdomLoad(wmContext *context, const char *path, wmWisdomCount *count) {
    wmWisdomCount counted = {0, 0, 0};
    if (count) *count = counted;
    if (!path) return wm_fail(WM_ERR_ARGUMENT, "path is NULL");
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wmStatus status = load(context, path, &counted);
    if (status == WM_OK && count) *count = counted;
    return wm_leave(&guard, status);
}

/* * stands for any text, ? for one character. */
static int matches(const char *pattern, const char *text) {
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return 0;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

/* A copy of the context's entries, so that no file is touched under the lock. */
static wmStatus snapshot(wmContext *context, wm_wise_set *out) {
    wmStatus status = WM_OK;
    pthread_mutex_lock(&context->wisdom.lock);
    const wm_wise_set *set = &context->wisdom.set;
    for (int i = 0; i < set->machines && status == WM_OK; i++) status = wm_set_add_machine(out, set->machine[i]);
    for (int i = 0; i < set->count && status == WM_OK; i++) status = wm_set_add(out, set->entry[i], NULL, NULL);
    pthread_mutex_unlock(&context->wisdom.lock);
    return status;
}

static int is_forgotten(void *user, const wm_wise *entry) {
    wm_wisdom *wisdom = &((wmContext *)user)->wisdom;
    int yes = 0;
    pthread_mutex_lock(&wisdom->lock);
    for (int i = 0; i < wisdom->forgotten_count && !yes; i++) yes = matches(wisdom->forgotten[i], entry->problem);
    pthread_mutex_unlock(&wisdom->lock);
    return yes;
}

wmStatus wmWisdomSave(wmContext *context, const char *path, wmWisdomCount *count) {
    wmWisdomCount counted = {0, 0, 0};
    if (count) *count = counted;
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    if (!path) path = context->wisdom.path;
    wm_wise_set set = {0};
    wmStatus status = path ? snapshot(context, &set)
                           : wm_fail(WM_ERR_ARGUMENT, "path is NULL, and the context has no wisdom file of its own");
    if (status == WM_OK) status = wm_file_merge(path, &set, &counted, is_stale, is_forgotten, context);
    wm_set_clear(&set);
    if (status == WM_OK && count) *count = counted;
    return wm_leave(&guard, status);
}

/* Under the lock. */
static wmStatus note_forgotten(wm_wisdom *wisdom, const char *pattern) {
    size_t count = (size_t)wisdom->forgotten_count;
    char **grown = (char **)realloc((void *)wisdom->forgotten, (count + 1) * sizeof *grown);
    if (grown) wisdom->forgotten = grown;
    char *copy = grown ? strdup(pattern) : NULL;
    if (!copy) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    wisdom->forgotten[wisdom->forgotten_count++] = copy;
    return WM_OK;
}

wmStatus wmWisdomForget(wmContext *context, const char *pattern, wmWisdomCount *count) {
    wmWisdomCount counted = {0, 0, 0};
    if (count) *count = counted;
    if (!pattern) pattern = "*";
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    pthread_mutex_lock(&context->wisdom.lock);
    wmStatus status = note_forgotten(&context->wisdom, pattern);
    wm_wise_set *set = &context->wisdom.set;
    for (int i = set->count; status == WM_OK && i-- > 0;) {
        if (!matches(pattern, set->entry[i]->problem)) continue;
        wm_set_remove(set, i);
        counted.used++;
    }
    pthread_mutex_unlock(&context->wisdom.lock);
    if (status == WM_OK && count) *count = counted;
    return wm_leave(&guard, status);
}

/* ---- Printing ---- */

static void print_json(const wm_wise_set *set, wm_text *out) {
    wm_text_add(out, "[");
    for (int i = 0; i < set->count; i++) {
        const wm_wise *e = set->entry[i];
        const wm_machine *machine = wm_set_machine(set, e->machine);
        wm_text_add(out, "%s\n  {\"problem\": ", i ? "," : "");
        wm_text_quote(out, e->problem);
        wm_text_add(out, ", \"solver\": ");
        wm_text_quote(out, e->solver);
        wm_text_add(out, ", \"version\": %d, \"knobs\": ", e->version);
        wm_text_quote(out, e->knobs);
        wm_text_add(out, ", \"seconds\": ");
        wm_text_number(out, e->seconds);
        wm_text_add(out, ", \"effort\": \"%s\", \"stamp\": %lld, \"machine\": ",
                    e->effort == WM_EXHAUSTIVE ? "exhaustive" : "measure", (long long)e->stamp);
        wm_text_quote(out, machine ? machine->text : "");
        wm_text_add(out, "}");
    }
    wm_text_add(out, "%s]\n", set->count ? "\n" : "");
}

void wm_set_print(const wm_wise_set *set, wm_text *out) {
    for (int i = 0; i < set->machines; i++) wm_line_machine(out, set->machine[i]);
    for (int i = 0; i < set->count; i++) wm_line_entry(out, set->entry[i]);
}

wmStatus wmWisdomPrint(wmContext *context, wmTextFormat format, char *buffer, size_t capacity, size_t *needed) {
    if ((unsigned)format > WM_JSON) return wm_fail(WM_ERR_ARGUMENT, "format is %d", (int)format);
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wm_text text = {0};
    wm_text_add(&text, "%s", "");
    pthread_mutex_lock(&context->wisdom.lock);
    if (format == WM_JSON) {
        print_json(&context->wisdom.set, &text);
    } else {
        wm_set_print(&context->wisdom.set, &text);
    }
    pthread_mutex_unlock(&context->wisdom.lock);
    return wm_leave(&guard, wm_text_give(&text, buffer, capacity, needed));
}
