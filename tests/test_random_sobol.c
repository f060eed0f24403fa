/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sobol' points: direction numbers and sequences against libcurand's (for the CPU; skipped where it is not installed),
 * the balance that defines them, before and after scrambling, and the accuracy of the inverse distribution.
 * WM_TEST_SEED replays.
 */
#include <warpmath/warpmath.h>
#include <warpmath/device/sobol.h>

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { DIMENSIONS = WM_SOBOL_DIMENSIONS };

static uint64_t state;
static uint64_t draw(void) { /* splitmix64: nothing of the code under test */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static wmContext *context;

static int open_context(void **unused) {
    (void)unused;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    return wmContextCreate(&context, &options) != WM_OK;
}

static int close_context(void **unused) {
    (void)unused;
    wmContextDestroy(context);
    return 0;
}

/* Bits of `count` elements. */
static void *points(wmGenerator generator, wmScramble scramble, int64_t dimensions, wmRandomKey key, uint64_t offset,
                    int64_t count) {
    int wide = generator == WM_SOBOL64;
    wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_BITS, wide ? WM_U64 : WM_U32);
    desc.generator = generator;
    desc.scramble = scramble;
    desc.dimensions = dimensions;
    void *out = malloc((size_t)count * (wide ? 8 : 4));
    assert_non_null(out);
    wmRandomArgs args = wmRandomArgsDefault(out, count, key);
    args.offset = offset;
    assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
    return out;
}

/* ---- libcurand ---- */

