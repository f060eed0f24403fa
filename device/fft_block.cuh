/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of one transform, or several, a block: compiled at plan time for one cut, WM_FFT_CUT being the list of its
 * numbers. Under the emulation one kernel a type reads the cut from its parameter.
 *
 *     global -> registers -> pass 0 -> slab -> passes … -> slab -> pass P - 1 -> registers -> global
 *
 * With `fill` the slab is filled first, so that short or permuted transforms are read as they lie in memory; with
 * `drain` the last pass returns to the slab. Rader's and Bluestein's convolutions multiply in the registers of the last
 * pass, and go back through the same passes.
 */
#ifndef WM_DEVICE_FFT_BLOCK_CUH
#define WM_DEVICE_FFT_BLOCK_CUH

#include <warpmath/device/fft_mixed.cuh>

#include "device/fft_block.h"

#ifdef WM_SIMT
static const wm_fft_cut *wm_fft_cut_now;

/** Each thread of a launch sets the same; no device code, so it is not watched. */
static __attribute__((no_sanitize_thread, noinline)) void wm_fft_cut_set(const wm_fft_cut *cut) {
    wm_fft_cut_now = cut;
}
#define WM_FFT_CUT_IS static int
#define WM_FFT_CUT_OF(x) wm_fft_cut_now->x
#else
static constexpr __device__ wm_fft_cut wm_fft_cut_now = {WM_FFT_CUT};
#define WM_FFT_CUT_IS static constexpr __host__ __device__ int
#define WM_FFT_CUT_OF(x) wm_fft_cut_now.x
#endif

/** The cut as the passes know it. */
struct wm_fft_shape {
    WM_FFT_CUT_IS n() {
        return WM_FFT_CUT_OF(n);
    }
    WM_FFT_CUT_IS passes() {
        return WM_FFT_CUT_OF(passes);
    }
    WM_FFT_CUT_IS radix(int pass) {
        return WM_FFT_CUT_OF(radix[pass & 7]);
    }
    WM_FFT_CUT_IS threads() {
        return WM_FFT_CUT_OF(threads);
    }
    WM_FFT_CUT_IS pad(int level) {
        return level < 3 ? WM_FFT_CUT_OF(pad[level]) : 0;
    }
    WM_FFT_CUT_IS in_warp() {
        return !WM_FFT_CUT_OF(spread) && WM_WARP % WM_FFT_CUT_OF(threads) == 0;
    }
#ifdef WM_SIMT
    static constexpr int most() {
        return 64;
    }
#else
    WM_FFT_CUT_IS most() {
        return WM_FFT_CUT_OF(most);
    }
#endif
};

typedef wm_fft_shape wm_fft_k;

#define WM_FFT_THE(x) WM_FFT_CUT_OF(x)

/* ---- Global memory ---- */

WM_DEVICE wmC64 wm_fft_load(const wmC64 *from) {
    float2 v = __ldcs(reinterpret_cast<const float2 *>(from));
    return wmC64{v.x, v.y};
}

WM_DEVICE wmC128 wm_fft_load(const wmC128 *from) {
    double2 v = __ldcs(reinterpret_cast<const double2 *>(from));
    return wmC128{v.x, v.y};
}

WM_DEVICE wm_i64 wm_fft_in_at(const wm_fft_block_job &p, int i) {
    WM_FFT_FIXED UNIT = WM_FFT_THE(unit_in);
    return UNIT ? i : i * p.in_stride;
}

WM_DEVICE wm_i64 wm_fft_out_at(const wm_fft_block_job &p, int i) {
    WM_FFT_FIXED UNIT = WM_FFT_THE(unit_out);
    return UNIT ? i : i * p.out_stride;
}

