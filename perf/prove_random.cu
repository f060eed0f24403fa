/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers on a GPU against three others: the CPU (same bits), memset and cuRAND (speed), the clock (latency).
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -I. perf/prove_random.cu
 * build/dev/libwarpmath.a \ -lcurand -ldl -lpthread -o prove
 *     ./prove hash [LOG [gpu|cpu]]     sums over 2^32 elements and more of each exact class, on both or one: CSV
 *     ./prove table          every class of memset in the same run, and over the better of cuRAND's two orders: CSV
 *     ./prove latency        microseconds from nothing to 1024 values
 */
#include <cuda_runtime.h>
#include <curand.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <warpmath/warpmath.h>

typedef unsigned long long u64;

static void check(cudaError_t error, int line) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
    exit(1);
}
static void wm_check(wmStatus status, int line) {
    if (status == WM_OK) return;
    fprintf(stderr, "line %d: %s\n", line, wmLastError());
    exit(1);
}
static void curand_check(curandStatus_t status, int line) {
    if (status == CURAND_STATUS_SUCCESS) return;
    fprintf(stderr, "line %d: cuRAND %d\n", line, (int)status);
    exit(1);
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static wmContext *open_at(wmPlace place) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = place;
    options.cpu_threads = 1; /* the program has threads of its own */
    wm_check(wmContextCreate(&context, &options), __LINE__);
    return context;
}

/* ---- The same bits: the sum over all words of a mixture of word and index, in any order ---- */

static __host__ __device__ u64 mixture(u64 index, unsigned word) { /* splitmix64 */
    u64 z = index * 0x9e3779b97f4a7c15ull + word;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

__global__ void __launch_bounds__(256) sum_words(const unsigned *w, u64 n, u64 from, u64 *sum) {
    u64 mine = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) mine += mixture(from + i, w[i]);
    atomicAdd(sum, mine);
}

typedef struct slice {
    wmContext *context;
    const char *problem;
    wmRandomKey key;
    u64 offset, words;
    int64_t from, to;
    u64 sum;
} slice;

static void *sum_on_cpu(void *user) {
    slice *s = (slice *)user;
    const int64_t most = 1 << 18;
    unsigned *buffer = (unsigned *)malloc((size_t)most * 8);
    wmPlan *plan = NULL;
    wm_check(wmPlanCreate(&plan, s->context, s->problem, NULL), __LINE__);
    for (int64_t i = s->from; i < s->to; i += most) {
        wmRandomArgs args = wmRandomArgsDefault(buffer, std::min(most, s->to - i), s->key);
        args.offset = s->offset + (u64)i;
        wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
        for (u64 k = 0; k < (u64)args.count * s->words; k++) s->sum += mixture((u64)i * s->words + k, buffer[k]);
    }
    wmPlanDestroy(plan);
    free(buffer);
    return NULL;
}

