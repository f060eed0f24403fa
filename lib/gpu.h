/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU behind one table of functions. `lib/`, `host/` and the kernels' launchers reach a device through this struct
 * and nothing else. host/cuda.c fills it from the CUDA runtime; tests fill it with a fake device (guarded host pages,
 * the n-th call failing) or with the thread emulation of tests/simt, which runs the real kernels.
 *
 * Every function returns a cudaError_t as int, 0 = success; `self` is the table's own first field. A failing function
 * may leave its error pending, as the CUDA runtime does: the public functions take it away again (lib/gpu_guard.h), and
 * leave alone what was pending before.
 */
#ifndef WM_LIB_GPU_H
#define WM_LIB_GPU_H

#include <warpmath/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What planning needs to know of a device. */
typedef struct wm_device {
    char name[64];
    int ordinal;
    int sm; /* 90 for compute capability 9.0 */
    int multiprocessors;
    int clock_khz;
    int64_t l2_bytes;
    int64_t shared_bytes; /* most dynamic shared memory of a block, opt-in limit */
    int64_t memory_bytes;
    double bandwidth;   /* bytes a second, theoretical */
    int driver_version; /* 13000 = 13.0: the CUDA version that the driver supports */
    int runtime_version;
} wm_device;

typedef struct wm_dim3 {
    unsigned x, y, z;
} wm_dim3;

/**
 * One kernel launch. Every kernel takes exactly one parameter, a struct by value (`const __grid_constant__ T`), so that
 * a launch is data: `params` points to that struct, of `params_bytes` bytes, and is read before launch() returns.
 */
typedef struct wm_launch {
    const void *kernel; /* the host-side symbol of a __global__ function */
    wm_dim3 grid, block;
    wm_dim3 cluster; /* {0,0,0}: no cluster */
    size_t shared;   /* bytes of dynamic shared memory */
    const void *params;
    size_t params_bytes; /* sizeof the struct: whoever defers the launch copies it */
} wm_launch;

/**
 * A batch of matrices as the bulk copy engine (sm_90 and newer) sees them, and the box that one copy moves. Element
 * (x, y, z) is at base + x + y · stride[0] + z · stride[1]. In shared memory a box is swizzled over its rows
 * (warpmath/device/tma.cuh), so box[0] elements are 128 or 64 bytes.
 */
typedef struct wm_tensor {
    const void *base; /* a multiple of 16 bytes, as are the strides */
    wmType type;      /* WM_F16, WM_BF16, WM_F32, or one of 8 bits */
    int64_t dim[3], stride[2];
    int box[2];
} wm_tensor;

typedef void *wm_event; /* a cudaEvent_t */

typedef struct wm_gpu {
    void *self;

    int (*device_count)(void *self, int *count);
    int (*device_facts)(void *self, int ordinal, wm_device *out);
    int (*get_device)(void *self, int *ordinal);
    int (*set_device)(void *self, int ordinal);

    int (*alloc)(void *self, void **out, size_t bytes);
    int (*free)(void *self, void *pointer); /* waits for work that uses it */
    int (*copy)(void *self, void *to, const void *from, size_t bytes, wmStream stream); /* any direction, enqueued */
    int (*set)(void *self, void *to, int byte, size_t bytes, wmStream stream);
    int (*reachable)(void *self, const void *pointer, int ordinal, int *yes);
    int (*device_wait)(void *self); /* until all work of the current device has ended; fails while a stream captures */

    int (*stream_create)(void *self, wmStream *out); /* non-blocking */
    /* The same of a priority, as near as the device has it: lower numbers go first. */
    int (*stream_create_ranked)(void *self, int priority, wmStream *out);
    int (*stream_destroy)(void *self, wmStream stream);
    int (*stream_wait)(void *self, wmStream stream); /* until its work has ended */
    int (*stream_capturing)(void *self, wmStream stream, int *yes);
    /* A number no other stream of this process ever has: handles come back, and the per-thread stream shares one. */
    int (*stream_id)(void *self, wmStream stream, uint64_t *id);

    int (*event_create)(void *self, wm_event *out);
    int (*event_destroy)(void *self, wm_event event);
    int (*event_record)(void *self, wm_event event, wmStream stream);
    int (*event_wait)(void *self, wm_event event);
    int (*event_seconds)(void *self, wm_event from, wm_event to, double *seconds);

    /* Loads compiled code (a cubin) for the current device and finds its kernel, which launch() and the two functions
     * below take like any other. Unloading waits for nothing: the caller knows that no work of it is left. */
    int (*module_load)(void *self, const void *code, size_t bytes, const char *name, void **module,
                       const void **kernel);
    int (*module_unload)(void *self, void *module);

    /* Loads the kernel and raises its limit of dynamic shared memory, so that launch() does neither. */
    int (*prepare)(void *self, const void *kernel, size_t shared);
    int (*occupancy)(void *self, const void *kernel, int threads, size_t shared, int *blocks_per_multiprocessor);
    int (*launch)(void *self, const wm_launch *launch, wmStream stream);
    /* Fills the 128 bytes at `map`, a multiple of 64, for use in a kernel's parameter. Touches no device, so it may be
     * called at execution and during a capture. Error 801 (not supported): the driver or the device has no maps. */
    int (*tensor_map)(void *self, const wm_tensor *tensor, void *map);

    int (*capture_begin)(void *self, wmStream stream); /* thread-local mode */
    int (*capture_end)(void *self, wmStream stream, wmGraph *out);
    int (*graph_instantiate)(void *self, wmGraph graph, void **exec);
    int (*graph_launch)(void *self, void *exec, wmStream stream);
    int (*graph_destroy)(void *self, wmGraph graph, void *exec); /* either may be NULL */
    int (*graph_retain)(void *self, wmGraph graph, void *object, void (*release)(void *object));

    int (*peek_error)(void *self);  /* the caller's pending error, left in place */
    int (*clear_error)(void *self); /* takes and forgets the pending error */
    const char *(*error_name)(void *self, int error);
    int (*error_is_sticky)(void *self, int error); /* 1: the process' context is lost */
} wm_gpu;

/** The CUDA runtime's table; NULL with a sentence in *why where there is no driver or the library was built without
 * CUDA. */
const wm_gpu *wm_gpu_cuda(const char **why);

#ifdef __cplusplus
}
#endif

#endif
