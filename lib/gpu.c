/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and launches of the device table, and the guard that keeps the caller's CUDA state as it was. */
#include "context_internal.h"
#include "gpu_guard.h"
#include "process.h"

#ifndef WM_HAVE_CUDA
const wm_gpu *wm_gpu_cuda(const char **why) {
    *why = "this warpmath was built without CUDA";
    return NULL;
}
#endif

static const char *error_name(const wm_gpu *gpu, int error) {
    const char *name = gpu->error_name(gpu->self, error);
    return name ? name : "unknown error";
}

wmStatus wm_gpu_check(const wm_gpu *gpu, int error, const char *call) {
    if (error == 0) return WM_OK;
    if (gpu->error_is_sticky(gpu->self, error)) {
        return wm_fail_cuda(error, error_name(gpu, error),
                            "%s failed, and the device is lost to this process until it restarts", call);
    }
    wm_fail_cuda(error, error_name(gpu, error), "%s failed", call);
    return error == 2 ? WM_ERR_MEMORY : WM_ERR_CUDA; /* 2: cudaErrorMemoryAllocation */
}

wmStatus wm_launch_kernel(wmContext *context, const char *kernel_name, const wm_launch *launch, wmStream stream) {
    const wm_gpu *gpu = context->gpu;
    int error = gpu->launch(gpu->self, launch, stream);
    if (error == 0) return WM_OK;
    wmStatus status = wm_gpu_check(gpu, error, "launch");
    return wm_fail_in(status, "of %s, grid %u x %u x %u, block %u, %zu bytes of shared memory", kernel_name,
                      launch->grid.x, launch->grid.y, launch->grid.z,
                      launch->block.x * launch->block.y * launch->block.z, launch->shared);
}

wmStatus wm_prepare_kernel(wmContext *context, const char *kernel_name, const void *kernel, size_t shared) {
    const wm_gpu *gpu = context->gpu;
    int error = gpu->prepare(gpu->self, kernel, shared);
    if (error == 0) return WM_OK;
    wmStatus status = wm_gpu_check(gpu, error, "loading a kernel");
    return wm_fail_in(status, "of %s with %zu bytes of shared memory", kernel_name, shared);
}

/* ---- The guard ---- */

static void take_over(wmContext *context, wm_guard *guard) {
    const wm_gpu *gpu = context->gpu;
    guard->context = context;
    guard->pending = gpu->peek_error(gpu->self);
    if (gpu->get_device(gpu->self, &guard->device) != 0) guard->device = -1;
}

wmStatus wm_enter(wmContext *context, wm_guard *guard) {
    guard->context = NULL;
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    if (context->process != wm_process()) {
        return wm_fail(WM_ERR_STATE, "this process was forked after the context was made: make contexts in the child, "
                                     "or start it by exec (Python: the spawn method)");
    }
    if (!context->gpu) return WM_OK;
    int poison = atomic_load_explicit(&context->poison, memory_order_relaxed);
    if (poison) {
        return wm_fail(WM_ERR_STATE, "the device is poisoned by an earlier fault (%s): restart the process",
                       error_name(context->gpu, poison));
    }
    take_over(context, guard);
    if (guard->device == context->device.ordinal) return WM_OK;
    int error = context->gpu->set_device(context->gpu->self, context->device.ordinal);
    return error ? wm_leave(guard, wm_gpu_check(context->gpu, error, "cudaSetDevice")) : WM_OK;
}

int wm_enter_cleanup(wmContext *context, wm_guard *guard) {
    guard->context = NULL;
    if (context->process != wm_process()) return 0;
    if (!context->gpu) return 1;
    take_over(context, guard);
    if (guard->device != context->device.ordinal) {
        (void)context->gpu->set_device(context->gpu->self, context->device.ordinal);
    }
    return 1;
}

void wm_leave_destroyed(const wm_guard *guard, const wm_gpu *gpu, int ordinal) {
    if (!gpu) return;
    if (guard->device >= 0 && guard->device != ordinal) (void)gpu->set_device(gpu->self, guard->device);
    if (!guard->pending && gpu->peek_error(gpu->self)) (void)gpu->clear_error(gpu->self);
}

wmStatus wm_leave(const wm_guard *guard, wmStatus status) {
    wmContext *context = guard->context;
    if (!context) return status;
    const wm_gpu *gpu = context->gpu;
    int error = status == WM_OK ? 0 : wmLastCudaError();
    if (error && gpu->error_is_sticky(gpu->self, error)) atomic_store(&context->poison, error);
    wm_leave_destroyed(guard, gpu, context->device.ordinal);
    return status;
}
