/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for device/fft_block_ends.cuh: the same functions, with every element of the caller's read by
 * wm_fft_element and written by wm_fft_deliver, which know 16 bits and functors. It takes that header's guard, so that
 * the passes, which may not change while they are verified as they are, use these. (When fft_block is next verified the
 * two become one: then its ends call the same two functions.)
 */
#ifndef WM_DEVICE_FFT_BLOCK_ENDS_CUH
#define WM_DEVICE_FFT_BLOCK_ENDS_CUH

#include "device/fft_block_cut.cuh"
#include "device/fft_functor.cuh"

#ifdef WM_SIMT
#define WM_FFT_STORED_IN p.stored_in
#define WM_FFT_STORED_OUT p.stored_out
#endif

/* ---- Elements ---- */

/** Pair `at` of the input; `position`: of it in its array. */
template <class C>
WM_FFT_DEVICE C wm_fft_element(const wm_fft_fused_job &p, wm_i64 at, int position) {
    using real = decltype(C().re);
    C v = C{0, 0};
    WM_FFT_IF(WM_FFT_STORED_IN == WM_FFT_STORED_BY_FUNCTOR) {
        v = wm_fft_call_load<C>(p.load_host, p.in, at, position, p.load_user);
    }
    else WM_FFT_IF(WM_FFT_STORED_IN == WM_FFT_STORED_AS_IS) {
        v = static_cast<const C *>(p.in)[at];
    }
    else {
        wm_u32 bits = __ldcs(static_cast<const wm_u32 *>(p.in) + at);
        v.re = (real)wm_fft_widen(WM_FFT_STORED_IN, bits & 0xffff);
        v.im = (real)wm_fft_widen(WM_FFT_STORED_IN, bits >> 16);
    }
    return v;
}

/** Real number `at`. */
template <class C>
WM_FFT_DEVICE auto wm_fft_element_real(const wm_fft_fused_job &p, wm_i64 at, int position) -> decltype(C().re) {
    using real = decltype(C().re);
    real v = 0;
    WM_FFT_IF(WM_FFT_STORED_IN == WM_FFT_STORED_BY_FUNCTOR) {
        v = wm_fft_call_load<C>(p.load_host, p.in, at, position, p.load_user).re;
    }
    else WM_FFT_IF(WM_FFT_STORED_IN == WM_FFT_STORED_AS_IS) {
        v = static_cast<const real *>(p.in)[at];
    }
    else {
        v = (real)wm_fft_widen(WM_FFT_STORED_IN, static_cast<const wm_u16 *>(p.in)[at]);
    }
    return v;
}

template <class C>
WM_FFT_DEVICE void wm_fft_deliver(const wm_fft_fused_job &p, wm_i64 at, int position, C v) {
    WM_FFT_IF(WM_FFT_STORED_OUT == WM_FFT_STORED_BY_FUNCTOR) {
        wm_fft_call_store(p.store_host, p.out, at, position, v, p.store_user);
    }
    else WM_FFT_IF(WM_FFT_STORED_OUT == WM_FFT_STORED_AS_IS) {
        static_cast<C *>(p.out)[at] = v;
    }
    else {
        wm_u32 bits = wm_fft_narrow(WM_FFT_STORED_OUT, (float)v.re);
        __stcs(static_cast<wm_u32 *>(p.out) + at, bits | wm_fft_narrow(WM_FFT_STORED_OUT, (float)v.im) << 16);
    }
}

template <class C>
WM_FFT_DEVICE void wm_fft_deliver_real(const wm_fft_fused_job &p, wm_i64 at, int position, decltype(C().re) v) {
    using real = decltype(C().re);
    WM_FFT_IF(WM_FFT_STORED_OUT == WM_FFT_STORED_BY_FUNCTOR) {
        wm_fft_call_store(p.store_host, p.out, at, position, C{v, 0}, p.store_user);
    }
    else WM_FFT_IF(WM_FFT_STORED_OUT == WM_FFT_STORED_AS_IS) {
        static_cast<real *>(p.out)[at] = v;
    }
    else {
        static_cast<wm_u16 *>(p.out)[at] = (wm_u16)wm_fft_narrow(WM_FFT_STORED_OUT, (float)v);
    }
}

