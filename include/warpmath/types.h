/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types, statuses and scalars that every part of warpmath shares. No CUDA header is needed.
 *
 * Conventions of the whole API
 *   - Sizes, strides, leading dimensions and counts are int64_t, in elements; byte counts are size_t.
 *   - A struct that a caller fills starts with `size`; get one from its wmXxxDefault() (or wmXxxInit() where
 *     inline functions are out of reach), then set fields. Zero is the default of every field that is not a size.
 *   - Functions that can fail return a wmStatus, write their result through the first parameter, and leave NULL
 *     there on failure. wmLastError() then holds one sentence.
 *   - The library never prints, exits or aborts.
 */
#ifndef WARPMATH_TYPES_H
#define WARPMATH_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define WM_VERSION_MAJOR 0
#define WM_VERSION_MINOR 1
#define WM_VERSION_PATCH 0
/** The version as one number, 10000 major + 100 minor + patch: 100 is 0.1.0. */
#define WM_VERSION (10000 * WM_VERSION_MAJOR + 100 * WM_VERSION_MINOR + WM_VERSION_PATCH)

#if defined(__GNUC__)
#define WM_API __attribute__((visibility("default")))
#define WM_CHECKED __attribute__((warn_unused_result))
#else
#define WM_API
#define WM_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** A CUDA stream: the same type as cudaStream_t. NULL is the legacy default stream. Ignored on the CPU place. */
typedef struct CUstream_st *wmStream;

/** A CUDA graph: the same type as cudaGraph_t. */
typedef struct CUgraph_st *wmGraph;

/** Outcome of a call. Values are fixed for good; new ones are appended. */
typedef enum wmStatus {
    WM_OK = 0,
    WM_ERR_ARGUMENT = 1,    /**< a bad value: NULL, out of range, overflowing, misaligned, mismatched */
    WM_ERR_UNSUPPORTED = 2, /**< well-formed, but no solver here does it; the message says what comes nearest */
    WM_ERR_NO_WISDOM = 3,   /**< WM_WISDOM_ONLY or WARPMATH_FROZEN=1, and the problem was never tuned */
    WM_ERR_MEMORY = 4,      /**< host or device memory ran out */
    WM_ERR_STATE = 5,       /**< not now: a stream capture, a forked child, a device poisoned by an earlier fault */
    WM_ERR_VERSION = 6,     /**< a struct from a newer header whose unknown fields are set, or a library too old */
    WM_ERR_CUDA = 7,        /**< CUDA refused; wmLastCudaError() has its code */
    WM_ERR_VENDOR = 8,      /**< a vendor library refused */
    WM_ERR_IO = 9,          /**< a file could not be read or written */
    WM_ERR_INTERNAL = 10    /**< a fault of warpmath's own: please report it */
} wmStatus;

/** Element type: 0x100 | the value of the cudaDataType of the same meaning. Complex types are (re, im) pairs. */
typedef enum wmType {
    WM_TYPE_UNSET = 0,
    WM_F32 = 0x100 | 0,
    WM_F64 = 0x100 | 1,
    WM_F16 = 0x100 | 2,
    WM_I8 = 0x100 | 3,
    WM_C64 = 0x100 | 4,  /**< pairs of f32 */
    WM_C128 = 0x100 | 5, /**< pairs of f64 */
    WM_C32 = 0x100 | 6,  /**< pairs of f16 */
    WM_U8 = 0x100 | 8,
    WM_I32 = 0x100 | 10,
    WM_U32 = 0x100 | 12,
    WM_BF16 = 0x100 | 14,
    WM_CBF16 = 0x100 | 15, /**< pairs of bf16 */
    WM_I16 = 0x100 | 20,
    WM_U16 = 0x100 | 22,
    WM_I64 = 0x100 | 24,
    WM_U64 = 0x100 | 26,
    WM_F8E4M3 = 0x100 | 28,
    WM_F8E5M2 = 0x100 | 29
} wmType;

/** Where a computation runs and where its pointers point to. */
typedef enum wmPlace {
    WM_PLACE_AUTO = 0, /**< the GPU where there is one, else the CPU; in a desc: the context's place */
    WM_PLACE_GPU = 1,
    WM_PLACE_CPU = 2
} wmPlace;

/** How far equal inputs give equal bits. A solver that promises less than the problem asks does not offer. */
typedef enum wmDeterminism {
    WM_RUN_TO_RUN = 0,     /**< the same plan on the same device gives the same bits each time */
    WM_NOT_GUARANTEED = 1, /**< bits may change from run to run (atomic sums) */
    WM_GPU_TO_GPU = 2,     /**< the same bits on every device and on the CPU */
    WM_BATCH_INVARIANT = 3 /**< as run to run; and a row of a matrix product has the same bits whatever m is */
} wmDeterminism;

/** Form of a text that the library writes. */
typedef enum wmTextFormat { WM_TEXT = 0, WM_JSON = 1 } wmTextFormat;

/** Where a scalar's value comes from; 0 stands for the parameter's own default (alpha 1, beta 0). */
typedef enum wmScalarKind { WM_SCALAR_DEFAULT = 0, WM_SCALAR_HOST = 1, WM_SCALAR_DEVICE = 2 } wmScalarKind;

/**
 * A scalar argument. Host values are doubles, converted to the scale type (f32 for f16, bf16, fp8 and f32 operands,
 * f64, c64, c128 for these, i32 for i8). A device scalar is read when the work runs: `device` points to one value of
 * the scale type, in memory that the plan's place can reach.
 */
typedef struct wmScalar {
    wmScalarKind kind;
    double re, im;
    const void *device;
} wmScalar;

/** The real number x. */
static inline wmScalar wmReal(double x) {
    wmScalar s = {WM_SCALAR_HOST, x, 0.0, NULL};
    return s;
}

/** The complex number re + i·im; for real problems im must be 0. */
static inline wmScalar wmComplex(double re, double im) {
    wmScalar s = {WM_SCALAR_HOST, re, im, NULL};
    return s;
}

/** A value of the scale type at `pointer`, read when the work runs. */
static inline wmScalar wmDeviceScalar(const void *pointer) {
    wmScalar s = {WM_SCALAR_DEVICE, 0.0, 0.0, pointer};
    return s;
}

/** The library's version, as WM_VERSION of the headers it was built from. */
WM_API int wmVersion(void);

/** The status' name, "WM_ERR_ARGUMENT" say; "WM_ERR_?" for a value that is none. Static text. */
WM_API const char *wmStatusName(wmStatus status);

/**
 * One sentence about the last failure on this thread, with field, value and problem string; "" if there was none.
 * Valid until the next failing call on this thread.
 */
WM_API const char *wmLastError(void);

/** The cudaError_t behind this thread's last failure, 0 if CUDA had no part in it. */
WM_API int wmLastCudaError(void);

/** The type's name as in problem strings ("bf16", "e4m3"); "unset" for WM_TYPE_UNSET; "?" for a value that is none. */
WM_API const char *wmTypeName(wmType type);

/** Bytes of one element; 0 for a value that is no type. */
WM_API size_t wmTypeSize(wmType type);

/** The wmType of a cudaDataType value; WM_TYPE_UNSET if warpmath has none. */
WM_API wmType wmTypeFromCuda(int cuda_data_type);

/** The cudaDataType value of a wmType; -1 if it is none. */
WM_API int wmTypeToCuda(wmType type);

#ifdef __cplusplus
}
#endif

#endif
