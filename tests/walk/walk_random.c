/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws: every element against the device header's scalar function, or cuRAND's order from its published layout.
 */
#include "walk_random.h"

#include <warpmath/device/random.h>

#include <math.h>
#include <string.h>

const char *const walk_random_problems[] = {
    "random bits u32",
    "random bits u64",
    "random uniform f32",
    "random uniform f64",
    "random normal f32",
    "random normal f64",
    "random bits u32 seq=curand",
    "random uniform f32 seq=curand",
    "random uniform f64 seq=curand",
    "random normal f32 seq=curand",
    "random normal f64 seq=curand",
    "random normal f32 det=gpu_to_gpu n=1",
    "random bits u32 gen=philox4x32-7",
    "random normal f64 gen=philox4x32-7",
    "random bits u64 gen=philox4x64-10",
    "random uniform f32 gen=philox4x64-10",
    "random bits u32 gen=threefry2x32-20",
    "random uniform f64 gen=threefry2x32-20",
    "random normal f32 gen=threefry4x64-20",
    "random bits u64 gen=threefry4x64-20 cols=77 ld=80",
    "random uniform f32 cols=100 ld=101 n=5000",
    "random normal f64 cols=1 ld=3 n=5000",
    "random bits u32 cols=512 ld=1024 key=device n=5000",
    "random normal f32 key=device",
    "random uniform f64 key=device gen=philox4x64-10",
    "random bits u32 seq=curand cols=1000 ld=1001 key=device n=5000",
    "random bits u32 gen=sobol32",
    "random bits u32 gen=sobol32 dims=5 scramble=owen",
    "random uniform f32 gen=sobol32 dims=300 scramble=shift",
    "random uniform f64 gen=sobol32 dims=3 cols=3 ld=4 n=5000",
    "random normal f32 gen=sobol32 dims=17 scramble=owen",
    "random bits u64 gen=sobol64 dims=4",
    "random uniform f64 gen=sobol64 dims=129 scramble=owen",
    "random normal f64 gen=sobol64 scramble=shift cols=10 ld=11 n=5000",
    "random bits u8",
    "random bits i16",
    "random bits i32",
    "random uniform f16",
    "random uniform bf16",
    "random uniform f16 interval=open",
    "random uniform bf16 interval=open_closed",
    "random uniform f32 interval=open",
    "random uniform f32 interval=open_closed",
    "random uniform f64 interval=open",
    "random uniform f64 interval=open_closed",
    "random normal f16",
    "random normal bf16",
    "random normal f32 accuracy=fast",
    "random normal f16 accuracy=fast",
    "random normal bf16 accuracy=fast",
    "random integers u8",
    "random integers i8",
    "random integers u16",
    "random integers i32",
    "random integers u32",
    "random integers u64",
    "random integers i64",
    "random bernoulli u8",
    "random mask u32",
    "random exponential f32",
    "random exponential f32 accuracy=fast",
    "random exponential f64",
    "random exponential bf16",
    "random lognormal f32",
    "random lognormal f32 accuracy=fast",
    "random lognormal f64",
    "random lognormal f16",
    "random poisson u32",
    "random poisson i64",
    "random binomial i32",
    "random binomial u64",
    "random geometric u32",
    "random truncated_normal f32",
    "random truncated_normal f64",
    "random truncated_normal bf16",
    "random gamma f64",
    "random gamma f32",
    "random beta f64",
    "random chi_square f32",
    "random student_t f64",
    "random laplace f32",
    "random logistic f64",
    "random cauchy f32",
    "random gumbel f16",
    "random weibull f64",
    "random categorical u32",
    "random permutation u32",
    "random permutation u64",
    "random normal_vectors f32",
    "random normal_vectors f64",
    "random dirichlet f32",
    "random dirichlet f64",
    "random round bf16",
    "random round f16",
    "random round e4m3",
    "random round e5m2",
    "random bernoulli u8 key=device",
    "random mask u32 cols=10 ld=11 n=5000",
    "random uniform bf16 cols=33 ld=40 key=device n=5000",
    "random integers i64 cols=100 ld=101 n=5000",
    "random poisson u32 key=device",
    "random gamma f32 cols=7 ld=9 key=device n=5000",
    "random permutation u32 cols=10 ld=12 n=5000",
    "random round bf16 cols=64 ld=65 key=device n=5000",
    "random uniform bf16 gen=philox4x64-10 interval=open",
    "random normal f32 gen=threefry4x64-20 accuracy=fast",
    "random integers u64 gen=threefry4x64-20",
    "random integers u8 gen=philox4x32-7",
    "random bernoulli u8 gen=threefry2x32-20",
    "random exponential f32 gen=philox4x64-10",
    "random lognormal f64 gen=philox4x32-7",
    "random poisson u32 gen=threefry4x64-20",
    "random binomial u64 gen=philox4x64-10 key=device",
    "random gamma f32 gen=threefry2x32-20 cols=7 ld=9 n=5000",
    "random truncated_normal f64 gen=threefry4x64-20",
    "random beta f64 gen=philox4x64-10",
    "random weibull f16 gen=threefry2x32-20",
    "random categorical u32 gen=philox4x64-10",
    "random permutation u64 gen=threefry4x64-20 key=device",
    "random permutation u32 gen=philox4x64-10",
    "random permutation u32 key=device",
    "random normal_vectors f64 gen=threefry2x32-20",
    "random normal_vectors f32 cols=10 ld=12 key=device n=5000",
    "random dirichlet f32 gen=philox4x64-10 key=device",
    "random dirichlet f64 cols=15 ld=16 n=5000",
    "random round e4m3 gen=threefry4x64-20",
    "random uniform bf16 gen=sobol32 dims=3 scramble=owen interval=open",
    "random uniform f64 gen=sobol64 dims=5 key=device scramble=owen",
    "random normal f16 gen=sobol64 dims=9 scramble=shift",
    "random normal f32 gen=sobol32 dims=7 accuracy=fast",
    "random bits u8 gen=sobol32 dims=2",
    "random integers i16 gen=sobol32 dims=3 scramble=owen",
    "random integers u64 gen=sobol64 dims=2 key=device",
    "random exponential f32 gen=sobol32 dims=4",
    "random lognormal f64 gen=sobol64 dims=3 scramble=owen cols=3 ld=4 n=5000",
    "random geometric u32 gen=sobol32",
    "random laplace f64 gen=sobol64 dims=2 scramble=shift",
    "random logistic f32 gen=sobol32 dims=3 key=device scramble=owen",
    "random cauchy f64 gen=sobol32 dims=11",
    "random gumbel bf16 gen=sobol64 dims=4",
    "random weibull f32 gen=sobol32 dims=6 scramble=owen",
    NULL,
};

