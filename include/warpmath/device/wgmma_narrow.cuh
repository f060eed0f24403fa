/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma of operands that must have their k contiguous: 8-bit floats and integers, and f32 rounded to tf32. As
 * wgmma.cuh, whose fences, waits and arrangement of the sums hold here too: 32 bytes of k a product, so four of them to
 * a row of 128 bytes, each 2 further in the operand. Source: PTX ISA, wgmma.mma_async.
 */
#ifndef WARPMATH_DEVICE_WGMMA_NARROW_CUH
#define WARPMATH_DEVICE_WGMMA_NARROW_CUH

#include <warpmath/device/wgmma.cuh>

/** Types of A and B. */
enum { WM_E4M3_E4M3, WM_E4M3_E5M2, WM_E5M2_E4M3, WM_E5M2_E5M2, WM_TF32_TF32, WM_S8_S8 };

#ifndef WM_SIMT

// clang-format off
#define WM_NAMES_64 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WM_NAMES_128 WM_NAMES_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WM_SUMS_16(c, d, i) \
    c(d[i + 0]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7]), \
    c(d[i + 8]), c(d[i + 9]), c(d[i + 10]), c(d[i + 11]), c(d[i + 12]), c(d[i + 13]), c(d[i + 14]), c(d[i + 15])
#define WM_SUMS_64(c, d, i) WM_SUMS_16(c, d, i), WM_SUMS_16(c, d, i + 16), WM_SUMS_16(c, d, i + 32), WM_SUMS_16(c, d, i + 48)
#define WM_PRODUCT_128(c, op, tail) \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t" \
                 "wgmma.mma_async.sync.aligned.m64n128" op " {" WM_NAMES_64 "}, %64, %65, p" tail ";\n\t}" \
                 : WM_SUMS_64(c, sum, 0) : "l"(a), "l"(b), "r"(keep))
#define WM_PRODUCT_256(c, op, tail) \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %130, 0;\n\t" \
                 "wgmma.mma_async.sync.aligned.m64n256" op " {" WM_NAMES_128 "}, %128, %129, p" tail ";\n\t}" \
                 : WM_SUMS_64(c, sum, 0), WM_SUMS_64(c, sum, 64) : "l"(a), "l"(b), "r"(keep))
// clang-format on

/** sum = A · B + (keep ? sum : 0), 32 bytes of k. */
template <int KIND>
WM_DEVICE void wm_wgmma_narrow(float (&sum)[64], wm_u64 a, wm_u64 b, int keep) {
    if constexpr (KIND == WM_E4M3_E4M3) WM_PRODUCT_128("+f", "k32.f32.e4m3.e4m3", ", 1, 1");
    if constexpr (KIND == WM_E4M3_E5M2) WM_PRODUCT_128("+f", "k32.f32.e4m3.e5m2", ", 1, 1");
    if constexpr (KIND == WM_E5M2_E4M3) WM_PRODUCT_128("+f", "k32.f32.e5m2.e4m3", ", 1, 1");
    if constexpr (KIND == WM_E5M2_E5M2) WM_PRODUCT_128("+f", "k32.f32.e5m2.e5m2", ", 1, 1");
    if constexpr (KIND == WM_TF32_TF32) WM_PRODUCT_128("+f", "k8.f32.tf32.tf32", ", 1, 1");
}
template <int KIND>
WM_DEVICE void wm_wgmma_narrow(float (&sum)[128], wm_u64 a, wm_u64 b, int keep) {
    if constexpr (KIND == WM_E4M3_E4M3) WM_PRODUCT_256("+f", "k32.f32.e4m3.e4m3", ", 1, 1");
    if constexpr (KIND == WM_E4M3_E5M2) WM_PRODUCT_256("+f", "k32.f32.e4m3.e5m2", ", 1, 1");
    if constexpr (KIND == WM_E5M2_E4M3) WM_PRODUCT_256("+f", "k32.f32.e5m2.e4m3", ", 1, 1");
    if constexpr (KIND == WM_E5M2_E5M2) WM_PRODUCT_256("+f", "k32.f32.e5m2.e5m2", ", 1, 1");
    if constexpr (KIND == WM_TF32_TF32) WM_PRODUCT_256("+f", "k8.f32.tf32.tf32", ", 1, 1");
}
template <int KIND>
WM_DEVICE void wm_wgmma_narrow(int (&sum)[64], wm_u64 a, wm_u64 b, int keep) {
    WM_PRODUCT_128("+r", "k32.s32.s8.s8", "");
}
template <int KIND>
WM_DEVICE void wm_wgmma_narrow(int (&sum)[128], wm_u64 a, wm_u64 b, int keep) {
    WM_PRODUCT_256("+r", "k32.s32.s8.s8", "");
}

/** wm_wgmma_settle of integer sums. */
template <int N>
WM_DEVICE void wm_wgmma_settle(int (&sum)[N]) {
    WM_UNROLL
    for (int e = 0; e < N; e++) asm volatile("" : "+r"(sum[e])::"memory");
}

#undef WM_NAMES_64
#undef WM_NAMES_128
#undef WM_SUMS_16
#undef WM_SUMS_64
#undef WM_PRODUCT_128
#undef WM_PRODUCT_256

#endif

#endif
