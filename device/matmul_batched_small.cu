/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of small products, m and n to 32, k to 64: f16, bf16, f32, f64, c64, c128; any layout, strided batches and
 * arrays of pointers, any epilogue.
 *
 *     D₀ D₁ D₂ …            A block takes some matrices that stand one behind the other. A and B come to shared
 *    ┌──┬──┬──┬──┐          memory as one run of 16-byte copies (matrix by matrix where they have gaps, element by
 *    │▒▒│  │  │  │ block 0  element where they are turned), so that every line is used whole. `lanes` threads share a
 *    ├──┼──┼──┼──┤          matrix, each makes TM × TN of D in registers: rows r, r + lanes_m …, columns side by side
 *    │▒▒│  │  │  │ block 1  (squares of 2, 4, 8, 16, 32) or, in any other size, in turn; then D leaves through shared
 *    └──┴──┴──┴──┘          memory as one run too.
 *
 * Floor: A, B and D once over the memory's rate. Reached on an NVIDIA H200, 2026-11-30: f32 4, 8, 16, 32 at 3.9, 4.1,
 * 3.9, 3.6 TB/s, which is 38, 21, 3.5, 1.44 times the best of cuBLASLt's algorithms in the same run (2: 85 times); bf16
 * 4, 8, 16 28, 30, 6.3 times; f64 4, 8, 16 34, 9.1, 2.6; c64 40, 10, 3.5; f32 of 2^20 × 16 × 16 1.33. Small blocks,
 * many of them on a multiprocessor, hide each other's waits.
 */
#include "device/matmul_turn.h"
#include "device/matmul_element.cuh"

#include <warpmath/device/copy.cuh>

#include <math.h>

enum { THREADS = 128, MOST_MN = 32, MOST_K = 64, MOST_SHARED = 64 << 10 };

/** How a batch of A or B comes to shared memory, where rows follow each other without gaps. */
typedef struct wm_small_operand {
    const void *base;
    wm_i64 ld, batch;
    int pointers, sign;         /* sign: -1 conjugates */
    int linear;                 /* the matrices of a block are one run of memory, which starts at 16 bytes */
    int unit;                   /* elements that move at once: 1, or 16 bytes' worth */
    int inner, outer, straight; /* contiguous elements, how often; those are the image's rows, else its columns */
    wm_u32 per_run, per_matrix; /* units */
    wm_u64 by_run, by_matrix;   /* 2^32 over those, rounded up */
} wm_small_operand;

typedef struct wm_small_job {
    int m, n, k;
    wm_i64 batch;
    wm_small_operand a, b; /* A's image has rows of k, B's of n */
    wm_epilogue epilogue;
    int matrices;       /* a block */
    int lanes, lanes_n; /* threads a matrix, and along n */
    int plain;          /* D = alpha · sum where beta is 0 */
    int linear_d;       /* D's matrices of a block are one run, from 16 bytes on */
    int vector_d;       /* a thread's columns of D are one store */
    int b_at, d_at;     /* elements: where B and D stand in shared memory */
} wm_small_job;

/* ---- In ---- */

WM_DEVICE wm_u32 divide(wm_u32 x, wm_u64 by) {
    return (wm_u32)(x * by >> 32);
}

template <class T>
WM_DEVICE void stage_linear(const wm_small_operand &x, T *to, wm_i64 t, int count, int elements) {
    const int run = 16 / sizeof(T);
    const T *from = static_cast<const T *>(x.base) + t * x.batch;
    int total = count * elements, whole = total / run;
#pragma unroll 4
    for (int u = wm_thread(); u < whole; u += THREADS) wm_copy_async16(to + u * run, from + u * run);
    for (int e = whole * run + wm_thread(); e < total; e += THREADS) to[e] = from[e];
}

