/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bulk tensor copy engine, sm_90 and newer: one thread moves a box of a matrix between global and shared memory;
 * what lies outside the matrix is read as zero and not written. A tensor map, made on the host (lib/gpu.h, tensor_map),
 * names the matrix, the box and the arrangement in shared memory. Source: PTX ISA, "Data Movement and Conversion
 * Instructions: Tensor copy".
 *
 * Boxes here have rows of 128 bytes, or of 64, and are swizzled over them: the 16-byte group g of row r stands at place
 * g ^ (r mod 8), or g ^ (r / 2 mod 4). So columns of groups are free of bank conflicts, and wgmma reads the first of
 * the two. A box begins at a multiple of 1024 bytes.
 */
#ifndef WARPMATH_DEVICE_TMA_CUH
#define WARPMATH_DEVICE_TMA_CUH

#include <warpmath/device/mbarrier.cuh>

/** A tensor map, in a kernel's parameter: 128 opaque bytes. */
typedef struct alignas(64) wm_tensor_map {
    wm_u64 opaque[16];
} wm_tensor_map;

/** Where byte `at` of a box, counted row by row, stands in its swizzled arrangement; ROW: bytes of a row. */
template <int ROW>
WM_CONSTEXPR int wm_swizzle(int at) {
    return at ^ (at >> 7 & (ROW / 16 - 1)) << 4;
}

#ifndef WM_SIMT

/** Brings the map into the cache that the engine reads it from. PTX ISA, prefetch.tensormap. */
WM_DEVICE void wm_tma_prefetch(const wm_tensor_map *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/** Starts to copy the box at (x, y, z) into shared memory; its bytes count at `barrier`. PTX ISA, cp.async.bulk.tensor.
 */
WM_DEVICE void wm_tma_load(void *to, const wm_tensor_map *map, int x, int y, int z, wm_mbarrier *barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(wm_shared_address(to)),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(wm_shared_address(barrier))
        : "memory");
}

/** The same into every block of the cluster whose bit is set, at the same place, counting at each one's barrier. PTX
 * ISA, cp.async.bulk.tensor with .multicast::cluster. */
WM_DEVICE void wm_tma_load_all(void *to, const wm_tensor_map *map, int x, int y, int z, wm_mbarrier *barrier,
                               wm_u32 blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(wm_shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(wm_shared_address(barrier)), "h"((wm_u16)blocks)
                 : "memory");
}

/** Starts to copy a box from shared memory to (x, y, z). Before it, each thread that wrote the box calls
 * wm_async_fence, then a barrier. PTX ISA, cp.async.bulk.tensor. */
WM_DEVICE void wm_tma_store(const wm_tensor_map *map, const void *from, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
                 "r"(y), "r"(z), "r"(wm_shared_address(from))
                 : "memory");
}

/** Makes a group of the stores that this thread started since the last one. PTX ISA, cp.async.bulk.commit_group. */
WM_DEVICE void wm_tma_commit(void) {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/** Waits until all but the newest `Groups` groups of this thread have read their shared memory, which may then be
 * written again. PTX ISA, cp.async.bulk.wait_group.read. */
template <int Groups>
WM_DEVICE void wm_tma_wait_read(void) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory");
}

/** Orders this thread's ordinary accesses of shared memory before later ones of the copy engine and of wgmma. PTX ISA,
 * fence.proxy.async. */
WM_DEVICE void wm_async_fence(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif

#endif