WM_DEVICE wm_i64 wm_fft_in_at(const wm_fft_fused_job &p, int i) {
    WM_FFT_FIXED UNIT = WM_FFT_THE(unit_in);
    return UNIT ? i : i * p.in_stride;
}

WM_DEVICE wm_i64 wm_fft_out_at(const wm_fft_fused_job &p, int i) {
    WM_FFT_FIXED UNIT = WM_FFT_THE(unit_out);
    return UNIT ? i : i * p.out_stride;
}

/* ---- Forms ---- */

/** Element i of a half spectrum at `first` whose other half is its conjugate. */
template <class C>
WM_FFT_DEVICE C wm_fft_hermitian(const wm_fft_fused_job &p, wm_i64 first, int i, int n) {
    int k = 2 * i <= n ? i : n - i;
    C v = wm_fft_element<C>(p, first + wm_fft_in_at(p, k), k);
    if (k != i) v.im = -v.im;
    if (k == 0 || 2 * k == n) v.im = 0;
    return v;
}

/** As in fft_block_ends.cuh: what a transform of half the length wants at i and at length - i. */
template <class C>
WM_FFT_DEVICE void wm_fft_join_at(const wm_fft_fused_job &p, wm_i64 first, int i, C *z, C *y) {
    using real = decltype(C().re);
    WM_FFT_FIXED L = WM_FFT_THE(length);
    C a = wm_fft_element<C>(p, first + wm_fft_in_at(p, i), i);
    C b = wm_fft_element<C>(p, first + wm_fft_in_at(p, L - i), L - i), w = static_cast<const C *>(p.half)[i];
    if (i == 0) a.im = b.im = 0;
    C even = C{a.re + b.re, a.im - b.im}, odd = C{a.re - b.re, a.im + b.im};
    C turned = C{odd.re * w.re + odd.im * w.im, odd.im * w.re - odd.re * w.im}; /* odd / w */
    const real sign = (real)p.sign;
    *z = C{even.re - turned.im, (even.im + turned.re) * sign};
    *y = C{even.re + turned.im, (turned.re - even.im) * sign};
}

/** The passes name a row by a pointer that counts pairs of C from the input; only its distance means anything here. */
template <class C>
WM_FFT_DEVICE void wm_fft_join_pair(const wm_fft_fused_job &p, const C *row, int i, C *z, C *y) {
    wm_fft_join_at(p, (wm_i64)(row - static_cast<const C *>(p.in)), i, z, y);
}

/** Element i of the complex transform whose data begin `first` elements behind the input's start. */
template <class C>
WM_FFT_DEVICE C wm_fft_fetch(const wm_fft_fused_job &p, wm_i64 first, int i) {
    using real = decltype(C().re);
    WM_FFT_FIXED FORM = WM_FFT_THE(form), UNIT = WM_FFT_THE(unit_in), L = WM_FFT_THE(length);
    C v = C{0, 0};
    WM_FFT_IF(FORM == WM_FFT_COMPLEX_FORM) {
        v = wm_fft_element<C>(p, first + wm_fft_in_at(p, i), i);
    }
    else WM_FFT_IF(FORM == WM_FFT_REAL_EVEN) {
        if (UNIT && WM_FFT_STORED_IN != WM_FFT_STORED_BY_FUNCTOR) {
            v = wm_fft_element<C>(p, first / 2 + i, 2 * i); /* aligned pairs */
        } else {
            v.re = wm_fft_element_real<C>(p, first + wm_fft_in_at(p, 2 * i), 2 * i);
            v.im = wm_fft_element_real<C>(p, first + wm_fft_in_at(p, 2 * i + 1), 2 * i + 1);
        }
    }
    else WM_FFT_IF(FORM == WM_FFT_REAL_ANY) {
        v.re = wm_fft_element_real<C>(p, first + wm_fft_in_at(p, i), i);
    }
    else WM_FFT_IF(FORM == WM_FFT_HALF_EVEN) {
        C other;
        wm_fft_join_at(p, first, i, &v, &other);
        v.im *= (real)p.sign; /* signed below */
    }
    else {
        v = wm_fft_hermitian<C>(p, first, i, L);
    }
    v.im *= (real)p.sign;
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) v = wm_fft_mul(v, static_cast<const C *>(p.chirp)[i]);
    return v;
}

