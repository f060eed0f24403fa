/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange between the blocks of a cluster: each thread stores into other blocks' shared memory, and each block
 * waits for the bytes that it is due, not for the others' threads. sm_90 and newer. Source: the PTX manual, st.async,
 * mapa, barrier.cluster, mbarrier. Once a kernel:
 *
 *     wm_push_begin(&s->gate);
 *     …                                            its shared memory is in use; at least one wm_barrier
 *     wm_push_open(&s->gate, bytes);               … no more: others may write so many bytes to it
 *     …  work that touches no shared memory …
 *     wm_push_wait_open();                         all blocks are open
 *     wm_push_to<T> to = wm_push_target(mine, &s->gate, rank);
 *     wm_push(to, i, value);                       mine[i] of block `rank`, which may be this one
 *     wm_push_end(&s->gate);                       what is due has come: read it
 *
 * All threads of the cluster call all but wm_push. There are no fences: what a thread read before wm_push_open must
 * have been used (wm_push_used), what others pushed is seen after wm_push_end, and nothing else is promised.
 */
#ifndef WARPMATH_DEVICE_CLUSTER_PUSH_CUH
#define WARPMATH_DEVICE_CLUSTER_PUSH_CUH

#include <warpmath/device/cluster.cuh>
#include <warpmath/device/mbarrier.cuh>

/** Counts the bytes that come; the first thing in a block's shared memory. */
struct alignas(16) wm_push_gate {
    wm_mbarrier barrier;
};

#ifndef WM_SIMT

/** Makes the gate for one exchange. */
WM_DEVICE void wm_push_begin(wm_push_gate *gate) {
    if (wm_thread() == 0) {
        wm_mbarrier_init(&gate->barrier, 1);
        wm_mbarrier_init_fence();
    }
}

/** Says that a value has been used: what it was made of has been read. */
WM_DEVICE void wm_push_used(float &x) {
    asm volatile("" : "+f"(x));
}
WM_DEVICE void wm_push_used(double &x) {
    asm volatile("" : "+d"(x));
}

/** Others may write to this block's shared memory from here on; it is due `bytes` bytes (less than 2^20). */
WM_DEVICE void wm_push_open(wm_push_gate *gate, int bytes) {
    if (wm_thread() == 0) wm_mbarrier_expect(&gate->barrier, bytes);
    wm_barrier_warp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/** Waits until all blocks of the cluster are open. */
WM_DEVICE void wm_push_wait_open(void) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/** An array in another block's shared memory, with the gate that counts what arrives there. */
template <class T>
struct wm_push_to {
    wm_u32 array, gate; /* in the cluster's window */
};

/** What `mine` and `gate`, in this block's shared memory, are in that of block `rank`. */
template <class T>
WM_DEVICE wm_push_to<T> wm_push_target(T *mine, wm_push_gate *gate, int rank) {
    wm_push_to<T> to;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to.array) : "r"(wm_shared_address(mine)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to.gate) : "r"(wm_shared_address(&gate->barrier)), "r"(rank));
    return to;
}

/** Stores a value of 8 or 16 bytes at [i]. */
template <class T>
WM_DEVICE void wm_push(wm_push_to<T> to, int i, const T &value) {
    static_assert(sizeof(T) == 8 || sizeof(T) == 16, "8 or 16 bytes");
    wm_u32 address = to.array + (wm_u32)i * (wm_u32)sizeof(T);
    wm_u64 raw[2];
    memcpy(raw, &value, sizeof(T));
    if constexpr (sizeof(T) == 8) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(address),
                     "l"(raw[0]), "r"(to.gate)
                     : "memory");
    } else {
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::"r"(address),
            "l"(raw[0]), "l"(raw[1]), "r"(to.gate)
            : "memory");
    }
}

/** Waits until all that this block is due has come. */
WM_DEVICE void wm_push_end(wm_push_gate *gate) {
    wm_mbarrier_wait(&gate->barrier, 0);
}

#endif

#endif
