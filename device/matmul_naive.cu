/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of matrix products on the GPU: every type, layout and feature, one output a thread, in higher precision
 * than is asked for. The first rung of the ladder.
 *
 *     block: 16 × 16 outputs        thread: D(i, j) = Σ A(i, q) · B(q, j), q ascending, operands straight from memory
 *
 *   operands          sum
 *   f16 bf16 fp8 f32  double, in which a product of two is exact
 *   c64               the same, four real products: re + ar·br - ai·bi
 *   i8                i32, wrapping
 *   f64, c128         double, with the rounding errors of products and sums summed beside it
 *
 * The last is the compensated dot product of Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci.
 * Comput. 26 (2005), algorithm 5.3. reference/matmul_naive_cpu.c does the same operations in the same order, so the two
 * give the same bits (determinism = gpu_to_gpu) wherever no exp or erf is involved.
 *
 * Floor: 2mnk over the f64 rate. Each multiply-add loads two operands through L1 (one of them broadcast to half a
 * warp), which bounds it near 32 multiply-adds a clock and multiprocessor. Predicted on an H200: 3 to 6 TFLOP/s for
 * f32, 2 for f64. Not yet measured.
 */
#include "device/matmul_job.h"

enum { SIDE = 16, THREADS = SIDE * SIDE };

/* ---- Operands and sums ---- */

WM_DEVICE double2 as_double(const float *x) {
    return double2{*x, 0.0};
}
WM_DEVICE double2 as_double(const double *x) {
    return double2{*x, 0.0};
}
WM_DEVICE double2 as_double(const wm_f16 *x) {
    return double2{wm_f16_to_f32(*x), 0.0};
}
WM_DEVICE double2 as_double(const wm_bf16 *x) {
    return double2{wm_bf16_to_f32(*x), 0.0};
}
WM_DEVICE double2 as_double(const float2 *x) {
    return double2{x->x, x->y};
}
WM_DEVICE double2 as_double(const double2 *x) {
    return *x;
}

/** Element `at` of a matrix of T; T = wm_u8 stands for any real type, told apart at run time. */
template <class T>
WM_DEVICE double2 number(const wm_matrix_ref &m, const void *matrix, wm_i64 at) {
    if constexpr (sizeof(T) == 1) {
        return double2{wm_element_load<double>(m.type, matrix, at), 0.0};
    } else {
        double2 x = as_double(static_cast<const T *>(matrix) + at);
        if (m.conjugate) x.y = -x.y;
        return x;
    }
}

/** A sum; low collects what rounding took away: of a product by one fma, of the sum by Knuth's steps. */
typedef struct naive_sum {
    double sum, low;
} naive_sum;

template <bool EXACT>
WM_DEVICE void add(naive_sum *s, double x, double y) {
    if constexpr (!EXACT) { /* the product is exact, so this is product and sum */
        s->sum = wm_fma(x, y, s->sum);
    } else {
        double product = wm_mul(x, y), next = wm_add(s->sum, product), z = wm_sub(next, s->sum);
        double lost = wm_add(wm_sub(s->sum, wm_sub(next, z)), wm_sub(product, z));
        s->low = wm_add(s->low, wm_add(lost, wm_fma(x, y, -product)));
        s->sum = next;
    }
}

/** An infinite sum has a NaN for its error. */
template <bool EXACT>
WM_DEVICE double total(const naive_sum &s) {
    return EXACT && s.sum - s.sum == 0.0 ? wm_add(s.sum, s.low) : s.sum;
}

