/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device "emulated sm_90": the fake device of tests/fake_gpu.h, whose launches run their kernels under the thread
 * emulation. With it whole GPU solvers run where there is no GPU:
 *
 *     wm_fake *fake = wm_simt_gpu_new();
 *     const wm_gpu *gpu = wm_fake_gpu(fake);
 *     … make and run the solver with this table, wait for the stream, compare …
 *     assert_string_equal(wm_simt_faults(), "");
 *     wm_fake_end(fake);
 *
 * It has 4 multiprocessors, so that grids which follow the device stay small. Its kernels are those of the program,
 * compiled by wm_simt_sources().
 */
#ifndef WM_TESTS_SIMT_GPU_H
#define WM_TESTS_SIMT_GPU_H

#include "simt.h"
#include "tests/fake_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

wm_fake *wm_simt_gpu_new(void);

#ifdef __cplusplus
}
#endif

#endif