/** Result k to its place; not for REAL_EVEN, whose results are pairs. */
template <class C>
WM_FFT_DEVICE void wm_fft_put(const wm_fft_fused_job &p, wm_i64 first, int k, C v) {
    using real = decltype(C().re);
    WM_FFT_FIXED FORM = WM_FFT_THE(form), UNIT = WM_FFT_THE(unit_out), L = WM_FFT_THE(length);
    WM_FFT_IF(WM_FFT_THE(core) == WM_FFT_BLUESTEIN) v = wm_fft_mul(v, static_cast<const C *>(p.chirp)[k]);
    v = C{v.re * (real)p.scale, v.im * (real)(p.scale * p.sign)};
    WM_FFT_IF(FORM == WM_FFT_HALF_EVEN) {
        if (UNIT && WM_FFT_STORED_OUT != WM_FFT_STORED_BY_FUNCTOR) {
            wm_fft_deliver(p, first / 2 + k, 2 * k, v); /* aligned pairs */
        } else {
            wm_fft_deliver_real<C>(p, first + wm_fft_out_at(p, 2 * k), 2 * k, v.re);
            wm_fft_deliver_real<C>(p, first + wm_fft_out_at(p, 2 * k + 1), 2 * k + 1, v.im);
        }
    }
    else WM_FFT_IF(FORM == WM_FFT_HALF_ANY) {
        wm_fft_deliver_real<C>(p, first + wm_fft_out_at(p, k), k, v.re);
    }
    else {
        if (FORM == WM_FFT_REAL_ANY && 2 * k > L) return;
        wm_fft_deliver(p, first + wm_fft_out_at(p, k), k, v);
    }
}

/** X[k] and X[length - k] of a real transform from Z[k] and Z[length - k]. */
template <class C>
WM_FFT_DEVICE void wm_fft_put_pair(const wm_fft_fused_job &p, wm_i64 first, int k, C z, C y) {
    using real = decltype(C().re);
    WM_FFT_FIXED L = WM_FFT_THE(length);
    const real scale = (real)p.scale * (real)0.5;
    C w = static_cast<const C *>(p.half)[k];
    C even = C{z.re + y.re, z.im - y.im}, odd = C{z.im + y.im, y.re - z.re}; /* each twice */
    C turned = wm_fft_mul(odd, w);
    wm_fft_deliver(p, first + wm_fft_out_at(p, k), k, C{(even.re + turned.re) * scale, (even.im + turned.im) * scale});
    if (2 * k == L) return;
    wm_fft_deliver(p, first + wm_fft_out_at(p, L - k), L - k,
                   C{(even.re - turned.re) * scale, (turned.im - even.im) * scale});
}

/* ---- Where transforms begin ---- */

WM_DEVICE void wm_fft_locate(const wm_fft_fused_job &p, wm_i64 number, wm_i64 *in, wm_i64 *out) {
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

/** Packed or not: the position must be known, so that no element is located by its number alone. */
WM_DEVICE void wm_fft_locate_element(const wm_fft_fused_job &p, wm_i64 first, int g, int, int, wm_i64 *in,
                                     wm_i64 *out) {
    wm_fft_locate(p, first + g, in, out);
}

#endif
