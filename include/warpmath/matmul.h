/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products:  D = activation(alpha · op(A) · op(B) + beta · C + bias),  op(A) m × k, op(B) k × n, C and D m × n,
 * batched. Matrices are row-major by default; each has its own order, type and leading dimension.
 *
 * All that a product of real numbers may be asked for, in this order; what a desc does not name is left out:
 *
 *     z(i, j) = alpha · a_scale(i) · b_scale(j) · Σ A(i, q) B(q, j) + beta · C(i, j) + bias        kept as Z
 *     y(i, j) = activation(z(i, j)),  or with a gate  activation(z(i, g)) · z(i, v)                D has n / 2 columns
 *     y(i, j) = y(i, j) / (1 - drop) where draw i · columns + j keeps it, else 0                  dropout
 *     y(i, j) = y(i, j) + R(i, j)                                                                 residual
 *     y(i, j) = f(y(i, j), i, j, product, user)                                                   a function of yours
 *     sums, largest values or largest magnitudes of y                                             reduction
 *     D(i, j) = y(i, j) / d_scale, rounded to D's type; i8 and fp8 take the nearest value they have
 *
 * Which values are read and written
 *   - beta = 0 never reads C. k = 0, or alpha = 0 as a host value, gives activation(beta · C + bias) and ignores A and
 * B, NaN included. Where an alpha in device memory is 0, a vendor's solver may still multiply A and B.
 *   - m, n or batch = 0 succeeds and touches nothing; all pointers may then be NULL.
 *   - C = NULL means D itself is C (in place). D may equal C with the same layout; other overlaps of D are the caller's
 *     fault. Padding between rows (ld larger than the row) is never written.
 */
#ifndef WARPMATH_MATMUL_H
#define WARPMATH_MATMUL_H

#include <warpmath/plan.h>
#include <warpmath/random_key.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wmOrder { WM_ROW_MAJOR = 0, WM_COL_MAJOR = 1 } wmOrder;

/** What is done to A or B before the product; on real types CONJ_TRANSPOSE is TRANSPOSE. */
typedef enum wmOp { WM_OP_NONE = 0, WM_OP_TRANSPOSE = 1, WM_OP_CONJ_TRANSPOSE = 2 } wmOp;

typedef enum wmBatchMode {
    WM_BATCH_STRIDED = 0,  /**< matrix i is at base + i · batch_stride */
    WM_BATCH_POINTERS = 1, /**< a, b, c, d of the args point to arrays of `batch` pointers, in the place's memory */
    WM_BATCH_GROUPED = 2   /**< `batch` products of their own sizes, which the args' groups tell */
} wmBatchMode;

/**
 * One product of a grouped batch: its sizes, at most the desc's (larger ones are cut to them, negative ones are 0), and
 * where its matrices begin, in elements behind a, b, c and d of the args, multiples of the promised alignment. Leading
 * dimensions, bias, alpha and beta are the same for all. Groups without rows or columns touch nothing. The groups of a
 * mixture of experts, whose tokens stand one behind the other: {m_g, n, k, first_g · k, g · k · n, 0, first_g · n}.
 */
typedef struct wmMatmulGroup {
    int64_t m, n, k;
    int64_t a, b, c, d; /**< c counts for a C that is not D */
} wmMatmulGroup;

/**
 * The arithmetic promised. DEFAULT: F32 for f16, bf16, fp8, f32 and c64 operands, F64 for f64 and c128, I32 for i8.
 * Tensor cores add f16 and bf16 products in f32 with truncation, and fp8 products aligned to about 13 bits (Hopper):
 * where that matters, F32_STRICT keeps them out. For f32 and c64 operands F32 promises |error| <= c k 2^-24 |A||B| for
 * each element; where they are split in two f16 parts, which hold 22 bits, sums of terms that cancel or differ much in
 * size have up to 4 times the mean error of f32 multiply-adds (docs/matmul.md), others less than these.
 */
