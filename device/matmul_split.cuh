/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device side of matmul_split: the pass that cuts f32 operands into f16 parts, the product of the parts, and the tile
 * by ordinary arithmetic for what does not fit. matmul_split.cu has the picture.
 */
#ifndef WM_DEVICE_MATMUL_SPLIT_CUH
#define WM_DEVICE_MATMUL_SPLIT_CUH

#include "device/matmul_element.cuh"
#include "device/matmul_wgmma.cuh"

enum {
    WM_SPLIT_ROWS = 8,   /* of an operand to a block of the cutting pass; they share a flag */
    WM_SPLIT_K = 32,     /* of k a step: high parts in 64 bytes, low parts in the next 64 */
    WM_SPLIT_N = 96,     /* columns of a tile: three sets of sums leave registers for no more */
    WM_SPLIT_BLOCK = 16, /* steps whose sums are added up before they join the total */
    WM_SPLIT_THREADS = 256,
    WM_SPLIT_TOP = 14 /* the largest element of a row is scaled to 2^14 ≤ |x| < 2^15 */
};

/**
 * An operand: its rows are A's, or B's columns. A product of c64 is one of f32 with k, and B's columns, twice as many,
 * whose D is the complex one as it lies in memory:
 *
 *     row of A: ar ai ar ai …        columns of B: br bi        one complex b a step, by two of k
 *                                                 -bi br
 */
typedef struct wm_split_operand {
    const float *from;
    wm_i64 row, col, batch; /* floats between rows, along k, between matrices; of complex elements where they are */
    int rows, vector;       /* vector: k is contiguous and groups of four floats are 16-byte aligned */
    int complex;            /* 0: f32; 1: rows of A; 2: columns of B */
    float sign;             /* of imaginary parts: -1 to conjugate */
    wm_i64 groups;          /* blocks of the pass for one matrix: rows in eights */
    wm_i64 matrices;
    wm_u16 *parts;  /* [matrices][rows][steps][2][32] */
    float *scale;   /* [matrices][groups][8]: what a row's parts are to be multiplied by */
    wm_u32 *misfit; /* [matrices][groups]: an element does not fit */
} wm_split_operand;

typedef struct wm_split_job {
    wm_wgmma_job w; /* its maps are of the parts */
    wm_split_operand a, b;
    int k, swapped; /* swapped: D's rows are the problem's columns */
    float slack;    /* relative error of an element that is still a fit */
    int complex;
    wm_scalar_ref alpha, beta; /* complex ones */
    wm_epilogue posed;         /* of the problem; w's is of the product in f32 */
} wm_split_job;

/** Shared memory of the product. */
typedef struct wm_split_ring {
    enum { TILE_N = WM_SPLIT_N, BOXES = 2, STAGES = 6, READERS = WM_WGMMA_WARPS };
    unsigned char a[STAGES][WM_WGMMA_M * 128], b[STAGES][WM_SPLIT_N * 128];
    unsigned char room[WM_WGMMA_WARPS][WM_SPLIT_N * 64]; /* a warp's totals, then its results on their way out */
    float bias[2][WM_SPLIT_N], scale[2][WM_SPLIT_N];
    wm_mbarrier full[STAGES], empty[STAGES];
} wm_split_ring;

/* ---- Cutting ---- */

/** Row i of matrix t. */
WM_DEVICE const float *wm_split_row(const wm_split_operand &x, wm_i64 t, wm_i64 i) {
    return x.from + t * x.batch + (x.complex == 2 ? i >> 1 : i) * x.row;
}

/** Element k of row i, which begins at `row`. */
WM_DEVICE float wm_split_element(const wm_split_operand &x, const float *row, wm_i64 i, int k) {
    if (!x.complex) return row[k * x.col];
    int turned = x.complex == 2 ? (int)i & 1 : 0, part = (k & 1) ^ turned;
    float v = row[(k >> 1) * x.col + part];
    if (part) v *= x.sign;
    return x.complex == 2 && (k & 1) && !turned ? -v : v;
}

