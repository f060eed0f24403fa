/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#ifndef WM_TOOL_NPY_HEADER_H
#define WM_TOOL_NPY_HEADER_H

#include <stddef.h>

#include "npy.h"

/* Parses the text after the length field into everything but data. `path` begins the message. */
int wm_npy_parse(const char *path, const char *text, size_t bytes, wm_npy *out);

/* Writes the dictionary, unpadded; returns its length, or more than `capacity` if it did not fit. */
size_t wm_npy_format(const wm_npy *array, char *to, size_t capacity);

#endif