typedef enum wmCompute {
    WM_COMPUTE_DEFAULT = 0,
    WM_COMPUTE_F32 = 1,        /**< the error of a product and sum in f32, however it is reached */
    WM_COMPUTE_F32_STRICT = 2, /**< f32 multiply-adds and nothing else */
    WM_COMPUTE_TF32 = 3,       /**< f32 operands may be rounded to tf32 (10-bit mantissa), sums in f32 */
    WM_COMPUTE_F64 = 4,
    WM_COMPUTE_I32 = 5 /**< exact i32 sums, wrapping */
} wmCompute;

/** A vector added to every row or column of the product, before the activation. */
typedef enum wmBias {
    WM_BIAS_NONE = 0,
    WM_BIAS_N = 1, /**< n values, one a column of D, as NumPy's `+ b` */
    WM_BIAS_M = 2  /**< m values, one a row */
} wmBias;

typedef enum wmActivation {
    WM_ACT_NONE = 0,
    WM_ACT_RELU = 1,      /**< max(x, 0); of a NaN: NaN or 0 */
    WM_ACT_GELU_TANH = 2, /**< x/2 · (1 + tanh(sqrt(2/pi) · (x + 0.044715 x³))) */
    WM_ACT_GELU_ERF = 3,  /**< x/2 · (1 + erf(x / sqrt 2)) */
    WM_ACT_SILU = 4       /**< x / (1 + exp(-x)) */
} wmActivation;

/**
 * How an operand is scaled: the stored value times the scale is the value meant. Scales are f32 in the place's memory:
 * a_scale, b_scale, d_scale of the args. Those of a batch stand one product's behind the other's; where a strided batch
 * has one matrix for all (batch_stride 0) it has one product's scales for all.
 */
typedef enum wmScaleMode {
    WM_SCALE_NONE = 0,
    WM_SCALE_TENSOR = 1, /**< one a matrix argument, the same for the whole batch */
    WM_SCALE_ROW = 2,    /**< one a row of op(A) or of D: m */
    WM_SCALE_COLUMN = 3, /**< one a column of op(B) or of D: n, or n / 2 for a D behind a gate */
    /* Of fp8 A and B, K being k / 128 rounded up; for line i (a row of op(A), a column of op(B)) and q of k: */
    WM_SCALE_1X128 = 4,  /**< [i · K + q / 128] */
    WM_SCALE_128X128 = 5 /**< [i / 128 · K + q / 128] */
} wmScaleMode;

/** Which elements of a square D are computed and written; the rest of D is left as it is. With B = A, transposed: BLAS'
 * symmetric products. */
typedef enum wmTriangle {
    WM_TRIANGLE_ALL = 0,
    WM_TRIANGLE_LOWER = 1, /**< j <= i */
    WM_TRIANGLE_UPPER = 2  /**< j >= i */
} wmTriangle;

/** Which columns of the product make one of D, which has n / 2: activation(gate) · value. With silu: SwiGLU. */
typedef enum wmGate {
    WM_GATE_NONE = 0,
    WM_GATE_PAIRS = 1, /**< gate 2j, value 2j + 1 */
    WM_GATE_HALVES = 2 /**< gate j, value n/2 + j */
} wmGate;

/**
 * What is worked out of the results before they are divided by d_scale and rounded, into `reduced` of the args: f32, or
 * f64 for f64 operands. Of each row: m values a product, one product's behind the other's. NaN where there is one.
 */
typedef enum wmReduction {
    WM_REDUCE_NONE = 0,
    WM_REDUCE_ROW_SUM = 1,
    WM_REDUCE_ROW_MAX = 2,
    WM_REDUCE_ROW_ABSMAX = 3,
    WM_REDUCE_ABSMAX = 4 /**< one value of the whole batch */
} wmReduction;

/** Which results are dropped: draw t · m · columns + i · columns + j of the args' key for D(i, j) of product t. */
typedef enum wmDropout {
    WM_DROPOUT_NONE = 0,
    WM_DROPOUT_PHILOX = 1 /**< kept where bit draw mod 32 of mask draw / 32 is 1: WM_RANDOM_MASK with p = 1 - drop */
} wmDropout;

