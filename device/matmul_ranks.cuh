/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a cluster that each sum a part of k and read each other's sums. On devices without clusters (before sm_90)
 * a block is alone: no launch asks for more there. */
#ifndef WM_DEVICE_MATMUL_RANKS_CUH
#define WM_DEVICE_MATMUL_RANKS_CUH

#include <warpmath/device/cluster.cuh>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define WM_HAS_CLUSTERS 1
#endif

/** Waits for the cluster, where there is one; orders memory. */
WM_DEVICE void wm_split_barrier(int cluster) {
#ifdef WM_HAS_CLUSTERS
    if (cluster) wm_cluster_barrier();
#else
    (void)cluster;
#endif
}

/** What `mine`, in this block's shared memory, is in that of block `rank`. */
template <class T>
WM_DEVICE T *wm_split_shared(T *mine, int cluster, int rank) {
#ifdef WM_HAS_CLUSTERS
    if (cluster) return wm_cluster_shared(mine, rank);
#else
    (void)cluster, (void)rank;
#endif
    return mine;
}

#endif
