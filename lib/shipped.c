/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped tables, sorted by problem. */
#include "shipped.h"
#include <stdlib.h>
#include <string.h>

static const wm_shipped h200[] = {
#include "shipped_h200.inc"
};

static int compare(const void *key, const void *row) {
    return strcmp((const char *)key, ((const wm_shipped *)row)->problem);
}

int wm_shipped_count(const wm_device *device) {
    return strcmp(device->name, "NVIDIA H200") == 0 ? (int)(sizeof h200 / sizeof *h200) : 0;
}

const wm_shipped *wm_shipped_find(const wm_device *device, const char *problem) {
    int count = wm_shipped_count(device);
    return (const wm_shipped *)bsearch(problem, h200, (size_t)count, sizeof *h200, compare);
}
