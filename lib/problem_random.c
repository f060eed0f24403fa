/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws as problems. */
#include "fields.h"
#include "operation.h"

#define DEFAULT_COUNT ((int64_t)1 << 24)

int wm_random_is_sobol(const wmRandomDesc *d) {
    return d->generator == WM_SOBOL32 || d->generator == WM_SOBOL64;
}

/* Where there is no fast form, fast is exact: the same problem. */
static int has_fast_form(const wmRandomDesc *d) {
    int distribution = d->distribution == WM_RANDOM_NORMAL || d->distribution == WM_RANDOM_EXPONENTIAL ||
                       d->distribution == WM_RANDOM_LOGNORMAL;
    return distribution && d->sequence == WM_SEQ_COUNTER && d->type != WM_F64;
}

void wm_random_resolve(wmRandomDesc *d) {
    if (d->count_hint == 0) d->count_hint = DEFAULT_COUNT;
    if (d->dimensions == 0 && wm_random_is_sobol(d)) d->dimensions = 1;
    if (!has_fast_form(d)) d->accuracy = WM_ACCURACY_EXACT;
    if (d->ld == 0) d->ld = d->columns;
    if (d->ld == d->columns) d->ld = d->columns = 0; /* packed rows are one row */
}

int64_t wm_random_extent(const wmRandomDesc *d, int64_t count) {
    int64_t extent = 0;
    if (count <= 0 || d->columns == 0) return count;
    int64_t full = (count - 1) / d->columns; /* rows before the last one */
    if (__builtin_mul_overflow(full, d->ld, &extent)) return -1;
    return __builtin_add_overflow(extent, count - full * d->columns, &extent) ? -1 : extent;
}

/* The count is an argument: no problem is empty by itself. */
static int random_empty(const wm_problem *problem) {
    (void)problem;
    return 0;
}

static uint64_t random_features(const wm_problem *problem) {
    const wmRandomDesc *d = &problem->u.random;
    static const uint64_t distributions[] = {
        [WM_RANDOM_BITS] = WM_RND_BITS,
        [WM_RANDOM_UNIFORM] = WM_RND_UNIFORM,
        [WM_RANDOM_NORMAL] = WM_RND_NORMAL,
        [WM_RANDOM_INTEGERS] = WM_RND_INTEGERS,
        [WM_RANDOM_BERNOULLI] = WM_RND_BERNOULLI,
        [WM_RANDOM_MASK] = WM_RND_BERNOULLI,
        [WM_RANDOM_EXPONENTIAL] = WM_RND_EXPONENTIAL,
        [WM_RANDOM_LOGNORMAL] = WM_RND_EXPONENTIAL,
        [WM_RANDOM_TRUNCATED_NORMAL] = WM_RND_REJECTION,
        [WM_RANDOM_POISSON] = WM_RND_COUNTS,
        [WM_RANDOM_BINOMIAL] = WM_RND_COUNTS,
        [WM_RANDOM_GEOMETRIC] = WM_RND_COUNTS,
        [WM_RANDOM_GAMMA] = WM_RND_REJECTION,
        [WM_RANDOM_BETA] = WM_RND_REJECTION,
        [WM_RANDOM_CHI_SQUARE] = WM_RND_REJECTION,
        [WM_RANDOM_STUDENT_T] = WM_RND_REJECTION,
        [WM_RANDOM_LAPLACE] = WM_RND_TRANSFORMS,
        [WM_RANDOM_LOGISTIC] = WM_RND_TRANSFORMS,
        [WM_RANDOM_CAUCHY] = WM_RND_TRANSFORMS,
        [WM_RANDOM_GUMBEL] = WM_RND_TRANSFORMS,
        [WM_RANDOM_WEIBULL] = WM_RND_TRANSFORMS,
        [WM_RANDOM_CATEGORICAL] = WM_RND_CATEGORICAL,
        [WM_RANDOM_PERMUTATION] = WM_RND_PERMUTATION,
        [WM_RANDOM_NORMAL_VECTORS] = WM_RND_VECTORS,
        [WM_RANDOM_DIRICHLET] = WM_RND_VECTORS,
        [WM_RANDOM_ROUND] = WM_RND_ROUND,
    };
    uint64_t need = distributions[d->distribution];
    static const uint64_t generators[] = {0,
                                          WM_RND_PHILOX4X32_7,
                                          WM_RND_PHILOX4X64,
                                          WM_RND_THREEFRY2X32,
                                          WM_RND_THREEFRY4X64,
                                          WM_RND_SOBOL32,
                                          WM_RND_SOBOL64,
                                          WM_RND_VENDOR,
                                          WM_RND_VENDOR,
                                          WM_RND_VENDOR,
                                          WM_RND_VENDOR};
    need |= generators[d->generator];
    size_t bytes = wmTypeSize(d->type);
    need |= bytes == 8 ? WM_RND_64 : bytes == 4 ? WM_RND_32 : WM_RND_NARROW;
    if (d->accuracy == WM_ACCURACY_FAST) need |= WM_RND_FAST;
    if (d->distribution == WM_RANDOM_UNIFORM && d->interval != WM_CLOSED_OPEN) need |= WM_RND_INTERVAL;
    need |= d->sequence == WM_SEQ_CURAND ? WM_RND_CURAND : WM_RND_COUNTER;
    if (d->columns) need |= WM_RND_STRIDED;
    if (d->key_source == WM_KEY_DEVICE) need |= WM_RND_DEVICE_STATE;
    if (d->determinism == WM_GPU_TO_GPU) need |= WM_RND_GPU_TO_GPU;
    return need;
}