static u64 on_cpu(wmContext *context, const char *problem, wmRandomKey key, u64 offset, int64_t count, u64 words) {
    const int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    std::vector<slice> slices((size_t)threads);
    std::vector<pthread_t> ids((size_t)threads);
    u64 sum = 0;
    for (int t = 0; t < threads; t++) {
        slices[t] = {context,
                     problem,
                     key,
                     offset,
                     words,
                     count / threads * t,
                     t + 1 < threads ? count / threads * (t + 1) : count,
                     0};
        pthread_create(&ids[t], NULL, sum_on_cpu, &slices[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL), sum += slices[t].sum;
    return sum;
}

static u64 on_gpu(wmContext *context, const char *problem, wmRandomKey key, u64 offset, int64_t count, u64 words,
                  void *buffer, int64_t chunk) {
    wmPlan *plan = NULL;
    u64 *sum = NULL, all = 0;
    check(cudaMalloc(&sum, sizeof *sum), __LINE__);
    check(cudaMemset(sum, 0, sizeof *sum), __LINE__);
    wm_check(wmPlanCreate(&plan, context, problem, NULL), __LINE__);
    for (int64_t i = 0; i < count; i += chunk) {
        wmRandomArgs args = wmRandomArgsDefault(buffer, std::min(chunk, count - i), key);
        args.offset = offset + (u64)i;
        wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
        sum_words<<<1056, 256>>>((const unsigned *)buffer, (u64)args.count * words, (u64)i * words, sum);
    }
    check(cudaMemcpy(&all, sum, sizeof all, cudaMemcpyDeviceToHost), __LINE__);
    check(cudaFree(sum), __LINE__);
    wmPlanDestroy(plan);
    return all;
}

/* Both sides, or the one of `side`, whose sums may be compared with another machine's. */
static int hash(int log, const char *side) {
    static const char *const problems[] = {
        "random bits u32",
        "random bits u64",
        "random uniform f32",
        "random uniform f64",
        "random normal f32",
        "random normal f64",
        "random bits u32 seq=curand",
        "random uniform f32 seq=curand",
        "random uniform f64 seq=curand",
        "random bits u32 gen=philox4x64-10",
        "random bits u32 gen=threefry2x32-20",
        "random bits u32 gen=threefry4x64-20",
        "random uniform f32 gen=sobol32 dims=7 scramble=owen",
    };
    static const u64 offsets[] = {
        0, (1ull << 32) - 3, (1ull << 32) + 3, (1ull << 34) - 3, (1ull << 34) + 3, (1ull << 63) + 3};
    const int use_gpu = strcmp(side, "cpu") != 0, use_cpu = strcmp(side, "gpu") != 0;
    wmContext *gpu = use_gpu ? open_at(WM_PLACE_GPU) : NULL, *cpu = use_cpu ? open_at(WM_PLACE_CPU) : NULL;
    const wmRandomKey key = {20261130, 0};
    const int64_t chunk = (1ll << 32) + 5; /* one call writes more than 2^32 elements */
    void *buffer = NULL;
    int bad = 0;
    if (use_gpu) check(cudaMalloc(&buffer, (size_t)chunk * 8), __LINE__);
    printf("problem,offset,count,gpu,cpu,verdict\n"); /* 0: not computed */
    for (const char *problem : problems) {
        const int wide = strstr(problem, " u64") || strstr(problem, " f64");
        for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
            int64_t count = k ? (k % 2 ? 1000003 : 999999) : (1ll << log) + 5;
            u64 a = 0, b = 0;
            if (use_gpu) a = on_gpu(gpu, problem, key, offsets[k], count, wide ? 2 : 1, buffer, chunk);
            if (use_cpu) b = on_cpu(cpu, problem, key, offsets[k], count, wide ? 2 : 1);
            const char *verdict = !use_gpu || !use_cpu ? "" : a == b ? "same" : "DIFFERENT";
            printf("%s,%llu,%lld,%016llx,%016llx,%s\n", problem, offsets[k], (long long)count, a, b, verdict);
            fflush(stdout);
            bad += use_gpu && use_cpu && a != b;
        }
    }
    if (use_gpu) check(cudaFree(buffer), __LINE__);
    wmContextDestroy(gpu);
    wmContextDestroy(cpu);
    return bad != 0;
}

/* ---- Speed: rounds of everything in turn, medians ---- */

enum { ROUNDS = 15 };

typedef struct entry {
    const char *name;
    size_t bytes;
    wmPlan *plan;        /* ours, or */
    curandGenerator_t g; /* cuRAND's, or memset's */
    int call;            /* of cuRAND: 0 bits, 1 uniform, 2 normal, 3 and 4 in f64 */
    std::vector<float> ms;
} entry;

static void run(const entry *e, void *out) {
    if (e->plan) {
        const int64_t element = strstr(e->name, " u64") || strstr(e->name, " f64") ? 8 : 4;
        wmRandomArgs args = wmRandomArgsDefault(out, (int64_t)e->bytes / element, wmRandomKeyMake(7));
        wm_check(wmRandomExecute(e->plan, &args, NULL), __LINE__);
    } else if (!e->g) {
        check(cudaMemsetAsync(out, 0x5a, e->bytes), __LINE__);
    } else {
        const size_t n = e->bytes / (e->call > 2 ? 8 : 4);
        if (e->call == 0) curand_check(curandGenerate(e->g, (unsigned *)out, n), __LINE__);
        if (e->call == 1) curand_check(curandGenerateUniform(e->g, (float *)out, n), __LINE__);
        if (e->call == 2) curand_check(curandGenerateNormal(e->g, (float *)out, n, 0, 1), __LINE__);
        if (e->call == 3) curand_check(curandGenerateUniformDouble(e->g, (double *)out, n), __LINE__);
        if (e->call == 4) curand_check(curandGenerateNormalDouble(e->g, (double *)out, n, 0, 1), __LINE__);
    }
}

static double median(entry *e) {
    std::sort(e->ms.begin(), e->ms.end());
    return 1e-3 * e->ms[e->ms.size() / 2];
}

static curandGenerator_t theirs(curandOrdering_t order) {
    curandGenerator_t g = NULL;
    curand_check(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10), __LINE__);
    curand_check(curandSetGeneratorOrdering(g, order), __LINE__);
    curand_check(curandSetPseudoRandomGeneratorSeed(g, 7), __LINE__);
    return g;
}

