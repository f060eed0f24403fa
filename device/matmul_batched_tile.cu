/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of products with m, n and k to 64: f16 and bf16 on the tensor cores by mma.sync, f32 by multiply-adds; any
 * layout, strided batches and arrays of pointers, any epilogue. tile.cuh's product of one matrix by a warp or two.
 *
 *      D₀   D₁   D₂ …       A warp (sides to 32) or a block (to 64) takes a matrix, brings A and B to tiles in
 *    ┌────┬────┬────┬─      shared memory by 16-byte copies, which fill up with zeros to 32 or 64, multiplies, lays the
 *    │ ▒▒ │ ▒▒ │    │       sums out in f32 where A and B were, and stores rows of D by 16 bytes. 24 warps (f32:
 *    │ ▒▒ │ ▒▒ │    │       20), or 6 blocks, live on a multiprocessor: one's loads hide behind another's product. No
 *    └────┴────┴────┴─      loop over matrices: the compiler would keep every address of one round for the next.
 *   warp 0, 1, 2 …
 *
 * B by rows of n (not of k) is read as it lies: transposed by ldmatrix, or a word at a time. Only A by columns, and
 * what is not aligned to 16 bytes, comes element by element. Refuses k = 0 and products with a side above 64.
 *
 * Floor: A, B and D once at 4.0 TB/s: 50, 101 and 101 us for bf16 32³ × 32768, bf16 64³ × 16384, f32 64³ × 8192.
 * Predicted 62, 110 and 130; measured on an NVIDIA H200, 2026-11-30: 53, 110 and 278 us, over cuBLASLt's fastest in the
 * same run 2.29, 0.93 (B by columns 1.13) and 0.60; f16 48³ × 24576 0.77. f32 is slower than foreseen, and
 * matmul_slices (184 us) does better there. A multiprocessor has 355, 1420 and 2850 cycles for a
 * matrix at the floor; the products take about 60 and 450 (mma.sync), 2048 (multiply-adds at their peak), shared memory
 * 200, 700 and 2500, so f32 is the tight one. Sources: tile.cuh; many small blocks: matmul_batched_small.
 */
#include "device/matmul_element.cuh"
#include "device/matmul_turn.h"

#include <warpmath/device/copy.cuh>
#include <warpmath/device/tile.cuh>

#include <math.h>

/** A or B: `rows` rows of `depth` contiguous elements, which are rows of a tile; `turned`: its columns. */
typedef struct wm_btile_operand {
    const void *base;
    wm_i64 ld, batch;
    int pointers, rows, depth;
    int whole; /* pieces of 16 bytes are aligned */
    int turned;
} wm_btile_operand;

typedef struct wm_btile_job {
    int m, n;
    wm_i64 batch;
    wm_btile_operand a, b;
    wm_epilogue epilogue;
    int plain;    /* D = alpha · sum where beta is 0 */
    int vector_d; /* 16 bytes of a row of D are one store */
} wm_btile_job;

/** Threads of a matrix: 32 sums each, f32's larger one 64, for fewer reads of shared memory. */
WM_CONSTEXPR int wm_btile_threads(int p, int bytes) {
    return p == 32 ? 32 : bytes == 4 ? 64 : 128;
}

/** Matrices of a block: fewer blocks to start, where a matrix is one warp's. */
WM_CONSTEXPR int wm_btile_matrices(int p) {
    return p == 32 ? 4 : 1;
}

/** Blocks of a multiprocessor: what shared memory and the sums' registers leave. */
WM_CONSTEXPR int wm_btile_blocks(int p, int bytes) {
    return bytes == 4 && p == 32 ? 5 : 6;
}

/** Bytes of a tile of p rows of p elements: rows are of 128 bytes at least. */
WM_CONSTEXPR int wm_btile_tile(int p, int bytes) {
    return p * (p * bytes > 128 ? p * bytes : 128);
}

/** Bytes of A and B of a matrix, later of its sums in f32. */
WM_CONSTEXPR int wm_btile_stage(int p, int bytes) {
    return 2 * wm_btile_tile(p, bytes);
}

/* ---- In ---- */

