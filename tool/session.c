/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and arrays of the commands. */
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"
#include "options.h"

int wm_session_check(wmStatus status) {
    if (status == WM_OK) return WM_EXIT_OK;
    const char *sentence = wmLastError();
    return *sentence ? wm_tool_fail("%s", sentence) : wm_tool_fail("failed: %s", wmStatusName(status));
}

int wm_session_open(wmContext **context, const char *place) {
    static const char *const places[] = {"auto", "gpu", "cpu", NULL}; /* wmPlace's values are the indices */
    wmContextOptions options = wmContextOptionsDefault();
    int index = 0;
    *context = NULL;
    if (place) {
        int status = wm_options_choice("--place", place, places, &index);
        if (status) return status;
    }
    options.place = (wmPlace)index;
    /* The tool is a program of its own, which FFTW's licence allows; see README. WARPMATH_FFTW still decides which. */
    options.fftw = getenv("WARPMATH_FFTW") ? NULL : "libfftw3.so.3"; // NOLINT(concurrency-mt-unsafe): nobody sets it
    return wm_session_check(wmContextCreate(context, &options));
}

const char *wm_session_place(const wmContext *context) {
    return wmContextPlace(context) == WM_PLACE_GPU ? "gpu" : "cpu";
}

int wm_session_lend(wmContext *context, void *host, size_t bytes, int fill, void **there) {
    *there = host;
    if (wmContextPlace(context) != WM_PLACE_GPU) return WM_EXIT_OK;
    int status = wm_session_check(wmAlloc(there, context, bytes));
    if (!status && fill) status = wm_session_check(wmCopy(context, *there, host, bytes, NULL));
    return status;
}

int wm_session_fetch(wmContext *context, void *host, size_t bytes, const void *there) {
    if (host != there) {
        int status = wm_session_check(wmCopy(context, host, there, bytes, NULL));
        if (status) return status;
    }
    return wm_session_check(wmSynchronize(context, NULL));
}

void wm_session_return(wmContext *context, const void *host, void *there) {
    if (host != there) wmFree(context, there);
}

int wm_session_text(wm_session_writer writer, void *object, wmTextFormat format, char **text) {
    size_t needed = 0;
    *text = NULL;
    int status = wm_session_check(writer(object, format, NULL, 0, &needed));
    if (status) return status;
    *text = malloc(needed);
    if (!*text) return wm_tool_fail("out of memory: %zu bytes are needed", needed);
    return wm_session_check(writer(object, format, *text, needed, NULL));
}

int wm_session_print(wm_session_writer writer, void *object, wmTextFormat format, FILE *to) {
    char *text = NULL;
    int status = wm_session_text(writer, object, format, &text);
    if (!status) {
        size_t length = strlen(text);
        (void)fputs(text, to);
        if (!length || text[length - 1] != '\n') (void)fputc('\n', to);
    }
    free(text);
    return status;
}

void wm_session_describe(wm_json *json, const wmContext *context, const wmPlan *plan, double seconds) {
    wm_json_string(json, "problem", wmPlanProblem(plan));
    wm_json_string(json, "place", wm_session_place(context));
    wm_json_string(json, "solver", wmPlanSolver(plan));
    wm_json_number(json, "seconds", seconds);
}

int wm_session_put(wm_text *text) {
    int status = text->failed ? wm_tool_fail("out of memory for the report") : WM_EXIT_OK;
    if (!status && text->data) (void)fputs(text->data, stdout);
    wm_text_free(text);
    return status;
}

double wm_session_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