/**
 * A function of yours on the way of each result: what it gives takes y's place, behind residual, before reductions,
 * d_scale and rounding. `row` and `column` count in D, `batch` is the product's number, `user` the args' functor_user.
 *
 * On the GPU it is C++17 source text that is compiled into the plan's kernel by NVRTC, with warpmath's device headers'
 * types (<warpmath/device/float.cuh>): it defines the function `name`,
 *
 *     __device__ float name(float y, long long row, long long column, long long batch, const void *user)
 *
 * (double where the desc's compute is F64). On the CPU place, where nothing can be compiled, it is the host function.
 * Give both, and one program runs on both places. Source and name are copied, once a process for each different
 * functor; they are kept until it ends.
 *
 * It is called once for each element of D (of the triangle, if there is one), in any order, by any thread. Plans of
 * functors are never measured, since what `user` must point to is not known then: effort MEASURE counts as ESTIMATE.
 */
typedef struct wmMatmulFunctor {
    const char *source; /**< GPU; NULL, with host NULL: no functor */
    const char *name;
    double (*host)(double y, int64_t row, int64_t column, int64_t batch, const void *user); /**< CPU */
} wmMatmulFunctor;

/** batch_stride: each matrix directly behind the one before. */
#define WM_PACKED INT64_MIN

/** Layout of one matrix. */
typedef struct wmMatrixDesc {
    wmType type;
    wmOrder order;
    wmOp op;              /**< A and B only */
    wmScaleMode scale;    /**< A, B and D, of real numbers */
    int64_t ld;           /**< elements between rows (row-major) or columns (column-major); 0: packed */
    int64_t batch_stride; /**< elements between matrices of the batch; 0: the same one for all (A, B, C); WM_PACKED */
    int64_t align;        /**< bytes to which the pointer (or each of a pointer array) is a multiple; 0: 16; at least
                               the element's own size */
} wmMatrixDesc;

/** A problem, without pointers or scalars. From wmMatmulDescDefault(). */
typedef struct wmMatmulDesc {
    size_t size;
    wmPlace place;           /**< AUTO: the context's */
    int64_t m, n, k;         /**< of a grouped batch: the most that a group has */
    wmMatrixDesc a, b, c, d; /**< b.type 0: a's; d.type 0: a's, bf16 for fp8, i32 for i8; c.type 0: d's;
                               c.ld 0: d's order, ld and packed stride */
    int64_t batch;           /**< number of products; 0 is none */
    wmBatchMode batch_mode;
    wmCompute compute;
    wmBias bias;
    wmType bias_type; /**< 0: d's type */
    wmActivation activation;
    wmDeterminism determinism;
    /* What follows is for strided batches of real products whose D is not i32. With a gate, beta is 0: R may take C's
     * part. */
    wmGate gate;
    wmMatrixDesc r; /**< added to the results; type 0: none. m × columns of D; ld 0: D's order, ld and packed stride */
    wmMatrixDesc z; /**< what the activation is taken of, m × n; type 0: not kept */
    wmReduction reduction;
    wmDropout dropout;
    wmTriangle triangle;     /**< of m × m; without gate, z and reduction */
    wmMatmulFunctor functor; /**< all zero: none */
    int32_t allow_3m;        /**< 1: a complex product may be three real ones (Gauss) in place of four; the error of its
                                imaginary parts is then bounded by c k 2^-24 (|re A| + |im A|)(|re B| + |im B|) */
} wmMatmulDesc;

/** m × n × k of one type, row-major, packed, batch 1, WM_COMPUTE_DEFAULT. */
static inline wmMatmulDesc wmMatmulDescDefault(wmType type, int64_t m, int64_t n, int64_t k) {
    wmMatmulFunctor none = {NULL, NULL, NULL};
    wmMatmulDesc d = {
        sizeof(wmMatmulDesc),
        WM_PLACE_AUTO,
        m,
        n,
        k,
        {type,          WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0},
        {WM_TYPE_UNSET, WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0},
        {WM_TYPE_UNSET, WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0},
        {WM_TYPE_UNSET, WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0},
        1,
        WM_BATCH_STRIDED,
        WM_COMPUTE_DEFAULT,
        WM_BIAS_NONE,
        WM_TYPE_UNSET,
        WM_ACT_NONE,
        WM_RUN_TO_RUN,
        WM_GATE_NONE,
        {WM_TYPE_UNSET, WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0},
        {WM_TYPE_UNSET, WM_ROW_MAJOR, WM_OP_NONE, WM_SCALE_NONE, 0, WM_PACKED, 0},
        WM_REDUCE_NONE,
        WM_DROPOUT_NONE,
        WM_TRIANGLE_ALL,
        none,
        0
    };
    return d;
}

