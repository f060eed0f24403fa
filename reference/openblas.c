/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products on the CPU by OpenBLAS, found at run time.
 *
 *   - f32, f64, c64, c128 go to sgemm, dgemm, cgemm, zgemm straight from and into the caller's matrices; C is copied to
 *     D first where the two differ. An operand whose order is not D's is an operand with one more transposition.
 *   - f16, bf16 and fp8 operands are widened to f32 in the workspace: all of B, and A a panel of rows at a time. A D of
 *     these types is made from an f32 panel.
 *   - Bias, activation, scales, alpha = 0 and k = 0 are ours.
 * Refuses i8, other mixtures of types, and dimensions beyond CBLAS's 32-bit integers. OpenBLAS's threads are its own
 * affair: its settings belong to the process and are left alone.
 */
#include "reference/openblas.h"
#include "lib/parallel.h"
#include "lib/solver.h"
#include "reference/matmul_finish.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { PANEL = 512, /* rows of A widened at a time */ CHUNK = 256 };

typedef struct product {
    const wmMatmulDesc *desc;
    const wmMatmulArgs *args;
    wm_finish finish;
    wmType type; /* of the arithmetic: the gemm called */
    int threads;
    int64_t panel;
    float *a, *b, *t; /* widened A panel, widened B, f32 panel of D; NULL where the caller's own matrix serves */
} product;

/* What a product wants of the workspace. */
typedef struct room {
    int64_t panel;
    size_t a, b, t, total; /* bytes; 0: not needed */
} room;

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static wmType arithmetic(const wmMatmulDesc *d) {
    return d->a.type == WM_F64 || wm_type_is_complex(d->a.type) ? d->a.type : WM_F32;
}

/* Bytes of count f32 values, rounded up to whole 256; -1: too many. */
static int64_t f32_bytes(int64_t rows, int64_t cols) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(rows, cols, &bytes) || __builtin_mul_overflow(bytes, 4, &bytes) ||
        __builtin_add_overflow(bytes, 255, &bytes))
        return -1;
    return bytes & ~(int64_t)255;
}

/* 0: the sizes overflow. */
static int room_of(const wmMatmulDesc *d, room *out) {
    wmType type = arithmetic(d);
    int widens = d->a.type != type || d->b.type != type || d->d.type != type;
    memset(out, 0, sizeof *out);
    out->panel = widens ? least(d->m, PANEL) : d->m;
    int64_t a = d->a.type == type ? 0 : f32_bytes(out->panel, d->k);
    int64_t b = d->b.type == type ? 0 : f32_bytes(d->k, d->n);
    int64_t t = d->d.type == type ? 0 : f32_bytes(out->panel, d->n);
    if (a < 0 || b < 0 || t < 0) return 0;
    out->a = (size_t)a, out->b = (size_t)b, out->t = (size_t)t;
    return !__builtin_add_overflow(out->a, out->b, &out->total) &&
           !__builtin_add_overflow(out->total, out->t, &out->total);
}

/* ---- Widening A and B ---- */

/* One matrix on its way to f32: `lines` contiguous runs of `length`, packed behind each other. */
typedef struct widening {
    wmType type;
    const char *from;
    int64_t ld, length;
    float *to;
} widening;

static void widen_lines(void *user, int64_t from, int64_t to, int thread) {
    const widening *w = user;
    (void)thread;
    for (int64_t i = from; i < to; i++)
        wm_numbers_to_f32(w->type, w->from + i * w->ld * (int64_t)wmTypeSize(w->type), w->to + i * w->length,
                          w->length);
}

/* An operand as gemm takes it. */
typedef struct operand {
    const void *data;
    int ld, op;
} operand;

