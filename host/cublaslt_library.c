/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt, loaded on demand: its functions, a handle a device, and descriptors of a call. */
#include "cublaslt.h"

#include <pthread.h>
#include <string.h>

#ifdef WM_HAVE_CUDA
#include <cublasLt.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(sizeof(wm_lt_layout), sizeof(cublasLtMatrixLayoutOpaque_t));
SAME(sizeof(wm_lt_algo), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(wm_lt_desc), sizeof(cublasLtMatmulDescOpaque_t));
SAME(sizeof(wm_lt_preference), sizeof(cublasLtMatmulPreferenceOpaque_t));
SAME(sizeof(wm_lt_result), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(wm_lt_result, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
SAME(WM_LT_OP_N, CUBLAS_OP_N);
SAME(WM_LT_OP_T, CUBLAS_OP_T);
SAME(WM_LT_OP_C, CUBLAS_OP_C);
SAME(WM_LT_32F, CUBLAS_COMPUTE_32F);
SAME(WM_LT_32F_PEDANTIC, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(WM_LT_64F, CUBLAS_COMPUTE_64F);
SAME(WM_LT_32I, CUBLAS_COMPUTE_32I);
SAME(WM_LT_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(WM_LT_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT);
SAME(WM_LT_RELU | WM_LT_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(WM_LT_GELU | WM_LT_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(WM_LT_LAYOUT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(WM_LT_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(WM_LT_LAYOUT_BATCH_MODE, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
SAME(1, CUBLASLT_BATCH_MODE_POINTER_ARRAY);
SAME(1, CUBLASLT_POINTER_MODE_DEVICE);
SAME(WM_LT_DESC_POINTER_MODE, CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(WM_LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(WM_LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(WM_LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(WM_LT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(WM_LT_DESC_MULTIPROCESSORS, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
SAME(WM_LT_DESC_A_SCALE, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(WM_LT_DESC_B_SCALE, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME(WM_LT_DESC_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(WM_LT_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(WM_LT_PREF_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(WM_LT_PREF_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(WM_LT_PREF_ALIGN_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(WM_LT_REDUCE_INPLACE, CUBLASLT_REDUCTION_SCHEME_INPLACE);
SAME(WM_LT_REDUCE_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(WM_LT_REDUCE_OUTPUT_TYPE, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
SAME(WM_LT_CAP_OUT_OF_PLACE, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT);
SAME(WM_LT_CAP_NUMERICS, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);
SAME(WM_LT_CONFIG_TILE, CUBLASLT_ALGO_CONFIG_TILE_ID);
SAME(WM_LT_CONFIG_SPLIT_K, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(WM_LT_CONFIG_REDUCTION, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(WM_LT_CONFIG_SWIZZLE, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
SAME(WM_LT_CONFIG_CUSTOM, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
SAME(WM_LT_CONFIG_STAGES, CUBLASLT_ALGO_CONFIG_STAGES_ID);
SAME(WM_LT_CONFIG_INNER_SHAPE, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
SAME(WM_LT_CONFIG_CLUSTER_SHAPE, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
SAME(WM_LT_TENSOR_CORES, CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK);
SAME(WM_LT_SUMS_16F, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F);
SAME(WM_LT_INPUT_NARROW, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF |
                             CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
SAME(WM_LT_GAUSSIAN >> 32, CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN >> 32);
#endif

static wm_lt_library library;
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_symbols(void) {
    static const wm_symbol rows[] = {
        {"cublasLtGetStatusName",                 (void **)&library.status_name    },
        {"cublasLtCreate",                        (void **)&library.create         },
        {"cublasLtMatrixLayoutInit_internal",     (void **)&library.layout_init    },
        {"cublasLtMatrixLayoutSetAttribute",      (void **)&library.layout_set     },
        {"cublasLtMatmulDescInit_internal",       (void **)&library.desc_init      },
        {"cublasLtMatmulDescSetAttribute",        (void **)&library.desc_set       },
        {"cublasLtMatmulPreferenceInit_internal", (void **)&library.preference_init},
        {"cublasLtMatmulPreferenceSetAttribute",  (void **)&library.preference_set },
        {"cublasLtMatmulAlgoGetHeuristic",        (void **)&library.heuristic      },
        {"cublasLtMatmulAlgoInit",                (void **)&library.algo_init      },
        {"cublasLtMatmulAlgoCheck",               (void **)&library.algo_check     },
        {"cublasLtMatmulAlgoCapGetAttribute",     (void **)&library.capability     },
        {"cublasLtMatmulAlgoConfigGetAttribute",  (void **)&library.config_get     },
        {"cublasLtMatmulAlgoConfigSetAttribute",  (void **)&library.config_set     },
        {"cublasLtMatmul",                        (void **)&library.matmul         },
    };
    missing = wm_library_symbols(WM_LIB_CUBLASLT, rows, sizeof rows / sizeof *rows);
}

const wm_lt_library *wm_lt_library_get(wm_why *why) {
    const char *reason = NULL;
    if (!wm_library_get(WM_LIB_CUBLASLT, &reason)) {
        wm_refuse(why, "%s", reason);
        return NULL;
    }
    pthread_once(&once, find_symbols);
    if (!missing) return &library;
    wm_refuse(why, "this cuBLASLt lacks %s", missing);
    return NULL;
}

/* ---- Devices ---- */

enum { MOST_DEVICES = 64 };

/* The scalars of every scale type, as they lie in the device's memory. */
static const struct constants {
    double f64[2];
    float f32[2];
    int32_t i32[2];
    double zero[2];
} constants = {
    {1, 0},
    {1, 0},
    {1, 0},
    {0, 0}
};

static wm_lt_device devices[MOST_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Not the context's memory: like the handle it belongs to the device and stays. */
static wmStatus send_constants(const wm_gpu *gpu, wm_lt_device *device) {
    void *memory = NULL;
    wmStream stream = NULL;
    WM_TRY(wm_gpu_check(gpu, gpu->alloc(gpu->self, &memory, sizeof constants), "cudaMalloc"));
    wmStatus status = wm_gpu_check(gpu, gpu->stream_create(gpu->self, &stream), "cudaStreamCreate");
    if (status == WM_OK)
        status =
            wm_gpu_check(gpu, gpu->copy(gpu->self, memory, &constants, sizeof constants, stream), "cudaMemcpyAsync");
    if (status == WM_OK) status = wm_gpu_check(gpu, gpu->stream_wait(gpu->self, stream), "cudaStreamSynchronize");
    if (stream) gpu->stream_destroy(gpu->self, stream);
    if (status == WM_OK) {
        device->constants = memory;
    } else {
        gpu->free(gpu->self, memory);
    }
    return status;
}

static int open_device(wmContext *context, wm_lt_device *device, wm_why *why) {
    const wm_lt_library *lt = wm_lt_library_get(why);
    if (!lt) return 0;
    int status = device->handle ? 0 : lt->create(&device->handle);
    if (status) {
        device->handle = NULL;
        return wm_refuse(why, "cublasLtCreate: %s", lt->status_name(status));
    }
    if (!device->constants && send_constants(wm_context_gpu(context), device) != WM_OK)
        return wm_refuse(why, "%s", wmLastError());
    return 1;
}

const wm_lt_device *wm_lt_device_get(wmContext *context, wm_why *why) {
    int ordinal = wm_context_device(context)->ordinal;
    if (ordinal < 0 || ordinal >= MOST_DEVICES) {
        wm_refuse(why, "device %d; cuBLASLt is used on the first %d", ordinal, MOST_DEVICES);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    int good = open_device(context, &devices[ordinal], why);
    pthread_mutex_unlock(&lock);
    return good ? &devices[ordinal] : NULL;
}

const void *wm_lt_constant(const wm_lt_device *device, wmType scale, int one) {
    if (!one) return device->constants + offsetof(struct constants, zero);
    if (scale == WM_I32) return device->constants + offsetof(struct constants, i32);
    if (scale == WM_F64 || scale == WM_C128) return device->constants + offsetof(struct constants, f64);
    return device->constants + offsetof(struct constants, f32);
}

/* ---- Descriptors ---- */

static int describe_matrix(const wm_lt_library *lt, const wm_lt_call *call, const wm_lt_matrix *x, wm_lt_layout *out) {
    int status = lt->layout_init(out, sizeof *out, x->type, (uint64_t)x->rows, (uint64_t)x->cols, x->ld);
    uint32_t by_pointers = 1;
    if (status || (call->batch == 1 && !call->pointers)) return status;
    status = lt->layout_set(out, WM_LT_LAYOUT_BATCH, &call->batch, sizeof call->batch);
    if (status) return status;
    if (call->pointers) return lt->layout_set(out, WM_LT_LAYOUT_BATCH_MODE, &by_pointers, sizeof by_pointers);
    return lt->layout_set(out, WM_LT_LAYOUT_STRIDE, &x->batch_stride, sizeof x->batch_stride);
}

static int set_address(const wm_lt_library *lt, wm_lt_desc *desc, int attribute) {
    const void *address = (const void *)((uintptr_t)4096 + WM_LT_VECTOR_ALIGN);
    return lt->desc_set(desc, attribute, &address, sizeof address);
}

static int describe_product(const wm_lt_library *lt, const wm_lt_call *call, wm_lt_desc *out) {
    int32_t transa = call->a.op, transb = call->b.op, bias_type = call->bias_type;
    uint32_t epilogue = (uint32_t)call->epilogue;
    int status = lt->desc_init(out, sizeof *out, call->compute, call->scale);
    if (!status) status = lt->desc_set(out, WM_LT_DESC_TRANSA, &transa, sizeof transa);
    if (!status) status = lt->desc_set(out, WM_LT_DESC_TRANSB, &transb, sizeof transb);
    if (!status) status = lt->desc_set(out, WM_LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!status && bias_type >= 0) {
        status = lt->desc_set(out, WM_LT_DESC_BIAS_TYPE, &bias_type, sizeof bias_type);
        if (!status) status = set_address(lt, out, WM_LT_DESC_BIAS_POINTER);
    }
    int32_t most = call->multiprocessors;
    if (!status && most) status = lt->desc_set(out, WM_LT_DESC_MULTIPROCESSORS, &most, sizeof most);
    if (!status && call->a_scale) status = set_address(lt, out, WM_LT_DESC_A_SCALE);
    if (!status && call->b_scale) status = set_address(lt, out, WM_LT_DESC_B_SCALE);
    return status;
}

int wm_lt_describe(const wm_lt_library *lt, const wm_lt_call *call, wm_lt_descriptors *out) {
    int status = describe_product(lt, call, &out->desc);
    if (!status) status = describe_matrix(lt, call, &call->a, &out->a);
    if (!status) status = describe_matrix(lt, call, &call->b, &out->b);
    if (!status) status = describe_matrix(lt, call, &call->c, &out->c);
    if (!status) status = describe_matrix(lt, call, &call->d, &out->d);
    return status;
}
