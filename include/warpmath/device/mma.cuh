/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor-core products of one warp, sm_80 and newer: D (16 × 8) += A (16 × K) · B (K × 8), all in registers. Source:
 * PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions". All 32 lanes call.
 *
 *              K    a register holds            A: registers 0 … 3                     B: registers 0, 1
 *     f16     16    2 neighbours of k           row = lane / 4 + 8 · (r mod 2)         column = lane / 4
 *     bf16    16    2                           k = P · (lane mod 4) + 4P · (r / 2)    k = P · (lane mod 4) + 4P · r
 *     tf32     8    1                           for P elements a register
 *     s8      32    4
 *
 * Sum e of a lane is D(row, column): row = lane / 4 + 8 · (e / 2), column = 2 · (lane mod 4) + e mod 2. In f64 D is
 * 8 × 8 and K 4: A(lane / 4, lane mod 4), B(lane mod 4, lane / 4), sum e is D(lane / 4, 2 · (lane mod 4) + e).
 *
 * Products are exact. f16, bf16 and tf32 sums are rounded to f32, on Hopper by cutting off; s8 sums wrap.
 */
#ifndef WARPMATH_DEVICE_MMA_CUH
#define WARPMATH_DEVICE_MMA_CUH

#include <warpmath/device/base.cuh>

#ifndef WM_SIMT

/** Loads four 8 × 8 matrices of 16-bit elements from shared memory; lane i gives the address, a multiple of 16 bytes,
 * of row i mod 8 of matrix i / 8. Register m has elements 2 · (lane mod 4) and the next of row lane / 4 of matrix m.
 * PTX ISA, ldmatrix. */
WM_DEVICE void wm_load_matrices(wm_u32 (&out)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(wm_shared_address(row))
                 : "memory");
}

/** Two matrices; lanes 0 to 15 give the rows. */
WM_DEVICE void wm_load_matrices(wm_u32 (&out)[2], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(wm_shared_address(row))
                 : "memory");
}

/** The same, each matrix transposed. */
WM_DEVICE void wm_load_matrices_t(wm_u32 (&out)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(wm_shared_address(row))
                 : "memory");
}
WM_DEVICE void wm_load_matrices_t(wm_u32 (&out)[2], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(out[0]), "=r"(out[1])
                 : "r"(wm_shared_address(row))
                 : "memory");
}

/** D += A · B, f16 with sums in f32. */
WM_DEVICE void wm_mma_f16(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** D += A · B, bf16 with sums in f32. */
WM_DEVICE void wm_mma_bf16(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** D += A · B, tf32: f32 bits of which the low 13 are ignored (wm_round_tf32 rounds). */
WM_DEVICE void wm_mma_tf32(float (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** D += A · B, signed bytes with sums in 32-bit integers. */
WM_DEVICE void wm_mma_s8(int (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** D (8 × 8) += A (8 × 4) · B (4 × 8), f64, each step one fused multiply-add. */
WM_DEVICE void wm_mma_f64(double (&sum)[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sum[0]), "+d"(sum[1])
                 : "d"(a), "d"(b));
}

/** The bits of x rounded to tf32: 10 bits of mantissa, ties away from zero. */
WM_DEVICE wm_u32 wm_round_tf32(float x) {
    wm_u32 bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

#endif

#endif
