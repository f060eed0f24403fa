/* SPDX-License-Identifier: Apache-2.0 */
/* Between global memory and the complex transform of fft_block.cuh: strides, real forms, chirp, sign and scale; and
 * where a transform begins. */
#ifndef WM_DEVICE_FFT_BLOCK_ENDS_CUH
#define WM_DEVICE_FFT_BLOCK_ENDS_CUH

#include "device/fft_block_cut.cuh"

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

#endif
