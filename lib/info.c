/* SPDX-License-Identifier: Apache-2.0 */
/* wmContextInfo: what this library found on this machine. */
#include "context_internal.h"
#include "env.h"
#include "fields.h"
#include "gpu_guard.h"
#include "json.h"
#include "verified.h"
#include <string.h>

static const char *const variables[] = {
    "WARPMATH_LOG",   "WARPMATH_PLACE", "WARPMATH_WISDOM", "WARPMATH_FROZEN",     "WARPMATH_CACHE_DIR",
    "WARPMATH_JIT",   "WARPMATH_FFTW",  "WARPMATH_CHECK",  "WARPMATH_UNVERIFIED", "WARPMATH_CUDA_LIBS",
    "WARPMATH_TRACE", "WARPMATH_NVTX",  "WARPMATH_SHADOW", "CUDA_VISIBLE_DEVICES"};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

/* A library as a reader sees it. */
typedef struct found_library {
    const char *name, *version, *path, *why; /* why: "" if it is there */
} found_library;

static int list_libraries(wmContext *context, found_library out[WM_LIB_COUNT + 2]) {
    int count = 0;
    for (int i = 0; i < WM_LIB_COUNT; i++) {
        wm_library_id id = (wm_library_id)i;
        if ((id == WM_LIB_OPENBLAS) != (context->gpu == NULL)) continue;
        const char *why = NULL;
        void *handle = wm_library_get(id, &why);
        out[count++] =
            (found_library){wm_library_name(id), wm_library_version(id), wm_library_path(id), handle ? "" : why};
    }
    for (int single = 0; single < 2 && !context->gpu; single++) {
        const char *why = NULL;
        void *handle = wm_context_fftw(context, single, &why);
        out[count++] = (found_library){single ? "fftwf" : "fftw", "", handle ? context->fftw_soname[single] : "",
                                       handle ? "" : why};
    }
    return count;
}

static void count_entries(wmContext *context, int *all, int *own) {
    uint64_t machine[WM_OPERATIONS];
    for (int op = 0; op < WM_OPERATIONS; op++) machine[op] = wm_wisdom_machine(context, (wm_op)op)->hash;
    *own = 0;
    pthread_mutex_lock(&context->wisdom.lock);
    const wm_wise_set *set = &context->wisdom.set;
    *all = set->count;
    for (int i = 0; i < set->count; i++) {
        int is_own = 0;
        for (int op = 0; op < WM_OPERATIONS; op++) is_own = is_own || set->entry[i]->machine == machine[op];
        *own += is_own;
    }
    pthread_mutex_unlock(&context->wisdom.lock);
}

static int is_usable(const wmContext *context, const wm_solver *solver) {
    return context->unverified || wm_solver_verified(solver);
}

/* ---- Text ---- */

static void text_device(wm_text *out, const wmContext *context) {
    const wm_device *d = &context->device;
    wm_text_add(out, "warpmath %d.%d.%d\n", WM_VERSION_MAJOR, WM_VERSION_MINOR, WM_VERSION_PATCH);
    if (context->gpu) {
        wm_text_add(out, "place       GPU, device %d: %s, sm_%d, %d multiprocessors, %.1f GiB, L2 %.0f MiB\n",
                    d->ordinal, d->name, d->sm, d->multiprocessors, (double)d->memory_bytes / 0x1p30,
                    (double)d->l2_bytes / 0x1p20);
        wm_text_add(out, "cuda        driver for %d.%d, built with %d.%d\n", d->driver_version / 1000,
                    d->driver_version % 1000 / 10, d->runtime_version / 1000, d->runtime_version % 1000 / 10);
    } else {
        const char *why = NULL;
        wm_text_add(out, "place       CPU: %s, %d threads\n", d->name, context->threads);
        if (!wm_gpu_cuda(&why)) wm_text_add(out, "gpu         none: %s\n", why);
    }
}

static void text_solvers(wm_text *out, const wmContext *context) {
    for (int op = 0; op < WM_OPERATIONS; op++) {
        wm_text_add(out, "%-11s", wm_op_name((wm_op)op));
        int any = 0;
        for (int i = 0; i < context->solver_count; i++) {
            const wm_solver *solver = context->solvers[i];
            if (solver->op != (wm_op)op || solver->place != context->place) continue;
            wm_text_add(out, "%s %s%s", any ? "," : "", solver->name,
                        is_usable(context, solver) ? "" : " (unverified)");
            any = 1;
        }
        wm_text_add(out, "%s\n", any ? "" : " no solver");
    }
}

