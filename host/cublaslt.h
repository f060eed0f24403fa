/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cublaslt solver uses of cuBLASLt, declared here so that it builds, and is tested, without CUDA's headers; a
 * build with CUDA compares each value with theirs (cublaslt_library.c). And how a problem becomes a call of it.
 */
#ifndef WM_HOST_CUBLASLT_H
#define WM_HOST_CUBLASLT_H

#include "lib/solver.h"

/* ---- The library ---- */

/* Its descriptors, which may live in memory of ours and be copied. */
typedef struct wm_lt_layout {
    uint64_t data[8];
} wm_lt_layout;
typedef struct wm_lt_algo {
    uint64_t data[8];
} wm_lt_algo;
typedef struct wm_lt_desc {
    uint64_t data[32];
} wm_lt_desc;
typedef struct wm_lt_preference {
    uint64_t data[8];
} wm_lt_preference;

typedef struct wm_lt_result {
    wm_lt_algo algo;
    size_t workspace;
    int state;
    float waves; /* how often the grid fills the device */
    int reserved[4];
} wm_lt_result;

typedef struct wm_lt_context *wm_lt_handle;

enum { WM_LT_VECTOR_ALIGN = 16 }; /* of a bias and of scales */
enum { WM_LT_OP_N = 0, WM_LT_OP_T = 1, WM_LT_OP_C = 2 };
enum {
    WM_LT_32F = 68,
    WM_LT_32F_PEDANTIC = 69,
    WM_LT_64F = 70,
    WM_LT_32I = 72,
    WM_LT_32F_FAST_TF32 = 77,
};
enum { WM_LT_DEFAULT = 1, WM_LT_RELU = 2, WM_LT_BIAS = 4, WM_LT_GELU = 32 }; /* epilogues; BIAS joins the others */
enum { WM_LT_LAYOUT_BATCH = 5, WM_LT_LAYOUT_STRIDE = 6, WM_LT_LAYOUT_BATCH_MODE = 8 };
enum {
    WM_LT_DESC_POINTER_MODE = 2,
    WM_LT_DESC_TRANSA = 3,
    WM_LT_DESC_TRANSB = 4,
    WM_LT_DESC_EPILOGUE = 7,
    WM_LT_DESC_BIAS_POINTER = 8,
    WM_LT_DESC_MULTIPROCESSORS = 15,
    WM_LT_DESC_A_SCALE = 17,
    WM_LT_DESC_B_SCALE = 18,
    WM_LT_DESC_BIAS_TYPE = 26,
};
enum {
    WM_LT_PREF_WORKSPACE = 1,
    WM_LT_PREF_REDUCTIONS = 3,
    WM_LT_PREF_ALIGN_A = 5,
    WM_LT_PREF_ALIGN_B = 6,
    WM_LT_PREF_ALIGN_C = 7,
    WM_LT_PREF_ALIGN_D = 8,
};
enum { WM_LT_REDUCE_INPLACE = 1, WM_LT_REDUCE_COMPUTE_TYPE = 2, WM_LT_REDUCE_OUTPUT_TYPE = 4 };
enum { WM_LT_CAP_OUT_OF_PLACE = 4, WM_LT_CAP_NUMERICS = 15 };
enum {
    WM_LT_CONFIG_ID = 0,
    WM_LT_CONFIG_TILE = 1,
    WM_LT_CONFIG_SPLIT_K = 2,
    WM_LT_CONFIG_REDUCTION = 3,
    WM_LT_CONFIG_SWIZZLE = 4,
    WM_LT_CONFIG_CUSTOM = 5,
    WM_LT_CONFIG_STAGES = 6,
    WM_LT_CONFIG_INNER_SHAPE = 7,
    WM_LT_CONFIG_CLUSTER_SHAPE = 8,
};
enum { /* of an algorithm's numerics */
       WM_LT_TENSOR_CORES = 0xfe,
       WM_LT_SUMS_16F = 1 << 8,
       WM_LT_INPUT_NARROW = 7 << 16 /* f16, bf16 or tf32 */
};
#define WM_LT_GAUSSIAN ((uint64_t)1 << 32)

