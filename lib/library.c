/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vendor and CPU libraries, found on demand, once a process, and never unloaded. A missing one removes its solvers and
 * leaves a sentence; it breaks nothing. RTLD_LOCAL, so that what we load never answers for someone else's symbols.
 */
#include "context.h"
#include "folders.h"
#include "library.h"
#include "text.h"
#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct library_row {
    const char *name;
    const char *sonames[4]; /* newest first */
    const char *wheels[4];  /* folders under nvidia/ of a Python environment; none: a CPU library */
    const char *needs;      /* a symbol without which it is not the library we mean */
    const char *property;   /* CUDA libraries: status f(part, int *value), part 0 major, 1 minor, 2 patch; NVRTC's
                             * takes two places, for major and minor */
    int least_major;
} library_row;

/* In the order of wm_library_id. */
static const library_row rows[WM_LIB_COUNT] = {
    {"cublaslt",
     {"libcublasLt.so.13", "libcublasLt.so.12"},
     {"cu13", "cublas"},
     "cublasLtMatmul",                                                                                                            "cublasLtGetProperty",
     12                                                                                                                                                    },
    {"cublas",   {"libcublas.so.13", "libcublas.so.12"},                         {"cu13", "cublas"},     "cublasGemmEx",          "cublasGetProperty",   12},
    {"cufft",    {"libcufft.so.12", "libcufft.so.11"},                           {"cu13", "cufft"},      "cufftXtExec",           "cufftGetProperty",    11},
    {"curand",   {"libcurand.so.10"},                                            {"cu13", "curand"},     "curandCreateGenerator", "curandGetProperty",   10},
    {"nvrtc",    {"libnvrtc.so.13", "libnvrtc.so.12"},                           {"cu13", "cuda_nvrtc"}, "nvrtcCompileProgram",   "nvrtcVersion",        12},
    {"openblas", {"libopenblas.so.0", "libopenblasp.so.0", "libopenblaso.so.0"}, {NULL},                 "cblas_sgemm",           NULL,                  0 },
};

typedef struct library_state {
    atomic_int done;
    void *handle;
    char why[640];
    char version[96];
    char path[PATH_MAX];
} library_state;

static library_state states[WM_LIB_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One library's search in progress. */
typedef struct search {
    const library_row *row;
    library_state *state;
    char refused[256]; /* why the last library found was not taken */
} search;

static int read_version(const search *s, void *handle, int part[3]) {
    void *symbol = dlsym(handle, s->row->property);
    if (symbol && s->row == &rows[WM_LIB_NVRTC]) {
        int (*both)(int *, int *) = NULL;
        *(void **)&both = symbol;
        return both(&part[0], &part[1]) == 0;
    }
    int (*property)(int, int *) = NULL;
    *(void **)&property = symbol;
    for (int i = 0; property && i < 3; i++) {
        if (property(i, &part[i]) != 0) return 0;
    }
    return property != NULL;
}

static int cuda_version(search *s, void *handle) {
    int part[3] = {0, 0, 0};
    if (!read_version(s, handle, part)) {
        snprintf(s->refused, sizeof s->refused, "it does not tell its version");
        return 0;
    }
    snprintf(s->state->version, sizeof s->state->version, "%d.%d.%d", part[0], part[1], part[2]);
    if (part[0] >= s->row->least_major) return 1;
    snprintf(s->refused, sizeof s->refused, "version %s is older than %d", s->state->version, s->row->least_major);
    return 0;
}

/* OpenBLAS: "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=128". */
static int openblas_version(search *s, void *handle) {
    char *(*config)(void) = NULL;
    *(void **)&config = dlsym(handle, "openblas_get_config");
    const char *text = config ? config() : NULL;
    if (!text || strstr(text, "USE64BITINT")) {
        snprintf(s->refused, sizeof s->refused, "%s", text ? "its integers are 64-bit" : "it is not OpenBLAS");
        return 0;
    }
    const char *number = strchr(text, ' ');
    snprintf(s->state->version, sizeof s->state->version, "%.*s", number ? (int)strcspn(number + 1, " ") : 0,
             number ? number + 1 : "");
    return 1;
}

static int accept(search *s, void *handle) {
    if (!handle) return 0;
    int good = dlsym(handle, s->row->needs) != NULL;
    if (!good) snprintf(s->refused, sizeof s->refused, "it lacks %s", s->row->needs);
    if (good) good = s->row->property ? cuda_version(s, handle) : openblas_version(s, handle);
    if (!good) {
        s->state->version[0] = '\0';
        dlclose(handle);
        return 0;
    }
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name) {
        snprintf(s->state->path, sizeof s->state->path, "%s", map->l_name);
    }
    s->state->handle = handle;
    return 1;
}

