/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of docs/solvers.md, made from the registry.
 *   solver_table                 prints it
 *   solver_table docs/solvers.md exits 1 unless the file holds it as it is now
 */
#include "lib/solver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *origin(const wm_solver *solver) {
    static const char *const names[] = {"ours", "vendor", "CPU reference"};
    return names[solver->origin];
}

/* The names of the features it honours, or of those it lacks where these are fewer. */
static void features(const wm_solver *solver, char *out, size_t room) {
    int has = 0, lacks = 0;
    for (uint64_t bit = 1; bit; bit <<= 1) {
        if (strcmp(wm_feature_name(solver->op, bit), "an unnamed feature") == 0) continue;
        if (solver->features & bit)
            has++;
        else
            lacks++;
    }
    int print_lacks = lacks < has;
    size_t length = (size_t)snprintf(out, room, "%s", lacks == 0 ? "everything" : print_lacks ? "all but " : "");
    const char *comma = "";
    for (uint64_t bit = 1; bit && lacks; bit <<= 1) {
        const char *name = wm_feature_name(solver->op, bit);
        if (strcmp(name, "an unnamed feature") == 0 || !!(solver->features & bit) == print_lacks) continue;
        length += (size_t)snprintf(out + length, room - length, "%s%s", comma, name);
        comma = ", ";
    }
}

static void print_table(FILE *to) {
    static const char *const operations[WM_OPERATIONS] = {"matmul", "fft", "random", "convolution"};
    int count = 0;
    const wm_solver *const *solvers = wm_solvers(&count);
    fprintf(to, "| operation | place | solver | whose | takes |\n| --- | --- | --- | --- | --- |\n");
    for (int op = 0; op < WM_OPERATIONS; op++)
        for (int i = 0; i < count; i++) {
            char text[4096];
            if ((int)solvers[i]->op != op) continue;
            features(solvers[i], text, sizeof text);
            fprintf(to, "| %s | %s | `%s` | %s | %s |\n", operations[op],
                    solvers[i]->place == WM_PLACE_GPU ? "GPU" : "CPU", solvers[i]->name, origin(solvers[i]), text);
        }
}

static char *read_all(FILE *from) {
    size_t room = 1 << 20;
    char *text = calloc(room, 1);
    if (text && fread(text, 1, room - 1, from) == room - 1) text[0] = 0;
    return text;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_table(stdout);
        return 0;
    }
    FILE *table = tmpfile(), *page = fopen(argv[1], "r");
    if (!table || !page) return 1;
    print_table(table);
    rewind(table);
    char *want = read_all(table), *have = read_all(page);
    int same = want && have && want[0] && strstr(have, want) != NULL;
    if (!same) printf("%s does not hold the table of the registry; put this there:\n%s", argv[1], want ? want : "");
    free(want);
    free(have);
    fclose(table);
    fclose(page);
    return same ? 0 : 1;
}
