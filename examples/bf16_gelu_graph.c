/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bf16 layer, D = gelu(A · Bᵀ + bias), planned once and executed many times; on the GPU captured into a CUDA graph.
 *
 *     cc -DEXAMPLE_CUDA bf16_gelu_graph.c $(pkg-config --cflags --libs warpmath) -lcudart    with a graph
 *     cc bf16_gelu_graph.c $(pkg-config --cflags --libs warpmath)                            without
 */
#include <warpmath/warpmath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EXAMPLE_CUDA
#include <cuda_runtime_api.h>
#endif

enum { M = 512, N = 1024, K = 768, STEPS = 10 };

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The upper half of an f32 is a bf16; small integers over 8 are exact in both. */
static uint16_t bf16(float x) {
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void *upload_random(wmContext *context, int64_t count, unsigned seed) {
    size_t bytes = (size_t)count * sizeof(uint16_t);
    uint16_t *host = (uint16_t *)malloc(bytes);
    void *device = NULL;
    if (!host) exit(1);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = bf16((float)((int)(seed >> 28) - 8) / 8.0f);
    }
    TRY(wmAlloc(&device, context, bytes));
    TRY(wmCopy(context, device, host, bytes, NULL));
    TRY(wmSynchronize(context, NULL));
    free(host);
    return device;
}

#ifdef EXAMPLE_CUDA
/* Ten layers as one graph: execution neither allocates nor synchronises, so it is captured as it stands. */
static void run_captured(wmPlan *plan, const wmMatmulArgs *args) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < STEPS; i++) TRY(wmMatmulExecute(plan, args, stream));
    cudaStreamEndCapture(stream, &graph);
    TRY(wmPlanRetainInGraph(plan, graph));
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}
#endif

int main(void) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    TRY(wmContextCreate(&context, NULL));

    wmMatmulDesc desc = wmMatmulDescDefault(WM_BF16, M, N, K);
    desc.b.op = WM_OP_TRANSPOSE;
    desc.bias = WM_BIAS_N;
    desc.activation = WM_ACT_GELU_TANH;
    TRY(wmMatmulPlanCreate(&plan, context, &desc, NULL));
    printf("%s by %s\n", wmPlanProblem(plan), wmPlanSolver(plan));

    void *a = upload_random(context, M * K, 1), *b = upload_random(context, N * K, 2), *d = NULL, *workspace = NULL;
    void *bias = upload_random(context, N, 3);
    size_t bytes = 0;
    TRY(wmPlanWorkspace(plan, &bytes));
    TRY(wmAlloc(&workspace, context, bytes));
    TRY(wmAlloc(&d, context, (size_t)M * N * sizeof(uint16_t)));

    wmMatmulArgs args = wmMatmulArgsDefault(a, b, d);
    args.bias = bias;
    args.workspace = workspace; /* the main path: the caller's workspace, of exactly the plan's size */
    args.workspace_bytes = bytes;
    int captured = 0;
#ifdef EXAMPLE_CUDA
    captured = wmContextPlace(context) == WM_PLACE_GPU && wmPlanCapturable(plan);
    if (captured) run_captured(plan, &args);
#endif
    for (int i = 0; !captured && i < STEPS; i++) TRY(wmMatmulExecute(plan, &args, NULL));
    TRY(wmSynchronize(context, NULL));

    uint16_t first = 0;
    TRY(wmCopy(context, &first, d, sizeof first, NULL));
    TRY(wmSynchronize(context, NULL));
    printf("d[0] = 0x%04x after %d runs%s\n", first, STEPS, captured ? " in one graph" : "");

    wmFree(context, a);
    wmFree(context, b);
    wmFree(context, d);
    wmFree(context, bias);
    wmFree(context, workspace);
    wmPlanDestroy(plan);
    wmContextDestroy(context);
    return 0;
}
