/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention scores, masked and biased in the product itself: a functor makes of each score what the softmax shall see,
 * minus infinity for keys behind the query, else the score less a slope of the head times their distance (ALiBi: Press,
 * Smith and Lewis, 2022). The rows' largest values come out beside it. The functor is given twice: as text, which is
 * compiled into the plan on a GPU, and as a function for the CPU place.
 */
#include <warpmath/warpmath.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 3, TOKENS = 50, DEPTH = 64, SCORES = HEADS * TOKENS * TOKENS, ELEMENTS = HEADS * TOKENS * DEPTH };

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* user: a slope for each head. */
static const char source[] = "__device__ float masked(float y, long long row, long long column, long long batch,\n"
                             "                        const void *user) {\n"
                             "    if (column > row) return -__int_as_float(0x7f800000);\n"
                             "    return y - ((const float *)user)[batch] * (float)(row - column);\n"
                             "}\n";

static double masked(double y, int64_t row, int64_t column, int64_t batch, const void *user) {
    if (column > row) return -INFINITY;
    return y - (double)((const float *)user)[batch] * (double)(row - column);
}

/* Places a copy of `from` where the context computes. */
static void *put(wmContext *context, const void *from, size_t bytes) {
    void *at = NULL;
    TRY(wmAlloc(&at, context, bytes));
    TRY(wmCopy(context, at, from, bytes, NULL));
    return at;
}

/* By the definition; gives the largest error, infinite if a mask is wrong. */
static double wrong(const float *q, const float *k, const float *slope, const float *got, const float *largest) {
    double worst = 0;
    for (int64_t at = 0; at < (int64_t)HEADS * TOKENS; at++) {
        int64_t head = at / TOKENS, row = at % TOKENS;
        double most = -INFINITY;
        for (int64_t column = 0; column < TOKENS; column++) {
            double y = 0, x = (double)got[at * TOKENS + column];
            for (int i = 0; i < DEPTH; i++)
                y += (double)q[at * DEPTH + i] * (double)k[(head * TOKENS + column) * DEPTH + i];
            y = masked(y / 8, row, column, head, slope);
            if (y > most) most = y;
            if (column > row ? x != y : !(fabs(x - y) <= worst)) worst = column > row ? INFINITY : fabs(x - y);
        }
        if (!(fabs((double)largest[at] - most) <= worst)) worst = fabs((double)largest[at] - most);
    }
    return worst;
}

int main(void) {
    static float q[ELEMENTS], k[ELEMENTS], scores[SCORES], largest[HEADS * TOKENS];
    const float slope[HEADS] = {0.5f, 0.25f, 0.125f};
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    for (int i = 0; i < ELEMENTS; i++) {
        q[i] = (float)sin(0.37 * i);
        k[i] = (float)cos(0.91 * i);
    }

    TRY(wmContextCreate(&context, NULL));
    wmMatmulDesc desc = wmMatmulDescDefault(WM_F32, TOKENS, TOKENS, DEPTH);
    desc.batch = HEADS;
    desc.b.op = WM_OP_TRANSPOSE;
    desc.functor.source = source;
    desc.functor.name = "masked";
    desc.functor.host = masked;
    desc.reduction = WM_REDUCE_ROW_MAX;
    TRY(wmMatmulPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));

    void *a = put(context, q, sizeof q), *b = put(context, k, sizeof k), *user = put(context, slope, sizeof slope);
    void *d = put(context, scores, sizeof scores), *rows = put(context, largest, sizeof largest);
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, d);
    args.alpha = wmReal(1.0 / 8); /* 1 / sqrt(DEPTH) */
    args.functor_user = user;
    args.reduced = rows;
    TRY(wmMatmulExecute(plan, &args, NULL));
    TRY(wmCopy(context, scores, d, sizeof scores, NULL));
    TRY(wmCopy(context, largest, rows, sizeof largest, NULL));
    TRY(wmSynchronize(context, NULL));

    double error = wrong(q, k, slope, scores, largest);
    printf("largest error: %.2g\n", error);
    wmFree(context, a);
    wmFree(context, b);
    wmFree(context, d);
    wmFree(context, user);
    wmFree(context, rows);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return error < 1e-4 ? 0 : 1;
}
