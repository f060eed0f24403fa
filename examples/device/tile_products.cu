/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with something in them that a library call can't have: `dropout` draws a dropout mask in the epilogue, so
 * that neither mask nor undropped product is ever in memory; `sketch` multiplies by a matrix of normals that only
 * exists in registers. Both use mma.sync, so they run from sm_80 on. The check computes the same on the CPU, where the
 * random numbers have the same bits.
 *
 *     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a tile_products.cu $(pkg-config --cflags --libs warpmath)
 */
#include <warpmath/device/copy.cuh>
#include <warpmath/device/random.h>
#include <warpmath/device/tile.cuh>

#include "check.h"

constexpr int M = 64, N = 64, K = 64, THREADS = 128; /* a block's part of D, a step of k */
constexpr float RATE = 0.25f;

/** D (m × n) = A (m × k) · B' (n × k, transposed), all multiples of 64; A and B' row-major. */
struct product {
    const wm_bf16 *a, *b;
    float *d;
    int n, k;
    wmRandomKey key;
};

/** Starts to bring `rows` rows of 64 of k from `from` into a tile. */
__device__ void bring(wm_bf16 *tile, const wm_bf16 *from, int rows, int stride) {
    for (int i = wm_thread(); i < rows * 8; i += THREADS)
        wm_copy_async16(tile + wmTileAt<wm_bf16>(rows, i / 8, i % 8 * 8), from + (size_t)(i / 8) * stride + i % 8 * 8);
}

struct tiles {
    wm_bf16 a[M * K], b[N * K];
};

__global__ void __launch_bounds__(THREADS) dropout(product p) {
    tiles *s = wm_shared<tiles>();
    int row = (int)blockIdx.y * M, column = (int)blockIdx.x * N;
    float sum[wmTileElements(M, N, THREADS)] = {};
    for (int k = 0; k < p.k; k += K) {
        bring(s->a, p.a + (size_t)row * p.k + k, M, p.k);
        bring(s->b, p.b + (size_t)column * p.k + k, N, p.k);
        wm_copy_commit();
        wm_copy_wait<0>();
        wm_barrier();
        wmTileProduct<M, N, K, THREADS, WM_TILE_MMA>(sum, s->a, s->b);
        wm_barrier();
    }
    WM_UNROLL /* sums are registers: their index is a constant */
        for (int e = 0; e < wmTileElements(M, N, THREADS); e += 2) {
        size_t at = (size_t)(row + wmTileRow<M, N, THREADS, WM_TILE_MMA, wm_bf16>(e)) * p.n + column +
                    wmTileColumn<M, N, THREADS, WM_TILE_MMA, wm_bf16>(e);
        /* e and e + 1 are neighbours, at an even place: numbers at and at + 1 of the sequence, half of a block of four
         */
        wmF32x4 u = wmUniformF32x4(p.key, at / 4);
        bool high = at % 4 != 0;
        p.d[at] = (high ? u.v[2] : u.v[0]) < RATE ? 0.0f : sum[e] * (1 / (1 - RATE));
        p.d[at + 1] = (high ? u.v[3] : u.v[1]) < RATE ? 0.0f : sum[e + 1] * (1 / (1 - RATE));
    }
}

__global__ void __launch_bounds__(THREADS) sketch(product p) {
    tiles *s = wm_shared<tiles>();
    int row = (int)blockIdx.y * M, column = (int)blockIdx.x * N;
    float sum[wmTileElements(M, N, THREADS)] = {};
    for (int k = 0; k < p.k; k += K) {
        bring(s->a, p.a + (size_t)row * p.k + k, M, p.k);
        wm_copy_commit();
        wm_copy_wait<0>();
        wm_barrier();
        auto normal = [&](int i, int j) { return wmNormalF32(p.key, (wm_u64)(k + i) * p.n + column + j); };
        wmTileProductOf<M, N, K, THREADS, WM_TILE_MMA>(sum, s->a, normal);
        wm_barrier();
    }
    WM_UNROLL
    for (int e = 0; e < wmTileElements(M, N, THREADS); e++)
        p.d[(size_t)(row + wmTileRow<M, N, THREADS, WM_TILE_MMA, wm_bf16>(e)) * p.n + column +
            wmTileColumn<M, N, THREADS, WM_TILE_MMA, wm_bf16>(e)] = sum[e];
}

static float to_float(wm_bf16 x) {
    unsigned bits = (unsigned)x.bits << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/** Rounded to nearest even. */
static wm_bf16 to_bf16(float f) {
    unsigned bits;
    memcpy(&bits, &f, 4);
    return wm_bf16{(wm_u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

/** Counts elements that are off by more than `each` times the sum of the sizes of their terms. */
template <class B>
static int wrong(const std::vector<float> &d, const std::vector<wm_bf16> &a, B b, const product &p, bool drops) {
    int count = 0;
    for (size_t i = 0; i < d.size(); i++) {
        double sum = 0, size = 0;
        for (int k = 0; k < p.k; k++) {
            double term = (double)to_float(a[i / p.n * p.k + k]) * b(k, (int)(i % p.n));
            sum += term;
            size += std::fabs(term);
        }
        if (drops) sum = wmUniformF32(p.key, i) < RATE ? 0.0 : sum / (1 - RATE);
        if (!(std::fabs(d[i] - sum) <= 4e-6 * size + 1e-30)) count++;
    }
    return count;
}

int main() {
    const int m = 192, n = 256, k = 320;
    std::vector<wm_bf16> a((size_t)m * k), b((size_t)n * k);
    for (size_t i = 0; i < a.size(); i++) a[i] = to_bf16((float)(i * 29 % 201) / 100 - 1);
    for (size_t i = 0; i < b.size(); i++) b[i] = to_bf16((float)(i * 53 % 301) / 150 - 1);
    product p = {device(a), device(b), device<float>((size_t)m * n), n, k, wmRandomKeyMake(11)};
    const dim3 grid(n / N, m / M);
    dropout<<<grid, THREADS, sizeof(tiles)>>>(p);
    int bad = wrong(
        host(p.d, (size_t)m * n), a, [&](int i, int j) { return to_float(b[(size_t)j * k + i]); }, p, true);
    std::printf("product with dropout: %d of %d elements wrong\n", bad, m * n);
    sketch<<<grid, THREADS, sizeof(tiles)>>>(p);
    int worse = wrong(
        host(p.d, (size_t)m * n), a,
        [&](int i, int j) { return to_float(to_bf16(wmNormalF32(p.key, (wm_u64)i * n + j))); }, p, false);
    std::printf("product with normals made in registers: %d of %d elements wrong\n", worse, m * n);
    return bad || worse ? 1 : 0;
}
