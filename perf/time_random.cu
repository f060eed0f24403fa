/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers on one GPU beside memset of the same bytes and cuRAND (the better of its default and dynamic orders,
 * followed by one more kernel where it lacks the distribution), interleaved in one run: median times as CSV, with the
 * fractions that are to be reached.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude perf/time_random.cu build/gpu/libwarpmath.a
 *          -lcurand -ldl -lpthread -o time_random && ./time_random [part of a problem string]
 */
#include <cuda_runtime.h>
#include <curand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>
#include <warpmath/warpmath.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int e_ = (int)(call);                                                                                          \
        if (e_) {                                                                                                      \
            fprintf(stderr, "%s: %d %s\n", #call, e_, wmLastError());                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- cuRAND and one more kernel ---- */

typedef enum rival {
    NONE,
    BITS,
    UNIFORM,
    UNIFORM64,
    NORMAL,
    NORMAL64,
    LOGNORMAL,
    POISSON,
    RANGE,
    EXPONENTIAL,
    TO_F16,
    TO_BF16,
    NORMAL_BF16,
    SOBOL32,
    SOBOL64
} rival;

__global__ void more(rival what, void *out, const void *in, long long n) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
         i += (long long)gridDim.x * blockDim.x) {
        uint4 w = ((const uint4 *)in)[i];
        float f[4] = {__uint_as_float(w.x), __uint_as_float(w.y), __uint_as_float(w.z), __uint_as_float(w.w)};
        if (what == RANGE) {
            ((uint4 *)out)[i] = make_uint4(__umulhi(w.x, 1000000), __umulhi(w.y, 1000000), __umulhi(w.z, 1000000),
                                           __umulhi(w.w, 1000000));
        } else if (what == EXPONENTIAL) {
            ((float4 *)out)[i] = make_float4(-__logf(f[0]), -__logf(f[1]), -__logf(f[2]), -__logf(f[3]));
        } else {
            unsigned a, b;
            if (what == TO_F16) {
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a) : "f"(f[1]), "f"(f[0]));
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(b) : "f"(f[3]), "f"(f[2]));
            } else {
                asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(a) : "f"(f[1]), "f"(f[0]));
                asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(b) : "f"(f[3]), "f"(f[2]));
            }
            ((uint2 *)out)[i] = make_uint2(a, b);
        }
    }
}

static void *out, *scratch;
static curandGenerator_t generators[2], sobol[2]; /* orders; 32 and 64 bits */

static void run_sobol(rival what, const char *problem, long long n) {
    const char *dims = strstr(problem, "dims=");
    curandGenerator_t g = sobol[what == SOBOL64];
    CHECK(curandSetQuasiRandomGeneratorDimensions(g, dims ? (unsigned)atoi(dims + 5) : 1));
    if (strstr(problem, "bits u64"))
        CHECK(curandGenerateLongLong(g, (unsigned long long *)out, n));
    else if (strstr(problem, "bits"))
        CHECK(curandGenerate(g, (unsigned *)out, n));
    else if (strstr(problem, "normal f32"))
        CHECK(curandGenerateNormal(g, (float *)out, n, 0, 1));
    else if (strstr(problem, "f32"))
        CHECK(curandGenerateUniform(g, (float *)out, n));
    else
        CHECK(curandGenerateUniformDouble(g, (double *)out, n));
}

static void run_rival(rival what, int order, long long n, double rate) {
    curandGenerator_t g = generators[order];
    switch (what) {
    case BITS:
        CHECK(curandGenerate(g, (unsigned *)out, n));
        break;
    case UNIFORM:
        CHECK(curandGenerateUniform(g, (float *)out, n));
        break;
    case UNIFORM64:
        CHECK(curandGenerateUniformDouble(g, (double *)out, n));
        break;
    case NORMAL:
        CHECK(curandGenerateNormal(g, (float *)out, n, 0, 1));
        break;
    case NORMAL64:
        CHECK(curandGenerateNormalDouble(g, (double *)out, n, 0, 1));
        break;
    case LOGNORMAL:
        CHECK(curandGenerateLogNormal(g, (float *)out, n, 0, 1));
        break;
    case POISSON:
        CHECK(curandGeneratePoisson(g, (unsigned *)out, n, rate));
        break;
    default:
        if (what == RANGE)
            CHECK(curandGenerate(g, (unsigned *)scratch, n));
        else if (what == NORMAL_BF16)
            CHECK(curandGenerateNormal(g, (float *)scratch, n, 0, 1));
        else
            CHECK(curandGenerateUniform(g, (float *)scratch, n));
        more<<<132 * 16, 256>>>(what, out, scratch, n / 4);
    }
}

/* ---- Timing ---- */

