/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor-core products of a warpgroup, sm_90a only: D (64 × N, f32, in registers) += A (64 × 16) · B (16 × N), both
 * 16-bit in shared memory as wm_tma_load arranges them. Source: PTX ISA, "Asynchronous Warpgroup Level Matrix
 * Instructions".
 *
 *     wm_wgmma_fence();                                  before the first one, and after the sums were touched
 *     wm_wgmma_bf16<0, 0>(sum, a, b, keep);  …           any number, each adding to the same sums
 *     wm_wgmma_commit();
 *     wm_wgmma_wait<0>();                                now sums may be read and shared memory overwritten
 *     wm_wgmma_settle(sum);
 *
 * A warpgroup is four warps, the first one's number a multiple of four. Sum e of a thread is D(row, column):
 *     row = 16 · (warp mod 4) + lane / 4 + 8 · (e / 2 mod 2),   column = 8 · (e / 4) + 2 · (lane mod 4) + e mod 2.
 *
 * An operand is K-major (its k contiguous; boxes are 64 of k by many rows) or, "MN", has its rows contiguous (boxes are
 * 64 rows by 64 of k, so a step of 64 of k has one box for every 64 rows).
 */
#ifndef WARPMATH_DEVICE_WGMMA_CUH
#define WARPMATH_DEVICE_WGMMA_CUH

#include <warpmath/device/base.cuh>

/** The operand that begins at `from`; 16 further of k are wm_wgmma_k16 on. PTX ISA, Matrix Descriptor Format. */
template <int MN>
WM_DEVICE wm_u64 wm_wgmma_operand(const void *from) {
    const wm_u64 swizzle128 = 1ull << 62, eight_rows = 1024 >> 4, next_box = MN ? 8192 >> 4 : 1;
    return swizzle128 | eight_rows << 32 | next_box << 16 | (wm_shared_address(from) & 0x3ffff) >> 4;
}

/** What an operand grows by from one 16 of k to the next. */
template <int MN>
WM_CONSTEXPR wm_u64 wm_wgmma_k16(void) {
    return (MN ? 2048 : 32) >> 4;
}

#ifndef WM_SIMT

/** Orders accesses of the registers before the products that follow. PTX ISA, wgmma.fence. */
WM_DEVICE void wm_wgmma_fence(void) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/** Makes a group of the products since the last one. PTX ISA, wgmma.commit_group. */
WM_DEVICE void wm_wgmma_commit(void) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** Waits until all but the newest `Groups` groups are done. PTX ISA, wgmma.wait_group. */
template <int Groups>
WM_DEVICE void wm_wgmma_wait(void) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

/** Keeps the compiler from reading sums before the wait above it, or from moving their uses. */
template <int N>
WM_DEVICE void wm_wgmma_settle(float (&sum)[N]) {
    WM_UNROLL
    for (int e = 0; e < N; e++) asm volatile("" : "+f"(sum[e])::"memory");
}

/** Lets go of registers of each of the warpgroup's threads, down to Count. PTX ISA, setmaxnreg. */
template <int Count>
WM_DEVICE void wm_registers_give(void) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

/** Takes registers that another warpgroup gave, up to Count. PTX ISA, setmaxnreg. */
template <int Count>
WM_DEVICE void wm_registers_take(void) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

/** Stores four 8 × 8 matrices of 16-bit elements, of which each lane holds a pair of each; lane i gives the address of
 * row i mod 8 of matrix i / 8. PTX ISA, stmatrix. */
