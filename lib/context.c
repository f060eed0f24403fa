/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending contexts: options, environment, place and device. */
#include "chip.h"
#include "context_internal.h"
#include "env.h"
#include "fields.h"
#include "gpu_guard.h"
#include "library.h"
#include "plan.h"
#include "process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wmContextOptionsInit(wmContextOptions *options, size_t size) {
    wmContextOptions fresh = wmContextOptionsDefault();
    wm_give_sized(options, size, &fresh, sizeof fresh);
}

/* ---- Options and environment ---- */

static wmStatus check_options(const wmContextOptions *o) {
    if ((unsigned)o->place > WM_PLACE_CPU) return wm_fail(WM_ERR_ARGUMENT, "options.place is %d", (int)o->place);
    if (o->device < 0) return wm_fail(WM_ERR_ARGUMENT, "options.device is %d", (int)o->device);
    if (!o->allocator.alloc != !o->allocator.free) {
        return wm_fail(WM_ERR_ARGUMENT, "options.allocator.%s is NULL, and the other one is not",
                       o->allocator.alloc ? "free" : "alloc");
    }
    if ((unsigned)o->log_level > WM_LOG_DEBUG) {
        return wm_fail(WM_ERR_ARGUMENT, "options.log_level is %d", (int)o->log_level);
    }
    if (o->require_vendor != 0 && o->require_vendor != 1) {
        return wm_fail(WM_ERR_ARGUMENT, "options.require_vendor is %d", (int)o->require_vendor);
    }
    if (o->cpu_threads < 0) return wm_fail(WM_ERR_ARGUMENT, "options.cpu_threads is %d", (int)o->cpu_threads);
    if (o->fftw && strlen(o->fftw) >= sizeof((wmContext *)0)->fftw) {
        return wm_fail(WM_ERR_ARGUMENT, "options.fftw has %zu characters", strlen(o->fftw));
    }
    return WM_OK;
}

/* The value's index in a NULL-terminated list of words; -1 with a warning if it is none of them. */
static int env_word(wmContext *context, const char *name, const char *const words[]) {
    const char *value = wm_env(name);
    if (!value) return -1;
    for (int i = 0; words[i]; i++) {
        if (strcmp(value, words[i]) == 0) return i;
    }
    wm_log(context, WM_LOG_WARNING, "%s=%.80s is not understood, and ignored", name, value);
    return -1;
}

static void read_environment(wmContext *context, const wmContextOptions *o) {
    static const char *const levels[] = {"", "off", "warning", "info", "debug", NULL};
    context->log = o->log;
    context->log_user = o->log_user;
    context->log_level = o->log ? WM_LOG_WARNING : WM_LOG_OFF;
    int level = env_word(context, "WARPMATH_LOG", levels);
    if (o->log_level != WM_LOG_DEFAULT) {
        context->log_level = o->log_level;
    } else if (level > 0) {
        context->log_level = (wmLogLevel)level;
    }
    const char *shadow = wm_env("WARPMATH_SHADOW");
    if (shadow && strlen(shadow) < sizeof context->shadow) memcpy(context->shadow, shadow, strlen(shadow) + 1);
    /* Who asks for it wants to hear of it. */
    if (shadow && !o->log && context->log_level == WM_LOG_OFF && level < 0) context->log_level = WM_LOG_WARNING;
    context->nvtx = wm_nvtx_get();
    context->checks = wm_env_flag("WARPMATH_CHECK");
    context->frozen = wm_env_flag("WARPMATH_FROZEN");
    context->unverified = wm_env_flag("WARPMATH_UNVERIFIED");
    const char *trace = wm_env("WARPMATH_TRACE");
    if (trace && strlen(trace) < sizeof context->trace) memcpy(context->trace, trace, strlen(trace) + 1);
    const char *fftw = o->fftw ? o->fftw : wm_env("WARPMATH_FFTW");
    if (fftw && strlen(fftw) < sizeof context->fftw) memcpy(context->fftw, fftw, strlen(fftw) + 1);
}