typedef struct row {
    const char *problem;
    int log2, bytes; /* elements, bytes of one */
    rival other;
    double parameter;              /* rate or probability */
    double of_memset, over_curand; /* what is to be reached; 0: nothing said */
} row;

static const row rows[] = {
    {"random bits u32",                                        28, 4, BITS,        0,     0.95, 1   },
    {"random bits u64",                                        27, 8, NONE,        0,     0.95, 0   },
    {"random uniform f32",                                     28, 4, UNIFORM,     0,     0.9,  1   },
    {"random uniform f64",                                     27, 8, UNIFORM64,   0,     0.92, 2   },
    {"random normal f32 accuracy=fast",                        28, 4, NORMAL,      0,     0.75, 1.5 },
    {"random normal f32",                                      28, 4, NORMAL,      0,     0.52, 1.05},
    {"random lognormal f32 accuracy=fast",                     28, 4, LOGNORMAL,   0,     0.6,  1.4 },
    {"random exponential f32 accuracy=fast",                   28, 4, EXPONENTIAL, 1,     0.8,  2   },
    {"random normal f64",                                      27, 8, NORMAL64,    0,     0.4,  1.2 },
    {"random uniform f16",                                     29, 2, TO_F16,      0,     0.75, 3   },
    {"random uniform bf16",                                    29, 2, TO_BF16,     0,     0.75, 3   },
    {"random normal bf16 accuracy=fast",                       29, 2, NORMAL_BF16, 0,     0.4,  2.5 },
    {"random normal bf16",                                     29, 2, NORMAL_BF16, 0,     0.25, 2.5 },
    {"random integers u32",                                    28, 4, RANGE,       0,     0.75, 2   },
    {"random bernoulli u8",                                    30, 1, NONE,        0.3,   0.35, 0   },
    {"random mask u32",                                        26, 4, NONE,        0.3,   0,    0   },
    {"random poisson u32",                                     28, 4, POISSON,     1,     0.55, 1.1 },
    {"random poisson u32",                                     28, 4, POISSON,     10,    0.55, 1.1 },
    {"random poisson u32",                                     28, 4, POISSON,     100,   0.55, 1.1 },
    {"random poisson u32",                                     28, 4, POISSON,     5000,  0.2,  0   },
    {"random bits u32 seq=curand",                             28, 4, BITS,        0,     0,    1   },
    {"random uniform f32 seq=curand",                          28, 4, UNIFORM,     0,     0,    1   },
    {"random uniform f64 seq=curand",                          27, 8, UNIFORM64,   0,     0,    1   },
    {"random bits u32 gen=sobol32",                            28, 4, SOBOL32,     0,     0,    1   },
    {"random uniform f32 gen=sobol32 dims=8",                  28, 4, SOBOL32,     0,     0,    1   },
    {"random uniform f32 gen=sobol32 dims=8 scramble=owen",    28, 4, SOBOL32,     0,     0,    1   },
    {"random uniform f32 gen=sobol32 dims=1000 scramble=owen", 28, 4, SOBOL32,     0,     0,    1   },
    {"random normal f32 gen=sobol32 dims=8",                   28, 4, SOBOL32,     0,     0,    1   },
    {"random bits u64 gen=sobol64",                            27, 8, SOBOL64,     0,     0,    1   },
    {"random uniform f64 gen=sobol64 dims=100",                27, 8, SOBOL64,     0,     0,    1   },
    {"random bits u8",                                         30, 1, NONE,        0,     0,    0   },
    {"random uniform f32 interval=open",                       28, 4, UNIFORM,     0,     0,    1   },
    {"random uniform f64 interval=open",                       27, 8, UNIFORM64,   0,     0,    1   },
    {"random normal f16",                                      29, 2, NORMAL_BF16, 0,     0,    0   },
    {"random lognormal f32",                                   28, 4, LOGNORMAL,   0,     0,    0   },
    {"random lognormal f64",                                   27, 8, NONE,        0,     0,    0   },
    {"random exponential f32",                                 28, 4, EXPONENTIAL, 1,     0,    0   },
    {"random exponential f64",                                 27, 8, NONE,        1,     0,    0   },
    {"random integers u64",                                    27, 8, NONE,        0,     0,    0   },
    {"random integers u16",                                    29, 2, NONE,        0,     0,    0   },
    {"random integers u8",                                     30, 1, NONE,        0,     0,    0   },
    {"random poisson u64",                                     27, 8, NONE,        10,    0,    0   },
    {"random poisson u32",                                     26, 4, POISSON,     20000, 0,    0   },
    {"random binomial u32",                                    28, 4, NONE,        0.3,   0,    0   },
    {"random gamma f32",                                       26, 4, NONE,        0,     0,    0   },
    {"random bits u32 gen=philox4x32-7",                       28, 4, NONE,        0,     0,    0   },
    {"random bits u32 gen=philox4x64-10",                      28, 4, NONE,        0,     0,    0   },
    {"random bits u32 gen=threefry2x32-20",                    28, 4, NONE,        0,     0,    0   },
    {"random bits u32 gen=threefry4x64-20",                    28, 4, NONE,        0,     0,    0   },
    {"random bits u32 cols=1000 ld=1024",                      28, 4, NONE,        0,     0,    0   },
};

