/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a block's words come from: a generator in counter order, or Philox4x32-10 in cuRAND's order; and cuRAND's
 * uniforms. Shared by the CPU's loop and the kernel random_any. Plain C over the public device headers.
 */
#ifndef WM_DEVICE_RANDOM_SOURCE_H
#define WM_DEVICE_RANDOM_SOURCE_H

#include <warpmath/device/generators.h>

#include "random_draw.h"

/** Sources of words; the first ones are wmGenerator's values. */
enum { WM_SOURCE_CURAND = WM_THREEFRY4X64_20 + 1, WM_SOURCES };

/** Kinds of values beside those of random_draw.h: cuRAND's uniforms on (0, 1]. */
enum { WM_DRAW_CURAND_F32 = WM_DRAW_KINDS, WM_DRAW_CURAND_F64, WM_DRAW_ALL_KINDS };

/** 1 where a call of the cipher makes two blocks. */
WM_BOTH int wm_source_is_wide(int source) {
    return source == WM_PHILOX4X64_10 || source == WM_THREEFRY4X64_20;
}

/**
 * The counter of 16 bytes of output in cuRAND's legacy order, which deals to 65536 sequences in turn: four words a
 * time, or, for f64, which takes two words an element, eight.
 */
WM_BOTH wmWords wm_curand_counter(int pairs, wm_u64 block) {
    wm_u64 turn = pairs ? block >> 1 : block;
    wm_u64 step = pairs ? (turn >> 16) << 1 | (block & 1) : turn >> 16;
    wmWords counter = {
        {(wm_u32)step, (wm_u32)(step >> 32), (wm_u32)turn & 0xffffu, 0}
    };
    return counter;
}

/** Block `block` of elements; pairs: of f64 in cuRAND's order. `source` is a constant where this is inlined. */
WM_BOTH wmWords wm_source_words(int source, int pairs, wmRandomKey key, wm_u64 block) {
    if (source == WM_SOURCE_CURAND)
        return wmPhilox4x32(wm_curand_counter(pairs, block), (wm_u32)key.seed, (wm_u32)(key.seed >> 32));
    return wm_words(source, key, WM_LANE_ELEMENTS, block);
}

/** cuRAND's uniform f32 of a word: (w + 1/2) / 2^32, rounded twice, so that 1 comes and 0 does not. */
WM_BOTH float wm_curand_uniform_f32(wm_u32 word) {
    return wm_exact_fma32((float)word, 2.3283064e-10f, 1.1641532e-10f);
}

/** cuRAND's uniform f64 of two words: 53 bits of their mixture. */
WM_BOTH double wm_curand_uniform_f64(wm_u32 first, wm_u32 second) {
    wm_u64 z = (wm_u64)first ^ (wm_u64)second << 21;
    return wm_exact_fma64((double)z, 1.1102230246251565e-16, 5.551115123125783e-17);
}

/** wm_random_value, which knows only its own kinds, and cuRAND's. */
WM_BOTH wmWords wm_source_value(int kind, wmWords w, const wm_random_line *line) {
    if (kind == WM_DRAW_CURAND_F32) {
        wmWords bits = {
            {wm_exact_bits32(wm_curand_uniform_f32(w.w[0])), wm_exact_bits32(wm_curand_uniform_f32(w.w[1])),
             wm_exact_bits32(wm_curand_uniform_f32(w.w[2])), wm_exact_bits32(wm_curand_uniform_f32(w.w[3]))}
        };
        return bits;
    }
    if (kind == WM_DRAW_CURAND_F64)
        return wm_words_of(wm_exact_bits64(wm_curand_uniform_f64(w.w[0], w.w[1])),
                           wm_exact_bits64(wm_curand_uniform_f64(w.w[2], w.w[3])));
    return wm_random_value(kind, 0, w, line);
}

#endif
