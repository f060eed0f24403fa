/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wisdom: what MEASURE found, problem string -> solver and knobs, in memory and in a text file (docs/wisdom.md). It
 * holds names, numbers and times only: no code, no paths, no vendor's list index. A file is read when a context is
 * made, and written only by wmWisdomSave.
 */
#ifndef WARPMATH_WISDOM_H
#define WARPMATH_WISDOM_H

#include <warpmath/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a load, save or forget did. */
typedef struct wmWisdomCount {
    int64_t used;    /**< entries taken, written or forgotten */
    int64_t other;   /**< entries of another device, driver or version: kept in files, not used here */
    int64_t skipped; /**< lines that do not parse or whose checksum is off */
} wmWisdomCount;

/**
 * Merges the file's entries into the context; of two for one problem the one of greater effort, then the newer, stays.
 * count may be NULL. WM_ERR_IO: no such file, not a regular file, another owner's, or writable by others.
 */
WM_API WM_CHECKED wmStatus wmWisdomLoad(wmContext *context, const char *path, wmWisdomCount *count);

/**
 * Merges the context's entries into the file: under a lock, through a temporary file, fsync and rename, so a reader
 * sees the old file or the new one, whole. path NULL: the context's own. Creates missing folders (mode 0700).
 */
WM_API WM_CHECKED wmStatus wmWisdomSave(wmContext *context, const char *path, wmWisdomCount *count);

/**
 * Forgets the entries whose problem string matches `pattern` (* and ?; NULL: all): now in memory, and in the file at
 * the next wmWisdomSave.
 */
WM_API WM_CHECKED wmStatus wmWisdomForget(wmContext *context, const char *pattern, wmWisdomCount *count);

/** The context's entries as text (the file's format) or JSON. Buffer rules as in wmContextInfo. */
WM_API WM_CHECKED wmStatus wmWisdomPrint(wmContext *context, wmTextFormat format, char *buffer, size_t capacity,
                                         size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
