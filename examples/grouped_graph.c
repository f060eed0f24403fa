/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mixture of experts: tokens, sorted by expert, times each expert's own matrix, as one grouped product. How many
 * tokens each expert has stands in device memory and changes from step to step; the graph, captured once, serves all.
 *
 *     cc -DEXAMPLE_CUDA grouped_graph.c $(pkg-config --cflags --libs warpmath) -lcudart    with a graph
 *     cc grouped_graph.c $(pkg-config --cflags --libs warpmath)                            without
 */
#include <warpmath/warpmath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EXAMPLE_CUDA
#include <cuda_runtime_api.h>
#endif

enum { EXPERTS = 8, TOKENS = 96, IN = 64, OUT = 40, STEPS = 3 };

/* Tokens of each expert, a row a step: some have none. */
static const int64_t counts[STEPS][EXPERTS] = {
    {12, 12, 12, 12, 12, 12, 12, 12},
    {96, 0,  0,  0,  0,  0,  0,  0 },
    {0,  1,  30, 0,  7,  50, 8,  0 },
};

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Small integers: exact in bf16, as are their sums in f32. The upper half of an f32 is a bf16. */
static int small(int64_t i) {
    return (int)(i * 7 % 5) - 2;
}

static void *upload(wmContext *context, int64_t count) {
    uint16_t *host = (uint16_t *)malloc((size_t)count * sizeof(uint16_t));
    void *place = NULL;
    if (!host) exit(1);
    for (int64_t i = 0; i < count; i++) {
        float x = (float)small(i);
        uint32_t bits = 0;
        memcpy(&bits, &x, sizeof bits);
        host[i] = (uint16_t)(bits >> 16);
    }
    TRY(wmAlloc(&place, context, (size_t)count * sizeof(uint16_t)));
    TRY(wmCopy(context, place, host, (size_t)count * sizeof(uint16_t), NULL));
    TRY(wmSynchronize(context, NULL));
    free(host);
    return place;
}

/* What a step's groups are: rows of A and D one expert behind the other, a matrix of B each. */
static void describe(int step, wmMatmulGroup groups[EXPERTS]) {
    int64_t first = 0;
    for (int e = 0; e < EXPERTS; e++) {
        wmMatmulGroup g = {counts[step][e], OUT, IN, first * IN, (int64_t)e * IN * OUT, 0, first * OUT};
        groups[e] = g;
        first += counts[step][e];
    }
}

/* Wrong elements of D. */
static int check(int step, const float *d) {
    int wrong = 0, row = 0;
    for (int e = 0; e < EXPERTS; e++)
        for (int64_t i = 0; i < counts[step][e]; i++, row++)
            for (int j = 0; j < OUT; j++) {
                int sum = 0;
                for (int q = 0; q < IN; q++)
                    sum += small((int64_t)row * IN + q) * small(((int64_t)e * IN + q) * OUT + j);
                wrong += d[row * OUT + j] != (float)sum;
            }
    return wrong;
}

int main(void) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    TRY(wmContextCreate(&context, NULL));
    wmMatmulDesc desc = wmMatmulDescDefault(WM_BF16, TOKENS, OUT, IN); /* an expert may get all tokens */
    desc.d.type = WM_F32;
    desc.batch = EXPERTS;
    desc.batch_mode = WM_BATCH_GROUPED;
    TRY(wmMatmulPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));

    size_t bytes = 0, d_bytes = sizeof(float) * TOKENS * OUT;
    void *a = upload(context, TOKENS * IN), *b = upload(context, (int64_t)EXPERTS * IN * OUT);
    void *d = NULL, *groups = NULL, *workspace = NULL;
    TRY(wmPlanWorkspace(plan, &bytes));
    TRY(wmAlloc(&workspace, context, bytes));
    TRY(wmAlloc(&d, context, d_bytes));
    TRY(wmAlloc(&groups, context, sizeof(wmMatmulGroup) * EXPERTS));
    wmMatmulArgs args = wmMatmulArgsDefault(a, b, d);
    args.groups = (const wmMatmulGroup *)groups;
    args.workspace = workspace;
    args.workspace_bytes = bytes;

    int captured = 0, wrong = 0;
#ifdef EXAMPLE_CUDA
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    captured = wmContextPlace(context) == WM_PLACE_GPU && wmPlanCapturable(plan);
    if (captured) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        TRY(wmMatmulExecute(plan, &args, stream));
        cudaStreamEndCapture(stream, &graph);
        TRY(wmPlanRetainInGraph(plan, graph));
        cudaGraphInstantiate(&exec, graph, 0);
    }
#endif
    for (int step = 0; step < STEPS; step++) {
        wmMatmulGroup host[EXPERTS];
        static float result[TOKENS * OUT];
        describe(step, host);
        TRY(wmCopy(context, groups, host, sizeof host, NULL));
        TRY(wmSynchronize(context, NULL));
#ifdef EXAMPLE_CUDA
        if (captured) {
            cudaGraphLaunch(exec, stream);
            cudaStreamSynchronize(stream);
        }
#endif
        if (!captured) TRY(wmMatmulExecute(plan, &args, NULL));
        TRY(wmCopy(context, result, d, d_bytes, NULL));
        TRY(wmSynchronize(context, NULL));
        wrong += check(step, result);
    }
    printf("%d steps%s, %d elements wrong\n", STEPS, captured ? " of one captured graph" : "", wrong);

#ifdef EXAMPLE_CUDA
    if (captured) {
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        cudaStreamDestroy(stream);
    }
#endif
    wmFree(context, a);
    wmFree(context, b);
    wmFree(context, d);
    wmFree(context, groups);
    wmFree(context, workspace);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return wrong != 0;
}
