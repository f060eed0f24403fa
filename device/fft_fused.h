/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch of fft_fused tells its kernel beside what fft_block's is told. */
#ifndef WM_DEVICE_FFT_FUSED_H
#define WM_DEVICE_FFT_FUSED_H

#include "device/fft_block.h"
#include "device/fft_stage.h"

struct wm_fft_fused_job : wm_fft_block_job {
    const void *load_user, *store_user;
    const void *load_host, *store_host; /* the functors under the emulation */
    int stored_in, stored_out;          /* wm_fft_stored; constants of a compiled kernel, read by the emulation only */
};

#endif
