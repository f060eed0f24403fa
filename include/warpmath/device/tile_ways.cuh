/* SPDX-License-Identifier: Apache-2.0 */
/* The three ways of tile.cuh: what its calls do, by the type of the operands and by where B comes from. */
#ifndef WARPMATH_DEVICE_TILE_WAYS_CUH
#define WARPMATH_DEVICE_TILE_WAYS_CUH

#include <warpmath/device/mma_narrow.cuh>
#include <warpmath/device/tile_layout.cuh>
#include <warpmath/device/wgmma_held.cuh>
#include <warpmath/device/wgmma_narrow.cuh>

/* ---- Operands of B: from a tile, or made on the spot ---- */

template <class A, class B>
struct wm_tile_same {
    static constexpr bool VALUE = false;
};
template <class A>
struct wm_tile_same<A, A> {
    static constexpr bool VALUE = true;
};

/** An element as FMA multiplies it: as f32, f64, int, or complex as it is. */
template <class S, class T>
WM_DEVICE S wm_tile_value(const T &x) {
    if constexpr (wm_tile_same<S, T>::VALUE || wm_tile_same<S, int>::VALUE)
        return x;
    else
        return wm_to_f32(x);
}

WM_DEVICE void wm_tile_add(float &sum, float a, float b) {
    sum = wm_fma(a, b, sum);
}
WM_DEVICE void wm_tile_add(double &sum, double a, double b) {
    sum = wm_fma(a, b, sum);
}
WM_DEVICE void wm_tile_add(int &sum, int a, int b) {
    sum += a * b;
}
/** Complex: four fused multiply-adds. */
template <class C>
WM_DEVICE void wm_tile_add(C &sum, const C &a, const C &b) {
    sum.re = wm_fma(-a.im, b.im, wm_fma(a.re, b.re, sum.re));
    sum.im = wm_fma(a.im, b.re, wm_fma(a.re, b.im, sum.im));
}

/** A value as an element. */
template <class T, class V>
WM_DEVICE void wm_tile_put(T *to, const V &x) {
    if constexpr (wm_tile_same<T, V>::VALUE || wm_tile_same<T, wm_i8>::VALUE || wm_tile_same<T, double>::VALUE)
        *to = (T)x;
    else
        wm_put_f32(to, (float)x);
}

/** B in shared memory: a granule is 16 bytes of k. */
template <class T, int N>
struct wm_tile_stored {
    enum { UNROLLED = 64 }; /* steps of k side by side */
    const T *b;
    __device__ __forceinline__ wm_pack<T> granule(int column, int k) const {
        return wm_load16(b + wmTileAt<T>(N, column, k));
    }
    /** Fragments of mma for 16 columns: two of each 8, for 32 bytes of k. */
    __device__ __forceinline__ void fragments(wm_u32 (&out)[4], int column, int k) const {
        int lane = wm_lane(), row = column + lane / 16 * 8 + lane % 8;
        wm_load_matrices(out, b + wmTileAt<T>(N, row, k + lane / 8 % 2 * (16 / (int)sizeof(T))));
    }
    __device__ __forceinline__ T one(int column, int k) const {
        return b[wmTileAt<T>(N, column, k)];
    }
};

/** B made by a function object. */
template <class T, class F>
struct wm_tile_made {
    enum { UNROLLED = 1 }; /* whatever f does is long enough */
    const F &f;
    __device__ __forceinline__ wm_pack<T> granule(int column, int k) const {
        wm_pack<T> pack;
        WM_UNROLL
        for (int i = 0; i < 16 / (int)sizeof(T); i++) wm_tile_put(&pack.v[i], f(k + i, column));
        return pack;
    }
    __device__ __forceinline__ void fragments(wm_u32 (&out)[4], int column, int k) const {
        constexpr int PER = 4 / (int)sizeof(T);
        int lane = wm_lane();
        WM_UNROLL
        for (int r = 0; r < 4; r++) {
            T part[PER];
            WM_UNROLL
            for (int i = 0; i < PER; i++)
                wm_tile_put(&part[i], f(k + (r % 2 * 4 + lane % 4) * PER + i, column + r / 2 * 8 + lane / 4));
            memcpy(&out[r], part, 4);
        }
    }
    __device__ __forceinline__ T one(int column, int k) const {
        T element;
        wm_tile_put(&element, f(k, column));
        return element;
    }
};

/* ---- The three ways ---- */

