/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generators beside Philox4x32-10: published answers, the words of their lanes by the specification spelled a
 * second time, and Random123 itself (Debian: librandom123-dev) over random and extreme inputs. WM_TEST_SEED replays.
 */
#include "reference/random_fill.h"

#include <warpmath/warpmath.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#ifdef __has_include
#if __has_include(<Random123/philox.h>)
#define HAVE_RANDOM123
#include <Random123/philox.h>
#include <Random123/threefry.h>
#endif
#endif

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { GENERATORS = 5 };

static uint64_t state;
static uint64_t draw(void) { /* splitmix64: nothing of the code under test */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* One in four is extreme. */
static uint64_t pick(void) {
    static const uint64_t edge[] = {0, ~0ull, 1, 1ull << 63, 0xffffffffu, 1ull << 32, ~0ull << 32, 0x5555555555555555u};
    uint64_t r = draw();
    return r % 4 ? draw() : edge[(r >> 8) % COUNT(edge)];
}

/* ---- Published answers: Random123's, NumPy's, C++26's ---- */

static void answers_of_philox4x64(void **unused) {
    (void)unused;
    const wmWords64 zero =
                        {
                            {0, 0, 0, 0}
    },
                    one = {{1, 0, 0, 0}}, ones = {{~0ull, ~0ull, ~0ull, ~0ull}};
    const wmWords64 want[3] = {
        {{0x16554d9eca36314cu, 0xdb20fe9d672d0fdcu, 0xd7e772cee186176bu, 0x7e68b68aec7ba23bu}},
        {{0x02f4ba6408e4d89bu, 0x3dd62b0b9ca8c5b2u, 0x1c8667a55d902e79u, 0x907d7a052fd5b4dcu}}, /* where NumPy starts */
        {{0x87b092c3013fe90bu, 0x438c3c67be8d0224u, 0x9cc7d7c69cd777b6u, 0xa09caebf594f0ba0u}},
    };
    wmWords64 got[3] = {wmPhilox4x64(zero, 0, 0), wmPhilox4x64(one, 0, 0), wmPhilox4x64(ones, ~0ull, ~0ull)};
    assert_memory_equal(got, want, sizeof want);
    wmWords w = wm_words(WM_PHILOX4X64_10, wmRandomKeyMake(20111115), 0, 2 * 2499 + 1);
    assert_true((w.w[2] | (uint64_t)w.w[3] << 32) == 3409172418970261260u); /* std::philox4x64's 10000th */
}

static void answers_of_threefry2x32(void **unused) {
    (void)unused;
    static const wmWords2 kat[][3] = {
        {{{0, 0}},                     {{0, 0}},                     {{0x6b200159u, 0x99ba4efeu}}},
        {{{~0u, ~0u}},                 {{~0u, ~0u}},                 {{0x1cb996fcu, 0xbb002be7u}}},
        {{{0x243f6a88u, 0x85a308d3u}}, {{0x13198a2eu, 0x03707344u}}, {{0xc4923a9cu, 0x483df7a0u}}},
    };
    for (size_t i = 0; i < COUNT(kat); i++) {
        wmWords2 got = wmThreefry2x32(kat[i][0], kat[i][1].w[0], kat[i][1].w[1]);
        assert_memory_equal(&got, &kat[i][2], sizeof got);
    }
}

static void answers_of_threefry4x64(void **unused) {
    (void)unused;
    const wmWords64 zero =
                        {
                            {0, 0, 0, 0}
    },
                    ones = {{~0ull, ~0ull, ~0ull, ~0ull}};
    const wmWords64 want[2] = {
        {{0x09218ebde6c85537u, 0x55941f5266d86105u, 0x4bd25e16282434dcu, 0xee29ec846bd2e40bu}},
        {{0x29c24097942bba1bu, 0x0371bbfb0f6f4e11u, 0x3c231ffa33f83a1cu, 0xcd29113fde32d168u}},
    };
    wmWords64 got[2] = {wmThreefry4x64(zero, zero), wmThreefry4x64(ones, ones)};
    assert_memory_equal(got, want, sizeof want);
}

/* ---- Lanes and blocks ---- */

/* docs/random.md once more, by 64-bit words. */
static wmWords by_the_book(int generator, wmRandomKey key, unsigned lane, uint64_t number) {
    wmWords w;
    if (generator == WM_PHILOX4X32_10 || generator == WM_PHILOX4X32_7) {
        wmWords c = {
            {(unsigned)number, (unsigned)(number >> 32), lane, key.substream}
        };
        unsigned k0 = (unsigned)key.seed, k1 = (unsigned)(key.seed >> 32);
        return generator == WM_PHILOX4X32_10 ? wmPhilox4x32(c, k0, k1) : wmPhilox4x32R7(c, k0, k1);
    }
    if (generator == WM_THREEFRY2X32_20) {
        wmWords2 k = {
            {(unsigned)key.seed, (unsigned)(key.seed >> 32)}
        };
        wmWords2 which = {
            {lane, key.substream}
        };
        if (lane || key.substream) k = wmThreefry2x32(which, ~k.w[0], ~k.w[1]);
        for (unsigned h = 0; h < 2; h++) {
            uint64_t call = 2 * number + h;
            wmWords2 c = {
                {(unsigned)call, (unsigned)(call >> 32)}
            };
            c = wmThreefry2x32(c, k.w[0], k.w[1]);
            memcpy(&w.w[2 * h], c.w, sizeof c.w);
        }
        return w;
    }
    wmWords64 c = {
        {number / 2, lane, 0, 0}
    };
    wmWords64 k = {
        {key.seed, key.substream, 0, 0}
    };
    c = generator == WM_PHILOX4X64_10 ? wmPhilox4x64(c, key.seed, key.substream) : wmThreefry4x64(c, k);
    for (unsigned i = 0; i < 4; i++) w.w[i] = (unsigned)(c.w[2 * (number % 2) + i / 2] >> 32 * (i % 2));
    return w;
}

static void words_of_lanes(void **unused) {
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        int generator = i % GENERATORS;
        wmRandomKey key = {pick(), (unsigned)pick()};
        unsigned lane = (unsigned)pick();
        uint64_t number = pick();
        wmWords got = wm_words(generator, key, lane, number), want = by_the_book(generator, key, lane, number);
        assert_memory_equal(&got, &want, sizeof got);
        wmWords pair[2];
        wm_words_pair(generator, key, lane, number, &pair[0], &pair[1]);
        for (unsigned h = 0; h < 2; h++) {
            want = wm_words(generator, key, lane, 2 * number + h);
            if (2 * number + h > number || number < 2) assert_memory_equal(&pair[h], &want, sizeof want);
        }
    }
}