template <class T>
WM_DEVICE void stage_pieces(const wm_small_operand &x, T *to, wm_i64 t, int count, int elements) {
#pragma unroll 2
    for (wm_u32 u = (wm_u32)wm_thread(); u < count * x.per_matrix; u += THREADS) {
        wm_u32 g = divide(u, x.by_matrix), rest = u - g * x.per_matrix, o = divide(rest, x.by_run);
        int i = (int)(rest - o * x.per_run) * x.unit;
        const T *from = x.pointers ? static_cast<const T *const *>(x.base)[t + g]
                                   : static_cast<const T *>(x.base) + (t + g) * x.batch;
        from += o * x.ld + i;
        T *image = to + (int)g * elements;
        if (x.unit > 1)
            wm_copy_async16(image + (int)o * x.inner + i, from);
        else
            image[x.straight ? (int)o * x.inner + i : i * x.outer + (int)o] = *from;
    }
}

template <class T>
WM_DEVICE void stage(const wm_small_operand &x, T *to, wm_i64 t, int count, int elements) {
    if (x.linear)
        stage_linear(x, to, t, count, elements);
    else
        stage_pieces(x, to, t, count, elements);
}

/* ---- The product ---- */

/** Square matrices of N: rows r + e · (N / TM), columns c · TN + f. */
template <class T, int N, int TM, int TN, class Sum>
WM_DEVICE void multiply_square(const wm_small_job &p, const T *a, const T *b, int r, int c, Sum (*sum)[TN]) {
    const int step = wm_min(N, (int)(16 / sizeof(T)));
    WM_UNROLL
    for (int q = 0; q < N; q += step) {
        wm_run_of<T, step> x[TM];
        WM_UNROLL
        for (int e = 0; e < TM; e++) x[e] = wm_run_load<step>(a + (r + e * (N / TM)) * N + q);
        WM_UNROLL
        for (int s = 0; s < step; s++) {
            wm_run_of<T, TN> y = wm_run_load<TN>(b + (q + s) * N + c * TN);
            WM_UNROLL
            for (int e = 0; e < TM; e++) WM_UNROLL
            for (int f = 0; f < TN; f++)
                sum[e][f] = wm_multiply_add(wm_conjugate(wm_widen(x[e].v[s]), p.a.sign),
                                            wm_conjugate(wm_widen(y.v[f]), p.b.sign), sum[e][f]);
        }
    }
}

/** Any size: rows r + e · lanes_m, columns c + f · lanes_n; those outside repeat the last and are not stored. */
template <class T, int TM, int TN, class Sum>
WM_DEVICE void multiply_any(const wm_small_job &p, const T *a, const T *b, int r, int c, Sum (*sum)[TN]) {
    const T *x[TM], *y[TN];
    WM_UNROLL
    for (int e = 0; e < TM; e++) x[e] = a + wm_min(r + e * (p.lanes / p.lanes_n), p.m - 1) * p.k;
    WM_UNROLL
    for (int f = 0; f < TN; f++) y[f] = b + wm_min(c + f * p.lanes_n, p.n - 1);
#pragma unroll 2
    for (int q = 0; q < p.k; q++) {
        Sum u[TM], v[TN];
        WM_UNROLL
        for (int e = 0; e < TM; e++) u[e] = wm_conjugate(wm_widen(x[e][q]), p.a.sign);
        WM_UNROLL
        for (int f = 0; f < TN; f++) v[f] = wm_conjugate(wm_widen(y[f][q * p.n]), p.b.sign);
        WM_UNROLL
        for (int e = 0; e < TM; e++) WM_UNROLL
        for (int f = 0; f < TN; f++) sum[e][f] = wm_multiply_add(u[e], v[f], sum[e][f]);
    }
}

/* ---- Out ---- */

template <class T>
WM_DEVICE T *first_of_d(const wm_small_job &p, wm_i64 t) {
    return static_cast<T *>(const_cast<void *>(wm_matrix_first(p.epilogue.d, t)));
}

