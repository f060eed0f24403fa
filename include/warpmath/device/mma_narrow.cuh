/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor-core products of one warp on 8-bit floats, sm_89 and newer; elsewhere the call traps. As mma.cuh, whose
 * fragments hold here too: K = 32, four elements of k a register. All 32 lanes call; no shared memory. Products are
 * exact, sums are rounded to f32, on Hopper by cutting off. Source: PTX ISA, mma.sync with .e4m3 and .e5m2.
 */
#ifndef WARPMATH_DEVICE_MMA_NARROW_CUH
#define WARPMATH_DEVICE_MMA_NARROW_CUH

#include <warpmath/device/mma.cuh>

#ifndef WM_SIMT

/** D += A · B, e4m3 with sums in f32. */
WM_DEVICE void wm_mma_e4m3(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    (void)sum, (void)a, (void)b;
    __trap();
#endif
}

/** D += A · B, e5m2 with sums in f32. */
WM_DEVICE void wm_mma_e5m2(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    (void)sum, (void)a, (void)b;
    __trap();
#endif
}

#endif

#endif
