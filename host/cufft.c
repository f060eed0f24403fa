/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuFFT, loaded on demand. No header of it is needed.
 *
 * It knows one batch loop and axes that nest in each other; further loops are further launches of the same plan, at
 * most
 * 64. Its C2R overwrites its input, so input that must be kept is copied to workspace. Scaling is a kernel of ours. The
 * work area is the caller's workspace; handle, stream and work area are state of cuFFT's, so the plan runs under its
 * lock (concurrent = 0).
 */
#include "device/fft_scale.h"
#include "fft_rates.h"
#include "lib/few.h"
#include "lib/fields.h"
#include "lib/solver.h"
#include "reference/fft_layout.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_LAUNCHES = 64, WORK_ALIGN = 256, SCALE_THREADS = 256 };
enum { CUFFT_C2C = 0x29, CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_DOUBLE = 0x40 };

typedef struct cufft_library {
    int (*create)(int *handle);
    int (*destroy)(int handle);
    int (*auto_allocation)(int handle, int yes);
    int (*make)(int handle, int rank, long long *n, long long *inembed, long long istride, long long idist,
                long long *onembed, long long ostride, long long odist, int type, long long batch, size_t *bytes);
    int (*estimate)(int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist,
                    int type, int batch, size_t *bytes);
    int (*set_stream)(int handle, wmStream stream);
    int (*set_work_area)(int handle, void *area);
    int (*c2c)(int handle, void *in, void *out, int direction);
    int (*r2c)(int handle, void *in, void *out);
    int (*c2r)(int handle, void *in, void *out);
    int (*z2z)(int handle, void *in, void *out, int direction);
    int (*d2z)(int handle, void *in, void *out);
    int (*z2d)(int handle, void *in, void *out);
    int complete;
} cufft_library;

static cufft_library cufft;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_symbols(void) {
    static const wm_symbol rows[] = {
        {"cufftCreate",            (void **)&cufft.create         },
        {"cufftDestroy",           (void **)&cufft.destroy        },
        {"cufftSetAutoAllocation", (void **)&cufft.auto_allocation},
        {"cufftMakePlanMany64",    (void **)&cufft.make           },
        {"cufftEstimateMany",      (void **)&cufft.estimate       },
        {"cufftSetStream",         (void **)&cufft.set_stream     },
        {"cufftSetWorkArea",       (void **)&cufft.set_work_area  },
        {"cufftExecC2C",           (void **)&cufft.c2c            },
        {"cufftExecR2C",           (void **)&cufft.r2c            },
        {"cufftExecC2R",           (void **)&cufft.c2r            },
        {"cufftExecZ2Z",           (void **)&cufft.z2z            },
        {"cufftExecD2Z",           (void **)&cufft.d2z            },
        {"cufftExecZ2D",           (void **)&cufft.z2d            },
    };
    cufft.complete = !wm_library_symbols(WM_LIB_CUFFT, rows, sizeof rows / sizeof *rows);
}

static const char *result_name(int result) {
    static const char *const names[] = {"SUCCESS",       "INVALID_PLAN",   "ALLOC_FAILED", "INVALID_TYPE",
                                        "INVALID_VALUE", "INTERNAL_ERROR", "EXEC_FAILED",  "SETUP_FAILED",
                                        "INVALID_SIZE",  "UNALIGNED_DATA", "status 10",    "INVALID_DEVICE",
                                        "NO_WORKSPACE",  "NOT_IMPLEMENTED"};
    return result >= 0 && result < (int)(sizeof names / sizeof *names) ? names[result] : "unknown status";
}

/* ---- From our layouts to cuFFT's ---- */

typedef struct side {
    long long embed[WM_FFT_MAX_RANK], stride, distance;
} side;

typedef struct layout {
    int rank, type;
    long long n[WM_FFT_MAX_RANK], batch;
    side in, out;
    wmFftDim launch[WM_FFT_MAX_LOOPS]; /* loops that are launches */
    int launch_loops;
    int64_t launches;
    size_t copy; /* bytes of the input's copy */
} layout;

static int64_t stride_of(const wmFftDesc *d, int axis, int output) {
    return output ? d->dim[axis].out_stride : d->dim[axis].in_stride;
}

/** One side's axes in the order `axis`, outermost first: each must be a whole number of the next one's rows. */
static int nest(const wmFftDesc *d, const int *axis, int rank, int output, side *to) {
    to->stride = stride_of(d, axis[rank - 1], output);
    to->embed[0] = wm_fft_length(d, axis[0], output);
    for (int i = rank - 1; i > 0; i--) {
        int64_t inner = stride_of(d, axis[i], output), outer = stride_of(d, axis[i - 1], output);
        if (outer % inner || outer / inner < wm_fft_length(d, axis[i], output)) return 0;
        to->embed[i] = outer / inner;
    }
    return 1;
}

