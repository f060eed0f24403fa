/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any layout: copies the input to packed arrays, lets the solver that is fastest there transform them, and copies the
 * result to where it belongs. So every transform that some solver does packed is done with any strides, nesting of
 * axes, loops and alignment; axes of one point, which not every solver knows, are dropped on the way, and what then is
 * left without an axis is a copy.
 *
 * Refuses: packed problems (that would be itself again), and those that nobody does packed.
 * Workspace: both packed sides and the inner solver's. One kernel serves both ways, an element a thread and step:
 * reads or writes on the strided side are as scattered as the layout is.
 * Floor: two more reads and writes of the data than the packed transform. Measured on an H200 on 2026-11-30: 512 planes
 * of 256² with their axes exchanged in 1.88 ms, where fft_lines, which reads them as they are, takes 0.29 ms.
 */
#include <warpmath/device/base.cuh>

#include "lib/context.h"
#include "lib/fields.h"
#include "lib/inner.h"
#include "reference/fft_layout.h"

#include <stdlib.h>

/* ---- The kernel ---- */

enum { DIMS = WM_FFT_MAX_RANK + WM_FFT_MAX_LOOPS };

typedef struct wm_fft_move_job {
    const void *from;
    void *to;
    int f64, dims;
    int reals_from, reals_to; /* an element's: 2 is a pair; a pair made of one real gets 0 for the other */
    wm_i64 count;
    wm_i64 n[DIMS], stride_from[DIMS], stride_to[DIMS]; /* innermost first, in elements */
} wm_fft_move_job;

/** I: the type of indices; divisions in 64 bits are four times as slow as in 32. */
template <class T, class I>
WM_DEVICE void move(const wm_fft_move_job &p) {
    const T *from = static_cast<const T *>(p.from);
    T *to = static_cast<T *>(p.to);
    for (wm_i64 i = wm_grid_first(); i < p.count; i += wm_grid_step()) {
        I rest = (I)i;
        wm_i64 a = 0, b = 0;
        for (int k = 0; k + 1 < p.dims; k++) {
            I next = rest / (I)p.n[k];
            wm_i64 at = (wm_i64)(rest - next * (I)p.n[k]);
            a += at * p.stride_from[k];
            b += at * p.stride_to[k];
            rest = next;
        }
        if (p.dims) { /* the outermost index is what is left */
            a += (wm_i64)rest * p.stride_from[p.dims - 1];
            b += (wm_i64)rest * p.stride_to[p.dims - 1];
        }
        T re = from[a * p.reals_from], im = p.reals_from == 2 ? from[a * 2 + 1] : T(0);
        to[b * p.reals_to] = re;
        if (p.reals_to == 2) to[b * 2 + 1] = im;
    }
}

template <class T>
WM_DEVICE void move_any(const wm_fft_move_job &p) {
    if (p.count <= 0xffffffff) {
        move<T, wm_u32>(p);
    } else {
        move<T, wm_u64>(p);
    }
}

WM_KERNEL __launch_bounds__(256) wm_fft_move_f32(WM_PARAMS(wm_fft_move_job)) {
    move_any<float>(p);
}

WM_KERNEL __launch_bounds__(256) wm_fft_move_f64(WM_PARAMS(wm_fft_move_job)) {
    move_any<double>(p);
}

/* ---- From a problem to its parts ---- */

enum { THREADS = 256, BLOCKS_AN_SM = 16, ALIGN = 256 };

typedef struct parts {
    wm_problem inner; /* packed; rank 0: there is nothing to transform */
    wm_fft_move_job gather, scatter;
    size_t in_bytes, out_bytes;
} parts;

static int reals_of(wmFftKind kind, int output) {
    return kind == (output ? WM_FFT_C2R : WM_FFT_R2C) ? 1 : 2;
}

/** One side's elements in the order of the loops and axes, and packed in that order: away from the caller's or to it.
 */
