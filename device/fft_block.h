/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of fft_block.cuh is compiled for, and what a launch tells it. Plain C, also for NVRTC. */
#ifndef WM_DEVICE_FFT_BLOCK_H
#define WM_DEVICE_FFT_BLOCK_H

enum { WM_FFT_CUT_PASSES = 8 };

/* Between the caller's data and the complex transform of `length` points. */
typedef enum wm_fft_form {
    WM_FFT_COMPLEX_FORM = 0,
    WM_FFT_REAL_EVEN = 1, /* R2C, n = 2 length: pairs of reals are complex numbers, the spectra are split at the end */
    WM_FFT_REAL_ANY = 2,  /* R2C, n = length: imaginary parts are 0 */
    WM_FFT_HALF_EVEN = 3, /* C2R, n = 2 length */
    WM_FFT_HALF_ANY = 4   /* C2R, n = length: the other half is the conjugate */
} wm_fft_form;

typedef enum wm_fft_core {
    WM_FFT_PLAIN = 0,    /* length = n */
    WM_FFT_RADER = 1,    /* a prime length = n + 1: cyclic convolution over the powers of a generator */
    WM_FFT_BLUESTEIN = 2 /* n >= 2 length - 1: convolution with a chirp */
} wm_fft_core;

/** The shape of a kernel: everything that is a constant in it. All int, so that it is also a list of them. */
typedef struct wm_fft_cut {
    int n, passes;
    int radix[WM_FFT_CUT_PASSES]; /* 1 behind the last one */
    int threads;                  /* of one transform */
    int batch;                    /* transforms of a block */
    int least_blocks;             /* an SM shall hold: bounds the registers */
    int spread;                   /* neighbouring threads belong to neighbouring transforms */
    int fill, drain;              /* the slab is filled (drained) element by element, not by the first (last) pass */
    int pad[3], slab; /* elements left out behind N_0, N_1, N_2 of them; complex elements of a transform's slab */
    int length, form, core;
    int unit_in, unit_out; /* strides along a transform are 1; real pairs are then aligned */
    int f64;
    int most;    /* complex numbers that a thread loads at once */
    int loops;   /* of the batch, as the kernel steps through them */
    int packed;  /* complex arrays without gaps on both sides, one behind the other */
    int pairs;   /* of an even real transform meet in the first (last) pass, and not in the slab */
    int ahead;   /* all of the first pass is loaded before any of it is used */
    int persist; /* blocks stay, and load the next transform while they work on one */
} wm_fft_cut;

enum { WM_FFT_CUT_INTS = sizeof(wm_fft_cut) / sizeof(int) };

/** One launch. Strides count elements of their side, reals where it is real. */
typedef struct wm_fft_block_job {
    const void *in;
    void *out;
    const void *twiddles; /* of the passes */
    const void *spectrum; /* of the chirp, or of Rader's sequence, over n: in the order of outputs */
    const void *chirp;    /* BLUESTEIN: exp(-pi i k^2 / length) */
    const void *order;    /* RADER: int, the logarithm of k >= 1 */
    const void *half;     /* REAL_EVEN, HALF_EVEN: exp(-pi i k / length), k <= length */
    long long in_stride, out_stride, count;
    long long loop_n[3], loop_in[3], loop_out[3]; /* innermost first; the last one counts on to `count` */
    double sign; /* of imaginary parts on the way in: -1 turns a forward transform into an inverse one */
    double scale;
    wm_fft_cut cut; /* read by the emulation only */
} wm_fft_block_job;

#endif
