/* SPDX-License-Identifier: Apache-2.0 */
/* Problems: the text form round-trips, equal is equal, bad words and bad descs are refused by name, spans are right. */
#include "lib/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static int64_t draw(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static wm_problem parsed(const char *text) {
    wm_problem p;
    if (wm_problem_parse(&p, text, WM_PLACE_CPU) != WM_OK) fail_msg("\"%s\": %s", text, wmLastError());
    return p;
}

static void check_canonical(const char *text, const char *canonical) {
    char out[WM_PROBLEM_TEXT];
    wm_problem p = parsed(text);
    size_t length = wm_problem_print(&p, out, sizeof out);
    assert_string_equal(out, canonical);
    assert_int_equal(length, strlen(canonical));
    wm_problem again = parsed(out);
    assert_true(wm_problem_equal(&p, &again));
    assert_true(wm_problem_hash(&p) == wm_problem_hash(&again));
}

static void canonical_texts(void **unused) {
    (void)unused;
    static const char *const pairs[][2] = {
        {"matmul bf16 4096x4096x4096 ta=t act=gelu_tanh",                          "matmul bf16 4096x4096x4096 ta=t act=gelu_tanh" },
        {"matmul f32 3x5x7 lda=7 ldb=5 compute=f32 batch=1",                       "matmul f32 3x5x7"                              },
        {"  matmul\tf32 3x5x7   act=relu bias=n  ",                                "matmul f32 3x5x7 bias=n act=relu"              },
        {"matmul f32 3x5x7 ta=c",                                                  "matmul f32 3x5x7 ta=t"                         },
        {"matmul c64 3x5x7 ta=c",                                                  "matmul c64 3x5x7 ta=c"                         },
        {"matmul i8 16x16x16",                                                     "matmul i8 16x16x16"                            },
        {"matmul i8 16x16x16 d=i32",                                               "matmul i8 16x16x16"                            },
        {"matmul e4m3 16x16x16 b=e5m2 scale_a=tensor",                             "matmul e4m3 16x16x16 b=e5m2 scale_a=tensor"    },
        {"matmul f32 8x8x8 batch=10 sb=0",                                         "matmul f32 8x8x8 batch=10 sb=0"                },
        {"matmul f32 8x8x8 batch=10 sb=64",                                        "matmul f32 8x8x8 batch=10"                     },
        {"matmul f32 8x8x8 batch=10 batch_mode=pointers",                          "matmul f32 8x8x8 batch=10 batch_mode=pointers" },
        {"matmul f32 8x9x8 od=col",                                                "matmul f32 8x9x8 od=col"                       },
        {"matmul f32 8x9x8 ldd=12",                                                "matmul f32 8x9x8 ldd=12"                       },
        {"matmul f32 8x9x8 ldd=12 ldc=9",                                          "matmul f32 8x9x8 ldd=12 ldc=9"                 },
        {"matmul f32 2^4x2^5x2^6 align_a=4",                                       "matmul f32 16x32x64 align_a=4"                 },
        {"fft c2c f32 4096 batch=1000",                                            "fft c2c f32 4096 batch=1000"                   },
        {"fft c2c f32 4096 loops=1000:4096:4096",                                  "fft c2c f32 4096 batch=1000"                   },
        {"fft c2c f32 4096 loops=1:7:7",                                           "fft c2c f32 4096"                              },
        {"fft r2c f32 75x77x79 strides=6160:3080,80:40,1:1 loops=4:462000:231000",
         "fft r2c f32 75x77x79 strides=6160:3080,80:40,1:1 loops=4:462000:231000"                                                  },
        {"fft r2c f64 10x11 inplace=1",                                            "fft r2c f64 10x11 inplace=1"                   },
        {"fft c2r f64 10x11 inplace=1 batch=3 scale=by_n",                         "fft c2r f64 10x11 inplace=1 batch=3 scale=by_n"},
        {"fft c2c f32 12 dir=inverse overwrite=1",                                 "fft c2c f32 12 dir=inverse overwrite=1"        },
        {"fft c2c f32 12 batch=0",                                                 "fft c2c f32 12 batch=0"                        },
        {"random normal f32 n=2^28",                                               "random normal f32 n=268435456"                 },
        {"random bits u64",                                                        "random bits u64"                               },
        {"random uniform f64 seq=curand gen=philox4x32-10",                        "random uniform f64 seq=curand"                 },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) check_canonical(pairs[i][0], pairs[i][1]);
}

