/* SPDX-License-Identifier: Apache-2.0 */
/* From a checked desc and checked arguments to one element's job: the slow judge and the CPU start from it. */
#ifndef WM_REFERENCE_RANDOM_ELEMENT_JOB_H
#define WM_REFERENCE_RANDOM_ELEMENT_JOB_H

#include "device/random_element.h"

#ifdef __cplusplus
extern "C" {
#endif

wm_element_job wm_element_job_make(const wmRandomDesc *desc, const wmRandomArgs *args);

#ifdef __cplusplus
}
#endif

#endif
