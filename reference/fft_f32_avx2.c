/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU transform in f32 for x86-64 with AVX2 and FMA, chosen at run time; built with these switched on. */
#define WM_REAL_BITS 32
#define WM_REAL_BYTES 32
#include "fft_lines.h"

const wm_fft_code wm_fft_code_f32_avx2 = {"f32 avx2", LANES, sizeof(real), run_phase, run_units};