typedef struct wm_lt_library {
    const char *(*status_name)(int status);
    int (*create)(wm_lt_handle *handle);
    int (*layout_init)(wm_lt_layout *layout, size_t size, int type, uint64_t rows, uint64_t cols, int64_t ld);
    int (*layout_set)(wm_lt_layout *layout, int attribute, const void *value, size_t bytes);
    int (*desc_init)(wm_lt_desc *desc, size_t size, int compute, int scale);
    int (*desc_set)(wm_lt_desc *desc, int attribute, const void *value, size_t bytes);
    int (*preference_init)(wm_lt_preference *preference, size_t size);
    int (*preference_set)(wm_lt_preference *preference, int attribute, const void *value, size_t bytes);
    int (*heuristic)(wm_lt_handle handle, wm_lt_desc *desc, wm_lt_layout *a, wm_lt_layout *b, wm_lt_layout *c,
                     wm_lt_layout *d, wm_lt_preference *preference, int wanted, wm_lt_result *out, int *count);
    int (*algo_init)(wm_lt_handle handle, int compute, int scale, int a, int b, int c, int d, int id, wm_lt_algo *algo);
    int (*algo_check)(wm_lt_handle handle, wm_lt_desc *desc, wm_lt_layout *a, wm_lt_layout *b, wm_lt_layout *c,
                      wm_lt_layout *d, const wm_lt_algo *algo, wm_lt_result *out);
    int (*capability)(const wm_lt_algo *algo, int attribute, void *value, size_t bytes, size_t *written);
    int (*config_get)(const wm_lt_algo *algo, int attribute, void *value, size_t bytes, size_t *written);
    int (*config_set)(wm_lt_algo *algo, int attribute, const void *value, size_t bytes);
    int (*matmul)(wm_lt_handle handle, wm_lt_desc *desc, const void *alpha, const void *a, wm_lt_layout *a_layout,
                  const void *b, wm_lt_layout *b_layout, const void *beta, const void *c, wm_lt_layout *c_layout,
                  void *d, wm_lt_layout *d_layout, const wm_lt_algo *algo, void *workspace, size_t bytes,
                  wmStream stream);
} wm_lt_library;

/** The library; NULL with the reason. */
const wm_lt_library *wm_lt_library_get(wm_why *why);

/** What a device has once a process: a handle, and the scalars 1 and 0 in its memory. */
typedef struct wm_lt_device {
    wm_lt_handle handle;
    char *constants; /* NULL: not made yet */
} wm_lt_device;

/** Of the context's device, which is current; NULL with the reason. */
const wm_lt_device *wm_lt_device_get(wmContext *context, wm_why *why);

/** Address of the scalar 1 or 0 of a scale type in device memory. */
const void *wm_lt_constant(const wm_lt_device *device, wmType scale, int one);

/* ---- Problems as calls ---- */

/** A column-major matrix; op is what the product does to it. */
typedef struct wm_lt_matrix {
    int type; /* cudaDataType */
    int64_t rows, cols, ld, batch_stride;
    int op;
} wm_lt_matrix;

/**
 * One product as cuBLASLt sees it: everything column-major, D = op(A) op(B). A row-major D is the column-major
 * transpose of itself, and its product that of op(B) and op(A) transposed: swapped = 1, A is then our B.
 */
typedef struct wm_lt_call {
    int swapped;
    wm_lt_matrix a, b, c, d;
    int32_t batch;
    int pointers; /* matrices through arrays of pointers */
    int compute, scale, epilogue;
    int bias_type;        /* cudaDataType; -1: no bias */
    int a_scale, b_scale; /* 1: operand has a scale in device memory */
    int multiprocessors;  /* at most, as far as its kernels heed it; 0: all */
} wm_lt_call;

/** 0 with the reason where cuBLASLt has no such call. */
int wm_lt_map(const wmMatmulDesc *d, wm_lt_call *call, wm_why *why);

/** The call's descriptors. Pointers are stand-ins, whose alignment the heuristic looks at. */
typedef struct wm_lt_descriptors {
    wm_lt_desc desc;
    wm_lt_layout a, b, c, d;
} wm_lt_descriptors;

/** Gives the library's status. */
int wm_lt_describe(const wm_lt_library *lt, const wm_lt_call *call, wm_lt_descriptors *out);

#endif