/** Element i of a row of a half spectrum whose other half is its conjugate. */
template <class C>
WM_FFT_DEVICE C wm_fft_hermitian(const wm_fft_block_job &p, const C *row, int i, int n) {
    int k = 2 * i <= n ? i : n - i;
    C v = row[wm_fft_in_at(p, k)];
    if (k != i) v.im = -v.im;
    if (k == 0 || 2 * k == n) v.im = 0;
    return v;
}

/**
 * What an inverse transform of half the length wants at i and at length - i, from X[i] and X[length - i]; as the way in
 * wants it, conjugated by the job's sign.
 */
template <class C>
WM_FFT_DEVICE void wm_fft_join_pair(const wm_fft_block_job &p, const C *row, int i, C *z, C *y) {
    using real = decltype(C().re);
    WM_FFT_FIXED L = WM_FFT_THE(length);
    C a = row[wm_fft_in_at(p, i)], b = row[wm_fft_in_at(p, L - i)], w = static_cast<const C *>(p.half)[i];
    if (i == 0) a.im = b.im = 0;
    C even = C{a.re + b.re, a.im - b.im}, odd = C{a.re - b.re, a.im + b.im};
    C turned = C{odd.re * w.re + odd.im * w.im, odd.im * w.re - odd.re * w.im}; /* odd / w */
    const real sign = (real)p.sign;
    *z = C{even.re - turned.im, (even.im + turned.re) * sign};
    *y = C{even.re + turned.im, (turned.re - even.im) * sign};
}

/** The first of these alone, unsigned. */
template <class C>
WM_FFT_DEVICE C wm_fft_join(const wm_fft_block_job &p, const C *row, int i) {
    WM_FFT_FIXED L = WM_FFT_THE(length);
    C a = row[wm_fft_in_at(p, i)], b = row[wm_fft_in_at(p, L - i)], w = static_cast<const C *>(p.half)[i];
    if (i == 0) a.im = b.im = 0;
    C even = C{a.re + b.re, a.im - b.im}, odd = C{a.re - b.re, a.im + b.im};
    C turned = C{odd.re * w.re + odd.im * w.im, odd.im * w.re - odd.re * w.im}; /* odd / w */
    return C{even.re - turned.im, even.im + turned.re};
}

/** Element i of the complex transform whose data begin `first` elements behind the input's start. */
template <class C>
WM_FFT_DEVICE C wm_fft_fetch(const wm_fft_block_job &p, wm_i64 first, int i) {
    using real = decltype(C().re);
    WM_FFT_FIXED FORM = WM_FFT_THE(form), UNIT = WM_FFT_THE(unit_in), L = WM_FFT_THE(length);
    C v = C{0, 0};
    WM_FFT_IF(FORM == WM_FFT_COMPLEX_FORM) {
        v = wm_fft_load(static_cast<const C *>(p.in) + first + wm_fft_in_at(p, i));
    }
    else WM_FFT_IF(FORM == WM_FFT_REAL_EVEN) {
        const real *row = static_cast<const real *>(p.in) + first;
        if (UNIT) {
            v = wm_fft_load(reinterpret_cast<const C *>(row) + i);
        } else {
            v = C{row[2 * i * p.in_stride], row[(2 * i + 1) * p.in_stride]};
        }
    }
    else WM_FFT_IF(FORM == WM_FFT_REAL_ANY) {
        v.re = (static_cast<const real *>(p.in) + first)[wm_fft_in_at(p, i)];
    }
    else WM_FFT_IF(FORM == WM_FFT_HALF_EVEN) {
        v = wm_fft_join(p, static_cast<const C *>(p.in) + first, i);
    }
    else {
        v = wm_fft_hermitian(p, static_cast<const C *>(p.in) + first, i, L);
    }
    v.im *= (real)p.sign;
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) v = wm_fft_mul(v, static_cast<const C *>(p.chirp)[i]);
    return v;
}