static int table(void) {
    static const struct {
        const char *problem;
        int rival;
    } classes[] = {
        {"random bits u32 n=2^28",                                       0 },
        {"random bits u64 n=2^27",                                       -1},
        {"random uniform f32 n=2^28",                                    1 },
        {"random uniform f64 n=2^27",                                    3 },
        {"random normal f32 n=2^28",                                     2 },
        {"random normal f64 n=2^27",                                     4 },
        {"random bits u32 seq=curand n=2^28",                            0 },
        {"random uniform f32 seq=curand n=2^28",                         1 },
        {"random uniform f64 seq=curand n=2^27",                         3 },
        {"random bits u32 gen=philox4x32-7 n=2^28",                      -1},
        {"random bits u32 gen=philox4x64-10 n=2^28",                     -1},
        {"random bits u32 gen=threefry2x32-20 n=2^28",                   -1},
        {"random bits u32 gen=threefry4x64-20 n=2^28",                   -1},
        {"random bits u32 cols=1000 ld=1024 n=2^28",                     -1},
        {"random bits u32 gen=sobol32 n=2^28",                           -1},
        {"random uniform f32 gen=sobol32 dims=8 scramble=owen n=2^28",   -1},
        {"random uniform f64 gen=sobol64 dims=100 scramble=owen n=2^27", -1},
        {"random normal f32 gen=sobol32 dims=8 scramble=owen n=2^28",    -1},
    };
    const size_t bytes = 1ull << 30;
    void *out = NULL;
    wmContext *context = open_at(WM_PLACE_GPU);
    check(cudaMalloc(&out, 2 * bytes), __LINE__); /* room for gaps between rows */
    curandGenerator_t g[2] = {theirs(CURAND_ORDERING_PSEUDO_DEFAULT), theirs(CURAND_ORDERING_PSEUDO_DYNAMIC)};
    std::vector<entry> all;
    all.push_back({"memset", bytes, NULL, NULL, 0, {}});
    for (int call = 0; call < 5; call++)
        for (int order = 0; order < 2; order++)
            all.push_back({order ? "dynamic" : "default", bytes, NULL, g[order], call, {}});
    for (const auto &c : classes) {
        wmPlan *plan = NULL;
        wm_check(wmPlanCreate(&plan, context, c.problem, NULL), __LINE__);
        all.push_back({c.problem, bytes, plan, NULL, c.rival, {}});
    }
    cudaEvent_t from, to;
    check(cudaEventCreate(&from), __LINE__);
    check(cudaEventCreate(&to), __LINE__);
    for (int i = 0; i < 500; i++) run(&all[0], out); /* the clock idles at a sixth of its rate */
    for (int round = -2; round < ROUNDS; round++)
        for (entry &e : all) {
            float ms = 0;
            check(cudaEventRecord(from), __LINE__);
            run(&e, out);
            check(cudaEventRecord(to), __LINE__);
            check(cudaEventSynchronize(to), __LINE__);
            check(cudaEventElapsedTime(&ms, from, to), __LINE__);
            if (round >= 0) e.ms.push_back(ms);
        }
    double memset_seconds = median(&all[0]);
    printf("class,solver,seconds,TB_s,of_memset,curand_default_of_memset,curand_dynamic_of_memset,over_the_better\n");
    printf("memset,,%.4e,%.3f,1,,,\n", memset_seconds, 1e-12 * (double)bytes / memset_seconds);
    for (size_t i = 11; i < all.size(); i++) {
        double s = median(&all[i]), a = 0, b = 0;
        int rival = all[i].call;
        if (rival >= 0) a = median(&all[1 + 2 * rival]), b = median(&all[2 + 2 * rival]);
        printf("%s,%s,%.4e,%.3f,%.3f,%.3f,%.3f,%.2f\n", all[i].name, wmPlanSolver(all[i].plan), s,
               1e-12 * (double)bytes / s, memset_seconds / s, a ? memset_seconds / a : 0, b ? memset_seconds / b : 0,
               a ? std::min(a, b) / s : 0);
        wmPlanDestroy(all[i].plan);
    }
    return 0;
}

