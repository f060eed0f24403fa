/* SPDX-License-Identifier: Apache-2.0 */
/* Small kernels that are right: the emulation must find nothing in them and give their results. */
#include <warpmath/device/base.cuh>
#include <warpmath/device/cluster.cuh>
#include <warpmath/device/copy.cuh>

#include "toy.h"

/* Sums n floats that are small integers: any order gives the same bits. One partial a block, added atomically. */
typedef struct wm_toy_sum_shared {
    float warp[32];
} wm_toy_sum_shared;

WM_KERNEL wm_toy_sum_kernel(WM_PARAMS(wm_toy_sum)) {
    wm_toy_sum_shared *s = wm_shared<wm_toy_sum_shared>();
    float sum = 0;
    for (wm_i64 i = wm_grid_first(); i < p.n; i += wm_grid_step()) sum = wm_add(sum, p.x[i]);
    for (int step = 16; step > 0; step /= 2) sum = wm_add(sum, wm_shuffle_xor(sum, step));
    int warps = wm_threads() / WM_WARP, warp = wm_warp();
    if (wm_lane() == 0) s->warp[warp] = sum;
    wm_barrier();
    if (warp == 0) {
        sum = wm_lane() < warps ? s->warp[wm_lane()] : 0.0f;
        for (int step = 16; step > 0; step /= 2) sum = wm_add(sum, wm_shuffle_down(sum, step));
        if (wm_lane() == 0) atomicAdd(p.out, sum);
    }
}

/* Transposes through a padded tile, 32 × 32 elements a block of 32 × 8 threads. */
typedef struct wm_toy_tile {
    wm_u16 at[WM_TOY_TILE][WM_TOY_TILE + 1];
} wm_toy_tile;

WM_KERNEL __launch_bounds__(256) wm_toy_transpose_kernel(WM_PARAMS(wm_toy_transpose)) {
    wm_toy_tile *tile = wm_shared<wm_toy_tile>();
    int x = wm_thread() % WM_TOY_TILE, y = wm_thread() / WM_TOY_TILE;
    wm_i64 row = (wm_i64)blockIdx.y * WM_TOY_TILE, column = (wm_i64)blockIdx.x * WM_TOY_TILE;
    WM_UNROLL
    for (int i = y; i < WM_TOY_TILE; i += WM_TOY_ROWS)
        if (row + i < p.rows && column + x < p.columns) tile->at[i][x] = p.in[(row + i) * p.columns + column + x];
    wm_barrier();
    WM_UNROLL
    for (int i = y; i < WM_TOY_TILE; i += WM_TOY_ROWS)
        if (column + i < p.columns && row + x < p.rows) p.out[(column + i) * p.rows + row + x] = tile->at[x][i];
}

/* Every kind of warp and block operation at once; out[0] stays 0 if each gives what CUDA says. Block of 96 threads. */
WM_DEVICE void wm_toy_expect(int *out, bool right, int bit) {
    if (!right) atomicOr(out, 1 << bit);
}

WM_KERNEL wm_toy_operations_kernel(WM_PARAMS(wm_toy_ints)) {
    int lane = wm_lane(), t = wm_thread();
    wm_u32 upper = 0xffff0000u;
    wm_toy_expect(p.out, wm_shuffle(t, 3) == t - lane + 3, 0);
    wm_toy_expect(p.out, wm_shuffle_up(lane, 5) == (lane < 5 ? lane : lane - 5), 1);
    wm_toy_expect(p.out, wm_shuffle_down(2.5 * lane, 7) == 2.5 * (lane > 24 ? lane : lane + 7), 2);
    wm_toy_expect(p.out, wm_shuffle_xor((wm_u64)lane << 40, 17) == (wm_u64)(lane ^ 17) << 40, 3);
    wm_toy_expect(p.out, wm_ballot(lane % 3 == 0) == 0x49249249u, 4);
    wm_toy_expect(p.out, wm_any(lane == 31) && !wm_any(lane == 32), 5);
    wm_toy_expect(p.out, wm_all(lane < 32) && !wm_all(lane < 31), 6);
    if (lane >= 16) wm_toy_expect(p.out, wm_ballot(lane & 1, upper) == 0xaaaa0000u, 7);
    wm_toy_expect(p.out, __shfl_up_sync(WM_FULL_WARP, lane, 1, 8) == (lane % 8 ? lane - 1 : lane), 8);
    wm_toy_expect(p.out, __reduce_add_sync(WM_FULL_WARP, lane) == 496, 9);
    wm_toy_expect(p.out, __reduce_min_sync(WM_FULL_WARP, lane - 7) == -7, 10);
    wm_toy_expect(p.out, __reduce_max_sync(WM_FULL_WARP, (wm_u32)lane - 7) == 0xffffffffu, 11);
    wm_toy_expect(p.out, __match_any_sync(WM_FULL_WARP, lane % 2) == (lane % 2 ? 0xaaaaaaaau : 0x55555555u), 12);
    wm_toy_expect(p.out, wm_barrier_count(t % 5 == 0) == 20, 13);
    wm_toy_expect(p.out, wm_barrier_or(t == 95) && !wm_barrier_or(t == 96), 14);
    wm_toy_expect(p.out, wm_barrier_and(t < 96) && !wm_barrier_and(t < 95), 15);
    wm_toy_expect(p.out, wm_mul_high(0x80000000u, 6u) == 3 && wm_mul_high((wm_u64)1 << 63, (wm_u64)6) == 3, 16);
    wm_toy_expect(p.out, wm_fma(3.0f, 1.0f / 3.0f, -1.0f) != 0.0f && wm_add(0.1, 0.2) == 0.1 + 0.2, 17);
    wm_toy_expect(p.out, (int)(blockDim.x + gridDim.x + threadIdx.y + blockIdx.z) == 96 + (int)gridDim.x, 18);
}

