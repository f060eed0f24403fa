/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real type and the vector of the CPU transform's typed code. A source file sets WM_REAL_BITS (32 or 64) and
 * WM_REAL_BYTES (16 or 32: the width of its instruction set's registers), then includes fft_lines.h. Vectors are the
 * compilers' own extension, so the same text serves every instruction set.
 */
#ifndef WM_REFERENCE_FFT_TYPE_H
#define WM_REFERENCE_FFT_TYPE_H

#include <stdint.h>
#include <string.h>

#if WM_REAL_BITS == 32
typedef float real;
typedef int32_t lane_index;
#else
typedef double real;
typedef int64_t lane_index;
#endif

typedef real vec __attribute__((vector_size(WM_REAL_BYTES)));
typedef lane_index vec_index __attribute__((vector_size(WM_REAL_BYTES)));

enum { LANES = WM_REAL_BYTES / sizeof(real) };

/** One point of LANES transforms. */
typedef struct cvec {
    vec re, im;
} cvec;

#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vec_index){__VA_ARGS__})
#endif

/* Indices into the 2 LANES elements of two vectors. */
#if WM_REAL_BYTES * 8 / WM_REAL_BITS == 2
#define EVENS 0, 2
#define ODDS 1, 3
#define ZIP_LOW 0, 2
#define ZIP_HIGH 1, 3
#define ONES_LOW 0, 2
#define ONES_HIGH 1, 3
#elif WM_REAL_BYTES * 8 / WM_REAL_BITS == 4
#define EVENS 0, 2, 4, 6
#define ODDS 1, 3, 5, 7
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#define ONES_LOW 0, 4, 2, 6
#define ONES_HIGH 1, 5, 3, 7
#define TWOS_LOW 0, 1, 4, 5
#define TWOS_HIGH 2, 3, 6, 7
#else
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15
#define ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define ONES_LOW 0, 8, 2, 10, 4, 12, 6, 14
#define ONES_HIGH 1, 9, 3, 11, 5, 13, 7, 15
#define TWOS_LOW 0, 1, 8, 9, 4, 5, 12, 13
#define TWOS_HIGH 2, 3, 10, 11, 6, 7, 14, 15
#define FOURS_LOW 0, 1, 2, 3, 8, 9, 10, 11
#define FOURS_HIGH 4, 5, 6, 7, 12, 13, 14, 15
#endif

INLINE vec load(const real *from) {
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(real *to, vec v) {
    memcpy(to, &v, sizeof v);
}

/** LANES adjacent complex numbers. */
INLINE cvec load_pairs(const real *from) {
    vec a = load(from), b = load(from + LANES);
    cvec v = {SHUFFLE(a, b, EVENS), SHUFFLE(a, b, ODDS)};
    return v;
}

INLINE void store_pairs(real *to, cvec v) {
    store(to, SHUFFLE(v.re, v.im, ZIP_LOW));
    store(to + LANES, SHUFFLE(v.re, v.im, ZIP_HIGH));
}

/**
 * Turns LANES contiguous lines of n points (n = 2^k <= LANES, in n vectors) into n vectors of one point each. Each
 * perfect shuffle rotates the bits of the address (line, point) by one; log2(n) of them make it (point, line).
 */
INLINE void unzip(vec *v, int n) {
    for (int rounds = n; rounds > 1; rounds /= 2) {
        vec t[LANES];
        for (int i = 0; i < n / 2; i++) {
            t[i] = SHUFFLE(v[2 * i], v[2 * i + 1], EVENS);
            t[i + n / 2] = SHUFFLE(v[2 * i], v[2 * i + 1], ODDS);
        }
        for (int i = 0; i < n; i++) v[i] = t[i];
    }
}

/** The inverse of unzip. */
INLINE void zip(vec *v, int n) {
    for (int rounds = n; rounds > 1; rounds /= 2) {
        vec t[LANES];
        for (int i = 0; i < n / 2; i++) {
            t[2 * i] = SHUFFLE(v[i], v[i + n / 2], ZIP_LOW);
            t[2 * i + 1] = SHUFFLE(v[i], v[i + n / 2], ZIP_HIGH);
        }
        for (int i = 0; i < n; i++) v[i] = t[i];
    }
}

/** Transposes a square of LANES vectors: blocks of half its side change places across the diagonal, then quarters, … */
INLINE void transpose(vec *v) {
#ifdef FOURS_LOW
    for (int i = 0; i < 4; i++) {
        vec a = v[i], b = v[i + 4];
        v[i] = SHUFFLE(a, b, FOURS_LOW), v[i + 4] = SHUFFLE(a, b, FOURS_HIGH);
    }
#endif
#ifdef TWOS_LOW
    for (int i = 0; i < LANES; i += i % 2 ? 3 : 1) {
        vec a = v[i], b = v[i + 2];
        v[i] = SHUFFLE(a, b, TWOS_LOW), v[i + 2] = SHUFFLE(a, b, TWOS_HIGH);
    }
#endif
    for (int i = 0; i < LANES; i += 2) {
        vec a = v[i], b = v[i + 1];
        v[i] = SHUFFLE(a, b, ONES_LOW), v[i + 1] = SHUFFLE(a, b, ONES_HIGH);
    }
}

INLINE cvec add(cvec a, cvec b) {
    cvec v = {a.re + b.re, a.im + b.im};
    return v;
}

INLINE cvec sub(cvec a, cvec b) {
    cvec v = {a.re - b.re, a.im - b.im};
    return v;
}

/** -i a */
INLINE cvec turn(cvec a) {
    cvec v = {a.im, -a.re};
    return v;
}

/** The same root in every lane. */
INLINE cvec mul_root(cvec a, real re, real im) {
    cvec v = {a.re * re - a.im * im, a.re * im + a.im * re};
    return v;
}

INLINE cvec mul(cvec a, cvec b) {
    cvec v = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return v;
}

#endif
