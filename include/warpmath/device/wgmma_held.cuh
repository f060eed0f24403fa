/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma with A in registers: as wgmma.cuh, whose fences, waits and arrangement of the sums hold here too. A's 64 × 16
 * elements of a step lie in four registers a thread as in a fragment of mma.cuh, each warp holding 16 rows; registers
 * and sums are not touched before the wait. 16-bit types; D of 64, 128 or 256 columns. All 128 threads of the
 * warpgroup call. Source: PTX ISA, wgmma.mma_async, "matrix A in registers".
 */
#ifndef WARPMATH_DEVICE_WGMMA_HELD_CUH
#define WARPMATH_DEVICE_WGMMA_HELD_CUH

#include <warpmath/device/wgmma.cuh>

#ifndef WM_SIMT

// clang-format off
#define WM_NAMES_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WM_NAMES_64 WM_NAMES_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WM_NAMES_128 WM_NAMES_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WM_SUMS_16(d, i) \
    "+f"(d[i + 0]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7]), \
    "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), "+f"(d[i + 11]), "+f"(d[i + 12]), "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
#define WM_SUMS_64(d, i) WM_SUMS_16(d, i), WM_SUMS_16(d, i + 16), WM_SUMS_16(d, i + 32), WM_SUMS_16(d, i + 48)
#define WM_HELD_64(type) \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %37, 0;\n\t" \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" WM_NAMES_32 \
                 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n\t}" \
                 : WM_SUMS_16(sum, 0), WM_SUMS_16(sum, 16) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep))
#define WM_HELD_128(type) \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %69, 0;\n\t" \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" WM_NAMES_64 \
                 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n\t}" \
                 : WM_SUMS_64(sum, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep))
#define WM_HELD_256(type) \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %133, 0;\n\t" \
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" WM_NAMES_128 \
                 "}, {%128, %129, %130, %131}, %132, p, 1, 1, 0;\n\t}" \
                 : WM_SUMS_64(sum, 0), WM_SUMS_64(sum, 64) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep))
// clang-format on

/** sum = A · B + (keep ? sum : 0), 16 of k; B is K-major. */
WM_DEVICE void wm_wgmma_held_bf16(float (&sum)[32], const wm_u32 (&a)[4], wm_u64 b, int keep) {
    WM_HELD_64("bf16");
}
WM_DEVICE void wm_wgmma_held_bf16(float (&sum)[64], const wm_u32 (&a)[4], wm_u64 b, int keep) {
    WM_HELD_128("bf16");
}
WM_DEVICE void wm_wgmma_held_bf16(float (&sum)[128], const wm_u32 (&a)[4], wm_u64 b, int keep) {
    WM_HELD_256("bf16");
}
WM_DEVICE void wm_wgmma_held_f16(float (&sum)[32], const wm_u32 (&a)[4], wm_u64 b, int keep) {
    WM_HELD_64("f16");
}
WM_DEVICE void wm_wgmma_held_f16(float (&sum)[64], const wm_u32 (&a)[4], wm_u64 b, int keep) {
    WM_HELD_128("f16");
}
WM_DEVICE void wm_wgmma_held_f16(float (&sum)[128], const wm_u32 (&a)[4], wm_u64 b, int keep) {
    WM_HELD_256("f16");
}

#undef WM_NAMES_32
#undef WM_NAMES_64
#undef WM_NAMES_128
#undef WM_SUMS_16
#undef WM_SUMS_64
#undef WM_HELD_64
#undef WM_HELD_128
#undef WM_HELD_256

#endif

#endif
