/* SPDX-License-Identifier: Apache-2.0 */
/* The field tables, and what reads and writes a desc through them. */
#include "fields.h"

#include <string.h>

static const char *const orders[] = {"row", "col", NULL};
static const char *const ops[] = {"n", "t", "c", NULL};
static const char *const scales[] = {"none", "tensor", "row", "column", "1x128", "128x128", NULL};
static const char *const triangles[] = {"all", "lower", "upper", NULL};
static const char *const batch_modes[] = {"strided", "pointers", "grouped", NULL};
static const char *const computes[] = {"default", "f32", "f32_strict", "tf32", "f64", "i32", NULL};
static const char *const biases[] = {"none", "n", "m", NULL};
static const char *const activations[] = {"none", "relu", "gelu_tanh", "gelu_erf", "silu", NULL};
static const char *const gates[] = {"none", "pairs", "halves", NULL};
static const char *const reductions[] = {"none", "row_sum", "row_max", "row_absmax", "absmax", NULL};
static const char *const dropouts[] = {"none", "philox", NULL};
static const char *const determinisms[] = {"run_to_run", "not_guaranteed", "gpu_to_gpu", "batch_invariant", NULL};
static const char *const places[] = {"auto", "gpu", "cpu", NULL};
static const char *const kinds[] = {"c2c", "r2c", "c2r", NULL};
static const char *const directions[] = {"forward", "inverse", NULL};
static const char *const fft_scales[] = {"none", "by_n", "by_sqrt_n", NULL};
static const char *const placements[] = {"0", "1", NULL};
static const char *const convolution_modes[] = {"full", "same", "valid", "causal", "circular", NULL};
static const char *const distributions[] = {
    "bits",        "uniform",          "normal",         "integers",  "bernoulli", "mask",   "exponential",
    "lognormal",   "truncated_normal", "poisson",        "binomial",  "geometric", "gamma",  "beta",
    "chi_square",  "student_t",        "laplace",        "logistic",  "cauchy",    "gumbel", "weibull",
    "categorical", "permutation",      "normal_vectors", "dirichlet", "round",     NULL};
static const char *const accuracies[] = {"exact", "fast", NULL};
static const char *const intervals[] = {"closed_open", "open_closed", "open", NULL};
static const char *const generators[] = {"philox4x32-10",   "philox4x32-7", "philox4x64-10", "threefry2x32-20",
                                         "threefry4x64-20", "sobol32",      "sobol64",       "xorwow",
                                         "mrg32k3a",        "mt19937",      "mtgp32",        NULL};
static const char *const scrambles[] = {"none", "owen", "shift", NULL};
static const char *const key_sources[] = {"argument", "device", NULL};
static const char *const sequences[] = {"counter", "curand", NULL};

