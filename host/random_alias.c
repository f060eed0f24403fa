/* SPDX-License-Identifier: Apache-2.0 */
/* Alias tables of categories: Vose's way (IEEE Trans. Software Eng. 17(9), 1991), in integers. */
#include "lib/status.h"

#include <warpmath/device/dist_choice.h>
#include <warpmath/random.h>

#include <math.h>
#include <stdlib.h>

static wmStatus check_weights(const double *weights, int64_t n, double *sum) {
    double most = 0;
    *sum = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!(weights[k] >= 0 && weights[k] < INFINITY))
            return wm_fail(WM_ERR_ARGUMENT, "weights[%lld] is %g; finite and at least 0", (long long)k, weights[k]);
        if (weights[k] > most) most = weights[k];
    }
    if (most == 0) return wm_fail(WM_ERR_ARGUMENT, "weights are all 0");
    for (int64_t k = 0; k < n; k++) *sum += weights[k] / most; /* no overflow */
    *sum *= most;
    return *sum < INFINITY ? WM_OK : wm_fail(WM_ERR_ARGUMENT, "the sum of the weights overflows f64");
}

/* Shares of n · 2^32 that add up to it: what rounding down leaves over goes to the largest. */
static void make_shares(const double *weights, int64_t n, double sum, uint64_t *share) {
    uint64_t whole = (uint64_t)n << 32, given = 0;
    int64_t largest = 0;
    for (int64_t k = 0; k < n; k++) {
        double part = weights[k] / sum * (double)whole;
        share[k] = part < (double)whole ? (uint64_t)part : whole;
        if (share[k] > whole - given) share[k] = whole - given; /* roundings of the last digit */
        given += share[k];
        if (weights[k] > weights[largest]) largest = k;
    }
    share[largest] += whole - given;
}

/* Each column gets what one small share lacks from a large one. `order` holds small ones from the front, large ones
 * from the back. */
static void make_columns(uint64_t *share, int64_t n, uint32_t *order, wmAlias *table) {
    const uint64_t one = (uint64_t)1 << 32;
    int64_t small = 0, large = n;
    for (int64_t k = 0; k < n; k++) {
        table[k] = (wmAlias){~0u, (unsigned)k};
        if (share[k] < one)
            order[small++] = (uint32_t)k;
        else
            order[--large] = (uint32_t)k;
    }
    while (small > 0 && large < n) {
        uint32_t s = order[--small], l = order[large];
        table[s] = (wmAlias){(unsigned)share[s], l};
        share[l] -= one - share[s];
        if (share[l] >= one) continue;
        large++;
        order[small++] = l; /* its place is free: small < large always */
    }
}

wmStatus wmRandomAliasBuild(void *table, const double *weights, int64_t categories) {
    double sum = 0;
    if (!table) return wm_fail(WM_ERR_ARGUMENT, "table is NULL");
    if (!weights) return wm_fail(WM_ERR_ARGUMENT, "weights is NULL");
    if (categories < 1 || categories > INT32_MAX)
        return wm_fail(WM_ERR_ARGUMENT, "categories is %lld; 1 to 2^31 - 1", (long long)categories);
    WM_TRY(check_weights(weights, categories, &sum));
    uint64_t *share = (uint64_t *)malloc((size_t)categories * sizeof *share);
    uint32_t *order = (uint32_t *)malloc((size_t)categories * sizeof *order);
    if (share && order) {
        make_shares(weights, categories, sum, share);
        make_columns(share, categories, order, (wmAlias *)table);
    }
    wmStatus status = share && order ? WM_OK : wm_fail(WM_ERR_MEMORY, "out of host memory");
    free(share);
    free(order);
    return status;
}
