/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle as a solver: judges others where arrays are small enough for a transform by the definition. */
#include "oracle_fft.h"

#include "number.h"
#include "lib/solver.h"

#include <stdlib.h>

static const double most_terms = 1 << 29; /* some seconds */

static double prime_factors(int64_t n) {
    double sum = 0;
    for (int64_t p = 2; n > 1; p = p * p > n ? n : p + 1)
        for (; n % p == 0; n /= p) sum += (double)p;
    return sum;
}

/** Terms that it sums over, all arrays together. */
static double terms_of(const wmFftDesc *d) {
    double points = 1, factors = 1;
    for (int i = 0; i < d->rank; i++) points *= (double)d->dim[i].n, factors += prime_factors(d->dim[i].n);
    for (int i = 0; i < d->loops; i++) points *= (double)d->loop[i].n;
    return points * factors;
}

static int fft_naive_offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    (void)context, (void)capacity;
    const wmFftDesc *d = &problem->u.fft;
    double terms = terms_of(d);
    if (terms > most_terms) return wm_refuse(why, "%.3g terms by the definition; at most %.3g", terms, most_terms);
    int64_t points = 1, longest = 1; /* two arrays and three lines: see wm_oracle_fft_scratch */
    for (int i = 0; i < d->rank; i++) {
        points *= d->dim[i].n;
        if (d->dim[i].n > longest) longest = d->dim[i].n;
    }
    size_t values = (size_t)(2 * points + 3 * longest);
    *out = (wm_offer){.seconds = 200e-9 + 5e-9 * terms, .workspace = values * sizeof(wm_root), .concurrent = 1};
    return 1;
}

static void fft_naive_drop(wmContext *context, void *state) {
    (void)context;
    if (state) wm_oracle_fft_drop(state);
    free(state);
}

static wmStatus fft_naive_make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)offer;
    wm_oracle_fft *oracle = calloc(1, sizeof *oracle);
    if (!oracle || wm_oracle_fft_make(oracle, &problem->u.fft)) {
        fft_naive_drop(context, oracle);
        return wm_fail(WM_ERR_MEMORY, "out of memory for the roots of a transform of %lld points",
                       (long long)problem->u.fft.dim[0].n);
    }
    *state = oracle;
    return WM_OK;
}

/** Writes one array's values, rounded to the problem's type. */
static void write_array(const wm_oracle_fft *oracle, const int64_t *index, const wm_root *values, void *out) {
    const wmFftDesc *d = &oracle->desc;
    const int64_t *n = oracle->out;
    int pairs = d->kind != WM_FFT_C2R;
    int64_t k[3];
    for (k[0] = 0; k[0] < n[0]; k[0]++)
        for (k[1] = 0; k[1] < n[1]; k[1]++)
            for (k[2] = 0; k[2] < n[2]; k[2]++, values++) {
                int64_t at = wm_oracle_fft_offset(oracle, index, k) * (pairs ? 2 : 1);
                if (d->type == WM_F64) {
                    ((double *)out)[at] = (double)values->re;
                    if (pairs) ((double *)out)[at + 1] = (double)values->im;
                } else { /* 16 bits by way of f32, as all do it */
                    wm_number_store(d->type, out, at, (wm_number){(double)values->re, 0});
                    if (pairs) wm_number_store(d->type, out, at + 1, (wm_number){(double)values->im, 0});
                }
            }
}

static wmStatus fft_naive_run(const wm_run *run) {
    const wm_oracle_fft *oracle = run->state;
    const wmFftDesc *d = &oracle->desc;
    int64_t count[3] = {1, 1, 1}, index[3];
    for (int i = 0; i < d->loops; i++) count[i] = d->loop[i].n;
    for (index[0] = 0; index[0] < count[0]; index[0]++)
        for (index[1] = 0; index[1] < count[1]; index[1]++)
            for (index[2] = 0; index[2] < count[2]; index[2]++) {
                const wm_root *values = wm_oracle_fft_array(oracle, run->args->fft.in, index, run->workspace);
                write_array(oracle, index, values, run->args->fft.out);
            }
    return WM_OK;
}

const wm_solver wm_fft_naive = {
    .name = "fft_naive",
    .op = WM_FFT,
    .place = WM_PLACE_CPU,
    .origin = WM_REFERENCE,
    .version = 1,
    .judge = 1,
    .features = WM_FFT_F32 | WM_FFT_F64 | WM_FFT_F16 | WM_FFT_BF16 | WM_FFT_COMPLEX | WM_FFT_REAL_FORWARD |
                WM_FFT_REAL_INVERSE | WM_FFT_RANK2 | WM_FFT_RANK3 | WM_FFT_LOOPS | WM_FFT_STRIDED | WM_FFT_IN_PLACE |
                WM_FFT_SCALED | WM_FFT_UNALIGNED,
    .knobs = {NULL},
    .offer = fft_naive_offer,
    .make = fft_naive_make,
    .run = fft_naive_run,
    .drop = fft_naive_drop,
};
