/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device's table of functions, and what tests ask of it. Streams and graphs are in fake_queue.c. */
#include "fake_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in CUDA, the pending error and the current device are the thread's. */
static __thread int pending, current;

/* ---- Every call ---- */

static const int sticky_errors[] = {WM_FAKE_ILLEGAL_ADDRESS, 709, 710, 714, 715, 716, 717, 718, WM_FAKE_LAUNCH_FAILURE};

static int is_sticky(void *self, int error) {
    (void)self;
    for (size_t i = 0; i < sizeof sticky_errors / sizeof *sticky_errors; i++)
        if (sticky_errors[i] == error) return 1;
    return 0;
}

/* Starts a call that can fail; holds the lock until wm_fake_leave(). Returns the error that was scripted, or
 * poisons the device. */
int wm_fake_enter(wm_fake *fake) {
    pthread_mutex_lock(&fake->lock);
    fake->calls++;
    if (fake->releasing) wm_fault("a call to the device from a graph's release function, where CUDA forbids it");
    if (fake->fail_in > 0 && --fake->fail_in == 0) {
        fake->failed = 1;
        if (is_sticky(NULL, fake->fail_error)) fake->sticky = fake->fail_error;
        return fake->fail_error;
    }
    return fake->sticky;
}

int wm_fake_leave(wm_fake *fake, int error) {
    if (error && error != WM_FAKE_NOT_READY) pending = error;
    pthread_mutex_unlock(&fake->lock);
    return error;
}

/* A call that CUDA forbids to a thread that captures: it fails, and the capture is spoilt. */
int wm_fake_forbid_capture(wm_fake *fake) {
    if (!wm_fake_thread_captures(fake, NULL)) return 0;
    wm_fake_spoil_captures(fake);
    return WM_FAKE_CAPTURE_UNSUPPORTED;
}

int wm_fake_enter_uncaptured(wm_fake *fake) {
    int error = wm_fake_enter(fake);
    return error ? error : wm_fake_forbid_capture(fake);
}

/* ---- Devices ---- */

static int device_count(void *self, int *count) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    *count = error ? 0 : fake->devices;
    return wm_fake_leave(fake, error);
}

static int device_facts(void *self, int ordinal, wm_device *out) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    if (!error && (ordinal < 0 || ordinal >= fake->devices)) error = WM_FAKE_INVALID_DEVICE;
    if (!error) *out = fake->device[ordinal];
    return wm_fake_leave(fake, error);
}

static int get_device(void *self, int *ordinal) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    if (!error) *ordinal = current;
    return wm_fake_leave(fake, error);
}

static int set_device(void *self, int ordinal) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    if (!error && (ordinal < 0 || ordinal >= fake->devices)) error = WM_FAKE_INVALID_DEVICE;
    if (!error) current = ordinal;
    return wm_fake_leave(fake, error);
}

/* ---- Memory ---- */

static int add_allocation(wm_fake *fake, void *pointer, size_t bytes) {
    wm_fake_allocation *a = pointer ? malloc(sizeof *a) : NULL;
    if (!a) return WM_FAKE_OUT_OF_MEMORY;
    a->pointer = pointer;
    a->bytes = bytes;
    a->device = current;
    a->next = fake->allocations;
    fake->allocations = a;
    return 0;
}

size_t wm_fake_bytes_in_use(const wm_fake *fake) {
    size_t bytes = 0;
    for (const wm_fake_allocation *a = fake->allocations; a; a = a->next) bytes += a->bytes;
    return bytes;
}

static int alloc(void *self, void **out, size_t bytes) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    *out = NULL;
    if (!error && bytes > (size_t)fake->device[0].memory_bytes - wm_fake_bytes_in_use(fake))
        error = WM_FAKE_OUT_OF_MEMORY;
    if (!error && bytes) {
        void *pointer = wm_area_new(bytes);
        error = add_allocation(fake, pointer, bytes);
        if (!error)
            *out = pointer;
        else if (pointer)
            wm_area_end(pointer);
    }
    return wm_fake_leave(fake, error);
}

