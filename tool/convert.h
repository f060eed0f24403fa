/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in another element type or in C order. */
#ifndef WM_TOOL_CONVERT_H
#define WM_TOOL_CONVERT_H

#include "npy.h"

/* One element as (re, im), exact but for i8 and u8 beyond 2^53. `type` may be WM_BF16. */
void wm_convert_read(wmType type, const void *from, int64_t index, double value[2]);

/* Writes an element, rounded to nearest even. f16 bf16 f32 f64 c64 c128 only. */
void wm_convert_write(wmType type, void *to, int64_t index, const double value[2]);

/*
 * Gives the array the element type `to` (f16 bf16 f32 f64 c64 c128). u2 elements become bf16 as they are, bit by bit.
 * Complex numbers do not become real ones.
 */
int wm_convert_array(wm_npy *array, const char *path, wmType to);

/* Rearranges a Fortran-order array of any rank to C order. */
int wm_convert_to_c_order(wm_npy *array, const char *path);

#endif
