/* SPDX-License-Identifier: Apache-2.0 */
/* What one element of a distribution needs, from desc and arguments. */
#include "random_element_job.h"

#include "random_values_job.h"

wm_element_job wm_element_job_make(const wmRandomDesc *desc, const wmRandomArgs *args) {
    wm_value_job value = wm_value_job_make(desc, args);
    wm_element_job job = {.distribution = (int)desc->distribution, .type = (int)desc->type, .element = value.element};
    job.key = args->key;
    job.in32 = value.in32, job.in64 = value.in64;
    job.range = value.range;
    job.p = wmProbabilityMake(args->p);
    job.half_scale32 = value.scale32, job.half_scale64 = value.scale64;
    job.std32 = value.scale32, job.mean32 = value.shift32;
    job.std = args->std, job.mean = args->mean;
    return job;
}
