/* SPDX-License-Identifier: Apache-2.0 */
/* Small kernels that are right, and wrong on purpose in the way that p.fault says: async.h. */
#include <warpmath/device/bulk.cuh>
#include <warpmath/device/cluster.cuh>
#include <warpmath/device/mma.cuh>
#include <warpmath/device/wgmma.cuh>

#include "async.h"

/* ---- The copy engine and wgmma ---- */

typedef struct wm_async_tiles {
    unsigned char a[8192], b[8192], d[2][8192];
    wm_mbarrier full;
} wm_async_tiles;

WM_DEVICE void wm_async_bring(const wm_async_product &p, wm_async_tiles *s) {
    int both = p.fault != WM_NO_LOAD;
    int bytes = p.fault == WM_SHORT_EXPECT || !both ? 8192 : p.fault == WM_LONG_EXPECT ? 16400 : 16384;
    wm_mbarrier_expect(&s->full, bytes);
    wm_tma_load(s->a, reinterpret_cast<const wm_tensor_map *>(&p.a), 0, 0, 0, &s->full);
    if (both) wm_tma_load(s->b, reinterpret_cast<const wm_tensor_map *>(&p.b), 0, 0, 0, &s->full);
    if (p.fault == WM_EXTRA_ARRIVAL) wm_mbarrier_expect(&s->full, 0), wm_mbarrier_expect(&s->full, 0);
}

WM_DEVICE void wm_async_multiply(const wm_async_product &p, wm_async_tiles *s, float (&sum)[32]) {
    wm_u64 a = wm_wgmma_operand<0>(s->a), b = wm_wgmma_operand<0>(s->b);
    if (p.fault == WM_STRIDE) a -= (wm_u64)(512 >> 4) << 32;
    if (p.fault == WM_SPAN) b ^= 3ull << 62;
    if (p.fault == WM_OTHER_OPERAND && wm_thread() / 32 == 2) b += 2;
    if (p.fault != WM_NO_WGMMA_FENCE) wm_wgmma_fence();
    for (int q = 0; q < 4; q++) wm_wgmma_bf16<0, 0>(sum, a + q * wm_wgmma_k16<0>(), b + q * wm_wgmma_k16<0>(), q);
    wm_wgmma_commit();
    if (p.fault == WM_EARLY_REUSE) {
        wm_barrier();
        reinterpret_cast<float *>(s->a)[wm_thread()] = 3.0f;
    }
    if (p.fault != WM_NO_WGMMA_WAIT) wm_wgmma_wait<0>();
    wm_wgmma_settle(sum);
}

WM_KERNEL __launch_bounds__(128) wm_async_product_kernel(WM_PARAMS(wm_async_product)) {
    wm_async_tiles *s = wm_shared<wm_async_tiles>();
    int t = wm_thread(), fault = p.fault;
    if (t == 0) {
        wm_mbarrier_init(&s->full, 1);
        if (fault != WM_NO_INIT_FENCE) wm_mbarrier_init_fence();
    }
    if (fault != WM_NO_BARRIER) wm_barrier();
    if (t == 0) wm_async_bring(p, s);
    if (fault != WM_NO_WAIT) wm_mbarrier_wait(&s->full, fault == WM_WRONG_PARITY);
    float sum[32] = {};
    wm_async_multiply(p, s, sum);
    for (int e = 0; e < 32; e += 2) {
        int row = 16 * (t / 32) + t % 32 / 4 + 8 * (e / 2 % 2), column = 8 * (e / 4) + 2 * (t % 4);
        int at = row * 128 + column % 32 * 4;
        at = fault == WM_SWIZZLE ? at ^ (at >> 8 & 7) << 4 : wm_swizzle<128>(at);
        *reinterpret_cast<float2 *>(s->d[column / 32] + at) = float2{sum[e], sum[e + 1]};
    }
    if (fault == WM_NO_WGMMA_WAIT) wm_wgmma_wait<0>();
    if (fault != WM_NO_ASYNC_FENCE) wm_async_fence();
    if (fault != WM_NO_STORE_BARRIER) wm_barrier();
    if (t == 0) {
        const wm_tensor_map *d = reinterpret_cast<const wm_tensor_map *>(&p.d);
        wm_tma_store(d, s->d[0], 0, 0, 0);
        wm_tma_store(d, s->d[1], 32, 0, 0);
        wm_tma_commit();
        if (fault == WM_EARLY_WRITE) s->d[1][5] ^= 1;
        if (fault != WM_NO_STORE_WAIT) wm_tma_wait_read<0>();
    }
    if (fault == WM_NO_WAIT || fault == WM_WRONG_PARITY) wm_mbarrier_wait(&s->full, 0);
}

/* ---- Runs of bytes; a cluster's multicast ---- */

typedef struct wm_async_buffer {
    float x[256];
    wm_mbarrier full;
} wm_async_buffer;

