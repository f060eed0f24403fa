/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fourier transforms of mixed radix inside a thread block, for lengths that a `cut` type fixes (device/fft_cut.h):
 * factors 2 to 32, in place in shared memory.
 *
 *     natural order --forward passes 0 … P - 1--> digits reversed --backward passes P - 1 … 0--> natural order
 *
 * Forward is Gentleman and Sande's decimation in frequency: pass p combines the elements whose digit p differs, and
 * turns digit l from weight N_l = n / (R_0 … R_l) to weight R_0 … R_{l-1}. Every butterfly writes where it read, so one
 * barrier lies between two passes, and registers hold one butterfly at a time. Backward is the transposed network: the
 * transform is symmetric, so it is the same transform, from reversed digits to natural order. A product of spectra in
 * between needs no reordering at all.
 *
 * Where i lies (wm_fft_slot): i, and a pad behind each N_0, N_1 and N_2 elements, chosen so that few lanes meet in a
 * bank. The sources of these ideas: Gentleman and Sande, "Fast Fourier transforms for fun and profit" (1966); Good's
 * index maps for coprime factors inside a butterfly (1958); Rader's pairs for primes.
 */
#ifndef WARPMATH_DEVICE_FFT_MIXED_CUH
#define WARPMATH_DEVICE_FFT_MIXED_CUH

#include <warpmath/device/fft.cuh>
#include <warpmath/device/fft_unit.cuh>

/* What a cut fixes is a constant, but under the emulation, whose one kernel serves every cut. */
#ifdef WM_SIMT
#define WM_FFT_FIXED const int
#define WM_FFT_IF if
#define WM_FFT_DEVICE static __attribute__((noinline)) /* every radix and pass is there: it would become too large */
#else
#define WM_FFT_FIXED constexpr int
#define WM_FFT_IF if constexpr
#define WM_FFT_DEVICE WM_DEVICE
#endif

/** Rounds of a loop over memory that are unrolled: all of a short one, so that all of it is on its way at once. */
WM_CONSTEXPR int wm_fft_unrolled(int rounds) {
    return rounds <= 20 ? rounds : 8;
}

#ifdef __CUDA_ARCH__
#define WM_FFT_UNROLL_SOME _Pragma("unroll SOME")
#else
#define WM_FFT_UNROLL_SOME
#endif

#define WM_FFT_PASSES 8

/* ---- Butterflies ---- */

/** The factor that a composite radix is split by first; the other one is coprime where that can be. */
WM_CONSTEXPR int wm_fft_split(int r) {
    return r == 12 || r == 20 || r == 28 || r == 32  ? 4
           : r == 24                                 ? 8
           : r == 9 || r == 15 || r == 21 || r == 27 ? 3
           : r == 25                                 ? 5
           : r % 2 == 0                              ? 2
                                                     : r;
}

WM_CONSTEXPR bool wm_fft_coprime(int a, int b) {
    return b == 0 ? a == 1 : wm_fft_coprime(b, a % b);
}

/** The inverse of a modulo m. */
WM_CONSTEXPR int wm_fft_inverse(int a, int m) {
    int x = 1;
    while (a * x % m != 1 % m) x++;
    return x;
}

template <int R, class C>
WM_FFT_DEVICE void wm_fft_dft(C *x);

/** A prime: sums and differences of the pairs x[j], x[R - j], then real rotations. */
template <int R, class C>
WM_FFT_DEVICE void wm_fft_dft_prime(C *x) {
    constexpr int H = (R - 1) / 2;
    C sum[H], dif[H], first = x[0], all = x[0];
    WM_UNROLL
    for (int j = 0; j < H; j++) {
        sum[j] = wm_fft_add(x[j + 1], x[R - 1 - j]);
        dif[j] = wm_fft_sub(x[j + 1], x[R - 1 - j]);
        all = wm_fft_add(all, sum[j]);
    }
    x[0] = all;
    WM_UNROLL
    for (int k = 1; k <= H; k++) {
        C a = first, b = C{0, 0};
        WM_UNROLL
        for (int j = 1; j <= H; j++) {
            C w = wm_fft_unit<C>(R, j * k);
            a = C{a.re + w.re * sum[j - 1].re, a.im + w.re * sum[j - 1].im};
            b = C{b.re + w.im * dif[j - 1].re, b.im + w.im * dif[j - 1].im};
        }
        x[k] = C{a.re - b.im, a.im + b.re};
        x[R - k] = C{a.re + b.im, a.im - b.re};
    }
}

