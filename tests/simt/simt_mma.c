/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation's warp-level matrix instructions (PTX ISA, mma.sync, ldmatrix, stmatrix), with the fragments' layouts
 * of the manual. Each lane lays its registers where the others see them, all 32 meet, and each computes its own part.
 */
#include "simt_core.h"

#include <math.h>
#include <string.h>

/* ---- Elements ---- */

static double float_of(unsigned bits, int exponent_bits, int mantissa_bits, bool no_infinity) {
    int sign = (int)(bits >> (exponent_bits + mantissa_bits) & 1), bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
    unsigned mantissa = bits & ((1u << mantissa_bits) - 1), most = (1u << mantissa_bits) - 1;
    double x;
    if (exponent == (1 << exponent_bits) - 1 && (!no_infinity || mantissa == most))
        x = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent)
        x = ldexp(1.0 + ldexp(mantissa, -mantissa_bits), exponent - bias);
    else
        x = ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign ? -x : x;
}

double wm_simt_element_value(int type, const unsigned char *at) {
    uint32_t word = 0;
    uint16_t half;
    double x;
    switch (type) {
    case WM_SIMT_DOUBLE:
        memcpy(&x, at, 8);
        return x;
    case WM_SIMT_TF32: /* the low 13 bits are ignored */
        memcpy(&word, at, 4);
        return float_of(word >> 13, 8, 10, false);
    case WM_SIMT_F16:
        memcpy(&half, at, 2);
        return float_of(half, 5, 10, false);
    case WM_SIMT_BF16:
        memcpy(&half, at, 2);
        return float_of(half, 8, 7, false);
    case WM_SIMT_E4M3:
        return float_of(*at, 4, 3, true);
    case WM_SIMT_E5M2:
        return float_of(*at, 5, 2, false);
    case WM_SIMT_S8:
        return (double)(int8_t)*at;
    default:
        return (double)*at;
    }
}

/* |x| on the grid of f16, as f16 bits: a multiple of 2^-24 below 2^-14, of 2^(e - 10) above. */
static uint32_t f16_of(float x) {
    uint32_t sign = signbit(x) ? 0x8000u : 0;
    double magnitude = fabs((double)x);
    int exponent = magnitude > 0 && isfinite(x) ? ilogb(magnitude) : -14;
    if (isnan(x)) return 0x7fff;
    if (exponent < -14) exponent = -14;
    double units = nearbyint(ldexp(magnitude, 10 - exponent)); /* 1024 to 2048, or below where subnormal */
    if (isinf(x) || ldexp(units, exponent - 10) > 65504) return sign | 0x7c00;
    return sign | ((uint32_t)(exponent + 14) * 1024 + (uint32_t)units);
}

uint32_t wm_simt_round16(int bf16, float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if (!bf16) return f16_of(x);
    if (isnan(x)) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint32_t wm_simt_round_tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return isnan(x) ? 0x7fffffff : isinf(x) ? bits : (bits + 0x1000) & ~UINT32_C(0x1fff);
}

/* ---- Meeting ---- */

static wm_simt_thread *warp_begin(void) {
    wm_simt_thread *self = wm_simt_self;
    return self - (self - self->block->thread) % WM_SIMT_WARP;
}

static int lane_of(void) {
    return (int)(wm_simt_self - warp_begin());
}

/* Lays down up to 8 words of 8 bytes and waits for the warp; returns the turn in which they lie. */
static int meet(const void *words, size_t bytes) {
    wm_simt_thread *self = wm_simt_self;
    int turn = self->fragment_turn ^= 1;
    memcpy(self->fragment[turn], words, bytes);
    wm_simt_warp_op(WM_SIMT_MATRIX, UINT32_MAX, 0, 0, WM_SIMT_WARP);
    return turn;
}

static const unsigned char *fragment_of(int lane, int turn) {
    return (const unsigned char *)warp_begin()[lane].fragment[turn];
}

/* ---- mma ---- */

typedef struct shape {
    int per; /* elements a register */
    int bytes;
    int m, k;
} shape;

static shape shape_of(int type, int words_b) {
    shape s = {4, 1, 16, 32};
    if (type == WM_SIMT_F16 || type == WM_SIMT_BF16) s = (shape){2, 2, 16, 16};
    if (type == WM_SIMT_TF32) s = (shape){1, 4, 16, 8};
    if (type == WM_SIMT_DOUBLE) s = (shape){1, 8, 8, 4};
    if (words_b == 1 && type != WM_SIMT_DOUBLE) s.k /= 2;
    return s;
}

