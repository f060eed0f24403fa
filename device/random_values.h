/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws whose elements each come from a fixed part of the sequence: what they are, and 16 bytes of output at a time
 * from the one, two or four blocks behind them. Both places use it. Plain C over the public device headers.
 */
#ifndef WM_DEVICE_RANDOM_VALUES_H
#define WM_DEVICE_RANDOM_VALUES_H

#include <warpmath/device/dist_basic.h>

typedef enum wm_value_kind {
    WM_VALUE_BITS, /* any integers: the same memory */
    WM_VALUE_UNIFORM_16,
    WM_VALUE_UNIFORM_F32,
    WM_VALUE_UNIFORM_F64,
    WM_VALUE_INTEGERS_8,
    WM_VALUE_INTEGERS_16,
    WM_VALUE_INTEGERS_32,
    WM_VALUE_INTEGERS_64,
    WM_VALUE_NORMAL_F32, /* f32, f16, bf16: these and the next two */
    WM_VALUE_EXPONENTIAL_F32,
    WM_VALUE_LOGNORMAL_F32,
    WM_VALUE_NORMAL_F64,
    WM_VALUE_EXPONENTIAL_F64,
    WM_VALUE_LOGNORMAL_F64,
    WM_VALUE_KINDS
} wm_value_kind;

/** What to draw, without the range. */
typedef struct wm_value_job {
    wmRandomKey key;
    int kind;    /* a wm_value_kind */
    int element; /* bytes of one */
    int bf16;    /* of the two 16-bit floats this one */
    int fast;
    float scale32, shift32; /* normal: std and mean; exponential: half the scale */
    double scale64, shift64;
    wmInterval32 in32;
    wmInterval64 in64;
    wmIntegers range;
} wm_value_job;

/** Blocks of the sequence behind 16 bytes of output: 1 or 2. */
WM_BOTH int wm_value_blocks(int kind, int element) {
    if (kind == WM_VALUE_INTEGERS_8 || kind == WM_VALUE_INTEGERS_16) return 2;
    return kind >= WM_VALUE_NORMAL_F32 && kind <= WM_VALUE_LOGNORMAL_F32 && element == 2 ? 2 : 1;
}

/* A loop that stays one on a GPU. */
#ifdef __CUDA_ARCH__
#define WM_VALUE_ROLL _Pragma("unroll 1")
#else
#define WM_VALUE_ROLL
#endif

/* Four f32 of a block. `fast` and `plain` (no scale, no shift) are constants where this is inlined. */
WM_BOTH void wm_value_f32(int kind, int fast, int plain, const wm_value_job *job, const wmWords *w, float f[4]) {
    if (kind == WM_VALUE_EXPONENTIAL_F32) {
        for (int i = 0; i < 4; i++)
            f[i] = fast ? wm_exponential_fast_f32(w->w[i], job->scale32) : wm_exponential_f32(w->w[i], job->scale32);
        return;
    }
    for (int i = 0; i < 4; i += 2) {
        if (fast)
            wm_normal_fast_f32(w->w[i], w->w[i + 1], &f[i], &f[i + 1]);
        else
            wm_normal_f32(w->w[i], w->w[i + 1], &f[i], &f[i + 1]);
    }
    for (int i = 0; i < 4; i++) {
        if (!plain) f[i] = wm_exact_fma32(f[i], job->scale32, job->shift32);
        if (kind == WM_VALUE_LOGNORMAL_F32) f[i] = fast ? wm_exp_fast_f32(f[i]) : wm_exact_exp32(f[i]);
    }
}

/* Two f64 of a block. */
WM_BOTH wmWords wm_value_f64(int kind, const wm_value_job *job, const wmWords *w) {
    wm_u64 a = wm_pair_u64(w->w[0], w->w[1]), b = wm_pair_u64(w->w[2], w->w[3]);
    double d[2];
    if (kind == WM_VALUE_UNIFORM_F64) {
        d[0] = wm_uniform_any_f64(a, &job->in64);
        d[1] = wm_uniform_any_f64(b, &job->in64);
    } else if (kind == WM_VALUE_EXPONENTIAL_F64) {
        d[0] = wm_exponential_f64(a, job->scale64);
        d[1] = wm_exponential_f64(b, job->scale64);
    } else {
        wm_normal_f64(a, b, &d[0], &d[1]);
        for (int i = 0; i < 2; i++) {
            d[i] = wm_exact_fma64(d[i], job->scale64, job->shift64);
            if (kind == WM_VALUE_LOGNORMAL_F64) d[i] = wm_exact_exp64(d[i]);
        }
    }
    a = wm_exact_bits64(d[0]), b = wm_exact_bits64(d[1]);
    wmWords out = {
        {(wm_u32)a, (wm_u32)(a >> 32), (wm_u32)b, (wm_u32)(b >> 32)}
    };
    return out;
}

/* Four rejections as bits, and the first of them: few iterations where a warp's lanes have one each. */
WM_BOTH wm_u32 wm_value_flags(const wm_u32 no[4]) {
    return no[0] | no[1] << 1 | no[2] << 2 | no[3] << 3;
}
WM_BOTH int wm_value_first(wm_u32 left) {
    return left & 1 ? 0 : left & 2 ? 1 : left & 4 ? 2 : 3;
}

/* Four integers of at most 32 bits of a block; `element` is the first one's index. Rejections are rare: one test for
 * all, then one copy of the retry. */
