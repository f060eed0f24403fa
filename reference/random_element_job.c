/* SPDX-License-Identifier: Apache-2.0 */
/* What one element of a distribution needs, from desc and arguments. */
#include "random_element_job.h"

#include "random_values_job.h"

int wm_is_continuous(wmDistribution distribution) {
    return distribution == WM_RANDOM_TRUNCATED_NORMAL ||
           (distribution >= WM_RANDOM_GAMMA && distribution <= WM_RANDOM_WEIBULL);
}
int wm_is_discrete(wmDistribution distribution) {
    return (distribution >= WM_RANDOM_POISSON && distribution <= WM_RANDOM_GEOMETRIC) ||
           distribution == WM_RANDOM_CATEGORICAL || distribution == WM_RANDOM_PERMUTATION;
}
int wm_is_rows(wmDistribution distribution) {
    return distribution == WM_RANDOM_NORMAL_VECTORS || distribution == WM_RANDOM_DIRICHLET;
}

static void set_continuous(wm_element_job *job, const wmRandomDesc *desc, const wmRandomArgs *args) {
    wmDistribution d = desc->distribution;
    double low, high, half = d == WM_RANDOM_CHI_SQUARE || d == WM_RANDOM_STUDENT_T ? 0.5 : 1;
    job->location = args->location;
    job->scale = args->scale;
    if (d == WM_RANDOM_TRUNCATED_NORMAL || d == WM_RANDOM_BETA || d == WM_RANDOM_STUDENT_T)
        job->location = 0, job->scale = 1;
    if (d == WM_RANDOM_CHI_SQUARE) job->location = 0, job->scale = 2;
    if (d == WM_RANDOM_GAMMA || d == WM_RANDOM_WEIBULL) job->location = 0;
    job->exponent = args->shape;
    job->shape = wmGammaShapeMake(args->shape * half);
    job->shape2 = wmGammaShapeMake(args->shape2);
    if (d != WM_RANDOM_TRUNCATED_NORMAL) return;
    wm_value_ends(desc->type, args, &low, &high);
    job->truncated = wmTruncatedMake(args->mean, args->std, low, high);
}

static void set_discrete(wm_element_job *job, const wmRandomDesc *desc, const wmRandomArgs *args) {
    job->by_table = wm_count_by_table(desc, args);
    if (desc->distribution == WM_RANDOM_POISSON && !job->by_table) job->wide = wmWidePoissonMake(args->rate);
    if (desc->distribution == WM_RANDOM_BINOMIAL && !job->by_table)
        job->wide = wmWideBinomialMake((double)args->trials, args->p);
    if (desc->distribution == WM_RANDOM_GEOMETRIC) job->geometric = wmGeometricScale(args->p);
    if (desc->distribution == WM_RANDOM_PERMUTATION) job->permutation = wmPermutationMake(args->key, args->span);
    job->alias = args->table;
    job->categories = (uint32_t)args->dimension;
}

static wmRounded rounded_of(wmType type) {
    if (type == WM_F16) return wmRoundedF16();
    if (type == WM_BF16) return wmRoundedBf16();
    return type == WM_F8E4M3 ? wmRoundedE4m3() : wmRoundedE5m2();
}

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
    if (wm_is_continuous(desc->distribution)) set_continuous(&job, desc, args);
    if (wm_is_discrete(desc->distribution)) set_discrete(&job, desc, args);
    if (desc->distribution == WM_RANDOM_ROUND) job.in = args->in, job.rounded = rounded_of(desc->type);
    return job;
}
