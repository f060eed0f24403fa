/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers on a GPU against three others: the CPU (same bits), cuRAND (same order), the clock (latency).
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude -I. perf/prove_random.cu
 * build/dev/libwarpmath.a \ -lcurand -ldl -lpthread -o prove
 *     ./prove hash [LOG [both|gpu|cpu [PART]]]   sums over 2^32 elements and more of each exact class (of those whose
 *                            problem has PART in it), on both places or one: CSV. THREADS=n: threads of the CPU
 *     ./prove pairs          cuRAND's f64 uniforms of one call beside ours: where they differ, and what stands there
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

/* A class of draws: `less`: of 2^LOG elements 2^-less are drawn. Its arguments, beside the defaults. */
typedef struct draw {
    const char *problem;
    double parameter; /* rate, probability, shape */
    int less;
} draw;

static const draw draws[] = {
    {"random bits u32",                                     0,    0},
    {"random bits u64",                                     0,    0},
    {"random uniform f32",                                  0,    0},
    {"random uniform f64",                                  0,    0},
    {"random normal f32",                                   0,    0},
    {"random normal f64",                                   0,    0},
    {"random bits u32 seq=curand",                          0,    0},
    {"random uniform f32 seq=curand",                       0,    0},
    {"random uniform f64 seq=curand",                       0,    0},
    {"random bits u32 gen=philox4x32-7",                    0,    0},
    {"random bits u32 gen=philox4x64-10",                   0,    0},
    {"random bits u32 gen=threefry2x32-20",                 0,    0},
    {"random bits u32 gen=threefry4x64-20",                 0,    0},
    {"random uniform f32 gen=sobol32 dims=7 scramble=owen", 0,    0},
    {"random bits u64 gen=sobol64 dims=3",                  0,    0},
    {"random normal f32 gen=sobol32 dims=8",                0,    0},
    {"random bits u8",                                      0,    0},
    {"random bits i16",                                     0,    0},
    {"random uniform f16",                                  0,    0},
    {"random uniform bf16",                                 0,    0},
    {"random uniform bf16 interval=open",                   0,    0},
    {"random uniform f32 interval=open",                    0,    0},
    {"random uniform f32 interval=open_closed",             0,    0},
    {"random uniform f64 interval=open",                    0,    0},
    {"random normal f16",                                   0,    0},
    {"random normal bf16",                                  0,    0},
    {"random integers u8",                                  0,    0},
    {"random integers u16",                                 0,    0},
    {"random integers u32",                                 0,    0},
    {"random integers u64",                                 0,    0},
    {"random bernoulli u8",                                 0.3,  0},
    {"random mask u32",                                     0.3,  5}, /* 32 draws an element */
    {"random exponential f32",                              0,    0},
    {"random exponential f64",                              0,    0},
    {"random exponential bf16",                             0,    0},
    {"random lognormal f32",                                0,    0},
    {"random lognormal f64",                                0,    0},
    {"random lognormal f16",                                0,    0},
    {"random poisson u32",                                  1,    0},
    {"random poisson u32",                                  10,   0},
    {"random poisson u32",                                  100,  0},
    {"random poisson u32",                                  5000, 0},
    {"random poisson u64",                                  1e6,  0},
    {"random binomial u32",                                 0.3,  0},
    {"random geometric u32",                                0.01, 0},
    {"random truncated_normal f32",                         0,    0},
    {"random gamma f32",                                    2.5,  0},
    {"random gamma f64",                                    0.5,  0},
    {"random beta f64",                                     2.5,  0},
    {"random chi_square f32",                               3,    0},
    {"random student_t f64",                                3,    0},
    {"random laplace f32",                                  0,    0},
    {"random logistic f64",                                 0,    0},
    {"random cauchy f32",                                   0,    0},
    {"random gumbel f32",                                   0,    0},
    {"random weibull f64",                                  1.5,  0},
    {"random categorical u32",                              0,    0},
    {"random permutation u64",                              0,    0},
    {"random normal_vectors f32",                           0,    0},
    {"random dirichlet f32",                                0,    0},
    {"random round bf16",                                   0,    0},
    {"random round e4m3",                                   0,    0},
    {"random uniform bf16 gen=philox4x64-10",               0,    0},
    {"random integers u64 gen=threefry4x64-20",             0,    0},
    {"random bernoulli u8 gen=threefry2x32-20",             0.3,  0},
    {"random lognormal f32 gen=philox4x32-7",               0,    0},
    {"random poisson u32 gen=threefry4x64-20",              10,   0},
    {"random gamma f32 gen=philox4x64-10",                  2.5,  0},
    {"random permutation u64 gen=threefry4x64-20",          0,    0},
    {"random normal_vectors f32 gen=threefry2x32-20",       0,    0},
    {"random exponential f32 gen=sobol32 dims=8",           0,    0},
    {"random integers u8 gen=sobol32 dims=3 scramble=owen", 0,    0},
    {"random laplace f64 gen=sobol64 dims=3",               0,    0},
};

