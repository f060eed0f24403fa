/* SPDX-License-Identifier: Apache-2.0 */
/* From a checked desc and checked arguments to one element's job: the slow judge and the CPU start from it. */
#ifndef WM_REFERENCE_RANDOM_ELEMENT_JOB_H
#define WM_REFERENCE_RANDOM_ELEMENT_JOB_H

#include "device/random_element.h"

#ifdef __cplusplus
extern "C" {
#endif

wm_element_job wm_element_job_make(const wmRandomDesc *desc, const wmRandomArgs *args);

/** Poisson, binomial: whether these arguments' law goes into a table, and that table. */
int wm_count_by_table(const wmRandomDesc *desc, const wmRandomArgs *args);
void wm_count_table_make(wmCountTable *table, const wmRandomDesc *desc, const wmRandomArgs *args);

/** The distributions that wm_element_continuous, wm_element_discrete and rows are for. */
int wm_is_continuous(wmDistribution distribution);
int wm_is_discrete(wmDistribution distribution);
int wm_is_rows(wmDistribution distribution);

#ifdef __cplusplus
}
#endif

#endif
