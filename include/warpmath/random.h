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

typedef enum wmDistribution {
    WM_RANDOM_BITS = 0,    /**< u32, u64: every bit random */
    WM_RANDOM_UNIFORM = 1, /**< f32 of 24 bits, f64 of 53: low + (high - low) · u, u in [0, 1); never reaches high */
    WM_RANDOM_NORMAL = 2   /**< f32, f64: mean + std · z, z normal, the same bits on GPU and CPU */
} wmDistribution;

/** Where key and offset come from. */
typedef enum wmKeySource {
    WM_KEY_ARGUMENT = 0, /**< args.key and args.offset */
    WM_KEY_DEVICE = 1    /**< args.state, read when the draw runs: replays of a captured graph can go on */
} wmKeySource;

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
                      WM_SCRAMBLE_NONE};
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
    double low, high; /**< uniform; both 0 means [0, 1) */
    double mean, std; /**< normal; std 0 with mean 0 means the standard normal */
    void *workspace;  /**< NULL: the context's arena for this stream */
    size_t workspace_bytes;
    wmRandomState *state; /**< WM_KEY_DEVICE: in the place's memory, aligned to 8; its key counts in place of args.key,
                             and args.offset comes on top of its offset */
    int advance;          /**< WM_KEY_DEVICE: 1 adds count to state->offset after the draw, in stream order */
} wmRandomArgs;

/** count elements from offset 0 of the key's sequence, with the distribution's default parameters. */
static inline wmRandomArgs wmRandomArgsDefault(void *out, int64_t count, wmRandomKey key) {
    wmRandomArgs args = {sizeof(wmRandomArgs), out, count, key, 0, 0.0, 0.0, 0.0, 0.0, NULL, 0, NULL, 0};
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
