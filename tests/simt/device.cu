/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use tile.cuh, reduce.cuh, fft_thread.cuh and random_rounds.cuh as a user would. */
#include <warpmath/device/bulk.cuh>
#include <warpmath/device/fft_thread.cuh>
#include <warpmath/device/random_rounds.cuh>
#include <warpmath/device/reduce.cuh>
#include <warpmath/device/tile.cuh>

#include "device.h"

/* ---- Tile products: each way and type ---- */

/* Complex: A's elements are x + ix and B's x - ix, so that the product is real, and twice that of the x. */
template <class T>
WM_DEVICE void wm_device_put(T *to, double x, double im) {
    if constexpr (wm_tile_same<T, wmC64>::VALUE || wm_tile_same<T, wmC128>::VALUE) {
        to->re = (decltype(to->re))x;
        to->im = (decltype(to->re))(x * im);
    } else if constexpr (wm_tile_same<T, wm_i8>::VALUE || wm_tile_same<T, double>::VALUE) {
        *to = (T)x;
    } else {
        wm_put_f32(to, (float)x);
    }
}
template <class S>
WM_DEVICE double wm_device_get(S x) {
    if constexpr (wm_tile_same<S, wmC64>::VALUE || wm_tile_same<S, wmC128>::VALUE)
        return (double)x.re / 2 + (double)x.im;
    else
        return (double)x;
}

enum { IN_TILES, MADE, HELD }; /* where A and B come from: both tiles, B a function, A registers */

template <int M, int N, int K, int THREADS, wmTileWay WAY, class T, class S, int FROM>
WM_DEVICE void wm_device_product_of(const wm_device_product &p) {
    T *a = wm_shared<T>(), *b = a + M * K;
    for (int i = wm_thread(); i < M * K; i += THREADS) wm_device_put(&a[wmTileAt<T>(M, i / K, i % K)], p.a[i], 1);
    for (int i = wm_thread(); i < N * K; i += THREADS)
        wm_device_put(&b[wmTileAt<T>(N, i / K, i % K)], p.b[i % K * N + i / K], -1);
    if constexpr (WAY == WM_TILE_WGMMA) wm_async_fence();
    wm_barrier();
    S sum[wmTileElements(M, N, THREADS)] = {};
    if constexpr (FROM == MADE) {
        auto element = [&](int k, int column) { return (S)p.b[k * N + column]; };
        wmTileProductOf<M, N, K, THREADS, WAY>(sum, a, element);
    } else if constexpr (FROM == HELD) {
        S left[wmTileElements(M, K, THREADS)];
        for (int e = 0; e < wmTileElements(M, K, THREADS); e++)
            left[e] = (S)p.a[wmTileRow<M, K, THREADS, WAY, T>(e) * K + wmTileColumn<M, K, THREADS, WAY, T>(e)];
        wmTileProductHeld<M, N, K, THREADS, WAY>(sum, left, b);
    } else {
        wmTileProduct<M, N, K, THREADS, WAY>(sum, a, b);
    }
    wmTileWait<0, WAY>(sum);
    for (int e = 0; e < wmTileElements(M, N, THREADS); e++)
        p.d[wmTileRow<M, N, THREADS, WAY, T>(e) * N + wmTileColumn<M, N, THREADS, WAY, T>(e)] = wm_device_get(sum[e]);
}

