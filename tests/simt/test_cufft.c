/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cufft solver without a GPU: the walk over its problems on the emulated device, against a library that stands for
 * cuFFT (fake_cufft.c). Shows that layouts, launches, workspace, the kept input and scaling are right.
 */
#include "simt_gpu.h"
#include "tests/walk/walk.h"

#include <stdio.h>

extern const wm_solver wm_cufft;

int main(int argc, char **argv) {
    static const wm_solver *const solvers[] = {&wm_cufft, NULL};
    wm_fake *fake = wm_simt_gpu_new();
    wmContext *context = NULL;
    wmContextOptions options = wmContextOptionsDefault();
    options.wisdom_path = "";
    wm_fake_set_eager(fake, 1); /* the library works at once */
    if (wm_context_create_with(&context, &options, wm_fake_gpu(fake), solvers, 1, wm_clock_system()) != WM_OK) {
        printf("FAIL no context: %s\n", wmLastError());
        return 1;
    }
    if (argc == 1) wm_walk_most_bytes = 2e6; /* layouts are what is shown, not lengths */
    int failures = wm_walk(context, NULL, argc > 1 ? argv[1] : NULL, 20260614);
    wmContextDestroy(context);
    wm_fake_end(fake);
    if (wm_simt_fault_count()) printf("FAIL the emulation reports\n%s", wm_simt_faults());
    return failures || wm_simt_fault_count();
}