/** Eight elements along k from k0; those that don't exist are zero. */
WM_DEVICE void wm_split_load(const wm_split_operand &x, const float *row, wm_i64 i, int k, int k0, bool there,
                             float (&v)[8]) {
    if (x.vector && there && k0 + 8 <= k) {
        WM_UNROLL
        for (int h = 0; h < 2; h++) {
            float4 four = *reinterpret_cast<const float4 *>(row + k0 + 4 * h);
            v[4 * h] = four.x, v[4 * h + 1] = four.y, v[4 * h + 2] = four.z, v[4 * h + 3] = four.w;
        }
        if (!x.complex) return;
        WM_UNROLL
        for (int e = 0; e < 8; e += 2) {
            float re = v[e], im = v[e + 1] * x.sign;
            v[e] = x.complex == 2 && (i & 1) ? im : re;
            v[e + 1] = x.complex == 1 ? im : i & 1 ? re : -im;
        }
        return;
    }
    WM_UNROLL
    for (int e = 0; e < 8; e++) v[e] = there && k0 + e < k ? wm_split_element(x, row, i, k0 + e) : 0.0f;
}

/** The power of two that brings a row whose largest bits are `top` to 2^14 … 2^15, or 0 where none should. */
WM_DEVICE float wm_split_scale(wm_u32 top) {
    int exponent = (int)(top >> 23) - 127;
    if (top == 0) return 1.0f;
    if (exponent < -60 || exponent > 60) return 0.0f;
    return __uint_as_float((wm_u32)(127 + WM_SPLIT_TOP - exponent) << 23);
}

/** Cuts eight scaled elements: high = f16(x), low = f16((x - high) · 2^11). Whether one does not fit. */
WM_DEVICE bool wm_split_cut(const float (&v)[8], float scale, float slack, wm_u32 (&high)[4], wm_u32 (&low)[4]) {
    bool misfit = false;
    WM_UNROLL
    for (int e = 0; e < 8; e += 2) {
        float x = wm_mul(v[e], scale), y = wm_mul(v[e + 1], scale);
        wm_u32 both = wm_pair_f16(x, y);
        float r = wm_sub(x, wm_f16_to_f32(wm_f16{(wm_u16)both})),
              s = wm_sub(y, wm_f16_to_f32(wm_f16{(wm_u16)(both >> 16)}));
        wm_u32 rest = wm_pair_f16(wm_mul(r, 2048.0f), wm_mul(s, 2048.0f));
        float lost = wm_fma(wm_f16_to_f32(wm_f16{(wm_u16)rest}), -0x1p-11f, r);
        float gone = wm_fma(wm_f16_to_f32(wm_f16{(wm_u16)(rest >> 16)}), -0x1p-11f, s);
        high[e / 2] = both;
        low[e / 2] = rest;
        misfit |= fabsf(lost) > slack * fabsf(x) || (v[e] != 0.0f && fabsf(x) < 0x1p-60f);
        misfit |= fabsf(gone) > slack * fabsf(y) || (v[e + 1] != 0.0f && fabsf(y) < 0x1p-60f);
    }
    return misfit;
}

typedef struct wm_split_shared {
    wm_u32 top[8][8]; /* by warp and row: the largest bits of |x|, in which infinities and NaNs are above all others */
    wm_u32 misfit[8];
} wm_split_shared;

/** Eight rows of one operand, twice: for their largest elements, then, out of a cache, to cut them. A lane has eight
 * neighbours along k of one row, a warp 32 along k of eight rows. */