/** Result k to its place; not for REAL_EVEN, whose results are pairs. */
template <class C>
WM_FFT_DEVICE void wm_fft_put(const wm_fft_block_job &p, wm_i64 first, int k, C v) {
    using real = decltype(C().re);
    WM_FFT_FIXED FORM = WM_FFT_THE(form), UNIT = WM_FFT_THE(unit_out), L = WM_FFT_THE(length);
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) v = wm_fft_mul(v, static_cast<const C *>(p.chirp)[k]);
    v = C{v.re * (real)p.scale, v.im * (real)(p.scale * p.sign)};
    WM_FFT_IF(FORM == WM_FFT_HALF_EVEN) {
        real *row = static_cast<real *>(p.out) + first;
        if (UNIT) {
            reinterpret_cast<C *>(row)[k] = v;
        } else {
            row[2 * k * p.out_stride] = v.re;
            row[(2 * k + 1) * p.out_stride] = v.im;
        }
    }
    else WM_FFT_IF(FORM == WM_FFT_HALF_ANY) {
        (static_cast<real *>(p.out) + first)[wm_fft_out_at(p, k)] = v.re;
    }
    else {
        if (FORM == WM_FFT_REAL_ANY && 2 * k > L) return;
        (static_cast<C *>(p.out) + first)[wm_fft_out_at(p, k)] = v;
    }
}

/** X[k] and X[length - k] of a real transform from Z[k] and Z[length - k]. */
template <class C>
WM_FFT_DEVICE void wm_fft_put_pair(const wm_fft_block_job &p, wm_i64 first, int k, C z, C y) {
    using real = decltype(C().re);
    WM_FFT_FIXED L = WM_FFT_THE(length);
    const real scale = (real)p.scale * (real)0.5;
    C w = static_cast<const C *>(p.half)[k];
    C even = C{z.re + y.re, z.im - y.im}, odd = C{z.im + y.im, y.re - z.re}; /* each twice */
    C turned = wm_fft_mul(odd, w);
    C *row = static_cast<C *>(p.out) + first;
    row[wm_fft_out_at(p, k)] = C{(even.re + turned.re) * scale, (even.im + turned.im) * scale};
    if (2 * k != L) row[wm_fft_out_at(p, L - k)] = C{(even.re - turned.re) * scale, (turned.im - even.im) * scale};
}

/** Where transform `number` begins, on both sides. */
WM_DEVICE void wm_fft_locate(const wm_fft_block_job &p, wm_i64 number, wm_i64 *in, wm_i64 *out) {
    WM_FFT_FIXED LOOPS = WM_FFT_THE(loops);
    *in = *out = 0;
    WM_UNROLL
    for (int i = 0; i < LOOPS; i++) {
        wm_i64 at = number;
        if (i + 1 < LOOPS) {
            number /= p.loop_n[i];
            at -= number * p.loop_n[i];
        }
        *in += at * p.loop_in[i];
        *out += at * p.loop_out[i];
    }
}

/** The same for element i of transform `number`, the e-th of the block that begins with transform `first`. */
WM_DEVICE void wm_fft_locate_element(const wm_fft_block_job &p, wm_i64 first, int g, int e, int i, wm_i64 *in,
                                     wm_i64 *out) {
    WM_FFT_FIXED PACKED = WM_FFT_THE(packed), L = WM_FFT_THE(length);
    if (PACKED) {
        *in = *out = first * L + (e - i);
    } else {
        wm_fft_locate(p, first + g, in, out);
    }
}

/* ---- Filling and draining the slabs of a block, element by element ---- */

/** Element e of a block of transforms of `width` elements: as they lie in memory, along transforms or across them. */
WM_DEVICE void wm_fft_deal(int e, int width, int *g, int *i) {
    WM_FFT_FIXED B = WM_FFT_THE(batch), SPREAD = WM_FFT_THE(spread);
    *g = SPREAD ? (int)((unsigned)e % B) : (int)((unsigned)e / width);
    *i = SPREAD ? (int)((unsigned)e / B) : (int)((unsigned)e % width);
}

