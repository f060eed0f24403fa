/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fourier transforms of powers of two inside a thread block, N = 2 … 4096, f32 and f64:
 *     forward  X[k] = sum_j x[j] exp(-2 pi i j k / N)      inverse  the same with +; unscaled.
 *
 *   wmFftThreads(N)    threads T of one transform, consecutive in the block; a block may hold several transforms, one
 *                      behind the other. Blocks are one-dimensional. In f64 wmFftThreads(N, 8), so for all four: eight
 *                      bytes a real number; wmFftIndex<N, 8>(e).
 *   wmFftElements(N)   complex numbers E = N / T that each thread holds in registers
 *   wmFftIndex<N>(e)   which element of the transform register e is, before and after: t + T e for thread t
 *   wmFftSmem(N)       bytes of shared memory for one transform
 *   wmFftBlock<N, WM_FORWARD>(x, smem)
 *                      transforms x in place through smem, which holds as many pieces of wmFftSmem(N) bytes as the
 * block holds transforms. Every thread of the block calls it. smem may be in use until the call; after it, wm_barrier()
 * before other uses.
 *
 *     wmC64 x[wmFftElements(256)];
 *     for (int e = 0; e < wmFftElements(256); e++) x[e] = in[wmFftIndex<256>(e)];
 *     wmFftBlock<256, WM_FORWARD>(x, smem);
 *
 * How: Stockham's passes of radix 16, 8 and 4, butterflies in registers, one exchange through shared memory between two
 * passes. Registers hold what the next butterfly needs and consecutive threads hold consecutive elements, so that
 * global and shared accesses coalesce. Padding keeps the exchanges free of bank conflicts for N >= 128 (see
 * wm_fft_place). Twiddles are tables, exact to the last bit, laid out in the order in which threads read them.
 *
 * Transforms that fit a warp (T <= 32) only synchronise their warp.
 *
 * Registers: 2 E and about 45 (perf/resources.csv). smem is aligned to 16 bytes. Error, relative, in the 2-norm: within
 * 0.9 u sqrt(log2 N), u the rounding of the type. Source: Stockham, "High-speed convolution and correlation", 1966.
 */
#ifndef WARPMATH_DEVICE_FFT_CUH
#define WARPMATH_DEVICE_FFT_CUH

#include <warpmath/device/base.cuh>
#include <warpmath/device/fft_roots.cuh>
#include <warpmath/fft_direction.h>

/** A complex number of f32: the layout of cuComplex. */
struct alignas(8) wmC64 {
    float re, im;
};

/** A complex number of f64. */
struct alignas(16) wmC128 {
    double re, im;
};

/* ---- Sizes ---- */

/** Complex numbers that each thread holds; real_bytes: 4 or 8. Sixteen of f64 leave few registers for anything else. A
 * constant, for the host too. */
WM_CONSTEXPR int wmFftElements(int n, int real_bytes = 4) {
    return n <= 8 ? n : n == 16 ? 4 : n <= 64 || (real_bytes == 8 && n <= 2048) ? 8 : 16;
}

/** Threads of one transform. A constant, for the host too. */
WM_CONSTEXPR int wmFftThreads(int n, int real_bytes = 4) {
    return n / wmFftElements(n, real_bytes);
}

/** Radix of a pass; 1 behind the last one. */
WM_CONSTEXPR int wm_fft_radix(int n, int pass, int real_bytes) {
    int most = wmFftElements(n, real_bytes), left = n;
    if (n == 16) most = 4;
    for (int i = 0;; i++) {
        /* The largest radix first; 16 only while what remains is worth it: 512 is 8 · 8 · 8, 1024 is 16 · 8 · 8. */
        int radix = most == 16 && (left == 64 || left == 512) ? 8 : wm_min(most, left);
        if (i == pass) return radix;
        left /= radix;
    }
}

/** One pad element follows so many: a run of threads that write with stride first-radix then meets no bank twice. */
WM_CONSTEXPR int wm_fft_pad(int n, int real_bytes) {
    return wm_max(wm_fft_radix(n, 0, real_bytes), 64 / real_bytes);
}

/** Shared memory of one transform, in complex numbers. */
WM_CONSTEXPR int wm_fft_slab(int n, int real_bytes) {
    return n + n / wm_fft_pad(n, real_bytes);
}

/** Shared memory of one transform, in bytes; real_bytes: 4 or 8. A single pass needs none. A constant, for the host
 * too. */
WM_CONSTEXPR int wmFftSmem(int n, int real_bytes = 4) {
    return wm_fft_radix(n, 1, real_bytes) == 1 ? 0 : wm_fft_slab(n, real_bytes) * 2 * real_bytes;
}

/** Which element of its transform register e of this thread is. Any thread; 10 registers; exact; source: see the top.
 */
template <int N, int REAL_BYTES = 4>
WM_DEVICE int wmFftIndex(int e) {
    return wm_thread() % wmFftThreads(N, REAL_BYTES) + e * wmFftThreads(N, REAL_BYTES);
}

/* ---- Complex arithmetic ---- */

