/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions on one GPU against memset and against cuRAND (the better of its default and dynamic orders, followed by
 * one more kernel where it lacks the distribution), interleaved in one run: median times as CSV.
 *
 *     nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a -Iinclude perf/time_random.cu -Lbuild/gpu -lwarpmath
 *          -lcurand -o time_random && LD_LIBRARY_PATH=build/gpu ./time_random [part of a problem string]
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
    NORMAL_BF16
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
static curandGenerator_t generators[2];

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
    double rate, p;
} row;

static const row rows[] = {
    {"random bits u32",                      28, 4, BITS,        0, 0  },
    {"random bits u8",                       30, 1, NONE,        0, 0  },
    {"random uniform f32",                   28, 4, UNIFORM,     0, 0  },
    {"random uniform f32 interval=open",     28, 4, UNIFORM,     0, 0  },
    {"random uniform f64 interval=open",     27, 8, UNIFORM64,   0, 0  },
    {"random uniform f16",                   29, 2, TO_F16,      0, 0  },
    {"random uniform bf16",                  29, 2, TO_BF16,     0, 0  },
    {"random normal f32 accuracy=fast",      28, 4, NORMAL,      0, 0  },
    {"random normal f32",                    28, 4, NORMAL,      0, 0  },
    {"random normal f64",                    27, 8, NORMAL64,    0, 0  },
    {"random normal bf16 accuracy=fast",     29, 2, NORMAL_BF16, 0, 0  },
    {"random normal bf16",                   29, 2, NORMAL_BF16, 0, 0  },
    {"random lognormal f32 accuracy=fast",   28, 4, LOGNORMAL,   0, 0  },
    {"random lognormal f32",                 28, 4, LOGNORMAL,   0, 0  },
    {"random lognormal f64",                 27, 8, NONE,        0, 0  },
    {"random exponential f32 accuracy=fast", 28, 4, EXPONENTIAL, 1, 0  },
    {"random exponential f32",               28, 4, EXPONENTIAL, 1, 0  },
    {"random exponential f64",               27, 8, NONE,        1, 0  },
    {"random integers u32",                  28, 4, RANGE,       0, 0  },
    {"random integers u64",                  27, 8, NONE,        0, 0  },
    {"random integers u16",                  29, 2, NONE,        0, 0  },
    {"random integers u8",                   30, 1, NONE,        0, 0  },
    {"random bernoulli u8",                  30, 1, NONE,        0, 0.3},
    {"random mask u32",                      26, 4, NONE,        0, 0.3},
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
    printf("problem,parameter,solver,elements,ms,memset_ms,of_memset,curand_ms,over_curand,elements_per_second\n");
    for (const row &r : rows) {
        if (!strstr(r.problem, filter)) continue;
        wmPlan *plan = NULL;
        char text[200];
        long long n = 1ll << r.log2;
        snprintf(text, sizeof text, "%s n=%lld", r.problem, n);
        if (wmPlanCreate(&plan, context, text, NULL) != WM_OK) {
            printf("\"%s\",%s\n", text, wmLastError());
            continue;
        }
        wmRandomArgs args = wmRandomArgsDefault(out, n, wmRandomKeyMake(42));
        args.rate = r.rate, args.p = r.p;
        args.span = strstr(r.problem, "u8") ? 200 : strstr(r.problem, "u16") ? 50000 : 1000000;
        if (!strstr(r.problem, "integers")) args.span = strstr(r.problem, "permutation") ? n : 0;
        args.trials = 1000, args.shape = 2.5, args.shape2 = 0.75;
        if (strstr(r.problem, "truncated")) args.low = 1, args.high = 3;
        std::vector<float> time[4];
        for (int round = -2; round < ROUNDS; round++)
            for (int which = 0; which < 4; which++) {
                if (which >= 2 && r.other == NONE) continue;
                CHECK(cudaEventRecord(from));
                if (which == 0) CHECK(cudaMemsetAsync(out, 1, n * r.bytes));
                if (which == 1) CHECK(wmRandomExecute(plan, &args, NULL));
                if (which >= 2) run_rival(r.other, which - 2, n, r.rate);
                CHECK(cudaEventRecord(to));
                CHECK(cudaEventSynchronize(to));
                CHECK(cudaEventElapsedTime(&ms, from, to));
                if (round >= 0) time[which].push_back(ms);
            }
        double base = median(time[0]), ours = median(time[1]);
        double theirs = r.other == NONE ? 0 : std::min(median(time[2]), median(time[3]));
        printf("\"%s\",%g,%s,%lld,%.5f,%.5f,%.3f,%.5f,%.3f,%.4g\n", text, r.rate + r.p, wmPlanSolver(plan), n, ours,
               base, base / ours, theirs, theirs / ours, n * (strstr(r.problem, "mask") ? 32.0 : 1.0) / ours * 1e3);
        fflush(stdout);
        wmPlanDestroy(plan);
    }
    CHECK(cudaGetLastError());
    wmContextDestroy(context);
    return 0;
}