/** Tries every order of the axes that may change places: all of C2C, all but the last of R2C and C2R. */
static int order_axes(const wmFftDesc *d, const int *axis, int rank, layout *l) {
    static const int orders[6][WM_FFT_MAX_RANK] = {
        {0, 1, 2},
        {1, 0, 2},
        {0, 2, 1},
        {1, 2, 0},
        {2, 0, 1},
        {2, 1, 0}
    };
    static const int count[WM_FFT_MAX_RANK + 1] = {0, 1, 2, 6}, last_fixed[WM_FFT_MAX_RANK + 1] = {0, 1, 1, 2};
    int tries = d->kind == WM_FFT_C2C ? count[rank] : last_fixed[rank];
    l->rank = rank;
    for (int t = 0; t < tries; t++) {
        int order[WM_FFT_MAX_RANK] = {0};
        for (int i = 0; i < rank; i++) order[i] = axis[orders[t][i]];
        for (int i = 0; i < rank; i++) l->n[i] = d->dim[order[i]].n;
        if (nest(d, order, rank, 0, &l->in) && nest(d, order, rank, 1, &l->out)) return 1;
    }
    return 0;
}

/** The longest loop becomes cuFFT's batch, the others launches. */
static int place_loops(const wmFftDesc *d, layout *l, wm_why *why) {
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    int best = -1, loops;
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    loops = wm_fft_arrange(loop, d->loops);
    for (int i = 0; i < loops; i++)
        if (loop[i].in_stride > 0 && (best < 0 || loop[i].n > loop[best].n)) best = i;
    l->batch = best < 0 ? 1 : loop[best].n;
    l->in.distance = best < 0 ? 1 : loop[best].in_stride;
    l->out.distance = best < 0 ? 1 : loop[best].out_stride;
    l->launches = 1;
    for (int i = 0; i < loops; i++) {
        if (i == best) continue;
        l->launch[l->launch_loops++] = loop[i];
        if (loop[i].n > MOST_LAUNCHES || (l->launches *= loop[i].n) > MOST_LAUNCHES)
            return wm_refuse(why, "cuFFT has one batch loop; the others would be more than %d launches", MOST_LAUNCHES);
        int64_t real = d->kind == WM_FFT_R2C ? loop[i].in_stride : d->kind == WM_FFT_C2R ? loop[i].out_stride : 0;
        if (real % 2)
            return wm_refuse(why, "a loop's real stride %lld is odd: launches would be misaligned", (long long)real);
    }
    return 1;
}

static int lay_out(const wmFftDesc *d, layout *l, wm_why *why) {
    static const int types[] = {CUFFT_C2C, CUFFT_R2C, CUFFT_C2R};
    int axis[WM_FFT_MAX_RANK] = {0}, rank = 0;
    *l = (layout){.type = types[d->kind] | (d->type == WM_F64 ? CUFFT_DOUBLE : 0)};
    for (int i = 0; i < d->rank; i++)
        if (d->dim[i].n > 1 || (d->kind != WM_FFT_C2C && i == d->rank - 1)) axis[rank++] = i;
    if (rank == 0 || d->dim[axis[rank - 1]].n == 1)
        return wm_refuse(why, "a transform of one point along the last axis");
    if (!order_axes(d, axis, rank, l)) return wm_refuse(why, "cuFFT has no such nesting of axis strides");
    if (!place_loops(d, l, why)) return 0;
    if (d->kind != WM_FFT_C2R || wm_fft_may_overwrite(d)) return 1;
    int64_t span = wm_fft_span(d, 0);
    if (!wm_fft_input_disjoint(d)) return wm_refuse(why, "cuFFT's C2R overwrites its input, whose arrays overlap");
    if (span / 2 > wm_fft_input_elements(d)) return wm_refuse(why, "its gaps make the input too large to copy");
    l->copy = ((size_t)span * wmTypeSize(d->type) * 2 + WORK_ALIGN - 1) / WORK_ALIGN * WORK_ALIGN;
    return 1;
}

/* ---- Offering ---- */

