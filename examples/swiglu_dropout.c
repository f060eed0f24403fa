/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half a transformer's feed-forward layer in one call:  D = R + dropout(silu(X·W_gate) * (X·W_value)),  the two weights
 * as neighbouring columns of one matrix, with the largest magnitude of each row of D beside it, as a later quantisation
 * wants it. The same call, layer and step in the key, drops the same values again; it runs on GPU and CPU.
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

enum { TOKENS = 24, IN = 32, HIDDEN = 40, STEP = 7, LAYER = 2 };
static const double DROP = 0.1;

static void *upload(wmContext *context, const float *from, size_t count) {
    void *place = NULL;
    TRY(wmAlloc(&place, context, count * sizeof(float)));
    TRY(wmCopy(context, place, from, count * sizeof(float), NULL));
    return place;
}

/* One element of the layer without dropout and residual, in double. */
static double plain(const float *x, const float *w, int i, int j) {
    double gate = 0, value = 0;
    for (int q = 0; q < IN; q++) {
        gate += (double)x[i * IN + q] * (double)w[q * 2 * HIDDEN + 2 * j];
        value += (double)x[i * IN + q] * (double)w[q * 2 * HIDDEN + 2 * j + 1];
    }
    return gate / (1 + exp(-gate)) * value;
}

int main(void) {
    static float x[TOKENS * IN], w[IN * 2 * HIDDEN], r[TOKENS * HIDDEN], d[TOKENS * HIDDEN], most[TOKENS];
    wmContext *context = NULL;
    int wrong = 0, dropped = 0;
    TRY(wmContextCreate(&context, NULL));
    for (int i = 0; i < TOKENS * IN; i++) x[i] = (float)sin(0.7 * i);
    for (int i = 0; i < IN * 2 * HIDDEN; i++) w[i] = (float)cos(1.3 * i) / 4;
    for (int i = 0; i < TOKENS * HIDDEN; i++) r[i] = (float)(i % 5);

    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, TOKENS, (int64_t)2 * HIDDEN, IN);
    desc.gate = WM_GATE_PAIRS;
    desc.activation = WM_ACT_SILU;
    desc.dropout = WM_DROPOUT_PHILOX;
    desc.r.type = WM_F32;
    desc.reduction = WM_REDUCE_ROW_ABSMAX;

    wmMatmulArgs args =
        wmMatmulArgsDefault(upload(context, x, sizeof x / sizeof *x), upload(context, w, sizeof w / sizeof *w),
                            upload(context, d, sizeof d / sizeof *d));
    args.r = upload(context, r, sizeof r / sizeof *r);
    args.reduced = upload(context, most, TOKENS);
    args.drop = DROP;
    args.drop_key = wmRandomKeyFold(wmRandomKeyFold(wmRandomKeyMake(2024), STEP), LAYER);
    wmStatus status = wmMatmul(context, &desc, &args, NULL);
    if (status == WM_ERR_UNSUPPORTED) { /* on a GPU, until its kernel has passed every check there */
        printf("%s\n", wmLastError());
        return 0;
    }
    TRY(status);
    TRY(wmCopy(context, d, args.d, sizeof d, NULL));
    TRY(wmCopy(context, most, args.reduced, sizeof most, NULL));
    TRY(wmSynchronize(context, NULL));

    for (int i = 0; i < TOKENS; i++) {
        float largest = 0;
        for (int j = 0; j < HIDDEN; j++) {
            double y = d[i * HIDDEN + j] - r[i * HIDDEN + j], want = plain(x, w, i, j) / (1 - DROP);
            if (d[i * HIDDEN + j] == r[i * HIDDEN + j])
                dropped++;
            else if (!(fabs(y - want) <= 1e-4))
                wrong++;
            largest = fmaxf(largest, fabsf(d[i * HIDDEN + j]));
        }
        if (largest != most[i]) wrong++;
    }
    printf("%d of %d values dropped, %d wrong\n", dropped, TOKENS * HIDDEN, wrong);
    wmFree(context, (void *)args.a);
    wmFree(context, (void *)args.b);
    wmFree(context, (void *)args.r);
    wmFree(context, args.reduced);
    wmFree(context, args.d);
    wmContextDestroy(context);
    return wrong || dropped < TOKENS * HIDDEN / 20 || dropped > TOKENS * HIDDEN / 5;
}
