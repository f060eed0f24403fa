/* SPDX-License-Identifier: Apache-2.0 */
/* Between user data of any strides and lane buffers. Typed code; see fft_core.h. */
#ifndef WM_REFERENCE_FFT_MOVE_H
#define WM_REFERENCE_FFT_MOVE_H

#include "fft_core.h"
#include "fft_type.h"

/**
 * Complex numbers in the user's memory, as reals: element j of a line has its real part at [offset + step * j] and its
 * imaginary part `im` further on. im = 1: complex data. im = -1 with the base at an imaginary part: real and imaginary
 * part swapped, which turns a forward transform into an inverse one. im = a real signal's stride: its samples in pairs.
 * im = 0: no imaginary part, read as 0 and not written.
 */
typedef struct view {
    real *base;
    int64_t step, im;
} view;

enum {
    STAGE = 16,       /* points of each line that pass through the stack at a time */
    BLOCK = LANES / 2 /* points of each line that fill a vector */
};

typedef struct span {
    int lanes;     /* lines in use, 1 to LANES */
    int64_t pitch; /* from each line to the next where all lanes are in use and equally spaced, else 0 */
    int64_t offset[LANES];
} span;

/** LANES lines (or fewer) with a pitch, from `first` on. */
static span even_span(int64_t first, int64_t pitch, int64_t lines) {
    span s;
    s.lanes = lines < LANES ? (int)lines : LANES;
    s.pitch = s.lanes == LANES ? pitch : 0;
    for (int l = 0; l < LANES; l++) s.offset[l] = first + pitch * l;
    return s;
}

INLINE cvec swap_if(int yes, cvec v) {
    cvec t = {v.im, v.re};
    return yes ? t : v;
}

/** LANES / 2 points of LANES contiguous lines: a square of reals, whose columns are real and imaginary parts in turn.
 */
INLINE void gather_block(const real *from, const int64_t *offset, int swapped, cvec *to) {
    vec v[LANES];
    for (int l = 0; l < LANES; l++) v[l] = load(from + offset[l]);
    transpose(v);
    for (int i = 0; i < LANES / 2; i++) to[i].re = v[2 * i + swapped], to[i].im = v[2 * i + 1 - swapped];
}

INLINE void scatter_block(real *to, const int64_t *offset, int swapped, const cvec *from, real scale) {
    vec v[LANES];
    for (int i = 0; i < LANES / 2; i++)
        v[2 * i + swapped] = from[i].re * scale, v[2 * i + 1 - swapped] = from[i].im * scale;
    transpose(v);
    for (int l = 0; l < LANES; l++) store(to + offset[l], v[l]);
}

/** LANES contiguous lines, one behind the other, shorter than a vector: n = 2^k < LANES. */
INLINE void gather_short(const real *from, int n, int swapped, cvec *to) {
    vec re[LANES], im[LANES];
    for (int i = 0; i < n; i++) {
        cvec v = load_pairs(from + (ptrdiff_t)2 * LANES * i);
        re[i] = v.re, im[i] = v.im;
    }
    unzip(re, n);
    unzip(im, n);
    for (int i = 0; i < n; i++) {
        cvec v = {re[i], im[i]};
        to[i] = swap_if(swapped, v);
    }
}

INLINE void scatter_short(real *to, int n, int swapped, const cvec *from, real scale) {
    vec re[LANES], im[LANES];
    for (int i = 0; i < n; i++) re[i] = from[i].re * scale, im[i] = from[i].im * scale;
    zip(re, n);
    zip(im, n);
    for (int i = 0; i < n; i++) {
        cvec v = {re[i], im[i]};
        store_pairs(to + (ptrdiff_t)2 * LANES * i, swap_if(swapped, v));
    }
}

/** Any strides, complex data: pairs are copied whole to a stage, where they lie as vectors want them. */
static void gather_pairs(const real *base, int64_t step, const span *s, int swapped, int64_t n, cvec *to) {
    real stage[STAGE][2 * LANES];
    for (int64_t j = 0; j < n; j += STAGE) {
        int count = (int)(n - j < STAGE ? n - j : STAGE);
        if (s->lanes < LANES) memset(stage, 0, sizeof stage[0] * (size_t)count);
        for (int l = 0; l < s->lanes; l++) {
            const real *at = base + s->offset[l] + step * j;
            for (int i = 0; i < count; i++) memcpy(&stage[i][2 * l], at + step * i, 2 * sizeof(real));
        }
        for (int i = 0; i < count; i++) to[j + i] = swap_if(swapped, load_pairs(stage[i]));
    }
}