template <class T, bool COMPLEX, bool EXACT>
WM_DEVICE double2 multiply(const wm_matmul_job &p, wm_i64 t, wm_i64 i, wm_i64 j) {
    const void *a = wm_matrix_first(p.a, t), *b = wm_matrix_first(p.b, t);
    wm_i64 at_a = i * p.a.row, at_b = j * p.b.col;
    naive_sum re = {0.0, 0.0}, im = {0.0, 0.0};
    for (wm_i64 q = 0; q < p.k; q++, at_a += p.a.col, at_b += p.b.row) {
        double2 x = number<T>(p.a, a, at_a), y = number<T>(p.b, b, at_b);
        add<EXACT>(&re, x.x, y.x);
        if constexpr (COMPLEX) {
            add<EXACT>(&re, -x.y, y.y);
            add<EXACT>(&im, x.x, y.y);
            add<EXACT>(&im, x.y, y.x);
        }
    }
    return double2{total<EXACT>(re), total<EXACT>(im)};
}

/* ---- The epilogue of complex and integer products; real ones have epilogue.cuh ---- */

WM_DEVICE double2 complex_at(int type, const void *array, wm_i64 i) {
    if (type == WM_ELEMENT_C64) return as_double(static_cast<const float2 *>(array) + i);
    return static_cast<const double2 *>(array)[i];
}

/** A scalar need only be aligned as its components are. */
WM_DEVICE double2 complex_scalar(const wm_scalar_ref &s) {
    if (!s.device) return double2{s.re, s.im};
    int part = s.type == WM_ELEMENT_C64 ? WM_ELEMENT_F32 : WM_ELEMENT_F64;
    return double2{wm_element_load<double>(part, s.device, 0), wm_element_load<double>(part, s.device, 1)};
}

WM_DEVICE double2 times(double2 x, double2 y) {
    return double2{wm_sub(wm_mul(x.x, y.x), wm_mul(x.y, y.y)), wm_add(wm_mul(x.x, y.y), wm_mul(x.y, y.x))};
}

WM_DEVICE double2 plus(double2 x, double2 y) {
    return double2{wm_add(x.x, y.x), wm_add(x.y, y.y)};
}

WM_DEVICE bool is_zero(double2 x) {
    return x.x == 0.0 && x.y == 0.0;
}

WM_DEVICE void store_complex(const wm_epilogue &e, wm_i64 t, wm_i64 i, wm_i64 j, double2 sum, bool product) {
    double2 x = {0.0, 0.0}, beta = complex_scalar(e.beta);
    wm_i64 at = i * e.d.row + j * e.d.col;
    void *d = const_cast<void *>(wm_matrix_first(e.d, t));
    if (product) x = times(complex_scalar(e.alpha), sum);
    if (!is_zero(beta))
        x = plus(x, times(beta, complex_at(e.c.type, wm_matrix_first(e.c, t), i * e.c.row + j * e.c.col)));
    if (e.bias_along) x = plus(x, complex_at(e.bias_type, e.bias, e.bias_along == WM_EPILOGUE_BIAS_N ? j : i));
    if (e.d.type == WM_ELEMENT_C64)
        static_cast<float2 *>(d)[at] = float2{wm_to_f32(x.x), wm_to_f32(x.y)};
    else
        static_cast<double2 *>(d)[at] = x;
}

WM_DEVICE wm_u32 integer_scalar(const wm_scalar_ref &s) {
    return s.device ? *static_cast<const wm_u32 *>(s.device) : (wm_u32)(wm_i64)s.re;
}

WM_DEVICE void store_integer(const wm_epilogue &e, wm_i64 t, wm_i64 i, wm_i64 j, wm_u32 sum) {
    wm_u32 beta = integer_scalar(e.beta), x = integer_scalar(e.alpha) * sum;
    if (beta) x += beta * static_cast<const wm_u32 *>(wm_matrix_first(e.c, t))[i * e.c.row + j * e.c.col];
    if (e.bias_along) x += static_cast<const wm_u32 *>(e.bias)[e.bias_along == WM_EPILOGUE_BIAS_N ? j : i];
    if (e.activation == WM_EPILOGUE_RELU && (wm_i32)x < 0) x = 0;
    wm_u32 *d = static_cast<wm_u32 *>(const_cast<void *>(wm_matrix_first(e.d, t)));
    d[i * e.d.row + j * e.d.col] = x;
}

/* ---- Kernels ---- */