/* ---- Place and device ---- */

static wmPlace wanted_place(wmContext *context, wmPlace option) {
    static const char *const words[] = {"auto", "gpu", "cpu", NULL};
    if (option != WM_PLACE_AUTO) return option;
    int word = env_word(context, "WARPMATH_PLACE", words);
    return word < 0 ? WM_PLACE_AUTO : (wmPlace)word;
}

/* The device's facts; WM_ERR_UNSUPPORTED where there is no device at all, which AUTO takes for the CPU. */
static wmStatus find_device(wmContext *context, const wm_gpu *gpu, int ordinal) {
    int count = 0;
    int error = gpu->device_count(gpu->self, &count);
    if (error == 3) { /* cudaErrorInitializationError */
        return wm_fail(WM_ERR_STATE, "place GPU: the CUDA driver does not start; in a child forked after its start it "
                                     "never does: start the child by exec (Python: the spawn method)");
    }
    if (error || count <= 0) {
        const char *name = error ? gpu->error_name(gpu->self, error) : NULL;
        return wm_fail(WM_ERR_UNSUPPORTED, "place GPU: no CUDA device is usable (%s)", name ? name : "the count is 0");
    }
    if (ordinal >= count) {
        return wm_fail(WM_ERR_ARGUMENT, "options.device is %d, and CUDA shows %d device%s", ordinal, count,
                       count == 1 ? "" : "s");
    }
    WM_TRY(wm_gpu_check(gpu, gpu->device_facts(gpu->self, ordinal, &context->device), "reading the device's facts"));
    context->device.ordinal = ordinal;
    return WM_OK;
}

static wmStatus choose_gpu(wmContext *context, const wm_gpu *gpu, int ordinal) {
    int before = gpu->peek_error(gpu->self);
    wmStatus status = find_device(context, gpu, ordinal);
    if (!before && gpu->peek_error(gpu->self)) (void)gpu->clear_error(gpu->self);
    if (status == WM_OK) {
        context->gpu = gpu;
        context->place = WM_PLACE_GPU;
    }
    return status;
}

static wmStatus choose_place(wmContext *context, const wmContextOptions *o, const wm_gpu *gpu, const char *why) {
    wmPlace wanted = wanted_place(context, o->place);
    if (wanted != WM_PLACE_CPU) {
        wmStatus status = gpu ? choose_gpu(context, gpu, o->device) : wm_fail(WM_ERR_UNSUPPORTED, "place GPU: %s", why);
        if (status == WM_OK) return WM_OK;
        if (wanted == WM_PLACE_GPU || status != WM_ERR_UNSUPPORTED) return status;
        wm_log(context, WM_LOG_INFO, "the CPU place is taken: %s", wmLastError());
    }
    context->place = WM_PLACE_CPU;
    wm_host_facts(&context->device, context->threads);
    return WM_OK;
}

static wmStatus require_vendors(const wmContext *context) {
    static const wm_library_id gpu[] = {WM_LIB_CUBLASLT, WM_LIB_CUFFT, WM_LIB_CURAND};
    static const wm_library_id cpu[] = {WM_LIB_OPENBLAS};
    const wm_library_id *wanted = context->gpu ? gpu : cpu;
    for (int i = 0; i < (context->gpu ? 3 : 1); i++) {
        const char *why = NULL;
        if (!wm_library_get(wanted[i], &why)) {
            return wm_fail(WM_ERR_UNSUPPORTED, "options.require_vendor is 1: %s", why);
        }
    }
    return WM_OK;
}

/* ---- Life ---- */

