/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C2C transforms of one pass over memory: powers of two from 2 to 4096, f32 and f64, any strides, in and out of place.
 *
 *     global  --->  registers: E of thread t are x[t + T e]     coalesced: neighbours read neighbours
 *                   butterflies of radix 16, 8, 4  <-- twiddles, exact tables
 *                   exchange through padded shared memory, 0 to 2 times
 *     global  <---  registers: X[t + T e], times the scale
 *
 * A block of 128 or 256 threads holds several transforms of N <= 2048. N <= 8 fits one thread: there a block moves its
 * transforms through shared memory so that global accesses stay whole lines. Where batches interleave (columns),
 * neighbouring threads take neighbouring transforms.
 *
 * Refuses: other lengths, rank 2 and 3, real transforms.
 * Floor: one read and one write of the data, 16 bytes a point in f32; 0.95 of the copy rate was predicted from 2^5 on
 * (44 instructions and two exchanges a point are 40 and 55 % of what an SM can issue and move in that time; three
 * blocks an SM overlap their phases). Measured on an H200 on 2026-11-30, 2^26 points, fraction of the 4.29 TB/s copy,
 * with plain stores: f32 2^1 … 2^12 0.96 0.95 0.94 0.93 0.80 0.88 0.89 0.93 0.93 0.91 0.92 0.90; f64 2^1 … 2^6 0.96
 * 0.94 0.92 0.88 0.84 0.91. Streaming stores, in f32, then made the same passes 3 to 9 % faster (perf/results/h200/
 * device.csv, beside cuFFT). f64 from 2^7 to 2^11 holds 8 points a thread, since 16 left
 * one block an SM waiting (0.8 falling to 0.6). Source of the idea: Stockham's self-sorting passes as in Govindaraju et
 * al., "High performance discrete Fourier transforms on graphics processors" (SC 2008); padding and register layout are
 * our own.
 */
#include <warpmath/device/fft_line.cuh>

#include "device/fft_stockham.cuh"
#include "host/fft_rates.h"
#include "reference/fft_layout.h"
#include "lib/solver.h"

#include <stdlib.h>

enum { MOST_THREADS = 256 };

/* ---- Kernels ---- */

/** Where transform `number` begins. */
WM_DEVICE void locate(const wm_fft_job &p, wm_i64 number, wm_i64 *in, wm_i64 *out) {
    *in = *out = 0;
    for (int i = 0; i < p.loops; i++) {
        wm_i64 at = number;
        if (i + 1 < p.loops) {
            number /= p.loop_n[i];
            at -= number * p.loop_n[i];
        }
        *in += at * p.loop_in[i];
        *out += at * p.loop_out[i];
    }
}

/** The block's transforms of one thread each, between global memory and registers by way of shared memory. */
template <int N, class C>
WM_DEVICE void load_packed(const wm_fft_job &p, C *slab, C *x) {
    wm_i64 first = (wm_i64)blockIdx.x * wm_threads();
    const C *in = static_cast<const C *>(p.in) + first * N;
    wm_i64 total = wm_min((wm_i64)wm_threads(), p.count - first) * N;
    WM_UNROLL
    for (int e = 0; e < N; e++) {
        int i = wm_thread() + e * wm_threads();
        C v = C{0, 0};
        if (i < total) v = wm_fft_load_once(in + i);
        slab[wm_fft_place<N, C>(i)] = v;
    }
    wm_barrier();
    WM_UNROLL
    for (int e = 0; e < N; e++) x[e] = slab[wm_fft_place<N, C>(wm_thread() * N + e)];
}

