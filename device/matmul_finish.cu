/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that wmMatmulDesc lists beyond bias and activation, behind any other solver's plain product: the sums go to the
 * workspace in f32 (f64, i32), and one pass over them does the rest.
 *
 *     block: 256 threads in teams of 1 to 256; a team has a row of D and 4096 of its columns
 *     thread: every 256th column (a team's length), with dropout runs of 4; where D has columns in memory a team is one
 *             thread, and neighbours are neighbours in the column
 *
 * A team's partial sums meet in shared memory in a fixed tree, those of a row's pieces in a second kernel in ascending
 * order, so the bits are the same from run to run. Dropout works out the bits of a run of 4 itself: 3 to 4 rounds of
 * Philox until all four are decided, the same bits as WM_RANDOM_MASK.
 *
 * fp8 operands with scales by block are first multiplied by them, into f32 copies, whose product is one of f32 then:
 * right, but as slow as f32 is.
 *
 * Refuses what needs no such pass. Floor: the sums written and read once more, 8 bytes an element, and D, R, Z as they
 * are; 4096 x 4096 to bf16: 134 MB + 34 MB at 4.0 TB/s, 42 us, half of that where the sums stay in L2. Predicted 0.8 of
 * it without dropout, 0.5 with. Not measured.
 */
#include "device/matmul_element.cuh"
#include "device/matmul_job.h"

#include <warpmath/device/dist_basic.h>

#include "lib/matmul_apart.h"

#include <stdlib.h>

enum { THREADS = 256, RUN = 4, PIECE = 4096, MOST_BLOCKS = 1 << 20, ALIGN = 256 };

/** A scale for each row, column or product, whichever has a stride. */
typedef struct wm_finish_scale {
    const float *at; /* NULL: 1 */
    wm_i64 row, col, batch;
} wm_finish_scale;

typedef struct wm_finish_job {
    wm_i64 m, columns, rows, pieces; /* rows of all products; pieces of a row */
    wm_matrix_ref sum, r, z;         /* base NULL: none */
    wm_epilogue e;
    wm_finish_scale a_scale, b_scale, d_scale;
    wm_i64 gate_step, gate_next; /* D's column j: the product's gate_step · j and, where gate_next, that + gate_next */
    int integer;                 /* alpha is not yet in the sums */
    int no_product;              /* k = 0 */
    int activation, dropout, reduction, team, run;
    int triangle; /* wmTriangle */
    wmRandomKey key;
    wm_u64 offset;
    const wmRandomState *state;
    wmProbability keep;
    double factor;
    void *reduced; /* a row's value each, if final is set, else partial ones of T */
    int reduced_type, final;
} wm_finish_job;

/* ---- Parts of an element ---- */

template <class T>
WM_DEVICE T scale_at(const wm_finish_scale &s, wm_i64 t, wm_i64 i, wm_i64 j) {
    return s.at ? T(s.at[t * s.batch + i * s.row + j * s.col]) : T(1);
}

template <class T>
WM_DEVICE T at(const wm_matrix_ref &x, wm_i64 t, wm_i64 i, wm_i64 j) {
    return wm_element_load<T>(x.type, wm_matrix_first(x, t), i * x.row + j * x.col);
}

/** An i8 takes the nearest value that it has, and 0 for a NaN. 1.5 · 2^23 more and less rounds to nearest even. */
template <class T>
WM_DEVICE void put(const wm_matrix_ref &x, wm_i64 t, wm_i64 i, wm_i64 j, T y) {
    void *base = const_cast<void *>(wm_matrix_first(x, t));
    wm_i64 index = i * x.row + j * x.col;
    if (x.type != WM_ELEMENT_I8) {
        wm_element_store(x.type, base, index, y);
        return;
    }
    float near = y != y ? 0.0f : wm_to_f32(y < T(-128) ? T(-128) : y > T(127) ? T(127) : y);
    static_cast<wm_i8 *>(base)[index] = (wm_i8)(int)wm_sub(wm_add(near, 12582912.0f), 12582912.0f);
}

/** Of the draws of mask `mask` those in `want` that are kept: planes are worked out until all of them are decided. */
WM_DEVICE wm_u32 kept_of(wmRandomKey key, wm_u64 mask, wm_u32 want, wmProbability keep) {
    wm_u32 one = keep.always ? want : 0, undecided = want;
    wm_u64 rest = keep.bits;
    for (wm_u32 k = 0; rest && undecided; k++, rest <<= 1) {
        wmWords w = wm_random_words(key, mask >> 2, k ? WM_LANE_PLANE + k : WM_LANE_ELEMENTS);
        wm_u32 even = mask & 2 ? w.w[2] : w.w[0], odd = mask & 2 ? w.w[3] : w.w[1], word = mask & 1 ? odd : even;
        if (rest >> 63) {
            one |= undecided & ~word;
            undecided &= word;
        } else {
            undecided &= ~word;
        }
    }
    return one;
}

/** Bit e: whether draw `first` + e is kept, for a run. */
WM_DEVICE wm_u32 kept(const wm_finish_job &p, wmRandomKey key, wm_u64 first) {
    wm_u32 shift = (wm_u32)first & 31, all = (1u << RUN) - 1;
    wm_u32 bits = kept_of(key, first >> 5, all << shift, p.keep) >> shift;
    if (shift > 32 - RUN) bits |= kept_of(key, (first >> 5) + 1, all >> (32 - shift), p.keep) << (32 - shift);
    return bits;
}

template <class T>
WM_DEVICE T activated(int activation, T x) {
    return activation == (int)WM_ACT_SILU ? x / (T(1) + wm_exponential(-x)) : wm_activate(activation, x);
}

/* ---- A row ---- */

/** What a row's elements have in common. */
template <class T>
struct finish_row {
    wm_i64 t, i;
    T alpha, beta, a_scale;
};

template <class T>
WM_DEVICE T linear(const wm_finish_job &p, const finish_row<T> &w, wm_i64 j) {
    T z = T(0);
    if (w.alpha != T(0)) {
        T sum = at<T>(p.sum, w.t, w.i, j);
        if (p.integer) sum = wm_mul(w.alpha, sum);
        z = wm_mul(sum, wm_mul(w.a_scale, scale_at<T>(p.b_scale, w.t, w.i, j)));
    }
    if (w.beta != T(0)) z = wm_add(z, wm_mul(w.beta, at<T>(p.e.c, w.t, w.i, j)));
    if (p.e.bias_along)
        z = wm_add(z, wm_element_load<T>(p.e.bias_type, p.e.bias, p.e.bias_along == WM_EPILOGUE_BIAS_N ? j : w.i));
    if (p.z.base) put(p.z, w.t, w.i, j, z);
    return z;
}

template <class T>
WM_DEVICE T result(const wm_finish_job &p, const finish_row<T> &w, wm_i64 j, bool keep) {
    wm_i64 gate = j * p.gate_step;
    T y = activated(p.activation, linear(p, w, gate));
    if (p.gate_next) y = wm_mul(y, linear(p, w, gate + p.gate_next));
    if (p.dropout) y = keep ? wm_mul(y, T(p.factor)) : T(0);
    if (p.r.base) y = wm_add(y, at<T>(p.r, w.t, w.i, j));
    return y;
}

template <class T>
WM_DEVICE T reduced(int reduction, T sum, T y) {
    if (reduction == (int)WM_REDUCE_ROW_SUM) return wm_add(sum, y);
    if (reduction != (int)WM_REDUCE_ROW_MAX) y = y < T(0) ? -y : y;
    return y > sum || y != y ? y : sum; /* a NaN stays: nothing is larger */
}

template <class T>
WM_DEVICE T reduction_begin(int reduction) {
    return reduction == (int)WM_REDUCE_ROW_MAX ? T(-wm_f32_of(0x7f800000u)) : T(0);
}

/** This thread's share of a piece of row `row`; gives what it reduces to. */
template <class T>
WM_DEVICE T finish_piece(const wm_finish_job &p, wm_i64 row, wm_i64 piece, int lane) {
    wm_i64 end = wm_min((piece + 1) * PIECE, p.columns), t = row / p.m;
    finish_row<T> w = {t, row - t * p.m, p.no_product ? T(0) : wm_scalar_load<T>(p.e.alpha),
                       wm_scalar_load<T>(p.e.beta), T(0)};
    if (w.alpha != T(0)) w.a_scale = scale_at<T>(p.a_scale, w.t, w.i, 0);
    wmRandomKey key = p.state ? p.state->key : p.key;
    wm_u64 offset = p.offset + (p.state ? p.state->offset : 0) + (wm_u64)(row * p.columns);
    T sum = reduction_begin<T>(p.reduction);
    for (wm_i64 first = piece * PIECE + lane * p.run; first < end; first += p.team * p.run) {
        wm_u32 bits = p.dropout ? kept(p, key, offset + (wm_u64)first) : 0;
        wm_i64 last = wm_min(first + p.run, end);
        for (wm_i64 j = first; j < last; j++, bits >>= 1) {
            if (p.triangle && (p.triangle == (int)WM_TRIANGLE_LOWER ? j > w.i : j < w.i)) continue;
            T y = result(p, w, j, bits & 1);
            if (p.reduction) sum = reduced(p.reduction, sum, y);
            if (p.d_scale.at) y = wm_div(y, scale_at<T>(p.d_scale, w.t, w.i, j));
            put(p.e.d, w.t, w.i, j, y);
        }
    }
    return sum;
}

/** The value of a team's threads in its first; `shared` has a T for each thread of the block. */
template <class T>
WM_DEVICE T team_reduced(int reduction, int team, int lane, T *shared, T mine) {
    T *own = shared + wm_thread();
    wm_barrier();
    *own = mine;
    for (int half = team / 2; half > 0; half /= 2) {
        wm_barrier();
        if (lane < half) *own = reduced(reduction, *own, own[half]);
    }
    return *own;
}

template <class T>
WM_DEVICE void finish(const wm_finish_job &p) {
    int teams = THREADS / p.team, lane = wm_thread() % p.team;
    wm_i64 groups = wm_divide_up(p.rows, (wm_i64)teams) * p.pieces;
    for (wm_i64 group = blockIdx.x; group < groups; group += gridDim.x) {
        wm_i64 piece = group % p.pieces, row = group / p.pieces * teams + wm_thread() / p.team;
        T sum = row < p.rows ? finish_piece<T>(p, row, piece, lane) : T(0);
        if (!p.reduction) continue;
        sum = team_reduced(p.reduction, p.team, lane, wm_shared<T>(), sum);
        if (lane || row >= p.rows) continue;
        if (p.final) {
            wm_element_store(p.reduced_type, p.reduced, row, sum);
        } else {
            static_cast<T *>(p.reduced)[row * p.pieces + piece] = sum;
        }
    }
}

WM_KERNEL __launch_bounds__(THREADS, 2) wm_matmul_finish_f32(WM_PARAMS(wm_finish_job)) {
    finish<float>(p);
}

WM_KERNEL __launch_bounds__(THREADS, 2) wm_matmul_finish_f64(WM_PARAMS(wm_finish_job)) {
    finish<double>(p);
}

/* ---- The partial values of a row, or of all rows ---- */

typedef struct wm_finish_fold {
    const void *from;
    void *to;
    wm_i64 groups, each;
    int reduction, team, to_type;
} wm_finish_fold;

template <class T>
WM_DEVICE void fold(const wm_finish_fold &p) {
    int lane = wm_thread() % p.team, teams = THREADS / p.team;
    wm_i64 steps = wm_divide_up(p.groups, (wm_i64)teams);
    for (wm_i64 step = blockIdx.x; step < steps; step += gridDim.x) {
        wm_i64 group = step * teams + wm_thread() / p.team;
        const T *from = static_cast<const T *>(p.from) + group * p.each;
        T sum = reduction_begin<T>(p.reduction);
        for (wm_i64 i = lane; group < p.groups && i < p.each; i += p.team) sum = reduced(p.reduction, sum, from[i]);
        sum = team_reduced(p.reduction, p.team, lane, wm_shared<T>(), sum);
        if (lane == 0 && group < p.groups) wm_element_store(p.to_type, p.to, group, sum);
    }
}

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_fold_f32(WM_PARAMS(wm_finish_fold)) {
    fold<float>(p);
}

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_fold_f64(WM_PARAMS(wm_finish_fold)) {
    fold<double>(p);
}

/* ---- A or B times its blocks' scales, in f32 ---- */

typedef struct wm_finish_widen {
    wm_matrix_ref from, to; /* element (line, q) */
    const float *scale;     /* NULL: 1 */
    wm_i64 lines, k, count; /* elements of all products */
    wm_i64 scale_batch, scale_blocks;
    int high; /* lines of a block */
    int by_k; /* neighbours in memory are along k */
} wm_finish_widen;

WM_KERNEL __launch_bounds__(THREADS) wm_matmul_widen(WM_PARAMS(wm_finish_widen)) {
    for (wm_i64 u = wm_grid_first(); u < p.count; u += wm_grid_step()) {
        wm_i64 inner = p.by_k ? p.k : p.lines, outer = u / inner, at = u - outer * inner, high = p.by_k ? p.lines : p.k;
        wm_i64 t = outer / high, across = outer - t * high, line = p.by_k ? across : at, q = p.by_k ? at : across;
        float x = wm_element_load<float>(p.from.type, wm_matrix_first(p.from, t), line * p.from.row + q * p.from.col);
        if (p.scale) x = wm_mul(x, p.scale[t * p.scale_batch + line / p.high * p.scale_blocks + q / 128]);
        float *to = static_cast<float *>(const_cast<void *>(wm_matrix_first(p.to, t)));
        to[line * p.to.row + q * p.to.col] = x;
    }
}

/* ---- From a problem to its launches ---- */

static int wide(const wmMatmulDesc *d) {
    return d->compute == WM_COMPUTE_F64;
}

static wm_i64 pieces_of(const wmMatmulDesc *d) {
    return (wm_matmul_columns(d) + PIECE - 1) / PIECE;
}

/** Whether partial values go through the workspace. */
static int folds(const wmMatmulDesc *d) {
    return d->reduction && (d->reduction == WM_REDUCE_ABSMAX || pieces_of(d) > 1);
}

static size_t partial_bytes(const wmMatmulDesc *d) {
    size_t values = folds(d) ? (size_t)(d->m * d->batch * pieces_of(d)) : 0;
    return (values * (wide(d) ? 8 : 4) + ALIGN - 1) / ALIGN * ALIGN;
}

static int run_of(const wmMatmulDesc *d) {
    return d->dropout ? RUN : 1;
}

static int team_of(const wmMatmulDesc *d) {
    int team = 1;
    if (d->d.order == WM_COL_MAJOR) return 1;
    while (team < THREADS && team * run_of(d) < wm_matmul_columns(d)) team *= 2;
    return team;
}

static wm_finish_scale scale_of(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *at) {
    int apart = x->scale && !wm_scale_is_block(x);
    wm_finish_scale s = {apart ? static_cast<const float *>(at) : nullptr, x->scale == WM_SCALE_ROW,
                         x->scale == WM_SCALE_COLUMN, wm_scale_stride(d, x)};
    return s;
}

static void drop_of(const wmMatmulArgs *args, wm_finish_job *job) {
    job->dropout = 1;
    job->key = args->drop_key;
    job->offset = args->drop_offset;
    job->state = args->drop_state;
    job->keep = wmProbabilityMake(1.0 - args->drop);
    job->factor = args->drop < 1.0 ? 1.0 / (1.0 - args->drop) : 0.0;
}

static wm_finish_job job_of(const wm_run *run, const wm_apart *apart) {
    const wmMatmulDesc *d = &run->problem->u.matmul, *plain = &apart->inner.problem.u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    wm_matmul_job whole = wm_matmul_job_of(d, args, 1, 1);
    wm_finish_job job = {};
    job.m = d->m;
    job.columns = wm_matmul_columns(d);
    job.rows = d->m * d->batch;
    job.pieces = pieces_of(d);
    job.sum = wm_matrix_ref_of(plain, &plain->d, run->workspace);
    if (d->r.type) job.r = wm_matrix_ref_of(d, &d->r, args->r);
    if (d->z.type) job.z = wm_matrix_ref_of(d, &d->z, args->z);
    job.e = whole.epilogue;
    job.a_scale = scale_of(d, &d->a, args->a_scale);
    job.b_scale = scale_of(d, &d->b, args->b_scale);
    job.d_scale = scale_of(d, &d->d, args->d_scale);
    job.gate_step = d->gate == WM_GATE_PAIRS ? 2 : 1;
    job.gate_next = d->gate == WM_GATE_PAIRS ? 1 : d->gate ? job.columns : 0;
    job.integer = d->a.type == WM_I8;
    job.no_product = d->k == 0;
    job.activation = (int)d->activation;
    job.triangle = (int)d->triangle;
    job.reduction = (int)d->reduction;
    job.run = run_of(d);
    job.team = team_of(d);
    if (d->dropout) drop_of(args, &job);
    job.final = !folds(d);
    job.reduced_type = wm_reduced_type(d) & 0xff;
    job.reduced =
        job.final ? args->reduced : static_cast<char *>(run->workspace) + run->offer->workspace - partial_bytes(d);
    return job;
}

static wmStatus launch(const wm_run *run, const void *kernel, wm_i64 blocks, const void *params, size_t bytes) {
    wm_launch l = {};
    l.kernel = kernel;
    l.grid.x = (unsigned)(wm_min(blocks, (wm_i64)MOST_BLOCKS));
    l.block.x = THREADS;
    l.grid.y = l.grid.z = l.block.y = l.block.z = 1;
    l.shared = THREADS * sizeof(double);
    l.params = params;
    l.params_bytes = bytes;
    return wm_launch_kernel(run->context, "matmul_finish", &l, run->stream);
}

static wmStatus widen(const wm_run *run, const wmMatrixDesc *from, const wmMatrixDesc *to, const void *x,
                      const void *scale, void *out) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    int is_a = from == &d->a;
    wm_finish_widen job = {};
    job.from = wm_matrix_ref_of(d, from, x);
    job.to = wm_matrix_ref_of(d, to, out);
    if (!is_a) { /* a line is a column */
        job.from = wm_matrix_ref{x, job.from.col, job.from.row, job.from.batch, job.from.type, 0, 0};
        job.to = wm_matrix_ref{out, job.to.col, job.to.row, job.to.batch, job.to.type, 0, 0};
    }
    job.scale = wm_scale_is_block(from) ? static_cast<const float *>(scale) : nullptr;
    job.lines = is_a ? d->m : d->n;
    job.k = d->k;
    job.count = job.lines * d->k * (to->batch_stride ? d->batch : 1);
    job.scale_batch = wm_scale_stride(d, from);
    job.scale_blocks = wm_scale_blocks(d);
    job.high = from->scale == WM_SCALE_128X128 ? 128 : 1;
    job.by_k = job.to.col == 1;
    return launch(run, (const void *)wm_matmul_widen, wm_divide_up(job.count, (wm_i64)THREADS), &job, sizeof job);
}