static wm_fft_move_job job_of(const wmFftDesc *d, wmFftKind inner, int output) {
    wmFftDim dim[DIMS];
    int dims = d->loops + d->rank;
    int64_t packed = 1;
    for (int i = dims - 1; i >= 0; i--) {
        int axis = i - d->loops;
        const wmFftDim *own = axis < 0 ? &d->loop[i] : &d->dim[axis];
        int64_t n = axis < 0 ? own->n : wm_fft_length(d, axis, output);
        dim[i] = output ? wmFftDim{n, packed, own->out_stride} : wmFftDim{n, own->in_stride, packed};
        packed *= n;
    }
    wm_fft_move_job job = {};
    job.f64 = d->type == WM_F64;
    job.reals_from = output ? reals_of(inner, 1) : reals_of(d->kind, 0);
    job.reals_to = output ? reals_of(d->kind, 1) : reals_of(inner, 0);
    job.count = packed;
    job.dims = wm_fft_arrange(dim, dims);
    for (int i = 0; i < job.dims; i++) {
        job.n[i] = dim[i].n;
        job.stride_from[i] = dim[i].in_stride;
        job.stride_to[i] = dim[i].out_stride;
    }
    return job;
}

/** Nothing to transform: from the caller's input to the caller's output at once. */
static wm_fft_move_job copy_job(const wmFftDesc *d) {
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    wm_fft_move_job job = {};
    job.f64 = d->type == WM_F64;
    job.reals_from = reals_of(d->kind, 0);
    job.reals_to = reals_of(d->kind, 1);
    job.count = 1;
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    job.dims = wm_fft_arrange(loop, d->loops);
    for (int i = 0; i < job.dims; i++) {
        job.n[i] = loop[i].n;
        job.stride_from[i] = loop[i].in_stride;
        job.stride_to[i] = loop[i].out_stride;
        job.count *= loop[i].n;
    }
    return job;
}

static size_t bytes_of(const wmFftDesc *d, wm_i64 count, int reals) {
    return ((size_t)count * (size_t)reals * wmTypeSize(d->type) + ALIGN - 1) / ALIGN * ALIGN;
}

static wmStatus take_apart(const wmFftDesc *d, parts *p) {
    int64_t n[WM_FFT_MAX_RANK];
    int rank = 0, last = d->rank - 1;
    /* A real transform of one point is a real number: of its kind nothing is left. */
    wmFftKind kind = d->dim[last].n == 1 ? WM_FFT_C2C : d->kind;
    for (int i = 0; i < d->rank; i++)
        if (d->dim[i].n > 1) n[rank++] = d->dim[i].n;
    *p = parts{};
    if (rank == 0) {
        p->scatter = copy_job(d);
        return WM_OK;
    }
    wmFftDesc inner = wm_fft_packed(kind, d->type, rank, n, wm_fft_batch(d), WM_OUT_OF_PLACE);
    inner.place = WM_PLACE_GPU;
    inner.direction = d->direction;
    inner.scale = d->scale;
    inner.determinism = d->determinism;
    inner.allow_input_overwrite = 1;
    WM_TRY(wm_problem_from_fft(&p->inner, &inner, WM_PLACE_GPU));
    p->gather = job_of(d, kind, 0);
    p->scatter = job_of(d, kind, 1);
    p->in_bytes = bytes_of(d, p->gather.count, p->gather.reals_to);
    p->out_bytes = bytes_of(d, p->scatter.count, p->scatter.reals_from);
    return WM_OK;
}

/** A copy that changes nothing. */
static int is_identity(const wm_fft_move_job *job) {
    return job->reals_from == job->reals_to &&
           (job->dims == 0 || (job->dims == 1 && job->stride_from[0] == 1 && job->stride_to[0] == 1));
}

/** The inner problem is the problem itself: going on would not end. */
static int is_packed(const wmFftDesc *d, const parts *p) {
    const wmFftDesc *inner = &p->inner.u.fft;
    return d->rank == inner->rank && d->placement == inner->placement && d->align >= inner->align &&
           is_identity(&p->gather) && is_identity(&p->scatter);
}

/* ---- The solver ---- */

typedef struct relaid_state {
    parts p;
    wm_inner inner;
} relaid_state;

/** Sides with gaps are slow where neighbours in one are far apart in the other: half of memory's speed, measured. */
static double move_seconds(wmContext *context, const wmFftDesc *d, const wm_fft_move_job *job) {
    double bytes = (double)job->count * (job->reals_from + job->reals_to) * (double)wmTypeSize(d->type);
    return 3e-6 + 2 * bytes / wm_context_bandwidth(context);
}

