/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers in shared memory, sm_90 and newer: a phase ends when as many arrivals as the barrier was made for have come
 * and all bytes announced for it have been copied in. Phases alternate between parity 0 and 1; a fresh barrier is in
 * phase 0, so waiting for parity 1 passes at once. Source: PTX ISA, "mbarrier" in Parallel Synchronization and
 * Communication Instructions.
 */
#ifndef WARPMATH_DEVICE_MBARRIER_CUH
#define WARPMATH_DEVICE_MBARRIER_CUH

#include <warpmath/device/base.cuh>

/** One barrier, in shared memory. */
typedef wm_u64 wm_mbarrier;

#ifndef WM_SIMT

/** Makes a barrier for `count` arrivals a phase; one thread calls. PTX ISA, mbarrier.init. */
WM_DEVICE void wm_mbarrier_init(wm_mbarrier *barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(wm_shared_address(barrier)), "r"(count) : "memory");
}

/** Shows fresh barriers to the copy engine and the cluster, before wm_cluster_barrier. PTX ISA, fence.mbarrier_init. */
WM_DEVICE void wm_mbarrier_init_fence(void) {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/** Arrives, and announces `bytes` that copies will bring in this phase. PTX ISA, mbarrier.arrive.expect_tx. */
WM_DEVICE void wm_mbarrier_expect(wm_mbarrier *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(wm_shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/** Arrives at the same barrier of block `rank` of the cluster. This orders accesses within the block only: use it to
 * say that reads are done, not to hand over ordinary writes to another block. (A release at the cluster's scope costs a
 * fence of half a microsecond.) PTX ISA, mbarrier.arrive with .shared::cluster, mapa. */
WM_DEVICE void wm_mbarrier_arrive(wm_mbarrier *barrier, int rank) {
    asm volatile("{\n\t.reg .b32 theirs;\n\t"
                 "mapa.shared::cluster.u32 theirs, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [theirs];\n\t}" ::"r"(wm_shared_address(barrier)),
                 "r"(rank)
                 : "memory");
}

/** Whether the phase of that parity has ended; waits a while for it. PTX ISA, mbarrier.try_wait. */
WM_DEVICE bool wm_mbarrier_try(wm_mbarrier *barrier, int parity) {
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, p;\n\t}"
                 : "=r"(done)
                 : "r"(wm_shared_address(barrier)), "r"(parity)
                 : "memory");
    return done != 0;
}

/** Waits for the end of the phase of that parity; what came with it is then visible to this thread. */
WM_DEVICE void wm_mbarrier_wait(wm_mbarrier *barrier, int parity) {
    while (!wm_mbarrier_try(barrier, parity)) {
    }
}

/** Waits for all threads of the cluster without ordering their accesses, so without the fences of wm_cluster_barrier:
 * after wm_mbarrier_init_fence, or before a block ends that others reach. PTX ISA, barrier.cluster with .relaxed. */
WM_DEVICE void wm_cluster_meet(void) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

#endif

#endif