template <class C>
WM_FFT_DEVICE void wm_fft_fill(const wm_fft_block_job &p, C *slabs, wm_i64 number) {
    WM_FFT_FIXED L = WM_FFT_THE(length), B = WM_FFT_THE(batch), N = WM_FFT_THE(n);
    WM_FFT_FIXED SLAB = WM_FFT_THE(slab), ALL = WM_FFT_THE(threads) * B;
    WM_FFT_FIXED WIDTH = WM_FFT_THE(core) == WM_FFT_BLUESTEIN ? N : L;
    WM_FFT_UNROLL_SOME
    for (int u = 0; u < (WIDTH * B + ALL - 1) / ALL; u++) {
        int e = wm_thread() + ALL * u;
        int g, i;
        wm_fft_deal(e, WIDTH, &g, &i);
        wm_i64 in, out;
        if (e >= WIDTH * B) continue;
        C v = C{0, 0};
        if (i < L && number + g < p.count) {
            wm_fft_locate_element(p, number, g, e, i, &in, &out);
            v = wm_fft_fetch<C>(p, in, i);
        }
        int slot = i;
        WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_RADER) {
            slot = i ? wm_fft_slot<wm_fft_k>(static_cast<const int *>(p.order)[i]) : SLAB - 2;
        }
        else {
            slot = wm_fft_slot<wm_fft_k>(i);
        }
        slabs[g * SLAB + slot] = v;
    }
}

/** The slot of result k behind all passes. */
WM_DEVICE int wm_fft_result_slot(const wm_fft_block_job &p, int k) {
    WM_FFT_FIXED N = WM_FFT_THE(n), SLAB = WM_FFT_THE(slab);
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_RADER) {
        if (k == 0) return SLAB - 1;
        int log = static_cast<const int *>(p.order)[k]; /* X of g^-q is result q */
        return wm_fft_slot<wm_fft_k>(log ? N - log : 0);
    }
    else WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) {
        return wm_fft_slot<wm_fft_k>(k);
    }
    else {
        return wm_fft_output_slot<wm_fft_k>(k);
    }
}

template <class C>
WM_FFT_DEVICE void wm_fft_drain(const wm_fft_block_job &p, const C *slabs, wm_i64 number) {
    WM_FFT_FIXED L = WM_FFT_THE(length), B = WM_FFT_THE(batch), FORM = WM_FFT_THE(form);
    WM_FFT_FIXED SLAB = WM_FFT_THE(slab), ALL = WM_FFT_THE(threads) * B;
    WM_FFT_FIXED WIDTH = FORM == WM_FFT_REAL_EVEN ? L / 2 + 1 : FORM == WM_FFT_REAL_ANY ? L / 2 + 1 : L;
    WM_FFT_UNROLL_SOME
    for (int u = 0; u < (WIDTH * B + ALL - 1) / ALL; u++) {
        int e = wm_thread() + ALL * u;
        int g, k;
        wm_fft_deal(e, WIDTH, &g, &k);
        wm_i64 in, out;
        if (e >= WIDTH * B || number + g >= p.count) continue;
        wm_fft_locate_element(p, number, g, e, k, &in, &out);
        const C *slab = slabs + g * SLAB;
        C v = slab[wm_fft_result_slot(p, k)];
        WM_FFT_IF(FORM == WM_FFT_REAL_EVEN) {
            C other = slab[wm_fft_result_slot(p, k ? L - k : 0)];
            WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) {
                v = wm_fft_mul(v, static_cast<const C *>(p.chirp)[k]);
                other = wm_fft_mul(other, static_cast<const C *>(p.chirp)[k ? L - k : 0]);
            }
            wm_fft_put_pair(p, out, k, v, other);
        }
        else {
            wm_fft_put(p, out, k, v);
        }
    }
}

/* ---- First and last passes, for one thread ---- */

