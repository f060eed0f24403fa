/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functors of transforms and products, kept once a process: two that are equal in all their members get the same
 * `source` pointer, which then stands for them in problems. Nothing is freed, as problems are copied freely.
 */
#ifndef WM_LIB_FUNCTOR_H
#define WM_LIB_FUNCTOR_H

#include "status.h"
#include <warpmath/fft.h>
#include <warpmath/matmul.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Replaces the caller's texts by the kept ones (source "" where there is none); no functor: all becomes zero. */
wmStatus wm_functor_keep_load(wmFftLoad *load);
wmStatus wm_functor_keep_store(wmFftStore *store);
wmStatus wm_functor_keep_matmul(wmMatmulFunctor *given);

/** A word for problem strings, "name:hash" of source, name and type. */
#define WM_FUNCTOR_TEXT 96
void wm_functor_print(const char *source, char out[WM_FUNCTOR_TEXT]);

/** The kept functor that prints so; 0: there is none. */
int wm_functor_find_load(const char *text, size_t length, wmFftLoad *out);
int wm_functor_find_store(const char *text, size_t length, wmFftStore *out);
int wm_functor_find_matmul(const char *text, size_t length, wmMatmulFunctor *out);

#ifdef __cplusplus
}
#endif

#endif
