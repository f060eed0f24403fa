/* SPDX-License-Identifier: Apache-2.0 */
/* Direction numbers out of the packed table, by the recurrence of Sobol' (1967) as Bratley and Fox (1988) write it. */
#include "sobol.h"

#include "lib/status.h"
#include "random_fill.h"
#include "sobol_numbers.h"

_Static_assert(sizeof numbers / sizeof *numbers == WM_SOBOL_DIMENSIONS - 1, "the table is the constant's");

/* The numbers the recurrence starts with: m_1 … m_degree, odd, m_j below 2^j. Gives the degree. */
static int first_numbers(int64_t dimension, unsigned int *polynomial, uint64_t m[14]) {
    uint64_t low = numbers[dimension - 1].bits, high = numbers[dimension - 1].polynomial >> 16;
    *polynomial = numbers[dimension - 1].polynomial & 0xffffu;
    int degree = 31 - __builtin_clz(*polynomial);
    m[0] = 1;
    for (int j = 1; j < degree; j++) {
        m[j] = 2 * (low & (((uint64_t)1 << j) - 1)) + 1;
        low = low >> j | high << (64 - j);
        high >>= j;
    }
    return degree;
}

/* v[j] = m_(j + 1) · 2^(63 - j) */
static void all_numbers(int64_t dimension, uint64_t v[64]) {
    uint64_t m[14];
    unsigned int polynomial = 0;
    if (dimension == 0) {
        for (int j = 0; j < 64; j++) v[j] = (uint64_t)1 << (63 - j);
        return;
    }
    int degree = first_numbers(dimension, &polynomial, m);
    for (int j = 0; j < 64; j++) {
        if (j < degree) {
            v[j] = m[j] << (63 - j);
            continue;
        }
        v[j] = v[j - degree] ^ v[j - degree] >> degree;
        for (int k = 1; k < degree; k++)
            if (polynomial >> (degree - k) & 1) v[j] ^= v[j - k];
    }
}

size_t wm_sobol_directions_bytes(int wide, int64_t dimensions) {
    return (wide ? sizeof(uint64_t) * 64 : sizeof(uint32_t) * 32) * (size_t)dimensions;
}

void wm_sobol_directions(void *out, int wide, int64_t dimensions) {
    uint64_t v[64];
    for (int64_t d = 0; d < dimensions; d++) {
        all_numbers(d, v);
        for (int bit = 0; bit < (wide ? 64 : 32); bit++) {
            if (wide) ((uint64_t *)out)[bit * dimensions + d] = v[bit];
            if (!wide) ((uint32_t *)out)[bit * dimensions + d] = (uint32_t)(v[bit] >> 32);
        }
    }
}

wmStatus wmSobolDirections(void *out, wmGenerator generator, int64_t dimensions) {
    if (!out) return wm_fail(WM_ERR_ARGUMENT, "out is NULL");
    if (generator != WM_SOBOL32 && generator != WM_SOBOL64)
        return wm_fail(WM_ERR_ARGUMENT, "generator is %d; WM_SOBOL32 or WM_SOBOL64", (int)generator);
    if (dimensions < 1 || dimensions > WM_SOBOL_DIMENSIONS)
        return wm_fail(WM_ERR_ARGUMENT, "dimensions is %lld; 1 to %d", (long long)dimensions, WM_SOBOL_DIMENSIONS);
    wm_sobol_directions(out, generator == WM_SOBOL64, dimensions);
    return WM_OK;
}

wm_points wm_points_make(const wmRandomDesc *desc, const wmRandomArgs *args) {
    wm_random_job job = wm_random_job_make(desc, args);
    wm_points p = {desc->generator == WM_SOBOL64,
                   job.kind,
                   job.element,
                   (int)desc->scramble,
                   args->key,
                   desc->dimensions,
                   job.line};
    return p;
}
