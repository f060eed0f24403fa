/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are a GPU's and a CPU's draws the same bits? Draws ranges of problems on both places, compares every byte, and prints
 * a hash of each range: same_random "random integers u32" 32 "random mask u32" 27 … (log2 of the elements).
 *
 *     cc -std=c11 -O3 -Iinclude perf/same_random.c -Lbuild/gpu -lwarpmath -o same_random
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpmath/warpmath.h>

enum { SLICE = 1 << 26 }; /* bytes */

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, wmLastError());
    exit(1);
}

static wmRandomArgs arguments(const char *problem) {
    wmRandomArgs args = wmRandomArgsDefault(NULL, 0, wmRandomKeyMake(20250411));
    args.span = strstr(problem, "u8") ? 200 : strstr(problem, "u64") ? 1000000000000u : 3000000000u;
    args.p = 0.3;
    args.rate = strstr(problem, "poisson") ? 100 : 1;
    args.trials = 1000;
    args.shape = 2.5, args.shape2 = 0.75;
    args.low = strstr(problem, "truncated") ? -1 : 0;
    args.high = strstr(problem, "truncated") ? 3 : 1;
    return args;
}

static uint64_t hash(const uint64_t *x, size_t n, uint64_t h) {
    for (size_t i = 0; i < n; i++) h = (h ^ x[i]) * 0x9e3779b97f4a7c15u + (h >> 29);
    return h;
}

int main(int argc, char **argv) {
    wmContextOptions on_gpu = wmContextOptionsDefault(), on_cpu = on_gpu;
    wmContext *gpu = NULL, *cpu = NULL;
    void *device = NULL;
    unsigned char *a = malloc(SLICE), *b = malloc(SLICE);
    on_gpu.place = WM_PLACE_GPU, on_cpu.place = WM_PLACE_CPU, on_cpu.cpu_threads = 16;
    need(wmContextCreate(&gpu, &on_gpu) == WM_OK && wmContextCreate(&cpu, &on_cpu) == WM_OK, "contexts");
    need(a && b && wmAlloc(&device, gpu, SLICE) == WM_OK, "memory");
    for (int k = 1; k + 1 < argc; k += 2) {
        wmPlan *ours = NULL, *theirs = NULL;
        uint64_t count = (uint64_t)1 << atoi(argv[k + 1]), h = 0;
        int64_t bytes = strstr(argv[k], "64") ? 8 : strstr(argv[k], "16") ? 2 : strstr(argv[k], "u8") ? 1 : 4;
        need(wmPlanCreate(&ours, gpu, argv[k], NULL) == WM_OK, argv[k]);
        need(wmPlanCreate(&theirs, cpu, argv[k], NULL) == WM_OK, argv[k]);
        wmRandomArgs args = arguments(argv[k]);
        int64_t different = 0;
        for (uint64_t done = 0; done < count; done += (uint64_t)args.count) {
            args.count = SLICE / bytes;
            args.offset = done;
            args.out = device;
            need(wmRandomExecute(ours, &args, NULL) == WM_OK && wmCopy(gpu, a, device, SLICE, NULL) == WM_OK, argv[k]);
            args.out = b;
            need(wmRandomExecute(theirs, &args, NULL) == WM_OK && wmSynchronize(gpu, NULL) == WM_OK, argv[k]);
            different += memcmp(a, b, SLICE) != 0;
            h = hash((const uint64_t *)(const void *)a, SLICE / 8, h);
        }
        printf("\"%s\",%s,%s,%llu values,%lld slices differ,hash %016llx\n", argv[k], wmPlanSolver(ours),
               wmPlanSolver(theirs), (unsigned long long)count, (long long)different, (unsigned long long)h);
        fflush(stdout);
        wmPlanDestroy(ours);
        wmPlanDestroy(theirs);
    }
    wmFree(gpu, device);
    wmContextDestroy(gpu);
    wmContextDestroy(cpu);
    return 0;
}
