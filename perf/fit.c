/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grows the trees of lib/learned.h from recorded times, `warpmath bench --csv` over lists of problems:
 *
 *     fit RESULT.csv… > lib/learned_h200.inc      trees that learn from all rows
 *     fit --judge HELD.csv RESULT.csv…            how well they choose for problems that they have not seen
 *     fit --folds RESULT.csv…                     the same by leaving out each tenth of the problems in turn
 *     fit --few N …                               the same choosing among the first N variants of a vendor's solver
 *     fit --tiles cublasLt.h > lib/learned_tiles.inc      the sizes of cuBLASLt's tiles, by number
 *
 * A variant's mark is how far it falls behind the best of its problem, up to a factor of e: those are all alike. Each
 * tree is grown on some of the problems and half of the facts (stochastic boosting: Friedman, 2002). The first half of
 * the trees tells marks by least squares; the rest lowers the regret of a choice by their sum.
 */
#include "lib/learned.h"
#include "tool/results.h"

#include "lib/solver.h"
#include "lib/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 65536, MOST_PROBLEMS = 4096, MOST_SOLVERS = 64, OPS = 4, FOLDS = 10 };

/* Chosen by --folds of the first list; around them little changes. */
enum { TREES = 60, PLAIN_TREES = 30, LEAST_ROWS = 5 };
static const double rate = 0.2, worst = 1.0, facts_share = 0.5, problems_share = 0.6, temperature = 0.1;

typedef struct row {
    double seconds, estimate, waves, mark; /* mark: logarithm of the ratio to the best */
    float facts[WM_FACTS];
    int problem, op, solver;
    int place; /* among its solver's variants, of a vendor's */
    int knob[16];
} row;

typedef struct problem {
    char text[WM_PROBLEM_TEXT];
    wm_problem problem;
    double best, best_estimate;
    int guess; /* the row of the least estimate */
    int held;  /* not to be learnt from */
} problem;

static int few = MOST_ROWS; /* variants of a vendor's solver that may be chosen */

static row rows[MOST_ROWS];
static problem problems[MOST_PROBLEMS];
static int row_count, problem_count;
static const char *solver_names[OPS][MOST_SOLVERS + 1];

static void die(const char *what, const char *name) {
    (void)fprintf(stderr, "fit: %s%s\n", what, name);
    _Exit(1);
}

/* ---- Reading ---- */

static int problem_of(const char *text, int held) {
    if (problem_count && strcmp(problems[problem_count - 1].text, text) == 0) return problem_count - 1;
    if (problem_count == MOST_PROBLEMS) die("more problems than there is room for", "");
    problem *p = &problems[problem_count];
    *p = (problem){.held = held, .guess = -1};
    (void)snprintf(p->text, sizeof p->text, "%s", text);
    if (wm_problem_parse(&p->problem, text, WM_PLACE_GPU) != WM_OK) die("no problem: ", text);
    return problem_count++;
}

static int solver_of(int op, const char *name) {
    const char **names = solver_names[op];
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0) i++;
    if (i == MOST_SOLVERS) die("more solvers than there is room for", "");
    if (!names[i]) names[i] = strdup(name);
    return i;
}

/* -1: older files have no waves. */
static int column(char **field, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(field[i], name) == 0) return i;
    if (strcmp(name, "waves") != 0) die("no column ", name);
    return -1;
}

static void add_row(char **field, const int *at, int held) {
    double seconds = strtod(field[at[3]], NULL);
    const char *verdict = field[at[4]];
    if (!(seconds > 0) || (strcmp(verdict, "good") != 0 && strcmp(verdict, "slow") != 0)) return;
    if (row_count == MOST_ROWS) die("more rows than there is room for", "");
    row *r = &rows[row_count++];
    *r = (row){.problem = problem_of(field[at[0]], held), .seconds = seconds};
    r->op = problems[r->problem].problem.op;
    r->solver = solver_of(r->op, field[at[1]]);
    r->estimate = strtod(field[at[5]], NULL);
    r->waves = at[6] < 0 ? 0 : strtod(field[at[6]], NULL);
    int knobs = 0;
    for (const char *k = strchr(field[at[2]], '='); k && knobs < 16; k = strchr(k + 1, '='))
        r->knob[knobs++] = (int)strtol(k + 1, NULL, 10);
}

static void read_file(const char *path, int held) {
    static const char *const names[] = {"problem", "solver", "knobs", "seconds", "verdict", "estimate", "waves"};
    char *line = NULL, *field[WM_CSV_FIELDS];
    size_t room = 0;
    int at[7] = {-1};
    FILE *file = fopen(path, "re");
    if (!file) die("cannot read ", path);
    for (int headed = 0; getline(&line, &room, file) > 0;) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || !*line) continue;
        int count = wm_csv_cut(line, field);
        if (headed++) {
            add_row(field, at, held);
        } else {
            for (int i = 0; i < 7; i++) at[i] = column(field, count, names[i]);
        }
    }
    free(line);
    (void)fclose(file);
}

