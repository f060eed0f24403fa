/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled kernels on disk: one file a key in the user's own cache folder. It is code that we will run, so only a
 * regular file that nobody else could have written is read, never through a link; a damaged one counts as absent.
 */
#ifndef WM_LIB_JIT_FILE_H
#define WM_LIB_JIT_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { WM_JIT_FILES = 1024, WM_JIT_FILE_BYTES = 16 << 20 };

/** What a cubin depends on, hashed twice by different starts. */
typedef struct wm_jit_key {
    uint64_t a, b;
} wm_jit_key;

/** The bytes kept under the key, to be freed; NULL if there are none. */
void *wm_jit_file_read(const char *folder, wm_jit_key key, size_t *bytes);

/** Keeps them: a temporary file, renamed. Fails in silence: the next process compiles again. Old files make room. */
void wm_jit_file_write(const char *folder, wm_jit_key key, const void *data, size_t bytes);

#endif