template <int M, int N, int K, int THREADS, class S, int E, class T, class B>
WM_DEVICE void wm_tile_fma(S (&sum)[E], const T *a, const B &b, int thread) {
    constexpr int C = wm_tile_columns(M, N, THREADS), R = E / C, P = 16 / (int)sizeof(T);
    int row = thread / (N / C), column = thread % (N / C);
#pragma unroll 1
    for (int k = 0; k < K; k += P) {
        wm_pack<T> bs[C];
        WM_UNROLL
        for (int j = 0; j < C; j++) bs[j] = b.granule(column + N / C * j, k);
        WM_UNROLL
        for (int i = 0; i < R; i++) {
            wm_pack<T> x = wm_load16(a + wmTileAt<T>(M, row + M / R * i, k));
            WM_UNROLL
            for (int p = 0; p < P; p++) WM_UNROLL
            for (int j = 0; j < C; j++)
                wm_tile_add(sum[i * C + j], wm_tile_value<S>(x.v[p]), wm_tile_value<S>(bs[j].v[p]));
        }
    }
}

/** One mma by the operands' type. */
template <class T, class S>
WM_DEVICE void wm_tile_mma_one(S (&sum)[4], const wm_u32 (&a)[4], const wm_u32 (&b)[2]) {
    if constexpr (wm_tile_same<T, wm_f16>::VALUE) {
        wm_mma_f16(sum, a, b);
    } else if constexpr (wm_tile_same<T, wm_bf16>::VALUE) {
        wm_mma_bf16(sum, a, b);
    } else if constexpr (wm_tile_same<T, wm_e4m3>::VALUE) {
        wm_mma_e4m3(sum, a, b);
    } else if constexpr (wm_tile_same<T, wm_e5m2>::VALUE) {
        wm_mma_e5m2(sum, a, b);
    } else if constexpr (wm_tile_same<T, wm_i8>::VALUE) {
        wm_mma_s8(sum, a, b);
    } else {
        static_assert(wm_tile_same<T, float>::VALUE, "f64 f32 f16 bf16 e4m3 e5m2 i8");
        wm_mma_tf32(sum, a, b);
    }
}

/** f32 words become tf32; others stay. */
WM_DEVICE void wm_tile_round(wm_u32 (&words)[4], const float *) {
    WM_UNROLL
    for (int r = 0; r < 4; r++) words[r] = wm_round_tf32(wm_f32_of(words[r]));
}
template <class T>
WM_DEVICE void wm_tile_round(wm_u32 (&)[4], const T *) {}

template <int M, int N, int K, int THREADS, class S, int E, class T, class B>
WM_DEVICE void wm_tile_mma(S (&sum)[E], const T *a, const B &b, int thread) {
    constexpr int W = wm_tile_warps(M, N, THREADS, 16), ROWS = M / W / 16, COLUMNS = N / (THREADS / 32 / W) / 8;
    constexpr int STEP = 32 / (int)sizeof(T);
    static_assert(ROWS * 16 * W == M && COLUMNS % 2 == 0, "each warp has a multiple of 16 rows and of 16 columns");
    int lane = wm_lane(), row = thread / 32 % W * (M / W), column = thread / 32 / W * (COLUMNS * 8);
#pragma unroll B::UNROLLED
    for (int k = 0; k < K; k += STEP) {
        wm_u32 x[ROWS][4];
        WM_UNROLL
        for (int i = 0; i < ROWS; i++) {
            wm_load_matrices(x[i], a + wmTileAt<T>(M, row + i * 16 + lane % 16, k + lane / 16 * (STEP / 2)));
            wm_tile_round(x[i], a);
        }
        WM_UNROLL
        for (int j = 0; j < COLUMNS; j += 2) {
            wm_u32 y[4];
            b.fragments(y, column + j * 8, k);
            wm_tile_round(y, a);
            WM_UNROLL
            for (int i = 0; i < 2 * ROWS; i++) {
                const wm_u32 half[2] = {y[i % 2 * 2], y[i % 2 * 2 + 1]};
                S *to = &sum[(i / 2 * COLUMNS + j + i % 2) * 4];
                wm_tile_mma_one<T>(*reinterpret_cast<S(*)[4]>(to), x[i / 2], half);
            }
        }
    }
}

