/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transform of A · B points, or of a plane of A rows of B, by a cluster of blocks in one pass over memory:
 *
 *     block r holds the columns j2 in its share of [0, B): transforms of length A along j1
 *     times exp(-2 pi i j2 k1 / AB), then every element is pushed to the block in whose share of [0, A) k1 lies
 *     block r holds rows k1: transforms of length B along j2, stored as X[k1 + A k2]
 *
 * Lanes run along the lines, which are neighbours in memory, in both phases. In a plane there are no twiddles between
 * the phases, and results leave as rows: lanes along k2.
 */
#ifndef WM_DEVICE_FFT_CLUSTER_CUH
#define WM_DEVICE_FFT_CLUSTER_CUH

#include <warpmath/device/cluster_push.cuh>
#include <warpmath/device/fft_line.cuh>

/** One launch; strides count complex elements. */
typedef struct wm_fft_cluster_job {
    const void *in;
    void *out;
    const void *base, *step;                   /* twiddles: [t][j2] and [e][j2] for k1 = t + A / E e */
    wm_i64 count;                              /* transforms */
    int loops;                                 /* of which the last one counts on to `count` */
    wm_i64 loop_n[3], loop_in[3], loop_out[3]; /* innermost first */
    double sign; /* of imaginary parts on the way in: -1 turns a forward transform into an inverse one */
    double scale;
} wm_fft_cluster_job;

/** Where transform `number` begins. The last loop goes on to the end, so one loop takes no division. */
WM_DEVICE void wm_fft_cluster_locate(const wm_fft_cluster_job &p, wm_u32 number, wm_i64 *in, wm_i64 *out) {
    *in = *out = 0;
    int i = 0;
    for (; i + 1 < p.loops; i++) {
        wm_u32 at = number;
        number /= (wm_u32)p.loop_n[i];
        at -= number * (wm_u32)p.loop_n[i];
        *in += at * p.loop_in[i];
        *out += at * p.loop_out[i];
    }
    *in += number * p.loop_in[i];
    *out += number * p.loop_out[i];
}

/** Shared memory of a block: the gate, then the lines. */
WM_CONSTEXPR int wm_fft_cluster_shared(int a, int b, int blocks, int points, int element) {
    return (int)sizeof(wm_push_gate) +
           element * wm_max(b / blocks * wm_fft_line_slab(a, points), a / blocks * wm_fft_line_slab(b, points));
}

template <int A, int B, int BLOCKS, int E, bool PLANE, class C>
WM_DEVICE void wm_fft_cluster_transform(const wm_fft_cluster_job &p) {
    using real = decltype(C().re);
    constexpr int COLUMNS = B / BLOCKS, ROWS = A / BLOCKS, TA = A / E, TB = B / E, RUN = ROWS / TA;
    static_assert(ROWS % TA == 0, "what a register holds goes to one block");
    wm_push_gate *gate = wm_shared<wm_push_gate>();
    C *shared = reinterpret_cast<C *>(gate + 1), x[E];
    int rank = wm_cluster_rank();
    wm_i64 in_first, out_first;
    wm_fft_cluster_locate(p, blockIdx.x / BLOCKS, &in_first, &out_first);
    if constexpr (BLOCKS > 1) wm_push_begin(gate);

    int thread = wm_thread(), c = thread % COLUMNS, t = thread / COLUMNS, j2 = rank * COLUMNS + c;
    const C *in = static_cast<const C *>(p.in) + in_first + (t * B + j2);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = wm_fft_load_once(in + e * (TA * B));
    const real sign = (real)p.sign;
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e].im *= sign;
    wm_fft_line_head<A, E>(x, shared + c * wm_fft_line_slab(A, E), t);
    wm_fft_line_tail<A, E>(x);
    if constexpr (BLOCKS > 1) {
        WM_UNROLL
        for (int e = 0; e < E; e++) wm_push_used(x[e].re), wm_push_used(x[e].im);
        wm_push_open(gate, (int)sizeof(C) * COLUMNS * A);
    }
    if constexpr (PLANE) {
        WM_UNROLL
        for (int e = 0; e < E; e++) x[e].re *= (real)p.scale, x[e].im *= (real)p.scale;
    } else {
        C base = wm_fft_entry(static_cast<const C *>(p.base) + t * B + j2);
        base.re *= (real)p.scale, base.im *= (real)p.scale;
        x[0] = wm_fft_mul(x[0], base);
        const C *step = static_cast<const C *>(p.step) + j2;
        WM_UNROLL
        for (int e = 1; e < E; e++) x[e] = wm_fft_mul(x[e], wm_fft_mul(base, wm_fft_entry(step + e * B)));
    }
    C *mine = shared + t * wm_fft_line_slab(B, E) + wm_fft_line_place<B, E>(j2);
    if constexpr (BLOCKS > 1) {
        wm_push_wait_open();
        WM_UNROLL
        for (int e = 0; e < E; e++)
            wm_push(wm_push_target(mine, gate, e / RUN), e % RUN * TA * wm_fft_line_slab(B, E), x[e]);
    } else {
        wm_barrier();
        WM_UNROLL
        for (int e = 0; e < E; e++) mine[e * TA * wm_fft_line_slab(B, E)] = x[e];
        wm_barrier();
    }

    thread = wm_fft_forget(thread);
    int row = thread % ROWS;
    t = thread / ROWS;
    C *slab = shared + row * wm_fft_line_slab(B, E);
    if constexpr (BLOCKS > 1) wm_push_end(gate);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e] = slab[wm_fft_line_place<B, E>(t) + wm_fft_line_place<B, E>(TB * e)];
    if constexpr (PLANE) {
        wm_fft_line_first<B, E>(x, slab, t);
        row = thread / TB, t = thread % TB;
        wm_fft_line_rest<B, E>(x, shared + row * wm_fft_line_slab(B, E), t);
    } else {
        wm_fft_line_head<B, E>(x, slab, t);
    }
    wm_fft_line_tail<B, E>(x);
    int k1 = rank * ROWS + row;
    C *out = static_cast<C *>(p.out) + out_first + (PLANE ? k1 * B + t : k1 + A * t);
    WM_UNROLL
    for (int e = 0; e < E; e++) wm_fft_store_once(out + e * (PLANE ? TB : A * TB), C{x[e].re, x[e].im * sign});
}

#endif