/* Everything of a context, half-made ones included. */
static void destroy(wmContext *context) {
    wm_cache_clear(context);
    wm_arena_clear(context);
    wm_jit_close(context);
    wm_context_free(context, NULL, 0);
    wm_wisdom_close(context);
    pthread_mutex_destroy(&context->wisdom.lock);
    while (context->late) { /* the device would not wait even now: the memory goes with the process */
        wm_block *next = context->late->next;
        free(context->late);
        context->late = next;
    }
    free(context->given);
    pthread_mutex_destroy(&context->cache.lock);
    pthread_cond_destroy(&context->cache.made);
    pthread_mutex_destroy(&context->arena.lock);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

/* What every context gets, whatever it runs on. */
static wmContext *blank(const wmContextOptions *o) {
    wmContext *context = (wmContext *)calloc(1, sizeof *context);
    if (!context) return NULL;
    atomic_init(&context->references, 1);
    context->process = wm_process();
    context->allocator = o->allocator;
    context->threads = o->cpu_threads ? o->cpu_threads : wm_host_threads();
    context->clock = wm_clock_system();
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->arena.lock, NULL);
    pthread_mutex_init(&context->cache.lock, NULL);
    pthread_cond_init(&context->cache.made, NULL);
    pthread_mutex_init(&context->wisdom.lock, NULL);
    wm_jit_open(&context->jit);
    read_environment(context, o);
    return context;
}

/* `test`: a context of wm_context_create_with, which reads no user's wisdom unless it is named. */
static wmStatus finish(wmContext *context, const wmContextOptions *o, const wm_gpu *gpu, const char *why, int test) {
    WM_TRY(choose_place(context, o, gpu, why));
    if (context->gpu && !test) wm_cuda_bus(context->device.ordinal, context->bus, sizeof context->bus);
    if (o->require_vendor) WM_TRY(require_vendors(context));
    WM_TRY(wm_wisdom_open(context, test && !o->wisdom_path ? "" : o->wisdom_path));
    wm_log(context, WM_LOG_INFO, "context on %s (%s)", context->gpu ? "GPU" : "CPU", context->device.name);
    return WM_OK;
}

static wmStatus create(wmContext **out, const wmContextOptions *options, const wm_gpu *gpu,
                       const wm_solver *const *solvers, int count, const wm_clock *clock) {
    if (!out) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    *out = NULL;
    wm_plan_reap();
    wmContextOptions o = wmContextOptionsDefault();
    if (options) WM_TRY(wm_copy_sized(&o, sizeof o, sizeof o, options, "options"));
    WM_TRY(check_options(&o));
    wmContext *context = blank(&o);
    if (!context) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    const char *why = "no device was given";
    if (clock) {
        context->solvers = solvers;
        context->solver_count = count;
        context->clock = *clock;
        context->unverified = 1;
    } else {
        context->solvers = wm_solvers(&context->solver_count);
        if (wanted_place(NULL, o.place) != WM_PLACE_CPU) gpu = wm_gpu_cuda(&why);
    }
    wmStatus status = finish(context, &o, gpu, why, clock != NULL);
    if (status != WM_OK) {
        destroy(context);
        return status;
    }
    *out = context;
    return WM_OK;
}

wmStatus wmContextCreate(wmContext **context, const wmContextOptions *options) {
    return create(context, options, NULL, NULL, 0, NULL);
}

wmStatus wm_context_create_with(wmContext **context, const wmContextOptions *options, const wm_gpu *gpu,
                                const wm_solver *const *solvers, int count, wm_clock clock) {
    return create(context, options, gpu, solvers, count, &clock);
}

void wmContextRetain(wmContext *context) {
    if (context) atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
}

void wmContextDestroy(wmContext *context) {
    if (!context) return;
    if (atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1) return;
    wm_guard guard;
    /* A forked child has no device, and another thread of the parent may have held any lock: it leaves all behind. */
    if (!wm_enter_cleanup(context, &guard)) return;
    const wm_gpu *gpu = context->gpu;
    int ordinal = context->device.ordinal;
    destroy(context);
    wm_leave_destroyed(&guard, gpu, ordinal);
}

/* ---- Facts ---- */

wmPlace wmContextPlace(const wmContext *context) {
    return context ? context->place : WM_PLACE_AUTO;
}

