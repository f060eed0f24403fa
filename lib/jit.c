/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels compiled at plan time: the loaded ones of a context, the disk cache, and the compiler behind both. */
#include "context_internal.h"
#include "env.h"
#include "folders.h"
#include "host/nvrtc.h"
#include "jit_file.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDLE = 256, FIXED_OPTIONS = 2 };

struct wm_jit_kernel {
    wm_jit_key key;
    size_t shared;
    void *module; /* NULL: the emulation's */
    const void *handle;
    int users;
    wm_jit_kernel *next;
};

/* ---- Whether ---- */

int wm_jit_ready(const void *generic, const char **why) {
    const char *asked = wm_env("WARPMATH_JIT");
    *why = "";
    if (generic) return 1;
    if (asked && strcmp(asked, "0") == 0) {
        *why = "run-time compilation is turned off by WARPMATH_JIT=0";
        return 0;
    }
    return wm_nvrtc_ready(why);
}

/* ---- Keys ---- */

static uint64_t hash_text(uint64_t hash, const char *text) {
    return wm_hash_text(wm_hash_text(hash, text), "\n|");
}

/* The embedded headers never change within a process. */
static pthread_once_t headers_once = PTHREAD_ONCE_INIT;
static wm_jit_key headers_key;

static void hash_headers(void) {
    int count = 0;
    const wm_header *header = wm_headers(&count);
    headers_key = (wm_jit_key){WM_HASH_START, WM_HASH_START * 31 + 7};
    for (int i = 0; i < count; i++) {
        headers_key.a = hash_text(hash_text(headers_key.a, header[i].name), header[i].text);
        headers_key.b = hash_text(hash_text(headers_key.b, header[i].name), header[i].text);
    }
}

static wm_jit_key key_of(const wm_jit_request *r, const char *arch) {
    pthread_once(&headers_once, hash_headers);
    const char *parts[] = {r->source, r->kernel, arch, r->generic ? "emulated" : wm_nvrtc_version()};
    wm_jit_key key = headers_key;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        key.a = hash_text(key.a, parts[i]);
        key.b = hash_text(key.b, parts[i]);
    }
    for (int i = 0; i < WM_JIT_OPTIONS && r->options[i]; i++) {
        key.a = hash_text(key.a, r->options[i]);
        key.b = hash_text(key.b, r->options[i]);
    }
    return key;
}

/* ---- Cubins ---- */

/* Hopper's own instructions need the `a`. */
static void name_arch(int sm, char *out, size_t room) {
    snprintf(out, room, "-arch=sm_%d%s", sm, sm == 90 ? "a" : "");
}

static wmStatus cubin_of(wmContext *context, const wm_jit_request *r, const char *arch, wm_jit_key key, void **cubin,
                         size_t *bytes) {
    const char *options[WM_JIT_OPTIONS + FIXED_OPTIONS] = {arch, "-std=c++17"};
    int count = FIXED_OPTIONS;
    *cubin = wm_jit_file_read(context->jit.folder, key, bytes);
    if (*cubin) return WM_OK;
    for (int i = 0; i < WM_JIT_OPTIONS && r->options[i]; i++) options[count++] = r->options[i];
    wm_log(context, WM_LOG_DEBUG, "compiling %s for %s", r->kernel, r->solver);
    context->jit.compiled++;
    WM_TRY(wm_nvrtc_compile(r->solver, r->source, options, count, cubin, bytes));
    wm_jit_file_write(context->jit.folder, key, *cubin, *bytes);
    return WM_OK;
}

wmStatus wm_jit_cubin(wmContext *context, const wm_jit_request *request, int sm, void **cubin, size_t *bytes) {
    char arch[32];
    const char *why = NULL;
    *cubin = NULL;
    if (!wm_jit_ready(NULL, &why)) return wm_fail(WM_ERR_UNSUPPORTED, "%s", why);
    name_arch(sm, arch, sizeof arch);
    pthread_mutex_lock(&context->jit.lock);
    wmStatus status = cubin_of(context, request, arch, key_of(request, arch), cubin, bytes);
    pthread_mutex_unlock(&context->jit.lock);
    return status;
}

/* ---- Loaded kernels, under the lock ---- */

static void unload(const wm_gpu *gpu, wm_jit_kernel *kernel) {
    if (kernel->module) (void)gpu->module_unload(gpu->self, kernel->module);
    free(kernel);
}

/** Unloads the longest unused half when too many are idle. Code that runs may not be unloaded: the device ends first.
 */