static void default_generator_is_the_header(void **unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        wmRandomKey key = {draw(), (unsigned)draw()};
        uint64_t block = draw();
        wmWords got = wm_words(WM_PHILOX4X32_10, key, WM_LANE_ELEMENTS, block), want = wmRandomBlock(key, block);
        assert_memory_equal(&got, &want, sizeof got);
    }
}

/* ---- Random123 ---- */

static void random123(void **unused) {
    (void)unused;
#ifdef HAVE_RANDOM123
    for (int i = 0; i < 20000; i++) {
        wmWords64 c = {
            {pick(), pick(), pick(), pick()}
        };
        wmWords64 k = {
            {pick(), pick(), pick(), pick()}
        };
        wmWords c32 = wm_words_of(c.w[0], c.w[1]);
        wmWords2 c2 = {
            {(unsigned)c.w[2], (unsigned)c.w[3]}
        };
        unsigned k0 = (unsigned)k.w[0], k1 = (unsigned)k.w[1];
        philox4x64_ctr_t a = philox4x64_R(10,
                                          (philox4x64_ctr_t){
                                              {c.w[0], c.w[1], c.w[2], c.w[3]}
        },
                                          (philox4x64_key_t){{k.w[0], k.w[1]}});
        threefry4x64_ctr_t b = threefry4x64_R(20,
                                              (threefry4x64_ctr_t){
                                                  {c.w[0], c.w[1], c.w[2], c.w[3]}
        },
                                              (threefry4x64_key_t){{k.w[0], k.w[1], k.w[2], k.w[3]}});
        philox4x32_ctr_t d = {
            {c32.w[0], c32.w[1], c32.w[2], c32.w[3]}
        };
        philox4x32_ctr_t seven = philox4x32_R(7, d,
                                              (philox4x32_key_t){
                                                  {k0, k1}
        });
        d = philox4x32_R(10, d,
                         (philox4x32_key_t){
                             {k0, k1}
        });
        threefry2x32_ctr_t e = threefry2x32_R(20,
                                              (threefry2x32_ctr_t){
                                                  {c2.w[0], c2.w[1]}
        },
                                              (threefry2x32_key_t){{k0, k1}});
        wmWords64 wide = wmPhilox4x64(c, k.w[0], k.w[1]);
        assert_memory_equal(&wide, &a, sizeof wide);
        wide = wmThreefry4x64(c, k);
        assert_memory_equal(&wide, &b, sizeof wide);
        wmWords narrow = wmPhilox4x32(c32, k0, k1);
        assert_memory_equal(&narrow, &d, sizeof narrow);
        narrow = wmPhilox4x32R7(c32, k0, k1);
        assert_memory_equal(&narrow, &seven, sizeof narrow);
        wmWords2 two = wmThreefry2x32(c2, k0, k1);
        assert_memory_equal(&two, &e, sizeof two);
    }
#else
    print_message("  Random123 is not installed\n");
    skip();
#endif
}

