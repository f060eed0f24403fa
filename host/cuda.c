/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table over the CUDA runtime, which is linked statically and finds the driver when it is first called. No
 * call is made when the library is loaded.
 */
#include "lib/chip.h"
#include "lib/gpu.h"
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What may not happen while some stream of the process is captured in global mode (allocation, waiting) is harmless in
 * relaxed mode: our streams are never part of a caller's capture. Without this a capture elsewhere would be spoilt.
 */
static enum cudaStreamCaptureMode relax(void) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static int restore(enum cudaStreamCaptureMode mode, cudaError_t error) {
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    return (int)error;
}

/* ---- Devices ---- */

static int device_count(void *self, int *count) {
    (void)self;
    return (int)cudaGetDeviceCount(count);
}

static int attribute(enum cudaDeviceAttr attr, int ordinal, int *out) {
    return (int)cudaDeviceGetAttribute(out, attr, ordinal);
}

static int device_facts(void *self, int ordinal, wm_device *out) {
    (void)self;
    struct cudaDeviceProp prop;
    int major = 0, minor = 0, l2 = 0, shared = 0, memory_khz = 0, bus_bits = 0;
    int error = (int)cudaGetDeviceProperties(&prop, ordinal);
    memset(out, 0, sizeof *out);
    if (!error) error = attribute(cudaDevAttrComputeCapabilityMajor, ordinal, &major);
    if (!error) error = attribute(cudaDevAttrComputeCapabilityMinor, ordinal, &minor);
    if (!error) error = attribute(cudaDevAttrMultiProcessorCount, ordinal, &out->multiprocessors);
    if (!error) error = attribute(cudaDevAttrClockRate, ordinal, &out->clock_khz);
    if (!error) error = attribute(cudaDevAttrL2CacheSize, ordinal, &l2);
    if (!error) error = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal, &shared);
    if (!error) error = attribute(cudaDevAttrMemoryClockRate, ordinal, &memory_khz);
    if (!error) error = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal, &bus_bits);
    if (!error) error = (int)cudaDriverGetVersion(&out->driver_version);
    if (error) return error;
    snprintf(out->name, sizeof out->name, "%.63s", prop.name);
    out->ordinal = ordinal;
    out->sm = 10 * major + minor;
    out->l2_bytes = l2;
    out->shared_bytes = shared;
    out->memory_bytes = (int64_t)prop.totalGlobalMem;
    out->bandwidth = 2.0 * 1e3 * memory_khz * bus_bits / 8; /* two transfers a clock */
    out->runtime_version = CUDART_VERSION;
    return 0;
}

void wm_cuda_bus(int ordinal, char *out, int room) {
    if (cudaDeviceGetPCIBusId(out, room, ordinal) == cudaSuccess) return;
    (void)cudaGetLastError();
    out[0] = '\0';
}

static int get_device(void *self, int *ordinal) {
    (void)self;
    return (int)cudaGetDevice(ordinal);
}

static int set_device(void *self, int ordinal) {
    (void)self;
    return (int)cudaSetDevice(ordinal);
}

/* ---- Memory ---- */

static int gpu_alloc(void *self, void **out, size_t bytes) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaMalloc(out, bytes));
}

static int gpu_free(void *self, void *pointer) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaFree(pointer));
}

static int gpu_copy(void *self, void *to, const void *from, size_t bytes, wmStream stream) {
    (void)self;
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

static int gpu_set(void *self, void *to, int byte, size_t bytes, wmStream stream) {
    (void)self;
    return (int)cudaMemsetAsync(to, byte, bytes, stream);
}

static int reachable(void *self, const void *pointer, int ordinal, int *yes) {
    (void)self;
    struct cudaPointerAttributes attributes;
    *yes = 0;
    cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
    if (error != cudaSuccess) return (int)error;
    switch (attributes.type) {
    case cudaMemoryTypeHost:
    case cudaMemoryTypeManaged:
        *yes = 1;
        return 0;
    case cudaMemoryTypeDevice:
        *yes = attributes.device == ordinal;
        return *yes ? 0 : (int)cudaDeviceCanAccessPeer(yes, ordinal, attributes.device);
    default: /* plain host memory: some systems reach all of it */
        return attribute(cudaDevAttrPageableMemoryAccess, ordinal, yes);
    }
}

static int device_wait(void *self) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaDeviceSynchronize());
}

