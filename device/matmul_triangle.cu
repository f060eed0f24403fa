/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangle of D by other solvers' products of its parts: half the work of the whole, with whichever kernel is fastest
 * at each. No kernel of its own.
 *
 *     ┌────┐               L levels: a diagonal of 2^L triangles of h × h, and at level l the squares of 2^l · h below
 *     │◣   │               it, 2^(L-1-l) of them at equal distances: each level is one strided batch whose matrices
 *     │0◣  │   L = 2       are blocks of A, B, C and D where they lie, the diagonal another. What m has beyond 2^L · h
 *     │1 1 ◣               rows is a strip and a triangle more.
 *     │1 1 0◣
 *     └────┘
 * Refuses: batches, bias and all that follows an activation; m under 256. Workspace: the most that a part takes; f32
 * triangles of the diagonal are made whole and cut (matmul_finish), those of f16 and bf16 by tiles (matmul_cut).
 *
 * Floor: (1 + 2^-L) / 2 of the whole product's time; h is 512 or more where m is 1024 or more, so 0.56 at 4096.
 * Predicted on an H200: f32 4096 0.65, 8192 0.58 of matmul_split's time for the whole. Not measured.
 */
#include "device/matmul_job.h"

#include "lib/inner.h"

#include <stdlib.h>

enum { GRAIN = 128, MOST_LEVELS = 4, MOST_PARTS = MOST_LEVELS + 3, LEAST = 256 };

/* The least side of the diagonal's triangles, where there is more than one level. */
#ifdef WM_SIMT
enum { EACH = 128 }; /* the emulation's problems are small */
#else
enum { EACH = 512 };
#endif

/** A strided batch of blocks of D: the first one's place, the distance of the next, both along rows and columns. */
typedef struct part {
    int64_t row, col, step, m, n, count;
    int triangle;
    wm_inner inner;
} part;

typedef struct triangle_state {
    int count;
    part each[MOST_PARTS];
} triangle_state;

static int levels_of(int64_t m) {
    int levels = 1;
    while (levels < MOST_LEVELS && m >> (levels + 1) >= EACH) levels++;
    return levels;
}

static part part_of(int64_t row, int64_t col, int64_t step, int64_t m, int64_t n, int64_t count, int triangle) {
    part p = {row, col, step, m, n, count, triangle, {}};
    return p;
}

/** The parts of the lower triangle of m × m. */
static int parts_of(int64_t m, int levels, part out[MOST_PARTS]) {
    int64_t h = (m >> levels) / GRAIN * GRAIN, whole = h << levels;
    int count = 0;
    for (int level = levels - 1; level >= 0; level--) {
        int64_t side = h << level;
        out[count++] = part_of(side, 0, 2 * side, side, side, whole / side / 2, 0);
    }
    out[count++] = part_of(0, 0, h, h, h, whole / h, 1);
    if (whole == m) return count;
    out[count++] = part_of(whole, 0, 0, m - whole, whole, 1, 0);
    out[count++] = part_of(whole, whole, 0, m - whole, m - whole, 1, 1);
    return count;
}

/** The same of the upper one: rows and columns exchanged. */
static void turn(part *p) {
    int64_t row = p->row, m = p->m;
    p->row = p->col, p->col = row;
    p->m = p->n, p->n = m;
}

/** Blocks begin at multiples of GRAIN elements along both sides. */
static void narrow(wmMatrixDesc *x, int64_t step) {
    x->batch_stride = step;
    if (x->align > GRAIN) x->align = GRAIN;
}

static wmStatus pose(const wmMatmulDesc *d, part *p) {
    wmMatmulDesc of = *d;
    wm_view a = wm_view_of(&d->a), b = wm_view_of(&d->b), c = wm_view_of(&d->c), out = wm_view_of(&d->d);
    of.m = p->m, of.n = p->n, of.batch = p->count;
    if (!p->triangle) of.triangle = WM_TRIANGLE_ALL;
    narrow(&of.a, p->step * a.row);
    narrow(&of.b, p->step * b.col);
    narrow(&of.c, p->step * (c.row + c.col));
    narrow(&of.d, p->step * (out.row + out.col));
    p->inner.problem.op = WM_MATMUL;
    return wm_problem_from_matmul(&p->inner.problem, &of, d->place);
}

/** Every part with its solver; 0: there is none for one. */
static int choose(wmContext *context, const wmMatmulDesc *d, int levels, size_t most, triangle_state *s, wm_why *why) {
    s->count = parts_of(d->m, levels, s->each);
    for (int i = 0; i < s->count; i++) {
        if (d->triangle == WM_TRIANGLE_UPPER) turn(&s->each[i]);
        if (pose(d, &s->each[i]) != WM_OK) return wm_refuse(why, "a part of it is no problem");
        if (!wm_inner_choose(context, &s->each[i].inner, most, why)) return 0;
    }
    return 1;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    triangle_state s = {};
    (void)capacity;
    if (!d->triangle) return wm_refuse(why, "all of D is asked for");
    if (d->m < LEAST) return wm_refuse(why, "m is under %d", (int)LEAST);
    *out = wm_offer{};
    out->knob[0] = levels_of(d->m);
    if (!choose(context, d, out->knob[0], SIZE_MAX, &s, why)) return 0;
    out->capturable = out->concurrent = 1;
    for (int i = 0; i < s.count; i++) {
        const wm_offer *inner = &s.each[i].inner.offer;
        out->seconds += inner->seconds;
        if (inner->workspace > out->workspace) out->workspace = inner->workspace;
        out->capturable &= inner->capturable;
        out->concurrent &= inner->concurrent;
    }
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    triangle_state *s = static_cast<triangle_state *>(calloc(1, sizeof *s));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    if (!choose(context, &problem->u.matmul, offer->knob[0], offer->workspace, s, nullptr))
        return wm_fail(WM_ERR_UNSUPPORTED, "no solver does a part of the triangle any more");
    for (int i = 0; i < s->count; i++) WM_TRY(wm_inner_make(context, &s->each[i].inner));
    return WM_OK;
}

static const void *moved(const void *base, const wmMatrixDesc *x, int64_t elements) {
    return static_cast<const char *>(base) + elements * (int64_t)wmTypeSize(x->type);
}

static wmStatus run_part(const wm_run *run, const part *p) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    wm_view a = wm_view_of(&d->a), b = wm_view_of(&d->b), c = wm_view_of(&d->c), out = wm_view_of(&d->d);
    wm_args args = *run->args;
    wmMatmulArgs *m = &args.matmul;
    if (m->a) m->a = moved(m->a, &d->a, p->row * a.row);
    if (m->b) m->b = moved(m->b, &d->b, p->col * b.col);
    m->c = moved(m->c, &d->c, p->row * c.row + p->col * c.col);
    m->d = const_cast<void *>(moved(m->d, &d->d, p->row * out.row + p->col * out.col));
    return wm_inner_run(run, &p->inner, &args, run->workspace);
}

static wmStatus run(const wm_run *run) {
    const triangle_state *s = static_cast<const triangle_state *>(run->state);
    for (int i = 0; i < s->count; i++) WM_TRY(run_part(run, &s->each[i]));
    return WM_OK;
}

static void drop(wmContext *context, void *state) {
    triangle_state *s = static_cast<triangle_state *>(state);
    for (int i = 0; s && i < s->count; i++) wm_inner_drop(context, &s->each[i].inner);
    free(s);
}

extern "C" const wm_solver wm_matmul_triangle = {
    "matmul_triangle",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_COL_MAJOR |
        WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED | WM_MM_TRIANGLE,
    {"levels", nullptr},
    offer,
    make,
    run,
    drop,
};