static int free_memory(void *self, void *pointer) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    if (!pointer) return wm_fake_leave(fake, error);
    wm_fake_drain_all(fake);
    wm_fake_allocation **link = &fake->allocations;
    while (*link && (*link)->pointer != pointer) link = &(*link)->next;
    wm_fake_allocation *found = *link;
    if (wm_area_end(pointer) && !error) error = WM_FAKE_INVALID_VALUE;
    if (found) {
        *link = found->next;
        free(found);
    }
    return wm_fake_leave(fake, error ? error : fake->sticky);
}

int wm_fake_enqueue_on(wm_fake *fake, int error, wmStream stream, const wm_op *op) {
    wm_fake_stream *s = wm_fake_stream_of(fake, stream);
    if (!error && !s) error = WM_FAKE_INVALID_HANDLE;
    if (!error && s->invalidated) error = WM_FAKE_CAPTURE_INVALIDATED;
    if (!error) error = wm_fake_enqueue(fake, s, op);
    return wm_fake_leave(fake, error);
}

static int copy(void *self, void *to, const void *from, size_t bytes, wmStream stream) {
    wm_fake *fake = self;
    wm_op op = {.kind = WM_OP_COPY, .to = to, .from = from, .bytes = bytes};
    int error = wm_fake_enter(fake);
    if (!bytes) return wm_fake_leave(fake, error);
    if (!error && (!to || !from)) error = WM_FAKE_INVALID_VALUE;
    if (!error && !(wm_area_check("copy to", to, bytes) & wm_area_check("copy from", from, bytes)))
        error = WM_FAKE_INVALID_VALUE;
    return wm_fake_enqueue_on(fake, error, stream, &op);
}

static int set(void *self, void *to, int byte, size_t bytes, wmStream stream) {
    wm_fake *fake = self;
    wm_op op = {.kind = WM_OP_SET, .to = to, .byte = byte, .bytes = bytes};
    int error = wm_fake_enter(fake);
    if (!bytes) return wm_fake_leave(fake, error);
    if (!error && (!wm_area_device(to) || !wm_area_check("set", to, bytes))) error = WM_FAKE_INVALID_VALUE;
    return wm_fake_enqueue_on(fake, error, stream, &op);
}

static int reachable(void *self, const void *pointer, int ordinal, int *yes) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    const unsigned char *p = pointer;
    *yes = 0;
    if (!error && !wm_area_device(pointer)) *yes = fake->pageable;
    for (const wm_fake_allocation *a = error ? NULL : fake->allocations; a; a = a->next) {
        const unsigned char *base = a->pointer;
        if (p >= base && p < base + a->bytes && a->device == ordinal) *yes = 1;
    }
    return wm_fake_leave(fake, error);
}

static int device_wait(void *self) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    for (wm_fake_stream *s = fake->streams; s && !error; s = s->next)
        if (s->capture || s->pretended) error = WM_FAKE_CAPTURE_UNSUPPORTED;
    if (!error) error = wm_fake_drain_all(fake);
    return wm_fake_leave(fake, error);
}

/* ---- Compiled modules: any code is one, of one kernel that does nothing ---- */

static int module_load(void *self, const void *code, size_t bytes, const char *name, void **module,
                       const void **kernel) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    *module = NULL;
    *kernel = NULL;
    if (!error && (!code || !bytes || !name)) error = WM_FAKE_INVALID_VALUE;
    if (!error && fake->no_modules) error = WM_FAKE_NOT_SUPPORTED;
    if (!error && !(*module = malloc(1))) error = WM_FAKE_OUT_OF_MEMORY;
    if (!error) fake->modules++;
    *kernel = *module;
    return wm_fake_leave(fake, error);
}

static int module_unload(void *self, void *module) {
    wm_fake *fake = self;
    int error = wm_fake_enter_uncaptured(fake);
    for (int i = 0; i < fake->prepared_count; i++)
        if (fake->prepared[i].kernel == module) fake->prepared[i--] = fake->prepared[--fake->prepared_count];
    fake->modules--;
    free(module);
    return wm_fake_leave(fake, error);
}

