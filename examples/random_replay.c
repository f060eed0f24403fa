/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A draw captured once into a CUDA graph and replayed: key and offset lie in device memory, and each replay moves the
 * offset on, so that STEPS replays give what one draw of all their values gives. Without a GPU the plan is executed as
 * often instead, and prints the same hash.
 *
 *     cc -DEXAMPLE_CUDA random_replay.c $(pkg-config --cflags --libs warpmath) -lcudart    with a graph
 *     cc random_replay.c $(pkg-config --cflags --libs warpmath)                            without
 */
#include <warpmath/warpmath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EXAMPLE_CUDA
#include <cuda_runtime_api.h>
#endif

enum { COUNT = 100003, STEPS = 8 };

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        wmStatus status_ = (call);                                                                                     \
        if (status_ != WM_OK) {                                                                                        \
            fprintf(stderr, "%s: %s\n", wmStatusName(status_), wmLastError());                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* FNV-1a over 32-bit words. */
static uint64_t hash_words(uint64_t hash, const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

#ifdef EXAMPLE_CUDA
/* A graph of one draw. */
static cudaGraphExec_t capture(const wmPlan *plan, const wmRandomArgs *args, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    TRY(wmRandomExecute(plan, args, stream));
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) {
        fprintf(stderr, "the draw could not be captured\n");
        exit(1);
    }
    cudaGraphDestroy(graph);
    return exec;
}
#endif

/* STEPS draws of COUNT values, hashed one after the other. */
static uint64_t replay(wmContext *context, const wmPlan *plan, const wmRandomArgs *args, uint32_t *host) {
    uint64_t hash = 0xcbf29ce484222325u;
    wmStream stream = NULL;
#ifdef EXAMPLE_CUDA
    cudaGraphExec_t exec = NULL;
    int gpu = wmContextPlace(context) == WM_PLACE_GPU;
    if (gpu) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        exec = capture(plan, args, stream);
    }
#endif
    for (int step = 0; step < STEPS; step++) {
#ifdef EXAMPLE_CUDA
        if (gpu)
            cudaGraphLaunch(exec, stream);
        else
            TRY(wmRandomExecute(plan, args, stream));
#else
        TRY(wmRandomExecute(plan, args, stream));
#endif
        TRY(wmCopy(context, host, args->out, COUNT * sizeof *host, stream));
        TRY(wmSynchronize(context, stream));
        hash = hash_words(hash, host, COUNT);
    }
#ifdef EXAMPLE_CUDA
    if (gpu) {
        cudaGraphExecDestroy(exec);
        cudaStreamDestroy(stream);
    }
#endif
    return hash;
}

int main(void) {
    wmContext *context = NULL;
    wmPlan *plan = NULL;
    void *out = NULL, *whole = NULL, *device = NULL;
    wmRandomState state;
    memset(&state, 0, sizeof state);
    state.key = wmRandomKeyFold(wmRandomKeyMake(2026), 11);
    state.offset = 5;
    uint32_t *host = (uint32_t *)malloc((size_t)COUNT * STEPS * sizeof *host);
    if (!host) return 1;
    TRY(wmContextCreate(&context, NULL));
    TRY(wmAlloc(&out, context, COUNT * sizeof *host));
    TRY(wmAlloc(&whole, context, (size_t)COUNT * STEPS * sizeof *host));
    TRY(wmAlloc(&device, context, sizeof state));
    TRY(wmCopy(context, device, &state, sizeof state, NULL));
    TRY(wmSynchronize(context, NULL));

    wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
    wmRandomArgs all = wmRandomArgsDefault(whole, (int64_t)COUNT * STEPS, state.key);
    all.offset = state.offset;
    TRY(wmRandom(context, &desc, &all, NULL));
    TRY(wmCopy(context, host, whole, (size_t)COUNT * STEPS * sizeof *host, NULL));
    TRY(wmSynchronize(context, NULL));
    uint64_t want = hash_words(0xcbf29ce484222325u, host, (size_t)COUNT * STEPS);

    desc.key_source = WM_KEY_DEVICE;
    TRY(wmRandomPlanCreate(&plan, context, &desc, NULL));
    wmRandomArgs args = wmRandomArgsDefault(out, COUNT, wmRandomKeyMake(0));
    args.state = (wmRandomState *)device;
    args.advance = 1;
    uint64_t got = replay(context, plan, &args, host);
    printf("%d normals, drawn at once %016llx, in %d replays by %s %016llx\n", COUNT * STEPS, (unsigned long long)want,
           STEPS, wmPlanSolver(plan), (unsigned long long)got);

    wmPlanDestroy(plan);
    wmFree(context, device);
    wmFree(context, whole);
    wmFree(context, out);
    wmContextDestroy(context);
    free(host);
    return got == want ? 0 : 1;
}
