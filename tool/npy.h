/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's .npy files: one array, a text header before it.
 *
 * Read: format versions 1, 2 and 3; C and Fortran order; little-endian f2 f4 f8 c8 c16 b1 i1 i2 i4 i8 u1 u2 u4 u8.
 * Everything else (big-endian, object, string, structured, long double) is refused by name. The header is parsed as
 * the small grammar it is, never evaluated. The file must hold exactly the bytes that the header promises.
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
#ifndef WM_TOOL_NPY_H
#define WM_TOOL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpmath/types.h>

#include "output.h"

enum {
    WM_NPY_RANK = 64,    /* NumPy 2's limit */
    WM_NPY_HEADER = 2048 /* room for the longest header that wm_npy_write_header() makes */
};

typedef struct wm_npy {
    char kind; /* 'f' 'c' 'b' 'i' 'u' */
    int item;  /* bytes of an element */
    bool fortran;
    int rank;
    int64_t shape[WM_NPY_RANK];
    int64_t count; /* elements: the product of the shape, 1 for rank 0 */
    void *data;    /* 64-byte aligned; owned */
} wm_npy;

/* Reads a whole file; on failure *out holds nothing to free. */
int wm_npy_read(const char *path, wm_npy *out);

void wm_npy_free(wm_npy *array);

/* Fills kind, item and count from a NumPy type name ("f4") and a shape; refuses what the format or size_t cannot hold.
 * data stays NULL. `what` begins the message. */
int wm_npy_describe(wm_npy *out, const char *what, const char *dtype, int rank, const int64_t shape[]);

/* Allocates data for a described array. */
int wm_npy_allocate(wm_npy *array, const char *what);

/* Writes the header (format version 1). The data follow by wm_output_write(), in one go or in slices. */
int wm_npy_write_header(wm_output *out, const wm_npy *array);

/* Writes header and data of a whole array to an open output, and commits it. */
int wm_npy_write_to(wm_output *out, const wm_npy *array);

/* The same from opening on. */
int wm_npy_write(const char *path, const wm_npy *array);

/* The wmType of the elements; WM_U8 for bool; bf16 is indistinguishable from u2 here. */
wmType wm_npy_type(const wm_npy *array);

/* NumPy's short name of a wmType, "u2" for bf16; NULL if NumPy has none. */
const char *wm_npy_dtype(wmType type);

#endif
