/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that are a pure function: element i of a sequence depends on (generator, distribution, key, i) alone.
 * Any slice, grid, thread count, GPU or CPU gives the same bits. docs/random.md is the bit-level specification.
 *
 * Two distributions drawn from the same key and offset share their underlying words. Give each its own key
 * (wmRandomKeyFold), or take consecutive ranges from a wmRandomCursor.
 */
#ifndef WARPMATH_RANDOM_H
#define WARPMATH_RANDOM_H

#include <warpmath/plan.h>
#include <warpmath/random_generator.h>
#include <warpmath/random_interval.h>
#include <warpmath/random_key.h>
#include <warpmath/device/generators.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which order of values. */
typedef enum wmSequence {
    WM_SEQ_COUNTER = 0, /**< warpmath's: the contract above */
    WM_SEQ_CURAND = 1   /**< cuRAND's legacy order of the same generator, through libcurand; the substream must be 0 */
} wmSequence;

/** "floats": f16, bf16, f32, f64. "integers": u8 … i64. "counts": u32, i32, u64, i64. */
typedef enum wmDistribution {
    WM_RANDOM_BITS = 0,        /**< integers: every bit random */
    WM_RANDOM_UNIFORM = 1,     /**< floats: low + (high - low) · u; the interval's open ends are never reached */
    WM_RANDOM_NORMAL = 2,      /**< floats: mean + std · z, z normal, the same bits on GPU and CPU */
    WM_RANDOM_INTEGERS = 3,    /**< integers: base … base + span - 1, all equally likely; span 0: the whole type */
    WM_RANDOM_BERNOULLI = 4,   /**< u8: 1 with probability p, else 0 */
    WM_RANDOM_MASK = 5,        /**< u32: 32 such draws an element, lowest bit first; the draws of BERNOULLI */
    WM_RANDOM_EXPONENTIAL = 6, /**< floats: density rate · exp(-rate · x), x > 0 */
    WM_RANDOM_LOGNORMAL = 7,   /**< floats: exp(mean + std · z) */
    WM_RANDOM_TRUNCATED_NORMAL = 8, /**< floats: normal of mean and std, given that it lies in [low, high] */
    WM_RANDOM_POISSON = 9,          /**< counts: events of mean number rate; rate 0 gives 0 */
    WM_RANDOM_BINOMIAL = 10,        /**< counts: successes in `trials` trials of probability p */
    WM_RANDOM_GEOMETRIC = 11,       /**< counts: failures before the first success, 0, 1, …, of probability p */
    WM_RANDOM_GAMMA = 12,           /**< floats: shape > 0, scale */
    WM_RANDOM_BETA = 13,            /**< floats: x^(shape-1) (1-x)^(shape2-1) on [0, 1] */
    WM_RANDOM_CHI_SQUARE = 14,      /**< floats: `shape` degrees of freedom */
    WM_RANDOM_STUDENT_T = 15,       /**< floats: `shape` degrees of freedom */
    WM_RANDOM_LAPLACE = 16,         /**< floats: location, scale; so for the next three */
    WM_RANDOM_LOGISTIC = 17,        /**< floats */
    WM_RANDOM_CAUCHY = 18,          /**< floats */
    WM_RANDOM_GUMBEL = 19,          /**< floats: of maxima */
    WM_RANDOM_WEIBULL = 20,         /**< floats: scale · E^(1/shape), E exponential */
    WM_RANDOM_CATEGORICAL = 21, /**< u32, i32: 0 … dimension - 1 by the alias table (wmRandomAliasBuild) at `table` */
    WM_RANDOM_PERMUTATION = 22, /**< counts: element i of a permutation of 0 … span - 1; some of it: a sample */
    WM_RANDOM_NORMAL_VECTORS =
        23,                   /**< f32, f64: rows mean + L · z of length dimension, L lower triangular at `table` */
    WM_RANDOM_DIRICHLET = 24, /**< f32, f64: rows of length dimension that add to 1, weights at `table` */
    WM_RANDOM_ROUND = 25      /**< f16, bf16, e4m3, e5m2: f32 values at `in`, rounded up or down at random */
} wmDistribution;