/* A functor is written by functor= (lib/problem_text.c). */
/* Types first, then layouts that take defaults from them: printing fills a desc in this order. */
static const wm_field matmul_fields[] = {
    {"place",          NULL,         offsetof(wmMatmulDesc, place),          WM_FIELD_ENUM, 1, places      },
    {"m",              NULL,         offsetof(wmMatmulDesc, m),              WM_FIELD_I64,  1, NULL        },
    {"n",              NULL,         offsetof(wmMatmulDesc, n),              WM_FIELD_I64,  1, NULL        },
    {"k",              NULL,         offsetof(wmMatmulDesc, k),              WM_FIELD_I64,  1, NULL        },
    {"a.type",         NULL,         offsetof(wmMatmulDesc, a.type),         WM_FIELD_TYPE, 1, NULL        },
    {"b.type",         "b",          offsetof(wmMatmulDesc, b.type),         WM_FIELD_TYPE, 1, NULL        },
    {"d.type",         "d",          offsetof(wmMatmulDesc, d.type),         WM_FIELD_TYPE, 1, NULL        },
    {"c.type",         "c",          offsetof(wmMatmulDesc, c.type),         WM_FIELD_TYPE, 1, NULL        },
    {"r.type",         "r",          offsetof(wmMatmulDesc, r.type),         WM_FIELD_TYPE, 1, NULL        },
    {"z.type",         "z",          offsetof(wmMatmulDesc, z.type),         WM_FIELD_TYPE, 1, NULL        },
    {"gate",           "gate",       offsetof(wmMatmulDesc, gate),           WM_FIELD_ENUM, 1, gates       },
    {"a.op",           "ta",         offsetof(wmMatmulDesc, a.op),           WM_FIELD_ENUM, 1, ops         },
    {"b.op",           "tb",         offsetof(wmMatmulDesc, b.op),           WM_FIELD_ENUM, 1, ops         },
    {"c.op",           NULL,         offsetof(wmMatmulDesc, c.op),           WM_FIELD_ENUM, 1, ops         },
    {"d.op",           NULL,         offsetof(wmMatmulDesc, d.op),           WM_FIELD_ENUM, 1, ops         },
    {"r.op",           NULL,         offsetof(wmMatmulDesc, r.op),           WM_FIELD_ENUM, 1, ops         },
    {"z.op",           NULL,         offsetof(wmMatmulDesc, z.op),           WM_FIELD_ENUM, 1, ops         },
    {"a.order",        "oa",         offsetof(wmMatmulDesc, a.order),        WM_FIELD_ENUM, 1, orders      },
    {"b.order",        "ob",         offsetof(wmMatmulDesc, b.order),        WM_FIELD_ENUM, 1, orders      },
    {"d.order",        "od",         offsetof(wmMatmulDesc, d.order),        WM_FIELD_ENUM, 1, orders      },
    {"a.ld",           "lda",        offsetof(wmMatmulDesc, a.ld),           WM_FIELD_I64,  1, NULL        },
    {"b.ld",           "ldb",        offsetof(wmMatmulDesc, b.ld),           WM_FIELD_I64,  1, NULL        },
    {"d.ld",           "ldd",        offsetof(wmMatmulDesc, d.ld),           WM_FIELD_I64,  1, NULL        },
    {"c.ld",           "ldc",        offsetof(wmMatmulDesc, c.ld),           WM_FIELD_I64,  1, NULL        },
    {"c.order",        "oc",         offsetof(wmMatmulDesc, c.order),        WM_FIELD_ENUM, 1, orders      },
    {"r.ld",           "ldr",        offsetof(wmMatmulDesc, r.ld),           WM_FIELD_I64,  1, NULL        },
    {"r.order",        "or",         offsetof(wmMatmulDesc, r.order),        WM_FIELD_ENUM, 1, orders      },
    {"z.order",        "oz",         offsetof(wmMatmulDesc, z.order),        WM_FIELD_ENUM, 1, orders      },
    {"z.ld",           "ldz",        offsetof(wmMatmulDesc, z.ld),           WM_FIELD_I64,  1, NULL        },
    {"batch",          "batch",      offsetof(wmMatmulDesc, batch),          WM_FIELD_I64,  1, NULL        },
    {"batch_mode",     "batch_mode", offsetof(wmMatmulDesc, batch_mode),     WM_FIELD_ENUM, 1, batch_modes },
    {"a.batch_stride", "sa",         offsetof(wmMatmulDesc, a.batch_stride), WM_FIELD_I64,  1, NULL        },
    {"b.batch_stride", "sb",         offsetof(wmMatmulDesc, b.batch_stride), WM_FIELD_I64,  1, NULL        },
    {"d.batch_stride", "sd",         offsetof(wmMatmulDesc, d.batch_stride), WM_FIELD_I64,  1, NULL        },
    {"c.batch_stride", "sc",         offsetof(wmMatmulDesc, c.batch_stride), WM_FIELD_I64,  1, NULL        },
    {"r.batch_stride", "sr",         offsetof(wmMatmulDesc, r.batch_stride), WM_FIELD_I64,  1, NULL        },
    {"z.batch_stride", "sz",         offsetof(wmMatmulDesc, z.batch_stride), WM_FIELD_I64,  1, NULL        },
    {"compute",        "compute",    offsetof(wmMatmulDesc, compute),        WM_FIELD_ENUM, 1, computes    },
    {"bias",           "bias",       offsetof(wmMatmulDesc, bias),           WM_FIELD_ENUM, 1, biases      },
    {"bias_type",      "bias_type",  offsetof(wmMatmulDesc, bias_type),      WM_FIELD_TYPE, 1, NULL        },
    {"activation",     "act",        offsetof(wmMatmulDesc, activation),     WM_FIELD_ENUM, 1, activations },
    {"a.scale",        "scale_a",    offsetof(wmMatmulDesc, a.scale),        WM_FIELD_ENUM, 1, scales      },
    {"b.scale",        "scale_b",    offsetof(wmMatmulDesc, b.scale),        WM_FIELD_ENUM, 1, scales      },
    {"c.scale",        NULL,         offsetof(wmMatmulDesc, c.scale),        WM_FIELD_ENUM, 1, scales      },
    {"d.scale",        "scale_d",    offsetof(wmMatmulDesc, d.scale),        WM_FIELD_ENUM, 1, scales      },
    {"r.scale",        NULL,         offsetof(wmMatmulDesc, r.scale),        WM_FIELD_ENUM, 1, scales      },
    {"z.scale",        NULL,         offsetof(wmMatmulDesc, z.scale),        WM_FIELD_ENUM, 1, scales      },
    {"reduction",      "reduce",     offsetof(wmMatmulDesc, reduction),      WM_FIELD_ENUM, 1, reductions  },
    {"dropout",        "dropout",    offsetof(wmMatmulDesc, dropout),        WM_FIELD_ENUM, 1, dropouts    },
    {"allow_3m",       "allow_3m",   offsetof(wmMatmulDesc, allow_3m),       WM_FIELD_I32,  1, NULL        },
    {"triangle",       "triangle",   offsetof(wmMatmulDesc, triangle),       WM_FIELD_ENUM, 1, triangles   },
    {"a.align",        "align_a",    offsetof(wmMatmulDesc, a.align),        WM_FIELD_I64,  1, NULL        },
    {"b.align",        "align_b",    offsetof(wmMatmulDesc, b.align),        WM_FIELD_I64,  1, NULL        },
    {"c.align",        "align_c",    offsetof(wmMatmulDesc, c.align),        WM_FIELD_I64,  1, NULL        },
    {"d.align",        "align_d",    offsetof(wmMatmulDesc, d.align),        WM_FIELD_I64,  1, NULL        },
    {"r.align",        "align_r",    offsetof(wmMatmulDesc, r.align),        WM_FIELD_I64,  1, NULL        },
    {"z.align",        "align_z",    offsetof(wmMatmulDesc, z.align),        WM_FIELD_I64,  1, NULL        },
    {"determinism",    "det",        offsetof(wmMatmulDesc, determinism),    WM_FIELD_ENUM, 1, determinisms},
    {"functor.source", NULL,         offsetof(wmMatmulDesc, functor.source), WM_FIELD_I64,  1, NULL        },
};