/* ---- Kernels ---- */

static const size_t *prepared_for(const wm_fake *fake, const void *kernel) {
    for (int i = 0; i < fake->prepared_count; i++)
        if (fake->prepared[i].kernel == kernel) return &fake->prepared[i].shared;
    return NULL;
}

static int prepare(void *self, const void *kernel, size_t shared) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    size_t *known = (size_t *)(uintptr_t)prepared_for(fake, kernel);
    if (!error && (!kernel || shared > (size_t)fake->device[current].shared_bytes)) error = WM_FAKE_INVALID_VALUE;
    if (!error && !known) error = wm_fake_forbid_capture(fake); /* loading a kernel is no work of a graph */
    if (!error && !known && fake->prepared_count == WM_FAKE_KERNELS) error = WM_FAKE_OUT_OF_MEMORY;
    if (!error && !known) {
        fake->prepared[fake->prepared_count].kernel = kernel;
        fake->prepared[fake->prepared_count++].shared = shared;
    } else if (!error && shared > *known) {
        *known = shared;
    }
    return wm_fake_leave(fake, error);
}

static int occupancy(void *self, const void *kernel, int threads, size_t shared, int *blocks) {
    wm_fake *fake = self;
    int error = wm_fake_enter(fake);
    size_t per_block = shared + 1024, all = (size_t)fake->device[current].shared_bytes + 1024;
    *blocks = 0;
    if (!error && (!kernel || threads < 1 || threads > 1024)) error = WM_FAKE_INVALID_VALUE;
    if (!error)
        *blocks = (int)(all / per_block < (size_t)(2048 / threads) ? all / per_block : (size_t)(2048 / threads));
    if (*blocks > 32) *blocks = 32;
    return wm_fake_leave(fake, error);
}

static int fits(wm_dim3 d, unsigned x, unsigned y, unsigned z) {
    return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= x && d.y <= y && d.z <= z;
}

/* What the runtime looks at before it takes a launch. */
static int launch_error(wm_fake *fake, const wm_launch *l) {
    const size_t *prepared = prepared_for(fake, l->kernel);
    size_t limit = prepared && *prepared > 48 * 1024 ? *prepared : 48 * 1024;
    if (!l->kernel) return 98; /* invalid device function */
    if (!l->params != !l->params_bytes) {
        wm_fault("launch: params is %p and params_bytes is %zu", l->params, l->params_bytes);
        return WM_FAKE_INVALID_VALUE;
    }
    if (l->shared > limit) return WM_FAKE_INVALID_VALUE;
    if (!fits(l->grid, 0x7fffffff, 65535, 65535) || !fits(l->block, 1024, 1024, 64))
        return WM_FAKE_INVALID_CONFIGURATION;
    if ((uint64_t)l->block.x * l->block.y * l->block.z > 1024) return WM_FAKE_INVALID_CONFIGURATION;
    if (l->cluster.x || l->cluster.y || l->cluster.z) {
        if (!fits(l->cluster, 16, 16, 16) || l->cluster.x * l->cluster.y * l->cluster.z > 16 ||
            l->grid.x % l->cluster.x || l->grid.y % l->cluster.y || l->grid.z % l->cluster.z)
            return WM_FAKE_INVALID_CONFIGURATION;
    }
    return prepared ? 0 : wm_fake_forbid_capture(fake); /* else it is loaded now */
}

static int launch(void *self, const wm_launch *l, wmStream stream) {
    wm_fake *fake = self;
    wm_op op = {.kind = WM_OP_LAUNCH, .launch = *l};
    int error = wm_fake_enter(fake);
    if (!error) error = launch_error(fake, l);
    return wm_fake_enqueue_on(fake, error, stream, &op);
}

/* The fake has no copy engine of its own. */
static int tensor_map(void *self, const wm_tensor *tensor, void *map) {
    const wm_fake *fake = self;
    return fake->map ? fake->map(tensor, map) : WM_FAKE_NOT_SUPPORTED;
}