/** Matrix t of an operand, as it lies, to a tile of P rows; zeros beyond it. */
template <class T, int P>
WM_DEVICE void wm_btile_fetch(const wm_btile_operand &x, T *tile, wm_i64 t, int thread) {
    const int run = 16 / (int)sizeof(T), pieces = P / run, threads = wm_btile_threads(P, (int)sizeof(T));
    const T *from =
        x.pointers ? static_cast<const T *const *>(x.base)[t] : static_cast<const T *>(x.base) + t * x.batch;
    if (x.whole) {
#pragma unroll 4
        for (int u = thread; u < P * pieces; u += threads) {
            int row = u / pieces, at = u % pieces * run, left = row < x.rows ? wm_min(x.depth - at, run) : 0;
            wm_copy_async16(tile + wmTileAt<T>(P, row, at), left > 0 ? from + row * x.ld + at : from,
                            left > 0 ? left * (int)sizeof(T) : 0);
        }
        return;
    }
#pragma unroll 4
    for (int u = thread; u < P * P; u += threads) {
        int row = u / P, at = u % P;
        T element = {};
        if (row < x.rows && at < x.depth) element = from[row * x.ld + at];
        tile[x.turned ? wmTileAt<T>(P, at, row) : wmTileAt<T>(P, row, at)] = element;
    }
}

/** All threads of a matrix have come here, and see each other's stores. */
template <int P>
WM_DEVICE void wm_btile_meet(void) {
    if constexpr (P == 32)
        wm_barrier_warp();
    else
        wm_barrier();
}

/* ---- The product ---- */

/** B in a tile whose rows are k: what tile.cuh asks of an operand (wm_tile_stored). */
template <class T, int P>
struct wm_btile_by_n {
    enum { UNROLLED = 64 };
    const T *b;
    __device__ __forceinline__ wm_pack<T> granule(int column, int k) const {
        wm_pack<T> pack;
        WM_UNROLL
        for (int i = 0; i < 16 / (int)sizeof(T); i++) pack.v[i] = b[wmTileAt<T>(P, k + i, column)];
        return pack;
    }
    __device__ __forceinline__ void fragments(wm_u32 (&out)[4], int column, int k) const {
        int lane = wm_lane();
        wm_load_matrices_t(out, b + wmTileAt<T>(P, k + lane % 16, column + lane / 16 * 8));
    }
};

template <class T, int P, int E, class B>
WM_DEVICE void wm_btile_multiply(float (&sum)[E], const T *a, const B &b, int thread) {
    if constexpr (sizeof(T) == 4)
        wm_tile_fma<P, P, P, wm_btile_threads(P, (int)sizeof(T))>(sum, a, b, thread);
    else
        wm_tile_mma<P, P, P, wm_btile_threads(P, (int)sizeof(T))>(sum, a, b, thread);
}

/* ---- Out ---- */

/** The sums to an image of D in shared memory, in f32, a tile of P rows. */
template <class T, int P, int E>
WM_DEVICE void wm_btile_lay(float *image, const float (&sum)[E], int thread) {
    const wmTileWay way = sizeof(T) == 4 ? WM_TILE_FMA : WM_TILE_MMA;
    const int side = sizeof(T) == 4 ? 1 : 2; /* sums of neighbouring columns */
    WM_UNROLL
    for (int e = 0; e < E; e += side) {
        wm_run_of<float, side> run;
        WM_UNROLL
        for (int f = 0; f < side; f++) run.v[f] = sum[e + f];
        int row = wmTileRow<P, P, wm_btile_threads(P, (int)sizeof(T)), way, T>(e, thread),
            column = wmTileColumn<P, P, wm_btile_threads(P, (int)sizeof(T)), way, T>(e, thread);
        wm_run_store(image + wmTileAt<float>(P, row, column), run);
    }
}

/** The image to D of product t: by 16 bytes, or one by one with all that an epilogue may do. */
template <class T, int P>
WM_DEVICE void wm_btile_store(const wm_btile_job &p, const wm_ending<float> &ending, const float *image, wm_i64 t,
                              int thread) {
    const int run = 16 / (int)sizeof(T), pieces = P / run, threads = wm_btile_threads(P, (int)sizeof(T));
    if (p.vector_d && wm_ending_is_plain(ending, p.plain)) {
        T *d = static_cast<T *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, t)));