template <int M, int N, int K, int THREADS, int E, class B>
WM_DEVICE void wm_tile_mma(double (&sum)[E], const double *a, const B &b, int thread) {
    constexpr int W = wm_tile_warps(M, N, THREADS, 8), ROWS = M / W / 8, COLUMNS = N / (THREADS / 32 / W) / 8;
    static_assert(ROWS * 8 * W == M && COLUMNS >= 1, "each warp has a multiple of 8 rows and of 8 columns");
    int lane = wm_lane(), row = thread / 32 % W * (M / W), column = thread / 32 / W * (COLUMNS * 8);
#pragma unroll B::UNROLLED
    for (int k = 0; k < K; k += 4) {
        double x[ROWS];
        WM_UNROLL
        for (int i = 0; i < ROWS; i++) x[i] = a[wmTileAt<double>(M, row + i * 8 + lane / 4, k + lane % 4)];
        WM_UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            double y = b.one(column + j * 8 + lane / 4, k + lane % 4);
            WM_UNROLL
            for (int i = 0; i < ROWS; i++)
                wm_mma_f64(*reinterpret_cast<double(*)[2]>(&sum[(i * COLUMNS + j) * 2]), x[i], y);
        }
    }
}

/* ---- A in registers, where sums of its size would be ---- */

/** Fragment `step` of A's rows i: 32 bytes of k, in the order in which sums lie. B's fragments follow it. */
template <int K, class T, class S>
WM_DEVICE void wm_tile_held(wm_u32 (&out)[4], const S *left, int i, int step) {
    constexpr int PER = 4 / (int)sizeof(T), COLUMNS = K / 8, PIECES = 4 / (int)sizeof(T);
    WM_UNROLL
    for (int r = 0; r < 4; r++) {
        T part[PER];
        WM_UNROLL
        for (int p = 0; p < PER; p++) {
            int l = r / 2 * PER + p;
            wm_tile_put(&part[p], left[(i * COLUMNS + step * PIECES + l / 2) * 4 + r % 2 * 2 + l % 2]);
        }
        memcpy(&out[r], part, 4);
    }
}

/** B's fragment of 8 columns with k in that order. */
template <class T, class B>
WM_DEVICE void wm_tile_ordered(wm_u32 (&out)[2], const B &b, int column, int k) {
    constexpr int PER = 4 / (int)sizeof(T);
    int lane = wm_lane();
    WM_UNROLL
    for (int r = 0; r < 2; r++) {
        T part[PER];
        WM_UNROLL
        for (int p = 0; p < PER; p++) {
            int l = r * PER + p;
            part[p] = b.one(column + lane / 4, k + l / 2 * 8 + lane % 4 * 2 + l % 2);
        }
        memcpy(&out[r], part, 4);
    }
}

template <int M, int N, int K, int THREADS, class S, int E, class L, int EL, class T, class B>
WM_DEVICE void wm_tile_mma_held(S (&sum)[E], const L (&left)[EL], const T *type, const B &b, int thread) {
    constexpr int WARPS = THREADS / 32, ROWS = M / WARPS / 16, COLUMNS = N / 8, STEP = 32 / (int)sizeof(T);
    static_assert(wm_tile_warps(M, N, THREADS, 16) == WARPS && wm_tile_warps(M, K, THREADS, 16) == WARPS,
                  "A in registers: one warp, or as many rows a warp that all of K and N lie in it");
    (void)thread;
    WM_UNROLL
    for (int step = 0; step < K / STEP; step++) {
        wm_u32 x[ROWS][4];
        WM_UNROLL
        for (int i = 0; i < ROWS; i++) wm_tile_held<K, T>(x[i], left, i, step), wm_tile_round(x[i], type);
        WM_UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            wm_u32 y[4] = {0, 0, 0, 0};
            wm_tile_ordered<T>(*reinterpret_cast<wm_u32(*)[2]>(y), b, j * 8, step * STEP);
            wm_tile_round(y, type);
            const wm_u32 half[2] = {y[0], y[1]};
            WM_UNROLL
            for (int i = 0; i < ROWS; i++)
                wm_tile_mma_one<T>(*reinterpret_cast<S(*)[4]>(&sum[(i * COLUMNS + j) * 4]), x[i], half);
        }
    }
}

