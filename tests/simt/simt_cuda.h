/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA C for a host compiler: what a kernel file of warpmath uses of the language, answered by the emulation. Included
 * before everything else in such a file (wm_simt_sources() in CMakeLists.txt does it), with -DWM_SIMT.
 *
 * Kernels keep to what is here and in <warpmath/device/base.cuh>. There is no __shared__: a kernel carves its shared
 * memory from the dynamic buffer, by wm_shared<T>(). A device function that contains PTX gets its second body at the
 * end of this file, under the same name.
 */
#ifndef WM_TESTS_SIMT_CUDA_H
#define WM_TESTS_SIMT_CUDA_H

#ifndef WM_SIMT
#error "simt_cuda.h is for files compiled with -DWM_SIMT"
#endif

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt_device.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(x) ((x) ? (void)0 : wm_simt_trap("an assumption of the kernel does not hold: " #x))

#define WM_SIMT_INLINE static inline __attribute__((always_inline))

/* ---- Built-in variables and vector types ---- */

#define threadIdx (wm_simt_here_now()->thread)
#define blockIdx (wm_simt_here_now()->block)
#define blockDim (wm_simt_here_now()->block_size)
#define gridDim (wm_simt_here_now()->grid_size)
#define warpSize 32

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

typedef struct __align__(8) float2 {
    float x, y;
}
float2;
typedef struct __align__(16) float4 {
    float x, y, z, w;
}
float4;
typedef struct __align__(16) double2 {
    double x, y;
}
double2;
typedef struct __align__(8) int2 {
    int x, y;
}
int2;
typedef struct __align__(16) int4 {
    int x, y, z, w;
}
int4;
typedef struct __align__(8) uint2 {
    unsigned x, y;
}
uint2;
typedef struct __align__(16) uint4 {
    unsigned x, y, z, w;
}
uint4;
typedef struct __align__(16) ulonglong2 {
    unsigned long long x, y;
}
ulonglong2;

WM_SIMT_INLINE float2 make_float2(float x, float y) {
    return {x, y};
}
WM_SIMT_INLINE float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
WM_SIMT_INLINE double2 make_double2(double x, double y) {
    return {x, y};
}
WM_SIMT_INLINE int2 make_int2(int x, int y) {
    return {x, y};
}
WM_SIMT_INLINE int4 make_int4(int x, int y, int z, int w) {
    return {x, y, z, w};
}
WM_SIMT_INLINE uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
WM_SIMT_INLINE uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}
WM_SIMT_INLINE ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) {
    return {x, y};
}

/* ---- Values as bits ---- */