static void make_room(wmContext *context) {
    const wm_gpu *gpu = context->gpu;
    int idle = 0;
    for (wm_jit_kernel *k = context->jit.list; k; k = k->next) idle += k->users == 0;
    if (idle <= context->jit.most_idle || gpu->device_wait(gpu->self) != 0) return; /* a stream captures: next time */
    idle = 0;
    for (wm_jit_kernel **link = &context->jit.list; *link;) {
        wm_jit_kernel *kernel = *link;
        if (kernel->users || ++idle <= context->jit.most_idle / 2) {
            link = &kernel->next;
            continue;
        }
        *link = kernel->next;
        context->jit.count--;
        unload(gpu, kernel);
    }
}

static wm_jit_kernel *find(wm_jit *jit, wm_jit_key key) {
    for (wm_jit_kernel **link = &jit->list; *link; link = &(*link)->next) {
        wm_jit_kernel *kernel = *link;
        if (kernel->key.a != key.a || kernel->key.b != key.b) continue;
        *link = kernel->next;
        kernel->next = jit->list;
        jit->list = kernel;
        return kernel;
    }
    return NULL;
}

static wmStatus load(wmContext *context, const wm_jit_request *r, const char *arch, wm_jit_kernel *kernel) {
    const wm_gpu *gpu = context->gpu;
    void *cubin = NULL;
    size_t bytes = 0;
    kernel->handle = r->generic;
    if (r->generic) return WM_OK;
    WM_TRY(cubin_of(context, r, arch, kernel->key, &cubin, &bytes));
    int error = gpu->module_load(gpu->self, cubin, bytes, r->kernel, &kernel->module, &kernel->handle);
    free(cubin);
    wmStatus status = wm_gpu_check(gpu, error, "loading a compiled module");
    return status == WM_OK ? WM_OK : wm_fail_in(status, "of %s", r->solver);
}

static wmStatus get(wmContext *context, const wm_jit_request *r, wm_jit_kernel **out) {
    char arch[32];
    name_arch(context->device.sm, arch, sizeof arch);
    wm_jit_key key = key_of(r, arch);
    wm_jit_kernel *kernel = find(&context->jit, key);
    if (!kernel) {
        kernel = (wm_jit_kernel *)calloc(1, sizeof *kernel);
        if (!kernel) return wm_fail(WM_ERR_MEMORY, "out of host memory");
        kernel->key = key;
        wmStatus status = load(context, r, arch, kernel);
        if (status != WM_OK) {
            free(kernel);
            return status;
        }
        kernel->next = context->jit.list;
        context->jit.list = kernel;
        context->jit.count++;
    }
    kernel->users++;
    if (kernel->users == 1) make_room(context);
    *out = kernel;
    return wm_prepare_kernel(context, r->solver, kernel->handle, r->shared);
}

wmStatus wm_jit_get(wmContext *context, const wm_jit_request *request, wm_jit_kernel **out) {
    const char *why = NULL;
    *out = NULL;
    if (!context->gpu) return wm_fail(WM_ERR_UNSUPPORTED, "kernels are compiled on the GPU place only");
    if (!wm_jit_ready(request->generic, &why)) return wm_fail(WM_ERR_UNSUPPORTED, "%s", why);
    pthread_mutex_lock(&context->jit.lock);
    wmStatus status = get(context, request, out);
    pthread_mutex_unlock(&context->jit.lock);
    if (status != WM_OK) {
        wm_jit_put(context, *out);
        *out = NULL;
    }
    return status;
}

const void *wm_jit_handle(const wm_jit_kernel *kernel) {
    return kernel->handle;
}

void wm_jit_put(wmContext *context, wm_jit_kernel *kernel) {
    if (!kernel) return;
    pthread_mutex_lock(&context->jit.lock);
    kernel->users--;
    pthread_mutex_unlock(&context->jit.lock);
}

/* ---- The context's part ---- */

void wm_jit_open(wm_jit *jit) {
    pthread_mutex_init(&jit->lock, NULL);
    jit->most_idle = MOST_IDLE;
    wm_cache_folder(jit->folder, sizeof jit->folder, "kernels");
}

void wm_jit_close(wmContext *context) {
    if (context->jit.list) (void)context->gpu->device_wait(context->gpu->self);
    while (context->jit.list) {
        wm_jit_kernel *next = context->jit.list->next;
        unload(context->gpu, context->jit.list);
        context->jit.list = next;
    }
    pthread_mutex_destroy(&context->jit.lock);
}
