/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed transforms by tiles that the copy engine brings and takes away, compiled at plan time for one cut:
 *
 *     global -> tile (bulk copy) -> passes in place -> tile -> global (bulk copy);  S tiles a block, taken in turns
 *
 * A tile is `batch` transforms as they lie in memory, so no thread computes an address of global memory, and what is on
 * its way needs no registers. The last pass reads reversed digits and writes natural order. Where elements that lie as
 * in memory would meet in few banks, the first pass moves them to where there are pads between them (slab > n).
 */
#ifndef WM_DEVICE_FFT_TILE_CUH
#define WM_DEVICE_FFT_TILE_CUH

#include <warpmath/device/bulk.cuh>

#include "device/fft_block_passes.cuh"
#include "device/fft_tile.h"

#ifdef WM_SIMT
#define WM_FFT_TILE_TURNS const int STAGES = p.stages
#else
#define WM_FFT_TILE_TURNS constexpr int STAGES = WM_FFT_STAGES
#endif

template <class C>
WM_DEVICE C *wm_fft_tile_at(int stage) {
    return reinterpret_cast<C *>(wm_shared<char>() + WM_FFT_TILE_HEAD) + stage * (WM_FFT_THE(slab) * WM_FFT_THE(batch));
}

/** Elements of tile number `tile`; the last one may be short. */
WM_DEVICE int wm_fft_tile_elements(const wm_fft_tile_job &p, wm_i64 tile) {
    WM_FFT_FIXED B = WM_FFT_THE(batch), N = WM_FFT_THE(n);
    return (int)wm_min((wm_i64)B, p.count - tile * B) * N;
}

/** Starts to bring a tile; one thread calls. The engine moves multiples of 16 bytes: one element may be left. */
template <class C>
WM_DEVICE void wm_fft_tile_load(const wm_fft_tile_job &p, int stage, wm_i64 tile) {
    WM_FFT_FIXED ALL = WM_FFT_THE(batch) * WM_FFT_THE(n);
    wm_mbarrier *full = wm_shared<wm_mbarrier>() + stage;
    int bytes = wm_fft_tile_elements(p, tile) * (int)sizeof(C) & ~15;
    wm_mbarrier_expect(full, bytes);
    wm_bulk_load(wm_fft_tile_at<C>(stage), static_cast<const C *>(p.in) + tile * ALL, bytes, full);
}

template <class C>
WM_DEVICE void wm_fft_tile_store(const wm_fft_tile_job &p, int stage, wm_i64 tile) {
    WM_FFT_FIXED ALL = WM_FFT_THE(batch) * WM_FFT_THE(n);
    int elements = wm_fft_tile_elements(p, tile), bytes = elements * (int)sizeof(C);
    C *out = static_cast<C *>(p.out) + tile * ALL;
    wm_bulk_store(out, wm_fft_tile_at<C>(stage), bytes & ~15);
    wm_tma_commit();
    if (bytes & 15) out[elements - 1] = wm_fft_tile_at<C>(stage)[elements - 1];
}

/** What the engine left of a short tile, and zeros for the transforms that it lacks. */
template <class C>
WM_FFT_DEVICE void wm_fft_tile_complete(const wm_fft_tile_job &p, C *slabs, wm_i64 tile) {
    WM_FFT_FIXED ALL = WM_FFT_THE(batch) * WM_FFT_THE(n), THREADS = WM_FFT_THE(batch) * WM_FFT_THE(threads);
    int elements = wm_fft_tile_elements(p, tile);
    if (elements == ALL) return;
    for (int i = elements + wm_thread(); i < ALL; i += THREADS) slabs[i] = C{0, 0};
    if (wm_thread() == 0 && (elements * (int)sizeof(C) & 15))
        slabs[elements - 1] = static_cast<const C *>(p.in)[tile * ALL + elements - 1];
    wm_barrier();
}

/** The first pass, from as it lies in memory to between the pads. */
template <class C>
WM_FFT_DEVICE void wm_fft_tile_spread(const wm_fft_tile_job &p, const C *from, C *slab, int t) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0);
    WM_FFT_FIXED U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    using real = decltype(C().re);
    C x[wm_fft_k::most()];
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        C *v = x + u * R;
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = from[j + k * N];
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k].im *= (real)p.sign;
        wm_fft_dft_of<wm_fft_k, 0>(v);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), j);
    }
    wm_barrier();
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, x + u * R);
    }
}

template <class C>
WM_FFT_DEVICE void wm_fft_tile_first(const wm_fft_tile_job &p, C *slab, int t) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    using real = decltype(C().re);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        C v[wm_fft_k::most()];
        wm_fft_read<wm_fft_k, 0>(v, slab, slot);
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k].im *= (real)p.sign;
        wm_fft_dft_of<wm_fft_k, 0>(v);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, v);
    }
}

