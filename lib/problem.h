/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem is the public desc, resolved: every default filled in and every field checked, so that equal problems are
 * equal field by field. One table of fields an operation (lib/fields.c) drives equality, hash, print and parse.
 */
#ifndef WM_LIB_PROBLEM_H
#define WM_LIB_PROBLEM_H

#include <warpmath/warpmath.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wm_op { WM_MATMUL = 0, WM_FFT = 1, WM_RANDOM = 2, WM_CONVOLUTION = 3 } wm_op;
#define WM_OPERATIONS 4

typedef struct wm_problem {
    wm_op op;
    union {
        wmMatmulDesc matmul;
        wmFftDesc fft;
        wmRandomDesc random;
        wmConvolutionDesc convolution;
    } u;
} wm_problem;

/** Longest problem string, with its NUL. */
#define WM_PROBLEM_TEXT 768

/** The problem's place; never AUTO once resolved. */
wmPlace wm_problem_place(const wm_problem *problem);

int wm_problem_equal(const wm_problem *a, const wm_problem *b);
uint64_t wm_problem_hash(const wm_problem *problem);

/** Canonical text ("matmul bf16 4096x4096x4096 ta=t"), always NUL-terminated; gives its length. */
size_t wm_problem_print(const wm_problem *problem, char *out, size_t capacity);

/**
 * Reads a problem string; fields left out take their defaults, `place` where the text names none. The result is
 * resolved and checked. The sentence of a failure quotes the word it stumbled over.
 */
wmStatus wm_problem_parse(wm_problem *out, const char *text, wmPlace place);

/** From a caller's desc (of any size the library knows) to a problem: copies, resolves, checks. host/ defines these. */
wmStatus wm_problem_from_matmul(wm_problem *out, const wmMatmulDesc *desc, wmPlace place);
wmStatus wm_problem_from_fft(wm_problem *out, const wmFftDesc *desc, wmPlace place);
wmStatus wm_problem_from_random(wm_problem *out, const wmRandomDesc *desc, wmPlace place);
wmStatus wm_problem_from_convolution(wm_problem *out, const wmConvolutionDesc *desc, wmPlace place);

/**
 * What a problem asks of a solver, as bits. A solver's row lists the bits that it honours; the planner refuses a
 * problem with any other bit for it, by name. So a new field is safe from the day it exists: no old solver has its bit.
 */
