/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions, bit for bit: the vectors of an independent slow program, extreme words, ends of intervals, integers
 * exhaustively at small word sizes, parameters refused by name and value, cursors of narrow elements.
 */
#include "distribution_vectors.h"
#include "reference/random_element_job.h"

#include <warpmath/device/distributions.h>
#include <warpmath/warpmath.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static uint64_t state = 20250411;
static uint64_t draw(void) { /* splitmix64: nothing of the code under test */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- The slow program's vectors ---- */

static float narrow_value(int bf16, wm_u32 bits) {
    return bf16 ? wm_f32_of_bf16(bits) : wm_f32_of_f16(bits);
}

static void uniforms(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(uniform_vectors); k++) {
        wmRandomKey key = {uniform_vectors[k].seed, uniform_vectors[k].substream};
        uint64_t i = uniform_vectors[k].i;
        int interval = uniform_vectors[k].interval;
        double low = uniform_vectors[k].low, high = uniform_vectors[k].high;
        wmInterval32 f = wmIntervalMakeF32(interval, (float)low, (float)high);
        wmInterval64 d = wmIntervalMakeF64(interval, low, high);
        assert_true(wm_uniform_any_f32(wmBitsU32(key, i), &f) == (float)uniform_vectors[k].f32);
        assert_true(wm_uniform_any_f64(wmBitsU64(key, i), &d) == uniform_vectors[k].f64);
        for (int bf16 = 0; bf16 < 2; bf16++) {
            float ends[2] = {(float)low, (float)high};
            for (int e = 0; e < 2; e++)
                ends[e] = narrow_value(bf16, bf16 ? wm_bf16_nearest(ends[e]) : wm_f16_nearest(ends[e]));
            wmInterval32 h = wmIntervalMake16(bf16, interval, ends[0], ends[1]);
            float got = narrow_value(bf16, wm_uniform_any_16(bf16, wmBitsU16(key, i), &h));
            assert_true(got == (float)(bf16 ? uniform_vectors[k].bf16 : uniform_vectors[k].f16));
        }
    }
}

static void integers(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(integer_vectors); k++) {
        wmRandomKey key = {integer_vectors[k].seed, integer_vectors[k].substream};
        uint64_t i = integer_vectors[k].i, want = integer_vectors[k].value;
        wmIntegers r = wmIntegersMake(integer_vectors[k].base, integer_vectors[k].span);
        int bits = integer_vectors[k].bits;
        if (bits == 8) assert_int_equal(wmIntegersU8(key, i, r), want);
        if (bits == 16) assert_int_equal(wmIntegersU32(key, i, r) & 0xffff, want);
        if (bits == 32) assert_int_equal(wmIntegersU32(key, i, r), want);
        if (bits == 64) assert_true(wmIntegersU64(key, i, r) == want);
    }
}

static void coins(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(coin_vectors); k++) {
        wmRandomKey key = {coin_vectors[k].seed, coin_vectors[k].substream};
        wmProbability p = wmProbabilityMake(coin_vectors[k].p);
        for (unsigned j = 0; j < 16; j++)
            assert_int_equal(wmBernoulli(key, 16 * coin_vectors[k].i + j, p), coin_vectors[k].next16 >> j & 1);
    }
}

static void exponentials(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(exponential_vectors); k++) {
        wmRandomKey key = {exponential_vectors[k].seed, exponential_vectors[k].substream};
        uint64_t i = exponential_vectors[k].i;
        double rate = exponential_vectors[k].rate;
        assert_true(wmExponentialF32(key, i, (float)rate) == exponential_vectors[k].f32);
        assert_true(wmExponentialF64(key, i, rate) == exponential_vectors[k].f64);
    }
}

static void lognormals(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(lognormal_vectors); k++) {
        wmRandomKey key = {lognormal_vectors[k].seed, lognormal_vectors[k].substream};
        uint64_t i = lognormal_vectors[k].i;
        double mean = lognormal_vectors[k].mean, std = lognormal_vectors[k].std;
        assert_true(wmLognormalF32(key, i, (float)mean, (float)std) == lognormal_vectors[k].f32);
        assert_true(wmLognormalF64(key, i, mean, std) == lognormal_vectors[k].f64);
    }
}

/* ---- Conversions and functions ---- */

/* Every value and every midpoint of f16 and bf16, and their neighbours: rounding is to nearest even, `below` a floor.
 */
