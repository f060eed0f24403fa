/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own files, wisdom's and compiled kernels': whom to trust, folders, and reading and writing whole. */
#ifndef WM_LIB_FILES_H
#define WM_LIB_FILES_H

#include <stddef.h>
#include <sys/stat.h>

/** 1 if it is the user's or root's, and nobody else may write it. */
int wm_file_is_trusted(const struct stat *s);

/** Opens a folder, made first with its parents (mode 0700) if `make`; more flags for open(2) in `flags`. -1: errno. */
int wm_folder_open(const char *folder, int make, int flags);

/** Reads up to `bytes` bytes, as many as there are, and gives how many; -1: errno. */
long long wm_file_read_whole(int fd, void *to, size_t bytes);

/** Writes them all: 1; 0: errno. */
int wm_file_write_whole(int fd, const void *from, size_t bytes);

#endif