enum {
    /* matmul: the type of A (the others follow from it unless MIXED) */
    WM_MM_F16 = 1 << 0,
    WM_MM_BF16 = 1 << 1,
    WM_MM_F32 = 1 << 2,
    WM_MM_F64 = 1 << 3,
    WM_MM_C64 = 1 << 4,
    WM_MM_C128 = 1 << 5,
    WM_MM_FP8 = 1 << 6,
    WM_MM_I8 = 1 << 7,
    WM_MM_MIXED = 1 << 8,      /* types of A, B, C, D, bias that are not all the same (i8 -> i32 apart) */
    WM_MM_TRANSPOSE = 1 << 9,  /* op(A) or op(B) transposes */
    WM_MM_CONJUGATE = 1 << 10, /* op(A) or op(B) conjugates */
    WM_MM_COL_MAJOR = 1 << 11, /* any operand column-major */
    WM_MM_BATCH = 1 << 12,     /* batch != 1 */
    WM_MM_POINTERS = 1 << 13,
    WM_MM_BIAS = 1 << 14,
    WM_MM_ACTIVATION = 1 << 15,
    WM_MM_SCALE = 1 << 16,      /* scale pointers of fp8 */
    WM_MM_C_LAYOUT = 1 << 17,   /* C's type, order or ld is not D's */
    WM_MM_TF32 = 1 << 18,       /* tf32 is allowed: every solver with F32 may take it too */
    WM_MM_STRICT = 1 << 19,     /* f32 multiply-adds only */
    WM_MM_UNALIGNED = 1 << 20,  /* a promised alignment under 16 bytes */
    WM_MM_GPU_TO_GPU = 1 << 21, /* the same bits everywhere */
    WM_MM_GROUPED = 1 << 22,    /* sizes read when it runs */
    WM_MM_SILU = 1 << 23,
    WM_MM_GATE = 1 << 24,
    WM_MM_RESIDUAL = 1 << 25,
    WM_MM_KEPT = 1 << 26, /* z, what the activation is taken of */
    WM_MM_REDUCTION = 1 << 27,
    WM_MM_DROPOUT = 1 << 28,
    WM_MM_VECTOR_SCALE = 1 << 29, /* a scale a row, column or block */
    WM_MM_QUANTISE = 1 << 30,     /* an i8 D; an i8 product whose D is not i32 */
    WM_MM_TRIANGLE = 1u << 31,
    WM_MM_FUNCTOR = 1ull << 32,
    /* fft */
    WM_FFT_F32 = 1 << 0,
    WM_FFT_F64 = 1 << 1,
    WM_FFT_COMPLEX = 1 << 2,      /* C2C */
    WM_FFT_REAL_FORWARD = 1 << 3, /* R2C */
    WM_FFT_REAL_INVERSE = 1 << 4, /* C2R */
    WM_FFT_RANK2 = 1 << 5,
    WM_FFT_RANK3 = 1 << 6,
    WM_FFT_LOOPS = 1 << 7,   /* more than one batch loop of more than one round */
    WM_FFT_STRIDED = 1 << 8, /* axes that are not packed row-major with unit stride */
    WM_FFT_IN_PLACE = 1 << 9,
    WM_FFT_SCALED = 1 << 10,
    WM_FFT_UNALIGNED = 1 << 11,
    WM_FFT_GPU_TO_GPU = 1 << 12,
    WM_FFT_F16 = 1 << 13,
    WM_FFT_BF16 = 1 << 14,
    WM_FFT_LOAD = 1 << 15, /* functors */
    WM_FFT_STORE = 1 << 16,
    /* convolution */
    WM_CONV_F32 = 1 << 0, /* f32, c64 */
    WM_CONV_F64 = 1 << 1,
    WM_CONV_REAL = 1 << 2,
    WM_CONV_COMPLEX = 1 << 3,
    WM_CONV_RANK2 = 1 << 4,
    WM_CONV_FILTERS = 1 << 5, /* one each */
    WM_CONV_UNALIGNED = 1 << 6,
    WM_CONV_GPU_TO_GPU = 1 << 7,
    /* random */
    WM_RND_BITS = 1 << 0,
    WM_RND_UNIFORM = 1 << 1,
    WM_RND_NORMAL = 1 << 2,
    WM_RND_32 = 1 << 3, /* u32, f32 */
    WM_RND_64 = 1 << 4, /* u64, f64 */
    WM_RND_COUNTER = 1 << 5,
    WM_RND_CURAND = 1 << 6,
    WM_RND_GPU_TO_GPU = 1 << 7,
    WM_RND_PHILOX4X32_7 = 1 << 8, /* generators beside the default one */
    WM_RND_PHILOX4X64 = 1 << 9,
    WM_RND_THREEFRY2X32 = 1 << 10,
    WM_RND_THREEFRY4X64 = 1 << 11,
    WM_RND_SOBOL32 = 1 << 12,
    WM_RND_SOBOL64 = 1 << 13,
    WM_RND_STRIDED = 1 << 14,      /* rows with gaps between them */
    WM_RND_DEVICE_STATE = 1 << 15, /* key and offset in the place's memory */
    WM_RND_VENDOR = 1 << 16,       /* generators that cuRAND alone has */
    WM_RND_INTEGERS = 1 << 17,
    WM_RND_BERNOULLI = 1 << 18,
    WM_RND_EXPONENTIAL = 1 << 19, /* and lognormal */
    WM_RND_COUNTS = 1 << 20,      /* Poisson, binomial, geometric */
    WM_RND_REJECTION = 1 << 21,   /* truncated normal, gamma, beta, chi-square, Student */
    WM_RND_TRANSFORMS = 1 << 22,  /* Laplace, logistic, Cauchy, Gumbel, Weibull */
    WM_RND_CATEGORICAL = 1 << 23,
    WM_RND_PERMUTATION = 1 << 24,
    WM_RND_VECTORS = 1 << 25, /* normal vectors, Dirichlet */
    WM_RND_ROUND = 1 << 26,
    WM_RND_NARROW = 1 << 27, /* types of 8 and 16 bits */
    WM_RND_FAST = 1 << 28,
    WM_RND_INTERVAL = 1 << 29 /* other ends than [low, high) */
};

uint64_t wm_problem_features(const wm_problem *problem);

/** The name of one feature bit of an operation, for sentences: "pointer-array batch". */
const char *wm_feature_name(wm_op op, uint64_t bit);

/** Work of a problem: the floor of any solver. */
typedef struct wm_cost {
    double flops; /* matmul 2mnk (x4 complex); fft 5 N log2 N a transform (half for real); convolution: two; random 0 */
    double bytes; /* each input read once, each output written once */
} wm_cost;

wm_cost wm_problem_cost(const wm_problem *problem);

/** 1 if the problem is empty: execution succeeds and touches nothing. */
int wm_problem_empty(const wm_problem *problem);

/* ---- Operands: what measuring, testing and the benchmark allocate, fill and compare ---- */

typedef enum wm_role {
    WM_INPUT,
    WM_OUTPUT,
    WM_IN_OUT, /* read, then overwritten: an in-place transform */
    WM_POINTERS_TO,
    WM_GROUPS /* wmMatmulGroup, as 7 numbers each */
} wm_role;

/** One operand as memory: `elements` of `type` from the lowest address touched to the highest. */
typedef struct wm_operand {
    const char *name; /* the args' field: "a", "out" */
    wmType type;
    int64_t elements;
    wm_role role;
    int target;     /* WM_POINTERS_TO: index of the operand pointed into; elements = batch */
    int64_t stride; /* WM_POINTERS_TO: elements between the targets */
} wm_operand;

#define WM_MAX_OPERANDS 10

/** Lists the operands in a fixed order; gives their number. */
int wm_problem_operands(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]);

/** The args struct of any operation; each begins with its size. */
typedef union wm_args {
    size_t size;
    wmMatmulArgs matmul;
    wmFftArgs fft;
    wmRandomArgs random;
    wmConvolutionArgs convolution;
} wm_args;

/** Arguments of a plain execution on these operands: alpha 1, beta 0, offset 0, some fixed key. */
void wm_problem_bind(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out);

/**
 * Most that two correct solvers' outputs may differ, element by element, on inputs uniform in [-1, 1): absolute bound
 * and bound relative to the element. Outside both, one of them is wrong. 0 and 0: the bits must agree.
 */
typedef struct wm_bound {
    double absolute, relative;
} wm_bound;

wm_bound wm_problem_bound(const wm_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