WM_KERNEL wm_device_fma_f32_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_FMA, float, float, IN_TILES>(p);
}
WM_KERNEL wm_device_fma_f64_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_FMA, double, double, IN_TILES>(p);
}
WM_KERNEL wm_device_fma_bf16_made_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_FMA, wm_bf16, float, MADE>(p);
}
WM_KERNEL wm_device_fma_e4m3_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 128, 64, WM_TILE_FMA, wm_e4m3, float, IN_TILES>(p);
}
WM_KERNEL wm_device_fma_e5m2_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 128, 64, WM_TILE_FMA, wm_e5m2, float, IN_TILES>(p);
}
WM_KERNEL wm_device_fma_i8_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 128, 64, WM_TILE_FMA, wm_i8, int, IN_TILES>(p);
}
WM_KERNEL wm_device_fma_c64_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<32, 16, 32, 64, WM_TILE_FMA, wmC64, wmC64, IN_TILES>(p);
}
WM_KERNEL wm_device_fma_c128_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<32, 16, 16, 32, WM_TILE_FMA, wmC128, wmC128, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_f16_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_MMA, wm_f16, float, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_f16_warp_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 32, WM_TILE_MMA, wm_f16, float, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_f16_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 32, WM_TILE_MMA, wm_f16, float, HELD>(p);
}
WM_KERNEL wm_device_mma_bf16_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<128, 32, 64, 64, WM_TILE_MMA, wm_bf16, float, HELD>(p);
}
WM_KERNEL wm_device_mma_bf16_made_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_MMA, wm_bf16, float, MADE>(p);
}
WM_KERNEL wm_device_mma_tf32_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_MMA, float, float, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_tf32_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<32, 32, 32, 32, WM_TILE_MMA, float, float, HELD>(p);
}
WM_KERNEL wm_device_mma_tf32_made_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_MMA, float, float, MADE>(p);
}
WM_KERNEL wm_device_mma_f64_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_MMA, double, double, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_f64_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<32, 32, 32, 32, WM_TILE_MMA, double, double, HELD>(p);
}
WM_KERNEL wm_device_mma_f64_made_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 64, 64, WM_TILE_MMA, double, double, MADE>(p);
}
WM_KERNEL wm_device_mma_e4m3_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 128, 64, WM_TILE_MMA, wm_e4m3, float, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_e5m2_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<32, 32, 128, 32, WM_TILE_MMA, wm_e5m2, float, HELD>(p);
}
WM_KERNEL wm_device_mma_i8_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 32, 128, 64, WM_TILE_MMA, wm_i8, int, IN_TILES>(p);
}
WM_KERNEL wm_device_mma_i8_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<32, 32, 128, 32, WM_TILE_MMA, wm_i8, int, HELD>(p);
}
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__) /* the host sees them all */
WM_KERNEL wm_device_wgmma_bf16_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 64, 128, 128, WM_TILE_WGMMA, wm_bf16, float, IN_TILES>(p);
}
WM_KERNEL wm_device_wgmma_f16_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<128, 64, 64, 256, WM_TILE_WGMMA, wm_f16, float, IN_TILES>(p);
}
WM_KERNEL wm_device_wgmma_bf16_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 64, 128, 128, WM_TILE_WGMMA, wm_bf16, float, HELD>(p);
}
WM_KERNEL wm_device_wgmma_f16_held_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<128, 128, 64, 256, WM_TILE_WGMMA, wm_f16, float, HELD>(p);
}
WM_KERNEL wm_device_wgmma_tf32_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 128, 64, 128, WM_TILE_WGMMA, float, float, IN_TILES>(p);
}
WM_KERNEL wm_device_wgmma_e4m3_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 128, 256, 128, WM_TILE_WGMMA, wm_e4m3, float, IN_TILES>(p);
}
WM_KERNEL wm_device_wgmma_e5m2_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 128, 128, 128, WM_TILE_WGMMA, wm_e5m2, float, IN_TILES>(p);
}
WM_KERNEL wm_device_wgmma_i8_kernel(WM_PARAMS(wm_device_product)) {
    wm_device_product_of<64, 128, 128, 128, WM_TILE_WGMMA, wm_i8, int, IN_TILES>(p);
}
#endif

/* ---- Sums: blocks of 256, and of 32 ---- */

template <int THREADS>
WM_DEVICE void wm_device_sums_of(const wm_device_sums &p) {
    void *smem = wm_shared<char>();
    int t = wm_thread();
    float x = p.x[t], total;
    p.out[t] = wmReduceBlock<THREADS>(x, smem);
    p.out[256 + t] = wmReduceBlock<THREADS>(x, smem, wmLeast());
    p.out[512 + t] = wmReduceBlock<THREADS>(x, smem, wmMost());
    p.out[768 + t] = wmScanBlock<THREADS>(x, smem, &total);
    p.out[1024 + t] = total;
}
WM_KERNEL wm_device_sums_kernel(WM_PARAMS(wm_device_sums)) {
    wm_device_sums_of<256>(p);
}
WM_KERNEL wm_device_sums_warp_kernel(WM_PARAMS(wm_device_sums)) {
    wm_device_sums_of<32>(p);
}

