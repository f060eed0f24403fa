/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every device header and kernel of warpmath starts from: types, the kernel convention, and small named functions
 * over barriers, shuffles, votes, rounded arithmetic and wide memory accesses.
 *
 * It compiles with nvcc (C++17), with NVRTC (no system header exists there, so none is included) and, for the tests
 * that run kernels without a GPU, with a host compiler under -DWM_SIMT (docs/emulation.md). Two rules make that work:
 *   - PTX appears only in small functions such as the ones between `#ifndef WM_SIMT` and `#endif` below; the emulation
 *     gives each of them a second body. Everything else is CUDA C.
 *   - A kernel takes exactly one parameter, a struct by value, and carves its shared memory from the dynamic buffer:
 *
 *         typedef struct wm_scale { float *x; wm_i64 n; float by; } wm_scale;
 *         typedef struct wm_scale_shared { float tile[256]; } wm_scale_shared;
 *
 *         WM_KERNEL __launch_bounds__(256) wm_scale_kernel(WM_PARAMS(wm_scale)) {
 *             wm_scale_shared *s = wm_shared<wm_scale_shared>();
 *             for (wm_i64 i = wm_grid_first(); i < p.n; i += wm_grid_step()) p.x[i] = wm_mul(p.x[i], p.by);
 *         }
 *
 * Blocks are one-dimensional. Where nothing else is said, every lane of the warp calls, with the full mask.
 */
#ifndef WARPMATH_DEVICE_BASE_CUH
#define WARPMATH_DEVICE_BASE_CUH

typedef signed char wm_i8;
typedef unsigned char wm_u8;
typedef short wm_i16;
typedef unsigned short wm_u16;
typedef int wm_i32;
typedef unsigned int wm_u32;
typedef long long wm_i64;
typedef unsigned long long wm_u64;

/** A function for kernels. */
#define WM_DEVICE static __device__ __forceinline__
/** A function of compile-time sizes, for kernels and for the host code that launches them. */
#define WM_CONSTEXPR static constexpr __host__ __device__
/** Starts a kernel: `WM_KERNEL name(WM_PARAMS(T))`, launch bounds between the two where wanted. */
#define WM_KERNEL extern "C" __global__ void
/** Unrolls the loop that follows, in device code. */
#ifdef __CUDA_ARCH__
#define WM_UNROLL _Pragma("unroll")
#else
#define WM_UNROLL
#endif

#ifndef WM_SIMT
/** The one parameter of a kernel, named p: a struct in constant memory. */
#define WM_PARAMS(T) const __grid_constant__ T p
#else
#define WM_PARAMS(T) const T &p
#endif

/** All lanes of a warp. */
#define WM_FULL_WARP 0xffffffffu
#define WM_WARP 32

#include <warpmath/device/float.cuh>

/* ---- Where am I ---- */

/** This thread's index in its block. */
WM_DEVICE int wm_thread(void) {
    return (int)threadIdx.x;
}

/** Threads of the block. */
WM_DEVICE int wm_threads(void) {
    return (int)blockDim.x;
}

/** This thread's lane in its warp. */
WM_DEVICE int wm_lane(void) {
    return (int)(threadIdx.x % WM_WARP);
}

/** This thread's warp in its block; uniform within the warp, and the compiler is told so. */
WM_DEVICE int wm_warp(void) {
    return __shfl_sync(WM_FULL_WARP, (int)(threadIdx.x / WM_WARP), 0);
}

/** First index of a grid-wide loop: for (i = wm_grid_first(); i < n; i += wm_grid_step()). */
WM_DEVICE wm_i64 wm_grid_first(void) {
    return (wm_i64)blockIdx.x * blockDim.x + threadIdx.x;
}

/** Step of a grid-wide loop: the number of threads of the grid. */
WM_DEVICE wm_i64 wm_grid_step(void) {
    return (wm_i64)gridDim.x * blockDim.x;
}

#ifndef WM_SIMT
/** The block's dynamic shared memory as a T, aligned to 1024 bytes. Each call gives the same address. */
template <class T>
WM_DEVICE T *wm_shared(void) {
    extern __shared__ __align__(1024) unsigned char wm_shared_bytes[];
    return reinterpret_cast<T *>(wm_shared_bytes);
}