/* cuRAND's legacy order of Philox4x32-10: block b = word / 4 stands at counter (b / 65536, 64 bits; b mod 65536; 0). */
static unsigned int curand_word(wmRandomKey key, uint64_t word) {
    uint64_t block = word / 4, hop = block / 65536;
    wmWords counter = {
        {(unsigned)hop, (unsigned)(hop >> 32), (unsigned)(block % 65536), 0}
    };
    return wmPhilox4x32(counter, (unsigned)key.seed, (unsigned)(key.seed >> 32)).w[word % 4];
}

/* What the element must be, as raw bytes; 0: cuRAND's normals and doubles.
 */
static int expected(const wmRandomDesc *d, const wmRandomArgs *args, uint64_t i, void *out) {
    if (d->sequence == WM_SEQ_CURAND) {
        unsigned int word = curand_word(args->key, i);
        float uniform = fmaf((float)word, 0x1p-32f, 0x1p-33f);
        if (d->type == WM_U32) memcpy(out, &word, 4);
        if (d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F32) memcpy(out, &uniform, 4);
        return d->type == WM_U32 || (d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F32);
    }
    if (d->type == WM_U32) *(unsigned int *)out = wmBitsU32(args->key, i);
    if (d->type == WM_U64) *(unsigned long long *)out = wmBitsU64(args->key, i);
    if (d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F32)
        *(float *)out = wmUniformInF32(args->key, i, wmRangeMakeF32((float)args->low, (float)args->high));
    if (d->distribution == WM_RANDOM_UNIFORM && d->type == WM_F64)
        *(double *)out = wmUniformInF64(args->key, i, wmRangeMakeF64(args->low, args->high));
    if (d->distribution == WM_RANDOM_NORMAL && d->type == WM_F32)
        *(float *)out = fmaf(wmNormalF32(args->key, i), (float)args->std, (float)args->mean);
    if (d->distribution == WM_RANDOM_NORMAL && d->type == WM_F64)
        *(double *)out = fma(wmNormalF64(args->key, i), args->std, args->mean);
    return 1;
}

