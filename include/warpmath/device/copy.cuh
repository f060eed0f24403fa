/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from global to shared memory that go on while the thread does other work, sm_80 and newer. Source: the PTX
 * manual, cp.async. The thread that copies sees the bytes after wm_copy_wait; others after a barrier behind that:
 *
 *     wm_copy_async16(&s->tile[0][i], from);   wm_copy_commit();      round 0 on its way
 *     for (k = 0; k < rounds; k++) {
 *         if (k + 1 < rounds) wm_copy_async16(&s->tile[(k + 1) % 2][i], from + …);
 *         wm_copy_commit();                                            round k + 1 on its way, or an empty group
 *         wm_copy_wait<1>();                                           all but the newest group are there
 *         wm_barrier();   … use s->tile[k % 2] …   wm_barrier();
 *     }
 */
#ifndef WARPMATH_DEVICE_COPY_CUH
#define WARPMATH_DEVICE_COPY_CUH

#include <warpmath/device/base.cuh>

#ifndef WM_SIMT

/** Starts to copy 16 bytes, past the L1 cache; both addresses are multiples of 16. Of the source only the first `bytes`
 * are read, the rest of the destination becomes 0: 0 for what lies outside a matrix (`from` must then still be valid
 * to name, any address of the matrix will do). */
WM_DEVICE void wm_copy_async16(void *to_shared, const void *from, int bytes = 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(wm_shared_address(to_shared)), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/** The same for 4 bytes, through the L1 cache; both addresses are multiples of 4. */
WM_DEVICE void wm_copy_async4(void *to_shared, const void *from, int bytes = 4) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(wm_shared_address(to_shared)), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/** Makes a group of the copies that this thread started since the last one. */
WM_DEVICE void wm_copy_commit(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Waits until all but the newest `Groups` groups of this thread have arrived. */
template <int Groups>
WM_DEVICE void wm_copy_wait(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

#endif

#endif