/* A producer warp hands tiles of 32 numbers to a consumer warp through two named barriers: out[i] = 2 in[i]. */
typedef struct wm_toy_pipe {
    int tile[32];
} wm_toy_pipe;

WM_KERNEL wm_toy_pipe_kernel(WM_PARAMS(wm_toy_ints)) {
    wm_toy_pipe *s = wm_shared<wm_toy_pipe>();
    int lane = wm_lane(), producer = wm_warp() == 0;
    for (int first = 0; first < p.n; first += 32) {
        if (producer) {
            if (first) wm_barrier_named(2, 64); /* the tile is free again */
            if (first + lane < p.n) s->tile[lane] = p.in[first + lane];
            wm_barrier_arrive(1, 64); /* full */
        } else {
            wm_barrier_named(1, 64);
            if (first + lane < p.n) p.out[first + lane] = 2 * s->tile[lane];
            if (first + 32 < p.n) wm_barrier_arrive(2, 64);
        }
    }
}

/* Within a warp, through shared memory, ordered by wm_barrier_warp alone: reverses each warp's 32 numbers, in rounds.
 */
WM_KERNEL wm_toy_reverse_kernel(WM_PARAMS(wm_toy_ints)) {
    int *mine = wm_shared<int>() + wm_thread() / 32 * 32, lane = wm_lane();
    for (int i = wm_thread(); i < p.n; i += wm_threads()) {
        mine[lane] = p.in[i];
        wm_barrier_warp();
        p.out[i] = mine[31 - lane] + 0 * mine[lane / 2]; /* a byte may have many readers */
        wm_barrier_warp();
    }
}

/* 16-byte accesses of every flavour: out = in, n a multiple of 4, and packs go through shared memory. */
WM_KERNEL wm_toy_wide_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>() + 4 * wm_thread();
    for (wm_i64 i = 4 * wm_grid_first(); i < p.n; i += 4 * wm_grid_step()) {
        wm_pack<int> a = wm_load16(p.in + i), b = wm_load16_const(p.in + i), c = wm_load16_stream(p.in + i);
        WM_UNROLL
        for (int k = 0; k < 4; k++) a.v[k] = (a.v[k] & b.v[k]) | c.v[k];
        wm_store16(s, a);
        if (wm_aligned16(s)) wm_store16_stream(p.out + i, wm_load16(s));
    }
}

/* A tile ahead by asynchronous copies, the example of copy.cuh: out = in + the element 32 further on, 0 past the end.
 */
WM_KERNEL wm_toy_copy_kernel(WM_PARAMS(wm_toy_ints)) {
    int(*tile)[128] = wm_shared<int[128]>(), t = wm_thread();
    int rounds = wm_divide_up(p.n, 128);
    for (int k = 0; k <= rounds; k++) {
        int at = 128 * k + 4 * t, bytes = wm_min(wm_max(4 * (p.n - at), 0), 16);
        if (k < rounds) wm_copy_async16(&tile[k % 2][4 * t], bytes ? p.in + at : p.in, bytes);
        wm_copy_commit();
        wm_copy_wait<1>();
        wm_barrier();
        for (int i = t; k > 0 && i < 128 && 128 * (k - 1) + i < p.n; i += wm_threads())
            p.out[128 * (k - 1) + i] = tile[(k - 1) % 2][i] + tile[(k - 1) % 2][(i + 32) % 128];
        wm_barrier();
    }
    wm_copy_wait<0>();
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* Each block of the cluster gives its number to the next one's shared memory: out[block] = that of the one before. */
WM_KERNEL wm_toy_cluster_kernel(WM_PARAMS(wm_toy_ints)) {
    int *s = wm_shared<int>(), rank = wm_cluster_rank(), blocks = wm_cluster_blocks();
    if (wm_thread() < 2) wm_cluster_shared(s, (rank + 1) % blocks)[wm_thread()] = p.in[blockIdx.x] + wm_thread();
    wm_cluster_barrier();
    if (wm_thread() == 0) p.out[blockIdx.x] = s[0] + 1000 * s[1];
    wm_cluster_barrier();
}
#endif

/* All conversions of float.cuh, for the exhaustive test. */
WM_KERNEL wm_toy_floats_kernel(WM_PARAMS(wm_toy_floats)) {
    for (wm_i64 i = wm_grid_first(); i < 65536; i += wm_grid_step()) {
        wm_f16 h = {(wm_u16)i};
        wm_bf16 b = {(wm_u16)i};
        p.f16_to_f32[i] = wm_f32_bits(wm_to_f32(h));
        p.bf16_to_f32[i] = wm_f32_bits(wm_to_f32(b));
        if (i >= 256) continue;
        wm_e4m3 e = {(wm_u8)i};
        wm_e5m2 f = {(wm_u8)i};
        p.e4m3_to_f32[i] = wm_f32_bits(wm_to_f32(e));
        p.e5m2_to_f32[i] = wm_f32_bits(wm_to_f32(f));
    }
    wm_i64 each = wm_divide_up(p.n, wm_grid_step()), first = each * wm_grid_first();
    for (wm_i64 i = first; i < first + each && i < p.n; i++) { /* in a row: kind to the emulation's notes */
        float x = wm_f32_of(p.f32_bits[i]);
        p.to_f16[i] = wm_f32_to_f16(x).bits;
        p.to_bf16[i] = wm_f32_to_bf16(x).bits;
        p.to_e4m3[i] = wm_f32_to_e4m3(x).bits;
        p.to_e5m2[i] = wm_f32_to_e5m2(x).bits;
    }
}
