/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every distribution by every cipher, in counter order, into rows with gaps, with key and offset in device memory;
 * of Philox4x32-10 what no other kernel draws: vectors in rows with gaps or by a key in device memory, and permutations
 * by such a key. Compiled at plan time, a kernel a generator and distribution (random_cipher.cuh).
 *
 *     thread t of the grid: the device headers' value of element offset + t to its row and column, then t + threads, …
 *
 * Refuses: Sobol' points, cuRAND's order, what of Philox4x32-10 is drawn by others, machines without NVRTC.
 * Floor: a call of the cipher an element. Philox4x64-10 has 20 products of 64 by 64 bits, about 280 issued
 * instructions: predicted, not measured, of memset: words of 32 bits 0.11 (Philox4x64-10), 0.2 (Threefry4x64-20, some
 * 170 instructions of additions and rotations); gammas 0.02. To be timed by perf/time_cipher.sh.
 */
#include "lib/solver.h"

#include "random_cipher.cuh"

#include "lib/jit.h"
#include "random_advance.cuh"
#include "reference/random_element_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAVES = 16 };

static int is_counts(const wmRandomDesc *d) {
    return d->distribution == WM_RANDOM_POISSON || d->distribution == WM_RANDOM_BINOMIAL;
}

static int family_of(const wmRandomDesc *d) {
    if (wm_is_rows(d->distribution)) return WM_FAMILY_ROWS;
    if (d->distribution == WM_RANDOM_ROUND) return WM_FAMILY_ROUND;
    return wm_is_continuous(d->distribution) ? WM_FAMILY_CONTINUOUS
           : wm_is_discrete(d->distribution) ? WM_FAMILY_DISCRETE
                                             : WM_FAMILY_SIMPLE;
}

static const void *generic_kernel(const wmRandomDesc *d) {
#ifdef WM_SIMT
    return is_counts(d) ? reinterpret_cast<const void *>(wm_random_cipher_counts)
                        : reinterpret_cast<const void *>(wm_random_cipher_draw);
#else
    (void)d;
    return nullptr;
#endif
}

/* What kernels compiled ahead of time draw. */
static int is_drawn_by_others(const wmRandomDesc *d) {
    int simple = d->distribution <= WM_RANDOM_NORMAL && wmTypeSize(d->type) >= 4 && d->interval == WM_CLOSED_OPEN &&
                 d->accuracy == WM_ACCURACY_EXACT;
    if (d->generator != WM_PHILOX4X32_10) return simple;
    if (wm_is_rows(d->distribution)) return !d->columns && d->key_source == WM_KEY_ARGUMENT;
    return d->distribution != WM_RANDOM_PERMUTATION || d->key_source == WM_KEY_ARGUMENT;
}

/* Bytes that memset writes while an element is drawn: random_scalar's, as measured on an H200, for a cipher of thrice
 * the instructions. */
static double price(const wmRandomDesc *d) {
    if (is_counts(d)) return 500;
    if (d->distribution == WM_RANDOM_BERNOULLI || d->distribution == WM_RANDOM_MASK) return 540;
    return family_of(d) == WM_FAMILY_SIMPLE || family_of(d) == WM_FAMILY_ROUND ? 80 : 200;
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    const char *reason = nullptr;
    if (is_drawn_by_others(d)) return wm_refuse(why, "kernels without a compilation draw this");
    if (!wm_jit_ready(generic_kernel(d), &reason)) return wm_refuse(why, "%s", reason);
    if (capacity < 1) return 0;
    memset(out, 0, sizeof *out);
    out->seconds = 5e-6 + price(d) * (double)d->count_hint / wm_context_bandwidth(context);
    out->capturable = 1;
    out->concurrent = 1;
    return 1;
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    const wmRandomDesc *d = &problem->u.random;
    const struct {
        const char *name;
        int value;
    } constants[] = {
        {"WM_CIPHER",              (int)d->generator       },
        {"WM_CIPHER_DISTRIBUTION", (int)d->distribution    },
        {"WM_CIPHER_FAMILY",       family_of(d)            },
        {"WM_CIPHER_TYPE",         (int)d->type            },
        {"WM_CIPHER_BYTES",        (int)wmTypeSize(d->type)},
        {"WM_CIPHER_COUNTS",       is_counts(d)            }
    };
    const int count = sizeof constants / sizeof *constants;
    char definitions[count][48];
    wm_jit_request request = {};
    wm_jit_kernel *kernel = nullptr;
    (void)offer;
    *state = nullptr;
    WM_TRY(wm_random_advance_prepare(context));
    for (int i = 0; i < count; i++) {
        snprintf(definitions[i], sizeof definitions[i], "-D%s=%d", constants[i].name, constants[i].value);
        request.options[i] = definitions[i];
    }
    request.solver = "random_cipher";
    request.source = "#include <device/random_cipher.cuh>\n";
    request.kernel = is_counts(d) ? "wm_random_cipher_counts" : "wm_random_cipher_draw";
    request.options[count] = "-default-device"; /* the public headers' inline functions are the host's */
    request.generic = generic_kernel(d);
    WM_TRY(wm_jit_get(context, &request, &kernel));
    *state = kernel;
    return WM_OK;
}