/** R = A B by Good's maps where A and B are coprime, else with roots of R in between. */
template <int R, class C>
WM_FFT_DEVICE void wm_fft_dft_split(C *x) {
    constexpr int A = wm_fft_split(R), B = R / A;
    constexpr bool GOOD = wm_fft_coprime(A, B);
    C y[R];
    WM_UNROLL
    for (int b = 0; b < B; b++) {
        C v[A];
        WM_UNROLL
        for (int a = 0; a < A; a++) v[a] = x[GOOD ? (B * a + A * b) % R : B * a + b];
        wm_fft_dft<A>(v);
        WM_UNROLL
        for (int a = 0; a < A; a++)
            y[a * B + b] = GOOD || a * b == 0 ? v[a] : wm_fft_mul(v[a], wm_fft_unit<C>(R, a * b));
    }
    constexpr int OF_A = GOOD ? B * wm_fft_inverse(B % A, A) : 1, OF_B = GOOD ? A * wm_fft_inverse(A % B, B) : A;
    WM_UNROLL
    for (int a = 0; a < A; a++) {
        wm_fft_dft<B>(y + a * B);
        WM_UNROLL
        for (int b = 0; b < B; b++) x[(a * OF_A + b * OF_B) % R] = y[a * B + b];
    }
}

/** x[0 … R - 1] becomes its transform, in order. */
template <int R, class C>
WM_FFT_DEVICE void wm_fft_dft(C *x) {
    if constexpr (R == 2 || R == 4 || R == 8 || R == 16) {
        wm_fft_butterfly<R>(x);
    } else if constexpr (R > 1 && wm_fft_split(R) == R) {
        wm_fft_dft_prime<R>(x);
    } else if constexpr (R > 1) {
        wm_fft_dft_split<R>(x);
    }
}

/** The butterfly of a pass of the cut K. */
#ifdef WM_SIMT
template <int R, class C>
WM_FFT_DEVICE void wm_fft_dft_any(int r, C *x) {
    if (r == R)
        wm_fft_dft<R>(x);
    else if constexpr (R > 1)
        wm_fft_dft_any<R - 1>(r, x);
}
template <class K, int PASS, class C>
WM_DEVICE void wm_fft_dft_of(C *x) {
    wm_fft_dft_any<WM_FFT_UNITS>(K::radix(PASS), x);
}
#else
template <class K, int PASS, class C>
WM_DEVICE void wm_fft_dft_of(C *x) {
    wm_fft_dft<K::radix(PASS)>(x);
}
#endif

/* ---- Places ---- */

/** N_pass: the distance of elements whose digit `pass` differs by one. */
template <class K>
WM_CONSTEXPR int wm_fft_weight(int pass) {
    int weight = K::n();
    for (int i = 0; i <= pass; i++) weight /= K::radix(i);
    return weight;
}

/** Where element i lies in the slab of its transform. */
template <class K>
WM_DEVICE int wm_fft_slot(int i) {
    WM_FFT_FIXED N0 = wm_fft_weight<K>(0), N1 = wm_fft_weight<K>(1), N2 = wm_fft_weight<K>(2);
    WM_FFT_FIXED PAD0 = K::pad(0), PAD1 = K::pad(1), PAD2 = K::pad(2);
    int at = i;
    if (PAD0) at += i / N0 * PAD0;
    if (PAD1) at += i / N1 * PAD1;
    if (PAD2) at += i / N2 * PAD2;
    return at;
}

/** From one value of digit `pass` to the next. */
template <class K>
WM_CONSTEXPR int wm_fft_step(int pass) {
    int step = 1;
    for (int i = K::passes() - 2; i >= pass; i--) step = step * K::radix(i + 1) + K::pad(i);
    return step;
}

/** The slot of output q < n / R_{P-1}: its digits weigh as they did before the passes. The last digit is 0. */
template <class K>
WM_FFT_DEVICE int wm_fft_reversed(int q) {
    int at = 0;
    WM_UNROLL
    for (int i = 0; i + 1 < WM_FFT_PASSES; i++) {
        if (i + 1 < K::passes()) {
            at += q % K::radix(i) * wm_fft_step<K>(i);
            q /= K::radix(i);
        }
    }
    return at;
}

/** The slot of output k < n. */
template <class K>
WM_DEVICE int wm_fft_output_slot(int k) {
    WM_FFT_FIXED LAST = K::radix(K::passes() - 1), M = K::n() / LAST, STEP = wm_fft_step<K>(K::passes() - 1);
    return wm_fft_reversed<K>(k % M) + k / M * STEP;
}

/* ---- Passes ---- */

/** Waits for the threads of the transform. */
template <class K>
WM_DEVICE void wm_fft_meet(void) {
    WM_FFT_IF(K::in_warp()) {
        wm_barrier_warp();
    }
    else {
        wm_barrier();
    }
}

/** Where the twiddles of a pass begin: the passes before it hold (R - 1) N_pass each. */
template <class K>
WM_CONSTEXPR int wm_fft_twiddle_at(int pass) {
    int at = 0;
    for (int i = 0; i < pass; i++) at += (K::radix(i) - 1) * wm_fft_weight<K>(i);
    return at;
}

