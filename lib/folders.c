/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the folders in which vendor libraries are looked for. Folders that do not exist are listed all the same. */
#include "folders.h"
#include "env.h"
#include <glob.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef struct walk {
    const char *const *wheel;
    wm_folder_visit visit;
    void *user;
    char seen[8][PATH_MAX]; /* site-packages already visited */
    int seen_count;
} walk;

static int visit_path(const walk *w, const char *base, const char *below) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", base, below);
    if (length <= 0 || length >= (int)sizeof path) return 0;
    return w->visit(w->user, path);
}

static int visit_list(const walk *w, const char *list) {
    while (list && *list) {
        size_t length = strcspn(list, ":");
        char path[PATH_MAX];
        if (length && length < sizeof path) {
            memcpy(path, list, length);
            path[length] = '\0';
            if (w->visit(w->user, path)) return 1;
        }
        list += length + (list[length] == ':');
    }
    return 0;
}

static int visit_toolkit(const walk *w, const char *home) {
    static const char *const below[] = {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"};
    for (size_t i = 0; home && i < sizeof below / sizeof below[0]; i++) {
        if (visit_path(w, home, below[i])) return 1;
    }
    return 0;
}

/* The folder nvidia/ of one site-packages, once. */
static int visit_site(walk *w, const char *site) {
    for (int i = 0; i < w->seen_count; i++) {
        if (strcmp(w->seen[i], site) == 0) return 0;
    }
    if (w->seen_count < 8) snprintf(w->seen[w->seen_count++], PATH_MAX, "%s", site);
    for (int i = 0; w->wheel[i]; i++) {
        char below[128];
        snprintf(below, sizeof below, "/nvidia/%s/lib", w->wheel[i]);
        if (visit_path(w, site, below)) return 1;
    }
    return 0;
}

static int visit_environment(walk *w, const char *prefix, const char *pattern) {
    if (!prefix) return 0;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", prefix, pattern) >= (int)sizeof path) return 0;
    glob_t found;
    int done = 0;
    if (glob(path, 0, NULL, &found) == 0) { // NOLINT(concurrency-mt-unsafe): only with GLOB_TILDE
        for (size_t i = 0; i < found.gl_pathc && !done; i++) done = visit_site(w, found.gl_pathv[i]);
        globfree(&found);
    }
    return done;
}

/* ---- What the process has loaded already ---- */

static int loaded_cudart(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    walk *w = (walk *)data;
    const char *name = info->dlpi_name ? strstr(info->dlpi_name, "/libcudart.so") : NULL;
    if (!name) return 0;
    char path[PATH_MAX];
    size_t length = (size_t)(name - info->dlpi_name);
    if (length == 0 || length >= sizeof path) return 0;
    memcpy(path, info->dlpi_name, length);
    path[length] = '\0';
    snprintf(w->seen[0], PATH_MAX, "%s", path);
    w->seen_count = 1;
    return 1;
}

/* Collects site-packages folders of loaded extension modules: a visit here would call dlopen inside the walk. */
static int loaded_site(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    walk *w = (walk *)data;
    if (!info->dlpi_name) return 0;
    const char *end = strstr(info->dlpi_name, "/site-packages/");
    if (!end) end = strstr(info->dlpi_name, "/dist-packages/");
    if (!end) return 0;
    size_t length = (size_t)(end - info->dlpi_name) + strlen("/site-packages");
    if (length >= PATH_MAX || w->seen_count == 8) return 0;
    for (int i = 0; i < w->seen_count; i++) {
        if (strncmp(w->seen[i], info->dlpi_name, length) == 0 && !w->seen[i][length]) return 0;
    }
    memcpy(w->seen[w->seen_count], info->dlpi_name, length);
    w->seen[w->seen_count++][length] = '\0';
    return 0;
}

static int visit_wheels(walk *w) {
    walk loaded = {.seen_count = 0};
    dl_iterate_phdr(loaded_site, &loaded);
    for (int i = 0; i < loaded.seen_count; i++) {
        if (visit_site(w, loaded.seen[i])) return 1;
    }
    return visit_environment(w, wm_env("VIRTUAL_ENV"), "/lib/python3*/site-packages") ||
           visit_environment(w, wm_env("CONDA_PREFIX"), "/lib/python3*/site-packages") ||
           visit_environment(w, wm_env("HOME"), "/.local/lib/python3*/site-packages") ||
           visit_environment(w, "/usr/local", "/lib/python3*/*-packages");
}

void wm_cuda_folders(const char *const wheel[], wm_folder_visit visit, void *user) {
    walk w = {.wheel = wheel, .visit = visit, .user = user};
    if (visit_list(&w, wm_env("WARPMATH_CUDA_LIBS"))) return;
    walk loaded = {.seen_count = 0};
    if (dl_iterate_phdr(loaded_cudart, &loaded) && visit_path(&w, loaded.seen[0], "")) return;
    const char *home = wm_env("CUDA_HOME");
    if (!home) home = wm_env("CUDA_PATH");
    if (visit_toolkit(&w, home ? home : "/usr/local/cuda")) return;
    visit_wheels(&w);
}

/* ---- The user's cache ---- */

void wm_cache_folder(char *out, size_t room, const char *below) {
    const char *cache = wm_env("XDG_CACHE_HOME"), *home = wm_env("HOME"), *own = wm_env("WARPMATH_CACHE_DIR");
    int length = 0;
    out[0] = '\0';
    if (own && own[0] == '/') {
        length = snprintf(out, room, "%s/%s", own, below);
    } else if (cache && cache[0] == '/') {
        length = snprintf(out, room, "%s/warpmath/%s", cache, below);
    } else if (home && home[0] == '/') {
        length = snprintf(out, room, "%s/.cache/warpmath/%s", home, below);
    }
    if (length < 0 || (size_t)length >= room) out[0] = '\0';
}