/* ---- Latency ---- */

static double middle(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return 1e6 * v[v.size() / 2];
}

static int latency(void) {
    wmContext *context = open_at(WM_PLACE_GPU);
    float *out = NULL;
    check(cudaMalloc(&out, 4096), __LINE__);
    wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
    desc.count_hint = 1024;
    std::vector<double> plans, shots, executes, states, rivals;
    for (int i = 0; i < 220; i++) {
        wmRandomArgs args = wmRandomArgsDefault(out, 1024, wmRandomKeyMake((u64)i));
        wmPlan *plan = NULL;
        double t0 = now();
        wm_check(wmRandomPlanCreate(&plan, context, &desc, NULL), __LINE__);
        wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
        check(cudaStreamSynchronize(0), __LINE__);
        double t1 = now();
        wm_check(wmRandom(context, &desc, &args, NULL), __LINE__);
        check(cudaStreamSynchronize(0), __LINE__);
        double t2 = now();
        wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
        check(cudaStreamSynchronize(0), __LINE__);
        double t3 = now();
        wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
        double t4 = now();
        check(cudaStreamSynchronize(0), __LINE__);
        wmPlanDestroy(plan);
        if (i < 20) continue;
        plans.push_back(t1 - t0), shots.push_back(t2 - t1), executes.push_back(t3 - t2), states.push_back(t4 - t3);
    }
    for (int i = 0; i < 12; i++) {
        curandGenerator_t g = NULL;
        double t0 = now();
        curand_check(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10), __LINE__);
        curand_check(curandSetPseudoRandomGeneratorSeed(g, (u64)i), __LINE__);
        curand_check(curandGenerateNormal(g, out, 1024, 0, 1), __LINE__);
        check(cudaStreamSynchronize(0), __LINE__);
        if (i >= 2) rivals.push_back(now() - t0);
        curand_check(curandDestroyGenerator(g), __LINE__);
    }
    printf("1024 normals f32 and a wait, us: plan + draw %.1f, one-shot %.1f, draw by a plan %.1f (%.1f to enqueue); "
           "cuRAND create + seed + draw %.1f\n",
           middle(plans), middle(shots), middle(executes), middle(states), middle(rivals));
    return 0;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "hash")) return hash(argc > 2 ? atoi(argv[2]) : 32, argc > 3 ? argv[3] : "both");
    if (!strcmp(mode, "table")) return table();
    if (!strcmp(mode, "latency")) return latency();
    fprintf(stderr, "hash [LOG], table or latency\n");
    return 2;
}
