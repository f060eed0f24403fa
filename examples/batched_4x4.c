/* SPDX-License-Identifier: Apache-2.0 */
/* A million 4 × 4 transforms applied to a million 4 × 4 frames: one plan, one call. On a GPU a batch of such products
 * is bound by memory alone; on the CPU place the same program runs a smaller one. */
#include <stdio.h>
#include <stdlib.h>
#include <warpmath/warpmath.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != WM_OK) {                                                                                         \
            fprintf(stderr, "%s\n", wmLastError());                                                                    \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Rotations about z by quarter turns, with a shift: D's frame t is frame t of B, turned t times and moved by t mod 8.
 */
static void fill(float *turns, float *frames, int64_t count) {
    static const float cosine[4] = {1, 0, -1, 0}, sine[4] = {0, 1, 0, -1};
    for (int64_t t = 0; t < count; t++) {
        float c = cosine[t % 4], s = sine[t % 4], x = (float)(t % 8);
        const float turn[16] = {c, -s, 0, x, s, c, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
        for (int i = 0; i < 16; i++) {
            turns[16 * t + i] = turn[i];
            frames[16 * t + i] = (float)((t + i) % 5) + (i == 15);
        }
    }
}

static int64_t count_wrong(const float *turns, const float *frames, const float *out, int64_t count) {
    int64_t wrong = 0;
    for (int64_t t = 0; t < count; t++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                float sum = 0;
                for (int q = 0; q < 4; q++) sum += turns[16 * t + 4 * i + q] * frames[16 * t + 4 * q + j];
                wrong += !(sum == out[16 * t + 4 * i + j]); /* small integers: exact */
            }
    return wrong;
}

int main(void) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    CHECK(wmContextCreate(&context, NULL));
    int64_t count = wmContextPlace(context) == WM_PLACE_GPU ? 1 << 20 : 1 << 12;
    size_t bytes = (size_t)count * 16 * sizeof(float);
    float *turns = (float *)malloc(bytes), *frames = (float *)malloc(bytes), *out = (float *)malloc(bytes);
    void *a = NULL, *b = NULL, *d = NULL;
    if (!turns || !frames || !out) return 1;
    fill(turns, frames, count);
    CHECK(wmAlloc(&a, context, bytes));
    CHECK(wmAlloc(&b, context, bytes));
    CHECK(wmAlloc(&d, context, bytes));
    CHECK(wmCopy(context, a, turns, bytes, NULL));
    CHECK(wmCopy(context, b, frames, bytes, NULL));

    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, 4, 4, 4);
    desc.batch = count; /* packed: each matrix right behind the one before */
    CHECK(wmMatmulPlanCreate(&plan, context, &desc, NULL));
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, d);
    CHECK(wmMatmulExecute(plan, &args, NULL));

    CHECK(wmCopy(context, out, d, bytes, NULL));
    CHECK(wmSynchronize(context, NULL));
    int64_t wrong = count_wrong(turns, frames, out, count);
    printf("%lld transforms, %lld elements wrong\n", (long long)count, (long long)wrong);
    wmPlanDestroy(plan);
    wmFree(context, a);
    wmFree(context, b);
    wmFree(context, d);
    wmContextDestroy(context);
    free(turns);
    free(frames);
    free(out);
    return wrong != 0;
}
