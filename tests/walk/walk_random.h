/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the walk over random draws. */
#ifndef WM_TESTS_WALK_RANDOM_H
#define WM_TESTS_WALK_RANDOM_H

#include "walk.h"

/** Bits, uniforms and normals by any generator, order, rows and source of the key. */
void walk_random_any(walk *w);

/** Key and half of the offset to the place's memory; the arguments hold what must not be looked at. */
void walk_lend_state(walk *w, wmRandomArgs *args, const walk_buffer *state);

/** The state as the draw left it; gives the arguments what they stood for. */
void walk_take_state(walk *w, wmRandomArgs *args, const walk_buffer *state, wmRandomKey key, uint64_t offset);

/** Elements from the first to the last of a draw's rows, gaps included. */
int64_t walk_rows_extent(const wmRandomDesc *d, int64_t count);

/** A draw's elements by the desc's cipher to args->out; table and input are in host memory. */
void walk_expect_cipher(const wmRandomDesc *d, const wmRandomArgs *args);

/** Sobol' points. */
void walk_sobol(walk *w);

#endif
