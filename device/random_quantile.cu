/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points as values of the distributions that are an inverse distribution function of one number, of every type,
 * into rows with gaps, with key and offset in device memory. Compiled at plan time, a kernel a distribution.
 *
 *     thread t of the grid: the coordinate of element offset + t from its point's Gray code, its value, then t +
 * threads
 *
 * Refuses: other generators, what takes more than a number an element, what random_sobol draws, machines without NVRTC.
 * Floor: a coordinate is half of 32 or 64 loads and exclusive ors, some 80 or 160 instructions, a value of f64 about 40
 * operations of two cycles. Predicted, not measured, of memset: f32 0.15, f64 0.15. To be timed by perf/time_cipher.sh.
 */
#include "lib/solver.h"

#include "random_quantile.cuh"

#include "lib/fields.h"
#include "lib/jit.h"
#include "random_advance.cuh"
#include "reference/random_element_job.h"
#include "reference/random_quantile_job.h"
#include "reference/sobol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAVES = 8 };

static const void *generic_kernel(void) {
#ifdef WM_SIMT
    return reinterpret_cast<const void *>(wm_random_quantile_kernel);
#else
    return nullptr;
#endif
}

/* What a kernel compiled ahead of time draws. */
static int is_drawn_by_another(const wmRandomDesc *d) {
    return d->distribution <= WM_RANDOM_NORMAL && wmTypeSize(d->type) >= 4 && d->interval == WM_CLOSED_OPEN &&
           d->accuracy == WM_ACCURACY_EXACT && d->key_source == WM_KEY_ARGUMENT;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    const char *reason = nullptr;
    if (!wm_has_quantile(d)) return wm_refuse(why, "it draws functions of one coordinate of Sobol' points alone");
    if (is_drawn_by_another(d)) return wm_refuse(why, "a kernel without a compilation draws this");
    if (!wm_jit_ready(generic_kernel(), &reason)) return wm_refuse(why, "%s", reason);
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 5e-6 + 50 * (double)d->count_hint / wm_context_bandwidth(context);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

typedef struct quantile_state {
    void *directions; /* in device memory */
    size_t bytes;
    wm_jit_kernel *kernel;
} quantile_state;

static void drop(wmContext *context, void *state) {
    quantile_state *s = static_cast<quantile_state *>(state);
    if (!s) return;
    wm_context_free(context, s->directions, s->bytes);
    wm_jit_put(context, s->kernel);
    free(s);
}

static wmStatus make_kernel(wmContext *context, const wmRandomDesc *d, wm_jit_kernel **kernel) {
    char definitions[4][40];
    wm_jit_request request = {};
    snprintf(definitions[0], sizeof definitions[0], "-DWM_QUANTILE=%d", (int)d->distribution);
    snprintf(definitions[1], sizeof definitions[1], "-DWM_QUANTILE_TYPE=%d", (int)d->type);
    snprintf(definitions[2], sizeof definitions[2], "-DWM_QUANTILE_BYTES=%d", (int)wmTypeSize(d->type));
    snprintf(definitions[3], sizeof definitions[3], "-DWM_QUANTILE_WIDE=%d", d->generator == WM_SOBOL64);
    request.solver = "random_quantile";
    request.source = "#include <device/random_quantile.cuh>\n";
    request.kernel = "wm_random_quantile_kernel";
    for (int i = 0; i < 4; i++) request.options[i] = definitions[i];
    request.options[4] = "-default-device"; /* the public headers' inline functions are the host's */
    request.generic = generic_kernel();
    return wm_jit_get(context, &request, kernel);
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmRandomDesc *d = &problem->u.random;
    int wide = d->generator == WM_SOBOL64;
    (void)offer;
    quantile_state *s = static_cast<quantile_state *>(calloc(1, sizeof(quantile_state)));
    *state = s;
    if (!s) return wm_fail(WM_ERR_MEMORY, "out of memory");
    s->bytes = wm_sobol_directions_bytes(wide, d->dimensions);
    void *host = malloc(s->bytes);
    if (!host) return wm_fail(WM_ERR_MEMORY, "out of memory");
    wm_sobol_directions(host, wide, d->dimensions);
    wmStatus status = wm_context_upload(context, &s->directions, host, s->bytes);
    free(host);
    WM_TRY(status);
    WM_TRY(wm_random_advance_prepare(context));
    return make_kernel(context, d, &s->kernel);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    const wmRandomDesc *d = &run->problem->u.random;
    const quantile_state *s = static_cast<const quantile_state *>(run->state);
    wm_quantile_draw p;
    memset(&p, 0, sizeof p);
    p.out = static_cast<unsigned char *>(args->out);
    p.count = args->count;
    p.columns = d->columns ? d->columns : INT64_MAX;
    p.ld = d->ld;
    p.offset = args->offset;
    p.state = d->key_source == WM_KEY_DEVICE ? args->state : nullptr;
    p.directions = s->directions;
    p.job = wm_quantile_job_make(d, args);
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 blocks = (args->count + WM_QUANTILE_THREADS - 1) / WM_QUANTILE_THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = wm_jit_handle(s->kernel);
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {WM_QUANTILE_THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = sizeof p;
    WM_TRY(wm_launch_kernel(run->context, "random_quantile", &l, run->stream));
    return wm_random_advance_after(run);
}

extern "C" const wm_solver wm_random_quantile = {
    "random_quantile",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_INTEGERS | WM_RND_EXPONENTIAL | WM_RND_COUNTS |
        WM_RND_TRANSFORMS | WM_RND_NARROW | WM_RND_32 | WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL | WM_RND_COUNTER |
        WM_RND_SOBOL32 | WM_RND_SOBOL64 | WM_RND_STRIDED | WM_RND_DEVICE_STATE | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
