/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps made on the device, sm_90a: a copy of one made on the host, for another matrix of the same type, leading
 * dimension and box. Source: PTX ISA, tensormap.replace and membar/fence (proxy.tensormap).
 *
 *     wm_tma_map_copy(to, &p.map);                  one thread, `to` in global memory, a multiple of 128
 *     wm_tma_map_point(to, base, columns, rows);    base a multiple of 16, columns and rows at least 1
 *     wm_tma_map_release();
 *     … a later kernel, or after other means of order …
 *     wm_tma_map_acquire(map);                      the thread that then uses it
 */
#ifndef WARPMATH_DEVICE_TMA_MAP_CUH
#define WARPMATH_DEVICE_TMA_MAP_CUH

#include <warpmath/device/tma.cuh>

WM_DEVICE void wm_tma_map_copy(wm_tensor_map *to, const wm_tensor_map *from) {
    WM_UNROLL
    for (int e = 0; e < 16; e++) to->opaque[e] = from->opaque[e];
}

#ifdef WM_SIMT

WM_DEVICE void wm_tma_map_point(wm_tensor_map *map, const void *base, int columns, int rows) {
    wm_simt_map *m = reinterpret_cast<wm_simt_map *>(map);
    m->base = reinterpret_cast<wm_u64>(base);
    m->dim[0] = (wm_u32)columns, m->dim[1] = (wm_u32)rows;
}
WM_DEVICE void wm_tma_map_release(void) {}
WM_DEVICE void wm_tma_map_acquire(const wm_tensor_map *) {}

#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)

WM_DEVICE void wm_tma_map_point(wm_tensor_map *map, const void *base, int columns, int rows) {
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;\n\t"
                 "tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 0, %2;\n\t"
                 "tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 1, %3;" ::"l"(__cvta_generic_to_global(map)),
                 "l"(base), "r"(columns), "r"(rows)
                 : "memory");
}

/** Makes maps written by this thread visible to those that acquire them. */
WM_DEVICE void wm_tma_map_release(void) {
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

WM_DEVICE void wm_tma_map_acquire(const wm_tensor_map *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

#endif

#endif
