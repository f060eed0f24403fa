/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout: a bit mask a training step, 1 bit a value. Step and layer are folded into the key, so the backward pass
 * draws the same mask again in place of keeping it, and the mask is the same on every GPU and CPU: it prints the hash.
 */
#include <warpmath/warpmath.h>

#include <math.h>
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

enum { VALUES = 1 << 20, MASKS = VALUES / 32, LAYER = 3 };
static const double KEEP = 0.9;

/* The mask of one layer in one step, to host memory. */
static void draw_mask(wmContext *context, uint64_t step, uint32_t *mask) {
    void *there = NULL;
    wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_MASK, WM_U32);
    wmRandomKey key = wmRandomKeyFold(wmRandomKeyFold(wmRandomKeyMake(2024), step), LAYER);
    TRY(wmAlloc(&there, context, MASKS * sizeof *mask));
    wmRandomArgs args = wmRandomArgsDefault(there, MASKS, key);
    args.p = KEEP;
    TRY(wmRandom(context, &desc, &args, NULL));
    TRY(wmCopy(context, mask, there, MASKS * sizeof *mask, NULL));
    TRY(wmSynchronize(context, NULL));
    wmFree(context, there);
}

int main(void) {
    static uint32_t forward[MASKS], backward[MASKS];
    wmContext *context = NULL;
    TRY(wmContextCreate(&context, NULL));
    for (uint64_t step = 0; step < 3; step++) {
        uint64_t hash = 14695981039346656037u;
        int64_t kept = 0, different = 0;
        draw_mask(context, step, forward);
        draw_mask(context, step, backward);
        for (int i = 0; i < MASKS; i++) {
            for (uint32_t bits = forward[i]; bits; bits &= bits - 1) kept++;
            different += forward[i] != backward[i];
            hash = (hash ^ forward[i]) * 1099511628211u;
        }
        double share = (double)kept / VALUES, spread = sqrt(KEEP * (1 - KEEP) / VALUES);
        printf("step %d: kept %.4f of the values, hash %016llx\n", (int)step, share, (unsigned long long)hash);
        if (different || !(fabs(share - KEEP) < 6 * spread)) return 1;
    }
    wmContextDestroy(context);
    return 0;
}
