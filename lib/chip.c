/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's library, loaded when something is first measured. Devices are found by their bus, since NVML and the CUDA
 * runtime number them differently. */
#include "chip.h"
#include "context_internal.h"
#include <dlfcn.h>
#include <stdlib.h>

enum { CLOCK_SM = 1 }; /* NVML_CLOCK_SM */

typedef struct nvml_device *nvml_device;

static struct {
    int (*init)(void);
    int (*by_bus)(const char *bus, nvml_device *out);
    int (*clock)(nvml_device device, int type, unsigned *mhz);
    int ready;
} nvml;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    *(void **)&nvml.init = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml.by_bus = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&nvml.clock = dlsym(library, "nvmlDeviceGetClockInfo");
    nvml.ready = nvml.init && nvml.by_bus && nvml.clock && nvml.init() == 0;
}

#ifndef WM_HAVE_CUDA
void wm_cuda_bus(int ordinal, char *out, int room) {
    (void)ordinal;
    if (room > 0) out[0] = '\0';
}
#endif

int wm_chip_mhz(const wmContext *context) {
    nvml_device device = NULL;
    unsigned mhz = 0;
    if (!context->gpu || !context->bus[0]) return 0;
    pthread_once(&once, find);
    if (!nvml.ready || nvml.by_bus(context->bus, &device) != 0 || nvml.clock(device, CLOCK_SM, &mhz) != 0) return 0;
    return (int)mhz;
}

int wm_chip_moved(int before, int after) {
    return before && after && 20 * abs(after - before) > before;
}