/** Twiddles of a radix are read at 1 … c - 1 and at the multiples of c; the others are products of two. */
WM_CONSTEXPR int wm_fft_twiddle_stride(int radix) {
    int c = 2;
    while (c * c < radix) c++;
    return c;
}

/** v[k] *= w^(low k), w = exp(-2 pi i / (R N)); the table holds [k - 1][low]. The cache is the narrow place here. */
template <class K, int PASS, class C>
WM_FFT_DEVICE void wm_fft_twist(C *v, const C *twiddles, int low) {
    WM_FFT_FIXED R = K::radix(PASS), N = wm_fft_weight<K>(PASS), AT = wm_fft_twiddle_at<K>(PASS);
    WM_FFT_FIXED STRIDE = wm_fft_twiddle_stride(R);
    C near[K::most()], far = C{1, 0};
    WM_UNROLL
    for (int k = 1; k < STRIDE && k < R; k++) near[k] = twiddles[AT + (k - 1) * N + low];
    WM_UNROLL
    for (int k = 1; k < R; k++) {
        if (k % STRIDE == 0) far = twiddles[AT + (k - 1) * N + low];
        C w = k < STRIDE ? near[k] : k % STRIDE ? wm_fft_mul(far, near[k % STRIDE]) : far;
        v[k] = wm_fft_mul(v[k], w);
    }
}

/** Butterflies of a pass that each thread does, the last of which may be none. */
template <class K>
WM_CONSTEXPR int wm_fft_rounds(int pass) {
    return (K::n() / K::radix(pass) + K::threads() - 1) / K::threads();
}

/** Whether thread t has a butterfly in round u. */
template <class K, int PASS>
WM_DEVICE bool wm_fft_has(int j) {
    WM_FFT_FIXED M = K::n() / K::radix(PASS), T = K::threads();
    return M % T == 0 || j < M;
}

/** The first slot of butterfly j, and where its twiddles are. */
template <class K, int PASS>
WM_FFT_DEVICE int wm_fft_butterfly_slot(int j, int *low) {
    WM_FFT_FIXED R = K::radix(PASS), N = wm_fft_weight<K>(PASS);
    *low = j % N;
    return wm_fft_slot<K>(j / N * (N * R) + *low);
}

template <class K, int PASS, class C>
WM_FFT_DEVICE void wm_fft_read(C *v, const C *slab, int slot) {
    WM_FFT_FIXED R = K::radix(PASS), STEP = wm_fft_step<K>(PASS);
    WM_UNROLL
    for (int k = 0; k < R; k++) v[k] = slab[slot + k * STEP];
}

template <class K, int PASS, class C>
WM_FFT_DEVICE void wm_fft_write(C *slab, int slot, const C *v) {
    WM_FFT_FIXED R = K::radix(PASS), STEP = wm_fft_step<K>(PASS);
    WM_UNROLL
    for (int k = 0; k < R; k++) slab[slot + k * STEP] = v[k];
}

/** Pass PASS, neither the first nor the last, for all butterflies of thread t; BACK: of the backward network. */
template <class K, int PASS, bool BACK, class C>
WM_FFT_DEVICE void wm_fft_middle(C *slab, const C *twiddles, int t) {
    WM_FFT_FIXED U = wm_fft_rounds<K>(PASS), T = K::threads();
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<K, PASS>(j)) continue;
        int slot = wm_fft_butterfly_slot<K, PASS>(j, &low);
        C v[K::most()];
        wm_fft_read<K, PASS>(v, slab, slot);
        if (BACK) wm_fft_twist<K, PASS>(v, twiddles, low);
        wm_fft_dft_of<K, PASS>(v);
        if (!BACK) wm_fft_twist<K, PASS>(v, twiddles, low);
        wm_fft_write<K, PASS>(slab, slot, v);
    }
}

/** Passes PASS … P - 2, a barrier before each. */
template <class K, int PASS, class C>
WM_DEVICE void wm_fft_forward_middle(C *slab, const C *twiddles, int t) {
    if constexpr (PASS < WM_FFT_PASSES) {
        WM_FFT_IF(PASS + 1 < K::passes()) {
            wm_fft_meet<K>();
            wm_fft_middle<K, PASS, false>(slab, twiddles, t);
            wm_fft_forward_middle<K, PASS + 1>(slab, twiddles, t);
        }
    }
}

/** Passes P - 2 … PASS of the backward network, a barrier before each. */
template <class K, int PASS, class C>
WM_DEVICE void wm_fft_backward_middle(C *slab, const C *twiddles, int t) {
    if constexpr (PASS < WM_FFT_PASSES) {
        WM_FFT_IF(PASS + 1 < K::passes()) {
            wm_fft_backward_middle<K, PASS + 1>(slab, twiddles, t);
            wm_fft_meet<K>();
            wm_fft_middle<K, PASS, true>(slab, twiddles, t);
        }
    }
}

#endif
