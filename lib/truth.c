/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing a candidate's image with the judge's. */
#include "fields.h"
#include "reference/number.h"
#include "truth.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE = 8 << 20, PIECE = 64 << 10, PIECES = 64 };

typedef enum rule { EXACT, NUMBERS, SKIP } rule;

static rule rule_of(const wm_image *image, const wm_region *region) {
    if (region->operand < 0) return EXACT;
    wm_role role = image->operand[region->operand].role;
    if (role == WM_OUTPUT || role == WM_IN_OUT) return NUMBERS;
    return wm_image_is_overwritten(image, region->operand) ? SKIP : EXACT;
}

/* ---- Windows ---- */

static wmStatus add_window(wm_truth *truth, int region, size_t offset, size_t bytes) {
    if (bytes == 0) return WM_OK;
    if (truth->windows == truth->capacity) {
        int capacity = truth->capacity ? 2 * truth->capacity : 64;
        wm_window *grown = (wm_window *)realloc(truth->window, (size_t)capacity * sizeof *grown);
        if (!grown) return wm_fail(WM_ERR_MEMORY, "out of host memory");
        truth->window = grown;
        truth->capacity = capacity;
    }
    truth->window[truth->windows++] = (wm_window){offset, bytes, region};
    return WM_OK;
}

static wmStatus add_windows(wm_truth *truth, int number, uint64_t *state) {
    const wm_region *region = &truth->image->region[number];
    if (region->bytes <= WHOLE) return add_window(truth, number, region->offset, region->bytes);
    size_t stride = region->bytes / PIECES;
    for (size_t i = 0; i < PIECES; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's, TAOCP vol. 2, 3.3.4 */
        size_t slack = (*state >> 33) % (stride - PIECE + 1);
        if (i == 0) slack = 0;
        size_t at = (i * stride + slack) / 256 * 256; /* whole elements of any type, also where the stride is odd */
        if (i == PIECES - 1) at = (region->bytes - PIECE) / 256 * 256;
        size_t bytes = i == PIECES - 1 ? region->bytes - at : PIECE;
        WM_TRY(add_window(truth, number, region->offset + at, bytes));
    }
    return WM_OK;
}