/** The elements of butterfly j of the first pass, from global memory. */
template <class C>
WM_FFT_DEVICE void wm_fft_load_round(const wm_fft_block_job &p, C *v, wm_i64 in, int j, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0);
    WM_FFT_FIXED L = WM_FFT_THE(length), ALL = WM_FFT_THE(n);
    WM_UNROLL
    for (int k = 0; k < R; k++) {
        v[k] = C{0, 0};
        if (active && wm_fft_has<wm_fft_k, 0>(j) && (L >= ALL || j + k * N < L))
            v[k] = wm_fft_fetch<C>(p, in, j + k * N);
    }
}

/** All that a thread reads in the first pass: it is on its way before the first is used. */
template <class C>
WM_DEVICE void wm_fft_load_first(const wm_fft_block_job &p, C *x, wm_i64 in, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_UNROLL
    for (int u = 0; u < U; u++) wm_fft_load_round(p, x + u * R, in, t + T * u, active);
}

/** The first pass of several, from the registers x or (fill) from the slab, to the slab. */
template <class C>
WM_FFT_DEVICE void wm_fft_first(const wm_fft_block_job &p, C *slab, C *x, wm_i64 in, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        C *v = WM_FFT_THE(ahead) ? x + u * R : x;
        WM_FFT_IF(WM_FFT_THE(fill)) {
            wm_fft_read<wm_fft_k, 0>(v, slab, slot);
        }
        else WM_FFT_IF(!WM_FFT_THE(ahead)) {
            wm_fft_load_round(p, v, in, j, active);
        }
        wm_fft_dft_of<wm_fft_k, 0>(v);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, v);
    }
}

/**
 * The first pass of a C2R transform: a thread does butterflies i and N - i, whose elements are made from the same
 * pairs, so that each is read once. Thread 0 does 0 and N / 2, each of which has its pairs in itself.
 */
template <class C>
WM_FFT_DEVICE void wm_fft_first_pairs(const wm_fft_block_job &p, C *slab, wm_i64 in, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), N = wm_fft_weight<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_FFT_FIXED PAIRS = (N + 1) / 2, U = (PAIRS + T - 1) / T;
    const C *row = static_cast<const C *>(p.in) + in;
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int i = t + T * u, other = i ? N - i : N / 2, low;
        if (PAIRS % T != 0 && i >= PAIRS) continue;
        C a[wm_fft_k::most()], b[wm_fft_k::most()], none;
        WM_UNROLL
        for (int k = 0; k < R; k++) a[k] = b[k] = C{0, 0};
        if (active && i) {
            WM_UNROLL
            for (int k = 0; k < R; k++) wm_fft_join_pair(p, row, i + k * N, &a[k], &b[R - 1 - k]);
        } else if (active) {
            wm_fft_join_pair(p, row, 0, &a[0], &none);
            WM_UNROLL
            for (int k = 1; 2 * k <= R; k++) {
                C z, y;
                wm_fft_join_pair(p, row, k * N, &z, &y);
                a[R - k] = y;
                a[k] = z;
            }
            WM_UNROLL
            for (int k = 0; N % 2 == 0 && 2 * k < R; k++) {
                C z, y;
                wm_fft_join_pair(p, row, N / 2 + k * N, &z, &y);
                b[R - 1 - k] = y;
                b[k] = z;
            }
        }
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(i, &low);
        wm_fft_dft_of<wm_fft_k, 0>(a);
        wm_fft_twist<wm_fft_k, 0>(a, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, a);
        if (N % 2 != 0 && i == 0) continue;
        slot = wm_fft_butterfly_slot<wm_fft_k, 0>(other, &low);
        wm_fft_dft_of<wm_fft_k, 0>(b);
        wm_fft_twist<wm_fft_k, 0>(b, static_cast<const C *>(p.twiddles), low);
        wm_fft_write<wm_fft_k, 0>(slab, slot, b);
    }
}

