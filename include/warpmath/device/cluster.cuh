/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters, sm_90 and newer: blocks that run at the same time and reach each other's shared memory. Source: the PTX
 * manual, barrier.cluster and mapa. In a launch without clusters each block is a cluster of one.
 */
#ifndef WARPMATH_DEVICE_CLUSTER_CUH
#define WARPMATH_DEVICE_CLUSTER_CUH

#include <warpmath/device/base.cuh>

#ifndef WM_SIMT

/** This block's rank in its cluster, x fastest. */
WM_DEVICE int wm_cluster_rank(void) {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/** Blocks of the cluster. */
WM_DEVICE int wm_cluster_blocks(void) {
    int blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

/** Waits for all threads of the cluster; orders their memory accesses. A block whose shared memory others reach must
 * not end before a last one. Every thread of the cluster calls. */
WM_DEVICE void wm_cluster_barrier(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/** What `mine`, in this block's shared memory, is in that of block `rank`. */
template <class T>
WM_DEVICE T *wm_cluster_shared(T *mine, int rank) {
    wm_u64 theirs;
    asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
    return reinterpret_cast<T *>(theirs);
}

#endif

#endif