/** Of one thread: a run a row. */
template <class T, int N, int TM, int TN, class Sum>
WM_DEVICE void store_runs(const wm_small_job &p, const wm_ending<Sum> &ending, wm_i64 t, int r, int c,
                          const Sum (*sum)[TN]) {
    T *d = first_of_d<T>(p, t) + c * TN;
    WM_UNROLL
    for (int e = 0; e < TM; e++) {
        wm_run_of<T, TN> run;
        WM_UNROLL
        for (int f = 0; f < TN; f++) wm_put(&run.v[f], wm_ending_plain(ending, sum[e][f]));
        wm_run_store(d + (r + e * (N / TM)) * p.epilogue.d.row, run);
    }
}

/** Of one thread, to D's image in shared memory. */
template <class T, int TM, int TN, class Sum>
WM_DEVICE void store_image(const wm_small_job &p, const wm_ending<Sum> &ending, T *image, int r, int c,
                           const Sum (*sum)[TN]) {
    WM_UNROLL
    for (int e = 0; e < TM; e++) WM_UNROLL
    for (int f = 0; f < TN; f++) {
        int i = r + e * (p.lanes / p.lanes_n), j = c + f * p.lanes_n;
        if (i < p.m && j < p.n) wm_put(image + i * p.n + j, wm_ending_plain(ending, sum[e][f]));
    }
}

/** Of one thread, one by one with all that an epilogue may do: rows i + e · i_step, columns j + f · j_step. */
template <int TM, int TN, class Sum>
WM_DEVICE void store_any(const wm_small_job &p, const wm_ending<Sum> &ending, wm_i64 t, int i, int i_step, int j,
                         int j_step, const Sum (*sum)[TN]) {
#pragma unroll 1
    for (int x = 0; x < TM * TN; x++) {
        int row = i + x / TN * i_step, column = j + x % TN * j_step;
        Sum value = {};
        WM_UNROLL
        for (int y = 0; y < TM * TN; y++) /* a constant index keeps the sums in registers */
            if (y == x) value = sum[y / TN][y % TN];
        if (row < p.m && column < p.n) wm_ending_store(p.epilogue, ending, t, row, column, value);
    }
}

/** D's image to memory. */
template <class T>
WM_DEVICE void store_linear(const wm_small_job &p, const T *image, wm_i64 t, int count) {
    const int run = 16 / sizeof(T);
    int total = count * p.m * p.n, whole = total / run;
    T *d = static_cast<T *>(const_cast<void *>(p.epilogue.d.base)) + t * p.epilogue.d.batch;
    for (int u = wm_thread(); u < whole; u += THREADS) wm_store16(d + u * run, wm_load16(image + u * run));
    for (int e = whole * run + wm_thread(); e < total; e += THREADS) d[e] = image[e];
}

/* ---- Kernels ---- */

template <class T, int N, int TM, int TN>
WM_DEVICE void square_batch(const wm_small_job &p) {
    typedef typename wm_sum<T>::type Sum;
    const int lanes_n = N / TN, lanes = N / TM * lanes_n;
    T *a = wm_shared<T>(), *b = a + p.b_at;
    wm_i64 t = (wm_i64)blockIdx.x * p.matrices;
    int count = (int)wm_min(p.batch - t, (wm_i64)p.matrices);
    stage(p.a, a, t, count, N * N);
    stage(p.b, b, t, count, N * N);
    wm_copy_commit();
    wm_ending<Sum> ending = wm_ending_begin(p.epilogue, Sum{});
    bool runs = wm_ending_is_plain(ending, p.plain) && p.vector_d;
    int r = wm_thread() % lanes / lanes_n, c = wm_thread() % lanes_n;
    wm_copy_wait<0>();
    wm_barrier();
#pragma unroll 1
    for (int g = wm_thread() / lanes; g < count; g += THREADS / lanes) {
        Sum sum[TM][TN] = {};
        multiply_square<T, N, TM, TN>(p, a + g * (N * N), b + g * (N * N), r, c, sum);
        if (runs)
            store_runs<T, N, TM, TN>(p, ending, t + g, r, c, sum);
        else
            store_any<TM, TN, Sum>(p, ending, t + g, r, N / TM, c * TN, 1, sum);
    }
}

