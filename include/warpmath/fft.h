/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discrete Fourier transforms of rank 1 to 3 over up to 3 batch loops, any length, any strides:
 *   forward  X[k] = s · sum_j x[j] exp(-2 pi i j k / n)      inverse  x[j] = s · sum_k X[k] exp(+2 pi i j k / n)
 * over each transformed axis, with s = 1, 1/N or 1/sqrt(N), N the product of the axis lengths.
 *
 * Strides count elements of their own side: complex pairs of C2C and of the complex side of R2C and C2R, real numbers
 * of the real side. The complex side of R2C and C2R holds n/2 + 1 values along the last axis. C2R reads the stored half
 * only and ignores the imaginary parts of the DC term and, for even n, of the Nyquist term.
 *
 * Out of place never writes the input, C2R included, unless allow_input_overwrite. Gaps between strides are never
 * written.
 *
 * f16 and bf16 are types of memory: all arithmetic is of f32, rounded once on the way out. What a result's size may be,
 * N times the input's or sqrt(N) times as a rule, must suit the type: f16 ends at 65504. Choose the scale accordingly.
 *
 * A functor, a function of yours, may stand between memory and the transform on either side (wmFftLoad, wmFftStore).
 */
#ifndef WARPMATH_FFT_H
#define WARPMATH_FFT_H

#include <warpmath/fft_direction.h>
#include <warpmath/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wmFftKind {
    WM_FFT_C2C = 0,
    WM_FFT_R2C = 1, /**< forward only */
    WM_FFT_C2R = 2  /**< inverse only */
} wmFftKind;

typedef enum wmFftScale { WM_FFT_SCALE_NONE = 0, WM_FFT_SCALE_BY_N = 1, WM_FFT_SCALE_BY_SQRT_N = 2 } wmFftScale;

typedef enum wmPlacement {
    WM_OUT_OF_PLACE = 0,
    WM_IN_PLACE = 1 /**< in == out; both sides' strides must describe the same memory for each axis and loop */
} wmPlacement;

/** A complex number, or a real one and 0. */
typedef struct wmFftPair {
    double re, im;
} wmFftPair;

/**
 * A load functor gives element `index` of the input, counted as strides are, as the transform shall see it: converted,
 * windowed, gathered from elsewhere. `position` is the element's number within its array, row-major over the axes (with
 * n/2 + 1 along the last one of a half spectrum); `user` is the args' load_user. Where the input is real, im is
 * ignored.
 *
 * On the GPU it is C++17 source text that is compiled into the plan's kernels by NVRTC, with warpmath's device headers'
 * types: it defines the function `name`,
 *
 *     __device__ wmC64 name(const void *in, long long index, long long position, const void *user)
 *
 * (wmC128 where the desc's type is f64). On the CPU place, where nothing can be compiled, it is the host function. Give
 * both, and one program runs on both places. Source and name are copied, once a process for each different functor;
 * they are kept until it ends.
 *
 * Each element is loaded once or more, in any order, by any thread. Plans of functors are never measured, since what
 * `user` must point to is not known then: effort MEASURE counts as ESTIMATE. In place they are refused.
 */
typedef struct wmFftLoad {
    const char *source; /**< GPU; NULL, with host NULL: no functor */
    const char *name;
    wmFftPair (*host)(const void *in, int64_t index, int64_t position, const void *user); /**< CPU */
    wmType type; /**< of an element in memory: its size is what memory limits count; unset: as without a functor */
} wmFftLoad;

/**
 * A store functor takes element `index` of the output, scaled, and writes whatever it wants, wherever no other
 * element's call does: `value` for `position`. Where the output is real, im is 0. On the GPU
 *
 *     __device__ void name(void *out, long long index, long long position, wmC64 value, const void *user)
 */
typedef struct wmFftStore {
    const char *source;
    const char *name;
    void (*host)(void *out, int64_t index, int64_t position, wmFftPair value, const void *user);
    wmType type;
} wmFftStore;

#define WM_FFT_MAX_RANK 3
#define WM_FFT_MAX_LOOPS 3