/** From reversed digits to natural order, through registers. */
template <class C>
WM_FFT_DEVICE void wm_fft_tile_last(const wm_fft_tile_job &p, const C *slab, C *to, int t) {
    WM_FFT_FIXED P = wm_fft_k::passes(), R = wm_fft_k::radix(P - 1), M = WM_FFT_THE(n) / R, T = WM_FFT_THE(threads);
    WM_FFT_FIXED STEP = wm_fft_step<wm_fft_k>(P - 1), U = (M + T - 1) / T;
    using real = decltype(C().re);
    const real re = (real)p.scale, im = (real)(p.scale * p.sign);
    C x[wm_fft_k::most()];
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int q = t + T * u;
        if (M % T != 0 && q >= M) continue;
        const int slot = wm_fft_reversed<wm_fft_k>(q);
        C *v = x + u * R;
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = slab[slot + k * STEP];
        WM_UNROLL
        for (int k = 0; k < R; k++)
            if (P == 1) v[k].im *= (real)p.sign;
        wm_fft_dft_last(v);
    }
    WM_FFT_IF(WM_FFT_THE(slab) > WM_FFT_THE(n)) {
        wm_barrier();
    }
    else WM_FFT_IF(P > 1) {
        wm_fft_meet<wm_fft_k>();
    }
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int q = t + T * u;
        if (M % T != 0 && q >= M) continue;
        WM_UNROLL
        for (int k = 0; k < R; k++) to[q + k * M] = C{x[u * R + k].re * re, x[u * R + k].im * im};
    }
}

template <class C>
WM_DEVICE void wm_fft_tile_transform(const wm_fft_tile_job &p, C *slabs) {
    WM_FFT_FIXED P = wm_fft_k::passes(), T = WM_FFT_THE(threads), N = WM_FFT_THE(n);
    C *as_it_lies = slabs + wm_thread() / T * N, *slab = slabs + wm_thread() / T * WM_FFT_THE(slab);
    const int t = wm_thread() % T;
    WM_FFT_IF(P > 1) {
        WM_FFT_IF(WM_FFT_THE(slab) > N) {
            wm_fft_tile_spread(p, as_it_lies, slab, t);
        }
        else {
            wm_fft_tile_first(p, slab, t);
        }
        wm_fft_forward_middle<wm_fft_k, 1>(slab, static_cast<const C *>(p.twiddles), t);
        wm_fft_meet<wm_fft_k>();
    }
    wm_fft_tile_last(p, slab, as_it_lies, t);
}

/** Makes the barriers, and starts as many loads as there is room for. */
template <class C>
WM_DEVICE void wm_fft_tile_begin(const wm_fft_tile_job &p, wm_i64 tiles) {
    WM_FFT_TILE_TURNS;
    wm_mbarrier *full = wm_shared<wm_mbarrier>();
    if (wm_thread() == 0) {
        for (int s = 0; s < STAGES; s++) wm_mbarrier_init(full + s, 1);
        wm_mbarrier_init_fence();
    }
    wm_barrier();
    if (wm_thread() != 0) return;
    wm_i64 tile = blockIdx.x;
    for (int s = 0; s < STAGES && tile < tiles; s++, tile += gridDim.x) wm_fft_tile_load<C>(p, s, tile);
}

template <class C>
WM_DEVICE void wm_fft_tile_run(const wm_fft_tile_job &p) {
    WM_FFT_TILE_TURNS;
    const wm_i64 tiles = wm_divide_up(p.count, (wm_i64)WM_FFT_THE(batch));
    int stage = 0, parity = 0;
    wm_fft_tile_begin<C>(p, tiles);
    for (wm_i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        C *slabs = wm_fft_tile_at<C>(stage);
        wm_mbarrier_wait(wm_shared<wm_mbarrier>() + stage, parity);
        wm_fft_tile_complete(p, slabs, tile);
        wm_fft_tile_transform(p, slabs);
        wm_async_fence();
        wm_barrier();
        if (wm_thread() == 0) { /* the tile before this one has left: its room is for the one after the next S - 1 */
            wm_tma_wait_read<0>();
            wm_i64 next = tile + (wm_i64)(STAGES - 1) * gridDim.x;
            if (tile != blockIdx.x && next < tiles) wm_fft_tile_load<C>(p, stage ? stage - 1 : STAGES - 1, next);
            wm_fft_tile_store<C>(p, stage, tile);
        }
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
    if (wm_thread() == 0) wm_tma_wait_read<0>();
}

#ifdef WM_SIMT
WM_KERNEL wm_fft_tile_f32(WM_PARAMS(wm_fft_tile_job)) {
    wm_fft_cut_set(&p.cut);
    wm_fft_tile_run<wmC64>(p);
}
WM_KERNEL wm_fft_tile_f64(WM_PARAMS(wm_fft_tile_job)) {
    wm_fft_cut_set(&p.cut);
    wm_fft_tile_run<wmC128>(p);
}
#else
WM_KERNEL __launch_bounds__(WM_FFT_THE(threads) * WM_FFT_THE(batch), WM_FFT_THE(least_blocks))
    wm_fft_tile_kernel(WM_PARAMS(wm_fft_tile_job)) {
#if WM_FFT_F64
    wm_fft_tile_run<wmC128>(p);
#else
    wm_fft_tile_run<wmC64>(p);
#endif
}
#endif

#endif
