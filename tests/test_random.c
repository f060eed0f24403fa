/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers, bit for bit: known answers, the vectors of an independent slow program, extreme words, accuracy
 * against long double, every slice against the scalar functions, every instruction set against every other.
 * WM_TEST_SEED replays the random part; the seed is printed.
 */
#include "random_vectors.h"
#include "reference/random_fill.h"

#include <warpmath/warpmath.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
static const long double PI = 3.14159265358979323846264338327950288L;

static uint64_t state;
static uint64_t draw(void) { /* splitmix64: nothing of the code under test */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- Words and keys ---- */

/* Random123's published answers, for 7 and 10 rounds. */
static void known_answers(void **unused) {
    (void)unused;
    static const struct {
        int rounds;
        unsigned counter[4], key[2], want[4];
    } kat[] = {
        {10, {0, 0, 0, 0},                                     {0, 0},     {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
        {10, {~0u, ~0u, ~0u, ~0u},                             {~0u, ~0u}, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
        {10,
         {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
         {0xa4093822u, 0x299f31d0u},
         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}                                                                  },
        {7,  {0, 0, 0, 0},                                     {0, 0},     {0x5f6fb709u, 0x0d893f64u, 0x4f121f81u, 0x4f730a48u}},
        {7,  {~0u, ~0u, ~0u, ~0u},                             {~0u, ~0u}, {0x5207ddc2u, 0x45165e59u, 0x4d8ee751u, 0x8c52f662u}},
        {7,
         {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
         {0xa4093822u, 0x299f31d0u},
         {0x4dfccabau, 0x190a87f0u, 0xc47362bau, 0xb6b5242au}                                                                  },
    };
    for (size_t i = 0; i < COUNT(kat); i++) {
        wmWords c;
        memcpy(c.w, kat[i].counter, sizeof c.w);
        if (kat[i].rounds == 10) {
            c = wmPhilox4x32(c, kat[i].key[0], kat[i].key[1]);
        } else {
            for (unsigned r = 0; r < 7; r++)
                c = wm_philox_round(c, kat[i].key[0] + r * 0x9e3779b9u, kat[i].key[1] + r * 0xbb67ae85u);
        }
        assert_memory_equal(c.w, kat[i].want, sizeof c.w);
    }
}

/* C++26's philox4x32 engine: its 10000th value is word 3 of block 2499, seed 20111115. */
static void standard_library(void **unused) {
    (void)unused;
    assert_int_equal(wmBitsU32(wmRandomKeyMake(20111115), 9999), 1955073260u);
}

static void vectors_of_the_slow_program(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(vectors); i++) {
        wmRandomKey key = {vectors[i].seed, vectors[i].substream};
        unsigned long long block = vectors[i].block;
        wmF32x4 u = wmUniformF32x4(key, block), z = wmNormalF32x4(key, block);
        wmF64x2 v = wmUniformF64x2(key, block), y = wmNormalF64x2(key, block);
        assert_memory_equal(wmRandomBlock(key, block).w, vectors[i].w, 16);
        assert_memory_equal(&u, vectors[i].uniform, 16);
        assert_memory_equal(&z, vectors[i].normal, 16);
        assert_memory_equal(&v, vectors[i].uniform64, 16);
        assert_memory_equal(&y, vectors[i].normal64, 16);
        for (unsigned k = 0; k < 4; k++) {
            uint64_t e = 4 * block + k;
            assert_int_equal(wmBitsU32(key, e), vectors[i].w[k]);
            assert_true(wmUniformF32(key, e) == vectors[i].uniform[k] && wmNormalF32(key, e) == vectors[i].normal[k]);
        }
        for (unsigned k = 0; k < 2; k++) {
            uint64_t e = 2 * block + k;
            assert_int_equal(wmBitsU64(key, e), vectors[i].w[2 * k] | (uint64_t)vectors[i].w[2 * k + 1] << 32);
            assert_true(wmUniformF64(key, e) == vectors[i].uniform64[k] &&
                        wmNormalF64(key, e) == vectors[i].normal64[k]);
        }
    }
}

static void corners_of_the_slow_program(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(corners32); i++) {
        float z[2];
        wm_normal_f32(corners32[i].a, corners32[i].b, &z[0], &z[1]);
        assert_memory_equal(z, corners32[i].z, sizeof z);
    }
    for (size_t i = 0; i < COUNT(corners64); i++) {
        double z[2];
        wm_normal_f64(corners64[i].a, corners64[i].b, &z[0], &z[1]);
        assert_memory_equal(z, corners64[i].z, sizeof z);
    }
}

static void keys_from_keys(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(folds); i++) {
        wmRandomKey key = {folds[i].seed, folds[i].substream}, child = wmRandomKeyFold(key, folds[i].number);
        assert_true(child.seed == folds[i].seed_out && child.substream == folds[i].substream_out);
    }
    wmRandomKey key = wmRandomKeyMake(draw()), split[5];
    wmRandomKeySplit(key, split, 5);
    for (unsigned i = 0; i < 5; i++) {
        wmRandomKey child = wmRandomKeyFold(key, (1ull << 63) + i);
        assert_true(split[i].seed == child.seed && split[i].substream == child.substream);
        assert_true(split[i].seed != wmRandomKeyFold(key, i).seed);
    }
}

/* ---- Normals: ends, and accuracy of the transform ---- */

/* Words that are extreme in every part that a normal reads, and random ones. */
static unsigned corner32(void) {
    static const unsigned edge[] = {0, 1, 0x7fffffu, 0x800000u, 0xffffffu, 0x1000000u, 0x7fffffffu, 0x80000000u, ~0u};
    uint64_t r = draw();
    unsigned base = r & 1 ? edge[(r >> 8) % COUNT(edge)] : (unsigned)(r >> 32) >> (r >> 1 & 31);
    return base + (unsigned)(r >> 16 & 3) - 1;
}

static void normals_never_leave_their_range(void **unused) {
    (void)unused;
    float most = 0, least = 1, z[2];
    double wide_most = 0, wide_least = 1, y[2];
    for (int i = 0; i < 1 << 20; i++) {
        unsigned a = corner32(), b = corner32();
        wm_normal_f32(a, b, &z[0], &z[1]);
        uint64_t c = a | (uint64_t)corner32() << 32, d = b | (uint64_t)corner32() << 32;
        wm_normal_f64(c, d, &y[0], &y[1]);
        for (int k = 0; k < 2; k++) {
            assert_true(fabsf(z[k]) > 0 && fabsf(z[k]) <= 6.77f); /* false for NaN too */
            assert_true(fabs(y[k]) > 0 && fabs(y[k]) <= 8.58);
            most = fmaxf(most, fabsf(z[k])), least = fminf(least, fabsf(z[k]));
            wide_most = fmax(wide_most, fabs(y[k])), wide_least = fmin(wide_least, fabs(y[k]));
        }
    }
    printf("  |z| f32 from %g to %.4f, f64 from %g to %.4f\n", least, most, wide_least, wide_most);
    assert_true(most > 6.763f && wide_most > 8.57); /* tails: sqrt(66 ln 2), sqrt(106 ln 2) */
}

/* sqrt(-2 ln u) as the words give it, in long double. */
static long double radius32(unsigned a) {
    double u = (double)((float)a + 0.5f) * 0x1p-32;
    return sqrtl(-2 * logl(u < 1 ? u : 1 - 0x1p-24));
}
static long double radius64(uint64_t a) {
    uint64_t k = a & 0xfffffffffffffu;
    long double below = (long double)(2 * (0xfffffffffffffu - k) + 1) * 0x1p-53L; /* 1 - u */
    return sqrtl(-2 * (below < 0.5L ? log1pl(-below) : logl((long double)(2 * k + 1) * 0x1p-53L)));
}

/* cos and sin of pi x, |x| <= 1/2, accurate near their zeros. */
static void half_turn(long double x, long double *c, long double *s) {
    *c = fabsl(x) > 0.25L ? sinl(PI * (0.5L - fabsl(x))) : cosl(PI * x);
    *s = fabsl(x) > 0.25L ? copysignl(cosl(PI * (0.5L - fabsl(x))), x) : sinl(PI * x);
}

/*
 * The bounds are the roundings added up, in units of half an ulp: two products, the series' last step, t or y, the
 * root, and half of the square's (sum, product, series' last step, its own error).
 */
static void accuracy_f32(void **unused) {
    (void)unused;
    double worst = 0, sum = 0;
    int n = 1 << 21;
    for (int i = 0; i < n; i++) {
        unsigned a = i & 1 ? corner32() : (unsigned)draw(), b = i & 2 ? corner32() : (unsigned)draw();
        float z[2];
        wm_normal_f32(a, b, &z[0], &z[1]);
        long double c, s, r = radius32(a) * (b >> 31 ? -1 : 1);
        half_turn((long double)(2 * (b & 0xffffffu) + 1) * 0x1p-25L - 0.5L, &c, &s);
        double e = (double)fmaxl(fabsl(z[0] / (r * c) - 1), fabsl(z[1] / (r * s) - 1)) * 0x1p24;
        worst = fmax(worst, e), sum += e;
        assert_true(e <= 6);
    }
    printf("  f32: largest relative error %.2f, mean of pairs' larger one %.2f, in units of 2^-24\n", worst, sum / n);
}

static void accuracy_f64(void **unused) {
    (void)unused;
    double worst = 0, sum = 0;
    int n = 1 << 20;
    for (int i = 0; i < n; i++) {
        uint64_t a = i & 1 ? corner32() | (uint64_t)corner32() << 32 : draw(), b = draw();
        double z[2];
        if (i & 2) b = (b & 0xc000000000000000u) | (b >> (b & 51) & 0xfffffffffffffu);
        wm_normal_f64(a, b, &z[0], &z[1]);
        long double c, s, r = radius64(a) * (b >> 63 ? -1 : 1);
        half_turn((long double)(2 * (b & 0xfffffffffffffu) + 1) * 0x1p-53L - 0.5L, &c, &s);
        double e = (double)fmaxl(fabsl(z[0] / (r * c) - 1), fabsl(z[1] / (r * s) - 1)) * 0x1p53;
        worst = fmax(worst, e), sum += e;
        assert_true(e <= 6.5);
    }
    printf("  f64: largest relative error %.2f, mean of pairs' larger one %.2f, in units of 2^-53\n", worst, sum / n);
}

/* ---- Ranges ---- */

static void check_range32(float low, float high) {
    wmRangeF32 r = wmRangeMakeF32(low, high);
    float top = fmaf(1 - 0x1p-24f, r.width, r.low), bottom = fmaf(0, r.width, r.low);
    if (!(bottom == low && top < high && top >= low)) printf("[%a, %a): from %a to %a\n", low, high, bottom, top);
    assert_true(bottom == low && top < high && top >= low);
    /* And it gets near: within an ulp of `high`, or a step of u. */
    float near = fmaf(high - low, -0x1p-23f, nextafterf(nextafterf(high, low), low));
    if (high - low > 0x1p-100f && isfinite(high - low)) assert_true(top >= near);
}

static void check_range64(double low, double high) {
    wmRangeF64 r = wmRangeMakeF64(low, high);
    double top = fma(1 - 0x1p-53, r.width, r.low), bottom = fma(0, r.width, r.low);
    assert_true(bottom == low && top < high && top >= low);
    double near = fma(high - low, -0x1p-52, nextafter(nextafter(high, low), low));
    if (high - low > 0x1p-900 && isfinite(high - low)) assert_true(top >= near);
}

static void ranges_never_reach_their_end(void **unused) {
    (void)unused;
    assert_true(wmRangeMakeF32(0, 1).width == 1 && wmRangeMakeF64(0, 1).width == 1);
    assert_true(wmRangeMakeF32(0, 4).width == 4 && wmRangeMakeF64(-0.0, 0x1p-70).width == 0x1p-70);
    assert_true(wmRangeMakeF32(3, 3).width == 0 && wmRangeMakeF64(3, 2).width == 0);
    check_range32(-FLT_MAX, FLT_MAX), check_range64(-DBL_MAX, DBL_MAX);
    check_range32(-1, 0), check_range64(-1, 0), check_range32(0, FLT_MIN), check_range64(0, DBL_MIN);
    check_range32(1, nextafterf(1, 2)), check_range64(1, nextafter(1, 2)), check_range32(0, FLT_TRUE_MIN);
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = draw();
        float low, high;
        double wide_low, wide_high;
        unsigned half = (unsigned)(bits >> 32);
        memcpy(&low, &half, 4), memcpy(&wide_low, &bits, 8);
        if (!isfinite(low) || !isfinite(wide_low)) continue;
        int k = (int)(draw() % 60);
        high = low + ldexpf((float)(draw() % 1000 + 1), ilogbf(low) - k % 30);
        wide_high = wide_low + ldexp((double)(draw() % 1000 + 1), ilogb(wide_low) - k);
        if (isfinite(high) && low < high) check_range32(low, high);
        if (isfinite(wide_high) && wide_low < wide_high) check_range64(wide_low, wide_high);
    }
}

/* ---- Slices, instruction sets, threads ---- */

/* What the scalar functions of the device header make of element i, as bytes. */
static void scalar(const wm_random_job *job, uint64_t i, int wide, unsigned char *out) {
    float f = 0, scale = job->line.scale32, shift = job->line.shift32;
    double d = 0;
    unsigned w = wmBitsU32(job->key, i);
    unsigned long long v = wmBitsU64(job->key, i);
    if (job->kind == WM_DRAW_BITS) memcpy(out, wide ? (void *)&v : (void *)&w, wide ? 8 : 4);
    if (job->kind == WM_DRAW_UNIFORM_F32) f = fmaf(wmUniformF32(job->key, i), scale, shift);
    if (job->kind == WM_DRAW_NORMAL_F32) f = fmaf(wmNormalF32(job->key, i), scale, shift);
    if (job->kind == WM_DRAW_UNIFORM_F64) d = fma(wmUniformF64(job->key, i), job->line.scale64, job->line.shift64);
    if (job->kind == WM_DRAW_NORMAL_F64) d = fma(wmNormalF64(job->key, i), job->line.scale64, job->line.shift64);
    if (job->kind == WM_DRAW_UNIFORM_F32 || job->kind == WM_DRAW_NORMAL_F32) memcpy(out, &f, 4);
    if (job->kind == WM_DRAW_UNIFORM_F64 || job->kind == WM_DRAW_NORMAL_F64) memcpy(out, &d, 8);
}

static wm_random_job job_of(int kind, int wide) {
    wm_random_job job = {
        kind, wide ? 8 : 4, {draw(), (unsigned)draw()},
              { 1, 0,                    1, 0},
              WM_PHILOX4X32_10
    };
    if (draw() & 1) job.line = (wm_random_line){2.5f, -0.75f, 2.5, -0.75};
    return job;
}

static void check_slice(const wm_random_job *job, wm_random_blocks body, uint64_t offset, int64_t count) {
    enum { GUARD = 64 };
    static unsigned char buffer[8 * 700 + 3 * GUARD], want[8];
    size_t element = (size_t)job->element, bytes = (size_t)count * element;
    unsigned char *out = buffer + GUARD + element * (draw() % 4);
    memset(buffer, 0xff, sizeof buffer);
    wm_random_fill(job, body, offset, count, out);
    for (const unsigned char *b = buffer; b < buffer + sizeof buffer; b++)
        if (b < out || b >= out + bytes) assert_int_equal(*b, 0xff);
    for (int64_t i = 0; i < count; i++) {
        scalar(job, offset + (uint64_t)i, element == 8, want);
        assert_memory_equal(out + (size_t)i * element, want, element);
    }
}

static void slices_equal_scalars(void **unused) {
    (void)unused;
    static const uint64_t bases[] = {0, 1ull << 32, 1ull << 33, 1ull << 34, 1ull << 63, 0};
    wm_random_blocks bodies[WM_RANDOM_BODIES];
    const char *names[WM_RANDOM_BODIES];
    int n = wm_random_bodies(bodies, names);
    for (int body = 0; body < n; body++) {
        printf("  %s\n", names[body]);
        for (int i = 0; i < 600; i++) {
            int kind = i % (WM_DRAW_KINDS + 1),
                wide = kind == WM_DRAW_KINDS || kind == WM_DRAW_UNIFORM_F64 || kind == WM_DRAW_NORMAL_F64;
            wm_random_job job = job_of(kind % WM_DRAW_KINDS, wide);
            uint64_t offset = i % 7 == 6 ? draw() : bases[i % COUNT(bases)] - 300 + draw() % 600;
            check_slice(&job, bodies[body], offset, i < 60 ? i / 6 : (int64_t)(draw() % 700));
        }
    }
}

static void instruction_sets_agree(void **unused) {
    (void)unused;
    enum { BYTES = 1 << 20 };
    unsigned char *a = malloc(BYTES), *b = malloc(BYTES);
    wm_random_blocks bodies[WM_RANDOM_BODIES];
    int n = wm_random_bodies(bodies, NULL);
    assert_non_null(a);
    assert_non_null(b);
    for (int kind = 0; kind < WM_DRAW_KINDS; kind++) {
        wm_random_job job = job_of(kind, kind == WM_DRAW_UNIFORM_F64 || kind == WM_DRAW_NORMAL_F64);
        uint64_t offset = draw();
        wm_random_fill(&job, bodies[0], offset, BYTES / job.element, a);
        for (int i = 1; i < n; i++) {
            memset(b, 0xff, BYTES);
            wm_random_fill(&job, bodies[i], offset, BYTES / job.element, b);
            assert_memory_equal(a, b, BYTES);
        }
    }
    free(a);
    free(b);
}

/* Through the public calls, with any number of threads: the scalar function's bits. */
static void threads_agree(void **unused) {
    (void)unused;
    enum { N = 300007 };
    float *out = malloc(N * sizeof *out);
    wmRandomKey key = {draw(), 3};
    assert_non_null(out);
    for (int threads = 1; threads <= 5; threads += 2) {
        wmContext *context = NULL;
        wmContextOptions options = wmContextOptionsDefault();
        options.place = WM_PLACE_CPU, options.wisdom_path = "", options.cpu_threads = threads;
        assert_int_equal(wmContextCreate(&context, &options), WM_OK);
        wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_NORMAL, WM_F32);
        wmRandomArgs args = wmRandomArgsDefault(out, N, key);
        args.offset = UINT64_MAX - 1000;
        memset(out, 0xff, N * sizeof *out);
        assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
        for (uint64_t i = 0; i < N; i++) assert_true(out[i] == wmNormalF32(key, args.offset + i));
        wmContextDestroy(context);
    }
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(standard_library),
        cmocka_unit_test(vectors_of_the_slow_program),
        cmocka_unit_test(corners_of_the_slow_program),
        cmocka_unit_test(keys_from_keys),
        cmocka_unit_test(normals_never_leave_their_range),
        cmocka_unit_test(accuracy_f32),
        cmocka_unit_test(accuracy_f64),
        cmocka_unit_test(ranges_never_reach_their_end),
        cmocka_unit_test(slices_equal_scalars),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(threads_agree),
    };
    const char *text = getenv("WM_TEST_SEED"); // NOLINT(concurrency-mt-unsafe)
    state = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
