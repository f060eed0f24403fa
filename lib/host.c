/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the CPU place. */
#include "context_internal.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int wm_host_threads(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 processors do not fit the set */
    return online > 0 ? (int)online : 1;
}

/* "model name : Intel(R) Xeon(R) ..." */
static void read_name(char *out, size_t room) {
    snprintf(out, room, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *text = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !text) continue;
        snprintf(out, room, "%.*s", (int)strcspn(text + 2, "\n"), text + 2);
        break;
    }
    fclose(file);
}

void wm_host_facts(wm_device *out, int threads) {
    memset(out, 0, sizeof *out);
    read_name(out->name, sizeof out->name);
    out->ordinal = -1;
    out->multiprocessors = threads;
    out->clock_khz = 2500000; /* of no consequence: every CPU estimate scales with it */
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    out->l2_bytes = cache > 0 ? cache : 32 << 20;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    out->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    out->bandwidth = 10e9 * (threads < 8 ? threads : 8);
}