enum { CATEGORIES = 37, LENGTH = 4, PERIOD = 1 << 20, CPU_MOST = 1 << 18 };

static int bytes_of(const char *problem) {
    static const struct {
        const char *type;
        int bytes;
    } types[] = {
        {" u64",  8},
        {" f64",  8},
        {" f16",  2},
        {" bf16", 2},
        {" i16",  2},
        {" u16",  2},
        {" u8",   1},
        {" e4m3", 1}
    };
    for (const auto &t : types)
        if (strstr(problem, t.type)) return t.bytes;
    return 4;
}

/* What some draws read, in the place's memory: a table of categories, a triangle, values of period PERIOD to round. */
typedef struct readings {
    void *alias, *triangle;
    float *in;
} readings;

static __host__ __device__ float value_at(u64 i) {
    u64 z = mixture(i & (PERIOD - 1), 12345);
    return (float)((double)(z >> 40) * 0x1p-20 - 8) * (float)(1 + (z & 63));
}
__global__ void fill_values(float *x, u64 n) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) x[i] = value_at(i);
}

static void *copied(wmContext *context, const void *from, size_t bytes) {
    void *to = NULL;
    wm_check(wmAlloc(&to, context, bytes), __LINE__);
    wm_check(wmCopy(context, to, from, bytes, NULL), __LINE__);
    wm_check(wmSynchronize(context, NULL), __LINE__);
    return to;
}

static readings readings_make(wmContext *context, int64_t values, int on_gpu) {
    double weights[CATEGORIES];
    u64 alias[CATEGORIES];
    float triangle[LENGTH * LENGTH];
    for (int k = 0; k < CATEGORIES; k++) weights[k] = k % 5 == 4 ? 0 : 1 + k;
    for (int k = 0; k < LENGTH * LENGTH; k++) triangle[k] = 0.25f + (float)(k % 7);
    wm_check(wmRandomAliasBuild(alias, weights, CATEGORIES), __LINE__);
    readings r = {copied(context, alias, sizeof alias), copied(context, triangle, sizeof triangle), NULL};
    wm_check(wmAlloc((void **)&r.in, context, (size_t)values * 4), __LINE__);
    if (on_gpu)
        fill_values<<<1056, 256>>>(r.in, (u64)values);
    else
        for (int64_t i = 0; i < values; i++) r.in[i] = value_at((u64)i);
    return r;
}

static wmRandomArgs arguments(const draw *d, const readings *r, void *out, int64_t count, wmRandomKey key) {
    wmRandomArgs args = wmRandomArgsDefault(out, count, key);
    int bytes = bytes_of(d->problem), vectors = strstr(d->problem, "vectors") || strstr(d->problem, "dirichlet");
    args.span = bytes == 1 ? 200 : bytes == 2 ? 50000 : bytes == 8 ? 1000000000000u : 3000000000u;
    if (strstr(d->problem, "permutation")) args.span = (1ull << 32) + 1000;
    args.p = d->parameter > 0 && d->parameter < 1 ? d->parameter : 0;
    args.rate = strstr(d->problem, "poisson") ? d->parameter : 1;
    args.shape = d->parameter ? d->parameter : 1;
    args.shape2 = 0.75;
    args.trials = 1000;
    if (strstr(d->problem, "truncated")) args.low = -1, args.high = 3;
    args.dimension = vectors ? LENGTH : CATEGORIES;
    args.table = vectors ? r->triangle : r->alias;
    args.in = strstr(d->problem, "round") ? r->in : NULL;
    return args;
}

typedef struct slice {
    wmContext *context;
    const draw *what;
    const readings *reads;
    wmRandomKey key;
    u64 offset;
    int64_t from, to;
    u64 sum;
} slice;

static void *sum_on_cpu(void *user) {
    slice *s = (slice *)user;
    unsigned *buffer = (unsigned *)malloc((size_t)CPU_MOST * 8 + 8);
    u64 bytes = (u64)bytes_of(s->what->problem);
    wmPlan *plan = NULL;
    wm_check(wmPlanCreate(&plan, s->context, s->what->problem, NULL), __LINE__);
    for (int64_t i = s->from; i < s->to; i += CPU_MOST) {
        int64_t count = std::min((int64_t)CPU_MOST, s->to - i);
        wmRandomArgs args = arguments(s->what, s->reads, buffer, count, s->key);
        args.offset = s->offset + (u64)i;
        if (args.in) args.in = (const float *)args.in + i % PERIOD;
        memset((char *)buffer + (u64)count * bytes, 0, 4); /* the last word's rest */
        wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
        for (u64 k = 0; k < ((u64)count * bytes + 3) / 4; k++) s->sum += mixture((u64)i * bytes / 4 + k, buffer[k]);
    }
    wmPlanDestroy(plan);
    free(buffer);
    return NULL;
}