template <class T, int TM, int TN>
WM_DEVICE void any_batch(const wm_small_job &p) {
    typedef typename wm_sum<T>::type Sum;
    T *a = wm_shared<T>(), *b = a + p.b_at, *d = a + p.d_at;
    wm_i64 t = (wm_i64)blockIdx.x * p.matrices;
    int count = (int)wm_min(p.batch - t, (wm_i64)p.matrices), together = THREADS / p.lanes;
    stage(p.a, a, t, count, p.m * p.k);
    stage(p.b, b, t, count, p.k * p.n);
    wm_copy_commit();
    wm_ending<Sum> ending = wm_ending_begin(p.epilogue, Sum{});
    bool linear = wm_ending_is_plain(ending, p.plain) && p.linear_d;
    int within = wm_thread() % p.lanes, r = within / p.lanes_n, c = within % p.lanes_n, g = wm_thread() / p.lanes;
    if (g >= together) g = count; /* lanes that make no whole matrix */
    wm_copy_wait<0>();
    wm_barrier();
#pragma unroll 1
    for (; g < count; g += together) {
        Sum sum[TM][TN] = {};
        multiply_any<T, TM, TN>(p, a + g * p.m * p.k, b + g * p.k * p.n, r, c, sum);
        if (linear)
            store_image<T, TM, TN, Sum>(p, ending, d + g * p.m * p.n, r, c, sum);
        else
            store_any<TM, TN, Sum>(p, ending, t + g, r, p.lanes / p.lanes_n, c, p.lanes_n, sum);
    }
    if (!linear) return;
    wm_barrier();
    store_linear(p, d, t, count);
}

/** Blocks of a multiprocessor: what the sums' registers leave. */
template <class T>
constexpr int blocks_of(int tile) {
    int words = tile * (int)sizeof(typename wm_sum<T>::type) / 4;
    return words <= 8 ? 10 : words <= 16 ? 8 : words <= 32 ? 5 : 3;
}

template <class T, int N, int TM, int TN>
__global__ void __launch_bounds__(THREADS, blocks_of<T>(TM *TN))
    wm_matmul_batched_small_kernel(WM_PARAMS(wm_small_job)) {
    if constexpr (N > 0)
        square_batch<T, N, TM, TN>(p);
    else
        any_batch<T, TM, TN>(p);
}

/* ---- The solver ---- */

typedef struct variant {
    wmType type;
    int n, tile_m, tile_n; /* n 0: any size */
    const void *kernel;
} variant;

// clang-format off
#define WM_SMALL(type, T, n, tm, tn) {type, n, tm, tn, (const void *)wm_matmul_batched_small_kernel<T, n, tm, tn>}
// clang-format on