static int is_vendors(const char *name) {
    int count = 0;
    const wm_solver *const *all = wm_solvers(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i]->origin == WM_VENDOR;
    return 0;
}

/* What needs all rows of a problem: the bests, then facts and marks. */
static void complete(void) {
    double solvers_best[MOST_SOLVERS];
    for (int from = 0, to = 0; from < row_count; from = to) {
        problem *p = &problems[rows[from].problem];
        p->best = p->best_estimate = INFINITY;
        for (int i = 0; i < MOST_SOLVERS; i++) solvers_best[i] = INFINITY;
        for (to = from; to < row_count && rows[to].problem == rows[from].problem; to++) {
            const row *r = &rows[to];
            if (r->estimate < p->best_estimate) p->guess = to;
            p->best = fmin(p->best, r->seconds);
            p->best_estimate = fmin(p->best_estimate, r->estimate);
            solvers_best[r->solver] = fmin(solvers_best[r->solver], r->estimate);
        }
        for (int i = from; i < to; i++) {
            row *r = &rows[i];
            if (i > from && r[-1].solver == r->solver && is_vendors(solver_names[r->op][r->solver]))
                r->place = r[-1].place + 1;
            wm_variant v = {solver_names[r->op][r->solver], r->knob,          r->estimate,
                            solvers_best[r->solver],        p->best_estimate, r->waves};
            wm_facts_of_problem(&p->problem, r->facts);
            wm_facts_of_variant(&p->problem, &v, r->solver, r->facts);
            r->mark = log(r->seconds / p->best);
        }
    }
}

/* ---- Growing ---- */

static uint64_t state;

static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

typedef struct grower {
    int *row; /* the rows to learn from, and how many */
    int count;
    int *order[WM_FACTS]; /* them, by each fact */
    double *score;        /* what the trees so far say of each */
    double *left;         /* what the next tree is to say */
    int *node;            /* where each is in the tree that grows; -1: it is left out */
} grower;

static double mark_of(const grower *g, int i) {
    return fmin(rows[g->row[i]].mark, worst);
}

static const grower *sorting;
static int sorting_fact;

static int by_fact(const void *a, const void *b) {
    float x = rows[sorting->row[*(const int *)a]].facts[sorting_fact];
    float y = rows[sorting->row[*(const int *)b]].facts[sorting_fact];
    return x != y ? (x > y) - (x < y) : *(const int *)a - *(const int *)b;
}

static void sort_all(grower *g) {
    for (int f = 0; f < WM_FACTS; f++) {
        for (int i = 0; i < g->count; i++) g->order[f][i] = i;
        sorting = g, sorting_fact = f;
        qsort(g->order[f], (size_t)g->count, sizeof(int), by_fact);
    }
}

typedef struct sums {
    double sum;
    int count;
} sums;

typedef struct best_split {
    double gain;
    int fact;
    float at;
} best_split;

static double worth(sums s) {
    return s.count ? s.sum * s.sum / (s.count + 1.0) : 0;
}

/* The best place to cut every node of the level by that fact. */
static void try_fact(const grower *g, int fact, int first, int nodes, const sums *all, best_split *best) {
    sums low[WM_TREE_LEAVES] = {
        {0, 0}
    };
    float before[WM_TREE_LEAVES] = {0};
    for (int i = 0; i < g->count; i++) {
        int at = g->order[fact][i], node = g->node[at] - first;
        if (node < 0 || node >= nodes) continue;
        float value = rows[g->row[at]].facts[fact];
        sums high = {all[node].sum - low[node].sum, all[node].count - low[node].count};
        if (low[node].count >= LEAST_ROWS && high.count >= LEAST_ROWS && value > before[node]) {
            double gain = worth(low[node]) + worth(high) - worth(all[node]);
            if (gain > best[node].gain) best[node] = (best_split){gain, fact, 0.5F * (value + before[node])};
        }
        low[node].sum += g->left[at];
        low[node].count++;
        before[node] = value;
    }
}

static void sum_nodes(const grower *g, int first, int nodes, sums *all) {
    memset(all, 0, (size_t)nodes * sizeof *all);
    for (int i = 0; i < g->count; i++) {
        int node = g->node[i] - first;
        if (node < 0 || node >= nodes) continue;
        all[node].sum += g->left[i];
        all[node].count++;
    }
}

