/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuRAND, loaded on demand, for problems that ask for its own sequence: Philox4x32-10, XORWOW, MRG32k3a, MT19937 and
 * MTGP32 in the legacy order, which is the same for every GPU and release. No header of it is needed.
 *
 * Its uniforms lie in (0, 1], not in [0, 1), and have no range; its normals come in pairs, and its 64-bit values take
 * two words each while its offset counts 32-bit words: what it cannot do exactly is refused at execution, by name.
 * Generator, stream, seed and offset are state of cuRAND's, so the plan runs under its lock (concurrent = 0), and a
 * reseeded generator sets its states up anew inside the call, so that it is not captured.
 */
#include "lib/solver.h"

#include <pthread.h>
#include <stdlib.h>

enum { XORWOW = 101, MRG32K3A = 121, MTGP32 = 141, MT19937 = 142, PHILOX4_32_10 = 161, ORDERING_LEGACY = 103 };

typedef struct generator *generator;

static struct {
    int (*create)(generator *out, int type);
    int (*destroy)(generator g);
    int (*set_ordering)(generator g, int ordering);
    int (*set_stream)(generator g, wmStream stream);
    int (*set_seed)(generator g, unsigned long long seed);
    int (*set_offset)(generator g, unsigned long long offset);
    int (*seeds)(generator g);
    int (*bits)(generator g, unsigned int *out, size_t count);
    int (*uniform)(generator g, float *out, size_t count);
    int (*uniform64)(generator g, double *out, size_t count);
    int (*normal)(generator g, float *out, size_t count, float mean, float std);
    int (*normal64)(generator g, double *out, size_t count, double mean, double std);
    int complete;
} curand;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_symbols(void) {
    static const wm_symbol rows[] = {
        {"curandCreateGenerator",              (void **)&curand.create      },
        {"curandDestroyGenerator",             (void **)&curand.destroy     },
        {"curandSetGeneratorOrdering",         (void **)&curand.set_ordering},
        {"curandSetStream",                    (void **)&curand.set_stream  },
        {"curandSetPseudoRandomGeneratorSeed", (void **)&curand.set_seed    },
        {"curandSetGeneratorOffset",           (void **)&curand.set_offset  },
        {"curandGenerateSeeds",                (void **)&curand.seeds       },
        {"curandGenerate",                     (void **)&curand.bits        },
        {"curandGenerateUniform",              (void **)&curand.uniform     },
        {"curandGenerateUniformDouble",        (void **)&curand.uniform64   },
        {"curandGenerateNormal",               (void **)&curand.normal      },
        {"curandGenerateNormalDouble",         (void **)&curand.normal64    },
    };
    curand.complete = !wm_library_symbols(WM_LIB_CURAND, rows, sizeof rows / sizeof *rows);
}

static const char *status_name(int status) {
    switch (status) {
    case 100:
        return "VERSION_MISMATCH";
    case 101:
        return "NOT_INITIALIZED";
    case 102:
        return "ALLOCATION_FAILED";
    case 103:
        return "TYPE_ERROR";
    case 104:
        return "OUT_OF_RANGE";
    case 105:
        return "LENGTH_NOT_MULTIPLE";
    case 201:
        return "LAUNCH_FAILURE";
    case 202:
        return "PREEXISTING_FAILURE";
    case 203:
        return "INITIALIZATION_FAILED";
    case 204:
        return "ARCH_MISMATCH";
    case 999:
        return "INTERNAL_ERROR";
    default:
        return "unknown status";
    }
}

static wmStatus check(int status, const char *call) {
    if (status == 0) return WM_OK;
    return wm_fail(status == 102 ? WM_ERR_MEMORY : WM_ERR_VENDOR, "%s failed: CURAND_STATUS_%s (%d)", call,
                   status_name(status), status);
}

static int offer(wmContext *context, const wm_problem *problem, wm_offer *out, int capacity, wm_why *why) {
    const wmRandomDesc *d = &problem->u.random;
    const char *missing = NULL;
    if (!wm_library_get(WM_LIB_CURAND, &missing)) return wm_refuse(why, "%s", missing);
    pthread_once(&once, find_symbols);
    if (!curand.complete) return wm_refuse(why, "libcurand lacks a function of its API");
    if (d->generator == WM_PHILOX4X32_10 && d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F64)
        return wm_refuse(why, "its offset counts words, not f64 values; random_any draws these at any offset");
    if (capacity < 1) return 0;
    /* Fractions of the memset bandwidth that it was measured at on an H200: 0.84 bits, 0.45 normals, 0.31 in f64. */
    double fraction = d->distribution == WM_RANDOM_NORMAL ? (d->type == WM_F64 ? 0.31 : 0.45) : 0.84;
    out[0] = (wm_offer){.seconds = 5e-6 + wm_problem_cost(problem).bytes / (fraction * wm_context_bandwidth(context))};
    return 1;
}