static wmStatus widen_both(const wm_run *run, const wm_apart *apart) {
    const wmMatmulDesc *d = &run->problem->u.matmul, *plain = &apart->inner.problem.u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    char *a = static_cast<char *>(run->workspace) + apart->sum_bytes;
    int nothing = args->alpha.kind == WM_SCALAR_HOST && args->alpha.re == 0; /* A and B may be NULL */
    if (!wm_apart_widens(d) || d->k == 0 || nothing) return WM_OK;
    WM_TRY(widen(run, &d->a, &plain->a, args->a, args->a_scale, a));
    return widen(run, &d->b, &plain->b, args->b, args->b_scale, a + apart->a_bytes);
}

/* ---- The solver ---- */

static int matmul_finish_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity,
                               wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    (void)capacity;
    if (!(wm_problem_features(problem) & WM_APART_BEYOND)) return wm_refuse(why, "others do all of it at once");
    *out = wm_offer{};
    if (!wm_apart_offer(context, d, out, why)) return 0;
    double elements = (double)d->m * (double)d->n * (double)d->batch;
    double bytes =
        elements * (double)(4 + wmTypeSize(d->z.type)) + (double)(d->m * d->batch) * (double)wm_matmul_columns(d) *
                                                             (double)(wmTypeSize(d->d.type) + wmTypeSize(d->r.type));
    out->seconds += 3e-6 * (1 + folds(d)) + (d->dropout ? 2.0 : 1.25) * bytes / wm_context_bandwidth(context);
    if (wm_apart_widens(d)) {
        double both = (double)(d->m + d->n) * (double)d->k * (double)d->batch;
        out->seconds += 6e-6 + 5.0 * both / (0.8 * wm_context_bandwidth(context));
    }
    out->workspace += partial_bytes(d);
    return 1;
}