static int is_smooth(int64_t n, int64_t most) {
    for (int64_t p = 2; p <= most; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

/** Passes over memory for powers of two, lines from 2^13 on or a square or cube of that side, as measured on an H200
 * with cuFFT 12.0 (perf/results/h200/fft_big.csv); 0: not measured. */
static double measured_passes(const layout *l, int f64) {
    enum { FROM = 13, LINES = 16, SIDES = 7 };
    static const double lines[2][LINES] = {
        {0,    1.48, 2.03, 2.28, 2.34, 2.36, 2.54, 2.61, 2.70, 3.31, 3.39, 3.63, 3.97, 3.97, 3.91, 3.9},
        {1.45, 2.29, 2.11, 2.11, 2.34, 2.37, 2.66, 3.11, 3.2,  3.49, 3.5,  3.6,  3.64, 3.7,  3.7,  3.7},
    };
    /* Squares and cubes of sides 64 … 4096. */
    static const double sides[2][SIDES] = {
        {1.92, 2.85, 2.15, 2.14, 2.20, 2.72, 3.00},
        {3.45, 3.92, 3.63, 3.60, 0,    0,    0   },
    };
    int64_t n = l->n[0];
    int bits = __builtin_ctzll((unsigned long long)n);
    for (int i = 0; i < l->rank; i++)
        if (l->n[i] != n || (n & (n - 1))) return 0;
    if (l->rank == 1) return bits < FROM || bits >= FROM + LINES ? 0 : lines[f64][bits - FROM];
    if (f64 || bits < 6 || bits >= 6 + SIDES) return 0;
    return sides[l->rank - 2][bits - 6];
}

/** Passes over memory that one axis takes, as measured on an H200 with cuFFT 12.0. */
static double passes(int64_t n, int f64) {
    int64_t size = f64 ? 2 * n : n;
    double smooth = size <= 1 << 13 ? 1.05 : size <= 1 << 15 ? 1.7 : size <= 1 << 21 ? 2.4 : 3.7;
    if (is_smooth(n, 31)) return smooth;
    return is_smooth(n, 127) ? 6 + smooth : 4 * smooth + 1;
}

static double estimate(wmContext *context, const wm_problem *problem, const layout *l) {
    const wmFftDesc *d = &problem->u.fft;
    double rounds = 0, measured = wm_fft_cufft_seconds(context, problem);
    if (measured > 0) return measured * (double)l->launches;
    if (d->kind == WM_FFT_C2C) rounds = measured_passes(l, d->type == WM_F64);
    if (rounds == 0)
        for (int i = 0; i < l->rank; i++) rounds += passes(l->n[i], d->type == WM_F64) * (i + 1 < l->rank ? 1.2 : 1);
    if (d->scale) rounds += 1;
    if (l->copy) rounds += 1;
    if (d->kind == WM_FFT_C2R) rounds += 16.0 / (double)d->dim[d->rank - 1].n; /* two sectors a row, there and back */
    return 3e-6 * (double)l->launches +
           rounds * wm_problem_cost(problem).bytes / (0.88 * wm_context_bandwidth(context));
}

static int fits_int(const layout *l) {
    const long long all[] = {l->batch, l->in.distance, l->out.distance, l->in.stride, l->out.stride};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] > 0x7fffffff) return 0;
    for (int i = 0; i < l->rank; i++)
        if (l->n[i] > 0x7fffffff || l->in.embed[i] > 0x7fffffff || l->out.embed[i] > 0x7fffffff) return 0;
    return 1;
}

static int needs_none(const layout *l) {
    return l->rank == 1 && l->n[0] <= 4096 && (l->n[0] & (l->n[0] - 1)) == 0 && (l->type & ~CUFFT_DOUBLE) == CUFFT_C2C;
}

/**
 * What cuFFT says that its work area will be, without a plan: exact on all rows of perf/probe_cufft.c. The first answer
 * of a kind loads cuFFT's kernels, up to 0.5 s, so it is not asked where kernels of ours do and it needs none. make()
 * checks.
 */
static size_t work_bytes(const layout *l) {
    int n[WM_FFT_MAX_RANK], in[WM_FFT_MAX_RANK], out[WM_FFT_MAX_RANK];
    size_t bytes = 0;
    if (needs_none(l) || !fits_int(l)) return 0;
    for (int i = 0; i < l->rank; i++) n[i] = (int)l->n[i], in[i] = (int)l->in.embed[i], out[i] = (int)l->out.embed[i];
    if (cufft.estimate(l->rank, n, in, (int)l->in.stride, (int)l->in.distance, out, (int)l->out.stride,
                       (int)l->out.distance, l->type, (int)l->batch, &bytes))
        return 0;
    return bytes;
}

