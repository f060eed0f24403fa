/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of powers of two along many lines at once, for kernels that hold more than one transform's block: the
 * butterflies and tables of fft.cuh with the points a thread, E, as a choice, cut open before the last butterfly, so
 * that a kernel may tell others that it no longer needs its shared memory.
 *
 *     wm_fft_line_head<N, E>(x, slab, t)   all passes but the last one's butterfly; ends having read shared memory
 *     wm_fft_line_tail<N, E>(x)            the last butterfly: x[e] of thread t is X[t + N / E e]
 *
 * The head is wm_fft_line_first, up to having written to shared memory, and wm_fft_line_rest, between which a thread
 * may change its place: another t of another line.
 *
 * Threads t = 0 … N / E - 1 of a line hold x[t + N / E e]. `slab`: the line's wm_fft_line_slab(N, E) elements of shared
 * memory. An odd distance between slabs keeps neighbouring lines, in neighbouring lanes, in different banks. All
 * threads of the block call.
 */
#ifndef WARPMATH_DEVICE_FFT_LINE_CUH
#define WARPMATH_DEVICE_FFT_LINE_CUH

#include <warpmath/device/fft.cuh>

/** `x`, of which the compiler knows nothing: so that it does not keep the twiddles or addresses of one transform in
 * registers for the next one, which takes more registers than there are. */
WM_DEVICE int wm_fft_forget(int x) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
#endif
    return x;
}
template <class T>
WM_DEVICE const T *wm_fft_forget(const T *x) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(x));
#endif
    return x;
}

/** An element of an array that is read once. */
WM_DEVICE wmC64 wm_fft_load_once(const wmC64 *from) {
    float2 v = __ldcs(reinterpret_cast<const float2 *>(from));
    return wmC64{v.x, v.y};
}
WM_DEVICE wmC128 wm_fft_load_once(const wmC128 *from) {
    double2 v = __ldcs(reinterpret_cast<const double2 *>(from));
    return wmC128{v.x, v.y};
}

/** Stores an element that is not read soon. */
WM_DEVICE void wm_fft_store_once(wmC64 *to, wmC64 x) {
    __stcs(reinterpret_cast<float2 *>(to), make_float2(x.re, x.im));
}
WM_DEVICE void wm_fft_store_once(wmC128 *to, wmC128 x) {
    __stcs(reinterpret_cast<double2 *>(to), make_double2(x.re, x.im));
}

/** An entry of a table. */
WM_DEVICE wmC64 wm_fft_entry(const wmC64 *from) {
    float2 v = __ldg(reinterpret_cast<const float2 *>(from));
    return wmC64{v.x, v.y};
}
WM_DEVICE wmC128 wm_fft_entry(const wmC128 *from) {
    double2 v = __ldg(reinterpret_cast<const double2 *>(from));
    return wmC128{v.x, v.y};
}

/** Radix of pass number `pass` of n points by E a thread; 1 behind the last one. */
WM_CONSTEXPR int wm_fft_line_radix(int n, int points, int pass) {
    int left = n;
    for (int i = 0;; i++) {
        int radix = points >= 16 && (left == 64 || left == 512) ? 8 : wm_min(wm_min(points, 16), left);
        if (points >= 32 && (left == 32 || left == 512 || left == 1024)) radix = 32;
        if (i == pass) return radix;
        left /= radix;
    }
}

/** One pad element behind so many. */
WM_CONSTEXPR int wm_fft_line_pad(int n, int points) {
    return wm_max(wm_fft_line_radix(n, points, 0), 16);
}

/** Distance between the lines' slabs, in complex numbers: odd. */
WM_CONSTEXPR int wm_fft_line_slab(int n, int points) {
    return (n + n / wm_fft_line_pad(n, points)) | 1;
}

/** Where element i of a line lies in its slab. */
template <int N, int E>
WM_DEVICE int wm_fft_line_place(int i) {
    return i + i / wm_fft_line_pad(N, E);
}

/** The last step of radix 32 from output K on: a and b are the transforms of the even and of the odd elements. */
template <int K, class C>
WM_DEVICE void wm_fft_line_join(C *x, const C *a, const C *b) {
    constexpr C w = wm_fft_root<C>(WM_FFT_CIRCLE / 32 * K);
    C turned = K == 0 ? b[K] : K == 8 ? wm_fft_turn(b[K]) : wm_fft_mul(b[K], w);
    x[K] = wm_fft_add(a[K], turned);
    x[K + 16] = wm_fft_sub(a[K], turned);
    if constexpr (K < 15) wm_fft_line_join<K + 1>(x, a, b);
}