WM_KERNEL wm_async_run_kernel(WM_PARAMS(wm_async_run)) {
    wm_async_buffer *s = wm_shared<wm_async_buffer>();
    int t = wm_thread(), rank = wm_cluster_rank(), blocks = wm_cluster_blocks(), half = p.n / blocks;
    if (t == 0) {
        wm_mbarrier_init(&s->full, 1);
        wm_mbarrier_init_fence();
    }
    if (blocks > 1 && p.fault != WM_NO_MEETING)
        wm_cluster_meet();
    else
        wm_barrier();
    if (t == 0) {
        wm_mbarrier_expect(&s->full, p.n * 4);
        if (blocks == 1)
            wm_bulk_load(s->x, p.in, p.n * 4, &s->full);
        else
            wm_bulk_load_all(s->x + rank * half, p.in + rank * half, half * 4, &s->full, 3);
    }
    wm_mbarrier_wait(&s->full, 0);
    for (int i = t; i < p.n; i += wm_threads()) s->x[i] *= 2.0f;
    wm_async_fence();
    wm_barrier();
    if (t == 0) {
        wm_bulk_store(p.out + rank * half, s->x + rank * half, half * 4);
        wm_tma_commit();
        wm_tma_wait_read<0>();
    }
    if (blocks > 1) wm_cluster_meet();
}

/* ---- mma.sync, ldmatrix, stmatrix: one warp ---- */

/* Register r of a fragment: `per` neighbours of k from the row or column of this lane. */
WM_DEVICE wm_u32 wm_async_pack(int type, const float *x, int stride, int per) {
    wm_u32 word = 0;
    for (int e = 0; e < per; e++) {
        float v = x[e * stride];
        wm_u32 bits = type == 0   ? wm_f32_to_f16(v).bits
                      : type == 1 ? wm_f32_to_bf16(v).bits
                      : type == 2 ? wm_round_tf32(v)
                                  : (wm_u32)(wm_u8)(int)v;
        word |= bits << e * (32 / per) % 32;
    }
    return word;
}

WM_DEVICE void wm_async_one(const wm_async_mma &p, int type, float *out) {
    int lane = p.fault == WM_WRONG_LANE ? wm_lane() ^ 4 : wm_lane(), per = type == 2 ? 1 : type == 3 ? 4 : 2;
    wm_u32 a[4], b[2];
    float sum[4] = {};
    int count[4] = {};
    for (int r = 0; r < 4; r++)
        a[r] = wm_async_pack(type, p.a + (lane / 4 + r % 2 * 8) * 32 + per * (lane % 4) + r / 2 * 4 * per, 1, per);
    for (int r = 0; r < 2; r++)
        b[r] = wm_async_pack(type, p.b + (per * (wm_lane() % 4) + r * 4 * per) * 8 + wm_lane() / 4, 8, per);
    if (type == 0)
        wm_mma_f16(sum, a, b);
    else if (type == 1)
        wm_mma_bf16(sum, a, b);
    else if (type == 2)
        wm_mma_tf32(sum, a, b);
    else
        wm_mma_s8(count, a, b);
    for (int e = 0; e < 4; e++)
        out[(wm_lane() / 4 + e / 2 * 8) * 8 + wm_lane() % 4 * 2 + e % 2] = type == 3 ? (float)count[e] : sum[e];
}

typedef struct wm_async_matrices {
    alignas(16) wm_u16 in[32][8];
    alignas(16) wm_u16 out[32][8];
} wm_async_matrices;

WM_KERNEL __launch_bounds__(32) wm_async_mma_kernel(WM_PARAMS(wm_async_mma)) {
    wm_async_matrices *s = wm_shared<wm_async_matrices>();
    int lane = wm_lane();
    for (int type = 0; type < 4; type++) wm_async_one(p, type, p.d + type * 128);
    double sum[2] = {};
    wm_mma_f64(sum, p.a[lane / 4 * 32 + lane % 4], p.b[lane % 4 * 8 + lane / 4]);
    for (int e = 0; e < 2; e++) p.d[512 + lane / 4 * 8 + lane % 4 * 2 + e] = (float)sum[e];
    for (int j = 0; j < 8; j++) s->in[lane][j] = (wm_u16)(lane * 8 + j);
    wm_barrier_warp();
    for (int transposed = 0; transposed < 2; transposed++) {
        wm_u32 word[4];
        if (transposed)
            wm_load_matrices_t(word, s->in[lane]);
        else
            wm_load_matrices(word, s->in[lane]);
        wm_store_matrices(s->out[lane], word[0], word[1], word[2], word[3]);
        wm_barrier_warp();
        for (int j = 0; j < 8; j++) p.moved[transposed * 256 + lane * 8 + j] = s->out[lane][j];
        wm_barrier_warp();
    }
}