static int cufft_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const char *reason = NULL;
    layout l;
    if (wm_problem_empty(problem)) return wm_refuse(why, "there is nothing to transform");
    if (!wm_library_get(WM_LIB_CUFFT, &reason)) return wm_refuse(why, "%s", reason);
    pthread_once(&once, find_symbols);
    if (!cufft.complete) return wm_refuse(why, "this cuFFT lacks a function that we need");
    if (!lay_out(&problem->u.fft, &l, why)) return 0;
    *out = (wm_offer){.seconds = estimate(context, problem, &l), .capturable = 1};
    int later = capacity < WM_MAX_OFFERS && !needs_none(&l);
    out->workspace = later ? WM_WORKSPACE_LATER : l.copy + work_bytes(&l);
    return 1;
}

/* ---- Plans ---- */

typedef struct cufft_state {
    layout l;
    int handle, made;
    size_t work;
    wm_fft_scale_job scale;
    wm_fft_scale_job clear; /* count 0: nothing is to be cleared */
} cufft_state;

extern void wm_fft_scale_kernel(wm_fft_scale_job job);

/** The output as nested loops over reals. */
static wm_fft_scale_job scale_job(const wmFftDesc *d) {
    wm_fft_scale_job job = {.by = wm_fft_scale(d), .f64 = d->type == WM_F64, .count = 1};
    wmFftDim loop[WM_FFT_SCALE_DIMS];
    int loops = 0, pairs = d->kind != WM_FFT_C2R, reals = pairs ? 2 : 1;
    if (pairs) loop[loops++] = (wmFftDim){2, 1, 1};
    for (int i = 0; i < d->rank + d->loops; i++) {
        const wmFftDim *dim = i < d->rank ? &d->dim[i] : &d->loop[i - d->rank];
        int64_t n = i < d->rank ? wm_fft_length(d, i, 1) : dim->n;
        loop[loops++] = (wmFftDim){n, dim->out_stride * reals, dim->out_stride * reals};
    }
    loops = wm_fft_arrange(loop, loops);
    for (int i = 0; i < loops; i++) {
        job.n[i] = loop[i].n;
        job.stride[i] = loop[i].out_stride;
        job.count *= loop[i].n;
    }
    job.dims = loops;
    return job;
}

static void cufft_drop(wmContext *context, void *data) {
    cufft_state *s = data;
    (void)context;
    if (s && s->made) cufft.destroy(s->handle);
    free(s);
}

/**
 * The imaginary parts that C2R ignores: of some lengths and batches cuFFT's kernels do not (seen at 4096 points, H200,
 * CUDA 13.0), so they are set to 0 before, in what cuFFT may overwrite anyway. Rank 1, rows that share no element.
 */
static wm_fft_scale_job clear_job(const wmFftDesc *d) {
    wm_fft_scale_job job = {.by = 0, .f64 = d->type == WM_F64, .dims = 1};
    wmFftDim loop[WM_FFT_MAX_LOOPS];
    int loops = 0;
    if (d->kind != WM_FFT_C2R || d->rank != 1 || !wm_fft_input_disjoint(d)) return job;
    for (int i = 0; i < d->loops; i++) loop[i] = d->loop[i];
    loops = wm_fft_arrange(loop, d->loops);
    job.n[0] = job.count = d->dim[0].n % 2 == 0 && d->dim[0].n > 1 ? 2 : 1;
    job.stride[0] = d->dim[0].n / 2 * d->dim[0].in_stride * 2;
    for (int i = 0; i < loops; i++) {
        job.n[job.dims] = loop[i].n;
        job.stride[job.dims++] = loop[i].in_stride * 2;
        job.count *= loop[i].n;
    }
    return job;
}

static wmStatus cufft_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmFftDesc *d = &problem->u.fft;
    cufft_state *s = calloc(1, sizeof *s);
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory for a plan of cuFFT");
    *state = s;
    layout *l = &s->l;
    if (!lay_out(d, l, NULL)) return wm_fail(WM_ERR_UNSUPPORTED, "cuFFT cannot express this layout");
    int result = cufft.create(&s->handle);
    s->made = result == 0;
    if (!result) result = cufft.auto_allocation(s->handle, 0);
    if (!result)
        result = cufft.make(s->handle, l->rank, l->n, l->in.embed, l->in.stride, l->in.distance, l->out.embed,
                            l->out.stride, l->out.distance, l->type, l->batch, &s->work);
    if (result) return wm_fail(WM_ERR_VENDOR, "cuFFT made no plan: %s", result_name(result));
    if (l->copy + s->work > offer->workspace)
        return wm_fail(WM_ERR_VENDOR, "cuFFT wants a work area of %zu bytes, %zu were foreseen", s->work,
                       offer->workspace - l->copy);
    s->scale = scale_job(d);
    s->clear = clear_job(d);
    if (d->scale || s->clear.count) return wm_prepare_kernel(context, "cufft", (const void *)wm_fft_scale_kernel, 0);
    return WM_OK;
}

