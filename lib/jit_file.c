/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the files of compiled kernels. */
#include "jit_file.h"
#include "crc32c.h"
#include "files.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "WMJIT 1\n"
#define SUFFIX ".cubin"

typedef struct header {
    char magic[8];
    uint64_t a, b, bytes, crc;
} header;

static void name_of(wm_jit_key key, char *out, size_t room) {
    snprintf(out, room, "%016llx%016llx" SUFFIX, (unsigned long long)key.a, (unsigned long long)key.b);
}

/* The folder, if it is ours alone; -1 otherwise. */
static int open_folder(const char *folder, int writing) {
    if (!folder[0]) return -1;
    int fd = wm_folder_open(folder, writing, O_NOFOLLOW);
    struct stat s;
    if (fd >= 0 && (fstat(fd, &s) != 0 || !wm_file_is_trusted(&s))) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* ---- Reading ---- */

static int read_all(int fd, void *to, size_t bytes) {
    return wm_file_read_whole(fd, to, bytes) == (long long)bytes;
}

static void *read_checked(int fd, wm_jit_key key, size_t *bytes) {
    struct stat s;
    header h;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || !wm_file_is_trusted(&s) || s.st_size > WM_JIT_FILE_BYTES)
        return NULL;
    if (!read_all(fd, &h, sizeof h) || memcmp(h.magic, MAGIC, sizeof h.magic) != 0) return NULL;
    if (h.a != key.a || h.b != key.b || h.bytes == 0 || h.bytes + sizeof h != (uint64_t)s.st_size) return NULL;
    void *data = malloc(h.bytes);
    if (data && (!read_all(fd, data, h.bytes) || wm_crc32c(data, h.bytes) != h.crc)) {
        free(data);
        return NULL;
    }
    *bytes = h.bytes;
    return data;
}

void *wm_jit_file_read(const char *folder, wm_jit_key key, size_t *bytes) {
    char name[64];
    name_of(key, name, sizeof name);
    int at = open_folder(folder, 0);
    if (at < 0) return NULL;
    int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    void *data = fd < 0 ? NULL : read_checked(fd, key, bytes);
    if (data) (void)futimens(fd, NULL); /* lately used */
    if (fd >= 0) (void)close(fd);
    (void)close(at);
    return data;
}

/* ---- Writing ---- */

static int is_older(const struct stat *a, const struct stat *b) {
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec) return a->st_mtim.tv_sec < b->st_mtim.tv_sec;
    return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* Removes the file that was not used for longest, if there are too many; `at` is used up. */
static void make_room(int at) {
    DIR *folder = fdopendir(at);
    char oldest[NAME_MAX + 1] = "";
    struct stat s, least;
    int count = 0;
    if (!folder) {
        (void)close(at);
        return;
    }
    for (struct dirent *e; (e = readdir(folder));) { // NOLINT(concurrency-mt-unsafe): the stream is this thread's
        if (!strstr(e->d_name, SUFFIX) || fstatat(dirfd(folder), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (count++ == 0 || is_older(&s, &least)) {
            least = s;
            snprintf(oldest, sizeof oldest, "%s", e->d_name);
        }
    }
    if (count > WM_JIT_FILES) (void)unlinkat(dirfd(folder), oldest, 0);
    (void)closedir(folder);
}

/* Threads of one process may write the same kernel at once; a killed process of the same number may have left its own.
 */
static int open_temporary(int at, const char *name, char *temporary, size_t room) {
    static _Atomic unsigned number;
    for (int tries = 0; tries < 8; tries++) {
        snprintf(temporary, room, "%s.%ld.%u", name, (long)getpid(), number++);
        int fd = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

void wm_jit_file_write(const char *folder, wm_jit_key key, const void *data, size_t bytes) {
    char name[64], temporary[128];
    header h = {.a = key.a, .b = key.b, .bytes = bytes, .crc = wm_crc32c(data, bytes)};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    if (bytes == 0 || bytes > WM_JIT_FILE_BYTES - sizeof h) return;
    int at = open_folder(folder, 1);
    if (at < 0) return;
    name_of(key, name, sizeof name);
    int fd = open_temporary(at, name, temporary, sizeof temporary);
    int good = fd >= 0 && wm_file_write_whole(fd, &h, sizeof h) && wm_file_write_whole(fd, data, bytes);
    if (fd >= 0 && close(fd) != 0) good = 0;
    if (good) good = renameat(at, temporary, at, name) == 0;
    if (!good && fd >= 0) (void)unlinkat(at, temporary, 0);
    make_room(at);
}
