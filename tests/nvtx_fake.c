/* SPDX-License-Identifier: Apache-2.0 */
/* Two functions of NVTX that count, for test_shadow. */
#include <string.h>

int nvtx_fake_open, nvtx_fake_pushed;
char nvtx_fake_name[256];

int nvtxRangePushA(const char *name);
int nvtxRangePop(void);

int nvtxRangePushA(const char *name) {
    strncpy(nvtx_fake_name, name, sizeof nvtx_fake_name - 1);
    nvtx_fake_pushed++;
    return nvtx_fake_open++;
}

int nvtxRangePop(void) {
    return --nvtx_fake_open;
}