/* Every text is refused, and the sentence holds the word that is wrong. */
static void bad_texts(void **unused) {
    (void)unused;
    static const char *const pairs[][2] = {
        {"",                                            "ends where"             },
        {"gemm f32 1x1x1",                              "gemm"                   },
        {"matmul",                                      "ends where"             },
        {"matmul f33 1x1x1",                            "f33"                    },
        {"matmul f32 1x1",                              "1x1"                    },
        {"matmul f32 1x1x1x1",                          "1x1x1x1"                },
        {"matmul f32 1x-1x1",                           "n is -1"                },
        {"matmul f32 1x1x99999999999999999999",         "99999999999999999999"   },
        {"matmul f32 1x1x2^63",                         "2^63"                   },
        {"matmul f32 1x1x1 act",                        "act"                    },
        {"matmul f32 1x1x1 act=swish",                  "swish"                  },
        {"matmul f32 1x1x1 colour=red",                 "colour"                 },
        {"matmul f32 1x1x1 b=red",                      "red"                    },
        {"matmul f32 1x1x1 lda=x",                      "lda=x"                  },
        {"matmul f32 8x8x8 lda=7",                      "a.ld is 7"              },
        {"matmul f32 8x8x8 batch=2 sd=0",               "d.batch_stride is 0"    },
        {"matmul f32 8x8x8 align_a=3",                  "a.align is 3"           },
        {"matmul f32 8x8x8 align_a=2",                  "a.align is 2"           },
        {"matmul f32 8x8x8 b=c64",                      "do not mix"             },
        {"matmul f32 8x8x8 compute=i32",                "compute"                },
        {"matmul c64 8x8x8 act=relu",                   "activation"             },
        {"matmul f32 2^40x2^40x8",                      "overflow"               },
        {"matmul f32 8x8x8 batch=-1",                   "batch is -1"            },
        {"fft",                                         "ends where"             },
        {"fft dct f32 8",                               "dct"                    },
        {"fft c2c c64 8",                               "real scalar"            },
        {"fft c2c i8 8",                                "f16"                    },
        {"fft c2c f32 8x8x8x8",                         "8x8x8x8"                },
        {"fft c2c f32 0",                               "dim[0].n is 0"          },
        {"fft c2c f32 8 strides=1",                     "strides"                },
        {"fft c2c f32 8 strides=0:1",                   "dim[0].in_stride is 0"  },
        {"fft c2c f32 8 loops=2:8",                     "2:8"                    },
        {"fft c2c f32 8 loops=2:8:0",                   "loop[0].out_stride is 0"},
        {"fft c2c f32 8 loops=2:8:8,2:8:8,2:8:8,2:8:8", "at most 3"              },
        {"fft c2c f32 8 inplace=2",                     "inplace"                },
        {"fft c2c f32 8 inplace=1 strides=1:2",         "in place"               },
        {"fft r2c f32 8x8 inplace=1 strides=8:5,1:1",   "twice"                  },
        {"fft r2c f32 8 dir=inverse",                   "direction"              },
        {"fft c2r f32 8 dir=forward",                   "direction"              },
        {"fft c2c f32 2^62",                            "overflow"               },
        {"random",                                      "ends where"             },
        {"random zipf f32",                             "zipf"                   },
        {"random bits f32",                             "f32"                    },
        {"random normal u32",                           "u32"                    },
        {"random normal f32 n=-5",                      "count_hint is -5"       },
        {"random normal f32 gen=pcg64",                 "pcg64"                  },
        {"random normal f32 gen=mt19937",               "sequence is to be"      },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        wm_problem p;
        wmStatus status = wm_problem_parse(&p, pairs[i][0], WM_PLACE_CPU);
        if (status != WM_ERR_ARGUMENT && status != WM_ERR_UNSUPPORTED) fail_msg("\"%s\" gave %d", pairs[i][0], status);
        if (!strstr(wmLastError(), pairs[i][1])) fail_msg("\"%s\" says: %s", pairs[i][0], wmLastError());
    }
    wm_problem p;
    assert_int_equal(wm_problem_parse(&p, NULL, WM_PLACE_CPU), WM_ERR_ARGUMENT);
    char big[2 * WM_PROBLEM_TEXT];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    assert_int_equal(wm_problem_parse(&p, big, WM_PLACE_CPU), WM_ERR_ARGUMENT);
}