WM_BOTH wmWords wm_value_integers_32(const wm_value_job *job, const wmWords *w, wm_u64 element) {
    wmWords x;
    wm_u32 no[4];
    if ((wm_u32)job->range.span == 0) {
        for (int i = 0; i < 4; i++) x.w[i] = w->w[i] + (wm_u32)job->range.base;
        return x;
    }
    for (int i = 0; i < 4; i++) x.w[i] = wm_integer_32(w->w[i], &job->range, &no[i]);
    if (no[0] | no[1] | no[2] | no[3]) {
        WM_VALUE_ROLL
        for (wm_u32 left = wm_value_flags(no); left; left &= left - 1) {
            int i = wm_value_first(left);
            wm_u32 again = wm_integer_retry_32(job->key, element + (wm_u64)i, &job->range);
            for (int m = 0; m < 4; m++) x.w[m] = m == i ? again : x.w[m];
        }
    }
    return x;
}

/* Four integers of at most 8 bits of two words' halves, as bytes of one. */
WM_BOTH wm_u32 wm_value_integers_8(const wm_value_job *job, wm_u32 a, wm_u32 b, wm_u64 element) {
    wm_u32 half[4] = {a & 0xffffu, a >> 16, b & 0xffffu, b >> 16}, no[4], x = 0;
    wm_u32 base = (wm_u32)job->range.base;
    if (job->range.span == 0) {
        for (int i = 0; i < 4; i++) x |= ((half[i] + base) & 0xffu) << 8 * i;
        return x;
    }
    for (int i = 0; i < 4; i++) x |= (wm_integer_16(half[i], &job->range, &no[i]) & 0xffu) << 8 * i;
    if (no[0] | no[1] | no[2] | no[3]) {
        WM_VALUE_ROLL
        for (wm_u32 left = wm_value_flags(no); left; left &= left - 1) {
            int i = wm_value_first(left);
            wm_u32 again = wm_integer_retry_16(job->key, element + (wm_u64)i, &job->range) & 0xffu;
            x = (x & ~(0xffu << 8 * i)) | again << 8 * i;
        }
    }
    return x;
}

/**
 * 16 bytes of output, chunk `chunk` of the job's memory, from their blocks. `kind`, `element`, `fast` and `plain` are
 * constants where this is inlined; plain: the interval is [0, 1), the normal is standard.
 */
WM_BOTH wmWords wm_value_chunk(int kind, int element, int fast, int plain, const wm_value_job *job, wm_u64 chunk,
                               const wmWords *w) {
    wmWords x = w[0];
    if (kind == WM_VALUE_UNIFORM_16) {
        for (int i = 0; i < 4; i++)
            x.w[i] = plain ? wm_uniform_pair_16(job->bf16, w->w[i])
                           : wm_uniform_any_16(job->bf16, w->w[i] & 0xffffu, &job->in32) |
                                 wm_uniform_any_16(job->bf16, w->w[i] >> 16, &job->in32) << 16;
    } else if (kind == WM_VALUE_UNIFORM_F32) {
        for (int i = 0; i < 4; i++) x.w[i] = wm_exact_bits32(wm_uniform_any_f32(w->w[i], &job->in32));
    } else if (kind == WM_VALUE_INTEGERS_8) {
        for (int i = 0; i < 4; i++) {
            const wmWords *block = &w[i / 2];
            x.w[i] = wm_value_integers_8(job, block->w[i % 2 * 2], block->w[i % 2 * 2 + 1], 16 * chunk + 4 * (wm_u64)i);
        }
    } else if (kind == WM_VALUE_INTEGERS_16) {
        wmWords a = wm_value_integers_32(job, &w[0], 8 * chunk), b = wm_value_integers_32(job, &w[1], 8 * chunk + 4);
        for (int i = 0; i < 2; i++) {
            x.w[i] = (a.w[2 * i] & 0xffffu) | a.w[2 * i + 1] << 16;
            x.w[i + 2] = (b.w[2 * i] & 0xffffu) | b.w[2 * i + 1] << 16;
        }
    } else if (kind == WM_VALUE_INTEGERS_32) {
        x = wm_value_integers_32(job, w, 4 * chunk);
    } else if (kind == WM_VALUE_INTEGERS_64) {
        wm_u64 z[2] = {wm_pair_u64(w->w[0], w->w[1]), wm_pair_u64(w->w[2], w->w[3])};
        for (int i = 0; i < 2; i++) {
            z[i] = job->range.span == 0 ? z[i] + job->range.base
                                        : wm_integer_64(z[i], job->key, 2 * chunk + (wm_u64)i, &job->range);
            x.w[2 * i] = (wm_u32)z[i];
            x.w[2 * i + 1] = (wm_u32)(z[i] >> 32);
        }
    } else if (kind == WM_VALUE_UNIFORM_F64 || kind >= WM_VALUE_NORMAL_F64) {
        x = wm_value_f64(kind, job, w);
    } else if (kind >= WM_VALUE_NORMAL_F32 && element == 2) {
        float f[8];
        wm_value_f32(kind, fast, plain, job, &w[0], f);
        wm_value_f32(kind, fast, plain, job, &w[1], f + 4);
        for (int i = 0; i < 4; i++) x.w[i] = wm_pack_nearest(job->bf16, f[2 * i], f[2 * i + 1]);
    } else if (kind >= WM_VALUE_NORMAL_F32) {
        float f[4];
        wm_value_f32(kind, fast, plain, job, w, f);
        for (int i = 0; i < 4; i++) x.w[i] = wm_exact_bits32(f[i]);
    }
    return x;
}

#endif