/* ---- Transforms of threads and of warps ---- */

WM_KERNEL wm_device_fft_thread_kernel(WM_PARAMS(wm_device_fft)) {
    wmC64 x[16], *in = reinterpret_cast<wmC64 *>(p.x) + wm_thread() * 16;
    wmC64 *out = reinterpret_cast<wmC64 *>(p.y) + wm_thread() * 16;
    for (int e = 0; e < 16; e++) x[e] = in[e];
    wmFftThread<16, WM_FORWARD>(x);
    for (int e = 0; e < 16; e++) in[e] = x[e];
    wmFftThread<16, WM_INVERSE>(x);
    wmFftScaleBy(x, 1.0f / 16);
    for (int e = 0; e < 16; e++) out[e] = x[e];
}
WM_KERNEL wm_device_fft_warp_kernel(WM_PARAMS(wm_device_fft)) {
    constexpr int N = 256, EACH = wmFftSmem(N) * 32 / wmFftThreads(N);
    int first = wm_thread() / wmFftThreads(N) * N;
    wmC64 x[wmFftElements(N)], *in = reinterpret_cast<wmC64 *>(p.x) + first;
    unsigned char *smem = wm_shared<unsigned char>() + wm_thread() / 32 * EACH;
    wmFftRead<N>(x, in);
    wmFftWarp<N, WM_FORWARD>(x, smem);
    wmFftWrite<N>(in, x);
    wm_barrier_warp();
    wmFftWarp<N, WM_INVERSE>(x, smem);
    wmFftScaleBy(x, 1.0f / N);
    wmFftWrite<N>(reinterpret_cast<wmC64 *>(p.y) + first, x);
}

/* ---- A block's transform of what the copy engine brings, and takes away ---- */

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__) /* the host sees them all */
typedef struct wm_device_bulk {
    wmC64 x[256];
    unsigned char slab[wmFftSmem(256)];
    wm_mbarrier full;
} wm_device_bulk;

WM_KERNEL __launch_bounds__(wmFftThreads(256)) wm_device_fft_bulk_kernel(WM_PARAMS(wm_device_fft)) {
    wm_device_bulk *s = wm_shared<wm_device_bulk>();
    wmC64 x[wmFftElements(256)];
    if (wm_thread() == 0) {
        wm_mbarrier_init(&s->full, 1);
        wm_mbarrier_init_fence();
        wm_mbarrier_expect(&s->full, (int)sizeof s->x);
        wm_bulk_load(s->x, p.x + (wm_i64)blockIdx.x * 512, (int)sizeof s->x, &s->full);
    }
    wm_barrier();
    wm_mbarrier_wait(&s->full, 0);
    wmFftRead<256>(x, s->x);
    wmFftBlock<256, WM_FORWARD>(x, s->slab);
    wmFftWrite<256>(s->x, x);
    wm_async_fence();
    wm_barrier();
    if (wm_thread() == 0) {
        wm_bulk_store(p.y + (wm_i64)blockIdx.x * 512, s->x, (int)sizeof s->x);
        wm_tma_commit();
        wm_tma_wait_read<0>();
    }
}
#endif

/* ---- Draws by rounds: 2 blocks a thread of each kind, behind one another ---- */

WM_KERNEL wm_device_rounds_kernel(WM_PARAMS(wm_device_rounds)) {
    const wmRandomRounds key = wmRandomRoundsMake(p.key);
    wm_u64 first = 0x1fffffff00ull + (wm_u64)blockIdx.x * 64;
    for (int i = wm_thread(); i < 64; i += 32) {
        wm_i64 at = (wm_i64)blockIdx.x * 64 + i;
        wmStoreF32x4(p.f32 + 4 * at, wmUniformF32x4(key, first, (wm_u32)i));
        wmStoreF32x4(p.f32 + 512 + 4 * at, wmNormalF32x4(key, first, (wm_u32)i));
        wmStoreF64x2(p.f64 + 2 * at, wmUniformF64x2(key, first, (wm_u32)i));
        wmStoreF64x2(p.f64 + 256 + 2 * at, wmNormalF64x2(key, first, (wm_u32)i));
    }
}
