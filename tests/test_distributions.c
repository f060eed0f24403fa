/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions, bit for bit: the vectors of an independent slow program, extreme words, ends of intervals, integers
 * exhaustively at small word sizes, parameters refused by name and value, cursors of narrow elements.
 */
#include "distribution_vectors.h"
#include "reference/number.h"
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

static void made_in_f64(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(f64_vectors); k++) {
        wmRandomKey key = {f64_vectors[k].seed, f64_vectors[k].substream};
        uint64_t i = f64_vectors[k].i;
        assert_true(wmLaplace(key, i) == f64_vectors[k].laplace);
        assert_true(wmLogistic(key, i) == f64_vectors[k].logistic);
        assert_true(wmGumbel(key, i) == f64_vectors[k].gumbel);
        assert_true(wmWeibull(key, i, 1.75) == f64_vectors[k].weibull);
        assert_true(wmCauchy(key, i) == f64_vectors[k].cauchy);
        assert_true(wmGamma(key, i, 2.5) == f64_vectors[k].gamma);
        assert_true(wmGamma(key, i, 0.25) == f64_vectors[k].small_gamma);
        assert_true(wmGeometric(key, i, wmGeometricScale(0.3)) == f64_vectors[k].geometric);
    }
}

static void choices(void **unused) {
    (void)unused;
    for (size_t k = 0; k < COUNT(permutation_vectors); k++) {
        wmRandomKey key = {permutation_vectors[k].seed, permutation_vectors[k].substream};
        uint64_t span = permutation_vectors[k].span;
        wmPermutation p = wmPermutationMake(key, span);
        assert_true(wmPermute(&p, permutation_vectors[k].i % span) == permutation_vectors[k].value);
    }
    for (size_t k = 0; k < COUNT(rounding_vectors); k++) {
        wmRandomKey key = {rounding_vectors[k].seed, rounding_vectors[k].substream};
        uint64_t i = rounding_vectors[k].i;
        float x = rounding_vectors[k].x;
        unsigned word = wmBitsU32(key, i);
        wm_u32 got[4] = {wmRoundAtRandom(x, word, wmRoundedF16()),
                         wmRoundAtRandom(x, wmBitsU16(key, i) << 16, wmRoundedBf16()),
                         wmRoundAtRandom(x, word, wmRoundedE4m3()), wmRoundAtRandom(x, word, wmRoundedE5m2())};
        assert_true(wm_f32_of_f16(got[0]) == rounding_vectors[k].f16);
        assert_true(wm_f32_of_bf16(got[1]) == rounding_vectors[k].bf16);
        assert_true(wm_f32_of_f16(got[3] << 8) == rounding_vectors[k].e5m2);
        unsigned char byte = (unsigned char)got[2];
        assert_true(wm_number_load(WM_F8E4M3, &byte, 0).re == (double)rounding_vectors[k].e4m3);
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

/* Each column keeps its share and gives the rest away: shares add up to the weights', exactly in units of 2^-32. */
static void alias_tables(void **unused) {
    (void)unused;
    for (int round = 0; round < 200; round++) {
        static wmAlias table[1000];
        static double weights[1000], got[1000];
        int n = 1 + (int)(draw() % 1000);
        double sum = 0;
        for (int k = 0; k < n; k++) {
            weights[k] = draw() % 5 == 0 ? 0 : exp((double)(draw() % 60) - 30), got[k] = 0;
            if (k == 0) weights[k] = 1;
            sum += weights[k];
        }
        assert_int_equal(wmRandomAliasBuild(table, weights, n), WM_OK);
        for (int k = 0; k < n; k++) {
            double own = table[k].alias == (unsigned)k ? 0x1p32 : table[k].threshold;
            assert_true(table[k].alias < (unsigned)n);
            got[k] += own, got[table[k].alias] += 0x1p32 - own;
        }
        for (int k = 0; k < n; k++) {
            double want = weights[k] / sum * n * 0x1p32;
            assert_true(fabs(got[k] - want) <= n + 2 + want * 1e-13 && (weights[k] > 0 || got[k] == 0));
        }
    }
}

/* Every value of the formats and the ends of f32, with the words that cut most and least. */
static void roundings_at_the_ends(void **unused) {
    (void)unused;
    wmRounded f16 = wmRoundedF16(), bf16 = wmRoundedBf16(), e4m3 = wmRoundedE4m3(), e5m2 = wmRoundedE5m2();
    for (wm_u32 bits = 0; bits < 0x7c00u; bits++)
        for (int up = 0; up < 2; up++) {
            wm_u32 word = up ? ~0u : 0;
            assert_int_equal(wmRoundAtRandom(wm_f32_of_f16(bits), word, f16), bits);
            assert_int_equal(wmRoundAtRandom(-wm_f32_of_f16(bits), word, f16), bits | 0x8000u);
            assert_int_equal(wmRoundAtRandom(wm_f32_of_bf16(bits), word, bf16), bits);
            if ((bits & 0xff) == 0 && bits <= 0x7b00u)
                assert_int_equal(wmRoundAtRandom(wm_f32_of_f16(bits), word, e5m2), bits >> 8);
        }
    assert_int_equal(wmRoundAtRandom(NAN, 0, f16), 0x7fff);
    assert_int_equal(wmRoundAtRandom(-NAN, ~0u, e4m3), 0x7f);
    assert_int_equal(wmRoundAtRandom(INFINITY, 0, bf16), 0x7f80);
    assert_int_equal(wmRoundAtRandom(-INFINITY, 0, e5m2), 0xfb);
    assert_int_equal(wmRoundAtRandom(1000, 0, e4m3), 0x7e);
    assert_int_equal(wmRoundAtRandom(65519, 0, f16), 0x7bff);
    assert_int_equal(wmRoundAtRandom(65519, ~0u, f16), 0x7c00);
    assert_int_equal(wmRoundAtRandom(FLT_TRUE_MIN, ~0u, e4m3), 0);
    assert_int_equal(wmRoundAtRandom(0x1p-10f, ~0u, e4m3), 1);
    assert_int_equal(wmRoundAtRandom(0x1p-10f, 0, e4m3), 0);
}

/* Words of zeros and ones through the transforms: finite, and in order. */
static void extreme_words(void **unused) {
    (void)unused;
    assert_true(wm_minus_log_u(0) > 36 && wm_minus_log_u(~0ull) > 0 && wm_minus_log_u(~0ull) < 1e-15);
    assert_true(isfinite(wm_exact_log64(wm_minus_log_u(0))) && isfinite(wm_exact_log64(wm_minus_log_u(~0ull))));
    double c, s;
    wm_normal_f64(0, 0, &c, &s);
    assert_true(isfinite(s / c) && fabs(s / c) > 1e15);
    static const wmWords words[] = {
        {{0, 0, 0, 0}},
        {{~0u, ~0u, ~0u, ~0u}},
        {{0, 0, ~0u, ~0u}},
        {{~0u, ~0u, 0, 0}},
    };
    static const double ends[][2] = {
        {-1, 1       },
        {-4, 4       },
        {3,  INFINITY},
        {2,  2.25    },
        {-9, -8      }
    };
    for (size_t k = 0; k < COUNT(words); k++)
        for (size_t e = 0; e < COUNT(ends); e++) {
            wmTruncated t = wmTruncatedMake(0, 1, ends[e][0], ends[e][1]);
            int stands = 0;
            double x = wm_truncated_attempt(&t, words[k], &stands);
            assert_true(isfinite(x) && (!stands || (x >= t.a && x <= t.b)));
        }
    static wmCountTable table;
    wmRandomDesc d = wmRandomDescDefault(WM_RANDOM_POISSON, WM_U32);
    wmRandomArgs a = wmRandomArgsDefault(NULL, 0, wmRandomKeyMake(1));
    static const double rates[] = {0, 1e-30, 1, 100, WM_COUNT_VARIANCE};
    for (size_t k = 0; k < COUNT(rates); k++) {
        a.rate = rates[k];
        wm_count_table_make(&table, &d, &a);
        assert_in_range(table.entries, 0, WM_COUNT_ENTRIES);
        for (int j = 1; j < table.entries; j++)
            assert_true(wm_pair_u64(table.low[j], table.high[j]) >= wm_pair_u64(table.low[j - 1], table.high[j - 1]));
        uint64_t least = wm_count_search(&table, (int)(table.guide[0] >> 20), 0, a.key, 0);
        uint64_t most = wm_count_search(&table, (int)(table.guide[WM_COUNT_CELLS - 1] >> 20), ~0u, a.key, 0);
        double sigma = sqrt(a.rate);
        assert_true((double)most <= a.rate + 12 * sigma + 20 && (double)least >= a.rate - 10 * sigma - 1 &&
                    most >= least);
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
    static const double bad_rates[] = {-1, NAN, INFINITY, 4.3e9};
    for (size_t k = 0; k < COUNT(bad_rates); k++)
        a = plain, a.rate = bad_rates[k], refused(context, "random poisson u32", a, "args.rate", "u32");
    a = plain, a.rate = 1e16, refused(context, "random poisson u64", a, "args.rate", "1e+16");
    a = plain, a.p = 1.5, refused(context, "random binomial u32", a, "args.p", "1.5");
    a = plain, a.p = 0.5, a.trials = 1ull << 32,
    refused(context, "random binomial u32", a, "args.trials", "4294967296");
    a = plain, a.p = 0, refused(context, "random geometric u32", a, "args.p", "0");
    a = plain, a.p = 1e-9, refused(context, "random geometric i32", a, "args.p", "1e-09");
    static const double bad_shapes[] = {0, -2, NAN, INFINITY, 1e15};
    static const char *const shaped[] = {"random gamma f32", "random chi_square f64", "random student_t f32",
                                         "random beta f64", "random weibull f32"};
    for (size_t k = 0; k < COUNT(bad_shapes); k++)
        for (size_t j = 0; j < COUNT(shaped); j++)
            a = plain, a.shape = bad_shapes[k], a.shape2 = 1, refused(context, shaped[j], a, "args.shape", "above 0");
    a = plain, a.shape = 1, refused(context, "random beta f64", a, "args.shape2", "above 0");
    a = plain, a.scale = -1, refused(context, "random laplace f32", a, "args.scale", "-1");
    a = plain, a.location = NAN, refused(context, "random cauchy f32", a, "args.location", "nan");
    a = plain, a.low = 1, a.high = 1, refused(context, "random truncated_normal f64", a, "args.low", "1");
    a = plain, a.low = 1, a.high = 2, a.std = -1, refused(context, "random truncated_normal f64", a, "args.std", "-1");
    a = plain, a.low = 1e9, a.high = 2e9, a.std = 1,
    refused(context, "random truncated_normal f64", a, "args.low", "std");
    a = plain, a.low = NAN, a.high = 2, refused(context, "random truncated_normal f32", a, "args.low", "nan");
    a = plain, refused(context, "random permutation u32", a, "args.span", "0");
    a = plain, a.span = 10, a.offset = 10, refused(context, "random permutation u32", a, "args.offset", "10");
    a = plain, refused(context, "random categorical u32", a, "args.dimension", "0");
    a = plain, a.dimension = 3, refused(context, "random categorical u32", a, "args.table", "NULL");
    a = plain, a.dimension = 3, refused(context, "random dirichlet f32", a, "args.count", "multiples");
    a = plain, a.dimension = 1, refused(context, "random normal_vectors f32", a, "args.table", "NULL");
    a = plain, refused(context, "random round bf16", a, "args.in", "NULL");
    uint64_t table[3];
    static const double bad_weights[][3] = {
        {1, -1,  1},
        {1, NAN, 1},
        {0, 0,   0}
    };
    for (int k = 0; k < 3; k++) assert_int_equal(wmRandomAliasBuild(table, bad_weights[k], 3), WM_ERR_ARGUMENT);
    assert_int_equal(wmRandomAliasBuild(table, bad_weights[0], 0), WM_ERR_ARGUMENT);
    assert_int_equal(wmRandomAliasBuild(NULL, bad_weights[0], 3), WM_ERR_ARGUMENT);
    assert_int_equal(wmRandomAliasBuild(table, NULL, 3), WM_ERR_ARGUMENT);
    wmContextDestroy(context);
}

static void bad_descs(void **unused) {
    (void)unused;
    static const char *const bad[][2] = {
        {"random bits f32",                                "f32"           },
        {"random bernoulli u32",                           "u8"            },
        {"random mask u8",                                 "u32"           },
        {"random integers f32",                            "f32"           },
        {"random exponential u32",                         "u32"           },
        {"random normal e4m3",                             "e4m3"          },
        {"random normal f32 interval=open",                "interval"      },
        {"random normal f32 accuracy=fast det=gpu_to_gpu", "gpu_to_gpu"    },
        {"random poisson f32",                             "f32"           },
        {"random bernoulli u8 gen=sobol32",                "Sobol"         },
        {"random gamma f32 gen=sobol64",                   "Sobol"         },
        {"random permutation u32 gen=sobol32",             "Sobol"         },
        {"random integers i64 gen=sobol32",                "i64"           },
        {"random poisson u32 gen=sobol32",                 "one coordinate"},
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
        cmocka_unit_test(made_in_f64),
        cmocka_unit_test(choices),
        cmocka_unit_test(alias_tables),
        cmocka_unit_test(roundings_at_the_ends),
        cmocka_unit_test(extreme_words),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_descs),
        cmocka_unit_test(cursors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
