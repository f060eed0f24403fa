/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of a bucket, as problem strings: only the number changes, so every default follows it. */
#include "bucket.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[WM_BUCKET_SIZES] = {"m", "n", "k", "batch", "count"};

const char *wm_bucket_name(int which) {
    return which >= 0 && which < WM_BUCKET_SIZES ? names[which] : "";
}

/* Where the size stands in the string; NULL if it has none. "matmul bf16 MxNxK …" */
static const char *find_size(const char *problem, int which) {
    int matmul = strncmp(problem, "matmul ", 7) == 0;
    if (which >= 3) {
        const char *key = which == 3 ? " batch=" : " n=";
        const char *at = which == 4 && strncmp(problem, "random ", 7) != 0 ? NULL : strstr(problem, key);
        return at ? at + strlen(key) : NULL;
    }
    const char *at = matmul ? strchr(problem + 7, ' ') : NULL;
    for (int i = 0; at && i < which; i++) at = strchr(at + 1, 'x');
    return at ? at + 1 : NULL;
}

static void write_end(const char *problem, const char *at, const char *rest, int64_t size, char *out, size_t room) {
    snprintf(out, room, "%.*s%" PRId64 "%s", (int)(at - problem), problem, size, rest);
}

int wm_bucket_ends(const char *problem, int which, char *low, char *high, size_t room) {
    const char *at = find_size(problem, which);
    char *rest = NULL;
    long long size = at ? strtoll(at, &rest, 10) : 0;
    if (!at || rest == at || *rest == '^' || size < 3 || size > (1LL << 40) || !(size & (size - 1))) return 0;
    int64_t power = 1;
    while (2 * power < size) power *= 2;
    write_end(problem, at, rest, power, low, room);
    write_end(problem, at, rest, 2 * power, high, room);
    return 1;
}