/* dim and loop are written by the head, batch=, strides= and loops=, functors by load= and store= (lib/problem_text.c).
 */
static const wm_field fft_fields[] = {
    {"place",                 NULL,        offsetof(wmFftDesc, place),                 WM_FIELD_ENUM, 1,                    places      },
    {"kind",                  NULL,        offsetof(wmFftDesc, kind),                  WM_FIELD_ENUM, 1,                    kinds       },
    {"type",                  NULL,        offsetof(wmFftDesc, type),                  WM_FIELD_TYPE, 1,                    NULL        },
    {"rank",                  NULL,        offsetof(wmFftDesc, rank),                  WM_FIELD_I32,  1,                    NULL        },
    {"loops",                 NULL,        offsetof(wmFftDesc, loops),                 WM_FIELD_I32,  1,                    NULL        },
    {"dim",                   NULL,        offsetof(wmFftDesc, dim),                   WM_FIELD_I64,  3 * WM_FFT_MAX_RANK,  NULL        },
    {"loop",                  NULL,        offsetof(wmFftDesc, loop),                  WM_FIELD_I64,  3 * WM_FFT_MAX_LOOPS, NULL        },
    {"placement",             NULL,        offsetof(wmFftDesc, placement),             WM_FIELD_ENUM, 1,                    placements  },
    {"direction",             "dir",       offsetof(wmFftDesc, direction),             WM_FIELD_ENUM, 1,                    directions  },
    {"scale",                 "scale",     offsetof(wmFftDesc, scale),                 WM_FIELD_ENUM, 1,                    fft_scales  },
    {"allow_input_overwrite", "overwrite", offsetof(wmFftDesc, allow_input_overwrite), WM_FIELD_I32,  1,                    NULL        },
    {"align",                 "align",     offsetof(wmFftDesc, align),                 WM_FIELD_I64,  1,                    NULL        },
    {"determinism",           "det",       offsetof(wmFftDesc, determinism),           WM_FIELD_ENUM, 1,                    determinisms},
    {"load.source",           NULL,        offsetof(wmFftDesc, load.source),           WM_FIELD_I64,  1,                    NULL        },
    {"store.source",          NULL,        offsetof(wmFftDesc, store.source),          WM_FIELD_I64,  1,                    NULL        },
};
/* A functor is one text a process (lib/functor.c): that pointer tells it from others. */
_Static_assert(sizeof(const char *) == sizeof(int64_t), "pointers are compared as int64_t");