static u64 on_cpu(wmContext *context, const draw *what, const readings *reads, wmRandomKey key, u64 offset,
                  int64_t count) {
    const int threads = getenv("THREADS") ? atoi(getenv("THREADS")) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t part = count / threads / CPU_MOST * CPU_MOST;
    std::vector<slice> slices((size_t)threads);
    std::vector<pthread_t> ids((size_t)threads);
    u64 sum = 0;
    for (int t = 0; t < threads; t++) {
        slices[t] = {context, what, reads, key, offset, part * t, t + 1 < threads ? part * (t + 1) : count, 0};
        pthread_create(&ids[t], NULL, sum_on_cpu, &slices[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL), sum += slices[t].sum;
    return sum;
}

static u64 on_gpu(wmContext *context, const draw *what, const readings *reads, wmRandomKey key, u64 offset,
                  int64_t count, void *buffer) {
    wmPlan *plan = NULL;
    u64 *sum = NULL, all = 0, bytes = (u64)bytes_of(what->problem);
    char text[200];
    check(cudaMalloc(&sum, sizeof *sum), __LINE__);
    check(cudaMemset(sum, 0, sizeof *sum), __LINE__);
    snprintf(text, sizeof text, "%s n=%lld", what->problem, (long long)count);
    wm_check(wmPlanCreate(&plan, context, text, NULL), __LINE__);
    wmRandomArgs args = arguments(what, reads, buffer, count, key);
    args.offset = offset;
    check(cudaMemset((char *)buffer + (u64)count * bytes, 0, 4), __LINE__);
    wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
    sum_words<<<1056, 256>>>((const unsigned *)buffer, ((u64)count * bytes + 3) / 4, 0, sum);
    check(cudaMemcpy(&all, sum, sizeof all, cudaMemcpyDeviceToHost), __LINE__);
    check(cudaFree(sum), __LINE__);
    wmPlanDestroy(plan);
    return all;
}

/* Where a draw begins, and how many it is: all of them from 0, a million about each place where an index may overflow.
 */
static int64_t range_of(const draw *d, int k, int log, u64 *offset) {
    static const u64 offsets[] = {
        0, (1ull << 32) - 3, (1ull << 32) + 3, (1ull << 34) - 3, (1ull << 34) + 3, (1ull << 63) + 3};
    int vectors = strstr(d->problem, "vectors") || strstr(d->problem, "dirichlet");
    int64_t count = k ? k % 2 ? 1000003 : 999999 : (1ll << (log - d->less)) + 5;
    *offset = offsets[k];
    if (vectors) count = count / LENGTH * LENGTH, *offset = *offset / LENGTH * LENGTH;
    if (strstr(d->problem, "permutation") && k > 0) return 0;
    return count;
}

/* Both sides, or the one of `side`, whose sums may be compared with another machine's. */
static int hash(int log, const char *side, const char *filter) {
    const int use_gpu = strcmp(side, "cpu") != 0, use_cpu = strcmp(side, "gpu") != 0;
    wmContext *gpu = use_gpu ? open_at(WM_PLACE_GPU) : NULL, *cpu = use_cpu ? open_at(WM_PLACE_CPU) : NULL;
    const wmRandomKey key = {20261130, 0};
    const int64_t most = (1ll << log) + 8;
    void *buffer = NULL;
    readings there = {NULL, NULL, NULL}, here = there;
    int bad = 0;
    if (use_gpu) there = readings_make(gpu, most, 1);
    if (use_cpu) here = readings_make(cpu, PERIOD + CPU_MOST, 0);
    if (use_gpu) check(cudaMalloc(&buffer, (size_t)most * 8), __LINE__);
    printf("problem,parameter,offset,count,gpu,cpu,verdict\n");
    for (const draw &d : draws) {
        if (!strstr(d.problem, filter)) continue;
        for (int k = 0; k < 6; k++) {
            wmRandomKey mine = strstr(d.problem, "seq=curand") ? wmRandomKeyMake(key.seed) : key;
            u64 offset = 0, a = 0, b = 0;
            int64_t count = range_of(&d, k, log, &offset);
            if (count == 0) continue;
            if (use_gpu) a = on_gpu(gpu, &d, &there, mine, offset, count, buffer);
            if (use_cpu) b = on_cpu(cpu, &d, &here, mine, offset, count);
            const char *verdict = !use_gpu || !use_cpu ? "" : a == b ? "same" : "DIFFERENT";
            printf("%s,%g,%llu,%lld,%016llx,%016llx,%s\n", d.problem, d.parameter, offset, (long long)count, a, b,
                   verdict);
            fflush(stdout);
            bad += use_gpu && use_cpu && a != b;
        }
    }
    wmContextDestroy(gpu);
    wmContextDestroy(cpu);
    return bad != 0;
}

/* ---- cuRAND's own f64 uniforms, in one call of more than 2^32 of them ---- */

__global__ void __launch_bounds__(256) count_others(const u64 *a, const u64 *b, u64 n, u64 *found) {
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull)
        if (a[i] != b[i]) atomicAdd(&found[0], 1), atomicMin(&found[1], i), atomicMax(&found[2], i);
}

/* Prints how many of n elements differ, the first and the last; gives the first. */
static u64 others(const char *what, const void *a, const void *b, u64 n) {
    u64 *found = NULL, host[3] = {0, ~0ull, 0};
    check(cudaMalloc(&found, sizeof host), __LINE__);
    check(cudaMemcpy(found, host, sizeof host, cudaMemcpyHostToDevice), __LINE__);
    count_others<<<1056, 256>>>((const u64 *)a, (const u64 *)b, n, found);
    check(cudaMemcpy(host, found, sizeof host, cudaMemcpyDeviceToHost), __LINE__);
    check(cudaFree(found), __LINE__);
    printf("%s: %llu of %llu differ, the first %lld, the last %llu\n", what, host[0], n, (long long)host[1], host[2]);
    return host[1];
}

static void theirs(double *out, u64 n, u64 offset) {
    curandGenerator_t g = NULL;
    curand_check(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10), __LINE__);
    curand_check(curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_LEGACY), __LINE__);
    curand_check(curandSetPseudoRandomGeneratorSeed(g, 20261130), __LINE__);
    curand_check(curandSetGeneratorOffset(g, offset), __LINE__);
    curand_check(curandGenerateUniformDouble(g, out, n), __LINE__);
    check(cudaDeviceSynchronize(), __LINE__);
    curand_check(curandDestroyGenerator(g), __LINE__);
}