WM_DEVICE void wm_split_rows(const wm_split_operand &x, wm_split_shared *s, int k, float slack, wm_i64 group) {
    int lane = wm_lane(), warp = wm_warp(), along = lane / 8 * 8, steps = (k + WM_SPLIT_K - 1) / WM_SPLIT_K;
    wm_i64 t = group / x.groups, i = (group - t * x.groups) * WM_SPLIT_ROWS + lane % 8;
    bool there = i < x.rows, misfit = false;
    const float *row = wm_split_row(x, t, there ? i : 0);
    wm_u32 top = 0;
    float v[8];
    for (int step = warp; step < steps; step += 8) {
        wm_split_load(x, row, i, k, step * WM_SPLIT_K + along, there, v);
        WM_UNROLL
        for (int e = 0; e < 8; e++) top = wm_max(top, __float_as_uint(v[e]) & 0x7fffffffu);
    }
    top = wm_max(top, wm_shuffle_xor(top, 8));
    top = wm_max(top, wm_shuffle_xor(top, 16));
    if (lane < 8) s->top[warp][lane] = top;
    wm_barrier();
    WM_UNROLL
    for (int w = 0; w < 8; w++) top = wm_max(top, s->top[w][lane % 8]);
    float scale = wm_split_scale(top);
    wm_u16 *parts = x.parts + ((t * x.rows + i) * steps) * 2 * WM_SPLIT_K + along;
    for (int step = warp; step < steps; step += 8) {
        wm_u32 high[4], low[4];
        wm_split_load(x, row, i, k, step * WM_SPLIT_K + along, there, v);
        misfit |= wm_split_cut(v, scale, slack, high, low);
        if (!there) continue;
        uint4 *to = reinterpret_cast<uint4 *>(parts + (wm_i64)step * 2 * WM_SPLIT_K);
        to[0] = uint4{high[0], high[1], high[2], high[3]};
        to[4] = uint4{low[0], low[1], low[2], low[3]};
    }
    int any = wm_any(misfit || scale == 0.0f);
    if (lane == 0) s->misfit[warp] = (wm_u32)any;
    if (warp == 0 && lane < 8) x.scale[group * 8 + lane] = scale != 0.0f ? wm_div(1.0f, scale) : 0.0f;
    wm_barrier();
    if (wm_thread() == 0) {
        wm_u32 all = 0;
        for (int w = 0; w < 8; w++) all |= s->misfit[w];
        x.misfit[group] = all;
    }
}

/* ---- A tile by ordinary arithmetic ---- */

enum { WM_SPLIT_PLAIN_K = 16, WM_SPLIT_PLAIN_STRIDE = 132 };

