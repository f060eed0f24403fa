/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU transform in f32 for any machine: 16-byte vectors. */
#define WM_REAL_BITS 32
#define WM_REAL_BYTES 16
#include "fft_lines.h"

const wm_fft_code wm_fft_code_f32 = {"f32", LANES, sizeof(real), run_phase, run_units};