/* ---- Errors ---- */

static int peek_error(void *self) {
    wm_fake *fake = self;
    pthread_mutex_lock(&fake->lock);
    int error = fake->sticky ? fake->sticky : pending;
    pthread_mutex_unlock(&fake->lock);
    return error;
}

static int clear_error(void *self) {
    int error = peek_error(self);
    pending = 0;
    return error;
}

static const char *error_name(void *self, int error) {
    (void)self;
    switch (error) {
    case 0:
        return "cudaSuccess";
    case WM_FAKE_INVALID_VALUE:
        return "cudaErrorInvalidValue";
    case WM_FAKE_OUT_OF_MEMORY:
        return "cudaErrorMemoryAllocation";
    case WM_FAKE_INVALID_CONFIGURATION:
        return "cudaErrorInvalidConfiguration";
    case WM_FAKE_INVALID_DEVICE:
        return "cudaErrorInvalidDevice";
    case WM_FAKE_INVALID_HANDLE:
        return "cudaErrorInvalidResourceHandle";
    case WM_FAKE_NOT_READY:
        return "cudaErrorNotReady";
    case WM_FAKE_ILLEGAL_ADDRESS:
        return "cudaErrorIllegalAddress";
    case WM_FAKE_LAUNCH_FAILURE:
        return "cudaErrorLaunchFailure";
    case WM_FAKE_NOT_SUPPORTED:
        return "cudaErrorNotSupported";
    case WM_FAKE_CAPTURE_UNSUPPORTED:
        return "cudaErrorStreamCaptureUnsupported";
    case WM_FAKE_CAPTURE_INVALIDATED:
        return "cudaErrorStreamCaptureInvalidated";
    default:
        return "cudaErrorUnknown";
    }
}

/* ---- What tests ask ---- */

static const wm_gpu functions = {
    .device_count = device_count,
    .device_facts = device_facts,
    .get_device = get_device,
    .set_device = set_device,
    .alloc = alloc,
    .free = free_memory,
    .copy = copy,
    .set = set,
    .reachable = reachable,
    .device_wait = device_wait,
    .module_load = module_load,
    .module_unload = module_unload,
    .prepare = prepare,
    .occupancy = occupancy,
    .launch = launch,
    .tensor_map = tensor_map,
    .peek_error = peek_error,
    .clear_error = clear_error,
    .error_name = error_name,
    .error_is_sticky = is_sticky,
};

wm_fake *wm_fake_new(int devices) {
    static const wm_device facts = {
        .sm = 90,
        .multiprocessors = 132,
        .clock_khz = 1980000,
        .l2_bytes = 1 << 20, /* small: whoever flushes it does so for real */
        .shared_bytes = 227 * 1024,
        .memory_bytes = 1 << 30,
        .bandwidth = 4.8e12,
        .driver_version = 13000,
        .runtime_version = 13000,
    };
    wm_fake *fake = calloc(1, sizeof *fake);
    if (!fake) return NULL;
    pthread_mutexattr_t recursive; /* a graph's release function may come back */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&fake->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    fake->table = functions;
    fake->table.self = fake;
    wm_fake_add_streams(fake);
    fake->devices = devices < WM_FAKE_DEVICES ? devices : WM_FAKE_DEVICES;
    for (int i = 0; i < fake->devices; i++) {
        fake->device[i] = facts;
        fake->device[i].ordinal = i;
        snprintf(fake->device[i].name, sizeof fake->device[i].name, "fake sm_90");
    }
    current = 0;
    pending = 0;
    return fake;
}

void wm_fake_end(wm_fake *fake) {
    if (!fake) return;
    wm_fake_end_streams(fake);
    while (fake->allocations) {
        wm_fake_allocation *a = fake->allocations;
        fake->allocations = a->next;
        wm_area_end(a->pointer);
        free(a);
    }
    for (int i = 0; i < fake->launch_count; i++) free((void *)(uintptr_t)fake->launches[i].params);
    free(fake->launches);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

void wm_fake_set_pending(int error) {
    pending = error;
}