static void *curand(const char *name) {
    static void *library;
    if (!library) library = dlopen("libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen(WM_CUDA_LIBRARIES "/libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_message("  libcurand is not installed\n");
        skip();
    }
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

static void directions_are_curands(void **unused) {
    (void)unused;
    int (*get32)(unsigned(**)[32], int) = NULL;
    int (*get64)(unsigned long long(**)[64], int) = NULL;
    *(void **)&get32 = curand("curandGetDirectionVectors32");
    *(void **)&get64 = curand("curandGetDirectionVectors64");
    unsigned(*theirs)[32] = NULL;
    unsigned long long(*wide)[64] = NULL;
    static unsigned ours[32][DIMENSIONS];
    static unsigned long long ours64[64][DIMENSIONS];
    assert_int_equal(get32(&theirs, 101), 0);
    assert_int_equal(get64(&wide, 103), 0);
    assert_int_equal(wmSobolDirections(ours, WM_SOBOL32, DIMENSIONS), WM_OK);
    assert_int_equal(wmSobolDirections(ours64, WM_SOBOL64, DIMENSIONS), WM_OK);
    for (int d = 0; d < DIMENSIONS; d++) {
        for (int bit = 0; bit < 32; bit++) assert_int_equal(ours[bit][d], theirs[d][bit]);
        for (int bit = 0; bit < 64; bit++) assert_true(ours64[bit][d] == wide[d][bit]);
    }
}

/* cuRAND writes dimension after dimension, we point after point. */
static void points_are_curands(void **unused) {
    (void)unused;
    enum { D = 37, N = 5000, SOBOL32 = 201 };
    void *g = NULL;
    int (*create)(void **, int) = NULL, (*dimensions)(void *, unsigned) = NULL, (*destroy)(void *) = NULL;
    int (*bits)(void *, unsigned *, size_t) = NULL;
    *(void **)&create = curand("curandCreateGeneratorHost");
    *(void **)&dimensions = curand("curandSetQuasiRandomGeneratorDimensions");
    *(void **)&bits = curand("curandGenerate");
    *(void **)&destroy = curand("curandDestroyGenerator");
    unsigned *theirs = malloc(sizeof *theirs * D * N);
    assert_non_null(theirs);
    assert_int_equal(create(&g, SOBOL32), 0);
    assert_int_equal(dimensions(g, D), 0);
    assert_int_equal(bits(g, theirs, (size_t)D * N), 0);
    assert_int_equal(destroy(g), 0);
    unsigned *ours = points(WM_SOBOL32, WM_SCRAMBLE_NONE, D, wmRandomKeyMake(0), 0, (int64_t)D * N);
    for (int n = 0; n < N; n++)
        for (int d = 0; d < D; d++) assert_int_equal(ours[n * D + d], theirs[d * N + n]);
    free(theirs), free(ours);
}

/* ---- What defines them ---- */

/* Any 2^12 points from a multiple of 2^12 fall once into each cell of 2^-12 of a dimension, and once into each of the
 * 2^a by 2^(12 - a) rectangles of the first two. Nested permutations and shifts leave that so. */
static void balance(wmGenerator generator, wmScramble scramble, uint64_t from) {
    enum { D = 40, BITS = 12, N = 1 << BITS };
    int wide = generator == WM_SOBOL64;
    wmRandomKey key = {draw(), (unsigned)draw()};
    void *x = points(generator, scramble, D, key, from * N * D, (int64_t)N * D);
    static unsigned char seen[N];
    static uint64_t top[N][D];
    for (int i = 0; i < N * D; i++) top[i / D][i % D] = wide ? ((uint64_t *)x)[i] : (uint64_t)((unsigned *)x)[i] << 32;
    for (int d = 0; d < D; d++) {
        memset(seen, 0, sizeof seen);
        for (int n = 0; n < N; n++) assert_int_equal(seen[top[n][d] >> (64 - BITS)]++, 0);
    }
    for (int a = 1; a < BITS; a++) {
        memset(seen, 0, sizeof seen);
        for (int n = 0; n < N; n++)
            assert_int_equal(seen[top[n][0] >> (64 - a) << (BITS - a) | top[n][1] >> (64 - BITS + a)]++, 0);
    }
    free(x);
}

/* 32 of the 64 bits: the upper ones, by a key in the arguments and by one in memory. */
static void narrow_bits_are_the_upper(void **unused) {
    enum { D = 3, N = 300 };
    (void)unused;
    wmRandomKey key = {draw(), (unsigned)draw()};
    uint64_t *whole = points(WM_SOBOL64, WM_SCRAMBLE_OWEN, D, key, 5, N);
    static uint32_t narrow[N];
    wmRandomState in_memory = {key, 5};
    for (int form = 0; form < 4; form++) {
        wmRandomDesc desc = wmRandomDescDefault(WM_RANDOM_BITS, form & 1 ? WM_I32 : WM_U32);
        desc.generator = WM_SOBOL64, desc.scramble = WM_SCRAMBLE_OWEN, desc.dimensions = D;
        wmRandomArgs args = wmRandomArgsDefault(narrow, N, key);
        args.offset = 5;
        if (form & 2) desc.key_source = WM_KEY_DEVICE, args.state = &in_memory, args.offset = 0;
        if (wmRandom(context, &desc, &args, NULL) != WM_OK) fail_msg("%s", wmLastError());
        for (int i = 0; i < N; i++) assert_int_equal(narrow[i], (uint32_t)(whole[i] >> 32));
    }
    free(whole);
}

static void points_are_balanced(void **unused) {
    (void)unused;
    for (int generator = WM_SOBOL32; generator <= WM_SOBOL64; generator++)
        for (int scramble = WM_SCRAMBLE_NONE; scramble <= WM_SCRAMBLE_SHIFT; scramble++) {
            balance((wmGenerator)generator, (wmScramble)scramble, 0);
            balance((wmGenerator)generator, (wmScramble)scramble, draw() % 100000);
        }
}

/* Owen's permutations: a bijection; a bit's fate depends on the bits above it alone, and is even over keys. */
static void owen_is_nested(void **unused) {
    (void)unused;
    enum { KEYS = 20000 };
    double flips[64] = {0}, both[64] = {0};
    for (int i = 0; i < KEYS; i++) {
        uint64_t seed = draw(), x = draw(), bit = draw() % 64;
        uint64_t a = wmScramble64(WM_SCRAMBLE_OWEN, x, seed), b = wmScramble64(WM_SCRAMBLE_OWEN, x ^ 1ull << bit, seed);
        assert_true((a ^ b) >> bit == 1); /* the same above, other there */
        unsigned y = (unsigned)x, low = (unsigned)bit % 32;
        unsigned c = wmScramble32(WM_SCRAMBLE_OWEN, y, seed), d = wmScramble32(WM_SCRAMBLE_OWEN, y ^ 1u << low, seed);
        assert_true((c ^ d) >> low == 1);
        uint64_t base = wmScramble64(WM_SCRAMBLE_OWEN, 0x0123456789abcdefu, seed) ^ 0x0123456789abcdefu;
        for (int k = 0; k < 64; k++) flips[k] += (double)(base >> k & 1);
        for (int k = 0; k < 63; k++) both[k] += (double)((base >> k ^ base >> (k + 1)) & 1);
    }
    for (int k = 0; k < 64; k++) {
        assert_true(fabs(flips[k] - KEYS / 2.0) < 5.5 * sqrt(KEYS / 4.0));
        if (k < 63) assert_true(fabs(both[k] - KEYS / 2.0) < 5.5 * sqrt(KEYS / 4.0));
    }
}

/* Mean squared error of an integral over scramblings: far below that of random points. */
static void owen_integrates(void **unused) {
    (void)unused;
    enum { D = 5, N = 1024, KEYS = 50 };
    double squares = 0;
    for (int key = 0; key < KEYS; key++) {
        unsigned *x = points(WM_SOBOL32, WM_SCRAMBLE_OWEN, D, wmRandomKeyMake((unsigned)key), 0, (int64_t)D * N);
        double sum = 0;
        for (int n = 0; n < N; n++) {
            double product = 1;
            for (int d = 0; d < D; d++) product *= 1 + 0.5 * ((x[n * D + d] + 0.5) * 0x1p-32 - 0.5);
            sum += product;
        }
        squares += (sum / N - 1) * (sum / N - 1) / KEYS;
        free(x);
    }
    double random = (pow(1 + 0.25 / 12, D) - 1) / N; /* variance of the mean over random points */
    printf("  mean squared error %.2e; of random points %.2e\n", squares, random);
    assert_true(squares < random / 1000);
}

/* ---- The inverse distribution ---- */

static void normals_are_inverse(void **unused) {
    (void)unused;
    double worst = 0;
    const uint64_t all = 0xfffffffffffffu;
    for (int i = 0; i < 400000; i++) {
        uint64_t k = draw() & all;
        if (i % 4 == 1) k >>= draw() % 52;
        if (i % 4 == 2) k = all - (k >> draw() % 52);
        if (i % 4 == 3) k = (k & 1 ? 1 : 3) * 0x4000000000000u + (k >> 1 & 0xfffff);
        double z = wm_sobol_normal(k), mirror = wm_sobol_normal(all - k);
        assert_true(z == -mirror && fabs(z) < 8.3);
        /* One step of Newton's from z: how far the exact inverse is. */
        uint64_t least = z < 0 ? k : all - k;
        long double p = ((long double)least + 0.5L) * 0x1p-52L, t = -fabsl((long double)z);
        long double density = expl(-0.5L * t * t) * 0.398942280401432677939946L;
        double error = (double)fabsl((0.5L * erfcl(-t * 0.707106781186547524400844L) - p) / density);
        double relative = error / (fabs(z) > 1e-300 ? fabs(z) : 1e-300) * 0x1p53;
        if (relative > worst) worst = relative;
    }
    printf("  largest relative error %.2f in units of 2^-53\n", worst);
    assert_true(worst < 16);
}

static void refusals(void **unused) {
    (void)unused;
    static const char *const bad[][2] = {
        {"random bits u32 gen=sobol32 dims=1112",          "dimensions is 1112"},
        {"random bits u64 gen=sobol32",                    "type is u64"       },
        {"random bits u32 dims=3",                         "dimensions is 3"   },
        {"random bits u32 scramble=owen",                  "scramble"          },
        {"random bits u32 gen=sobol32 seq=curand",         "sequence"          },
        {"random bits u32 gen=xorwow",                     "cuRAND"            },
        {"random bits u32 gen=threefry2x32-20 seq=curand", "curand"            },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wmPlan *plan = NULL;
        assert_true(wmPlanCreate(&plan, context, bad[i][0], NULL) != WM_OK && !plan);
        assert_non_null(strstr(wmLastError(), bad[i][1]));
    }
    unsigned long long out[64];
    assert_int_equal(wmSobolDirections(NULL, WM_SOBOL32, 1), WM_ERR_ARGUMENT);
    assert_int_equal(wmSobolDirections(out, WM_PHILOX4X32_10, 1), WM_ERR_ARGUMENT);
    assert_int_equal(wmSobolDirections(out, WM_SOBOL64, 0), WM_ERR_ARGUMENT);
    assert_int_equal(wmSobolDirections(out, WM_SOBOL64, DIMENSIONS + 1), WM_ERR_ARGUMENT);
}

int main(void) {
    const char *text = getenv("WM_TEST_SEED");
    state = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_are_curands),
        cmocka_unit_test(points_are_curands),
        cmocka_unit_test(narrow_bits_are_the_upper),
        cmocka_unit_test(points_are_balanced),
        cmocka_unit_test(owen_is_nested),
        cmocka_unit_test(owen_integrates),
        cmocka_unit_test(normals_are_inverse),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