static int pairs(void) {
    static const u64 counts[] = {(1ull << 27) + 5, (1ull << 31) + 5, (1ull << 32) - 4, 1ull << 32, (1ull << 32) + 5};
    const u64 most = (1ull << 32) + 8;
    wmContext *context = open_at(WM_PLACE_GPU);
    double *ours = NULL, *curand = NULL, *tail = NULL;
    wmPlan *plan = NULL;
    check(cudaMalloc(&ours, most * 8), __LINE__);
    check(cudaMalloc(&curand, most * 8), __LINE__);
    check(cudaMalloc(&tail, 1ull << 27), __LINE__);
    wm_check(wmPlanCreate(&plan, context, "random uniform f64 seq=curand n=2^32", NULL), __LINE__);
    wmRandomArgs args = wmRandomArgsDefault(ours, (int64_t)most, wmRandomKeyMake(20261130));
    wm_check(wmRandomExecute(plan, &args, NULL), __LINE__);
    printf("ours by %s\n", wmPlanSolver(plan));
    for (u64 n : counts) {
        char what[80];
        check(cudaMemset(curand, 0xff, most * 8), __LINE__);
        theirs(curand, n, 0);
        snprintf(what, sizeof what, "%llu in one call", n);
        u64 first = others(what, ours, curand, n);
        if (first >= n) continue;
        u64 at[4] = {first - 2, first - 1, first, first + 1}; /* what stands there */
        for (u64 i : at) {
            double mine = 0, other = 0;
            if (i >= n) continue;
            check(cudaMemcpy(&mine, ours + i, 8, cudaMemcpyDeviceToHost), __LINE__);
            check(cudaMemcpy(&other, curand + i, 8, cudaMemcpyDeviceToHost), __LINE__);
            printf("  element %llu: ours %.17g, cuRAND's %.17g\n", i, mine, other);
        }
        u64 rest = std::min(n - first, 1ull << 24);
        theirs(tail, rest, 2 * first);
        others("  those against a call from there", curand + first, tail, rest);
        others("  those against the beginning", curand + first, ours, rest);
    }
    wmPlanDestroy(plan);
    wmContextDestroy(context);
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
    if (!strcmp(mode, "hash"))
        return hash(argc > 2 ? atoi(argv[2]) : 32, argc > 3 ? argv[3] : "both", argc > 4 ? argv[4] : "");
    if (!strcmp(mode, "pairs")) return pairs();
    if (!strcmp(mode, "latency")) return latency();
    fprintf(stderr, "hash [LOG], pairs or latency\n");
    return 2;
}