/* Squares first, by rising n; then tiles for any size. */
static const variant variants[] = {
    WM_SMALL(WM_F32, float, 2, 2, 2),     WM_SMALL(WM_F32, float, 4, 1, 4),    WM_SMALL(WM_F32, float, 8, 2, 4),
    WM_SMALL(WM_F32, float, 16, 4, 4),    WM_SMALL(WM_F32, float, 32, 8, 4),   WM_SMALL(WM_F32, float, 0, 1, 4),
    WM_SMALL(WM_F32, float, 0, 4, 4),     WM_SMALL(WM_BF16, wm_bf16, 4, 1, 4), WM_SMALL(WM_BF16, wm_bf16, 8, 2, 4),
    WM_SMALL(WM_BF16, wm_bf16, 16, 4, 4), WM_SMALL(WM_BF16, wm_bf16, 0, 1, 4), WM_SMALL(WM_BF16, wm_bf16, 0, 4, 4),
    WM_SMALL(WM_F16, wm_f16, 4, 1, 4),    WM_SMALL(WM_F16, wm_f16, 8, 2, 4),   WM_SMALL(WM_F16, wm_f16, 16, 4, 4),
    WM_SMALL(WM_F16, wm_f16, 0, 1, 4),    WM_SMALL(WM_F16, wm_f16, 0, 4, 4),   WM_SMALL(WM_F64, double, 4, 1, 2),
    WM_SMALL(WM_F64, double, 8, 2, 2),    WM_SMALL(WM_F64, double, 16, 4, 2),  WM_SMALL(WM_F64, double, 0, 1, 4),
    WM_SMALL(WM_F64, double, 0, 4, 4),    WM_SMALL(WM_C64, float2, 4, 1, 2),   WM_SMALL(WM_C64, float2, 8, 2, 2),
    WM_SMALL(WM_C64, float2, 16, 4, 2),   WM_SMALL(WM_C64, float2, 0, 1, 4),   WM_SMALL(WM_C64, float2, 0, 4, 4),
    WM_SMALL(WM_C128, double2, 0, 1, 4),  WM_SMALL(WM_C128, double2, 0, 4, 4),
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* The rows of a tall D in pieces of `chunk`; 0: it has no whole pieces. Square ones fit a square tile. */
static int64_t chunk_of(int64_t tall, int64_t thin, int64_t k) {
    int square = thin == k && (k == 4 || k == 8 || k == 16 || k == 32);
    if (square && tall % k == 0) return k;
    for (int64_t chunk = MOST_MN; chunk >= 8; chunk /= 2)
        if (tall % chunk == 0) return chunk;
    return 0;
}

/* One tall or wide product with a thin side is a batch of small ones that share A or B. Others come back as they are.
 */
static wmMatmulDesc fold(const wmMatmulDesc *d) {
    wmMatmulDesc f = *d;
    wm_view a = wm_view_of(&d->a), b = wm_view_of(&d->b), c = wm_view_of(&d->c), out = wm_view_of(&d->d);
    int tall = d->m > MOST_MN;
    int64_t chunk = tall ? chunk_of(d->m, d->n, d->k) : chunk_of(d->n, d->m, d->k);
    if (d->batch != 1 || d->batch_mode != WM_BATCH_STRIDED || (d->m <= MOST_MN && d->n <= MOST_MN) || !chunk) return f;
    if (d->bias == (tall ? WM_BIAS_M : WM_BIAS_N)) return f;
    f.batch = (tall ? d->m : d->n) / chunk;
    f.m = tall ? chunk : d->m;
    f.n = tall ? d->n : chunk;
    f.a.batch_stride = tall ? chunk * a.row : 0;
    f.b.batch_stride = tall ? 0 : chunk * b.col;
    f.c.batch_stride = chunk * (tall ? c.row : c.col);
    f.d.batch_stride = chunk * (tall ? out.row : out.col);
    return f;
}

static int divide_up(int a, int b) {
    return (a + b - 1) / b;
}

static int lanes_of(const variant *v, int m, int n) {
    return divide_up(m, v->tile_m) * divide_up(n, v->tile_n);
}

/* Whether matrices of that many elements, one behind the other, are one run for blocks of any multiple of `count`. */
static int is_linear(const wmMatmulDesc *d, const wmMatrixDesc *x, int64_t inner, int64_t outer, int64_t count) {
    return d->batch_mode == WM_BATCH_STRIDED && x->ld == inner && x->batch_stride == inner * outer && x->align >= 16 &&
           count * inner * outer * (int64_t)wmTypeSize(x->type) % 16 == 0;
}

/* Matrices of a block: whole passes of the threads, and multiples of what keeps runs at 16 bytes. */
static int matrices_of(const wmMatmulDesc *d, const variant *v, int times) {
    int together = THREADS / lanes_of(v, (int)d->m, (int)d->n), odd = 16 / (int)wmTypeSize(d->a.type);
    return divide_up(together * times, odd) * odd;
}

static size_t shared_of(const wmMatmulDesc *d, const variant *v, int matrices) {
    int64_t each = d->m * d->k + d->k * d->n + (v->n ? 0 : d->m * d->n);
    return (size_t)(each * matrices) * wmTypeSize(d->a.type);
}

/* `straight`: memory's rows are the image's. */
static void set_operand(wm_small_operand *out, const wmMatmulDesc *d, const wm_side *side, const void *base, int k,
                        int straight, int matrices) {
    const wmMatrixDesc *x = side->desc;
    int run = 16 / (int)wmTypeSize(x->type), count = (int)side->count;
    int inner = side->by_k ? k : count, outer = side->by_k ? count : k;
    *out = wm_small_operand{};
    out->base = base;
    out->ld = x->ld;
    out->batch = x->batch_stride;
    out->pointers = d->batch_mode == WM_BATCH_POINTERS;
    out->sign = wm_view_of(x).conjugate ? -1 : 1;
    out->straight = straight;
    out->linear = straight && is_linear(d, x, inner, outer, matrices);
    if (straight && x->ld == inner) inner *= outer, outer = 1; /* one run a matrix */
    int whole =
        straight && run > 1 && inner % run == 0 && x->align >= 16 && x->ld % run == 0 && x->batch_stride % run == 0;
    if (outer == 1 && x->batch_stride % run == 0 && x->align >= 16 && straight && inner % run == 0) whole = 1;
    if (run == 1) whole = straight && x->align >= 16;
    out->unit = whole ? run : 1;
    out->inner = inner;
    out->outer = outer;
    out->per_run = (wm_u32)(inner / out->unit);
    out->per_matrix = out->per_run * (wm_u32)outer;
    out->by_run = ((1ull << 32) + out->per_run - 1) / out->per_run;
    out->by_matrix = ((1ull << 32) + out->per_matrix - 1) / out->per_matrix;
}

static const variant *variant_of(const wm_offer *offer) {
    return &variants[offer->knob[0]];
}

static wm_small_job job_of(const wmMatmulDesc *d, const wmMatmulArgs *args, const wm_offer *offer) {
    const variant *v = variant_of(offer);
    wm_matmul_job plain = wm_matmul_job_of(d, args, 1, 1);
    wm_turned x = wm_turn(d, d->d.order == WM_COL_MAJOR);
    wm_small_job job = {};
    int row = (int)x.b.count, run = 16 / (int)wmTypeSize(d->a.type), wide = v->tile_n * (int)wmTypeSize(d->a.type);
    job.m = (int)x.a.count, job.n = row, job.k = (int)d->k;
    job.batch = d->batch;
    job.matrices = offer->knob[1];
    if (job.k > 0) {
        set_operand(&job.a, d, &x.a, x.swapped ? args->b : args->a, job.k, x.a.by_k, job.matrices);
        set_operand(&job.b, d, &x.b, x.swapped ? args->a : args->b, job.k, !x.b.by_k, job.matrices);
    }
    job.epilogue = wm_turn_epilogue(&plain, x.swapped);
    job.lanes_n = divide_up(row, v->tile_n);
    job.lanes = divide_up(job.m, v->tile_m) * job.lanes_n;
    job.plain = wm_is_plain(d);
    job.linear_d = is_linear(d, &d->d, row, job.m, job.matrices);
    job.vector_d = v->n && d->d.align >= wide && d->d.ld % v->tile_n == 0 && d->d.batch_stride % v->tile_n == 0;
    job.b_at = divide_up(job.matrices * job.m * job.k, run) * run;
    job.d_at = job.b_at + divide_up(job.matrices * job.k * row, run) * run;
    return job;
}

/* Bytes over a share of the memory's rate, less where elements are moved one by one; products on the ordinary cores. */
static double seconds_of(wmContext *context, const wm_problem *problem, const wm_offer *offer) {
    const wmMatmulDesc folded = fold(&problem->u.matmul), *d = &folded;
    const variant *v = variant_of(offer);
    wm_cost cost = wm_problem_cost(problem);
    const wmMatmulArgs none = wmMatmulArgsDefault(NULL, NULL, NULL);
    wm_small_job job = job_of(d, &none, offer);
    int pieces = (job.a.unit == 1 && !job.a.linear) + (job.b.unit == 1 && !job.b.linear);
    double share = (v->n ? 0.75 : 0.55) / (1.0 + 0.7 * pieces + 0.5 * !job.plain);
    int wide = d->a.type == WM_F64 || d->a.type == WM_C128;
    double peak = wm_context_peak_flops(context, WM_F32, WM_COMPUTE_F32_STRICT) * (wide ? 0.5 : 1.0);
    double filled = (double)(job.lanes * v->tile_m * v->tile_n) / ((double)job.m * job.n);
    double blocks = ceil((double)d->batch / job.matrices), all = 8.0 * wm_context_device(context)->multiprocessors;
    double work = filled * cost.flops / (peak * (v->n ? 0.35 : 0.12) * fmin(1.0, blocks / all));
    return 2.6e-6 + fmax(work, cost.bytes / (share * wm_context_bandwidth(context)));
}

static int add_offers(wmContext *context, const wm_problem *problem, int which, wm_offer *out, int capacity) {
    const wmMatmulDesc folded = fold(&problem->u.matmul), *d = &folded;
    int count = 0;
    for (int times = 1; times <= 4 && count < capacity; times *= 2) {
        wm_offer variant = {};
        variant.knob[0] = which;
        variant.knob[1] = matrices_of(d, &variants[which], times);
        if (shared_of(d, &variants[which], variant.knob[1]) + 32 > MOST_SHARED) break;
        variant.capturable = variant.concurrent = 1;
        variant.seconds = seconds_of(context, problem, &variant) * (1 + 0.01 * times);
        out[count++] = variant;
    }
    return count;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc folded = fold(&problem->u.matmul), *d = &folded;
    const char *reason = wm_natural_refusal(d);
    int count = 0, square = d->m == d->n && d->n == d->k;
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->m > MOST_MN || d->n > MOST_MN || d->k > MOST_K)
        return wm_refuse(why, "%lld × %lld × %lld is not small: m and n to %d, k to %d", (long long)d->m,
                         (long long)d->n, (long long)d->k, MOST_MN, MOST_K);
    if (wm_problem_empty(problem)) return wm_refuse(why, "the product is empty");
    if (d->batch >= 1ll << 31) return wm_refuse(why, "a batch of %lld", (long long)d->batch);
    for (int i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        if (v->type != d->a.type || (v->n && !(square && v->n == d->n))) continue;
        if (!v->n && count) break; /* a square one is always better */
        if (!v->n && v->tile_m > 1 && d->m <= 4 && d->n <= 4) continue;
        if (!v->n && v->tile_m == 1 && d->m > 8 && d->n > 8) continue;
        if (lanes_of(v, (int)d->m, (int)d->n) > THREADS || lanes_of(v, (int)d->n, (int)d->m) > THREADS) continue;
        count += add_offers(context, problem, i, out + count, capacity - count);
    }
    return count ? count : wm_refuse(why, "no tile of it fits %lld × %lld", (long long)d->m, (long long)d->n);
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmMatmulDesc d = fold(&problem->u.matmul);
    const variant *v = variant_of(offer);
    *state = NULL;
    return wm_prepare_kernel(context, "matmul_batched_small", v->kernel, shared_of(&d, v, offer->knob[1]) + 32);
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc folded = fold(&run->problem->u.matmul), *d = &folded;
    const variant *v = variant_of(run->offer);
    wm_small_job job = job_of(d, &run->args->matmul, run->offer);
    wm_launch launch = {};
    launch.kernel = v->kernel;
    launch.grid = wm_dim3{(unsigned)((d->batch + job.matrices - 1) / job.matrices), 1, 1};
    launch.block = wm_dim3{THREADS, 1, 1};
    launch.shared = shared_of(d, v, job.matrices) + 32;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "matmul_batched_small", &launch, run->stream);
}

extern "C" const wm_solver wm_matmul_batched_small = {
    "matmul_batched_small",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_MIXED | WM_MM_TRANSPOSE |
        WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS | WM_MM_BIAS | WM_MM_ACTIVATION | WM_MM_SCALE |
        WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED,
    {"tile", "matrices", nullptr},
    offer,
    make,
    run,
    nullptr,
};
