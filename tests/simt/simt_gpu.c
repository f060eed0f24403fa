/* SPDX-License-Identifier: Apache-2.0 */
/* The device "emulated sm_90": see the header. */
#include "simt_gpu.h"

#include <stdio.h>

wm_fake *wm_simt_gpu_new(void) {
    wm_fake *fake = wm_fake_new(1);
    if (!fake) return NULL;
    wm_device *device = wm_fake_device(fake, 0);
    snprintf(device->name, sizeof device->name, "emulated sm_90");
    device->multiprocessors = 4;
    device->bandwidth = 1e11;
    wm_fake_refuse_modules(fake);
    wm_fake_set_runner(fake, wm_simt_launch);
    return fake;
}