/** Where key and offset come from. */
typedef enum wmKeySource {
    WM_KEY_ARGUMENT = 0, /**< args.key and args.offset */
    WM_KEY_DEVICE = 1    /**< args.state, read when the draw runs: replays of a captured graph can go on */
} wmKeySource;

/** Part of the numerics, so a field of the problem: no planner chooses between these. */
typedef enum wmAccuracy {
    WM_ACCURACY_EXACT = 0, /**< the bits of docs/random.md, on GPU and CPU alike */
    WM_ACCURACY_FAST = 1   /**< normal, lognormal, exponential by hardware functions, within a stated bound of those */
} wmAccuracy;

/** A problem, without key, offset, count and parameters: one plan serves all of them. From wmRandomDescDefault(). */
typedef struct wmRandomDesc {
    size_t size;
    wmPlace place; /**< AUTO: the context's */
    wmDistribution distribution;
    wmType type; /**< of the output */
    wmGenerator generator;
    wmSequence sequence;
    int64_t count_hint; /**< elements a call, for estimates and tuning; 0: 2^24. Any count may be executed */
    wmDeterminism determinism;
    int64_t columns; /**< 2-D output: element i goes to row i / columns, column i mod columns. 0: one row */
    int64_t ld;      /**< elements from row to row; 0: columns */
    wmKeySource key_source;
    int64_t dimensions;  /**< Sobol: 1 to WM_SOBOL_DIMENSIONS; 0: 1 */
    wmScramble scramble; /**< Sobol: how the key randomises the points */
    wmAccuracy accuracy;
    wmInterval interval; /**< uniform */
} wmRandomDesc;

/** The distribution in the given output type, by Philox4x32-10, in counter order. */
static inline wmRandomDesc wmRandomDescDefault(wmDistribution distribution, wmType type) {
    wmRandomDesc d = {sizeof(wmRandomDesc),
                      WM_PLACE_AUTO,
                      distribution,
                      type,
                      WM_PHILOX4X32_10,
                      WM_SEQ_COUNTER,
                      0,
                      WM_RUN_TO_RUN,
                      0,
                      0,
                      WM_KEY_ARGUMENT,
                      0,
                      WM_SCRAMBLE_NONE,

                      WM_ACCURACY_EXACT,
                      WM_CLOSED_OPEN};
    return d;
}

/** The same for other languages. */
WM_API void wmRandomDescInit(wmRandomDesc *desc, size_t size, wmDistribution distribution, wmType type);

/** Arguments of one execution: writes elements offset … offset + count - 1 of the key's sequence to out[0 … count - 1].
 */
typedef struct wmRandomArgs {
    size_t size;
    void *out;     /**< in the place's memory, aligned to its element */
    int64_t count; /**< 0 succeeds and touches nothing */
    wmRandomKey key;
    uint64_t offset;  /**< in elements; offset + count wraps at 2^64 */
    double low, high; /**< uniform; both 0 means 0 and 1. Truncated normal: its ends, infinities allowed */
    double mean, std; /**< normal, lognormal, truncated normal; std 0 with mean 0 means the standard normal */
    void *workspace;  /**< NULL: the context's arena for this stream */
    size_t workspace_bytes;
    wmRandomState *state; /**< WM_KEY_DEVICE: in the place's memory, aligned to 8; its key counts in place of args.key,
                             and args.offset comes on top of its offset; of rows of vectors the sum is rounded
                             down to the beginning of a row */
    int advance;          /**< WM_KEY_DEVICE: 1 adds count to state->offset after the draw, in stream order */
    int64_t base;         /**< integers: the least value; for u64 the same 64 bits */
    uint64_t span;        /**< integers, permutation: how many values; 0 for integers: all of the type */
    double p;             /**< Bernoulli, mask, binomial, geometric */
    uint64_t trials;      /**< binomial */
    double rate;          /**< exponential (0 means 1); Poisson */
    double location, scale; /**< gamma, Laplace, logistic, Cauchy, Gumbel, Weibull; scale 0 means 1 */
    double shape, shape2;   /**< gamma, beta, chi-square, Student, Weibull */
    int64_t dimension;      /**< categorical: categories; rows of vectors: length, count and offset multiples of it */
    const void *table;      /**< categorical, normal vectors (row-major, dimension²), Dirichlet (dimension) */
    const void *in;         /**< rounding: f32, `count` of them; normal vectors: their mean, or NULL for 0 */
} wmRandomArgs;

