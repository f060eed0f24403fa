/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the walk over random draws. */
#ifndef WM_TESTS_WALK_RANDOM_H
#define WM_TESTS_WALK_RANDOM_H

#include "walk.h"

/** Bits, uniforms and normals by any generator, order, rows and source of the key. */
void walk_random_any(walk *w);

/** Sobol' points. */
void walk_sobol(walk *w);

#endif