wmStatus wmContextDeviceInfo(const wmContext *context, wmDeviceInfo *info) {
    if (!context) return wm_fail(WM_ERR_ARGUMENT, "context is NULL");
    if (!info) return wm_fail(WM_ERR_ARGUMENT, "info is NULL");
    if (info->size < sizeof info->size) return wm_fail(WM_ERR_ARGUMENT, "info.size is %zu", info->size);
    const wm_device *d = &context->device;
    wmDeviceInfo full = {.size = sizeof full, .ordinal = d->ordinal, .multiprocessors = d->multiprocessors};
    snprintf(full.name, sizeof full.name, "%s", d->name);
    if (context->gpu) {
        full.compute_capability = d->sm;
        full.driver_version = d->driver_version;
        full.runtime_version = d->runtime_version;
        full.memory_bytes = d->memory_bytes;
        full.l2_bytes = d->l2_bytes;
        full.bandwidth = d->bandwidth;
    }
    wm_give_sized(info, info->size, &full, sizeof full);
    return WM_OK;
}

const wm_gpu *wm_context_gpu(const wmContext *context) {
    return context->gpu;
}

/* What this thread plans or runs with fewer multiprocessors. */
static _Thread_local wm_narrow narrow;
static _Thread_local wm_device narrow_device;

const wm_device *wm_context_device(const wmContext *context) {
    return narrow.context == context ? &narrow_device : &context->device;
}

int wm_context_left_free(const wmContext *context) {
    return narrow.context == context ? narrow.left_free : 0;
}

wm_narrow wm_context_narrow(const wmContext *context, int left_free) {
    wm_narrow before = narrow;
    narrow = (wm_narrow){left_free ? context : NULL, left_free};
    if (!narrow.context) return before;
    narrow_device = context->device;
    narrow_device.multiprocessors -= left_free;
    return before;
}

int wm_context_threads(const wmContext *context) {
    return context->threads;
}

int wm_context_checks(const wmContext *context) {
    return context->checks;
}

wmStatus wm_context_reach(wmContext *context, const void *pointer, const char *field) {
    if (!context->gpu) return WM_OK;
    wm_guard guard;
    WM_TRY(wm_enter(context, &guard));
    int yes = 0;
    int error = context->gpu->reachable(context->gpu->self, pointer, context->device.ordinal, &yes);
    wmStatus status = wm_gpu_check(context->gpu, error, "cudaPointerGetAttributes");
    if (status == WM_OK && !yes) {
        status = wm_fail(WM_ERR_ARGUMENT, "args.%s is %p, which device %d cannot reach", field, pointer,
                         context->device.ordinal);
    }
    return wm_leave(&guard, status);
}

/* ---- FFTW, where it is allowed ---- */

/* "libfftw3.so.3" -> "libfftw3f.so.3"; a library without fftw3 in its name (MKL) holds both. */
static void float_twin(const char *name, char *out, size_t room) {
    const char *at = strstr(name, "fftw3");
    for (const char *next = at; next; next = strstr(next + 1, "fftw3")) at = next;
    size_t head = at ? (size_t)(at - name) + 5 : strlen(name);
    snprintf(out, room, "%.*s%s%s", (int)head, name, at ? "f" : "", name + head);
}

void *wm_context_fftw(wmContext *context, int single, const char **why) {
    int i = single != 0;
    char *name = context->fftw_soname[i];
    pthread_mutex_lock(&context->lock);
    if (!context->fftw_done[i]) {
        context->fftw_done[i] = 1;
        if (context->fftw[0]) {
            snprintf(name, sizeof context->fftw_soname[i], "%s", context->fftw);
            if (single) float_twin(context->fftw, name, sizeof context->fftw_soname[i]);
            context->fftw_handle[i] = wm_library_open(name, single ? "fftwf_execute" : "fftw_execute",
                                                      context->fftw_why[i], sizeof context->fftw_why[i]);
        } else {
            snprintf(context->fftw_why[i], sizeof context->fftw_why[i],
                     "FFTW is not allowed: set options.fftw or WARPMATH_FFTW");
        }
    }
    pthread_mutex_unlock(&context->lock);
    if (why) *why = context->fftw_why[i];
    return context->fftw_handle[i];
}