static void matmul_finish_drop(wmContext *context, void *data) {
    wm_apart *apart = static_cast<wm_apart *>(data);
    if (apart) wm_inner_drop(context, &apart->inner);
    free(apart);
}

static wmStatus matmul_finish_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmMatmulDesc *d = &problem->u.matmul;
    wm_apart *apart = static_cast<wm_apart *>(calloc(1, sizeof *apart));
    if (!apart) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = apart;
    wm_offer inner = *offer;
    inner.workspace -= partial_bytes(d);
    WM_TRY(wm_apart_make(context, d, &inner, apart));
    const void *pass = wide(d) ? (const void *)wm_matmul_finish_f64 : (const void *)wm_matmul_finish_f32;
    const void *last = wide(d) ? (const void *)wm_matmul_fold_f64 : (const void *)wm_matmul_fold_f32;
    WM_TRY(wm_prepare_kernel(context, "matmul_finish", pass, THREADS * sizeof(double)));
    WM_TRY(wm_prepare_kernel(context, "matmul_finish", (const void *)wm_matmul_widen, THREADS * sizeof(double)));
    return wm_prepare_kernel(context, "matmul_finish", last, THREADS * sizeof(double));
}

static wmStatus matmul_finish_run(const wm_run *run) {
    const wm_apart *apart = static_cast<const wm_apart *>(run->state);
    const wmMatmulDesc *d = &run->problem->u.matmul;
    WM_TRY(widen_both(run, apart));
    WM_TRY(wm_apart_run(run, apart));
    wm_finish_job job = job_of(run, apart);
    wm_i64 teams = THREADS / job.team, blocks = wm_divide_up(job.rows, teams) * job.pieces;
    const void *pass = wide(d) ? (const void *)wm_matmul_finish_f64 : (const void *)wm_matmul_finish_f32;
    WM_TRY(launch(run, pass, blocks, &job, sizeof job));
    if (!folds(d)) return WM_OK;
    int all = d->reduction == WM_REDUCE_ABSMAX;
    wm_finish_fold last = {
        job.reduced,   run->args->matmul.reduced, all ? 1 : job.rows, all ? job.rows * job.pieces : job.pieces,
        job.reduction, all ? THREADS : 1,         job.reduced_type};
    const void *kernel = wide(d) ? (const void *)wm_matmul_fold_f64 : (const void *)wm_matmul_fold_f32;
    return launch(run, kernel, all ? 1 : wm_divide_up(job.rows, (wm_i64)THREADS), &last, sizeof last);
}

extern "C" const wm_solver wm_matmul_finish = {
    "matmul_finish",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_FP8 | WM_MM_I8 | WM_MM_MIXED | WM_MM_TRANSPOSE |
        WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 |
        WM_MM_STRICT | WM_MM_UNALIGNED | WM_APART_BEYOND,
    {nullptr},
    matmul_finish_offer,
    matmul_finish_make,
    matmul_finish_run,
    matmul_finish_drop,
};