/* ---- The CPU's bodies, for every instruction set ---- */

static wmWords value_of(int kind, wmWords w, const wm_random_line *line) {
    switch (kind) {
    case WM_DRAW_UNIFORM_F32:
        return wm_source_value(WM_DRAW_UNIFORM_F32, w, line);
    case WM_DRAW_UNIFORM_F64:
        return wm_source_value(WM_DRAW_UNIFORM_F64, w, line);
    case WM_DRAW_NORMAL_F32:
        return wm_source_value(WM_DRAW_NORMAL_F32, w, line);
    case WM_DRAW_NORMAL_F64:
        return wm_source_value(WM_DRAW_NORMAL_F64, w, line);
    case WM_DRAW_CURAND_F32:
        return wm_source_value(WM_DRAW_CURAND_F32, w, line);
    case WM_DRAW_CURAND_F64:
        return wm_source_value(WM_DRAW_CURAND_F64, w, line);
    default:
        return w;
    }
}

static void bodies_by_blocks(void **unused) {
    (void)unused;
    enum { BLOCKS = 300 };
    wm_random_blocks bodies[WM_RANDOM_BODIES];
    static unsigned char got[16 * BLOCKS];
    int n = wm_random_bodies(bodies, NULL);
    for (int i = 0; i < 60 * n; i++) {
        int source = i / n % WM_SOURCES, kind = (int)(draw() % WM_DRAW_ALL_KINDS);
        wm_random_job job = {
            kind, 4, {pick(), (unsigned)pick()},
              { 0.5f, 2.0f,                0.5, 2.0},
              source
        };
        uint64_t block = pick() >> 3;
        int64_t blocks = (int64_t)(draw() % BLOCKS);
        bodies[i % n](&job, block, blocks, got);
        for (int64_t k = 0; k < blocks; k++) {
            wmWords w = wm_source_words(source, kind == WM_DRAW_CURAND_F64, job.key, block + (uint64_t)k);
            w = value_of(kind, w, &job.line);
            assert_memory_equal(got + 16 * k, &w, sizeof w);
        }
    }
}

int main(void) {
    const char *text = getenv("WM_TEST_SEED");
    state = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("WM_TEST_SEED=%llu\n", (unsigned long long)state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_philox4x64),
        cmocka_unit_test(answers_of_threefry2x32),
        cmocka_unit_test(answers_of_threefry4x64),
        cmocka_unit_test(words_of_lanes),
        cmocka_unit_test(default_generator_is_the_header),
        cmocka_unit_test(random123),
        cmocka_unit_test(bodies_by_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
