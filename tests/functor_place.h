/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of functors ask alike, of transforms and of products: what is refused, and what compiles. */
#ifndef WM_TESTS_FUNCTOR_PLACE_H
#define WM_TESTS_FUNCTOR_PLACE_H

#include "lib/jit.h"
#include "place.h"

/** What making a plan gave: a failure whose sentence names `part`, and no plan. */
static inline void place_refused(wmStatus status, const wmPlan *plan, const char *part) {
    assert_int_not_equal(status, WM_OK);
    assert_null(plan);
    if (!strstr(wmLastError(), part)) fail_msg("\"%s\" does not name %s", wmLastError(), part);
}

/** 0: no compiler here, or none that may run under this build; said why. */
static inline int place_can_compile(void) {
    const char *why = "the sanitizers would watch a compiler for half a minute";
#ifdef __SANITIZE_ADDRESS__
    int ready = 0;
#else
    int ready = wm_jit_ready(NULL, &why);
#endif
    if (!ready) print_message("%s\n", why);
    return ready;
}

/** Takes `source`. Not `good`: it has a line "this is not C", and the failure says so. */
static inline void place_compiles(char *source, const char *kernel, const char *option, int good) {
    wm_jit_request request = {.solver = "test", .source = source, .kernel = kernel, .options = {option}};
    void *cubin = NULL;
    size_t bytes = 0;
    assert_non_null(source);
    wmStatus status = wm_jit_cubin(place_context, &request, 90, &cubin, &bytes);
    if (good && status != WM_OK) fail_msg("%s", wmLastError());
    if (!good) assert_int_equal(status, WM_ERR_UNSUPPORTED);
    if (!good && !strstr(wmLastError(), "this is not C")) fail_msg("\"%s\" does not say where", wmLastError());
    free(source);
    free(cubin);
}

#endif
