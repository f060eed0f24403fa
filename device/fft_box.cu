/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C2C boxes of 16³ and 32³ points in one pass over memory, f32 and f64: 16³ by one block of 256 threads with a line of
 * 16 each, 32³ by a cluster of 4 (f64: 8) blocks that push through distributed shared memory (device/fft_box.cuh).
 *
 *     memory -> lines along z -> exchange (in the cluster) -> lines along x -> exchange -> lines along y -> memory
 *
 * Rows without gaps along x on both sides, any other strides, loops, in place; no workspace.
 * Refuses: other lengths, strides along x, real transforms, GPUs other than sm_90. Floor: one read and one write of the
 * data; fft_axes and cuFFT take three. Predicted, not measured: 16³ 0.85 of the copy rate (four blocks an SM, three
 * barriers), 32³ 0.55 (as planes of 128² by clusters, 0.60 measured, with one more exchange), that is 3.1 and 2.0 times
 * the speed at which cuFFT was measured on 32³ (1.12 TB/s, perf/results/h200/fft_axes.csv). Source of the idea: as for
 * fft_cluster.
 */
#include "device/fft_box.cuh"
#include "reference/fft_layout.h"
#include "lib/context.h"
#include "lib/fields.h"
#include "lib/solver.h"

#include <stdlib.h>

template <int N, int BLOCKS, int RESIDENT, class C>
__global__ void __launch_bounds__(N *N / BLOCKS, RESIDENT) wm_fft_box_kernel(WM_PARAMS(wm_fft_box_job)) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    wm_fft_box_transform<N, BLOCKS, C>(p);
#endif
}

typedef struct variant {
    int n, f64, blocks;
    double fraction; /* of the bandwidth: predicted */
    const void *kernel;
} variant;

template <int N, int BLOCKS, int RESIDENT, class C>
static constexpr variant variant_of(double fraction) {
    return {N, sizeof(C) == 16, BLOCKS, fraction, (const void *)wm_fft_box_kernel<N, BLOCKS, RESIDENT, C>};
}

static const variant variants[] = {variant_of<16, 1, 4, wmC64>(0.73), variant_of<16, 1, 2, wmC128>(0.65),
                                   variant_of<32, 4, 2, wmC64>(0.47), variant_of<32, 8, 1, wmC128>(0.38)};

typedef struct box_state {
    wm_fft_box_job job;
    wm_launch launch;
} box_state;

static const variant *find(const wmFftDesc *d) {
    int64_t n = d->dim[0].n;
    for (const variant &v : variants)
        if (d->rank == 3 && v.n == n && d->dim[1].n == n && d->dim[2].n == n && v.f64 == (d->type == WM_F64)) return &v;
    return nullptr;
}

static wm_fft_box_job job_of(const wmFftDesc *d, wm_i64 *count) {
    wm_fft_box_job job = {};
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    job.loops = wm_fft_arrange(loop, d->loops);
    *count = 1;
    for (int i = 0; i < job.loops; i++) {
        *count *= loop[i].n;
        job.loop_n[i] = loop[i].n;
        job.loop_in[i] = loop[i].in_stride;
        job.loop_out[i] = loop[i].out_stride;
    }
    for (int i = 0; i < 3; i++) {
        job.in_stride[i] = d->dim[i].in_stride;
        job.out_stride[i] = d->dim[i].out_stride;
    }
    job.sign = d->direction == WM_INVERSE ? -1 : 1;
    job.scale = wm_fft_scale(d);
    return job;
}

static int fft_box_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    const variant *v = find(d);
    int sm = wm_context_device(context)->sm;
    (void)capacity;
    if (sm != 90) return wm_refuse(why, "the device is sm_%d, not sm_90", sm);
    if (!v) return wm_refuse(why, "it is no box of 16 or 32 points along each axis");
    if (d->dim[2].in_stride != 1 || d->dim[2].out_stride != 1)
        return wm_refuse(why, "elements along the last axis do not lie one behind the other");
    wm_i64 count = 0;
    job_of(d, &count);
    if (count > 0x3ffffff) return wm_refuse(why, "%lld transforms are too many for one grid", (long long)count);
    *out = wm_offer{};
    out->seconds = 4e-6 + wm_problem_cost(problem).bytes / (v->fraction * wm_context_bandwidth(context));
    out->capturable = out->concurrent = 1;
    return 1;
}

static wmStatus fft_box_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    const variant *v = find(d);
    wm_i64 count = 0;
    (void)offer;
    box_state *s = static_cast<box_state *>(calloc(1, sizeof(box_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    s->job = job_of(d, &count);
    s->launch.kernel = v->kernel;
    s->launch.grid.x = (unsigned)(count * v->blocks);
    s->launch.block.x = (unsigned)(v->n * v->n / v->blocks);
    s->launch.grid.y = s->launch.grid.z = s->launch.block.y = s->launch.block.z = 1;
    if (v->blocks > 1) s->launch.cluster = {(unsigned)v->blocks, 1, 1};
    s->launch.shared = (size_t)wm_fft_box_shared(v->n, v->blocks, v->f64 ? 16 : 8);
    s->launch.params_bytes = sizeof s->job;
    return wm_prepare_kernel(context, "fft_box", v->kernel, s->launch.shared);
}

static wmStatus fft_box_run(const wm_run *run) {
    const box_state *s = static_cast<const box_state *>(run->state);
    wm_fft_box_job job = s->job;
    wm_launch launch = s->launch;
    job.in = run->args->fft.in;
    job.out = run->args->fft.out;
    launch.params = &job;
    return wm_launch_kernel(run->context, "fft_box", &launch, run->stream);
}

static void fft_box_drop(wmContext *context, void *state) {
    (void)context;
    free(state);
}

extern "C" const wm_solver wm_fft_box = {
    "fft_box",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE |
        WM_FFT_SCALED,
    {nullptr},
    fft_box_offer,
    fft_box_make,
    fft_box_run,
    fft_box_drop,
};