/** The butterfly of the last pass, whichever it is. */
template <class C>
WM_DEVICE void wm_fft_dft_last(C *v) {
#ifdef WM_SIMT
    wm_fft_dft_any<WM_FFT_UNITS>(wm_fft_k::radix(wm_fft_k::passes() - 1), v);
#else
    wm_fft_dft<wm_fft_k::radix(wm_fft_k::passes() - 1)>(v);
#endif
}

/** v, outputs q + k M of the forward network, times the spectrum; then back through the last pass. */
template <class C>
WM_FFT_DEVICE void wm_fft_multiply(const wm_fft_block_job &p, C *slab, C *v, int q) {
    WM_FFT_FIXED R = wm_fft_k::radix(wm_fft_k::passes() - 1), M = WM_FFT_THE(n) / R, SLAB = WM_FFT_THE(slab);
    const C *spectrum = static_cast<const C *>(p.spectrum);
    C sum = v[0];
    WM_UNROLL
    for (int k = 0; k < R; k++) v[k] = wm_fft_mul(v[k], spectrum[q + k * M]);
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_RADER) {
        if (q == 0) { /* the first element is in every result, and all of them are in the first result */
            C first = slab[SLAB - 2];
            slab[SLAB - 1] = wm_fft_add(first, sum);
            v[0] = wm_fft_add(v[0], first);
        }
    }
    WM_UNROLL
    for (int k = 0; k < R; k++) v[k].im = -v[k].im; /* the way back is a forward transform, too */
    wm_fft_dft_last(v);
}

/** The last pass: from the slab, or (a single pass) from the registers x; to global memory or back to the slab. */
template <class C>
WM_FFT_DEVICE void wm_fft_last(const wm_fft_block_job &p, C *slab, C *x, wm_i64 out, int t, bool active) {
    WM_FFT_FIXED P = wm_fft_k::passes(), R = wm_fft_k::radix(P - 1), M = WM_FFT_THE(n) / R, T = WM_FFT_THE(threads);
    WM_FFT_FIXED STEP = wm_fft_step<wm_fft_k>(P - 1), U = (M + T - 1) / T, CORE = WM_FFT_THE(core);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int q = t + T * u;
        if (M % T != 0 && q >= M) continue;
        C local[wm_fft_k::most()], *v = P == 1 ? x + u * R : local;
        const int slot = wm_fft_reversed<wm_fft_k>(q);
        if (P > 1 || WM_FFT_THE(fill)) {
            WM_UNROLL
            for (int k = 0; k < R; k++) v[k] = slab[slot + k * STEP];
        }
        wm_fft_dft_last(v);
        WM_FFT_IF(CORE != WM_FFT_PLAIN) wm_fft_multiply(p, slab, v, q);
        if (CORE != WM_FFT_PLAIN || WM_FFT_THE(drain)) {
            WM_UNROLL
            for (int k = 0; k < R; k++) {
                slab[slot + k * STEP] = v[k];
            }
        } else if (active) {
            WM_UNROLL
            for (int k = 0; k < R; k++) wm_fft_put(p, out, q + k * M, v[k]);
        }
    }
}

/** The last pass of an R2C transform: a thread does butterflies i and M - i, which hold each other's partners. */
template <class C>
WM_FFT_DEVICE void wm_fft_last_pairs(const wm_fft_block_job &p, const C *slab, wm_i64 out, int t, bool active) {
    WM_FFT_FIXED P = wm_fft_k::passes(), R = wm_fft_k::radix(P - 1), M = WM_FFT_THE(n) / R, T = WM_FFT_THE(threads);
    WM_FFT_FIXED STEP = wm_fft_step<wm_fft_k>(P - 1), PAIRS = (M + 1) / 2, U = (PAIRS + T - 1) / T;
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int i = t + T * u, other = i ? M - i : M / 2;
        if (PAIRS % T != 0 && i >= PAIRS) continue;
        C a[wm_fft_k::most()], b[wm_fft_k::most()];
        const C *from = slab + wm_fft_reversed<wm_fft_k>(i), *there = slab + wm_fft_reversed<wm_fft_k>(other);
        WM_UNROLL
        for (int k = 0; k < R; k++) a[k] = from[k * STEP], b[k] = there[k * STEP];
        wm_fft_dft_last(a);
        wm_fft_dft_last(b);
        if (active && i) {
            WM_UNROLL
            for (int k = 0; k < R; k++) wm_fft_put_pair(p, out, i + k * M, a[k], b[R - 1 - k]);
        } else if (active) {
            WM_UNROLL
            for (int k = 0; 2 * k <= R; k++) wm_fft_put_pair(p, out, k * M, a[k], a[(R - k) % R]);
            WM_UNROLL
            for (int k = 0; M % 2 == 0 && 2 * k < R; k++) wm_fft_put_pair(p, out, M / 2 + k * M, b[k], b[R - 1 - k]);
        }
    }
}