static const wm_field random_fields[] = {
    {"place",        NULL,       offsetof(wmRandomDesc, place),        WM_FIELD_ENUM, 1, places       },
    {"distribution", NULL,       offsetof(wmRandomDesc, distribution), WM_FIELD_ENUM, 1, distributions},
    {"type",         NULL,       offsetof(wmRandomDesc, type),         WM_FIELD_TYPE, 1, NULL         },
    {"generator",    "gen",      offsetof(wmRandomDesc, generator),    WM_FIELD_ENUM, 1, generators   },
    {"sequence",     "seq",      offsetof(wmRandomDesc, sequence),     WM_FIELD_ENUM, 1, sequences    },
    {"count_hint",   "n",        offsetof(wmRandomDesc, count_hint),   WM_FIELD_I64,  1, NULL         },
    {"determinism",  "det",      offsetof(wmRandomDesc, determinism),  WM_FIELD_ENUM, 1, determinisms },
    {"columns",      "cols",     offsetof(wmRandomDesc, columns),      WM_FIELD_I64,  1, NULL         },
    {"ld",           "ld",       offsetof(wmRandomDesc, ld),           WM_FIELD_I64,  1, NULL         },
    {"key_source",   "key",      offsetof(wmRandomDesc, key_source),   WM_FIELD_ENUM, 1, key_sources  },
    {"dimensions",   "dims",     offsetof(wmRandomDesc, dimensions),   WM_FIELD_I64,  1, NULL         },
    {"scramble",     "scramble", offsetof(wmRandomDesc, scramble),     WM_FIELD_ENUM, 1, scrambles    },
    {"accuracy",     "accuracy", offsetof(wmRandomDesc, accuracy),     WM_FIELD_ENUM, 1, accuracies   },
    {"interval",     "interval", offsetof(wmRandomDesc, interval),     WM_FIELD_ENUM, 1, intervals    },
};

