/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for NVML in test_chip: one device, whose clock takes the values that it is told one after the other. */
#include <string.h>

int nvml_fake_mhz[4], nvml_fake_asked, nvml_fake_fails;

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);

int nvmlInit_v2(void) {
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out) {
    *out = &nvml_fake_asked;
    return strcmp(bus, "0000:3b:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) {
    if (device != &nvml_fake_asked || type != 1 || nvml_fake_fails) return 3;
    *mhz = (unsigned)nvml_fake_mhz[nvml_fake_asked++ % 4];
    return 0;
}