/* rows × cols of op(X) from row `first` on; widened into `room` unless that is NULL. The memory order stays. */
static operand prepare(const product *p, const wmMatrixDesc *x, const void *matrix, int64_t first, int64_t rows,
                       int64_t cols, float *room) {
    wm_view view = wm_view_of(x);
    int by_rows = (x->order == WM_ROW_MAJOR) == (x->op == WM_OP_NONE), d_by_rows = p->desc->d.order == WM_ROW_MAJOR;
    const char *start = (const char *)matrix + first * view.row * (int64_t)wmTypeSize(x->type);
    operand o = {start, (int)x->ld, WM_BLAS_N};
    if (room) {
        widening w = {x->type, start, x->ld, by_rows ? cols : rows, room};
        wm_parallel_for(p->threads, by_rows ? rows : cols, 1 + 65536 / (w.length + 1), widen_lines, &w);
        o.data = room;
        o.ld = (int)w.length;
    }
    if (by_rows != d_by_rows) o.op = view.conjugate ? WM_BLAS_C : WM_BLAS_T;
    if (by_rows == d_by_rows && view.conjugate) o.op = WM_BLAS_CONJ;
    if (o.ld < 1) o.ld = 1;
    return o;
}

/* ---- C into D, and D's epilogue, line by line of D's memory ---- */

/* The panel of D being worked on: `lines` runs of `length` elements. */
typedef struct panel {
    const product *p;
    int64_t t, first, rows; /* product of the batch, first row, rows */
    const float *from;      /* the f32 panel of sums; NULL: the sums are in D */
} panel;

static int64_t lines_of(const panel *w) {
    return w->p->desc->d.order == WM_ROW_MAJOR ? w->rows : w->p->desc->n;
}

static int64_t length_of(const panel *w) {
    return w->p->desc->d.order == WM_ROW_MAJOR ? w->p->desc->n : w->rows;
}

/* Row and column of element `x` of line `line`. */
static void place_of(const panel *w, int64_t line, int64_t x, int64_t *i, int64_t *j) {
    int by_rows = w->p->desc->d.order == WM_ROW_MAJOR;
    *i = w->first + (by_rows ? line : x);
    *j = by_rows ? x : line;
}

static void *d_at(const panel *w, int64_t line, int64_t x) {
    const wmMatmulDesc *d = w->p->desc;
    int64_t i = 0, j = 0;
    place_of(w, line, x, &i, &j);
    char *matrix = (char *)wm_matrix_at(d, &d->d, w->p->args->d, w->t);
    return matrix + (i * w->p->finish.d_view.row + j * w->p->finish.d_view.col) * (int64_t)wmTypeSize(d->d.type);
}

static wm_number c_at(const panel *w, int64_t line, int64_t x) {
    const wmMatmulDesc *d = w->p->desc;
    int64_t i = 0, j = 0;
    place_of(w, line, x, &i, &j);
    const void *matrix = wm_matrix_at(d, &d->c, w->p->finish.c, w->t);
    return wm_number_load(d->c.type, matrix, i * w->p->finish.c_view.row + j * w->p->finish.c_view.col);
}

static void copy_c(void *user, int64_t from, int64_t to, int thread) {
    const panel *w = user;
    (void)thread;
    for (int64_t line = from; line < to; line++)
        for (int64_t x = 0; x < length_of(w); x++)
            wm_number_store(w->p->desc->d.type, d_at(w, line, x), 0, c_at(w, line, x));
}

static float activation_f32(wmActivation activation, float x) {
    switch (activation) {
    case WM_ACT_RELU:
        return x <= 0.0f ? 0.0f : x;
    case WM_ACT_GELU_TANH:
        return x / (1.0f + expf(-2.0f * 0.797884560802865356f * (x + 0.044715f * x * x * x)));
    case WM_ACT_GELU_ERF:
        return 0.5f * x * erfcf(x * -0.707106781186547524f);
    default:
        return x;
    }
}