/* ---- Streams and events ---- */

static int stream_create(void *self, wmStream *out) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaStreamCreateWithFlags(out, cudaStreamNonBlocking));
}

static int stream_create_ranked(void *self, int priority, wmStream *out) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaStreamCreateWithPriority(out, cudaStreamNonBlocking, priority));
}

static int stream_destroy(void *self, wmStream stream) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaStreamDestroy(stream));
}

static int stream_wait(void *self, wmStream stream) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaStreamSynchronize(stream));
}

static int stream_capturing(void *self, wmStream stream, int *yes) {
    (void)self;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing(stream, &status);
    *yes = status != cudaStreamCaptureStatusNone;
    /* The legacy stream, while a stream that synchronises with it captures: work there would spoil that capture. */
    if (error == cudaErrorStreamCaptureImplicit) *yes = 1;
    return error == cudaErrorStreamCaptureImplicit ? 0 : (int)error;
}

static int stream_id(void *self, wmStream stream, uint64_t *id) {
    (void)self;
    unsigned long long number = 0;
    cudaError_t error = cudaStreamGetId(stream, &number);
    *id = number;
    return (int)error;
}

static int event_create(void *self, wm_event *out) {
    (void)self;
    cudaEvent_t event = NULL;
    cudaError_t error = cudaEventCreate(&event);
    *out = event;
    return (int)error;
}

static int event_destroy(void *self, wm_event event) {
    (void)self;
    return (int)cudaEventDestroy((cudaEvent_t)event);
}

static int event_record(void *self, wm_event event, wmStream stream) {
    (void)self;
    return (int)cudaEventRecord((cudaEvent_t)event, stream);
}

static int event_wait(void *self, wm_event event) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaEventSynchronize((cudaEvent_t)event));
}

static int event_seconds(void *self, wm_event from, wm_event to, double *seconds) {
    (void)self;
    float milliseconds = 0;
    cudaError_t error = cudaEventElapsedTime(&milliseconds, (cudaEvent_t)from, (cudaEvent_t)to);
    *seconds = 1e-3 * (double)milliseconds;
    return (int)error;
}

/* ---- Kernels ---- */

static int prepare(void *self, const void *kernel, size_t shared) {
    (void)self;
    struct cudaFuncAttributes attributes;
    enum cudaStreamCaptureMode mode = relax();
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); /* loads it: modules are lazy by default */
    if (error == cudaSuccess && shared > (size_t)attributes.maxDynamicSharedSizeBytes) {
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    }
    if (error == cudaSuccess && attributes.binaryVersion >= 90) {
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    return restore(mode, error);
}

static int occupancy(void *self, const void *kernel, int threads, size_t shared, int *blocks_per_multiprocessor) {
    (void)self;
    return (int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks_per_multiprocessor, kernel, threads, shared);
}

static int launch(void *self, const wm_launch *l, wmStream stream) {
    (void)self;
    cudaLaunchAttribute cluster = {.id = cudaLaunchAttributeClusterDimension};
    cluster.val.clusterDim.x = l->cluster.x;
    cluster.val.clusterDim.y = l->cluster.y;
    cluster.val.clusterDim.z = l->cluster.z;
    const cudaLaunchConfig_t config = {
        .gridDim = {l->grid.x,  l->grid.y,  l->grid.z },
        .blockDim = {l->block.x, l->block.y, l->block.z},
        .dynamicSmemBytes = l->shared,
        .stream = stream,
        .attrs = &cluster,
        .numAttrs = l->cluster.x ? 1 : 0,
    };
    void *args[] = {(void *)l->params};
    return (int)cudaLaunchKernelExC(&config, l->kernel, args);
}

/* ---- Compiled modules ---- */

