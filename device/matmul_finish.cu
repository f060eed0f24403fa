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
 * A functor of the user's is the pass compiled once more when the plan is made, with their function in it.
 *
 * Refuses what needs no such pass. Floor: the sums written and read once more, 8 bytes an element, and D, R, Z as they
 * are; 4096 x 4096 to bf16: 134 MB + 34 MB at 4.0 TB/s, 42 us, half of that where the sums stay in L2. Predicted 0.8 of
 * it without dropout, 0.5 with. Not measured.
 */
#include "device/matmul_finish.cuh"
#include "device/matmul_job.h"

#include "host/matmul_functor.h"
#include "lib/jit.h"
#include "lib/matmul_apart.h"

#include <stdlib.h>

enum { MOST_BLOCKS = 1 << 20, ALIGN = 256 };

typedef struct finish_state {
    wm_apart apart;
    wm_jit_kernel *functor; /* the pass with the user's function; NULL: none */
} finish_state;

/* ---- From a problem to its launches ---- */

/** The pass as the library has it. */
static const void *pass_of(const wmMatmulDesc *d) {
    return d->compute == WM_COMPUTE_F64 ? (const void *)wm_matmul_finish_f64 : (const void *)wm_matmul_finish_f32;
}

/** The pass with a functor as the emulation has it. */
static const void *generic_pass(const wmMatmulDesc *d) {
#ifdef WM_SIMT
    return pass_of(d);
#else
    (void)d;
    return nullptr;
#endif
}

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
    job.functor_user = args->functor_user;
    job.functor_host = reinterpret_cast<const void *>(d->functor.host);
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
    if (!wm_apart_widens(d) || d->k == 0 || wm_scalar_is(&args->alpha, 0)) return WM_OK;
    WM_TRY(widen(run, &d->a, &plain->a, args->a, args->a_scale, a));
    return widen(run, &d->b, &plain->b, args->b, args->b_scale, a + apart->a_bytes);
}

/* ---- The solver ---- */

static int matmul_finish_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity,
                               wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    (void)capacity;
    const char *reason = nullptr;
    if (!(wm_problem_features(problem) & WM_APART_BEYOND)) return wm_refuse(why, "others do all of it at once");
    if (d->functor.source && !wm_jit_ready(generic_pass(d), &reason)) return wm_refuse(why, "%s", reason);
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
    finish_state *state = static_cast<finish_state *>(data);
    if (!state) return;
    wm_inner_drop(context, &state->apart.inner);
    wm_jit_put(context, state->functor);
    free(state);
}

static wmStatus make_functor(wmContext *context, const wmMatmulDesc *d, finish_state *state) {
    char *source = wm_matmul_functor_source(&d->functor, wide(d));
    if (!source) return wm_fail(WM_ERR_MEMORY, "out of memory for a functor's source");
    wm_jit_request request = {};
    request.solver = "matmul_finish";
    request.source = source;
    request.kernel = WM_MATMUL_FUNCTOR_KERNEL;
    request.options[0] = WM_MATMUL_FUNCTOR_OPTION;
    request.shared = THREADS * sizeof(double);
    request.generic = generic_pass(d);
    wmStatus status = wm_jit_get(context, &request, &state->functor);
    free(source);
    return status;
}

static wmStatus matmul_finish_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmMatmulDesc *d = &problem->u.matmul;
    finish_state *made = static_cast<finish_state *>(calloc(1, sizeof *made));
    if (!made) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = made;
    if (d->functor.source) WM_TRY(make_functor(context, d, made));
    wm_offer inner = *offer;
    inner.workspace -= partial_bytes(d);
    WM_TRY(wm_apart_make(context, d, &inner, &made->apart));
    const void *last = wide(d) ? (const void *)wm_matmul_fold_f64 : (const void *)wm_matmul_fold_f32;
    WM_TRY(wm_prepare_kernel(context, "matmul_finish", pass_of(d), THREADS * sizeof(double)));
    WM_TRY(wm_prepare_kernel(context, "matmul_finish", (const void *)wm_matmul_widen, THREADS * sizeof(double)));
    return wm_prepare_kernel(context, "matmul_finish", last, THREADS * sizeof(double));
}

static wmStatus matmul_finish_run(const wm_run *run) {
    const finish_state *state = static_cast<const finish_state *>(run->state);
    const wm_apart *apart = &state->apart;
    const wmMatmulDesc *d = &run->problem->u.matmul;
    WM_TRY(widen_both(run, apart));
    WM_TRY(wm_apart_run(run, apart));
    wm_finish_job job = job_of(run, apart);
    wm_i64 teams = THREADS / job.team, blocks = wm_divide_up(job.rows, teams) * job.pieces;
    const void *pass = state->functor ? wm_jit_handle(state->functor) : pass_of(d);
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