static int try_names(search *s, const char *folder, int flags) {
    for (int i = 0; i < 4 && s->row->sonames[i]; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", s->row->sonames[i]);
        if (length >= (int)sizeof path) continue;
        if (accept(s, dlopen(path, RTLD_NOW | RTLD_LOCAL | flags))) return 1;
    }
    return 0;
}

static int visit_folder(void *user, const char *folder) {
    return try_names((search *)user, folder, 0);
}

static void explain_absence(const search *s) {
    char *why = s->state->why;
    size_t room = sizeof s->state->why;
    wm_append(why, room, "%s absent, tried: ", s->row->name);
    for (int i = 0; i < 4 && s->row->sonames[i]; i++) wm_append(why, room, "%s%s", i ? ", " : "", s->row->sonames[i]);
    if (s->row->property) {
        wm_append(why, room,
                  " (loaded already, WARPMATH_CUDA_LIBS, beside libcudart, CUDA_HOME, Python's nvidia "
                  "wheels, the system's loader)");
    }
    if (s->refused[0]) wm_append(why, room, "; one was found, but %s", s->refused);
}

static void find(const library_row *row, library_state *state) {
    search s = {.row = row, .state = state};
    int found = try_names(&s, "", RTLD_NOLOAD);
    if (!found && row->wheels[0]) {
        wm_cuda_folders(row->wheels, visit_folder, &s);
        found = state->handle != NULL;
    }
    if (!found) found = try_names(&s, "", 0);
    if (!found) explain_absence(&s);
}

static library_state *ready(wm_library_id id) {
    library_state *state = &states[id];
    if (atomic_load_explicit(&state->done, memory_order_acquire)) return state;
    pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(&state->done, memory_order_relaxed)) {
        find(&rows[id], state);
        atomic_store_explicit(&state->done, 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return state;
}

void *wm_library_get(wm_library_id id, const char **why) {
    const library_state *state = ready(id);
    if (why) *why = state->why;
    return state->handle;
}

void *wm_library_symbol(wm_library_id id, const char *symbol) {
    const library_state *state = ready(id);
    return state->handle ? dlsym(state->handle, symbol) : NULL;
}

const char *wm_library_symbols(wm_library_id id, const wm_symbol *symbols, size_t count) {
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        *symbols[i].to = wm_library_symbol(id, symbols[i].name);
        if (!*symbols[i].to) missing = symbols[i].name;
    }
    return missing;
}

const char *wm_library_name(wm_library_id id) {
    return rows[id].name;
}

const char *wm_library_version(wm_library_id id) {
    return ready(id)->version;
}

const char *wm_library_path(wm_library_id id) {
    return ready(id)->path;
}

void *wm_library_open(const char *name, const char *needs, char *why, size_t room) {
    why[0] = '\0';
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, room, "%s did not load", name);
        return NULL;
    }
    if (!dlsym(handle, needs)) {
        snprintf(why, room, "%s lacks %s", name, needs);
        dlclose(handle);
        return NULL;
    }
    return handle;
}
