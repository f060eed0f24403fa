/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of matrix products on the CPU: every type, layout and feature, in higher precision than is asked for.
 *
 *   operands            sum, k in ascending order
 *   f16 bf16 fp8 f32    double; a product of two is exact there                     error about k · 2^-53 · Σ|a||b|
 *   c64                 the same, four real products: re + ar·br - ai·bi
 *   i8                  double, exact (k < 2^38), wrapped to i32 at the end
 *   f64, c128           double with the rounding errors of products and sums summed beside it; about k² · 2^-106 ·
 * Σ|a||b|
 *
 * The last is the compensated dot product of Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci.
 * Comput. 26 (2005), algorithm 5.3. device/matmul_naive.cu does the same operations in the same order, so the two give
 * the same bits (determinism = gpu_to_gpu) wherever no exp or erf is involved.
 *
 * A thread takes one 32 × 64 tile of D at a time; panels of A and B are widened to double in its scratch of 160 KB, so
 * that the inner loop runs over 64 consecutive columns and vectorises.
 */
#include "lib/parallel.h"
#include "lib/solver.h"
#include "reference/matmul_finish.h"

#include <math.h>
#include <string.h>

enum { ROWS = 32, COLS = 64, DEPTH = 64 };

/* Of one thread, in the workspace. Real problems leave the imaginary halves alone. */
typedef struct scratch {
    double a[2][ROWS][DEPTH]; /* real parts, imaginary parts */
    double b[2][DEPTH][COLS];
    double sum[2][ROWS][COLS];
    double low[2][ROWS][COLS]; /* the sums' rounding errors: f64 and c128 only */
} scratch;

struct row;

typedef struct product {
    const wmMatmulDesc *desc;
    const wmMatmulArgs *args;
    wm_finish finish;
    wm_view a, b;
    int64_t tiles_m, tiles_n;
    int complex, compensated;
    void (*add_row)(const struct row *r, int depth);
    scratch *scratch;
} product;

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

/* One component of a row of the tile: the sums over q of x[q] · b[q][j], then, for a complex product, sign · y[q] ·
 * c[q][j], in turn. y NULL: real. */
typedef struct row {
    double *sum, *low;
    const double *x, *y;
    const double (*b)[COLS], (*c)[COLS];
    double sign;
} row;

/* s += x · y; low collects what rounding took away, exactly: of the product by one fma, of the sum by Knuth's steps. */
static inline __attribute__((always_inline)) void add(double *s, double *low, double x, double y, int compensated) {
    double p = x * y, r = *s + p;
    if (compensated) {
        double z = r - *s;
        *low += ((*s - (r - z)) + (p - z)) + fma(x, y, -p);
    }
    *s = r;
}

/* LANES columns at a time, so that their sums stay in registers. */
static inline __attribute__((always_inline)) void add_row(const row *r, int depth, int compensated) {
    enum { LANES = 16 };
    for (int j = 0; j < COLS; j += LANES) {
        double s[LANES], low[LANES];
        memcpy(s, r->sum + j, sizeof s);
        memcpy(low, r->low + j, sizeof low);
        for (int q = 0; q < depth; q++) {
            for (int e = 0; e < LANES; e++) add(&s[e], &low[e], r->x[q], r->b[q][j + e], compensated);
            for (int e = 0; r->y && e < LANES; e++) add(&s[e], &low[e], r->sign * r->y[q], r->c[q][j + e], compensated);
        }
        memcpy(r->sum + j, s, sizeof s);
        memcpy(r->low + j, low, sizeof low);
    }
}

typedef void (*row_function)(const row *r, int depth);

static void add_row_plain(const row *r, int depth) {
    add_row(r, depth, 0);
}

static void add_row_compensated(const row *r, int depth) {
    add_row(r, depth, 1);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void add_row_plain_avx2(const row *r, int depth) {
    add_row(r, depth, 0);
}

__attribute__((target("avx2,fma"))) static void add_row_compensated_avx2(const row *r, int depth) {
    add_row(r, depth, 1);
}
#endif

/* The same bits either way: nothing is contracted. */
static row_function row_function_for(int compensated) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return compensated ? add_row_compensated_avx2 : add_row_plain_avx2;
#endif
    return compensated ? add_row_compensated : add_row_plain;
}

static void multiply_panels(const product *p, scratch *s, int64_t rows, int64_t depth) {
    for (int64_t i = 0; i < rows; i++) {
        row re = {s->sum[0][i], s->low[0][i], s->a[0][i], p->complex ? s->a[1][i] : NULL, s->b[0], s->b[1], -1.0};
        row im = {s->sum[1][i], s->low[1][i], s->a[0][i], s->a[1][i], s->b[1], s->b[0], 1.0};
        p->add_row(&re, (int)depth);
        if (p->complex) p->add_row(&im, (int)depth);
    }
}