/* Random descs: printed, parsed and printed again they are the same problem. */
static void random_more(wmMatmulDesc *d) {
    if (d->n % 2 == 0) d->gate = (wmGate)draw(3);
    if (draw(2)) d->r.type = draw(2) ? WM_F32 : WM_BF16;
    if (draw(2)) d->z.type = draw(2) ? WM_F32 : WM_F16;
    d->r.order = (wmOrder)draw(2);
    d->z.order = (wmOrder)draw(2);
    if (draw(2)) d->r.ld = 40 + draw(9);
    if (draw(3) == 0) d->r.batch_stride = 3000 + draw(9);
    if (draw(3) == 0) d->z.batch_stride = 3000 + draw(9);
    d->reduction = (wmReduction)draw(5);
    d->dropout = (wmDropout)draw(2);
    if (draw(5) == 0) d->activation = WM_ACT_SILU;
    if (draw(5) == 0) d->a.scale = WM_SCALE_ROW;
    if (draw(5) == 0) d->d.scale = WM_SCALE_COLUMN;
}

static wmMatmulDesc random_matmul(void) {
    static const wmType types[] = {WM_F16, WM_BF16, WM_F32, WM_F64, WM_C64, WM_C128, WM_F8E4M3, WM_I8};
    wmType type = types[draw(8)];
    wmMatmulDesc d = wmMatmulDescDefault(type, draw(40), draw(40), draw(40));
    d.a.op = (wmOp)draw(3);
    d.b.op = (wmOp)draw(3);
    d.a.order = (wmOrder)draw(2);
    d.b.order = (wmOrder)draw(2);
    d.c.order = (wmOrder)draw(2);
    d.d.order = (wmOrder)draw(2);
    if (draw(2)) d.a.ld = 40 + draw(9);
    if (draw(2)) d.b.ld = 40 + draw(9);
    if (draw(3) == 0) d.c.ld = 40 + draw(9);
    if (draw(2)) d.d.ld = 40 + draw(9);
    d.batch = 1 + draw(4) * draw(2);
    if (draw(4) == 0) d.batch_mode = WM_BATCH_POINTERS;
    if (draw(3) == 0) d.b.batch_stride = 0;
    if (draw(3) == 0) d.a.batch_stride = 3000 + draw(9);
    if (draw(3) == 0) d.c.batch_stride = 3000 + draw(9);
    d.bias = (wmBias)draw(3);
    if (type != WM_C64 && type != WM_C128) d.activation = (wmActivation)draw(type == WM_I8 ? 2 : 4);
    if (type == WM_F32) d.compute = (wmCompute)draw(4);
    if (type == WM_F16 || type == WM_BF16) d.d.type = draw(2) ? WM_F32 : WM_TYPE_UNSET;
    if (draw(4) == 0) d.a.align = 32;
    if (d.batch_mode == WM_BATCH_STRIDED && type != WM_C64 && type != WM_C128 && type != WM_I8) random_more(&d);
    d.determinism = (wmDeterminism)draw(4);
    return d;
}

static wmFftDesc random_fft(void) {
    int64_t n[3] = {1 + draw(30), 1 + draw(30), 1 + draw(30)};
    int rank = 1 + (int)draw(3), in_place = (int)draw(2);
    wmFftKind kind = (wmFftKind)draw(3);
    wmType type = draw(2) ? WM_F32 : WM_F64;
    wmFftDesc d =
        in_place ? wmFftDescPackedInPlace(kind, type, rank, n, draw(5)) : wmFftDescPacked(kind, type, rank, n, draw(5));
    if (!in_place && draw(2)) {
        d.loops = (int)draw(4);
        for (int i = 0; i < d.loops; i++) d.loop[i] = (wmFftDim){draw(4), 1 + draw(99), 1 + draw(99)};
        for (int i = 0; i < rank; i++) d.dim[i].in_stride += draw(3);
    }
    if (kind == WM_FFT_C2C) d.direction = (wmDirection)draw(2);
    d.scale = (wmFftScale)draw(3);
    d.allow_input_overwrite = (int32_t)draw(2);
    return d;
}

static void random_round_trips(void **unused) {
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        wm_problem p, again;
        char text[WM_PROBLEM_TEXT], twice[WM_PROBLEM_TEXT];
        wmMatmulDesc matmul = random_matmul();
        wmFftDesc fft = random_fft();
        wmStatus status =
            i % 2 ? wm_problem_from_matmul(&p, &matmul, WM_PLACE_CPU) : wm_problem_from_fft(&p, &fft, WM_PLACE_CPU);
        if (status != WM_OK) fail_msg("round %d: %s", i, wmLastError());
        assert_true(wm_problem_print(&p, text, sizeof text) < sizeof text);
        again = parsed(text);
        wm_problem_print(&again, twice, sizeof twice);
        assert_string_equal(text, twice);
        if (!wm_problem_equal(&p, &again)) fail_msg("round %d: \"%s\" is another problem", i, text);
    }
}