/* ---- Running ---- */

static int execute(const cufft_state *s, const wmFftDesc *d, void *in, void *out) {
    int f64 = d->type == WM_F64, direction = d->direction == WM_FORWARD ? -1 : 1;
    switch (d->kind) {
    case WM_FFT_C2C:
        return (f64 ? cufft.z2z : cufft.c2c)(s->handle, in, out, direction);
    case WM_FFT_R2C:
        return (f64 ? cufft.d2z : cufft.r2c)(s->handle, in, out);
    default:
        return (f64 ? cufft.z2d : cufft.c2r)(s->handle, in, out);
    }
}

/** All launches: the loops that are not cuFFT's, by number. */
static int execute_all(const cufft_state *s, const wmFftDesc *d, char *in, char *out) {
    int64_t real = (int64_t)wmTypeSize(d->type), in_size = real * (d->kind == WM_FFT_R2C ? 1 : 2);
    int64_t out_size = real * (d->kind == WM_FFT_C2R ? 1 : 2);
    int result = 0;
    for (int64_t number = 0; number < s->l.launches && !result; number++) {
        int64_t rest = number, from = 0, to = 0;
        for (int i = 0; i < s->l.launch_loops; i++) {
            const wmFftDim *loop = &s->l.launch[i];
            from += rest % loop->n * loop->in_stride;
            to += rest % loop->n * loop->out_stride;
            rest /= loop->n;
        }
        result = execute(s, d, in + from * in_size, out + to * out_size);
    }
    return result;
}

static wmStatus launch_scale(const wm_run *run, const wm_fft_scale_job *scale, void *x) {
    wm_fft_scale_job job = *scale;
    const wm_device *device = wm_context_device(run->context);
    int64_t blocks = (job.count + SCALE_THREADS - 1) / SCALE_THREADS, most = (int64_t)device->multiprocessors * 16;
    job.x = x;
    wm_launch launch = {
        .kernel = (const void *)wm_fft_scale_kernel,
        .grid = {(unsigned)(blocks < most ? blocks : most), 1, 1},
        .block = {SCALE_THREADS,                             1, 1},
        .params = &job,
        .params_bytes = sizeof job
    };
    return wm_launch_kernel(run->context, "cufft", &launch, run->stream);
}

static wmStatus cufft_run(const wm_run *run) {
    const cufft_state *s = run->state;
    const wmFftDesc *d = &run->problem->u.fft;
    const wm_gpu *gpu = wm_context_gpu(run->context);
    char *workspace = run->workspace, *in = (char *)(uintptr_t)run->args->fft.in;
    if (s->l.copy) {
        size_t bytes = (size_t)wm_fft_span(d, 0) * wmTypeSize(d->type) * 2;
        int error = gpu->copy(gpu->self, workspace, in, bytes, run->stream);
        if (error) return wm_gpu_check(gpu, error, "cudaMemcpyAsync");
        in = workspace;
    }
    if (s->clear.count) WM_TRY(launch_scale(run, &s->clear, in + wmTypeSize(d->type)));
    int result = cufft.set_stream(s->handle, run->stream);
    if (!result && s->work) result = cufft.set_work_area(s->handle, workspace + s->l.copy);
    if (!result) result = execute_all(s, d, in, run->args->fft.out);
    if (result) return wm_fail(WM_ERR_VENDOR, "cuFFT refused to execute: %s", result_name(result));
    return d->scale ? launch_scale(run, &s->scale, run->args->fft.out) : WM_OK;
}

const wm_solver wm_cufft = {
    .name = "cufft",
    .op = WM_FFT,
    .place = WM_PLACE_GPU,
    .origin = WM_VENDOR,
    .version = 1,
    .features = WM_FFT_F32 | WM_FFT_F64 | WM_FFT_COMPLEX | WM_FFT_REAL_FORWARD | WM_FFT_REAL_INVERSE | WM_FFT_RANK2 |
                WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE | WM_FFT_SCALED,
    .knobs = {NULL},
    .offer = cufft_offer,
    .make = cufft_make,
    .run = cufft_run,
    .drop = cufft_drop,
};