static void load_a(const product *p, scratch *s, int64_t t, int64_t i0, int64_t rows, int64_t q0, int64_t depth) {
    const void *a = wm_matrix_at(p->desc, &p->desc->a, p->args->a, t);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t q = 0; q < depth; q++) {
            wm_number x = wm_number_load(p->desc->a.type, a, (i0 + i) * p->a.row + (q0 + q) * p->a.col);
            s->a[0][i][q] = x.re;
            s->a[1][i][q] = p->a.conjugate ? -x.im : x.im;
        }
}

static void load_b(const product *p, scratch *s, int64_t t, int64_t q0, int64_t depth, int64_t j0, int64_t cols) {
    const void *b = wm_matrix_at(p->desc, &p->desc->b, p->args->b, t);
    for (int64_t q = 0; q < depth; q++)
        for (int64_t j = 0; j < cols; j++) {
            wm_number x = wm_number_load(p->desc->b.type, b, (q0 + q) * p->b.row + (j0 + j) * p->b.col);
            s->b[0][q][j] = x.re;
            s->b[1][q][j] = p->b.conjugate ? -x.im : x.im;
        }
}

/* An infinite sum has a NaN for its error. */
static double total(const product *p, const scratch *s, int part, int64_t i, int64_t j) {
    double sum = s->sum[part][i][j];
    return p->compensated && isfinite(sum) ? sum + s->low[part][i][j] : sum;
}

static void do_tile(const product *p, scratch *s, int64_t tile) {
    int64_t t = tile / (p->tiles_m * p->tiles_n), within = tile % (p->tiles_m * p->tiles_n);
    int64_t i0 = within / p->tiles_n * ROWS, j0 = within % p->tiles_n * COLS;
    int64_t rows = least(ROWS, p->desc->m - i0), cols = least(COLS, p->desc->n - j0);
    memset(s->sum, 0, sizeof s->sum);
    memset(s->low, 0, sizeof s->low);
    memset(s->b, 0, sizeof s->b); /* so that columns past the edge hold numbers */
    for (int64_t q = 0; q < p->desc->k && !wm_finish_skips_product(&p->finish); q += DEPTH) {
        int64_t depth = least(DEPTH, p->desc->k - q);
        load_a(p, s, t, i0, rows, q, depth);
        load_b(p, s, t, q, depth, j0, cols);
        multiply_panels(p, s, rows, depth);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            wm_number sum = {total(p, s, 0, i, j), total(p, s, 1, i, j)};
            wm_finish_store(&p->finish, t, i0 + i, j0 + j, sum);
        }
}

static void do_tiles(void *user, int64_t from, int64_t to, int thread) {
    const product *p = user;
    for (int64_t tile = from; tile < to; tile++) do_tile(p, &p->scratch[thread], tile);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *desc = &problem->u.matmul;
    int threads = wm_context_threads(context);
    if (capacity < 1) return 0;
    if (desc->determinism == WM_GPU_TO_GPU && desc->activation >= WM_ACT_GELU_TANH)
        return wm_refuse(why, "exp and erf are not the same bits on every device");
    memset(out, 0, sizeof *out);
    /* Measured on a 2.6 GHz AVX2 core. */
    int compensated = desc->a.type == WM_F64 || desc->a.type == WM_C128;
    out->seconds = 5e-6 + wm_problem_cost(problem).flops * (compensated ? 0.5e-9 : 0.3e-9) / threads;
    out->workspace = (size_t)threads * sizeof(scratch);
    out->capturable = 0;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)context, (void)problem, (void)offer;
    *state = NULL;
    return WM_OK;
}

static void run_one(const wmMatmulDesc *desc, const wmMatmulArgs *args, void *workspace, int threads) {
    product p = {.desc = desc,
                 .args = args,
                 .finish = wm_finish_of(desc, args),
                 .a = wm_view_of(&desc->a),
                 .b = wm_view_of(&desc->b),
                 .tiles_m = (desc->m + ROWS - 1) / ROWS,
                 .tiles_n = (desc->n + COLS - 1) / COLS,
                 .complex = wm_type_is_complex(desc->a.type),
                 .compensated = desc->a.type == WM_F64 || desc->a.type == WM_C128,
                 .scratch = workspace};
    p.add_row = row_function_for(p.compensated);
    wm_parallel_for(threads, desc->batch * p.tiles_m * p.tiles_n, 1, do_tiles, &p);
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *desc = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    int threads = (int)(run->offer->workspace / sizeof(scratch));
    if (desc->batch_mode != WM_BATCH_GROUPED) run_one(desc, args, run->workspace, threads);
    for (int64_t t = 0; desc->batch_mode == WM_BATCH_GROUPED && t < desc->batch; t++) {
        wmMatmulDesc one;
        wmMatmulArgs one_args;
        wm_matmul_group_of(desc, args, &args->groups[t], &one, &one_args);
        run_one(&one, &one_args, run->workspace, threads);
    }
    return WM_OK;
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

const wm_solver wm_matmul_naive_cpu = {
    .name = "matmul_naive_cpu",
    .op = WM_MATMUL,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 1,
    .features = WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_FP8 | WM_MM_I8 |
                WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS |
                WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT |
                WM_MM_UNALIGNED | WM_MM_GPU_TO_GPU | WM_MM_GROUPED,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