static void fill_draw(const wm_run *run, wm_cipher_draw *p) {
    const wmRandomArgs *args = &run->args->random;
    const wmRandomDesc *d = &run->problem->u.random;
    p->out = static_cast<unsigned char *>(args->out);
    p->count = args->count;
    p->columns = d->columns ? d->columns : INT64_MAX;
    p->ld = d->ld;
    p->offset = args->offset;
    p->state = d->key_source == WM_KEY_DEVICE ? args->state : nullptr;
    p->family = family_of(d);
    p->args = *args;
    p->job = wm_element_job_make(d, args);
    wm_cipher_name(&p->job, (int)d->generator, args->span);
}

static wmStatus run(const wm_run *run) {
    const wmRandomArgs *args = &run->args->random;
    const wmRandomDesc *d = &run->problem->u.random;
    wm_cipher_counts p;
    memset(&p, 0, is_counts(d) ? sizeof p : sizeof p.draw);
    fill_draw(run, &p.draw);
    if (is_counts(d) && p.draw.job.by_table) wm_count_table_make(&p.table, d, args);
    wm_i64 most = (wm_i64)wm_context_device(run->context)->multiprocessors * WAVES;
    wm_i64 items = wm_is_rows(d->distribution) ? args->count / args->dimension : args->count;
    wm_i64 blocks = (items + WM_CIPHER_THREADS - 1) / WM_CIPHER_THREADS;
    wm_launch l;
    memset(&l, 0, sizeof l);
    l.kernel = wm_jit_handle(static_cast<const wm_jit_kernel *>(run->state));
    l.grid = {(unsigned)(blocks < most ? blocks : most), 1, 1};
    l.block = {WM_CIPHER_THREADS, 1, 1};
    l.params = &p;
    l.params_bytes = is_counts(d) ? sizeof p : sizeof p.draw;
    WM_TRY(wm_launch_kernel(run->context, "random_cipher", &l, run->stream));
    return wm_random_advance_after(run);
}

static void drop(wmContext *context, void *state) {
    wm_jit_put(context, static_cast<wm_jit_kernel *>(state));
}

extern "C" const wm_solver wm_random_cipher = {
    "random_cipher",
    WM_RANDOM,
    WM_PLACE_GPU,
    WM_OURS,
    1,
    0,
    WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_INTEGERS | WM_RND_BERNOULLI | WM_RND_EXPONENTIAL |
        WM_RND_COUNTS | WM_RND_REJECTION | WM_RND_TRANSFORMS | WM_RND_CATEGORICAL | WM_RND_PERMUTATION |
        WM_RND_VECTORS | WM_RND_ROUND | WM_RND_NARROW | WM_RND_32 | WM_RND_64 | WM_RND_FAST | WM_RND_INTERVAL |
        WM_RND_COUNTER | WM_RND_PHILOX4X32_7 | WM_RND_PHILOX4X64 | WM_RND_THREEFRY2X32 | WM_RND_THREEFRY4X64 |
        WM_RND_STRIDED | WM_RND_DEVICE_STATE | WM_RND_GPU_TO_GPU,
    {NULL},
    offer,
    make,
    run,
    drop,
};
