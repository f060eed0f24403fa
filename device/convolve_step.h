/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a convolution between its transforms: placing an array among zeros, the product of spectra, cutting the
 * results out. Plain C: the CPU place and the kernel of convolve_passes share it, a row at a time.
 */
#ifndef WM_DEVICE_CONVOLVE_STEP_H
#define WM_DEVICE_CONVOLVE_STEP_H

#include <warpmath/device/exact.h>

typedef enum wm_convolve_what {
    WM_CONVOLVE_PLACE = 0,
    WM_CONVOLVE_MULTIPLY = 1,
    WM_CONVOLVE_CROP = 2
} wm_convolve_what;

/** Where element i of a placed axis comes from; but for AS_IT_IS conjugated. */
typedef enum wm_convolve_order {
    WM_CONVOLVE_AS_IT_IS = 0,
    WM_CONVOLVE_REVERSED = 1, /* the last one first */
    WM_CONVOLVE_NEGATED = 2   /* -i modulo the length */
} wm_convolve_order;

/** One step over arrays × rows × columns elements of `to`; all strides count elements. */
typedef struct wm_convolve_step {
    int what, turn;
    int f64, complex; /* of the elements */
    long long arrays, rows, columns;
    const void *from;
    void *to;
    long long from_array, from_row, to_array, to_row;
    long long have[2];  /* PLACE: rows and columns of `from`; beyond is 0 */
    long long first[2]; /* CROP: the first row and column of `from` */
    long long half;     /* MULTIPLY: rows are half the spectrum of so many reals, whose ends are real; else 0 */
} wm_convolve_step;

typedef struct wm_convolve_value {
    double re, im;
} wm_convolve_value;

WM_BOTH wm_convolve_value wm_convolve_get(const wm_convolve_step *s, const void *from, long long at) {
    wm_convolve_value v = {0, 0};
    if (s->complex) {
        v.re = s->f64 ? ((const double *)from)[2 * at] : (double)((const float *)from)[2 * at];
        v.im = s->f64 ? ((const double *)from)[2 * at + 1] : (double)((const float *)from)[2 * at + 1];
    } else {
        v.re = s->f64 ? ((const double *)from)[at] : (double)((const float *)from)[at];
    }
    return v;
}

WM_BOTH void wm_convolve_put(const wm_convolve_step *s, void *to, long long at, wm_convolve_value v) {
    if (s->complex && s->f64) {
        ((double *)to)[2 * at] = v.re, ((double *)to)[2 * at + 1] = v.im;
    } else if (s->complex) {
        ((float *)to)[2 * at] = (float)v.re, ((float *)to)[2 * at + 1] = (float)v.im;
    } else if (s->f64) {
        ((double *)to)[at] = v.re;
    } else {
        ((float *)to)[at] = (float)v.re;
    }
}

/** Element i of an axis of `length` in the `have` elements that there are; less than 0 or too large: it is a zero. */
WM_BOTH long long wm_convolve_source(int turn, long long i, long long have, long long length) {
    if (turn == WM_CONVOLVE_REVERSED) return have - 1 - i;
    return turn == WM_CONVOLVE_NEGATED && i ? length - i : i;
}

WM_BOTH wm_convolve_value wm_convolve_placed(const wm_convolve_step *s, long long array, long long i, long long j) {
    wm_convolve_value v = {0, 0};
    i = wm_convolve_source(s->turn, i, s->have[0], s->rows);
    j = wm_convolve_source(s->turn, j, s->have[1], s->columns);
    if (i < 0 || i >= s->have[0] || j < 0 || j >= s->have[1]) return v;
    v = wm_convolve_get(s, s->from, array * s->from_array + i * s->from_row + j);
    if (s->turn) v.im = -v.im;
    return v;
}

/** Columns `first`, first + every, … of a row; rows are counted through all arrays. */
WM_BOTH void wm_convolve_row(const wm_convolve_step *s, long long row, long long first, long long every) {
    long long array = row / s->rows, i = row % s->rows, to = array * s->to_array + i * s->to_row;
    long long from = array * s->from_array + (i + s->first[0]) * s->from_row + s->first[1];
    for (long long j = first; j < s->columns; j += every) {
        wm_convolve_value v;
        if (s->what == WM_CONVOLVE_PLACE) {
            v = wm_convolve_placed(s, array, i, j);
        } else {
            v = wm_convolve_get(s, s->from, from + j);
        }
        if (s->what == WM_CONVOLVE_MULTIPLY) {
            wm_convolve_value a = wm_convolve_get(s, s->to, to + j), b = v;
            v.re = a.re * b.re - a.im * b.im;
            v.im = a.re * b.im + a.im * b.re;
            if (s->half && (j == 0 || 2 * j == s->half)) v.re = a.re * b.re, v.im = 0;
        }
        wm_convolve_put(s, s->to, to + j, v);
    }
}

#endif