/* A split that parts nothing sends all to the left. */
static void grow_level(grower *g, const int *use, int level, wm_tree *tree) {
    sums all[WM_TREE_LEAVES];
    best_split best[WM_TREE_LEAVES];
    int nodes = 1 << level, first = nodes - 1;
    sum_nodes(g, first, nodes, all);
    for (int i = 0; i < nodes; i++) best[i] = (best_split){1e-9, 0, 1e30F};
    for (int f = 0; f < WM_FACTS; f++)
        if (use[f]) try_fact(g, f, first, nodes, all, best);
    for (int i = 0; i < nodes; i++) {
        tree->fact[first + i] = (uint8_t)best[i].fact;
        tree->at[first + i] = best[i].at;
    }
    for (int i = 0; i < g->count; i++) {
        int at = g->node[i];
        if (at < 0) continue;
        g->node[i] = 2 * at + (rows[g->row[i]].facts[tree->fact[at]] <= tree->at[at] ? 1 : 2);
    }
}

static void grow_tree(grower *g, wm_tree *tree) {
    sums leaf[WM_TREE_LEAVES];
    int use[WM_FACTS];
    static char chosen[MOST_PROBLEMS];
    for (int f = 0; f < WM_FACTS; f++) use[f] = draw() < facts_share;
    for (int p = 0; p < problem_count; p++) chosen[p] = draw() < problems_share;
    for (int i = 0; i < g->count; i++) g->node[i] = chosen[rows[g->row[i]].problem] ? 0 : -1;
    for (int level = 0; level < WM_TREE_DEPTH; level++) grow_level(g, use, level, tree);
    sum_nodes(g, WM_TREE_SPLITS, WM_TREE_LEAVES, leaf);
    for (int i = 0; i < WM_TREE_LEAVES; i++) tree->leaf[i] = (float)(rate * leaf[i].sum / (leaf[i].count + 1.0));
    const wm_forest one = {NULL, tree, 1};
    for (int i = 0; i < g->count; i++) g->score[i] += wm_forest_ask(&one, rows[g->row[i]].facts);
}

/* What lowers the regret that is expected of a choice by chance, in proportion to exp(-score / temperature). */
static void regret_problem(grower *g, int from, int to) {
    double least = INFINITY, sum = 0, mean = 0;
    for (int i = from; i < to; i++) least = fmin(least, g->score[i]);
    for (int i = from; i < to; i++) {
        double weight = exp((least - g->score[i]) / temperature);
        sum += weight;
        mean += weight * mark_of(g, i);
    }
    for (int i = from; i < to; i++) {
        double chance = exp((least - g->score[i]) / temperature) / sum;
        g->left[i] = chance * (mark_of(g, i) - mean / sum) / temperature;
    }
}

/* What the next tree is to tell: what is left of the marks; later, what lowers the regret. */
static void set_aim(grower *g, int tree) {
    for (int from = 0, to = 0; from < g->count; from = to) {
        while (to < g->count && rows[g->row[to]].problem == rows[g->row[from]].problem) to++;
        for (int i = from; i < to; i++) g->left[i] = mark_of(g, i) - g->score[i];
        if (tree >= PLAIN_TREES) regret_problem(g, from, to);
    }
}

static void *room_for(int count, size_t size) {
    void *room = calloc((size_t)count + 1, size);
    if (!room) die("out of memory", "");
    return room;
}

/* The forest of an operation, from the problems that are not held. */
static void grow(int op, wm_tree *out) {
    grower g = {.row = room_for(row_count, sizeof(int))};
    for (int i = 0; i < row_count; i++)
        if (rows[i].op == op && !problems[rows[i].problem].held) g.row[g.count++] = i;
    g.score = room_for(g.count, sizeof(double));
    g.left = room_for(g.count, sizeof(double));
    g.node = room_for(g.count, sizeof(int));
    for (int f = 0; f < WM_FACTS; f++) g.order[f] = room_for(g.count, sizeof(int));
    sort_all(&g);
    state = 20261130;
    for (int t = 0; t < TREES; t++) {
        set_aim(&g, t);
        grow_tree(&g, &out[t]);
    }
    for (int f = 0; f < WM_FACTS; f++) free(g.order[f]);
    free(g.score);
    free(g.left);
    free(g.node);
    free(g.row);
}

/* ---- Judging ---- */

typedef struct score {
    int problems, within[3]; /* 5, 10 and 25 % */
    double logs;
} score;

static void add_score(score *s, double off) {
    static const double bounds[] = {0.05, 0.10, 0.25};
    s->problems++;
    s->logs += off;
    for (int i = 0; i < 3; i++) s->within[i] += off <= log(1.0 + bounds[i]);
}

static void print_score(const char *op, const char *by, const score *s) {
    double n = s->problems ? s->problems : 1;
    printf("%-8s %-9s %4d problems: within 5 %% %.3f, 10 %% %.3f, 25 %% %.3f; slower by %.3f on average\n", op, by,
           s->problems, s->within[0] / n, s->within[1] / n, s->within[2] / n, exp(s->logs / n));
}

