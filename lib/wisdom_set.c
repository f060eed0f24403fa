/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted sets of wisdom entries and of the machines they belong to. */
#include "wisdom.h"
#include <stdlib.h>
#include <string.h>

static int compare(const wm_wise *a, const char *problem, uint64_t machine) {
    int order = strcmp(a->problem, problem);
    if (order) return order;
    return (a->machine > machine) - (a->machine < machine);
}

/* The first index whose entry is not before the key. */
static int lower_bound(const wm_wise_set *set, const char *problem, uint64_t machine) {
    int from = 0, to = set->count;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (compare(set->entry[middle], problem, machine) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* The array of pointers with room for one more; NULL, and the array as it was, where memory is short. */
static void *with_room(void *array, int count, int *capacity) {
    if (count < *capacity) return array;
    int grown = *capacity ? 2 * *capacity : 16;
    void *bigger = realloc(array, (size_t)grown * sizeof(void *));
    if (bigger) *capacity = grown;
    return bigger;
}

static wmStatus no_memory(void) {
    return wm_fail(WM_ERR_MEMORY, "out of host memory");
}

/* The rule of wmWisdomLoad: greater effort, then newer; but what fits no solver here gives way. */
static int replaces(const wm_wise *b, const wm_wise *a, wm_wise_stale stale, void *user) {
    int stale_a = stale && stale(user, a), stale_b = stale && stale(user, b);
    if (stale_a != stale_b) return stale_a;
    if (a->effort != b->effort) return b->effort > a->effort;
    return b->stamp >= a->stamp;
}

void wm_set_drop_oldest(wm_wise_set *set) {
    int oldest = 0;
    for (int i = 1; i < set->count; i++) {
        if (set->entry[i]->stamp < set->entry[oldest]->stamp) oldest = i;
    }
    wm_set_remove(set, oldest);
}

wmStatus wm_set_add(wm_wise_set *set, const wm_wise *entry, wm_wise_stale stale, void *user) {
    int at = lower_bound(set, entry->problem, entry->machine);
    if (at < set->count && compare(set->entry[at], entry->problem, entry->machine) == 0) {
        if (replaces(entry, set->entry[at], stale, user)) *set->entry[at] = *entry;
        return WM_OK;
    }
    if (set->count >= WM_WISDOM_ENTRIES) {
        wm_set_drop_oldest(set);
        at = lower_bound(set, entry->problem, entry->machine);
    }
    wm_wise **array = (wm_wise **)with_room((void *)set->entry, set->count, &set->capacity);
    if (!array) return no_memory();
    set->entry = array;
    wm_wise *copy = (wm_wise *)malloc(sizeof *copy);
    if (!copy) return no_memory();
    *copy = *entry;
    memmove(&set->entry[at + 1], &set->entry[at], (size_t)(set->count - at) * sizeof(wm_wise *));
    set->entry[at] = copy;
    set->count++;
    return WM_OK;
}

const wm_wise *wm_set_find(const wm_wise_set *set, const char *problem, uint64_t machine) {
    int at = lower_bound(set, problem, machine);
    if (at == set->count || compare(set->entry[at], problem, machine) != 0) return NULL;
    return set->entry[at];
}

void wm_set_remove(wm_wise_set *set, int index) {
    free(set->entry[index]);
    set->count--;
    memmove(&set->entry[index], &set->entry[index + 1], (size_t)(set->count - index) * sizeof(wm_wise *));
}

const wm_machine *wm_set_machine(const wm_wise_set *set, uint64_t hash) {
    for (int i = 0; i < set->machines; i++) {
        if (set->machine[i]->hash == hash) return set->machine[i];
    }
    return NULL;
}

wmStatus wm_set_add_machine(wm_wise_set *set, const wm_machine *machine) {
    if (wm_set_machine(set, machine->hash) || set->machines >= WM_WISDOM_MACHINES) return WM_OK;
    wm_machine **array = (wm_machine **)with_room((void *)set->machine, set->machines, &set->machine_capacity);
    if (!array) return no_memory();
    set->machine = array;
    wm_machine *copy = (wm_machine *)malloc(sizeof *copy);
    if (!copy) return no_memory();
    *copy = *machine;
    int at = set->machines;
    for (; at > 0 && set->machine[at - 1]->hash > machine->hash; at--) set->machine[at] = set->machine[at - 1];
    set->machine[at] = copy;
    set->machines++;
    return WM_OK;
}

void wm_set_clear(wm_wise_set *set) {
    for (int i = 0; i < set->count; i++) free(set->entry[i]);
    for (int i = 0; i < set->machines; i++) free(set->machine[i]);
    free((void *)set->entry);
    free((void *)set->machine);
    memset(set, 0, sizeof *set);
}
