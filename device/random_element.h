/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One element of any distribution, as a user's kernel would ask the device headers for it: what the slow judge on the
 * GPU and the CPU share. Plain C.
 */
#ifndef WM_DEVICE_RANDOM_ELEMENT_H
#define WM_DEVICE_RANDOM_ELEMENT_H

#include <warpmath/device/distributions.h>
#include <warpmath/random.h>

/** What to draw: the value job's parts, and what the distributions that reject or look up need. */
typedef struct wm_element_job {
    int distribution, type; /* a wmDistribution, a wmType */
    int element;            /* bytes */
    wmRandomKey key;
    wmInterval32 in32;
    wmInterval64 in64;
    wmIntegers range;
    wmProbability p;
    float half_scale32, std32, mean32;
    double half_scale64, std, mean;
    double location, scale, exponent; /* Weibull's shape is `exponent` */
    wmGammaShape shape, shape2;
    wmTruncated truncated;
    int by_table; /* counts: by the table, which the caller has beside the job */
    wmWideCount wide;
    double geometric;
    wmPermutation permutation;
    const wmAlias *alias;
    wm_u32 categories;
    const float *in;
    wmRounded rounded;
} wm_element_job;

WM_BOTH void wm_put_integer(void *out, int bytes, wm_u64 x) {
    if (bytes == 1)
        *(unsigned char *)out = (unsigned char)x;
    else if (bytes == 2)
        *(unsigned short *)out = (unsigned short)x;
    else if (bytes == 4)
        *(wm_u32 *)out = (wm_u32)x;
    else
        *(wm_u64 *)out = x;
}

/* A value made in f32, in f64: rounded to the type, once more where it has 16 bits. */
WM_BOTH void wm_put_from_f32(void *out, int type, float x) {
    if (type == WM_F32)
        *(float *)out = x;
    else
        wm_put_integer(out, 2, type == WM_BF16 ? wm_bf16_nearest(x) : wm_f16_nearest(x));
}

WM_BOTH void wm_element_uniform(const wm_element_job *job, wm_u64 i, void *out) {
    if (job->type == WM_F64)
        *(double *)out = wm_uniform_any_f64(wmBitsU64(job->key, i), &job->in64);
    else if (job->type == WM_F32)
        *(float *)out = wm_uniform_any_f32(wmBitsU32(job->key, i), &job->in32);
    else
        wm_put_integer(out, 2, wm_uniform_any_16(job->type == WM_BF16, wmBitsU16(job->key, i), &job->in32));
}

WM_BOTH void wm_element_integers(const wm_element_job *job, wm_u64 i, void *out) {
    wm_u64 x;
    if (job->element == 8)
        x = wmIntegersU64(job->key, i, job->range);
    else if (job->element == 1)
        x = wmIntegersU8(job->key, i, job->range);
    else
        x = wmIntegersU32(job->key, i, job->range);
    wm_put_integer(out, job->element, x);
}

WM_BOTH void wm_element_bits(const wm_element_job *job, wm_u64 i, void *out) {
    wm_u64 x;
    if (job->element == 8)
        x = wmBitsU64(job->key, i);
    else if (job->element == 4)
        x = wmBitsU32(job->key, i);
    else
        x = job->element == 2 ? wmBitsU16(job->key, i) : wmBitsU8(job->key, i);
    wm_put_integer(out, job->element, x);
}

/* normal, lognormal, exponential */
WM_BOTH void wm_element_normal(const wm_element_job *job, wm_u64 i, void *out) {
    if (job->type == WM_F64) {
        double x;
        if (job->distribution == WM_RANDOM_EXPONENTIAL)
            x = wm_exponential_f64(wmBitsU64(job->key, i), job->half_scale64);
        else
            x = wm_exact_fma64(wmNormalF64(job->key, i), job->std, job->mean);
        *(double *)out = job->distribution == WM_RANDOM_LOGNORMAL ? wm_exact_exp64(x) : x;
    } else {
        float x;
        if (job->distribution == WM_RANDOM_EXPONENTIAL)
            x = wm_exponential_f32(wmBitsU32(job->key, i), job->half_scale32);
        else
            x = wm_exact_fma32(wmNormalF32(job->key, i), job->std32, job->mean32);
        wm_put_from_f32(out, job->type, job->distribution == WM_RANDOM_LOGNORMAL ? wm_exact_exp32(x) : x);
    }
}

WM_BOTH void wm_put_from_f64(void *out, int type, double x) {
    if (type == WM_F64)
        *(double *)out = x;
    else
        wm_put_from_f32(out, type, (float)x);
}

