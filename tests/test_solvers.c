/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk on a real place: test_solvers cpu|gpu [solver [part of a problem string]].
 * WM_TEST_SEED replays a run; the seed is printed. WM_TEST_PART=2/8 walks the third of eight shares of the problems.
 */
#include "walk/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "2/8" */
static int take_part(const char *text) {
    char *end = NULL;
    long part = strtol(text, &end, 10);
    if (end == text || *end != '/') return 0;
    const char *rest = end + 1;
    long parts = strtol(rest, &end, 10);
    if (end == rest || *end || part < 0 || part >= parts || parts > 1000) return 0;
    wm_walk_part = (int)part;
    wm_walk_parts = (int)parts;
    return 1;
}

int main(int argc, char **argv) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = argc > 1 && strcmp(argv[1], "gpu") == 0 ? WM_PLACE_GPU : WM_PLACE_CPU;
    options.wisdom_path = "";
    options.fftw = "libfftw3.so.3";
    if (wmContextCreate(&context, &options) != WM_OK) {
        printf("no context: %s\n", wmLastError());
        return options.place == WM_PLACE_GPU ? 77 : 1;
    }
    const char *part = getenv("WM_TEST_PART");
    if (part && !take_part(part)) {
        printf("WM_TEST_PART=%s is not share/shares, such as 0/4\n", part);
        wmContextDestroy(context);
        return 1;
    }
    const char *seed_text = getenv("WM_TEST_SEED");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)seed);
    int failures = wm_walk(context, argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL, seed);
    wmContextDestroy(context);
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