/* A(row, k): register row / 8 + 2 (k / half), of lane 4 (row mod 8) + k mod half / per. */
static double a_element(int type, const shape *s, int turn, int row, int k) {
    int half = 4 * s->per, lane = row % 8 * 4 + k % half / s->per, word = row / 8 + k / half * 2;
    int width = s->per * s->bytes;
    return wm_simt_element_value(type, fragment_of(lane, turn) + (ptrdiff_t)word * width + k % s->per * s->bytes);
}

/* B(k, column): register k / half, of lane 4 column + k mod half / per; behind the words of A. */
static double b_element(int type, const shape *s, int turn, int words_a, int k, int column) {
    int half = 4 * s->per, lane = column * 4 + k % half / s->per, word = words_a + k / half, width = s->per * s->bytes;
    return wm_simt_element_value(type, fragment_of(lane, turn) + (ptrdiff_t)word * width + k % s->per * s->bytes);
}

static double dot(int type, const shape *s, int turn, int words_a, int row, int column) {
    double sum = 0;
    for (int k = 0; k < s->k; k++)
        sum += a_element(type, s, turn, row, k) * b_element(type, s, turn, words_a, k, column);
    return sum;
}

void wm_simt_mma(int type, int words_a, int words_b, const void *a, const void *b, void *sum) {
    unsigned char words[64];
    shape s = shape_of(type, words_b);
    size_t width = (size_t)s.per * (size_t)s.bytes;
    memcpy(words, a, (size_t)words_a * width);
    memcpy(words + (size_t)words_a * width, b, (size_t)words_b * width);
    int turn = meet(words, (size_t)(words_a + words_b) * width), lane = lane_of();
    for (int i = 0; i < s.m / 8 * 2; i++) {
        double x = dot(type, &s, turn, words_a, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
        if (type == WM_SIMT_DOUBLE)
            ((double *)sum)[i] += x;
        else if (type == WM_SIMT_S8 || type == WM_SIMT_U8)
            ((int32_t *)sum)[i] = (int32_t)((uint32_t)((int32_t *)sum)[i] + (uint32_t)(int32_t)x);
        else
            ((float *)sum)[i] = (float)(((float *)sum)[i] + x);
    }
}

/* ---- ldmatrix, stmatrix ---- */

static void check_row(const unsigned char *row, wm_simt_access access, const void *pc) {
    const unsigned char *shared = wm_simt_self->block->shared;
    if ((uintptr_t)row % 16 || row < shared || row + 16 > shared + wm_simt_group_now.launch->shared) {
        wm_simt_fault(pc, "matrix row at byte %td of shared memory", row - shared);
        wm_simt_abort();
    }
    if (wm_simt_hooks_seen) wm_simt_check(row, 16, access, pc);
}

/* Row `row` of matrix `matrix`: the address that lane 8 matrix + row gave. */
static unsigned char *row_of(int turn, int matrix, int row) {
    unsigned char *address;
    memcpy(&address, fragment_of(matrix * 8 + row, turn), sizeof address);
    return address;
}

void wm_simt_load_matrices(int count, int transposed, const void *row, uint32_t *out) {
    int lane = lane_of();
    if (lane < count * 8) check_row(row, WM_SIMT_READ, __builtin_return_address(0));
    int turn = meet(&row, sizeof row);
    for (int m = 0; m < count; m++) {
        uint16_t pair[2];
        for (int e = 0; e < 2; e++) {
            int i = lane / 4, j = lane % 4 * 2 + e;
            memcpy(&pair[e], row_of(turn, m, transposed ? j : i) + (transposed ? i : j) * 2, 2);
        }
        memcpy(&out[m], pair, 4);
    }
}

void wm_simt_store_matrices(int count, int transposed, void *row, const uint32_t *in) {
    uint64_t words[3] = {(uintptr_t)row, 0, 0};
    int lane = lane_of();
    if (lane < count * 8) check_row(row, WM_SIMT_WRITE, __builtin_return_address(0));
    memcpy(words + 1, in, (size_t)count * 4);
    int turn = meet(words, sizeof words);
    for (int m = 0; m < count; m++)
        for (int e = 0; e < 2; e++) {
            int i = lane / 4, j = lane % 4 * 2 + e;
            unsigned char *to = row_of(turn, m, transposed ? j : i) + (transposed ? i : j) * 2;
            memcpy(to, fragment_of(lane, turn) + 8 + m * 4 + e * 2, 2);
        }
}