static wm_cost random_cost(const wm_problem *problem) {
    const wmRandomDesc *d = &problem->u.random;
    return (wm_cost){0, (double)d->count_hint * (double)wmTypeSize(d->type)};
}

static int random_operands(const wm_problem *problem, wm_operand out[WM_MAX_OPERANDS]) {
    const wmRandomDesc *d = &problem->u.random;
    out[0] = (wm_operand){"out", d->type, wm_random_extent(d, d->count_hint), WM_OUTPUT, 0, 0};
    out[1] = (wm_operand){"state", WM_U64, sizeof(wmRandomState) / 8, WM_INPUT, 0, 0};
    return d->key_source == WM_KEY_DEVICE ? 2 : 1;
}

static void random_bind(const wm_problem *problem, void *const pointers[WM_MAX_OPERANDS], wm_args *out) {
    out->random = wmRandomArgsDefault(pointers[0], problem->u.random.count_hint, wmRandomKeyMake(20250411));
    if (problem->u.random.key_source == WM_KEY_DEVICE) out->random.state = (wmRandomState *)pointers[1];
    wmRandomArgs *args = &out->random;
    args->high = problem->u.random.distribution == WM_RANDOM_UNIFORM ? 1.0 : 0.0;
    args->std = 1.0;
    args->rate = problem->u.random.distribution == WM_RANDOM_POISSON ? 10.0 : 1.0;
    args->span = 100;
    args->p = 0.3;
    args->trials = 100;
    args->scale = 1.0;
    args->shape = args->shape2 = 2.5;
}

/* Counter order is bit-exact everywhere; cuRAND's normals are the one thing with slack, and it is their only solver. */
static wm_bound random_bound(const wm_problem *problem) {
    const wmRandomDesc *d = &problem->u.random;
    int loose = d->sequence == WM_SEQ_CURAND && d->distribution == WM_RANDOM_NORMAL;
    if (loose) return (wm_bound){1e-5, 1e-5};
    if (d->accuracy == WM_ACCURACY_EXACT) return (wm_bound){0, 0};
    /* docs/random.md states the bounds; a value of 16 bits may also round to a neighbour. */
    double step = d->type == WM_BF16 ? 0x1p-7 : d->type == WM_F16 ? 0x1p-10 : 0x1p-20;
    double relative = d->distribution == WM_RANDOM_LOGNORMAL ? 0x1p-15 : 0;
    return (wm_bound){0x1p-16, step + relative};
}

static const wm_feature names[] = {
    {WM_RND_BITS,         "bits"                                              },
    {WM_RND_UNIFORM,      "uniform"                                           },
    {WM_RND_NORMAL,       "normal"                                            },
    {WM_RND_32,           "32-bit types"                                      },
    {WM_RND_64,           "64-bit types"                                      },
    {WM_RND_COUNTER,      "counter order"                                     },
    {WM_RND_CURAND,       "cuRAND's order"                                    },
    {WM_RND_GPU_TO_GPU,   "determinism gpu_to_gpu"                            },
    {WM_RND_PHILOX4X32_7, "Philox4x32-7"                                      },
    {WM_RND_PHILOX4X64,   "Philox4x64-10"                                     },
    {WM_RND_THREEFRY2X32, "Threefry2x32-20"                                   },
    {WM_RND_THREEFRY4X64, "Threefry4x64-20"                                   },
    {WM_RND_SOBOL32,      "Sobol' points of 32 bits"                          },
    {WM_RND_SOBOL64,      "Sobol' points of 64 bits"                          },
    {WM_RND_VENDOR,       "generators of cuRAND alone"                        },
    {WM_RND_STRIDED,      "rows with gaps"                                    },
    {WM_RND_DEVICE_STATE, "key in device memory"                              },
    {WM_RND_INTEGERS,     "integers in a range"                               },
    {WM_RND_BERNOULLI,    "Bernoulli"                                         },
    {WM_RND_EXPONENTIAL,  "exponential, lognormal"                            },
    {WM_RND_COUNTS,       "Poisson, binomial, geometric"                      },
    {WM_RND_REJECTION,    "truncated normal, gamma, beta, chi-square, Student"},
    {WM_RND_TRANSFORMS,   "Laplace, logistic, Cauchy, Gumbel, Weibull"        },
    {WM_RND_CATEGORICAL,  "categorical"                                       },
    {WM_RND_PERMUTATION,  "permutations"                                      },
    {WM_RND_VECTORS,      "normal vectors, Dirichlet"                         },
    {WM_RND_ROUND,        "stochastic rounding"                               },
    {WM_RND_NARROW,       "8- and 16-bit types"                               },
    {WM_RND_FAST,         "accuracy fast"                                     },
    {WM_RND_INTERVAL,     "intervals other than [low, high)"                  },
    {0,                   NULL                                                },
};

const wm_operation wm_operation_random = {random_features, random_cost,  random_empty, random_operands,
                                          random_bind,     random_bound, names};