template <class C>
WM_DEVICE C wm_fft_add(C a, C b) {
    return C{a.re + b.re, a.im + b.im};
}

template <class C>
WM_DEVICE C wm_fft_sub(C a, C b) {
    return C{a.re - b.re, a.im - b.im};
}

template <class C>
WM_DEVICE C wm_fft_mul(C a, C b) {
    return C{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/** -i a */
template <class C>
WM_DEVICE C wm_fft_turn(C a) {
    return C{a.im, -a.re};
}

template <class C>
WM_DEVICE void wm_fft_swap(C &a) {
    auto re = a.re;
    a.re = a.im;
    a.im = re;
}

/* ---- Roots of unity, at compile time ---- */

/** exp(-2 pi i k / WM_FFT_CIRCLE), by folding the angle into the first octant. */
template <class C>
WM_CONSTEXPR C wm_fft_root(int k) {
    int angle = k % WM_FFT_CIRCLE, full = WM_FFT_CIRCLE;
    bool below = angle <= full / 2; /* the upper half of the circle, which exp(-i …) mirrors to the lower one */
    if (!below) angle = full - angle;
    bool left = angle > full / 4;
    if (left) angle -= full / 4;
    bool steep = angle > full / 8;
    if (steep) angle = full / 4 - angle;
    double c = wm_fft_octant[2 * angle], s = wm_fft_octant[2 * angle + 1];
    double x = steep ? s : c, y = steep ? c : s;
    double re = left ? -y : x, im = left ? x : y;
    using real = decltype(C().re);
    return C{(real)re, (real)(below ? -im : im)};
}

/** Twiddles of one pass: w^(p k) at [k - 1][p], k = 1 … R - 1, p < N / RS. */
template <int N, int R, int S, class C>
struct wm_fft_table {
    C v[(R - 1) * (N / (R * S))];
    __host__ __device__ constexpr wm_fft_table() : v() {
        constexpr int M = N / (R * S);
        for (int k = 1; k < R; k++)
            for (int p = 0; p < M; p++) v[(k - 1) * M + p] = wm_fft_root<C>(p * k * S * (WM_FFT_CIRCLE / N));
    }
};

template <int N, int R, int S, class C>
static __device__ const wm_fft_table<N, R, S, C> wm_fft_twiddles = wm_fft_table<N, R, S, C>();

/* ---- Butterflies: x[0 … R - 1] becomes its transform, in order ---- */

template <class C>
WM_DEVICE void wm_fft_radix4(C &a, C &b, C &c, C &d) {
    C s = wm_fft_add(a, c), t = wm_fft_sub(a, c), u = wm_fft_add(b, d), v = wm_fft_turn(wm_fft_sub(b, d));
    a = wm_fft_add(s, u);
    b = wm_fft_add(t, v);
    c = wm_fft_sub(s, u);
    d = wm_fft_sub(t, v);
}

/** Times exp(-2 pi i / 8) to the power 1 or 3. */
template <int K, class C>
WM_DEVICE C wm_fft_eighth(C a) {
    using real = decltype(a.re);
    const real h = (real)0.70710678118654752440;
    if (K == 1) return C{h * (a.re + a.im), h * (a.im - a.re)};
    return C{h * (a.im - a.re), -h * (a.re + a.im)};
}

template <int R, class C>
WM_DEVICE void wm_fft_butterfly(C *x) {
    if constexpr (R == 2) {
        C a = x[0];
        x[0] = wm_fft_add(a, x[1]);
        x[1] = wm_fft_sub(a, x[1]);
    } else if constexpr (R == 4) {
        wm_fft_radix4(x[0], x[1], x[2], x[3]);
    } else if constexpr (R == 8) {
        C b[4] = {x[1], x[3], x[5], x[7]}, a[4] = {x[0], x[2], x[4], x[6]};
        wm_fft_radix4(a[0], a[1], a[2], a[3]);
        wm_fft_radix4(b[0], b[1], b[2], b[3]);
        b[1] = wm_fft_eighth<1>(b[1]);
        b[2] = wm_fft_turn(b[2]);
        b[3] = wm_fft_eighth<3>(b[3]);
        WM_UNROLL
        for (int k = 0; k < 4; k++) {
            x[k] = wm_fft_add(a[k], b[k]);
            x[k + 4] = wm_fft_sub(a[k], b[k]);
        }
    } else {
        static_assert(R == 16, "radix 2, 4, 8 or 16");
        constexpr int SIXTEENTH = WM_FFT_CIRCLE / 16;
        WM_UNROLL
        for (int j = 0; j < 4; j++) wm_fft_radix4(x[j], x[j + 4], x[j + 8], x[j + 12]);
        x[5] = wm_fft_mul(x[5], wm_fft_root<C>(1 * SIXTEENTH));
        x[6] = wm_fft_eighth<1>(x[6]);
        x[7] = wm_fft_mul(x[7], wm_fft_root<C>(3 * SIXTEENTH));
        x[9] = wm_fft_eighth<1>(x[9]);
        x[10] = wm_fft_turn(x[10]);
        x[11] = wm_fft_eighth<3>(x[11]);
        x[13] = wm_fft_mul(x[13], wm_fft_root<C>(3 * SIXTEENTH));
        x[14] = wm_fft_eighth<3>(x[14]);
        x[15] = wm_fft_mul(x[15], wm_fft_root<C>(9 * SIXTEENTH));
        WM_UNROLL
        for (int k = 0; k < 4; k++) wm_fft_radix4(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
        /* x[4 k1 + k2] now is output k1 + 4 k2 */
        WM_UNROLL
        for (int k = 0; k < 4; k++) WM_UNROLL
        for (int j = k + 1; j < 4; j++) {
            C t = x[4 * k + j];
            x[4 * k + j] = x[4 * j + k];
            x[4 * j + k] = t;
        }
    }
}

/* ---- Passes ---- */

/**
 * Where element i lies in shared memory. A pass of radix R writes with stride R (first pass) or in runs of at least R
 * threads; all read in runs of T. With a pad element behind every 16 (f32: half a warp is 16 bank pairs) both are free
 * of conflicts. The place of a sum is the sum of the places wherever it is used below, as no carry crosses a pad.
 */
template <int N, class C>
WM_DEVICE int wm_fft_place(int i) {
    return i + i / wm_fft_pad(N, (int)sizeof(C) / 2);
}

template <int N, int REAL_BYTES>
WM_DEVICE void wm_fft_sync(bool spread) {
    if (wmFftThreads(N, REAL_BYTES) <= WM_WARP && !spread) {
        wm_barrier_warp();
    } else {
        wm_barrier();
    }
}

/**
 * Pass number PASS, behind which S = the product of the radices so far, and all later passes: thread t of the transform
 * whose shared memory is `slab`. spread: the transform's threads are not consecutive.
 */
template <int N, int PASS, int S, class C>
WM_DEVICE void wm_fft_passes(C *x, C *slab, int t, bool spread) {
    constexpr int B = (int)sizeof(C) / 2, E = wmFftElements(N, B), T = N / E;
    constexpr int R = wm_fft_radix(N, PASS, B), SETS = E / R, M = N / (R * S);
    WM_UNROLL
    for (int u = 0; u < SETS; u++) {
        C v[R];
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = x[u + SETS * k];
        wm_fft_butterfly<R>(v);
        if constexpr (M > 1) {
            int p = (t + T * u) / S;
            WM_UNROLL
            for (int k = 1; k < R; k++) v[k] = wm_fft_mul(v[k], wm_fft_twiddles<N, R, S, C>.v[(k - 1) * M + p]);
        }
        WM_UNROLL
        for (int k = 0; k < R; k++) x[u + SETS * k] = v[k];
    }
    if constexpr (M > 1) {
        wm_fft_sync<N, B>(spread);
        WM_UNROLL
        for (int u = 0; u < SETS; u++) {
            int i = t + T * u;
            C *to = slab + wm_fft_place<N, C>(i % S + S * R * (i / S));
            WM_UNROLL
            for (int k = 0; k < R; k++) to[wm_fft_place<N, C>(S * k)] = x[u + SETS * k];
        }
        wm_fft_sync<N, B>(spread);
        const C *from = slab + wm_fft_place<N, C>(t);
        WM_UNROLL
        for (int e = 0; e < E; e++) x[e] = from[wm_fft_place<N, C>(T * e)];
        wm_fft_passes<N, PASS + 1, S * R>(x, slab, t, spread);
    }
}

/** The transform of one thread group, wherever its threads are: what wmFftBlock and the library's kernels share. */
template <int N, int DIRECTION, class C>
WM_DEVICE void wm_fft_group(C *x, C *slab, int t, bool spread) {
    static_assert(N >= 2 && N <= WM_FFT_CIRCLE && (N & (N - 1)) == 0, "N is a power of two from 2 to 4096");
    /* The inverse is the forward transform with real and imaginary parts exchanged on both sides. */
    constexpr int E = wmFftElements(N, (int)sizeof(C) / 2);
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < E; e++) wm_fft_swap(x[e]);
    wm_fft_passes<N, 0, 1>(x, slab, t, spread);
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < E; e++) wm_fft_swap(x[e]);
}

/** Transforms x, the registers of this thread (wmFftIndex says which element each is), in place. Every thread of the
 * block; smem: wmFftSmem(N) a transform, aligned to 16 bytes; registers, error, source: see the top. */
template <int N, wmDirection DIRECTION, class C, int E>
WM_DEVICE void wmFftBlock(C (&x)[E], void *smem) {
    constexpr int B = (int)sizeof(C) / 2, T = wmFftThreads(N, B);
    static_assert(E == wmFftElements(N, B), "x has wmFftElements(N) elements, in f64 wmFftElements(N, 8)");
    C *slab = static_cast<C *>(smem) + wm_thread() / T * wm_fft_slab(N, B);
    wm_fft_group<N, DIRECTION>(x, slab, wm_thread() % T, false);
}

#endif