/** What is made in f64 whatever the type: element i to *out. */
WM_BOTH void wm_element_continuous(const wm_element_job *job, wm_u64 i, void *out) {
    double x;
    switch (job->distribution) {
    case WM_RANDOM_TRUNCATED_NORMAL:
        x = wmTruncatedNormal(job->key, i, &job->truncated);
        break;
    case WM_RANDOM_GAMMA:
    case WM_RANDOM_CHI_SQUARE:
        x = wm_gamma(job->key, i, job->shape);
        break;
    case WM_RANDOM_BETA:
        x = wm_beta(job->key, i, job->shape, job->shape2);
        break;
    case WM_RANDOM_STUDENT_T:
        x = wm_student(job->key, i, job->shape);
        break;
    case WM_RANDOM_LAPLACE:
        x = wmLaplace(job->key, i);
        break;
    case WM_RANDOM_LOGISTIC:
        x = wmLogistic(job->key, i);
        break;
    case WM_RANDOM_CAUCHY:
        x = wmCauchy(job->key, i);
        break;
    case WM_RANDOM_GUMBEL:
        x = wmGumbel(job->key, i);
        break;
    default:
        x = wmWeibull(job->key, i, job->exponent);
        break;
    }
    /* The truncated normal has its line behind it; scale 1 and location 0 change no bit. */
    wm_put_from_f64(out, job->type, wm_exact_fma64(x, job->scale, job->location));
}

/** Counts and choices: element i to *out. */
WM_BOTH void wm_element_discrete(const wm_element_job *job, const wmCountTable *table, wm_u64 i, void *out) {
    wm_u64 x;
    switch (job->distribution) {
    case WM_RANDOM_GEOMETRIC:
        x = wmGeometric(job->key, i, job->geometric);
        break;
    case WM_RANDOM_CATEGORICAL:
        x = wmCategorical(job->key, i, job->alias, job->categories);
        break;
    case WM_RANDOM_PERMUTATION:
        x = wmPermute(&job->permutation, i);
        break;
    default:
        x = job->by_table ? wmCount(job->key, i, table) : wmWideCountDraw(job->key, i, &job->wide);
        break;
    }
    wm_put_integer(out, job->element, x);
}

/** A value rounded at random: element i, place `at` of the input. */
WM_BOTH void wm_element_round(const wm_element_job *job, wm_u64 i, wm_u64 at, void *out) {
    wm_u32 word = job->type == WM_BF16 ? wmBitsU16(job->key, i) << 16 : wmBitsU32(job->key, i);
    wm_put_integer(out, job->element, wmRoundAtRandom(job->in[at], word, job->rounded));
}

/** Row r of the rows that begin with element `offset`, at `out`. */
WM_BOTH void wm_random_row(const wm_element_job *job, const wmRandomArgs *args, wm_u64 offset, long long r, void *out) {
    int n = (int)args->dimension;
    wm_u64 row = offset / (wm_u64)n + (wm_u64)r;
    void *to = (unsigned char *)out + (wm_u64)r * (wm_u64)n * (wm_u64)job->element;
    if (job->distribution == WM_RANDOM_DIRICHLET) {
        if (job->type == WM_F64)
            wmDirichletF64(job->key, row, n, (const double *)args->table, (double *)to);
        else
            wmDirichletF32(job->key, row, n, (const float *)args->table, (float *)to);
    } else if (job->type == WM_F64) {
        wmNormalVectorF64(job->key, row, n, (const double *)args->table, (const double *)args->in, (double *)to);
    } else {
        wmNormalVectorF32(job->key, row, n, (const float *)args->table, (const float *)args->in, (float *)to);
    }
}

/** The simple ones: element i to *out, which is aligned to it. */
WM_BOTH void wm_random_element(const wm_element_job *job, wm_u64 i, void *out) {
    switch (job->distribution) {
    case WM_RANDOM_BITS:
        wm_element_bits(job, i, out);
        break;
    case WM_RANDOM_UNIFORM:
        wm_element_uniform(job, i, out);
        break;
    case WM_RANDOM_INTEGERS:
        wm_element_integers(job, i, out);
        break;
    case WM_RANDOM_BERNOULLI:
        wm_put_integer(out, 1, wmBernoulli(job->key, i, job->p));
        break;
    case WM_RANDOM_MASK:
        wm_put_integer(out, 4, wmBernoulliMask(job->key, i, job->p));
        break;
    default:
        wm_element_normal(job, i, out);
        break;
    }
}

#endif