/** The first pass of the way back: results in natural order. */
template <class C>
WM_FFT_DEVICE void wm_fft_back_first(const wm_fft_block_job &p, C *slab, wm_i64 out, int t, bool active) {
    WM_FFT_FIXED R = wm_fft_k::radix(0), U = wm_fft_rounds<wm_fft_k>(0), T = WM_FFT_THE(threads);
    WM_FFT_FIXED N = wm_fft_weight<wm_fft_k>(0), L = WM_FFT_THE(length);
    WM_UNROLL
    for (int u = 0; u < U; u++) {
        int j = t + T * u, low;
        if (!wm_fft_has<wm_fft_k, 0>(j)) continue;
        int slot = wm_fft_butterfly_slot<wm_fft_k, 0>(j, &low);
        C v[wm_fft_k::most()];
        wm_fft_read<wm_fft_k, 0>(v, slab, slot);
        wm_fft_twist<wm_fft_k, 0>(v, static_cast<const C *>(p.twiddles), low);
        wm_fft_dft_of<wm_fft_k, 0>(v);
        WM_UNROLL
        for (int k = 0; k < R; k++) v[k].im = -v[k].im;
        WM_FFT_IF(WM_FFT_THE(drain)) {
            wm_fft_write<wm_fft_k, 0>(slab, slot, v);
        }
        else if (active) {
            WM_UNROLL
            for (int k = 0; k < R; k++)
                if (j + k * N < L) wm_fft_put(p, out, j + k * N, v[k]);
        }
    }
}

/* ---- The kernel ---- */

/** What a thread is in its block: transform g of it, thread t of that one. */
typedef struct wm_fft_seat {
    int g, t;
} wm_fft_seat;

WM_DEVICE wm_fft_seat wm_fft_seat_of(void) {
    WM_FFT_FIXED T = WM_FFT_THE(threads), B = WM_FFT_THE(batch), SPREAD = WM_FFT_THE(spread);
    unsigned i = threadIdx.x;
    return SPREAD ? wm_fft_seat{(int)(i % B), (int)(i / B)} : wm_fft_seat{(int)(i / T), (int)(i % T)};
}

/** Brings the first pass of transforms `number` … on its way. */
template <class C>
WM_DEVICE void wm_fft_begin(const wm_fft_block_job &p, C *slabs, C *x, wm_i64 number, wm_fft_seat seat) {
    bool active = number + seat.g < p.count; /* the others still meet at barriers */
    WM_FFT_IF(WM_FFT_THE(fill)) {
        wm_fft_fill(p, slabs, number);
    }
    else WM_FFT_IF(WM_FFT_THE(ahead)) {
        wm_i64 in, out;
        wm_fft_locate(p, active ? number + seat.g : 0, &in, &out);
        wm_fft_load_first(p, x, in, seat.t, active);
    }
}

