/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU transform's parts: what planning (fft_plan.c) hands to the typed code (fft_lanes.h, fft_lines.h, compiled
 * once for each real type and instruction set).
 *
 *   lane   L equal transforms at once, one in each element of a vector register: no shuffles in the arithmetic.
 *          Stockham passes of radices 2 to 61, or Bluestein's algorithm over such passes.
 *   line   one transform of user data of length n by one of three methods:
 *            LANES  many lines are gathered into the lanes of one lane transform;
 *            SPLIT  n = n1 * n2 (Bailey's four steps): n2 columns of length n1, twiddles, n1 rows of length n2, so that
 *                   one line alone fills the lanes, and what is touched at a time stays in the cache;
 *            CHIRP  Bluestein's algorithm over a SPLIT line of a smooth length.
 *   axis   all lines of one axis of a problem: a list of phases, each a number of units that may run on any thread.
 *
 * Real transforms of even n run as complex ones of n / 2 with a step that separates the spectra of even and odd
 * samples; odd n runs as a complex transform whose imaginary part is zero.
 */
#ifndef WM_REFERENCE_FFT_CORE_H
#define WM_REFERENCE_FFT_CORE_H

#include <warpmath/fft.h>

#include <stddef.h>
#include <stdint.h>

enum { WM_LINE_STEPS = 40, WM_AXIS_LOOPS = 5, WM_LINE_PHASES = 8, WM_LINE_ALIGN = 64, WM_LINE_MAX_RADIX = 61 };

/** One Stockham pass: y[q + s(rp + k)] = w^(pk) sum_j x[q + s(p + mj)] e^(-2 pi i jk / r), p < m, q < s, w^(rm) = 1. */
typedef struct wm_fft_step {
    int radix;
    int64_t m, s;
    int64_t twiddle; /* where in the table: (m - 1)(r - 1) roots for p = 1, 2, … */
    int64_t roots;   /* odd radices above 5: cosines and sines, (r - 1) / 2 pairs for each of (r - 1) / 2 outputs */
} wm_fft_step;

typedef struct wm_fft_lane {
    int64_t n;
    int64_t length; /* of the passes: n, or Bluestein's padded length */
    int steps;
    wm_fft_step step[WM_LINE_STEPS];
    int64_t chirp;    /* Bluestein: exp(-pi i k^2 / n) for k < n */
    int64_t spectrum; /* Bluestein: the transform of the conjugate chirp, over the length */
    int64_t reals;    /* length of the table */
    void *table;      /* in the real type */
} wm_fft_lane;

typedef enum wm_fft_method { WM_LINE_LANES, WM_LINE_SPLIT, WM_LINE_CHIRP } wm_fft_method;

typedef struct wm_fft_line {
    int64_t n;
    wm_fft_method method;
    wm_fft_lane first, second; /* LANES: first; SPLIT and CHIRP: columns and rows */
    int64_t length;            /* n1 n2: n, or CHIRP's padded length */
    /* SPLIT twiddles w^(jk) of column j, row k. Short lines: one exact vector for each (group of columns, k). Long
     * ones: k = 64 a + b, a product of two vectors that each group makes from two-level tables in f64. */
    void *twiddle;
    double *low, *high;
    int shift;
    void *chirp, *spectrum; /* CHIRP: as in a lane */
    double cost;
} wm_fft_line;

typedef enum wm_fft_phase {
    WM_PHASE_GROUPS,  /* LANES: everything, a group of lines a unit */
    WM_PHASE_PREPARE, /* from the user's half spectrum to the line buffer */
    WM_PHASE_LOAD,    /* CHIRP: times the chirp into the line buffer */
    WM_PHASE_COLUMNS,
    WM_PHASE_ROWS,
    WM_PHASE_PRODUCT, /* CHIRP: times the spectrum */
    WM_PHASE_STORE,   /* CHIRP: times the chirp */
    WM_PHASE_SEPARATE /* from the line buffer to the user's half spectrum */
} wm_fft_phase;

/** All lines of one axis. */
typedef struct wm_fft_axis {
    wmFftKind kind;
    int inverse;
    int64_t n;                    /* logical length; line.n is n / 2 for real transforms of even n */
    int64_t in, out;              /* strides along the line in reals (in elements of the side times their size) */
    wmFftDim loop[WM_AXIS_LOOPS]; /* innermost first; strides in reals */
    int loops;
    int64_t lines; /* product of the loops */
    double scale;
    wm_fft_line line;
    void *half; /* real transforms of even n: exp(-2 pi i k / n) for k <= n / 4 */
    int phases;
    wm_fft_phase phase[WM_LINE_PHASES];
} wm_fft_axis;

/** Scratch of one line in flight, as pointers into the workspace. */
typedef struct wm_fft_scratch {
    void *lane;   /* two lane buffers: a thread's own */
    void *middle; /* SPLIT: between columns and rows */
    void *buffer; /* the line buffer: complex, contiguous */
} wm_fft_scratch;

/** The typed code, chosen by real type and instruction set. */
typedef struct wm_fft_code {
    const char *name;
    int lanes;
    size_t real; /* bytes */
    /** Runs units [begin, end) of a phase of one line (LANES: `line` is ignored, units are groups of all lines). */
    void (*run)(const wm_fft_axis *axis, wm_fft_phase phase, int64_t line, int64_t begin, int64_t end, const void *in,
                void *out, const wm_fft_scratch *scratch);
    /** Number of units of a phase. */
    int64_t (*units)(const wm_fft_axis *axis, wm_fft_phase phase);
} wm_fft_code;

extern const wm_fft_code wm_fft_code_f32, wm_fft_code_f64;
#if defined(__x86_64__)
extern const wm_fft_code wm_fft_code_f32_avx2, wm_fft_code_f64_avx2;
#endif

#endif