/* x[] = activation(x + beta · C + bias) / d_scale; beta only where the sums came from an f32 panel. */
static void finish_f32(const panel *w, int64_t line, int64_t start, int64_t count, float *x) {
    const wm_finish *f = &w->p->finish;
    for (int64_t e = 0; e < count; e++) {
        int64_t i = 0, j = 0;
        place_of(w, line, start + e, &i, &j);
        if (w->from && f->beta.re != 0.0) x[e] += (float)(f->beta.re * c_at(w, line, start + e).re);
        if (f->desc->bias)
            x[e] += (float)wm_number_load(f->desc->bias_type, f->bias, f->desc->bias == WM_BIAS_N ? j : i).re;
        x[e] = activation_f32(f->desc->activation, x[e]);
        if (f->desc->d.scale) x[e] /= (float)f->d_scale;
    }
}

static void finish_lines_f32(void *user, int64_t from, int64_t to, int thread) {
    const panel *w = user;
    const wmMatmulDesc *d = w->p->desc;
    int plain = !d->bias && !d->activation && !d->d.scale && w->p->finish.beta.re == 0.0;
    float x[CHUNK];
    (void)thread;
    for (int64_t line = from; line < to; line++)
        for (int64_t start = 0; start < length_of(w); start += CHUNK) {
            int64_t count = least(CHUNK, length_of(w) - start);
            const float *sums = w->from ? w->from + line * length_of(w) + start : d_at(w, line, start);
            memcpy(x, sums, (size_t)count * sizeof *x);
            if (!plain) finish_f32(w, line, start, count, x);
            wm_numbers_from_f32(d->d.type, x, d_at(w, line, start), count);
        }
}

/* The same in double, for f64 and complex D: the sums are in D, with alpha and beta applied. */
static void finish_lines_f64(void *user, int64_t from, int64_t to, int thread) {
    const panel *w = user;
    wm_finish f = w->p->finish;
    (void)thread;
    f.alpha.re = 1.0, f.alpha.im = 0.0;
    f.beta.re = f.beta.im = 0.0;
    for (int64_t line = from; line < to; line++)
        for (int64_t x = 0; x < length_of(w); x++) {
            int64_t i = 0, j = 0;
            place_of(w, line, x, &i, &j);
            wm_finish_store(&f, w->t, i, j, wm_number_load(f.desc->d.type, d_at(w, line, x), 0));
        }
}

/* D without a product. */
static void store_nothing(void *user, int64_t from, int64_t to, int thread) {
    const panel *w = user;
    wm_number none = {0.0, 0.0};
    (void)thread;
    for (int64_t line = from; line < to; line++)
        for (int64_t x = 0; x < length_of(w); x++) {
            int64_t i = 0, j = 0;
            place_of(w, line, x, &i, &j);
            wm_finish_store(&w->p->finish, w->t, i, j, none);
        }
}

static void for_lines(panel *w, wm_range_function body) {
    wm_parallel_for(w->p->threads, lines_of(w), 1 + 16384 / (length_of(w) + 1), body, w);
}

/* ---- One panel, one product, the batch ---- */

static void multiply(const product *p, panel *w, operand a, operand b) {
    const wmMatmulDesc *d = p->desc;
    int reads_c = p->finish.beta.re != 0.0 || p->finish.beta.im != 0.0;
    wm_number none = {0.0, 0.0};
    if (!p->t && reads_c && p->finish.c != p->args->d) for_lines(w, copy_c);
    wm_gemm g = {.type = p->type,
                 .order = d->d.order == WM_ROW_MAJOR ? WM_BLAS_ROW : WM_BLAS_COL,
                 .op_a = a.op,
                 .op_b = b.op,
                 .m = (int)w->rows,
                 .n = (int)d->n,
                 .k = (int)d->k,
                 .alpha = p->finish.alpha,
                 .beta = p->t ? none : p->finish.beta,
                 .a = a.data,
                 .b = b.data,
                 .c = p->t ? (void *)p->t : d_at(w, 0, 0),
                 .lda = a.ld,
                 .ldb = b.ld,
                 .ldc = p->t ? (int)length_of(w) : (int)d->d.ld};
    wm_openblas_gemm(&g);
    if (p->t || (p->type == WM_F32 && (d->bias || d->activation || d->d.scale)))
        for_lines(w, finish_lines_f32);
    else if (d->bias || d->activation)
        for_lines(w, finish_lines_f64);
}