/* In place, the gaps of a C2R's real rows are what is left of the complex ones, and no two solvers leave the same. */
static void count_axes(const wmFftDesc *d, unsigned char *counts) {
    wmFftDim dims[WM_FFT_MAX_RANK + WM_FFT_MAX_LOOPS];
    int64_t index[WM_FFT_MAX_RANK + WM_FFT_MAX_LOOPS] = {0};
    int n = 0;
    for (int i = 0; i < d->loops; i++) dims[n++] = d->loop[i];
    for (int i = 0; i < d->rank; i++) dims[n++] = d->dim[i];
    for (int64_t at = 0;;) {
        counts[at / 8] |= (unsigned char)(1u << (at % 8));
        int axis = n - 1;
        for (; axis >= 0; axis--) {
            at += dims[axis].out_stride;
            if (++index[axis] < dims[axis].n) break;
            at -= dims[axis].out_stride * dims[axis].n;
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

static wmStatus make_counts(wm_truth *truth) {
    const wm_problem *problem = truth->image->problem;
    const wmFftDesc *d = &problem->u.fft;
    if (problem->op != WM_FFT || d->kind != WM_FFT_C2R || d->placement != WM_IN_PLACE) return WM_OK;
    truth->counts = (unsigned char *)calloc((size_t)truth->image->operand[0].elements / 4 + 1, 1);
    if (!truth->counts) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    count_axes(d, truth->counts);
    return WM_OK;
}

static const unsigned char *place_of(const wm_truth *truth, int copy, const wm_window *window) {
    return truth->image->memory + (size_t)copy * truth->image->bytes + window->offset;
}

/* Downloads the windows under one rule into what is expected. */
static wmStatus download(wm_truth *truth, int copy, rule wanted) {
    size_t at = 0;
    for (int i = 0; i < truth->windows; i++) {
        const wm_window *window = &truth->window[i];
        if (rule_of(truth->image, &truth->image->region[window->region]) == wanted) {
            WM_TRY(wm_image_move(truth->image, truth->expected + at, place_of(truth, copy, window), window->bytes));
        }
        at += window->bytes;
    }
    return WM_OK;
}

static wmStatus prepare(wm_truth *truth, int copy) {
    uint64_t state = 1;
    size_t all = 0, largest = 0;
    for (int i = 0; i < truth->image->regions; i++) WM_TRY(add_windows(truth, i, &state));
    for (int i = 0; i < truth->windows; i++) {
        all += truth->window[i].bytes;
        if (truth->window[i].bytes > largest) largest = truth->window[i].bytes;
    }
    truth->expected = (unsigned char *)malloc(all + 1);
    truth->got = (unsigned char *)malloc(largest + 1);
    if (!truth->expected || !truth->got) return wm_fail(WM_ERR_MEMORY, "out of host memory");
    WM_TRY(make_counts(truth));
    return download(truth, copy, EXACT);
}

wmStatus wm_truth_make(wm_truth *out, const wm_image *image, int copy) {
    *out = (wm_truth){.image = image, .bound = wm_problem_bound(image->problem)};
    return prepare(out, copy);
}

void wm_truth_free(wm_truth *truth) {
    free(truth->window);
    free(truth->expected);
    free(truth->got);
    free(truth->counts);
    *truth = (wm_truth){0};
}

/* ---- Comparing ---- */

enum { CHUNK = 512 };

/* Scalars of a real type as doubles; the bytes need no alignment. */
static void load_chunk(wmType type, const unsigned char *from, int count, double *out) {
    float narrow[CHUNK], aligned[CHUNK];
    if (type == WM_F64) {
        memcpy(out, from, (size_t)count * sizeof *out);
        return;
    }
    memcpy(aligned, from, (size_t)count * wmTypeSize(type));
    wm_numbers_to_f32(type, aligned, narrow, count);
    for (int i = 0; i < count; i++) out[i] = narrow[i];
}

static wmType real_type(wmType type) {
    return type == WM_C128    ? WM_F64
           : type == WM_C64   ? WM_F32
           : type == WM_C32   ? WM_F16
           : type == WM_CBF16 ? WM_BF16
                              : type;
}

/*
 * One chunk: each scalar must be within the absolute bound or the relative one. Gives the offset of a wrong one, or -1.
 * Whatever is no worse than the worst so far passes by one comparison; NaN never does.
 */
static int compare_chunk(const wm_bound *bound, const double *got, const double *want, int count, double *worst) {
    for (int i = 0; i < count; i++) {
        double relative = bound->relative * fabs(want[i]);
        double limit = bound->absolute > relative ? bound->absolute : relative, off = fabs(got[i] - want[i]);
        if (off <= *worst * limit || got[i] == want[i]) continue;
        if (!(off <= limit)) return i;
        *worst = off / limit;
    }
    return -1;
}

static int64_t compare_exactly(const unsigned char *got, const unsigned char *want, int64_t count, size_t size) {
    if (memcmp(got, want, (size_t)count * size) == 0) return -1;
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(got + (size_t)i * size, want + (size_t)i * size, size) != 0) return i;
    }
    return -1;
}

static int is_counted(const wm_truth *truth, int64_t scalar) {
    return !truth->counts || (truth->counts[scalar / 8] >> (scalar % 8) & 1);
}

/* Arrays of a real type; `first` is the window's first scalar in its operand. Gives the offset of a wrong one, or -1.
 */
static int64_t compare_numbers(const wm_truth *truth, wmType type, const unsigned char *got, const unsigned char *want,
                               int64_t count, int64_t first, double *worst) {
    double a[CHUNK], b[CHUNK];
    size_t size = wmTypeSize(type);
    if (wm_number_shape(type).digits == 0) return compare_exactly(got, want, count, size);
    for (int64_t at = 0; at < count; at += CHUNK) {
        int n = count - at < CHUNK ? (int)(count - at) : CHUNK;
        const unsigned char *x = got + (size_t)at * size, *y = want + (size_t)at * size;
        if (memcmp(x, y, (size_t)n * size) == 0) continue;
        load_chunk(type, x, n, a);
        load_chunk(type, y, n, b);
        for (int done = 0; done < n;) {
            int wrong = compare_chunk(&truth->bound, a + done, b + done, n - done, worst);
            if (wrong < 0) break;
            done += wrong;
            /* Equal bits are right, NaN's too; so is what no solver need write. */
            if (is_counted(truth, first + at + done) &&
                memcmp(x + (size_t)done * size, y + (size_t)done * size, size) != 0) {
                return at + done;
            }
            done++;
        }
    }
    return -1;
}

static void describe_number(const wm_truth *truth, const wm_operand *operand, wmType type, const unsigned char *want,
                            int64_t at, int64_t index, char *why) {
    wm_number a = wm_number_load(type, truth->got, at), b = wm_number_load(type, want, at);
    if (wm_number_shape(type).digits == 0) {
        snprintf(why, 160, "element %lld of %s is not the judge's", (long long)index, operand->name);
    } else {
        snprintf(why, 160, "element %lld of %s is %.9g%+.9gi, the judge's %.9g%+.9gi", (long long)index, operand->name,
                 a.re, a.im, b.re, b.im);
    }
}

static int check_numbers(const wm_truth *truth, const wm_window *window, const unsigned char *want, double *worst,
                         char *why) {
    const wm_region *region = &truth->image->region[window->region];
    const wm_operand *operand = &truth->image->operand[region->operand];
    wmType real = real_type(operand->type);
    int64_t size = (int64_t)wmTypeSize(real), parts = (int64_t)wmTypeSize(operand->type) / size;
    if (truth->counts) parts = 1; /* the result is real there, and its array is not */
    int64_t first = (int64_t)(window->offset - region->offset) / size;
    int64_t wrong = compare_numbers(truth, real, truth->got, want, (int64_t)window->bytes / size, first, worst);
    if (wrong < 0) return 1;
    wmType shown = truth->counts ? real : operand->type;
    describe_number(truth, operand, shown, want, wrong / parts, (first + wrong) / parts, why);
    return 0;
}

static int check_bytes(const wm_truth *truth, const wm_window *window, const unsigned char *want, char *why) {
    if (memcmp(truth->got, want, window->bytes) == 0) return 1;
    const wm_region *region = &truth->image->region[window->region];
    if (region->operand >= 0) {
        snprintf(why, 160, "it wrote to the input %s", truth->image->operand[region->operand].name);
    } else if (window->region == 0) {
        snprintf(why, 160, "it wrote before %s", truth->image->operand[0].name);
    } else {
        snprintf(why, 160, "it wrote behind %s",
                 truth->image->operand[truth->image->region[window->region - 1].operand].name);
    }
    return 0;
}

static wmStatus compare(const wm_truth *truth, int copy, int numbers_too, double *error, char *why) {
    double worst = 0.0;
    size_t at = 0;
    why[0] = '\0';
    for (int i = 0; i < truth->windows; i++) {
        const wm_window *window = &truth->window[i];
        rule wanted = rule_of(truth->image, &truth->image->region[window->region]);
        const unsigned char *want = truth->expected + at;
        at += window->bytes;
        if (wanted == SKIP || (wanted == NUMBERS && !numbers_too)) continue;
        WM_TRY(wm_image_move(truth->image, truth->got, place_of(truth, copy, window), window->bytes));
        int good =
            wanted == EXACT ? check_bytes(truth, window, want, why) : check_numbers(truth, window, want, &worst, why);
        if (!good) worst = INFINITY;
        if (!good) break;
    }
    *error = worst;
    return WM_OK;
}

wmStatus wm_truth_take(wm_truth *truth, int copy) {
    char why[160];
    double error = 0.0;
    WM_TRY(compare(truth, copy, 0, &error, why));
    if (isinf(error)) return wm_fail(WM_ERR_INTERNAL, "the judge cannot be trusted: %s", why);
    return download(truth, copy, NUMBERS);
}

wmStatus wm_truth_check(const wm_truth *truth, int copy, double *error, char *why) {
    return compare(truth, copy, 1, error, why);
}
