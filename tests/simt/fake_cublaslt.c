/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with cuBLASLt's soname and the part of its interface that the cublaslt solver uses, for machines without a
 * GPU: products by the definition, column-major, on the fake device's memory. It is as unkind as the original: what is
 * not set is not guessed; the workspace is scribbled over; a scalar in the wrong place, a pointer less aligned than the
 * heuristic was told, and a bias or scale not aligned to 16 bytes are errors; NaN times an alpha of 0 is NaN, relu of
 * NaN is 0; and the heuristic names algorithms that must not be taken.
 */
#include "host/cublaslt.h"
#include "reference/number.h"

#include <math.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { PLAIN = 7, SPLIT = 21, GAUSSIAN = 30, ROUNDING = 31, IN_PLACE_ONLY = 32, CONFIGS = 9 };

/* The test program's: where its device's memory is, and that we wrote there. */
__attribute__((weak)) int wm_area_device(const void *address);
__attribute__((weak)) void wm_area_mark(void *to, const void *from, size_t bytes);

static wmType type_of(int cuda) {
    return (wmType)(0x100 | cuda);
}

static size_t size_of(wmType type) {
    switch (type) {
    case WM_F16:
    case WM_BF16:
        return 2;
    case WM_F32:
    case WM_I32:
        return 4;
    case WM_F64:
    case WM_C64:
        return 8;
    case WM_C128:
        return 16;
    default:
        return 1;
    }
}

typedef struct layout {
    int32_t type, batch, by_pointers;
    int64_t rows, cols, ld, stride;
} layout;

typedef struct desc {
    int32_t compute, scale, op[2], bias_type, on_device, multiprocessors;
    uint32_t epilogue;
    const void *bias, *factor[2];
} desc;

typedef struct preference {
    uint64_t workspace;
    uint32_t reductions, align[4];
} preference;

typedef struct algorithm {
    int32_t config[CONFIGS];
} algorithm;

_Static_assert(sizeof(layout) <= sizeof(wm_lt_layout) && sizeof(desc) <= sizeof(wm_lt_desc), "they fit");
_Static_assert(sizeof(preference) <= sizeof(wm_lt_preference) && sizeof(algorithm) <= sizeof(wm_lt_algo), "they fit");

/* How many algorithms the heuristic was asked for, and how many checks were made. */
EXPORT int wm_fake_lt_asked, wm_fake_lt_checks;
/* How many multiprocessors the last heuristic and the last check were for; 0: all. */
EXPORT int wm_fake_lt_guessed_on, wm_fake_lt_checked_on;

EXPORT int cublasLtGetProperty(int part, int *value) {
    *value = part == 0 ? 13 : 0;
    return SUCCESS;
}

EXPORT const char *cublasLtGetStatusName(int status) {
    return status == INVALID_VALUE      ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                        : "CUBLAS_STATUS_NOT_SUPPORTED";
}

EXPORT int cublasLtCreate(void **handle) {
    static char one;
    *handle = &one;
    return SUCCESS;
}

/* ---- Descriptors ---- */

EXPORT int cublasLtMatrixLayoutInit_internal(layout *x, size_t size, int type, uint64_t rows, uint64_t cols,
                                             int64_t ld) {
    if (size != sizeof(wm_lt_layout)) return INVALID_VALUE;
    memset(x, 0, size);
    *x = (layout){.type = type, .batch = 1, .rows = (int64_t)rows, .cols = (int64_t)cols, .ld = ld};
    return SUCCESS;
}

static int put(void *to, size_t room, const void *value, size_t bytes) {
    if (room != bytes) return INVALID_VALUE;
    memcpy(to, value, bytes);
    return SUCCESS;
}

EXPORT int cublasLtMatrixLayoutSetAttribute(layout *x, int attribute, const void *value, size_t bytes) {
    switch (attribute) {
    case WM_LT_LAYOUT_BATCH:
        return put(&x->batch, sizeof x->batch, value, bytes);
    case WM_LT_LAYOUT_STRIDE:
        return put(&x->stride, sizeof x->stride, value, bytes);
    case WM_LT_LAYOUT_BATCH_MODE:
        return put(&x->by_pointers, sizeof x->by_pointers, value, bytes);
    default:
        return INVALID_VALUE;
    }
}

