/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped batches on the ordinary cores: products of their own sizes, which stand in device memory and are read when
 * the product runs. Every type, layout and epilogue.
 *
 *     tiles of  │ group 0 │ 1 │   group 3   │ 4 │ …    group 2 is empty. One block counts the tiles of each group, then
 *               ├─┬─┬─┬─┬─┼─┬─┼─┬─┬─┬─┬─┬─┬─┼─┬─┤      blocks walk the row of all tiles and find each one's group by
 *               └─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┘      halving.
 *
 * f32, f64, c64 and c128 use the tiles of matmul_slices (64 × 64 or 32 × 32 of D, all of k). Other types, and mixed
 * ones, have one output a thread, summed in double (i8: in i32): slow, and what others are judged by.
 *
 * Floor: 2mnk over the FFMA rate (67 TFLOP/s on an H200) for f32. Not yet measured.
 */
#include "device/matmul_grouped.cuh"
#include "device/matmul_slices.cuh"

enum { SIDE = 16, EACH_THREADS = SIDE * SIDE };

typedef struct wm_grouped_job {
    wm_groups groups;
    wm_slices_job one; /* of the largest group; its epilogue is as the kernel sees D */
    wm_matmul_job each;
} wm_grouped_job;

WM_KERNEL __launch_bounds__(WM_GROUPS_THREADS) wm_matmul_grouped_count(WM_PARAMS(wm_grouped_job)) {
    wm_groups_count(p.groups, wm_shared<char>());
}

/* ---- Tiles ---- */

/** The slice that tile `unit` is; its first row and column. */
template <class S>
WM_DEVICE wm_slices_job slice_of(const wm_grouped_job &p, int unit, wm_i64 *i0, wm_i64 *j0) {
    wm_i64 g = wm_groups_find(p.groups, unit);
    wm_group it = wm_groups_get(p.groups, g);
    unsigned in = (unsigned)(unit - p.groups.first[g]), columns = (unsigned)((it.columns + S::N - 1) / S::N);
    wm_slices_job q = p.one;
    *i0 = (wm_i64)(in / columns) * S::M, *j0 = (wm_i64)(in % columns) * S::N;
    q.a.base = it.a, q.a.count = it.rows;
    q.b.base = it.b, q.b.count = it.columns;
    q.k = it.k, q.steps = (int)((it.k + S::K - 1) / S::K);
    q.epilogue.c.base = it.c, q.epilogue.d.base = it.d;
    q.vector_d = q.vector_d && it.columns % S::V == 0;
    return q;
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS - 1) wm_matmul_grouped_tiles(WM_PARAMS(wm_grouped_job)) {
    typedef typename S::Element T;
    typename S::shared *s = wm_shared<typename S::shared>();
    int units = (int)p.groups.first[p.groups.count];
    for (int unit = blockIdx.x; unit < units; unit += gridDim.x) {
        wm_i64 i0 = 0, j0 = 0;
        T sum[S::ROWS][S::COLUMNS] = {};
        wm_slices_job q = slice_of<S>(p, unit, &i0, &j0);
        wm_slices_sum<S, T>(q, s, 0, i0, j0, 0, !wm_is_zero(wm_ending_begin(p.one.epilogue, T{}).alpha), sum);
        if constexpr (S::PARTS > 1) wm_slices_sum_groups<S, T>(s);
        asm volatile("" : "+r"(unit)); /* the tile's place is worked out twice, to leave the product its registers */
        q = slice_of<S>(p, unit, &i0, &j0);
        wm_ending<T> ending = wm_ending_begin(q.epilogue, T{});
        if (q.k == 0) ending.alpha = T{};
        wm_slices_finish<S, T>(q, ending, s, 0, 0, i0, j0, 0);
        wm_barrier(); /* the sums have been read */
    }
}

/* ---- An output a thread ---- */

/** A thread's place in a tile; false beyond D's edge. Neighbours take neighbours in D's memory. */
WM_DEVICE bool locate(const wm_grouped_job &p, wm_i64 unit, wm_group *it, wm_i64 *i, wm_i64 *j) {
    wm_i64 g = wm_groups_find(p.groups, unit), in = unit - p.groups.first[g];
    *it = wm_groups_get(p.groups, g);
    wm_i64 columns = (it->columns + SIDE - 1) / SIDE;
    *i = in / columns * SIDE + (p.each.d_by_rows ? wm_thread() / SIDE : wm_thread() % SIDE);
    *j = in % columns * SIDE + (p.each.d_by_rows ? wm_thread() % SIDE : wm_thread() / SIDE);
    return *i < it->rows && *j < it->columns;
}

