/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws as problems. */
#include "fields.h"
#include "operation.h"

#define DEFAULT_COUNT ((int64_t)1 << 24)

int wm_random_is_sobol(const wmRandomDesc *d) {
    return d->generator == WM_SOBOL32 || d->generator == WM_SOBOL64;
}

void wm_random_resolve(wmRandomDesc *d) {
    if (d->count_hint == 0) d->count_hint = DEFAULT_COUNT;
    if (d->dimensions == 0 && wm_random_is_sobol(d)) d->dimensions = 1;
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
    uint64_t need = d->distribution == WM_RANDOM_BITS      ? WM_RND_BITS
                    : d->distribution == WM_RANDOM_UNIFORM ? WM_RND_UNIFORM
                                                           : WM_RND_NORMAL;
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
    need |= wmTypeSize(d->type) == 8 ? WM_RND_64 : WM_RND_32;
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
    out->random.high = problem->u.random.distribution == WM_RANDOM_UNIFORM ? 1.0 : 0.0;
    out->random.std = problem->u.random.distribution == WM_RANDOM_NORMAL ? 1.0 : 0.0;
}

/* Counter order is bit-exact everywhere; cuRAND's normals are the one thing with slack, and it is their only solver. */
static wm_bound random_bound(const wm_problem *problem) {
    const wmRandomDesc *d = &problem->u.random;
    int loose = d->sequence == WM_SEQ_CURAND && d->distribution == WM_RANDOM_NORMAL;
    return loose ? (wm_bound){1e-5, 1e-5} : (wm_bound){0, 0};
}

static const wm_feature names[] = {
    {WM_RND_BITS,         "bits"                      },
    {WM_RND_UNIFORM,      "uniform"                   },
    {WM_RND_NORMAL,       "normal"                    },
    {WM_RND_32,           "32-bit types"              },
    {WM_RND_64,           "64-bit types"              },
    {WM_RND_COUNTER,      "counter order"             },
    {WM_RND_CURAND,       "cuRAND's order"            },
    {WM_RND_GPU_TO_GPU,   "determinism gpu_to_gpu"    },
    {WM_RND_PHILOX4X32_7, "Philox4x32-7"              },
    {WM_RND_PHILOX4X64,   "Philox4x64-10"             },
    {WM_RND_THREEFRY2X32, "Threefry2x32-20"           },
    {WM_RND_THREEFRY4X64, "Threefry4x64-20"           },
    {WM_RND_SOBOL32,      "Sobol' points of 32 bits"  },
    {WM_RND_SOBOL64,      "Sobol' points of 64 bits"  },
    {WM_RND_VENDOR,       "generators of cuRAND alone"},
    {WM_RND_STRIDED,      "rows with gaps"            },
    {WM_RND_DEVICE_STATE, "key in device memory"      },
    {0,                   NULL                        },
};

const wm_operation wm_operation_random = {random_features, random_cost,  random_empty, random_operands,
                                          random_bind,     random_bound, names};
