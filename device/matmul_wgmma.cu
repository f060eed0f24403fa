/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of f16 and bf16 on Hopper's tensor cores, sums in f32: the last rung of the ladder. Any m, n, k,
 * order, transposition, strided batch and epilogue; D of 16 bits or f32.
 *
 *        k               n          A block of three warpgroups makes 128 × TILE_N (64 to 256) of D. One thread of
 *      ┌────┐      ┌─┬──────┐       the first keeps a ring of 4 to 8 stages full, each 64 of k of both tiles, by the
 *    m │ A  │    k │ │  B   │       bulk copy engine: zeros past the edges. The two others multiply 64 rows each out
 *      ├────┤      └─┴──────┘       of shared memory (wgmma m64nNk16) and hand a stage back when the next is under
 *  128 │▒▒▒▒│        ┌──┐           way. Sums leave through swizzled shared memory and the copy engine or, where
 *      └────┘        │▒▒│ D         there is a C, a bias or an activation, straight from the warps.
 *                    └──┘
 * Blocks stay for many tiles, in strips of `group` rows so that a wave of them shares its operands in L2; in a cluster
 * two blocks share B's tile. TILE_N is chosen for full waves more than for anything else.
 * Refuses: other GPUs than sm_90; A or B not 16-byte aligned in pointer, ld and batch stride; arrays of pointers.
 *
 * Floor: 2mnk over the tensor peak, 989 TFLOP/s on an H200, of which its 700 W sustain 70 to 80 %.
 * Source of the ideas: the structure of CUTLASS's warp-specialized kernels, and P. Bhatia's worklog "Outperforming
 * cuBLAS on H100" (2024), whose ladder this follows.
 */
#include "device/matmul_job.h"
#include "device/matmul_wgmma.cuh"

#include <math.h>

/* ---- Kernels, by width of the tile, operand type, and whether A's rows and B's columns are contiguous ---- */

template <int TILE_N, bool BF16, int A_MN, int B_MN>
__global__ void __launch_bounds__(WM_WGMMA_THREADS, 1) wm_matmul_wgmma_kernel(WM_PARAMS(wm_wgmma_job)) {
    wm_wgmma_tiles<TILE_N, BF16, A_MN, B_MN>(p);
}

/** What differs from tile to tile. */
typedef struct tile_row {
    int n;
    size_t shared;
    int columns;              /* of a 16-bit D that leave together */
    const void *kernel[2][4]; /* bf16, f16; 2 · A + B contiguous */
} tile_row;

// clang-format off
#define WM_WGMMA_KERNEL(n, bf16, a, b) (const void *)wm_matmul_wgmma_kernel<n, bf16, a, b>
#define WM_WGMMA_KERNELS(n, bf16) \
    {WM_WGMMA_KERNEL(n, bf16, 0, 0), WM_WGMMA_KERNEL(n, bf16, 0, 1), \
     WM_WGMMA_KERNEL(n, bf16, 1, 0), WM_WGMMA_KERNEL(n, bf16, 1, 1)}
#define WM_WGMMA_ROW(n) \
    {n, sizeof(wm_wgmma_ring<n>), wm_wgmma_out_columns(n), {WM_WGMMA_KERNELS(n, true), WM_WGMMA_KERNELS(n, false)}}
// clang-format on

static const tile_row tiles[] = {WM_WGMMA_ROW(256), WM_WGMMA_ROW(224), WM_WGMMA_ROW(192), WM_WGMMA_ROW(128),
                                 WM_WGMMA_ROW(64)};
enum { TILES = sizeof tiles / sizeof tiles[0], MOST = 0x7fffffff };

/* ---- The solver ---- */

/** An operand with its rows (of A, or columns of B) along D's rows or columns. */
typedef struct operand {
    const wmMatrixDesc *desc;
    int64_t rows, ld;
    int contiguous; /* the rows are, not k */
} operand;

/** The product as the kernel does it: D by rows. */
typedef struct product {
    operand a, b;
    int swapped;
} product;

static product product_of(const wmMatmulDesc *d) {
    operand a = {&d->a, d->m, d->a.ld, (d->a.order == WM_COL_MAJOR) == (d->a.op == WM_OP_NONE)};
    operand b = {&d->b, d->n, d->b.ld, (d->b.order == WM_ROW_MAJOR) == (d->b.op == WM_OP_NONE)};
    int swapped = d->d.order == WM_COL_MAJOR;
    return swapped ? product{b, a, 1} : product{a, b, 0};
}

static int is_shared(const wmMatmulDesc *d, const wmMatrixDesc *x) {
    return d->batch == 1 || x->batch_stride == 0;
}

