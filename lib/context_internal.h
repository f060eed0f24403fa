/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own view of a context, and the constructor that tests use. */
#ifndef WM_LIB_CONTEXT_INTERNAL_H
#define WM_LIB_CONTEXT_INTERNAL_H

#include "arena.h"
#include "cache.h"
#include "clock.h"
#include "jit.h"
#include "nvtx.h"
#include "solver.h"
#include "wisdom.h"
#include <stdatomic.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A block that wmAlloc gave from a caller's allocator, whose free wants the size back. */
typedef struct wm_given {
    void *pointer;
    size_t bytes;
} wm_given;

struct wmContext {
    atomic_int references;
    atomic_int poison; /* the sticky CUDA error that ended the device for this process */
    pid_t process;     /* the one that made it: a forked child may not use it */
    wmPlace place;
    const wm_gpu *gpu; /* NULL on the CPU place */
    wm_device device;
    char bus[32];          /* of the device, as NVML knows it; "": nobody asks NVML */
    wmAllocator allocator; /* alloc NULL: the default one */
    wmLogFunction log;
    void *log_user;
    wmLogLevel log_level;
    int threads;
    int checks;          /* WARPMATH_CHECK */
    int frozen;          /* WARPMATH_FROZEN */
    int unverified;      /* solvers without a row in perf/verified.csv may offer */
    char shadow[64];     /* WARPMATH_SHADOW; "": none */
    int use_shipped;     /* 0: only what was learnt on this machine counts (WARPMATH_WISDOM="", or wisdom_path "") */
    const wm_nvtx *nvtx; /* ranges for profilers; NULL: none */
    char trace[256];     /* file that plans are listed in; "": none */
    char fftw[256];      /* soname; "" allows none */
    const wm_solver *const *solvers;
    int solver_count;
    wm_clock clock;

    wm_arena arena;
    wm_plan_cache cache;
    wm_wisdom wisdom;
    wm_jit jit;

    pthread_mutex_t lock; /* of what follows */
    wm_given *given;
    size_t given_count, given_capacity;
    wm_block *late; /* device memory that could not be freed yet, a stream capturing */
    int fftw_done[2];
    void *fftw_handle[2];
    char fftw_soname[2][258]; /* double's, and the f32 twin's */
    char fftw_why[2][320];
};

/**
 * A context over the caller's own device table (NULL: the CPU place), solvers and clock; all three must outlive it.
 * With a device the place is the GPU unless the options ask for the CPU. Unverified solvers may offer, no wisdom file
 * is read unless the options name one.
 */
wmStatus wm_context_create_with(wmContext **context, const wmContextOptions *options, const wm_gpu *gpu,
                                const wm_solver *const *solvers, int count, wm_clock clock);

/** What wm_context_left_free tells on this thread. */
typedef struct wm_narrow {
    const wmContext *context; /* NULL: nothing is left free */
    int left_free;
} wm_narrow;

/** Sets it, 0 for nothing, and gives what it was: call again with that in the end. */
wm_narrow wm_context_narrow(const wmContext *context, int left_free);

/** Memory through the allocator, ordered with `stream`; wm_context_alloc is this without a stream. */
wmStatus wm_context_obtain(wmContext *context, void **out, size_t bytes, wmStream stream);

/** Frees it in the order of a live stream. */
void wm_context_release_on(wmContext *context, void *pointer, size_t bytes, wmStream stream);

/** Threads that this process may use. */
int wm_host_threads(void);

/** Fills the facts of the CPU place. */
void wm_host_facts(wm_device *out, int threads);

#ifdef __cplusplus
}
#endif

#endif
