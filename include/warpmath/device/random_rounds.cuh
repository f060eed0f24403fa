/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawing many numbers in a kernel, at the speed of the library's own: a key whose ten round keys are worked out on the
 * host and reach the kernel as a parameter, which saves 20 of the 65 instructions of a block of four words.
 *
 *     __global__ void fill(float *out, const __grid_constant__ wmRandomRounds key) {
 *         wm_u64 first = (wm_u64)blockIdx.x * 1024;              blocks of four numbers: a power of two a thread block
 *         WM_UNROLL
 *         for (int i = wm_thread(); i < 1024; i += 256)
 *             wmStoreF32x4(out + 4 * (first + i), wmNormalF32x4(key, first, i));
 *     }
 *     fill<<<grid, 256>>>(out, wmRandomRoundsMake(wmRandomKeyMake(7)));
 *
 * The numbers are those of random.h for the same key. Any thread may call; no shared memory; registers: what a
 * kernel for sm_90a takes that does nothing else; the same bits everywhere. Source: philox.h, random.h.
 */
#ifndef WARPMATH_DEVICE_RANDOM_ROUNDS_CUH
#define WARPMATH_DEVICE_RANDOM_ROUNDS_CUH

#include <warpmath/device/base.cuh>
#include <warpmath/device/random.h>

/** A key, ready for use: a parameter of a kernel, by value. */
typedef struct wmRandomRounds {
    wm_u32 key[20];
    wm_u32 substream;
} wmRandomRounds;

/** The rounds of a key. On the host, once; in a kernel it costs what it saves. Any thread; 28 registers; bits and
 * source: see the top. */
WM_BOTH wmRandomRounds wmRandomRoundsMake(wmRandomKey key) {
    wmRandomRounds rounds;
    for (wm_u32 r = 0; r < 10; r++) {
        rounds.key[2 * r] = (wm_u32)key.seed + r * 0x9e3779b9u;
        rounds.key[2 * r + 1] = (wm_u32)(key.seed >> 32) + r * 0xbb67ae85u;
    }
    rounds.substream = key.substream;
    return rounds;
}

/** Block first + i of the key's sequence, as wmRandomBlock(key, first + i). The low 32 bits of `first` plus i do not
 * wrap: so with `first` the same for a thread block the first rounds are partly worked out once for all of it. Any
 * thread; 20 registers; bits and source: see the top. */
WM_DEVICE wmWords wmRandomBlock(const wmRandomRounds &key, wm_u64 first, wm_u32 i) {
    wmWords c = {
        {(wm_u32)first + i, (wm_u32)(first >> 32), WM_LANE_ELEMENTS, key.substream}
    };
    WM_UNROLL
    for (int r = 0; r < 10; r++) c = wm_philox_round(c, key.key[2 * r], key.key[2 * r + 1]);
    return c;
}

/** Elements 4 (first + i) … + 3, uniform on [0, 1) in steps of 2^-24. Any thread; 20 registers; bits and source: see
 * the top. */
WM_DEVICE wmF32x4 wmUniformF32x4(const wmRandomRounds &key, wm_u64 first, wm_u32 i) {
    wmWords w = wmRandomBlock(key, first, i);
    wmF32x4 u = {
        {wm_uniform_f32(w.w[0]), wm_uniform_f32(w.w[1]), wm_uniform_f32(w.w[2]), wm_uniform_f32(w.w[3])}
    };
    return u;
}

/** Elements 4 (first + i) … + 3, standard normal. Any thread; 20 registers; bits and source: see the top. */
WM_DEVICE wmF32x4 wmNormalF32x4(const wmRandomRounds &key, wm_u64 first, wm_u32 i) {
    wmWords w = wmRandomBlock(key, first, i);
    wmF32x4 z;
    wm_normal_f32(w.w[0], w.w[1], &z.v[0], &z.v[1]);
    wm_normal_f32(w.w[2], w.w[3], &z.v[2], &z.v[3]);
    return z;
}

/** Elements 2 (first + i) and the next, uniform on [0, 1) in steps of 2^-53. Any thread; 10 registers; bits and source:
 * see the top. */
WM_DEVICE wmF64x2 wmUniformF64x2(const wmRandomRounds &key, wm_u64 first, wm_u32 i) {
    wmWords w = wmRandomBlock(key, first, i);
    wmF64x2 u = {
        {wm_uniform_f64(w.w[0], w.w[1]), wm_uniform_f64(w.w[2], w.w[3])}
    };
    return u;
}

/** Elements 2 (first + i) and the next, standard normal. Any thread; 22 registers; bits and source: see the top. */
WM_DEVICE wmF64x2 wmNormalF64x2(const wmRandomRounds &key, wm_u64 first, wm_u32 i) {
    wmWords w = wmRandomBlock(key, first, i);
    wmF64x2 z;
    wm_normal_f64(w.w[0] | (wm_u64)w.w[1] << 32, w.w[2] | (wm_u64)w.w[3] << 32, &z.v[0], &z.v[1]);
    return z;
}

/** Stores four numbers, or two, in one access of 16 bytes, to which `to` is aligned: as plain assignments the compiler
 * may take it apart, at a third of the speed. Any thread; 14 registers; exact; source: see the top. */
WM_DEVICE void wmStoreF32x4(float *to, wmF32x4 x) {
    __stcg(reinterpret_cast<uint4 *>(to), make_uint4(wm_exact_bits32(x.v[0]), wm_exact_bits32(x.v[1]),
                                                     wm_exact_bits32(x.v[2]), wm_exact_bits32(x.v[3])));
}

/** The same of two doubles. Any thread; `to` aligned to 16 bytes; 14 registers; exact; source: see the top. */
WM_DEVICE void wmStoreF64x2(double *to, wmF64x2 x) {
    wm_u64 a = wm_exact_bits64(x.v[0]), b = wm_exact_bits64(x.v[1]);
    __stcg(reinterpret_cast<uint4 *>(to), make_uint4((wm_u32)a, (wm_u32)(a >> 32), (wm_u32)b, (wm_u32)(b >> 32)));
}

#endif