EXPORT int cublasLtMatmulDescInit_internal(desc *x, size_t size, int compute, int scale) {
    if (size != sizeof(wm_lt_desc)) return INVALID_VALUE;
    memset(x, 0, size);
    *x = (desc){.compute = compute, .scale = scale, .bias_type = -1, .epilogue = WM_LT_DEFAULT};
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescSetAttribute(desc *x, int attribute, const void *value, size_t bytes) {
    switch (attribute) {
    case WM_LT_DESC_POINTER_MODE:
        return put(&x->on_device, sizeof x->on_device, value, bytes);
    case WM_LT_DESC_TRANSA:
        return put(&x->op[0], sizeof x->op[0], value, bytes);
    case WM_LT_DESC_TRANSB:
        return put(&x->op[1], sizeof x->op[1], value, bytes);
    case WM_LT_DESC_EPILOGUE:
        return put(&x->epilogue, sizeof x->epilogue, value, bytes);
    case WM_LT_DESC_BIAS_POINTER:
        return put(&x->bias, sizeof x->bias, value, bytes);
    case WM_LT_DESC_BIAS_TYPE:
        return put(&x->bias_type, sizeof x->bias_type, value, bytes);
    case WM_LT_DESC_MULTIPROCESSORS:
        return put(&x->multiprocessors, sizeof x->multiprocessors, value, bytes);
    case WM_LT_DESC_A_SCALE:
        return put(&x->factor[0], sizeof x->factor[0], value, bytes);
    case WM_LT_DESC_B_SCALE:
        return put(&x->factor[1], sizeof x->factor[1], value, bytes);
    default:
        return INVALID_VALUE;
    }
}

EXPORT int cublasLtMatmulPreferenceInit_internal(preference *x, size_t size) {
    if (size != sizeof(wm_lt_preference)) return INVALID_VALUE;
    memset(x, 0, size);
    *x = (preference){
        0, 7, {256, 256, 256, 256}
    };
    return SUCCESS;
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(preference *x, int attribute, const void *value, size_t bytes) {
    if (attribute == WM_LT_PREF_WORKSPACE) return put(&x->workspace, sizeof x->workspace, value, bytes);
    if (attribute == WM_LT_PREF_REDUCTIONS) return put(&x->reductions, sizeof x->reductions, value, bytes);
    if (attribute < WM_LT_PREF_ALIGN_A || attribute > WM_LT_PREF_ALIGN_D) return INVALID_VALUE;
    return put(&x->align[attribute - WM_LT_PREF_ALIGN_A], sizeof x->align[0], value, bytes);
}

/* ---- Algorithms ---- */

EXPORT int cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d, int id,
                                  algorithm *x) {
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    if (!handle || (id != PLAIN && id != SPLIT && id < GAUSSIAN)) return INVALID_VALUE;
    memset(x, 0, sizeof(wm_lt_algo));
    x->config[WM_LT_CONFIG_ID] = id;
    x->config[WM_LT_CONFIG_SPLIT_K] = 1;
    return SUCCESS;
}

static size_t config_bytes(int attribute) {
    return attribute == WM_LT_CONFIG_INNER_SHAPE || attribute == WM_LT_CONFIG_CLUSTER_SHAPE ? 2 : 4;
}

EXPORT int cublasLtMatmulAlgoConfigSetAttribute(algorithm *x, int attribute, const void *value, size_t bytes) {
    if (attribute <= WM_LT_CONFIG_ID || attribute >= CONFIGS || bytes != config_bytes(attribute)) return INVALID_VALUE;
    x->config[attribute] = 0;
    memcpy(&x->config[attribute], value, bytes);
    return SUCCESS;
}

EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const algorithm *x, int attribute, void *value, size_t bytes,
                                                size_t *written) {
    if (attribute < 0 || attribute >= CONFIGS || bytes != config_bytes(attribute)) return INVALID_VALUE;
    memcpy(value, &x->config[attribute], bytes);
    *written = bytes;
    return SUCCESS;
}

EXPORT int cublasLtMatmulAlgoCapGetAttribute(const algorithm *x, int attribute, void *value, size_t bytes,
                                             size_t *written) {
    int id = x->config[WM_LT_CONFIG_ID];
    int32_t out_of_place = id != IN_PLACE_ONLY;
    uint64_t numerics = id == GAUSSIAN ? WM_LT_GAUSSIAN : 1;
    *written = bytes;
    if (attribute == WM_LT_CAP_OUT_OF_PLACE) return put(value, bytes, &out_of_place, sizeof out_of_place);
    return attribute == WM_LT_CAP_NUMERICS ? put(value, bytes, &numerics, sizeof numerics) : INVALID_VALUE;
}

static int is_fp8(int type) {
    return type_of(type) == WM_F8E4M3 || type_of(type) == WM_F8E5M2;
}

static int layout_is_bad(const layout *x, const layout *d) {
    return x->rows < 1 || x->cols < 1 || x->ld < x->rows || x->batch != d->batch || x->by_pointers != d->by_pointers;
}