/** The same for other languages: fills *desc, of which the caller's header knows `size` bytes. */
WM_API void wmMatmulDescInit(wmMatmulDesc *desc, size_t size, wmType type, int64_t m, int64_t n, int64_t k);

/** Operands of one execution. Pointers are to the place's memory; the caller keeps them alive until the work has ended.
 */
typedef struct wmMatmulArgs {
    size_t size;
    const void *a, *b;
    const void *c; /**< NULL: d */
    void *d;
    const void *bias;
    wmScalar alpha;                          /**< default 1 */
    wmScalar beta;                           /**< default 0 */
    const void *a_scale, *b_scale, *d_scale; /**< f32; wmScaleMode tells how many */
    void *workspace;                         /**< NULL: the context's arena for this stream */
    size_t workspace_bytes;
    const wmMatmulGroup *groups; /**< WM_BATCH_GROUPED: `batch` of them in the place's memory, read when the product
                                    runs: a captured graph serves every step */
    const void *r;               /**< desc.r: the residual */
    void *z;                     /**< desc.z: where it is kept */
    void *reduced;               /**< desc.reduction: where its values go */
    double drop;                 /**< WM_DROPOUT_PHILOX: the part dropped, 0 to 1 */
    wmRandomKey drop_key;
    uint64_t drop_offset;            /**< of the first draw */
    const wmRandomState *drop_state; /**< NULL, or in the place's memory: its key counts in place of drop_key and its
                                        offset comes on top of drop_offset, so a captured graph serves every step */
    const void *functor_user;        /**< handed to the functor as it is; in the place's memory, as a rule */
} wmMatmulArgs;

/** Arguments with the four pointers set and the rest default. */
static inline wmMatmulArgs wmMatmulArgsDefault(const void *a, const void *b, void *d) {
    wmMatmulArgs args = {
        sizeof(wmMatmulArgs),
        a,
        b,
        NULL,
        d,
        NULL,
        {WM_SCALAR_DEFAULT, 0, 0, NULL},
        {WM_SCALAR_DEFAULT,             0,              0, NULL},
        NULL,
        NULL,
        NULL,
        NULL,
        0,
        NULL,
        NULL,
        NULL,
        NULL,
        0,
        {0,    0},
        0,
        NULL,
        NULL
    };
    return args;
}

/** The same for other languages. */
WM_API void wmMatmulArgsInit(wmMatmulArgs *args, size_t size);

/**
 * Plans *desc on the context; options NULL: defaults. Both are copied.
 * WM_ERR_ARGUMENT: a field out of range (the sentence names it and its value). WM_ERR_UNSUPPORTED: no solver here
 * offers; the sentence gives the reason and the nearest problem that is supported. WM_ERR_NO_WISDOM, WM_ERR_STATE
 * (MEASURE during a capture), WM_ERR_MEMORY, WM_ERR_CUDA.
 */
WM_API WM_CHECKED wmStatus wmMatmulPlanCreate(wmPlan **plan, wmContext *context, const wmMatmulDesc *desc,
                                              const wmPlanOptions *options);

/**
 * Enqueues the product on `stream` (on the CPU place: computes it before returning). No allocation and no
 * synchronisation when the caller gives the workspace; safe on many threads and streams at once with different
 * workspaces and outputs.
 */
WM_API WM_CHECKED wmStatus wmMatmulExecute(const wmPlan *plan, const wmMatmulArgs *args, wmStream stream);

/** Plans (through the context's bounded cache) and executes; checks that the device can reach every pointer. */
WM_API WM_CHECKED wmStatus wmMatmul(wmContext *context, const wmMatmulDesc *desc, const wmMatmulArgs *args,
                                    wmStream stream);

#ifdef __cplusplus
}
#endif

#endif
