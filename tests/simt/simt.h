/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread emulation: runs a warpmath kernel, compiled by a host compiler, as a GPU would, and reports what a GPU
 * would let pass in silence. docs/emulation.md says how to write a kernel for it.
 *
 * The model. A launch runs its blocks one after another (a cluster's blocks together). Each thread of the block is a
 * fiber; it runs until it waits at a barrier, a shuffle, a vote, or ends. The seed decides which thread goes next and
 * in which order the blocks run: 0 is ascending, 1 descending, any other a different shuffle. Equal seeds give equal
 * runs.
 *
 * Always detected (text in wm_simt_faults())
 *   - threads that wait at a block barrier while others have left the kernel, or wait at another barrier or warp
 * operation
 *   - a warp operation whose mask lacks the caller, or a shuffle from a lane that is not there
 *   - overwritten guard bands at the end of shared memory; fresh shared memory is all 0xff, a NaN in every type
 * Detected where the kernel was compiled with wm_simt_sources() and no sanitizer, which makes every load and store
 * visible (the compiler's -fsanitize=thread calls, answered by simt_hooks.c):
 *   - an access outside shared memory, device allocations, the kernel's parameter, static data or the own stack
 *   - a read of shared or device memory that nothing wrote
 *   - two threads that touch the same byte of shared memory, one writing, with no barrier between; in device memory two
 *     writes, or a write then a read, by threads of one block with no barrier between or by two blocks of one launch
 *
 * Not modelled: weak memory (a missing fence goes unseen), divergence costs, timing, hardware limits of registers,
 * rounding of the device's approximate functions (sinf, __expf …). Blocks of a grid never run at the same time, so a
 * kernel that waits for another block outside its cluster does not end: it is reported.
 */
#ifndef WM_TESTS_SIMT_H
#define WM_TESTS_SIMT_H

#include "lib/gpu.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WM_SIMT_MAX_BLOCK = 1024,        /* threads of a block */
    WM_SIMT_MAX_CLUSTER = 16,        /* blocks of a cluster */
    WM_SIMT_MAX_SHARED = 227 * 1024, /* dynamic shared bytes of a block, as on sm_90 */
    WM_SIMT_WARP = 32
};

/* The order in which threads and blocks of later launches run. Process-wide; 0 at start, or WM_SIMT_SEED. */
void wm_simt_seed(uint64_t seed);

/*
 * Runs a kernel to its end. Returns 0; 1 for a launch that no GPU would take; 719 (launch failure) if a thread hung or
 * touched memory it must not: the launch then stopped there. One launch at a time: others wait.
 */
int wm_simt_launch(const wm_launch *launch);

/* What was detected since the last clear, a line each, "" if nothing: see the top. Each place is reported once. */
const char *wm_simt_faults(void);
int wm_simt_fault_count(void);
void wm_simt_faults_clear(void);

/* Whether the kernels linked here were compiled so that each access is checked. */
int wm_simt_instrumented(void);

#ifdef __cplusplus
}
#endif

#endif