template <class T>
WM_SIMT_INLINE uint64_t wm_simt_bits(T x) {
    static_assert(sizeof(T) <= 8, "at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return bits;
}
template <class T>
WM_SIMT_INLINE T wm_simt_value(uint64_t bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

WM_SIMT_INLINE unsigned __float_as_uint(float x) {
    return wm_simt_value<unsigned>(wm_simt_bits(x));
}
WM_SIMT_INLINE float __uint_as_float(unsigned x) {
    return wm_simt_value<float>(x);
}
WM_SIMT_INLINE int __float_as_int(float x) {
    return wm_simt_value<int>(wm_simt_bits(x));
}
WM_SIMT_INLINE float __int_as_float(int x) {
    return wm_simt_value<float>((unsigned)x);
}
WM_SIMT_INLINE long long __double_as_longlong(double x) {
    return wm_simt_value<long long>(wm_simt_bits(x));
}
WM_SIMT_INLINE double __longlong_as_double(long long x) {
    return wm_simt_value<double>((uint64_t)x);
}
WM_SIMT_INLINE double __hiloint2double(int high, int low) {
    return wm_simt_value<double>((uint64_t)(unsigned)high << 32 | (unsigned)low);
}
WM_SIMT_INLINE int __double2hiint(double x) {
    return (int)(wm_simt_bits(x) >> 32);
}
WM_SIMT_INLINE int __double2loint(double x) {
    return (int)(uint32_t)wm_simt_bits(x);
}

/* ---- Barriers and fences ---- */

WM_SIMT_INLINE void __syncthreads(void) {
    wm_simt_barrier_block(WM_SIMT_PLAIN, 0);
}
WM_SIMT_INLINE int __syncthreads_and(int x) {
    return wm_simt_barrier_block(WM_SIMT_AND, x);
}
WM_SIMT_INLINE int __syncthreads_or(int x) {
    return wm_simt_barrier_block(WM_SIMT_OR, x);
}
WM_SIMT_INLINE int __syncthreads_count(int x) {
    return wm_simt_barrier_block(WM_SIMT_COUNT, x);
}
WM_SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
    wm_simt_warp_op(WM_SIMT_SYNC, mask, 0, 0, 32);
}
WM_SIMT_INLINE void __threadfence(void) {}
WM_SIMT_INLINE void __threadfence_block(void) {}
WM_SIMT_INLINE void __nanosleep(unsigned) {
    wm_simt_yield();
}
WM_SIMT_INLINE void __trap(void) {
    wm_simt_trap("the kernel trapped");
}

/* ---- Warp operations ---- */

template <class T>
WM_SIMT_INLINE T wm_simt_shuffle(int op, unsigned mask, T x, int argument, int width) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    return wm_simt_value<T>(wm_simt_warp_op(op, mask, wm_simt_bits(x), argument, width));
}
template <class T>
WM_SIMT_INLINE T __shfl_sync(unsigned mask, T x, int from, int width = 32) {
    return wm_simt_shuffle(WM_SIMT_SHUFFLE, mask, x, from, width);
}
template <class T>
WM_SIMT_INLINE T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32) {
    return wm_simt_shuffle(WM_SIMT_SHUFFLE_UP, mask, x, (int)by, width);
}
template <class T>
WM_SIMT_INLINE T __shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32) {
    return wm_simt_shuffle(WM_SIMT_SHUFFLE_DOWN, mask, x, (int)by, width);
}
template <class T>
WM_SIMT_INLINE T __shfl_xor_sync(unsigned mask, T x, int bits, int width = 32) {
    return wm_simt_shuffle(WM_SIMT_SHUFFLE_XOR, mask, x, bits, width);
}
WM_SIMT_INLINE unsigned __ballot_sync(unsigned mask, int x) {
    return (unsigned)wm_simt_warp_op(WM_SIMT_BALLOT, mask, x != 0, 0, 32);
}
WM_SIMT_INLINE int __any_sync(unsigned mask, int x) {
    return (int)wm_simt_warp_op(WM_SIMT_ANY, mask, x != 0, 0, 32);
}
WM_SIMT_INLINE int __all_sync(unsigned mask, int x) {
    return (int)wm_simt_warp_op(WM_SIMT_ALL, mask, x != 0, 0, 32);
}
template <class T>
WM_SIMT_INLINE unsigned __match_any_sync(unsigned mask, T x) {
    return (unsigned)wm_simt_warp_op(WM_SIMT_MATCH_ANY, mask, wm_simt_bits(x), 0, 32);
}
template <class T>
WM_SIMT_INLINE T wm_simt_reduce(int op, unsigned mask, T x) {
    static_assert(sizeof(T) == 4 && T(0.5) == T(0), "warp reductions are of 32-bit integers");
    return (T)wm_simt_warp_op(op, mask, (uint32_t)x, 0, 32);
}
template <class T>
WM_SIMT_INLINE T __reduce_add_sync(unsigned mask, T x) {
    return wm_simt_reduce(WM_SIMT_SUM, mask, x);
}
template <class T>
WM_SIMT_INLINE T __reduce_min_sync(unsigned mask, T x) {
    return wm_simt_reduce(T(-1) < T(0) ? WM_SIMT_MIN_SIGNED : WM_SIMT_MIN_UNSIGNED, mask, x);
}
template <class T>
WM_SIMT_INLINE T __reduce_max_sync(unsigned mask, T x) {
    return wm_simt_reduce(T(-1) < T(0) ? WM_SIMT_MAX_SIGNED : WM_SIMT_MAX_UNSIGNED, mask, x);
}
WM_SIMT_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned x) {
    return wm_simt_reduce(WM_SIMT_BIT_AND, mask, x);
}
WM_SIMT_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned x) {
    return wm_simt_reduce(WM_SIMT_BIT_OR, mask, x);
}
WM_SIMT_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned x) {
    return wm_simt_reduce(WM_SIMT_BIT_XOR, mask, x);
}

/* ---- Atomics: int, unsigned, unsigned long long; float and double for add and exchange ---- */

