/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are wrong on purpose, one fault each: tests of the emulation's detectors. Blocks of 64 threads. */
#include <warpmath/device/base.cuh>
#include <warpmath/device/cluster.cuh>
#include <warpmath/device/copy.cuh>

#include "toy.h"

/* No barrier between the write and a neighbour's read. */
WM_KERNEL wm_bad_missing_barrier_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    s[t] = p.in[t];
    p.out[t] = s[63 - t];
}

/* No barrier between a read and the next round's write. */
WM_KERNEL wm_bad_missing_second_barrier_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread(), sum = 0;
    for (int round = 0; round < 2; round++) {
        s[t] = p.in[t] + round;
        wm_barrier();
        sum += s[63 - t];
    }
    p.out[t] = sum;
}

/* A warp barrier where the whole block's is needed. */
WM_KERNEL wm_bad_small_barrier_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    s[t] = p.in[t];
    wm_barrier_warp();
    p.out[t] = s[63 - t];
}

/* Reads a lane that has left. */
WM_KERNEL wm_bad_absent_lane_kernel(WM_PARAMS(wm_toy_ints)) {
    int t = wm_thread();
    if (t == 5) return;
    p.out[t] = wm_shuffle(p.in[t], t ^ 1);
}

/* Reads a lane outside the mask. */
WM_KERNEL wm_bad_outside_mask_kernel(WM_PARAMS(wm_toy_ints)) {
    int t = wm_thread();
    p.out[t] = t % 32 < 16 ? wm_shuffle_xor(p.in[t], 16, 0xffffu) : 0;
}

/* A mask without the caller. */
WM_KERNEL wm_bad_mask_kernel(WM_PARAMS(wm_toy_ints)) {
    p.out[wm_thread()] = wm_shuffle(p.in[wm_thread()], 0, 0x7fffffffu);
}

/* A full mask in a branch that half of the warp takes. */
WM_KERNEL wm_bad_divergent_shuffle_kernel(WM_PARAMS(wm_toy_ints)) {
    int t = wm_thread();
    if (t % 32 < 16) p.out[t] = wm_shuffle_xor(p.in[t], 1);
    wm_barrier();
}

/* One element past the end of shared memory. */
WM_KERNEL wm_bad_overrun_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    s[t + 1] = p.in[t];
}

/* Shared memory that nobody wrote. */
WM_KERNEL wm_bad_uninitialised_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    if (t != 7) s[t] = p.in[t];
    wm_barrier();
    p.out[t] = s[t];
}

/* A thread leaves before the barrier. */
WM_KERNEL wm_bad_early_exit_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    if (t == 17) return;
    s[t] = p.in[t];
    wm_barrier();
    p.out[t] = s[t];
}

/* Half of the block waits at one barrier, half at another. */
WM_KERNEL wm_bad_two_barriers_kernel(WM_PARAMS(wm_toy_ints)) {
    int t = wm_thread();
    if (t < 32) {
        p.out[t] = 1;
        wm_barrier();
    } else {
        p.out[t] = 2;
        wm_barrier();
    }
}

/* A named barrier for more threads than come. */
WM_KERNEL wm_bad_named_count_kernel(WM_PARAMS(wm_toy_ints)) {
    if (wm_thread() < 32) wm_barrier_named(3, 64);
    p.out[wm_thread()] = p.in[wm_thread()];
}

/* One element past the end of device memory, on either side of a copy. */
WM_KERNEL wm_bad_device_write_kernel(WM_PARAMS(wm_toy_ints)) {
    p.out[wm_thread() + p.n - 63] = 1;
}
WM_KERNEL wm_bad_device_read_kernel(WM_PARAMS(wm_toy_ints)) {
    p.out[wm_thread()] = p.in[wm_thread() + p.n - 63];
}

/* Device memory that nothing wrote: `out` is fresh. */
WM_KERNEL wm_bad_fresh_device_kernel(WM_PARAMS(wm_toy_ints)) {
    p.out[wm_thread()] += 1;
}

/* Two blocks write one element. */
WM_KERNEL wm_bad_two_blocks_kernel(WM_PARAMS(wm_toy_ints)) {
    p.out[(blockIdx.x * 63 + wm_thread()) % (wm_u32)p.n] = (int)blockIdx.x;
}

/* A 16-byte load at an address that is a multiple of 4. */
WM_KERNEL wm_bad_misaligned_kernel(WM_PARAMS(wm_toy_ints)) {
    if (wm_thread() == 0) p.out[0] = wm_load16(p.in + 1).v[0];
}

/* A plain store where others add atomically. */
WM_KERNEL wm_bad_half_atomic_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    if (t == 0) s[0] = 0;
    wm_barrier();
    if (t == 40)
        s[0] = 1;
    else
        atomicAdd(&s[0], p.in[t]);
}

/* A copied tile used before it has arrived. */
WM_KERNEL wm_bad_early_copy_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    wm_copy_async4(&s[t], &p.in[t]);
    wm_copy_commit();
    wm_copy_wait<1>();
    wm_barrier();
    p.out[t] = s[63 - t];
    wm_copy_wait<0>();
}

/* Copies that nobody waits for. */
WM_KERNEL wm_bad_lost_copy_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    wm_copy_async4(&s[t], &p.in[t]);
}

/* A neighbour block's shared memory read without a barrier of the cluster. */
WM_KERNEL wm_bad_cluster_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    s[t] = p.in[t];
    wm_barrier();
    int x = wm_cluster_shared(s, 1 - wm_cluster_rank())[t];
    if (wm_cluster_rank() == 0) p.out[t] = x;
    wm_cluster_barrier();
}

/* A block that ends while its neighbour still reads its shared memory. */
WM_KERNEL wm_bad_cluster_end_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), t = wm_thread();
    s[t] = p.in[t];
    wm_cluster_barrier();
    if (wm_cluster_rank() == 0) p.out[t] = wm_cluster_shared(s, 1)[t];
}

/* Waits for what never comes. */
WM_KERNEL wm_bad_spin_kernel(WM_PARAMS(wm_toy_ints)) {
    while (atomicAdd(p.out, 0) == p.in[0]) __nanosleep(20);
}
