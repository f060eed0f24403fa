/* SPDX-License-Identifier: Apache-2.0 */
/* From a checked desc and checked arguments to the job of Sobol' points as values: both places start from it. */
#ifndef WM_REFERENCE_RANDOM_QUANTILE_JOB_H
#define WM_REFERENCE_RANDOM_QUANTILE_JOB_H

#include "device/random_quantile.h"

#ifdef __cplusplus
extern "C" {
#endif

wm_quantile_job wm_quantile_job_make(const wmRandomDesc *desc, const wmRandomArgs *args);

/** Whether it is Sobol' points as a function of one coordinate an element. */
int wm_has_quantile(const wmRandomDesc *desc);

#ifdef __cplusplus
}
#endif

#endif
