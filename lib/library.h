/* SPDX-License-Identifier: Apache-2.0 */
/* A library that the caller named: an FFTW. Those we know by name are in context.h. */
#ifndef WM_LIB_LIBRARY_H
#define WM_LIB_LIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opens it (never to be closed); NULL with the reason where it is missing or has no symbol `needs`. */
void *wm_library_open(const char *name, const char *needs, char *why, size_t room);

#ifdef __cplusplus
}
#endif

#endif