/** This thread's output of a tile; false beyond D's edge. Neighbouring threads take neighbours in D's memory. */
WM_DEVICE bool locate(const wm_matmul_job &p, wm_i64 tile, wm_i64 *t, wm_i64 *i, wm_i64 *j) {
    int slow = wm_thread() / SIDE, fast = wm_thread() % SIDE;
    *t = tile / (p.tiles_m * p.tiles_n);
    wm_i64 within = tile - *t * (p.tiles_m * p.tiles_n);
    *i = within / p.tiles_n * SIDE + (p.d_by_rows ? slow : fast);
    *j = within % p.tiles_n * SIDE + (p.d_by_rows ? fast : slow);
    return *i < p.m && *j < p.n;
}

template <class T, bool EXACT>
WM_DEVICE void real_tiles(const wm_matmul_job &p) {
    wm_epilogue_scalars<double> s = wm_epilogue_begin<double>(p.epilogue);
    wm_i64 t = 0, i = 0, j = 0;
    if (p.k == 0) s.alpha = 0.0;
    for (wm_i64 tile = blockIdx.x; tile < p.tiles_m * p.tiles_n * p.batch; tile += gridDim.x)
        if (locate(p, tile, &t, &i, &j)) {
            double sum = s.alpha != 0.0 ? multiply<T, false, EXACT>(p, t, i, j).x : 0.0;
            wm_epilogue_store(p.epilogue, s, t, i, j, sum);
        }
}

template <class T, bool EXACT>
WM_DEVICE void complex_tiles(const wm_matmul_job &p) {
    bool product = p.k > 0 && !is_zero(complex_scalar(p.epilogue.alpha));
    wm_i64 t = 0, i = 0, j = 0;
    for (wm_i64 tile = blockIdx.x; tile < p.tiles_m * p.tiles_n * p.batch; tile += gridDim.x)
        if (locate(p, tile, &t, &i, &j)) {
            double2 sum = product ? multiply<T, true, EXACT>(p, t, i, j) : double2{0.0, 0.0};
            store_complex(p.epilogue, t, i, j, sum, product);
        }
}

WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_f32(WM_PARAMS(wm_matmul_job)) {
    real_tiles<float, false>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_f16(WM_PARAMS(wm_matmul_job)) {
    real_tiles<wm_f16, false>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_bf16(WM_PARAMS(wm_matmul_job)) {
    real_tiles<wm_bf16, false>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_mixed(WM_PARAMS(wm_matmul_job)) {
    real_tiles<wm_u8, false>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_f64(WM_PARAMS(wm_matmul_job)) {
    real_tiles<double, true>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_c64(WM_PARAMS(wm_matmul_job)) {
    complex_tiles<float2, false>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_c128(WM_PARAMS(wm_matmul_job)) {
    complex_tiles<double2, true>(p);
}
WM_KERNEL __launch_bounds__(THREADS, 4) wm_matmul_naive_i8(WM_PARAMS(wm_matmul_job)) {
    wm_i64 t = 0, i = 0, j = 0;
    for (wm_i64 tile = blockIdx.x; tile < p.tiles_m * p.tiles_n * p.batch; tile += gridDim.x)
        if (locate(p, tile, &t, &i, &j)) {
            const wm_i8 *a = static_cast<const wm_i8 *>(wm_matrix_first(p.a, t)) + i * p.a.row;
            const wm_i8 *b = static_cast<const wm_i8 *>(wm_matrix_first(p.b, t)) + j * p.b.col;
            wm_u32 sum = 0;
            for (wm_i64 q = 0; q < p.k; q++, a += p.a.col, b += p.b.row) sum += (wm_u32)(*a * *b);
            store_integer(p.epilogue, t, i, j, sum);
        }
}

/* ---- The solver ---- */

typedef struct choice {
    const char *name;
    const void *kernel;
} choice;

#define WM_CHOICE(kernel)                                                                                              \
    { #kernel, reinterpret_cast < const void *>(kernel) }

static choice choose(const wmMatmulDesc *d) {
    static const choice f32 = WM_CHOICE(wm_matmul_naive_f32), f16 = WM_CHOICE(wm_matmul_naive_f16),
                        bf16 = WM_CHOICE(wm_matmul_naive_bf16), f64 = WM_CHOICE(wm_matmul_naive_f64),
                        c64 = WM_CHOICE(wm_matmul_naive_c64), c128 = WM_CHOICE(wm_matmul_naive_c128),
                        i8 = WM_CHOICE(wm_matmul_naive_i8), mixed = WM_CHOICE(wm_matmul_naive_mixed);
    if (d->a.type != d->b.type) return mixed;
    switch (d->a.type) {
    case WM_F32:
        return f32;
    case WM_F16:
        return f16;
    case WM_BF16:
        return bf16;
    case WM_F64:
        return f64;
    case WM_C64:
        return c64;
    case WM_C128:
        return c128;
    case WM_I8:
        return i8;
    default:
        return mixed;
    }
}

/* Why it does not take these types; NULL: it does. */
static const char *refusal(const wmMatmulDesc *d) {
    if (d->a.type == WM_I8)
        return d->b.type == WM_I8 && d->c.type == WM_I32 && d->d.type == WM_I32 && d->bias_type == WM_I32 &&
                       d->activation <= WM_ACT_RELU
                   ? NULL
                   : "i8 products are i8 x i8 -> i32 with an i32 bias, and relu at most";
    if (wm_type_is_complex(d->a.type)) return d->a.type == d->b.type ? NULL : "c64 and c128 do not mix";
    if ((d->a.type == WM_F64) != (d->b.type == WM_F64)) return "f64 does not mix with narrower operands";
    return NULL;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmMatmulDesc *d = &problem->u.matmul;
    const wm_device *device = wm_context_device(context);
    const char *reason = refusal(d);
    if (capacity < 1) return 0;
    if (reason) return wm_refuse(why, "%s", reason);
    if (d->determinism == WM_GPU_TO_GPU && d->activation >= WM_ACT_GELU_TANH)
        return wm_refuse(why, "exp and erf are not the same bits on every device");
    *out = wm_offer{};
    /* A third of the loads that L1 serves: 32 a clock and multiprocessor, two a multiply-add. */
    double rate = 0.33 * 32.0 * 1e3 * device->clock_khz * device->multiprocessors;
    out->seconds = 4e-6 + wm_problem_cost(problem).flops / rate;
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *, void **state) {
    choice c = choose(&problem->u.matmul);
    *state = NULL;
    return wm_prepare_kernel(context, c.name, c.kernel, 0);
}

static wmStatus run(const wm_run *run) {
    const wmMatmulDesc *d = &run->problem->u.matmul;
    wm_matmul_job job = wm_matmul_job_of(d, &run->args->matmul, SIDE, SIDE);
    choice c = choose(d);
    wm_launch launch = {
        c.kernel, {wm_matmul_blocks(&job), 1, 1},
         {THREADS,                1, 1},
         {0,                      0, 0},
         0, &job, sizeof job
    };
    return wm_launch_kernel(run->context, c.name, &launch, run->stream);
}

static void drop(wmContext *, void *) {}

extern "C" const wm_solver wm_matmul_naive = {
    "matmul_naive",
    WM_MATMUL,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    1,
    WM_MM_F16 | WM_MM_BF16 | WM_MM_F32 | WM_MM_F64 | WM_MM_C64 | WM_MM_C128 | WM_MM_FP8 | WM_MM_I8 | WM_MM_MIXED |
        WM_MM_TRANSPOSE | WM_MM_CONJUGATE | WM_MM_COL_MAJOR | WM_MM_BATCH | WM_MM_POINTERS | WM_MM_BIAS |
        WM_MM_ACTIVATION | WM_MM_SCALE | WM_MM_C_LAYOUT | WM_MM_TF32 | WM_MM_STRICT | WM_MM_UNALIGNED |
        WM_MM_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