WM_KERNEL __launch_bounds__(EACH_THREADS) wm_matmul_grouped_each(WM_PARAMS(wm_grouped_job)) {
    const wm_matmul_job &e = p.each;
    wm_epilogue_scalars<double> scalars = wm_epilogue_begin<double>(e.epilogue);
    wm_i64 units = p.groups.first[p.groups.count], i = 0, j = 0;
    wm_group it;
    for (wm_i64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
        if (!locate(p, unit, &it, &i, &j)) continue;
        wm_epilogue_scalars<double> mine = scalars;
        wm_epilogue out = e.epilogue;
        double sum = 0.0;
        if (it.k == 0) mine.alpha = 0.0;
        for (wm_i64 q = 0; mine.alpha != 0.0 && q < it.k; q++) /* a product of two narrow numbers is exact */
            sum = wm_fma(wm_element_load<double>(e.a.type, it.a, i * e.a.row + q * e.a.col),
                         wm_element_load<double>(e.b.type, it.b, q * e.b.row + j * e.b.col), sum);
        out.c.base = it.c, out.d.base = it.d;
        wm_epilogue_store(out, mine, 0, i, j, sum);
    }
}

WM_DEVICE wm_u32 integer_scalar(const wm_scalar_ref &s) {
    return s.device ? *static_cast<const wm_u32 *>(s.device) : (wm_u32)(wm_i64)s.re;
}

WM_KERNEL __launch_bounds__(EACH_THREADS) wm_matmul_grouped_integers(WM_PARAMS(wm_grouped_job)) {
    const wm_matmul_job &e = p.each;
    wm_u32 alpha = integer_scalar(e.epilogue.alpha), beta = integer_scalar(e.epilogue.beta);
    wm_i64 units = p.groups.first[p.groups.count], i = 0, j = 0;
    wm_group it;
    for (wm_i64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
        if (!locate(p, unit, &it, &i, &j)) continue;
        const wm_i8 *a = static_cast<const wm_i8 *>(it.a) + i * e.a.row;
        const wm_i8 *b = static_cast<const wm_i8 *>(it.b) + j * e.b.col;
        wm_u32 x = 0;
        for (wm_i64 q = 0; alpha && q < it.k; q++) x += (wm_u32)(a[q * e.a.col] * b[q * e.b.row]);
        x *= alpha;
        if (beta) x += beta * static_cast<const wm_u32 *>(it.c)[i * e.epilogue.c.row + j * e.epilogue.c.col];
        static_cast<wm_u32 *>(it.d)[i * e.epilogue.d.row + j * e.epilogue.d.col] = x;
    }
}

/* ---- The solver ---- */

typedef struct variant {
    wmType type;
    int m, n, threads, blocks;
    double fraction; /* of the ordinary cores' peak */
    size_t element, shared;
    const void *kernel;
} variant;

// clang-format off
#define WM_GROUPED(type, T, m, n, tm, tn, groups, depth, fraction) \
    {type, m, n, (m) / (tm) * ((n) / (tn)) * (groups), wm_slices_shape<T, m, n, tm, tn, groups, depth>::BLOCKS - 1, fraction, \
     sizeof(T), sizeof(wm_slices_shape<T, m, n, tm, tn, groups, depth>::shared), \
     (const void *)wm_matmul_grouped_tiles<wm_slices_shape<T, m, n, tm, tn, groups, depth>>}
// clang-format on

static const variant variants[] = {
    WM_GROUPED(WM_F32, float, 64, 64, 8, 4, 1, 16, 0.50),
    WM_GROUPED(WM_C64, float2, 32, 32, 4, 4, 2, 16, 0.45),
    WM_GROUPED(WM_F64, double, 32, 32, 4, 4, 2, 8, 0.4),
    WM_GROUPED(WM_C128, double2, 32, 32, 4, 4, 2, 8, 0.5),
    {WM_TYPE_UNSET, SIDE, SIDE, EACH_THREADS, 8, 0.04, 0, 0, (const void *)wm_matmul_grouped_each    },
    {WM_I8,         SIDE, SIDE, EACH_THREADS, 8, 0.04, 0, 0, (const void *)wm_matmul_grouped_integers},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static int is_tile(const variant *v) {
    return v->shared > 0;
}

static const char *refusal(const wmMatmulDesc *d) {
    if (d->batch_mode != WM_BATCH_GROUPED) return "the batch is not grouped";
    if (d->a.type == WM_I8)
        return d->b.type == WM_I8 && d->c.type == WM_I32 && d->d.type == WM_I32 && !d->bias && !d->activation
                   ? NULL
                   : "i8 products are i8 x i8 -> i32, without bias and activation";
    int natural = wm_natural_refusal(d) == NULL && wmTypeSize(d->a.type) >= 4;
    if (wm_type_is_complex(d->a.type) && !natural) return "c64 and c128 do not mix";
    if ((d->a.type == WM_F64) != (d->b.type == WM_F64)) return "f64 does not mix with narrower operands";
    return NULL;
}

/* Whether a variant is for these operands. */
static int suits(const wmMatmulDesc *d, const variant *v) {
    int natural = wm_natural_refusal(d) == NULL && wmTypeSize(d->a.type) >= 4;
    if (v->type == WM_TYPE_UNSET) return !natural && d->a.type != WM_I8;
    return v->type == d->a.type && (natural || v->type == WM_I8);
}

/* The tiles want D by rows; an output a thread takes it as it is. */
static int is_swapped(const wmMatmulDesc *d, const variant *v) {
    return is_tile(v) && d->d.order == WM_COL_MAJOR;
}

static wm_grouped_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, const variant *v, void *workspace) {
    wm_turned x = wm_turn(d, is_swapped(d, v));
    wm_grouped_job job = {};
    job.each = wm_matmul_job_of(d, args, SIDE, SIDE);
    job.groups = wm_groups_of(d, args);
    job.groups.swapped = x.swapped;
    job.groups.tile_m = x.swapped ? v->n : v->m, job.groups.tile_n = x.swapped ? v->m : v->n;
    job.groups.first = static_cast<wm_i64 *>(workspace);
    if (!is_tile(v)) return job;
    job.one.a = wm_panel_side_of(d, &x.a, NULL, x.a.by_k);
    job.one.b = wm_panel_side_of(d, &x.b, NULL, !x.b.by_k);
    job.one.splits = 1, job.one.batch = 1;
    job.one.epilogue = wm_turn_epilogue(&job.each, x.swapped);
    job.one.d_by_rows = job.one.epilogue.d.col == 1;
    job.one.plain = wm_is_plain(d);
    int run = 16 / (int)v->element;
    job.one.vector_d = d->d.ld % run == 0 && d->d.align >= 16 && d->d.type == d->a.type;
    return job;
}

