/* SPDX-License-Identifier: Apache-2.0 */
/* Where the CUDA libraries of a process may lie. */
#ifndef WM_LIB_FOLDERS_H
#define WM_LIB_FOLDERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Takes one folder, without a final slash; 1 ends the walk. */
typedef int (*wm_folder_visit)(void *user, const char *folder);

/**
 * Visits, in this order: WARPMATH_CUDA_LIBS, the folder of a loaded libcudart, CUDA_HOME and CUDA_PATH (else
 * /usr/local/cuda), the `wheel` folders (a NULL-terminated list of names under nvidia/) of Python environments.
 */
void wm_cuda_folders(const char *const wheel[], wm_folder_visit visit, void *user);

/**
 * The user's own cache folder with `below` behind it, as an absolute path: WARPMATH_CACHE_DIR, XDG_CACHE_HOME/warpmath,
 * HOME/.cache/warpmath; "" where none is set: no default in a shared folder, none relative to the working folder.
 */
void wm_cache_folder(char *out, size_t room, const char *below);

#ifdef __cplusplus
}
#endif

#endif
