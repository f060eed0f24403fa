/* SPDX-License-Identifier: Apache-2.0 */
/* What wisdom files and files of compiled kernels share. */
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int wm_file_is_trusted(const struct stat *s) {
    return (s->st_uid == geteuid() || s->st_uid == 0) && !(s->st_mode & (S_IWGRP | S_IWOTH));
}

static void make_folders(const char *folder) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700); /* opening it will tell what went wrong */
}

int wm_folder_open(const char *folder, int make, int flags) {
    if (make) make_folders(folder);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
}

long long wm_file_read_whole(int fd, void *to, size_t bytes) {
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = read(fd, (char *)to + got, bytes - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        got += (size_t)n;
    }
    return (long long)got;
}

int wm_file_write_whole(int fd, const void *from, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(fd, (const char *)from + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        done += (size_t)n;
    }
    return 1;
}
