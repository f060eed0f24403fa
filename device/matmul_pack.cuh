/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies matrices of 16-bit elements, at any address and leading dimension, to where the copy engine can read them:
 * rows begin at multiples of 16 bytes. Bound by memory: 8 bytes a pair of elements' worth of traffic, two elements a
 * thread and step, four steps at a time.
 */
#ifndef WM_DEVICE_MATMUL_PACK_CUH
#define WM_DEVICE_MATMUL_PACK_CUH

#include <warpmath/device/base.cuh>

enum { WM_PACK_THREADS = 256, WM_PACK_STEPS = 4 };

typedef struct wm_pack_job {
    const wm_u16 *from;
    wm_u32 *to;
    wm_i64 rows, batch;           /* rows of columns contiguous elements */
    wm_i64 from_row, from_batch;  /* elements between rows, and between matrices */
    wm_i64 to_row, to_batch;      /* pairs */
    int columns, lanes, segments; /* lanes: threads beside each other on a row; segments: of a row, to a block */
} wm_pack_job;

WM_DEVICE void wm_pack_row(const wm_u16 *from, wm_u32 *to, int first, int lanes, int columns) {
    wm_u16 low[WM_PACK_STEPS] = {}, high[WM_PACK_STEPS] = {};
    WM_UNROLL
    for (int s = 0; s < WM_PACK_STEPS; s++) {
        int column = 2 * (first + s * lanes);
        if (column < columns) low[s] = from[column];
        if (column + 1 < columns) high[s] = from[column + 1];
    }
    WM_UNROLL
    for (int s = 0; s < WM_PACK_STEPS; s++)
        if (2 * (first + s * lanes) < columns) to[first + s * lanes] = low[s] | (wm_u32)high[s] << 16;
}

/** A block's threads take 256 / lanes rows at a time. */
WM_KERNEL __launch_bounds__(WM_PACK_THREADS) wm_matmul_pack_kernel(WM_PARAMS(wm_pack_job)) {
    int lane = wm_thread() % p.lanes, down = WM_PACK_THREADS / p.lanes;
    wm_i64 groups = (p.rows + down - 1) / down, units = groups * p.segments * p.batch;
    for (wm_i64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
        wm_i64 rest = unit / p.segments, t = rest / groups, row = (rest - t * groups) * down + wm_thread() / p.lanes;
        int first = (int)(unit - rest * p.segments) * p.lanes * WM_PACK_STEPS + lane;
        if (row < p.rows)
            wm_pack_row(p.from + t * p.from_batch + row * p.from_row, p.to + t * p.to_batch + row * p.to_row, first,
                        p.lanes, p.columns);
    }
}

#endif