static void info_text(wm_text *out, wmContext *context) {
    found_library libraries[WM_LIB_COUNT + 2];
    int count = list_libraries(context, libraries), all = 0, own = 0;
    text_device(out, context);
    for (int i = 0; i < count; i++) {
        const found_library *l = &libraries[i];
        wm_text_add(out, "library     ");
        if (l->why[0]) {
            int named = strncmp(l->why, l->name, strlen(l->name)) == 0;
            wm_text_add(out, "%s%s%s\n", named ? "" : l->name, named ? "" : " absent: ", l->why);
        } else {
            wm_text_add(out, "%s %s%s%s\n", l->name, l->version, l->version[0] ? ", " : "", l->path);
        }
    }
    text_solvers(out, context);
    count_entries(context, &all, &own);
    wm_text_add(out, "wisdom      %d entries, %d of them for this machine; file %s\n", all, own,
                context->wisdom.path ? context->wisdom.path : "none");
    for (int i = 0; i < VARIABLES; i++) {
        if (wm_env(variables[i])) wm_text_add(out, "environment %s=%s\n", variables[i], wm_env(variables[i]));
    }
}

/* ---- JSON ---- */

static void json_device(wm_json *json, const wmContext *context) {
    const wm_device *d = &context->device;
    wm_json_integer(json, "version", wmVersion());
    wm_json_string(json, "place", context->gpu ? "gpu" : "cpu");
    wm_json_open(json, "device", '{');
    wm_json_string(json, "name", d->name);
    wm_json_integer(json, "ordinal", d->ordinal);
    if (context->gpu) {
        wm_json_integer(json, "sm", d->sm);
        wm_json_integer(json, "multiprocessors", d->multiprocessors);
        wm_json_integer(json, "memory_bytes", d->memory_bytes);
        wm_json_integer(json, "l2_bytes", d->l2_bytes);
        wm_json_number(json, "bandwidth", d->bandwidth);
        wm_json_integer(json, "driver_version", d->driver_version);
        wm_json_integer(json, "runtime_version", d->runtime_version);
    } else {
        wm_json_integer(json, "threads", context->threads);
    }
    wm_json_close(json, '}');
}

static void json_libraries(wm_json *json, wmContext *context) {
    found_library libraries[WM_LIB_COUNT + 2];
    int count = list_libraries(context, libraries);
    wm_json_open(json, "libraries", '[');
    for (int i = 0; i < count; i++) {
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "name", libraries[i].name);
        wm_json_bool(json, "present", !libraries[i].why[0]);
        wm_json_string(json, "version", libraries[i].version);
        wm_json_string(json, "path", libraries[i].path);
        wm_json_string(json, "why", libraries[i].why);
        wm_json_close(json, '}');
    }
    wm_json_close(json, ']');
}

static void json_solvers(wm_json *json, const wmContext *context) {
    static const char *const origins[] = {"ours", "vendor", "reference"};
    wm_json_open(json, "solvers", '[');
    for (int i = 0; i < context->solver_count; i++) {
        const wm_solver *solver = context->solvers[i];
        if (solver->place != context->place) continue;
        wm_json_open(json, NULL, '{');
        wm_json_string(json, "name", solver->name);
        wm_json_string(json, "operation", wm_op_name(solver->op));
        wm_json_string(json, "origin", origins[solver->origin]);
        wm_json_integer(json, "version", solver->version);
        wm_json_bool(json, "offers", is_usable(context, solver));
        wm_json_close(json, '}');
    }
    wm_json_close(json, ']');
}

static void info_json(wm_text *out, wmContext *context) {
    wm_json json = {.text = out};
    int all = 0, own = 0;
    wm_json_open(&json, NULL, '{');
    json_device(&json, context);
    json_libraries(&json, context);
    json_solvers(&json, context);
    count_entries(context, &all, &own);
    wm_json_open(&json, "wisdom", '{');
    wm_json_integer(&json, "entries", all);
    wm_json_integer(&json, "entries_for_this_machine", own);
    wm_json_string(&json, "file", context->wisdom.path ? context->wisdom.path : "");
    wm_json_close(&json, '}');
    wm_json_open(&json, "environment", '{');
    for (int i = 0; i < VARIABLES; i++) {
        if (wm_env(variables[i])) wm_json_string(&json, variables[i], wm_env(variables[i]));
    }
    wm_json_close(&json, '}');
    wm_json_close(&json, '}');
}

wmStatus wmContextInfo(wmContext *context, wmTextFormat format, char *buffer, size_t capacity, size_t *needed) {
    if ((unsigned)format > WM_JSON) return wm_fail(WM_ERR_ARGUMENT, "format is %d", (int)format);
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    wm_text text = {0};
    if (format == WM_JSON) {
        info_json(&text, context);
    } else {
        info_text(&text, context);
    }
    return wm_leave(&guard, wm_text_give(&text, buffer, capacity, needed));
}