#pragma unroll 2
        for (int u = thread; u < p.m * pieces; u += threads) {
            int row = u / pieces, at = u % pieces * run;
            if (at >= p.n) continue;
            wm_pack<T> pack;
            WM_UNROLL
            for (int q = 0; q < run; q += 4) {
                wm_run_of<float, 4> four = wm_run_load<4>(image + wmTileAt<float>(P, row, at + q));
                WM_UNROLL
                for (int f = 0; f < 4; f++) wm_put(&pack.v[q + f], wm_ending_plain(ending, four.v[f]));
            }
            wm_store16(d + row * p.epilogue.d.row + at, pack);
        }
        return;
    }
#pragma unroll 1
    for (int u = thread; u < p.m * P; u += threads)
        if (u % P < p.n) wm_ending_store(p.epilogue, ending, t, u / P, u % P, image[wmTileAt<float>(P, u / P, u % P)]);
}

/* ---- Kernels ---- */

template <class T, int P, int BY_K>
__global__ void __launch_bounds__(wm_btile_threads(P, (int)sizeof(T)) * wm_btile_matrices(P),
                                  wm_btile_blocks(P, (int)sizeof(T)))
    wm_matmul_batched_tile_kernel(WM_PARAMS(wm_btile_job)) {
    const int threads = wm_btile_threads(P, (int)sizeof(T));
    int which = wm_thread() / threads, thread = wm_thread() % threads;
    wm_i64 t = (wm_i64)blockIdx.x * wm_btile_matrices(P) + which;
    if (t >= p.batch) return;
    unsigned char *stage = wm_shared<unsigned char>() + which * wm_btile_stage(P, (int)sizeof(T));
    T *a = reinterpret_cast<T *>(stage), *b = reinterpret_cast<T *>(stage + wm_btile_tile(P, (int)sizeof(T)));
    wm_btile_fetch<T, P>(p.a, a, t, thread);
    wm_btile_fetch<T, P>(p.b, b, t, thread);
    wm_copy_commit();
    wm_ending<float> ending = wm_ending_begin(p.epilogue, 0.0f);
    wm_copy_wait<0>();
    wm_btile_meet<P>();
    float sum[wmTileElements(P, P, threads)] = {};
    if constexpr (BY_K)
        wm_btile_multiply<T, P>(sum, a, wm_tile_stored<T, P>{b}, thread);
    else
        wm_btile_multiply<T, P>(sum, a, wm_btile_by_n<T, P>{b}, thread);
    wm_btile_meet<P>();
    float *image = reinterpret_cast<float *>(stage);
    wm_btile_lay<T, P>(image, sum, thread);
    wm_btile_meet<P>();
    wm_btile_store<T, P>(p, ending, image, t, thread);
}

/* ---- The solver ---- */

enum { MOST = 64 };

typedef struct variant {
    wmType type;
    int size, by_k;
    const void *kernel;
} variant;

// clang-format off
#define WM_BTILE(type, T, size) \
    {type, size, 0, (const void *)wm_matmul_batched_tile_kernel<T, size, 0>}, \
    {type, size, 1, (const void *)wm_matmul_batched_tile_kernel<T, size, 1>}

static const variant variants[] = {
    WM_BTILE(WM_F32, float, 32), WM_BTILE(WM_F32, float, 64),
    WM_BTILE(WM_BF16, wm_bf16, 32), WM_BTILE(WM_BF16, wm_bf16, 64),
    WM_BTILE(WM_F16, wm_f16, 32), WM_BTILE(WM_F16, wm_f16, 64),
};
// clang-format on
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static const variant *variant_of(const wmMatmulDesc *d) {
    int by_k = wm_turn(d, d->d.order == WM_COL_MAJOR).b.by_k;
    int size = d->m <= 32 && d->n <= 32 && d->k <= 32 ? 32 : 64;
    for (int i = 0; i < VARIANTS; i++)
        if (variants[i].type == d->a.type && variants[i].size == size && variants[i].by_k == by_k) return &variants[i];
    return nullptr;
}