static int check(const desc *x, const layout *a, const layout *b, const layout *c, const layout *d) {
    int64_t m = x->op[0] ? a->cols : a->rows, k = x->op[0] ? a->rows : a->cols;
    int64_t n = x->op[1] ? b->rows : b->cols, k_too = x->op[1] ? b->cols : b->rows;
    if (layout_is_bad(a, d) || layout_is_bad(b, d) || layout_is_bad(c, d) || layout_is_bad(d, d)) return INVALID_VALUE;
    if (k != k_too || d->rows != m || d->cols != n || c->rows != m || c->cols != n) return INVALID_VALUE;
    if ((x->epilogue & WM_LT_BIAS) && (!x->bias || x->bias_type < 0)) return INVALID_VALUE;
    if (is_fp8(a->type) && !(x->op[0] == WM_LT_OP_T && x->op[1] == WM_LT_OP_N)) return NOT_SUPPORTED;
    return c->type == d->type || is_fp8(d->type) ? SUCCESS : NOT_SUPPORTED;
}

EXPORT int cublasLtMatmulAlgoCheck(void *handle, desc *x, layout *a, layout *b, layout *c, layout *d,
                                   const algorithm *algo, wm_lt_result *out) {
    int status = handle ? check(x, a, b, c, d) : INVALID_VALUE;
    wm_fake_lt_checks++;
    wm_fake_lt_checked_on = x->multiprocessors;
    if (status) return status;
    out->workspace = algo->config[WM_LT_CONFIG_ID] == SPLIT ? 1001 : 0;
    out->state = SUCCESS;
    out->waves = 1.5f;
    return SUCCESS;
}

/* The promised alignments travel in an option of the algorithm: matmul() looks whether they were kept. */
static int32_t alignments(const preference *x) {
    int32_t all = 0;
    for (int i = 0; i < 4; i++) all |= (int32_t)__builtin_ctz(x->align[i]) << (4 * i);
    return all;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, desc *x, layout *a, layout *b, layout *c, layout *d,
                                          preference *wish, int wanted, wm_lt_result *out, int *count) {
    static const int ids[] = {GAUSSIAN, PLAIN, PLAIN, SPLIT, ROUNDING, IN_PLACE_ONLY, SPLIT};
    int status = check(x, a, b, c, d), checks = wm_fake_lt_checks;
    wm_fake_lt_asked += wanted;
    wm_fake_lt_guessed_on = x->multiprocessors;
    *count = 0;
    for (int i = 0; i < (int)(sizeof ids / sizeof *ids) && *count < wanted && !status; i++) {
        wm_lt_result *r = &out[(*count)++];
        algorithm *algo = (algorithm *)&r->algo;
        memset(r, 0, sizeof *r);
        (void)cublasLtMatmulAlgoInit(handle, 0, 0, 0, 0, 0, 0, ids[i], algo);
        algo->config[WM_LT_CONFIG_CUSTOM] = alignments(wish);
        algo->config[WM_LT_CONFIG_TILE] = i == 6 ? 20 : 15;
        algo->config[WM_LT_CONFIG_CLUSTER_SHAPE] = 3;
        if (ids[i] == SPLIT) algo->config[WM_LT_CONFIG_SPLIT_K] = 3;
        algo->config[WM_LT_CONFIG_REDUCTION] = ids[i] == SPLIT      ? WM_LT_REDUCE_COMPUTE_TYPE
                                               : ids[i] == ROUNDING ? WM_LT_REDUCE_INPLACE
                                                                    : 0;
        r->waves = 1.5f;
        r->state = cublasLtMatmulAlgoCheck(handle, x, a, b, c, d, algo, r);
        if (i == 6) r->state = NOT_SUPPORTED;
    }
    wm_fake_lt_checks = checks; /* its own are not the caller's */
    return status;
}

/* ---- The product ---- */

