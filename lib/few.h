/* SPDX-License-Identifier: Apache-2.0 */
/* What a vendor's solver may leave out where planning only estimates: each answer of its library takes microseconds. */
#ifndef WM_LIB_FEW_H
#define WM_LIB_FEW_H

#include <stdint.h>

/* The capacity that offer() of a vendor's solver is then called with: its first variants, unchecked. make() checks. */
enum { WM_FEW_OFFERS = 2 };

/* Such an offer's workspace may be this: the planner asks once more, with all the capacity, before it takes the offer.
 */
#define WM_WORKSPACE_LATER SIZE_MAX

#endif
