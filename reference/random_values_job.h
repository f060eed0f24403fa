/* SPDX-License-Identifier: Apache-2.0 */
/* From a checked desc and checked arguments to the simple draws' job: both places start from it. */
#ifndef WM_REFERENCE_RANDOM_VALUES_JOB_H
#define WM_REFERENCE_RANDOM_VALUES_JOB_H

#include <warpmath/random.h>

#include "device/random_values.h"

#ifdef __cplusplus
extern "C" {
#endif

wm_value_job wm_value_job_make(const wmRandomDesc *desc, const wmRandomArgs *args);

/** low and high of a uniform's arguments as the type has them. */
void wm_value_ends(wmType type, const wmRandomArgs *args, double *low, double *high);

#ifdef __cplusplus
}
#endif

#endif