static wm_number times(wm_number a, wm_number b) {
    return (wm_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static wm_number plus(wm_number a, wm_number b) {
    return (wm_number){a.re + b.re, a.im + b.im};
}

static wm_number load(const layout *x, const void *base, int64_t i, int64_t j) {
    return wm_number_load(type_of(x->type), base, i + j * x->ld);
}

static wm_number operand(const layout *x, int op, const void *base, int64_t i, int64_t j) {
    wm_number value = op ? load(x, base, j, i) : load(x, base, i, j);
    if (op == WM_LT_OP_C) value.im = -value.im;
    return value;
}

static double activate(uint32_t epilogue, double x) {
    if (epilogue & WM_LT_RELU) return x > 0 ? x : 0;
    if (epilogue & WM_LT_GELU) return x / (1 + exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

static int is_zero(wm_number x) {
    return x.re == 0 && x.im == 0;
}

typedef struct job {
    const desc *x;
    const layout *a, *b, *c, *d;
    wm_number alpha, beta;
    int split;
} job;

/* What adds the partial sums of a split k keeps them in D's type before the epilogue. */
static wm_number rounded(wmType type, wm_number x) {
    char bytes[16];
    wm_number_store(type, bytes, 0, x);
    return wm_number_load(type, bytes, 0);
}

static void one_element(const job *w, const void *a, const void *b, const void *c, void *d, int64_t i, int64_t j) {
    int64_t k = w->x->op[0] ? w->a->rows : w->a->cols;
    wmType type = type_of(w->d->type);
    wm_number sum = {0, 0};
    for (int64_t p = 0; p < k; p++)
        sum = plus(sum, times(operand(w->a, w->x->op[0], a, i, p), operand(w->b, w->x->op[1], b, p, j)));
    for (int s = 0; s < 2; s++)
        if (w->x->factor[s]) sum.re *= (double)*(const float *)w->x->factor[s];
    sum = times(sum, w->alpha);
    if (!is_zero(w->beta)) sum = plus(sum, times(w->beta, load(w->c, c, i, j)));
    if (w->split) sum = rounded(type, sum);
    if (w->x->epilogue & WM_LT_BIAS) sum = plus(sum, wm_number_load(type_of(w->x->bias_type), w->x->bias, i));
    sum.re = activate(w->x->epilogue, sum.re);
    wm_number_store(type, d, i + j * w->d->ld, sum);
    if (wm_area_mark) wm_area_mark((char *)d + (size_t)(i + j * w->d->ld) * size_of(type), &sum, size_of(type));
}

static void *matrix(const layout *x, const void *base, int64_t t) {
    if (x->by_pointers) return ((void *const *)base)[t];
    return (char *)(uintptr_t)base + t * x->stride * (int64_t)size_of(type_of(x->type));
}

static int on_device(const void *address) {
    return !wm_area_device || wm_area_device(address);
}

static int vector_is_bad(const void *vector) {
    return !on_device(vector) || (uintptr_t)vector % WM_LT_VECTOR_ALIGN;
}

static int pointers_are_bad(const algorithm *algo, const job *w, const void *const pointers[4]) {
    const layout *const layouts[] = {w->a, w->b, w->c, w->d};
    for (int i = 0; i < 4; i++)
        for (int64_t t = 0; t < (w->d->by_pointers ? w->d->batch : 1); t++) {
            uintptr_t unit = (uintptr_t)1 << (algo->config[WM_LT_CONFIG_CUSTOM] >> (4 * i) & 15);
            const void *at = matrix(layouts[i], pointers[i], t);
            if (!on_device(at) || (uintptr_t)at % unit) return 1;
        }
    if ((w->x->epilogue & WM_LT_BIAS) && vector_is_bad(w->x->bias)) return 1;
    return (w->x->factor[0] && vector_is_bad(w->x->factor[0])) || (w->x->factor[1] && vector_is_bad(w->x->factor[1]));
}

EXPORT int cublasLtMatmul(void *handle, desc *x, const void *alpha, const void *a, layout *a_layout, const void *b,
                          layout *b_layout, const void *beta, const void *c, layout *c_layout, void *d,
                          layout *d_layout, const algorithm *algo, void *workspace, size_t bytes, wmStream stream) {
    wmType scale = type_of(x->scale);
    job w = {
        x, a_layout, b_layout, c_layout, d_layout, {0, 0},
             {0, 0},
             algo->config[WM_LT_CONFIG_SPLIT_K] > 1
    };
    const void *const pointers[] = {a, b, c, d};
    wm_lt_result needs;
    (void)stream;
    int status = cublasLtMatmulAlgoCheck(handle, x, a_layout, b_layout, c_layout, d_layout, algo, &needs);
    if (status) return status;
    if (bytes < needs.workspace || (needs.workspace && !workspace)) return INVALID_VALUE;
    if (x->on_device != on_device(alpha) || x->on_device != on_device(beta)) return EXECUTION_FAILED;
    if (pointers_are_bad(algo, &w, pointers)) return EXECUTION_FAILED;
    if (c == d && (c_layout->ld != d_layout->ld || c_layout->stride != d_layout->stride)) return INVALID_VALUE;
    if (bytes) memset(workspace, 0x7f, bytes);
    w.alpha = wm_number_load(scale, alpha, 0);
    w.beta = wm_number_load(scale, beta, 0);
    for (int64_t t = 0; t < d_layout->batch; t++)
        for (int64_t j = 0; j < d_layout->cols; j++)
            for (int64_t i = 0; i < d_layout->rows; i++)
                one_element(&w, matrix(a_layout, a, t), matrix(b_layout, b, t), matrix(c_layout, c, t),
                            matrix(d_layout, d, t), i, j);
    return SUCCESS;
}