static wm_btile_operand operand_of(const wmMatmulDesc *d, const wm_side *side, const void *base, int turned) {
    const wmMatrixDesc *x = side->desc;
    wm_btile_operand out = {};
    out.base = base;
    out.ld = x->ld;
    out.batch = x->batch_stride;
    out.pointers = d->batch_mode == WM_BATCH_POINTERS;
    out.rows = (int)(side->by_k ? side->count : d->k);
    out.depth = (int)(side->by_k ? d->k : side->count);
    out.turned = turned;
    out.whole = !turned && wm_matrix_is_vector(x);
    return out;
}

static wm_btile_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args) {
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_turned x = wm_turn(d, d->d.order == WM_COL_MAJOR);
    wm_btile_job job = {};
    job.m = (int)x.a.count, job.n = (int)x.b.count;
    job.batch = d->batch;
    job.a = operand_of(d, &x.a, x.swapped ? args->b : args->a, !x.a.by_k);
    job.b = operand_of(d, &x.b, x.swapped ? args->a : args->b, 0);
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.plain = wm_is_plain(d);
    job.vector_d = wm_turn_is_vector_d(d, &x, 16 / (int)wmTypeSize(d->d.type));
    return job;
}

static size_t shared_of(const wmMatmulDesc *d) {
    int size = variant_of(d)->size;
    return (size_t)(wm_btile_matrices(size) * wm_btile_stage(size, (int)wmTypeSize(d->a.type)));
}

/* The larger of bytes and work, and a share of the smaller. */
static double seconds_of(wmContext *context, const wm_problem *problem) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_btile_job job = job_of(d, &none);
    double size = variant_of(d)->size, all = 2.0 * size * size * size * (double)d->batch;
    double flops = wm_context_peak_flops(context, WM_F32, WM_COMPUTE_F32_STRICT) * (d->a.type == WM_F32 ? 0.55 : 2.5);
    double share = 0.8 / (1.0 + 1.5 * !job.a.whole + 1.5 * !job.b.whole + 1.0 * !(job.plain && job.vector_d));
    double bytes = wm_problem_cost(problem).bytes / (share * wm_context_bandwidth(context)), work = all / flops;
    return 2.6e-6 + fmax(bytes, work) + 0.25 * fmin(bytes, work);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const char *reason = wm_natural_refusal(d);
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->m > MOST || d->n > MOST || d->k > MOST)
        return wm_refuse(why, "%lld × %lld × %lld has a side above %d", (long long)d->m, (long long)d->n,
                         (long long)d->k, MOST);
    if (wm_problem_empty(problem) || d->k == 0) return wm_refuse(why, "the product is empty");
    if (d->compute == WM_COMPUTE_F32_STRICT && d->a.type != WM_F32)
        return wm_refuse(why, "tensor cores are no f32 multiply-adds");
    if (d->batch >= 1ll << 31) return wm_refuse(why, "a batch of %lld", (long long)d->batch);
    if (capacity < 1) return 0;
    out[0] = wm_offer{};
    out[0].capturable = out[0].concurrent = 1;
    out[0].seconds = seconds_of(context, problem);
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *, void **state) {
    const wmMatmulDesc *d = &problem->u.matmul;
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_batched_tile", variant_of(d)->kernel, shared_of(d));
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    const variant *v = variant_of(d);
    wm_btile_job job = job_of(d, &run->args->matmul);
    int matrices = wm_btile_matrices(v->size);
    wm_launch launch = {};
    launch.kernel = v->kernel;
    launch.grid = wm_dim3{(unsigned)((d->batch + matrices - 1) / matrices), 1, 1};
    launch.block = wm_dim3{(unsigned)(matrices * wm_btile_threads(v->size, (int)wmTypeSize(d->a.type))), 1, 1};
    launch.shared = shared_of(d);
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_batched_tile", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_batched_tile = {
    "matmul_batched_tile",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_MIXED | WM_MM_TRANSPOSE | WM_MM_COL_MAJOR | WM_MM_BATCH |
        WM_MM_POINTERS | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED,
    {nullptr},
    offer,
    make,
    run,
    nullptr,
};