/** The map of a matrix of `rows` rows of `columns` contiguous elements. */
static wm_tensor tensor_of(const wmMatmulDesc *d, const wmMatrixDesc *x, const void *base, int64_t rows,
                           int64_t columns, int box_columns, int box_rows) {
    wm_tensor t = {};
    int shared = is_shared(d, x);
    t.base = base;
    t.type = x->type;
    t.dim[0] = columns;
    t.dim[1] = rows;
    t.dim[2] = shared ? 1 : d->batch;
    t.stride[0] = x->ld;
    t.stride[1] = shared ? x->ld : x->batch_stride;
    t.box[0] = box_columns;
    t.box[1] = box_rows;
    return t;
}

static wm_tensor operand_tensor(const wmMatmulDesc *d, const operand *x, const void *base, int tile) {
    return x->contiguous ? tensor_of(d, x->desc, base, d->k, x->rows, 64, WM_WGMMA_K)
                         : tensor_of(d, x->desc, base, x->rows, d->k, WM_WGMMA_K, tile);
}

/* Whether D may leave through the copy engine when beta is 0. */
static int has_d_map(const wmMatmulDesc *d) {
    return (d->d.type == d->a.type || d->d.type == WM_F32) && !d->bias && !d->activation && wm_matrix_is_vector(&d->d);
}

/* Whether four neighbours of x are one access. */
static int is_vector4(const wmMatmulDesc *d, const wmMatrixDesc *x) {
    int type = x->type == WM_F16 || x->type == WM_BF16 || x->type == WM_F32;
    return type && x->order == d->d.order && x->align >= 4 * (int64_t)wmTypeSize(x->type) && x->ld % 4 == 0 &&
           (is_shared(d, x) || x->batch_stride % 4 == 0);
}

static const char *refusal(const wmMatmulDesc *d) {
    if (d->a.type != d->b.type) return "the types of A and B differ";
    if (d->d.type != WM_F16 && d->d.type != WM_BF16 && d->d.type != WM_F32) return "D is not f16, bf16 or f32";
    if (!wm_matrix_is_vector(&d->a)) return "A is not 16-byte aligned in pointer, ld and batch stride";
    if (!wm_matrix_is_vector(&d->b)) return "B is not 16-byte aligned in pointer, ld and batch stride";
    const int64_t far = 1ll << 38; /* strides of a tensor map are under 2^40 bytes */
    if (d->a.ld >= far || d->b.ld >= far || d->d.ld >= far || d->a.batch_stride >= far || d->b.batch_stride >= far ||
        d->d.batch_stride >= far)
        return "a stride is 2^38 elements or more";
    if (d->m >= MOST || d->n >= MOST || d->k >= MOST) return "m, n or k is 2^31 or more";
    double tiles = (double)((d->m + 255) / 128) * (double)((d->n + 255) / 128) * (double)d->batch;
    return tiles >= MOST ? "there are 2^31 tiles or more" : NULL;
}

/* Whether tensor maps can be made here: tries one. */
static int has_maps(wmContext *context, const wmMatmulDesc *d) {
    const wm_gpu *gpu = wm_context_gpu(context);
    alignas(64) unsigned char map[sizeof(wm_tensor_map)];
    wmMatrixDesc x = d->a;
    x.ld = 64;
    wm_tensor t = tensor_of(d, &x, (const void *)4096, 64, 64, 64, 64);
    t.dim[2] = 1;
    t.stride[1] = 4096;
    return gpu->tensor_map(gpu->self, &t, map) == 0;
}

static wm_wgmma_job shape_of(const wmMatmulDesc *d, const wm_offer *offer) {
    wm_wgmma_job job = {};
    product x = product_of(d);
    int n = offer->knob[0], cluster = offer->knob[1];
    job.m = (int)x.a.rows;
    job.n = (int)x.b.rows;
    job.steps = (int)((d->k + WM_WGMMA_K - 1) / WM_WGMMA_K);
    job.rows = (int)((x.a.rows + (int64_t)WM_WGMMA_M * cluster - 1) / ((int64_t)WM_WGMMA_M * cluster));
    job.columns = (int)((x.b.rows + n - 1) / n);
    job.batch = (int)d->batch;
    job.group = offer->knob[2] / cluster;
    job.a_batch = !is_shared(d, x.a.desc);
    job.b_batch = !is_shared(d, x.b.desc);
    wm_view c = wm_view_of(&d->c);
    job.d_i = d->d.ld;
    job.c_i = x.swapped ? c.col : c.row;
    job.c_j = x.swapped ? c.row : c.col;
    job.bias_j = (d->bias == WM_BIAS_N) != x.swapped;
    job.vector = is_vector4(d, &d->d) && is_vector4(d, &d->c);
    job.map_d = has_d_map(d);
    return job;
}

/* Waves of tiles. The rates are what an H200 sustains at its power limit, 1.98 GHz being the clock that peaks go by;
 * the rest of a tile is its way out, that of a launch includes filling the ring. */