template <int N, class C>
WM_DEVICE void store_packed(const wm_fft_job &p, C *slab, const C *x) {
    wm_i64 first = (wm_i64)blockIdx.x * wm_threads();
    C *out = static_cast<C *>(p.out) + first * N;
    wm_i64 total = wm_min((wm_i64)wm_threads(), p.count - first) * N;
    WM_UNROLL
    for (int e = 0; e < N; e++) slab[wm_fft_place<N, C>(wm_thread() * N + e)] = x[e]; /* its own elements */
    wm_barrier();
    WM_UNROLL
    for (int e = 0; e < N; e++) {
        int i = wm_thread() + e * wm_threads();
        if (i < total) wm_fft_store_once(out + i, slab[wm_fft_place<N, C>(i)]);
    }
}

template <int N, class C>
WM_DEVICE void transform(C *x, const wm_fft_job &p, C *slab, int t) {
    using real = decltype(C().re);
    constexpr int E = wmFftElements(N, (int)sizeof(C) / 2);
    const real sign = (real)p.sign, re = (real)p.scale, im = (real)(p.scale * p.sign);
    WM_UNROLL
    for (int e = 0; e < E; e++) x[e].im *= sign;
    wm_fft_group<N, WM_FORWARD>(x, slab, t, p.spread != 0);
    WM_UNROLL
    for (int e = 0; e < E; e++) {
        x[e].re *= re;
        x[e].im *= im;
    }
}

template <int N, class C>
WM_DEVICE void one_pass(const wm_fft_job &p) {
    constexpr int E = wmFftElements(N, (int)sizeof(C) / 2), T = N / E;
    C *shared = wm_shared<C>(), x[E];
    if (T == 1 && p.packed) {
        load_packed<N>(p, shared, x);
        transform<N>(x, p, shared, 0);
        store_packed<N>(p, shared, x);
        return;
    }
    int together = wm_threads() / T; /* transforms of this block */
    int g = p.spread ? wm_thread() % together : wm_thread() / T;
    int t = p.spread ? wm_thread() / together : wm_thread() % T;
    wm_i64 number = (wm_i64)blockIdx.x * together + g, in_first, out_first;
    bool active = number < p.count; /* the others still meet at barriers */
    locate(p, active ? number : 0, &in_first, &out_first);
    const C *in = static_cast<const C *>(p.in) + in_first + t * p.in_stride;
    C *out = static_cast<C *>(p.out) + out_first + t * p.out_stride;
    WM_UNROLL
    for (int e = 0; e < E; e++) {
        x[e] = C{0, 0};
        if (active) x[e] = wm_fft_load_once(in + e * (T * p.in_stride));
    }
    transform<N>(x, p, shared + g * p.slab, t);
    if (!active) return;
    /* Whole lines need not stay in the cache; those with gaps are filled up there by others. f64 lacks the registers.
     */
    if (sizeof(C) == sizeof(wmC64) && p.out_stride == 1) {
        WM_UNROLL
        for (int e = 0; e < E; e++) wm_fft_store_once(out + e * T, x[e]);
        return;
    }
    WM_UNROLL
    for (int e = 0; e < E; e++) out[e * (T * p.out_stride)] = x[e];
}

WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f32_2(WM_PARAMS(wm_fft_job)) {
    one_pass<2, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f32_4(WM_PARAMS(wm_fft_job)) {
    one_pass<4, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f32_8(WM_PARAMS(wm_fft_job)) {
    one_pass<8, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f32_16(WM_PARAMS(wm_fft_job)) {
    one_pass<16, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f32_32(WM_PARAMS(wm_fft_job)) {
    one_pass<32, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f32_64(WM_PARAMS(wm_fft_job)) {
    one_pass<64, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f32_128(WM_PARAMS(wm_fft_job)) {
    one_pass<128, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f32_256(WM_PARAMS(wm_fft_job)) {
    one_pass<256, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f32_512(WM_PARAMS(wm_fft_job)) {
    one_pass<512, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f32_1024(WM_PARAMS(wm_fft_job)) {
    one_pass<1024, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f32_2048(WM_PARAMS(wm_fft_job)) {
    one_pass<2048, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f32_4096(WM_PARAMS(wm_fft_job)) {
    one_pass<4096, wmC64>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_2(WM_PARAMS(wm_fft_job)) {
    one_pass<2, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_4(WM_PARAMS(wm_fft_job)) {
    one_pass<4, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_8(WM_PARAMS(wm_fft_job)) {
    one_pass<8, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_16(WM_PARAMS(wm_fft_job)) {
    one_pass<16, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_32(WM_PARAMS(wm_fft_job)) {
    one_pass<32, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_64(WM_PARAMS(wm_fft_job)) {
    one_pass<64, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f64_128(WM_PARAMS(wm_fft_job)) {
    one_pass<128, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f64_256(WM_PARAMS(wm_fft_job)) {
    one_pass<256, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f64_512(WM_PARAMS(wm_fft_job)) {
    one_pass<512, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f64_1024(WM_PARAMS(wm_fft_job)) {
    one_pass<1024, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256, 3) wm_fft_stockham_f64_2048(WM_PARAMS(wm_fft_job)) {
    one_pass<2048, wmC128>(p);
}
WM_KERNEL __launch_bounds__(256) wm_fft_stockham_f64_4096(WM_PARAMS(wm_fft_job)) {
    one_pass<4096, wmC128>(p);
}

/* ---- The solver ---- */

enum { LENGTHS = 12 }; /* 2^1 to 2^12 */

static const void *const kernels[2][LENGTHS] = {
    {(const void *)wm_fft_stockham_f32_2, (const void *)wm_fft_stockham_f32_4, (const void *)wm_fft_stockham_f32_8,
     (const void *)wm_fft_stockham_f32_16, (const void *)wm_fft_stockham_f32_32, (const void *)wm_fft_stockham_f32_64,
     (const void *)wm_fft_stockham_f32_128, (const void *)wm_fft_stockham_f32_256,
     (const void *)wm_fft_stockham_f32_512, (const void *)wm_fft_stockham_f32_1024,
     (const void *)wm_fft_stockham_f32_2048, (const void *)wm_fft_stockham_f32_4096},
    {(const void *)wm_fft_stockham_f64_2, (const void *)wm_fft_stockham_f64_4, (const void *)wm_fft_stockham_f64_8,
     (const void *)wm_fft_stockham_f64_16, (const void *)wm_fft_stockham_f64_32, (const void *)wm_fft_stockham_f64_64,
     (const void *)wm_fft_stockham_f64_128, (const void *)wm_fft_stockham_f64_256,
     (const void *)wm_fft_stockham_f64_512, (const void *)wm_fft_stockham_f64_1024,
     (const void *)wm_fft_stockham_f64_2048, (const void *)wm_fft_stockham_f64_4096},
};

/** All but the pointers of one launch. */
typedef struct launch_state {
    wm_fft_job job;
    wm_launch launch;
} launch_state;

/** Everything that follows from the layout. */
static wm_fft_job job_of(const wmFftDesc *d) {
    wm_fft_job job = {};
    int n = (int)d->dim[0].n;
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    job.in_stride = d->dim[0].in_stride;
    job.out_stride = d->dim[0].out_stride;
    job.loops = wm_fft_arrange(loop, d->loops);
    job.count = 1;
    for (int i = 0; i < job.loops; i++) {
        job.count *= loop[i].n;
        job.loop_n[i] = loop[i].n;
        job.loop_in[i] = loop[i].in_stride;
        job.loop_out[i] = loop[i].out_stride;
    }
    job.sign = d->direction == WM_INVERSE ? -1 : 1;
    job.scale = wm_fft_scale(d);
    int unit = job.in_stride == 1 && job.out_stride == 1;
    job.packed = unit && (job.loops == 0 || (job.loops == 1 && job.loop_in[0] == n && job.loop_out[0] == n));
    job.spread = !unit && job.loops && job.loop_in[0] + job.loop_out[0] < job.in_stride + job.out_stride;
    /* Spread, half a warp works on as many transforms at one place of each: an odd distance keeps their banks apart. */
    job.slab = wm_fft_slab(n, (int)wmTypeSize(d->type)) | (job.spread ? 1 : 0);
    return job;
}

/** Threads of one transform. */
static int threads_of(const wmFftDesc *d) {
    return wmFftThreads((int)d->dim[0].n, (int)wmTypeSize(d->type));
}

static int transforms_of(const wmFftDesc *d, int threads) {
    return threads / threads_of(d);
}

static wm_i64 blocks_of(const wmFftDesc *d, const wm_fft_job *job, int threads) {
    return wm_divide_up(job->count, (wm_i64)transforms_of(d, threads));
}

/** Shared memory of a block. Transforms of one thread exchange nothing, but packed ones are moved through it. */
static size_t shared_bytes(const wmFftDesc *d, const wm_fft_job *job, int threads) {
    int n = (int)d->dim[0].n, real_bytes = (int)wmTypeSize(d->type);
    wm_i64 elements = (wm_i64)transforms_of(d, threads) * job->slab;
    if (threads_of(d) == 1) elements = job->packed ? n * threads + n * threads / wm_fft_pad(n, real_bytes) : 0;
    return (size_t)elements * 2 * (size_t)real_bytes;
}

static int fft_stockham_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    wm_i64 n = d->dim[0].n;
    if (n < 2 || n > WM_FFT_CIRCLE || (n & (n - 1)))
        return wm_refuse(why, "n = %lld is not a power of two from 2 to %d", (long long)n, WM_FFT_CIRCLE);
    wm_fft_job job = job_of(d);
    if (blocks_of(d, &job, MOST_THREADS) > 0x3fffffff)
        return wm_refuse(why, "%lld transforms are too many for one grid", job.count);
    int count = 0;
    double seconds = wm_fft_stockham_seconds(context, problem);
    for (int threads = 128; threads <= MOST_THREADS && count < capacity; threads *= 2) {
        if (threads < threads_of(d)) continue;
        wm_offer offer = {};
        offer.seconds = count ? seconds * 1.001 : seconds;
        offer.knob[0] = threads;
        offer.capturable = offer.concurrent = 1;
        out[count++] = offer;
    }
    return count;
}

static wmStatus fft_stockham_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    launch_state *s = static_cast<launch_state *>(calloc(1, sizeof(launch_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    int n = (int)d->dim[0].n, threads = offer->knob[0], bits = 0;
    while (1 << (bits + 1) < n) bits++;
    s->job = job_of(d);
    s->launch.kernel = kernels[d->type == WM_F64][bits];
    s->launch.grid.x = (unsigned)blocks_of(d, &s->job, threads);
    s->launch.block.x = (unsigned)threads;
    s->launch.grid.y = s->launch.grid.z = s->launch.block.y = s->launch.block.z = 1;
    s->launch.shared = shared_bytes(d, &s->job, threads);
    s->launch.params_bytes = sizeof s->job;
    return wm_prepare_kernel(context, "fft_stockham", s->launch.kernel, s->launch.shared);
}

static wmStatus fft_stockham_run(const wm_run *run) {
    const launch_state *s = static_cast<const launch_state *>(run->state);
    wm_fft_job job = s->job;
    wm_launch launch = s->launch;
    job.in = run->args->fft.in;
    job.out = run->args->fft.out;
    launch.params = &job;
    return wm_launch_kernel(run->context, "fft_stockham", &launch, run->stream);
}

static void fft_stockham_drop(wmContext *context, void *state) {
    (void)context;
    free(state);
}

extern "C" const wm_solver wm_fft_stockham = {
    "fft_stockham",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED,
    {"threads", nullptr},
    fft_stockham_offer,
    fft_stockham_make,
    fft_stockham_run,
    fft_stockham_drop,
};
