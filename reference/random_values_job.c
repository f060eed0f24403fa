/* SPDX-License-Identifier: Apache-2.0 */
/* What the simple draws draw, from desc and arguments. */
#include "random_values_job.h"

static float rounded(wmType type, double x) {
    if (type == WM_F16) return wm_f32_of_f16(wm_f16_nearest((float)x));
    return type == WM_BF16 ? wm_f32_of_bf16(wm_bf16_nearest((float)x)) : (float)x;
}

void wm_value_ends(wmType type, const wmRandomArgs *args, double *low, double *high) {
    *low = type == WM_F64 ? args->low : rounded(type, args->low);
    *high = type == WM_F64 ? args->high : rounded(type, args->high);
}

static void set_uniform(wm_value_job *job, const wmRandomDesc *desc, const wmRandomArgs *args) {
    double low, high;
    wm_value_ends(desc->type, args, &low, &high);
    job->kind = job->element == 8   ? WM_VALUE_UNIFORM_F64
                : job->element == 4 ? WM_VALUE_UNIFORM_F32
                                    : WM_VALUE_UNIFORM_16;
    job->in64 = wmIntervalMakeF64(desc->interval, low, high);
    job->in32 = job->element == 2 ? wmIntervalMake16(job->bf16, desc->interval, (float)low, (float)high)
                                  : wmIntervalMakeF32(desc->interval, (float)low, (float)high);
}

wm_value_job wm_value_job_make(const wmRandomDesc *desc, const wmRandomArgs *args) {
    wm_value_job job = {.key = args->key, .element = (int)wmTypeSize(desc->type)};
    int wide = job.element == 8;
    job.bf16 = desc->type == WM_BF16;
    job.fast = desc->accuracy == WM_ACCURACY_FAST;
    job.scale64 = args->std, job.shift64 = args->mean;
    job.in32.width = 1;
    switch (desc->distribution) {
    case WM_RANDOM_UNIFORM:
        set_uniform(&job, desc, args);
        break;
    case WM_RANDOM_INTEGERS:
        job.range = wmIntegersMake(args->base, args->span);
        job.kind = wide               ? WM_VALUE_INTEGERS_64
                   : job.element == 4 ? WM_VALUE_INTEGERS_32
                   : job.element == 2 ? WM_VALUE_INTEGERS_16
                                      : WM_VALUE_INTEGERS_8;
        break;
    case WM_RANDOM_NORMAL:
        job.kind = wide ? WM_VALUE_NORMAL_F64 : WM_VALUE_NORMAL_F32;
        break;
    case WM_RANDOM_LOGNORMAL:
        job.kind = wide ? WM_VALUE_LOGNORMAL_F64 : WM_VALUE_LOGNORMAL_F32;
        break;
    case WM_RANDOM_EXPONENTIAL:
        job.kind = wide ? WM_VALUE_EXPONENTIAL_F64 : WM_VALUE_EXPONENTIAL_F32;
        job.scale64 = args->rate > 0 ? 0.5 / args->rate : 0.5;
        job.shift64 = 0;
        break;
    default:
        job.kind = WM_VALUE_BITS;
        break;
    }
    job.scale32 = (float)job.scale64, job.shift32 = (float)job.shift64;
    return job;
}