/* n and taps are written by the head. */
static const wm_field convolution_fields[] = {
    {"place",       NULL,         offsetof(wmConvolutionDesc, place),       WM_FIELD_ENUM, 1,                       places           },
    {"type",        NULL,         offsetof(wmConvolutionDesc, type),        WM_FIELD_TYPE, 1,                       NULL             },
    {"rank",        NULL,         offsetof(wmConvolutionDesc, rank),        WM_FIELD_I32,  1,                       NULL             },
    {"n",           NULL,         offsetof(wmConvolutionDesc, n),           WM_FIELD_I64,  WM_CONVOLUTION_MAX_RANK, NULL             },
    {"taps",        NULL,         offsetof(wmConvolutionDesc, taps),        WM_FIELD_I64,  WM_CONVOLUTION_MAX_RANK, NULL             },
    {"mode",        "mode",       offsetof(wmConvolutionDesc, mode),        WM_FIELD_ENUM, 1,                       convolution_modes},
    {"correlate",   "correlate",  offsetof(wmConvolutionDesc, correlate),   WM_FIELD_I32,  1,                       NULL             },
    {"batch",       "batch",      offsetof(wmConvolutionDesc, batch),       WM_FIELD_I64,  1,                       NULL             },
    {"filters",     "filters",    offsetof(wmConvolutionDesc, filters),     WM_FIELD_I64,  1,                       NULL             },
    {"in_stride",   "in_stride",  offsetof(wmConvolutionDesc, in_stride),   WM_FIELD_I64,  1,                       NULL             },
    {"out_stride",  "out_stride", offsetof(wmConvolutionDesc, out_stride),  WM_FIELD_I64,  1,                       NULL             },
    {"align",       "align",      offsetof(wmConvolutionDesc, align),       WM_FIELD_I64,  1,                       NULL             },
    {"determinism", "det",        offsetof(wmConvolutionDesc, determinism), WM_FIELD_ENUM, 1,                       determinisms     },
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

static const struct {
    const char *name;
    const wm_field *fields;
    int count;
    size_t desc_size;
} operations[WM_OPERATIONS] = {
    [WM_MATMUL] = {"matmul",      matmul_fields,      COUNT(matmul_fields),      sizeof(wmMatmulDesc)     },
    [WM_FFT] = {"fft",         fft_fields,         COUNT(fft_fields),         sizeof(wmFftDesc)        },
    [WM_RANDOM] = {"random",      random_fields,      COUNT(random_fields),      sizeof(wmRandomDesc)     },
    [WM_CONVOLUTION] = {"convolution", convolution_fields, COUNT(convolution_fields), sizeof(wmConvolutionDesc)},
};

const wm_field *wm_fields(wm_op op, int *count) {
    *count = operations[op].count;
    return operations[op].fields;
}

const char *wm_op_name(wm_op op) {
    return operations[op].name;
}

size_t wm_desc_size(wm_op op) {
    return operations[op].desc_size;
}

int64_t wm_field_get(const wm_field *field, const void *desc) {
    const char *at = (const char *)desc + field->offset;
    if (field->kind == WM_FIELD_I64) {
        int64_t value = 0;
        memcpy(&value, at, sizeof value);
        return value;
    }
    int32_t value = 0;
    memcpy(&value, at, sizeof value);
    return value;
}

_Static_assert(sizeof(wmType) == sizeof(int32_t) && sizeof(wmOrder) == sizeof(int32_t), "enums are read as int32_t");

void wm_field_set(const wm_field *field, void *desc, int64_t value) {
    char *at = (char *)desc + field->offset;
    if (field->kind == WM_FIELD_I64) {
        memcpy(at, &value, sizeof value);
    } else {
        int32_t narrow = (int32_t)value;
        memcpy(at, &narrow, sizeof narrow);
    }
}

static int word_count(const char *const *names) {
    int count = 0;
    while (names[count]) count++;
    return count;
}

int wm_word_value(const char *const *names, const char *word, size_t length) {
    for (int i = 0; names[i]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0) return i;
    return -1;
}

static const wmType all_types[] = {WM_F16,    WM_BF16, WM_F32, WM_F64, WM_C32, WM_CBF16, WM_C64, WM_C128, WM_F8E4M3,
                                   WM_F8E5M2, WM_I8,   WM_U8,  WM_I16, WM_U16, WM_I32,   WM_U32, WM_I64,  WM_U64};

wmType wm_type_value(const char *word, size_t length) {
    for (int i = 0; i < COUNT(all_types); i++) {
        const char *name = wmTypeName(all_types[i]);
        if (strlen(name) == length && memcmp(name, word, length) == 0) return all_types[i];
    }
    return WM_TYPE_UNSET;
}

int wm_type_is_complex(wmType type) {
    return type == WM_C32 || type == WM_CBF16 || type == WM_C64 || type == WM_C128;
}

static wmStatus check_type(const wm_field *field, int64_t value) {
    if (value == WM_TYPE_UNSET || wmTypeSize((wmType)value) > 0) return WM_OK;
    wmType meant = value >= 0 && value < 0x100 ? wmTypeFromCuda((int)value) : WM_TYPE_UNSET;
    if (meant != WM_TYPE_UNSET)
        return wm_fail(WM_ERR_ARGUMENT, "%s is %lld, a raw cudaDataType; pass wmTypeFromCuda(%lld), which is %s",
                       field->name, (long long)value, (long long)value, wmTypeName(meant));
    return wm_fail(WM_ERR_ARGUMENT, "%s is %lld, which is no wmType", field->name, (long long)value);
}

wmStatus wm_fields_check(wm_op op, const void *desc) {
    int count = 0;
    const wm_field *fields = wm_fields(op, &count);
    for (int i = 0; i < count; i++) {
        int64_t value = wm_field_get(&fields[i], desc);
        if (fields[i].kind == WM_FIELD_TYPE) WM_TRY(check_type(&fields[i], value));
        if (fields[i].kind != WM_FIELD_ENUM) continue;
        int values = word_count(fields[i].names);
        if (value < 0 || value >= values)
            return wm_fail(WM_ERR_ARGUMENT, "%s is %lld; its values are 0 (%s) to %d (%s)", fields[i].name,
                           (long long)value, fields[i].names[0], values - 1, fields[i].names[values - 1]);
    }
    return WM_OK;
}

wmStatus wm_copy_sized(void *to, size_t known, size_t least, const void *from, const char *what) {
    if (!from) return wm_fail(WM_ERR_ARGUMENT, "%s is NULL", what);
    size_t size = 0;
    memcpy(&size, from, sizeof size);
    if (size < least)
        return wm_fail(WM_ERR_ARGUMENT, "%s->size is %zu; a struct made by its Default or Init function has %zu", what,
                       size, known);
    if (size > (1u << 20)) return wm_fail(WM_ERR_ARGUMENT, "%s->size is %zu, which is no struct's size", what, size);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)from)[i])
            return wm_fail(WM_ERR_VERSION,
                           "%s->size is %zu and byte %zu is set: a field of a newer warpmath than this one (%d)", what,
                           size, i, wmVersion());
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof known);
    return WM_OK;
}

void wm_give_sized(void *to, size_t size, const void *from, size_t known) {
    if (!to || size < sizeof size) return;
    memset(to, 0, size);
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &size, sizeof size);
}
