/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long sequence of normals, drawn once whole and once in uneven slices: the hashes are equal, and equal on every GPU
 * and CPU, since element i depends on the key and i alone.
 *
 *     normals_in_slices [count]        10^7 by default; 10^9 fits a GPU (4 GB) and takes a CPU core a few seconds
 */
#include <warpmath/warpmath.h>

#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A hash of words and their places, so that slices may be hashed in any order and added. */
static uint64_t hash_slice(const uint32_t *words, int64_t count, uint64_t offset) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t x = ((offset + (uint64_t)i) << 32 ^ words[i]) * 0x9e3779b97f4a7c15u;
        sum += (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    }
    return sum;
}

/* Draws [0, count) in slices of `slice`, hashing each as it comes. */
static uint64_t draw(wmContext *context, const wmPlan *plan, int64_t count, int64_t slice) {
    uint64_t hash = 0;
    void *device = NULL;
    uint32_t *host = (uint32_t *)malloc((size_t)slice * sizeof *host);
    if (!host) exit(1);
    TRY(wmAlloc(&device, context, (size_t)slice * sizeof *host));
    for (int64_t at = 0; at < count; at += slice) {
        int64_t now = count - at < slice ? count - at : slice;
        wmRandomArgs args = wmRandomArgsDefault(device, now, wmRandomKeyMake(42));
        args.offset = (uint64_t)at;
        TRY(wmRandomExecute(plan, &args, NULL));
        TRY(wmCopy(context, host, device, (size_t)now * sizeof *host, NULL));
        TRY(wmSynchronize(context, NULL));
        hash += hash_slice(host, now, (uint64_t)at);
    }
    wmFree(context, device);
    free(host);
    return hash;
}

int main(int argc, char **argv) {
    int64_t count = argc > 1 ? strtoll(argv[1], NULL, 10) : 10000000;
    if (count < 1) {
        fprintf(stderr, "usage: %s [count]\n", argv[0]);
        return 2;
    }
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    TRY(wmContextCreate(&context, NULL));
    wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
    TRY(wmRandomPlanCreate(&plan, context, &desc, NULL));

    uint64_t whole = draw(context, plan, count, count);
    uint64_t sliced = draw(context, plan, count, count / 7 + 3);
    printf("%lld normals by %s: whole %016llx, in slices %016llx\n", (long long)count, wmPlanSolver(plan),
           (unsigned long long)whole, (unsigned long long)sliced);

    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return whole == sliced ? 0 : 1;
}