static void drop(wmContext *context, void *state) {
    (void)context;
    if (state) curand.destroy(state);
}

/* Seeding allocates and launches inside cuRAND: done here, on a stream of our own, so that run need not. */
static wmStatus prepare(wmContext *context, generator g) {
    const wm_gpu *gpu = wm_context_gpu(context);
    wmStream stream = NULL;
    WM_TRY(wm_gpu_check(gpu, gpu->stream_create(gpu->self, &stream), "cudaStreamCreate"));
    wmStatus status = check(curand.set_stream(g, stream), "curandSetStream");
    if (status == WM_OK) status = check(curand.set_ordering(g, ORDERING_LEGACY), "curandSetGeneratorOrdering");
    if (status == WM_OK) status = check(curand.seeds(g), "curandGenerateSeeds");
    if (status == WM_OK) status = wm_gpu_check(gpu, gpu->stream_wait(gpu->self, stream), "cudaStreamSynchronize");
    gpu->stream_destroy(gpu->self, stream);
    return status;
}

static int type_of(wmGenerator generator) {
    switch (generator) {
    case WM_XORWOW:
        return XORWOW;
    case WM_MRG32K3A:
        return MRG32K3A;
    case WM_MT19937:
        return MT19937;
    case WM_MTGP32:
        return MTGP32;
    default:
        return PHILOX4_32_10;
    }
}

static wmStatus make(wmContext *context, const wm_problem *problem, const wm_offer *offer, void **state) {
    (void)offer;
    generator g = NULL;
    WM_TRY(check(curand.create(&g, type_of(problem->u.random.generator)), "curandCreateGenerator"));
    wmStatus status = prepare(context, g);
    if (status != WM_OK) {
        curand.destroy(g);
        return status;
    }
    *state = g;
    return WM_OK;
}

/* What cuRAND has no exact form of. */
static wmStatus check_args(const wmRandomDesc *d, const wmRandomArgs *args) {
    if (args->offset && (d->generator == WM_MT19937 || d->generator == WM_MTGP32))
        return wm_fail(WM_ERR_UNSUPPORTED, "args.offset is %llu; cuRAND's MT19937 and MTGP32 start from 0",
                       (unsigned long long)args->offset);
    if (wmTypeSize(d->type) == 8 && args->offset)
        return wm_fail(WM_ERR_UNSUPPORTED, "args.offset is %llu; cuRAND's offset counts words, not f64 values",
                       (unsigned long long)args->offset);
    if (d->distribution == WM_RANDOM_NORMAL && (args->offset % 2 || args->count % 2))
        return wm_fail(WM_ERR_UNSUPPORTED, "args.offset is %llu and args.count %lld; cuRAND's normals come in pairs",
                       (unsigned long long)args->offset, (long long)args->count);
    return WM_OK;
}

static int generate(generator g, const wmRandomDesc *d, const wmRandomArgs *args) {
    size_t count = (size_t)args->count;
    int normal = d->distribution == WM_RANDOM_NORMAL;
    if (d->distribution == WM_RANDOM_BITS) return curand.bits(g, args->out, count);
    if (d->type == WM_F32)
        return normal ? curand.normal(g, args->out, count, (float)args->mean, (float)args->std)
                      : curand.uniform(g, args->out, count);
    return normal ? curand.normal64(g, args->out, count, args->mean, args->std) : curand.uniform64(g, args->out, count);
}

static wmStatus run(const wm_run *r) {
    const wmRandomArgs *args = &r->args->random;
    generator g = r->state;
    WM_TRY(check_args(&r->problem->u.random, args));
    WM_TRY(check(curand.set_stream(g, r->stream), "curandSetStream"));
    WM_TRY(check(curand.set_seed(g, args->key.seed), "curandSetPseudoRandomGeneratorSeed"));
    int skips = r->problem->u.random.generator != WM_MT19937 && r->problem->u.random.generator != WM_MTGP32;
    if (skips) WM_TRY(check(curand.set_offset(g, args->offset), "curandSetGeneratorOffset"));
    return check(generate(g, &r->problem->u.random, args), "curandGenerate");
}

const wm_solver wm_curand = {
    .name = "curand",
    .op = WM_RANDOM,
    .place = WM_PLACE_GPU,
    .origin = WM_VENDOR,
    .version = 1,
    .features = WM_RND_BITS | WM_RND_UNIFORM | WM_RND_NORMAL | WM_RND_32 | WM_RND_64 | WM_RND_CURAND | WM_RND_VENDOR,
    .knobs = {NULL},
    .offer = offer,
    .make = make,
    .run = run,
    .drop = drop,
};