/** Brings up to 128 rows of 16 of k into shared memory, k-major; rows past the tile's do no harm. */
WM_DEVICE void wm_split_plain_load(const wm_split_operand &x, int t, int first, int k, int k0, int thread, float *to) {
#pragma unroll 1
    for (int e = thread; e < 128 * WM_SPLIT_PLAIN_K; e += 256) {
        int row = x.col == 1 ? e / WM_SPLIT_PLAIN_K : e % 128, q = x.col == 1 ? e % WM_SPLIT_PLAIN_K : e / 128;
        bool there = first + row < x.rows && k0 + q < k;
        to[q * WM_SPLIT_PLAIN_STRIDE + row] =
            there ? wm_split_element(x, wm_split_row(x, t, first + row), first + row, k0 + q) : 0.0f;
    }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/** alpha and beta; steps: of k, 0 without a product. */
typedef struct wm_split_scalars {
    float2 alpha, beta;
} wm_split_scalars;

WM_DEVICE wm_split_scalars wm_split_begin(const wm_split_job &p) {
    if (p.complex) return wm_split_scalars{wm_complex_scalar(p.alpha, float2{}), wm_complex_scalar(p.beta, float2{})};
    wm_epilogue_scalars<float> real = wm_epilogue_begin<float>(p.w.epilogue);
    return wm_split_scalars{
        float2{real.alpha, 0.0f},
        float2{real.beta,  0.0f}
    };
}

/** From a tile of sums in `room` to D, by all 256 multiplying threads. The epilogue's C, D and bias are of the problem
 * as it is posed. */
WM_DEVICE void wm_split_finish(const wm_split_job &p, const wm_split_scalars &scalars, wm_wgmma_tile tile,
                               const float *room) {
    wm_ending<float2> both = {scalars.alpha, scalars.beta, 1.0f};
    wm_epilogue_scalars<float> real = {scalars.alpha.x, scalars.beta.x, 1.0f};
    int step = p.complex ? 2 : 1;
#pragma unroll 1
    for (int e = (wm_thread() - 128) * step; e < 128 * WM_SPLIT_N; e += 256 * step) {
        int i = tile.i + e / WM_SPLIT_N, j = tile.j + e % WM_SPLIT_N;
        if (i >= p.w.m || j >= p.w.n) continue;
        if (p.complex) {
            float2 sum = *reinterpret_cast<const float2 *>(room + e);
            wm_ending_store(p.posed, both, tile.t, p.swapped ? j / 2 : i, p.swapped ? i : j / 2, sum);
        } else {
            wm_epilogue_store(p.posed, real, tile.t, p.swapped ? j : i, p.swapped ? i : j, room[e]);
        }
    }
    wm_barrier_named(3, 256);
}

/** All 256 multiplying threads; `room`: 48 KB. */
WM_DEVICE void wm_split_plain(const wm_split_job &p, const wm_split_scalars &scalars, wm_wgmma_tile tile, float *room) {
    int thread = wm_thread() - 128, row = thread / 16 * 8, column = thread % 16 * 2;
    float *a = room, *b = room + WM_SPLIT_PLAIN_K * WM_SPLIT_PLAIN_STRIDE, sum[8][6] = {};
    int ta = p.w.a_batch ? tile.t : 0, tb = p.w.b_batch ? tile.t : 0;
#pragma unroll 1
    for (int k0 = 0; k0 < p.k; k0 += WM_SPLIT_PLAIN_K) {
        wm_barrier_named(3, 256);
        wm_split_plain_load(p.a, ta, tile.i, p.k, k0, thread, a);
        wm_split_plain_load(p.b, tb, tile.j, p.k, k0, thread, b);
        wm_barrier_named(3, 256);
#pragma unroll 1
        for (int q = 0; q < WM_SPLIT_PLAIN_K; q++) {
            const float *x = a + q * WM_SPLIT_PLAIN_STRIDE + row, *y = b + q * WM_SPLIT_PLAIN_STRIDE + column;
            WM_UNROLL
            for (int i = 0; i < 8; i++) WM_UNROLL
            for (int j = 0; j < 6; j++) sum[i][j] = wm_fma(x[i], y[j % 2 + j / 2 * 32], sum[i][j]);
        }
    }
    wm_barrier_named(3, 256);
    WM_UNROLL
    for (int i = 0; i < 8; i++) WM_UNROLL
    for (int j = 0; j < 6; j++) room[(row + i) * WM_SPLIT_N + column + j % 2 + j / 2 * 32] = sum[i][j];
    wm_barrier_named(3, 256);
    wm_split_finish(p, scalars, tile, room);
}

/* ---- The product of the parts ---- */

/** total += sum, sum = 0: a lane's numbers. */
WM_DEVICE void wm_split_fold(float4 *total, bool first, float (&sum)[WM_SPLIT_N / 2]) {
    WM_UNROLL
    for (int e = 0; e < WM_SPLIT_N / 2; e += 4) {
        float4 *at = total + e / 4 * 32 + wm_lane();
        float4 x = first ? float4{0.0f, 0.0f, 0.0f, 0.0f} : *at;
        *at = float4{wm_add(x.x, sum[e]), wm_add(x.y, sum[e + 1]), wm_add(x.z, sum[e + 2]), wm_add(x.w, sum[e + 3])};
        sum[e] = sum[e + 1] = sum[e + 2] = sum[e + 3] = 0.0f;
    }
}

/** The sums of 64 rows of a tile. A step's products of high parts leave the tensor core at once, since it truncates;
 * those with a low part, 2^-11 of them, stay. */
WM_DEVICE void wm_split_multiply(wm_split_ring *s, int steps, int half, int blocks, wm_wgmma_turn &turn, float4 *total,
                                 float (&sum)[WM_SPLIT_N / 2]) {
    float high[WM_SPLIT_N / 2], low[WM_SPLIT_N / 2];
    int before = 0;
    WM_UNROLL
    for (int e = 0; e < WM_SPLIT_N / 2; e++) sum[e] = high[e] = low[e] = 0.0f;
    for (int step = 0; step < steps; step++) {
        int stage = turn.stage;
        wm_mbarrier_wait(&s->full[stage], turn.parity);
        wm_u64 x = wm_wgmma_operand<0>(s->a[stage] + half * 8192), y = wm_wgmma_operand<0>(s->b[stage]);
        wm_wgmma_fence();
        wm_wgmma_f16<0, 0>(high, x, y, 0);
        wm_wgmma_f16<0, 0>(high, x + 2, y + 2, 1);
        wm_wgmma_commit();
        wm_wgmma_f16<0, 0>(low, x, y + 4, step);
        wm_wgmma_f16<0, 0>(low, x + 2, y + 6, 1);
        wm_wgmma_f16<0, 0>(low, x + 4, y, 1);
        wm_wgmma_f16<0, 0>(low, x + 6, y + 2, 1);
        wm_wgmma_commit();
        wm_wgmma_wait<1>();
        if (step && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
        before = stage;
        wm_wgmma_settle(high);
        WM_UNROLL
        for (int e = 0; e < WM_SPLIT_N / 2; e++) sum[e] = wm_add(sum[e], high[e]);
        if (step % WM_SPLIT_BLOCK == WM_SPLIT_BLOCK - 1) {
            if (step == WM_SPLIT_BLOCK - 1) { /* the tile before may still be on its way out of there */
                if (wm_lane() == 0) wm_tma_wait_read<0>();
                wm_barrier_warp();
            }
            wm_split_fold(total, step == WM_SPLIT_BLOCK - 1, sum);
        }
        wm_wgmma_next<wm_split_ring::STAGES>(turn);
    }
    wm_wgmma_wait<0>();
    wm_wgmma_settle(low);
    if (steps && wm_lane() < blocks) wm_mbarrier_arrive(&s->empty[before], wm_lane());
    if (steps >= WM_SPLIT_BLOCK) {
        WM_UNROLL
        for (int e = 0; e < WM_SPLIT_N / 2; e += 4) {
            float4 x = total[e / 4 * 32 + wm_lane()];
            sum[e] = wm_add(x.x, sum[e]), sum[e + 1] = wm_add(x.y, sum[e + 1]);
            sum[e + 2] = wm_add(x.z, sum[e + 2]), sum[e + 3] = wm_add(x.w, sum[e + 3]);
        }
    }
    WM_UNROLL
    for (int e = 0; e < WM_SPLIT_N / 2; e++) sum[e] = wm_fma(low[e], 0x1p-11f, sum[e]);
}

/** Whether a row or column of the tile has elements that don't fit: the same in all warps. */
WM_DEVICE bool wm_split_misfit(const wm_split_job &p, wm_wgmma_tile tile) {
    int lane = wm_lane(), place = lane % 16; /* of a column of B past the tile: too careful, no harm */
    const wm_split_operand &x = lane < 16 ? p.a : p.b;
    wm_i64 t = (lane < 16 ? p.w.a_batch : p.w.b_batch) ? tile.t : 0;
    wm_i64 group = (lane < 16 ? tile.i : tile.j) / WM_SPLIT_ROWS + place;
    return wm_any(group < x.groups && x.misfit[t * x.groups + group]);
}

/** Takes the rows' and columns' scales out of the sums of a warp's 16 rows. */
WM_DEVICE void wm_split_unscale(const wm_split_job &p, wm_wgmma_tile tile, const float *columns,
                                float (&sum)[WM_SPLIT_N / 2]) {
    const float *rows = p.a.scale + (p.w.a_batch ? tile.t : 0) * p.a.groups * 8;
    int row = tile.i + wm_lane() / 4, most = (int)p.a.groups * 8 - 1;
    float low = rows[wm_min(row, most)], high = rows[wm_min(row + 8, most)];
    WM_UNROLL
    for (int e = 0; e < WM_SPLIT_N / 2; e += 4) {
        float2 c = *reinterpret_cast<const float2 *>(columns + e * 2 + wm_lane() % 4 * 2);
        sum[e] = wm_mul(wm_mul(sum[e], low), c.x), sum[e + 1] = wm_mul(wm_mul(sum[e + 1], low), c.y);
        sum[e + 2] = wm_mul(wm_mul(sum[e + 2], high), c.x), sum[e + 3] = wm_mul(wm_mul(sum[e + 3], high), c.y);
    }
}

/** Brings the scales of a tile's columns into shared memory. */
WM_DEVICE void wm_split_columns(const wm_split_job &p, wm_wgmma_tile tile, int warpgroup, float *to) {
    const float *from = p.b.scale + (p.w.b_batch ? tile.t : 0) * p.b.groups * 8;
    int column = wm_thread() % 128;
    wm_barrier_named(1 + warpgroup, 128); /* the tile before has read its own */
    if (column < WM_SPLIT_N) to[column] = from[wm_min(tile.j + column, (int)p.b.groups * 8 - 1)];
    wm_barrier_named(1 + warpgroup, 128);
}

/** Neighbouring sums are a complex number: times alpha. */
WM_DEVICE void wm_split_turn(float2 alpha, float (&sum)[WM_SPLIT_N / 2]) {
    WM_UNROLL
    for (int e = 0; e < WM_SPLIT_N / 2; e += 2) {
        float2 x = wm_times(alpha, float2{sum[e], sum[e + 1]});
        sum[e] = x.x, sum[e + 1] = x.y;
    }
}

/** A warp's rows of sums to `room`, where the whole tile has its place. */
WM_DEVICE void wm_split_dump(float *room, const float (&sum)[WM_SPLIT_N / 2]) {
    int lane = wm_wgmma_lane(), first = (wm_warp() - 4) * 16;
    if (lane == 0) wm_tma_wait_read<0>();
    wm_barrier_named(3, 256); /* all have read their totals, and are here for the same tile */
    WM_UNROLL
    for (int e = 0; e < WM_SPLIT_N / 2; e += 2) {
        int row = first + lane / 4 + e / 2 % 2 * 8, column = e / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<float2 *>(room + row * WM_SPLIT_N + column) = float2{sum[e], sum[e + 1]};
    }
    wm_barrier_named(3, 256);
}

/** From the sums of a tile to D. */
WM_DEVICE void wm_split_leave(const wm_split_job &p, wm_split_ring *s, int steps, int unit,
                              float (&sum)[WM_SPLIT_N / 2]) {
    int blocks = wm_cluster_blocks(), warp = wm_warp() - 4;
    wm_split_scalars scalars = wm_split_begin(p);
    wm_wgmma_tile tile = wm_wgmma_tile_of<WM_SPLIT_N>(p.w, unit, wm_cluster_rank(), blocks);
    float *room = reinterpret_cast<float *>(s->room[0]);
    if (steps == 0) scalars.alpha = float2{};
    if (steps && wm_split_misfit(p, tile)) {
        if (wm_lane() == 0) wm_tma_wait_read<0>();
        wm_split_plain(p, scalars, tile, room);
        return;
    }
    if (steps) wm_split_unscale(p, wm_wgmma_tile{tile.t, tile.i + warp * 16, tile.j}, s->scale[warp / 4], sum);
    if (scalars.beta.y != 0.0f) { /* complex times C: rare, and slow */
        wm_split_dump(room, sum);
        wm_split_finish(p, scalars, tile, room);
        return;
    }
    if (scalars.alpha.y != 0.0f) {
        wm_split_turn(scalars.alpha, sum);
        scalars.alpha.x = 1.0f;
    }
    tile.i += warp * 16;
    wm_barrier_warp(); /* the totals have been read */
    wm_epilogue_scalars<float> real = {scalars.alpha.x, scalars.beta.x, 1.0f};
    wm_wgmma_out<WM_SPLIT_N, 1>(p.w, real, reinterpret_cast<unsigned char(*)[2048]>(s->room[warp]), s->bias[warp / 4],
                                tile, p.w.map_d && steps && real.beta == 0.0f, sum);
}

/** One multiplying warpgroup. */
WM_DEVICE void wm_split_compute(const wm_split_job &p, wm_split_ring *s, int steps, int first, int stride, int units,
                                int rank, int blocks) {
    wm_wgmma_turn turn = {0, 0};
    for (int unit = first; unit < units; unit += stride) {
        float sum[WM_SPLIT_N / 2];
        int half = wm_warp() / 4 - 1;
        wm_wgmma_tile tile = wm_wgmma_tile_of<WM_SPLIT_N>(p.w, unit, rank, blocks);
        wm_split_columns(p, tile, half, s->scale[half]);
        wm_wgmma_bias<WM_SPLIT_N>(p.w, tile.j, s->bias[half], half);
        wm_split_multiply(s, steps, half, blocks, turn, reinterpret_cast<float4 *>(s->room[wm_warp() - 4]), sum);
        wm_split_leave(p, s, steps, unit, sum);
    }
    wm_tma_wait_read<0>();
}

#endif

#endif