static int module_load(void *self, const void *code, size_t bytes, const char *name, void **module,
                       const void **kernel) {
    (void)self;
    (void)bytes; /* a cubin tells its own size */
    cudaLibrary_t library = NULL;
    cudaKernel_t found = NULL;
    enum cudaStreamCaptureMode mode = relax();
    cudaError_t error = cudaFree(NULL); /* a process' first call of CUDA may be this one */
    if (error == cudaSuccess) error = cudaLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0);
    if (error == cudaSuccess) error = cudaLibraryGetKernel(&found, library, name);
    if (error != cudaSuccess && library) (void)cudaLibraryUnload(library);
    *module = error == cudaSuccess ? library : NULL;
    *kernel = error == cudaSuccess ? (const void *)found : NULL;
    return restore(mode, error);
}

static int module_unload(void *self, void *module) {
    (void)self;
    enum cudaStreamCaptureMode mode = relax();
    return restore(mode, cudaLibraryUnload((cudaLibrary_t)module));
}

/* ---- Tensor maps ---- */

/* Only the driver makes them, and it is loaded, not linked: the runtime finds the function. */
typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                    const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                    CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static pthread_once_t encode_once = PTHREAD_ONCE_INIT;
static encode_function encode;

static void look_for_encode(void) {
    /* The encoder wants an initialised driver, and asking for a map may be this process' first call of CUDA. */
    enum cudaStreamCaptureMode mode = relax();
    if (restore(mode, cudaFree(NULL)) != 0) return;
    enum cudaDriverEntryPointQueryResult result;
    void *found = NULL;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) !=
            cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
        return;
    memcpy(&encode, &found, sizeof encode);
}

/*
 * Drivers before 13.2 set a bit of the map (of its out-of-bounds addressing) wrongly for tensors under 128 KiB; Hopper
 * ignores that bit, and only kernels for Hopper ask for maps so far.
 */