WM_DEVICE void wm_store_matrices(void *row, wm_u32 a, wm_u32 b, wm_u32 c, wm_u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(wm_shared_address(row)),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

/** Two floats rounded to 16 bits, the first in the low half. PTX ISA, cvt. */
WM_DEVICE wm_u32 wm_pair_bf16(float low, float high) {
    wm_u32 pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
WM_DEVICE wm_u32 wm_pair_f16(float low, float high) {
    wm_u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* ---- The product itself, by the width of D: wgmma.mma_async ---- */

// clang-format off
#define WM_NAMES_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WM_NAMES_48 WM_NAMES_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WM_NAMES_64 WM_NAMES_48 ", " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WM_NAMES_80 WM_NAMES_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define WM_NAMES_96 WM_NAMES_80 ", " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WM_NAMES_112 WM_NAMES_96 ", " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define WM_NAMES_128 WM_NAMES_112 ", " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WM_SUMS_16(d, i) \
    "+f"(d[i + 0]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7]), \
    "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), "+f"(d[i + 11]), "+f"(d[i + 12]), "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
// clang-format on

/** sum = A · B + (keep ? sum : 0); A_MN, B_MN: the operand's rows are contiguous, not its k. */
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[32], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WM_NAMES_32
                 "}, %32, %33, p, 1, 1, %35, %36;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[48], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %50, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 {" WM_NAMES_48
                 "}, %48, %49, p, 1, 1, %51, %52;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[64], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WM_NAMES_64
                 "}, %64, %65, p, 1, 1, %67, %68;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[80], wm_u64 a, wm_u64 b, int keep) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %82, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {" WM_NAMES_80 "}, %80, %81, p, 1, 1, %83, %84;\n\t}"
        : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48), WM_SUMS_16(sum, 64)
        : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[96], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %98, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {" WM_NAMES_96
                 "}, %96, %97, p, 1, 1, %99, %100;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48),
                   WM_SUMS_16(sum, 64), WM_SUMS_16(sum, 80)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[112], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %114, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 {" WM_NAMES_112
                 "}, %112, %113, p, 1, 1, %115, %116;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48),
                   WM_SUMS_16(sum, 64), WM_SUMS_16(sum, 80), WM_SUMS_16(sum, 96)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_bf16(float (&sum)[128], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %130, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WM_NAMES_128
                 "}, %128, %129, p, 1, 1, %131, %132;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48),
                   WM_SUMS_16(sum, 64), WM_SUMS_16(sum, 80), WM_SUMS_16(sum, 96), WM_SUMS_16(sum, 112)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[32], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" WM_NAMES_32
                 "}, %32, %33, p, 1, 1, %35, %36;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[48], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %50, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {" WM_NAMES_48
                 "}, %48, %49, p, 1, 1, %51, %52;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[64], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" WM_NAMES_64
                 "}, %64, %65, p, 1, 1, %67, %68;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[80], wm_u64 a, wm_u64 b, int keep) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %82, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 {" WM_NAMES_80 "}, %80, %81, p, 1, 1, %83, %84;\n\t}"
        : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48), WM_SUMS_16(sum, 64)
        : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[96], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %98, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {" WM_NAMES_96
                 "}, %96, %97, p, 1, 1, %99, %100;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48),
                   WM_SUMS_16(sum, 64), WM_SUMS_16(sum, 80)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[112], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %114, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n224k16.f32.f16.f16 {" WM_NAMES_112
                 "}, %112, %113, p, 1, 1, %115, %116;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48),
                   WM_SUMS_16(sum, 64), WM_SUMS_16(sum, 80), WM_SUMS_16(sum, 96)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}
template <int A_MN, int B_MN>
WM_DEVICE void wm_wgmma_f16(float (&sum)[128], wm_u64 a, wm_u64 b, int keep) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %130, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" WM_NAMES_128
                 "}, %128, %129, p, 1, 1, %131, %132;\n\t}"
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16), WM_SUMS_16(sum, 32), WM_SUMS_16(sum, 48),
                   WM_SUMS_16(sum, 64), WM_SUMS_16(sum, 80), WM_SUMS_16(sum, 96), WM_SUMS_16(sum, 112)
                 : "l"(a), "l"(b), "r"(keep), "n"(A_MN), "n"(B_MN));
}

#undef WM_NAMES_32
#undef WM_NAMES_48
#undef WM_NAMES_64
#undef WM_NAMES_80
#undef WM_NAMES_96
#undef WM_NAMES_112
#undef WM_NAMES_128
#undef WM_SUMS_16

#endif

#endif
