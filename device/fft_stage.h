/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One way between the caller's elements, of 16 bits or behind a functor, and packed ones of f32 or f64. Plain C, also
 * for NVRTC: the CPU place and the kernel of fft_staged share it.
 */
#ifndef WM_DEVICE_FFT_STAGE_H
#define WM_DEVICE_FFT_STAGE_H

/** How the caller's elements lie in memory. */
typedef enum wm_fft_stored {
    WM_FFT_STORED_AS_IS = 0, /* f32, f64 */
    WM_FFT_STORED_F16 = 1,
    WM_FFT_STORED_BF16 = 2,
    WM_FFT_STORED_BY_FUNCTOR = 3
} wm_fft_stored;

enum { WM_FFT_STAGE_DIMS = 6 };

typedef struct wm_fft_stage {
    const void *from;
    void *to;
    int is_store; /* from packed elements to the caller's */
    int stored;   /* the caller's side */
    int f64;      /* the packed side */
    int reals;    /* of an element: 2 is a pair */
    int apart;    /* the caller's pairs of 16 bits are not one access: aligned to less than 4 bytes */
    int dims;
    long long count; /* elements; 0: there is no such stage */
    long long n[WM_FFT_STAGE_DIMS];
    long long callers[WM_FFT_STAGE_DIMS], packed[WM_FFT_STAGE_DIMS]; /* strides, innermost first */
    long long weight[WM_FFT_STAGE_DIMS];                             /* of the index in a functor's position */
    const void *user;
    const void *host; /* the functor as the CPU has it: there, and under the emulation */
} wm_fft_stage;

/** Where element i is on the caller's side and on the packed one, and its number within its array. */
typedef struct wm_fft_spot {
    long long callers, packed, position;
} wm_fft_spot;

#endif
