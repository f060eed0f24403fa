/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake device behind `struct wm_gpu`, for testing host code where there is no GPU. Its memory is guarded host memory
 * (fake_memory.h). Launches are recorded and, unless a runner is set (tests/simt/simt_gpu.h sets the emulation), do
 * nothing.
 *
 * It is as unkind as a GPU may be. Work is only enqueued: it happens when somebody waits for it (a stream, an event,
 * the device, a free), so that a missing wait shows. Copies from host memory take the data at once, like pageable
 * memory. During a capture the calls that CUDA forbids then fail and spoil the capture; a failed kernel poisons the
 * device. Timing is a made-up clock: 1 µs an operation, more where wm_fake_cost says so.
 *
 * Tests fail the n-th call, n = 1, 2, … until the function under test succeeds:
 *
 *     for (long n = 1;; n++) {
 *         wm_fake_fail_at(fake, n, 2);
 *         status = function under test;
 *         if (!wm_fake_fail_done(fake)) break;
 *         … right status, nothing leaked: wm_fake_live(fake) …
 *     }
 */
#ifndef WM_TESTS_FAKE_GPU_H
#define WM_TESTS_FAKE_GPU_H

#include "fake_memory.h"
#include "lib/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values of cudaError_t that the fake gives. */
enum {
    WM_FAKE_INVALID_VALUE = 1,
    WM_FAKE_OUT_OF_MEMORY = 2,
    WM_FAKE_INVALID_CONFIGURATION = 9,
    WM_FAKE_INVALID_DEVICE = 101,
    WM_FAKE_INVALID_HANDLE = 400,
    WM_FAKE_NOT_READY = 600,
    WM_FAKE_ILLEGAL_ADDRESS = 700, /* sticky */
    WM_FAKE_LAUNCH_FAILURE = 719,  /* sticky */
    WM_FAKE_NOT_SUPPORTED = 801,
    WM_FAKE_CAPTURE_UNSUPPORTED = 900,
    WM_FAKE_CAPTURE_INVALIDATED = 901
};

typedef struct wm_fake wm_fake;

/* What lives: all 0 when nothing leaked. */
typedef struct wm_fake_counts {
    int allocations, streams, events, graphs, modules;
    size_t bytes;
} wm_fake_counts;

/* A new fake of `devices` devices of compute capability 9.0, and its end, which frees whatever is left. */
wm_fake *wm_fake_new(int devices);
void wm_fake_end(wm_fake *fake);

/* Its table. Lives as long as the fake. */
const wm_gpu *wm_fake_gpu(wm_fake *fake);

/* Facts of a device, to be changed before use. */
wm_device *wm_fake_device(wm_fake *fake, int ordinal);

/* The n-th call from now that can fail does, with this error; 0 takes that back. Destroyers still destroy. */
void wm_fake_fail_at(wm_fake *fake, long n, int error);
int wm_fake_fail_done(wm_fake *fake); /* whether it has happened */

/* Calls so far, those that cannot fail left out. */
long wm_fake_calls(wm_fake *fake);

wm_fake_counts wm_fake_live(wm_fake *fake);

/* Poisons the device as a fault in a kernel does; 0 heals it, which no real device does. */
void wm_fake_poison(wm_fake *fake, int error);

/* Leaves a pending error on this thread, as if the caller's own CUDA call had failed. */
void wm_fake_set_pending(int error);

/* Makes the stream report a capture that somebody else began; what is enqueued there then vanishes. */
void wm_fake_set_capturing(wm_fake *fake, wmStream stream, int yes);

/* Whether the device reaches all host memory (0 at first). */
void wm_fake_set_pageable(wm_fake *fake, int yes);

/* Compiled modules cannot be loaded: the emulation runs what the host compiler made, and nothing else. */
void wm_fake_refuse_modules(wm_fake *fake);

/* The priority of the stream that was last made with one. */
int wm_fake_priority(const wm_fake *fake);

/* Work is done when it is enqueued. */
void wm_fake_set_eager(wm_fake *fake, int yes);

/* Seconds that a kernel takes by the made-up clock. */
void wm_fake_cost(wm_fake *fake, const void *kernel, double seconds);

/* The kernels launched so far, those of graphs when the graph is. `params` are copies. */
const wm_launch *wm_fake_launches(wm_fake *fake, int *count);

/* What a launch does when its turn comes; returns a cudaError_t. */
void wm_fake_set_runner(wm_fake *fake, int (*run)(const wm_launch *launch));

/* What makes tensor maps; without it the device has none. */
void wm_fake_set_mapper(wm_fake *fake, int (*map)(const wm_tensor *tensor, void *map));

#ifdef __cplusplus
}
#endif

#endif