/** All passes behind the first one. */
template <class C>
WM_FFT_DEVICE void wm_fft_finish(const wm_fft_block_job &p, C *slabs, C *x, wm_i64 number, wm_fft_seat seat) {
    WM_FFT_FIXED P = wm_fft_k::passes();
    bool active = number + seat.g < p.count;
    C *slab = slabs + seat.g * WM_FFT_THE(slab);
    const C *twiddles = static_cast<const C *>(p.twiddles);
    wm_i64 in, out;
    wm_fft_locate(p, active ? number + seat.g : 0, &in, &out);
    wm_fft_forward_middle<wm_fft_k, 1>(slab, twiddles, seat.t);
    WM_FFT_IF(P > 1) wm_fft_meet<wm_fft_k>();
    WM_FFT_IF(WM_FFT_THE(pairs) && WM_FFT_THE(form) == WM_FFT_REAL_EVEN) {
        wm_fft_last_pairs(p, slab, out, seat.t, active);
    }
    else {
        wm_fft_last(p, slab, x, out, seat.t, active);
    }
    WM_FFT_IF(WM_FFT_THE(core) != WM_FFT_PLAIN) {
        wm_fft_backward_middle<wm_fft_k, 1>(slab, twiddles, seat.t);
        wm_fft_meet<wm_fft_k>();
        wm_fft_back_first(p, slab, out, seat.t, active);
    }
    WM_FFT_IF(WM_FFT_THE(drain)) {
        wm_barrier();
        wm_fft_drain(p, slabs, number);
    }
}

template <class C>
WM_DEVICE void wm_fft_block_run(const wm_fft_block_job &p) {
    WM_FFT_FIXED P = wm_fft_k::passes(), B = WM_FFT_THE(batch);
    C x[wm_fft_k::most()], *slabs = wm_shared<C>();
    const wm_fft_seat seat = wm_fft_seat_of();
    wm_i64 number = (wm_i64)blockIdx.x * B;
    wm_fft_begin(p, slabs, x, number, seat);
    for (;;) {
        WM_FFT_IF(WM_FFT_THE(fill)) wm_barrier();
        WM_FFT_IF(P > 1) {
            wm_i64 in, out;
            bool active = number + seat.g < p.count;
            wm_fft_locate(p, active ? number + seat.g : 0, &in, &out);
            C *slab = slabs + seat.g * WM_FFT_THE(slab);
            WM_FFT_IF(WM_FFT_THE(pairs) && WM_FFT_THE(form) == WM_FFT_HALF_EVEN) {
                wm_fft_first_pairs(p, slab, in, seat.t, active);
            }
            else {
                wm_fft_first(p, slab, x, in, seat.t, active);
            }
        }
        WM_FFT_IF(!WM_FFT_THE(persist)) {
            wm_fft_finish(p, slabs, x, number, seat);
            return;
        }
        /* What comes next is read while the passes run, into registers that they do not need (P > 1, no fill). */
        wm_i64 now = number;
        number += (wm_i64)gridDim.x * B;
        if (number < p.count) wm_fft_begin(p, slabs, x, number, seat);
        wm_fft_finish(p, slabs, x, now, seat);
        if (number >= p.count) return;
        wm_barrier(); /* the slab is free */
    }
}

#ifdef WM_SIMT
WM_KERNEL wm_fft_block_f32(WM_PARAMS(wm_fft_block_job)) {
    wm_fft_cut_set(&p.cut);
    wm_fft_block_run<wmC64>(p);
}
WM_KERNEL wm_fft_block_f64(WM_PARAMS(wm_fft_block_job)) {
    wm_fft_cut_set(&p.cut);
    wm_fft_block_run<wmC128>(p);
}
#else
WM_KERNEL __launch_bounds__(WM_FFT_THE(threads) * WM_FFT_THE(batch), WM_FFT_THE(least_blocks))
    wm_fft_block_kernel(WM_PARAMS(wm_fft_block_job)) {
#if WM_FFT_F64
    wm_fft_block_run<wmC128>(p);
#else
    wm_fft_block_run<wmC64>(p);
#endif
}
#endif

#endif
