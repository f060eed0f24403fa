/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass of a transform of several passes: V neighbouring lines of L points a block, any strides.
 *
 * Lanes run along whichever of line and transform is contiguous, on each side for itself: the exchange between the
 * first two butterflies changes from one order to the other. Between the passes of a long transform, result k of line l
 * is multiplied by exp(-2 pi i l k / N): the factors of a thread are powers of one root, taken in f64 from two tables
 * and rounded once, where the transform is of f32; in f64 each is a product of at most five exact roots.
 */
#ifndef WM_DEVICE_FFT_LINES_CUH
#define WM_DEVICE_FFT_LINES_CUH

#include <warpmath/device/fft_line.cuh>

enum { WM_FFT_LINES_LOOPS = 4 };

/** One launch; strides count complex elements. */
typedef struct wm_fft_lines_job {
    const void *in;
    void *out;
    wm_i64 in_stride, out_stride; /* along a line */
    wm_i64 in_next, out_next;     /* from line to line */
    wm_i64 lines;                 /* neighbours */
    int in_lanes, out_lanes;      /* lanes run along: 0 the transform, 1 the lines */
    int loops;                    /* the last one counts on */
    wm_i64 loop_n[WM_FFT_LINES_LOOPS], loop_in[WM_FFT_LINES_LOOPS], loop_out[WM_FFT_LINES_LOOPS];
    double sign_in, sign_out; /* of imaginary parts on the way in and out */
    double scale;
    const wmC128 *low,
        *high; /* roots exp(-2 pi i m / N): m = 0 … 2^shift - 1, and every 2^shift-th; NULL: no factors */
    int shift;
    wm_u32 mask; /* N - 1 */
} wm_fft_lines_job;

/** Distance between the slabs of V lines: lanes along lines and lanes along a transform both meet each bank once. */
WM_CONSTEXPR int wm_fft_lines_slab(int n, int points, int lines, int element) {
    int banks = 128 / element, step = lines >= banks ? 1 : banks / lines, slab = n + n / wm_fft_line_pad(n, points);
    while (slab % banks != step) slab++;
    return slab;
}

WM_CONSTEXPR int wm_fft_lines_shared(int n, int points, int lines, int element) {
    return wm_fft_lines_slab(n, points, lines, element) * lines * element;
}

/** exp(-2 pi i m / N). */
WM_DEVICE wmC128 wm_fft_lines_root(const wm_fft_lines_job &p, wm_u32 m) {
    m &= p.mask;
    return wm_fft_mul(p.high[m >> p.shift], p.low[m & ((1u << p.shift) - 1)]);
}

/** x[e] times exp(-2 pi i line (t + T e) / N). */
template <int T, int E>
WM_DEVICE void wm_fft_lines_turn(const wm_fft_lines_job &p, wm_u32 line, int t, wmC64 *x) {
    wmC128 w = wm_fft_lines_root(p, line * (wm_u32)t), step = wm_fft_lines_root(p, line * (wm_u32)T);
    WM_UNROLL
    for (int e = 0; e < E; e++) {
        x[e] = wm_fft_mul(x[e], wmC64{(float)w.re, (float)w.im});
        if (e + 1 < E) w = wm_fft_mul(w, step);
    }
}

template <int T, int E>
WM_DEVICE void wm_fft_lines_turn(const wm_fft_lines_job &p, wm_u32 line, int t, wmC128 *x) {
    wmC128 w = wm_fft_lines_root(p, line * (wm_u32)t);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = wm_fft_mul(x[e], w);
    WM_UNROLL
    for (int bit = 1; bit < E; bit *= 2) {
        w = wm_fft_lines_root(p, line * (wm_u32)(T * bit));
        WM_UNROLL
        for (int e = 0; e < E; e++)
            if (e & bit) x[e] = wm_fft_mul(x[e], w);
    }
}

/** Tile number `number`: its first line, and where line 0 of its neighbours begins. */
WM_DEVICE void wm_fft_lines_locate(const wm_fft_lines_job &p, int lines, wm_u32 number, wm_i64 *first, wm_i64 *in,
                                   wm_i64 *out) {
    wm_u32 tiles = (wm_u32)((p.lines + lines - 1) / lines), rest = number / tiles;
    *first = (wm_i64)(number - rest * tiles) * lines;
    *in = *out = 0;
    for (int i = 0; i < p.loops; i++) {
        wm_u32 at = rest;
        if (i + 1 < p.loops) {
            rest /= (wm_u32)p.loop_n[i];
            at -= rest * (wm_u32)p.loop_n[i];
        }
        *in += at * p.loop_in[i];
        *out += at * p.loop_out[i];
    }
}

template <int L, int V, int E, class C>
WM_DEVICE void wm_fft_lines_pass(const wm_fft_lines_job &p) {
    using real = decltype(C().re);
    constexpr int T = L / E, SLAB = wm_fft_lines_slab(L, E, V, (int)sizeof(C));
    C *shared = wm_shared<C>(), x[E];
    wm_i64 first, in_at, out_at;
    wm_fft_lines_locate(p, V, blockIdx.x, &first, &in_at, &out_at);
    int v = p.in_lanes ? wm_thread() % V : wm_thread() / T, t = p.in_lanes ? wm_thread() / V : wm_thread() % T;
    bool active = first + v < p.lines; /* the others still meet at barriers */
    const C *in = static_cast<const C *>(p.in) + in_at + (first + v) * p.in_next + t * p.in_stride;
    const real sign = (real)p.sign_in;
    WM_UNROLL
    for (int e = 0; e < E; e++, in += T * p.in_stride) {
        x[e] = C{0, 0};
        if (active) x[e] = wm_fft_load_once(in);
    }
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e].im *= sign;
    wm_fft_line_first<L, E>(x, shared + v * SLAB, t);
    int thread = wm_fft_forget(wm_thread());
    v = p.out_lanes ? thread % V : thread / T, t = p.out_lanes ? thread / V : thread % T;
    wm_fft_line_rest<L, E>(x, shared + v * SLAB, t);
    wm_fft_line_tail<L, E>(x);
    if (p.low) wm_fft_lines_turn<T, E>(p, (wm_u32)(first + v), t, x);
    if (first + v >= p.lines) return;
    const real re = (real)p.scale, im = (real)(p.scale * p.sign_out);
    C *out = static_cast<C *>(p.out) + out_at + (first + v) * p.out_next + t * p.out_stride;
    WM_UNROLL
    for (int e = 0; e < E; e++, out += T * p.out_stride) *out = C{x[e].re * re, x[e].im * im};
}

#endif
