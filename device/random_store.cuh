/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of 16-byte blocks of random words, where the output lies on 16 bytes when they do, and where it does not. */
#ifndef WM_DEVICE_RANDOM_STORE_CUH
#define WM_DEVICE_RANDOM_STORE_CUH

#include <warpmath/device/base.cuh>

#include "random_draw.h"

/* One access for certain: as a plain assignment the compiler took it apart into four, at a third of the speed. */
WM_DEVICE void wm_store_words(void *to, wm_u32 a, wm_u32 b, wm_u32 c, wm_u32 d) {
    __stcg(reinterpret_cast<uint4 *>(to), make_uint4(a, b, c, d));
}

/*
 * Blocks that start `ahead` words (1 to 3) past a multiple of 16 bytes, a warp's beside each other: each lane stores
 * the 16 bytes below its block's start and up, the tail of the lane below's block and the head of its own. The warp's
 * ends go word by word.
 */
WM_DEVICE void wm_store_shifted(wm_u32 *to, int ahead, const wmWords &w) {
    wm_u32 b1 = wm_shuffle_up(w.w[1], 1), b2 = wm_shuffle_up(w.w[2], 1), b3 = wm_shuffle_up(w.w[3], 1);
    if (wm_lane() > 0) {
        wm_u32 first = ahead == 1 ? b3 : ahead == 2 ? b2 : b1, second = ahead == 1 ? w.w[0] : ahead == 2 ? b3 : b2;
        wm_u32 third = ahead == 1 ? w.w[1] : ahead == 2 ? w.w[0] : b3;
        wm_store_words(to - ahead, first, second, third, ahead == 1 ? w.w[2] : ahead == 2 ? w.w[1] : w.w[0]);
    }
    WM_UNROLL
    for (int k = 0; k < 4; k++)
        if (k < 4 - ahead ? wm_lane() == 0 : wm_lane() == WM_WARP - 1) to[k] = w.w[k];
}

#endif
