/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms by a cluster of blocks, sm_90 and newer, in registers and in the blocks' shared memories: N = 2^14, 2^15
 * and 2^16 in f32, 2^13 to 2^16 in f64. So a kernel can transform, multiply and transform back in one pass over memory
 * what no block could hold.
 *
 *   wmFftClusterBlocks(N)     blocks of the cluster, 4, 8 or 16 (16: cudaFuncAttributeNonPortableClusterSizeAllowed)
 *   wmFftClusterThreads(N)    threads of a block, all of which belong to the transform
 *   wmFftClusterSmem(N)       bytes of shared memory of each block; in f64 …(N, 8), for all three
 *   wmFftClusterFrom<N>(e)    which element register e is before the call
 *   wmFftClusterTo<N>(e)      which one after it; the same wherever log2 N is even
 *   wmFftCluster<N, WM_FORWARD>(x, smem, turn)
 *                             transforms x, 16 registers, in place, unscaled. Every thread of the cluster calls.
 *                             turn: 0 in the kernel's first call, then 1, 2, …; smem is the same in all of them,
 * aligned to 16 bytes, and not used for anything else in between wmFftCluster<N, WM_INVERSE, WM_FFT_BACK>(…), and From
 * and To with it: begins where the other way ends, and ends where it began. A convolution is one each way, with no
 * reordering
 *
 *     wmC64 x[16];
 *     for (int e = 0; e < 16; e++) x[e] = in[wmFftClusterFrom<N>(e)];
 *     wmFftCluster<N, WM_FORWARD>(x, smem, 0);
 *     for (int e = 0; e < 16; e++) x[e] = wmFftTimes(x[e], filter[wmFftClusterTo<N>(e)]);
 *     wmFftCluster<N, WM_INVERSE, WM_FFT_BACK>(x, smem, 1);
 *     for (int e = 0; e < 16; e++) out[wmFftClusterTo<N, WM_FFT_BACK>(e)] = x[e];
 *
 * How: N = A · B as A rows of B. Block r transforms columns, multiplies by exp(-2 pi i j2 k1 / N) and stores each
 * result into the shared memory of the block that has its row; that one transforms rows. Lanes run along lines in both
 * phases, so groups of A / blocks neighbouring elements are accessed together. The four-step transform (Bailey, "FFTs
 * in external or hierarchical memory", 1990: the source) with its transposition through distributed shared memory.
 * Registers: 80 in f32, 128 in f64. Relative error in the 2-norm: 1.5e-7 in f32, 6e-16 in f64.
 */
#ifndef WARPMATH_DEVICE_FFT_CLUSTER_CUH
#define WARPMATH_DEVICE_FFT_CLUSTER_CUH

#include <warpmath/device/cluster_push.cuh>
#include <warpmath/device/fft_fine.cuh>
#include <warpmath/device/fft_line.cuh>

/** Which way a pair of transforms goes over its two layouts. */
enum wmFftWay { WM_FFT_OUT, WM_FFT_BACK };

/** N = A · B: A rows of B. */
WM_CONSTEXPR int wm_fft_cluster_rows(int n, int way) {
    int a = n >= 65536 ? 256 : 128, b = n / a;
    return way == WM_FFT_BACK ? b : a;
}

/** Blocks of the cluster. A constant, for the host too. */
WM_CONSTEXPR int wmFftClusterBlocks(int n, int real_bytes = 4) {
    return n <= 8192 ? 4 : n <= 16384 ? 8 : n <= 32768 ? (real_bytes == 8 ? 16 : 8) : 16;
}

/** Threads of a block. A constant, for the host too. */
WM_CONSTEXPR int wmFftClusterThreads(int n, int real_bytes = 4) {
    return n / wmFftClusterBlocks(n, real_bytes) / 16;
}

/** Bytes of shared memory of a block. A constant, for the host too. */
WM_CONSTEXPR int wmFftClusterSmem(int n, int real_bytes = 4) {
    int a = wm_fft_cluster_rows(n, WM_FFT_OUT), b = n / a, blocks = wmFftClusterBlocks(n, real_bytes);
    return (int)sizeof(wm_push_gate) +
           2 * real_bytes * wm_max(b / blocks * wm_fft_line_slab(a, 16), a / blocks * wm_fft_line_slab(b, 16));
}

/** Element of register e before the transform. Any thread; 12 registers; exact; source: see the top. */
template <int N, wmFftWay WAY = WM_FFT_OUT, int REAL_BYTES = 4>
WM_DEVICE int wmFftClusterFrom(int e) {
    constexpr int A = wm_fft_cluster_rows(N, WAY), B = N / A, COLUMNS = B / wmFftClusterBlocks(N, REAL_BYTES);
    return (wm_thread() / COLUMNS + A / 16 * e) * B + wm_cluster_rank() * COLUMNS + wm_thread() % COLUMNS;
}

/** Element of register e after it. Any thread; 12 registers; exact; source: see the top. */
template <int N, wmFftWay WAY = WM_FFT_OUT, int REAL_BYTES = 4>
WM_DEVICE int wmFftClusterTo(int e) {
    constexpr int A = wm_fft_cluster_rows(N, WAY), B = N / A, ROWS = A / wmFftClusterBlocks(N, REAL_BYTES);
    return wm_cluster_rank() * ROWS + wm_thread() % ROWS + A * (wm_thread() / ROWS + B / 16 * e);
}

/** Twiddles exp(-2 pi i j2 k1 / AB) of k1 = t + A / 16 e: the product of [t][j2] and [A / 16 + e][j2]. */
template <int A, int B, class C>
struct wm_fft_cluster_table_of {
    C v[(A / 16 + 16) * B];
    __host__ __device__ constexpr wm_fft_cluster_table_of() : v() {
        for (int row = 0; row < A / 16 + 16; row++)
            for (int j = 0; j < B; j++) {
                int k = row < A / 16 ? row : (row - A / 16) * (A / 16);
                v[row * B + j] = wm_fft_fine_root<C>(k * j % (A * B) * (WM_FFT_FINE_CIRCLE / (A * B)));
            }
    }
};

template <int A, int B, class C>
static __device__ const wm_fft_cluster_table_of<A, B, C> wm_fft_cluster_twiddles = wm_fft_cluster_table_of<A, B, C>();

#ifndef WM_SIMT
/** wm_push_end of exchange number `turn` by the same gate, counted from 0: phases alternate. */
WM_DEVICE void wm_push_end_of(wm_push_gate *gate, int turn) {
    wm_mbarrier_wait(&gate->barrier, turn & 1);
}
#endif

/** The forward transform. */
template <int A, int B, int BLOCKS, class C>
WM_DEVICE void wm_fft_cluster_one(C (&x)[16], wm_push_gate *gate, int turn) {
    constexpr int COLUMNS = B / BLOCKS, ROWS = A / BLOCKS, TA = A / 16, TB = B / 16, RUN = ROWS / TA;
    static_assert(ROWS % TA == 0, "what a register holds goes to one block");
    C *shared = reinterpret_cast<C *>(gate + 1);
    int thread = wm_thread(), c = thread % COLUMNS, t = thread / COLUMNS;
    int j2 = wm_cluster_rank() * COLUMNS + c;
    if (turn == 0) wm_push_begin(gate);
    wm_fft_line_head<A, 16>(x, shared + c * wm_fft_line_slab(A, 16), t);
    wm_fft_line_tail<A, 16>(x);
    WM_UNROLL
    for (int e = 0; e < 16; e++) wm_push_used(x[e].re), wm_push_used(x[e].im);
    wm_push_open(gate, (int)sizeof(C) * COLUMNS * A);
    const C *w = wm_fft_forget(wm_fft_cluster_twiddles<A, B, C>.v + j2);
    C base = wm_fft_entry(w + t * B);
    x[0] = wm_fft_mul(x[0], base);
    WM_UNROLL
    for (int e = 1; e < 16; e++) x[e] = wm_fft_mul(x[e], wm_fft_mul(base, wm_fft_entry(w + (TA + e) * B)));
    C *mine = shared + t * wm_fft_line_slab(B, 16) + wm_fft_line_place<B, 16>(j2);
    wm_push_wait_open();
    WM_UNROLL
    for (int e = 0; e < 16; e++)
        wm_push(wm_push_target(mine, gate, e / RUN), e % RUN * TA * wm_fft_line_slab(B, 16), x[e]);
    thread = wm_fft_forget(thread);
    t = thread / ROWS;
    C *slab = shared + thread % ROWS * wm_fft_line_slab(B, 16);
    wm_push_end_of(gate, turn);
    WM_UNROLL
    for (int e = 0; e < 16; e++) x[e] = slab[wm_fft_line_place<B, 16>(t) + wm_fft_line_place<B, 16>(TB * e)];
    wm_fft_line_head<B, 16>(x, slab, t);
    wm_fft_line_tail<B, 16>(x);
}

/** Transforms x, the registers of this thread, in place. See the top. Every thread of the cluster; smem:
 * wmFftClusterSmem(N), aligned to 16 bytes; registers, error, source: see the top. */
template <int N, wmDirection DIRECTION, wmFftWay WAY = WM_FFT_OUT, class C>
WM_DEVICE void wmFftCluster(C (&x)[16], void *smem, int turn) {
    constexpr int BYTES = (int)sizeof(C) / 2, A = wm_fft_cluster_rows(N, WAY);
    static_assert(N == 1 << 14 || N == 1 << 15 || N == 1 << 16 || (N == 1 << 13 && BYTES == 8),
                  "N is 2^14, 2^15 or 2^16, in f64 2^13 too");
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < 16; e++) wm_fft_swap(x[e]);
    wm_fft_cluster_one<A, N / A, wmFftClusterBlocks(N, BYTES)>(x, static_cast<wm_push_gate *>(smem), turn);
    WM_UNROLL
    for (int e = 0; DIRECTION == WM_INVERSE && e < 16; e++) wm_fft_swap(x[e]);
}

#endif
