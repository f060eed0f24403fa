/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C2C transforms larger than a block, one pass over memory: f32 from 2^14 to 2^17 points, f64 from 2^13 to 2^16, and
 * planes of 64, 128 and 256 squared, by clusters of blocks that push through distributed shared memory. Elements one
 * behind the other, any batch loops, in and out of place; no workspace.
 *
 *            j2 →                                     k2 →          The transform as A rows of B. Block r takes B / C
 *      ┌──┬──┬──┬──┐                            ┌──────────────┐    columns: transforms along j1, twiddles, and each
 *   j1 │ 0│ 1│ 2│ 3│   columns, twiddles,    k1 │      0       │    thread stores its results straight into the shared
 *   ↓  │  │  │  │  │   push to the blocks    ↓  ├──────────────┤    memory of the block that has row k1. Transforms
 *      │  │  │  │  │   that have the rows       │      1 …     │    along j2, stored to X[k1 + A k2]: lanes run along
 *      └──┴──┴──┴──┘                            └──────────────┘    lines in both phases, whole sectors in memory.
 *
 * Each thread holds 16 or 32 points; two to six blocks share an SM, so that some load while others exchange. A block
 * waits for the bytes that it is due (st.async counts them on a barrier of its own), not for a fence of the cluster.
 * Refuses: other lengths, strides, rank 3, real transforms, GPUs other than sm_90.
 * Floor: one read and one write of the data, 16 bytes a point in f32. Measured on an H200 on 2026-11-30, fraction of
 * the 4.15 TB/s copy: f32 2^14 … 2^17 0.68 0.64 0.59 0.46; f64 2^13 … 2^16 0.73 0.70 0.62 0.53 (the kernels alone;
 * perf/results/h200/fft_big.csv, with cuFFT's times of the same day). Planes are not timed yet. What binds it: issue
 * slots are half used, warps wait for loads and exchanges (six to eight of them a scheduler cannot cover the phases of
 * a transform), and clusters of 16 leave one SM in seven idle. Larger blocks are slower still; so are persistent
 * clusters with barriers of their own for the opening. Source of the idea: the four-step transform (Bailey, "FFTs in
 * external or hierarchical memory", 1990) with the transposition through a cluster's shared memory.
 */
#include "device/fft_cluster.cuh"
#include "device/fft_cluster_table.h"
#include "host/fft_rates.h"
#include "reference/fft_layout.h"
#include "lib/solver.h"

#include <stdlib.h>

/* ---- Kernels: A x B points by a cluster of so many blocks, E points a thread, so many blocks an SM ---- */

template <int A, int B, int BLOCKS, int E, int RESIDENT, bool PLANE, class C>
__global__ void __launch_bounds__(A *B / BLOCKS / E, RESIDENT) wm_fft_cluster_kernel(WM_PARAMS(wm_fft_cluster_job)) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    wm_fft_cluster_transform<A, B, BLOCKS, E, PLANE, C>(p);
#endif
}

typedef struct variant {
    int plane, f64, a, b, blocks, points;
    const void *kernel;
} variant;

template <int A, int B, int BLOCKS, int E, int RESIDENT, class C>
static constexpr variant line_of(void) {
    return {
        0, sizeof(C) == 16, A, B, BLOCKS, E, (const void *)wm_fft_cluster_kernel<A, B, BLOCKS, E, RESIDENT, false, C>};
}

template <int A, int B, int BLOCKS, int E, int RESIDENT, class C>
static constexpr variant plane_of(void) {
    return {
        1, sizeof(C) == 16, A, B, BLOCKS, E, (const void *)wm_fft_cluster_kernel<A, B, BLOCKS, E, RESIDENT, true, C>};
}

static const variant variants[] = {
    line_of<128, 128, 8, 16, 6, wmC64>(),   line_of<128, 256, 8, 16, 4, wmC64>(),
    line_of<256, 256, 16, 16, 4, wmC64>(),  line_of<128, 1024, 16, 32, 2, wmC64>(),
    line_of<128, 64, 4, 16, 4, wmC128>(),   line_of<128, 128, 8, 16, 4, wmC128>(),
    line_of<128, 256, 16, 16, 4, wmC128>(), line_of<256, 256, 16, 16, 2, wmC128>(),
    plane_of<64, 64, 1, 16, 3, wmC64>(),    plane_of<64, 64, 2, 16, 6, wmC64>(),
    plane_of<128, 128, 8, 16, 6, wmC64>(),  plane_of<128, 128, 4, 16, 3, wmC64>(),
    plane_of<256, 256, 16, 16, 3, wmC64>(), plane_of<64, 64, 4, 16, 6, wmC128>(),
    plane_of<128, 128, 8, 16, 4, wmC128>(),
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* ---- The solver ---- */

typedef struct launch_state {
    wm_fft_cluster_job job;
    wm_launch launch;
    wm_fft_cluster_table table;
} launch_state;

static int fits(const variant *v, const wmFftDesc *d) {
    int same = v->plane ? d->rank == 2 && d->dim[0].n == v->a && d->dim[1].n == v->b
                        : d->rank == 1 && d->dim[0].n == (int64_t)v->a * v->b;
    return same && v->f64 == (d->type == WM_F64);
}

/** Unit stride, and rows without gaps. */
static int is_packed(const wmFftDesc *d) {
    const wmFftDim *last = &d->dim[d->rank - 1], *first = &d->dim[0];
    return last->in_stride == 1 && last->out_stride == 1 &&
           (d->rank == 1 || (first->in_stride == last->n && first->out_stride == last->n));
}

/** Everything that follows from the layout. */
static wm_fft_cluster_job job_of(const wmFftDesc *d) {
    wm_fft_cluster_job job = {};
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
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
    return job;
}

static int fft_cluster_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    int count = 0, sm = wm_context_device(context)->sm;
    if (sm != 90) return wm_refuse(why, "the device is sm_%d, not sm_90", sm);
    if (!is_packed(d)) return wm_refuse(why, "a transform's elements do not lie one behind the other");
    wm_i64 transforms = job_of(d).count;
    if (transforms > 0x3ffffff) return wm_refuse(why, "%lld transforms are too many for one grid", transforms);
    for (int i = 0; i < VARIANTS && count < capacity; i++) {
        if (!fits(&variants[i], d)) continue;
        wm_offer offer = {};
        offer.seconds = wm_fft_cluster_seconds(context, problem, variants[i].blocks);
        offer.knob[0] = variants[i].blocks;
        offer.knob[1] = variants[i].points;
        offer.capturable = offer.concurrent = 1;
        out[count++] = offer;
    }
    if (count == 0) return wm_refuse(why, "no cluster is made for this length");
    return count;
}

static wmStatus fft_cluster_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    launch_state *s = static_cast<launch_state *>(calloc(1, sizeof(launch_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    const variant *v = variants;
    while (!fits(v, d) || v->blocks != offer->knob[0] || v->points != offer->knob[1]) v++;
    s->job = job_of(d);
    s->launch.kernel = v->kernel;
    s->launch.grid.x = (unsigned)(s->job.count * v->blocks);
    s->launch.block.x = (unsigned)(v->a * v->b / v->blocks / v->points);
    s->launch.grid.y = s->launch.grid.z = s->launch.block.y = s->launch.block.z = 1;
    if (v->blocks > 1) s->launch.cluster = {(unsigned)v->blocks, 1, 1};
    s->launch.shared = (size_t)wm_fft_cluster_shared(v->a, v->b, v->blocks, v->points, v->f64 ? 16 : 8);
    s->launch.params_bytes = sizeof s->job;
    WM_TRY(wm_prepare_kernel(context, "fft_cluster", v->kernel, s->launch.shared));
    if (v->plane) return WM_OK;
    WM_TRY(wm_fft_cluster_table_make(context, v->f64, v->a, v->b, v->points, &s->table));
    s->job.base = s->table.base;
    s->job.step = s->table.step;
    return WM_OK;
}

static wmStatus fft_cluster_run(const wm_run *run) {
    const launch_state *s = static_cast<const launch_state *>(run->state);
    wm_fft_cluster_job job = s->job;
    wm_launch launch = s->launch;
    job.in = run->args->fft.in;
    job.out = run->args->fft.out;
    launch.params = &job;
    return wm_launch_kernel(run->context, "fft_cluster", &launch, run->stream);
}

static void fft_cluster_drop(wmContext *context, void *state) {
    launch_state *s = static_cast<launch_state *>(state);
    if (s) wm_fft_cluster_table_drop(context, &s->table);
    free(s);
}

extern "C" const wm_solver wm_fft_cluster = {
    "fft_cluster",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_RANK2 | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE |
        WM_FFT_SCALED,
    {"blocks", "points", nullptr},
    fft_cluster_offer,
    fft_cluster_make,
    fft_cluster_run,
    fft_cluster_drop,
};