static void narrow_roundings(void **unused) {
    (void)unused;
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (wm_u32 bits = 0; bits < (bf16 ? 0x7f00u : 0x7bffu); bits++) {
            float a = narrow_value(bf16, bits), b = narrow_value(bf16, bits + 1);
            float middle = (float)(((double)a + b) / 2), up = nextafterf(middle, b), down = nextafterf(middle, a);
            wm_u32 even = bits + (bits & 1);
            for (wm_u32 sign = 0; sign < 2; sign++) {
                float s = sign ? -1.0f : 1.0f;
                wm_u32 flag = sign << 15, under = bits + sign; /* of -x the value below is further out */
                wm_u32 (*nearest)(float) = bf16 ? wm_bf16_nearest : wm_f16_nearest;
                wm_u32 (*below)(float) = bf16 ? wm_bf16_below : wm_f16_below;
                assert_int_equal(nearest(s * a), bits | flag);
                assert_int_equal(below(s * a), bits | flag);
                assert_int_equal(below(s * middle), under | flag);
                assert_int_equal(nearest(s * middle), even | flag);
                assert_int_equal(nearest(s * up), (bits + 1) | flag);
                assert_int_equal(nearest(s * down), bits | flag);
                assert_int_equal(below(s * up), under | flag);
                assert_int_equal(below(s * down), under | flag);
            }
        }
    assert_int_equal(wm_f16_below(-1e-30f), 0x8001);
    assert_int_equal(wm_f16_below(-FLT_TRUE_MIN), 0x8001);
    assert_int_equal(wm_f16_nearest(65520), 0x7c00);
    assert_int_equal(wm_f16_nearest(65519.99f), 0x7bff);
}

static void exponential_functions(void **unused) {
    (void)unused;
    double worst32 = 0, worst64 = 0, log_worst = 0;
    for (int k = 0; k < 1 << 19; k++) {
        double x = ((double)(draw() >> 11) * 0x1p-53 - 0.5) * (k & 1 ? 170 : 4), y = x * 8;
        float e = wm_exact_exp32((float)x);
        long double want = expl((long double)(float)x), wide = expl(y);
        worst32 = fmax(worst32, fabs((double)((e - want) / fmaxl(want, 0x1p-126L))) * 0x1p24);
        worst64 = fmax(worst64, fabs((double)((wm_exact_exp64(y) - wide) / fmaxl(wide, 0x1p-1022L))) * 0x1p53);
        double v = exp(y);
        if (v > DBL_MIN && v < DBL_MAX)
            log_worst = fmax(log_worst, fabs((double)(wm_exact_log64(v) - logl(v))) / fmax(1, fabs(y)) * 0x1p53);
    }
    printf("  exp32 %.2f, exp64 %.2f of 2^-24, 2^-53; log64 %.2f of 2^-53 max(1, |ln x|)\n", worst32, worst64,
           log_worst);
    assert_true(worst32 <= 2 && worst64 <= 2 && log_worst <= 4);
    assert_true(wm_exact_exp32(-200) == 0 && wm_exact_exp32(200) == INFINITY && wm_exact_exp32(0) == 1);
    assert_true(wm_exact_exp64(-800) == 0 && wm_exact_exp64(800) == INFINITY && wm_exact_exp64(0) == 1);
    assert_true(wm_exact_exp32(-INFINITY) == 0 && wm_exact_exp64(INFINITY) == INFINITY);
}

/* ---- Extreme words and ends ---- */

static void ends_are_kept(void **unused) {
    (void)unused;
    static const double pairs[][2] = {
        {0,      1        },
        {-1,     1        },
        {1,      1.015625 },
        {-3,     -2.984375},
        {-1,     0        },
        {0,      0x1p-14  },
        {-60000, 60000    },
        {0.1,    0.2      },
        {1000,   1001     },
    };
    static const uint64_t words[] = {0, 1, 0xff, 0x100, 0x7fffffffu, 0x80000000u, ~0u, 1ull << 63, ~0ull, ~0ull << 11};
    for (size_t p = 0; p < COUNT(pairs); p++)
        for (int interval = 0; interval < 3; interval++)
            for (size_t w = 0; w < COUNT(words) + 1000; w++) {
                uint64_t z = w < COUNT(words) ? words[w] : draw();
                float low = (float)pairs[p][0], high = (float)pairs[p][1];
                wmInterval32 f = wmIntervalMakeF32(interval, low, high);
                wmInterval64 d = wmIntervalMakeF64(interval, pairs[p][0], pairs[p][1]);
                float x = wm_uniform_any_f32((wm_u32)z, &f);
                double y = wm_uniform_any_f64(z, &d);
                assert_true(interval == 0   ? x >= low && x < high
                            : interval == 1 ? x > low && x <= high
                                            : x > low && x < high);
                assert_true(interval == 0   ? y >= pairs[p][0] && y < pairs[p][1]
                            : interval == 1 ? y > pairs[p][0] && y <= pairs[p][1]
                                            : y > pairs[p][0] && y < pairs[p][1]);
                for (int bf16 = 0; bf16 < 2; bf16++) {
                    float a = narrow_value(bf16, bf16 ? wm_bf16_nearest(low) : wm_f16_nearest(low));
                    float b = narrow_value(bf16, bf16 ? wm_bf16_nearest(high) : wm_f16_nearest(high));
                    if (!(a < b) || narrow_value(bf16, bf16 ? wm_bf16_below(nextafterf(b, a))
                                                            : wm_f16_below(nextafterf(b, a))) <= a)
                        continue;
                    wmInterval32 h = wmIntervalMake16(bf16, interval, a, b);
                    float v = narrow_value(bf16, wm_uniform_any_16(bf16, z & 0xffff, &h));
                    assert_true(interval == 0 ? v >= a && v < b : interval == 1 ? v > a && v <= b : v > a && v < b);
                }
            }
}