/** The address in the shared window that PTX instructions take. */
WM_DEVICE wm_u32 wm_shared_address(const void *pointer) {
    return (wm_u32)__cvta_generic_to_shared(pointer);
}
#endif

/* ---- Barriers ---- */

/** Waits for all threads of the block; orders their memory accesses. No thread may have left the kernel. */
WM_DEVICE void wm_barrier(void) {
    __syncthreads();
}

/** wm_barrier(); non-zero if `x` was non-zero for any thread. */
WM_DEVICE int wm_barrier_or(int x) {
    return __syncthreads_or(x);
}

/** wm_barrier(); non-zero if `x` was non-zero for every thread. */
WM_DEVICE int wm_barrier_and(int x) {
    return __syncthreads_and(x);
}

/** wm_barrier(); how many threads had a non-zero `x`. */
WM_DEVICE int wm_barrier_count(int x) {
    return __syncthreads_count(x);
}

/** Waits for the lanes of `mask`; orders their memory accesses, which shuffles and votes do not. */
WM_DEVICE void wm_barrier_warp(wm_u32 mask = WM_FULL_WARP) {
    __syncwarp(mask);
}

#ifndef WM_SIMT
/** Waits at barrier `id` (1 to 15) until `threads` threads, a multiple of 32, have come to it; orders memory. */
WM_DEVICE void wm_barrier_named(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/** Counts as arrived at barrier `id` without waiting; the waiting side calls wm_barrier_named with the same total. */
WM_DEVICE void wm_barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#endif

/** Orders this thread's writes before its later ones, as seen by the device. */
WM_DEVICE void wm_fence(void) {
    __threadfence();
}

/** Orders this thread's writes before its later ones, as seen by the block. */
WM_DEVICE void wm_fence_block(void) {
    __threadfence_block();
}

/* ---- Shuffles, votes, reductions of a warp: T has 4 or 8 bytes ---- */

/** `x` of lane `from`. */
template <class T>
WM_DEVICE T wm_shuffle(T x, int from, wm_u32 mask = WM_FULL_WARP) {
    return __shfl_sync(mask, x, from);
}

/** `x` of the lane whose number is this one's xor `bits`. */
template <class T>
WM_DEVICE T wm_shuffle_xor(T x, int bits, wm_u32 mask = WM_FULL_WARP) {
    return __shfl_xor_sync(mask, x, bits);
}

/** `x` of the lane `by` below; the lowest `by` lanes get their own. */
template <class T>
WM_DEVICE T wm_shuffle_up(T x, int by, wm_u32 mask = WM_FULL_WARP) {
    return __shfl_up_sync(mask, x, (wm_u32)by);
}

/** `x` of the lane `by` above; the highest `by` lanes get their own. */
template <class T>
WM_DEVICE T wm_shuffle_down(T x, int by, wm_u32 mask = WM_FULL_WARP) {
    return __shfl_down_sync(mask, x, (wm_u32)by);
}

/** A bit a lane: whether its `x` is non-zero. */
WM_DEVICE wm_u32 wm_ballot(int x, wm_u32 mask = WM_FULL_WARP) {
    return __ballot_sync(mask, x);
}

/** Non-zero if any lane's `x` is. */
WM_DEVICE int wm_any(int x, wm_u32 mask = WM_FULL_WARP) {
    return __any_sync(mask, x);
}

/** Non-zero if every lane's `x` is. */
WM_DEVICE int wm_all(int x, wm_u32 mask = WM_FULL_WARP) {
    return __all_sync(mask, x);
}

/* ---- Arithmetic, correctly rounded to nearest even: the same bits on every device and on the CPU ---- */

/** a · b + c with one rounding. */
WM_DEVICE float wm_fma(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
WM_DEVICE double wm_fma(double a, double b, double c) {
    return __fma_rn(a, b, c);
}

/** a + b, never contracted into a fused multiply-add; so for the next ones. */
WM_DEVICE float wm_add(float a, float b) {
    return __fadd_rn(a, b);
}
WM_DEVICE double wm_add(double a, double b) {
    return __dadd_rn(a, b);
}

/** a - b. */
WM_DEVICE float wm_sub(float a, float b) {
    return __fsub_rn(a, b);
}
WM_DEVICE double wm_sub(double a, double b) {
    return __dsub_rn(a, b);
}

/** a · b. */
WM_DEVICE float wm_mul(float a, float b) {
    return __fmul_rn(a, b);
}
WM_DEVICE double wm_mul(double a, double b) {
    return __dmul_rn(a, b);
}

/** a / b. */
WM_DEVICE float wm_div(float a, float b) {
    return __fdiv_rn(a, b);
}
WM_DEVICE double wm_div(double a, double b) {
    return __ddiv_rn(a, b);
}

/** The square root. */
WM_DEVICE float wm_sqrt(float x) {
    return __fsqrt_rn(x);
}
WM_DEVICE double wm_sqrt(double x) {
    return __dsqrt_rn(x);
}

/** The high half of the product of two unsigned integers. */
WM_DEVICE wm_u32 wm_mul_high(wm_u32 a, wm_u32 b) {
    return __umulhi(a, b);
}
WM_DEVICE wm_u64 wm_mul_high(wm_u64 a, wm_u64 b) {
    return __umul64hi(a, b);
}

/** The smaller, the larger. */
template <class T>
WM_CONSTEXPR T wm_min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
WM_CONSTEXPR T wm_max(T a, T b) {
    return a < b ? b : a;
}

/** a / b rounded up, for a >= 0 and b > 0. */
template <class T>
WM_CONSTEXPR T wm_divide_up(T a, T b) {
    return a == 0 ? 0 : (a - 1) / b + 1;
}

/* ---- 16 bytes in one access: the pointer must be aligned to 16 ---- */

/** 16 bytes of T: 4 f32, 8 f16, 2 f64 … Index it with compile-time constants so that it stays in registers. */
template <class T>
struct alignas(16) wm_pack {
    T v[16 / sizeof(T)];
};

/** A pack from the raw 16 bytes, and back. */
template <class T>
WM_DEVICE wm_pack<T> wm_pack_of(uint4 raw) {
    wm_pack<T> pack;
    memcpy(&pack, &raw, 16);
    return pack;
}
template <class T>
WM_DEVICE uint4 wm_pack_raw(const wm_pack<T> &pack) {
    uint4 raw;
    memcpy(&raw, &pack, 16);
    return raw;
}

/** Loads 16 bytes from shared or global memory. */
template <class T>
WM_DEVICE wm_pack<T> wm_load16(const T *from) {
    return wm_pack_of<T>(*reinterpret_cast<const uint4 *>(from));
}

/** Loads 16 bytes of global memory that nothing writes while the kernel runs. */
template <class T>
WM_DEVICE wm_pack<T> wm_load16_const(const T *from) {
    return wm_pack_of<T>(__ldg(reinterpret_cast<const uint4 *>(from)));
}

/** Loads 16 bytes of global memory that will not be used again: first to leave the caches. */
template <class T>
WM_DEVICE wm_pack<T> wm_load16_stream(const T *from) {
    return wm_pack_of<T>(__ldcs(reinterpret_cast<const uint4 *>(from)));
}

/** Stores 16 bytes to shared or global memory. */
template <class T>
WM_DEVICE void wm_store16(T *to, const wm_pack<T> &pack) {
    *reinterpret_cast<uint4 *>(to) = wm_pack_raw(pack);
}

/** Stores 16 bytes of global memory that will not be read soon: first to leave the caches. */
template <class T>
WM_DEVICE void wm_store16_stream(T *to, const wm_pack<T> &pack) {
    __stcs(reinterpret_cast<uint4 *>(to), wm_pack_raw(pack));
}

/** Whether the pointer is a multiple of 16 bytes. */
WM_DEVICE bool wm_aligned16(const void *pointer) {
    return (reinterpret_cast<wm_u64>(pointer) & 15) == 0;
}

#endif