static void do_product(const product *p, int64_t t) {
    const wmMatmulDesc *d = p->desc;
    operand b = {0};
    int skip = wm_finish_skips_product(&p->finish);
    if (!skip) b = prepare(p, &d->b, wm_matrix_at(d, &d->b, p->args->b, t), 0, d->k, d->n, p->b);
    for (int64_t first = 0; first < d->m; first += p->panel) {
        panel w = {p, t, first, least(p->panel, d->m - first), p->t};
        if (skip) {
            for_lines(&w, store_nothing);
            continue;
        }
        const void *a = wm_matrix_at(d, &d->a, p->args->a, t);
        multiply(p, &w, prepare(p, &d->a, a, first, w.rows, d->k, p->a), b);
    }
}

/* ---- The solver ---- */

static int narrow_or_f32(wmType type) {
    return type == WM_F32 || type == WM_F16 || type == WM_BF16 || wm_type_is_fp8(type);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    wmType type = arithmetic(d);
    const char *absent = "";
    room need;
    if (capacity < 1) return 0;
    if (!wm_library_get(WM_LIB_OPENBLAS, &absent)) return wm_refuse(why, "%s", absent);
    int fits =
        type == WM_F32 ? narrow_or_f32(d->b.type) && narrow_or_f32(d->d.type) : d->b.type == type && d->d.type == type;
    if (!fits)
        return wm_refuse(why, "%s × %s -> %s", wmTypeName(d->a.type), wmTypeName(d->b.type), wmTypeName(d->d.type));
    if ((type == WM_F32 || type == WM_C64) == (d->compute == WM_COMPUTE_F64))
        return wm_refuse(why, "it computes %s products in %s", wmTypeName(d->a.type), wmTypeName(type));
    const int64_t sizes[] = {d->m, d->n, d->k, d->a.ld, d->b.ld, d->d.ld};
    for (int i = 0; i < 6; i++)
        if (sizes[i] > INT_MAX) return wm_refuse(why, "%lld is beyond CBLAS's 32-bit integers", (long long)sizes[i]);
    if (!room_of(d, &need)) return wm_refuse(why, "its workspace would overflow");
    wm_cost cost = wm_problem_cost(problem);
    memset(out, 0, sizeof *out);
    /* About 0.6 of the peak on large products; 2 us a call. */
    out->seconds = 2e-6 * (double)d->batch + cost.flops / (0.6 * wm_context_peak_flops(context, type, d->compute)) +
                   (cost.bytes + 2.0 * (double)need.total) / wm_context_bandwidth(context);
    out->workspace = need.total;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)context, (void)problem, (void)offer;
    *state = NULL;
    return wm_openblas_ready();
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    char *workspace = run->workspace;
    room need;
    if (!room_of(d, &need)) return wm_fail(WM_ERR_INTERNAL, "openblas was planned for sizes that overflow");
    product p = {.desc = d,
                 .args = &run->args->matmul,
                 .finish = wm_finish_of(d, &run->args->matmul),
                 .type = arithmetic(d),
                 .threads = wm_context_threads(run->context),
                 .panel = need.panel,
                 .a = need.a ? (float *)workspace : NULL,
                 .b = need.b ? (float *)(workspace + need.a) : NULL,
                 .t = need.t ? (float *)(workspace + need.a + need.b) : NULL};
    for (int64_t t = 0; t < d->batch; t++) do_product(&p, t);
    return WM_OK;
}

static void drop(wmContext *context, void *state) {
    (void)context, (void)state;
}

const wm_solver wm_openblas = {
    .name = "openblas",
    .op = WM_MATMUL,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 0,
    .features = WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_FP8 | WM_MM_MIXED |
                WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS | WM_MM_BIAS |
                WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
