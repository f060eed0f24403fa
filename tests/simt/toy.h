/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that the emulation's own tests run, and their parameters: toy.cu is right, planted.cu is wrong on purpose.
 * No system header: NVRTC compiles toy.cu, too. */
#ifndef WM_TESTS_SIMT_TOY_H
#define WM_TESTS_SIMT_TOY_H

#ifdef __cplusplus
extern "C" {
#endif

enum { WM_TOY_TILE = 32, WM_TOY_ROWS = 8 };

typedef struct wm_toy_sum {
    const float *x;
    float *out; /* one, or one a block */
    long long n;
} wm_toy_sum;

typedef struct wm_toy_transpose {
    const unsigned short *in; /* rows × columns */
    unsigned short *out;
    long long rows, columns;
} wm_toy_transpose;

typedef struct wm_toy_ints {
    int *out;
    const int *in;
    int n;
} wm_toy_ints;

/* Conversions of every 16-bit and 8-bit pattern, and of a range of f32 patterns. */
typedef struct wm_toy_floats {
    const unsigned *f32_bits;
    unsigned *f16_to_f32, *bf16_to_f32, *e4m3_to_f32, *e5m2_to_f32; /* 65536, 65536, 256, 256 */
    unsigned short *to_f16, *to_bf16;                               /* n each */
    unsigned char *to_e4m3, *to_e5m2;
    long long n;
} wm_toy_floats;

#ifdef __cplusplus
}
#endif

#endif