static double median(std::vector<float> ms) {
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
}

int main(int argc, char **argv) {
    enum { ROUNDS = 9 };
    const char *filter = argc > 1 ? argv[1] : "";
    wmContext *context = NULL;
    cudaEvent_t from, to;
    float ms;
    CHECK(wmContextCreate(&context, NULL));
    CHECK(cudaMalloc(&out, 1ull << 31));
    CHECK(cudaMalloc(&scratch, 1ull << 31));
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int order = 0; order < 2; order++) {
        CHECK(curandCreateGenerator(&generators[order], CURAND_RNG_PSEUDO_PHILOX4_32_10));
        CHECK(curandSetGeneratorOrdering(generators[order],
                                         order ? CURAND_ORDERING_PSEUDO_DYNAMIC : CURAND_ORDERING_PSEUDO_DEFAULT));
        CHECK(curandGenerateSeeds(generators[order]));
    }
    for (int i = 0; i < 60; i++) CHECK(cudaMemsetAsync(out, i, 1ull << 31)); /* the clock rises */
    for (int wide = 0; wide < 2; wide++)
        CHECK(curandCreateGenerator(&sobol[wide], wide ? CURAND_RNG_QUASI_SOBOL64 : CURAND_RNG_QUASI_SOBOL32));
    printf(
        "problem,parameter,solver,elements,ms,memset_ms,of_memset,floor,curand_ms,curand_of_memset,over_curand,floor,"
        "elements_per_second\n");
    for (const row &r : rows) {
        if (!strstr(r.problem, filter)) continue;
        wmPlan *plan = NULL;
        char text[200];
        long long n = 1ll << r.log2;
        if (strstr(r.problem, "dims=1")) n = n / 1000 * 1000; /* whole points */
        snprintf(text, sizeof text, "%s n=%lld", r.problem, n);
        if (wmPlanCreate(&plan, context, text, NULL) != WM_OK) {
            printf("\"%s\",%s\n", text, wmLastError());
            continue;
        }
        wmRandomArgs args = wmRandomArgsDefault(out, n, wmRandomKeyMake(42));
        args.rate = r.parameter, args.p = r.parameter < 1 ? r.parameter : 0;
        args.span = strstr(r.problem, "u8") ? 200 : strstr(r.problem, "u16") ? 50000 : 1000000;
        if (!strstr(r.problem, "integers")) args.span = strstr(r.problem, "permutation") ? n : 0;
        args.trials = 1000, args.shape = 2.5, args.shape2 = 0.75;
        if (strstr(r.problem, "truncated")) args.low = 1, args.high = 3;
        std::vector<float> time[4];
        for (int round = -2; round < ROUNDS; round++)
            for (int which = 0; which < 4; which++) {
                bool is_sobol = r.other == SOBOL32 || r.other == SOBOL64;
                if (which >= 2 && (r.other == NONE || (is_sobol && which == 3))) continue;
                CHECK(cudaEventRecord(from));
                if (which == 0) CHECK(cudaMemsetAsync(out, 1, n * r.bytes));
                if (which == 1) CHECK(wmRandomExecute(plan, &args, NULL));
                if (which >= 2 && is_sobol)
                    run_sobol(r.other, r.problem, n);
                else if (which >= 2)
                    run_rival(r.other, which - 2, n, r.parameter);
                CHECK(cudaEventRecord(to));
                CHECK(cudaEventSynchronize(to));
                CHECK(cudaEventElapsedTime(&ms, from, to));
                if (round >= 0) time[which].push_back(ms);
            }
        double base = median(time[0]), ours = median(time[1]), theirs = 0;
        for (int which = 2; which < 4; which++)
            if (!time[which].empty() && (!theirs || median(time[which]) < theirs)) theirs = median(time[which]);
        printf("\"%s\",%g,%s,%lld,%.5f,%.5f,%.3f,%g,%.5f,%.3f,%.3f,%g,%.4g\n", text, r.parameter, wmPlanSolver(plan), n,
               ours, base, base / ours, r.of_memset, theirs, theirs ? base / theirs : 0, theirs / ours, r.over_curand,
               n * (strstr(r.problem, "mask") ? 32.0 : 1.0) / ours * 1e3);
        fflush(stdout);
        wmPlanDestroy(plan);
    }
    CHECK(cudaGetLastError());
    wmContextDestroy(context);
    return 0;
}