/* Waves of tiles; a block each multiprocessor holds `blocks` of. */
static double seconds_of(wmContext *context, const wmMatmulDesc *d, const variant *v) {
    int wide = d->a.type == WM_F64 || d->a.type == WM_C128 || !is_tile(v);
    double k = 0, tiles = wm_groups_expected(d, v->m, v->n, &k);
    double slots = (double)wm_context_device(context)->multiprocessors * v->blocks;
    double rate = v->fraction * wm_context_peak_flops(context, WM_F32, WM_COMPUTE_F32_STRICT) * (wide ? 0.5 : 1.0);
    double each = 2.0 * v->m * v->n * k * (wm_type_is_complex(d->a.type) ? 4.0 : 1.0) * slots / rate;
    return 7e-6 + ceil(tiles / slots) * (each + 1e-6);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = refusal(d);
    int count = 0;
    if (reason) return wm_refuse(why, "%s", reason);
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
    if (d->k >= 1ll << 34) return wm_refuse(why, "k is 2^34 or more");
    if ((double)((d->m + 15) / 16) * (double)((d->n + 15) / 16) * (double)d->batch >= 2147483647.0)
        return wm_refuse(why, "the groups may have 2^31 tiles or more");
#ifdef WM_SIMT
    if ((double)(d->m + 31) * (double)(d->n + 31) * (double)(d->k * d->batch) > 1.2e6)
        return wm_refuse(why, "it is too large for the emulation");
#endif
    for (int i = 0; i < VARIANTS && count < capacity; i++) {
        if (!suits(d, &variants[i])) continue;
        out[count] = wm_offer{};
        out[count].knob[0] = i;
        out[count].workspace = wm_groups_bytes(d);
        out[count].capturable = out[count].concurrent = 1;
        out[count].seconds = seconds_of(context, d, &variants[i]);
        count++;
    }
    return count;
}

static wmStatus make(wmContext *context, const wm_problem *, const wm_offer *offer, void **state) {
    const variant *v = &variants[offer->knob[0]];
    *state = NULL;
    WM_TRY(wm_prepare_kernel(context, "matmul_grouped_count", (const void *)wm_matmul_grouped_count,
                             wmReduceSmem(WM_GROUPS_THREADS)));
    return wm_prepare_kernel(context, "matmul_grouped", v->kernel, v->shared);
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const variant *v = &variants[run->offer->knob[0]];
    wm_grouped_job job = job_of(d, &run->args->matmul, v, run->workspace);
    wm_launch launch = {};
    launch.kernel = (const void *)wm_matmul_grouped_count;
    launch.grid = wm_dim3{1, 1, 1};
    launch.block = wm_dim3{WM_GROUPS_THREADS, 1, 1};
    launch.shared = wmReduceSmem(WM_GROUPS_THREADS);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    WM_TRY(wm_launch_kernel(run->context, "matmul_grouped_count", &launch, run->stream));
    launch.kernel = v->kernel;
    launch.grid.x = (unsigned)(wm_context_device(run->context)->multiprocessors * v->blocks);
    launch.block.x = (unsigned)v->threads;
    launch.shared = v->shared;
    return wm_launch_kernel(run->context, "matmul_grouped", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_grouped = {
    "matmul_grouped",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    1, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_FP8 | WM_MM_I8 | WM_MM_MIXED |
        WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_GROUPED | WM_MM_BIAS |
        WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED,
    {"tile", nullptr},
    offer,
    make,
    run,
    nullptr,
};