static int tensor_map(void *self, const wm_tensor *t, void *map) {
    (void)self;
    pthread_once(&encode_once, look_for_encode);
    if (!encode) return (int)cudaErrorNotSupported;
    const cuuint64_t size = wmTypeSize(t->type);
    const CUtensorMapDataType type = size == 1            ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                     : t->type == WM_F32  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                     : t->type == WM_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                          : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    const cuuint64_t dim[3] = {(cuuint64_t)t->dim[0], (cuuint64_t)t->dim[1], (cuuint64_t)t->dim[2]};
    const cuuint64_t stride[2] = {(cuuint64_t)t->stride[0] * size, (cuuint64_t)t->stride[1] * size};
    const cuuint32_t box[3] = {(cuuint32_t)t->box[0], (cuuint32_t)t->box[1], 1}, each[3] = {1, 1, 1};
    const CUtensorMapSwizzle swizzle = box[0] * size == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
    CUresult result = CUDA_SUCCESS;
    for (int attempt = 0; attempt < 2; attempt++) {
        result = encode((CUtensorMap *)map, type, 3, (void *)(uintptr_t)t->base, dim, stride, box, each,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        /* On a thread that never called CUDA no context is current: the second attempt has one. */
        int device = 0;
        if (result != CUDA_ERROR_INVALID_CONTEXT || cudaGetDevice(&device) != cudaSuccess) break;
        if (cudaSetDevice(device) != cudaSuccess) break;
    }
    return (int)result; /* the driver's numbers are the runtime's */
}

/* ---- Graphs ---- */

static int capture_begin(void *self, wmStream stream) {
    (void)self;
    return (int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
}

static int capture_end(void *self, wmStream stream, wmGraph *out) {
    (void)self;
    return (int)cudaStreamEndCapture(stream, out);
}

static int graph_instantiate(void *self, wmGraph graph, void **exec) {
    (void)self;
    cudaGraphExec_t made = NULL;
    cudaError_t error = cudaGraphInstantiate(&made, graph, 0);
    *exec = made;
    return (int)error;
}

static int graph_launch(void *self, void *exec, wmStream stream) {
    (void)self;
    return (int)cudaGraphLaunch((cudaGraphExec_t)exec, stream);
}

static int graph_destroy(void *self, wmGraph graph, void *exec) {
    (void)self;
    cudaError_t error = exec ? cudaGraphExecDestroy((cudaGraphExec_t)exec) : cudaSuccess;
    cudaError_t other = graph ? cudaGraphDestroy(graph) : cudaSuccess;
    return (int)(error != cudaSuccess ? error : other);
}

/* What a graph holds. CUDA calls let_go whenever its object ends, also one that no graph ever took. */
typedef struct held {
    void *object;
    void (*release)(void *object); /* NULL: the graph never took it */
} held;

static void CUDART_CB let_go(void *data) {
    held *h = (held *)data;
    if (h->release) h->release(h->object);
    free(h);
}

static int graph_retain(void *self, wmGraph graph, void *object, void (*release)(void *object)) {
    (void)self;
    cudaUserObject_t user = NULL;
    held *h = (held *)malloc(sizeof *h);
    if (!h) return (int)cudaErrorMemoryAllocation;
    *h = (held){object, release};
    cudaError_t error = cudaUserObjectCreate(&user, h, let_go, 1, cudaUserObjectNoDestructorSync);
    if (error != cudaSuccess) {
        free(h);
        return (int)error;
    }
    error = cudaGraphRetainUserObject(graph, user, 1, cudaGraphUserObjectMove);
    if (error != cudaSuccess) {
        h->release = NULL;
        (void)cudaUserObjectRelease(user, 1);
    }
    return (int)error;
}

/* ---- Errors ---- */

static int peek_error(void *self) {
    (void)self;
    return (int)cudaPeekAtLastError();
}

static int clear_error(void *self) {
    (void)self;
    return (int)cudaGetLastError();
}

static const char *error_name(void *self, int error) {
    (void)self;
    return cudaGetErrorName((cudaError_t)error);
}

static int error_is_sticky(void *self, int error) {
    (void)self;
    switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return 1;
    default:
        return 0;
    }
}

static const wm_gpu table = {
    .device_count = device_count,
    .device_facts = device_facts,
    .get_device = get_device,
    .set_device = set_device,
    .alloc = gpu_alloc,
    .free = gpu_free,
    .copy = gpu_copy,
    .set = gpu_set,
    .reachable = reachable,
    .device_wait = device_wait,
    .stream_create = stream_create,
    .stream_create_ranked = stream_create_ranked,
    .stream_destroy = stream_destroy,
    .stream_wait = stream_wait,
    .stream_capturing = stream_capturing,
    .stream_id = stream_id,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_seconds = event_seconds,
    .module_load = module_load,
    .module_unload = module_unload,
    .prepare = prepare,
    .occupancy = occupancy,
    .launch = launch,
    .tensor_map = tensor_map,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_instantiate = graph_instantiate,
    .graph_launch = graph_launch,
    .graph_destroy = graph_destroy,
    .graph_retain = graph_retain,
    .peek_error = peek_error,
    .clear_error = clear_error,
    .error_name = error_name,
    .error_is_sticky = error_is_sticky,
};

/* ---- Is there a driver? ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char absent[160];

/* The driver's library first: without it the runtime calls the driver "insufficient", which misleads. */
static void look_for_driver(void) {
    const int needed = CUDART_VERSION / 1000 * 1000; /* any driver of the same major version will do */
    int version = 0;
    if (!dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        snprintf(absent, sizeof absent, "no NVIDIA driver is installed (libcuda.so.1 does not load)");
    } else if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
        snprintf(absent, sizeof absent, "libcuda.so.1 is there, but no NVIDIA driver answers");
        (void)cudaGetLastError();
    } else if (version < needed) {
        snprintf(absent, sizeof absent, "the NVIDIA driver supports CUDA %d.%d, and this warpmath needs %d.0",
                 version / 1000, version % 1000 / 10, needed / 1000);
    }
}

const wm_gpu *wm_gpu_cuda(const char **why) {
    pthread_once(&once, look_for_driver);
    *why = absent;
    return absent[0] ? NULL : &table;
}
