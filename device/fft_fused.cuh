/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of fft_block.cuh once more, for elements of 16 bits and functors: the same text over another job and other
 * ends. Names that would be there twice in a program are given others before it is included.
 */
#ifndef WM_DEVICE_FFT_FUSED_CUH
#define WM_DEVICE_FFT_FUSED_CUH

#include "device/fft_fused.h"

#define wm_fft_block_job wm_fft_fused_job
#define wm_fft_shape wm_fft_fused_shape
#define wm_fft_block_f32 wm_fft_fused_f32
#define wm_fft_block_f64 wm_fft_fused_f64
#define wm_fft_block_kernel wm_fft_fused_kernel

#include "device/fft_fused_ends.cuh"
#include "device/fft_block.cuh"

#undef wm_fft_block_job
#undef wm_fft_shape
#undef wm_fft_block_f32
#undef wm_fft_block_f64
#undef wm_fft_block_kernel

#endif