WM_SIMT_INLINE int wm_simt_kind_of(const int *) {
    return WM_SIMT_I32;
}
WM_SIMT_INLINE int wm_simt_kind_of(const unsigned *) {
    return WM_SIMT_U32;
}
WM_SIMT_INLINE int wm_simt_kind_of(const long long *) {
    return WM_SIMT_I64;
}
WM_SIMT_INLINE int wm_simt_kind_of(const unsigned long long *) {
    return WM_SIMT_U64;
}
WM_SIMT_INLINE int wm_simt_kind_of(const float *) {
    return WM_SIMT_F32;
}
WM_SIMT_INLINE int wm_simt_kind_of(const double *) {
    return WM_SIMT_F64;
}
template <class T>
struct wm_simt_same { /* keeps a parameter out of template deduction */
    typedef T type;
};
template <class T>
WM_SIMT_INLINE T wm_simt_atomic_as(int op, T *at, T x, T expected) {
    int kind = wm_simt_kind_of(at);
    return wm_simt_value<T>(wm_simt_atomic_op(op, kind, at, wm_simt_bits(x), wm_simt_bits(expected)));
}
template <class T>
WM_SIMT_INLINE T atomicAdd(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_ADD, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicSub(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_SUB, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicExch(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_EXCHANGE, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicMin(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_MIN, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicMax(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_MAX, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicAnd(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_AND_BITS, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicOr(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_OR_BITS, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicXor(T *at, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_XOR_BITS, at, x, x);
}
template <class T>
WM_SIMT_INLINE T atomicCAS(T *at, typename wm_simt_same<T>::type expected, typename wm_simt_same<T>::type x) {
    return wm_simt_atomic_as<T>(WM_SIMT_SWAP_IF, at, x, expected);
}

/* ---- Memory ---- */

template <class T>
WM_SIMT_INLINE T __ldg(const T *from) {
    return *from;
}
template <class T>
WM_SIMT_INLINE T __ldcs(const T *from) {
    return *from;
}
template <class T>
WM_SIMT_INLINE T __ldcg(const T *from) {
    return *from;
}
template <class T>
WM_SIMT_INLINE void __stcs(T *to, T x) {
    *to = x;
}
template <class T>
WM_SIMT_INLINE void __stcg(T *to, T x) {
    *to = x;
}

#include "simt_math.h"

/* ---- Second bodies of the functions of base.cuh that contain PTX ---- */

template <class T>
WM_SIMT_INLINE T *wm_shared(void) {
    return static_cast<T *>(wm_simt_here_now()->shared);
}
WM_SIMT_INLINE void wm_barrier_named(int id, int threads) {
    wm_simt_barrier_some(id, threads, 1);
}
WM_SIMT_INLINE void wm_barrier_arrive(int id, int threads) {
    wm_simt_barrier_some(id, threads, 0);
}

/* ---- of cluster.cuh ---- */

WM_SIMT_INLINE int wm_cluster_rank(void) {
    return wm_simt_here_now()->cluster_rank;
}
WM_SIMT_INLINE int wm_cluster_blocks(void) {
    return wm_simt_here_now()->cluster_blocks;
}
WM_SIMT_INLINE void wm_cluster_barrier(void) {
    wm_simt_barrier_cluster(0);
}
template <class T>
WM_SIMT_INLINE T *wm_cluster_shared(T *mine, int rank) {
    return static_cast<T *>(wm_simt_cluster_shared(mine, rank));
}

/* ---- of cluster_push.cuh: barriers of the cluster where others are waited for ---- */

struct wm_push_gate;
WM_SIMT_INLINE void wm_push_begin(wm_push_gate *) {}
WM_SIMT_INLINE void wm_push_used(float &) {}
WM_SIMT_INLINE void wm_push_used(double &) {}
WM_SIMT_INLINE void wm_push_open(wm_push_gate *, int) {}
WM_SIMT_INLINE void wm_push_wait_open(void) {
    wm_simt_barrier_cluster(0);
}
template <class T>
struct wm_push_to {
    T *array;
};
template <class T>
WM_SIMT_INLINE wm_push_to<T> wm_push_target(T *mine, wm_push_gate *, int rank) {
    return {static_cast<T *>(wm_simt_cluster_shared(mine, rank))};
}
template <class T>
WM_SIMT_INLINE void wm_push(wm_push_to<T> to, int i, const T &value) {
    to.array[i] = value;
}
WM_SIMT_INLINE void wm_push_end(wm_push_gate *) {
    wm_simt_barrier_cluster(0);
}
WM_SIMT_INLINE void wm_push_end_of(wm_push_gate *, int) {
    wm_simt_barrier_cluster(0);
}

/* ---- of copy.cuh ---- */

WM_SIMT_INLINE void wm_copy_async16(void *to, const void *from, int bytes = 16) {
    wm_simt_copy_start(to, from, 16, bytes);
}
WM_SIMT_INLINE void wm_copy_async4(void *to, const void *from, int bytes = 4) {
    wm_simt_copy_start(to, from, 4, bytes);
}
WM_SIMT_INLINE void wm_copy_commit(void) {
    wm_simt_copy_commit();
}
template <int Groups>
WM_SIMT_INLINE void wm_copy_wait(void) {
    wm_simt_copy_wait(Groups);
}

#include "simt_async.h"

#endif