/* Adds what the trees choose for the held problems of the operation, and what the estimates do. */
static void judge(int op, const wm_tree *tree, score *learned, score *estimated) {
    const wm_forest forest = {NULL, tree, TREES};
    for (int from = 0, to = 0; from < row_count; from = to) {
        const problem *p = &problems[rows[from].problem];
        double least = INFINITY, off = 0;
        for (to = from; to < row_count && rows[to].problem == rows[from].problem; to++) {
            double asked = wm_forest_ask(&forest, rows[to].facts);
            if (rows[to].place < few && asked < least) off = rows[to].mark, least = asked;
        }
        if (!p->held || rows[from].op != op) continue;
        add_score(learned, off);
        add_score(estimated, rows[p->guess].mark);
    }
}

static const char *const ops[OPS] = {"matmul", "fft", "random", "convolution"};
static wm_tree grown[TREES];

static void judge_all(int folds) {
    for (int op = 0; op < OPS; op++) {
        score learned = {0}, estimated = {0};
        for (int fold = 0; fold < (folds ? FOLDS : 1); fold++) {
            for (int p = 0; folds && p < problem_count; p++) problems[p].held = p * 7 % FOLDS == fold;
            grow(op, grown);
            judge(op, grown, &learned, &estimated);
        }
        if (!learned.problems) continue;
        print_score(ops[op], "estimates", &estimated);
        print_score(ops[op], "learned", &learned);
    }
}

/* ---- Writing ---- */

static void write_tree(const wm_tree *t) {
    printf("{{");
    for (int i = 0; i < WM_TREE_SPLITS; i++) printf("%d,", t->fact[i]);
    printf("},{");
    for (int i = 0; i < WM_TREE_SPLITS; i++) printf("%.6g,", (double)t->at[i]);
    printf("},{");
    for (int i = 0; i < WM_TREE_LEAVES; i++) printf("%.3g,", (double)t->leaf[i]);
    printf("}},\n");
}

static void write_all(void) {
    printf("/* Made by perf/fit. */\n");
    for (int op = 0; op < OPS; op++) {
        if (!solver_names[op][0]) continue;
        grow(op, grown);
        printf("static const char *const solvers_%s[] = {", ops[op]);
        for (int i = 0; solver_names[op][i]; i++) printf("\"%s\", ", solver_names[op][i]);
        printf("NULL};\nstatic const wm_tree trees_%s[] = {\n", ops[op]);
        for (int t = 0; t < TREES; t++) write_tree(&grown[t]);
        printf("};\n");
    }
    printf("static const wm_forest h200[] = {\n");
    for (int op = 0; op < OPS; op++) {
        if (solver_names[op][0]) printf("[%d] = {solvers_%s, trees_%s, %d},\n", op, ops[op], ops[op], TREES);
    }
    printf("};\n");
}

/* Numbers run from 1 on without a gap, in the order of the header. */
static void write_tiles(const char *path) {
    char line[512];
    int next = 1;
    FILE *file = fopen(path, "re");
    if (!file) die("cannot read ", path);
    printf("/* Made by perf/fit from cublasLt.h. */\n{0, 0},\n");
    while (fgets(line, sizeof line, file)) {
        static const char word[] = "CUBLASLT_MATMUL_TILE_";
        char *at = strstr(line, word), *x = NULL, *end = NULL;
        long tile_rows = at ? strtol(at + strlen(word), &x, 10) : 0;
        if (tile_rows <= 0 || *x != 'x') continue;
        long tile_columns = strtol(x + 1, &end, 10);
        at = strchr(end, '=');
        if (!at || strtol(at + 1, NULL, 10) != next++) die("the numbers of tiles have a gap: ", line);
        printf("{%ld, %ld},\n", tile_rows, tile_columns);
    }
    (void)fclose(file);
}

int main(int argc, char **argv) {
    int folds = 0, judged = 0;
    if (argc == 3 && strcmp(argv[1], "--tiles") == 0) {
        write_tiles(argv[2]);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        int held = strcmp(argv[i], "--judge") == 0;
        if (strcmp(argv[i], "--folds") == 0) {
            folds = 1;
        } else if (strcmp(argv[i], "--few") == 0 && i + 1 < argc) {
            few = (int)strtol(argv[++i], NULL, 10);
        } else if (!held || i + 1 < argc) {
            read_file(argv[i += held], held);
        }
        judged |= held;
    }
    if (!row_count) die("usage: fit [--folds | --judge HELD.csv] RESULT.csv… > lib/learned_h200.inc", "");
    complete();
    if (folds || judged) {
        judge_all(folds);
    } else {
        write_all();
    }
    return 0;
}