static void scatter_pairs(real *base, int64_t step, const span *s, int swapped, int64_t n, const cvec *from,
                          real scale) {
    real stage[STAGE][2 * LANES];
    for (int64_t j = 0; j < n; j += STAGE) {
        int count = (int)(n - j < STAGE ? n - j : STAGE);
        for (int i = 0; i < count; i++) {
            cvec v = {from[j + i].re * scale, from[j + i].im * scale};
            store_pairs(stage[i], swap_if(swapped, v));
        }
        for (int l = 0; l < s->lanes; l++) {
            real *at = base + s->offset[l] + step * j;
            for (int i = 0; i < count; i++) memcpy(at + step * i, &stage[i][2 * l], 2 * sizeof(real));
        }
    }
}

/** Real and imaginary part apart, or no imaginary part. */
static void gather_apart(const view *from, const span *s, int64_t n, cvec *to) {
    const cvec zero = {{0}, {0}};
    for (int64_t j = 0; j < n && s->lanes < LANES; j++) to[j] = zero;
    for (int l = 0; l < s->lanes; l++) {
        const real *at = from->base + s->offset[l];
        real *lane = (real *)to + l;
        for (int64_t j = 0; j < n; j++) {
            lane[2 * LANES * j] = at[from->step * j];
            lane[2 * LANES * j + LANES] = from->im ? at[from->step * j + from->im] : 0;
        }
    }
}

static void scatter_apart(const view *to, const span *s, int64_t n, const cvec *from, real scale) {
    for (int l = 0; l < s->lanes; l++) {
        real *at = to->base + s->offset[l];
        const real *lane = (const real *)from + l;
        for (int64_t j = 0; j < n; j++) {
            at[to->step * j] = lane[2 * LANES * j] * scale;
            if (to->im) at[to->step * j + to->im] = lane[2 * LANES * j + LANES] * scale;
        }
    }
}

/** Reads n points of each line of the span; lanes out of use become 0. */
static void gather(const view *from, const span *s, int64_t n, cvec *to) {
    int swapped = from->im == -1;
    const real *base = swapped ? from->base - 1 : from->base;
    if (from->im != 1 && !swapped) {
        gather_apart(from, s, n, to);
    } else if (s->pitch == 2) {
        for (int64_t j = 0; j < n; j++) to[j] = swap_if(swapped, load_pairs(base + s->offset[0] + from->step * j));
    } else if (from->step == 2 && s->lanes == LANES && n >= BLOCK) {
        for (int64_t j = 0; j <= n - BLOCK; j += BLOCK) gather_block(base + 2 * j, s->offset, swapped, to + j);
        if (n % BLOCK) gather_block(base + 2 * (n - BLOCK), s->offset, swapped, to + n - BLOCK); /* overlaps */
    } else if (from->step == 2 && (n & (n - 1)) == 0 && s->pitch == 2 * n) {
        if (n == 1) gather_short(base + s->offset[0], 1, swapped, to);
        if (n == 2) gather_short(base + s->offset[0], 2, swapped, to);
    } else {
        gather_pairs(base, from->step, s, swapped, n, to);
    }
}

/** Writes n points of each line of the span, times the scale. */
static void scatter(const view *to, const span *s, int64_t n, const cvec *from, real scale) {
    int swapped = to->im == -1;
    real *base = swapped ? to->base - 1 : to->base;
    if (to->im != 1 && !swapped) {
        scatter_apart(to, s, n, from, scale);
    } else if (s->pitch == 2) {
        for (int64_t j = 0; j < n; j++) {
            cvec v = {from[j].re * scale, from[j].im * scale};
            store_pairs(base + s->offset[0] + to->step * j, swap_if(swapped, v));
        }
    } else if (to->step == 2 && s->lanes == LANES && n >= BLOCK) {
        for (int64_t j = 0; j <= n - BLOCK; j += BLOCK)
            scatter_block(base + 2 * j, s->offset, swapped, from + j, scale);
        if (n % BLOCK) scatter_block(base + 2 * (n - BLOCK), s->offset, swapped, from + n - BLOCK, scale);
    } else if (to->step == 2 && (n & (n - 1)) == 0 && s->pitch == 2 * n) {
        if (n == 1) scatter_short(base + s->offset[0], 1, swapped, from, scale);
        if (n == 2) scatter_short(base + s->offset[0], 2, swapped, from, scale);
    } else {
        scatter_pairs(base, to->step, s, swapped, n, from, scale);
    }
}

#endif
