/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuRAND's legacy order of Philox4x32-10, by our CPU, against libcurand's own generators for the CPU: they need neither
 * a GPU nor a driver. Skipped where the library is not installed. WM_TEST_SEED replays.
 */
#include <warpmath/warpmath.h>

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MOST = 300000, PHILOX4_32_10 = 161 };

static uint64_t state;
static uint64_t draw(void) { /* splitmix64: nothing of the code under test */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

typedef struct generator *generator;

static struct {
    int (*create)(generator *out, int type);
    int (*destroy)(generator g);
    int (*set_seed)(generator g, unsigned long long seed);
    int (*set_offset)(generator g, unsigned long long offset);
    int (*bits)(generator g, unsigned int *out, size_t count);
    int (*uniform)(generator g, float *out, size_t count);
    int (*uniform64)(generator g, double *out, size_t count);
} curand;

static int find(void) {
    const struct {
        const char *name;
        void **to;
    } rows[] = {
        {"curandCreateGeneratorHost",          (void **)&curand.create    },
        {"curandDestroyGenerator",             (void **)&curand.destroy   },
        {"curandSetPseudoRandomGeneratorSeed", (void **)&curand.set_seed  },
        {"curandSetGeneratorOffset",           (void **)&curand.set_offset},
        {"curandGenerate",                     (void **)&curand.bits      },
        {"curandGenerateUniform",              (void **)&curand.uniform   },
        {"curandGenerateUniformDouble",        (void **)&curand.uniform64 },
    };
    void *library = dlopen("libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen(WM_CUDA_LIBRARIES "/libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof rows / sizeof *rows; i++) {
        *rows[i].to = dlsym(library, rows[i].name);
        if (!*rows[i].to) return 0;
    }
    return library != NULL;
}

static void *ours(wmContext *context, wmDistribution distribution, wmType type, uint64_t seed, uint64_t offset,
                  int64_t count) {
    wmRandomDesc desc = wmRandomDescDefault(distribution, type);
    desc.sequence = WM_SEQ_CURAND;
    void *out = malloc((size_t)count * wmTypeSize(type));
    assert_non_null(out);
    wmRandomArgs args = wmRandomArgsDefault(out, count, wmRandomKeyMake(seed));
    args.offset = offset;
    assert_int_equal(wmRandom(context, &desc, &args, NULL), WM_OK);
    return out;
}

static void compare(wmContext *context, uint64_t seed, uint64_t offset, int64_t count) {
    generator g = NULL;
    void *theirs = malloc((size_t)count * 8);
    assert_non_null(theirs);
    assert_int_equal(curand.create(&g, PHILOX4_32_10), 0);
    assert_int_equal(curand.set_seed(g, seed), 0);
    assert_int_equal(curand.set_offset(g, offset), 0);
    assert_int_equal(curand.bits(g, theirs, (size_t)count), 0);
    void *bits = ours(context, WM_RANDOM_BITS, WM_U32, seed, offset, count);
    assert_memory_equal(bits, theirs, (size_t)count * 4);
    assert_int_equal(curand.set_offset(g, offset), 0);
    assert_int_equal(curand.uniform(g, theirs, (size_t)count), 0);
    void *uniform = ours(context, WM_RANDOM_UNIFORM, WM_F32, seed, offset, count);
    assert_memory_equal(uniform, theirs, (size_t)count * 4);
    assert_int_equal(curand.set_offset(g, 0), 0); /* of f64 its offsets count words */
    assert_int_equal(curand.uniform64(g, theirs, (size_t)count), 0);
    void *wide = ours(context, WM_RANDOM_UNIFORM, WM_F64, seed, 0, count);
    assert_memory_equal(wide, theirs, (size_t)count * 8);
    assert_int_equal(curand.destroy(g), 0);
    free(theirs), free(bits), free(uniform), free(wide);
}

static void equals_curand(void **unused) {
    (void)unused;
    static const uint64_t offsets[] = {0, 1, 262143, 1ull << 32, 1ull << 34, 1ull << 63};
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.place = WM_PLACE_CPU;
    if (!find()) {
        print_message("  libcurand is not installed\n");
        skip();
    }
    assert_int_equal(wmContextCreate(&context, &options), WM_OK);
    compare(context, 1234, 0, MOST);
    compare(context, ~0ull, 0, 1);
    for (int i = 0; i < 24; i++) {
        int64_t count = 1 + (int64_t)(draw() % (i % 4 ? 5000 : MOST));
        compare(context, draw(), offsets[i % 6] + draw() % 7 - (i % 6 > 1 ? 3 : 0), count);
    }
    wmContextDestroy(context);
}

int main(void) {
    const char *text = getenv("WM_TEST_SEED");
    state = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)state);
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_curand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
