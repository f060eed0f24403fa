/* SPDX-License-Identifier: Apache-2.0 */
/* The device "emulated sm_90": see the header. */
#include "simt_gpu.h"
#include "simt_device.h"

#include <stdio.h>

/* As host/cuda.c makes them. */
static int tensor_map(const wm_tensor *t, void *map) {
    int size = (int)wmTypeSize(t->type);
    const int box[3] = {t->box[0], t->box[1], 1};
    return wm_simt_map_encode(map, 3, size, t->base, t->dim, t->stride, box, box[0] * size == 128 ? 128 : 64);
}

wm_fake *wm_simt_gpu_new(void) {
    wm_fake *fake = wm_fake_new(1);
    if (!fake) return NULL;
    wm_device *device = wm_fake_device(fake, 0);
    snprintf(device->name, sizeof device->name, "emulated sm_90");
    device->multiprocessors = 4;
    device->bandwidth = 1e11;
    wm_fake_refuse_modules(fake);
    wm_fake_set_runner(fake, wm_simt_launch);
    wm_fake_set_mapper(fake, tensor_map);
    return fake;
}