static int fft_relaid_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmFftDesc *d = &problem->u.fft;
    wm_inner inner = {};
    parts p;
    (void)capacity;
    if (wm_problem_empty(problem)) return wm_refuse(why, "there is nothing to transform");
    if (take_apart(d, &p) != WM_OK) return wm_refuse(why, "its packed form is too large");
    *out = wm_offer{};
    out->capturable = out->concurrent = 1;
    out->seconds = move_seconds(context, d, &p.scatter);
    if (p.inner.u.fft.rank == 0) return 1;
    if (is_packed(d, &p)) return wm_refuse(why, "it is packed already");
    inner.problem = p.inner;
    if (!wm_inner_choose(context, &inner, SIZE_MAX, why)) return 0;
    out->seconds += move_seconds(context, d, &p.gather) + inner.offer.seconds;
    out->workspace = p.in_bytes + p.out_bytes + inner.offer.workspace;
    out->capturable = inner.offer.capturable;
    out->concurrent = inner.offer.concurrent;
    return 1;
}

static void fft_relaid_drop(wmContext *context, void *data) {
    relaid_state *s = static_cast<relaid_state *>(data);
    if (s) wm_inner_drop(context, &s->inner);
    free(s);
}

static wmStatus fft_relaid_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    relaid_state *s = static_cast<relaid_state *>(calloc(1, sizeof(relaid_state)));
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan");
    *state = s;
    const void *kernel = problem->u.fft.type == WM_F64 ? (const void *)wm_fft_move_f64 : (const void *)wm_fft_move_f32;
    WM_TRY(take_apart(&problem->u.fft, &s->p));
    WM_TRY(wm_prepare_kernel(context, "fft_relaid", kernel, 0));
    if (s->p.inner.u.fft.rank == 0) return WM_OK;
    s->inner.problem = s->p.inner;
    if (!wm_inner_choose(context, &s->inner, offer->workspace - s->p.in_bytes - s->p.out_bytes, nullptr))
        return wm_fail(WM_ERR_UNSUPPORTED, "no solver does the packed transform any more");
    return wm_inner_make(context, &s->inner);
}

static wmStatus launch_move(const wm_run *run, wm_fft_move_job job, const void *from, void *to) {
    int64_t blocks = (job.count + THREADS - 1) / THREADS;
    int64_t most = (int64_t)wm_context_device(run->context)->multiprocessors * BLOCKS_AN_SM;
    job.from = from;
    job.to = to;
    wm_launch launch = {};
    launch.kernel = job.f64 ? (const void *)wm_fft_move_f64 : (const void *)wm_fft_move_f32;
    launch.grid.x = (unsigned)(blocks < most ? blocks : most);
    launch.block.x = THREADS;
    launch.grid.y = launch.grid.z = launch.block.y = launch.block.z = 1;
    launch.params = &job;
    launch.params_bytes = sizeof job;
    return wm_launch_kernel(run->context, "fft_relaid", &launch, run->stream);
}

static wmStatus fft_relaid_run(const wm_run *run) {
    const relaid_state *s = static_cast<const relaid_state *>(run->state);
    char *in = static_cast<char *>(run->workspace), *out = in + s->p.in_bytes;
    const wmFftArgs *args = &run->args->fft;
    wm_args packed = {};
    if (!s->inner.solver) return launch_move(run, s->p.scatter, args->in, args->out);
    WM_TRY(launch_move(run, s->p.gather, args->in, in));
    packed.fft = wmFftArgsDefault(in, out);
    WM_TRY(wm_inner_run(run, &s->inner, &packed, out + s->p.out_bytes));
    return launch_move(run, s->p.scatter, out, args->out);
}

extern "C" const wm_solver wm_fft_relaid = {
    "fft_relaid",
    WM_FFT,
    WM_PLACE_GPU,
    WM_OURS,
    1, /* version */
    0, /* judge */
    WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_RANK2 | WM_FFT_RANK3 |
        WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED | WM_FFT_UNALIGNED,
    {nullptr},
    fft_relaid_offer,
    fft_relaid_make,
    fft_relaid_run,
    fft_relaid_drop,
};