static double estimate(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wm_device *device = wm_context_device(context);
    wm_wgmma_job job = shape_of(d, offer);
    int n = offer->knob[0], cluster = offer->knob[1], together = device->multiprocessors / cluster;
    double waves = ceil((double)job.rows * job.columns * job.batch / together);
    double peak = wm_context_peak_flops(context, d->a.type, d->compute) / device->multiprocessors;
    double rate = peak * (n >= 192 ? 0.68 : n == 128 ? 0.65 : 0.55);
    double out = 0.7e-6 + (job.map_d ? 0.0 : 1.5e-8 * n);
    double product = waves * (2.0 * WM_WGMMA_M * n * WM_WGMMA_K * job.steps / rate + out);
    double memory = wm_problem_cost(problem).bytes / (0.85 * wm_context_bandwidth(context));
    return (product > memory ? product : memory) + (cluster == 2 ? 3.2e-6 : 3e-6);
}

/* Whether this library was built for Hopper: kernels built for others are empty. */
static int has_code(void) {
#ifdef __CUDA_ARCH_LIST__
    static constexpr int built_for[] = {__CUDA_ARCH_LIST__};
    for (int architecture : built_for)
        if (architecture == 900) return 1;
#endif
    return 0;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = refusal(d);
    int count = 0;
    if (wm_context_device(context)->sm != 90)
        return wm_refuse(why, "the device is sm_%d, not sm_90", wm_context_device(context)->sm);
    if (reason) return wm_refuse(why, "%s", reason);
    if (!has_code()) return wm_refuse(why, "this warpmath was built without sm_90a");
    if (!has_maps(context, d)) return wm_refuse(why, "the driver makes no tensor maps");
    int most = product_of(d).a.rows > WM_WGMMA_M ? 2 : 1;
    for (int tile = 0; tile < TILES; tile++)
        for (int cluster = 1; cluster <= most && count < capacity; cluster++) {
            wm_offer variant = {};
            variant.knob[0] = tiles[tile].n;
            variant.knob[1] = cluster;
            variant.knob[2] = 16;
            variant.capturable = variant.concurrent = 1;
            variant.seconds = estimate(context, problem, &variant);
            out[count++] = variant;
        }
    return count;
}

static const tile_row *tile_of(const wm_offer *offer) {
    const tile_row *row = tiles;
    while (row->n != offer->knob[0]) row++;
    return row;
}

static const void *kernel_of(const wmMatmulDesc *d, const wm_offer *offer) {
    product x = product_of(d);
    return tile_of(offer)->kernel[d->a.type == WM_F16][2 * x.a.contiguous + x.b.contiguous];
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_wgmma", kernel_of(&problem->u.matmul, offer), tile_of(offer)->shared);
}

/* The maps of A, B and D at these addresses. */
static wmStatus make_maps(const wm_run *run, wm_wgmma_job *job) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const wmMatmulArgs *args = &run->args->matmul;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    product x = product_of(d);
    int error = 0;
    if (job->steps) {
        const void *a = x.swapped ? args->b : args->a, *b = x.swapped ? args->a : args->b;
        wm_tensor ta = operand_tensor(d, &x.a, a, WM_WGMMA_M);
        wm_tensor tb = operand_tensor(d, &x.b, b, run->offer->knob[0] / run->offer->knob[1]);
        error = gpu->tensor_map(gpu->self, &ta, &job->a);
        if (!error) error = gpu->tensor_map(gpu->self, &tb, &job->b);
    }
    if (job->map_d && !error) {
        int columns = d->d.type == WM_F32 ? 32 : tile_of(run->offer)->columns;
        wm_tensor td = tensor_of(d, &d->d, args->d, x.a.rows, x.b.rows, columns, 16);
        error = gpu->tensor_map(gpu->self, &td, &job->d);
    }
    return wm_gpu_check(gpu, error, "cuTensorMapEncodeTiled");
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    wm_wgmma_job job = shape_of(d, run->offer);
    int cluster = run->offer->knob[1], units = job.rows * job.columns * job.batch;
    int together = wm_context_device(run->context)->multiprocessors / cluster;
    job.epilogue = wm_matmul_job_of(d, &run->args->matmul, WM_WGMMA_M, WM_WGMMA_M).epilogue;
    WM_TRY(make_maps(run, &job));
    wm_launch launch = {};
    launch.kernel = kernel_of(d, run->offer);
    launch.grid = wm_dim3{(unsigned)(cluster * (units < together ? units : together)), 1, 1};
    launch.block = wm_dim3{WM_WGMMA_THREADS, 1, 1};
    if (cluster > 1) launch.cluster = wm_dim3{(unsigned)cluster, 1, 1};
    launch.shared = tile_of(run->offer)->shared;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_wgmma", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_wgmma = {
    "matmul_wgmma",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_UNALIGNED,
    {"tile_n", "cluster", "group", nullptr},
    offer,
    make,
    run,
    nullptr,
};