/* cuRAND's f32 normals: a pair of words, radius from the first and angle from the second, by fast sine and cosine. */
static float curand_normal(wmRandomKey key, uint64_t i) {
    float u = fmaf((float)curand_word(key, i & ~(uint64_t)1), 0x1p-32f, 0x1p-33f);
    float angle = (float)((double)curand_word(key, i | 1) * 0x1p-31 * M_PI + 0x1p-32 * M_PI);
    float radius = sqrtf(-2.0f * logf(u));
    return radius * (i & 1 ? cosf(angle) : sinf(angle));
}

/* What its fast functions and two-word doubles leave to check: near the formula, or in range and written at all. */
static int curand_plausible(const wmRandomDesc *d, const wmRandomArgs *args, uint64_t i, const void *got) {
    double value = 0;
    if (d->type == WM_F32) {
        float narrow = 0;
        memcpy(&narrow, got, sizeof narrow);
        return fabsf(narrow - curand_normal(args->key, i)) <= 1e-4f;
    }
    memcpy(&value, got, sizeof value);
    return d->distribution == WM_RANDOM_UNIFORM ? value > 0 && value <= 1 : fabs(value) < 9;
}

static void judge(walk *w, const wmRandomArgs *args, const unsigned char *host) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    for (int64_t i = 0; i < args->count; i++) {
        unsigned char want[8];
        uint64_t index = args->offset + (uint64_t)i;
        const unsigned char *got = host + (size_t)i * element;
        if (expected(d, args, index, want) ? memcmp(want, got, element) == 0 : curand_plausible(d, args, index, got))
            continue;
        walk_fail(w, "element %llu (place %lld of %lld, shifted %zu bytes) has other bits", (unsigned long long)index,
                  (long long)i, (long long)args->count, (size_t)((uintptr_t)args->out % 16));
        return;
    }
}

static void one(walk *w, int64_t count, uint64_t offset, size_t shift, int parameters) {
    const wmRandomDesc *d = &w->problem->u.random;
    size_t element = wmTypeSize(d->type);
    walk_buffer out = walk_new(w, (size_t)count * element, shift * element);
    if (!out.device) return;
    wm_args args = {.random = wmRandomArgsDefault(out.device, count, wmRandomKeyMake(walk_draw(w)))};
    if (d->sequence == WM_SEQ_COUNTER) args.random.key.substream = (unsigned)(walk_draw(w) & 3);
    args.random.offset = offset;
    args.random.low = parameters ? -2.5 : 0;
    args.random.high = parameters ? 7.25 : 1;
    args.random.mean = parameters ? 3 : 0;
    args.random.std = parameters ? 0.5 : 1;
    if (walk_run(w, &args)) {
        walk_receive(w, &out);
        judge(w, &args.random, out.host);
    }
    walk_free(w, &out);
}

/* Even counts from aligned pointers; offsets only of 32-bit values: the rest is refused, by name. */
static void walk_curand(walk *w) {
    static const int64_t counts[] = {2, 4, 1000, 4098, 300000};
    static const uint64_t offsets[] = {0, 4, 262140, 17179869188u};
    int wide = wmTypeSize(w->problem->u.random.type) == 8;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        one(w, counts[i], wide ? 0 : offsets[walk_draw(w) % 4], 0, 0);
}

void walk_random(walk *w) {
    static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 31, 257, 1000, 4099, 20011};
    static const uint64_t offsets[] = {0, 1, 2, 3, 5, 4294967293u, 17179869187u, 9223372036854775811u};
    const wmRandomDesc *d = &w->problem->u.random;
    int vendor = w->solver->origin == WM_VENDOR;
    if (vendor) {
        walk_curand(w);
        return;
    }
    if (d->generator == WM_SOBOL32 || d->generator == WM_SOBOL64) {
        walk_sobol(w);
        return;
    }
    if (walk_is_distribution(&w->problem->u.random)) {
        walk_distributions(w);
        return;
    }
    if (d->sequence == WM_SEQ_CURAND || d->generator != WM_PHILOX4X32_10 || d->columns || d->key_source) {
        walk_random_any(w);
        return;
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        one(w, counts[i], offsets[walk_draw(w) % 8], i % 4, (int)(i % 2));
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) one(w, 1037, offsets[i], i % 3, (int)(i % 2));
    one(w, 100, UINT64_MAX - 30, 1, 0); /* wraps */
}