/* P(u < x) = x for every x = k / 2^16 of the type, over all 2^16 words. */
static void narrow_uniforms_are_exact(void **unused) {
    (void)unused;
    static unsigned below[65537];
    for (int bf16 = 0; bf16 < 2; bf16++) {
        memset(below, 0, sizeof below);
        for (wm_u32 h = 0; h < 65536; h++) {
            wm_u32 pair = wm_uniform_pair_16(bf16, h | (65535 - h) << 16);
            float u = narrow_value(bf16, pair & 0xffff), v = narrow_value(bf16, pair >> 16);
            wmInterval32 unit = wmIntervalMake16(bf16, WM_CLOSED_OPEN, 0, 1);
            assert_int_equal(pair & 0xffff, wm_uniform_any_16(bf16, h, &unit));
            assert_int_equal(pair >> 16, wm_uniform_any_16(bf16, 65535 - h, &unit));
            assert_true(u >= 0 && u < 1 && v < 1);
            below[(unsigned)(u * 65536) + 1]++;
        }
        for (unsigned k = 1; k <= 65536; k++) below[k] += below[k - 1];
        for (unsigned k = 0; k <= 65536; k++)
            if (narrow_value(bf16, bf16 ? wm_bf16_nearest((float)k / 65536) : wm_f16_nearest((float)k / 65536)) *
                    65536 ==
                (float)k)
                assert_int_equal(below[k], k);
    }
}

/* All 65536 halves for every span: each value as often as the other, and as few rejected as can be. */
static void integers_exhaustively(void **unused) {
    (void)unused;
    static unsigned count[65536];
    for (wm_u32 span = 1; span < 65536; span += span < 300 ? 1 : 4099) {
        wmIntegers r = wmIntegersMake(0, span);
        wm_u32 rejected = 0;
        memset(count, 0, sizeof count);
        for (wm_u32 h = 0; h < 65536; h++) {
            wm_u32 no, x = wm_integer_16(h, &r, &no);
            assert_true(x < span);
            count[x] += !no;
            rejected += no;
        }
        assert_int_equal(rejected, 65536 % span);
        for (wm_u32 x = 0; x < span; x++) assert_int_equal(count[x], 65536 / span);
    }
}

static void products_of_64_bits(void **unused) {
    (void)unused;
    for (int k = 0; k < 10000; k++) {
        uint64_t a = draw() >> (draw() & 63), b = draw() >> (draw() & 63), low = 0;
        unsigned long long wide_low;
        __extension__ typedef unsigned __int128 u128;
        u128 want = (u128)a * b;
        assert_true(wm_product_u64(a, b, &wide_low) == (uint64_t)(want >> 64));
        low = wide_low;
        assert_true(low == (uint64_t)want);
    }
}

/* ---- Parameters ---- */

static wmContext *cpu(void) {
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU, options.wisdom_path = "";
    assert_int_equal(wmContextCreate(&context, &options), WM_OK);
    return context;
}

/* Draws with these arguments; a refusal must say each of the words. */
static void refused(wmContext *context, const char *problem, wmRandomArgs args, const char *word, const char *value) {
    wmPlan *plan = NULL;
    unsigned char out[64];
    args.out = out, args.count = 1;
    assert_int_equal(wmPlanCreate(&plan, context, problem, NULL), WM_OK);
    assert_int_equal(wmRandomExecute(plan, &args, NULL), WM_ERR_ARGUMENT);
    if (!strstr(wmLastError(), word) || !strstr(wmLastError(), value))
        fail_msg("%s: \"%s\" lacks %s or %s", problem, wmLastError(), word, value);
    wmPlanDestroy(plan);
}