static void spans(void **unused) {
    (void)unused;
    wm_problem p = parsed("matmul f32 3x5x7 lda=9 batch=2 sa=100 oa=row");
    assert_int_equal(wm_matrix_span(&p.u.matmul.a, wm_matmul_shape(&p.u.matmul, 'a'), 2), 100 + 2 * 9 + 7);
    p = parsed("fft r2c f32 4x6");
    assert_int_equal(wm_fft_span(&p.u.fft, 0), 24);
    assert_int_equal(wm_fft_span(&p.u.fft, 1), 16);
    p = parsed("fft r2c f32 4x7 inplace=1 batch=2");
    assert_int_equal(wm_fft_span(&p.u.fft, 0), 32 + 3 * 8 + 7);
    wm_operand operands[WM_MAX_OPERANDS];
    assert_int_equal(wm_problem_operands(&p, operands), 1);
    assert_int_equal(operands[0].type, WM_C64);
    assert_int_equal(operands[0].elements, 32);
    assert_int_equal(operands[0].role, WM_IN_OUT);
}

/* A desc with a field out of range is refused with the field's name; sizes of the struct are minded. */
static void bad_descs(void **unused) {
    (void)unused;
    wm_problem p;
    wmMatmulDesc good = wmMatmulDescDefault(WM_F32, 4, 4, 4), d = good;
    assert_int_equal(wm_problem_from_matmul(&p, NULL, WM_PLACE_CPU), WM_ERR_ARGUMENT);
    d.size = 0;
    assert_int_equal(wm_problem_from_matmul(&p, &d, WM_PLACE_CPU), WM_ERR_ARGUMENT);
    d = good;
    d.place = WM_PLACE_GPU;
    assert_int_equal(wm_problem_from_matmul(&p, &d, WM_PLACE_CPU), WM_ERR_ARGUMENT);
    int count = 0;
    const wm_field *fields = wm_fields(WM_MATMUL, &count);
    for (int i = 0; i < count; i++) {
        if (fields[i].kind != WM_FIELD_ENUM && fields[i].kind != WM_FIELD_TYPE) continue;
        for (int bad = 0; bad < 3; bad++) {
            d = good;
            wm_field_set(&fields[i], &d, (const int64_t[]){-1, 77, 0x7fffffff}[bad]);
            assert_int_equal(wm_problem_from_matmul(&p, &d, WM_PLACE_CPU), WM_ERR_ARGUMENT);
            if (!strstr(wmLastError(), fields[i].name)) fail_msg("%s: %s", fields[i].name, wmLastError());
        }
    }
    d = good;
    d.a.type = (wmType)2; /* a raw CUDA_R_16F */
    assert_int_equal(wm_problem_from_matmul(&p, &d, WM_PLACE_CPU), WM_ERR_ARGUMENT);
    assert_non_null(strstr(wmLastError(), "cudaDataType"));
}

static void newer_structs(void **unused) {
    (void)unused;
    struct {
        wmMatmulDesc d;
        char tail[64];
    } newer = {wmMatmulDescDefault(WM_F32, 4, 4, 4), {0}};
    wm_problem p;
    newer.d.size = sizeof newer;
    assert_int_equal(wm_problem_from_matmul(&p, &newer.d, WM_PLACE_CPU), WM_OK);
    newer.tail[40] = 1;
    assert_int_equal(wm_problem_from_matmul(&p, &newer.d, WM_PLACE_CPU), WM_ERR_VERSION);
}

static void inverse_of_inverse(void **unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        wmFftDesc d = random_fft(), back, again;
        d.scale = (wmFftScale)(i % 3);
        wmFftDescInverse(&back, &d);
        wmFftDescInverse(&again, &back);
        assert_memory_equal(&d, &again, sizeof d);
        wm_problem p;
        if (wm_problem_from_fft(&p, &back, WM_PLACE_CPU) != WM_OK && d.loops == 0) fail_msg("%s", wmLastError());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_texts),    cmocka_unit_test(bad_texts),
        cmocka_unit_test(random_round_trips), cmocka_unit_test(spans),
        cmocka_unit_test(bad_descs),          cmocka_unit_test(newer_structs),
        cmocka_unit_test(inverse_of_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