/** count elements from offset 0 of the key's sequence, with the distribution's default parameters. */
static inline wmRandomArgs wmRandomArgsDefault(void *out, int64_t count, wmRandomKey key) {
    wmRandomArgs args = {sizeof(wmRandomArgs),
                         out,
                         count,
                         key,
                         0,
                         0.0,
                         0.0,
                         0.0,
                         0.0,
                         NULL,
                         0,
                         NULL,
                         0,
                         0,
                         0,
                         0.0,
                         0,
                         0.0,
                         0.0,
                         0.0,
                         0.0,
                         0.0,
                         0,
                         NULL,
                         NULL};
    return args;
}

/** The same for other languages. */
WM_API void wmRandomArgsInit(wmRandomArgs *args, size_t size);

/** The key of a seed, substream 0. */
static inline wmRandomKey wmRandomKeyMake(uint64_t seed) {
    wmRandomKey key = {seed, 0};
    return key;
}

/*
 * wmRandomKeyFold(key, number), an independent key made from a key and a number (a step, a layer, a rank), is inline in
 * <warpmath/device/philox.h>, since kernels call it too.
 */

/** Writes `count` independent keys made from `key`: keys[i] = wmRandomKeyFold(key, 2^63 + i), apart from small numbers.
 */
WM_API void wmRandomKeySplit(wmRandomKey key, wmRandomKey *keys, int64_t count);

/**
 * Direction numbers of Sobol' points for kernels of one's own (<warpmath/device/sobol.h>): out[bit · dimensions + d],
 * 32 rows of 32-bit integers for WM_SOBOL32, 64 of 64-bit ones for WM_SOBOL64. In host memory. After S. Joe and F. Y.
 * Kuo (2008), whose numbers are under the licence in reference/sobol_numbers.h.
 */
WM_API WM_CHECKED wmStatus wmSobolDirections(void *out, wmGenerator generator, int64_t dimensions);

/** Hands out consecutive ranges of one key's sequence, so that no two draws share words. Plain data, not thread-safe.
 */
typedef struct wmRandomCursor {
    wmRandomKey key;
    uint64_t next; /**< the first 32-bit word not yet handed out, a multiple of 4 */
} wmRandomCursor;

/** A cursor at the start of the key's sequence. */
static inline wmRandomCursor wmRandomCursorMake(wmRandomKey key) {
    wmRandomCursor cursor = {key, 0};
    return cursor;
}

/**
 * Reserves `count` elements of the desc's distribution and type: gives the offset to draw them from, and moves on.
 * Offsets fit the type, so mixed draws never overlap.
 */
WM_API WM_CHECKED wmStatus wmRandomCursorTake(wmRandomCursor *cursor, const wmRandomDesc *desc, int64_t count,
                                              uint64_t *offset);

/**
 * Fills `table` (host memory, 8 bytes a category: wmAlias of <warpmath/device/dist_choice.h>) with the alias table of
 * these weights: finite, at least 0, not all 0. A category's probability is its weight's share, to 2^-32 / categories.
 * Copy the table to the place's memory for args.table of a categorical draw.
 */
WM_API WM_CHECKED wmStatus wmRandomAliasBuild(void *table, const double *weights, int64_t categories);

/** Plans *desc on the context; options NULL: defaults. Statuses as in wmMatmulPlanCreate. */
WM_API WM_CHECKED wmStatus wmRandomPlanCreate(wmPlan **plan, wmContext *context, const wmRandomDesc *desc,
                                              const wmPlanOptions *options);

/** Enqueues the draw on `stream` (on the CPU place: done before returning). As wmMatmulExecute. */
WM_API WM_CHECKED wmStatus wmRandomExecute(const wmPlan *plan, const wmRandomArgs *args, wmStream stream);

/** Plans (through the context's bounded cache) and executes; checks that the device can reach the pointer. */
WM_API WM_CHECKED wmStatus wmRandom(wmContext *context, const wmRandomDesc *desc, const wmRandomArgs *args,
                                    wmStream stream);

#ifdef __cplusplus
}
#endif

#endif