/** One transformed axis or one batch loop. n counts real numbers along the last axis of R2C and C2R. */
typedef struct wmFftDim {
    int64_t n;
    int64_t in_stride, out_stride;
} wmFftDim;

/** A problem, without pointers. Fill it with wmFftDescPacked(), then change what differs. */
typedef struct wmFftDesc {
    size_t size;
    wmPlace place; /**< AUTO: the context's */
    wmFftKind kind;
    wmType type; /**< of the real scalar: WM_F32, WM_F64, WM_F16 or WM_BF16 */
    wmDirection direction;
    wmFftScale scale;
    wmPlacement placement;
    int32_t allow_input_overwrite;   /**< 1: an out-of-place transform may use its input as workspace */
    int32_t rank;                    /**< 1 to 3 */
    int32_t loops;                   /**< 0 to 3 */
    wmFftDim dim[WM_FFT_MAX_RANK];   /**< outermost first; the last one is halved on the complex side of R2C and C2R */
    wmFftDim loop[WM_FFT_MAX_LOOPS]; /**< outermost first; a loop of 0 rounds makes an empty problem */
    int64_t align;                   /**< bytes to which both pointers are multiples, behind functors too; 0: 16 */
    wmDeterminism determinism;
    wmFftLoad load;   /**< all zero: none */
    wmFftStore store; /**< all zero: none */
} wmFftDesc;

/**
 * Packed row-major arrays n[0] × … × n[rank-1], `batch` of them one behind the other, out of place, unscaled. The
 * direction is forward, inverse for C2R. A rank out of range gives a desc that plan creation refuses by name.
 */
WM_API wmFftDesc wmFftDescPacked(wmFftKind kind, wmType type, int rank, const int64_t n[], int64_t batch);

/** The same in place: rows of real numbers are padded to 2 (n/2 + 1), so that the complex side lies in the same memory.
 */
WM_API wmFftDesc wmFftDescPackedInPlace(wmFftKind kind, wmType type, int rank, const int64_t n[], int64_t batch);

/** The same for other languages: fills *desc, of which the caller's header knows `size` bytes. */
WM_API void wmFftDescInit(wmFftDesc *desc, size_t size, wmFftKind kind, wmType type, int rank, const int64_t n[],
                          int64_t batch);

/**
 * The transform that undoes *forward: sides and strides exchanged, R2C against C2R, direction reversed, scaled so that
 * the two together give the input back (BY_N against NONE, BY_SQRT_N against itself). It has no functors.
 */
WM_API void wmFftDescInverse(wmFftDesc *inverse, const wmFftDesc *forward);

/** Operands of one execution, in the place's memory. */
typedef struct wmFftArgs {
    size_t size;
    const void *in;
    void *out;       /**< in place: equal to in */
    void *workspace; /**< NULL: the context's arena for this stream */
    size_t workspace_bytes;
    const void *load_user, *store_user; /**< handed to the functors as they are; in the place's memory, as a rule */
} wmFftArgs;

/** Arguments with both pointers set and the rest default. */
static inline wmFftArgs wmFftArgsDefault(const void *in, void *out) {
    wmFftArgs args = {sizeof(wmFftArgs), in, out, NULL, 0, NULL, NULL};
    return args;
}

/** The same for other languages. */
WM_API void wmFftArgsInit(wmFftArgs *args, size_t size);

/** Plans *desc on the context; options NULL: defaults. Statuses as in wmMatmulPlanCreate. */
WM_API WM_CHECKED wmStatus wmFftPlanCreate(wmPlan **plan, wmContext *context, const wmFftDesc *desc,
                                           const wmPlanOptions *options);

/** Enqueues the transform on `stream` (on the CPU place: computes it before returning). As wmMatmulExecute. */
WM_API WM_CHECKED wmStatus wmFftExecute(const wmPlan *plan, const wmFftArgs *args, wmStream stream);

/** Plans (through the context's bounded cache) and executes; checks that the device can reach both pointers. */
WM_API WM_CHECKED wmStatus wmFft(wmContext *context, const wmFftDesc *desc, const wmFftArgs *args, wmStream stream);

#ifdef __cplusplus
}
#endif

#endif