template <int M, int N, int K, int THREADS, int E, int EL, class B>
WM_DEVICE void wm_tile_mma_held(double (&sum)[E], const double (&left)[EL], const double *, const B &b, int thread) {
    constexpr int WARPS = THREADS / 32, ROWS = M / WARPS / 8, COLUMNS = N / 8;
    static_assert(wm_tile_warps(M, N, THREADS, 8) == WARPS && wm_tile_warps(M, K, THREADS, 8) == WARPS,
                  "A in registers: one warp, or as many rows a warp that all of K and N lie in it");
    int lane = wm_lane();
    (void)thread;
    WM_UNROLL
    for (int k = 0; k < K; k += 4) { /* k / 8 · 8 + 2 (lane mod 4) + k / 4 mod 2 */
        int at = k / 8 * 8 + lane % 4 * 2 + k / 4 % 2;
        WM_UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            double y = b.one(j * 8 + lane / 4, at);
            WM_UNROLL
            for (int i = 0; i < ROWS; i++)
                wm_mma_f64(*reinterpret_cast<double(*)[2]>(&sum[(i * COLUMNS + j) * 2]),
                           left[(i * (K / 8) + k / 8) * 2 + k / 4 % 2], y);
        }
    }
}

/* ---- wgmma ---- */

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/** One product of 32 bytes of k, by the operands' type. */
template <class T, class S, int E>
WM_DEVICE void wm_tile_wgmma_one(S (&sum)[E], wm_u64 a, wm_u64 b) {
    if constexpr (wm_tile_same<T, wm_bf16>::VALUE) {
        wm_wgmma_bf16<0, 0>(sum, a, b, 1);
    } else if constexpr (wm_tile_same<T, wm_f16>::VALUE) {
        wm_wgmma_f16<0, 0>(sum, a, b, 1);
    } else if constexpr (wm_tile_same<T, wm_e4m3>::VALUE) {
        wm_wgmma_narrow<WM_E4M3_E4M3>(sum, a, b, 1);
    } else if constexpr (wm_tile_same<T, wm_e5m2>::VALUE) {
        wm_wgmma_narrow<WM_E5M2_E5M2>(sum, a, b, 1);
    } else if constexpr (wm_tile_same<T, wm_i8>::VALUE) {
        wm_wgmma_narrow<WM_S8_S8>(sum, a, b, 1);
    } else {
        static_assert(wm_tile_same<T, float>::VALUE, "f32 f16 bf16 e4m3 e5m2 i8");
        wm_wgmma_narrow<WM_TF32_TF32>(sum, a, b, 1);
    }
}

template <int M, int N, int K, int THREADS, class S, int E, class T>
WM_DEVICE void wm_tile_wgmma(S (&sum)[E], const T *a, const T *b, int thread) {
    constexpr int DEPTH = wmTileDepth<T>();
    static_assert(M * 2 == THREADS, "64 rows for each 128 threads");
    wm_wgmma_fence();
    WM_UNROLL
    for (int box = 0; box < K / DEPTH; box++) {
        wm_u64 x = wm_wgmma_operand<0>(a + box * M * DEPTH + thread / 128 * 64 * DEPTH);
        wm_u64 y = wm_wgmma_operand<0>(b + box * N * DEPTH);
        WM_UNROLL
        for (int q = 0; q < 4; q++) wm_tile_wgmma_one<T>(sum, x + q * wm_wgmma_k16<0>(), y + q * wm_wgmma_k16<0>());
    }
    wm_wgmma_commit();
}

/** Waits: the registers of A are free again behind it. */
template <int M, int N, int K, int THREADS, int E, int EL, class T>
WM_DEVICE void wm_tile_wgmma_held(float (&sum)[E], const float (&left)[EL], const T *b) {
    static_assert(M * 2 == THREADS, "64 rows for each 128 threads");
    static_assert(sizeof(T) == 2, "f16 or bf16");
    wm_u32 x[K / 16][4];
    WM_UNROLL
    for (int step = 0; step < K / 16; step++) wm_tile_held<K, T>(x[step], left, 0, step);
    wm_wgmma_fence();
    WM_UNROLL
    for (int step = 0; step < K / 16; step++) {
        wm_u64 y = wm_wgmma_operand<0>(b + step / 4 * N * 64) + step % 4 * wm_wgmma_k16<0>();
        if constexpr (wm_tile_same<T, wm_bf16>::VALUE)
            wm_wgmma_held_bf16(sum, x[step], y, 1);
        else
            wm_wgmma_held_f16(sum, x[step], y, 1);
    }
    wm_wgmma_commit();
    wm_wgmma_wait<0>();
    wm_wgmma_settle(sum);
}
#endif

#endif