static void bad_parameters(void **unused) {
    (void)unused;
    wmContext *context = cpu();
    wmRandomArgs plain = wmRandomArgsDefault(NULL, 1, wmRandomKeyMake(1)), a;
    static const double bad_p[] = {-0.1, 1.5, NAN, INFINITY};
    for (size_t k = 0; k < COUNT(bad_p); k++) {
        a = plain, a.p = bad_p[k];
        refused(context, "random bernoulli u8", a, "args.p", "0 to 1");
        refused(context, "random mask u32", a, "args.p", "0 to 1");
    }
    a = plain, a.rate = -2, refused(context, "random exponential f32", a, "args.rate", "-2");
    a = plain, a.rate = NAN, refused(context, "random exponential f64", a, "args.rate", "nan");
    a = plain, a.rate = 1e-39, refused(context, "random exponential f32", a, "args.rate", "1e-39");
    a = plain, a.std = -1, refused(context, "random lognormal f32", a, "args.std", "-1");
    a = plain, a.low = 2, a.high = 1, refused(context, "random uniform bf16", a, "args.low", "2");
    a = plain, a.low = 1, a.high = 1.0001, refused(context, "random uniform bf16", a, "not below", "bf16");
    a = plain, a.low = 1, a.high = nextafterf(1, 2);
    refused(context, "random uniform f32 interval=open", a, "lies between", "f32");
    a = plain, a.high = 70000, refused(context, "random uniform f16", a, "args.high", "70000");
    a = plain, a.base = 250, a.span = 7, refused(context, "random integers u8", a, "args.span", "7");
    a = plain, a.base = -1, a.span = 2, refused(context, "random integers u32", a, "args.base", "-1");
    a = plain, a.base = -129, a.span = 2, refused(context, "random integers i8", a, "args.base", "-129");
    a = plain, a.base = 5, refused(context, "random integers i32", a, "args.span", "0");
    a = plain, a.base = INT64_MAX, a.span = 2, refused(context, "random integers i64", a, "args.span", "2");
    a = plain, a.base = -1, a.span = 2, refused(context, "random integers u64", a, "args.span", "2");
    wmContextDestroy(context);
}

static void bad_descs(void **unused) {
    (void)unused;
    static const char *const bad[][2] = {
        {"random bits f32",                                "f32"       },
        {"random bernoulli u32",                           "u8"        },
        {"random mask u8",                                 "u32"       },
        {"random integers f32",                            "f32"       },
        {"random exponential u32",                         "u32"       },
        {"random normal e4m3",                             "e4m3"      },
        {"random normal f32 interval=open",                "interval"  },
        {"random normal f32 accuracy=fast det=gpu_to_gpu", "gpu_to_gpu"},
        {"random poisson f32",                             "f32"       },
    };
    wmContext *context = cpu();
    for (size_t k = 0; k < COUNT(bad); k++) {
        wmPlan *plan = NULL;
        assert_int_not_equal(wmPlanCreate(&plan, context, bad[k][0], NULL), WM_OK);
        if (!strstr(wmLastError(), bad[k][1])) fail_msg("%s: \"%s\"", bad[k][0], wmLastError());
    }
    wmContextDestroy(context);
}

/* Ranges of every width from one cursor share no word. */
static void cursors(void **unused) {
    (void)unused;
    static const struct {
        wmDistribution distribution;
        wmType type;
        int bits;
    } draws[] = {
        {WM_RANDOM_BITS,        WM_U8,   8 },
        {WM_RANDOM_BERNOULLI,   WM_U8,   1 },
        {WM_RANDOM_NORMAL,      WM_F64,  64},
        {WM_RANDOM_UNIFORM,     WM_F16,  16},
        {WM_RANDOM_NORMAL,      WM_BF16, 32},
        {WM_RANDOM_INTEGERS,    WM_I16,  32},
        {WM_RANDOM_MASK,        WM_U32,  32},
        {WM_RANDOM_EXPONENTIAL, WM_F32,  32},
    };
    wmRandomCursor cursor = wmRandomCursorMake(wmRandomKeyMake(1));
    uint64_t bit = 0;
    for (int k = 0; k < 1000; k++) {
        size_t which = draw() % COUNT(draws);
        wmRandomDesc d = wmRandomDescDefault(draws[which].distribution, draws[which].type);
        int64_t count = (int64_t)(draw() % 1000);
        uint64_t offset = 0;
        assert_int_equal(wmRandomCursorTake(&cursor, &d, count, &offset), WM_OK);
        assert_true(offset * (uint64_t)draws[which].bits >= bit);
        bit = (offset + (uint64_t)count) * (uint64_t)draws[which].bits;
        assert_true(cursor.next * 32 >= bit && cursor.next % 4 == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniforms),
        cmocka_unit_test(integers),
        cmocka_unit_test(coins),
        cmocka_unit_test(exponentials),
        cmocka_unit_test(lognormals),
        cmocka_unit_test(narrow_roundings),
        cmocka_unit_test(exponential_functions),
        cmocka_unit_test(ends_are_kept),
        cmocka_unit_test(narrow_uniforms_are_exact),
        cmocka_unit_test(integers_exhaustively),
        cmocka_unit_test(products_of_64_bits),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_descs),
        cmocka_unit_test(cursors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
