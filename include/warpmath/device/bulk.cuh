/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of bytes by the bulk copy engine, sm_90 and newer: no tensor map, no registers, one thread says it. Addresses
 * and sizes are multiples of 16 bytes. Source: PTX ISA, cp.async.bulk.
 *
 *     if (wm_thread() == 0) {
 *         wm_mbarrier_init(&s->full, 1);
 *         wm_mbarrier_init_fence();
 *     }
 *     wm_barrier();
 *     if (wm_thread() == 0) {
 *         wm_mbarrier_expect(&s->full, bytes);
 *         wm_bulk_load(s->x, from, bytes, &s->full);
 *     }
 *     wm_mbarrier_wait(&s->full, 0);       … all threads read s->x; then, to bring the buffer back:
 *     wm_async_fence();                    by each thread that wrote s->x
 *     wm_barrier();
 *     if (wm_thread() == 0) {
 *         wm_bulk_store(to, s->x, bytes);
 *         wm_tma_commit();
 *         wm_tma_wait_read<0>();           before s->x is written again, or the block ends
 *     }
 */
#ifndef WARPMATH_DEVICE_BULK_CUH
#define WARPMATH_DEVICE_BULK_CUH

#include <warpmath/device/tma.cuh>

#ifndef WM_SIMT

/** Starts to copy `bytes` from global to this block's shared memory; they count at `barrier`. One thread calls. */
WM_DEVICE void wm_bulk_load(void *to, const void *from, int bytes, wm_mbarrier *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     wm_shared_address(to)),
                 "l"(from), "r"(bytes), "r"(wm_shared_address(barrier))
                 : "memory");
}

/** The same into every block of the cluster whose bit is set, at the same place, counting at each one's barrier. */
WM_DEVICE void wm_bulk_load_all(void *to, const void *from, int bytes, wm_mbarrier *barrier, wm_u32 blocks) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
                 "[%3], %4;" ::"r"(wm_shared_address(to)),
                 "l"(from), "r"(bytes), "r"(wm_shared_address(barrier)), "h"((wm_u16)blocks)
                 : "memory");
}

/** Starts to copy `bytes` from shared to global memory. Before it, each thread that wrote them calls wm_async_fence,
 * then a barrier; after it wm_tma_commit and, in time, wm_tma_wait_read. One thread calls. */
WM_DEVICE void wm_bulk_store(void *to, const void *from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(wm_shared_address(from)),
                 "r"(bytes)
                 : "memory");
}

#endif

#endif
