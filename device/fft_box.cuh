/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box of N x N x N points in one pass over memory, by a block or by a cluster of BLOCKS blocks. Each thread holds a
 * whole line of N points, first along z, then along x, then along y:
 *
 *     block r holds the rows y in its share of [0, N): lines along z, straight from memory, lanes along x
 *     each element to the block in whose share of [0, N) z lies (N = 16: through the block's own shared memory)
 *     block r holds planes z: lines along x, in place, and lines along y, to memory, lanes along x
 *
 * No twiddles: what lies between two axes is the exchange alone. A row has one pad element, so that the lines along x,
 * whose neighbours are rows, meet no bank twice.
 */
#ifndef WM_DEVICE_FFT_BOX_CUH
#define WM_DEVICE_FFT_BOX_CUH

#include <warpmath/device/cluster_push.cuh>
#include <warpmath/device/fft_line.cuh>

/** One launch; strides count complex elements, of axes z, y, x. */
typedef struct wm_fft_box_job {
    const void *in;
    void *out;
    wm_i64 in_stride[3], out_stride[3];
    int loops;                                 /* the last one counts on */
    wm_i64 loop_n[3], loop_in[3], loop_out[3]; /* innermost first */
    double sign;                               /* of imaginary parts on the way in and out: -1 makes it an inverse */
    double scale;
} wm_fft_box_job;

WM_CONSTEXPR int wm_fft_box_shared(int n, int blocks, int element) {
    return (int)sizeof(wm_push_gate) + element * (n / blocks) * n * (n + 1);
}

/** Where box `number` begins. */
WM_DEVICE void wm_fft_box_locate(const wm_fft_box_job &p, wm_u32 number, wm_i64 *in, wm_i64 *out) {
    *in = *out = 0;
    for (int i = 0; i < p.loops; i++) {
        wm_u32 next = i + 1 < p.loops ? number / (wm_u32)p.loop_n[i] : 0, at = number - next * (wm_u32)p.loop_n[i];
        *in += at * p.loop_in[i];
        *out += at * p.loop_out[i];
        number = next;
    }
}

/** Lines along z, of this thread's y and x, to the planes that they cross. */
template <int N, int BLOCKS, class C>
WM_DEVICE void wm_fft_box_exchange(wm_push_gate *gate, C *slab, C *x, int y, int column) {
    constexpr int PLANES = N / BLOCKS, ROW = N + 1;
    C *mine = slab + y * ROW + column;
    if constexpr (BLOCKS > 1) {
        WM_UNROLL
        for (int z = 0; z < N; z++) wm_push_used(x[z].re), wm_push_used(x[z].im);
        wm_push_open(gate, (int)sizeof(C) * PLANES * N * N);
        wm_push_wait_open();
        WM_UNROLL
        for (int z = 0; z < N; z++) wm_push(wm_push_target(mine, gate, z / PLANES), z % PLANES * N * ROW, x[z]);
        wm_push_end(gate);
    } else {
        WM_UNROLL
        for (int z = 0; z < N; z++) mine[z * N * ROW] = x[z];
        wm_barrier();
    }
}

template <int N, int BLOCKS, class C>
WM_DEVICE void wm_fft_box_transform(const wm_fft_box_job &p) {
    using real = decltype(C().re);
    constexpr int PLANES = N / BLOCKS, ROW = N + 1;
    wm_push_gate *gate = wm_shared<wm_push_gate>();
    C *slab = reinterpret_cast<C *>(gate + 1), x[N];
    int rank = BLOCKS > 1 ? wm_cluster_rank() : 0, a = wm_thread() / N, b = wm_thread() % N;
    wm_i64 in_first, out_first;
    wm_fft_box_locate(p, blockIdx.x / BLOCKS, &in_first, &out_first);
    if constexpr (BLOCKS > 1) {
        wm_push_begin(gate);
        wm_barrier();
    }
    const int first = rank * PLANES + a; /* row y on the way in, plane z on the way out */
    const C *in = static_cast<const C *>(p.in) + in_first + first * p.in_stride[1] + b * p.in_stride[2];
    WM_UNROLL
    for (int z = 0; z < N; z++) x[z] = wm_fft_load_once(in + z * p.in_stride[0]);
    const real re = (real)p.scale, im = (real)(p.scale * p.sign), sign = (real)p.sign;
    WM_UNROLL
    for (int z = 0; z < N; z++) x[z] = C{x[z].re * re, x[z].im * im};
    wm_fft_line_butterfly<N>(x);
    wm_fft_box_exchange<N, BLOCKS>(gate, slab, x, first, b);

    C *row = slab + wm_thread() * ROW; /* of plane a, row b */
    WM_UNROLL
    for (int k = 0; k < N; k++) x[k] = row[k];
    wm_fft_line_butterfly<N>(x);
    WM_UNROLL
    for (int k = 0; k < N; k++) row[k] = x[k];
    wm_barrier();

    const C *column = slab + a * N * ROW + b;
    WM_UNROLL
    for (int k = 0; k < N; k++) x[k] = column[k * ROW];
    wm_fft_line_butterfly<N>(x);
    C *out = static_cast<C *>(p.out) + out_first + first * p.out_stride[0] + b * p.out_stride[2];
    WM_UNROLL
    for (int k = 0; k < N; k++) wm_fft_store_once(out + k * p.out_stride[1], C{x[k].re, x[k].im * sign});
}

#endif
