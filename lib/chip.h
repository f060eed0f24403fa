/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the GPU's chip, as NVML tells it where its library is there: times taken while it moved tell less. */
#ifndef WM_LIB_CHIP_H
#define WM_LIB_CHIP_H

#include <warpmath/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** MHz of the multiprocessors of the context's device at this moment; 0: nobody knows. */
int wm_chip_mhz(const wmContext *context);

/** Whether a clock that went from one to the other moved by more than a measurement should bear. */
int wm_chip_moved(int before, int after);

/** "0000:3b:00.0" for a device of the CUDA runtime; "" if it does not tell. */
void wm_cuda_bus(int ordinal, char *out, int room);

#ifdef __cplusplus
}
#endif

#endif
