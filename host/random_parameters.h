/* SPDX-License-Identifier: Apache-2.0 */
/* What each distribution asks of its type and its parameters. */
#ifndef WM_HOST_RANDOM_PARAMETERS_H
#define WM_HOST_RANDOM_PARAMETERS_H

#include "args.h"

/** The type, the accuracy and the interval go with the distribution. */
wmStatus wm_random_desc_check(const wmRandomDesc *desc);

/** Checks the distribution's parameters and fills their defaults in. */
wmStatus wm_random_parameters_check(const wmPlan *plan, int reach, wmRandomArgs *args);

/** Bits of the sequence that an element takes from lane 0: 1, 8, 16, 32, 64 or 128. */
int wm_random_element_bits(const wmRandomDesc *desc);

#endif
