/* SPDX-License-Identifier: Apache-2.0 */
/* From elements to whole blocks, and the choice of an instruction set at run time. */
#include "random_fill.h"

#include <string.h>

int wm_random_source(const wmRandomDesc *desc) {
    return desc->sequence == WM_SEQ_CURAND ? WM_SOURCE_CURAND : (int)desc->generator;
}

wm_random_job wm_random_job_make(const wmRandomDesc *desc, const wmRandomArgs *args) {
    wm_random_job job = {.key = args->key, .element = (int)wmTypeSize(desc->type), .source = wm_random_source(desc)};
    int wide = job.element == 8;
    if (desc->distribution == WM_RANDOM_UNIFORM && desc->sequence == WM_SEQ_CURAND) {
        job.kind = wide ? WM_DRAW_CURAND_F64 : WM_DRAW_CURAND_F32;
    } else if (desc->distribution == WM_RANDOM_UNIFORM) {
        wmRangeF32 f = wmRangeMakeF32((float)args->low, (float)args->high);
        wmRangeF64 d = wmRangeMakeF64(args->low, args->high);
        job.kind = wide ? WM_DRAW_UNIFORM_F64 : WM_DRAW_UNIFORM_F32;
        job.line = (wm_random_line){f.width, f.low, d.width, d.low};
    } else if (desc->distribution == WM_RANDOM_NORMAL) {
        job.kind = wide ? WM_DRAW_NORMAL_F64 : WM_DRAW_NORMAL_F32;
        job.line = (wm_random_line){(float)args->std, (float)args->mean, args->std, args->mean};
    }
    return job;
}

int wm_random_bodies(wm_random_blocks out[WM_RANDOM_BODIES], const char *names[WM_RANDOM_BODIES]) {
    const char *ignored[WM_RANDOM_BODIES];
    if (!names) names = ignored;
    int n = 0;
    out[n] = wm_random_blocks_base, names[n++] = "baseline";
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) out[n] = wm_random_blocks_sse42, names[n++] = "SSE4.2";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        out[n] = wm_random_blocks_avx2, names[n++] = "AVX2";
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        out[n] = wm_random_blocks_avx512, names[n++] = "AVX-512";
#endif
    return n;
}

/* Elements [skip, skip + count) of one block. */
static void part_of_block(const wm_random_job *job, wm_random_blocks body, uint64_t block, int64_t skip, int64_t count,
                          unsigned char *out) {
    wmWords whole;
    body(job, block, 1, (unsigned char *)&whole);
    memcpy(out, (const unsigned char *)&whole + skip * job->element, (size_t)(count * job->element));
}

/* Without a wrap: offset + count <= 2^64. */
static void fill_range(const wm_random_job *job, wm_random_blocks body, uint64_t offset, int64_t count,
                       unsigned char *out) {
    int64_t per_block = 16 / job->element, skip = (int64_t)(offset % (uint64_t)per_block);
    uint64_t block = offset / (uint64_t)per_block;
    if (skip) {
        int64_t part = count < per_block - skip ? count : per_block - skip;
        part_of_block(job, body, block++, skip, part, out);
        out += part * job->element;
        count -= part;
    }
    int64_t whole = count / per_block;
    body(job, block, whole, out);
    if (count % per_block) part_of_block(job, body, block + (uint64_t)whole, 0, count % per_block, out + 16 * whole);
}

void wm_random_fill(const wm_random_job *job, wm_random_blocks body, uint64_t offset, int64_t count, void *out) {
    uint64_t left = 0 - offset; /* elements up to the wrap; 0 stands for 2^64 */
    int64_t first = left && left < (uint64_t)count ? (int64_t)left : count;
    fill_range(job, body, offset, first, out);
    if (first < count) fill_range(job, body, 0, count - first, (unsigned char *)out + first * job->element);
}