/** Butterflies of fft.cuh, and radix 32: two of 16 and one of 2. */
template <int R, class C>
WM_DEVICE void wm_fft_line_butterfly(C *x) {
    if constexpr (R < 32) {
        wm_fft_butterfly<R>(x);
    } else {
        C a[16], b[16];
        WM_UNROLL
        for (int k = 0; k < 16; k++) a[k] = x[2 * k], b[k] = x[2 * k + 1];
        wm_fft_butterfly<16>(a);
        wm_fft_butterfly<16>(b);
        wm_fft_line_join<0>(x, a, b);
    }
}

template <int N, int E, int PASS, int S, class C>
WM_DEVICE void wm_fft_line_butterflies(C *x, int t) {
    constexpr int T = N / E, R = wm_fft_line_radix(N, E, PASS), SETS = E / R, M = N / (R * S);
    WM_UNROLL
    for (int u = 0; u < SETS; u++) {
        C v[R];
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k] = x[u + SETS * k];
        wm_fft_line_butterfly<R>(v);
        if constexpr (M > 1) {
            const C *w = wm_fft_forget(wm_fft_twiddles<N, R, S, C>.v + (t + T * u) / S);
            WM_UNROLL
            for (int k = 1; k < R; k++) v[k] = wm_fft_mul(v[k], wm_fft_entry(w + (k - 1) * M));
        }
        WM_UNROLL
        for (int k = 0; k < R; k++) x[u + SETS * k] = v[k];
    }
}

/** Butterflies of a pass, then its results to shared memory. */
template <int N, int E, int PASS, int S, class C>
WM_DEVICE void wm_fft_line_write(C *x, C *slab, int t) {
    constexpr int T = N / E, R = wm_fft_line_radix(N, E, PASS), SETS = E / R;
    wm_fft_line_butterflies<N, E, PASS, S>(x, t);
    wm_barrier();
    WM_UNROLL
    for (int u = 0; u < SETS; u++) {
        int i = t + T * u;
        C *to = slab + wm_fft_line_place<N, E>(i % S + S * R * (i / S));
        WM_UNROLL
        for (int k = 0; k < R; k++) to[wm_fft_line_place<N, E>(S * k)] = x[u + SETS * k];
    }
    wm_barrier();
}

/** From behind the write of the pass before PASS on: reads, and goes on to before the last butterfly. */
template <int N, int E, int PASS, int S, class C>
WM_DEVICE void wm_fft_line_read(C *x, C *slab, int t) {
    constexpr int T = N / E, R = wm_fft_line_radix(N, E, PASS);
    const C *from = slab + wm_fft_line_place<N, E>(t);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = from[wm_fft_line_place<N, E>(T * e)];
    if constexpr (N / (R * S) > 1) {
        wm_fft_line_write<N, E, PASS, S>(x, slab, t);
        wm_fft_line_read<N, E, PASS + 1, S * R>(x, slab, t);
    }
}

template <int N, int E, class C>
WM_DEVICE void wm_fft_line_first(C *x, C *slab, int t) {
    wm_fft_line_write<N, E, 0, 1>(x, slab, t);
}

template <int N, int E, class C>
WM_DEVICE void wm_fft_line_rest(C *x, C *slab, int t) {
    wm_fft_line_read<N, E, 1, wm_fft_line_radix(N, E, 0)>(x, slab, t);
}

/** A line of one butterfly has no head. */
template <int N, int E, class C>
WM_DEVICE void wm_fft_line_head(C *x, C *slab, int t) {
    if constexpr (wm_fft_line_radix(N, E, 1) > 1) {
        wm_fft_line_first<N, E>(x, slab, t);
        wm_fft_line_rest<N, E>(x, slab, t);
    }
}

/** Number of the last pass. */
WM_CONSTEXPR int wm_fft_line_last(int n, int points) {
    int pass = 0;
    while (wm_fft_line_radix(n, points, pass + 1) > 1) pass++;
    return pass;
}

template <int N, int E, class C>
WM_DEVICE void wm_fft_line_tail(C *x) {
    constexpr int LAST = wm_fft_line_last(N, E), R = wm_fft_line_radix(N, E, LAST);
    wm_fft_line_butterflies<N, E, LAST, N / R>(x, 0);
}

#endif
